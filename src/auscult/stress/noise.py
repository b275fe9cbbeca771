"""Noise for whole frames, drawn fast: random words look up their value in a table.

A table gives the same bytes on every machine, where a vectorised logarithm may differ in its last digit, and takes a
tenth of the time. Frames are made in strips of rows, so that what is made in between stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

_WORDS = 1 << 16
_STRIP = 1 << 17
"""How many values a strip has, about."""


@cache
def normal_table() -> NDArray[np.float32]:
    """Quantiles of the standard normal distribution in the middle of 65,536 equal parts, (65536,)."""
    half = [NormalDist().inv_cdf((2 * index + 1) / (2 * _WORDS)) for index in range(_WORDS // 2)]
    lower = np.array(half, dtype=np.float64)
    table = np.concatenate([lower, -lower[::-1]])
    table /= np.sqrt(np.mean(table**2))  # what the cut-off tails would add
    quantiles = table.astype(np.float32)
    quantiles.setflags(write=False)
    return quantiles


def words(rng: np.random.Generator, shape: tuple[int, ...], *, skipped: int = 0) -> NDArray[np.uint16]:
    """Random 16-bit words, each value equally likely, after so many others of a new PCG64 generator."""
    if skipped:
        rng.bit_generator.advance(skipped // 4)  # type: ignore[attr-defined]
    skipped %= 4
    count = int(np.prod(shape)) + skipped
    draws = rng.integers(0, 1 << 64, size=-(-count // 4), dtype=np.uint64)
    return draws.astype("<u8", copy=False).view("<u2")[skipped:count].reshape(shape)


def normal(
    rng: np.random.Generator, shape: tuple[int, ...], *, scale: float = 1.0, skipped: int = 0
) -> NDArray[np.float32]:
    """Normal noise of mean 0 and standard deviation ``scale``, at most 4.3 deviations out; ``skipped`` as of words."""
    return np.take(normal_table() * np.float32(scale), words(rng, shape, skipped=skipped))


def strips(frame: Frame) -> Iterator[slice]:
    """The rows of a frame, some at a time, from the top."""
    height = frame.shape[0]
    rows = max(1, _STRIP * height // max(1, frame.size))
    for top in range(0, height, rows):
        yield slice(top, min(top + rows, height))
