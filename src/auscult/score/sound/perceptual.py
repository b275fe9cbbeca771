"""What a listener should notice in a separated sound, and what makes a separation hard, computed from the true stems.

``perceptual.v1`` and ``difficulty.v1`` are our definitions, not people's. In cells of 200 ms and one ERB band the
output is explained by the stems with one complex factor each (least squares). The target's share is *recovered*, that
of the other stems *left over*, the rest *unexplained*: artefacts. Powers become loudness (A-weighting, exponent .3),
and loudness becomes scores of 1..5.

Assumed: output and stems are aligned to .1 ms (``find_delay``, ``moved``); stems are not copies of one another; the
level at which a mixture is played is unknown, and the threshold of hearing is put at ``THRESHOLD`` of its mean power.

References: B. Glasberg, B. Moore, "Derivation of auditory filter shapes from notched-noise data", 1990 (ERB bands);
IEC 61672-1 (A-weighting); S. Stevens, "The measurement of loudness", 1955 (exponent .3); E. Zwicker, H. Fastl,
"Psychoacoustics", 1990 (partial loudness); SAM Audio Judge Sec. III-A (what is scored and the axes of difficulty,
never how).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.spectra import short_time, wanted_frames
from auscult.errors import InputError
from auscult.outcome import Signature, Undefined
from auscult.score.sound.inputs import Signal, block, check_signals
from auscult.types import Doubles, SoundQuery

STEP_S: Final = 0.02
STEPS: Final = 10
"""Spectra of twice ``STEP_S`` are taken every ``STEP_S``; so many make a cell of 200 ms."""
EXPONENT: Final = 0.3
THRESHOLD: Final = 1e-6
MASKING: Final = 0.03
"""A sound this share of another in the same cell is at the threshold of being heard beside it (-15 dB)."""
THERE: Final = 4.0
"""A cell counts as wholly there while its power is at least the target's divided by this (-6 dB)."""
HALF: Final = 0.5
"""Where left-over or unexplained is this loud relative to the recovered target, precision or faithfulness is 3."""
HALF_DB: Final = 8.0
MOST_DB: Final = 20.0
"""Where the target's cells are off by ``HALF_DB`` on average, each by ``MOST_DB`` at most, faithfulness is 3."""
LEAST_SHARE: Final = 0.02
NEARLY_NOTHING: Final = 0.05
QUIETEST: Final = 0.01
"""The level of an output does not matter down to this factor (-40 dB)."""
CHANCE: Final = 3.0
"""What least squares would find of a stem in noise alone is exceeded by this factor in one cell of twenty."""

_LOUDEST: Final = 1e9
_RIDGE: Final = 1e-6
_INDEPENDENT: Final = 0.5  # overlapping windows repeat half of what they say
_LEAST_BINS: Final = 3
_LOWEST_HZ, _HIGHEST_HZ = 50.0, 16000.0
_LEAST_RATE_HZ: Final = 1000
_CELLS_AT_ONCE: Final = 100  # of 200 ms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Perceptual:
    """Scores of a separated sound, 1..5, higher is better, and the loudness they come from."""

    recall: float  # how much of the target is there
    precision: float  # how little of the other sources is there
    faithfulness: float  # how much what is there of the target sounds like it
    overall: float  # .6 of the least of the three and .4 of their mean
    recovered: Doubles  # loudness of the recovered target in each step of ``hop_s``, float64 (steps,), any unit
    left_over: Doubles  # that of the other sources, as far as the target does not mask it
    unexplained: Doubles  # that of what no stem explains, as far as the others do not mask it
    target: Doubles  # that of the true target
    hop_s: float  # seconds from one step to the next
    signature: Signature  # how it was computed


