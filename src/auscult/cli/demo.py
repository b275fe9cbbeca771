"""``auscult demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show
from auscult.cli.audit import show_record


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path("auscult-demo"),
    seed: options.Seed = 0,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Audit candidate masks of real photographs: a classical segmenter's and stressed ones."""
    from auscult.jobs.demo import run_demo

    with show.progress_bar(quiet=quiet) as progress:
        summary = run_demo(out, seed=seed, workers=workers, overwrite=overwrite, progress=progress)
    show_record(out, summary=summary.as_json(), json=json)
    show.exit_code(summary, max_failed=max_failed, record=out)
