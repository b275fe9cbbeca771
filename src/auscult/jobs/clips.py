"""Writes ``clips.jsonl``: verdicts and masks of videos aggregated over time, one row for each track.

It is computed from the verdicts, the recorded masks and the frames, and made anew each time, like the comparison with
truth. The frames are read again, in worker processes; numbers that need an unreadable frame are left out. So are those
of a stretch of frames whose worker crashes or takes too long, which ``errors.jsonl`` reports.

Following a clip: frames are read and shrunk one after the other; no more than two are held. Masks come from the record,
as RLE. A frame or mask that cannot be read leaves a gap in the series.

A row of a track: its series runs over the frames of its video from its first item to its last. A frame without an item
of the track counts as one where the mask is missing, unless the track has items on fewer than half of these frames:
then it was sampled, and its own frames are the series.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.act.clips import clip_verdict
from auscult.act.policy import Policy
from auscult.arrays import motion
from auscult.errors import AuscultError, ErrorRecord
from auscult.jobs.clip_tracks import CLIPS, ClipTracks, ObjectTrack
from auscult.jobs.finish import segmentations
from auscult.jobs.runner import ErrorLog, ResultWriter
from auscult.media.frames import read_reduced
from auscult.media.rle import decode
from auscult.outcome import Failed, Scored, Undefined
from auscult.record.codec import to_json
from auscult.record.reader import Verdicts
from auscult.record.schema import DECIMALS, ClipRow, Mark, error_to_json
from auscult.score.masks.video import MaskStep, flicker, is_switch
from auscult.score.stats.trend import Trend, neighbour_medians, oddness, theil_sen
from auscult.types import Frame, Item, Verdict
from auscult.work.pool import Task, run_tasks

Colours: TypeAlias = NDArray[np.float32]

LONGEST = 48
LEAST_CELLS = 16.0
"""Cells of the small frame that a mask must cover for its colours to be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Consecutive frames of a video; the first is also the last of the stretch before."""

    frames: tuple[Path, ...]
    # track to the RLE of its mask on each frame; None where it has none
    masks: Mapping[str, tuple[Mapping[str, Any] | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Areas, steps and colours of one track in a stretch."""

    # share of the frame that the mask covers, 0..1, of each frame; None where there is no mask
    areas: tuple[float | None, ...]
    # the step to each frame but the first; None where a frame or mask is missing
    steps: tuple[MaskStep | None, ...]
    # index of the first frame on which the mask's colours are known, and the colours; None where on none
    first: tuple[int, Colours] | None = field(default=None, compare=False)
    # the colours under the mask where they are known last; None where on no frame
    last: Colours | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SmallMask:
    """A mask on the small frame."""

    area: float
    soft: motion.SoftMask
    colours: NDArray[np.float32] | None


class Follower:
    """Follows the masks of a stretch."""

    def __call__(self, stretch: Stretch) -> dict[str, Followed]:
        """Go through the frames; the result of each track by name."""
        areas: dict[str, list[float | None]] = {name: [] for name in stretch.masks}
        steps: dict[str, list[MaskStep | None]] = {name: [] for name in stretch.masks}
        last: Frame | None = None
        before: dict[str, _SmallMask | None] = {}
        last_colours: dict[str, Colours] = {}
        first: dict[str, tuple[int, Colours]] = {}
        for index, path in enumerate(stretch.frames):
            frame = _small(path)
            now = {name: _seen(frame, masks[index]) for name, masks in stretch.masks.items()}
            between = _between(last, frame) if index else None
            for name, small_mask in now.items():
                areas[name].append(None if small_mask is None else small_mask.area)
                if index:
                    steps[name].append(_step(before[name], small_mask, between, last=last_colours.get(name)))
                if small_mask is not None and small_mask.colours is not None:
                    last_colours[name] = small_mask.colours
                    first.setdefault(name, (index, small_mask.colours))
            last, before = frame, now
        return {
            name: Followed(
                areas=tuple(areas[name]), steps=tuple(steps[name]), first=first.get(name), last=last_colours.get(name)
            )
            for name in stretch.masks
        }


def stretches(frames: Sequence[Path], masks: Mapping[str, Sequence[Mapping[str, Any] | None]]) -> list[Stretch]:
    """Cut a video into stretches of at most ``LONGEST`` steps."""
    return [
        Stretch(
            frames=tuple(frames[begin : begin + LONGEST + 1]),
            masks={name: tuple(rows[begin : begin + LONGEST + 1]) for name, rows in masks.items()},
        )
        for begin in range(0, len(frames) - 1, LONGEST)
    ]


