"""Defects through a clip: one kind per track, the same hole, side or other object in every frame.

What is drawn is drawn once per track, in coordinates that go with the object (``body``); per frame only the amount is
found, so that each frame's IoU lies exactly in the window. A frame that allows no such mask is ``Undefined`` by itself.

Rule: a track of which fewer than half of the frames with a target can be made is dropped as a whole. It is still given,
with no mask in any frame, so that it can be counted.

Reasons of a frame, beside those of one frame's stressors: ``no_annotation`` (no mask of the target), ``target_empty``
(out of the picture), ``other_not_annotated``, ``other_not_visible``, ``other_inside_target`` (fewer than 16 pixels of
the other object lie outside the target), ``track_dropped``.

Source: MQ-RAVSBench, Sec. 3.2 (Eqs. 2-7), Sec. 4 (video-based evaluation), Table 3.

Source: MQ-RAVSBench, Sec. 4 (video-based evaluation: all frames of a video share one mask type) and Table 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

import numpy as np

from auscult import rng as randomness
from auscult.arrays import boxes, overlap
from auscult.errors import UsageError
from auscult.outcome import Outcome, Scored, Signature, Undefined
from auscult.stress.masks import bands, fields, negatives, track_bands, track_cutout
from auscult.stress.masks.bands import Side
from auscult.stress.masks.base import WINDOWS, MaskParams, Workpiece, truth_of, undefined
from auscult.stress.masks.body import Body, Posed, bodies
from auscult.stress.masks.perfect import PerfectParams
from auscult.types import DEFECTS, Defect, Difficulty, Mask, MaskTarget, Stressed, StressedMask

LEAST_SHARE: Final = 0.5
"""A track with a smaller share of made frames, of those with a target, is dropped."""

_NEGATIVE: Final = frozenset({"merge", "full_neg"})
_NO_TARGET: Final = frozenset({"no_annotation", "target_empty"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DefectTrack:
    """One defect through a clip.

    Attributes:
        kind: The defect, the same in all frames.
        difficulty: What was asked for; of a merge, what its mean IoU makes it; None for perfect and full_neg.
        index: Number within the kind, from 0. Merges are in order of falling mean IoU, full_negs of falling mean box
            IoU with the target: 0 is the hardest.
        frames: One outcome a frame, in order of time.
        other: Which other object was taken, by its place in ``others``; None for other kinds.
        params: What was drawn for the whole track, as JSON values. Each frame's own parameters hold it too, so that a
            frame replays by itself.
        dropped: Too few frames could be made; none of ``frames`` has a mask then.
    """

    kind: Defect
    difficulty: Difficulty | None
    index: int
    frames: tuple[Outcome[StressedMask], ...]
    other: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    dropped: bool = False

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
    """Apply the rule: at least half of the frames with a target are made, or no frame is.

    Returns:
        The frames, and whether the track was dropped. The frames of a dropped track are all ``Undefined``: those that
        could have been made for the reason ``track_dropped``, with the counts in the detail.
    """
    made = sum(isinstance(frame, Scored) for frame in frames)
    wanted = sum(not (isinstance(frame, Undefined) and frame.reason in _NO_TARGET) for frame in frames)
    if made and made >= LEAST_SHARE * wanted:
        return tuple(frames), False
    dropped = Undefined("track_dropped", {"made": made, "with_target": wanted})
    return tuple(dropped if isinstance(frame, Scored) else frame for frame in frames), True


_MOST: Final = negatives.MOST


def ranked(pieces: Sequence[Workpiece | None], count: int) -> tuple[int, ...]:
    """The other objects to take, hardest first.

    Args:
        pieces: The target of each frame with its others; None where there is no target.
        count: Other objects of the clip.

    Returns:
        At most three, by their place in ``others``. Those that can be used in at least half of the frames with a target
        come before those that cannot; then by falling mean box IoU with the target over all frames with a target (0 in
        a frame where the object cannot be used); ties by their place. Objects that no frame can use are left out.
    """
    present = [piece for piece in pieces if piece is not None]
    scored: list[tuple[bool, float, int]] = []
    for index in range(count):
        found = [box_iou(piece, index) for piece in present]
        usable = [value for value in found if value is not None]
        if usable:
            rare = len(usable) < LEAST_SHARE * len(present)
            scored.append((rare, -sum(usable) / len(present), index))
    return tuple(index for _, _, index in sorted(scored)[:_MOST])


def box_iou(piece: Workpiece, index: int) -> float | None:
    """Box IoU of the target and what another object has outside it; None where that is no object."""
    negative = piece.others[index] & ~piece.mask
    box = boxes.box_of(negative)
    if box is None or np.count_nonzero(negative[boxes.window(box)]) < negatives.LEAST_PX:
        return None
    return boxes.box_iou(piece.box, box)


def unusable(piece: Workpiece, other: Mask | None) -> Undefined | None:
    """Why a frame cannot use another object; None where it can."""
    if other is None:
        return Undefined("other_not_annotated")
    if not other.any():
        return Undefined("other_not_visible")
    outside = int(np.count_nonzero(other & ~piece.mask))
    if outside < negatives.LEAST_PX:
        return Undefined("other_inside_target", {"outside_px": outside})
    return None


MOST_TRACKS: Final = 13
"""1 perfect, 2 cutout, 2 dilate, 2 erode, at most 3 merge and 3 full_neg."""

_PATTERNS: Final = 4  # patterns tried for a track; the one that most frames allow is taken
_WINDOWED: Final[tuple[Difficulty, ...]] = ("hard", "medium")
_NOT_POSED: Final = Body(0.0, 0.0, 1.0, 0.0, 0.0, 1.0)

_Choices: TypeAlias = list[MaskParams | Undefined]


@dataclass(frozen=True, slots=True)
class _ClipTargets:
    """A clip's targets as they are worked on; ``missing`` says why a frame has none."""

    frames: tuple[Posed | None, ...]
    missing: tuple[Undefined, ...]
    others: tuple[tuple[Mask | None, ...], ...]

    @property
    def seen(self) -> list[Posed]:
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
    three other objects, those with the highest mean box IoU with the target.

    Args:
        targets: The object's true mask in each frame, bool (H, W), in order of time; empty where it is out of the
            picture, None where there is no annotation.
        others: For each frame the other objects' masks, in an order that is the same in all frames; None where there is
            no annotation.
        seed: The run's seed.
        key: The instance's id.
        kinds: Defects, in the order wanted.

    Yields:
        Tracks, each with one outcome a frame. A clip without a usable other object gives one merge and one full_neg
        track without a mask, for the reason ``no_other_object``.

    Raises:
        UsageError: The masks of a frame differ in shape or are not bool, ``others`` is not of the length of ``targets``
            or lists another number of objects in some frame, or a kind is no defect.

    Example:
        >>> mask = np.zeros((60, 80), bool); mask[10:40, 20:50] = True
        >>> moved = np.roll(mask, 9, axis=1)
        >>> [track.name for track in variants([mask, moved], [[], []], kinds=["perfect", "erode"])]
        ['perfect', 'erode_hard', 'erode_medium']

    Source:
        MQ-RAVSBench, Sec. 3.2, Eqs. 2-7; Sec. 4.
    """
    names = [fields.one_of(kind, "kind", DEFECTS) for kind in kinds]
    clip = _clip(targets, others)
    for name in names:
        kind = cast("Defect", name)
        if kind == "perfect":
            choices: _Choices = [PerfectParams() for _ in clip.seen]
            yield _track(clip, choices, kind=kind, seed=seed)
        elif kind in {"merge", "full_neg"}:
            yield from _with_each_other(clip, kind, seed=seed)
        else:
            for difficulty in _WINDOWED:
                yield _windowed(clip, kind, difficulty=difficulty, draw=(seed, key))


def render(kind: str, target: MaskTarget, params_json: Mapping[str, Any]) -> Mask:
    """Make one frame of a track again from its recorded parameters.

    Args:
        kind: The track's kind.
        target: The frame's target as it was; see ``target_of``.
        params_json: ``Stressed.params``, as it was or read back from JSON.

    Returns:
        The same mask, bool (H, W), byte for byte.

    Raises:
        InputError: The parameters are not this kind's.
        UsageError: The target is empty.
    """
    defect = cast("Defect", fields.one_of(kind, "kind", DEFECTS))
    params = _reader(defect)(params_json)
    frame = Posed(Workpiece(mask=target.mask, others=target.others), _NOT_POSED)
    if not target.mask.any():
        raise UsageError("the target's mask is empty", expected="the mask that the parameters were found for")
    return _rendered(defect, frame, params)


def target_of(mask: Mask, others: Sequence[Mask | None]) -> MaskTarget:
    """A frame's target for ``render``: other objects without annotation become empty masks, so that places stay."""
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
        _check(target, row, index)
        empty = target is not None and not target.any()
        missing.append(undefined("target_empty") if empty else Undefined("no_annotation"))
        made = None if target is None or empty else target_of(target, row)
        pieces.append(None if made is None else Workpiece(mask=made.mask, others=made.others))
    posed = tuple(
        None if piece is None or body is None else Posed(piece, body)
        for piece, body in zip(pieces, bodies(pieces), strict=True)
    )
    return _ClipTargets(posed, tuple(missing), tuple(tuple(row) for row in others))


