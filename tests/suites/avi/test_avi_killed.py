"""A run that is killed at any moment goes on without asking twice what has a reply, and loses none."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from avi_release import make_release

SIZES = {"AMIC": 40, "AVM": 40, "AVQA": 40, "ASQA": 40}
CONNECTIONS, KILLS = 4, 5
MODEL = f"""
import json, os, time

HERE = __file__ + ".calls"


def note(word, question, files):
    line = json.dumps([word, question, [str(one) for one in files]]) + "\\n"
    descriptor = os.open(HERE, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)


class Waits:
    connections = {CONNECTIONS}

    def answer(self, question, *, images, sounds, video):
        files = [*images, *sounds, video]
        note("asked", question, files)
        time.sleep(0.02)
        note("replied", question, files)
        return "yes"
"""


def lines(path: Path) -> list[Any]:
    """The whole lines of a file: a kill may leave a broken last one."""
    text = path.read_text() if path.is_file() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_five_times_and_nothing_is_asked_twice_or_lost(tmp_path: Path) -> None:
    make_release(tmp_path / "release", SIZES)
    (tmp_path / "mine.py").write_text(MODEL)
    out, calls = tmp_path / "out", tmp_path / "mine.py.calls"
    command = [
        sys.executable, "-m", "auscult", "run", "avi", "--data", str(tmp_path / "release"), "--model",
        f"{tmp_path / 'mine.py'}:Waits", "--out", str(out), "--quiet", "--workers", "1",
    ]  # fmt: skip
    for number in range(KILLS):
        before = len(lines(calls))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 60
        try:
            while len(lines(calls)) < before + 5 + number and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.005)
        finally:
            process.kill()
            process.wait()
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    rows = [row for row in lines(out / "predictions.jsonl") if row["model"] == "mine.Waits"]
    assert len(rows) == len({row["key"] for row in rows}) == sum(SIZES.values())
    assert len({row["id"] for row in rows}) == sum(SIZES.values())
    asked_rows = [row for row in lines(calls) if row[0] == "asked"]
    n_asked_again = len(asked_rows) - sum(SIZES.values())
    assert n_asked_again <= KILLS * 2 * CONNECTIONS, "only what was under way when it was killed"
    assert (out / "report.html").is_file()
