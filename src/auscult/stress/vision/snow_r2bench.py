"""Snow in the geometry of R2-Bench's toolbox: the zoomed noise is resized to the frame.

Its first and last cells lie on the frame's edges, where ``vision.snow.v1`` cuts the frame out of zoomed noise.
"""

from __future__ import annotations

from dataclasses import replace

from auscult.stress.vision.base import VisionStressor
from auscult.stress.vision.snow import Snow, SnowParams


class SnowR2Bench(Snow):
    """Snow whose layer is resized to the frame; all else as ``vision.snow.v1``."""

    name = "vision.snow_r2bench.v1"
    meta = replace(
        Snow.meta,
        summary="whitens the picture and lets bright, drawn-out flakes fall over it, in the geometry of R2-Bench",
        source="R2-Bench toolbox: snow layer resized to the frame",
    )

    def zoom(self, zoom: float, size: tuple[int, int]) -> tuple[float, float]:
        """Pixels to a cell, (y, x), with a cell on each edge of the frame."""
        height, width = (max(length - 1.0, 1.0) / max(length / zoom - 1.0, 1.0) for length in size)
        return max(height, 1.0), max(width, 1.0)


STRESSOR: VisionStressor[SnowParams] = SnowR2Bench()
