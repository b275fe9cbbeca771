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
NAMES = tuple(case_.id for case_ in CASES)


def scores(seed: int, names: tuple[str, ...] = NAMES) -> dict[str, dict[str, float]]:
    """Random scores under every condition; every clip has its own difficulty."""
    rng = np.random.default_rng(seed)
    names_of_conditions = [condition.name for condition in conditions("low", "high")]
    return {
        name: {name_: float(value) for name_, value in zip(names, rng.uniform(0.2, 1, len(names)), strict=True)}
        for name in names_of_conditions
    }


def number(
    comparison: SuiteComparison, measure: str, model: str, group: str, level: str = "", metric: str = "J"
) -> Number:
    place = (measure, model, group, level, metric)
    (number_,) = [
        number_
        for number_ in comparison.numbers
        if (number_.measure, number_.model, number_.group, number_.level, number_.metric) == place
    ]
    return number_


def plain(comparison: SuiteComparison) -> dict[tuple[str, ...], object]:
    """Numbers that a single run has too, with their intervals and counts."""
    keys = ("measure", "model", "metric", "group", "level", "part", "split")
    return {
        tuple(getattr(number_, key) for key in keys): (number_.value, number_.ends, number_.counts)
        for number_ in comparison.numbers
    }


def test_two_records_of_the_same_cases_are_as_one_run_of_both_models(tmp_path: Path) -> None:
    first, second = scores(1), scores(2)
    first_record = record(tmp_path / "one", {"flow": first}, cases=CASES)
    second_record = record(tmp_path / "two", {"lexicon": second}, cases=CASES)
    both_record = record(tmp_path / "both", {"flow": first, "lexicon": second}, cases=CASES)
    separate, joint = compare_r2([first_record, second_record]), compare_r2([both_record, first_record])
    assert len(separate.sets) == 1
    assert separate.notes == ()
    assert plain(separate) == plain(joint)
    expected = np.mean([second["clean"][name] - first["clean"][name] for name in NAMES])
    gap = number(separate, "difference", "flow - lexicon", "clean", "clean")
    assert gap.value == pytest.approx(-expected)
    assert gap.counts is not None
    assert (gap.counts.n, gap.counts.failed) == (8, 0)
    mean_change = {
        name: np.mean(
            [
                model_scores[f"fog_{level}"][name_] - model_scores["clean"][name_]
                for name_ in NAMES
                for level in ("low", "high")
            ]
        )
        for name, model_scores in (("flow", first), ("lexicon", second))
    }
    fog = number(separate, "apc_difference", "flow - lexicon", "vision.fog.v1")
    assert fog.value == pytest.approx(mean_change["flow"] - mean_change["lexicon"])
    assert fog.ends is not None
    assert fog.ends[0] <= mean_change["flow"] - mean_change["lexicon"] <= fog.ends[1]
    assert {"general_mix", "differences", "ranking", "kinds", "correlation_vision", "means_kinds", "records"} <= set(
        separate.tables
    )


def test_the_order_of_the_records_names_pairs_and_changes_no_value(tmp_path: Path) -> None:
    first_record = record(tmp_path / "one", {"flow": scores(1)}, cases=CASES)
    second_record = record(tmp_path / "two", {"lexicon": scores(2)}, cases=CASES)
    forth, backward = compare_r2([first_record, second_record]), compare_r2([second_record, first_record])
    assert number(forth, "apc", "flow", "mix") == number(backward, "apc", "flow", "mix")
    gap, other = (
        number(forth, "apc_difference", "flow - lexicon", "mix"),
        number(backward, "apc_difference", "lexicon - flow", "mix"),
    )
    assert gap.value == pytest.approx(-(other.value or 0))
    assert gap.ends == pytest.approx(tuple(-end for end in (other.ends or ()))[::-1])


