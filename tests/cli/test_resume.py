"""A run that is killed, stopped, refused, repeated or repaired: nothing is lost, nothing is judged twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from small_inputs import RIGHT, auscult, folder_input, item, rows, save_frame, save_mask, tree, write_lines

STEMS = [f"f{number:03d}" for number in range(60)]
PATIENCE_S = 60.0


def _command(source: Path, out: Path, *options: str) -> list[str]:
    return ["audit", str(source), "--out", str(out), "--workers", "2", "--quiet", *options]


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "auscult", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Look again and again until something is so, or the process has ended."""
    end = time.monotonic() + PATIENCE_S
    while not condition() and process.poll() is None:
        assert time.monotonic() < end, "the command does nothing"
        time.sleep(0.002)


def _lines(out: Path, name: str = "verdicts.jsonl") -> int:
    path = out / name
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _workers_of(parent: int) -> list[int]:
    """Worker processes that say they belong to a process."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            alive = "Z" not in (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if alive and any(b"auscult.work.worker" in word for word in words) and str(parent).encode() in words:
            pids.append(int(folder.name))
    return pids


def _leaves_no_worker(parent: int) -> None:
    end = time.monotonic() + 20
    while _workers_of(parent):
        assert time.monotonic() < end, "a worker outlives its command"
        time.sleep(0.01)


def _results(out: Path) -> dict[str, dict[str, Any]]:
    """The verdict lines by id, without the time they took; no id may stand twice."""
    verdict_rows = rows(out / "verdicts.jsonl")
    results = {row["id"]: {key: value for key, value in row.items() if key != "seconds"} for row in verdict_rows}
    assert len(results) == len(verdict_rows), "an item was judged twice"
    return results


def _segments(out: Path) -> dict[str, Any]:
    return {row["id"]: row["segmentation"] for row in rows(out / "masks.jsonl")}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("large")
    folder_input(place / "in", STEMS)
    result = auscult(*_command(place / "in", place / "undisturbed"))
    assert result.code == 0, result.err
    return place


@pytest.mark.slow
def test_killed_again_and_again_the_run_comes_to_the_same_lines(large: Path) -> None:
    out = large / "killed"
    command = _command(large / "in", out)
    moments: tuple[Callable[[], bool], ...] = (
        (out / "manifest.json").exists,
        lambda: _lines(out, "masks.jsonl") >= 10,
        lambda: _lines(out) >= 40,
        lambda: any(out.glob("pictures/*")),
    )
    n_killed = 0
    for moment in moments:
        process = _start(command)
        _until(moment, process)
        process.kill()
        process.communicate()
        n_killed += process.returncode == -signal.SIGKILL
        _leaves_no_worker(process.pid)
    assert n_killed >= 2, "the command was never caught at work"
    result = auscult(*command)
    assert result.code == 0, result.err
    assert _results(out) == _results(large / "undisturbed")
    assert _segments(out) == _segments(large / "undisturbed")
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (out, large / "undisturbed")]
    assert summaries[0] == summaries[1]
    tables = [sorted((folder / "verdicts.csv").read_text().splitlines()) for folder in (out, large / "undisturbed")]
    assert tables[0] == tables[1]
    assert not rows(out / "errors.jsonl")


def test_ctrl_c_says_so_leaves_no_worker_and_the_same_command_goes_on(large: Path) -> None:
    out = large / "stopped"
    command = _command(large / "in", out)
    process = _start(command)
    _until(lambda: _lines(out) >= 6, process)
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, stderr
    assert "the same command continues" in stderr
    assert "Traceback" not in stderr
    assert stdout == ""
    _leaves_no_worker(process.pid)
    assert 5 <= _lines(out) < len(STEMS)  # a line that is being written when it stops is taken back
    assert not (out / "summary.json").exists()
    assert auscult(*command).code == 0
    assert _results(out) == _results(large / "undisturbed")


@pytest.mark.slow
def test_a_second_process_on_one_folder_is_refused(large: Path) -> None:
    out = large / "shared"
    command = _command(large / "in", out)
    first = _start(command)
    _until((out / "manifest.json").exists, first)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        before = _lines(out)
        for options in ((), ("--overwrite",)):
            second = auscult(*command, *options)
            assert second.code == 2
            assert f"in use by process {first.pid}" in second.err
            assert "another --out" in second.err
        assert _lines(out) == before
    finally:
        os.kill(first.pid, signal.SIGCONT)
    _, stderr = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 0, stderr
    assert _results(out) == _results(large / "undisturbed")


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    folder_input(tmp_path / "in")
    result = auscult("audit", tmp_path / "in", "--out", tmp_path / "out", "--workers", 1, "--quiet")
    assert result.code == 0, result.err
    return tmp_path


def _audit_again(place: Path, *options: object) -> Any:
    return auscult("audit", place / "in", "--out", place / "out", "--workers", 1, "--quiet", *options)


def test_other_arguments_are_refused_by_name_and_harmless_ones_are_not(finished: Path) -> None:
    before = tree(finished / "out")
    for options, message in (
        (("--policy", "release"), "--policy"),
        (("--text", "the left one"), "--text"),
        (("--labels",), "--labels"),
    ):
        result = _audit_again(finished, *options)
        assert (result.code, result.out) == (2, "")
        assert message in result.err
        assert "--overwrite" in result.err
    assert tree(finished / "out") == before
    result = auscult("audit", finished / "in", "--out", finished / "out", "--workers", 2, "--timeout", 60, "--json")
    assert result.code == 0, result.err
    assert (finished / "out" / "verdicts.jsonl").read_bytes() == before["verdicts.jsonl"]


@pytest.mark.parametrize("name", ["masks/b.png", "frames/b.png"])
def test_a_file_that_changed_since_is_refused_by_name(finished: Path, name: str) -> None:
    before = (finished / "out" / "verdicts.jsonl").read_bytes()
    path = finished / "in" / name
    if name.startswith("masks"):
        save_mask(path, ~RIGHT)
    else:
        save_frame(path, seed=99)
    first = _audit_again(finished)
    path.unlink()
    for result in (first, _audit_again(finished)):
        assert result.code == 2
        assert "b has a result in the folder" in result.err
        assert "--overwrite" in result.err
    assert "b.png" in first.err
    assert (finished / "out" / "verdicts.jsonl").read_bytes() == before
    anew = _audit_again(finished, "--overwrite")
    assert anew.code == (1 if name.startswith("frames") else 0)
    assert set(_results(finished / "out")) == {"a", "c"}


def test_overwrite_starts_anew_and_removes_only_what_auscult_wrote(finished: Path) -> None:
    (finished / "out" / "mine.txt").write_text("mine")
    result = _audit_again(finished, "--overwrite", "--policy", "release", "--text", "the left one")
    assert result.code == 0, result.err
    assert {row["text"] for row in rows(finished / "out" / "verdicts.jsonl")} == {"the left one"}
    assert len(_results(finished / "out")) == 3
    assert (finished / "out" / "mine.txt").read_text() == "mine"


@pytest.mark.slow
def test_failed_items_are_tried_again_once_their_files_are_repaired(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b", "c", "d", "e"))
    spoilt = [source / name for name in ("masks/b.png", "frames/c.png", "masks/d.png", "frames/e.png")]
    original_bytes = {path: path.read_bytes() for path in spoilt}
    for number, path in enumerate(spoilt):
        path.write_bytes(original_bytes[path][: len(original_bytes[path]) // 2] if number < 2 else b"")
    first = _audit_again(tmp_path)
    assert first.code == 1
    assert "4 failed" in first.err
    first_verdicts = (tmp_path / "out" / "verdicts.jsonl").read_bytes()
    assert set(_results(tmp_path / "out")) == {"a"}
    for number, path in enumerate(spoilt, start=1):
        path.write_bytes(original_bytes[path])
        if number == 2:
            assert "2 failed" in _audit_again(tmp_path).err
    last = _audit_again(tmp_path, "--json")
    assert last.code == 0, last.err
    summary = json.loads(last.out)
    assert (summary["n"], summary["ok"], summary["failed"]) == (5, 5, 0)
    assert set(_results(tmp_path / "out")) == {"a", "b", "c", "d", "e"}
    assert (tmp_path / "out" / "verdicts.jsonl").read_bytes().startswith(first_verdicts), (
        "what is judged is not judged again"
    )
    assert rows(tmp_path / "out" / "errors.jsonl") == [], "errors are those of the latest run"
    assert "0 failed" in auscult("report", tmp_path / "out").out


@pytest.mark.slow
def test_an_input_may_grow_but_not_lose_what_was_judged(tmp_path: Path) -> None:
    file = write_lines(folder_input(tmp_path / "in", ("a",)) / "items.jsonl", item("one"), b"{broken")
    assert _audit_again(tmp_path).code == 1
    write_lines(file, item("one"), item("two"))
    grown = _audit_again(tmp_path, "--json")
    assert set(_results(tmp_path / "out")) == {"one", "two"}
    assert json.loads(grown.out)["ok"] == 2
    write_lines(file, item("two"))
    result = _audit_again(tmp_path)
    assert result.code == 2
    assert "one has a result in the folder and is no longer in the input" in " ".join(result.err.split())
