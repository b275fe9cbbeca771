"""How hard it should be to separate a target from its mixture, computed from the stems: ``difficulty.v1``.

This is our definition, not people's. Five axes, 1..5, higher is harder; powers and loudness are as in ``perceptual``.

References: SAM Audio Judge Sec. III-A names the axes and asks people; the functions are ours, in docs/sound-truth.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from auscult.errors import InputError
from auscult.score.sound.inputs import Signal
from auscult.score.sound.perceptual import EXPONENT, Bands, check_stems, loudness
from auscult.types import Doubles, SoundQuery

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
    heard = [
        index
        for index in range(len(stems))
        if index != target and loud[index].sum() >= AUDIBLE * loud.sum(axis=1).max()
    ]
    others = powers[heard].sum(axis=0)
    hop_s = bands.step / rate_hz
    open_to = _open(prompt, loud.shape[1], hop_s)
    beside = np.minimum(loud[target], loudness(others).sum(axis=0))
    axes = {
        "counting": float(min(5, 1 + len(heard))),
        "overlapping": 1 + 4 * float(beside.sum() / loud[target].sum()),
        "loudness": float(np.clip(3 - _level_db(powers[target], others) / DB_PER_POINT, 1, 5)) if heard else 1.0,
        "confusion": 1 + 4 * max((_alike(powers[[target, index]], open_to, hop_s) for index in heard), default=0.0),
    }
    four = tuple(axes.values())
    return {**axes, "overall": 0.6 * max(four) + 0.4 * sum(four) / 4}


def _level_db(target: Doubles, others: Doubles) -> float:
    """Power of the target over that of the others, in dB, each while it sounds."""
    levels = []
    for power in (target, others):
        over_time = power.sum(axis=0)
        levels.append(over_time[over_time >= AUDIBLE ** (1 / EXPONENT) * over_time.max()].mean())
    return float(10 * np.log10(levels[0] / levels[1]))


def _open(prompt: SoundQuery | None, frames: int, hop_s: float) -> Doubles:
    """1 in frames that the prompt's spans let be the target, else 0."""
    spans = () if prompt is None else prompt.spans
    found = np.full(frames, 0.0 if any(span.sign == "+" for span in spans) else 1.0)
    for span in sorted(spans, key=lambda span: span.sign == "-"):  # what is not the target has the last word
        first, last = (max(0, round(at / hop_s)) for at in (span.start_s, span.end_s))
        found[first:last] = span.sign == "+"
    return found


def _alike(powers: Doubles, open_to: Doubles, hop_s: float) -> float:
    """How alike two sources are, 0..1, as far as the second sounds where the prompt is open."""
    loud = loudness(powers)
    spectra = loud.mean(axis=2) / loud.mean(axis=(1, 2))[:, None]
    over_time = loud.sum(axis=1)
    rhythms = [_rhythm(one, hop_s) for one in over_time]
    inside = float((over_time[1] * open_to).sum() / over_time[1].sum())
    alike = np.minimum(*spectra).mean() * np.minimum(*rhythms).sum()
    return inside * float(np.clip((np.sqrt(alike) - _LEAST_ALIKE) / (_MOST_ALIKE - _LEAST_ALIKE), 0, 1))


def _rhythm(loud: Doubles, hop_s: float) -> Doubles:
    """Shares of the changes of loudness over time by octaves of their rate; their sum is 1."""
    spectrum = np.abs(np.fft.rfft((loud - loud.mean()) * np.hanning(loud.size))) ** 2
    edges = np.searchsorted(np.fft.rfftfreq(loud.size, hop_s), _RHYTHM_HZ)
    shares = np.array([spectrum[low:high].sum() for low, high in pairwise(edges)])
    steady = (loud.mean() * 0.02 * loud.size) ** 2  # loudness that hardly changes has no rhythm of its own
    whole: Doubles = np.append(shares, steady).astype(np.float64)
    whole /= whole.sum()
    return whole