def _check(target: Mask | None, others: Sequence[Mask | None], index: int) -> None:
    masks = [mask for mask in (target, *others) if mask is not None]
    for mask in masks:
        if mask.dtype != np.bool_ or mask.ndim != 2 or mask.shape != masks[0].shape:
            raise UsageError(
                f"a mask of frame {index} has shape {mask.shape} and dtype {mask.dtype}",
                expected=f"bool masks of one shape (height, width); the frame's first is {masks[0].shape}",
            )


def _windowed(clip: _ClipTargets, kind: Defect, *, difficulty: Difficulty, draw: tuple[int, str]) -> DefectTrack:
    """The pattern that most frames allow, of a few; the last that are tried fit most shapes."""
    seed, key = draw
    rng = randomness.generator(seed, "tracks", kind, difficulty, key)
    amount = float(rng.random())
    best: _Choices = []
    for attempt in range(_PATTERNS if clip.seen else 0):
        choices = _solved(clip.seen, kind, rng, difficulty=difficulty, amount=amount, plain=attempt == _PATTERNS - 1)
        if not best or _missed(choices) < _missed(best):
            best = choices
        if _missed(best) == 0:
            break
    return _track(clip, best, kind=kind, difficulty=difficulty, seed=seed)


def _missed(choices: _Choices) -> int:
    return sum(isinstance(choice, Undefined) for choice in choices)