def perceptual(output: Signal, stems: Sequence[Signal], *, target: int = 0, rate_hz: int) -> Perceptual | Undefined:
    """Score a separated sound by its true stems.

    Args:
        output: What was separated, float (samples,) or (channels, samples); its level does not
            matter down to -40 dB.
        stems: The sources as they are in the mixture, of the same shape; their sum is the mixture.
        target: Which of them was asked for.
        rate_hz: Samples per second.

    Returns:
        The scores. A silent output has recall and faithfulness 1 and precision 5. Undefined where the
            target is silent or the sound shorter than .04 s.

    Raises:
        InputError: Shapes differ, a sample is not finite, or there is no such stem.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> dog, rain = rng.normal(size=(2, 16000))
        >>> scores = perceptual(dog, [dog, rain], rate_hz=16000)
        >>> round(scores.recall, 2), round(scores.precision, 2), round(scores.overall, 2)
        (5.0, 5.0, 5.0)

    Source: docs/sound-truth.md.
    """
    samples = check_stems(stems, target, output=output)
    bands = Bands(rate_hz)
    if samples < 2 * bands.step:
        return Undefined(f"the sound is shorter than {2 * STEP_S:g} s", {"samples": samples})
    parts = [_parts(grams, bands, target) for grams in bands.grams([output, *stems])]
    powers = _Powers(*np.concatenate(parts, axis=-1))
    if not powers.target.any():
        return Undefined("the target is silent")
    return _scored(powers, hop_s=STEPS * bands.step / rate_hz)


def check_stems(stems: Sequence[Signal], target: int, **others: Signal) -> int:
    """How many samples stems and others have; refuses shapes that differ, and a target that is none of the stems."""
    if not 0 <= target < len(stems):
        raise InputError(f"there is no stem {target}", expected=f"0 to {len(stems) - 1}, for {len(stems)} stems")
    return check_signals(**others, **{f"stem {index}": stem for index, stem in enumerate(stems)})[1]


