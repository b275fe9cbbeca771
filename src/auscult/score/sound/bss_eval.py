"""BSS Eval: how much of an estimate is the target, how much other sources, how much neither.

Conventions: decibels, higher is better. Estimates are projected on the stems delayed by 0 to ``filter_length`` - 1
samples, that is, on each stem through any filter of that length (512 in all published numbers).

- Version 3, sources (``bss3``): mono. The target is the estimate's projection on its stem; SDR, SIR, SAR.
- Version 3, images (``bss_images`` without a window): any channels, and the target is the stem as it is. What a filter
  on the stem explains is spatial distortion: SDR, ISR, SIR, SAR.
- Version 4 (``bss4``): the same with filters of the whole signals, energies in windows of a second, and their median.
  A window in which any stem or estimate is silent has no number, as in the reference implementation; one whose error
  is nothing but rounding is above all others, and a median of such is undefined (the reference prints some 200 dB).

Projections are least squares on delayed stems: correlations in blocks, block-Toeplitz normal equations, their solution.
Signals are continued by silence, so that they are exact. Everything that is needed of the signals are as many
correlations of each pair as there are delays, summed over short Fourier transforms.

References: E. Vincent, R. Gribonval, C. Févotte, "Performance measurement in blind audio source separation", IEEE TASLP
14, 2006; E. Vincent et al., LVA/ICA 2007 (images, ISR); A. Liutkus, F.-R. Stöter, N. Ito, "The 2018 signal separation
evaluation campaign", LVA/ICA 2018 (version 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Final, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.score.sound.inputs import Signal, block, check_finite, check_signals, silence_of, sound_score
from auscult.score.sound.ratios import NO_ERROR, ratio, signed_db
from auscult.types import Doubles

_FRAMES: Final = 16
"""Transforms of one signal that are held together."""


def correlations(stems: Sequence[Signal], estimates: Sequence[Signal], *, lags: int) -> tuple[Doubles, Doubles]:
    """Products of n channels of stems with all n + m channels, and the energy of each of the estimates' m, (m,).

    Signals are of one shape, the channels of each one after the other. Products are (n, n + m, lags): at (i, j, t) the
    sum of ``i[x] j[x + t]`` over x.
    """
    size = 1 << max(11, (4 * lags - 1).bit_length() + 1)
    step = size - lags + 1
    rows = sum(1 if len(stem.shape) == 1 else stem.shape[0] for stem in stems)
    total: list[NDArray[np.complex128]] | None = None
    energy: Doubles | float = 0.0
    for start in range(0, stems[0].shape[-1], _FRAMES * step):
        stop = start + _FRAMES * step
        part = np.concatenate([block(signal, start, stop + lags - 1) for signal in (*stems, *estimates)])
        inside = part[rows:, : stop - start]
        energy = energy + np.einsum("mx,mx->m", inside, inside)
        count = -(-min(part.shape[1], stop - start) // step)
        part = np.pad(part, ((0, 0), (0, max(0, count * step + lags - 1 - part.shape[1]))))
        frames = sliding_window_view(part, size, axis=-1)[:, : count * step : step]
        ahead = np.fft.rfft(frames)
        first = np.conj(np.fft.rfft(frames[:rows, :, :step], size))
        products = [np.einsum("bf,jbf->jf", spectrum, ahead) for spectrum in first]
        total = products if total is None else [old + new for old, new in zip(total, products, strict=True)]
    by_lag = np.fft.irfft(np.stack(total or []), size)[..., :lags]
    check_finite(float(by_lag.sum()), float(np.sum(energy)))
    return by_lag, np.asarray(energy)


def gram(products: Doubles) -> Doubles:
    """Inner products of all delayed channels, (n L, n L) with blocks of L, from ``correlations`` (n, n, L)."""
    rows, _, lags = products.shape
    matrix = np.empty((rows, lags, rows, lags))
    for i in range(rows):
        for j in range(rows):
            line = np.concatenate([products[j, i, :0:-1], products[i, j]])
            matrix[i, :, j] = sliding_window_view(line, lags)[:, ::-1]
    return matrix.reshape(rows * lags, rows * lags)


def solved(matrix: Doubles, right: Doubles) -> Doubles:
    """Coefficients x of ``matrix @ x = right``, (n, m), for a matrix of inner products that may be singular."""
    try:
        return _solved_by_cholesky(matrix, right)
    except np.linalg.LinAlgError:
        return _solved_by_pivots(matrix, right)


def _solved_by_pivots(matrix: Doubles, right: Doubles) -> Doubles:
    """By rows that do not follow from others, as in a panned sound half do, where SciPy is installed.

    NumPy's least squares take fifty times as long.
    """
    try:
        from scipy.linalg import cho_solve
        from scipy.linalg.lapack import dpstrf
    except ImportError:
        return np.asarray(np.linalg.lstsq(matrix, right)[0])
    factor, pivots, rank, _ = dpstrf(matrix, lower=1)
    rows, solution = pivots[:rank] - 1, np.zeros_like(right)
    solution[rows] = cho_solve((factor[:rank, :rank], True), right[rows], check_finite=False)
    return solution


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


FILTER_LENGTH: Final = 512
MOST_SOURCES: Final = 16
MOST_PERMUTED: Final = 8
_RESOLVED: Final = 1e-11
"""A part below this share of the estimate's energy is the rounding of the projection."""

