"""``auscult run``: a benchmark end to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auscult.cli import options, show

if TYPE_CHECKING:
    from auscult.suites.registered import Suite, SuiteOptions, SuiteRun

_OF_THE_COMMAND = frozenset({"suite", "max_failed", "json", "quiet"})
"""Options of the command itself, whatever the suite."""


SuiteArgument = Annotated[
    str, typer.Argument(metavar="SUITE", help="A suite of `auscult list suite`, for example mqa.")
]
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
        "--judge",
        help="A judge of `auscult list judge`, for a suite of judges; repeat it for several.",
        show_default="the best that ships",
    ),
]
Count = Annotated[int, typer.Option("--count", min=1, help="How many scenes, with --data scenes.")]
Assets = Annotated[
    Path | None, typer.Option("--assets", help="Folder of cutouts/, sounds/ and backgrounds/ for the scenes.")
]
Protocol = Annotated[str, typer.Option("--protocol", help="Comma-separated: image,video.")]
SplitOption = Annotated[
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
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="For a suite of models: one of `auscult list model`, NAME@WEIGHTS, FILE.py:FUNCTION, predictions:DIR or "
        "'command:PROGRAM ...'; repeat it for several.",
        show_default="none",
    ),
]
Task = Annotated[
    str, typer.Option("--task", help="The task of a suite of models: ris, vos, rvos or avs.", show_default="none")
]
Severity = Annotated[
    str,
    typer.Option("--severity", help="Comma-separated: low, medium, high, numbers from 0 to 5, dynamic."),
]
Perturb = Annotated[
    str,
    typer.Option(
        "--perturb",
        help="Comma-separated, drawn for each case: mix (picture, guidance or both), picture, guidance; none for none.",
    ),
]
Kinds = Annotated[
    str,
    typer.Option("--kind", help="Comma-separated perturbations tried alone; all for the paper's.", show_default="none"),
]
Parts = Annotated[
    str,
    typer.Option(
        "--part", help="Frames that are perturbed: all; with --task vos also first (the reference's) and rest."
    ),
]
Sentences = Annotated[
    Path | None,
    typer.Option("--texts", help="CSV of sentences (id,text or frame,text), for data that has none of its own."),
]
TrueMasks = Annotated[
    Path | None, typer.Option("--masks", help="Folder of the true masks, where the data has several.")
]
Memory = Annotated[int, typer.Option("--memory-mb", min=256, help="Most memory of one worker with its model.")]
Limit = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        min=0.1,
        help="Seconds for the masks of one frame together, or for one case under one condition.",
        show_default="120, or 600 for models",
    ),
]
Inputs = Annotated[
    bool,
    typer.Option("--inputs", help="Also write to OUT/inputs what models are shown, to predict elsewhere."),
]


def run(
    ctx: typer.Context,
    suite: SuiteArgument,
    *,
    data: Data,
    out: options.Out,
    judge: Judges = None,
    model: Models = None,
    task: Task = "",
    severity: Severity = "low,medium,high,dynamic",
    perturb: Perturb = "mix",
    kind: Kinds = "",
    part: Parts = "all",
    texts: Sentences = None,
    masks: TrueMasks = None,
    memory_mb: Memory = 8192,
    inputs: Inputs = False,
    count: Count = 50,
    seed: options.Seed = 0,
    assets: Assets = None,
    protocol: Protocol = "image,video",
    split: SplitOption = "",
    negatives: Negatives = "own",
    generator: Generator = "standard",
    take: Take = "key",
    objects: Objects = "sample",
    least_px: LeastPx = 0,
    splits_file: SplitsFile = None,
    images: options.Images = None,
    policy: options.Policy = "paper",
    identity: options.Identity = None,
    identity_weights: options.IdentityWeights = None,
    workers: options.Workers = None,
    timeout: Limit = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a benchmark: make it, have every judge judge it or every model asked, and write tables and a report."""
    from auscult.suites.registered import load_suite

    found = load_suite(suite)
    job = _job(ctx, found)
    with show.progress_bar(quiet=quiet) as progress:
        done = found.run(job, progress)
    _tell(done, out, json=json)
    show.exit_code(done.summary, max_failed=max_failed, record=out)


def _tell(done: SuiteRun, out: Path, *, json: bool) -> None:
    """Print the summary as JSON, or the tables that fit a console; remarks go to stderr."""
    for remark in done.remarks:
        show.say(remark)
    if json:
        show.as_json(done.summary.as_json())
        return
    show.tables(done.shown)
    show.say(f"report: {out / 'report.html'}")


def _job(ctx: typer.Context, suite: Suite) -> SuiteOptions:
    """What the command asks the suite for."""
    from auscult.suites.registered import data_of, option_names, options_of, refuse_foreign

    spelled = options.given(ctx)
    refuse_foreign(suite, spelled - _OF_THE_COMMAND)
    words = {name: ctx.params[told] for name, told in option_names(suite.options()).items() if told in ctx.params}
    plural = {name for name in words if isinstance(getattr(suite.options(), name, None), tuple)}
    for name in plural:
        if isinstance(words[name], str):
            words[name] = () if (name, words[name]) == ("mixes", "none") else options.names(words[name])
    data = data_of(words["data"])
    words["data"] = options.input_path(words["data"]) if isinstance(data, Path) else data
    asked = {name: value for name, value in words.items() if value is not None}
    return options_of(suite, {**asked, "given": spelled})
