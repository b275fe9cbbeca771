"""The command `auscult`: its verbs, and what an error looks like."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

import typer

from auscult.cli import act, audit, make, records, registered, run, stress
from auscult.cli.show import clean
from auscult.errors import AuscultError
from auscult.version import VERSION

app = typer.Typer(
    name="auscult",
    help="Audit and stress-test models that segment, separate or answer by reference.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(make.demo)
app.command("audit")(audit.audit)
app.add_typer(make.app, name="make")
app.add_typer(stress.app, name="stress")
app.command("run")(run.run)
app.command("score")(records.score)
app.command("compare")(records.compare)
app.command("report")(records.report)
app.add_typer(act.app, name="act")
app.command("train")(registered.train)
app.command("list")(registered.list_registered)
app.command("doctor")(registered.doctor)
app.command("new")(registered.new)

INTERRUPTED = 130
STOPPED = 128
"""What a signal's number is added to, where it ended the command."""


def _version(value: bool) -> None:
    if value:
        print(f"auscult {VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Audit and stress-test models that segment, separate or answer by reference."""


def main() -> None:
    """Run the command line; every error that auscult raises on purpose is shown without a traceback.

    A polite signal, and a terminal that closes, end it as Ctrl-C does: what it started ends with it, and what it wrote
    for the time being is removed.
    """
    with _signals_as_interrupts() as received:
        try:
            app(prog_name="auscult")
        except AuscultError as error:
            print(clean(f"auscult: {error}"), file=sys.stderr)
            sys.exit(2)
        except SystemExit as stop:
            if stop.code == INTERRUPTED:  # what typer makes of Ctrl-C, without a word
                _stop(received)
            raise
        except KeyboardInterrupt:
            _stop(received)
        except OSError as error:
            if received:  # the terminal that was told so is gone
                _stop(received)
            if not isinstance(error, BrokenPipeError):
                raise
            sys.stderr.close()
            sys.exit(0)


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[list[int]]:
    """Turn SIGTERM and SIGHUP into what Ctrl-C raises; the list tells which came.

    A signal that is ignored stays so, as SIGHUP is under nohup. After one has come the others change nothing: what it
    set going takes two seconds or so.
    """
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not received:
            received.append(number)
            raise KeyboardInterrupt

    asked = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handled = {number: signal.getsignal(number) for number in asked if signal.getsignal(number) == signal.SIG_DFL}
    if threading.current_thread() is not threading.main_thread():  # a program of its own, which has its own handlers
        handled = {}
    for number in handled:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number, before in handled.items():
            signal.signal(number, before)


def _stop(received: list[int]) -> NoReturn:
    with contextlib.suppress(OSError):  # the terminal is gone
        print("auscult: stopped; what was done is kept, and the same command continues", file=sys.stderr)
    sys.exit(STOPPED + received[0] if received else INTERRUPTED)
