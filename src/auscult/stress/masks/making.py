"""Make candidate masks with a known defect: by name, from a recorded choice, or the paper's whole set per target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from auscult import registry
from auscult import rng as randomness
from auscult.arrays import overlap
from auscult.errors import UnknownName, UsageError
from auscult.outcome import Outcome, Scored, Signature, Undefined
from auscult.stress.masks import negatives
from auscult.stress.masks.base import (
    WINDOWED,
    WINDOWS,
    MaskParams,
    MaskStressor,
    Workpiece,
    truth_of,
    undefined,
    workpiece,
)
from auscult.stress.recipe_parts import ROOMS, base_of, room_of
from auscult.types import DEFECTS, Difficulty, Mask, MaskTarget, Stressed, StressedMask

MaskVariant: TypeAlias = tuple[str, Difficulty | None, int, Outcome[StressedMask]]


def stress(
    name: str, target: MaskTarget, *, difficulty: Difficulty = "medium", seed: int = 0, key: str = ""
) -> Scored[StressedMask] | Undefined:
    """Make one candidate mask with one defect.

    Args:
        name: ``masks.erode.v1``, or a short form such as ``erode``.
        target: The true mask, bool (H, W), and the other objects of the frame.
        difficulty: ``hard`` (IoU .85 to .90) or ``medium`` (.75 to .80) for cutout, dilate and erode. Without effect on
            perfect, merge and full_neg, whose IoU follows from the objects.
        seed: The run's seed.
        key: What the mask is made for, the item's id; another key draws another mask.

    Returns:
        The mask with its parameters and truth; or ``Undefined`` when the target does not allow it.

    Raises:
        UnknownName: No such stressor.
        UsageError: The stressor does not know this difficulty, or the masks do not fit together.

    Example:
        >>> mask = np.zeros((60, 80), bool); mask[10:50, 20:60] = True
        >>> made = stress("erode", MaskTarget(mask=mask), difficulty="hard", seed=7)
        >>> 0.85 <= made.value.truth.iou <= 0.90
        True

    Source:
        MQ-RAVSBench, Sec. 3.2, Eqs. 2-7.
    """
    stressor = _stressor(name)
    if stressor.difficulties and difficulty not in stressor.difficulties:
        raise UsageError(
            f"{stressor.name} has no difficulty {difficulty!r}", expected=f"one of: {', '.join(stressor.difficulties)}"
        )
    piece = _checked(target)
    if not piece.mask.any():
        return undefined("target_empty")
    rng = randomness.generator(seed, "stress", stressor.name, difficulty, key)
    params = stressor.choose(rng, piece, difficulty=difficulty)
    return params if isinstance(params, Undefined) else rendered(stressor, piece, params, seed=seed)


def render(name: str, target: MaskTarget, params_json: Mapping[str, Any]) -> Mask:
    """Make a mask again from its recorded parameters.

    Args:
        name: The stressor and version that drew the parameters.
        target: The target they were drawn for.
        params_json: ``Stressed.params``, as it was or read back from JSON.

    Returns:
        The same mask, bool (H, W), byte for byte.

    Raises:
        UnknownName: No such stressor.
        UsageError: The masks do not fit together, or the target is empty.
        InputError: The parameters are not this stressor's.
    """
    stressor = _stressor(name)
    piece = _checked(target)
    if not piece.mask.any():
        raise UsageError("the target's mask is empty", expected="the mask that the parameters were drawn for")
    return stressor.render(piece, stressor.params.from_json(params_json))


def variants(
    target: MaskTarget, *, seed: int = 0, key: str = "", kinds: Sequence[str] = DEFECTS
) -> Iterator[MaskVariant]:
    """The paper's set for one target.

    One perfect mask; a hard and a medium one of cutout, dilate and erode; a full_neg and a merge for each of at most
    three other objects, those with the highest box IoU.

    Args:
        target: The true mask and the other objects of the frame.
        seed: The run's seed.
        key: The item's id.
        kinds: Names of stressors, in the order wanted.

    Yields:
        (kind, difficulty, index, outcome): the stressor's bare name; the requested one, or for a merge what it
        became, None where there is no difficulty; the number within the kind, from 0, for negatives; and the mask or
        why there is none.

    Raises:
        UnknownName: No such stressor.
        UsageError: The masks do not fit together.
    """
    piece = _checked(target)
    for name in kinds:
        stressor = _stressor(name)
        kind = stressor.name.split(".")[-2]
        if not piece.mask.any():
            yield kind, None, 0, undefined("target_empty")
        elif stressor.params is negatives.OtherParams:
            ranking = negatives.ranked([piece], len(piece.others))
            if not ranking:
                yield kind, None, 0, undefined("no_other_object", others=len(piece.others))
            for index, other in enumerate(ranking):
                outcome = rendered(stressor, piece, negatives.OtherParams(other), seed=seed)
                yield kind, outcome.value.truth.difficulty, index, outcome
        elif stressor.difficulties:
            for difficulty in stressor.difficulties:
                yield kind, difficulty, 0, stress(stressor.name, piece, difficulty=difficulty, seed=seed, key=key)
        else:
            yield kind, None, 0, stress(stressor.name, piece, seed=seed, key=key)


def rendered(
    stressor: MaskStressor[Any], piece: Workpiece, params: MaskParams, *, seed: int, name: str = ""
) -> Scored[StressedMask]:
    """Render what was chosen, with its exact truth; ``name`` of the signature, by default the stressor's."""
    output = stressor.render(piece, params)
    truth = truth_of(stressor.defect, overlap.iou(output, piece.mask))
    window = WINDOWS.get(truth.difficulty) if truth.difficulty and stressor.defect in WINDOWED else None
    signature = Signature.of(
        stressor=name or stressor.name, iou_window="none" if window is None else f"{window[0]}..{window[1]}", seed=seed
    )
    return Scored(Stressed(output=output, params=params.as_json(), truth=truth), signature)


