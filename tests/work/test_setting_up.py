"""Workers that do not become ready: never, too late, or not the second time; and models that print without end."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import worker_functions as wf

from auscult.errors import UsageError
from auscult.work import Task, run_tasks


@pytest.mark.slow
def test_a_function_that_is_never_made_is_an_error_at_the_limit() -> None:
    start_s = time.monotonic()
    with pytest.raises(UsageError, match=r"a worker process was not set up within 0.5 s") as error:
        list(run_tasks(wf.make_hanging, [Task("a", 1)], workers=1, timeout_s=30, setup_s=0.5))
    assert time.monotonic() - start_s < 20
    assert "raise the limit" in error.value.hint


@pytest.mark.slow
def test_what_is_made_slowly_is_no_time_out_of_its_task() -> None:
    results = list(run_tasks(wf.make_slowly, [Task("a", ("double", 1))], workers=1, timeout_s=0.5))
    assert [result.outcome for result in results] == [2]


def test_a_worker_that_cannot_be_replaced_is_tried_once_more_and_costs_no_task(tmp_path: Path) -> None:
    """The second load fails, as where a lock was left; the third does not."""
    tasks = [Task(str(n), task) for n, task in enumerate([("exit", 1), ("double", 1), ("double", 2)])]
    make = partial(wf.make_unless, str(tmp_path / "made"), (2,))
    outcomes = {result.key: result.outcome for result in run_tasks(make, tasks, workers=1)}
    assert (outcomes["1"], outcomes["2"]) == (2, 4)


@pytest.mark.slow
def test_a_worker_that_cannot_be_replaced_twice_is_an_error(tmp_path: Path) -> None:
    results = run_tasks(
        partial(wf.make_unless, str(tmp_path / "made"), (2, 3)),
        [Task("a", ("exit", 1)), Task("b", ("double", 1))],
        workers=1,
    )
    assert next(results).key == "a"
    with pytest.raises(UsageError, match="the device is held"):
        next(results)


@pytest.mark.slow
def test_those_that_are_ready_go_on_without_one_that_is_not(tmp_path: Path) -> None:
    make = partial(wf.make_unless, str(tmp_path / "made"), (2,), wait_s=0.3)
    tasks = [Task(str(n), ("sleep", 0.2)) for n in range(4)]
    outcomes = [result.outcome for result in run_tasks(make, tasks, workers=2)]
    assert outcomes == [0.2] * 4
    assert len((tmp_path / "made").read_text("ascii")) == 2, "two were started, and one worked"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (wf.make_broken, r"the model was not loaded: KeyError: 'weights' \(at worker_functions.py:"),
        (wf.make_dying, r"the model's process died while it was being loaded \(signal 9, SIGKILL\)"),
        (partial(wf.make_hanging), r"the model was not loaded within 0.4 s"),
    ],
    ids=["raises", "dies", "hangs"],
)
def test_a_model_that_is_not_loaded_is_called_so(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        list(run_tasks(make, [Task("a", 1)], workers=1, setup_s=0.4 if "within" in message else None, stage="predict"))
    assert "doctor" not in error.value.hint
    assert "--timeout" in error.value.hint or "the other models went on" in error.value.hint


def test_a_model_that_prints_without_end_fills_no_error_output(tmp_path: Path) -> None:
    script = tmp_path / "caller.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import worker_functions as wf\n"
        "from auscult.work import Task, run_tasks\n"
        "tasks = [Task('a', ('print much', 3_000_000)), Task('b', ('print much', 10))]\n"
        "for result in run_tasks(wf.make, tasks, workers=1):\n"
        "    print(result.outcome)\n",
        "utf-8",
    )
    completed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert completed.stdout == "3000000\n10\n"
    first, _, last = completed.stderr.partition("\nauscult: 2.9 MB more that was printed at one case are left out\n")
    assert first == "z" * (1 << 16)
    assert last == "z" * 10
