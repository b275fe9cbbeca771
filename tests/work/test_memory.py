"""Workers that take more memory than they may, and what workers leave behind."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import memory_functions as mf
import pytest

from auscult.errors import UsageError
from auscult.outcome import Failed
from auscult.work import Task, run_tasks
from auscult.work.process import ProcessTree, resident_mb
from auscult.work.threads import FailedTogether, SharedWorker


def run(payloads: list[Any], make: Any = mf.make, **options: Any) -> list[Any]:
    tasks = [Task(f"{index:03d}", payload) for index, payload in enumerate(payloads)]
    results = run_tasks(make, tasks, workers=1, **options)
    return [result.outcome for result in sorted(results, key=lambda result: result.key)]


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_gone(pid: int) -> bool:
    limit = time.monotonic() + 5
    while is_there(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    return not is_there(pid)


@pytest.mark.parametrize("payload", [("keep and wait", 400), ("child keeps", 400)], ids=["itself", "its child"])
def test_a_task_that_takes_too_much_is_stopped_and_costs_itself(payload: tuple[Any, ...]) -> None:
    outcomes = run([payload, ("where",)], memory_mb=200)
    assert isinstance(outcomes[0], Failed)
    assert outcomes[0].error.error == "took more memory than the limit of 200 MB and was stopped"
    assert outcomes[0].error.hint
    assert outcomes[1] == str(Path.cwd())


def test_a_worker_that_threads_share_is_replaced_and_says_whether_the_cause_is_known() -> None:
    with closing(SharedWorker(mf.make, stage="work", memory_mb=200, setup_s=60.0)) as shared:
        with ThreadPoolExecutor(3) as threads:
            outcomes = list(threads.map(shared, [("keep and wait", 1), ("keep and wait", 400), ("keep and wait", 2)]))
        assert all(isinstance(outcome, FailedTogether) for outcome in outcomes)
        alone = shared(("keep and wait", 400))
        assert type(alone) is Failed
        assert alone.error.error == "took more memory than the limit of 200 MB and was stopped"
        assert shared(("where",)) == str(Path.cwd()), "another process goes on"
        failure, pid = shared(("unknown",)), shared(("keep", 1))
        assert isinstance(failure, Failed)
        assert failure.error.error.startswith("AssertionError: ('unknown',)")
        assert isinstance(pid, int)
    assert is_gone(pid)


def test_a_call_of_a_shared_worker_that_takes_too_long_has_failed_and_another_goes_on() -> None:
    with closing(SharedWorker(mf.make, stage="work", memory_mb=200, setup_s=60.0, timeout_s=0.5)) as shared:
        outcome = shared(("keep and wait", 1))
        assert isinstance(outcome, Failed)
        assert "0.5 s" in outcome.error.error
        assert isinstance(shared(("keep", 1)), int)


def test_a_worker_that_threads_share_is_not_made_above_its_limit() -> None:
    with pytest.raises(UsageError, match="more memory than the limit of 100 MB while it was being set up"):
        SharedWorker(partial(mf.make_large, 200), stage="work", memory_mb=100, setup_s=60.0)


def test_a_leak_from_task_to_task_costs_none() -> None:
    """Ten times 30 MB pass the limit of 200 MB, yet no worker comes to it."""
    pids = run([("keep", 30)] * 10, memory_mb=200)
    assert not any(isinstance(pid, Failed) for pid in pids)
    assert 2 <= len(set(pids)) <= 5
    assert all(is_gone(pid) for pid in pids)


def test_a_worker_that_is_large_from_the_start_stays() -> None:
    pids = run([("keep", 1)] * 5, make=partial(mf.make_large, 200), memory_mb=280)
    assert len(set(pids)) == 1


def test_pages_that_processes_share_are_counted_once() -> None:
    """Three forks of a worker with 60 MB: 240 MB if each were counted for itself."""
    assert run([("children share", 60, 1.0)], memory_mb=160) == [60]


def test_a_function_that_needs_too_much_to_be_made_is_an_error_at_once() -> None:
    with pytest.raises(UsageError, match="limit of 100 MB while it was being set up"):
        run([("where",)], make=partial(mf.make_large, 200), memory_mb=100)


@pytest.mark.parametrize("memory_mb", [0, -1])
def test_impossible_limits_are_refused(memory_mb: int) -> None:
    with pytest.raises(UsageError, match="memory_mb"):
        run_tasks(mf.make, [], workers=1, memory_mb=memory_mb)


def test_what_a_worker_leaves_behind_goes_with_it() -> None:
    child, folder = run([("leave behind",)])[0]
    assert is_gone(child)
    assert not Path(folder).exists()


def test_a_child_that_outlives_its_worker_does_not_hold_up_the_others() -> None:
    start_s = time.monotonic()
    outcomes = run([("hold the pipe",), ("where",)])
    assert time.monotonic() - start_s < 20
    assert outcomes[0].error.error == "the worker process died (exit status 5)"
    assert outcomes[1] == str(Path.cwd())


def test_a_change_of_the_working_folder_ends_with_its_task(tmp_path: Path) -> None:
    assert run([("go", str(tmp_path)), ("where",)]) == [None, str(Path.cwd())]


def test_memory_of_this_process_is_told() -> None:
    assert resident_mb(ProcessTree(os.getpgid(0)), 1e9) > 10
    assert resident_mb(ProcessTree(2**22 + 1), 1e9) == 0


def test_a_child_that_left_the_group_is_counted_and_stopped() -> None:
    start_s = time.monotonic()
    outcome = run([("stray keeps", 300)], memory_mb=200, timeout_s=20)[0]
    assert time.monotonic() - start_s < 15
    assert outcome.error.error == "took more memory than the limit of 200 MB and was stopped"


@pytest.mark.parametrize("end", ["idle", pytest.param("crash", marks=pytest.mark.slow)])
def test_a_child_that_left_the_group_goes_with_its_worker(tmp_path: Path, end: str) -> None:
    """It is in a session of its own, and its parent has ended."""
    note = tmp_path / "pid"
    run([("leave a stray", str(note), end)])
    assert is_gone(int(note.read_text("ascii")))
