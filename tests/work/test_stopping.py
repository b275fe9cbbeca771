"""A command that is stopped, politely or not, leaves no process and no file behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# A command of the command line's own making that asks a program, which tells its process id and then hangs.
CALLER = """
import signal, sys
from functools import partial
import typer
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` leaves it ignored
from auscult.cli import main
sys.path.insert(0, {tests!r})
import stopped_functions as sf
from auscult.work import Task, run_tasks

main.app = typer.Typer()

@main.app.command()
def hang() -> None:
    list(run_tasks(partial(sf.make, {folder!r}), [Task("a", 1)], workers=1))

main.main()
"""


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_for(path: Path) -> int:
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        if path.exists() and path.read_text("ascii").endswith("\n"):
            return int(path.read_text("ascii"))
        time.sleep(0.02)
    raise AssertionError(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked on Linux")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGTERM, 143, id="TERM"),
        pytest.param(signal.SIGHUP, 129, id="HUP", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, id="INT", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, -9, id="KILL"),
    ],
)
def test_a_command_that_is_stopped_takes_everything_along(tmp_path: Path, number: signal.Signals, code: int) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = tmp_path / "caller.py"
    script.write_text(CALLER.format(tests=str(Path(__file__).parent), folder=str(tmp_path)), "utf-8")
    command = subprocess.Popen(
        ["/usr/bin/env", f"TMPDIR={scratch}", sys.executable, script],
        stderr=subprocess.PIPE,
        text=True,
    )
    worker, program = (_wait_for(tmp_path / name) for name in ("worker", "program"))
    assert list(scratch.iterdir())
    command.send_signal(number)
    _, stderr = command.communicate(timeout=20)
    assert command.returncode == code
    limit = time.monotonic() + 5
    while (_alive(worker) or _alive(program)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not _alive(worker)
    assert not _alive(program)
    if number != signal.SIGKILL:
        assert "stopped; what was done is kept" in stderr
        assert not list(scratch.iterdir())