def test_a_model_is_one_by_name_and_revision_else_bears_its_folder(tmp_path: Path) -> None:
    clean_scores, conditions_ = {"clean": scores(1)["clean"]}, conditions()[:1]
    first_record = record(tmp_path / "one", {"flow": clean_scores}, cases=CASES, asked_conditions=conditions_)
    same_record = record(
        tmp_path / "same", {"flow": clean_scores, "lexicon": clean_scores}, cases=CASES, asked_conditions=conditions_
    )
    changed_record = record(
        tmp_path / "changed", {"flow": clean_scores}, cases=CASES, asked_conditions=conditions_, revision="r2"
    )
    other_seed = record(tmp_path / "seed", {"flow": clean_scores}, cases=CASES, asked_conditions=conditions_, seed=8)
    assert compare_r2([first_record, same_record]).sets[0].grid.models == ("flow", "lexicon")
    assert compare_r2([first_record, changed_record]).sets[0].grid.models == ("flow (one)", "flow (changed)")
    seeds_compared = compare_r2([first_record, other_seed])
    assert seeds_compared.sets[0].grid.models == ("flow (one)", "flow (seed)")
    assert any("different seeds (7, 8)" in note for note in seeds_compared.notes)


def test_scores_that_records_give_differently_are_counted(tmp_path: Path) -> None:
    all_scores = scores(1)
    other = {**all_scores, "clean": {**all_scores["clean"], NAMES[0]: 0.15}}
    first_record = record(tmp_path / "one", {"flow": all_scores}, cases=CASES)
    second_record = record(tmp_path / "two", {"flow": other}, cases=CASES)
    comparison = compare_r2([first_record, second_record])
    assert comparison.sets[0].differing == 2  # J and F
    assert number(comparison, "level", "flow", "clean", "clean").value == pytest.approx(
        np.mean(list(all_scores["clean"].values()))
    )
    assert any("2 scores of one model" in note for note in comparison.notes)


def test_only_common_cases_are_compared(tmp_path: Path) -> None:
    changed_case = case(NAMES[2], content="another picture")
    own_cases = (*CASES[:2], changed_case, *CASES[3:6])
    first, second = scores(1), scores(2)
    first_record = record(tmp_path / "one", {"flow": first}, cases=CASES)
    second_record = record(tmp_path / "two", {"lexicon": second}, cases=own_cases)
    comparison = compare_r2([first_record, second_record])
    common = [*NAMES[:2], *NAMES[3:6]]
    gap = number(comparison, "difference", "flow - lexicon", "clean", "clean")
    assert list(comparison.sets[0].grid.cases) == common
    assert gap.value == pytest.approx(np.mean([first["clean"][name] - second["clean"][name] for name in common]))
    assert [note for note in comparison.notes if "cases are left out" in note] == [
        "one: 3 of 8 cases are left out: not in all of clips.",
        "two: 1 of 6 cases are left out: not in all of clips.",
    ]


def test_only_common_strengths_enter_an_average(tmp_path: Path) -> None:
    first = scores(1)
    second = {name: values for name, values in scores(2).items() if name != "fog_high"}
    first_record = record(tmp_path / "one", {"flow": first}, cases=CASES)
    second_record = record(tmp_path / "two", {"lexicon": second}, cases=CASES)
    comparison = compare_r2([first_record, second_record])
    change = number(comparison, "apc", "flow", "vision.fog.v1").value
    assert change == pytest.approx(np.mean([first["fog_low"][name] - first["clean"][name] for name in NAMES]))
    assert "Not every model was asked under these, so they are left out: fog high." in comparison.notes


