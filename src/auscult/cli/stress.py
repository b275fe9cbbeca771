"""``auscult stress``: ``masks`` here, the perturbations of model inputs in ``perturb``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

from auscult.cli import perturb, show
from auscult.cli.command import Shown, command, group, verb_command
from auscult.errors import UsageError
from auscult.jobs.options import InputOptions, NegativesOptions, SeparationStressOptions, StressOptions, specs_of
from auscult.suites.mqa.options import BuildOptions

if TYPE_CHECKING:
    from pathlib import Path

    from auscult.jobs.runner import Progress
    from auscult.record.schema import Summary
    from auscult.report.tables import Table

O = TypeVar("O", bound=InputOptions)  # noqa: E741 - the options of a verb


@dataclass(frozen=True, kw_only=True)
class MasksOptions(StressOptions, BuildOptions):
    """The options of ``stress masks``: defects of the masks of INPUT, or a whole benchmark.

    Attributes:
        suite: Build a whole benchmark instead: mqa, with its sampling and key frames.
    """

    suite: str | None = None


_STRESS, _BUILD = (frozenset(spec.name for spec in specs_of(kind)) for kind in (StressOptions, BuildOptions))
_OF_MASKS, _OF_SUITE = _STRESS - _BUILD, _BUILD - _STRESS

app = group("Make controlled test material: what can go wrong, on purpose.")


@app.command("masks")
@command(MasksOptions, without=("scores",), prefix=dict.fromkeys(_OF_SUITE, "With --suite: "))
def stress_masks_command(options: MasksOptions, shown: Shown) -> None:
    """Make the six mask defects from true masks, with the exact IoU of each; writes an INPUT that audit takes."""
    _refuse_mixed(options.suite, options.given)
    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = _made(options, progress)
    notes = [f"next: {_next(options.suite, options.out)}"] if summary.ok else []
    show.result(summary, tables, shown, record=options.out, notes=notes)


app.command("negatives")(
    verb_command(
        NegativesOptions,
        "negatives:StressNegatives",
        help="Make sentences about what is not in the picture, each with proof, beside the positive ones.",
        notes=True,
    )
)
app.command("separation")(
    verb_command(
        SeparationStressOptions,
        "stress_separation:StressSeparation",
        help="Make of true stems what separators wrongly return, with exact truth; writes an INPUT of sounds.",
    )
)


def _made(options: MasksOptions, progress: Progress) -> tuple[Summary, list[Table]]:
    """Make defects, or build a benchmark without judging it."""
    if options.suite is None:
        from auscult.jobs.stress import stress_masks

        return stress_masks(_only(StressOptions, options), progress)
    from auscult.suites.mqa.build import build_benchmark

    if options.suite not in {"mqa", "mqa.v1"}:
        raise UsageError(f"there is no benchmark of masks {options.suite!r}", expected="mqa")
    return build_benchmark(_only(BuildOptions, options), progress)


def _only(kind: type[O], options: MasksOptions) -> O:
    """The options of one of the two commands."""
    return kind(**{field.name: getattr(options, field.name) for field in fields(kind)})


def _next(suite: str | None, out: Path) -> str:
    if suite is None:  # masks of a frame are variants of one object: shown together they reveal it
        return perturb.as_command("auscult", "audit", out, "--alone", "--out", f"{out}-audit")
    return perturb.as_command("auscult", "run", "mqa", "--data", out, "--out", f"{out}-run")


def _refuse_mixed(suite: str | None, given: frozenset[str]) -> None:
    """Refuse options of a benchmark without one, and of plain defects with one."""
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
