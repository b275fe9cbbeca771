"""Frost in the geometry of R2-Bench's toolbox: a whole texture is resized to the frame, whatever its proportions.

Chosen otherwise: the release leaves the channels of its photographs in the reverse order and never reaches one of the
six; here frost is bluish, and all six occur.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.vision.base import VisionStressor
from auscult.stress.vision.frost import Frost, FrostParams
from auscult.stress.vision.weather_bytes import as_bytes
from auscult.stress.vision.weather_frost import texture


class FrostR2Bench(Frost):
    """Frost whose texture is resized to the frame; all else as ``vision.frost.v1``."""

    name = "vision.frost_r2bench.v1"
    meta = replace(
        Frost.meta,
        summary="lays feathers of ice over the picture, in the geometry of R2-Bench",
        source="R2-Bench toolbox: frost texture resized to the whole frame; textures of our own",
    )

    def ice(self, size: tuple[int, int], params: FrostParams) -> NDArray[np.uint8]:
        """The frost over a frame, uint8 RGB (H, W, 3)."""
        whole = cv2.resize(texture(params.texture), (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
        return as_bytes(whole)


STRESSOR: VisionStressor[FrostParams] = FrostR2Bench()
