"""``auscult run``: a benchmark end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show

Suite = Annotated[str, typer.Argument(metavar="SUITE", help="A suite of `auscult list suite`, for example mqa.")]
Data = Annotated[
    str,
    typer.Option(
        "--data",
        help="A source of true masks, a benchmark made before, or the word scenes for new ones (a folder of that "
        "name goes first).",
    ),
]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge", help="A judge of `auscult list judge`; repeat it for several.", show_default="masks.cues.v1"
    ),
]
Count = Annotated[int, typer.Option("--count", min=1, help="How many scenes, with --data scenes.")]
Assets = Annotated[
    Path | None, typer.Option("--assets", help="Folder of cutouts/, sounds/ and backgrounds/ for the scenes.")
]
Protocol = Annotated[str, typer.Option("--protocol", help="Comma-separated: image,video.")]
Split = Annotated[
    str, typer.Option("--split", help="Comma-separated splits of the source.", show_default="the suite's")
]
Negatives = Annotated[
    str, typer.Option("--negatives", help="Other objects: own (the data set's), or a proposer of regions.")
]


def run(
    ctx: typer.Context,
    suite: Suite,
    *,
    data: Data,
    out: options.Out,
    judge: Judges = None,
    count: Count = 50,
    seed: options.Seed = 0,
    assets: Assets = None,
    protocol: Protocol = "image,video",
    split: Split = "",
    negatives: Negatives = "own",
    images: options.Images = None,
    policy: options.Policy = "default",
    workers: options.Workers = None,
    timeout: options.Timeout = 120.0,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a benchmark: make it, have every judge judge it, and write tables, charts and a report."""
    from auscult.suites.registered import DEFAULT_JUDGES, SCENES, SuiteOptions, data_of, load_suite

    job = SuiteOptions(
        data=SCENES if data_of(data) == SCENES else options.input_path(data),
        out=out,
        judges=tuple(judge or DEFAULT_JUDGES),
        count=count,
        seed=seed,
        assets=assets,
        protocols=options.names(protocol),
        splits=options.names(split),
        negatives=negatives,
        images=images,
        policy=policy,
        workers=workers,
        timeout_s=timeout,
        overwrite=overwrite,
        given=options.given(ctx),
    )
    found = load_suite(suite)
    with show.progress_bar(quiet=quiet) as progress:
        done = found.run(job, progress)
    if json:
        show.as_json(done.summary.as_json())
    else:
        show.tables(done.shown)
        show.say(f"report: {out / 'report.html'}")
    show.exit_code(done.summary, max_failed=max_failed, record=out)
