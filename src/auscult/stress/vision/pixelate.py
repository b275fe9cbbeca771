"""Pixelation: sent at a low resolution and blown up again.

Source: R2-Bench, Table 1, transmission noise of vision; constants of ImageNet-C, geometry of imagecorruptions, whose
small picture keeps the frame's shape. ``pixelate_r2bench`` is the release's own geometry.
"""

from __future__ import annotations

from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.vision.base import Fixed, NoDraws, VisionStressor
from auscult.stress.vision.digital_blocks import blocky
from auscult.types import Frame, Metadata


class Pixelate(Fixed):
    """Scales a frame down by box means and up again by the nearest."""

    name = "vision.pixelate.v1"
    levels: Rows = ((1.0,), (0.6,), (0.5,), (0.4,), (0.3,), (0.25,))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="scales down to .6 to .25 of each side and up again without smoothing",
        goal="a low resolution: small things and thin parts merge with what is beside them",
        modality="image",
        source="R2-Bench, Table 1 (transmission); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="transmission",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame in larger pixels."""
        del index
        (factor,) = between(self.levels, params.strength)
        height, width = frame.shape[:2]
        return blocky(frame, rows=max(1, int(height * factor)), columns=max(1, int(width * factor)))


STRESSOR: VisionStressor[NoDraws] = Pixelate()
