"""Frost: feathers of ice on the glass in front of the lens.

Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec. 3.1):
``picture_weight * picture + frost_weight * frost``, the frost a random piece of a texture.

Chosen otherwise: the textures are drawn by us, see ``weather_frost``; their brightness is that of photographs of frost.
In a clip frost stands still.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.params import Params
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.vision.base import Shot, VisionStressor
from auscult.stress.vision.weather_bytes import as_bytes
from auscult.stress.vision.weather_frost import COUNT, HEIGHT, WIDTH, texture
from auscult.types import Frame, Metadata

_ROOM = 1.1  # a texture too small is enlarged to this much more than the frame


@dataclass(frozen=True, slots=True, kw_only=True)
class FrostParams(Params):
    """Which piece of which frost.

    Attributes:
        texture: Its number, 0 to 5.
        down: Where the piece lies between the texture's upper and lower edge, 0..1.
        right: Where it lies between the left and the right edge, 0..1.
    """

    texture: int
    down: float
    right: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {
        "texture": (0, COUNT - 1),
        "down": (0.0, 1.0),
        "right": (0.0, 1.0),
    }


class Frost:
    """Mixes the picture with a piece of frost."""

    name = "vision.frost.v1"
    params = FrostParams
    levels: Rows = ((1.0, 0.0), (1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="lays feathers of ice over the picture",
        goal="a frozen windscreen or lens: crystals cover edges and add their own",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C frost, with textures of our own",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def choose(self, rng: np.random.Generator, shot: Shot, *, strength: float) -> FrostParams:
        """Draw the texture and the piece."""
        del shot
        number, down, right = int(rng.integers(COUNT)), float(rng.random()), float(rng.random())
        return FrostParams(strength=strength, texture=number, down=down, right=right)

    def render(self, frame: Frame, params: FrostParams, *, index: int = 0) -> Frame:
        """The frame behind frost, the same in every frame."""
        del index
        kept, added = between(self.levels, params.strength)
        ice = self.ice(frame.shape[:2], params)
        # half a grey level less: rounding then drops the fraction, as the release does
        return as_bytes(cv2.addWeighted(frame, kept, ice, added, -0.5))

    def ice(self, size: tuple[int, int], params: FrostParams) -> NDArray[np.uint8]:
        """The frost over a frame, uint8 RGB (H, W, 3)."""
        larger = max(size[0] / HEIGHT, size[1] / WIDTH)
        scale = 1.0 if larger <= 1.0 else _ROOM * larger
        height, width = (min(round(length / scale), most) for length, most in zip(size, (HEIGHT, WIDTH), strict=True))
        top, left = round(params.down * (HEIGHT - height)), round(params.right * (WIDTH - width))
        piece = texture(params.texture)[top : top + height, left : left + width]
        if scale == 1.0:
            return piece
        return as_bytes(cv2.resize(piece, (size[1], size[0]), interpolation=cv2.INTER_CUBIC))


STRESSOR: VisionStressor[FrostParams] = Frost()
