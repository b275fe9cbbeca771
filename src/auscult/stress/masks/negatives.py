"""Other objects of the frame, shared by merge and full_neg: which there are, and which are the hardest.

What another object shares with the target is not part of the negative, so that Eqs. 3 and 7 hold: the two are disjoint.

Source: MQ-RAVSBench, Sec. 3.2, Eqs. 3 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from msgspec import Meta

from auscult.arrays import boxes
from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.rng import pick
from auscult.stress.masks.base import Workpiece, undefined, workpiece
from auscult.stress.perturbation import JsonParams
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata

MOST: Final = 3
"""Negatives per target, the highest box IoU first (Sec. 3.2)."""

LEAST_PX: Final = 16
"""A negative with fewer pixels outside the target is no other object."""

LEAST_SHARE: Final = 0.5
"""Of a clip's frames with a target, those that a track must be made in."""


@dataclass(frozen=True, slots=True)
class OtherParams(JsonParams):
    """Which other object is taken, by its index in ``target.others``."""

    other: Annotated[int, Meta(ge=0, le=1_000_000)]


def ranked(pieces: Sequence[Workpiece], count: int) -> tuple[int, ...]:
    """At most ``MOST`` of ``count`` other objects of a clip, by their index in ``others``, hardest first.

    A still is a clip of one frame. Those that can be used in at least half of the frames come before those that cannot;
    then by falling mean box IoU with the target over all frames (0 in a frame where the object cannot be used); ties by
    their index. Objects that no frame can use are left out.
    """
    scored: list[tuple[bool, float, int]] = []
    for index in range(count):
        ious = [_box_iou(piece, index) for piece in pieces]
        usable = [iou for iou in ious if iou is not None]
        if usable:
            rare = len(usable) < LEAST_SHARE * len(pieces)
            scored.append((rare, -sum(usable) / len(pieces), index))
    return tuple(index for _, _, index in sorted(scored)[:MOST])


def _box_iou(piece: Workpiece, index: int) -> float | None:
    """Box IoU of the target and what another object has outside it; None where that is no object."""
    outside = piece.others[index] & ~piece.mask
    box = boxes.box_of(outside)
    if box is None or np.count_nonzero(outside[boxes.window(box)]) < LEAST_PX:
        return None
    return boxes.box_iou(piece.box, box)


def unusable(piece: Workpiece, other: Mask | None) -> Undefined | None:
    """Why a frame cannot use another object; None where it can."""
    if other is None:
        return Undefined("other_not_annotated")
    if not other.any():
        return Undefined("other_not_visible")
    outside = int(np.count_nonzero(other & ~piece.mask))
    if outside < LEAST_PX:
        return Undefined("other_inside_target", {"outside_px": outside})
    return None


def negative(target: MaskTarget, params: OtherParams) -> Mask:
    """The chosen object's pixels outside the target, a new bool (H, W); an InputError where there is no such object."""
    if params.other >= len(target.others):
        raise InputError(
            f"parameter other is {params.other}, and the target has {len(target.others)} other objects",
            expected="the frame and objects that the parameters were drawn for",
        )
    return target.others[params.other] & ~target.mask


class _Negative:
    """Takes one other object of the frame."""

    difficulties: tuple[Difficulty, ...] = ()
    params = OtherParams

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> OtherParams | Undefined:
        """Draw one of the hardest other objects; undefined where the frame has none."""
        del difficulty
        candidates = ranked([workpiece(target)], len(target.others))
        if not candidates:
            return undefined("no_other_object", others=len(target.others))
        return OtherParams(pick(rng, candidates))


class FullNeg(_Negative):
    """Gives one other object of the frame in place of the target."""

    name = "masks.full_neg.v1"
    defect: Defect = "full_neg"
    meta = Metadata(
        summary="another object of the frame in place of the target",
        goal="the wrong object: right outline, wrong identity",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 3",
        truth="IoU 0, reject",
    )

    def render(self, target: MaskTarget, params: OtherParams) -> Mask:
        """The other object, without what it shares with the target."""
        return negative(target, params)


FULL_NEG = FullNeg()


class Merge(_Negative):
    """Adds one other object of the frame; how bad that is follows from the sizes of the two."""

    name = "masks.merge.v1"
    defect: Defect = "merge"
    meta = Metadata(
        summary="adds another object of the frame to the target",
        goal="semantic over-segmentation: a distractor is taken in with the target",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 7",
        truth="IoU from .9 minor revision (hard), from .75 major revision (medium), below reject (easy)",
    )

    def render(self, target: MaskTarget, params: OtherParams) -> Mask:
        """The target and the other object."""
        return target.mask | negative(target, params)


MERGE = Merge()