def joined(parts: Sequence[Mapping[str, Followed]]) -> dict[str, Followed]:
    """Join the results of consecutive stretches; each begins with the last frame of the one before."""
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def _joined(parts: Sequence[Followed]) -> Followed:
    areas, steps = [*parts[0].areas[:1]], list[MaskStep | None]()
    first, last = None, None
    for part in parts:
        if part.first is not None and first is None:
            first = len(steps) + part.first[0], part.first[1]
        areas += part.areas[1:]
        steps += _known_before(part, last)
        last = last if part.last is None else part.last
    return Followed(areas=tuple(areas), steps=tuple(steps), first=first, last=last)


def _known_before(part: Followed, last: Colours | None) -> tuple[MaskStep | None, ...]:
    """The steps of a stretch; where the mask reappears, colours are compared with ``last``, of an earlier stretch."""
    index = 0 if part.first is None else part.first[0]
    step = part.steps[index - 1] if index else None
    if part.first is None or last is None or step is None:
        return part.steps
    back = replace(step, colours=motion.colour_distance(last, part.first[1]))
    return (*part.steps[: index - 1], back, *part.steps[index:])


def unseen(stretch: Stretch) -> dict[str, Followed]:
    """The result of a stretch that could not be followed: all values None."""
    count = len(stretch.frames)
    return {name: Followed(areas=(None,) * count, steps=(None,) * (count - 1)) for name in stretch.masks}


def _small(path: Path) -> Frame | None:
    try:
        frame, size = read_reduced(path, least=motion.MOST_HEIGHT)
    except AuscultError:
        return None
    return motion.small_frame(frame, size)


def _between(last: Frame | None, frame: Frame | None) -> motion.FlowStep | None:
    if last is None or frame is None or last.shape != frame.shape:
        return None
    return motion.step_between(last, frame)


def _seen(frame: Frame | None, segmentation: Mapping[str, Any] | None) -> _SmallMask | None:
    if segmentation is None:
        return None
    try:
        mask = decode(segmentation)
    except AuscultError:
        return None
    soft = motion.small_mask(mask)
    colours = None
    if frame is not None and soft.shape == frame.shape[:2] and float(soft.sum()) >= LEAST_CELLS:
        colours = motion.colours_of(frame, soft)
    return _SmallMask(area=float(np.count_nonzero(mask)) / mask.size, soft=soft, colours=colours)


def _step(
    before: _SmallMask | None, after: _SmallMask | None, between: motion.FlowStep | None, *, last: Colours | None
) -> MaskStep | None:
    """The step to a mask; ``last`` are the colours under the track's mask when it was last there."""
    if after is None or between is None or after.soft.shape != between.followed.shape:
        return None
    pair = None if last is None or after.colours is None else (last, after.colours)
    colours = None if pair is None else motion.colour_distance(*pair)
    if before is None or before.soft.shape != after.soft.shape:
        return MaskStep(iou=None, followed=0.0, everywhere=None, colours=colours)
    carried = motion.carried(before.soft, between)
    overlap = motion.overlap(carried, after.soft, between)
    return MaskStep(
        iou=overlap.iou,
        followed=overlap.followed,
        everywhere=overlap.everywhere,
        within=overlap.within,
        jump=_jump(carried if carried.any() else before.soft, after.soft),
        colours=colours,
    )


def _jump(before: motion.SoftMask, after: motion.SoftMask) -> float | None:
    first, second = _centre(before), _centre(after)
    if first is None or second is None:
        return None
    return math.dist(first, second) / max(1.0, math.sqrt(float(before.sum())))


def _centre(soft: motion.SoftMask) -> tuple[float, float] | None:
    total = float(soft.sum())
    if total == 0:
        return None
    rows, columns = soft.sum(axis=1), soft.sum(axis=0)
    return (
        float(rows @ np.arange(rows.size, dtype=np.float32)) / total,
        float(columns @ np.arange(columns.size, dtype=np.float32)) / total,
    )


IOU_FLOOR = 0.03
AREA_FLOOR = 0.06
SHAPE_FLOOR = 0.03
MOST_ODD = 99.0

_LEAST_AREA = 1e-6

Series: TypeAlias = list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frames:
    """A track as series, one entry a frame."""

    numbers: tuple[int, ...]
    items: tuple[Item | None, ...]
    verdicts: tuple[Verdict | None, ...]
    areas: tuple[float | None, ...]
    steps: tuple[MaskStep | None, ...]
    names: tuple[str, ...]
    times: tuple[float, ...]

    @property
    def overlaps(self) -> Series:
        """Overlap of each frame's mask with the one before."""
        return [None if step is None else step.overlap for step in self.steps]


