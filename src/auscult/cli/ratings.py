"""``auscult ratings``: people who rate separated sound, their tasks, and what they said."""

from __future__ import annotations

import typer

from auscult.cli import show
from auscult.cli.command import Commands, Shown, command
from auscult.jobs.rating_batches import BatchOptions
from auscult.jobs.rating_tasks import GuideOptions, TasksOptions
from auscult.jobs.ratings import ExportRatingsOptions, ImportOptions, QualifyOptions

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


@app.command("import")
@command(ImportOptions, without=_NOT_ASKED)
def import_people(options: ImportOptions, shown: Shown) -> None:
    """Take people's ratings: drop items on which they differ by more than 1, and average the rest."""
    from auscult.jobs.ratings import import_ratings

    summary, tables = import_ratings(options)
    show.result(summary, tables, shown, record=options.out)


@app.command("export")
@command(ExportRatingsOptions, shown=("json",))
def export_people(options: ExportRatingsOptions, shown: Shown) -> None:
    """Write ratings as CSV, JSON lines or Label Studio's JSON."""
    from auscult.jobs.ratings import export_ratings

    found = export_ratings(options)
    if shown.json:
        show.as_json({"command": "ratings export", "n": len(found.ratings), "out": str(options.out)})
    for _, problem in found.problems:
        show.say(f"left out: {problem.path}:{problem.line}: {problem.error}")
    show.say(f"{len(found.ratings)} ratings written to {options.out}")


@app.command("tasks")
@command(TasksOptions, without=_NOT_ASKED)
def deal(options: TasksOptions, shown: Shown) -> None:
    """Deal items to raters, shuffled and at one loudness, golden ones hidden, as Label Studio's tasks."""
    from auscult.jobs.rating_tasks import deal_tasks

    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = deal_tasks(options, progress)
    show.result(summary, tables, shown, record=options.out)


@app.command("guide")
@command(GuideOptions, without=_NOT_ASKED)
def guide(options: GuideOptions, shown: Shown) -> None:
    """Write the guideline for raters, nine axes with sounds that are high and low on each."""
    from auscult.jobs.rating_tasks import make_guide

    summary, tables = make_guide(options)
    show.result(summary, tables, shown, record=options.out)


@app.command("batch")
@command(BatchOptions, without=_NOT_ASKED)
def batch(options: BatchOptions, shown: Shown) -> None:
    """Draw what people should rate next, balanced; shows the distribution after each batch."""
    from auscult.jobs.rating_batches import draw_batch

    summary, tables = draw_batch(options)
    show.result(summary, tables, shown, record=options.out)
