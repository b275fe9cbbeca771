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
from test_pool import gone

from auscult.errors import NothingToDo
from auscult.outcome import Failed
from auscult.work import KeptWorkers, Task, run_tasks


def run(kept: KeptWorkers, payloads: list[Any], *, make: Any = wf.make, workers: int = 1, **how: Any) -> list[Any]:
    tasks = [Task(str(index), payload) for index, payload in enumerate(payloads)]
    results = run_tasks(make, tasks, workers=workers, kept=kept, **how)
    return [result.outcome for result in sorted(results, key=lambda one: int(one.key))]


def test_the_same_process_makes_another_function(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with KeptWorkers() as kept:
        (first,) = run(kept, [("pid",)])
        for _ in range(2):
            assert run(kept, [("pid",), ("double", 4)], make=partial(wf.make_counting, str(made))) == [first, 8]
        assert made.read_text("ascii").split() == [str(first)] * 2
    assert gone(first)


def test_no_more_processes_than_the_largest_run_needs() -> None:
    pids = [("sleep", 0.3), ("pid",), ("sleep", 0.3), ("pid",)]
    with KeptWorkers() as kept:
        found = {pid for _ in range(3) for pid in run(kept, pids, workers=2) if isinstance(pid, int)}
    assert 1 <= len(found) <= 2
    assert all(map(gone, found))


@pytest.mark.parametrize("payload", [("exit", 3), ("signal", signal.SIGSEGV), ("spin",)])
def test_what_was_stopped_is_not_kept(payload: tuple[Any, ...]) -> None:
    with KeptWorkers() as kept:
        (first,) = run(kept, [("pid",)])
        (failed,) = run(kept, [payload], timeout_s=0.3)
        assert isinstance(failed, Failed)
        (second,) = run(kept, [("pid",)])
    assert first != second


def test_one_that_died_idle_costs_no_task() -> None:
    with KeptWorkers() as kept:
        for wait in (0.0, 0.3):  # before and after it is noticed
            (first,) = run(kept, [("pid",)])
            os.kill(first, signal.SIGKILL)
            time.sleep(wait)
            assert run(kept, [("double", 3), ("double", 4)]) == [6, 8]


def test_limits_are_those_of_the_run() -> None:
    with KeptWorkers() as kept:
        run(kept, [("pid",)])
        (over,) = run(kept, [("keep and wait", 400)], make=mf.make, memory_mb=250)
        assert isinstance(over, Failed)
        assert "250 MB" in over.error.error
        (slow,) = run(kept, [("sleep", 5)], timeout_s=0.2)
        assert isinstance(slow, Failed)
        assert run(kept, [("sleep", 0.4)]) == [0.4]


def test_a_function_that_cannot_be_made_says_why_and_the_next_can() -> None:
    with KeptWorkers() as kept:
        run(kept, [("pid",)])
        with pytest.raises(NothingToDo, match="no judge here"):
            run(kept, [("pid",)], make=wf.make_nothing_to_do)
        assert run(kept, [("double", 2)]) == [4]


def test_whoever_stops_to_iterate_leaves_no_process() -> None:
    with KeptWorkers() as kept:
        (first,) = run(kept, [("pid",)])
        results = run_tasks(wf.make, [Task("a", ("pid",)), Task("b", ("sleep", 30))], workers=1, kept=kept)
        assert next(results).outcome == first
        results.close()  # type: ignore[attr-defined]
        assert gone(first)
        (second,) = run(kept, [("pid",)])
    assert gone(second)


def test_the_peak_of_memory_is_that_of_the_function_at_work() -> None:
    with KeptWorkers() as kept:
        (large,) = run(kept, [("peak", 300)], make=mf.make)
        (small,) = run(kept, [("peak", 1)], make=mf.make)
    assert large > 300
    assert small < large - 200
