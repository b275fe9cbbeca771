"""What ``auscult act gate`` says: what was reached, and what may make it untrue."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.act.gate import Search, Step, score_of
from auscult.jobs.gate_calibration import Calibration, version_of
from auscult.record.reader import Run

if TYPE_CHECKING:
    from auscult.jobs.gate import GateOptions

# Two sets count as unlike where their distributions are this far apart and chance explains it in one of a hundred.
_FAR: Final = 0.15
_CHANCE: Final = 0.01


def reached(found: Search, options: GateOptions, *, accepted: int, total: int) -> tuple[str, ...]:
    """The result in sentences: what is accepted, what that rests on, where the search ended."""
    counted = (
        "one mask each" if options.clusters == "one" else "all their masks, by a bound that allows for photographs"
    )
    ended = _ended(found, options)
    if found.chosen is None:
        return ("No mask is accepted: no threshold could be shown to be good enough.", *ended)
    step = found.chosen
    shown = (
        f"Shown with {options.confidence:.4g} confidence: at most {step.bound:.2%} of such masks have a true IoU below "
        f"{options.bad_below:g}. In the calibration set {step.tested_bad} of {step.tested} are, on {step.clusters} "
        f"photographs or clips ({counted}); {step.masks_bad} of all {step.masks}."
    )
    return (
        f"{accepted} of {total} masks are accepted, those with {options.by} from {step.threshold:g}.",
        shown,
        *ended,
    )


def _ended(found: Search, options: GateOptions) -> tuple[str, ...]:
    tried = [step for step in found.steps if step.tried]
    if not tried or tried[-1].passed:
        return ("Every threshold passed, down to the lowest score of the calibration set.",)
    step: Step = tried[-1]
    why = f"a bound of {step.bound:.2%}, over {options.accept_error:.4g}"
    if step.bound <= options.accept_error:
        why = f"{step.masks_bad} of all {step.masks} bad, over {options.accept_error:.4g}, although the bound is not"
    return (f"The search ended at {step.threshold:g}: {step.tested_bad} of {step.tested} bad, {why}.",)


def told(run: Run, calibration: Calibration) -> Iterator[str]:
    """What the two sets say of themselves that a reader should know."""
    if not calibration.grouped:
        yield (
            "The calibration table does not name a photograph (column cluster) for every mask, so each such mask was "
            "taken for a photograph of its own. Where several are of one photograph, the bound is too low."
        )
    if not calibration.judges:
        yield "The calibration table does not name its judge (column judge), so it was not compared with the record's."
    version = version_of(run.manifest)
    if calibration.version and version and calibration.version != version:
        yield f"The calibration set was judged by auscult {calibration.version}, the record by {version}."
    if calibration.untold:
        yield (
            f"{calibration.untold} masks of the calibration set have no true IoU and were left out. If they are worse "
            "than the others, so is what was accepted."
        )
    yield from _shared(run, calibration)
    if not run.finished:
        yield "The audit of the record has not come to its end; masks that it still has to judge are in neither list."


def _shared(run: Run, calibration: Calibration) -> Iterator[str]:
    """Which masks are in both sets: the same content, or in a table, which does not hold it, the same id."""
    promise = "the promise is on masks that are not"
    if calibration.digests:
        shared = sum(row.get("input") in calibration.digests for _, row in run.verdicts)
        told = f"{shared} masks of the record are in the calibration set too; {promise}."
    else:
        ids = {mask.id for mask in calibration.masks}
        shared = sum(verdict.id in ids for verdict, _ in run.verdicts)
        told = f"{shared} masks of the record have an id that the calibration set has too. If it is they: {promise}."
    if shared:
        yield told


def unlike(rows: Sequence[Mapping[str, Any]], calibration: Calibration, *, by: str) -> Iterator[str]:
    """Whether the record's masks look unlike those of the calibration set, by novelty and by estimated score."""
    photographs = len({mask.cluster for mask in calibration.masks}), len({row.get("frame") for row in rows})
    limit = max(_FAR, math.sqrt(-math.log(_CHANCE / 2) / 2 * (1 / photographs[0] + 1 / photographs[1])))
    if calibration.novelty:
        new = np.array([float(row.get("novelty") or 0.0) for row in rows])
        at, there, here = _above(np.array(calibration.novelty), new)
        if here - there > limit:
            yield (
                f"The record looks unlike the calibration set: {here:.0%} of its masks have a novelty above {at:.2f}, "
                f"{there:.0%} there. The promise is on masks like those of the calibration set."
            )
    else:
        yield "The calibration table has no novelty, so whether the record's masks are like it was not checked by that."
    scores = [[score for score in each if score is not None] for each in _scores(rows, calibration, by)]
    if all(scores):
        at, there, here = _above(*(np.array(each) for each in scores), two_sided=True)
        if abs(here - there) > limit:
            yield (
                f"The judge says other things of the record than of the calibration set: {here:.0%} of its masks have "
                f"{by} above {at:.2f}, {there:.0%} there. Check that both are of the same kind."
            )


def _scores(
    rows: Sequence[Mapping[str, Any]], calibration: Calibration, by: str
) -> tuple[list[float | None], list[float | None]]:
    return [mask.score for mask in calibration.masks], [score_of(row, by) for row in rows]


def _above(
    old: NDArray[np.float64], new: NDArray[np.float64], *, two_sided: bool = False
) -> tuple[float, float, float]:
    """Where two distributions are farthest apart, and the shares of old and new values above (Kolmogorov-Smirnov)."""
    places = np.unique(np.concatenate((old, new)))
    there = 1 - np.searchsorted(np.sort(old), places, side="right") / old.size
    here = 1 - np.searchsorted(np.sort(new), places, side="right") / new.size
    apart = np.abs(here - there) if two_sided else here - there
    at = int(np.argmax(apart))
    return float(places[at]), float(there[at]), float(here[at])
