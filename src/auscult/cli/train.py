"""``auscult train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show


def train(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to train: prompted-mask, cues, scenes-identity.")],
    *,
    out: options.Out,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of real material; for prompted-mask also an INPUT with truth to fit to."),
    ] = None,
    seed: options.Seed = 0,
    samples: Annotated[int | None, typer.Option("--samples", min=1, help="Samples to train on in all.")] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.0, help="Stop after this long; the same command goes on.")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of the network's arithmetic.")] = 2,
    workers: Annotated[int, typer.Option("--workers", min=0, help="Processes that make batches.")] = 1,
    quiet: options.Quiet = False,
) -> None:
    """Train a judge, calibrate it, and measure its card."""
    from auscult.train import recipes

    job = recipes.RecipeOptions(
        out=out,
        data=data,
        seed=seed,
        samples=samples,
        minutes=minutes,
        device=device,
        threads=threads,
        workers=workers,
    )
    with show.progress_bar(quiet=quiet) as progress:
        for path in recipes.run(name, job, progress):
            print(path)
