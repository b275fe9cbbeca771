"""`report` as a job: a record laid out again from its own lines; what is damaged is named, never guessed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from auscult.errors import AuscultError, Locked, NewerSchema, RecordError
from auscult.jobs.act import filter_record
from auscult.jobs.audit import audit_folder
from auscult.jobs.finish import report_folder, score_labels, score_record
from auscult.jobs.options import AuditOptions, FilterOptions, StressOptions
from auscult.jobs.stress import stress_masks
from auscult.record.folder import open_run, read_manifest
from auscult.record.lines import read_lines
from small_inputs import folder_input, rows, tree, write_lines


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit with truth, whose input is gone."""
    place = tmp_path_factory.mktemp("report")
    folder_input(place / "in", ("a", "b"))
    stress_masks(StressOptions(source=place / "in", out=place / "made", kinds=("perfect", "erode"), workers=0))
    audit_folder(AuditOptions(source=place / "made", out=place / "out", workers=0))
    shutil.rmtree(place / "made")
    return place / "out"


@pytest.fixture
def copy(record: Path, tmp_path: Path) -> Path:
    return shutil.copytree(record, tmp_path / "copy")


def _without_times(files: dict[str, bytes | str]) -> dict[str, bytes | str]:
    return {name: data for name, data in files.items() if name not in {"manifest.json", "report.html", ".written"}}


def test_everything_derived_is_made_again_from_the_lines(record: Path, copy: Path) -> None:
    derived = ["summary.json", "verdicts.csv", "report.html", "accepted.coco.json", "to_fix.coco.json"]
    derived += [f"tables/{path.name}" for path in (copy / "tables").iterdir()]
    for name in derived:
        (copy / name).unlink()
    summary = report_folder(copy)
    assert summary.as_json() == json.loads((record / "summary.json").read_text())
    assert _without_times(tree(copy)) == _without_times(tree(record))
    page = (copy / "report.html").read_text()
    assert page.count("data:image/jpeg;base64") >= len(rows(copy / "verdicts.jsonl"))
    assert "estimated against true IoU" in page


