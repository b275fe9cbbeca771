"""The command of a finished audit given again: quick where nothing changed, and never blind to what did."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from auscult.errors import AuscultError, Mismatch
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.jobs.runner import INPUTS
from auscult.record.schema import HANDOVERS, REPORT, TABLE, Summary
from small_inputs import folder_input

FROM_LINES = ("summary.json", TABLE, REPORT, *HANDOVERS)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An INPUT whose files count as old."""
    monkeypatch.setattr("auscult.record.digest._SETTLED_NS", -(10**12))
    return folder_input(tmp_path / "in")


def audit(source: Path) -> Summary:
    return audit_folder(AuditOptions(source=source, out=source.parent / "out", judge="cues", workers=0))


def masks_of(source: Path) -> list[Path]:
    return sorted((source / "masks").rglob("*.png"))


def test_what_was_not_written_since_is_not_opened_again(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, out = audit(source), source.parent / "out"
    before = {name: (out / name).stat().st_mtime_ns for name in FROM_LINES}
    monkeypatch.setattr("auscult.jobs.runner.digest_file", lambda path: pytest.fail(f"{path} was opened"))
    assert audit(source) == first
    assert {name: (out / name).stat().st_mtime_ns for name in FROM_LINES} == before, "made anew"
    assert "finished" in json.loads((out / "manifest.json").read_text("utf-8"))


@pytest.mark.parametrize("name", [REPORT, "to_fix.coco.json"])
def test_what_is_missing_is_made_again(source: Path, name: str) -> None:
    audit(source)
    path = source.parent / "out" / name
    before = path.read_bytes()
    path.unlink()
    audit(source)
    assert path.read_bytes() == before


def test_a_new_mask_is_judged_and_counted(source: Path) -> None:
    n = audit(source).n
    path = masks_of(source)[0]
    frame = source / "frames" / path.name
    (source / "frames" / "new.png").write_bytes(frame.read_bytes())
    path.with_name("new.png").write_bytes(path.read_bytes())
    assert audit(source).n == n + 1


def test_a_file_of_the_same_size_and_time_is_another_one(source: Path) -> None:
    audit(source)
    path, other = masks_of(source)[:2]  # a left and a right half
    status = path.stat()
    content = other.read_bytes()[: status.st_size].ljust(status.st_size, b"\0")
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    with pytest.raises(Mismatch, match="changed since"):
        audit(source)


def test_what_was_written_just_before_it_was_read_is_read_again(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in")
    audit(source)
    assert not (tmp_path / "out" / INPUTS).exists()
    masks_of(source)[0].write_bytes(masks_of(source)[1].read_bytes())
    with pytest.raises(Mismatch, match="changed since"):
        audit(source)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _of_others(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps({**row, "input": "0" * 32}) + "\n" for row in rows), "utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"\xff\xfe no JSON\n" * 9000),
        lambda path: path.write_bytes(b'{"id": ["a"], "input": {}, "stamp": 7}\n{"id": null}\n{}\n'),
        lambda path: path.write_bytes(b'{"id": "' + b"a" * (65 << 20) + b'"}\n'),
        lambda path: path.write_bytes(b""),
        _of_others,
        _fifo,
    ],
    ids=["no-json", "types", "long", "empty", "others", "fifo"],
)
def test_an_index_that_was_altered_hides_nothing(source: Path, damage: Callable[[Path], object]) -> None:
    """It is ignored, or named in an error; a changed mask never passes for the old one."""
    first = audit(source)
    index = source.parent / "out" / INPUTS
    damage(index)
    try:
        assert audit(source) == first
    except AuscultError as error:
        assert error.path == str(index), error  # noqa: PT017 - either will do
    path, other = masks_of(source)[:2]  # a left and a right half
    path.write_bytes(other.read_bytes())
    with pytest.raises(AuscultError):
        audit(source)
