"""``auscult list``, ``doctor``, ``new`` and ``train``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import show
from auscult.cli.command import Shown, command
from auscult.jobs.options import Flag, TrainOptions


@dataclass(frozen=True)
class NoOptions:
    """A command without options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """Which names to list.

    Attributes:
        kind: stressor, score, judge, identity, model, dataset or suite.
    """

    kind: Annotated[str, Flag(metavar="KIND", positional=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOptions:
    """Which plug-in to begin.

    Attributes:
        kind: stressor, judge, identity or model.
        name: Its name, for example `shear`; of a stressor or judge with its room, `vision.dust`.
        out: Folder to create; auscult-NAME by default.
    """

    kind: Annotated[str, Flag(metavar="KIND", positional=True)]
    name: Annotated[str, Flag(metavar="NAME", positional=True)]
    out: Path | None = None


@command(RegistryOptions, shown=("json",))
def list_registered(options: RegistryOptions, shown: Shown) -> None:
    """List what is registered under a kind, built-in and plugged in."""
    from auscult.jobs.registered import describe
    from auscult.report.tables import Table

    rows = describe(options.kind)
    if shown.json:
        show.as_json([asdict(row) for row in rows])
        return
    cells = tuple((row.name, row.package, row.summary, row.source) for row in rows)
    show.tables(
        [
            Table(
                title=f"{options.kind}: {len(rows)}",
                header=("name", "package", "what it is", "source"),
                rows=cells,
                note="",
            )
        ]
    )


@command(NoOptions, shown=("json",))
def doctor(_options: NoOptions, shown: Shown) -> None:
    """Say what works on this machine, what is missing, and how to get it; exit 1 when something needed is broken."""
    from auscult.jobs.registered import examine
    from auscult.report.tables import Table

    findings = examine()
    if shown.json:
        show.as_json([asdict(finding) for finding in findings])
    else:
        cells = tuple((finding.what, finding.state, finding.detail) for finding in findings)
        show.tables([Table(title="doctor", header=("what", "state", "detail"), rows=cells, note="")])
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(1)


@command(NewOptions, shown=())
def new(options: NewOptions, _shown: Shown) -> None:
    """Write the skeleton of a plug-in package, with its contract test."""
    from auscult.jobs.registered import write_skeleton

    folder = options.out or Path(f"auscult-{options.name.rpartition('.')[2].replace('_', '-')}")
    for path in write_skeleton(options.kind, options.name, folder=folder):
        print(path)
    measure = f" && python {folder / 'measure.py'}" if options.kind == "judge" else ""
    show.say(f"next: pip install -e {folder}{measure} && pytest {folder}")


@command(TrainOptions, shown=("quiet",))
def train(options: TrainOptions, shown: Shown) -> None:
    """Train a judge, calibrate it, and measure its card."""
    from auscult.train import recipes

    with show.progress_bar(quiet=shown.quiet) as progress:
        for path in recipes.run(options, progress):
            print(path)