def _checked(target: MaskTarget) -> Workpiece:
    # a sequence that draws masks when they are asked for made them of one size
    check_masks((target.mask, *(target.others if isinstance(target.others, tuple) else ())))
    return workpiece(target)


def check_masks(masks: Sequence[Mask], *, of: str = "") -> None:
    """Insist on bool masks of one shape with a UsageError that says ``of`` which frame."""
    for mask in masks:
        if mask.dtype != np.bool_ or mask.ndim != 2 or mask.shape != masks[0].shape:
            raise UsageError(
                f"a mask{of} has shape {mask.shape} and dtype {mask.dtype}",
                expected=f"bool masks of one shape (height, width); the first is {masks[0].shape}",
            )


def find(name: str) -> registry.Entry:
    """Find a mask stressor by its full or short name; for one of another room, the error names the command."""
    try:
        entry = registry.find("stressor", name, besides=(*ROOMS, "separation"))
    except UnknownName as error:
        other = _elsewhere(name)
        raise UnknownName(
            f"{name} is no mask stressor" if other else error.message,
            expected=error.expected,
            hint=f"`auscult stress {room_of(other)} --kind {base_of(other)}` makes it" if other else error.hint,
        ) from error
    if not isinstance(entry.load(), MaskStressor):
        raise UsageError(
            f"what {entry.package} registers as {entry.name} is no mask stressor",
            expected="an object with name, defect, meta, difficulties, params, choose, render",
            hint="the plug-in is at fault; its contract test shows where",
        )
    return entry


def is_graded(name: str) -> bool:
    """Whether a mask stressor makes a mask of each difficulty that is asked for."""
    return bool(_stressor(name).difficulties)


def _elsewhere(name: str) -> str:
    """The full name of what another room has under this name; empty where none or several have."""
    try:
        return registry.find("stressor", name).name
    except UnknownName:
        return ""


@cache
def _stressor(name: str) -> MaskStressor[Any]:
    """Load a stressor once: looking through the installed packages costs more than making a mask."""
    stressor: MaskStressor[Any] = find(name).load()
    return stressor
