"""``auscult ratings``: people who rate separated sound, their tasks, and what they said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from auscult.cli import show
from auscult.cli.command import Commands, Shown, command
from auscult.jobs import rating_tasks as tasks
from auscult.jobs import ratings

app = typer.Typer(help="Have people rate separated sound, and know whom to trust.", no_args_is_help=True, cls=Commands)


@app.callback()
def _ratings() -> None:
    """Have people rate separated sound, and know whom to trust."""


_VERBS: tuple[tuple[str, type, Callable[[Any], ratings.Done], str], ...] = (
    ("qualify", ratings.QualifyOptions, ratings.qualify, "Say which raters of golden items to trust, with intervals."),
    (
        "guide",
        tasks.GuideOptions,
        tasks.make_guide,
        "Write the guideline: nine axes, with sounds high and low on each.",
    ),
    (
        "tasks",
        tasks.TasksOptions,
        tasks.deal_tasks,
        "Deal items to raters as Label Studio's tasks, golden ones hidden.",
    ),
    ("import", ratings.ImportOptions, ratings.import_ratings, "Take people's ratings: average them where they agree."),
    ("export", ratings.ExportRatingsOptions, ratings.export_ratings, "Write ratings as CSV and JSON lines."),
    ("batch", tasks.BatchOptions, tasks.draw_batch, "Draw what people should rate next, balanced."),
)


def _add(name: str, job: Callable[[Any], ratings.Done]) -> Callable[[Any, Shown], None]:
    def run(options: Any, shown: Shown) -> None:
        with show.progress_bar(quiet=shown.quiet, passing=True) as progress:
            progress.stage(f"ratings {name}", 0)
            summary, tables = job(options)
        show.result(summary, tables, shown, record=options.out)

    return run


for _name, _options, _job, _text in _VERBS:
    _run = _add(_name, _job)
    _run.__doc__ = _text
    app.command(_name)(command(_options, without=("workers",))(_run))
