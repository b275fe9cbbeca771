"""The command `auscult`: its verbs, and the display of errors."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import FrameType, MappingProxyType
from typing import Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from auscult.cli.show import clean
from auscult.errors import AuscultError, UsageError
from auscult.version import VERSION

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "demo": ("make:demo", "Audit masks of real photographs, of models and stressed."),
        "audit": ("audit:audit", "Judge every candidate mask of INPUT without ground truth."),
        "make": ("make:app", "Make cases from nothing, with exact truth."),
        "stress": ("stress:app", "Make controlled test material: what can go wrong, on purpose."),
        "run": ("run:run", "Run a benchmark of judges or of models."),
        "ask": ("ask:ask", "Answer a question about a record, by a read-only query."),
        "agent": ("agent:agent", "Plan a study from a sentence, run it, and write its analysis."),
        "score": ("records:score", "Score a record from what it holds, or masks against ground truth."),
        "compare": ("records:compare", "Compare judges, or models under test, from their records."),
        "levels": ("records:levels", "Turn task scores of AVI-Bench into stages and levels."),
        "effects": ("records:effects", "Say what parts of composed models are worth, and what seeds change."),
        "report": ("records:report", "Write the report of a record again, and the hand-over of an audit."),
        "ratings": ("ratings:app", "Have people rate separated sound or an agent's choices."),
        "act": ("act:app", "Turn verdicts into decisions."),
        "train": ("registered:train", "Train a judge, calibrate it, and measure its card."),
        "list": ("registered:list_registered", "List what is registered under a kind."),
        "doctor": ("registered:doctor", "Say what works on this machine and what is missing."),
        "new": ("registered:new", "Write the skeleton of a plug-in package, with its contract test."),
    }
)
"""Each verb: its module, and its help in one line. The module is imported when the verb is called, since options need
numpy, and `auscult --help` does not."""


def _nothing() -> None:
    """An empty callback, with which typer makes a group even of one verb."""


class Verbs(TyperGroup):
    """The verbs, each imported when it is called."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        """Names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]  # noqa: ARG002
        """The command of a name, or None."""
        if cmd_name not in COMMANDS:
            return None
        from auscult.cli.command import App

        module, _, name = COMMANDS[cmd_name][0].partition(":")
        target = getattr(import_module(f"auscult.cli.{module}"), name)
        group = App(add_completion=False, rich_markup_mode=None)
        group.callback()(_nothing)
        if isinstance(target, typer.Typer):
            group.add_typer(target, name=cmd_name)
        else:
            group.command(cmd_name)(target)
        return typer.main.get_group(group).commands[cmd_name]

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """The help's list of verbs, whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


app = typer.Typer(
    name="auscult",
    cls=Verbs,
    help="Audit and stress-test models that segment, separate or answer by reference.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

INTERRUPTED = 130
STOPPED = 128
"""Added to the number of the signal that ended the command, for the exit code."""


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
    """Run the command line; errors of auscult are shown without a traceback.

    SIGTERM, and SIGHUP from a closing terminal, end it like Ctrl-C: worker processes end, and temporary files are
    removed.
    """
    gc.set_threshold(10_000)  # many small objects stay alive: saves a seventh of the time of a resume
    os.environ.setdefault("AUSCULT_STANDSTILL_S", "300")  # see ``work.standstill``
    with _signals_as_interrupts() as received:
        try:
            app(prog_name="auscult")
        except AuscultError as error:
            print(clean(f"auscult: {error}"), file=sys.stderr)
            sys.exit(2)
        except SystemExit as stop:
            if stop.code == INTERRUPTED:  # typer's exit code for Ctrl-C, without a message
                _stop(received)
            raise
        except KeyboardInterrupt:
            _stop(received)
        except OSError as error:
            if received:  # the terminal is gone
                _stop(received)
            if error.errno == errno.ENAMETOOLONG:
                print(clean(f"auscult: {_too_long(str(error.filename))}"), file=sys.stderr)
                sys.exit(2)
            if not isinstance(error, BrokenPipeError):
                raise
            sys.stderr.close()
            sys.exit(0)


def _too_long(name: str) -> UsageError:
    """What is said of a path that no file system takes, such as a whole text given in the place of a file."""
    message = f"the path is too long for the file system: {name[:60]!a}... ({len(name):,} characters)"
    return UsageError(message, expected="the name of a file or folder", hint="shorten it, or name the file itself")


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[list[int]]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt; the list holds the received signal.

    An ignored signal stays ignored, such as SIGHUP under nohup. After the first signal further ones are ignored, since
    stopping takes about two seconds.
    """
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not received:
            received.append(number)
            raise KeyboardInterrupt

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handled = {number: signal.getsignal(number) for number in signals if signal.getsignal(number) == signal.SIG_DFL}
    if threading.current_thread() is not threading.main_thread():  # called from a program with its own handlers
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
