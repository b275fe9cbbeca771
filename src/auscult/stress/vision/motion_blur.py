"""Motion blur: the camera moved while the shutter was open.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C, kernel of ImageMagick's motion blur: the
falling half of a Gaussian along a line, so that edges get a tail on one side. A picture smaller than the line sees its
own edge repeated; imagecorruptions leaves those places out and darkens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from auscult.stress.params import Params
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.vision.base import Shot, VisionStressor
from auscult.stress.vision.blur_line import half_gaussian, line, weighted_mean
from auscult.types import Frame, Metadata

_STEEPEST_DEG = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionBlurParams(Params):
    """Parameters of motion blur.

    Attributes:
        angle_deg: Of the motion, -45 (up to the right) to 45 (down to the right); one for a whole clip.
    """

    angle_deg: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {"angle_deg": (-_STEEPEST_DEG, _STEEPEST_DEG)}


class MotionBlur:
    """Blurs along one direction, in pixels of the picture as it is."""

    name = "vision.motion_blur.v1"
    params = MotionBlurParams
    levels: Rows = ((0.0, 0.0), (10.0, 3.0), (15.0, 5.0), (15.0, 8.0), (15.0, 12.0), (20.0, 15.0))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="blurs along one direction, as a moving camera does",
        goal="a camera that moved: edges across the motion are drawn out",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay, although what is blurred reaches up to some pixels past them on one side",
        origin="sensor",
    )

    def choose(self, rng: np.random.Generator, shot: Shot, *, strength: float) -> MotionBlurParams:
        """Draw the direction."""
        del shot
        return MotionBlurParams(strength=strength, angle_deg=float(rng.uniform(-_STEEPEST_DEG, _STEEPEST_DEG)))

    def render(self, frame: Frame, params: MotionBlurParams, *, index: int = 0) -> Frame:
        """The frame, blurred along the direction."""
        del index
        radius_px, sigma_px = between(self.levels, params.strength)
        return weighted_mean(frame, line(half_gaussian(radius_px, sigma_px), params.angle_deg))


STRESSOR: VisionStressor[MotionBlurParams] = MotionBlur()
