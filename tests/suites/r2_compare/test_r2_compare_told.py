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
NAMES = tuple(one.id for one in CASES)
ASKED = conditions("low", "high")


def told(seed: int, *, without: tuple[str, ...] = (), names: tuple[str, ...] = NAMES) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {one.name: {name: float(rng.uniform(0.2, 1)) for name in names} for one in ASKED if one.name not in without}


def test_a_number_behind_a_name_makes_no_other_model(tmp_path: Path) -> None:
    one = record(tmp_path / "one", {"my": told(1)}, cases=CASES, revision="a")
    two = record(tmp_path / "two", {"my~2": told(1), "other": told(2)}, cases=CASES, revision="a")
    three = record(tmp_path / "three", {"my~2": told(3)}, cases=CASES, revision="b")
    assert compare_r2([one, two]).sets[0].grid.models == ("my", "other")
    assert set(compare_r2([one, three]).sets[0].grid.models) == {"my (one)", "my~2 (three)"}


def test_a_mean_by_kind_names_its_strengths(tmp_path: Path) -> None:
    one = record(tmp_path / "one", {"m": told(1, without=("snow_low",))}, cases=CASES)
    two = record(tmp_path / "two", {"n": told(2, without=("snow_low",))}, cases=CASES)
    found = compare_r2([one, two])
    rows = {row[0]: row[1] for row in found.tables["means_kinds"].rows}
    assert rows["snow"].endswith("(high only)")
    assert not rows["fog"].endswith("only)")
    assert found.tables["means_kinds"].note.startswith("Mean over low, high.")
    assert "Each is the mean over low, high (fog, gaussian_noise); high (snow)." in (
        found.tables["correlation_vision"].note
    )
    mean = compare_r2([one, two]).summary.metrics
    assert "|levels:high|" in mean["mean/vision.snow.v1/apc/J&F"]["signature"]
    assert "|levels:low,high|" in mean["mean/vision.fog.v1/apc/J&F"]["signature"]
    assert "Asked at low, high." in found.tables["breaking"].note


def test_who_has_no_score_is_named_and_the_others_are_ranked(tmp_path: Path) -> None:
    one = record(tmp_path / "one", {"good": told(1), "bad": {one.name: {} for one in ASKED}}, cases=CASES)
    two = record(tmp_path / "two", {"fair": told(2)}, cases=CASES)
    found = compare_r2([one, two])
    assert {row[2] for row in found.tables["ranking"].rows} == {"good", "fair"}
    assert "clips: bad has not one score." in found.notes
    assert any(note.startswith("Left out of the ranking by clean J&F") for note in found.notes)


def test_columns_of_other_cases_say_so(tmp_path: Path) -> None:
    partly = {name: dict(list(of.items())[: 4 if name == "clean" else 3]) for name, of in told(1).items()}
    one = record(tmp_path / "one", {"m": partly}, cases=CASES, data="photos")
    cases = tuple(case(f"w{clip}/0") for clip in range(4))
    two = record(tmp_path / "two", {"m": told(2, names=tuple(one.id for one in cases))}, cases=cases, data="clips")
    rows = {(row[0], row[2]): row[-1] for row in compare_r2([one, two]).tables["sets"].rows}
    assert rows["photos", "J"] == "4 of 4, 3 of 4"
    assert rows["clips", "J"] == "4 of 4"


def test_a_record_of_this_version_tells_what_was_never_asked(tmp_path: Path) -> None:
    home = record(tmp_path / "one", {"m": {**told(1), "mix_high": {}}}, cases=CASES, finished=False)
    high: Condition = next(one for one in ASKED if one.name == "mix_high")
    vain = key_of(CASES[0], high, model="m", revision="r1", seed=7)
    row = failed_row(vain, ("m", "mix_high", CASES[0].id), NO_ANSWER, stage="predict")
    with (home / "scores.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    grid = read_record(home, SUITE).grid
    assert grid.waiting == {("m", "mix_high"): frozenset(NAMES[1:])}
    assert not grid.is_complete("m", "mix_high")
    two = record(tmp_path / "two", {"n": told(2)}, cases=CASES)
    assert any("what has no score yet is left out" in note for note in compare_r2([home, two]).notes)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "NaN", "-1", "true"])
def test_no_number_of_a_stranger_breaks_it(tmp_path: Path, value: str) -> None:
    home = record(tmp_path / "one", {"m": told(1)}, cases=CASES)
    file = home / "scores.jsonl"
    first, *others = file.read_text().splitlines()
    row = json.loads(first) | {"value": "HERE"}
    file.write_text("\n".join([json.dumps(row).replace('"HERE"', value), *others]) + "\n")
    with pytest.raises(RecordError):
        read_record(home, SUITE)