class Bands:
    """Cells of 200 ms and one ERB band each: bands are at least three bins of 25 Hz wide, from 50 Hz to 16 kHz."""

    def __init__(self, rate_hz: int) -> None:
        if rate_hz < _LEAST_RATE_HZ:
            raise InputError(f"the sound has {rate_hz} samples per second", expected=f"at least {_LEAST_RATE_HZ}")
        self.step = max(1, round(STEP_S * rate_hz))
        width = 2 * self.step
        hz: Doubles = np.fft.rfftfreq(width, 1 / rate_hz).astype(np.float64)
        top = min(_HIGHEST_HZ, rate_hz / 2)
        scale = np.arange(_erb_number(_LOWEST_HZ), _erb_number(top) + 1)
        edges = [int(np.searchsorted(hz, _LOWEST_HZ))]
        for edge in np.searchsorted(hz, (10 ** (scale / 21.4) - 1) / 0.00437).tolist():
            if edge - edges[-1] >= _LEAST_BINS:
                edges.append(edge)
        edges[-1] = int(np.searchsorted(hz, top, side="right"))
        self.edges = tuple(pairwise(edges))
        self._window = np.hanning(width + 1)[:-1].astype(np.float32)
        self._weighting = _a_weighting(hz).astype(np.float32)

    def grams(self, signals: Sequence[Signal]) -> Iterator[NDArray[np.complex128]]:
        """Products of all signals with one another, summed over each cell: (bands, steps, signals, signals)."""
        for spectra in self._blocks(signals):
            steps, products = spectra.shape[2] // STEPS, []
            cells = spectra.reshape(*spectra.shape[:2], steps, STEPS, -1).transpose(2, 0, 1, 3, 4)
            for low, high in self.edges:
                band = cells[..., low:high].reshape(steps, len(signals), -1)
                products.append(band @ band.conj().transpose(0, 2, 1))
            yield np.stack(products).astype(np.complex128)

    def powers(self, signals: Sequence[Signal]) -> Doubles:
        """Powers in each band every 20 ms, (signals, bands, frames), as many frames as whole cells have."""
        first, last = self.edges[0][0], self.edges[-1][1]
        starts = [low - first for low, _ in self.edges]
        blocks = []
        for spectra in self._blocks(signals):
            inside = spectra[..., first:last]
            power = (inside.real**2 + inside.imag**2).sum(axis=1)
            blocks.append(np.add.reduceat(power, starts, axis=-1).swapaxes(1, 2))
        return np.concatenate(blocks, axis=-1).astype(np.float64)

    def _blocks(self, signals: Sequence[Signal]) -> Iterator[NDArray[np.complex64]]:
        """Spectra of some whole cells at a time, (signals, channels, frames, bins)."""
        size = STEPS * self.step
        steps = -(-signals[0].shape[-1] // size)
        for first in range(0, steps, _CELLS_AT_ONCE):
            last = min(steps, first + _CELLS_AT_ONCE)
            yield np.stack([self._spectra(signal, first * size, last * size) for signal in signals])

    def _spectra(self, signal: Signal, start: int, stop: int) -> NDArray[np.complex64]:
        """A-weighted spectra, (channels, frames, bins), centred at each step from start on."""
        samples = block(signal, max(0, start - self.step), stop)
        if not np.abs(samples).max(initial=0.0) < _LOUDEST:
            raise InputError("a sound holds values that are not finite", expected=f"samples below {_LOUDEST:g}")
        before = max(0, self.step - start)
        after = stop - start + self.step - before - samples.shape[1]
        samples = np.pad(samples.astype(np.float32), ((0, 0), (before, after)))
        spectra = short_time(samples, self._window, hop=self.step)
        return np.asarray(spectra * self._weighting, dtype=np.complex64)


def _erb_number(hz: float) -> float:
    return float(21.4 * np.log10(1 + 0.00437 * hz))


def _a_weighting(hz: Doubles) -> Doubles:
    squared = hz**2
    low, high = squared + 20.6**2, squared + 12194.0**2
    weights: Doubles = 1.2589 * 12194.0**2 * squared**2 / (low * high)
    weights /= np.sqrt((squared + 107.7**2) * (squared + 737.9**2))
    return weights


class _Powers(NamedTuple):
    """Powers in each cell, (bands, steps): of the output's three parts, the target, the other sources, the mixture."""

    recovered: Doubles
    left_over: Doubles
    unexplained: Doubles
    target: Doubles
    others: Doubles
    mixture: Doubles


def _parts(grams: NDArray[np.complex128], bands: Bands, target: int) -> _Powers:
    """Least squares of the output, signal 0, on the stems."""
    count = grams.shape[-1] - 1
    powers = np.einsum("...ii->...i", grams).real
    audible = powers[..., 1:] > 1e-12 * powers[..., 1:].max(axis=-1, keepdims=True)
    scale = np.sqrt(np.where(audible, powers[..., 1:], 1.0))
    both, stems = audible[..., :, None] & audible[..., None, :], grams[..., 1:, 1:]
    correlation = np.where(both, stems, 0) / (scale[..., :, None] * scale[..., None, :])
    np.einsum("...ii->...i", correlation)[...] = 1.0
    correlation = correlation.swapaxes(-1, -2)
    output = np.where(audible, grams[..., 0, 1:] / scale, 0)
    unit = np.zeros_like(output)
    unit[..., target] = 1.0
    solved = np.linalg.solve(correlation + _RIDGE * np.eye(count), np.stack([output, unit], axis=-1))
    factors, spread = solved[..., 0], solved[..., target, 1].real
    explained = _power(factors, correlation)
    crossed = 2 * (factors * output.conj()).sum(axis=-1).real
    residual = np.maximum(powers[..., 0] - crossed + explained, 0.0)
    independent = np.array([_INDEPENDENT * STEPS * (high - low) for low, high in bands.edges])[:, None]
    noise = residual / np.maximum(independent - count, 1.0)
    others = factors.copy()
    others[..., target] = 0
    other_stems = np.delete(np.delete(stems, target, axis=-1), target, axis=-2)
    return _Powers(
        recovered=np.maximum(np.abs(factors[..., target]) ** 2 - CHANCE * spread * noise, 0.0),
        left_over=np.maximum(_power(others, correlation) - (CHANCE + count - 2) * noise, 0.0),
        unexplained=noise * independent,
        target=powers[..., 1 + target].copy(),  # no view of all products
        others=other_stems.sum(axis=(-1, -2)).real,
        mixture=stems.sum(axis=(-1, -2)).real,
    )


def _power(factors: NDArray[np.complex128], correlation: NDArray[np.complex128]) -> Doubles:
    power: Doubles = np.einsum("...i,...ji,...j->...", factors, correlation, factors.conj()).real
    return power


def loudness(power: Doubles, masker: Doubles | float = 0.0) -> Doubles:
    """Loudness of each cell beside a masker; powers are relative to the mixture's mean. Exponent .3 of the power."""
    floor = THRESHOLD + MASKING * masker
    result: Doubles = (power + floor) ** EXPONENT - floor**EXPONENT
    return result


def _scored(powers: _Powers, *, hop_s: float) -> Perceptual:
    mean = powers.mixture.sum(axis=0).mean()
    target = powers.target / mean
    level = _level(powers) ** 2 * mean
    recovered, left_over, unexplained = (part / level for part in powers[:3])
    true, estimated = loudness(target), loudness(recovered)
    intruding = loudness(left_over, recovered), loudness(unexplained, recovered + left_over)
    share = float(np.minimum(loudness(THERE * recovered), true).sum() / true.sum())
    least = estimated.sum() + LEAST_SHARE * true.sum()
    stray, damage = (float(part.sum() / least) / HALF for part in intruding)
    present = np.minimum(estimated, true).sum(axis=0) / np.maximum(true.sum(axis=0), 1e-12)
    off_db = np.abs(10 * np.log10((recovered + THRESHOLD) / (target + THRESHOLD))).clip(max=MOST_DB)
    weights = np.maximum(true, estimated) * present
    colour = float((weights * off_db).sum() / max(weights.sum(), 1e-12)) / HALF_DB
    recall, precision = 1 + 4 * share, 1 + 4 / (1 + stray**2)
    faithfulness = 1 + 4 / (1 + damage**2 + colour**2) * min(1.0, share / NEARLY_NOTHING)
    three = (recall, precision, faithfulness)
    return Perceptual(
        recall=recall,
        precision=precision,
        faithfulness=faithfulness,
        overall=0.6 * min(three) + 0.4 * sum(three) / 3,
        recovered=estimated.sum(axis=0),
        left_over=intruding[0].sum(axis=0),
        unexplained=intruding[1].sum(axis=0),
        target=true.sum(axis=0),
        hop_s=hop_s,
        signature=Signature.of(metric="perceptual.v1", cell=f"{hop_s:g} s x 1 ERB", loudness=f"A, exponent {EXPONENT}"),
    )


def _level(powers: _Powers) -> float:
    """The gain of the output: the weighted median over the target's cells, at least half that of the other sources."""
    audible = powers.target > THRESHOLD * powers.mixture.sum(axis=0).mean()
    weights = np.where(audible, powers.recovered, 0.0).ravel() ** EXPONENT
    factors = np.sqrt(powers.recovered.ravel() / np.maximum(powers.target.ravel(), 1e-300))
    order = np.argsort(factors)
    summed = np.cumsum(weights[order])
    median = float(factors[order][np.searchsorted(summed, summed[-1] / 2)]) if summed[-1] else 0.0
    level = max(median, _root_share(powers.left_over, powers.others) / 2)
    return max(level or _root_share(powers.unexplained, powers.target), QUIETEST)


def _root_share(part: Doubles, total: Doubles) -> float:
    return float(np.sqrt(part.sum() / total.sum())) if total.any() else 0.0


AUDIBLE: Final = 0.1
"""A source is heard where it is this loud relative to the loudest source or to its own loudest moment."""
DB_PER_POINT: Final = 7.5
_LEAST_ALIKE, _MOST_ALIKE = 0.3, 0.9
_RHYTHM_HZ: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 25.0)


