"""Outputs are lined up with their mixtures, and what is silent is judged by rule."""

from __future__ import annotations

import numpy as np
import pytest

from auscult.arrays.resampling import moved
from auscult.judge.sound.shared import aligned, is_silent, silent_output, unjudged
from auscult.rng import generator
from auscult.types import Samples, SoundCase, SoundEvidence

RATE_HZ = 16_000


def _sources(seconds: float = 2.0) -> tuple[Samples, Samples]:
    """A hum that comes and goes, and noise."""
    rng = generator(0, "alignment")
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    hum = sum(np.sin(2 * np.pi * 170 * harmonic * times) / harmonic for harmonic in range(1, 12)) * (
        np.sin(9 * times) > 0
    )
    return hum.astype(np.float32) * np.float32(0.1), (0.05 * rng.normal(size=times.size)).astype(np.float32)


@pytest.mark.parametrize("late_s", [0.0, 0.01, 0.1, -0.05])
@pytest.mark.parametrize("gain", [1.0, 0.02, 8.0, -0.5])
def test_delay_level_and_polarity_are_found_and_taken_away(late_s: float, gain: float) -> None:
    hum, noise = _sources()
    late_samples = round(late_s * RATE_HZ)
    output = moved(hum + np.float32(0.1) * noise, -late_samples) * np.float32(gain)
    aligned_output, delay_s, gain_removed = aligned((hum + noise)[None], output[None], rate_hz=RATE_HZ)
    assert delay_s == pytest.approx(late_s, abs=1e-3)
    assert gain_removed * gain == pytest.approx(1.0, rel=0.25)
    assert float(np.corrcoef(aligned_output[0, 2000:-2000], hum[2000:-2000])[0, 1]) > 0.95


def test_a_sound_that_is_not_in_the_mixture_stays_where_it_is() -> None:
    hum, noise = _sources()
    aligned_output, delay_s, gain = aligned(hum, noise, rate_hz=RATE_HZ)
    assert delay_s == 0.0
    assert aligned_output == pytest.approx(noise * np.float32(gain))


def test_rules_of_silence() -> None:
    hum, _ = _sources(0.5)
    case = SoundCase(id="a", mixture=hum[None], rate_hz=RATE_HZ)
    assert is_silent(np.zeros_like(hum))
    assert is_silent(hum, hum * np.float32(1e-4))
    assert not is_silent(hum, hum * np.float32(1e-3))
    assert is_silent(hum, np.full_like(hum, 0.5))  # DC is not heard
    assert is_silent(np.stack([hum, -hum]))  # nor what channels take from one another
    quiet = silent_output(case, "sound.mine.v1", difficulty={}, evidence=SoundEvidence())
    assert (quiet.recall, quiet.precision, quiet.faithfulness) == (1.0, 5.0, 1.0)
    assert quiet.overall == pytest.approx(1.53, abs=0.005)
    assert unjudged(case, "sound.mine.v1").overall is None
