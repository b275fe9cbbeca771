"""BSS Eval: how much of an estimate is the target, how much other sources, how much neither.

Conventions: decibels, higher is better. Estimates are projected on the stems delayed by 0 to ``filter_length`` - 1
samples, that is, on each stem through any filter of that length (512 in all published numbers).

- Version 3, sources (``bss3``): mono. The target is the estimate's projection on its stem; SDR, SIR, SAR.
- Version 3, images (``bss_images`` without a window): any channels, and the target is the stem as it is. What a filter
  on the stem explains is spatial distortion: SDR, ISR, SIR, SAR.
- Version 4 (``bss4``): the same with filters of the whole signals, energies in windows of a second, and their median.
  A window in which any stem or estimate is silent has no number, as in the reference implementation.

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
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.score.sound.inputs import Signal, block, check_signals, sound_score
from auscult.score.sound.projections import Correlations, correlations, energies, gram, solved
from auscult.score.sound.ratios import NO_ERROR, NO_ESTIMATE, NO_STEM, ratio, signed_db
from auscult.types import Doubles

FILTER_LENGTH: Final = 512
MOST_SOURCES: Final = 16
MOST_PERMUTED: Final = 8
_RESOLVED: Final = 1e-11
"""A part below this share of the estimate's energy is the rounding of the projection."""