def test_a_failed_question_is_in_no_mean_and_counted(tmp_path: Path) -> None:
    first, second = scores(1), scores(2)
    del second["mix_low"][NAMES[0]]
    second["mix_high"][NAMES[1]] = None  # type: ignore[assignment]
    first_record = record(tmp_path / "one", {"flow": first}, cases=CASES)
    second_record = record(tmp_path / "two", {"lexicon": second}, cases=CASES)
    comparison = compare_r2([first_record, second_record])
    gap = number(comparison, "apc_difference", "flow - lexicon", "mix")
    common_names = NAMES[2:]
    mean_changes = [
        np.mean(
            [
                model_scores[f"mix_{level}"][name] - model_scores["clean"][name]
                for level in ("low", "high")
                for name in common_names
            ]
        )
        for model_scores in (first, second)
    ]
    assert gap.value == pytest.approx(mean_changes[0] - mean_changes[1])
    assert gap.counts is not None
    assert (gap.counts.n, gap.counts.failed, gap.counts.undefined) == (6, 1, 1)
    total = 2 * 9 * len(NAMES)
    assert (comparison.summary.n, comparison.summary.ok, comparison.summary.failed, comparison.summary.undefined) == (
        total,
        total - 2,
        1,
        1,
    )
    row = next(row for row in comparison.tables["records"].rows if row[0] == "two")
    assert row[5:8] == (str(total // 2), "1", "1")
    lexicon_row = next(row for row in comparison.tables["general_mix"].rows if row[:2] == ("lexicon", "J"))
    assert lexicon_row[-1] == "6 (1 failed, 1 undefined)"


def test_a_model_that_fails_everywhere_under_a_condition_is_counted(tmp_path: Path) -> None:
    first, second = scores(1), scores(2)
    second["mix_high"] = {}
    errors = [{"id": name, "stage": "predict", "error": "lexicon, mix_high: the model stopped"} for name in NAMES]
    first_record = record(tmp_path / "one", {"flow": first}, cases=CASES)
    second_record = record(
        tmp_path / "two", {"lexicon": second}, cases=CASES, errors=[{"id": "x", "error": "y"}, *errors]
    )
    comparison = compare_r2([first_record, second_record])
    level = number(comparison, "level", "lexicon", "mix", "high")
    assert level.value is None
    assert level.counts is not None
    assert (level.counts.n, level.counts.failed) == (0, 8)
    assert comparison.summary.failed == 8
    assert number(comparison, "level", "flow", "mix", "high").value == pytest.approx(
        np.mean(list(first["mix_high"].values()))
    )


def test_cases_of_another_truth_are_other_cases(tmp_path: Path) -> None:
    first_record, second_record = (
        record(
            tmp_path / model,
            {model: {"clean": scores(1)["clean"]}},
            cases=[case(name, truth=truth if name == NAMES[0] else "same") for name in NAMES],
            asked_conditions=conditions()[:1],
        )
        for model, truth in (("flow", "before"), ("lexicon", "after"))
    )
    assert tuple(compare_r2([first_record, second_record]).sets[0].grid.cases) == NAMES[1:]


def test_an_overall_iou_is_of_the_pixels_of_both_records(tmp_path: Path) -> None:
    first_record, second_record = (
        record(tmp_path / model, {model: scores(seed)}, cases=CASES, task="ris", asked_conditions=RIS)
        for seed, model in enumerate(("flow", "lexicon"))
    )
    assert (
        number(compare_r2([first_record, second_record]), "level", "lexicon", "clean", "clean", metric="oIoU").value
        == 0.5
    )


OTHER = tuple(case(f"w{clip}/0") for clip in range(5))
ELSE = tuple(case_.id for case_ in OTHER)


def test_other_data_sets_are_compared_by_their_own_and_joined_by_kind(tmp_path: Path) -> None:
    scores_of = {("flow", "clips"): scores(1), ("lexicon", "clips"): scores(2), ("flow", "photos"): scores(3, ELSE)}
    first_record = record(
        tmp_path / "one",
        {"flow": scores_of["flow", "clips"], "lexicon": scores_of["lexicon", "clips"], "baseline.empty.v1": scores(9)},
        cases=CASES,
    )
    second_record = record(tmp_path / "two", {"flow": scores_of["flow", "photos"]}, cases=OTHER, data="photos")
    comparison = compare_r2([first_record, second_record])
    assert [data_set.name for data_set in comparison.sets] == ["clips", "photos"]
    assert any("clips, photos have no case in common" in note for note in comparison.notes)
    pairs = {number.model for number in comparison.numbers if number.measure == "difference"}
    assert all(pair.startswith("clips: ") for pair in pairs)
    assert [(row[0], row[1]) for row in comparison.tables["sets"].rows if row[2] == "J"] == [
        ("clips", "flow"),
        ("clips", "lexicon"),
        ("clips", "baseline.empty.v1"),
        ("photos", "flow"),
    ]
    means = {
        kind: [
            np.mean(
                [
                    model_scores[f"{kind}_{level}"][name] - model_scores["clean"][name]
                    for level in ("low", "high")
                    for name in model_scores["clean"]
                ]
            )
            for model_scores in scores_of.values()
        ]
        for kind in KINDS
    }
    for kind in KINDS:
        number_ = number(comparison, "apc", "all data sets", f"vision.{kind}.v1", metric="J&F")
        assert number_.value == pytest.approx(np.mean(means[kind]))
        assert number_.ends is not None
        assert number_.counts is not None
        assert number_.ends[0] < (number_.value or 0) < number_.ends[1]
        assert number_.counts.n == 8 + 8 + 5


def test_the_pearson_matrix_is_numpys_over_models_and_data_sets(tmp_path: Path) -> None:
    scores_and_names = [(scores(1), NAMES), (scores(2), NAMES), (scores(3, ELSE), ELSE), (scores(4, ELSE), ELSE)]
    paths = [
        record(
            tmp_path / "one",
            {"flow": scores_and_names[0][0], "lexicon": scores_and_names[1][0], "baseline.empty.v1": scores(9)},
            cases=CASES,
            task="ris",
            asked_conditions=RIS,
        ),
        record(
            tmp_path / "two",
            {"flow": scores_and_names[2][0], "other": scores_and_names[3][0]},
            cases=OTHER,
            task="ris",
            asked_conditions=RIS,
            data="p",
        ),
    ]
    comparison = compare_r2(paths)
    vectors = [
        [
            np.mean([model_scores[f"{kind}_{level}"][name] for level in ("low", "high")]) - model_scores["clean"][name]
            for model_scores, names in scores_and_names
            for name in names
        ]
        for kind in KINDS
    ]
    expected = np.corrcoef(vectors)
    for row, first in enumerate(KINDS):
        for column, second in enumerate(KINDS[row + 1 :], start=row + 1):
            metric = comparison.summary.metrics[f"pearson/vision/{first}/{second}"]
            assert metric["value"] == pytest.approx(expected[row, column], abs=1e-6)
            assert metric["n"] == 2 * (8 + 5)
    table = comparison.tables["correlation_vision"]
    order = [KINDS.index(name) for name in table.header[1:]]
    assert [row[1:] for row in table.rows] == [
        tuple(f"{expected[row_kind, other]:+.2f}" for other in order) for row_kind in order
    ]
    assert (table.title, "of:changes" in table.note) == (
        "Correlation of changes, kinds of pictures, all data sets",
        True,
    )
    beside = comparison.tables["correlation_vision_performance"]
    assert (beside.title, "of:performance" in beside.note) == (
        "Correlation of performance, kinds of pictures, all data sets",
        True,
    )
    assert (
        "of:performance" in comparison.summary.metrics[f"pearson/vision_performance/{KINDS[0]}/{KINDS[1]}"]["signature"]
    )


RIS = conditions("low", "high", task="ris")


def clean(folder: Path, model: str, **fields: Any) -> Path:
    """A record of a model that was asked about clean input only; its folder bears the model's name."""
    scores_of = {model: {"clean": scores(len(model))["clean"]}}
    return record(folder / model, scores_of, cases=CASES, asked_conditions=conditions()[:1], **fields)


def test_records_scored_by_other_rules_are_not_put_together(tmp_path: Path) -> None:
    comparison = compare_r2([clean(tmp_path, "one"), clean(tmp_path, "two", frames="davis2017")])
    assert [data_set.name for data_set in comparison.sets] == ["clips (one)", "clips (two)"]
    assert any("8 cases in common but score them differently" in note for note in comparison.notes)


def test_an_unfinished_record_is_compared_and_named(tmp_path: Path) -> None:
    comparison = compare_r2([clean(tmp_path, "one"), clean(tmp_path, "two", is_finished=False)])
    assert comparison.notes == ("two is unfinished: what has no score yet is left out; run it again to go on.",)
    assert [row[-1] for row in comparison.tables["records"].rows] == ["yes", "no"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two records of clean input; nothing writes to them."""
    folder = tmp_path_factory.mktemp("sound")
    return [clean(folder, "a"), clean(folder, "b")]


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("scores.jsonl", "{broken\n", "not a JSON object"),
        ("scores.jsonl", '{"key": "k", "metric": "J", "outcome": "scored", "value": "much"}\n', "the line is no score"),
        ("scores.jsonl", '{"key": "k", "metric": "J", "outcome": "scored", "value": 1.5, "signature": {}}\n', "1.5"),
        ("scores.jsonl", '{"key": "k", "metric": "J", "outcome": "scored", "value": 0.5}\n', "'signature' is missing"),
        ("scores.jsonl", '{"key": "k", "metric": "J", "outcome": "undefined", "both_px": 3}\n', "either_px is missing"),
        ("scores.jsonl", '{"key": "k", "metric": "J", "outcome": "undefined", "classes": {"1": [1]}}\n', "'classes.1"),
        ("scores.jsonl", '{"metric": "J", "outcome": "undefined"}\n', "the line is no score: 'key' is missing"),
        ("cases.jsonl", '{"id": 3}\n', "the line is no case: "),
        ("cases.jsonl", '{"id": "v0/0", "clip": "v0", "split": "", "digest": "d"}\n', "the line is no case: v0/0 "),
        ("requests.jsonl", "{broken\n", "not a JSON object"),
        ("requests.jsonl", '{"command": 1, "model": 2}\n', "the list of what was asked is damaged"),
    ],
    ids=["no_json", "no_number", "high", "unsigned", "half", "no_sums", "no_key", "no_text", "twice", "no_list", "cut"],
)
def test_a_damaged_record_is_left_out_and_named(
    sound: list[Path], tmp_path: Path, name: str, damage: str, message: str
) -> None:
    broken = shutil.copytree(sound[0], tmp_path / "c")
    file_text = (broken / name).read_text(encoding="utf-8")
    text = file_text + damage + file_text if name.endswith("l") else file_text[:20] + damage
    (broken / name).write_text(text, encoding="utf-8")
    comparison = compare_r2([*sound, broken])
    assert comparison.sets[0].grid.models == ("a", "b")
    assert comparison.notes[0].startswith("c is left out: ")
    assert message in comparison.notes[0]
    with pytest.raises(RecordError, match=message):
        compare_r2([sound[0], broken])


def test_records_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    first_record = clean(tmp_path, "one")
    other = record(tmp_path / "ris", {"flow": scores(1)}, cases=CASES, task="ris", asked_conditions=RIS)
    empty = record(tmp_path / "empty", {"flow": {}}, cases=CASES)
    (tmp_path / "no").mkdir()
    (tmp_path / "link").symlink_to(first_record)
    for folders, message in (
        ([first_record, other], "one of rvos, ris of ris"),
        ([first_record], "1 record is nothing to compare"),
        ([first_record, tmp_path / "link"], "given twice"),
        ([first_record, tmp_path / "no"], "no manifest.json"),
        ([first_record, tmp_path / "none"], "no such folder"),
        ([first_record, empty], "holds no score"),
    ):
        with pytest.raises(UsageError, match=message):
            compare_r2(folders)
