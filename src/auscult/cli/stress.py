"""``auscult stress``: ``masks`` here, the perturbations of what a model is given in ``perturb``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from auscult.cli import perturb, show
from auscult.cli.command import Shown, command
from auscult.errors import UsageError
from auscult.jobs.options import Flag, InputOptions, StressOptions, input_path, names

if TYPE_CHECKING:
    from auscult.jobs.runner import Progress
    from auscult.record.schema import Summary
    from auscult.report.tables import Table

_OF_MASKS = frozenset({"kind", "difficulty"})
_OF_SUITE = frozenset(
    {
        "protocol", "split", "count", "negatives", "key_frame", "generator", "take", "objects", "least_px",
        "splits_file",
    }
)  # fmt: skip

O = TypeVar("O", bound=InputOptions)  # noqa: E741 - the options of a verb


@dataclass(frozen=True, slots=True, kw_only=True)
class MasksOptions(StressOptions):
    """What ``stress masks`` is asked for: defects of the masks of INPUT, or a whole benchmark.

    Attributes:
        suite: Build a whole benchmark instead: mqa, with its sampling and key frames.
        protocols: With --suite: image (one key frame), video (whole clips), or both.
        splits: With --suite: splits of INPUT to take.
        count: With --suite: most instances of a split.
        negatives: With --suite: other objects: the data set's own, or a model that proposes.
        key_frame: With --suite: objects are counted as annotated, or by a model that proposes.
        generator: With --suite: who makes the defects, standard or freehand (other shapes).
        take: With --suite: frames of the image protocol: key, all, or every:N of them.
        objects: With --suite: sample (the numbers of MQ-RAVSBench), or all of INPUT.
        least_px: With --suite: leave out objects with fewer pixels.
        splits_file: With --suite: JSON of split to names of photographs or sequences, for an INPUT without splits.
    """

    suite: str | None = None
    protocols: Annotated[tuple[str, ...], Flag(name="protocol", read=names)] = ("image", "video")
    splits: Annotated[tuple[str, ...], Flag(name="split", read=names, shown="all but val, test_n")] = ()
    count: Annotated[int | None, Flag(least=1, shown="as MQ-RAVSBench")] = None
    negatives: str = "own"
    key_frame: str = "annotated"
    generator: str = "standard"
    take: str = "key"
    objects: str = "sample"
    least_px: Annotated[int, Flag(least=0)] = 0
    splits_file: Annotated[Path | None, Flag(read=input_path)] = None


app = typer.Typer(help="Make controlled test material: what can go wrong, on purpose.", no_args_is_help=True)


@app.callback()
def _stress() -> None:
    """Make controlled test material: what can go wrong, on purpose."""


@app.command("masks")
@command(MasksOptions, without=("scores",))
def stress_masks_command(options: MasksOptions, shown: Shown) -> None:
    """Make the six mask defects from true masks, with the exact IoU of each; writes an INPUT that audit takes."""
    _refuse_mixed(options.suite, options.given)
    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = _made(options, progress)
    if shown.json:
        show.as_json(summary.as_json())
    else:
        show.tables(tables)
        if summary.ok:
            show.say(f"next: {_next(options.suite, options.out)}")
    show.exit_code(summary, max_failed=shown.max_failed, record=options.out)


def _made(options: MasksOptions, progress: Progress) -> tuple[Summary, list[Table]]:
    """Make defects, or build a benchmark alone; ``auscult run`` builds it and has it judged."""
    if options.suite is None:
        from auscult.jobs.stress import stress_masks

        return stress_masks(_only(StressOptions, options), progress)
    from auscult.suites.mqa.build import build_benchmark
    from auscult.suites.mqa.options import BuildOptions

    if options.suite not in {"mqa", "mqa.v1"}:
        raise UsageError(f"there is no benchmark of masks {options.suite!r}", expected="mqa")
    return build_benchmark(_only(BuildOptions, options), progress)


def _only(kind: type[O], options: MasksOptions) -> O:
    """The options that one of the two knows."""
    return kind(**{one.name: getattr(options, one.name) for one in fields(kind)})


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


perturb.register(app)
