"""Worker processes that warm up before their tasks are known."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import worker_functions as wf
from test_pool import is_gone

from auscult.errors import AuscultError
from auscult.work import EarlyWorkers, KeptWorkers, Task, run_tasks


def run(early: EarlyWorkers, payloads: list[Any], *, workers: int = 1) -> list[Any]:
    tasks = [Task(str(index), payload) for index, payload in enumerate(payloads)]
    results = run_tasks(wf.make, tasks, workers=workers, early=early)
    return [result.outcome for result in sorted(results, key=lambda result: int(result.key))]


def warmed(folder: Path, *, count: int, seconds: float = 10.0) -> list[int]:
    """The processes that have warmed up, once there are so many."""
    limit = time.monotonic() + seconds
    while len(names := [path.name for path in folder.iterdir()]) < count and time.monotonic() < limit:
        time.sleep(0.01)
    return sorted(map(int, names))


@pytest.mark.parametrize("waits", [True, False])
def test_what_warmed_up_does_the_tasks(tmp_path: Path, waits: bool) -> None:
    with EarlyWorkers(partial(wf.leave_mark, str(tmp_path)), count=1) as early:
        if waits:
            warmed(tmp_path, count=1)
        first, doubled = run(early, [("pid",), ("double", 4)])
        assert (warmed(tmp_path, count=1), doubled) == ([first], 8)
        assert run(early, [("pid",)]) != [first]  # a second run starts its own
    assert is_gone(first)


def test_the_others_are_started_as_they_are_needed(tmp_path: Path) -> None:
    with EarlyWorkers(partial(wf.leave_mark, str(tmp_path)), count=1) as early:
        pids = run(early, [("pid",), ("sleep", 0.5), ("pid",), ("sleep", 0.5), ("pid",)], workers=2)
    assert {pid for pid in pids if isinstance(pid, int)} >= set(warmed(tmp_path, count=1))


@pytest.mark.parametrize("runs", [True, False])
def test_what_gets_no_task_ends(tmp_path: Path, runs: bool) -> None:
    with EarlyWorkers(partial(wf.leave_mark, str(tmp_path)), count=2) as early:
        pids = warmed(tmp_path, count=2)
        if runs:
            assert run(early, [], workers=2) == []
    assert len(pids) == 2
    assert all(map(is_gone, pids))


def test_a_warm_up_that_fails_is_an_error() -> None:
    with EarlyWorkers(wf.make_nothing_to_do, count=1) as early, pytest.raises(AuscultError, match="no judge here"):
        run(early, [("pid",)])


def test_without_a_warm_up_there_is_none() -> None:
    with EarlyWorkers(None, count=2) as early:
        assert run(early, [("double", 4)]) == [8]


def test_workers_of_two_sources_are_refused() -> None:
    with EarlyWorkers(None, count=1) as early, KeptWorkers() as kept, pytest.raises(ValueError, match="not from both"):
        run_tasks(wf.make, [Task("0", ("pid",))], workers=1, early=early, kept=kept)
