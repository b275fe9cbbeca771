"""Mixtures of generated sounds: plans replay, stems sum to the mixture, levels and prompts are what the plan says."""

from __future__ import annotations

import numpy as np
import pytest

from auscult.media.wav import FULL_SCALE
from auscult.scenes.mixtures.catalogue import GENERATED
from auscult.scenes.mixtures.loudness import integrated_lufs
from auscult.scenes.mixtures.plan import MixturePlan, Planner
from auscult.scenes.mixtures.sound import render
from auscult.scenes.options import MixtureOptions


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(GENERATED, MixtureOptions(seconds=(2, 5), channels="any", rates_hz=(8000, 16000), rooms=0.5))


@pytest.mark.parametrize("index", range(8))
def test_a_plan_replays_and_its_stems_sum_to_the_mixture(planner: Planner, index: int) -> None:
    plan = planner.plan(5, index)
    again = MixturePlan.from_json(plan.as_json(), classes=GENERATED.classes)
    assert again == plan == planner.plan(5, index)
    made, twice = render(plan, GENERATED), render(again, GENERATED)
    assert made.mixture.tobytes() == twice.mixture.tobytes()
    assert made.mixture.shape == (plan.channels, round(plan.seconds * plan.rate_hz))
    steps = [np.rint(stem * FULL_SCALE) for stem in (made.target, *made.others.values())]
    assert np.array_equal(np.sum(steps, axis=0), np.rint(made.mixture * FULL_SCALE))


@pytest.mark.parametrize("index", range(6))
def test_loudness_is_as_planned(planner: Planner, index: int) -> None:
    plan = planner.plan(6, index)
    made = render(plan, GENERATED)
    assert integrated_lufs(made.mixture, rate_hz=plan.rate_hz) <= plan.loudness_lufs + 0.1
    if np.max(np.abs(made.mixture)) < 0.97:
        assert integrated_lufs(made.mixture, rate_hz=plan.rate_hz) == pytest.approx(plan.loudness_lufs, abs=0.1)
    rest = made.mixture - made.target
    ratio = integrated_lufs(made.target, rate_hz=plan.rate_hz) - integrated_lufs(rest, rate_hz=plan.rate_hz)
    assert ratio == pytest.approx(plan.ratio_db, abs=0.2)
