"""The light of a scene: where it comes from, how hard it is, its colour, and the camera's grain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Final

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.record.codec import Share
from auscult.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """Light and camera, the same for everything in a scene."""

    # where the light comes from, clockwise from straight above: 0 above, 90 right, -90 left
    from_deg: Annotated[float, Meta(ge=-180.0, le=180.0)]
    shade: Share  # how much darker a thing's far side is, 0 (flat light) to 1
    shadow: Share  # how dark the contact shadow is, 0 (none) to 1
    warmth: Annotated[float, Meta(ge=-1.0, le=1.0)]  # blue (-1) to yellow (1)
    gain: Annotated[float, Meta(ge=0.25, le=4.0)]  # exposure of the things; 1 leaves them as they are
    # standard deviation of the noise that the whole picture gets on top of its own, share of white
    grain: Annotated[float, Meta(ge=0.0, le=0.1)]
    grain_seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]  # seed of all noise

    @property
    def towards(self) -> tuple[float, float]:
        """Unit vector (x, y) in the picture that points to the light; y is down."""
        angle = math.radians(self.from_deg)
        return math.sin(angle), -math.cos(angle)


def choose_light(rng: np.random.Generator) -> Light:
    """Draw the light of a scene: from above, mild, as a camera with automatic exposure sees it."""
    return Light(
        from_deg=round(float(rng.uniform(-70.0, 70.0)), 3),
        shade=round(float(rng.uniform(0.15, 0.6)), 4),
        shadow=round(float(rng.uniform(0.06, 0.2)), 4),
        warmth=round(float(np.clip(rng.normal(0.0, 0.3), -0.8, 0.8)), 4),
        gain=round(float(np.exp(rng.normal(0.0, 0.08))), 4),
        grain=round(float(rng.uniform(0.0, 0.012)), 5),
        grain_seed=int(rng.integers(2**63)),
    )


_RELIEF: Final = 0.12  # how far from the outline a thing still looks round, share of its size


def relief(alpha: Floats, *, light: Light) -> Floats:
    """How much brighter or darker each place of a thing is, float32 (h, w), about 1, from its alpha, 0..1.

    The thing is taken for a cushion over its outline; what faces the light is brighter. A slow slope from the lit to
    the far side is added.
    """
    height, width = alpha.shape
    towards = light.towards
    sigma = max(1.0, _RELIEF * min(height, width))
    small = max(1, int(sigma / 3))
    low = cv2.resize(alpha, (max(2, width // small), max(2, height // small)), interpolation=cv2.INTER_AREA)
    cushion: NDArray[Any] = cv2.GaussianBlur(low, (0, 0), sigma / small, borderType=cv2.BORDER_CONSTANT)
    dx = cv2.Sobel(cushion, cv2.CV_32F, 1, 0, scale=0.125) * (sigma / small)
    dy = cv2.Sobel(cushion, cv2.CV_32F, 0, 1, scale=0.125) * (sigma / small)
    facing = cv2.resize(-(dx * towards[0] + dy * towards[1]), (width, height), interpolation=cv2.INTER_LINEAR)
    across = np.linspace(-1, 1, width, dtype=np.float32)[None, :] * towards[0]
    down = np.linspace(-1, 1, height, dtype=np.float32)[:, None] * towards[1]
    slope = 0.18 * (across + down)
    return np.asarray(1 + light.shade * (np.clip(facing, -0.35, 0.35) + slope), dtype=np.float32)


def shadow(alpha: Floats, *, light: Light) -> Floats:
    """How much a thing darkens what is behind it, factors 0..1, from its alpha, float32 (h, w), with room around it."""
    reach = shadow_reach_px(alpha.shape)
    towards = light.towards
    shift = np.array([[1, 0, -towards[0] * reach * 0.5], [0, 1, -towards[1] * reach * 0.5]], np.float32)
    moved = cv2.warpAffine(alpha, shift, alpha.shape[::-1])
    soft = cv2.GaussianBlur(moved, (0, 0), reach * 0.5, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(1 - light.shadow * soft, dtype=np.float32)


def shadow_reach_px(size: tuple[int, ...]) -> float:
    """How far a shadow goes beyond a thing of a size."""
    return float(np.clip(0.04 * min(size), 1.5, 6.0))
