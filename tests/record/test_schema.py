"""Rows of a record: keys, rounding, round trips, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from auscult.errors import ErrorRecord, RecordError
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.record import schema
from auscult.types import DEFECTS, Evidence, Verdict


def verdict(**changes: Any) -> Verdict:
    values: dict[str, Any] = {
        "id": "v1/f3/m2",
        "iou": 0.84,
        "iou_low": 0.76,
        "iou_high": 0.9,
        "defect": "erode",
        "defect_probs": {"perfect": 0.1, "erode": 0.6, "cutout": 0.3, "dilate": 0.0, "merge": 0.0, "full_neg": 0.0},
        "action": "minor_revision",
        "evidence": Evidence(shape=True, boundary=True),
        "novelty": 0.2,
        "rationale": "The lower edge is missing about 9 px.",
        "judge": "masks.cues.v1",
        "region": (1, 2, 30, 40),
        "seconds": 0.004,
    }
    return Verdict(**{**values, **changes})


def test_a_row_has_exactly_the_documented_keys() -> None:
    row = schema.verdict_to_json(verdict())
    documented = (
        "id iou iou_low iou_high defect defect_probs action evidence novelty target_exists target distractor "
        "rationale judge seconds region error_map"
    )
    assert set(row) == set(documented.split())
    assert row["evidence"] == {"shape": True, "boundary": True, "identity": False, "sound": False}
    assert set(row["defect_probs"]) == set(DEFECTS)
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_numbers_keep_six_decimals_and_become_plain() -> None:
    row = schema.verdict_to_json(
        verdict(iou=np.float64(0.12345678), seconds=1 / 3, novelty=np.float32(0.5), region=tuple(np.arange(4)))
    )
    assert (row["iou"], row["seconds"], row["novelty"], row["region"]) == (0.123457, 0.333333, 0.5, [0, 1, 2, 3])
    assert json.dumps(row)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"action": None, "region": None},
        {"defect": "empty", "defect_probs": {}, "iou": None, "iou_low": None, "iou_high": None},
        {"target_exists": "no", "target": "the dog", "distractor": "the cat on the sofa"},
    ],
)
def test_a_verdict_comes_back_as_it_was(changes: dict[str, Any]) -> None:
    before = verdict(**changes)
    row = json.loads(json.dumps(schema.verdict_to_json(before, frame="f3.jpg")))
    assert schema.verdict_from_json(row) == before
    assert row["frame"] == "f3.jpg"


def test_extra_keys_cannot_replace_the_verdicts() -> None:
    row = schema.verdict_to_json(verdict(), iou=1.0, note="kept")
    assert (row["iou"], row["note"]) == (0.84, "kept")


def test_a_new_verdict_keeps_nothing_of_the_row_that_it_takes_the_place_of() -> None:
    old = schema.verdict_to_json(verdict(prob_iou_80=0.1, own_action="reject"), frame="f3.jpg")
    row = schema.verdict_to_json(verdict(prob_iou_80=0.9), **old)
    assert (row["prob_iou_80"], row.get("own_action"), row["frame"]) == (0.9, None, "f3.jpg")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", 3), ("id", None), ("iou", "high"), ("iou", True), ("defect", "eroded"), ("defect", ["erode"]),
        ("action", "keep"), ("defect_probs", []), ("evidence", None), ("target_exists", "maybe"), ("target", 1),
        ("region", [1, 2, 3]), ("region", [1, 2, 3, 4.5]), ("region", "abcd"), ("judge", {}), ("rationale", 0),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(key: str, value: object) -> None:
    row = {**schema.verdict_to_json(verdict()), key: value}
    with pytest.raises(RecordError, match=rf"'{key}(\[3\])?' is ") as error:
        schema.verdict_from_json(row)
    assert key in error.value.expected


def test_an_error_comes_back_as_it_was() -> None:
    error = ErrorRecord(stage="read", error="cannot be read", expected="a PNG", hint="look", path="a.png", line=7)
    row = schema.error_to_json("a", error)
    assert list(row) == ["id", "path", "line", "stage", "error", "expected", "hint"]
    assert schema.error_from_json(row) == error
    assert schema.error_to_json(None, error)["id"] is None
    for bad in ({**row, "line": "7"}, {**row, "stage": None}, {}):
        with pytest.raises(RecordError):
            schema.error_from_json(bad)


def test_every_outcome_is_a_row_and_only_a_scored_one_has_a_value() -> None:
    scored_row = schema.score_to_json("a", "masks.iou.v1", Scored(np.float64(1 / 3), Signature.of(empty="1")))
    undefined = schema.score_to_json("a", "masks.iou.v1", Undefined("no truth"))
    failed = schema.score_to_json("a", "masks.iou.v1", Failed(ErrorRecord(stage="read", error="gone")))
    for row in (scored_row, undefined, failed):
        assert list(row) == ["id", "metric", "value", "outcome", "reason", "signature"]
        json.dumps(row, allow_nan=False)
    assert scored_row["value"] == 1 / 3, "a score keeps its full precision"
    assert scored_row["signature"]["empty"] == "1"
    assert (undefined["outcome"], undefined["value"], undefined["reason"]) == ("undefined", None, "no truth")
    assert (failed["outcome"], failed["value"], failed["reason"]) == ("failed", None, "gone")


def test_the_summary_has_the_documented_keys() -> None:
    summary = schema.Summary(command="audit", n=3, ok=2, failed=1, by_action={"accept": 2}, metrics={"iou": {"n": 2}})
    assert list(summary.as_json()) == ["command", "n", "ok", "failed", "undefined", "by_action", "by_defect", "metrics"]
    assert json.loads(json.dumps(summary.as_json()))["metrics"] == {"iou": {"n": 2}}