def test_an_unfinished_record_can_be_looked_at_and_gone_on_with(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b", "c"))
    options = AuditOptions(source=source, out=tmp_path / "out", workers=0)
    full_summary = audit_folder(options)
    lines = rows(tmp_path / "out" / "verdicts.jsonl")
    write_lines(tmp_path / "out" / "verdicts.jsonl", *lines[:2], b'{"id": "c", "iou": 0.')
    manifest = {key: value for key, value in read_manifest(tmp_path / "out").items() if key != "finished"}
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    partly = report_folder(tmp_path / "out")
    assert (partly.n, partly.ok) == (2, 2)
    assert "finished" not in read_manifest(tmp_path / "out")  # whether it ended is not for a report to say
    assert report_folder(tmp_path / "out") == partly
    assert audit_folder(options) == full_summary
    assert [row["id"] for row in rows(tmp_path / "out" / "verdicts.jsonl")] == ["a", "b", "c"]


CUTS: dict[str, Callable[[Path], object]] = {
    "cut within a line": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut after a line": lambda path: write_lines(path, *rows(path)[:1]),
    "deleted": lambda path: path.unlink(),
}


@pytest.mark.parametrize("cut_name", CUTS)
@pytest.mark.parametrize("damage", ["", "no summary", "no masks"])
def test_verdicts_that_a_finished_record_lost_are_no_smaller_number(copy: Path, cut_name: str, damage: str) -> None:
    n_before = len(rows(copy / "verdicts.jsonl"))
    CUTS[cut_name](copy / "verdicts.jsonl")
    if damage:
        (copy / ("summary.json" if damage == "no summary" else "masks.jsonl")).unlink()
    n_left = sum(1 for _ in read_lines(copy / "verdicts.jsonl"))
    before = tree(copy)
    by_marks = partial(score_labels, labels=copy.parent / "marks.csv")
    for job in (report_folder, score_record, by_marks, lambda folder: filter_record(FilterOptions(folder=folder))):
        with pytest.raises(RecordError, match=f"{n_before - n_left} of {n_before} verdicts") as error:
            job(copy)
        assert error.value.path == str(copy / "verdicts.jsonl")
    assert tree(copy) == before


def test_the_same_audit_again_judges_the_verdicts_that_were_lost(tmp_path: Path) -> None:
    options = AuditOptions(source=folder_input(tmp_path / "in"), out=tmp_path / "out", workers=0)
    full_summary = audit_folder(options)
    write_lines(tmp_path / "out" / "verdicts.jsonl", *rows(tmp_path / "out" / "verdicts.jsonl")[:1])
    with pytest.raises(RecordError, match="2 of 3 verdicts"):
        report_folder(tmp_path / "out")
    assert audit_folder(options) == full_summary
    assert report_folder(tmp_path / "out") == full_summary


def test_records_of_other_commands_are_refused_by_name(tmp_path: Path) -> None:
    stress_masks(StressOptions(source=folder_input(tmp_path / "in", ("a",)), out=tmp_path / "made", workers=0))
    before = tree(tmp_path / "made")
    with pytest.raises(RecordError, match="auscult stress masks"):
        report_folder(tmp_path / "made")
    assert tree(tmp_path / "made") == before


def test_a_record_that_is_being_written_is_left_alone(copy: Path) -> None:
    with open_run(copy, read_manifest(copy)), pytest.raises(Locked):
        report_folder(copy)


def _edited(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    return lambda folder: write_lines(folder / name, *(change(row) for row in rows(folder / name)))


def _without_key(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda row: {name: value for name, value in row.items() if name != key}


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no masks": lambda folder: (folder / "masks.jsonl").unlink(),
    "a mask of garbage": _edited("masks.jsonl", lambda row: {**row, "segmentation": {"size": [1, 1], "counts": "z"}}),
    "a mask without itself": _edited("masks.jsonl", _without_key("segmentation")),
    "a mask without id": _edited("masks.jsonl", _without_key("id")),
    "a picture of garbage": _edited("thumbnails.jsonl", lambda row: {**row, "jpeg": "\u00e9"}),
    "a picture without itself": _edited("thumbnails.jsonl", _without_key("jpeg")),
    "a truth of text": _edited("truth.jsonl", lambda row: {**row, "iou": "high"}),
    "a truth without id": _edited("truth.jsonl", _without_key("id")),
    "a truth of an unknown defect": _edited("truth.jsonl", lambda row: {**row, "defect": "ugly"}),
    "a verdict without frame": _edited("verdicts.jsonl", _without_key("frame")),
    "a verdict without defect": _edited("verdicts.jsonl", _without_key("defect")),
    "a verdict without id": _edited("verdicts.jsonl", _without_key("id")),
    "a broken line": lambda folder: write_lines(folder / "verdicts.jsonl", b"{", b"{}"),
    "a list for a line": lambda folder: write_lines(folder / "errors.jsonl", [1], {"id": "x"}),
    "an empty manifest": lambda folder: (folder / "manifest.json").write_text("{}"),
    "a manifest of garbage": lambda folder: (folder / "manifest.json").write_bytes(b"\xff"),
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_refused_in_plain_words(copy: Path, damage: str) -> None:
    DAMAGE[damage](copy)
    with pytest.raises(AuscultError) as error:
        report_folder(copy)
    assert error.value.expected or error.value.hint
    for job in (score_record, lambda folder: filter_record(FilterOptions(folder=folder, out=copy.parent / "kept"))):
        with suppress(AuscultError):  # either it can do without the damaged part, or it says so: never another error
            job(copy)


def test_a_newer_record_is_refused(copy: Path) -> None:
    manifest = {**read_manifest(copy), "schema": 99}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    for job in (report_folder, score_record, lambda folder: filter_record(FilterOptions(folder=folder))):
        with pytest.raises(NewerSchema, match="schema 99"):
            job(copy)
