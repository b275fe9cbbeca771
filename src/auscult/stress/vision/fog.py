"""Fog: a bright, cloudy veil.

Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec. 3.1):
``(picture + density * fractal) * brightest / (brightest + density)``, the fractal made in the size of the next power of
two and cut to the picture.

In a clip the fog drifts: the fractal lies on a torus and moves under the picture with the wind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Params, Perturbs, Seed, Share, seed_from
from auscult.stress.vision import weather_fractal
from auscult.stress.vision.base import ClipInfo, VisionStressor, as_bytes
from auscult.types import Frame, Metadata

_SLOW, _FAST = 0.025, 0.075  # of the picture's longer side, in a second


@dataclass(frozen=True, slots=True, kw_only=True)
class FogParams(Params):
    """Which fog, and how it drifts."""

    seed: Seed  # what the fractal follows from
    heading_deg: Annotated[float, Meta(ge=0.0, le=360.0)]  # where the wind carries it, 0 to the right, 90 down
    speed: Share  # how far it goes from one frame to the next, as a share of the picture's longer side

    def drift_px(self, index: int, side: int) -> tuple[int, int]:
        """How far the fog has come by a frame, (y, x), where the longer side measures ``side``."""
        way = index * self.speed * side
        heading = math.radians(self.heading_deg)
        return round(way * math.sin(heading)), round(way * math.cos(heading))


class Fog(Perturbs[FogParams]):
    """Adds a plasma fractal and takes the sum back into the picture's own range."""

    name = "vision.fog.v1"
    params = FogParams
    density = Constant("brightness of the fog", (0.0, 1.5, 2.0, 2.5, 2.5, 3.0), unit="1 = white")
    decay = Constant("decay of the fractal at each halving", (2.0, 2.0, 2.0, 1.7, 1.5, 1.4))
    meta = Metadata(
        summary="lays a bright, cloudy veil over the picture",
        goal="fog: contrast fades, most where it is thick",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C fog",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def choose(self, rng: np.random.Generator, shot: ClipInfo, /, *, strength: float) -> FogParams:
        """Draw the fog and the wind."""
        seed, heading, pace = seed_from(rng), rng.uniform(0.0, 360.0), rng.uniform(_SLOW, _FAST)
        return FogParams(strength=strength, seed=seed, heading_deg=heading, speed=pace / max(shot.rate_fps, _FAST))

    def render(self, frame: Frame, params: FogParams, *, index: int = 0) -> Frame:
        """The frame in fog."""
        density, decay = self.density.at(params.strength), self.decay.at(params.strength)
        return veiled(frame, self.fractal(frame.shape[:2], params, decay=decay, index=index), density=density)

    def fractal(self, size: tuple[int, int], params: FogParams, *, decay: float, index: int) -> NDArray[np.float32]:
        """How thick the fog is at each pixel of a frame, (H, W), 0..1."""
        longest = max(size)
        side = weather_fractal.map_size(longest)
        plasma = weather_fractal.plasma(params.seed, side, decay=decay)
        down, right = params.drift_px(index, longest)
        return weather_fractal.piece(plasma, at=(-down, -right), shape=size)


def veiled(frame: Frame, fractal: NDArray[np.float32], *, density: float) -> Frame:
    """Add ``density`` times the fractal, (H, W), 0..1, and scale so that the brightest value stays where it was."""
    brightest = float(frame.max()) / 255.0
    weight = brightest / (brightest + density)
    veil = cv2.convertScaleAbs(fractal, alpha=255.0 * density * weight)
    output = cv2.cvtColor(veil, cv2.COLOR_GRAY2RGB)
    # half a grey level less: rounding then drops the fraction, as the release does
    cv2.addWeighted(frame, weight, output, 1.0, -0.5, dst=output)
    return as_bytes(output)


STRESSOR: VisionStressor[FogParams] = Fog()


_SIDE = 1024


class FogR2Bench(Fog):
    """Fog in the geometry of R2-Bench's toolbox: one whole map of 1024 x 1024 is resized to the frame.

    Its clouds are as wide and as high as the frame, where ``vision.fog.v1`` cuts a piece in the frame's own
    proportions. Level 4 is as dense as level 3, of a rougher fractal: it need not do more damage than level 3 to a
    picture (PSNR: less on 20 of the 48 photographs of the damage tables).
    """

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


R2BENCH: VisionStressor[FogParams] = FogR2Bench()
