"""Contrast: a flat picture, as through haze, a dirty lens or a sensor at its limit.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata

_DOWN: Final = -0.5 + 2.0**-10  # rounding then drops the fraction, and keeps what should be a whole number


class Contrast(Fixed):
    """Pulls every channel towards its mean over the frame."""

    name = "vision.contrast.v1"
    kept = Constant("contrast kept", (1.0, 0.4, 0.3, 0.2, 0.1, 0.05))
    meta = Metadata(
        summary="pulls red, green and blue towards their means over the frame",
        goal="a flat picture: edges become too faint to follow",
        modality="image",
        source="R2-Bench, Table 1 (sensor); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame with less contrast; the fraction dropped as the release does."""
        del index
        kept = self.kept.at(params.strength)
        means = np.array(cv2.mean(frame)[:3])
        matrix = np.column_stack([kept * np.eye(3), (1.0 - kept) * means + _DOWN])
        return np.asarray(cv2.transform(frame, matrix), dtype=np.uint8)


STRESSOR: VisionStressor[NoDraws] = Contrast()
