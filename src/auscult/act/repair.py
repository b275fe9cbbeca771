"""Repair a mask without truth: make attempts that suit its defect, judge them, keep the best by the lower bound.

An attempt is a pure function of a frame, a mask and where its judge thinks it wrong. Those of ``ATTEMPTS`` that suit
the defect that the judge named are made and judged together. A rejected mask is also segmented anew, from the phrase
that the judge says was meant or from the expression. An attempt is kept where the lower end of its interval is above
the mask's own by the attempt's margin; else the mask stays. A mask that is accepted, or was not judged, is never
touched. An outline that follows edges, or that the judge drew itself, pleases the judge whether it is right or not:
such attempts have a larger margin. Margins and what suits which defect were chosen on development and calibration
pictures.

Judge, graph cut and segmenter are arguments; truth is none.

Source: MQA-RefAVS, Sec. 5.3, which segments anew what was called wrong; the geometric attempts are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import sqrt
from types import MappingProxyType
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, grown, window
from auscult.arrays.error_map import painted
from auscult.arrays.overlap import iou
from auscult.arrays.regions import components, depth, holes, reach
from auscult.errors import AuscultError
from auscult.types import Box, Defect, Floats, Frame, Mask, Verdict

Judge: TypeAlias = Callable[[Sequence[Mask]], Sequence[Verdict | AuscultError]]
"""Verdicts, with actions, on masks (H, W) of one object of one frame; or why there is none."""
GraphCut: TypeAlias = Callable[[Frame, NDArray[np.uint8]], Mask]
"""From RGB and GrabCut's labels (0 outside, 1 inside, 2 and 3 likely so) to what belongs to the object."""
Prompted: TypeAlias = Callable[[Frame, Box, Sequence[tuple[tuple[int, int], bool]]], Mask]
"""From RGB, a box, and points (x, y) that are on the object or are not, to what the box holds of it."""
Segment: TypeAlias = Callable[[str], Mask]
"""What a phrase names in the frame, bool (H, W); an ``AuscultError`` where that cannot be said."""

ANEW_MARGIN: Final = 0.03
"""How far the lower bound has to rise before a mask that was segmented anew is kept."""

_SAME: Final = 0.995  # IoU from which on two masks are one attempt
_PART: Final = 0.2  # share of the mask below which a part of it is small
_CUT_PX: Final = 144  # longer side of the picture that a graph cut sees
_SURE: Final = 0.35  # so far from .5 a pixel's likelihood is taken for certain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepairInput:
    """What attempts work on: the part of a frame that holds the mask.

    Attributes:
        frame: uint8 RGB (h, w, 3).
        mask: bool (h, w), not empty.
        likely: How likely each pixel belongs to the object by mask and error map, float32 (h, w), 0..1.
        mapped: Whether there is an error map.
        iou: The judge's estimate, 0..1.
        others: Other objects' masks, each bool (h, w).
        cut: A graph cut; None where there is none.
        prompted: A segmenter that takes a box and points; None where there is none.
    """

    frame: Frame
    mask: Mask
    likely: Floats
    mapped: bool
    iou: float
    others: tuple[Mask, ...] = ()
    cut: GraphCut | None = None
    prompted: Prompted | None = None

    @property
    def width(self) -> float:
        """Side in pixels of a square of the mask's area."""
        return sqrt(float(np.count_nonzero(self.mask)))


@dataclass(frozen=True, slots=True)
class Attempt:
    """A way to repair a mask: ``make`` gives None where there is nothing to do."""

    name: str
    reason: str
    make: Callable[[RepairInput], Mask | None]
    _: KW_ONLY
    suits: tuple[Defect, ...]  # the defects for which it is tried
    margin: float  # how far the lower bound has to rise before it is kept


def _fill(crop: RepairInput) -> Mask | None:
    return crop.mask | holes(crop.mask)


