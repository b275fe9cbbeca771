from __future__ import annotations

from typing import Any

import pytest

from auscult.act.filter import redecide, select
from auscult.act.policy import DEFAULT, decide, load_policy
from auscult.errors import RecordError, UsageError
from auscult.record.schema import verdict_to_json
from auscult.types import Evidence, Verdict


def verdict(name: str, defect: Any, iou: float | None) -> Verdict:
    return Verdict(
        id=name, iou=iou, iou_low=0.0, iou_high=1.0, defect=defect, defect_probs={}, evidence=Evidence(),
        rationale="Why.", judge="masks.any.v1",
    )  # fmt: skip


def row(name: str, defect: str, iou: float | None, **changes: Any) -> dict[str, Any]:
    return {**verdict_to_json(verdict(name, "erode", None)), "defect": defect, "iou": iou, "clip": "v1", **changes}


ROWS = [row("a", "perfect", 0.97), row("b", "erode", 0.85), row("c", "erode", 0.5), row("d", "empty", None)]


def ids(rows: Any) -> list[str]:
    return [row_["id"] for row_ in rows]


def test_picking_by_action_defect_and_iou() -> None:
    rows = redecide(ROWS, DEFAULT)
    assert ids(select(rows, actions={"accept"})) == ["a"]
    assert ids(select(rows, actions={"minor_revision", "reject"})) == ["b", "c", "d"]
    assert ids(select(rows, actions={"minor_revision", "reject"}, defects={"erode"})) == ["b", "c"]
    assert ids(select(rows, actions={"reject"}, min_iou=0.5)) == ["c"]
    assert select(rows, actions=()) == []
    assert select(ROWS, actions={"accept"}) == []


def test_deciding_again_changes_action_and_note_and_nothing_else() -> None:
    before = [dict(row_) for row_ in ROWS]
    strict = redecide(ROWS, load_policy("identity"))
    assert before == ROWS
    assert [row_["action"] for row_ in strict] == ["minor_revision", "minor_revision", "reject", "reject"]
    assert strict[0]["rationale"].startswith("Why. Not accepted")
    released = redecide(strict, load_policy("release"))
    assert [row_["action"] for row_ in released] == ["accept", "minor_revision", "major_revision", "reject"]
    assert [row_["rationale"] for row_ in released[:3]] == ["Why."] * 3
    assert {row_["clip"] for row_ in released} == {"v1"}


def test_deciding_on_rows_is_deciding_on_verdicts() -> None:
    for iou in (0.949999, 0.95, 0.8, 0.1):
        for defect in ("perfect", "erode", "merge", "full_neg"):
            (redecided,) = redecide([row("a", defect, iou)], DEFAULT)
            assert redecided["action"] == decide(verdict("a", defect, iou)).action


def test_the_probability_on_record_decides_again() -> None:
    rows = [row("a", "erode", 0.5, prob_iou_80=0.8), row("b", "perfect", 0.97, prob_iou_80=0.4)]
    assert [row_["action"] for row_ in redecide(rows, DEFAULT)] == ["accept", "minor_revision"]
    assert [row_["action"] for row_ in redecide(rows, load_policy("paper"))] == ["reject", "accept"]


@pytest.mark.parametrize(
    "broken",
    [
        row("a", "eroded", 0.5),
        row("a", "erode", "0.5"),  # type: ignore[arg-type]
        row("a", "erode", 0.5, prob_iou_80="0.8"),
        row("a", "erode", 0.5, target_exists="?"),
        {},
    ],
)
def test_a_row_that_is_no_verdict_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        redecide([broken], DEFAULT)


@pytest.mark.parametrize(
    "options",
    [
        {"actions": {"keep"}},
        {"actions": {"accept"}, "defects": {"hole"}},
        {"actions": {"accept"}, "min_iou": 87},
    ],
)
def test_unknown_words_are_wrong_usage(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        select(ROWS, **options)
