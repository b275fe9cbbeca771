"""JPEG: the picture went through a strong compression.

Source: R2-Bench, Table 1, transmission noise of vision; qualities of ImageNet-C, colour at half resolution (4:2:0).

What comes back depends on the JPEG library by a grey level or so; with the pinned versions it is the same every time.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from auscult.errors import UsageError
from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata

MOST_PIXELS: Final = 65_500
"""Greatest height and width that the JPEG library takes."""


class JpegCompression(Fixed):
    """Compresses a frame as JPEG and opens it again."""

    name = "vision.jpeg_compression.v1"
    quality = Constant("quality", (100.0, 25.0, 18.0, 15.0, 10.0, 7.0), unit="100 = best")
    meta = Metadata(
        summary="compresses as JPEG at quality 25 to 7 and opens it again",
        goal="blocks of 8 x 8 and smeared colour: false edges beside true ones",
        modality="image",
        source="R2-Bench, Table 1 (transmission); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="transmission",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame as it comes out of a JPEG file; a UsageError where it is larger than such a file may be."""
        del index
        if max(frame.shape) > MOST_PIXELS:
            raise UsageError(
                f"a frame of {frame.shape[0]} x {frame.shape[1]} for JPEG", expected=f"up to {MOST_PIXELS}"
            )
        quality = self.quality.at(params.strength)
        options = [
            cv2.IMWRITE_JPEG_QUALITY,
            round(quality),
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420,
        ]
        _, encoded = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), options)
        return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB), dtype=np.uint8)


STRESSOR: VisionStressor[NoDraws] = JpegCompression()