def clip_row(
    clip: ClipTracks, track: ObjectTrack, *, verdicts: Mapping[str, Verdict], followed: Followed, policy: Policy
) -> ClipRow | None:
    """The row of a track; None where no frame of it has a verdict."""
    frames = _frames(clip, track, verdicts=verdicts, followed=followed)
    judged = [verdict for verdict in frames.verdicts if verdict is not None]
    if not judged:
        return None
    failed = len(track.items) - len(judged)
    verdict = clip_verdict(judged, policy, failed=failed)
    times = frames.times or tuple(map(float, frames.numbers))
    points = [
        (verdict.iou, time)
        for verdict, time in zip(frames.verdicts, times, strict=True)
        if verdict is not None and verdict.iou is not None
    ]
    drift = theil_sen([iou for iou, _ in points], [time for _, time in points])
    unrest = flicker(frames.steps[1:])
    outcomes = {"flicker": unrest, "drift": drift}
    scores, odd = _odd(frames)
    return ClipRow(
        clip=clip.clip,
        track=track.name,
        judge=judged[0].judge,
        n=len(track.items),
        failed=failed,
        missing=sum(item is None for item in frames.items),
        **{one.name: getattr(verdict, one.name) for one in fields(verdict) if one.name != "signature"},
        flicker=unrest.value if isinstance(unrest, Scored) else None,
        drift=drift.change if isinstance(drift, Trend) else None,
        drift_low=drift.low if isinstance(drift, Trend) else None,
        drift_high=drift.high if isinstance(drift, Trend) else None,
        switches=tuple(
            _mark(frames, index, kind="switch", why=_switch_words(step))
            for index, step in enumerate(frames.steps)
            if step is not None and is_switch(step)
        ),
        odd=odd,
        frames=tuple(None if item is None else item.id for item in frames.items),
        times_s=frames.times,
        overlaps=tuple(frames.overlaps),
        oddness=tuple(scores),
        undefined={name: outcome.reason for name, outcome in outcomes.items() if isinstance(outcome, Undefined)},
        signatures={
            "iou": str(verdict.signature),
            **{key: str(outcome.signature) for key, outcome in outcomes.items() if not isinstance(outcome, Undefined)},
        },
    )


def _frames(clip: ClipTracks, track: ObjectTrack, *, verdicts: Mapping[str, Verdict], followed: Followed) -> _Frames:
    present = sorted(track.items)
    span = range(present[0], present[-1] + 1)
    numbers = tuple(span) if 2 * len(present) >= len(span) else tuple(present)
    items = tuple(track.items.get(number) for number in numbers)
    follows = [False, *(second == first + 1 for first, second in pairwise(numbers))]
    return _Frames(
        numbers=numbers,
        items=items,
        verdicts=tuple(None if item is None else verdicts.get(item.id) for item in items),
        areas=tuple(
            0.0 if item is None else followed.areas[number] for number, item in zip(numbers, items, strict=True)
        ),
        steps=tuple(
            followed.steps[number - 1] if next_to else None for number, next_to in zip(numbers, follows, strict=True)
        ),
        names=tuple(clip.frames[number].name for number in numbers),
        times=tuple(clip.times_s[number] for number in numbers) if clip.times_s else (),
    )


def _switch_words(step: MaskStep) -> str:
    colours = f"colours differ by {step.colours:.2f} of 1" if step.colours is not None else ""
    if step.jump is None:
        return f"The mask comes back on something else: {colours}."
    overlap = step.overlap if step.overlap is not None else step.everywhere or 0.0
    return f"Overlap {overlap:.2f} with the mask before, moved along; {step.jump:.1f} widths away; {colours}."


def _odd(frames: _Frames) -> tuple[Series, tuple[Mark, ...]]:
    """The oddness of each frame, and marks on the odd ones."""
    ious: Series = [None if verdict is None else verdict.iou for verdict in frames.verdicts]
    logs: Series = [None if area is None else math.log(max(area, _LEAST_AREA)) for area in frames.areas]
    shapes = _shapes(frames.overlaps)
    unfit = [None if score is None else min(score, 0.0) for score in oddness(shapes, floor=SHAPE_FLOOR)]
    kinds = {
        "area": (oddness(logs, floor=AREA_FLOOR), _area_words(frames.areas)),
        "iou": (oddness(ious, floor=IOU_FLOOR), _iou_words(ious)),
        "shape": (unfit, [f"overlaps the masks before and after by {shape or 0:.2f} at most" for shape in shapes]),
    }
    scores: Series = []
    marks = []
    for index in range(len(frames.numbers)):
        by_kind = {kind: abs(score) for kind, (values, _) in kinds.items() if (score := values[index]) is not None}
        highest = max(by_kind.values(), default=None)
        scores.append(None if highest is None else min(highest, MOST_ODD))
        if highest is not None and highest >= 1:
            kind = max(by_kind, key=lambda name: by_kind[name])
            words = "; ".join(kinds[name][1][index] for name in kinds if by_kind.get(name, 0.0) >= 1)
            marks.append(_mark(frames, index, kind=_kind(frames, index, kind), why=f"{words}."))
    return scores, tuple(marks)


