"""Defects through a clip: one kind per track, the same hole, side or other object in every frame.

What is drawn is drawn once per track, in coordinates that go with the object (``Body``); per frame only the amount is
found, so that each frame's IoU lies exactly in the window. A frame that allows no such mask is ``Undefined`` by itself.

Rule: a track of which fewer than half of the frames with a target can be made is dropped as a whole. It is still given,
with no mask in any frame, so that it can be counted.

Reasons of a frame, beside those of one frame's stressors: ``no_annotation`` (no mask of the target), ``target_empty``
(out of the picture), ``other_not_annotated``, ``other_not_visible``, ``other_inside_target`` (fewer than 16 pixels of
the other object lie outside the target), ``track_dropped``.

Source: MQ-RAVSBench, Sec. 3.2 (Eqs. 2-7), Sec. 4 (video-based evaluation: all frames of a video share one mask type),
Table 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, cast

import numpy as np

from auscult import rng as randomness
from auscult.errors import InputError, UsageError
from auscult.outcome import Outcome, Scored, Undefined
from auscult.stress.masks import bands, cutout, negatives, perfect
from auscult.stress.masks.base import (
    WINDOWS,
    MaskParams,
    MaskStressor,
    Posed,
    Wanted,
    Workpiece,
    bodies,
    needed_px,
    truth_of,
    undefined,
)
from auscult.stress.masks.making import check_masks, rendered
from auscult.types import DEFECTS, Defect, Difficulty, Mask, MaskTarget, StressedMask

_NEGATIVE: Final = frozenset({"merge", "full_neg"})
_NO_TARGET: Final = frozenset({"no_annotation", "target_empty"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DefectTrack:
    """One defect through a clip.

    Merges are in order of falling mean IoU, full_negs of falling mean box IoU with the target. What was drawn for the
    whole track stands in each frame's own parameters too, so that a frame replays by itself.
    """

    kind: Defect
    difficulty: Difficulty | None  # the requested one; of a merge, what its mean IoU makes it
    index: int  # number within the kind, from 0, the hardest
    frames: tuple[Outcome[StressedMask], ...]  # in order of time
    other: int | None = None  # which other object was taken, by its index in ``others``
    params: Mapping[str, Any] = field(default_factory=dict)  # what was drawn for the whole track, as JSON values
    dropped: bool = False  # too few frames could be made; none has a mask then

    @property
    def name(self) -> str:
        """Unique within its instance: ``perfect``, ``cutout_hard``, ``merge_1``."""
        if self.kind in _NEGATIVE:
            return f"{self.kind}_{self.rank}"
        return self.kind if self.difficulty is None else f"{self.kind}_{self.difficulty}"

    @property
    def rank(self) -> int:
        """1 is the hardest of its kind."""
        return 2 if self.kind not in _NEGATIVE and self.difficulty == "medium" else self.index + 1

    @property
    def made(self) -> int:
        """Frames that have a mask."""
        return sum(isinstance(frame, Scored) for frame in self.frames)

    @property
    def reasons(self) -> Counter[str]:
        """How often each reason kept a frame from being made."""
        return Counter(frame.reason for frame in self.frames if isinstance(frame, Undefined))


def kept(frames: Sequence[Outcome[StressedMask]]) -> tuple[tuple[Outcome[StressedMask], ...], bool]:
    """The frames, without masks where fewer than half of those with a target have one, and whether masks were dropped.

    Frames whose mask was dropped have the reason ``track_dropped``, with the counts in the detail.
    """
    made = sum(isinstance(frame, Scored) for frame in frames)
    expected = sum(not (isinstance(frame, Undefined) and frame.reason in _NO_TARGET) for frame in frames)
    if made and made >= negatives.LEAST_SHARE * expected:
        return tuple(frames), False
    dropped = Undefined("track_dropped", {"made": made, "with_target": expected})
    return tuple(dropped if isinstance(frame, Scored) else frame for frame in frames), True


_PATTERNS: Final = 4  # patterns tried for a track; the one that most frames allow is taken
_WINDOWED: Final[tuple[Difficulty, ...]] = ("hard", "medium")
_STRESSORS: Final[Mapping[Defect, MaskStressor[Any]]] = {
    "perfect": perfect.STRESSOR,
    "cutout": cutout.STRESSOR,
    "dilate": bands.DILATE,
    "erode": bands.ERODE,
    "merge": negatives.MERGE,
    "full_neg": negatives.FULL_NEG,
}

_Choices: TypeAlias = list[MaskParams | Undefined]


@dataclass(frozen=True, slots=True)
class _ClipTargets:
    """A clip's targets as they are worked on; ``missing`` says why a frame has none."""

    frames: tuple[Posed | None, ...]
    missing: tuple[Undefined, ...]
    others: tuple[tuple[Mask | None, ...], ...]

    @property
    def visible(self) -> list[Posed]:
        return [frame for frame in self.frames if frame is not None]

    @property
    def count(self) -> int:
        return len(self.others[0]) if self.others else 0