Order = Literal["given", "best"]
Ratios = Mapping[str, Scored[float] | Undefined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed(Scored[float]):
    """The median (``value``) of a ratio over windows."""

    values: tuple[float, ...]  # of each window in order, NaN where it has none; without an error it counts as highest


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """Scores of several estimates of one mixture."""

    order: tuple[int, ...]  # for each stem the number of the estimate that is scored against it
    ratios: tuple[Ratios, ...]  # for each stem its ratios by name


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Energies of stems (n,), of estimates (m,), and the two of each ratio, (n, m) or (n, m, windows) with NaN."""

    true: Doubles
    own: Doubles
    ratios: Mapping[str, tuple[Doubles, Doubles]]


def bss_sources(
    estimates: Sequence[Signal], stems: Sequence[Signal], *, order: Order = "given", filter_length: int = FILTER_LENGTH
) -> Separation:
    """BSS Eval 3 of mono sources: ``sdr``, ``sir`` and ``sar`` of each estimate.

    Args:
        estimates: One for each stem, float (samples,) or (1, samples).
        stems: All true sources of the mixture, the same shape.
        order: ``given``; or ``best``, the order of highest mean SIR, for 8 sources at most.
        filter_length: Delays that the projection may use, in samples.

    Returns:
        Ratios and order. A silent stem or estimate, and a part that is not there (artefacts of a mixture of stems,
        interference where there is one stem), is Undefined with the reason.

    Raises:
        InputError: Shapes or numbers that do not fit, several channels, samples that are not finite.

    Source: Vincent et al. 2006, Sec. III and IV; the constants of BSS Eval 3.0.
    """
    channels, _ = _checked(estimates, stems, order)
    if channels != 1:
        raise InputError(
            f"the sounds have {channels} channels", expected="mono for version 3 of sources",
            hint="use bss4 or bss_images, which score several channels, or mix them to one",
        )  # fmt: skip
    fit = _Projections(estimates, stems, filter_length)
    return _separation(_whole_signals(fit, images=False), order, metric="bss3", filter=filter_length)


def bss_images(
    estimates: Sequence[Signal],
    stems: Sequence[Signal],
    *,
    order: Order = "given",
    filter_length: int = FILTER_LENGTH,
    window: int | None = None,
    hop: int | None = None,
) -> Separation:
    """BSS Eval of images, any number of channels: ``sdr``, ``isr``, ``sir`` and ``sar``; else as ``bss_sources``.

    Args:
        estimates: One for each stem.
        stems: All true sources.
        order: As in ``bss_sources``.
        filter_length: Delays in samples.
        window: Samples of a window, for version 4: the value is the median over windows (``Windowed``). None, or more
            than there are, is version 3: one number of the whole.
        hop: Samples from window to window; None is ``window``.
    """
    _, length = _checked(estimates, stems, order)
    step = (window if hop is None else hop) or 0
    if window is not None and min(window, step) < 1:
        raise InputError(f"window is {window} and hop {step} samples", expected="1 or more")
    fit = _Projections(estimates, stems, filter_length)
    if window is None or window >= length:
        return _separation(_whole_signals(fit, images=True), order, metric="bss3_images", filter=filter_length)
    parts = _windows(fit, estimates, stems, framing=(window, step))
    signed = {"window": window, "hop": step, "silent": "any source"}
    return _separation(parts, order, metric="bss4", filter=filter_length, **signed)


def sdr(estimate: Signal, stem: Signal, *, filter_length: int = FILTER_LENGTH) -> Scored[float] | Undefined:
    """SDR of BSS Eval 3: the estimate's projection on the filtered stem over what is left; needs no other stem.

    Arguments, result and errors are those of ``bss_sources``.
    """
    return bss_sources([estimate], [stem], filter_length=filter_length).ratios[0]["sdr"]


def bss3(
    estimate: Signal, stems: Sequence[Signal], *, target: int = 0, filter_length: int = FILTER_LENGTH
) -> dict[str, Scored[float] | Undefined]:
    """BSS Eval 3 of one estimate, mono: ``sdr``, ``sir``, ``sar``; ``target`` is the number of its stem."""
    ordered = _first(stems, target)
    check_signals(estimate=estimate, **{f"stem {number}": stem for number, stem in enumerate(ordered)})
    return dict(bss_sources([estimate], ordered, filter_length=filter_length).ratios[0])


def bss4(
    estimate: Signal,
    stems: Sequence[Signal],
    *,
    target: int = 0,
    rate_hz: int,
    window_s: float = 1.0,
    filter_length: int = FILTER_LENGTH,
) -> dict[str, Scored[float] | Undefined]:
    """BSS Eval 4 of one estimate: medians of ``sdr``, ``isr``, ``sir``, ``sar`` over windows of ``window_s``."""
    window = max(1, round(window_s * rate_hz))
    return dict(bss_images([estimate], _first(stems, target), window=window, filter_length=filter_length).ratios[0])


def _first(stems: Sequence[Signal], target: int) -> list[Signal]:
    if not 0 <= target < len(stems):
        raise InputError(f"the target is stem {target} of {len(stems)}", expected=f"0 to {len(stems) - 1}")
    return [stems[target], *(stem for number, stem in enumerate(stems) if number != target)]


def _checked(estimates: Sequence[Signal], stems: Sequence[Signal], order: Order) -> tuple[int, int]:
    """(channels, samples); fewer estimates than stems are those of the first stems."""
    count, limit = len(stems), MOST_SOURCES if order == "given" else MOST_PERMUTED
    if not 1 <= len(estimates) <= count <= limit or (order == "best" and len(estimates) != count):
        raise InputError(
            f"there are {len(estimates)} estimates and {count} stems", expected=f"1 to {limit}, as many of each",
            hint="the stems are those of one mixture",
        )  # fmt: skip
    signals = {f"stem {number}": stem for number, stem in enumerate(stems)}
    return check_signals(**signals, **{f"estimate {number}": estimate for number, estimate in enumerate(estimates)})


class _Projections:
    """Least squares of all channels of estimates on all delayed channels of stems, and on those of each stem alone."""

    def __init__(self, estimates: Sequence[Signal], stems: Sequence[Signal], lags: int) -> None:
        by_lag, own = correlations(stems, estimates, lags=lags)
        self.lags, self.shape = lags, (len(stems), len(estimates), own.size // len(estimates))
        products, self.cross = np.split(by_lag, [len(by_lag)], axis=1)
        level = np.einsum("iit->it", products)[:, 0]
        self.true, self.own = level.reshape(len(stems), -1).sum(axis=1), self.summed(own)
        silent = np.flatnonzero(level == 0)
        products[silent, silent, 0] = 1.0  # its filter is 0, and the equations are not singular
        self.matrix = gram(products)
        self.right = self.cross.transpose(0, 2, 1).reshape(len(self.matrix), -1)
        self.wide = solved(self.matrix, self.right)
        height = self.shape[2] * lags
        self.rows = [slice(start, start + height) for start in range(0, len(self.matrix), height)]
        self.alone = [solved(self.matrix[row, row], self.right[row]) for row in self.rows]

    def summed(self, values: Doubles) -> Doubles:
        """Energies of channels, (m c,), of each estimate, (m,)."""
        return np.asarray(values.reshape(self.shape[1], -1).sum(axis=1))

    def spectra(self, filters: Doubles, size: int) -> NDArray[np.complex128]:
        """Transforms of filters, (channels of stems, channels of estimates, frequencies)."""
        return np.fft.rfft(filters.reshape(-1, self.lags, filters.shape[1]).transpose(0, 2, 1), size)


def _whole_signals(fit: _Projections, *, images: bool) -> _Parts:
    """Energies over the whole signals."""
    target, others = np.zeros(fit.shape[:2]), np.zeros(fit.shape[:2])
    for number, (rows, filters) in enumerate(zip(fit.rows, fit.alone, strict=True)):
        residual = fit.wide.copy()
        residual[rows] -= filters
        target[number] = fit.summed((fit.right[rows] * filters).sum(axis=0))
        others[number] = fit.summed(energies(fit.matrix, residual))
    output, everything = (
        np.broadcast_to(energy, target.shape) for energy in (fit.own, fit.summed((fit.right * fit.wide).sum(axis=0)))
    )
    ratios = {"sdr": (target, output - target), "sir": (target, others), "sar": (everything, output - everything)}
    if images:
        count, outputs, channels = fit.shape
        both = np.einsum("ncmc->nm", fit.cross[:, :, 0].reshape(count, channels, outputs, channels))
        true = np.broadcast_to(fit.true[:, None], target.shape)
        image = {"sdr": (true, output - 2 * both + true), "isr": (true, target - 2 * both + true)}
        ratios = {**image, "sir": ratios["sir"], "sar": ratios["sar"]}
    return _Parts(fit.true, fit.own, ratios)


def _windows(
    fit: _Projections, estimates: Sequence[Signal], stems: Sequence[Signal], *, framing: tuple[int, int]
) -> _Parts:
    """Energies in windows, in the frequency domain: long enough transforms of a window hold its convolutions whole."""
    window, step = framing
    channels, size = fit.shape[2], _quick_length(window + fit.lags - 1)
    wide, alone = fit.spectra(fit.wide, size), [fit.spectra(filters, size) for filters in fit.alone]
    twice = np.full(size // 2 + 1, 2.0)
    twice[[0, *([-1] if size % 2 == 0 else [])]] = 1.0

    def energy(spectrum: NDArray[np.complex128]) -> Doubles:
        return fit.summed((spectrum.real**2 + spectrum.imag**2) @ twice) / size

    starts = range(0, stems[0].shape[-1] - window + 1, step)
    values = np.full((4, 2, *fit.shape[:2], len(starts)), np.nan)
    for number, start in enumerate(starts):
        parts = [block(signal, start, start + window) for signal in (*stems, *estimates)]
        if not all(part.any() for part in parts):
            continue
        frames = np.fft.rfft(np.concatenate(parts), size)
        true, outputs = frames[: len(wide)], frames[len(wide) :]
        everything = np.einsum("kmf,kf->mf", wide, true)
        for stem, filters in enumerate(alone):
            source = true[stem * channels :][:channels]
            target = np.einsum("kmf,kf->mf", filters, source)
            image = np.tile(source, (fit.shape[1], 1))
            pairs = ((image, outputs), (image, target), (target, everything), (everything, outputs))
            for index, (base, total) in enumerate(pairs):
                values[index, :, stem, :, number] = energy(base), energy(total - base)
    names = ("sdr", "isr", "sir", "sar")
    return _Parts(fit.true, fit.own, {name: (pair[0], pair[1]) for name, pair in zip(names, values, strict=True)})


def _quick_length(least: int) -> int:
    """The smallest length from ``least`` on whose prime factors are 2, 3 and 5."""
    rests = [three * five for three in (1, 3, 9, 27, 81, 243) for five in (1, 5, 25, 125)]
    return min(rest << max(0, math.ceil(least / rest) - 1).bit_length() for rest in rests)


def _separation(parts: _Parts, order: Order, **signed: Any) -> Separation:
    count, outputs = parts.ratios["sdr"][0].shape[:2]
    chosen = tuple(range(outputs)) if order == "given" else _best(*parts.ratios["sir"])
    ratios = [
        {name: _outcome(parts, name, (stem, chosen[stem]), order=order, **signed) for name in parts.ratios}
        for stem in range(min(count, outputs))
    ]
    return Separation(order=chosen, ratios=tuple(ratios))


def _best(bases: Doubles, errors: Doubles) -> tuple[int, ...]:
    """The estimate of each stem, of the highest mean SIR."""
    values = _decibels(bases, errors).reshape(*bases.shape[:2], -1)
    level = np.where(np.isnan(values), 0, values).sum(axis=2) / np.maximum(1, (~np.isnan(values)).sum(axis=2))
    orders = np.array(list(permutations(range(len(level)))))
    return tuple(int(estimate) for estimate in orders[level[np.arange(len(level)), orders].sum(axis=1).argmax()])


def _decibels(bases: Doubles, errors: Doubles) -> Doubles:
    valid = (bases > 0) & (errors > 0)
    return np.asarray(np.where(valid, 10 * np.log10(np.where(valid, bases / np.where(valid, errors, 1), 1)), np.nan))


_MISSING: Final = {
    "sir": "nothing of the other stems is in the estimate",
    "sar": "the stems explain all of the estimate: there are no artefacts to measure",
    "isr": "the stem is not filtered: there is no spatial distortion to measure",
    "sdr": NO_ERROR,
    "bss3_sdr": "the estimate equals the stem, or the stem through a filter: there is no error to measure",
}


def _outcome(parts: _Parts, name: str, pair: tuple[int, int], **signed: Any) -> Scored[float] | Undefined:
    signed["metric"] = f"{signed['metric']}_{name}"
    base, error = (energy[pair] for energy in parts.ratios[name])
    missing = _MISSING.get(signed["metric"], _MISSING[name])
    output_energy, stem_energy = float(parts.own[pair[1]]), float(parts.true[pair[0]])
    if reason := silence_of(output_energy, stem_energy):
        return Undefined(reason)
    if base.ndim == 0:
        return (
            Undefined(missing)
            if error <= _RESOLVED * output_energy
            else ratio(float(base), float(error), own=output_energy, **signed)
        )
    values, exact = _decibels(base, error), (base > 0) & (error <= _RESOLVED * base)
    if (np.isnan(values) & ~exact).all():
        return Undefined("no window in which all stems and estimates sound", {"windows": values.size})
    median = float(np.nanmedian(np.where(exact, np.inf, values)))
    if math.isinf(median):
        return Undefined(missing, {"windows": values.size})
    values = np.where(exact, np.nan, values)
    return Windowed(value=median, signature=signed_db(**signed), values=tuple(values.tolist()))


SDR = sound_score(
    sdr, summary="SDR of BSS Eval 3: the stem through any filter of 512 samples over the rest",
    goal="what of an output is the target, whatever its level and tone", source="Vincent et al. 2006",
)  # fmt: skip
BSS3 = sound_score(
    bss3, needs=("stems",), summary="BSS Eval 3 of mono sources: SDR, SIR, SAR",
    goal="other sources and artefacts apart", source="Vincent et al. 2006",
)  # fmt: skip
BSS4 = sound_score(
    bss4, needs=("stems",), summary="BSS Eval 4: SDR, ISR, SIR, SAR of images, medians over seconds",
    goal="music separation as in SiSEC 2018", source="Liutkus et al. 2018",
)  # fmt: skip
