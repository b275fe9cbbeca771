"""What a caller of run_tasks sees of results, exceptions, crashes and time-outs, with real processes."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import worker_functions as wf

from auscult.errors import NothingToDo, UsageError
from auscult.outcome import Failed
from auscult.work import Task, run_tasks


def run(payloads: list[Any], **options: Any) -> dict[str, Any]:
    options.setdefault("workers", 1)
    tasks = [Task(str(index), payload) for index, payload in enumerate(payloads)]
    results = list(run_tasks(wf.make, tasks, **options))
    assert sorted(result.key for result in results) == sorted(task.key for task in tasks), "each task once"
    return {result.key: result.outcome for result in results}


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def is_gone(pid: int, within_s: float = 5.0) -> bool:
    limit = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    return not alive(pid)


@pytest.mark.parametrize("workers", [0, 1, 4])
def test_every_number_of_workers_gives_the_same_set(workers: int) -> None:
    numbers = range(60)
    results = run_tasks(wf.make, (Task(f"k{n}", ("double", n)) for n in numbers), workers=workers)
    assert sorted((r.key, r.outcome) for r in results) == sorted((f"k{n}", 2 * n) for n in numbers)


def test_no_tasks_is_no_results_and_no_process(tmp_path: Path) -> None:
    counting = tmp_path / "made"
    assert list(run_tasks(partial(wf.make_counting, str(counting)), [], workers=2)) == []
    assert not counting.exists()


def test_the_function_is_made_once_per_worker(tmp_path: Path) -> None:
    pids_file = tmp_path / "made"
    tasks = [Task(str(n), ("sleep", 0.02)) for n in range(30)]
    list(run_tasks(partial(wf.make_counting, str(pids_file)), tasks, workers=2))
    pids = pids_file.read_text("ascii").split()
    assert len(pids) == len(set(pids)) == 2


def test_a_single_task_starts_a_single_process(tmp_path: Path) -> None:
    pids_file = tmp_path / "made"
    list(run_tasks(partial(wf.make_counting, str(pids_file)), [Task("a", ("double", 1))], workers=8))
    assert len(pids_file.read_text("ascii").split()) == 1


def test_tasks_are_taken_lazily() -> None:
    n_taken = 0

    def endless() -> Iterator[Task[Any]]:
        nonlocal n_taken
        for number in itertools.count():
            n_taken += 1
            yield Task(str(number), ("double", number))

    results = run_tasks(wf.make, endless(), workers=2)
    for count, _ in enumerate(itertools.islice(results, 50), start=1):
        assert n_taken <= count + 2 * 2 + 1
    results.close()  # type: ignore[attr-defined]


def test_an_error_of_ours_keeps_its_fields() -> None:
    outcome = run([("input error",)], stage="judge")["0"]
    assert isinstance(outcome, Failed)
    record = outcome.error
    assert (record.stage, record.error, record.expected, record.hint) == (
        "judge",
        "no such mask",
        "a PNG",
        "look again",
    )
    assert (record.path, record.line) == ("a/b.png", 3)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (("value error",), "ValueError: first line second line (at worker_functions.py:"),
        (("library error",), "ValueError: cannot reshape array of size 3 into shape (2,2) (at worker_functions.py:"),
        (("sys.exit", 2), "SystemExit: 2"),
        (("memory",), "out of memory"),
        (("unspeakable",), "Unspeakable (at worker_functions.py:"),
    ],
)
def test_an_exception_costs_its_task_alone(payload: tuple[Any, ...], message: str, workers: int) -> None:
    outcomes = run([("double", 1), payload, ("double", 2)], workers=workers)
    assert (outcomes["0"], outcomes["2"]) == (2, 4)
    assert outcomes["1"].error.error.startswith(message)
    assert "\n" not in outcomes["1"].error.error
    assert outcomes["1"].error.hint


def test_an_interrupt_raised_by_a_task_is_its_failure_in_a_worker_and_the_callers_here() -> None:
    assert run([("interrupt",)])["0"].error.error.startswith("KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        run([("interrupt",)], workers=0)


@pytest.mark.parametrize("payload", [("stubborn result",), ("lambda result",)])
def test_a_result_that_cannot_be_sent_is_a_failure(payload: tuple[Any, ...]) -> None:
    outcomes = run([payload, ("double", 3)])
    assert isinstance(outcomes["0"], Failed)
    assert outcomes["1"] == 6


def test_a_payload_that_cannot_be_sent_is_a_failure() -> None:
    outcomes = run([wf.Stubborn(), ("double", 3), wf.Stubborn()], workers=2)
    assert "stubborn things stay" in outcomes["0"].error.error
    assert isinstance(outcomes["2"], Failed)
    assert outcomes["1"] == 6


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (("exit", 0), "the worker process died (exit status 0)"),
        (("exit", 7), "the worker process died (exit status 7)"),
        (("signal", signal.SIGKILL), "the worker process died (signal 9, SIGKILL)"),
        (("signal", signal.SIGSEGV), "the worker process died (signal 11, SIGSEGV)"),
    ],
)
def test_a_death_costs_its_task_and_the_worker_is_replaced(payload: tuple[Any, ...], message: str) -> None:
    outcomes = run([("double", 1), payload, ("double", 2), ("double", 3)])
    assert outcomes["1"].error.error == message
    assert outcomes["1"].error.hint
    assert [outcomes[key] for key in "023"] == [2, 4, 6]


def test_a_worker_that_dies_idle_costs_nothing() -> None:
    def tasks() -> Iterator[Task[Any]]:
        yield Task("a", ("die soon", 0.05))
        time.sleep(1.0)
        yield Task("b", ("double", 4))

    outcomes = {result.key: result.outcome for result in run_tasks(wf.make, tasks(), workers=1, timeout_s=20)}
    assert outcomes == {"a": None, "b": 8}


def test_every_task_may_kill_its_worker() -> None:
    outcomes = run([("exit", 1)] * 6, workers=2)
    assert all(isinstance(outcome, Failed) for outcome in outcomes.values())


@pytest.mark.parametrize("payload", [("sleep", 60), ("spin",)])
def test_a_hang_is_stopped_at_the_limit(payload: tuple[Any, ...]) -> None:
    start_s = time.monotonic()
    outcomes = run([("double", 1), payload, ("double", 2)], timeout_s=3.0)
    assert time.monotonic() - start_s < 30
    assert outcomes["1"].error.error == "took longer than the limit of 3 s and was stopped"
    assert (outcomes["0"], outcomes["2"]) == (2, 4)


def test_a_slow_reader_of_results_causes_no_time_out() -> None:
    tasks = [Task(str(n), ("double", n)) for n in range(4)]
    outcomes = []
    for result in run_tasks(wf.make, tasks, workers=2, timeout_s=1.0):
        time.sleep(1.1)
        outcomes.append(result.outcome)
    assert sorted(outcomes) == [0, 2, 4, 6]


def test_a_killed_task_takes_its_own_processes_along(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    outcome = run([("grandchild", str(note))], timeout_s=1.0)["0"]
    assert "limit of 1 s" in outcome.error.error
    assert is_gone(int(note.read_text("ascii")))


def test_what_a_plug_in_prints_or_reads_stays_off_the_callers_channels(tmp_path: Path) -> None:
    script = tmp_path / "caller.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import worker_functions as wf\n"
        "from auscult.work import Task, run_tasks\n"
        "for result in run_tasks(wf.make, [Task('a', ('print',))], workers=1):\n"
        "    print(repr(result.outcome))\n",
        "utf-8",
    )
    completed = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, input="for the caller"
    )
    assert completed.stdout == "''\n"
    assert sorted(completed.stderr.splitlines()) == ["talk from a library", "talk from a plug-in"]


def test_a_script_without_a_main_guard_is_not_run_again(tmp_path: Path) -> None:
    """The caller above has none and works; what it defines itself cannot be seen by the workers, and that is said."""
    script = tmp_path / "caller.py"
    script.write_text(
        "from auscult.errors import UsageError\n"
        "from auscult.work import Task, run_tasks\n"
        "def make():\n"
        "    return str\n"
        "try:\n"
        "    list(run_tasks(make, [Task('a', 1)], workers=1))\n"
        "except UsageError as error:\n"
        "    print(error)\n",
        "utf-8",
    )
    completed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "defined in the script itself" in completed.stdout
    assert "workers=0" in completed.stdout
    assert completed.stderr == ""


def test_large_payloads_and_results_pass() -> None:
    size = 5_000_000
    outcomes = run([("length", b"y" * size), ("big", size)])
    assert outcomes["0"] == size
    assert outcomes["1"] == b"x" * size


def test_workers_compute_on_one_processor_each() -> None:
    assert run([("environment", "OMP_NUM_THREADS")])["0"] == "1"
    assert run([("cv2 threads",)])["0"] == 1
    tasks = [Task("a", ("cv2 threads",))]
    assert [result.outcome for result in run_tasks(wf.make_with_cv2, tasks, workers=1)] == [1]


def test_an_error_of_ours_in_make_is_raised_as_it_is() -> None:
    for workers in (0, 2):
        with pytest.raises(NothingToDo, match="no judge here") as error:
            list(run_tasks(wf.make_nothing_to_do, [Task("a", 1)], workers=workers))
        assert error.value.hint == "name one"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (wf.make_broken, r"could not be set up: KeyError: 'weights' \(at worker_functions.py:"),
        (wf.make_dying, r"died while it was being set up \(signal 9, SIGKILL\)"),
        (wf.make_exit, r"could not be set up: SystemExit: 3"),
        (lambda: wf.behave, "cannot be sent to another process"),
    ],
)
def test_a_function_that_cannot_be_made_is_an_error_at_once(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(run_tasks(make, (Task(str(n), ("double", n)) for n in itertools.count()), workers=2))


@pytest.mark.parametrize("options", [{"workers": -1}, {"workers": 1, "timeout_s": 0}, {"workers": 1, "setup_s": -1.0}])
def test_impossible_options_are_refused_before_the_first_result_is_asked_for(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        run_tasks(wf.make, [], **options)


def test_an_error_while_listing_tasks_is_raised_and_ends_the_workers() -> None:
    pids: list[int] = []

    def tasks() -> Iterator[Task[Any]]:
        yield Task("a", ("pid",))
        yield Task("b", ("pid",))
        raise OSError("listing broke")

    with pytest.raises(OSError, match="listing broke"):
        pids.extend(result.outcome for result in run_tasks(wf.make, tasks(), workers=1))
    assert pids
    assert all(is_gone(pid) for pid in pids)


def test_leaving_early_ends_busy_workers_promptly() -> None:
    results = run_tasks(wf.make, [Task("pid", ("pid",)), *(Task(str(n), ("sleep", 60)) for n in range(3))], workers=2)
    pid = next(results).outcome
    assert isinstance(pid, int)
    start_s = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start_s < 20
    assert is_gone(pid)


def test_idle_workers_end_with_the_results() -> None:
    pids = {r.outcome for r in run_tasks(wf.make, [Task(str(n), ("pid",)) for n in range(8)], workers=2)}
    assert all(is_gone(pid) for pid in pids)
    assert os.getpid() not in pids


@pytest.mark.parametrize("payload", [("sleep", 60), ("spin",)])
def test_no_worker_outlives_a_killed_caller(tmp_path: Path, payload: tuple[Any, ...]) -> None:
    pids_file = tmp_path / "made"
    script = tmp_path / "caller.py"
    script.write_text(
        "import sys\n"
        "from functools import partial\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import worker_functions as wf\n"
        "from auscult.work import Task, run_tasks\n"
        f"make = partial(wf.make_counting, {str(pids_file)!r})\n"
        f"list(run_tasks(make, [Task(str(n), {payload!r}) for n in range(2)], workers=2))\n",
        "utf-8",
    )
    caller = subprocess.Popen([sys.executable, script])
    limit = time.monotonic() + 20
    while (not pids_file.exists() or len(pids_file.read_text("ascii").split()) < 2) and time.monotonic() < limit:
        time.sleep(0.02)
    time.sleep(0.1)
    caller.kill()
    caller.wait()
    pids = [int(pid) for pid in pids_file.read_text("ascii").split()]
    assert len(pids) == 2
    assert all(is_gone(pid) for pid in pids)


def test_the_first_result_comes_soon() -> None:
    start_s = time.monotonic()
    results = run_tasks(wf.make_with_cv2, [Task("a", ("double", 1))], workers=1)
    next(results)
    assert time.monotonic() - start_s < 15, "about 0.3 s on an idle machine"
    results.close()  # type: ignore[attr-defined]