Order = Literal["given", "best"]
Ratios = Mapping[str, Scored[float] | Undefined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed(Scored[float]):
    """The median (``value``) of a ratio over windows.

    Attributes:
        values: Of each window in order, NaN where it has none.
    """

    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """Scores of several estimates of one mixture.

    Attributes:
        order: For each stem the number of the estimate that is scored against it.
        ratios: For each stem its ratios by name.
    """

    order: tuple[int, ...]
    ratios: tuple[Ratios, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Energies of estimates (m) against stems (n): arrays (n, m), or (n, m, windows); NaN in a window without any.

    ``bases`` and ``errors`` are numerator and denominator of each ratio by name.
    """

    bases: Mapping[str, Doubles]
    errors: Mapping[str, Doubles]
    own: Doubles  # energy of estimates, (m,)
    true: Doubles  # energy of stems, (n,)


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
    return _separation(_sources(estimates, stems, filter_length), order, metric="bss3", filter=filter_length)


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
    signed: dict[str, object] = {"metric": "bss3_images", "filter": filter_length}
    if window is None or window >= length:
        return _separation(_images(estimates, stems, filter_length), order, **signed)
    step = window if hop is None else hop
    if min(window, step) < 1:
        raise InputError(f"window is {window} and hop {step} samples", expected="1 or more")
    signed = {"metric": "bss4", "filter": filter_length, "window": window, "hop": step, "silent": "any source"}
    return _separation(_windows(estimates, stems, lags=filter_length, framing=(window, step)), order, **signed)


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
    check_signals(estimate=estimate, **{f"stem {number}": one for number, one in enumerate(ordered)})
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
    return [stems[target], *(one for number, one in enumerate(stems) if number != target)]


def _checked(estimates: Sequence[Signal], stems: Sequence[Signal], order: Order) -> tuple[int, int]:
    """(channels, samples); fewer estimates than stems are those of the first stems."""
    count, most = len(stems), MOST_SOURCES if order == "given" else MOST_PERMUTED
    if not 1 <= len(estimates) <= count <= most or (order == "best" and len(estimates) != count):
        raise InputError(
            f"there are {len(estimates)} estimates and {count} stems", expected=f"1 to {most}, as many of each",
            hint="the stems are those of one mixture",
        )  # fmt: skip
    named = {f"stem {number}": one for number, one in enumerate(stems)}
    return check_signals(**named, **{f"estimate {number}": one for number, one in enumerate(estimates)})


def _filters(found: Correlations, channels: int) -> tuple[Doubles, NDArray[np.bool_], Doubles, list[Doubles]]:
    """Inner products, which channels sound, filters on all stems (n L, m), and on each stem alone."""
    count, _, lags = found.stems.shape
    alive = np.einsum("iit->it", found.stems)[:, 0] > 0
    stems, cross = found.stems[np.ix_(alive, alive)], found.cross[alive]
    matrix = gram(stems)
    wide = np.zeros((count, lags, cross.shape[1]))
    alone = []
    if alive.any():
        right = cross.transpose(0, 2, 1).reshape(-1, cross.shape[1])
        wide[alive] = solved(matrix, right).reshape(-1, lags, cross.shape[1])
        numbers = np.cumsum(alive) - 1
        for begin in range(0, count, channels):
            mine = np.zeros((channels, lags, cross.shape[1]))
            own = alive[begin : begin + channels]
            at = (numbers[begin : begin + channels][own, None] * lags + np.arange(lags)).ravel()
            if own.any():
                mine[own] = solved(matrix[np.ix_(at, at)], right[at]).reshape(-1, lags, cross.shape[1])
            alone.append(mine)
    return matrix, alive, wide, alone


def _whole(estimates: Sequence[Signal], stems: Sequence[Signal], lags: int) -> dict[str, Doubles]:
    """Energies over the whole signals, summed over channels: (n,), (m,) or (n, m)."""
    found = correlations(stems, estimates, lags=lags)
    channels = found.own.size // len(estimates)
    matrix, alive, wide, alone = _filters(found, channels)
    shape = (len(stems), len(estimates), channels)

    def summed(values: Doubles) -> Doubles:
        return np.asarray(values.reshape(len(estimates), channels).sum(axis=1))

    target, others = np.zeros(shape[:2]), np.zeros(shape[:2])
    for number, mine in enumerate(alone):
        rows = slice(number * channels, (number + 1) * channels)
        rest = wide.copy()
        rest[rows] -= mine
        target[number] = summed(np.einsum("kmt,ktm->m", found.cross[rows], mine))
        others[number] = summed(energies(matrix, rest[alive].reshape(len(matrix), -1)))
    zero = found.cross[:, :, 0].reshape(len(stems), channels, len(estimates), channels)
    return {
        "own": summed(found.own),
        "true": np.einsum("iit->it", found.stems)[:, 0].reshape(len(stems), channels).sum(axis=1),
        "both": np.einsum("ncmc->nm", zero),
        "target": target,
        "others": others,
        "all": summed(np.einsum("kmt,ktm->m", found.cross, wide)),
    }


def _sources(estimates: Sequence[Signal], stems: Sequence[Signal], lags: int) -> _Parts:
    found = _whole(estimates, stems, lags)
    target, own, everything = found["target"], found["own"], np.broadcast_to(found["all"], found["target"].shape)
    return _Parts(
        bases={"sdr": target, "sir": target, "sar": everything},
        errors={"sdr": own - target, "sir": found["others"], "sar": own - everything},
        own=own,
        true=found["true"],
    )


def _images(estimates: Sequence[Signal], stems: Sequence[Signal], lags: int) -> _Parts:
    found = _whole(estimates, stems, lags)
    target, own, both = found["target"], found["own"], found["both"]
    true = np.broadcast_to(found["true"][:, None], target.shape)
    everything = np.broadcast_to(found["all"], target.shape)
    return _Parts(
        bases={"sdr": true, "isr": true, "sir": target, "sar": everything},
        errors={
            "sdr": own - 2 * both + true,
            "isr": target - 2 * both + true,
            "sir": found["others"],
            "sar": own - everything,
        },
        own=own,
        true=found["true"],
    )


def _windows(estimates: Sequence[Signal], stems: Sequence[Signal], *, lags: int, framing: tuple[int, int]) -> _Parts:
    """Energies in windows, in the frequency domain: long enough transforms of a window hold its convolutions whole."""
    window, step = framing
    found = correlations(stems, estimates, lags=lags)
    channels = found.own.size // len(estimates)
    _, _, wide, alone = _filters(found, channels)
    size = _quick_length(window + lags - 1)
    spectra = np.fft.rfft(wide.transpose(0, 2, 1), size)
    own_spectra = [np.fft.rfft(one.transpose(0, 2, 1), size) for one in alone]
    twice = np.full(size // 2 + 1, 2.0)
    twice[[0, *([-1] if size % 2 == 0 else [])]] = 1.0

    def energy(spectrum: NDArray[np.complex128]) -> Doubles:
        power = spectrum.real**2 + spectrum.imag**2
        return np.asarray((power @ twice).reshape(len(estimates), channels).sum(axis=1) / size)

    starts = range(0, stems[0].shape[-1] - window + 1, step)
    names = ("sdr", "isr", "sir", "sar")
    bases, errors = (
        {name: np.full((len(stems), len(estimates), len(starts)), np.nan) for name in names} for _ in range(2)
    )
    for number, start in enumerate(starts if alone else ()):
        parts = [block(one, start, start + window) for one in (*stems, *estimates)]
        if any(not one.any() for one in parts):
            continue
        frames = np.fft.rfft(np.concatenate(parts), size)
        true, given = frames[: len(wide)], frames[len(wide) :]
        everything = np.einsum("kmf,kf->mf", spectra, true)
        for stem, filters in enumerate(own_spectra):
            mine = true[stem * channels :][:channels]
            target = np.einsum("kmf,kf->mf", filters, mine)
            image = np.tile(mine, (len(estimates), 1))
            at = (stem, slice(None), number)
            bases["sdr"][at] = bases["isr"][at] = energy(image)
            bases["sir"][at], bases["sar"][at] = energy(target), energy(everything)
            errors["sdr"][at], errors["isr"][at] = energy(given - image), energy(target - image)
            errors["sir"][at], errors["sar"][at] = energy(everything - target), energy(given - everything)
    true_energy = np.einsum("iit->it", found.stems)[:, 0].reshape(len(stems), channels).sum(axis=1)
    return _Parts(bases, errors, found.own.reshape(len(estimates), channels).sum(axis=1), true_energy)


def _quick_length(least: int) -> int:
    """The smallest length from ``least`` on whose prime factors are 2, 3 and 5."""
    rests = [three * five for three in (1, 3, 9, 27, 81, 243) for five in (1, 5, 25, 125)]
    return min(rest << max(0, math.ceil(least / rest) - 1).bit_length() for rest in rests)


def _separation(parts: _Parts, order: Order, **signed: Any) -> Separation:
    count, given = parts.bases["sdr"].shape[:2]
    chosen = tuple(range(given)) if order == "given" else _best(parts.bases["sir"], parts.errors["sir"])
    ratios = [
        {name: _outcome(parts, name, (stem, chosen[stem]), order=order, **signed) for name in parts.bases}
        for stem in range(min(count, given))
    ]
    return Separation(order=chosen, ratios=tuple(ratios))


def _best(bases: Doubles, errors: Doubles) -> tuple[int, ...]:
    """The estimate of each stem, of the highest mean SIR."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = 10 * np.log10(bases / errors)
    each = np.where(np.isfinite(each), each, np.nan)
    if each.ndim == 3:
        each = np.where(np.isnan(each).all(axis=2), np.nan, np.nansum(each, axis=2))
    each = np.nan_to_num(each, nan=-1e3)
    orders = np.array(list(permutations(range(len(each)))))
    return tuple(int(one) for one in orders[each[np.arange(len(each)), orders].sum(axis=1).argmax()])


def _outcome(parts: _Parts, name: str, at: tuple[int, int], **signed: Any) -> Scored[float] | Undefined:
    signed["metric"] = f"{signed['metric']}_{name}"
    own, true = float(parts.own[at[1]]), float(parts.true[at[0]])
    base, error = parts.bases[name][at], parts.errors[name][at]
    if base.ndim == 0:
        return _one(float(base), float(error), name, own=own, silent=not true, **signed)
    if not true or not own:
        return Undefined(NO_ESTIMATE if true else NO_STEM)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where((error > 0) & (base > 0), 10 * np.log10(base / error), np.nan)
    if np.isnan(values).all():
        return Undefined("no window in which all stems and estimates sound", {"windows": values.size})
    return Windowed(value=float(np.nanmedian(values)), signature=signed_db(**signed), values=tuple(values.tolist()))


_MISSING: Final = {
    "sir": "nothing of the other stems is in the estimate",
    "sar": "the stems explain all of the estimate: there are no artefacts to measure",
    "isr": "the stem is not filtered: there is no spatial distortion to measure",
    "sdr": NO_ERROR,
}


def _one(base: float, error: float, name: str, *, own: float, silent: bool, **signed: Any) -> Scored[float] | Undefined:
    if own and not silent and error <= _RESOLVED * own:
        return Undefined(_MISSING[name])
    return ratio(base, error, own=own, silent=silent, **signed)


SDR = sound_score(
    sdr,
    summary="SDR of BSS Eval 3: the stem through any filter of 512 samples over the rest",
    goal="what of an output is the target, whatever its level and tone",
    source="Vincent et al. 2006",
)
BSS3 = sound_score(
    bss3,
    needs=("stems",),
    summary="BSS Eval 3 of mono sources: SDR, SIR, SAR",
    goal="other sources and artefacts apart",
    source="Vincent et al. 2006",
)
BSS4 = sound_score(
    bss4,
    needs=("stems",),
    summary="BSS Eval 4: SDR, ISR, SIR, SAR of images, medians over seconds",
    goal="music separation as in SiSEC 2018",
    source="Liutkus et al. 2018",
)
