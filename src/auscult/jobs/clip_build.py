"""One row of ``clips.jsonl`` from the verdicts of a track and what was seen of its masks.

The series of a track runs over the frames of its video from its first item to its last. A frame without an item of
the track counts as one where the mask is missing, unless the track has items on fewer than half of these frames: then
it was looked at now and then only, and its own frames are the series.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from auscult.act.clips import clip_verdict
from auscult.act.policy import Policy
from auscult.jobs.clip_follow import Followed
from auscult.jobs.clip_tracks import ClipTracks, Track
from auscult.outcome import Scored, Undefined
from auscult.record.schema import ClipRow, Mark
from auscult.score.masks.over_time import MaskStep, flicker, is_switch
from auscult.score.stats.trend import Trend, neighbour_medians, oddness, theil_sen
from auscult.types import Item, Verdict

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
    clip: ClipTracks, track: Track, *, verdicts: Mapping[str, Verdict], seen: Followed, policy: Policy
) -> ClipRow | None:
    """Say what there is to say of a track.

    Args:
        clip: Its video.
        track: The track.
        verdicts: Item id to verdict.
        seen: Areas of the masks on all frames of the video, and the steps between them.
        policy: What decides.

    Returns:
        The row, or None where no frame of the track has a verdict.
    """
    frames = _frames(clip, track, verdicts=verdicts, seen=seen)
    told = [verdict for verdict in frames.verdicts if verdict is not None]
    if not told:
        return None
    failed = len(track.places) - len(told)
    verdict = clip_verdict(told, policy, failed=failed)
    drift = _drift(frames)
    unrest = flicker(frames.steps[1:])
    reasons = {"flicker": unrest, "drift": drift}
    scores, odd = _odd(frames)
    return ClipRow(
        clip=clip.clip,
        track=track.name,
        judge=told[0].judge,
        n=len(track.places),
        failed=failed,
        empty=verdict.empty,
        missing=sum(item is None for item in frames.items),
        iou=verdict.iou,
        iou_low=verdict.iou_low,
        iou_high=verdict.iou_high,
        defect=verdict.defect,
        defect_probs=verdict.defect_probs,
        action=verdict.action,
        note=verdict.note,
        actions=verdict.actions,
        flicker=unrest.value if isinstance(unrest, Scored) else None,
        drift=drift.change if isinstance(drift, Trend) else None,
        drift_low=drift.low if isinstance(drift, Trend) else None,
        drift_high=drift.high if isinstance(drift, Trend) else None,
        switches=_switches(frames),
        odd=odd,
        frames=tuple(None if item is None else item.id for item in frames.items),
        times_s=frames.times,
        overlaps=tuple(frames.overlaps),
        oddness=tuple(scores),
        undefined={name: outcome.reason for name, outcome in reasons.items() if isinstance(outcome, Undefined)},
        signatures={
            "iou": str(verdict.signature),
            **{name: str(one.signature) for name, one in reasons.items() if not isinstance(one, Undefined)},
        },
    )


def _frames(clip: ClipTracks, track: Track, *, verdicts: Mapping[str, Verdict], seen: Followed) -> _Frames:
    own = sorted(track.places)
    span = range(own[0], own[-1] + 1)
    numbers = tuple(span) if 2 * len(own) >= len(span) else tuple(own)
    items = tuple(track.places.get(number) for number in numbers)
    follows = [False, *(second == first + 1 for first, second in pairwise(numbers))]
    return _Frames(
        numbers=numbers,
        items=items,
        verdicts=tuple(None if item is None else verdicts.get(item.id) for item in items),
        areas=tuple(0.0 if item is None else seen.areas[number] for number, item in zip(numbers, items, strict=True)),
        steps=tuple(
            seen.steps[number - 1] if next_to else None for number, next_to in zip(numbers, follows, strict=True)
        ),
        names=tuple(clip.frames[number].name for number in numbers),
        times=tuple(clip.times_s[number] for number in numbers) if clip.times_s else (),
    )


def _drift(frames: _Frames) -> Trend | Undefined:
    times = frames.times or tuple(float(number) for number in frames.numbers)
    told = [
        (verdict.iou, time)
        for verdict, time in zip(frames.verdicts, times, strict=True)
        if verdict is not None and verdict.iou is not None
    ]
    return theil_sen([iou for iou, _ in told], [time for _, time in told])


def _switches(frames: _Frames) -> tuple[Mark, ...]:
    return tuple(
        _mark(frames, place, kind="switch", why=_switch_words(step))
        for place, step in enumerate(frames.steps)
        if step is not None and is_switch(step)
    )


def _switch_words(step: MaskStep) -> str:
    colours = f"colours differ by {step.colours:.2f} of 1" if step.colours is not None else ""
    if step.jump is None:
        return f"The mask comes back on something else: {colours}."
    overlap = step.overlap if step.overlap is not None else step.everywhere or 0.0
    return f"Overlap {overlap:.2f} with the mask before, moved along; {step.jump:.1f} widths away; {colours}."


def _odd(frames: _Frames) -> tuple[Series, tuple[Mark, ...]]:
    """How odd each frame is, and those that are."""
    ious: Series = [None if verdict is None else verdict.iou for verdict in frames.verdicts]
    logs: Series = [None if area is None else math.log(max(area, _LEAST_AREA)) for area in frames.areas]
    shapes = _shapes(frames.overlaps)
    kinds = {
        "area": (oddness(logs, floor=AREA_FLOOR), _area_words(frames.areas)),
        "iou": (oddness(ious, floor=IOU_FLOOR), _iou_words(ious)),
        "shape": ([_below(one) for one in oddness(shapes, floor=SHAPE_FLOOR)], _shape_words(shapes)),
    }
    scores: Series = []
    marks = []
    for place in range(len(frames.numbers)):
        found = {kind: abs(score) for kind, (values, _) in kinds.items() if (score := values[place]) is not None}
        most = max(found.values(), default=None)
        scores.append(None if most is None else min(most, MOST_ODD))
        if most is not None and most >= 1:
            kind = max(found, key=lambda name: found[name])
            words = "; ".join(kinds[name][1][place] for name in kinds if found.get(name, 0.0) >= 1)
            marks.append(_mark(frames, place, kind=_kind(frames, place, kind), why=f"{words}."))
    return scores, tuple(marks)


def _kind(frames: _Frames, place: int, kind: str) -> str:
    if kind != "area" or frames.areas[place] != 0:
        return kind
    return "missing" if frames.items[place] is None else "empty"


def _shapes(overlaps: Sequence[float | None]) -> Series:
    """The better of the overlaps with the frame before and the frame after: low for a frame that fits neither."""
    after = [*overlaps[1:], None]
    return [
        None if first is None or second is None else max(first, second)
        for first, second in zip(overlaps, after, strict=True)
    ]


def _below(score: float | None) -> float | None:
    return None if score is None else min(score, 0.0)


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


def _shape_words(shapes: Sequence[float | None]) -> list[str]:
    return [f"overlaps the masks before and after by {shape or 0:.2f} at most" for shape in shapes]


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.2g} %"


def _mark(frames: _Frames, place: int, *, kind: str, why: str) -> Mark:
    item = frames.items[place]
    return Mark(
        id=None if item is None else item.id,
        number=frames.numbers[place],
        frame=frames.names[place],
        time_s=frames.times[place] if frames.times else None,
        kind=kind,
        why=why[0].upper() + why[1:],
    )
