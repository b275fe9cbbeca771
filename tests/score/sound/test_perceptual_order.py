"""Worse sounds score lower: pairs on which any listener would agree, and sweeps of what separators do wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.scenes.sound.generated import GENERATED
from auscult.score.sound.perceptual import Perceptual, perceptual
from auscult.stress.sound.separation import perturb
from auscult.types import PERFORMANCE, Stressed

Wave = NDArray[np.float32]
RATE = 16000
SAMPLES = 3 * RATE


def mixture(*kinds: str, seed: int = 0) -> list[Wave]:
    """Generated sounds, equally strong, each with its own pauses."""
    sounds = []
    for index, kind in enumerate(kinds):
        rng = generator(seed, "perceptual", index)
        sound = GENERATED.samples(
            GENERATED.source(rng, kind, instance=GENERATED.instances()[kind][seed]), seconds=3, rate_hz=RATE
        )
        is_on = np.repeat((rng.random(12) < 0.7) | (np.arange(12) == 5), SAMPLES // 12)
        sound = sound * np.convolve(is_on, np.full(160, 1 / 160), "same")
        sounds.append((0.05 * sound / np.sqrt(np.mean(sound**2))).astype(np.float32))
    return sounds


STEMS = mixture("buzz", "bell", "hiss")
T, OTHER, HISS = STEMS
MIX = T + OTHER + HISS
TIME = np.arange(SAMPLES) / RATE
WHITE = 0.05 * np.random.default_rng(8).normal(size=SAMPLES)


def db(level_db: float) -> float:
    return float(10 ** (level_db / 20))


def only(low_hz: float, high_hz: float, *, sound: Wave = T) -> Wave:
    """What of a sound lies between two frequencies."""
    spectrum, hz = np.fft.rfft(sound), np.fft.rfftfreq(SAMPLES, 1 / RATE)
    spectrum[(hz < low_hz) | (hz > high_hz)] = 0
    return np.fft.irfft(spectrum, SAMPLES).astype(np.float32)


def peaks_at(share: float) -> Wave:
    """The target clipped at a share of its peak."""
    return np.clip(T, -share * T.max(), share * T.max())


def room(seconds: float) -> Wave:
    """The target in a diffuse room that decays by 60 dB within a time."""
    taps = np.random.default_rng(4).normal(size=RATE) * 10 ** (-3 * np.arange(RATE) / RATE / seconds)
    taps[0] = 10
    size = 2 * SAMPLES
    return np.fft.irfft(np.fft.rfft(T, size) * np.fft.rfft(taps, size), size)[:SAMPLES].astype(np.float32)


def clicks(count: int) -> Wave:
    """So many clicks."""
    samples = np.zeros(SAMPLES, np.float32)
    samples[np.random.default_rng(count).integers(0, SAMPLES, count)] = 0.5
    return samples


def stutter(times_hz: float, share: float) -> Wave:
    """The target, silent for a share of each period."""
    return T * ((TIME * times_hz) % 1 >= share)


PAIRS: dict[str, tuple[Any, Any, str]] = {
    "the target, the mixture": (T, MIX, "precision"),
    "the target, silence": (T, 0 * T, "recall"),
    "the target, another source": (T, OTHER, "recall"),
    "the target softly, the mixture loudly": (0.1 * T, MIX, "precision"),
    "the target upside down, its phases random": (
        -T,
        perturb("phase_damage", STEMS, rate_hz=RATE, severity=5).output,  # type: ignore[union-attr]
        "faithfulness",
    ),
    "a trace of another source, much of it": (T + db(-26) * OTHER, T + db(-6) * OTHER, "precision"),
    "a trace of one, all of both": (T + db(-20) * OTHER, MIX, "precision"),
    "another source 20 dB below, 5 dB above": (T + db(-20) * HISS, T + db(5) * HISS, "precision"),
    "the mixture, another source alone": (MIX, OTHER, "recall"),
    "the mixture, white noise": (MIX, WHITE, "recall"),
    "a trace of another source, silence": (T + db(-20) * OTHER, 0 * T, "recall"),
    "one drop-out, half of it gone": (stutter(1 / 3, 0.1), stutter(1, 0.5), "recall"),
    "all of it, every second tenth of a second": (T, stutter(5, 0.5), "overall"),
    "dull above 6 kHz, only below 600 Hz": (only(0, 6000), only(0, 600), "recall"),
    "a little dull, as by telephone": (only(0, 5000), only(700, 1600), "faithfulness"),
    "a breath of noise, loud noise": (T + db(-30) * WHITE, T + db(-6) * WHITE, "faithfulness"),
    "light clipping, hard clipping": (peaks_at(0.8), peaks_at(0.05), "faithfulness"),
    "one click, a thousand": (T + clicks(1), T + clicks(1000), "faithfulness"),
    "a small room, a cathedral": (room(0.05), room(4), "faithfulness"),
    "a slow swell, deep tremolo": (
        T * (1 + 0.1 * np.sin(2 * np.pi * 0.5 * TIME)),
        T * (1 + np.sin(2 * np.pi * 18 * TIME)),
        "faithfulness",
    ),
    "a bass boost of 2 dB, of 20 dB": (
        T + 0.26 * only(0, 300),
        T + 9 * only(0, 300),
        "faithfulness",
    ),
    "hum in the pauses 40 dB below, hum as loud": (
        T + db(-40) * np.sin(2 * np.pi * 100 * TIME),
        T + 0.07 * np.sin(2 * np.pi * 100 * TIME),
        "faithfulness",
    ),
}


def scores_of(output: NDArray[Any], stems: list[Wave]) -> Perceptual:
    result = perceptual(output, stems, rate_hz=RATE)
    assert isinstance(result, Perceptual)
    return result


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_on_which_any_listener_would_agree(pair: str) -> None:
    better, worse, axis = PAIRS[pair]
    better_scores, worse_scores = scores_of(better, STEMS), scores_of(worse, STEMS)
    assert better_scores.overall > worse_scores.overall + 0.05
    assert getattr(better_scores, axis) > getattr(worse_scores, axis) + 0.05


SWEEPS = {
    "time_loss": "recall",
    "band_loss": "recall",
    "band_limit": "recall",
    "temporal_mask": "recall",
    "frequency_mask": "recall",
    "target_loss": "precision",
    "wrong_source": "precision",
    "leakage": "precision",
    "mixture": "precision",
    "musical_noise": "faithfulness",
    "smearing": "faithfulness",
    "clipping": "faithfulness",
    "phase_damage": "faithfulness",
    "timbre": "faithfulness",
    "equalisation": "faithfulness",
}
MIXTURES = [mixture("growl", "chirp", "bell", seed=1), mixture("bell", "hiss", seed=2)]


@pytest.mark.parametrize("kind", SWEEPS)
@pytest.mark.parametrize("stems", MIXTURES, ids=("growl", "bell"))
def test_scores_fall_as_damage_grows(kind: str, stems: list[Wave]) -> None:
    steps = [damaged(kind, stems, severity) for severity in (0, 1, 2, 3, 4, 5)]
    for name in ("overall", SWEEPS[kind]):
        scores = np.array([getattr(step, name) for step in steps])
        assert scores[0] > 4.99
        assert (np.diff(scores) <= 0.01).all()
        assert scores[-1] < 4.5
    assert all(1 <= getattr(step, name) <= 5 for step in steps for name in PERFORMANCE)


def damaged(kind: str, stems: list[Wave], severity: float) -> Perceptual:
    stressed = perturb(kind, stems, rate_hz=RATE, severity=severity, seed=1)
    assert isinstance(stressed, Stressed)
    return scores_of(stressed.output, stems)


def test_a_level_that_falls_is_no_loss_until_it_is_silence() -> None:
    recalls = [scores_of(gain * T, STEMS).recall for gain in (0.1, 0.001, 1e-6, 0.0)]
    assert recalls[0] > 4.99
    assert sorted(recalls, reverse=True) == recalls
    assert recalls[-1] == 1
