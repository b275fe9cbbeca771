"""``auscult ratings``: ratings of separated sound or of an agent's choices by people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auscult.agent import review
from auscult.cli import show
from auscult.cli.command import Shown, command, group
from auscult.jobs import ratings, ratings_correlate, ratings_guide

app = group("Have people rate separated sound or an agent's choices.")


def _add(name: str, options: type, job: Callable[[Any], ratings.Done]) -> None:
    def run(options: Any, shown: Shown) -> None:
        with show.progress_bar(quiet=shown.quiet, passing=True) as progress:
            progress.stage(f"ratings {name}", 0)
            summary, tables = job(options)
        show.result(summary, tables, shown, record=options.out)

    run.__doc__ = job.__doc__
    app.command(name)(command(options, without=("workers",))(run))


_add("qualify", ratings.QualifyOptions, ratings.qualify)
_add("guide", ratings_guide.GuideOptions, ratings_guide.make_guide)
_add("tasks", ratings.TasksOptions, ratings.deal_tasks)
_add("import", ratings.ImportOptions, ratings.import_ratings)
_add("export", ratings.RatingsOptions, ratings.export_ratings)
_add("correlate", ratings_correlate.CorrelateOptions, ratings_correlate.correlate)
_add("batch", ratings.BatchOptions, ratings.draw_batch)
_add("choices", review.ChoicesOptions, review.rate_choices)
