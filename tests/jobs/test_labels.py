"""Marks of masks of a record: read, scored against, and gated by, as a report exports them."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.errors import InputError, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.gate import gate_record
from auscult.jobs.labels import read_labels
from auscult.jobs.options import AuditOptions, GateOptions
from small_inputs import auscult, folder_input, rows

IDS = [f"m{number}" for number in range(24)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    audit_folder(AuditOptions(source=folder_input(folder / "in", IDS), out=folder / "out", judge="cues", workers=0))
    return folder / "out"


def _table(path: Path, *lines: str, header: str = "id,label") -> Path:
    path.write_bytes("\r\n".join((header, *lines, "")).encode())
    return path


def test_a_table_is_read_with_words_or_ious(tmp_path: Path) -> None:
    known = {"a", "b", "c", "=d", "e"}
    words = read_labels(_table(tmp_path / "w.csv", "a,good", "b, Bad", "c,unsure", "'=d,good", "e,"), known=known)
    assert {name: label.good for name, label in words.items()} == {"a": True, "b": False, "c": None, "=d": True}
    ious = read_labels(_table(tmp_path / "i.csv", "a,0.8,0.1", "b,.79,1", header="id,true_iou,iou"), known=known)
    assert {name: (label.iou, label.good) for name, label in ious.items()} == {"a": (0.8, True), "b": (0.79, False)}


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (("a,fine",), "id,label", "the label is 'fine'"),
        (("a,1.5",), "id,iou", "the IoU is 1.5"),
        (("a,good", "a,bad"), "id,label", "named twice"),
        (("a,good", "z,bad"), "id,label", "1 of 2 labels name no mask of the record, first 'z'"),
        (("a,",), "id,label", "holds no label"),
        (("a,good",), "name,label", "first row is 'name,label'"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, lines: tuple[str, ...], header: str, message: str) -> None:
    with pytest.raises((InputError, UsageError), match=message):
        read_labels(_table(tmp_path / "t.csv", *lines, header=header), known={"a"})


def test_marks_score_the_record_and_gate_it(judged: Path, tmp_path: Path) -> None:
    iou = {row["id"]: row["iou"] for row in rows(judged / "verdicts.jsonl")}
    order = sorted(IDS, key=iou.__getitem__)
    bad, good, unsure = order[:3], order[4:], order[3]
    lines = [*(f"{name},bad" for name in bad), f"{unsure},unsure", *(f"{name},good" for name in good)]
    marks = _table(tmp_path / "marks.csv", *lines)
    ran = auscult("score", judged, marks)
    assert ran.code == 0, ran
    assert "24: 20 good, 3 bad, 1 unsure" in ran.out
    assert "1.000" in ran.out, "the estimates rank the good above the bad"
    gated = gate_record(
        GateOptions(folder=judged, calibration=marks, accept_error=0.2, confidence=0.9, out=tmp_path / "gate")
    )
    assert set(good) <= set(gated.accepted)
    assert not set(bad) & set(gated.accepted), "what a person called bad is never accepted"
    assert gated.calibration.without_truth == 1
    assert any("would be marked bad" in sentence for sentence in gated.sentences)
