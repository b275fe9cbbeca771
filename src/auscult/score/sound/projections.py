"""Least squares of signals on delayed stems: correlations in blocks, block-Toeplitz normal equations, their solution.

Delays run from 0 to L - 1 samples and signals are continued by silence, so that the projections are exact. Everything
that is needed of the signals are L correlations of each pair, summed over short Fourier transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from auscult.score.sound.inputs import Signal, block, check_finite
from auscult.types import Doubles

_FRAMES: Final = 16
"""Transforms of one signal that are held together."""


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Products of n delayed channels of stems with one another and with m channels of estimates.

    Attributes:
        stems: (n, n, L): at (i, j, t) the sum of ``i[x] j[x + t]`` over x.
        cross: (n, m, L): the same of stem i and estimate j.
        own: Energy of each channel of the estimates, (m,).
    """

    stems: Doubles
    cross: Doubles
    own: Doubles


def correlations(stems: Sequence[Signal], estimates: Sequence[Signal], *, lags: int) -> Correlations:
    """Correlate signals of one shape, the channels of each one after the other."""
    size = 1 << max(11, (4 * lags - 1).bit_length() + 1)
    step = size - lags + 1
    rows = sum(1 if len(one.shape) == 1 else one.shape[0] for one in stems)
    total: list[NDArray[np.complex128]] | None = None
    own: Doubles | float = 0.0
    for start in range(0, stems[0].shape[-1], _FRAMES * step):
        stop = start + _FRAMES * step
        part = np.concatenate([block(one, start, stop + lags - 1) for one in (*stems, *estimates)])
        inside = part[rows:, : stop - start]
        own = own + np.einsum("mx,mx->m", inside, inside)
        count = -(-min(part.shape[1], stop - start) // step)
        part = np.pad(part, ((0, 0), (0, max(0, count * step + lags - 1 - part.shape[1]))))
        frames = sliding_window_view(part, size, axis=-1)[:, : count * step : step]
        ahead = np.fft.rfft(frames)
        first = np.conj(np.fft.rfft(frames[:rows, :, :step], size))
        products = [np.einsum("bf,jbf->jf", one, ahead) for one in first]
        total = products if total is None else [mine + new for mine, new in zip(total, products, strict=True)]
    found = np.fft.irfft(np.stack(total or []), size)[..., :lags]
    check_finite(float(found.sum()), float(np.sum(own)))
    return Correlations(found[:, :rows], found[:, rows:], np.asarray(own))


def gram(products: Doubles) -> Doubles:
    """Inner products of all delayed channels, (n L, n L) with blocks of L, from ``Correlations.stems`` (n, n, L)."""
    rows, _, lags = products.shape
    made = np.empty((rows, lags, rows, lags))
    for i in range(rows):
        for j in range(rows):
            line = np.concatenate([products[j, i, :0:-1], products[i, j]])
            made[i, :, j] = sliding_window_view(line, lags)[:, ::-1]
    return made.reshape(rows * lags, rows * lags)


def solved(matrix: Doubles, right: Doubles) -> Doubles:
    """Coefficients x of ``matrix @ x = right``, (n, m), for a matrix of inner products that may be singular."""
    try:
        return _solved_by_cholesky(matrix, right)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right)[0])


def _solved_by_cholesky(matrix: Doubles, right: Doubles) -> Doubles:
    """By SciPy where it is installed: NumPy's Cholesky takes twice as long, and no less than its general solution."""
    try:
        from scipy.linalg import cho_factor, cho_solve
    except ImportError:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    factors = cho_factor(matrix, lower=True, check_finite=False)
    return np.asarray(cho_solve(factors, right, check_finite=False))


def energies(matrix: Doubles, weights: Doubles) -> Doubles:
    """Energy of the combinations of delayed channels with weights (n, m): (m,)."""
    return np.asarray(np.einsum("nm,nm->m", weights, matrix @ weights))
