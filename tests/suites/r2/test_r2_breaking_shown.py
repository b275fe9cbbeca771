"""Where half of the score is lost: what lies above every strength that was asked says above which, everywhere."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import pytest

from auscult.report.drawing import Line, Polygon, Text
from auscult.suites.core.charts import charts_of
from auscult.suites.core.grid import grid_of
from auscult.suites.core.measures import numbers_of
from auscult.suites.core.numbers import GridView, Number
from auscult.suites.core.page import cells_csv
from auscult.suites.core.tables import Index, breaking_table, kinds_table, summary_metrics
from auscult.suites.r2.cases import task_rules
from auscult.suites.r2.conditions import conditions_of

RULES = task_rules("rvos")
CASES = tuple(f"c{number}" for number in range(10))
FALLS = {"open": (0.19,) * 6 + (0.09,) * 4, "never": (0.0,) * 10, "hardly": (0.19,) * 5 + (0.09,) * 5}
"""How much of the score 1 each case loses with every unit of strength up to 3; nothing more is lost beyond."""


def numbers(levels: Sequence[str], model: str = "open") -> tuple[Number, ...]:
    conditions = conditions_of(RULES, mixes=["mix"], kinds=["fog"], levels=levels)
    rows: list[dict[str, Any]] = []
    valid: dict[str, tuple[str, str, str]] = {}
    for condition in conditions:
        for case, fall in zip(CASES, FALLS[model], strict=True):
            key = f"{condition.name}/{case}"
            valid[key] = (model, condition.name, case)
            value = 1 - fall * 1.13 * min(3.0, condition.strength or 0.0)
            rows += [
                {"key": key, "metric": metric, "outcome": "scored", "value": value, "signature": {"metric": metric}}
                for metric in ("J", "F")
            ]
    grid = grid_of(
        rows, task=RULES, valid=valid, cases={name: (name, "") for name in CASES}, models=(model,),
        conditions=conditions,
    )  # fmt: skip
    return numbers_of(GridView(grid=grid, seed=0))


@pytest.mark.parametrize(("levels", "last"), [(("low", "medium"), 3.0), (("low", "high"), 5.0), (("2", "3.5"), 3.5)])
def test_a_curve_that_stays_up_is_above_the_strongest_that_was_asked(levels: Sequence[str], last: float) -> None:
    numbers_ = numbers(levels, "never")
    index = Index(numbers_, RULES)
    kinds = kinds_table(index)
    assert kinds is not None
    assert kinds.rows[0][-2] == breaking_table(index).rows[0][-1] == f"above {last:g}"
    (curve,) = [chart for chart in charts_of(index, correlations={}, ranks=(), splits=()) if chart.name == "curve_mix"]
    assert [text for text in _texts(curve.drawing.parts) if text.endswith(f"half lost above {last:g}")]
    assert "arrow" not in curve.caption
    (cell,) = [
        row for row in [number_.row() for number_ in numbers_] if (row["measure"], row["metric"], row["group"]) == KEY
    ]
    assert (cell["value"], cell["low"], cell["high"], cell["beyond"], cell["n"]) == (None, None, None, last, 10)
    metric = summary_metrics(numbers_)["never/mix/breaking/J&F"]
    assert (metric["value"], metric["beyond"]) == (None, last)


KEY = ("breaking", "J&F", "mix")


@pytest.mark.parametrize(("model", "broken"), [("open", True), ("hardly", False)])
def test_an_open_end_is_open_in_tables_charts_and_cells(model: str, broken: bool) -> None:
    numbers_ = numbers(("low", "medium"), model)
    index = Index(numbers_, RULES)
    text = breaking_table(index).rows[0][1]
    (cell,) = [
        row for row in [number_.row() for number_ in numbers_] if (row["measure"], row["metric"], row["group"]) == KEY
    ]
    assert (cell["value"] is not None) == broken
    assert (cell["high"], cell["beyond"]) == (None, 3.0)
    assert cell["low"] < 3
    value = f"{cell['value']:.1f}" if broken else "above 3"
    assert text == f"{value} [{cell['low']:.1f}, above 3]"
    kinds = kinds_table(index)
    assert kinds is not None
    assert cell["clusters"] == 10
    assert all("95 % interval over 10 clips" in table.note for table in (breaking_table(index), kinds))
    row = next(row for row in csv.DictReader(io.StringIO(cells_csv(numbers_))) if row["measure"] == "breaking")
    assert (row["high"], row["beyond"]) == ("", "3.0")
    (curve,) = [chart for chart in charts_of(index, correlations={}, ranks=(), splits=()) if chart.name == "curve_mix"]
    assert any(f"[{cell['low']:.1f}, above 3]" in words for words in _texts(curve.drawing.parts))
    assert "an arrow where it may lie above" in curve.caption
    heads = [part for part in curve.drawing.parts if isinstance(part, Polygon) and len(part.points) == 3]
    assert len(heads) == 1
    crosses = [part for part in curve.drawing.parts if isinstance(part, Line) and "half of the clean" in part.title]
    assert bool(crosses) == broken


def _texts(parts: Sequence[object]) -> list[str]:
    return [part.words for part in parts if isinstance(part, Text)]
