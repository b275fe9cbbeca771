"""Pixelation in the geometry of R2-Bench's release: through a small square, whatever the frame's shape.

Source: R2-Bench's toolbox. A frame that is wider than high gets pixels that are wider than high, and one of less than
the square's size stays as it is along that side. Strengths below 1 shrink from the frame's own size to level 1's.
"""

from __future__ import annotations

from typing import Final

from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.vision.base import Fixed, NoDraws, VisionStressor
from auscult.stress.vision.digital_blocks import blocky
from auscult.types import Frame, Metadata

SQUARE_PX: Final = 512


class PixelateR2Bench(Fixed):
    """Scales a frame to a square of 512 times a factor by box means and back by the nearest."""

    name = "vision.pixelate_r2bench.v1"
    # The factor of the square, and how far the frame's own size has given way to it.
    levels: Rows = ((0.6, 0.0), (0.6, 1.0), (0.5, 1.0), (0.4, 1.0), (0.3, 1.0), (0.25, 1.0))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="scales to a square of 307 to 128 pixels and back without smoothing",
        goal="a low resolution: small things and thin parts merge with what is beside them",
        modality="image",
        source="R2-Bench toolbox, whose pixelate differs from ImageNet-C's in geometry",
        truth="masks and boxes stay",
        origin="transmission",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame in larger pixels."""
        del index
        factor, given_way = between(self.levels, params.strength)
        height, width = (
            int(given_way * int(SQUARE_PX * factor) + (1.0 - given_way) * own + 1e-6) for own in frame.shape[:2]
        )
        return blocky(frame, rows=height, columns=width)


STRESSOR: VisionStressor[NoDraws] = PixelateR2Bench()
