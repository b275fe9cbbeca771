"""Mixtures of generated sounds: plans replay, stems sum to the mixture, levels and prompts are what the plan says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.media.wav import FULL_SCALE
from auscult.record import codec
from auscult.record.digest import digest_json
from auscult.scenes.mixtures.catalogue import GENERATED, named
from auscult.scenes.mixtures.plan import MixturePlan, Planner
from auscult.scenes.mixtures.sound import integrated_lufs, pauses, render, spans_of
from auscult.scenes.options import MixtureOptions


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(GENERATED, MixtureOptions(seconds=(2, 5), channels="any", rates_hz=(8000, 16000), rooms=0.5))


@pytest.mark.parametrize("index", range(8))
def test_a_plan_replays_and_its_stems_sum_to_the_mixture(planner: Planner, index: int) -> None:
    plan = planner.plan(5, index)
    reread = codec.from_json(MixturePlan, codec.to_json(plan))
    assert reread == plan == planner.plan(5, index)
    rendered, twice = render(plan, GENERATED), render(reread, GENERATED)
    assert rendered.mixture.tobytes() == twice.mixture.tobytes()
    assert rendered.mixture.shape == (plan.channels, round(plan.seconds * plan.rate_hz))
    steps = [np.rint(stem * FULL_SCALE) for stem in (rendered.target, *rendered.others.values())]
    assert np.array_equal(np.sum(steps, axis=0), np.rint(rendered.mixture * FULL_SCALE))


@pytest.mark.parametrize("index", range(6))
def test_loudness_is_as_planned(planner: Planner, index: int) -> None:
    plan = planner.plan(6, index)
    rendered = render(plan, GENERATED)
    assert integrated_lufs(rendered.mixture, rate_hz=plan.rate_hz) <= plan.loudness_lufs + 0.1
    if np.max(np.abs(rendered.mixture)) < 0.97:
        assert integrated_lufs(rendered.mixture, rate_hz=plan.rate_hz) == pytest.approx(plan.loudness_lufs, abs=0.1)
    other_sound = rendered.mixture - rendered.target
    ratio = integrated_lufs(rendered.target, rate_hz=plan.rate_hz) - integrated_lufs(other_sound, rate_hz=plan.rate_hz)
    assert ratio == pytest.approx(plan.ratio_db, abs=0.2)


def test_the_draws_cover_what_they_may(planner: Planner) -> None:
    plans = [planner.plan(1, index) for index in range(200)]
    assert {len(plan.sources) for plan in plans} == {2, 3, 4, 5, 6}
    assert {plan.channels for plan in plans} == {1, 2}
    assert {plan.rate_hz for plan in plans} == {8000, 16000}
    assert {plan.similarity for plan in plans} == {"group", "domain", "any"}
    assert {plan.split for plan in plans} == {"train", "calibration", "test"}
    assert {plan.prompt.specific for plan in plans} == {True, False, None}
    assert all(2 <= plan.seconds <= 5 for plan in plans)
    assert {plan.room_m is None for plan in plans} == {True, False}
    unseen = [plan for plan in plans if not plan.seen]
    assert unseen
    assert all(plan.split == "test" for plan in unseen)


def test_a_prompt_names_the_target_and_nothing_else(planner: Planner) -> None:
    for index in range(100):
        plan = planner.plan(2, index)
        labels = {source.name: source.label for source in plan.sources}
        if plan.prompt.text is not None:
            meant = named(plan.prompt.text.upper(), labels.values())
            assert {name for name, label in labels.items() if label in meant} == set(plan.target)
            assert plan.prompt.text == plan.prompt.text.lower()


def test_clips_of_a_recording_are_in_one_part() -> None:
    parts: dict[str, set[str]] = {}
    for clip in GENERATED.clips:
        parts.setdefault(clip.recording, set()).add(clip.part)
        assert clip.seen or clip.part == "test"
    assert all(len(part_names) == 1 for part_names in parts.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": {"text": "whale singing"}}, "names nothing in the mixture"),
        ({"prompt": {}}, "prompt"),
        ({"target": []}, "target"),
        ({"sources": [{"spans": [[1.5, 0.5]]}]}, "spans"),
        ({"sources": [{"spans": [[0.5, 99.0]]}]}, "spans"),
        ({"sources": [{"name": "../stem"}]}, "name"),
        ({"seconds": 3600.0}, "seconds"),
        ({"rate_hz": 7}, "rate_hz"),
        ({"channels": 9}, "channels"),
        ({"loudness_lufs": 3.0}, "loudness_lufs"),
        ({"ratio_db": float("nan")}, "finite"),
    ],
)
def test_a_bad_plan_says_what_is_wrong(planner: Planner, change: dict[str, Any], message: str) -> None:
    row = codec.to_json(planner.plan(5, 0))
    sources = [
        {**old, **new} for old, new in zip(row["sources"], [*change.get("sources", ()), *[{}] * 6], strict=False)
    ]
    with pytest.raises(InputError) as error:
        codec.from_json(MixturePlan, {**row, **change, "sources": sources}, error=InputError, exact=True)
    assert message in str(error.value)


@pytest.mark.peer
@pytest.mark.parametrize("rate_hz", [16_000, 22_050, 44_100, 48_000])
def test_loudness_is_that_of_a_known_meter(rate_hz: int) -> None:
    pyloudnorm = pytest.importorskip("pyloudnorm", reason="the package to compare loudness with is not installed")
    rng = np.random.default_rng(rate_hz)
    count = 3 * rate_hz
    envelope = np.repeat(10.0 ** rng.uniform(-3.0, 0.0, 30), count // 30)
    colour = np.convolve(rng.standard_normal((2, count))[0], np.ones(4) / 4, "same")
    for sound in (
        colour * envelope,
        np.stack([colour * envelope, rng.standard_normal(count) * envelope[::-1]]),
        np.where(np.arange(count) < count // 3, colour, 0.0),
        np.stack([colour * envelope * factor for factor in (0.1, 0.1, 0.2, 1.0, 1.0)]),
    ):
        samples = (0.1 * sound).astype(np.float32)
        meter_lufs = pyloudnorm.Meter(rate_hz).integrated_loudness(samples.T.astype(np.float64))
        assert integrated_lufs(samples, rate_hz=rate_hz) == pytest.approx(meter_lufs, abs=0.1)


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 48_000, 96_000])
def test_loudness_of_a_sine_is_the_standards(rate_hz: int) -> None:
    """BS.1770-4: 997 Hz at full scale in one channel is -3.01 LUFS."""
    sine = np.sin(np.arange(2 * rate_hz) * (2 * np.pi * 997 / rate_hz)).astype(np.float32)
    assert integrated_lufs(sine, rate_hz=rate_hz) == pytest.approx(-3.01, abs=0.03)


def test_low_frequencies_of_surround_have_no_loudness_and_its_rear_more() -> None:
    sine = np.sin(np.arange(16_000) * (2 * np.pi * 997 / 16_000)).astype(np.float32)
    in_channel = [integrated_lufs(row[:, None] * sine, rate_hz=16_000) for row in np.eye(6, dtype=np.float32)]
    assert in_channel == pytest.approx([-3.01, -3.01, -3.01, -np.inf, -1.52, -1.52], abs=0.03)


def test_silence_has_no_loudness() -> None:
    assert integrated_lufs(np.zeros(16_000, np.float32), rate_hz=16_000) == float("-inf")
    assert integrated_lufs(np.zeros(0, np.float32), rate_hz=16_000) == float("-inf")


def test_spans_are_where_the_target_is_heard() -> None:
    is_heard = np.zeros(300, np.bool_)
    is_heard[50:100] = is_heard[110:150] = is_heard[250:300] = True
    spans = spans_of(is_heard, until_s=2.995)
    assert spans == ((0.5, 1.5), (2.5, 3.0))
    assert pauses(spans, until_s=3.0) == ((0.0, 0.5), (1.5, 2.5))
    assert spans_of(np.zeros(5, np.bool_), until_s=1.0) == ()


def test_plans_of_a_seed_do_not_drift() -> None:
    """Golden: of generated sounds; a change makes other mixtures of every seed, and needs a line in the changelog."""
    plans = [codec.to_json(Planner(GENERATED, MixtureOptions()).plan(7, index)) for index in range(20)]
    assert digest_json(plans) == "09833bd7db52792fff63bcd03d6dc93a"
