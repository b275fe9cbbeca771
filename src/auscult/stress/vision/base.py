"""What a perturbation of pictures is.

Choosing is apart from doing (law 3): ``choose`` draws everything that is random, once for a whole clip, whatever the
strength; ``render`` makes one frame from that and is pure. So a clip's weather stays the same weather while its
strength rises and falls, and any frame can be made alone, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from auscult.stress.perturbation import P, Params, Perturbation
from auscult.types import Frame, Mask

MOST_FRAMES: Final = 1_000_000
MOST_FPS: Final = 100_000.0
_MOST_PIXELS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipInfo:
    """What a perturbation may know of a picture or clip when it draws its parameters.

    Attributes:
        height: Pixels.
        width: Pixels.
        frames: How many; 1 for a picture.
        rate_fps: Frames per second.
    """

    height: Annotated[int, Meta(ge=1, le=_MOST_PIXELS)]
    width: Annotated[int, Meta(ge=1, le=_MOST_PIXELS)]
    frames: Annotated[int, Meta(ge=1, le=MOST_FRAMES)] = 1
    rate_fps: Annotated[float, Meta(gt=0.0, le=MOST_FPS)] = 25.0


P_contra = TypeVar("P_contra", bound=Params, contravariant=True)


@runtime_checkable
class VisionStressor(Perturbation[P, ClipInfo], Protocol[P]):
    """Perturbs pictures."""

    def render(self, frame: Frame, params: P, *, index: int = 0) -> Frame:
        """Perturb one frame.

        Args:
            frame: uint8 RGB (H, W, 3), C-contiguous; never written to.
            params: What was drawn; ``params.strength`` is above 0 here.
            index: The frame's number in its clip, from 0.

        Returns:
            A new array of the same shape and dtype.
        """
        ...


@runtime_checkable
class MovingStressor(Protocol[P_contra]):
    """A perturbation under which pixels leave their places, so that masks must follow."""

    def move(self, mask: Mask, params: P_contra, *, index: int = 0) -> Mask:
        """Where the pixels of a mask went, bool (H, W)."""
        ...


AnyVisionStressor: TypeAlias = VisionStressor[Any]


def as_bytes(image: ArrayLike) -> NDArray[np.uint8]:
    """The same array, known to be uint8; nothing is copied."""
    return np.asarray(image, dtype=np.uint8)
