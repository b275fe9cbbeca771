"""Glass blur: a pane of uneven glass before the lens.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C: a Gaussian, one to three rounds in which
each pixel shows another from nearby (see ``blur_pane``), and the Gaussian again. Two choices are ours: the pane stands
still in a clip, where theirs is drawn anew for each picture; and blurred values are rounded, not cut down.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import cv2
import numpy as np

from auscult.stress.strength import Rows, between
from auscult.stress.vision.base import Seeded, SeedParams, VisionStressor
from auscult.stress.vision.blur_pane import scatter
from auscult.stress.vision.gaussian_blur import gaussian
from auscult.types import Frame, Metadata

_DECLARED: Final[Mapping[int, str]] = MappingProxyType(
    {2: "rounds of ImageNet-C, 2 1 3 2 2: where there are fewer, each reaches further or blurs more"}
)


class GlassBlur(Seeded):
    """Blurs, scatters pixels by a few pixels, and blurs again, in pixels of the picture as it is."""

    name = "vision.glass_blur.v1"
    levels: Rows = (
        (0.0, 0.0, 0.0),
        (0.7, 1.0, 2.0),
        (0.9, 2.0, 1.0),
        (1.0, 2.0, 3.0),
        (1.1, 3.0, 2.0),
        (1.5, 4.0, 2.0),
    )
    declared = _DECLARED
    meta = Metadata(
        summary="scatters pixels over their neighbourhood and blurs, as uneven glass does",
        goal="a dirty or frosted pane before the lens: outlines fray",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay, although single pixels leave their places by up to 4 px in each of up to 3 rounds",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame behind the pane, which is the same in each frame."""
        del index
        sigma_px, reach_px, rounds = between(self.levels, params.strength)
        pixels = cv2.cvtColor(gaussian(frame, sigma_px), cv2.COLOR_RGB2RGBA).view(np.uint32)[..., 0]
        rng = params.of_frame(0)
        while rounds > 0.0:
            scatter(pixels, rng, reach_px * min(rounds, 1.0))
            rounds -= 1.0
        scattered = cv2.cvtColor(pixels[..., None].view(np.uint8), cv2.COLOR_RGBA2RGB)
        return gaussian(np.asarray(scattered, dtype=np.uint8), sigma_px)


STRESSOR: VisionStressor[SeedParams] = GlassBlur()
