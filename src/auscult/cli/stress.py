"""``auscult stress masks``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show

app = typer.Typer(help="Make controlled test material: what can go wrong, on purpose.", no_args_is_help=True)


@app.callback()
def _stress() -> None:
    """Make controlled test material: what can go wrong, on purpose."""


@app.command("masks")
def stress_masks_command(
    ctx: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            parser=options.input_path,
            help="What `auscult audit` takes; its masks are taken as the truth.",
        ),
    ],
    *,
    out: options.Out,
    seed: options.Seed = 0,
    kind: Annotated[
        str,
        typer.Option("--kind", help="Comma-separated: perfect,cutout,dilate,erode,merge,full_neg, or all."),
    ] = "all",
    difficulty: Annotated[
        str, typer.Option("--difficulty", help="Comma-separated: hard (IoU .85-.90), medium (IoU .75-.80).")
    ] = "hard,medium",
    text: options.Text = None,
    texts: options.Texts = None,
    frames: options.Frames = None,
    masks: Annotated[
        Path | None, typer.Option("--masks", help="Folder of the true masks, when not INPUT/masks.")
    ] = None,
    images: options.Images = None,
    instances: options.Instances = None,
    root: options.Root = None,
    labels: options.Labels = False,
    workers: options.Workers = None,
    timeout: options.Timeout = 120.0,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the six mask defects from true masks, with the exact IoU of each; writes an INPUT that audit takes."""
    from auscult.jobs.stress import StressOptions, stress_masks

    job = StressOptions(
        source=source,
        out=out,
        seed=seed,
        kinds=options.names(kind),
        difficulties=options.names(difficulty),
        listing=options.listing(ctx),
        workers=workers,
        timeout_s=timeout,
        overwrite=overwrite,
        given=options.given(ctx),
    )
    with show.progress_bar(quiet=quiet) as progress:
        summary, shown = stress_masks(job, progress)
    if json:
        show.as_json(summary.as_json())
    else:
        show.tables(shown)
        show.say(f"next: auscult audit {out} --out {out}-audit")
    show.exit_code(summary, max_failed=max_failed, record=out)
