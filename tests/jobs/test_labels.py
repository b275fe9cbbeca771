"""Marks of masks of a record: read, scored against, gated and calibrated by, as a report exports them."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.errors import InputError, UsageError
from auscult.jobs.calibrate import calibrate_record
from auscult.jobs.gate import gate_record
from auscult.jobs.labels import read_labels
from auscult.jobs.options import CalibrateOptions, GateOptions
from small_inputs import auscult, rows
from small_records import marked_audit, page_marks


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marked_audit(tmp_path_factory.mktemp("labels"))


def _table(path: Path, *lines: str, header: str = "id,label") -> Path:
    path.write_bytes("\r\n".join((header, *lines, "")).encode())
    return path


def test_a_table_is_read_with_words_or_ious(tmp_path: Path) -> None:
    known_ids = {"a", "b", "c", "=d", "e"}
    words = read_labels(_table(tmp_path / "w.csv", "a,good", "b, Bad", "c,unsure", "'=d,good", "e,"), known=known_ids)
    assert {name: label.good for name, label in words.items()} == {"a": True, "b": False, "c": None, "=d": True}
    ious = read_labels(_table(tmp_path / "i.csv", "a,0.8,0.1", "b,.79,1", header="id,true_iou,iou"), known=known_ids)
    assert {name: (label.iou, label.good) for name, label in ious.items()} == {"a": (0.8, True), "b": (0.79, False)}


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (("a,fine",), "id,label", "the label is 'fine'"),
        (("a,1.5",), "id,iou", "the IoU is '1.5'"),
        (("a,good", "a,bad"), "id,label", "named twice"),
        (("a,good", "z,bad"), "id,label", "1 of 2 labels name no mask of the record, first 'z'"),
        (("a,",), "id,label", "holds no label"),
        (("a,good",), "name,label", "no column id: 'name,label'"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, lines: tuple[str, ...], header: str, message: str) -> None:
    with pytest.raises((InputError, UsageError), match=message):
        read_labels(_table(tmp_path / "t.csv", *lines, header=header), known={"a"})


def test_a_label_beside_the_judge_s_iou_is_not_taken_for_truth(tmp_path: Path) -> None:
    """``verdicts.csv`` with a column of labels: its ``iou`` is the judge's."""
    labels = read_labels(_table(tmp_path / "v.csv", "a,.9,bad", "b,.3,", header="id,iou,label"), known={"a", "b"})
    assert {name: (label.word, label.iou) for name, label in labels.items()} == {"a": ("bad", None)}


def test_the_table_of_an_audit_without_labels_is_no_truth(judged: Path) -> None:
    known_ids = {str(row["id"]) for row in rows(judged / "verdicts.jsonl")}
    for name in ("verdicts.csv", "verdicts.jsonl"):
        with pytest.raises(UsageError, match="the judge's own IoU and no label"):
            read_labels(judged / name, known=known_ids)


def test_marks_go_unchanged_through_score_gate_and_calibrate(judged: Path, tmp_path: Path) -> None:
    iou = {row["id"]: row["iou"] for row in rows(judged / "verdicts.jsonl")}
    order = sorted(iou, key=iou.__getitem__)
    bad, good, unsure = order[:8], order[9:], order[8]
    marks = tmp_path / "marks.csv"
    marks.write_bytes(page_marks({**dict.fromkeys(bad, "bad"), unsure: "unsure", **dict.fromkeys(good, "good")}))
    result = auscult("score", judged, marks)
    assert result.code == 0, result
    assert "64: 55 good, 8 bad, 1 unsure" in result.out
    assert "1.000" in result.out, "the estimates rank the good above the bad"
    gated = gate_record(
        GateOptions(folder=judged, calibration=marks, accept_error=0.2, confidence=0.9, out=tmp_path / "gate")
    )
    assert set(good) <= set(gated.accepted)
    assert not set(bad) & set(gated.accepted), "what a person called bad is never accepted"
    assert gated.calibration.without_truth == 1
    assert any("would be marked bad" in sentence for sentence in gated.sentences)
    calibrated = calibrate_record(CalibrateOptions(folder=judged, labels=marks, out=tmp_path / "calibrated"))
    assert (calibrated.labels, calibrated.known, calibrated.notes) == (63, False, ("1 mask marked as unsure",))
    assert {row["id"] for row in rows(tmp_path / "calibrated" / "verdicts.jsonl")} == iou.keys()
