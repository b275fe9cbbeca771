"""Runs that are killed, interrupted or doubled, as a user would do it to a command: whole processes, real signals."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("recorder.py")
COUNT = 300
LIMITED = (
    "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


def start(folder: Path, *arguments: object, count: int = COUNT, workers: int = 2) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, SCRIPT, folder, str(count), str(workers), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def until_open(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"


def until_lines(path: Path, count: int) -> None:
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} has no {count} lines")


def rows(folder: Path, name: str) -> list[str]:
    """The rows, each parsed and in a fixed order of lines."""
    text = (folder / name).read_bytes()
    assert text.endswith(b"\n")
    return sorted(json.dumps(json.loads(line)) for line in text.split(b"\n")[:-1])


def children_of_session(leader: int) -> list[int]:
    """Living processes of the session that ``start`` gave the command."""
    children = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, _, _, session = (entry / "stat").read_text("utf-8").rpartition(")")[2].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(session) == leader and state != "Z":
                children.append(int(entry.name))
    return children


def nobody_left(leader: int) -> bool:
    limit = time.monotonic() + 5
    while children_of_session(leader) and time.monotonic() < limit:
        time.sleep(0.02)
    return not children_of_session(leader)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    code, errors = finish(start(folder))
    assert (code, errors) == (0, "")
    assert len(rows(folder, "verdicts.jsonl")) == COUNT * 9 // 10
    return folder


def kill_and_resume(folder: Path, times: int, seed: int) -> None:
    """Kill the command at random moments, then let it come to its end."""
    choose = random.Random(seed)
    for turn in range(times):
        process = start(folder, 0.001)
        if turn % 2:
            time.sleep(choose.uniform(0.02, 0.3))  # often before the folder is open
        else:
            until_open(process)
            time.sleep(choose.uniform(0.0, 0.4))
        process.kill()
        process.communicate()
        assert nobody_left(process.pid)
    code, errors = finish(start(folder, 0.0))
    assert (code, errors) == (0, "")


def check_same(folder: Path, undisturbed: Path) -> None:
    for name in ("verdicts.jsonl", "errors.jsonl"):
        assert rows(folder, name) == rows(undisturbed, name)
    leftovers = {path.name for path in folder.iterdir()} - {path.name for path in undisturbed.iterdir()}
    assert leftovers == set()


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_it_is_as_if_undisturbed(tmp_path: Path, undisturbed: Path) -> None:
    kill_and_resume(tmp_path / "out", times=6, seed=1)
    check_same(tmp_path / "out", undisturbed)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert "finished" in manifest
    assert manifest["resumed"], "at least one kill came between the first line and the end"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_many_times(tmp_path: Path, undisturbed: Path, seed: int) -> None:
    kill_and_resume(tmp_path / "out", times=12, seed=100 + seed)
    check_same(tmp_path / "out", undisturbed)


@pytest.mark.parametrize("to_group", [True, False], ids=["terminal", "process"])
def test_ctrl_c_leaves_a_resumable_folder_and_nobody(tmp_path: Path, undisturbed: Path, to_group: bool) -> None:
    folder = tmp_path / "out"
    process = start(folder, 0.02)
    until_lines(folder / "verdicts.jsonl", 10)
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    start_s = time.monotonic()
    code, errors = finish(process)
    assert time.monotonic() - start_s < 20
    assert (code, errors) == (130, "")
    assert nobody_left(process.pid)
    before = len(rows(folder, "verdicts.jsonl"))
    assert 0 < before < COUNT * 9 // 10
    assert finish(start(folder)) == (0, "")
    check_same(folder, undisturbed)


def test_the_second_process_on_a_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = start(folder, 0.05, count=1000)
    until_open(first)
    code, errors = finish(start(folder))
    assert code == 2
    assert f"{folder}: the folder is in use by process {first.pid}" in errors
    assert "Traceback" not in errors
    first.kill()
    first.communicate()
    assert finish(start(folder, count=1000)) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits a file's size")
def test_a_full_disk_says_so_keeps_what_there_is_and_can_be_resumed(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "out"
    limited = subprocess.run(
        [
            sys.executable,
            "-c",
            LIMITED,
            SCRIPT,
            folder,
            str(COUNT),
            "1",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert limited.returncode == 2
    assert "verdicts.jsonl cannot be written; what it holds already is kept" in limited.stderr
    assert str(folder) in limited.stderr
    assert "Traceback" not in limited.stderr
    content = (folder / "verdicts.jsonl").read_bytes()
    assert 0 < len(content) <= 9000
    assert content.endswith(b"\n"), "no torn line is left behind"
    assert finish(start(folder)) == (0, "")
    check_same(folder, undisturbed)
