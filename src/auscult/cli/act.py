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


@app.command("gate")
def gate_verdicts(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A record of `auscult audit`.")],
    *,
    calibration: Annotated[
        Path,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="A record of `auscult audit` on masks with truth, or a CSV or .jsonl of id,iou,true_iou,cluster.",
        ),
    ],
    accept_error: Annotated[
        float, typer.Option("--accept-error", help="Share of bad masks that may be among the accepted.")
    ] = 0.05,
    bad_below: Annotated[float, typer.Option("--bad-below", help="A mask is bad if its true IoU is below.")] = 0.75,
    confidence: Annotated[float, typer.Option("--confidence", help="How sure that is to be.")] = 0.95,
    by: Annotated[str, typer.Option("--by", help="What the threshold is put on: iou or iou_low.")] = "iou",
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            help="one: one mask a photograph counts; bound: all do, by a bound that allows for photographs.",
        ),
    ] = "one",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for both lists and the curve; beside DIR by default.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Accept masks unseen, as many as masks with truth show to be good enough, and list the rest to look at."""
    from auscult.jobs.gate import GateOptions, gate_record

    gated = gate_record(
        GateOptions(
            folder=folder,
            calibration=calibration,
            accept_error=accept_error,
            bad_below=bad_below,
            confidence=confidence,
            by=by,
            clusters=clusters,
            out=out,
        )
    )
    if json:
        show.as_json({**gated.as_json(), "ids": list(gated.accepted), "out": str(gated.out)})
    else:
        for sentence in gated.sentences:
            print(sentence)
    for warning in gated.warnings:
        show.say(f"warning: {warning}")
    show.say(f"written to {gated.out}")
