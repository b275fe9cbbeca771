"""``auscult ratings``: people who rate separated sound, their tasks, and what they said."""

from __future__ import annotations

import typer

from auscult.cli import show
from auscult.cli.command import Commands, Shown, command
from auscult.jobs.ratings import QualifyOptions

app = typer.Typer(help="Have people rate separated sound, and know whom to trust.", no_args_is_help=True, cls=Commands)

_NOT_ASKED = ("workers",)


@app.callback()
def _ratings() -> None:
    """Have people rate separated sound, and know whom to trust."""


@app.command("qualify")
@command(QualifyOptions, without=_NOT_ASKED)
def qualify_raters(options: QualifyOptions, shown: Shown) -> None:
    """Say which raters of golden items to trust, from a posterior of their errors, with intervals."""
    from auscult.jobs.ratings import qualify

    with show.busy("fitting raters"):
        summary, tables = qualify(options)
    show.result(summary, tables, shown, record=options.out)
