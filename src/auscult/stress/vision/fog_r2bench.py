"""Fog in the geometry of R2-Bench's toolbox: one whole map of 1024 x 1024 is resized to the frame.

Its clouds are as wide and as high as the frame, where ``vision.fog.v1`` cuts a piece in the frame's own proportions.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.vision import weather_fractal
from auscult.stress.vision.base import VisionStressor
from auscult.stress.vision.fog import Fog, FogParams

_SIDE = 1024


class FogR2Bench(Fog):
    """Fog whose map is resized to the frame; all else as ``vision.fog.v1``."""

    name = "vision.fog_r2bench.v1"
    meta = replace(
        Fog.meta,
        summary="lays a bright, cloudy veil over the picture, in the geometry of R2-Bench",
        source="R2-Bench toolbox: map made at 1024 and resized to the frame",
    )

    def fractal(self, size: tuple[int, int], params: FogParams, *, decay: float, index: int) -> NDArray[np.float32]:
        """How thick the fog is at each pixel of a frame, (H, W), 0..1."""
        plasma = weather_fractal.plasma(params.seed, _SIDE, decay=decay)
        down, right = params.drift_px(index, _SIDE)
        whole = weather_fractal.piece(plasma, at=(-down, -right), shape=(_SIDE, _SIDE))
        resized = cv2.resize(whole, (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
        return np.asarray(resized, dtype=np.float32)


STRESSOR: VisionStressor[FogParams] = FogR2Bench()
