"""Every registered stressor of separation, on random stems: the stem at strength 0, replay, truth that never falls."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult import registry
from auscult.outcome import Undefined
from auscult.stress.perturbation import monotone
from auscult.stress.sound import separation

NAMES = [entry.name for entry in registry.entries("stressor") if entry.room == "separation"]


@st.composite
def stems(draw: st.DrawFn) -> tuple[int, list[Any]]:
    """A rate, and two to four sources of one shape, .05 s or longer: noises and tones with pauses and offsets."""
    rate_hz = draw(st.sampled_from([8_000, 16_000, 44_100]))
    shape = (draw(st.integers(1, 2)), round(rate_hz * draw(st.floats(0.05, 0.4))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sounds = []
    for _ in range(draw(st.integers(2, 4))):
        sound = rng.standard_normal(shape) * draw(st.sampled_from([0.0, 0.1, 1.0]))
        sound += np.sin(np.arange(shape[1]) * draw(st.floats(0.01, 3.0)))
        sound *= np.interp(np.arange(shape[1]), np.linspace(0, shape[1], 9), rng.random(9) > 0.3)
        sound += draw(st.sampled_from([0.0, 0.0, 0.2]))
        sounds.append((sound * 10.0 ** draw(st.floats(-4.0, 0.0))).astype(np.float32))
    return rate_hz, sounds


def test_other_kinds_are_found_by_the_same_laws() -> None:
    assert {"separation.leakage.v1", "separation.other_codec.v1"} <= set(NAMES)
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_it_describes_itself(name: str) -> None:
    stressor = registry.load("stressor", name)
    assert isinstance(stressor, separation.SeparationStressor)
    assert stressor.name == name
    for text in (stressor.meta.summary, stressor.meta.goal, stressor.meta.source, stressor.meta.truth):
        assert text
        assert "\n" not in text
    (amount,) = stressor.constants
    assert len(amount.values) == 6
    assert monotone(stressor.levels, 0)


@pytest.mark.parametrize("name", NAMES)
def test_draws_follow_from_seed_and_key_and_not_from_strength(name: str) -> None:
    rng = np.random.default_rng(2)
    sounds = [rng.standard_normal((2, 4_000)).astype(np.float32) for _ in range(3)]
    for sound in sounds:
        sound.setflags(write=False)

    def perturbed(severity: float, key: str) -> Any:
        return separation.perturb(name, sounds, rate_hz=16_000, severity=severity, seed=5, key=key)

    first, second = perturbed(3.0, "a"), perturbed(3.0, "a")
    assert first.output.tobytes() == second.output.tobytes()
    assert first.output.flags.writeable
    assert not any(np.shares_memory(first.output, sound) for sound in sounds)
    assert not np.shares_memory(perturbed(0.0, "a").output, sounds[0])
    params = [{**perturbed(severity, "a").params, "strength": 0} for severity in (1.0, 3.0, 5.0)]
    assert params[0] == params[1] == params[2]
    if set(params[0]) != {"strength"}:
        assert len({perturbed(4.0, key).output.tobytes() for key in "abcdefgh"}) > 1, "what is drawn makes a difference"


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5, deadline=None)
@given(given_stems=stems(), seed=st.integers(0, 99), data=st.data())
def test_laws(name: str, given_stems: tuple[int, list[Any]], seed: int, data: st.DataObject) -> None:
    rate_hz, sounds = given_stems
    target, degree = data.draw(st.integers(0, len(sounds) - 1)), registry.load("stressor", name).degree
    options: dict[str, Any] = {"target": target, "rate_hz": rate_hz}
    before = -math.inf
    strengths = sorted(data.draw(st.lists(st.floats(0.01, 5.0), min_size=2, max_size=4)))
    for strength in (0.0, *strengths, 5.0):
        result = separation.perturb(name, sounds, severity=strength, seed=seed, **options)
        if isinstance(result, Undefined):
            assert not sounds[target].any() or not any(
                sound.any() for index, sound in enumerate(sounds) if index != target
            )
            return
        if strength == 0.0:
            assert result.output.tobytes() == sounds[target].tobytes()
            assert result.truth == separation.SeparationTruth()
        params = json.loads(json.dumps(dict(result.params), allow_nan=False))
        assert separation.render(name, sounds, params, **options).tobytes() == result.output.tobytes()
        reached_db = getattr(result.truth, degree)
        assert reached_db is None or reached_db >= before - 1e-6 * max(1.0, abs(before)), (strength, before, reached_db)
        before = before if reached_db is None else reached_db
        error = np.sum((result.output.astype(np.float64) - sounds[target]) ** 2) / np.sum(sounds[target] ** 2.0)
        expected_error = 0.0 if result.truth.snr_db is None else 10.0 ** (-result.truth.snr_db / 10.0)
        assert math.isclose(error, expected_error, rel_tol=1e-3, abs_tol=1e-9)
        assert set(result.truth.sources) <= set(range(len(sounds))) - {target}


@pytest.mark.parametrize("name", NAMES)
def test_the_strongest_harms_any_of_them(name: str) -> None:
    rng = np.random.default_rng(3)
    fading = np.exp(-np.arange(8_000) / 2_000.0)
    sounds = [(np.convolve(rng.normal(size=8_000), np.ones(4), "same") * fading).astype(np.float32) for _ in range(2)]
    result = separation.perturb(name, sounds, rate_hz=16_000, severity=5)
    assert not isinstance(result, Undefined)
    assert result.truth.snr_db is not None
    assert result.truth.snr_db < 15.0


@pytest.mark.parametrize(
    ("name", "degree", "declared", "off"),
    [
        ("time_loss", "lost_share", 0.45, 0.02),
        ("band_loss", "lost_share", 0.45, 0.05),
        ("leakage", "interference_db", -12.0, 0.01),
        ("musical_noise", "artefacts_db", -15.0, 0.01),
        ("smearing", "artefacts_db", -9.0, 0.01),
        ("clipping", "artefacts_db", -16.0, 0.01),
        ("silence", "lost_share", 0.64, 1e-6),
    ],
)
def test_what_a_severity_promises_is_measured_in_the_output(
    name: str, degree: str, declared: float, off: float
) -> None:
    """On a steady noise and on one that is heard for a moment; errors are projected out with the stems themselves."""
    rng = np.random.default_rng(1)
    other = rng.standard_normal(32_000)
    for envelope in (np.ones(32_000), np.exp(-((np.arange(32_000) / 4_000.0 - 3.0) ** 2))):
        sounds = [(sound * envelope).astype(np.float32) for sound in (rng.standard_normal(32_000), other)]
        result = separation.perturb(name, sounds, rate_hz=16_000, severity="medium", seed=5)
        assert not isinstance(result, Undefined)
        error = result.output.astype(np.float64) - sounds[0]
        share = float(error @ error) / float(np.sum(sounds[0].astype(np.float64) ** 2))
        assert (share if degree == "lost_share" else 10 * np.log10(share)) == pytest.approx(declared, abs=off)
        assert getattr(result.truth, degree) == pytest.approx(declared, abs=off)
