"""Records of ``auscult run r2`` compared: what is one, what is common, and what is left out and said."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from r2_records import KINDS, case, compare_r2, conditions, record

from auscult.errors import RecordError, UsageError
from auscult.suites.core.compare import SuiteComparison
from auscult.suites.core.numbers import Number

CASES = tuple(case(f"v{clip}/{number}") for clip in range(4) for number in range(2))
NAMES = tuple(one.id for one in CASES)


def scores(seed: int, names: tuple[str, ...] = NAMES) -> dict[str, dict[str, float]]:
    """Random scores under every condition; every clip has its own difficulty."""
    rng = np.random.default_rng(seed)
    wanted = [one.name for one in conditions("low", "high")]
    return {
        name: {one: float(value) for one, value in zip(names, rng.uniform(0.2, 1, len(names)), strict=True)}
        for name in wanted
    }


def number(found: SuiteComparison, measure: str, model: str, group: str, level: str = "", metric: str = "J") -> Number:
    place = (measure, model, group, level, metric)
    (one,) = [one for one in found.numbers if (one.measure, one.model, one.group, one.level, one.metric) == place]
    return one


def plain(found: SuiteComparison) -> dict[tuple[str, ...], object]:
    """Numbers that a single run has too, with their intervals and counts."""
    keys = ("measure", "model", "metric", "group", "level", "part", "split")
    return {tuple(getattr(one, key) for key in keys): (one.value, one.ends, one.counts) for one in found.numbers}


def test_two_records_of_the_same_cases_are_as_one_run_of_both_models(tmp_path: Path) -> None:
    first, second = scores(1), scores(2)
    one = record(tmp_path / "one", {"flow": first}, cases=CASES)
    two = record(tmp_path / "two", {"lexicon": second}, cases=CASES)
    both = record(tmp_path / "both", {"flow": first, "lexicon": second}, cases=CASES)
    apart, together = compare_r2([one, two]), compare_r2([both, one])
    assert len(apart.sets) == 1
    assert apart.notes == ()
    assert plain(apart) == plain(together)
    expected = np.mean([second["clean"][name] - first["clean"][name] for name in NAMES])
    gap = number(apart, "difference", "flow - lexicon", "clean", "clean")
    assert gap.value == pytest.approx(-expected)
    assert gap.counts is not None
    assert (gap.counts.n, gap.counts.failed) == (8, 0)
    lost = {
        name: np.mean([told[f"fog_{level}"][one] - told["clean"][one] for one in NAMES for level in ("low", "high")])
        for name, told in (("flow", first), ("lexicon", second))
    }
    fog = number(apart, "apc_difference", "flow - lexicon", "vision.fog.v1")
    assert fog.value == pytest.approx(lost["flow"] - lost["lexicon"])
    assert fog.ends is not None
    assert fog.ends[0] <= lost["flow"] - lost["lexicon"] <= fog.ends[1]
    assert {"general_mix", "differences", "ranking", "kinds", "correlation_vision", "means_kinds", "records"} <= set(
        apart.tables
    )


def test_the_order_of_the_records_names_pairs_and_changes_no_value(tmp_path: Path) -> None:
    one = record(tmp_path / "one", {"flow": scores(1)}, cases=CASES)
    two = record(tmp_path / "two", {"lexicon": scores(2)}, cases=CASES)
    forth, back = compare_r2([one, two]), compare_r2([two, one])
    assert number(forth, "apc", "flow", "mix") == number(back, "apc", "flow", "mix")
    gap, other = (
        number(forth, "apc_difference", "flow - lexicon", "mix"),
        number(back, "apc_difference", "lexicon - flow", "mix"),
    )
    assert gap.value == pytest.approx(-(other.value or 0))
    assert gap.ends == pytest.approx(tuple(-end for end in (other.ends or ()))[::-1])


def test_a_model_is_one_by_name_and_revision_else_bears_its_folder(tmp_path: Path) -> None:
    told, asked = {"clean": scores(1)["clean"]}, conditions()[:1]
    one = record(tmp_path / "one", {"flow": told}, cases=CASES, asked=asked)
    same = record(tmp_path / "same", {"flow": told, "lexicon": told}, cases=CASES, asked=asked)
    changed = record(tmp_path / "changed", {"flow": told}, cases=CASES, asked=asked, revision="r2")
    other_seed = record(tmp_path / "seed", {"flow": told}, cases=CASES, asked=asked, seed=8)
    assert compare_r2([one, same]).sets[0].grid.models == ("flow", "lexicon")
    assert compare_r2([one, changed]).sets[0].grid.models == ("flow (one)", "flow (changed)")
    drawn = compare_r2([one, other_seed])
    assert drawn.sets[0].grid.models == ("flow (one)", "flow (seed)")
    assert any("different seeds (7, 8)" in note for note in drawn.notes)


def test_scores_that_records_give_differently_are_counted(tmp_path: Path) -> None:
    told = scores(1)
    other = {**told, "clean": {**told["clean"], NAMES[0]: 0.15}}
    one = record(tmp_path / "one", {"flow": told}, cases=CASES)
    two = record(tmp_path / "two", {"flow": other}, cases=CASES)
    found = compare_r2([one, two])
    assert found.sets[0].differing == 2  # J and F
    assert number(found, "level", "flow", "clean", "clean").value == pytest.approx(
        np.mean(list(told["clean"].values()))
    )
    assert any("2 scores of one model" in note for note in found.notes)


def test_only_common_cases_are_compared(tmp_path: Path) -> None:
    changed = case(NAMES[2], content="another picture")
    mine = (*CASES[:2], changed, *CASES[3:6])
    first, second = scores(1), scores(2)
    one = record(tmp_path / "one", {"flow": first}, cases=CASES)
    two = record(tmp_path / "two", {"lexicon": second}, cases=mine)
    found = compare_r2([one, two])
    common = [*NAMES[:2], *NAMES[3:6]]
    gap = number(found, "difference", "flow - lexicon", "clean", "clean")
    assert list(found.sets[0].grid.cases) == common
    assert gap.value == pytest.approx(np.mean([first["clean"][name] - second["clean"][name] for name in common]))
    assert [note for note in found.notes if "cases are left out" in note] == [
        "one: 3 of 8 cases are left out: not in all of clips.",
        "two: 1 of 6 cases are left out: not in all of clips.",
    ]


def test_only_common_strengths_enter_an_average(tmp_path: Path) -> None:
    first = scores(1)
    second = {name: values for name, values in scores(2).items() if name != "fog_high"}
    one = record(tmp_path / "one", {"flow": first}, cases=CASES)
    two = record(tmp_path / "two", {"lexicon": second}, cases=CASES)
    found = compare_r2([one, two])
    change = number(found, "apc", "flow", "vision.fog.v1").value
    assert change == pytest.approx(np.mean([first["fog_low"][name] - first["clean"][name] for name in NAMES]))
    assert "Not every model was asked under these, so they are left out: fog high." in found.notes


def test_a_failed_question_is_in_no_mean_and_counted(tmp_path: Path) -> None:
    first, second = scores(1), scores(2)
    del second["mix_low"][NAMES[0]]
    second["mix_high"][NAMES[1]] = None  # type: ignore[assignment]
    one = record(tmp_path / "one", {"flow": first}, cases=CASES)
    two = record(tmp_path / "two", {"lexicon": second}, cases=CASES)
    found = compare_r2([one, two])
    gap = number(found, "apc_difference", "flow - lexicon", "mix")
    rest = NAMES[2:]
    lost = [
        np.mean([told[f"mix_{level}"][name] - told["clean"][name] for level in ("low", "high") for name in rest])
        for told in (first, second)
    ]
    assert gap.value == pytest.approx(lost[0] - lost[1])
    assert gap.counts is not None
    assert (gap.counts.n, gap.counts.failed, gap.counts.undefined) == (6, 1, 1)
    total = 2 * 9 * len(NAMES)
    assert (found.summary.n, found.summary.ok, found.summary.failed, found.summary.undefined) == (
        total,
        total - 2,
        1,
        1,
    )
    row = next(row for row in found.tables["records"].rows if row[0] == "two")
    assert row[5:8] == (str(total // 2), "1", "1")
    told = next(row for row in found.tables["general_mix"].rows if row[:2] == ("lexicon", "J"))
    assert told[-1] == "6 (1 failed, 1 undefined)"


def test_a_model_that_fails_everywhere_under_a_condition_is_counted(tmp_path: Path) -> None:
    first, second = scores(1), scores(2)
    second["mix_high"] = {}
    errors = [{"id": name, "stage": "predict", "error": "lexicon, mix_high: the model stopped"} for name in NAMES]
    one = record(tmp_path / "one", {"flow": first}, cases=CASES)
    two = record(tmp_path / "two", {"lexicon": second}, cases=CASES, errors=[{"id": "x", "error": "y"}, *errors])
    found = compare_r2([one, two])
    level = number(found, "level", "lexicon", "mix", "high")
    assert level.value is None
    assert level.counts is not None
    assert (level.counts.n, level.counts.failed) == (0, 8)
    assert found.summary.failed == 8
    assert number(found, "level", "flow", "mix", "high").value == pytest.approx(
        np.mean(list(first["mix_high"].values()))
    )


def test_cases_of_another_truth_are_other_cases(tmp_path: Path) -> None:
    one, two = (
        record(
            tmp_path / model,
            {model: {"clean": scores(1)["clean"]}},
            cases=[case(name, truth=truth if name == NAMES[0] else "same") for name in NAMES],
            asked=conditions()[:1],
        )
        for model, truth in (("flow", "before"), ("lexicon", "after"))
    )
    assert tuple(compare_r2([one, two]).sets[0].grid.cases) == NAMES[1:]


def test_an_overall_iou_is_of_the_pixels_of_both_records(tmp_path: Path) -> None:
    one, two = (
        record(tmp_path / model, {model: scores(seed)}, cases=CASES, task="ris", asked=RIS)
        for seed, model in enumerate(("flow", "lexicon"))
    )
    assert number(compare_r2([one, two]), "level", "lexicon", "clean", "clean", metric="oIoU").value == 0.5


OTHER = tuple(case(f"w{clip}/0") for clip in range(5))
ELSE = tuple(one.id for one in OTHER)


def test_other_data_sets_are_compared_by_their_own_and_joined_by_kind(tmp_path: Path) -> None:
    told = {("flow", "clips"): scores(1), ("lexicon", "clips"): scores(2), ("flow", "photos"): scores(3, ELSE)}
    one = record(
        tmp_path / "one",
        {"flow": told["flow", "clips"], "lexicon": told["lexicon", "clips"], "baseline.empty.v1": scores(9)},
        cases=CASES,
    )
    two = record(tmp_path / "two", {"flow": told["flow", "photos"]}, cases=OTHER, data="photos")
    found = compare_r2([one, two])
    assert [one.name for one in found.sets] == ["clips", "photos"]
    assert any("clips, photos have no case in common" in note for note in found.notes)
    pairs = {number.model for number in found.numbers if number.measure == "difference"}
    assert all(pair.startswith("clips: ") for pair in pairs)
    assert [(row[0], row[1]) for row in found.tables["sets"].rows if row[2] == "J"] == [
        ("clips", "flow"),
        ("clips", "lexicon"),
        ("clips", "baseline.empty.v1"),
        ("photos", "flow"),
    ]
    means = {
        kind: [
            np.mean(
                [by[f"{kind}_{level}"][name] - by["clean"][name] for level in ("low", "high") for name in by["clean"]]
            )
            for by in told.values()
        ]
        for kind in KINDS
    }
    for kind in KINDS:
        every = number(found, "apc", "all data sets", f"vision.{kind}.v1", metric="J&F")
        assert every.value == pytest.approx(np.mean(means[kind]))
        assert every.ends is not None
        assert every.counts is not None
        assert every.ends[0] < (every.value or 0) < every.ends[1]
        assert every.counts.n == 8 + 8 + 5


def test_the_pearson_matrix_is_numpys_over_models_and_data_sets(tmp_path: Path) -> None:
    told = [(scores(1), NAMES), (scores(2), NAMES), (scores(3, ELSE), ELSE), (scores(4, ELSE), ELSE)]
    paths = [
        record(
            tmp_path / "one",
            {"flow": told[0][0], "lexicon": told[1][0], "baseline.empty.v1": scores(9)},
            cases=CASES,
            task="ris",
            asked=RIS,
        ),
        record(
            tmp_path / "two", {"flow": told[2][0], "other": told[3][0]}, cases=OTHER, task="ris", asked=RIS, data="p"
        ),
    ]
    found = compare_r2(paths)
    vectors = [
        [
            np.mean([by[f"{kind}_{level}"][name] for level in ("low", "high")]) - by["clean"][name]
            for by, names in told
            for name in names
        ]
        for kind in KINDS
    ]
    expected = np.corrcoef(vectors)
    for row, first in enumerate(KINDS):
        for column, second in enumerate(KINDS[row + 1 :], start=row + 1):
            metric = found.summary.metrics[f"pearson/vision/{first}/{second}"]
            assert metric["value"] == pytest.approx(expected[row, column], abs=1e-6)
            assert metric["n"] == 2 * (8 + 5)
    table = found.tables["correlation_vision"]
    order = [KINDS.index(name) for name in table.header[1:]]
    assert [row[1:] for row in table.rows] == [
        tuple(f"{expected[one, other]:+.2f}" for other in order) for one in order
    ]
    assert (table.title, "of:changes" in table.note) == (
        "Correlation of changes, kinds of pictures, all data sets",
        True,
    )
    beside = found.tables["correlation_vision_performance"]
    assert (beside.title, "of:performance" in beside.note) == (
        "Correlation of performance, kinds of pictures, all data sets",
        True,
    )
    assert "of:performance" in found.summary.metrics[f"pearson/vision_performance/{KINDS[0]}/{KINDS[1]}"]["signature"]


RIS = conditions("low", "high", task="ris")


def clean(folder: Path, model: str, **fields: Any) -> Path:
    """A record of a model that was asked about clean input only; its folder bears the model's name."""
    told = {model: {"clean": scores(len(model))["clean"]}}
    return record(folder / model, told, cases=CASES, asked=conditions()[:1], **fields)


