"""How many photons a sensor counts: tables of the Poisson distribution for every grey level.

A table holds, for each of 256 grey levels, the brightness at 4,096 equally likely quantiles; a random word then picks
one. It agrees with Poisson(expected) to 1/8192 in every cumulative probability.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from auscult.stress.noise import normal_table

WORD_BITS = 12
_WORDS = 1 << WORD_BITS
_GREYS = 256
_COUNTED = 400.0
"""Up to so many photons at full brightness they are counted; beyond, the distribution is smooth."""


def brightness_table(photons: float) -> NDArray[np.uint8]:
    """Brightness after counting, uint8 (256, 4096), not falling along a row.

    Args:
        photons: How many are expected at full brightness, above 0; infinity gives each level itself.

    Returns:
        255 Poisson(grey / 255 * photons) / photons, cut off at 255 and its fraction dropped, at the quantiles in the
        middle of 4,096 equal parts.
    """
    return _counted(photons) if photons <= _COUNTED else _smooth(photons)


def _counted(photons: float) -> NDArray[np.uint8]:
    """Exact: how many of the quantiles count 0, 1, 2 ... photons; more than ``photons`` are as bright as that."""
    most = math.ceil(photons)
    expected = np.arange(_GREYS)[:, None] * (photons / 255.0)
    ratios = np.concatenate([np.exp(-expected), expected / np.arange(1, most)], axis=1)
    below = np.cumsum(np.cumprod(ratios, axis=1), axis=1)
    ends = np.floor(below * _WORDS + 0.5).astype(np.intp)
    counts = np.diff(ends, axis=1, prepend=0, append=_WORDS)
    bright = np.minimum(np.arange(most + 1) * (255.0 / photons) + 1e-9, 255.0).astype(np.uint8)
    return np.repeat(np.tile(bright, _GREYS), counts.ravel()).reshape(_GREYS, _WORDS)


def _smooth(photons: float) -> NDArray[np.uint8]:
    """By the normal quantile and its first correction for skew (Cornish and Fisher)."""
    step = 255.0 / photons
    normal = normal_table()[len(normal_table()) // (2 * _WORDS) :: len(normal_table()) // _WORDS].astype(np.float64)
    grey = np.arange(_GREYS, dtype=np.float64)[:, None]
    found = grey + np.sqrt(grey * step) * normal + (normal**2 - 1.0) * (step / 6.0)
    found[0] = 0.0
    return np.clip(found + 1e-9, 0.0, 255.0).astype(np.uint8)