def _kind(frames: _Frames, index: int, kind: str) -> str:
    if kind != "area" or frames.areas[index] != 0:
        return kind
    return "missing" if frames.items[index] is None else "empty"


def _shapes(overlaps: Sequence[float | None]) -> Series:
    """The better of the overlaps with the frame before and the frame after: low for a frame that fits neither."""
    after = [*overlaps[1:], None]
    return [
        None if first is None or second is None else max(first, second)
        for first, second in zip(overlaps, after, strict=True)
    ]


def _area_words(areas: Sequence[float | None]) -> list[str]:
    around = neighbour_medians(areas)
    return [
        "nothing is segmented, its neighbours have a mask"
        if area == 0
        else f"covers {_percent(area)} of the frame, its neighbours {_percent(middle)}"
        for area, middle in zip(areas, around, strict=True)
    ]


def _iou_words(ious: Sequence[float | None]) -> list[str]:
    around = neighbour_medians(ious)
    return [
        f"estimated IoU {iou or 0:.2f}, its neighbours {middle or 0:.2f}"
        for iou, middle in zip(ious, around, strict=True)
    ]


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.2g} %"


def _mark(frames: _Frames, index: int, *, kind: str, why: str) -> Mark:
    item = frames.items[index]
    return Mark(
        id=None if item is None else item.id,
        number=frames.numbers[index],
        frame=frames.names[index],
        time_s=frames.times[index] if frames.times else None,
        kind=kind,
        why=why[0].upper() + why[1:],
    )


_TIMEOUT_S = 120.0


def write_clips(
    writer: ResultWriter, clips: Sequence[ClipTracks], *, verdicts: Verdicts, policy: Policy, workers: int
) -> None:
    """Write a row for each track of each video, after earlier ones."""
    run = writer.run
    item_ids = {item.id for clip in clips for track in clip.tracks for item in track.items.values()}
    by_id = {verdict.id: verdict for verdict, _ in verdicts if verdict.id in item_ids}
    masks = segmentations(run)
    writer.progress.stage("following clips", sum(len(clip.frames) for clip in clips))
    judged_masks = {name: masks[name] for name in by_id if name in masks}
    for clip, followed in _followed(clips, judged_masks, workers=workers, errors=writer.errors):
        run.append_many(CLIPS, _rows(clip, followed, verdicts=by_id, policy=policy))
        writer.progress.step(len(clip.frames))


def _rows(
    clip: ClipTracks, followed: Mapping[str, Followed], *, verdicts: Mapping[str, Verdict], policy: Policy
) -> list[dict[str, Any]]:
    rows = (
        clip_row(clip, track, verdicts=verdicts, followed=followed[track.name], policy=policy) for track in clip.tracks
    )
    return [to_json(row, decimals=DECIMALS) for row in rows if row is not None]


def _followed(
    clips: Sequence[ClipTracks], masks: Mapping[str, Any], *, workers: int, errors: ErrorLog
) -> Iterator[tuple[ClipTracks, dict[str, Followed]]]:
    """Each video with the results of its tracks, in the order of the videos, as soon as all before are done."""
    parts = [stretches(clip.frames, _masks(clip, masks)) for clip in clips]
    tasks = (Task(f"{number}/{part}", stretch) for number, cut in enumerate(parts) for part, stretch in enumerate(cut))
    finished: dict[tuple[int, int], Mapping[str, Followed]] = {}
    turn = 0
    for result in run_tasks(Follower, tasks, workers=workers, timeout_s=_TIMEOUT_S, stage="clips"):
        number, part = (int(part) for part in result.key.split("/"))
        stretch, outcome = parts[number][part], result.outcome
        if isinstance(outcome, Failed):
            errors.keep([_lost(clips[number].clip, stretch, outcome.error)])
            outcome = unseen(stretch)
        finished[number, part] = outcome
        while turn < len(clips) and all((turn, part) in finished for part in range(len(parts[turn]))):
            yield clips[turn], joined([finished.pop((turn, part)) for part in range(len(parts[turn]))])
            turn += 1


def _lost(clip: str, stretch: Stretch, error: ErrorRecord) -> dict[str, Any]:
    """The row of ``errors.jsonl`` of a stretch that could not be followed."""
    first, last = stretch.frames[0], stretch.frames[-1]
    record = replace(
        error,
        stage="clips",
        error=f"clip {clip} could not be followed from {first.name} to {last.name}: {error.error}",
        hint="give the same command again; until then its flicker, switches and shapes leave these frames out",
        path=error.path or str(first),
    )
    return error_to_json(None, record)


def _masks(clip: ClipTracks, masks: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Track to the RLE of its mask on each frame of the video."""
    return {
        track.name: [
            masks.get(track.items[number].id) if number in track.items else None for number in range(len(clip.frames))
        ]
        for track in clip.tracks
    }