def variants(
    targets: Sequence[Mask | None],
    others: Sequence[Sequence[Mask | None]],
    *,
    seed: int = 0,
    key: str = "",
    kinds: Sequence[str] = DEFECTS,
) -> Iterator[DefectTrack]:
    """The paper's set of tracks for one object of one clip.

    One perfect track; a hard and a medium one of cutout, dilate and erode; a merge and a full_neg for each of at most
    three other objects, those with the highest mean box IoU with the target; without a usable one, one of each without
    a mask, for the reason ``no_other_object``.

    ``targets`` are the object's true masks, bool (H, W), in order of time: empty where it is out of the picture, None
    where there is no annotation. ``others`` are the other objects' masks of each frame, in an order that is the same in
    all frames; None where there is no annotation. ``key`` is the instance's id.

    Example:
        >>> mask = np.zeros((60, 80), bool); mask[10:40, 20:50] = True
        >>> moved = np.roll(mask, 9, axis=1)
        >>> [track.name for track in variants([mask, moved], [[], []], kinds=["perfect", "erode"])]
        ['perfect', 'erode_hard', 'erode_medium']

    Source:
        MQ-RAVSBench, Sec. 3.2, Eqs. 2-7; Sec. 4.
    """
    names = [_defect(kind) for kind in kinds]
    clip = _clip(targets, others)
    for kind in names:
        if kind == "perfect":
            choices: _Choices = [perfect.PerfectParams() for _ in clip.visible]
            yield _track(clip, choices, kind=kind, seed=seed)
        elif kind in {"merge", "full_neg"}:
            yield from _with_each_other(clip, kind, seed=seed)
        else:
            for difficulty in _WINDOWED:
                yield _windowed(clip, kind, difficulty=difficulty, draw=(seed, key))


def render(kind: str, target: MaskTarget, params_json: Mapping[str, Any]) -> Mask:
    """Make one frame of a track again, byte for byte, from its recorded parameters and its target (``target_of``)."""
    stressor = _STRESSORS[_defect(kind)]
    kind_of_params: type[MaskParams] = getattr(stressor, "frame_params", stressor.params)
    params = kind_of_params.from_json(params_json)
    if not target.mask.any():
        raise UsageError("the target's mask is empty", expected="the mask that the parameters were found for")
    return stressor.render(target, params)


def _defect(kind: str) -> Defect:
    for defect in DEFECTS:
        if kind == defect:
            return defect
    raise InputError(f"parameter kind is {kind[:40]!r}", expected=f"one of: {', '.join(DEFECTS)}")


def target_of(mask: Mask, others: Sequence[Mask | None]) -> MaskTarget:
    """A frame's target for ``render``: other objects without annotation become empty masks, so that indices stay."""
    return MaskTarget(mask=mask, others=tuple(np.zeros_like(mask) if other is None else other for other in others))


def _clip(targets: Sequence[Mask | None], others: Sequence[Sequence[Mask | None]]) -> _ClipTargets:
    lengths = sorted({len(row) for row in others})
    if len(others) != len(targets) or len(lengths) > 1:
        raise UsageError(
            f"{len(targets)} targets, and other objects for {len(others)} frames, {lengths} in each",
            expected="other objects for every frame, as many and in the same order; None where there is no annotation",
        )
    pieces: list[Workpiece | None] = []
    missing: list[Undefined] = []
    for index, (target, row) in enumerate(zip(targets, others, strict=True)):
        check_masks([mask for mask in (target, *row) if mask is not None], of=f" of frame {index}")
        empty = target is not None and not target.any()
        missing.append(undefined("target_empty") if empty else Undefined("no_annotation"))
        mask_target = None if target is None or empty else target_of(target, row)
        pieces.append(None if mask_target is None else Workpiece(mask=mask_target.mask, others=mask_target.others))
    posed = tuple(
        None if piece is None or body is None else Posed(piece, body)
        for piece, body in zip(pieces, bodies(pieces), strict=True)
    )
    return _ClipTargets(posed, tuple(missing), tuple(tuple(row) for row in others))