def difficulty(
    stems: Sequence[Signal], *, target: int = 0, rate_hz: int, prompt: SoundQuery | None = None
) -> dict[str, float]:
    """Say how hard a separation is.

    Args:
        stems: The sources as they are in the mixture, float (samples,) or (channels, samples) each; their sum is the
            mixture.
        target: Which of them is asked for.
        rate_hz: Samples per second.
        prompt: How it is asked for. Where the prompt has spans, another source is confusing only as far as they let it
            be the target.

    Returns:
        By ``DIFFICULTY_AXES``, 1..5, higher is harder: ``counting`` one more than the other sources that are heard;
        ``overlapping`` the share of the target's loudness that another sound is as loud as; ``loudness`` 3 where target
        and others are equally loud, a point for 7.5 dB; ``confusion`` how alike the most similar source is in spectrum
        and rhythm; ``overall`` .6 of the greatest and .4 of the mean.

    Raises:
        InputError: Shapes differ, a sample is not finite, the target is silent, or there is no such stem.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> dog, rain = rng.normal(size=(2, 16000))
        >>> difficulty([dog, rain], rate_hz=16000)["counting"]
        2.0

    Source: docs/sound-truth.md.
    """
    check_stems(stems, target)
    bands = Bands(rate_hz)
    powers = bands.powers(stems)
    if not powers[target].any():
        raise InputError("the target is silent, so it cannot be separated", expected="a stem with sound")
    powers /= powers.sum(axis=(0, 1)).mean()
    loud = loudness(powers).sum(axis=1)
    audible = [
        index
        for index in range(len(stems))
        if index != target and loud[index].sum() >= AUDIBLE * loud.sum(axis=1).max()
    ]
    others = powers[audible].sum(axis=0)
    hop_s = bands.step / rate_hz
    open_to = wanted_frames(prompt.spans if prompt else (), loud.shape[1], hop_s=hop_s)
    overlap = np.minimum(loud[target], loudness(others).sum(axis=0))
    axes = {
        "counting": float(min(5, 1 + len(audible))),
        "overlapping": 1 + 4 * float(overlap.sum() / loud[target].sum()),
        "loudness": float(np.clip(3 - _level_db(powers[target], others) / DB_PER_POINT, 1, 5)) if audible else 1.0,
        "confusion": 1
        + 4 * max((_source_similarity(powers[[target, index]], open_to, hop_s) for index in audible), default=0.0),
    }
    values = tuple(axes.values())
    return {**axes, "overall": 0.6 * max(values) + 0.4 * sum(values) / 4}


