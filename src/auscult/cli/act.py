"""``auscult act``: verdicts into decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show

app = typer.Typer(help="Turn verdicts into decisions.", no_args_is_help=True)


@app.callback()
def _act() -> None:
    """Turn verdicts into decisions."""


@app.command("filter")
def filter_verdicts(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A record of `auscult audit`.")],
    *,
    action: Annotated[
        str, typer.Option("--action", help="Comma-separated: accept, minor_revision, major_revision, reject.")
    ] = "accept",
    defect: Annotated[str | None, typer.Option("--defect", help="Comma-separated defects; all by default.")] = None,
    min_iou: Annotated[
        float | None, typer.Option("--min-iou", min=0.0, max=1.0, help="Only estimated IoU of at least this.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="Decide again by another policy first; nothing is judged again."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for ids.txt, verdicts.csv, coco.json; beside DIR by default."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Pick the items with certain actions, from the record alone; prints their ids, one a line."""
    from auscult.jobs.act import FilterOptions, filter_record

    chosen = filter_record(
        FilterOptions(
            folder=folder,
            actions=options.names(action),
            defects=None if defect is None else options.names(defect),
            min_iou=min_iou,
            policy=policy,
            out=out,
        )
    )
    if json:
        show.as_json(chosen.as_json())
    else:
        for name in chosen.ids:
            print(name)
    show.say(f"{len(chosen.ids)} of {chosen.total} items; written to {chosen.out}")
