"""``auscult run``: a benchmark end to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auscult.cli import options, show
from auscult.judge import DEFAULT_JUDGE

if TYPE_CHECKING:
    from auscult.suites.registered import SuiteRun

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
    typer.Option("--judge", help="A judge of `auscult list judge`; repeat it for several.", show_default=DEFAULT_JUDGE),
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
Generator = Annotated[
    str,
    typer.Option("--generator", help="Who makes the defects: standard, or freehand (same kinds, other shapes)."),
]
Take = Annotated[
    str, typer.Option("--take", help="Frames of the image protocol: key (one an object), all, or every:N of them.")
]
Objects = Annotated[str, typer.Option("--objects", help="Objects of the source: sample (the suite's numbers), or all.")]
LeastPx = Annotated[int, typer.Option("--least-px", min=0, help="Leave out objects with fewer pixels.")]
SplitsFile = Annotated[
    Path | None,
    typer.Option(
        "--splits-file",
        parser=options.input_path,
        help="JSON of split to names of photographs or sequences, where the source has no splits of its own.",
    ),
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
    generator: Generator = "standard",
    take: Take = "key",
    objects: Objects = "sample",
    least_px: LeastPx = 0,
    splits_file: SplitsFile = None,
    images: options.Images = None,
    policy: options.Policy = "default",
    identity: options.Identity = None,
    identity_weights: options.IdentityWeights = None,
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
        generator=generator,
        take=take,
        objects=objects,
        least_px=least_px,
        splits_file=splits_file,
        images=images,
        policy=policy,
        identity=identity,
        identity_weights=identity_weights,
        workers=workers,
        timeout_s=timeout,
        overwrite=overwrite,
        given=options.given(ctx),
    )
    found = load_suite(suite)
    with show.progress_bar(quiet=quiet) as progress:
        done = found.run(job, progress)
    _tell(done, out, json=json)
    show.exit_code(done.summary, max_failed=max_failed, record=out)


def _tell(done: SuiteRun, out: Path, *, json: bool) -> None:
    """Print the summary as JSON, or the tables that fit a console."""
    if json:
        show.as_json(done.summary.as_json())
        return
    show.tables(done.shown)
    show.say(f"report: {out / 'report.html'}")
