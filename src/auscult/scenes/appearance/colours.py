"""Colour words and light: tones that fit a word, the word that fits a tone, and how a scene is lit.

Words are the eleven basic colour terms of English. A tone near the border between two of them has no word.
"""

from __future__ import annotations

import colorsys
import math
from dataclasses import dataclass
from typing import Annotated, Any, Final

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.record.codec import Share
from auscult.types import Floats

Tone = tuple[int, int, int]

# Word: ranges of hue in degrees (over 360 goes on from 0), saturation and value, inside those of ``_BORDERS``.
_RANGES: Final[dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]]] = {
    "red": ((352, 366), (0.75, 0.92), (0.62, 0.88)),
    "orange": ((23, 34), (0.8, 0.95), (0.86, 0.98)),
    "yellow": ((49, 57), (0.7, 0.9), (0.86, 0.98)),
    "green": ((95, 150), (0.5, 0.8), (0.4, 0.72)),
    "blue": ((206, 236), (0.6, 0.88), (0.5, 0.88)),
    "purple": ((268, 288), (0.45, 0.7), (0.42, 0.7)),
    "pink": ((325, 342), (0.35, 0.52), (0.88, 0.98)),
    "brown": ((18, 30), (0.55, 0.72), (0.34, 0.5)),
    "white": ((30, 60), (0.0, 0.05), (0.92, 0.98)),
    "grey": ((0, 360), (0.0, 0.06), (0.42, 0.6)),
    "black": ((0, 360), (0.0, 0.2), (0.08, 0.14)),
}
COLOURS: Final = tuple(_RANGES)

# The same for naming; wider, and with gaps between the words.
_BORDERS: Final[tuple[tuple[str, tuple[float, float], tuple[float, float], tuple[float, float]], ...]] = (
    ("black", (0, 360), (0.0, 1.0), (0.0, 0.12)),
    ("black", (0, 360), (0.0, 0.45), (0.0, 0.2)),
    ("white", (0, 360), (0.0, 0.1), (0.85, 1.0)),
    ("grey", (0, 360), (0.0, 0.12), (0.27, 0.78)),
    ("brown", (8, 45), (0.35, 1.0), (0.22, 0.62)),
    ("orange", (19, 39), (0.6, 1.0), (0.72, 1.0)),
    ("pink", (305, 372), (0.18, 0.6), (0.78, 1.0)),
    ("red", (346, 371), (0.6, 1.0), (0.35, 1.0)),
    ("yellow", (45, 64), (0.45, 1.0), (0.68, 1.0)),
    ("green", (75, 165), (0.22, 1.0), (0.2, 1.0)),
    ("blue", (195, 248), (0.3, 1.0), (0.28, 1.0)),
    ("purple", (258, 300), (0.25, 1.0), (0.25, 1.0)),
)


def draw_tone(rng: np.random.Generator, word: str) -> Tone:
    """A tone that a person calls by this word, (red, green, blue), 0..255."""
    hue, saturation, value = (float(rng.uniform(low, high)) for low, high in _RANGES[word])
    return as_tone(colorsys.hsv_to_rgb(hue % 360 / 360, saturation, value))


def as_tone(rgb: tuple[float, float, float] | NDArray[np.float64]) -> Tone:
    """Round channels in 0..1 to bytes."""
    red, green, blue = (int(np.clip(round(float(channel) * 255), 0, 255)) for channel in rgb)
    return red, green, blue


def scaled(tone: Tone, factor: float) -> Tone:
    """A tone made darker (below 1) or lighter (above 1, towards white)."""
    if factor <= 1:
        return as_tone(tuple(channel / 255 * factor for channel in tone))  # type: ignore[arg-type]
    share = min(factor - 1, 1.0)
    return as_tone(tuple(channel / 255 * (1 - share) + share for channel in tone))  # type: ignore[arg-type]


def words_of(pixels: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Which word fits each pixel of a uint8 RGB (n, 3): int8 (n,), an index into ``COLOURS``, or -1 between words."""
    rgb = pixels.astype(np.float32) / np.float32(255)
    value = rgb.max(axis=1)
    spread = value - rgb.min(axis=1)
    saturation = spread / np.maximum(value, 1e-6)
    hue = _hue_deg(rgb, value=value, spread=spread)
    words = np.full(len(pixels), -1, np.int8)
    for word, hues, saturations, values in _BORDERS:
        fits = (saturation >= saturations[0]) & (saturation <= saturations[1])
        fits &= (value >= values[0]) & (value <= values[1])
        fits &= ((hue >= hues[0]) & (hue <= hues[1])) | (hue + 360 <= hues[1])
        words[fits & (words < 0)] = COLOURS.index(word)
    return words


def _hue_deg(rgb: NDArray[Any], *, value: NDArray[Any], spread: NDArray[Any]) -> NDArray[np.float32]:
    red, green, blue = rgb.T
    safe = np.maximum(spread, 1e-6)
    hue = np.where(
        value == red,
        (green - blue) / safe % 6,
        np.where(value == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    return np.asarray(hue * 60, dtype=np.float32)


def word_of(pixels: NDArray[np.uint8], *, least: float = 0.6) -> str | None:
    """The word of ``COLOURS`` that a share of a thing's pixels, uint8 RGB (n, 3), have at least; else None."""
    if len(pixels) == 0:
        return None
    words = words_of(pixels)
    counts = np.bincount(words[words >= 0], minlength=len(COLOURS))
    best = int(counts.argmax())
    return COLOURS[best] if counts[best] >= least * len(pixels) else None


def mark_for(rng: np.random.Generator, tone: Tone, word: str) -> Tone:
    """The second tone of a texture: of another lightness, or without colour, so that the word still fits."""
    if word in {"white", "yellow"}:
        return scaled(tone, float(rng.uniform(0.4, 0.6)))
    if word in {"black", "brown", "blue", "purple"}:
        return scaled(tone, float(rng.uniform(1.5, 1.75)))
    return scaled(tone, float(rng.uniform(0.35, 0.5) if rng.random() < 0.5 else rng.uniform(1.6, 1.85)))


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
