"""Tables of models that were asked unlike things: every row says what it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from auscult.outcome import Undefined
from auscult.suites.core.compare import sets_table
from auscult.suites.core.data_sets import Overall
from auscult.suites.core.grid import grid_of
from auscult.suites.core.measures import numbers_of, rankings_of
from auscult.suites.core.numbers import GridView
from auscult.suites.core.page import SuiteResults
from auscult.suites.core.tables import Index, difference_table, dynamic_table, general_table, kinds_table, ranking_table
from auscult.suites.r2.cases import task_rules
from auscult.suites.r2.conditions import conditions_of

CASES = ("a", "b", "c", "d")
CLEAN = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.4}
LOSS = {"clean": 0.0, "low": 0.05, "2": 0.075, "medium": 0.1, "high": 0.2, "dynamic": 0.1}
RULES = task_rules("rvos")


def view(
    levels_of: Mapping[str, Sequence[str]],
    levels: Sequence[str] = ("low", "medium", "high"),
    *,
    failed: Sequence[tuple[str, str, str]] = (),
    soft: Sequence[str] = (),
) -> GridView:
    """Models asked clean and under the mix and fog at some levels; ``without`` (model, level, case) failed."""
    conditions = conditions_of(RULES, mixes=["mix"], kinds=["fog"], levels=levels)
    rows: list[dict[str, Any]] = []
    valid: dict[str, tuple[str, str, str]] = {}
    for model, model_levels in levels_of.items():
        for condition in conditions:
            for case in CASES:
                if condition.level not in {"clean", *model_levels} or (model, condition.level, case) in failed:
                    continue
                key = f"{model}/{condition.name}/{case}"
                valid[key] = (model, condition.name, case)
                threshold = {"threshold": "0.5"} if model in soft else {}
                rows += [
                    {
                        "key": key,
                        "metric": metric,
                        "outcome": "scored",
                        "value": CLEAN[case] - LOSS[condition.level],
                        "signature": {"metric": metric, **threshold},
                    }
                    for metric in ("J", "F")
                ]
    places = {case: (case, "") for case in CASES}
    grid = grid_of(rows, task=RULES, valid=valid, cases=places, models=tuple(levels_of), conditions=conditions)
    return GridView(grid=grid, seed=0)


def general(columns: GridView) -> list[dict[str, str]]:
    """The rows of J, by column."""
    table = general_table(Index(numbers_of(columns), RULES), "mix", "all")
    return [dict(zip(table.header, row, strict=True)) for row in table.rows if row[1] == "J"]


FULL = ("low", "medium", "high")


def test_changes_over_other_levels_say_so() -> None:
    columns = view({"m": FULL, "n": ["high"], "o": ["low", "high"]})
    index = Index(numbers_of(columns), RULES)
    endings = {row["model"]: row["APC"].removeprefix(row["APC"].split()[0]) for row in general(columns)}
    assert endings == {"m": "", "n": " (high only)", "o": " (low, high only)"}
    table = kinds_table(index)
    assert table is not None
    assert [cell.removeprefix(cell.split()[0]) for cell in table.rows[0][1:4]] == [
        "",
        " (high only)",
        " (low, high only)",
    ]
    assert "Mean over low, medium, high" in table.note


def test_differences_and_ranks_name_the_levels_that_models_share() -> None:
    columns = view({"m": FULL, "n": ["high"], "o": FULL})
    table = difference_table(Index(numbers_of(columns), RULES))
    assert table is not None
    is_high_only = {row[0]: "(high only)" in row[2] for row in table.rows}
    assert is_high_only == {"m - n": True, "m - o": False, "n - o": True}
    assert all("only" not in row[1] for row in table.rows)
    ranking = ranking_table(rankings_of({"": columns}, "J"))
    assert ranking is not None
    assert {row[0] for row in ranking.rows} == {"clean J", "least J lost, a kind drawn for each case (high only)"}
    equal_ranking = ranking_table(rankings_of({"": view({"m": FULL, "n": FULL})}, "J"))
    assert equal_ranking is not None
    assert not [row for row in equal_ranking.rows if "only" in row[0]]


def test_dynamic_is_not_held_against_other_strengths() -> None:
    levels = ("low", "medium", "high", "dynamic")
    columns = view({"m": ["high", "dynamic"], "n": levels}, levels)
    numbers = numbers_of(columns)
    gaps = {number.model: number.outcome for number in numbers if number.measure == "dynamic_gap"}
    assert gaps["m"] == Undefined("low, medium and high are needed")
    assert not isinstance(gaps["n"], Undefined)
    table = dynamic_table(Index(numbers, RULES))
    assert table is not None
    assert {row[0] for row in table.rows} == {"n"}
    alone = Index(numbers_of(view({"m": ["high", "dynamic"]}, levels)), RULES)
    assert dynamic_table(alone) is None
    assert alone.of("dynamic_gap") == ()


def test_a_row_is_of_the_same_cases() -> None:
    columns = view({"m": FULL}, failed=[("m", "high", "d"), ("m", "low", "c")])
    (row,) = general(columns)
    assert (row["clean"], row["low"], row["medium"], row["high"]) == ("85.0", "80.0", "75.0", "65.0")
    assert row["APC"] == "-11.7"
    assert row["cases"] == "2 (2 failed)"
    clean = next(
        number_
        for number_ in numbers_of(columns)
        if (number_.measure, number_.metric, number_.level) == ("level", "J", "clean")
    )
    assert clean.value == pytest.approx(0.7)  # of all its cases, as in cells.json


def test_a_row_without_a_common_case_keeps_its_levels() -> None:
    columns = view({"m": FULL}, failed=[("m", "high", "a"), ("m", "high", "b"), ("m", "low", "c"), ("m", "low", "d")])
    (row,) = general(columns)
    assert (row["clean"], row["low"], row["high"], row["APC"]) == ("70.0", "80.0", "35.0", "n/a")
    assert "each level is of its own cases" in general_table(Index(numbers_of(columns), RULES), "mix", "all").note


def test_levels_stand_in_the_order_of_strength() -> None:
    columns = view({"m": ["high", "2", "low"]}, ("high", "2", "low"), failed=[("m", "2", "d")])
    (row,) = general(columns)
    assert list(row)[2:6] == ["clean", "low", "2", "high"]
    assert (row["clean"], row["2"], row["cases"]) == ("70.0", "72.5", "4")  # 2 enters no average
    assert "other strengths" in general_table(Index(numbers_of(columns), RULES), "mix", "all").note


def test_models_that_met_no_perturbation_are_in_no_general_table() -> None:
    assert [row["model"] for row in general(view({"baseline.empty.v1": [], "m": FULL}))] == ["m"]
    assert [row["model"] for row in general(view({"baseline.empty.v1": []}))] == ["baseline.empty.v1"]


@pytest.mark.parametrize("soft", ["m", "n"])
def test_a_difference_tells_the_threshold_of_either(soft: str) -> None:
    numbers = numbers_of(view({"m": FULL, "n": FULL}, soft=[soft]))
    for measure in ("difference", "apc_difference"):
        signatures = [number.signature_text() for number in numbers if number.measure == measure]
        assert signatures
        assert all("score_threshold:0.5" in signature.replace("=", ":") for signature in signatures), signatures[0]


def test_a_score_on_a_scale_of_its_own_is_no_percent() -> None:
    columns = view({"m": FULL, "n": FULL})
    rules = replace(RULES, ranges={"J": (1.0, 5.0)})
    numbers, grid = numbers_of(columns), replace(columns.grid, task=rules)
    results = cast("SuiteResults", SimpleNamespace(numbers=numbers, view=GridView(grid=grid, seed=0)))
    row_of = {row[2]: row for row in sets_table({"set": results}, Overall()).rows}
    shares, own = ([float(cell.split()[0]) for cell in row_of[metric][3:5]] for metric in ("F", "J"))
    assert own == pytest.approx([share / 100 for share in shares], abs=0.006)
    ranking = ranking_table(rankings_of({"": columns}, "J"), scale=rules.scale("J"))
    assert ranking is not None
    assert ranking.header[3] == "value"
    assert float(ranking.rows[0][3]) == own[0]
