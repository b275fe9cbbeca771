"""Models over several data sets joined: means, differences and places, against a computation by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from r2_records import ScoresByModel, case, compare_r2, conditions, record

from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.stats.few_clusters import SHARE, ends_of, widening
from auscult.suites.core.compare import SuiteComparison
from auscult.suites.core.numbers import Number

Floats = NDArray[np.float64]

CLIPS = tuple(case(f"v{clip}/{number}") for clip in range(4) for number in range(2))
PHOTOS = tuple(case(f"w{clip}/0") for clip in range(5))
ASKED = conditions("low", "high")
HERE, THERE = tuple(case_.id for case_ in CLIPS), tuple(case_.id for case_ in PHOTOS)
LEVELS = ("mix_low", "mix_high")


def scores(seed: int, names: Sequence[str]) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {
        condition_.name: {
            name: float(value) for name, value in zip(names, rng.uniform(0.2, 1, len(names)), strict=True)
        }
        for condition_ in ASKED
    }


FLOW = {"clips": scores(1, HERE), "photos": scores(2, THERE)}
LEXICON = {"clips": scores(3, HERE), "photos": scores(4, THERE)}
OTHER = {"clips": scores(5, HERE)}
FLOOR = {"clips": {"clean": scores(6, HERE)["clean"]}, "photos": {"clean": scores(7, THERE)["clean"]}}


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> SuiteComparison:
    """Two models and a baseline on both data sets, a third model on one."""
    folder = tmp_path_factory.mktemp("over")
    models = {"flow": FLOW, "lexicon": LEXICON, "other": OTHER, "baseline.empty.v1": FLOOR}
    return compare_r2(
        [
            record(folder / data, _on(data, models), cases=cases, data=data)
            for data, cases in (("clips", CLIPS), ("photos", PHOTOS))
        ]
    )


def _on(data: str, models: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]) -> ScoresByModel:
    return {name: by_data[data] for name, by_data in models.items() if data in by_data}


def number(comparison: SuiteComparison, measure: str, model: str, group: str, level: str = "") -> Number:
    place = (measure, f"all data sets: {model}", group, level)
    (number_,) = [
        number_
        for number_ in comparison.numbers
        if (number_.measure, number_.model, number_.group, number_.level) == place
    ]
    return number_


def values(scores_of: Mapping[str, Mapping[str, float]], names: Sequence[str], column: str) -> Floats:
    """Clean scores, or changes, of every case: J&F is J less a twentieth."""
    clean = np.array([scores_of["clean"][name] for name in names]) - 0.05
    if column == "clean":
        return clean
    return np.mean([[scores_of[level][name] - 0.05 for name in names] for level in LEVELS], axis=0) - clean


def draws(values_by_data: Mapping[str, Floats], *, level: float = 0.95) -> Floats:
    """The mean over data sets in a thousand draws of clips within each, drawn one by one, and widened."""
    sides = []
    for data, clips in (("clips", 4), ("photos", 5)):
        n_per_clip = len(values_by_data[data]) // clips
        clip_draws = generator(7, "r2", "bootstrap", "joined", data).integers(clips, size=(1000, clips))
        by_clip = values_by_data[data].reshape(clips, n_per_clip)
        drawn_means = np.array([by_clip[row].mean() for row in clip_draws])
        sides.append(by_clip.mean() + widening([n_per_clip] * clips, level=level) * (drawn_means - by_clip.mean()))
    return np.mean(sides, axis=0)


NAMES = {"clips": HERE, "photos": THERE}


@pytest.mark.parametrize("column", ["clean", "mix"])
def test_a_number_over_data_sets_is_their_mean_with_clips_drawn_within_each(
    joined: SuiteComparison, column: str
) -> None:
    level, measures = ("clean", ("level", "difference")) if column == "clean" else ("", ("apc", "apc_difference"))
    flow, lexicon = (
        {data: values(by_data[data], NAMES[data], column) for data in NAMES} for by_data in (FLOW, LEXICON)
    )
    gap = {data: flow[data] - lexicon[data] for data in NAMES}
    for measure, model, values_by_data in ((measures[0], "flow", flow), (measures[1], "flow - lexicon", gap)):
        number_ = number(joined, measure, model, column, level)
        assert number_.value == pytest.approx(
            np.mean([values_by_data["clips"].mean(), values_by_data["photos"].mean()])
        )
        ends = ends_of(
            draws(values_by_data), value=number_.value, clusters=4, within=SHARE if measure == "level" else None
        )
        assert number_.ends == pytest.approx((ends.low, ends.high))
        assert number_.counts is not None
        assert number_.counts.n == 8 + 5
        assert "over:2 data sets, each alike" in number_.signature_text()
        assert "drawn:clusters within each data set" in number_.signature_text()


def test_places_are_those_of_the_means_in_each_draw(joined: SuiteComparison) -> None:
    changes = {
        name: {data: values(by_data[data], NAMES[data], "mix") for data in NAMES}
        for name, by_data in (("flow", FLOW), ("lexicon", LEXICON))
    }
    means = {
        name: np.mean([values_.mean() for values_ in values_by_data.values()])
        for name, values_by_data in changes.items()
    }
    drawn_means = np.stack([draws(values_by_data, level=0.9) for values_by_data in changes.values()], axis=1)
    wins = (drawn_means == drawn_means.max(axis=1, keepdims=True)).mean(axis=0)
    table = joined.tables["joined_ranking"]
    rows = [row for row in table.rows if row[0].startswith("least J&F lost")]
    assert [row[2] for row in rows] == sorted(means, key=lambda name: -means[name])
    for _, place, model, value, first in rows:
        share = dict(zip(changes, wins, strict=True))[model]
        places = np.where(drawn_means.argmax(axis=1) == list(changes).index(model), 1, 2)
        best, worst = np.quantile(places, 0.05, method="lower"), np.quantile(places, 0.95, method="higher")
        assert place.endswith(f"[{best}, {worst}]") or best == worst
        assert value == f"{100 * means[model]:+.1f}"
        assert first == f"{100 * share:.0f} %"
    metric = joined.summary.metrics["all data sets/place/loss_mix/flow"]
    assert metric["value"] == 1 + (means["flow"] < means["lexicon"])
    assert metric["n"] == 13
    difference = joined.summary.metrics["all data sets/difference/flow - lexicon/mix/apc/J&F"]
    assert difference["value"] == pytest.approx(means["flow"] - means["lexicon"], abs=1e-6)


def test_baselines_are_ranked_clean_and_who_was_not_asked_everywhere_is_named(joined: SuiteComparison) -> None:
    clean = {row[2] for row in joined.tables["joined_ranking"].rows if row[0] == "clean J&F"}
    assert clean == {"flow", "lexicon", "baseline.empty.v1"}
    assert "Not asked on every data set, so in no number over all of them: other." in joined.notes
    assert [row[0] for row in joined.tables["joined_differences"].rows] == ["flow - lexicon"]
    over = [row[1] for row in joined.tables["sets"].rows if row[0] == "all data sets"]
    assert over == ["flow", "lexicon"]
    assert {"joined_ranks_clean", "joined_ranks_loss_mix"} <= {
        figure.name for section in joined.sections for figure in section.figures
    }
    assert [section.name for section in joined.sections][:2] == ["sets", "over"]
    assert any("over all data sets" in table.title for table in joined.shown)


def test_a_single_clip_leaves_no_interval_and_that_is_said(tmp_path: Path) -> None:
    lone = CLIPS[:2]
    paths = [
        record(tmp_path / data, _on(data, {"flow": FLOW, "lexicon": LEXICON}), cases=cases, data=data)
        for data, cases in (("clips", lone), ("photos", PHOTOS))
    ]
    comparison = compare_r2(paths)
    gap = number(comparison, "apc_difference", "flow - lexicon", "mix")
    assert gap.value is not None
    assert gap.ends is None
    assert {row[4] for row in comparison.tables["joined_ranking"].rows} == {"–"}
    for name in ("joined_ranking", "joined_differences"):
        assert "No interval: clips has a single clip" in comparison.tables[name].note
    assert any("No interval over all data sets" in note and "(clips)" in note for note in comparison.notes)


def test_one_model_in_common_is_no_ranking(tmp_path: Path) -> None:
    paths = [
        record(tmp_path / data, _on(data, {"flow": FLOW, "other": OTHER}), cases=cases, data=data)
        for data, cases in (("clips", CLIPS), ("photos", PHOTOS))
    ]
    comparison = compare_r2(paths)
    assert not [name for name in comparison.tables if name.startswith("joined")]
    assert any("fewer than two models were asked on every one" in note for note in comparison.notes)
    assert number(comparison, "apc", "flow", "mix").value is not None


def test_a_model_without_a_score_somewhere_leaves_the_others_ranked(tmp_path: Path) -> None:
    dead = {"clips": OTHER["clips"], "photos": {"clean": FLOW["photos"]["clean"], "mix_low": {}, "mix_high": {}}}
    errors = [
        {"id": name, "stage": "predict", "error": f"dead, {level}: it stopped"} for name in THERE for level in LEVELS
    ]
    models = {"flow": FLOW, "lexicon": LEXICON, "dead": dead}
    paths = [
        record(tmp_path / data, _on(data, models), cases=cases, data=data, errors=errors if data == "photos" else ())
        for data, cases in (("clips", CLIPS), ("photos", PHOTOS))
    ]
    comparison = compare_r2(paths)
    rows = comparison.tables["joined_ranking"].rows
    assert {row[2] for row in rows if row[0].startswith("least")} == {"flow", "lexicon"}
    assert {row[2] for row in rows if row[0].startswith("clean")} == {"flow", "lexicon", "dead"}
    assert isinstance(number(comparison, "apc", "dead", "mix").outcome, Undefined)
    assert any("dead has no score under some" in note for note in comparison.notes)
