"""How strength goes through a clip (R2-Bench, Eq. 2)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from auscult.errors import UnknownName
from auscult.stress.recipe_parts import LEVELS, SCHEDULES, STATIC, schedule_of

RANDOM = ("paper", "r2bench", "burst", "walk")


@given(
    name=some.sampled_from(sorted(SCHEDULES)),
    full=some.floats(0, 5),
    seed=some.integers(0, 2**63 - 1),
    frames=some.integers(1, 300),
)
def test_one_strength_for_each_frame_and_the_same_again(name: str, full: float, seed: int, frames: int) -> None:
    strengths = SCHEDULES[name].strengths(full, seed=seed, frames=frames)
    assert strengths.shape == (frames,)
    assert strengths.dtype == np.float64
    assert strengths.min() >= 0.0
    assert strengths.max() <= (5.0 if SCHEDULES[name].draws_levels else full)
    assert np.array_equal(strengths, SCHEDULES[name].strengths(full, seed=seed, frames=frames))


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_nothing_stays_nothing(name: str) -> None:
    assert not SCHEDULES[name].strengths(0.0, seed=1, frames=60).any()


@pytest.mark.parametrize("name", RANDOM)
def test_another_seed_draws_anew(name: str) -> None:
    first, second = (SCHEDULES[name].strengths(4.0, seed=seed, frames=100) for seed in (1, 2))
    assert (first != second).any()


def test_static_is_the_same_throughout() -> None:
    assert (STATIC.strengths(2.5, seed=1, frames=40) == 2.5).all()
    assert not STATIC.moves


@pytest.mark.parametrize("name", ["paper", "r2bench"])
def test_severities_are_low_medium_and_high_alike(name: str) -> None:
    strengths = SCHEDULES[name].strengths(2.0, seed=3, frames=3000)
    counts = [(strengths == level).sum() for level in LEVELS]
    assert sum(counts) == strengths.size
    assert min(counts) > 900  # 1000 expected, deviation 26
    share_same = (np.diff(strengths) == 0).mean()
    assert 0.28 < share_same < 0.39  # frames draw by themselves: a third stay as the one before


def test_types_are_drawn_alike() -> None:
    types_drawn = SCHEDULES["paper"].types(16, seed=5, frames=16_000)
    assert np.bincount(types_drawn, minlength=16).min() > 850
    assert types_drawn.max() == 15


def test_a_ramp_rises_evenly_from_nothing() -> None:
    strengths = SCHEDULES["ramp"].strengths(4.0, seed=0, frames=81)
    assert strengths[0] == 0.0
    assert strengths[-1] == 4.0
    assert np.allclose(np.diff(strengths), 0.05)
    assert SCHEDULES["ramp"].strengths(4.0, seed=0, frames=1) == 4.0


@pytest.mark.parametrize("seed", range(5))
def test_bursts_come_one_in_fifty_frames(seed: int) -> None:
    strengths = SCHEDULES["burst"].strengths(3.0, seed=seed, frames=500)
    assert set(np.unique(strengths)) == {0.0, 3.0}
    for start in range(0, 500, 50):
        period = strengths[start : start + 50]
        on = np.flatnonzero(period)
        assert 12 <= on.size <= 25
        assert on[-1] - on[0] + 1 == on.size


def test_a_walk_wanders_without_jumps() -> None:
    walks = [SCHEDULES["walk"].strengths(5.0, seed=seed, frames=400) for seed in range(20)]
    steps = np.abs(np.diff(walks))
    assert steps.max() < 5 * 4.5 / 16
    assert steps.mean() == pytest.approx(5 / 16 * np.sqrt(2 / np.pi), rel=0.08)  # less where it turns
    assert np.ptp(walks) > 4.9
    assert np.mean(walks) == pytest.approx(2.5, abs=0.4)


def test_what_has_no_frames_draws_once() -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    assert {SCHEDULES["r2bench"].whole(2.0, rng) for _ in range(60)} == set(LEVELS)
    assert SCHEDULES["r2bench"].whole(0.0, rng) == 0.0
    assert SCHEDULES["ramp"].whole(2.0, rng) == 2.0


def test_an_unknown_schedule_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean ramp"):
        schedule_of("rampe")
