"""The command `auscult`: its verbs, and what an error looks like."""

from __future__ import annotations

import sys

import typer

from auscult.cli import act, audit, compare, demo, make, records, registered, run, stress, train
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
app.command("demo")(demo.demo)
app.command("audit")(audit.audit)
app.add_typer(make.app, name="make")
app.add_typer(stress.app, name="stress")
app.command("run")(run.run)
app.command("score")(records.score)
app.command("compare")(compare.compare)
app.command("report")(records.report)
app.add_typer(act.app, name="act")
app.command("train")(train.train)
app.command("list")(registered.list_registered)
app.command("doctor")(registered.doctor)
app.command("new")(registered.new)

INTERRUPTED = 130


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
    """Run the command line; every error that auscult raises on purpose is shown without a traceback."""
    try:
        app()
    except AuscultError as error:
        print(f"auscult: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # what typer makes of Ctrl-C, without a word
            _say_stopped()
        raise
    except KeyboardInterrupt:
        _say_stopped()
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _say_stopped() -> None:
    print("auscult: stopped; what was done is kept, and the same command continues", file=sys.stderr)
