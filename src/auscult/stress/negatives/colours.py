"""Which colour words may be said of pixels, read widely, so that a word that is not among them is surely wrong.

Ranges overlap: a pixel between blue and purple counts as both. They were drawn around the basic colour terms (Berlin
and Kay, Basic Color Terms, 1969) in hue, saturation and value.
"""

from __future__ import annotations

import colorsys
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

# Hue in degrees (a range over 360 goes on from 0), saturation and value, 0..1.
_RANGES: Final[dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]]] = {
    "red": ((330, 382), (0.25, 1.0), (0.12, 1.0)),
    "orange": ((2, 52), (0.25, 1.0), (0.3, 1.0)),
    "yellow": ((32, 78), (0.18, 1.0), (0.35, 1.0)),
    "green": ((55, 195), (0.12, 1.0), (0.1, 1.0)),
    "blue": ((165, 280), (0.1, 1.0), (0.1, 1.0)),
    "purple": ((235, 350), (0.1, 1.0), (0.1, 1.0)),
    "pink": ((280, 395), (0.08, 0.8), (0.4, 1.0)),
    "brown": ((0, 60), (0.12, 1.0), (0.1, 0.8)),
    "white": ((0, 360), (0.0, 0.3), (0.5, 1.0)),
    "grey": ((0, 360), (0.0, 0.25), (0.12, 0.92)),
    "black": ((0, 360), (0.0, 1.0), (0.0, 0.36)),
}
COLOURS: Final = tuple(_RANGES)
CLAIMED: Final = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "black")
"""The words that are said to be wrong of something; brown and grey depend too much on the light."""

FEWEST_PIXELS: Final = 300
"""Of an object that has a colour at all."""

_BITS: Final = 4  # of each channel that are looked at
_COLOURLESS: Final = 0.06


@cache
def _table() -> NDArray[np.int16]:
    """For each colour of few bits, a bit for each word that it may mean."""
    side = 1 << _BITS
    found = np.zeros(side**3, np.int16)
    for at in range(side**3):
        red, green, blue = ((at >> shift & side - 1) / (side - 1) for shift in (2 * _BITS, _BITS, 0))
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        for word, (hues, saturations, values) in enumerate(_RANGES.values()):
            turned = any(hues[0] <= hue * 360 + turn <= hues[1] for turn in (0, 360))
            if turned and saturations[0] <= saturation <= saturations[1] and values[0] <= value <= values[1]:
                found[at] |= 1 << word
    return found


@cache
def _words() -> NDArray[np.float64]:
    """Which bits each value of the table has, (2048, 11)."""
    values = np.arange(1 << len(COLOURS))
    return (values[:, None] >> np.arange(len(COLOURS)) & 1).astype(np.float64)


def is_colourless(frame: Frame) -> bool:
    """Whether a frame, uint8 RGB (H, W, 3), is a black and white photograph, of which no colour can be said."""
    some = frame[::8, ::8].reshape(-1, 3).astype(np.int16)
    spread = some.max(axis=1) - some.min(axis=1)
    return float(spread.mean()) < _COLOURLESS * 255


def shares(pixels: NDArray[np.uint8]) -> dict[str, float] | None:
    """The share of an object's pixels, uint8 RGB (n, 3), that each colour word may mean; None where they are few."""
    if len(pixels) < FEWEST_PIXELS:
        return None
    high = (pixels >> 8 - _BITS).astype(np.int16)
    codes = _table()[high[:, 0] << 2 * _BITS | high[:, 1] << _BITS | high[:, 2]]
    counts = np.bincount(codes, minlength=1 << len(COLOURS))
    found = counts @ _words() / len(pixels)
    return {word: round(float(share), 4) for word, share in zip(COLOURS, found, strict=True)}
