"""Snow: bright flakes drawn out by their fall, and a whitened picture.

Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec. 3.1):
``mix * picture + (1 - mix) * max(picture, 1.5 * grey + 0.5)``, plus the flakes, plus the same flakes turned by half.

Chosen otherwise: beyond the picture's upper edge the flakes go on, where the release repeats the edge. In a clip they
fall along the direction in which they are drawn out, the turned ones too. Between two levels the flakes of one fade out
while those of the other fade in: constants between theirs would change the size of the cells, and with it the place of
every flake, as soon as the strength changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.params import Params, seed_from
from auscult.stress.strength import Rows, between
from auscult.stress.vision.base import Shot, VisionStressor
from auscult.stress.vision.weather_bytes import as_bytes
from auscult.stress.vision.weather_flakes import Flakes, layer
from auscult.types import Frame, Metadata

_SLOW, _FAST = 10.0, 20.0  # cells in a second


@dataclass(frozen=True, slots=True, kw_only=True)
class SnowParams(Params):
    """Which snow, and how it falls.

    Attributes:
        seed: What the flakes follow from.
        angle_deg: The direction of their fall, -90 straight down.
        speed: How far they fall from one frame to the next, in cells, each as large as the flakes' zoom.
    """

    seed: int
    angle_deg: float
    speed: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {"angle_deg": (-135.0, -45.0), "speed": (0.0, 1000.0)}


class Snow:
    """Whitens the picture and adds flakes."""

    name = "vision.snow.v1"
    params = SnowParams
    levels: Rows = (
        (-0.8, 0.3, 3.0, 0.5, 10.0, 4.0, 1.0),
        (0.1, 0.3, 3.0, 0.5, 10.0, 4.0, 0.8),
        (0.2, 0.3, 2.0, 0.5, 12.0, 4.0, 0.7),
        (0.55, 0.3, 4.0, 0.9, 12.0, 8.0, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12.0, 8.0, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12.0, 12.0, 0.55),
    )
    declared: Mapping[int, str] = {
        2: "the flakes' size is a look: small and many at levels 2 and 5, large and few at levels 3 and 4",
        3: "the threshold goes with the mean of the noise, which rises faster",
    }
    meta = Metadata(
        summary="whitens the picture and lets bright, drawn-out flakes fall over it",
        goal="snowfall: objects fade and are cut up by flakes",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C snow",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def choose(self, rng: np.random.Generator, shot: Shot, *, strength: float) -> SnowParams:
        """Draw the flakes and their fall."""
        seed, angle, pace = seed_from(rng), rng.uniform(-135.0, -45.0), rng.uniform(_SLOW, _FAST)
        return SnowParams(strength=strength, seed=seed, angle_deg=angle, speed=pace / max(shot.rate_fps, 1.0))

    def render(self, frame: Frame, params: SnowParams, *, index: int = 0) -> Frame:
        """The frame in snow."""
        kept = between(self.levels, params.strength)[6]
        return whitened(frame, self.flakes(frame.shape[:2], params, index=index), kept=kept)

    def flakes(self, size: tuple[int, int], params: SnowParams, *, index: int) -> NDArray[np.uint8]:
        """The light of the flakes over a frame, uint8 (H, W); between two levels, some of the light of each."""
        below = int(params.strength)
        share = params.strength - below
        if share == 0.0:
            return self._fallen(size, params, row=self.levels[below], index=index)
        above = self._fallen(size, params, row=self.levels[below + 1], index=index)
        if below == 0:
            return as_bytes(cv2.convertScaleAbs(above, alpha=share))
        under = self._fallen(size, params, row=self.levels[below], index=index)
        return as_bytes(cv2.addWeighted(under, 1.0 - share, above, share, 0.0))

    def _fallen(
        self, size: tuple[int, int], params: SnowParams, *, row: Sequence[float], index: int
    ) -> NDArray[np.uint8]:
        """The light of the flakes of one level."""
        mean, deviation, zoom, threshold, radius, spread, _ = row
        flakes = Flakes(
            mean=mean,
            deviation=deviation,
            zoom=self.zoom(zoom, size),
            threshold=threshold,
            radius=radius,
            spread=spread,
            angle_deg=params.angle_deg,
        )
        fallen = index * params.speed
        made = layer(flakes, params.seed, size, fallen=fallen)
        # what is turned by half falls when its original rises
        other = layer(flakes, params.seed, size, fallen=-fallen) if index else made
        return as_bytes(cv2.add(made, cv2.rotate(other, cv2.ROTATE_180)))

    def zoom(self, zoom: float, size: tuple[int, int]) -> tuple[float, float]:
        """Pixels to a cell, (y, x), where whole cells are enlarged from the middle of the first to that of the last."""
        cells = [math.ceil(length / zoom) for length in size]
        height, width = ((count * zoom - 1.0) / max(count - 1, 1) for count in cells)
        return height, width


def whitened(frame: Frame, flakes: NDArray[np.uint8], *, kept: float) -> Frame:
    """Mix a picture with its whiter self, and add flakes.

    Args:
        frame: uint8 RGB (H, W, 3).
        flakes: uint8 (H, W).
        kept: The picture's own share, 0..1.

    The whiter self exceeds white and is not cut off before the mix, so both sides of the ``max`` are mixed first: every
    step then only adds, and saturates where the sum would be cut off.
    """
    white = 1.0 - kept
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    # half a grey level less: rounding then drops the fraction, as the release does
    lift = cv2.convertScaleAbs(grey, alpha=1.5 * white, beta=max(0.0, 127.5 * white - 0.5))
    cv2.add(lift, flakes, dst=lift)
    light = cv2.cvtColor(lift, cv2.COLOR_GRAY2RGB)
    made = cv2.convertScaleAbs(frame, alpha=kept)
    cv2.add(made, light, dst=made)
    cv2.cvtColor(flakes, cv2.COLOR_GRAY2RGB, dst=light)
    cv2.add(frame, light, dst=light)
    cv2.max(made, light, dst=made)
    return as_bytes(made)


STRESSOR: VisionStressor[SnowParams] = Snow()
