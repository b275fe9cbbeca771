"""How well each pixel fits the eleven basic colour words, softly: a tone between two words fits both in part."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

COLOURS: Final = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "white", "grey", "black")
"""Basic colour terms (Berlin and Kay, Basic Color Terms, 1969)."""

_LEVELS: Final = 32
_STEP: Final = 256 // _LEVELS

# Hue in degrees at which a word fits best, and how far it reaches to both sides; red, pink, orange and brown share hues
# and are told apart by how light and how strong a tone is.
_HUES: Final = {
    "red": (0.0, 24.0),
    "orange": (29.0, 17.0),
    "yellow": (54.0, 20.0),
    "green": (120.0, 55.0),
    "blue": (217.0, 48.0),
    "purple": (280.0, 35.0),
    "pink": (334.0, 36.0),
    "brown": (26.0, 26.0),
}


def fits(frame: Frame) -> NDArray[np.float32]:
    """How well each colour word fits each pixel.

    Args:
        frame: uint8 RGB (h, w, 3).

    Returns:
        float32 (h * w, 11), 0..1, in the order of ``COLOURS``; a row sums to at most 1.
    """
    levels = (frame // _STEP).astype(np.intp)
    place = (levels[..., 0] * _LEVELS + levels[..., 1]) * _LEVELS + levels[..., 2]
    taken: NDArray[np.float32] = _table()[place.reshape(-1)]
    return taken


@lru_cache(maxsize=1)
def _table() -> NDArray[np.float32]:
    """The fits of every tone, at ``_LEVELS`` levels a channel: read-only, since it is kept."""
    axis = (np.arange(_LEVELS, dtype=np.float32) * _STEP + _STEP / 2) / 255
    tones = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(1, -1, 3)
    hsv = np.asarray(cv2.cvtColor(tones, cv2.COLOR_RGB2HSV), dtype=np.float32)[0]
    table = _of_hsv(hsv[:, 0], saturation=hsv[:, 1], value=hsv[:, 2])
    table.setflags(write=False)
    return table


def _of_hsv(
    hue: NDArray[np.float32], *, saturation: NDArray[np.float32], value: NDArray[np.float32]
) -> NDArray[np.float32]:
    near = {word: _near(hue, centre, reach) for word, (centre, reach) in _HUES.items()}
    light, strong = _rises(value, 0.55, 0.75), _rises(saturation, 0.45, 0.7)
    chroma = saturation * value
    dark = 1 - _rises(value, 0.1, 0.26)
    coloured = _rises(saturation, 0.1, 0.3) * _rises(chroma, 0.04, 0.14) * (1 - dark)
    grey = (1 - coloured) * (1 - dark)
    pale = light * (1 - strong)
    parts = {
        "red": coloured * near["red"] * (1 - pale),
        "orange": coloured * near["orange"] * light * strong,
        "yellow": coloured * near["yellow"] * _rises(value, 0.45, 0.65),
        "green": coloured * near["green"],
        "blue": coloured * near["blue"],
        "purple": coloured * near["purple"],
        "pink": coloured * np.maximum(near["pink"], near["red"] * pale),
        "brown": coloured * near["brown"] * np.maximum(1 - light, 0.6 * (1 - strong)),
        "white": grey * _rises(value, 0.7, 0.88),
        "grey": grey * (1 - _rises(value, 0.7, 0.88)) * _rises(value, 0.16, 0.32),
        "black": np.maximum(dark, grey * (1 - _rises(value, 0.16, 0.32))),
    }
    table = np.stack([parts[word] for word in COLOURS], axis=1).astype(np.float32)
    return np.asarray(table / np.maximum(1.0, table.sum(axis=1, keepdims=True)), dtype=np.float32)


def _near(hue: NDArray[np.float32], centre: float, reach: float) -> NDArray[np.float32]:
    """1 within the inner half of the reach, falling to 0 at its end."""
    away = np.abs((hue - centre + 180) % 360 - 180)
    return np.asarray(np.clip(2 - 2 * away / reach, 0, 1), dtype=np.float32)


def _rises(values: NDArray[np.float32], low: float, high: float) -> NDArray[np.float32]:
    """From 0 at ``low`` to 1 at ``high``."""
    return np.asarray(np.clip((values - low) / (high - low), 0, 1), dtype=np.float32)
