"""Tasks from threads: each result is stored by the thread that has it, also where nobody takes it any more."""

from __future__ import annotations

import time
from contextlib import closing
from threading import Event

import pytest

from auscult.errors import OutputError
from auscult.outcome import Failed
from auscult.work import threads
from auscult.work.pool import Task, TaskResult
from auscult.work.threads import run_threads

TASKS = [Task(str(number), number) for number in range(20)]


def test_what_is_under_way_is_stored_when_the_caller_leaves() -> None:
    started_numbers: list[int] = []
    stored_keys: list[str] = []

    def slow(number: int) -> int:
        started_numbers.append(number)
        time.sleep(0.2 if number else 0.0)
        return number

    results = run_threads(
        lambda: slow, TASKS, threads=4, stage="ask", store=lambda result: stored_keys.append(result.key)
    )
    next(results)
    results.close()  # as an exception or Ctrl-C does in a loop
    assert 1 < len(started_numbers) < len(TASKS)
    assert sorted(stored_keys, key=int) == [str(number) for number in sorted(started_numbers)]


def test_a_result_is_stored_before_it_is_taken() -> None:
    stored_keys: list[str] = []
    results = run_threads(
        lambda: lambda x: x, TASKS, threads=2, stage="ask", store=lambda result: stored_keys.append(result.key)
    )
    with closing(results):
        next(results)
        until = time.monotonic() + 5
        while len(stored_keys) < 4 and time.monotonic() < until:
            time.sleep(0.01)
        assert len(stored_keys) >= 4  # twice as many as threads are done ahead of who takes them


def test_nothing_is_stored_once_the_caller_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LEAVE_S", 0.05)
    stored_keys: list[str] = []
    release, ended = Event(), Event()

    def hangs(number: int) -> int:
        if number:
            release.wait(5)
            ended.set()
        return number

    results = run_threads(
        lambda: hangs, TASKS, threads=2, stage="ask", store=lambda result: stored_keys.append(result.key)
    )
    next(results)
    results.close()
    assert stored_keys == ["0"]
    release.set()
    assert ended.wait(5)
    time.sleep(0.05)
    assert stored_keys == ["0"]


def test_an_error_of_storing_is_raised_and_one_of_a_task_is_a_result() -> None:
    def odd(number: int) -> int:
        if number % 2:
            raise ValueError(number)
        return number

    results = list(run_threads(lambda: odd, TASKS, threads=3, stage="ask"))
    assert sum(isinstance(result.outcome, Failed) for result in results) == len(TASKS) // 2

    def full(_: TaskResult[int]) -> None:
        raise OutputError("the disk is full")

    with pytest.raises(OutputError, match="full"):
        list(run_threads(lambda: odd, TASKS, threads=3, stage="ask", store=full))


def test_a_task_that_hangs_is_failed_and_the_others_go_on() -> None:
    release, stored_keys = Event(), list[str]()

    def hangs(number: int) -> int:
        if number in {0, 1, 7}:  # as many as threads, and one for a thread that took a place
            release.wait(20)
        return number

    start_s = time.monotonic()
    results = run_threads(
        lambda: hangs, TASKS, threads=2, stage="ask", store=lambda result: stored_keys.append(result.key), timeout_s=1.5
    )
    outcomes = {result.key: result.outcome for result in results}
    assert time.monotonic() - start_s < 10
    release.set()
    time.sleep(0.05)
    assert sorted(stored_keys, key=int) == sorted(outcomes, key=int) == [task.key for task in TASKS]
    assert {key for key, outcome in outcomes.items() if isinstance(outcome, Failed)} == {"0", "1", "7"}
    failed = outcomes["7"]
    assert isinstance(failed, Failed)
    assert "1.5 s" in failed.error.error
