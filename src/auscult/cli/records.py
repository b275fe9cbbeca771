"""``auscult score`` and ``auscult report``: numbers and pages from what is on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show
from auscult.cli.audit import show_record


def score(
    prediction: Annotated[
        Path,
        typer.Argument(metavar="DIR|PRED", help="A record to score again, or a folder of predicted masks."),
    ],
    truth: Annotated[
        Path | None,
        typer.Argument(metavar="TRUTH", help="Folder of the true masks, same names.", show_default=False),
    ] = None,
    *,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="davis2016: union of objects, all frames; davis2017: each object, first and last frame left out.",
        ),
    ] = "davis2016",
    labels: options.Labels = False,
    out: Annotated[Path | None, typer.Option("--out", help="Also write a record there.")] = None,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a record from what it holds, or two folders of masks by J, F and J&F."""
    from auscult.jobs.score import ScoreOptions, score_folders, score_record

    if truth is None:
        summary, shown = score_record(prediction)
    else:
        job = ScoreOptions(
            prediction=prediction,
            truth=truth,
            protocol=protocol,
            labels=labels,
            out=out,
            workers=workers,
            overwrite=overwrite,
        )
        with show.progress_bar(quiet=quiet) as progress:
            summary, shown = score_folders(job, progress)
    if json:
        show.as_json(summary.as_json())
    else:
        show.tables(shown)
    show.exit_code(summary, max_failed=max_failed, record=out)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A record.")],
    *,
    json: options.Json = False,
) -> None:
    """Lay out a record again: report.html, verdicts.csv and the tables, without judging anything."""
    from auscult.jobs.report import report_folder

    summary = report_folder(folder)
    show_record(folder, summary=summary.as_json(), json=json)
