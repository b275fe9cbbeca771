"""Other objects of the frame, shared by merge and full_neg: which there are, and which are the hardest.

What another object shares with the target is not part of the negative, so that Eqs. 3 and 7 hold: the two are disjoint.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 3.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from auscult.arrays import boxes
from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.stress.masks import fields
from auscult.stress.masks.base import undefined, workpiece
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata

MOST: Final = 3
"""Negatives per target, the highest box IoU first (Sec. 3.2)."""

LEAST_PX: Final = 16
"""A negative with fewer pixels outside the target is no other object."""

_MANY: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class OtherParams:
    """Which other object is taken, by its place in ``target.others``."""

    other: int

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {"other": self.other}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OtherParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        given = fields.exactly(value, ("other",))
        return cls(fields.whole(given["other"], "other", low=0, high=_MANY))


def ranked(target: MaskTarget) -> tuple[OtherParams, ...]:
    """The usable other objects, hardest first.

    Args:
        target: A target that is not empty.

    Returns:
        At most ``MOST``, by falling box IoU with the target, ties by their place in ``target.others``.
    """
    box = workpiece(target).box
    scored: list[tuple[float, int]] = []
    for index, other in enumerate(target.others):
        negative = other & ~target.mask
        other_box = boxes.box_of(negative)
        if other_box is None or np.count_nonzero(negative[boxes.window(other_box)]) < LEAST_PX:
            continue
        scored.append((-boxes.box_iou(box, other_box), index))
    return tuple(OtherParams(index) for _, index in sorted(scored)[:MOST])


def choose(rng: np.random.Generator, target: MaskTarget) -> OtherParams | Undefined:
    """Draw one of the hardest negatives, or say that the frame has none."""
    candidates = ranked(target)
    if not candidates:
        return undefined("no_other_object", others=len(target.others))
    return candidates[int(rng.integers(len(candidates)))]


def negative(target: MaskTarget, params: OtherParams) -> Mask:
    """The chosen object's pixels outside the target, a new bool (H, W).

    Raises:
        InputError: The target has no such other object.
    """
    if params.other >= len(target.others):
        raise InputError(
            f"parameter other is {params.other}, and the target has {len(target.others)} other objects",
            expected="the frame and objects that the parameters were drawn for",
        )
    outside: Mask = target.others[params.other] & ~target.mask
    return outside


class FullNeg:
    """Gives one other object of the frame in place of the target."""

    name = "masks.full_neg.v1"
    defect: Defect = "full_neg"
    difficulties: tuple[Difficulty, ...] = ()
    params = OtherParams
    meta = Metadata(
        summary="another object of the frame in place of the target",
        goal="the wrong object: right outline, wrong identity",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 3",
        truth="IoU 0, reject",
    )

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> OtherParams | Undefined:
        """Draw one of the hardest other objects; undefined where the frame has none."""
        del difficulty
        return choose(rng, target)

    def render(self, target: MaskTarget, params: OtherParams) -> Mask:
        """The other object, without what it shares with the target."""
        return negative(target, params)


FULL_NEG = FullNeg()


class Merge:
    """Adds one other object of the frame; how bad that is follows from the sizes of the two."""

    name = "masks.merge.v1"
    defect: Defect = "merge"
    difficulties: tuple[Difficulty, ...] = ()
    params = OtherParams
    meta = Metadata(
        summary="adds another object of the frame to the target",
        goal="semantic over-segmentation: a distractor is taken in with the target",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 7",
        truth="IoU from .9 minor revision (hard), from .75 major revision (medium), below reject (easy)",
    )

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> OtherParams | Undefined:
        """Draw one of the hardest other objects; undefined where the frame has none."""
        del difficulty
        return choose(rng, target)

    def render(self, target: MaskTarget, params: OtherParams) -> Mask:
        """The target and the other object."""
        return target.mask | negative(target, params)


MERGE = Merge()
