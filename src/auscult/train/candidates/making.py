"""Make the candidates of one object."""

from __future__ import annotations

from typing import Final

import numpy as np

from auscult.errors import UsageError
from auscult.train.candidates import amounts, paper
from auscult.train.candidates.base import Candidate, CandidateScene, Draft, Maker
from auscult.train.candidates.mixture import MAKERS, mixture
from auscult.train.candidates.working import Work
from auscult.types import Mask

_TRIES: Final = 3
_TYPES: Final = frozenset({"perfect", "cutout", "dilate", "erode", "merge"})
"""Groups whose candidates must have the type, so that the types stay equally frequent."""


def candidates(target: CandidateScene, rng: np.random.Generator, count: int) -> list[Candidate]:
    """Draw candidates of one object from the mixture.

    A kind that cannot be made (no other object, no room, a wanted IoU out of reach) gives way to another of its group,
    then to another group.

    Args:
        target: The object.
        rng: Everything random is drawn from it.
        count: How many, >= 0.

    Returns:
        ``count`` candidates, in the order drawn.

    Raises:
        UsageError: The true mask is empty, or masks and frame do not fit together.
    """
    work = working(target)
    kinds = [(kind, weight) for kind, weight in mixture(rng) if target.complete or kind not in MAKERS["arbitrary"]]
    names = [kind for kind, _ in kinds]
    weights = np.array([weight for _, weight in kinds])
    weights /= weights.sum()
    made: list[Candidate] = []
    while len(made) < count:
        made.append(_one(work, rng, names[int(rng.choice(len(names), p=weights))], complete=target.complete))
    return made


def of_kind(work: Work, kind: str, rng: np.random.Generator) -> Candidate | None:
    """Make one candidate of a kind, or None where the object does not allow it this time.

    Args:
        work: The object, from ``working``.
        kind: One of ``mixture``'s names.
        rng: Everything random is drawn from it.

    Raises:
        KeyError: No such kind.
    """
    draft = _maker(kind)(work, rng)
    return None if draft is None else _finished(work, kind, draft)


def of_mask(target: CandidateScene, mask: Mask, *, kind: str) -> Candidate | None:
    """A mask that something else made, such as a real model's, as a candidate; None for an empty one.

    Args:
        target: The object it is meant to be.
        mask: bool (H, W).
        kind: What made it.

    Returns:
        A candidate without a type: nobody named its errors.

    Raises:
        UsageError: The masks do not fit together.
    """
    if mask.shape != target.mask.shape or mask.dtype != np.bool_:
        raise UsageError(
            f"the mask has shape {mask.shape} and dtype {mask.dtype}", expected=f"bool {target.mask.shape}"
        )
    return _candidate(working(target), kind, Draft(mask, None)) if mask.any() else None


def working(target: CandidateScene) -> Work:
    """Check a target and make it ready.

    Raises:
        UsageError: The true mask is empty, or masks and frame do not fit together.
    """
    shape = target.mask.shape
    frames = [target.frame] + ([target.before[0]] if target.before else [])
    masks = [target.mask, *target.others] + ([target.before[1]] if target.before else [])
    fitting = all(frame.shape == (*shape, 3) and frame.dtype == np.uint8 for frame in frames)
    if not fitting or any(mask.shape != shape or mask.dtype != np.bool_ for mask in masks):
        raise UsageError(
            f"frames of shapes {[frame.shape for frame in frames]}, masks of shapes {[mask.shape for mask in masks]}",
            expected="uint8 (H, W, 3) and bool (H, W), all of one height and width",
        )
    if not target.mask.any():
        raise UsageError("the true mask is empty", expected="an object to make candidates of")
    return Work(target.frame, target.mask, target.others, before=target.before)


def _one(work: Work, rng: np.random.Generator, kind: str, *, complete: bool) -> Candidate:
    groups = [name for name in MAKERS if complete or name != "arbitrary"]
    group = next(group for group, makers in MAKERS.items() if kind in makers)
    for attempt in range(2 * _TRIES):
        if attempt == _TRIES:
            group = groups[int(rng.integers(len(groups)))]
        made = of_kind(work, kind, rng)
        if made is not None and (group not in _TYPES or made.defect == group):
            return made
        kind = _drawn(group, rng)
    return _candidate(work, "perfect", paper.perfect(work, rng))


def _drawn(group: str, rng: np.random.Generator) -> str:
    names = list(MAKERS[group])
    weights = np.array([MAKERS[group][name][1] for name in names])
    return names[int(rng.choice(len(names), p=weights / weights.sum()))]


def _maker(kind: str) -> Maker:
    return next(makers[kind][0] for makers in MAKERS.values() if kind in makers)


def _finished(work: Work, kind: str, draft: Draft) -> Candidate | None:
    """The candidate; None for a mask that is empty or, unless meant, the truth."""
    made = _candidate(work, kind, draft) if draft.mask.any() else None
    return None if made is not None and made.iou == 1.0 and made.defect != "perfect" else made


def _candidate(work: Work, kind: str, draft: Draft) -> Candidate:
    iou = work.iou(draft.mask)
    difficulty = amounts.difficulty_of(draft.defect, iou)
    return Candidate(mask=work.whole(draft.mask), kind=kind, defect=draft.defect, iou=iou, difficulty=difficulty)
