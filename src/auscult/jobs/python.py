"""The Python API of the main job: arrays or items in, verdicts out; nothing is written or printed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from auscult.act.policy import Policy, decide, load_policy
from auscult.cases.problems import unique
from auscult.errors import InputError, UsageError
from auscult.jobs.judging import VERDICTS, Checker, load_identity, load_judge, make_auditor
from auscult.jobs.runner import Workers, frame_groups
from auscult.judge import DEFAULT_JUDGE
from auscult.media.wav import Sound
from auscult.outcome import Failed
from auscult.record.schema import error_from_json, verdict_from_json
from auscult.types import Case, Frame, IdentityCheck, Item, Mask, MaskJudge, Prediction, Query, Verdict

_LISTED: Final = "auscult.cases.listing.list_items(path).items gives those of a folder or file"


def audit_mask(
    frame: Frame,
    mask: Mask,
    *,
    text: str | None = None,
    others: Sequence[Mask] = (),
    judge: MaskJudge | str = DEFAULT_JUDGE,
    policy: Policy | str = "default",
    identity: IdentityCheck | str | None = None,
    sound: Sound | None = None,
    time_s: float | None = None,
) -> Verdict:
    """Judge one candidate mask without truth.

    Args:
        frame: uint8 RGB (H, W, 3).
        mask: bool (H, W), the candidate.
        text: The referring expression, if any.
        others: Masks of other objects of the frame, each bool (H, W).
        judge: A judge or its name.
        policy: A policy, its name, or a policy file.
        identity: An identity check or its name; None for none.
        sound: The clip's sound, for a check that listens; ``auscult.media.sound.read_sound`` reads a file.
        time_s: The frame's time in the clip.

    Returns:
        The verdict, with the policy's action.

    Raises:
        InputError: An array has another shape or dtype.
        UsageError: Another argument is of another type; no such policy or judge.

    Example:
        >>> import numpy as np
        >>> frame = np.full((80, 120, 3), 60, np.uint8)
        >>> frame[20:60, 30:90] = 200
        >>> mask = np.zeros((80, 120), bool)
        >>> mask[20:60, 30:90] = True
        >>> verdict = audit_mask(frame, mask)
        >>> verdict.action in ("accept", "minor_revision", "major_revision", "reject")
        True
    """
    _check(frame, mask)
    for other in others:
        _check(frame, other)
    if text is not None and not isinstance(text, str):
        raise UsageError(
            f"text is of type {type(text).__name__}",
            expected="the referring expression as a str, or None",
            hint="leave it out if there is none",
        )
    used = load_judge(judge) if isinstance(judge, str) else judge
    rules = _rules(policy)
    checker = None if identity is None else Checker(load_identity(identity) if isinstance(identity, str) else identity)
    case, prediction = Case(id="mask", frame=frame, query=Query(text), others=tuple(others)), Prediction(mask)
    begun = time.perf_counter()
    verdict = used(case, prediction)
    if checker is not None:
        heard = replace(
            case,
            time_s=time_s,
            sound=None if sound is None else sound.samples,
            rate_hz=None if sound is None else sound.rate_hz,
        )
        verdict = checker.joined(verdict, heard, prediction=prediction)
    return decide(replace(verdict, seconds=time.perf_counter() - begun), rules)


def audit(
    items: Iterable[Item],
    *,
    judge: str = DEFAULT_JUDGE,
    policy: Policy | str = "default",
    identity: str | None = None,
    workers: int = 0,
) -> Iterator[Verdict | Failed]:
    """Judge many items, frame by frame.

    Args:
        items: What to judge, for example ``auscult.cases.listing.list_items(path).items``.
        judge: Name of a registered judge.
        policy: A policy, its name, or a policy file.
        identity: Name of a registered identity check; None for none.
        workers: Worker processes; 0 judges in this process.

    Raises:
        UsageError: What is given are no items or no policy; no such judge or identity check.

    Yields:
        A ``Verdict`` for each item that could be judged and a ``Failed`` for each that could not, in the order in
        which they are done; a ``Failed`` names its item in ``error.id``. Of items with one id the first is judged.
    """
    rules = _rules(policy)
    once, twice = unique(_items(items))
    yield from (Failed(replace(error, id=name)) for name, error in twice)
    made = partial(make_auditor, judge, rules, Path(), identity=identity)
    auditors = Workers(make=made, count=workers, stage="judge")
    for group, outcome in auditors.results(frame_groups(once)):
        if isinstance(outcome, Failed):
            yield from (Failed(replace(outcome.error, id=name)) for name in sorted(group.wanted))
        else:
            for judged in outcome:
                if judged.errors:
                    yield Failed(replace(error_from_json(judged.errors[0]), id=judged.id))
                else:
                    yield verdict_from_json(judged.rows[VERDICTS][0])


def _rules(policy: Policy | str) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return load_policy(policy)
    raise UsageError(
        f"policy is of type {type(policy).__name__}",
        expected="a policy's name, a policy file, or what auscult.act.policy.load_policy gives",
        hint="leave it out for the default",
    )


def _items(items: Iterable[Item]) -> tuple[Item, ...]:
    expected = "auscult.Item objects in a list or another iterable"
    if isinstance(items, Item | str | Path) or not isinstance(items, Iterable):
        raise UsageError(
            f"the items are of type {type(items).__name__}",
            expected=expected,
            hint="put it into a list: [item]" if isinstance(items, Item) else _LISTED,
        )
    given = tuple(items)
    for item in given:
        if not isinstance(item, Item):
            raise InputError(f"an item is of type {type(item).__name__}", expected=expected, hint=_LISTED)
    return given


def _check(frame: Frame, mask: Mask) -> None:
    for name, array in (("frame", frame), ("mask", mask)):
        if not isinstance(array, np.ndarray):
            raise InputError(
                f"the {name} is of type {type(array).__name__}",
                expected="a numpy array",
                hint="auscult.media.frames.read_frame and auscult.media.masks.read_mask open files",
            )
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
        raise InputError(
            f"the frame has shape {frame.shape} and dtype {frame.dtype}",
            expected="uint8 RGB (height, width, 3)",
            hint="auscult.media.frames.read_frame reads a file that way",
        )
    if mask.dtype != np.bool_:
        raise InputError(
            f"the mask has dtype {mask.dtype}",
            expected="bool (height, width)",
            hint="threshold it: mask > 0.5",
        )
    if mask.ndim != 2:
        raise InputError(
            f"the mask has shape {mask.shape}, so {mask.ndim} axes",
            expected="bool (height, width)",
            hint=_without(mask.shape),
        )
    if mask.shape != frame.shape[:2]:
        raise InputError(
            f"the mask has shape {mask.shape} and the frame {frame.shape[:2]}",
            expected="equal heights and widths",
            hint="resize the prediction the way the model's own release does; auscult never guesses",
        )


def _without(shape: tuple[int, ...]) -> str:
    """How to make a mask of two axes from an array of this shape."""
    if len(shape) < 2:
        return "give it the frame's height and width: mask.reshape(frame.shape[:2])"
    if sum(length != 1 for length in shape) > 2:
        return "a call judges one mask: pass them one by one, for example mask[0] of (masks, height, width)"
    if len(shape) > 3:
        return "take the axes of length 1 off: mask.squeeze()"
    return (
        f"take the extra axis off: {'mask[0]' if shape[0] == 1 else 'mask[..., 0]' if shape[2] == 1 else 'mask[:, 0]'}"
    )
