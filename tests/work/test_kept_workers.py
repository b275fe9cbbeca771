"""Worker processes that serve one run of tasks after another."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import memory_functions as mf
import pytest
import worker_functions as wf
from test_pool import is_gone

from auscult.errors import NothingToDo
from auscult.outcome import Failed
from auscult.work import KeptWorkers, Task, run_tasks


def run(
    kept_workers: KeptWorkers, payloads: list[Any], *, make: Any = wf.make, workers: int = 1, **options: Any
) -> list[Any]:
    tasks = [Task(str(index), payload) for index, payload in enumerate(payloads)]
    results = run_tasks(make, tasks, workers=workers, kept=kept_workers, **options)
    return [result.outcome for result in sorted(results, key=lambda result: int(result.key))]


def test_the_same_process_makes_another_function(tmp_path: Path) -> None:
    pids_file = tmp_path / "made"
    with KeptWorkers() as kept_workers:
        (first,) = run(kept_workers, [("pid",)])
        for _ in range(2):
            assert run(kept_workers, [("pid",), ("double", 4)], make=partial(wf.make_counting, str(pids_file))) == [
                first,
                8,
            ]
        assert pids_file.read_text("ascii").split() == [str(first)] * 2
    assert is_gone(first)


def test_no_more_processes_than_the_largest_run_needs() -> None:
    pids = [("sleep", 0.3), ("pid",), ("sleep", 0.3), ("pid",)]
    with KeptWorkers() as kept_workers:
        pids_seen = {pid for _ in range(3) for pid in run(kept_workers, pids, workers=2) if isinstance(pid, int)}
    assert 1 <= len(pids_seen) <= 2
    assert all(map(is_gone, pids_seen))


@pytest.mark.parametrize("payload", [("exit", 3), ("signal", signal.SIGSEGV), ("spin",)])
def test_what_was_stopped_is_not_kept(payload: tuple[Any, ...]) -> None:
    with KeptWorkers() as kept_workers:
        (first,) = run(kept_workers, [("pid",)])
        (failed,) = run(kept_workers, [payload], timeout_s=0.3)
        assert isinstance(failed, Failed)
        (second,) = run(kept_workers, [("pid",)])
    assert first != second


def test_one_that_died_idle_costs_no_task() -> None:
    with KeptWorkers() as kept_workers:
        for wait in (0.0, 0.3):  # before and after it is noticed
            (first,) = run(kept_workers, [("pid",)])
            os.kill(first, signal.SIGKILL)
            time.sleep(wait)
            assert run(kept_workers, [("double", 3), ("double", 4)]) == [6, 8]


def test_limits_are_those_of_the_run() -> None:
    with KeptWorkers() as kept_workers:
        run(kept_workers, [("pid",)])
        (over,) = run(kept_workers, [("keep and wait", 400)], make=mf.make, memory_mb=250)
        assert isinstance(over, Failed)
        assert "250 MB" in over.error.error
        (slow,) = run(kept_workers, [("sleep", 5)], timeout_s=0.2)
        assert isinstance(slow, Failed)
        assert run(kept_workers, [("sleep", 0.4)]) == [0.4]


def test_a_function_that_cannot_be_made_says_why_and_the_next_can() -> None:
    with KeptWorkers() as kept_workers:
        run(kept_workers, [("pid",)])
        with pytest.raises(NothingToDo, match="no judge here"):
            run(kept_workers, [("pid",)], make=wf.make_nothing_to_do)
        assert run(kept_workers, [("double", 2)]) == [4]


def test_whoever_stops_to_iterate_leaves_no_process() -> None:
    with KeptWorkers() as kept_workers:
        (first,) = run(kept_workers, [("pid",)])
        results = run_tasks(wf.make, [Task("a", ("pid",)), Task("b", ("sleep", 30))], workers=1, kept=kept_workers)
        assert next(results).outcome == first
        results.close()  # type: ignore[attr-defined]
        assert is_gone(first)
        (second,) = run(kept_workers, [("pid",)])
    assert is_gone(second)


def test_the_peak_of_memory_is_that_of_the_function_at_work() -> None:
    with KeptWorkers() as kept_workers:
        (large,) = run(kept_workers, [("peak", 300)], make=mf.make)
        (small,) = run(kept_workers, [("peak", 1)], make=mf.make)
    assert large > 300
    assert small < large - 200
