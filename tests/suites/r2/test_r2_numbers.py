"""From hand-made scores to numbers, against sums done by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import RecordError
from auscult.models.adapters import ModelSpec
from auscult.outcome import Undefined
from auscult.record.folder import open_run
from auscult.record.manifest import build as build_manifest
from auscult.suites.core.conditions import Condition
from auscult.suites.core.grid import Grid, grid_of
from auscult.suites.core.measures import numbers_of
from auscult.suites.core.numbers import GridView, Number
from auscult.suites.core.page import answers_of
from auscult.suites.core.requests import FILE, assign_unique_names, command_rows, load_log
from auscult.suites.r2.cases import task_rules
from auscult.suites.r2.conditions import conditions_of

CASES = ("a", "b", "c", "d", "e")
CLIPS = {"a": "one", "b": "one", "c": "two", "d": "three", "e": "four"}
CONDITIONS = conditions_of(
    task_rules("rvos"), mixes=["mix"], kinds=["fog"], levels=["low", "medium", "high", "2", "dynamic"]
)
LEVELS = {"clean": 0.0, "low": 1.0, "2": 2.0, "medium": 3.0, "high": 5.0, "dynamic": 2.5}
LOSS = {"m": 0.15, "n": 0.05}
FAILED = ("m", "mix_high", "c")
UNDEFINED = "e"


def score(model: str, condition: Condition, case: str, metric: str) -> float:
    """Falls by a model's own loss for each strength, from a start of each case's own."""
    start = 0.8 + 0.02 * CASES.index(case) - (0.1 if metric == "F" else 0.0)
    return start - LOSS[model] * LEVELS[condition.level]


def key(model: str, condition: str, case: str) -> str:
    return f"{model}/{condition}/{case}"


def score_row(model: str, condition: Condition, case: str, metric: str) -> dict[str, Any]:
    value = None if case == UNDEFINED else score(model, condition, case, metric)
    soft = {"threshold": "0.5"} if model == "n" else {}
    return {
        "id": case,
        "metric": metric,
        "value": value,
        "outcome": "undefined" if value is None else "scored",
        "reason": None,
        "signature": {"task": "rvos", "metric": metric, **soft, "version": "0"},
        "key": key(model, condition.name, case),
        "model": model,
        "condition": condition.name,
        "both_px": 3,
        "either_px": 4,
    }


ROWS = [
    score_row(model, condition, case, metric)
    for model in LOSS
    for condition in CONDITIONS
    for case in CASES
    for metric in ("J", "F")
    if (model, condition.name, case) != FAILED
]
VALID = {
    key(model, condition.name, case): (model, condition.name, case)
    for model in LOSS
    for condition in CONDITIONS
    for case in CASES
}


def grid(rows: list[dict[str, Any]] = ROWS, **options: Any) -> Grid:
    return grid_of(
        rows,
        task=task_rules("rvos"),
        valid=VALID,
        cases={case: (clip, "seen" if clip == "one" else "unseen") for case, clip in CLIPS.items()},
        models=tuple(LOSS),
        conditions=CONDITIONS,
        **options,
    )


@pytest.fixture(scope="module")
def numbers() -> tuple[Number, ...]:
    return numbers_of(GridView(grid=grid(), seed=0))


def number(numbers: tuple[Number, ...], **fields: str) -> Number:
    (number_,) = [
        number_ for number_ in numbers if all(getattr(number_, name) == value for name, value in fields.items())
    ]
    return number_


def mean(model: str, condition: Condition, metric: str, cases: str) -> float:
    return float(np.mean([score(model, condition, case, metric) for case in cases]))


def test_levels(numbers: tuple[Number, ...]) -> None:
    for model in LOSS:
        for condition in CONDITIONS:
            cases = "abd" if (model, condition.name) == FAILED[:2] else "abcd"
            fields = {"model": model, "group": condition.group, "level": condition.level, "measure": "level"}
            for metric in ("J", "F"):
                number_ = number(numbers, metric=metric, **fields)
                assert number_.value == pytest.approx(mean(model, condition, metric, cases))
                assert number_.counts is not None
                assert (number_.counts.n, number_.counts.failed, number_.counts.undefined) == (
                    len(cases),
                    4 - len(cases),
                    1,
                )
                assert number_.ends is not None
                assert number_.ends[0] <= (number_.value or 0) <= number_.ends[1]
            j_and_f = number(numbers, metric="J&F", **fields)
            assert j_and_f.value == pytest.approx(
                (mean(model, condition, "J", cases) + mean(model, condition, "F", cases)) / 2
            )


@pytest.mark.parametrize("group", ["mix", "vision.fog.v1"])
@pytest.mark.parametrize("model", list(LOSS))
def test_changes(numbers: tuple[Number, ...], model: str, group: str) -> None:
    """APC over low, medium and high, whatever else was measured; on the cases scored clean and at all three."""
    fields = {"model": model, "group": group, "metric": "J"}
    apc = number(numbers, measure="apc", **fields)
    change = -LOSS[model] * 3.0
    assert apc.value == pytest.approx(change)
    assert apc.counts is not None
    with_failure = (model, group) == ("m", "mix")
    assert (apc.counts.n, apc.counts.failed, apc.counts.undefined) == (3 if with_failure else 4, int(with_failure), 1)
    clean = mean(model, CONDITIONS[0], "J", "abd" if with_failure else "abcd")
    relative = number(numbers, measure="apc_relative", **fields)
    assert relative.value == pytest.approx(-change / clean)
    dynamic = number(numbers, measure="apc_dynamic", **fields)
    assert dynamic.value == pytest.approx(-LOSS[model] * 2.5)
    gap = number(numbers, measure="dynamic_gap", **fields)
    assert gap.value == pytest.approx(LOSS[model] * 0.5)
    breaking = number(numbers, measure="breaking", **fields)
    expected = clean / 2 / LOSS[model]
    assert breaking.value == (pytest.approx(expected) if expected <= 5 else None)


def test_differences(numbers: tuple[Number, ...]) -> None:
    difference = number(numbers, measure="apc_difference", model="m - n", metric="J", group="mix")
    assert difference.value == pytest.approx(-0.3)
    assert difference.counts is not None
    assert (difference.counts.n, difference.counts.failed) == (3, 1)
    high = number(numbers, measure="difference", model="m - n", metric="J", group="mix", level="high")
    assert high.value == pytest.approx(-0.5)
    assert high.counts is not None
    assert (high.counts.n, high.counts.failed, high.counts.undefined) == (3, 1, 1)


def test_splits() -> None:
    numbers_ = numbers_of(GridView(grid=grid(), seed=0, split="seen"))
    number_ = number(numbers_, measure="level", model="n", metric="J", group="clean")
    assert number_.value == pytest.approx(mean("n", CONDITIONS[0], "J", "ab"))
    assert number_.split == "seen"


def test_every_number_is_the_same_again_and_any_order_of_rows_will_do() -> None:
    first = numbers_of(GridView(grid=grid(), seed=3))
    second = numbers_of(GridView(grid=grid(list(reversed(ROWS))), seed=3))
    assert [(number_.value, number_.ends) for number_ in first] == [(number_.value, number_.ends) for number_ in second]


class TestGrid:
    def test_rows_of_another_state_are_passed_over(self) -> None:
        strange = {**ROWS[0], "key": "another", "value": 0.0}
        assert grid([*ROWS, strange]).cells == grid().cells

    def test_the_last_row_of_a_place_holds(self) -> None:
        row = ROWS[0]
        undefined = {**row, "value": None, "outcome": "undefined"}
        cell = grid([row, undefined]).cell("m", "clean", "J")
        assert (cell.values, cell.undefined) == ({}, {"a"})
        cell = grid([undefined, {**row, "value": 0.25}]).cell("m", "clean", "J")
        assert (cell.values, cell.undefined) == ({"a": 0.25}, set())

    def test_scores_of_another_truth_are_passed_over(self) -> None:
        rows = [{**ROWS[0], "truth": "old"}, {**ROWS[1], "truth": "new"}]
        grid_ = grid(rows, truths={"a": "new"})
        assert grid_.cell("m", "clean", "J").values == {}
        assert set(grid_.cell("m", "clean", "F").values) == {"a"}

    def test_order_and_groups(self) -> None:
        grid_ = grid()
        assert grid_.groups() == (("mix", "all"), ("vision.fog.v1", "all"))
        assert [condition_.level for condition_ in grid_.of_group("mix")] == ["low", "2", "medium", "high", "dynamic"]
        assert grid_.is_complete("m", "mix_low")
        assert not grid_.is_complete("m", "mix_4")
        assert grid_.splits["a"] == "seen"
        assert grid_.pixels["m", "clean"]["a"] == (3, 4)

    def test_a_condition_under_which_everything_failed_was_asked(self) -> None:
        rows = [row for row in ROWS if row["key"] in VALID and VALID[row["key"]][:2] != ("m", "mix_high")]
        assert not grid(rows).is_complete("m", "mix_high")
        grid_ = grid(rows, failed=[("m", "mix_high", case) for case in CASES])
        assert grid_.is_complete("m", "mix_high")
        apc = number(numbers_of(GridView(grid=grid_, seed=0)), measure="apc", model="m", metric="J", group="mix")
        assert apc.value is None
        assert apc.counts is not None
        assert (apc.counts.n, apc.counts.failed) == (0, 5)

    def test_signatures_are_each_models_own(self) -> None:
        grid_ = grid()
        assert "threshold" not in grid_.signature("m", "J")
        assert grid_.signature("n", "J")["threshold"] == "0.5"
        assert grid_.signature("n", "J&F")["metric"] == "mean of J and F"
        assert grid_.signature("m - n", "J")["metric"] == "J"
        assert grid_.signature("m", "nothing") == {}


def test_no_case_has_a_score() -> None:
    numbers_ = numbers_of(GridView(grid=grid([row for row in ROWS if row["id"] == UNDEFINED]), seed=0))
    for number_ in numbers_:
        assert isinstance(number_.outcome, Undefined)
        assert number_.value is None
    assert any(number_.measure == "level" for number_ in numbers_)


class TestAnswers:
    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "key": key("m", "clean", case),
                "counts": ["x"] * 4,
                "seconds": 0.4 * (1 + place),
                "preparing_s": 0.04,
                "overhead_s": 0.004,
                "threshold": 0.5,
            }
            for place, case in enumerate("abc")
        ]

    def test_counts_and_times(self) -> None:
        rows = [*self.rows(), self.rows()[0], {**self.rows()[0], "key": "another state"}]
        failed_keys = [("m", "clean", "d"), ("m", "clean", "c")]  # the second has an answer that cannot be scored
        answers = answers_of(rows, valid=VALID, models=("m", "n"), failed=failed_keys)["m"]
        assert (answers.requested, answers.answered, answers.failed, answers.frames) == (4, 3, 2, 12)
        assert answers.times_ms == pytest.approx((200.0, 10.0, 1.0))

    def test_a_model_without_answers(self) -> None:
        answers = answers_of(self.rows(), valid=VALID, models=("m", "n"), failed=[("n", "clean", "a")])["n"]
        assert (answers.requested, answers.answered, answers.failed, answers.times_ms) == (1, 0, 1, ())


def logged_names(
    folder: Path, models: Mapping[str, str], conditions: tuple[Condition, ...]
) -> tuple[list[str], list[str]]:
    specs = [
        ModelSpec(given=name, kind="registered", name=name, target=name, revision=revision)
        for name, revision in models.items()
    ]
    manifest = build_manifest("run r2", given={}, defaulted={}, seeds={}, inputs={})
    with open_run(folder, manifest, overwrite=False) as run:
        run.append_many(FILE, command_rows(load_log(folder), specs, conditions))
    log = load_log(folder)
    return [f"{name} {revision}" for name, revision in log.models.items()], [
        condition_.name for condition_ in log.conditions
    ]


def test_what_was_asked_before_is_kept(tmp_path: Path) -> None:
    low, high = (conditions_of(task_rules("vos"), mixes=(), kinds=["fog"], levels=[level]) for level in ("low", "high"))
    assert logged_names(tmp_path / "o", {"m": "1"}, low) == (["m 1"], ["clean", "fog_low"])
    assert logged_names(tmp_path / "o", {"n": "1"}, high) == (["n 1", "m 1"], ["clean", "fog_low", "fog_high"])
    assert logged_names(tmp_path / "o", {"m": "2"}, low) == (["m 2", "n 1"], ["clean", "fog_low", "fog_high"])


def unique_names(folder: Path, *models: tuple[str, str]) -> list[str]:
    """Names of models by (where it was found, revision), all called ``m``; the folder remembers them."""
    specs = [ModelSpec(given="m", kind="callable", name="m", target=target, revision=code) for target, code in models]
    manifest = build_manifest("run r2", given={}, defaulted={}, seeds={}, inputs={})
    with open_run(folder, manifest, overwrite=False) as run:
        before = load_log(folder)
        specs = list(assign_unique_names(before, specs))
        run.append_many(FILE, command_rows(before, specs, CONDITIONS))
    return [spec.name for spec in specs]


def test_a_model_keeps_its_name_from_command_to_command(tmp_path: Path) -> None:
    out = tmp_path / "o"
    assert unique_names(out, ("a.py", "1"), ("b.py", "2")) == ["m", "m~2"]
    assert unique_names(out, ("b.py", "2")) == ["m~2"]
    assert unique_names(out, ("b.py", "3"), ("a.py", "1")) == ["m~2", "m"]  # changed, and in another order
    assert unique_names(out, ("c.py", "4")) == ["m~3"]
    assert unique_names(out, ("moved.py", "1")) == ["m"]  # the same code, from elsewhere
    assert unique_names(out, ("moved.py", "5")) == ["m"]
    assert unique_names(tmp_path / "p", ("a.py", "1"), ("a.py", "1")) == ["m", "m~2"]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"command": 1, "model": [], "revision": "1", "source": "", "conditions": []},
        {"command": 1, "model": "m", "revision": "1", "source": "", "conditions": [{"name": "x"}]},
        {"command": "1", "model": "m", "revision": "1", "source": "", "conditions": []},
    ],
    ids=["object", "no model", "half a condition", "no number"],
)
def test_a_damaged_list_of_what_was_asked(tmp_path: Path, content: dict[str, object]) -> None:
    logged_names(tmp_path / "o", {"m": "1"}, CONDITIONS)
    (tmp_path / "o" / FILE).write_text(json.dumps(content) + "\n")
    with pytest.raises(RecordError, match="what was asked is damaged"):
        logged_names(tmp_path / "o", {"m": "1"}, CONDITIONS)
