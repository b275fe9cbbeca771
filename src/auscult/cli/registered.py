"""``auscult list``, ``doctor``, ``new`` and ``train``: what there is, what works here, how to add to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show


def list_registered(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="stressor, score, judge, identity, model, dataset or suite.")
    ],
    *,
    json: options.Json = False,
) -> None:
    """List what is registered under a kind, built-in and plugged in."""
    from auscult.jobs.registered import describe
    from auscult.report.tables import Table

    rows = describe(kind)
    if json:
        show.as_json([row.as_json() for row in rows])
        return
    cells = tuple((row.name, row.package, row.summary, row.source) for row in rows)
    show.tables(
        [
            Table(
                title=f"{kind}: {len(rows)}",
                header=("name", "package", "what it is", "source"),
                rows=cells,
                note="",
            )
        ]
    )


def doctor(*, json: options.Json = False) -> None:
    """Say what works on this machine, what is missing, and how to get it; exit 1 when something needed is broken."""
    from auscult.jobs.registered import examine
    from auscult.report.tables import Table

    findings = examine()
    if json:
        show.as_json([finding.as_json() for finding in findings])
    else:
        cells = tuple((finding.what, finding.state, finding.detail) for finding in findings)
        show.tables([Table(title="doctor", header=("what", "state", "detail"), rows=cells, note="")])
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(1)


def new(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="stressor, judge, identity or model.")],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Its name, for example `shear`; of a stressor with its room, `vision.dust`."
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to create; auscult-NAME by default.", show_default=False),
    ] = None,
) -> None:
    """Write the skeleton of a plug-in package, with its contract test."""
    from auscult.jobs.new import write_skeleton

    folder = out or Path(f"auscult-{name.rpartition('.')[2].replace('_', '-')}")
    for path in write_skeleton(kind, name, folder=folder):
        print(path)
    measure = f" && python {folder / 'measure.py'}" if kind == "judge" else ""
    show.say(f"next: pip install -e {folder}{measure} && pytest {folder}")


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