def _close(crop: RepairInput) -> Mask | None:
    """Fill what a disk of .15 of the width cannot enter, on a small picture."""
    side = 8
    scale = min(1.0, side / max(1.0, 0.15 * crop.width))
    height, width = crop.mask.shape
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = np.pad(cv2.resize(crop.mask.astype(np.float32), size, interpolation=cv2.INTER_AREA), 2 * side)
    disk = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * side + 1, 2 * side + 1))
    closed = cv2.morphologyEx(small, cv2.MORPH_CLOSE, disk)[2 * side : -2 * side, 2 * side : -2 * side]
    filled = crop.mask | (cv2.resize(closed, (width, height), interpolation=cv2.INTER_LINEAR) > 0.5)
    return np.asarray(filled | holes(filled))


def _smooth(crop: RepairInput) -> Mask | None:
    sigma = max(1.0, 0.03 * crop.width)
    return np.asarray(cv2.GaussianBlur(crop.mask.astype(np.float32), (0, 0), sigma) > 0.5)


def _widen(crop: RepairInput) -> Mask | None:
    """Grow evenly, to the size at which the mask's IoU would be half as far from 1 as estimated."""
    area = int(np.count_nonzero(crop.mask) / sqrt(max(crop.iou, 0.3)))
    distance = reach(crop.mask)
    index = min(area, distance.size - 1)
    return np.asarray(distance <= np.partition(distance, index, axis=None)[index])


def _narrow(crop: RepairInput) -> Mask | None:
    """Shrink evenly, likewise."""
    inside = depth(crop.mask)[crop.mask]
    index = min(int(inside.size * (1 - sqrt(max(crop.iou, 0.3)))), inside.size - 1)
    return np.asarray(crop.mask & (depth(crop.mask) > np.partition(inside, index)[index]))


def _drop_parts(crop: RepairInput) -> Mask | None:
    """Leave out small parts; which of two large ones is meant is no question of shape."""
    labels, areas = components(crop.mask)
    large = areas >= _PART * areas.sum()
    return None if large.all() else np.asarray(np.concatenate([[False], large])[labels])


def _without_others(crop: RepairInput) -> Mask | None:
    """Leave out what another mask of the frame holds, if it is another object and not the same one."""
    mask = crop.mask
    for other in crop.others:
        shared = np.count_nonzero(other & crop.mask)
        if shared > 0.8 * np.count_nonzero(other) and shared < 0.6 * np.count_nonzero(crop.mask):
            mask = mask & ~other
    return mask


def _correct(crop: RepairInput) -> Mask | None:
    return np.asarray(crop.likely > 0.5) if crop.mapped else None


def _add_missing(crop: RepairInput) -> Mask | None:
    return np.asarray(crop.mask | (crop.likely > 0.5)) if crop.mapped else None


def _to_edges(
    crop: RepairInput, *, inward: float, outward: float, first: Callable[[RepairInput], Mask | None]
) -> Mask | None:
    """Move the outline to edges of the picture within a band, by a watershed; widths are shares of the mask's."""
    mask = first(crop)
    if mask is None or not mask.any():
        return None
    inside = depth(mask) > max(2.0, inward * crop.width) if inward else mask
    outside = reach(mask) > max(2.0, outward * crop.width) if outward else ~mask
    if not inside.any() or not outside.any():
        return None
    marks = np.where(inside, 1, np.where(outside, 2, 0)).astype(np.int32)
    regions = cv2.watershed(np.ascontiguousarray(crop.frame), marks)
    return np.asarray((regions == 1) | ((regions == -1) & mask))  # a pixel of the line itself stays where it was


def _itself(crop: RepairInput) -> Mask | None:
    return crop.mask