def _solved(
    frames: list[Posed],
    kind: Defect,
    rng: np.random.Generator,
    *,
    difficulty: Difficulty,
    amount: float,
    plain: bool,
) -> _Choices:
    """Draw one pattern and find its amount for each frame."""
    side: Side = "outside" if kind == "dilate" else "inside"
    low, high = WINDOWS[difficulty]
    share = 1 - (low + high) / 2
    find: Callable[[Posed, tuple[int, int, int]], MaskParams | Undefined]
    if kind == "cutout":
        holes = track_cutout.draw(rng, frames, share=share)
        find = lambda frame, wanted: track_cutout.solve(frame, holes, wanted=wanted)  # noqa: E731
    else:
        middle = frames[len(frames) // 2]
        pattern = track_bands.draw(rng, middle, share=share, side=side, plain=plain)
        find = lambda frame, wanted: track_bands.solve(frame, pattern, wanted=wanted, side=side)  # noqa: E731
    found: _Choices = []
    for frame in frames:
        fewest, most = bands.needed_px(frame.piece.area_px, difficulty, side=side)
        wanted = (fewest, fewest + round(amount * (most - fewest)), most)
        possible = fewest <= most
        found.append(find(frame, wanted) if possible else undefined("window_not_reached", area_px=frame.piece.area_px))
    return found


def _with_each_other(clip: _ClipTargets, kind: Defect, *, seed: int) -> Iterator[DefectTrack]:
    pieces = [None if frame is None else frame.piece for frame in clip.frames]
    taken = ranked(pieces, clip.count)
    if not taken:
        nothing: _Choices = [undefined("no_other_object", others=clip.count) for _ in clip.seen]
        yield _track(clip, nothing, kind=kind, seed=seed)
        return
    found = [_track(clip, _of_other(clip, other), kind=kind, other=other, seed=seed) for other in taken]
    if kind == "merge":
        # largest mean first, tracks without a made frame last; stable, so equal ones stay in order of box IoU
        found.sort(key=lambda track: (not track.made, -(_mean_iou(track) or 0.0)))
    for index, track in enumerate(found):
        mean = _mean_iou(track)
        yield DefectTrack(
            kind=kind,
            difficulty=None if mean is None else truth_of(kind, mean).difficulty,
            index=index,
            frames=track.frames,
            other=track.other,
            params=track.params,
            dropped=track.dropped,
        )


def _of_other(clip: _ClipTargets, other: int) -> _Choices:
    choices: _Choices = []
    for frame, row in zip(clip.frames, clip.others, strict=True):
        if frame is not None:
            choices.append(unusable(frame.piece, row[other]) or negatives.OtherParams(other))
    return choices


def _mean_iou(track: DefectTrack) -> float | None:
    """Mean IoU of the made frames; None where there is none."""
    found = [frame.value.truth.iou or 0.0 for frame in track.frames if isinstance(frame, Scored)]
    return sum(found) / len(found) if found else None


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
    given = iter(choices)
    frames: list[Outcome[StressedMask]] = []
    for frame, missing in zip(clip.frames, clip.missing, strict=True):
        choice = missing if frame is None else next(given)
        if frame is None or isinstance(choice, Undefined):
            frames.append(cast("Undefined", choice))
        else:
            frames.append(_made(frame, choice, kind=kind, difficulty=difficulty, seed=seed))
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


def _made(
    frame: Posed, params: MaskParams, *, kind: Defect, difficulty: Difficulty | None, seed: int
) -> Scored[StressedMask]:
    output = _rendered(kind, frame, params)
    truth = truth_of(kind, overlap.iou(output, frame.piece.mask))
    window = "none" if difficulty is None else "{}..{}".format(*WINDOWS[difficulty])
    signature = Signature.of(stressor=f"tracks.{kind}.v1", iou_window=window, seed=seed)
    return Scored(Stressed(output=output, params=params.as_json(), truth=truth), signature)


def _reader(kind: Defect) -> Callable[[Mapping[str, Any]], MaskParams]:
    if kind == "perfect":
        return PerfectParams.from_json
    if kind == "cutout":
        return track_cutout.HoleParams.from_json
    if kind in {"dilate", "erode"}:
        return track_bands.WidthParams.from_json
    return negatives.OtherParams.from_json


def _rendered(kind: Defect, frame: Posed, params: MaskParams) -> Mask:
    if isinstance(params, track_cutout.HoleParams):
        return track_cutout.render(frame, params)
    if isinstance(params, track_bands.WidthParams):
        return track_bands.render(frame, params, side="outside" if kind == "dilate" else "inside")
    if isinstance(params, negatives.OtherParams):
        negative = negatives.negative(frame.piece, params)
        return frame.piece.mask | negative if kind == "merge" else negative
    return frame.piece.mask.copy()
