"""Where a run stands still, the stacks of the parent and of its workers are printed, once each, and it goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import worker_functions
from auscult.work.pool import Task, run_tasks

tasks = [Task(name, ("sleep", 1.5)) for name in "ab"]
print([result.outcome for result in run_tasks(worker_functions.make, tasks, workers=1)])
"""


@pytest.fixture(scope="module")
def printed() -> dict[str, tuple[str, str]]:
    """What the script prints, on stdout and stderr, by the setting; both sleep at the same time."""
    paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])  # noqa: PTH120
    processes = {
        seconds: subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONPATH": paths, "AUSCULT_STANDSTILL_S": seconds},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seconds in ("0.5", "0")
    }
    return {seconds: process.communicate() for seconds, process in processes.items()}


def test_stacks_are_printed_where_nothing_happens_for_long(printed: dict[str, tuple[str, str]]) -> None:
    stdout, stacks = printed["0.5"]
    assert stdout == "[1.5, 1.5]\n"
    assert stacks.count("Timeout (0:00:00.500000)!") == 2  # one of each process, though both tasks are long
    assert "in behave" in stacks
    assert "in _wait" in stacks


def test_nothing_is_printed_where_it_is_off(printed: dict[str, tuple[str, str]]) -> None:
    assert printed["0"] == ("[1.5, 1.5]\n", "")
