"""What the parts of a picture are before they are put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.record.codec import Word
from auscult.types import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A thing's look: which thing of an asset set, and everything that was drawn for it."""

    category: Word  # countable noun, singular
    instance: Word  # name of this one thing within its set, such as a file; scenes of different splits share none
    aspect: Annotated[float, Meta(ge=1e-3, le=1e3)]  # width over height, upright
    colour: str | None = None  # a basic colour word where one fits, else None
    texture: str | None = None  # `plain`, `striped`, ... where one fits, else None
    # what else the asset set needs to draw it again; JSON values
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Sprite:
    """A thing drawn at one size."""

    # uint8 (h, w, 3), straight (not multiplied by alpha); colours go on a little beyond the outline
    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8]  # uint8 (h, w), 255 inside the thing; at least one pixel at 128 or more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """A sprite put into a picture."""

    sprite: Sprite  # what; already at the size and turn wanted
    x_px: float  # its centre in the picture
    y_px: float  # its centre in the picture
    speed_px: tuple[float, float] = (0.0, 0.0)  # (x, y) pixels it moves while the shutter is open; (0, 0) is sharp


class AssetSet(Protocol):
    """Where looks and backgrounds come from."""

    @property
    def name(self) -> str:
        """Of the set."""
        ...

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Category to the names of its instances, both in a fixed order."""
        ...

    def backgrounds(self) -> tuple[str, ...]:
        """Names of the backgrounds, in a fixed order; never empty."""
        ...

    def held(self, background: str) -> frozenset[str] | None:
        """Categories that a background is known to show; None where it shows no thing at all."""
        ...

    def look(self, rng: np.random.Generator, category: str, *, instance: str) -> Look:
        """Draw everything that is free about an instance: colour and texture for a generated one."""
        ...

    def sprite(self, look: Look, *, height_px: int, turn_deg: float = 0.0) -> Sprite:
        """Draw a look at a size; pure."""
        ...

    def background(self, name: str, *, size: tuple[int, int]) -> Frame:
        """A background as uint8 RGB (height, width, 3) of the wanted (height, width); pure."""
        ...


def with_a_pixel(alpha: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """An alpha, changed in place so that a thing of less than a pixel still has one."""
    if int(alpha.max()) < 128:
        alpha[np.unravel_index(int(alpha.argmax()), alpha.shape)] = 255
    return alpha


def check_height(height_px: int, *, tallest_px: int) -> None:
    """Refuse a sprite's height that is below 1 or above ``tallest_px``."""
    if not 1 <= height_px <= tallest_px:
        raise InputError(f"a thing's height is {height_px} pixels", expected=f"1 to {tallest_px}")
