"""``auscult stress``: ``masks`` here, the perturbations of what a model is given in ``perturb``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auscult.cli import options, perturb, show
from auscult.errors import UsageError

if TYPE_CHECKING:
    from auscult.jobs.runner import Progress
    from auscult.record.schema import Summary
    from auscult.report.tables import Table

_OF_MASKS = frozenset({"kind", "difficulty"})
_MAKING = ("count", "negatives", "key_frame", "generator", "take", "objects", "least_px", "splits_file")
_OF_SUITE = frozenset({"protocol", "split", *_MAKING})
_WANTED = ("protocols", "splits", *_MAKING)

Source = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        parser=options.input_path,
        help="What `auscult audit` takes; its masks are taken as the truth.",
    ),
]
Kind = Annotated[
    str, typer.Option("--kind", help="Comma-separated: perfect,cutout,dilate,erode,merge,full_neg, or all.")
]
Grades = Annotated[str, typer.Option("--difficulty", help="Comma-separated: hard (IoU .85-.90), medium (IoU .75-.80).")]
TrueMasksOption = Annotated[
    Path | None, typer.Option("--masks", help="Folder of the true masks, when not INPUT/masks.")
]
SuiteOption = Annotated[
    str | None, typer.Option("--suite", help="Build a whole benchmark instead: mqa, with its sampling and key frames.")
]
Protocol = Annotated[
    str, typer.Option("--protocol", help="With --suite: image (one key frame), video (whole clips), or both.")
]
SplitOption = Annotated[
    str, typer.Option("--split", help="With --suite: splits of INPUT to take.", show_default="all but val, test_n")
]
Count = Annotated[
    int | None,
    typer.Option("--count", min=1, help="With --suite: most instances of a split.", show_default="as MQ-RAVSBench"),
]
Negatives = Annotated[
    str, typer.Option("--negatives", help="With --suite: other objects: the data set's own, or a model that proposes.")
]
KeyFrame = Annotated[
    str,
    typer.Option("--key-frame", help="With --suite: objects are counted as annotated, or by a model that proposes."),
]
Generator = Annotated[
    str,
    typer.Option("--generator", help="With --suite: who makes the defects, standard or freehand (other shapes)."),
]
Take = Annotated[
    str, typer.Option("--take", help="With --suite: frames of the image protocol: key, all, or every:N of them.")
]
Objects = Annotated[
    str, typer.Option("--objects", help="With --suite: sample (the numbers of MQ-RAVSBench), or all of INPUT.")
]
LeastPx = Annotated[int, typer.Option("--least-px", min=0, help="With --suite: leave out objects with fewer pixels.")]
SplitsFile = Annotated[
    Path | None,
    typer.Option(
        "--splits-file",
        parser=options.input_path,
        help="With --suite: JSON of split to names of photographs or sequences, for an INPUT without splits.",
    ),
]

app = typer.Typer(help="Make controlled test material: what can go wrong, on purpose.", no_args_is_help=True)


@app.callback()
def _stress() -> None:
    """Make controlled test material: what can go wrong, on purpose."""


@app.command("masks")
def stress_masks_command(
    ctx: typer.Context,
    source: Source,
    *,
    out: options.Out,
    seed: options.Seed = 0,
    kind: Kind = "all",
    difficulty: Grades = "hard,medium",
    suite: SuiteOption = None,
    protocol: Protocol = "image,video",
    split: SplitOption = "",
    count: Count = None,
    negatives: Negatives = "own",
    key_frame: KeyFrame = "annotated",
    generator: Generator = "standard",
    take: Take = "key",
    objects: Objects = "sample",
    least_px: LeastPx = 0,
    splits_file: SplitsFile = None,
    text: options.Text = None,
    texts: options.Texts = None,
    frames: options.FramesOption = None,
    masks: TrueMasksOption = None,
    images: options.Images = None,
    instances: options.Instances = None,
    root: options.Root = None,
    labels: options.LabelsOption = False,
    workers: options.Workers = None,
    timeout: options.Timeout = 120.0,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the six mask defects from true masks, with the exact IoU of each; writes an INPUT that audit takes."""
    _refuse_mixed(suite, options.given(ctx))
    shared: dict[str, Any] = {
        "source": source,
        "out": out,
        "seed": seed,
        "listing": options.listing(ctx),
        "workers": workers,
        "timeout_s": timeout,
        "overwrite": overwrite,
        "given": options.given(ctx),
    }
    with show.progress_bar(quiet=quiet) as progress:
        if suite is None:
            summary, shown = _stress_masks(shared, kind=kind, difficulty=difficulty, progress=progress)
        else:
            names = options.names(protocol), options.names(split)
            given = count, negatives, key_frame, generator, take, objects, least_px, splits_file
            wanted = dict(zip(_WANTED, (*names, *given), strict=True))
            summary, shown = _build(suite, shared | wanted, progress)
    if json:
        show.as_json(summary.as_json())
    else:
        show.tables(shown)
        if summary.ok:
            show.say(f"next: {_next(suite, out)}")
    show.exit_code(summary, max_failed=max_failed, record=out)


def _next(suite: str | None, out: Path) -> str:
    if suite is None:  # the others of a frame are variants of one object: together they give it away
        return perturb.as_command("auscult", "audit", out, "--alone", "--out", f"{out}-audit")
    return perturb.as_command("auscult", "run", "mqa", "--data", out, "--out", f"{out}-run")


def _refuse_mixed(suite: str | None, given: frozenset[str]) -> None:
    """Refuse options of the one with the other."""
    wrong = sorted(given & (_OF_SUITE if suite is None else _OF_MASKS))
    if wrong:
        words = ", ".join("--" + name.replace("_", "-") for name in wrong)
        raise UsageError(
            f"{words} {'needs' if suite is None else 'does not go with'} --suite",
            hint="a benchmark holds every kind; --suite mqa builds one"
            if suite is None
            else "leave it out: a benchmark holds every kind and difficulty",
        )


def _stress_masks(
    shared: Mapping[str, Any], *, kind: str, difficulty: str, progress: Progress
) -> tuple[Summary, list[Table]]:
    from auscult.jobs.stress import StressOptions, stress_masks

    chosen: dict[str, Any] = {"kinds": options.names(kind), "difficulties": options.names(difficulty)}
    return stress_masks(StressOptions(**shared, **chosen), progress)


def _build(suite: str, wanted: Mapping[str, Any], progress: Progress) -> tuple[Summary, list[Table]]:
    """Build a benchmark alone; ``auscult run`` builds it and has it judged."""
    from auscult.suites.mqa.build import build_benchmark
    from auscult.suites.mqa.options import BuildOptions

    if suite not in {"mqa", "mqa.v1"}:
        raise UsageError(f"there is no benchmark of masks {suite!r}", expected="mqa")
    return build_benchmark(BuildOptions(**wanted), progress)


perturb.register(app)
