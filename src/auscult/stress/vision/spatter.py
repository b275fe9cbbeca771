"""Spatter: drops of water on the lens, then mud.

Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, extra
types): smoothed normal noise above a threshold is liquid. Levels 1 to 3 are water in pale turquoise, whose shine comes
from the distance to its edges, equalised and embossed; levels 4 and 5 are brown, opaque mud.

Between levels 3 and 4 the shine fades while the mud turns opaque. In a clip spatter stands still, as it does on a lens.

Chosen otherwise: the noise is uniform before it is smoothed, with the same mean and deviation. What has been smoothed
over a pixel and more is normal again, and random bytes need no table. Edges of water are followed within strips of the
picture, which stay in the processor's cache; all edges are steep, so that hardly one needs following further.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor, as_bytes
from auscult.types import Frame, Metadata

_TURQUOISE = (175.0, 238.0)  # red; green and blue
_MUD = (63.0, 42.0, 20.0)
_BYTE_MEAN, _BYTE_DEVIATION = 127.5, math.sqrt((256.0**2 - 1.0) / 12.0)
_FAR_PX = 20  # from here on water is as deep as it gets
_EDGE_PX = 4  # how far the finding of an edge, and a blur, look around
_STRIP_PX = 192
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], dtype=np.float32)
_EMBOSS.setflags(write=False)
_MUD_EDGE_PX = 1.5
_OPAQUE = 0.8  # thinner mud is not there


class Spatter(Seeded):
    """Adds shining water, or covers with mud, where smooth noise passes a threshold."""

    name = "vision.spatter.v1"
    mean = Constant("mean of the noise", (0.65, 0.65, 0.65, 0.65, 0.65, 0.67))
    deviation = Constant("its deviation", (0.3, 0.3, 0.3, 0.3, 0.3, 0.4))
    smoothing = Constant("smoothing", (4.0, 4.0, 3.0, 2.0, 1.0, 1.0), unit="px")
    threshold = Constant("threshold", (0.69, 0.69, 0.68, 0.68, 0.65, 0.65))
    shine = Constant("shine of the water", (0.0, 0.6, 0.6, 0.5, 0.0, 0.0))
    mud = Constant("opacity of the mud", (0.0, 0.0, 0.0, 0.0, 1.0, 1.0))
    meta = Metadata(
        summary="puts drops of water, then mud, on the lens",
        goal="a dirty lens: parts of objects shine or are covered",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C spatter",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame behind spatter, the same in every frame."""
        del index
        mean, deviation = self.mean.at(params.strength), self.deviation.at(params.strength)
        threshold, smooth_px = self.threshold.at(params.strength), self.smoothing.at(params.strength)
        shine, mud = self.shine.at(params.strength), self.mud.at(params.strength)
        drawn = np.frombuffer(params.of_frame(0).bytes(frame.shape[0] * frame.shape[1]), dtype=np.uint8)
        scale = deviation / _BYTE_DEVIATION
        liquid = _smoothed(drawn.reshape(frame.shape[:2]), smooth_px, scale=scale, offset=mean - _BYTE_MEAN * scale)
        output = frame if mud == 0 else _muddy(frame, liquid, threshold=threshold, opacity=mud)
        return output if shine == 0 else _wet(output, liquid, threshold=threshold, shine=shine)


def _wet(frame: Frame, liquid: NDArray[np.float32], *, threshold: float, shine: float) -> Frame:
    """Add the shine of water; at its brightest, ``shine`` times its colour. ``liquid`` is used up."""
    cv2.threshold(liquid, threshold, 0.0, cv2.THRESH_TOZERO, dst=liquid)
    drops = as_bytes(cv2.convertScaleAbs(liquid, alpha=255.0, beta=-0.5))
    light = cv2.multiply(drops, _relief(drops), dst=liquid, dtype=cv2.CV_32F)
    brightest = max(1.0, float(light.max()))
    # half a grey level less: rounding then drops the fraction, as the release does
    red, green = (cv2.convertScaleAbs(light, alpha=shine * value / brightest, beta=-0.5) for value in _TURQUOISE)
    output = cv2.merge([red, green, green])
    return as_bytes(cv2.add(frame, output, dst=output))


def _relief(drops: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How brightly the light falls on each pixel, from how far it lies from the edge of a drop, (H, W)."""
    depth = np.empty_like(drops)
    for top in range(0, len(drops), _STRIP_PX):
        first = max(0, top - _FAR_PX - _EDGE_PX)
        away = _depth(drops[first : top + _STRIP_PX + _FAR_PX + _EDGE_PX])
        depth[top : top + _STRIP_PX] = away[top - first : top - first + _STRIP_PX]
    cv2.equalizeHist(depth, dst=depth)
    return as_bytes(cv2.blur(cv2.filter2D(depth, cv2.CV_8U, _EMBOSS), (3, 3)))


def _depth(drops: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How far each pixel lies from the nearest edge of a drop, in whole pixels."""
    edges = cv2.Canny(drops, 50, 150)
    away = cv2.distanceTransform(cv2.bitwise_not(edges, dst=edges), cv2.DIST_L2, cv2.DIST_MASK_5)
    cv2.threshold(away, _FAR_PX, _FAR_PX, cv2.THRESH_TRUNC, dst=away)
    return cv2.blur(away, (3, 3)).astype(np.uint8)


def _muddy(frame: Frame, liquid: NDArray[np.float32], *, threshold: float, opacity: float) -> Frame:
    """Cover with mud."""
    splashed = (liquid > np.float32(threshold)).view(np.uint8)
    thick = _smoothed(splashed, _MUD_EDGE_PX, scale=1.0)
    cv2.threshold(thick, _OPAQUE, 0.0, cv2.THRESH_TOZERO, dst=thick)
    output = cv2.cvtColor(cv2.convertScaleAbs(thick, alpha=-255.0 * opacity, beta=255.0), cv2.COLOR_GRAY2RGB)
    cv2.multiply(frame, output, dst=output, scale=1.0 / 255.0)
    brown = cv2.merge([cv2.convertScaleAbs(thick, alpha=opacity * value) for value in _MUD])
    return as_bytes(cv2.add(output, brown, dst=output))


def _smoothed(image: NDArray[np.uint8], spread_px: float, *, scale: float, offset: float = 0.0) -> NDArray[np.float32]:
    """A Gaussian blur cut off at four deviations, the edge repeated; ``scale`` times that, plus ``offset``."""
    taps = cv2.getGaussianKernel(2 * int(4.0 * spread_px + 0.5) + 1, spread_px, cv2.CV_32F)
    output = cv2.sepFilter2D(
        image, cv2.CV_32F, taps, taps * np.float32(scale), delta=offset, borderType=cv2.BORDER_REPLICATE
    )
    return np.asarray(output, dtype=np.float32)


STRESSOR: VisionStressor[SeedParams] = Spatter()
