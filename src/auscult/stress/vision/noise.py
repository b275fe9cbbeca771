"""Noise for whole frames, drawn fast: random words look up their value in a table.

A table gives the same bytes on every machine, where a vectorised logarithm may differ in its last digit, and takes a
tenth of the time.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_WORDS = 1 << 16


@cache
def normal_table() -> NDArray[np.float32]:
    """Quantiles of the standard normal distribution in the middle of 65,536 equal parts, (65536,)."""
    half = [NormalDist().inv_cdf((2 * at + 1) / (2 * _WORDS)) for at in range(_WORDS // 2)]
    lower = np.array(half, dtype=np.float64)
    table = np.concatenate([lower, -lower[::-1]])
    table /= np.sqrt(np.mean(table**2))  # what the cut-off tails would add
    found = table.astype(np.float32)
    found.setflags(write=False)
    return found


def words(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint16]:
    """Random 16-bit words, each value equally likely."""
    count = int(np.prod(shape))
    return np.frombuffer(rng.bytes(2 * count), dtype="<u2").reshape(shape)


def normal(rng: np.random.Generator, shape: tuple[int, ...], *, scale: float = 1.0) -> NDArray[np.float32]:
    """Normal noise of mean 0 and standard deviation ``scale``, at most 4.3 deviations out."""
    return np.take(normal_table() * np.float32(scale), words(rng, shape))