def test_records_scored_by_other_rules_are_not_put_together(tmp_path: Path) -> None:
    found = compare_r2([clean(tmp_path, "one"), clean(tmp_path, "two", frames="davis2017")])
    assert [one.name for one in found.sets] == ["clips (one)", "clips (two)"]
    assert any("8 cases in common but score them differently" in note for note in found.notes)


def test_an_unfinished_record_is_compared_and_named(tmp_path: Path) -> None:
    found = compare_r2([clean(tmp_path, "one"), clean(tmp_path, "two", finished=False)])
    assert found.notes == ("two is unfinished: what has no score yet is left out; run it again to go on.",)
    assert [row[-1] for row in found.tables["records"].rows] == ["yes", "no"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two records of clean input; nothing writes to them."""
    folder = tmp_path_factory.mktemp("sound")
    return [clean(folder, "a"), clean(folder, "b")]


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("scores.jsonl", "{broken\n", "not a JSON object"),
        ("scores.jsonl", '{"key": "k", "metric": "J", "outcome": "scored", "value": "much"}\n', "the line is no score"),
        ("scores.jsonl", '{"metric": "J", "outcome": "undefined"}\n', "the line is no score"),
        ("cases.jsonl", '{"id": 3}\n', "the line is no case"),
        ("cases.jsonl", '{"id": "v0/0", "clip": "v0", "split": "", "digest": "d"}\n', "the line is no case"),
        ("requests.jsonl", "{broken\n", "not a JSON object"),
        ("requests.jsonl", '{"command": 1, "model": 2}\n', "the list of what was asked is damaged"),
    ],
    ids=["no_json", "no_number", "no_key", "no_text", "twice", "no_list", "cut"],
)
def test_a_damaged_record_is_left_out_and_named(
    sound: list[Path], tmp_path: Path, name: str, damage: str, told: str
) -> None:
    broken = shutil.copytree(sound[0], tmp_path / "c")
    whole = (broken / name).read_text(encoding="utf-8")
    text = whole + damage + whole if name.endswith("l") else whole[:20] + damage
    (broken / name).write_text(text, encoding="utf-8")
    found = compare_r2([*sound, broken])
    assert found.sets[0].grid.models == ("a", "b")
    assert found.notes[0].startswith("c is left out: ")
    assert told in found.notes[0]
    with pytest.raises(RecordError, match=told):
        compare_r2([sound[0], broken])


def test_records_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    one = clean(tmp_path, "one")
    other = record(tmp_path / "ris", {"flow": scores(1)}, cases=CASES, task="ris", asked=RIS)
    empty = record(tmp_path / "empty", {"flow": {}}, cases=CASES)
    (tmp_path / "no").mkdir()
    (tmp_path / "link").symlink_to(one)
    for folders, told in (
        ([one, other], "one of rvos, ris of ris"),
        ([one], "1 record is nothing to compare"),
        ([one, tmp_path / "link"], "given twice"),
        ([one, tmp_path / "no"], "no manifest.json"),
        ([one, tmp_path / "none"], "no such folder"),
        ([one, empty], "holds no score"),
    ):
        with pytest.raises(UsageError, match=told):
            compare_r2(folders)
