"""Where a run stands still, the stacks of the parent and of its workers are printed, once each, and it goes on."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import worker_functions
from auscult.work.pool import Task, run_tasks

tasks = [Task(name, ("sleep", 1.5)) for name in "ab"]
print([result.outcome for result in run_tasks(worker_functions.make, tasks, workers=1)])
"""


def _run(**environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])  # noqa: PTH120
    env = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)


def test_stacks_are_printed_where_nothing_happens_for_long() -> None:
    told = _run(AUSCULT_STANDSTILL_S="0.5")
    assert told.stdout == "[1.5, 1.5]\n"
    assert told.stderr.count("Timeout (0:00:00.500000)!") == 2  # one of each process, though both tasks are long
    assert "in behave" in told.stderr
    assert "in _wait" in told.stderr


def test_nothing_is_printed_where_it_is_off() -> None:
    assert _run(AUSCULT_STANDSTILL_S="0").stderr == ""
