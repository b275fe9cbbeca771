"""What a comparison says beside its numbers: which model, which strengths, who has no score."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from r2_records import NO_ANSWER, case, compare_r2, conditions, record

from auscult.errors import RecordError
from auscult.suites.core.conditions import Condition
from auscult.suites.core.records import read_record
from auscult.suites.core.requests import key_of
from auscult.suites.core.results import failed_row
from auscult.suites.r2 import SUITE

CASES = tuple(case(f"v{clip}/0") for clip in range(4))
NAMES = tuple(case_.id for case_ in CASES)
ASKED = conditions("low", "high")


def random_scores(
    seed: int, *, conditions_without: tuple[str, ...] = (), names: tuple[str, ...] = NAMES
) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {
        condition_.name: {name: float(rng.uniform(0.2, 1)) for name in names}
        for condition_ in ASKED
        if condition_.name not in conditions_without
    }


def test_a_number_behind_a_name_makes_no_other_model(tmp_path: Path) -> None:
    first_record = record(tmp_path / "one", {"my": random_scores(1)}, cases=CASES, revision="a")
    second_record = record(
        tmp_path / "two", {"my~2": random_scores(1), "other": random_scores(2)}, cases=CASES, revision="a"
    )
    third_record = record(tmp_path / "three", {"my~2": random_scores(3)}, cases=CASES, revision="b")
    assert compare_r2([first_record, second_record]).sets[0].grid.models == ("my", "other")
    assert set(compare_r2([first_record, third_record]).sets[0].grid.models) == {"my (one)", "my~2 (three)"}


def test_a_mean_by_kind_names_its_strengths(tmp_path: Path) -> None:
    first_record = record(tmp_path / "one", {"m": random_scores(1, conditions_without=("snow_low",))}, cases=CASES)
    second_record = record(tmp_path / "two", {"n": random_scores(2, conditions_without=("snow_low",))}, cases=CASES)
    comparison = compare_r2([first_record, second_record])
    rows = {row[0]: row[1] for row in comparison.tables["means_kinds"].rows}
    assert rows["snow"].endswith("(high only)")
    assert not rows["fog"].endswith("only)")
    assert comparison.tables["means_kinds"].note.startswith("Mean over low, high.")
    assert "Each is the mean over low, high (fog, gaussian_noise); high (snow)." in (
        comparison.tables["correlation_vision"].note
    )
    mean = compare_r2([first_record, second_record]).summary.metrics
    assert "|levels:high|" in mean["mean/vision.snow.v1/apc/J&F"]["signature"]
    assert "|levels:low,high|" in mean["mean/vision.fog.v1/apc/J&F"]["signature"]
    assert "Asked at low, high." in comparison.tables["breaking"].note


def test_who_has_no_score_is_named_and_the_others_are_ranked(tmp_path: Path) -> None:
    first_record = record(
        tmp_path / "one", {"good": random_scores(1), "bad": {condition_.name: {} for condition_ in ASKED}}, cases=CASES
    )
    second_record = record(tmp_path / "two", {"fair": random_scores(2)}, cases=CASES)
    comparison = compare_r2([first_record, second_record])
    assert {row[2] for row in comparison.tables["ranking"].rows} == {"good", "fair"}
    assert "clips: bad has not one score." in comparison.notes
    assert any(note.startswith("Left out of the ranking by clean J&F") for note in comparison.notes)


def test_columns_of_other_cases_say_so(tmp_path: Path) -> None:
    partly = {
        name: dict(list(values_of.items())[: 4 if name == "clean" else 3])
        for name, values_of in random_scores(1).items()
    }
    first_record = record(tmp_path / "one", {"m": partly}, cases=CASES, data="photos")
    cases = tuple(case(f"w{clip}/0") for clip in range(4))
    second_record = record(
        tmp_path / "two", {"m": random_scores(2, names=tuple(case_.id for case_ in cases))}, cases=cases, data="clips"
    )
    rows = {(row[0], row[2]): row[-1] for row in compare_r2([first_record, second_record]).tables["sets"].rows}
    assert rows["photos", "J"] == "4 of 4, 3 of 4"
    assert rows["clips", "J"] == "4 of 4"


def test_a_record_of_this_version_tells_what_was_never_asked(tmp_path: Path) -> None:
    first_record = record(tmp_path / "one", {"m": {**random_scores(1), "mix_high": {}}}, cases=CASES, is_finished=False)
    high: Condition = next(condition_ for condition_ in ASKED if condition_.name == "mix_high")
    vain = key_of(CASES[0], high, model="m", revision="r1", seed=7)
    row = failed_row(vain, ("m", "mix_high", CASES[0].id), NO_ANSWER, stage="predict")
    with (first_record / "scores.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    grid = read_record(first_record, SUITE).grid
    assert grid.waiting == {("m", "mix_high"): frozenset(NAMES[1:])}
    assert not grid.is_complete("m", "mix_high")
    second_record = record(tmp_path / "two", {"n": random_scores(2)}, cases=CASES)
    assert any("what has no score yet is left out" in note for note in compare_r2([first_record, second_record]).notes)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "NaN", "-1", "true"])
def test_no_number_of_a_stranger_breaks_it(tmp_path: Path, value: str) -> None:
    first_record = record(tmp_path / "one", {"m": random_scores(1)}, cases=CASES)
    file = first_record / "scores.jsonl"
    first, *others = file.read_text().splitlines()
    row = json.loads(first) | {"value": "HERE"}
    file.write_text("\n".join([json.dumps(row).replace('"HERE"', value), *others]) + "\n")
    with pytest.raises(RecordError):
        read_record(first_record, SUITE)