def _level_db(target: Doubles, others: Doubles) -> float:
    """Power of the target over that of the others, in dB, each while it sounds."""
    levels = []
    for power in (target, others):
        over_time = power.sum(axis=0)
        levels.append(over_time[over_time >= AUDIBLE ** (1 / EXPONENT) * over_time.max()].mean())
    return float(10 * np.log10(levels[0] / levels[1]))


def _source_similarity(powers: Doubles, open_to: NDArray[np.bool_], hop_s: float) -> float:
    """How alike two sources are, 0..1, as far as the second sounds where the prompt is open."""
    loud = loudness(powers)
    spectra = loud.mean(axis=2) / loud.mean(axis=(1, 2))[:, None]
    over_time = loud.sum(axis=1)
    rhythms = [_rhythm(series, hop_s) for series in over_time]
    inside = float((over_time[1] * open_to).sum() / over_time[1].sum())
    similarity = np.minimum(*spectra).mean() * np.minimum(*rhythms).sum()
    return inside * float(np.clip((np.sqrt(similarity) - _LEAST_ALIKE) / (_MOST_ALIKE - _LEAST_ALIKE), 0, 1))


def _rhythm(loud: Doubles, hop_s: float) -> Doubles:
    """Shares of the changes of loudness over time by octaves of their rate; their sum is 1."""
    spectrum = np.abs(np.fft.rfft((loud - loud.mean()) * np.hanning(loud.size))) ** 2
    edges = np.searchsorted(np.fft.rfftfreq(loud.size, hop_s), _RHYTHM_HZ)
    octaves = np.array([spectrum[low:high].sum() for low, high in pairwise(edges)])
    steady = (loud.mean() * 0.02 * loud.size) ** 2  # loudness that hardly changes has no rhythm of its own
    all_shares: Doubles = np.append(octaves, steady).astype(np.float64)
    all_shares /= all_shares.sum()
    return all_shares
