"""Scores from true stems do what a listener expects of them: powers by least squares, then 1..5."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.sound.perceptual import Bands, Perceptual, _parts, difficulty, perceptual
from auscult.types import DIFFICULTY_AXES, SoundQuery, Span

RATE = 16000
SECONDS = 3.0


def voice(pitch_hz: float, seed: int) -> NDArray[np.float32]:
    """Harmonics with vibrato, in syllables."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(SECONDS * RATE)) / RATE
    phase = 2 * np.pi * np.cumsum(pitch_hz * (1 + 0.02 * np.sin(2 * np.pi * 5 * time + seed))) / RATE
    wave = sum(np.sin(k * phase + rng.uniform(0, 6)) / k for k in range(1, 30))
    syllables = np.repeat(rng.uniform(0.2, 1, size=15), time.size // 15 + 1)[: time.size]
    return np.asarray(0.05 * wave * np.convolve(syllables, np.full(400, 1 / 400), "same"), dtype=np.float32)


A, B = voice(150, 1), voice(233, 2)
RAIN = (0.02 * np.random.default_rng(3).normal(size=A.size)).astype(np.float32)
STEMS = [A, B, RAIN]


def scores_of(output: NDArray[np.floating]) -> Perceptual:
    result = perceptual(output, STEMS, rate_hz=RATE)
    assert isinstance(result, Perceptual)
    return result


@pytest.mark.parametrize("gain", [1.0, 0.1, -3.0])
def test_the_target_itself_is_perfect_at_any_level(gain: float) -> None:
    scores = scores_of(gain * A)
    assert min(scores.recall, scores.precision, scores.faithfulness, scores.overall) > 4.99
    assert np.allclose(scores.recovered, scores.target, rtol=1e-2)


def test_what_listeners_would_call_the_extremes() -> None:
    mixture, silence, wrong = scores_of(A + B + RAIN), scores_of(0 * A), scores_of(B)
    assert mixture.recall > 4.9
    assert mixture.precision < 2
    assert mixture.faithfulness > 4.5
    assert (silence.recall, silence.precision, silence.faithfulness) == (1, 5, 1)
    assert max(wrong.recall, wrong.precision, wrong.faithfulness, wrong.overall) < 1.1
    noise = scores_of(np.random.default_rng(5).normal(size=A.size))
    assert noise.recall < 1.5
    assert noise.overall < 1.3


def test_overall_is_the_stated_mean() -> None:
    scores = scores_of(A + 0.3 * B)
    axes = (scores.recall, scores.precision, scores.faithfulness)
    assert scores.overall == pytest.approx(0.6 * min(axes) + 0.4 * sum(axes) / 3)


def test_parts_are_those_of_numpys_least_squares() -> None:
    """In one cell, against ``numpy.linalg.lstsq`` on the spectra themselves."""
    bands, output = Bands(RATE), A + 0.5 * np.roll(B, 3) + 0.1 * RAIN**2
    spectra = [bands._spectra(signal, 0, RATE // 5)[0] for signal in (output, *STEMS)]
    low, high = bands.edges[12]
    mixture_band, *stems = (spectrum[:, low:high].ravel().astype(np.complex128) for spectrum in spectra)
    factors, residual, _, _ = np.linalg.lstsq(np.stack(stems, axis=1), mixture_band)
    grams = next(bands.grams([output, *STEMS]))[12, 0]
    weights = np.linalg.solve(grams[1:, 1:].T, grams[0, 1:])
    assert np.allclose(weights, factors, rtol=1e-3)
    part = _parts(next(bands.grams([output, *STEMS])), bands, 0)
    independent = 5 * (high - low)
    noise = float(residual[0]) / (independent - 3)
    assert part.unexplained[12, 0] == pytest.approx(noise * independent, rel=1e-2)
    left_power = np.vdot(*(2 * [factors[1] * stems[1] + factors[2] * stems[2]])).real
    assert part.left_over[12, 0] == pytest.approx(left_power - 4 * noise, rel=1e-2)


class Repeated:
    """A sound over and over, of which only blocks are ever made."""

    longest = 0

    def __init__(self, samples: NDArray[np.float32], times: int) -> None:
        self.samples, self.shape = samples, (times * samples.size,)

    def __getitem__(self, key: tuple[object, slice]) -> NDArray[np.float32]:
        samples = self.samples[np.arange(key[1].start, min(key[1].stop, self.shape[0])) % self.samples.size]
        Repeated.longest = max(Repeated.longest, samples.size)
        return samples


def test_long_sounds_are_read_in_blocks_and_score_the_same() -> None:
    long = perceptual(Repeated(A + 0.2 * B, 20), [Repeated(stem, 20) for stem in STEMS], rate_hz=RATE)
    assert isinstance(long, Perceptual)
    assert long.target.size == 20 * 15
    assert long.overall == pytest.approx(scores_of(A + 0.2 * B).overall, abs=0.02)
    assert Repeated.longest <= 21 * RATE


def test_memory_hardly_grows_with_length() -> None:
    """An hour may take 200 MB more than a minute: three minutes more, 10 MB."""
    peaks = []
    for minutes in (1, 4):
        tracemalloc.start()
        perceptual(Repeated(A, 20 * minutes), [Repeated(stem, 20 * minutes) for stem in STEMS[:2]], rate_hz=RATE)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 10e6


def test_it_is_forty_times_as_fast_as_the_sound() -> None:
    sounds = [np.tile(stem, 4)[: 10 * RATE] for stem in (A + 0.2 * B, *STEMS)]
    seconds = []
    for _ in range(3):
        start = time.thread_time()
        perceptual(sounds[0], sounds[1:], rate_hz=RATE)
        seconds.append(time.thread_time() - start)
    assert 10 / min(seconds) > 40


def test_channels_count_together() -> None:
    stereo = [np.stack([stem, 0.5 * stem]) for stem in STEMS]
    result = perceptual(stereo[0] + 0.2 * stereo[1], stereo, rate_hz=RATE)
    assert isinstance(result, Perceptual)
    assert result.overall == pytest.approx(scores_of(A + 0.2 * B).overall, abs=0.05)


def test_what_cannot_be_scored() -> None:
    assert perceptual(A, [0 * A, B], rate_hz=RATE) == Undefined("the target is silent")
    with pytest.raises(InputError, match="47999 samples"):
        perceptual(A[:-1], STEMS, rate_hz=RATE)
    with pytest.raises(InputError, match="no stem 3"):
        perceptual(A, STEMS, target=3, rate_hz=RATE)
    with pytest.raises(InputError, match="not finite"):
        perceptual(A * np.nan, STEMS, rate_hz=RATE)
    with pytest.raises(InputError, match="the target is silent"):
        difficulty([0 * A, B], rate_hz=RATE)
    with pytest.raises(InputError, match=r"1 channel, output .* 2 channels"):
        perceptual(np.stack([A, A]), STEMS, rate_hz=RATE)
    with pytest.raises(InputError, match="samples per second"):
        perceptual(A, STEMS, rate_hz=20)


@pytest.mark.parametrize("offset", [-0.5, 0.5])
def test_a_constant_offset_is_not_heard(offset: float) -> None:
    assert scores_of(A + 0.2 * B + offset).overall == pytest.approx(scores_of(A + 0.2 * B).overall, abs=0.05)
    alone = scores_of(np.full_like(A, offset))
    assert alone.overall < 2


@pytest.mark.parametrize("rate_hz", [1000, 8000, 11025, 44100])
def test_short_sounds_and_odd_rates_are_scored(rate_hz: int) -> None:
    samples = rate_hz // 20
    noise, other = np.random.default_rng(1).normal(size=(2, samples))
    result = perceptual(noise, [noise, other], rate_hz=rate_hz)
    assert isinstance(result, Perceptual)
    assert result.overall > 4.9
    assert isinstance(perceptual(noise[: samples // 2], [noise[: samples // 2]], rate_hz=rate_hz), Undefined)


def test_axes_of_difficulty() -> None:
    alone, of_two, of_three = (difficulty(STEMS[:count], rate_hz=RATE) for count in (1, 2, 3))
    assert tuple(alone) == DIFFICULTY_AXES
    assert set(alone.values()) == {1.0}
    assert (of_two["counting"], of_three["counting"]) == (2, 3)
    assert 1 < of_two["overlapping"] < of_three["overlapping"] <= 5
    assert of_two["confusion"] > difficulty([A, RAIN], rate_hz=RATE)["confusion"] + 1
    softer, louder = (difficulty([gain * A, B], rate_hz=RATE)["loudness"] for gain in (0.3, 3.0))
    assert softer - louder == pytest.approx(20 / 7.5, abs=0.3)
    four = [value for axis, value in of_three.items() if axis != "overall"]
    assert of_three["overall"] == pytest.approx(0.6 * max(four) + 0.1 * sum(four))


def test_spans_tell_the_target_from_what_sounds_at_other_times() -> None:
    early, late_sound = A.copy(), voice(155, 7)
    early[A.size // 2 :] = 0
    late_sound[: A.size // 2] = 0
    prompt_with_spans = SoundQuery(spans=(Span("+", 0.0, SECONDS / 2),))
    not_told = SoundQuery(spans=(Span("-", 0.0, 0.1),))
    assert difficulty([early, late_sound], rate_hz=RATE)["overlapping"] == pytest.approx(1, abs=0.1)
    plain, with_spans, useless = (
        difficulty([early, late_sound], rate_hz=RATE, prompt=prompt)["confusion"]
        for prompt in (None, prompt_with_spans, not_told)
    )
    assert with_spans == pytest.approx(1, abs=0.1)
    assert useless == pytest.approx(plain)
    assert plain > 3