def _graph_cut(crop: RepairInput) -> Mask | None:
    """Cut a small picture, seeded by what mask and error map are sure of."""
    if crop.cut is None:
        return None
    height, width = crop.mask.shape
    scale = min(1.0, _CUT_PX / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = np.asarray(cv2.resize(crop.frame, size, interpolation=cv2.INTER_AREA), np.uint8)
    likely = np.asarray(cv2.resize(crop.likely, size, interpolation=cv2.INTER_AREA), np.float32)
    inside = np.asarray(likely > 0.5)
    labels = np.where(inside, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    rim = max(1.0, 0.08 * scale * crop.width)
    labels[(likely > 0.5 + _SURE) & (depth(inside) > rim)] = cv2.GC_FGD
    labels[(likely < 0.5 - _SURE) & (reach(inside) > rim)] = cv2.GC_BGD
    if not {cv2.GC_FGD, cv2.GC_BGD} <= set(np.unique(labels).tolist()):
        return None
    foreground = crop.cut(small, labels).astype(np.float32)
    return np.asarray(cv2.resize(foreground, (width, height), interpolation=cv2.INTER_LINEAR) > 0.5)


def _prompted(crop: RepairInput) -> Mask | None:
    """Segment by the box of what is likely, and by points deep in what the mask holds, misses and has too much."""
    likely = np.asarray(crop.likely > 0.5)
    box = box_of(likely)
    if crop.prompted is None or box is None:
        return None
    parts = ((likely & crop.mask, True), (likely & ~crop.mask, True), (crop.mask & ~likely, False))
    points = []
    for part, inside in parts:
        if part.any():
            row, column = np.unravel_index(int(depth(part).argmax()), part.shape)
            points.append(((int(column), int(row)), inside))
    return crop.prompted(crop.frame, box, points)


_grow = partial(_to_edges, inward=0.0, outward=0.12, first=_itself)
_shrink = partial(_to_edges, inward=0.12, outward=0.0, first=_itself)
_correct_to_edges = partial(_to_edges, inward=0.05, outward=0.05, first=_correct)

ATTEMPTS: Final[tuple[Attempt, ...]] = (
    Attempt("fill", "holes filled", _fill, suits=("cutout", "erode"), margin=0.03),
    Attempt("close", "notches and holes filled", _close, suits=("cutout",), margin=0.15),
    Attempt("grow", "outline moved outwards to edges of the picture", _grow, suits=("erode",), margin=0.03),
    Attempt("widen", "grown evenly, by half of what seems to be missing", _widen, suits=("erode",), margin=0.1),
    Attempt("shrink", "outline moved inwards to edges of the picture", _shrink, suits=("dilate",), margin=0.06),
    Attempt("narrow", "shrunk evenly, by half of what seems too much", _narrow, suits=("dilate",), margin=0.06),
    Attempt("add_missing", "added what the error map misses", _add_missing, suits=("cutout",), margin=0.15),
    Attempt("correct", "changed as the error map says", _correct, suits=("dilate",), margin=0.15),
    Attempt(
        "correct_to_edges",
        "changed as the error map says, outline moved to edges of the picture",
        _correct_to_edges,
        suits=("dilate",),
        margin=0.15,
    ),
    Attempt("graph_cut", "cut along edges, prompted by the error map", _graph_cut, suits=("dilate",), margin=0.15),
    Attempt(
        "prompted",
        "segmented by box and points of the mask and its error map",
        _prompted,
        suits=("cutout", "dilate", "erode", "merge"),
        margin=0.15,
    ),
    Attempt("drop_parts", "small parts left out", _drop_parts, suits=("merge", "dilate"), margin=0.1),
    Attempt(
        "without_others",
        "what other masks of the frame hold left out",
        _without_others,
        suits=("merge", "dilate"),
        margin=0.1,
    ),
    Attempt("smooth", "outline smoothed", _smooth, suits=("cutout", "dilate", "erode"), margin=0.1),
)
"""The geometric attempts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptResult:
    """One attempt.

    Attributes:
        attempt: Its name in ``ATTEMPTS``, or ``anew_target``, ``anew_expression``.
        reason: What was done, in words.
        round: From 1.
        mask: What it gave, bool (H, W); None where it gave nothing.
        verdict: What the judge says of that; None where there is none.
        note: Why there is no mask or no verdict; else empty.
        margin: How far the lower bound has to rise before it is kept.
    """

    attempt: str
    reason: str
    round: int
    mask: Mask | None
    verdict: Verdict | None = None
    note: str = ""
    margin: float = ANEW_MARGIN

    @property
    def is_anew(self) -> bool:
        """Whether it was segmented anew, so that it may be of another object."""
        return self.attempt.startswith("anew_")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repair:
    """All attempts at one mask, and the one that is kept; None where the mask stays as it is."""

    tried: tuple[AttemptResult, ...]
    kept: AttemptResult | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tools:
    """What a repair may use.

    Attributes:
        judge: Judges the attempts.
        cut: A graph cut; None for none.
        prompted: A segmenter that takes a box and points; None for none.
        segment: Segments a phrase anew; None for none.
        rounds: How often what was kept is tried again while it is not accepted.
        attempts: The geometric attempts.
    """

    judge: Judge
    cut: GraphCut | None = None
    prompted: Prompted | None = None
    segment: Segment | None = None
    rounds: int = 1
    attempts: Sequence[Attempt] = ATTEMPTS


def repair(
    frame: Frame,
    mask: Mask,
    verdict: Verdict,
    *,
    tools: Tools,
    text: str | None = None,
    others: Sequence[Mask] = (),
) -> Repair:
    """Try to repair one mask.

    Args:
        frame: uint8 RGB (H, W, 3).
        mask: bool (H, W).
        verdict: What the judge of ``tools`` says of it, with an action.
        tools: Judge, graph cut and segmenter.
        text: The expression; None for none.
        others: Other objects' masks, bool (H, W).

    Returns:
        Attempts in the order in which they were made; none where the mask is accepted or was not judged.
    """
    tried: list[AttemptResult] = []
    kept: AttemptResult | None = None
    for number in range(1, tools.rounds + 1):
        if verdict.action in {"accept", "unjudged", None}:
            break
        attempts = list(geometric(frame, mask, verdict, tools=tools, others=others, number=number))
        if verdict.action == "reject" and number == 1:
            attempts += anew(verdict, tools=tools, text=text)
        judged = with_verdicts(attempts, tools.judge)
        tried += judged
        best = better(judged, verdict)
        if best is None or best.mask is None or best.verdict is None:
            break
        kept, mask, verdict = best, best.mask, best.verdict
    return Repair(tried=tuple(tried), kept=kept)


def as_in_paper(verdict: Verdict, *, tools: Tools, text: str | None = None) -> Repair:
    """Segment anew what is called ``full_neg``, from the phrase that was meant, and keep it unseen.

    Without a phrase the expression is taken. Source: MQA-RefAVS, Sec. 5.3, Table 7.
    """
    attempts = list(anew(verdict, tools=tools, text=text))[:1] if verdict.defect == "full_neg" else []
    tried = with_verdicts(attempts, tools.judge)
    return Repair(tried=tuple(tried), kept=next((attempt for attempt in tried if attempt.mask is not None), None))


def geometric(
    frame: Frame, mask: Mask, verdict: Verdict, *, tools: Tools, others: Sequence[Mask] = (), number: int = 1
) -> Iterator[AttemptResult]:
    """The attempts that suit the defect, without those that change nothing or give what another gave."""
    suited = [attempt for attempt in tools.attempts if verdict.defect in attempt.suits]
    if not suited or not mask.any():
        return
    region, crop = _cropped(frame, mask, verdict, others=others, tools=tools)
    masks = [crop.mask]
    for attempt in suited:
        repaired = attempt.make(crop)
        if repaired is None or not repaired.any() or any(iou(repaired, other) > _SAME for other in masks):
            continue
        masks.append(repaired)
        full = mask.copy()
        full[region] = repaired
        yield AttemptResult(attempt=attempt.name, reason=attempt.reason, round=number, mask=full, margin=attempt.margin)


def _cropped(
    frame: Frame, mask: Mask, verdict: Verdict, *, others: Sequence[Mask], tools: Tools
) -> tuple[tuple[slice, slice], RepairInput]:
    """The part of the frame that holds the mask and room around it."""
    size = (mask.shape[0], mask.shape[1])
    box = box_of(mask) or (0, 0, size[1], size[0])
    room = max(8, max(box[2] - box[0], box[3] - box[1]) // 4)
    region = window(grown(box, room, size))
    likely = mask.astype(np.float32)
    if verdict.error_map is not None:
        likely = np.clip(likely + painted(verdict.error_map, size), 0.0, 1.0)
    other_parts = tuple(part for part in (other[region] for other in others) if part.any())
    return region, RepairInput(
        frame=np.ascontiguousarray(frame[region]),
        mask=np.ascontiguousarray(mask[region]),
        likely=np.ascontiguousarray(likely[region]),
        mapped=verdict.error_map is not None,
        iou=verdict.iou if verdict.iou is not None else 1.0,
        others=other_parts,
        cut=tools.cut,
        prompted=tools.prompted,
    )


_ANEW: Final[Mapping[str, str]] = MappingProxyType(
    {"target": "segmented anew from what the judge says was meant", "expression": "segmented anew by the expression"}
)


def anew(verdict: Verdict, *, tools: Tools, text: str | None) -> Iterator[AttemptResult]:
    """Segment from the phrase that was meant, and from the expression; nothing where there is no segmenter."""
    if tools.segment is None:
        return
    phrases = {"target": verdict.target, "expression": text}
    once = {phrase: source for source, phrase in reversed(phrases.items()) if phrase and phrase.strip()}
    for phrase, source in reversed(once.items()):
        name, mask, note = f"anew_{source}", None, ""
        try:
            mask = tools.segment(phrase)
        except AuscultError as error:
            note = error.message
        if mask is not None and not mask.any():
            mask, note = None, "nothing was segmented"
        yield AttemptResult(attempt=name, reason=_ANEW[source], round=1, mask=mask, note=note)


def with_verdicts(tried: Sequence[AttemptResult], judge: Judge) -> list[AttemptResult]:
    """The same attempts, judged together."""
    masks = [attempt.mask for attempt in tried if attempt.mask is not None]
    verdicts = iter(judge(masks) if masks else ())
    return [attempt if attempt.mask is None else _with_verdict(attempt, next(verdicts)) for attempt in tried]


def _with_verdict(tried: AttemptResult, verdict: Verdict | AuscultError) -> AttemptResult:
    if isinstance(verdict, AuscultError):
        return replace(tried, note=f"not judged: {verdict.message}")
    return replace(tried, verdict=verdict)


def better(tried: Sequence[AttemptResult], before: Verdict) -> AttemptResult | None:
    """The attempt that is kept, or None where the mask stays.

    It is the one whose lower bound is farthest above the mask's own and its margin. A mask that was segmented anew may
    be of another object, however well it is drawn: it counts only where identity was checked, or where the mask before
    was called ``full_neg`` or ``empty``, so that nothing is lost. There estimates decide where all lower bounds are 0,
    as they are while identity is in doubt.
    """
    least, estimate = max(0.0, lower_bound(before)), before.iou or 0.0
    if before.defect in _NOTHING_TO_LOSE:
        judged = [
            (lower_bound(after), after.iou, one)
            for one in tried
            if (after := one.verdict) is not None and after.iou is not None and after.defect not in _NOTHING_TO_LOSE
        ]
        rising = [row for row in judged if row[0] > least + row[2].margin or row[1] > estimate + row[2].margin]
        return max(rising, key=lambda row: row[:2], default=(0.0, 0.0, None))[2]
    counted = [one for one in tried if not one.is_anew or (one.verdict is not None and one.verdict.evidence.identity)]
    best = max(counted, key=lambda one: lower_bound(one.verdict) - one.margin, default=None)
    return best if best is not None and lower_bound(best.verdict) - best.margin > least else None


_NOTHING_TO_LOSE: Final = ("full_neg", "empty")


def lower_bound(verdict: Verdict | None) -> float:
    """The lower end of the interval of the IoU; -1 where there is no estimate."""
    return -1.0 if verdict is None or verdict.iou_low is None else verdict.iou_low