def _windowed(clip: _ClipTargets, kind: Defect, *, difficulty: Difficulty, draw: tuple[int, str]) -> DefectTrack:
    """Of a few patterns, the one that most frames allow; the last one tried is plain, and fits most shapes."""
    seed, key = draw
    rng = randomness.generator(seed, "tracks", kind, difficulty, key)
    amount = float(rng.random())
    best: _Choices = []
    for attempt in range(_PATTERNS if clip.visible else 0):
        choices = _solved(clip.visible, kind, rng, difficulty=difficulty, amount=amount, plain=attempt == _PATTERNS - 1)
        if not best or _missed(choices) < _missed(best):
            best = choices
        if _missed(best) == 0:
            break
    return _track(clip, best, kind=kind, difficulty=difficulty, seed=seed)


def _missed(choices: _Choices) -> int:
    return sum(isinstance(choice, Undefined) for choice in choices)


def _solved(
    frames: list[Posed], kind: Defect, rng: np.random.Generator, *, difficulty: Difficulty, amount: float, plain: bool
) -> _Choices:
    """Draw one pattern and find its amount for each frame."""
    stressor: Any = _STRESSORS[kind]
    low, high = WINDOWS[difficulty]
    pattern = stressor.draw_track(rng, frames, share=1 - (low + high) / 2, plain=plain)
    choices: _Choices = []
    for frame in frames:
        fewest, most = needed_px(frame.piece.area_px, difficulty, side=stressor.side)
        if fewest > most:
            choices.append(undefined("window_not_reached", area_px=frame.piece.area_px))
        else:
            wanted = Wanted(fewest, fewest + round(amount * (most - fewest)), most)
            choices.append(stressor.fit(frame, pattern, wanted=wanted))
    return choices


def _with_each_other(clip: _ClipTargets, kind: Defect, *, seed: int) -> Iterator[DefectTrack]:
    ranking = negatives.ranked([frame.piece for frame in clip.visible], clip.count)
    if not ranking:
        nothing: _Choices = [undefined("no_other_object", others=clip.count) for _ in clip.visible]
        yield _track(clip, nothing, kind=kind, seed=seed)
        return
    tracks = [_track(clip, _of_other(clip, other), kind=kind, other=other, seed=seed) for other in ranking]
    if kind == "merge":
        # largest mean first, tracks without a made frame last; stable, so equal ones stay in order of box IoU
        tracks.sort(key=lambda track: (not track.made, -(_mean_iou(track) or 0.0)))
    for index, track in enumerate(tracks):
        mean = _mean_iou(track)
        yield replace(track, difficulty=None if mean is None else truth_of(kind, mean).difficulty, index=index)


def _of_other(clip: _ClipTargets, other: int) -> _Choices:
    choices: _Choices = []
    for frame, row in zip(clip.frames, clip.others, strict=True):
        if frame is not None:
            choices.append(negatives.unusable(frame.piece, row[other]) or negatives.OtherParams(other))
    return choices


def _mean_iou(track: DefectTrack) -> float | None:
    """Mean IoU of the made frames; None where there is none."""
    ious = [frame.value.truth.iou or 0.0 for frame in track.frames if isinstance(frame, Scored)]
    return sum(ious) / len(ious) if ious else None


def _track(
    clip: _ClipTargets,
    choices: _Choices,
    *,
    kind: Defect,
    seed: int,
    difficulty: Difficulty | None = None,
    other: int | None = None,
) -> DefectTrack:
    """Render the chosen frames and apply the rule by which tracks are dropped."""
    remaining = iter(choices)
    frames: list[Outcome[StressedMask]] = []
    for frame, missing in zip(clip.frames, clip.missing, strict=True):
        choice = missing if frame is None else next(remaining)
        if frame is None or isinstance(choice, Undefined):
            frames.append(cast("Undefined", choice))
        else:
            frames.append(rendered(_STRESSORS[kind], frame.piece, choice, seed=seed, name=f"tracks.{kind}.v1"))
    outcomes, dropped = kept(frames)
    return DefectTrack(
        kind=kind,
        difficulty=difficulty,
        index=0,
        frames=outcomes,
        other=other,
        params=_shared(choices),
        dropped=dropped,
    )


def _shared(choices: _Choices) -> dict[str, Any]:
    """What all frames of a track have in common."""
    for choice in choices:
        if not isinstance(choice, Undefined):
            return {name: value for name, value in choice.as_json().items() if name in {"holes", "pattern", "other"}}
    return {}
