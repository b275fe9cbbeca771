"""One mask's verdict from what the network gave: estimate, interval, probabilities, novelty, error map, sentence.

A cell's value is the probability that it belongs to the object minus the share of it that the candidate covers: in a
cell outside the candidate the probability that it is missing, in one inside, negated, that it is too much. Values that
are no more than doubt about the outline are left out, and so is what lies outside the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.error_map import error_map_of
from auscult.judge.masks.compact.network import (
    Calibration,
    by_defect,
    interval_of,
    likeliest,
    lowered,
    named,
    novelty_of,
    probabilities,
    reach_of,
    spread_of,
    widths_of,
)
from auscult.judge.masks.compact.view import View
from auscult.judge.masks.shared import (
    BLIND,
    FULL_SHARE,
    LEAST_PX,
    MEASURED_PX,
    MIDDLE,
    NOTHING_SEEN,
    Remark,
    Sight,
    is_thin,
    ninth,
    percent,
    unjudged,
)
from auscult.types import Box, Case, Defect, Evidence, Floats, Mask, Verdict

_INSIDE = 128
_LEAST_STEP = 1.5  # grey levels of 255: no person sees less across an outline
_BAND = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (9, 9))


def sight_of(mask: Mask, crop: NDArray[np.uint8], box: Box) -> Sight:
    """How much of a mask, bool (H, W) and not empty, can be judged by its picture.

    ``crop`` is what is seen of it over ``box``, channels first: red, green, blue, share inside the mask (255 for all of
    a cell).
    """
    area = int(np.count_nonzero(mask))
    if area > FULL_SHARE * mask.size:
        return "full"
    if area < LEAST_PX or is_thin(mask):
        return "tiny"
    if _contrast(crop, in_frame(box, mask.shape[:2], len(crop[3]))) < _LEAST_STEP:
        return "flat"
    return "small" if area < MEASURED_PX else "clear"


def in_frame(box: Box, size: tuple[int, ...], side: int) -> Mask:
    """Which cells of a square grid over ``box`` have their middle inside a frame of ``size`` (height, width)."""
    x0, y0, x1, y1 = box
    across = (np.arange(side) + 0.5) / side
    columns, rows = x0 + across * (x1 - x0), y0 + across * (y1 - y0)
    inside = ((rows >= 0) & (rows < size[0]))[:, None] & ((columns >= 0) & (columns < size[1]))[None]
    return np.asarray(inside, dtype=np.bool_)


def _contrast(crop: NDArray[np.uint8], framed: Mask) -> float:
    """The largest difference of colour along most of the outline, in grey levels.

    The 90th percentile, over a band along it, of the range of each channel within five cells. What lies outside the
    frame has a colour of its own in the crop and is left out.
    """
    kernel = np.ones((5, 5), np.uint8)
    inside = (crop[3] >= _INSIDE).astype(np.uint8)
    band = (cv2.dilate(inside, _BAND) > cv2.erode(inside, _BAND)) & (
        cv2.erode(framed.view(np.uint8), kernel, borderValue=1) > 0
    )
    if not band.any():
        return 0.0
    ranges = [cv2.dilate(channel, kernel)[band] - cv2.erode(channel, kernel)[band] for channel in crop[:3]]
    return float(np.percentile(np.max(ranges, axis=0), 90))


SIDE: Final = 64
OF_NOTE: Final = 0.3
"""Smaller values are doubt, not error."""


def differences(truth: NDArray[np.float32], view: View, size: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Compare the estimated true mask, logits (64, 64) over the crop, with the candidate.

    Gives signed errors, float32 (64, 64) in [-1, 1], positive where something is missing, 0 outside the frame of
    ``size`` (height, width); and the share of each cell that the candidate covers, float32 (64, 64), 0..1.
    """
    odds = np.clip(truth.astype(np.float32), -30.0, 30.0)
    likely = 1.0 / (1.0 + np.exp(-odds))
    step = len(view.crop[3]) // SIDE
    cells = view.crop[3].reshape(SIDE, step, SIDE, step).mean(axis=(1, 3), dtype=np.float32)
    inside = np.asarray(cells / np.float32(255), dtype=np.float32)
    signed = np.where(in_frame(view.box, size, SIDE), likely - inside, np.float32(0))
    return signed.astype(np.float32), inside


def noted(signed: Floats) -> Floats:
    """The errors without what is doubt only, float32 (64, 64)."""
    return np.where(np.abs(signed) >= OF_NOTE, signed, np.float32(0)).astype(np.float32)


ALL_ROUND: Final = "all round"

_COUNTED: Final = 0.15  # smaller values are the doubt that lies over the whole grid
_ROUND_SHARE: Final = 0.7
_NEAR: Final = np.ones((5, 5), np.uint8)
_STEP: Final = np.ones((3, 3), np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One region that is missing or too much."""

    share: float  # its size over that of the object (missing) or the mask (too much), 0 and more
    sure: float  # mean probability of its cells, 0..1
    inner: bool  # whether it lies inside the mask's filled outline or its notches, not along the outside
    place: str  # where, in words, seen from the mask
    box: Box  # its box in pixels of the frame, inside the frame


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSide:
    """All that is missing, or all that is too much."""

    share: float  # its size over that of the object (missing) or the mask (too much), 0 and more
    plain: float  # the same without cells whose error is small, as it is along every outline
    shift_px: float  # how far the outline is off where it is off, in pixels of the frame
    where: str  # ``all round``, or the part of the mask where most of it lies, in words
    patches: int  # how many regions make more than a tenth of it
    largest: Patch | None  # the largest region; None where nothing stands out


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Both sides of an error map."""

    missing: ErrorSide
    extra: ErrorSide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Grid:
    inside: Mask
    hull: Mask
    cell_px: float
    box: Box
    size: tuple[int, int]


def places_of(signed: Floats, inside: Floats, *, box: Box, size: tuple[int, int]) -> Places:
    """Measure an error map over ``box`` of a frame of ``size`` (height, width).

    ``signed`` are the errors, (n, n) in [-1, 1], positive where something is missing; ``inside`` is the share of each
    cell that the mask covers, (n, n), 0..1.
    """
    covered = inside >= 0.5
    if not covered.any():  # thinner than a cell: its densest cells stand for it
        covered = inside >= inside.max()
    grid = _Grid(
        inside=np.asarray(covered),
        hull=_hull(np.asarray(covered)),
        cell_px=(box[2] - box[0]) / len(signed),
        box=box,
        size=size,
    )
    missing = np.where(signed >= _COUNTED, signed, 0).astype(np.float32)
    extra = np.where(signed <= -_COUNTED, -signed, 0).astype(np.float32)
    mask_cells = max(float(inside.sum()), 1e-6)
    object_cells = max(mask_cells - float(extra.sum()) + float(missing.sum()), 1e-6)
    return Places(missing=_side(missing, object_cells, grid), extra=_side(extra, mask_cells, grid))


def _side(amount: Floats, whole: float, grid: _Grid) -> ErrorSide:
    total = float(amount.sum())
    marked = np.asarray(amount >= OF_NOTE)
    count, labels, _, _ = cv2.connectedComponentsWithStats(marked.view(np.uint8), connectivity=8)
    sizes = np.bincount(labels.ravel(), weights=amount.ravel(), minlength=count)[1:]
    outline = _outline(grid.inside)
    touched = outline & (cv2.dilate(marked.view(np.uint8), _NEAR) > 0)
    round_share = float(np.count_nonzero(touched)) / max(float(np.count_nonzero(outline)), 1.0)
    length = max(round_share * _length(grid.inside), 1.0)
    return ErrorSide(
        share=total / whole,
        plain=float(amount[marked].sum()) / whole,
        shift_px=total / length * grid.cell_px,
        where=ALL_ROUND if round_share > _ROUND_SHARE else _centre_of(amount, grid),
        patches=int((sizes > 0.1 * max(total, 1e-6)).sum()),
        largest=None if not len(sizes) else _patch(amount, labels == 1 + int(sizes.argmax()), whole=whole, grid=grid),
    )


def _patch(amount: Floats, members: Mask, *, whole: float, grid: _Grid) -> Patch:
    part = np.where(members, amount, 0).astype(np.float32)
    return Patch(
        share=float(part.sum()) / whole,
        sure=float(amount[members].mean()),
        inner=float((members & grid.hull).sum()) > 0.5 * float(members.sum()),
        place=_centre_of(part, grid),
        box=_in_frame(members, grid),
    )


def _outline(inside: Mask) -> Mask:
    """The cells on the mask's side of its outlines."""
    marked = inside.view(np.uint8)
    return np.asarray(marked > cv2.erode(marked, _STEP, borderType=cv2.BORDER_CONSTANT, borderValue=0))


def _length(inside: Mask) -> float:
    """How long the mask's outlines are, in cells; on the middle of the outermost cells, so half a cell is added."""
    lines, _ = cv2.findContours(inside.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    return sum(float(cv2.arcLength(line, closed=True)) + np.pi for line in lines)


def _hull(inside: Mask) -> Mask:
    """The mask without its holes and notches: the convex hull of each part."""
    hull = np.zeros(inside.shape, np.uint8)
    lines, _ = cv2.findContours(inside.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    for line in lines:
        cv2.fillConvexPoly(hull, cv2.convexHull(line), 1)
    return np.asarray(hull > 0)


def _in_frame(members: Mask, grid: _Grid) -> Box:
    """The box of some cells in pixels of the frame, cut at the frame and never empty."""
    rows, columns = np.flatnonzero(members.any(axis=1)), np.flatnonzero(members.any(axis=0))
    x0, y0 = grid.box[:2]
    height, width = grid.size
    left = min(max(int(x0 + columns[0] * grid.cell_px), 0), width - 1)
    top = min(max(int(y0 + rows[0] * grid.cell_px), 0), height - 1)
    right = min(int(np.ceil(x0 + (columns[-1] + 1) * grid.cell_px)), width)
    bottom = min(int(np.ceil(y0 + (rows[-1] + 1) * grid.cell_px)), height)
    return left, top, max(right, left + 1), max(bottom, top + 1)


def _centre_of(amount: Floats, grid: _Grid) -> str:
    """The ninth of the mask's box in which the middle of an amount lies, in words; beyond the box counts with it."""
    total = float(amount.sum())
    if total <= 0:
        return MIDDLE
    side = np.arange(len(amount), dtype=np.float32)
    x, y = float(amount.sum(axis=0) @ side) / total, float(amount.sum(axis=1) @ side) / total
    rows, columns = np.flatnonzero(grid.inside.any(axis=1)), np.flatnonzero(grid.inside.any(axis=0))
    across = (x - columns[0]) / max(int(columns[-1] - columns[0]), 1)
    down = (y - rows[0]) / max(int(rows[-1] - rows[0]), 1)
    return ninth(across, down)


UNCHECKED: Final = "identity not checked"

_OF_NOTE: Final = 0.01
_OTHER_SIDE: Final = 0.03
_DOUBT: Final = 0.3
_UNSURE: Final = 0.6
_GUESS: Final = 0.6
_UNLIKE: Final = 0.5
_ALSO: Final[Mapping[Defect, str]] = {
    "perfect": "it may also be a good mask",
    "cutout": "a piece may also be missing",
    "dilate": "it may also be too large",
    "erode": "it may also be too small",
    "merge": "it may also hold a second thing",
    "full_neg": "it may also lie on no object",
}


def rationale_of(
    places: Places,
    *,
    defect: Defect,
    probs: Mapping[str, float],
    sight: Sight,
    width: float,
    novelty: float,
) -> Remark:
    """Put a verdict into one sentence, with the box of the largest error in pixels of the frame.

    The box is None where no region stands out; ``width`` is that of the interval of the IoU, 0..1.
    """
    text, box = _RATIONALES[defect](places)
    text += _doubts(defect, probs)
    if sight == "small":
        text += "; it is smaller than anything this judge was measured on"
    elif novelty >= _UNLIKE:
        text += "; it is out of distribution for this judge"
    if width > _GUESS:
        text += "; the estimate is hardly better than a guess here"
    return f"{text[0].upper()}{text[1:]}; {UNCHECKED}.", box


def _doubts(defect: Defect, probs: Mapping[str, float]) -> str:
    """The next most probable defect, where it is nearly as probable."""
    others: dict[Defect, float] = {name: probs[name] for name in _ALSO if name != defect}
    second = max(others, key=lambda name: others[name])
    return f"; {_ALSO[second]}" if others[second] > _DOUBT else ""


def _perfect(places: Places) -> Remark:
    off = places.missing.plain + places.extra.plain
    if off < _OF_NOTE:
        return "the outline follows the object; nothing of note is missing or too much", None
    worst = max((places.missing, places.extra), key=lambda side: side.plain)
    location = "" if worst.largest is None else f", most of it {worst.largest.place}"
    return f"no defect stands out; about {percent(off)} seems to differ along the outline{location}", _box(worst)


def _cutout(places: Places) -> Remark:
    side, piece = places.missing, places.missing.largest
    if piece is None or side.plain < _OF_NOTE:
        return "it is like masks with a piece missing, but no place stands out" + _too_much(places), None
    location = "inside" if piece.inner else "at the outline"
    count_text = f" in {side.patches} pieces, the largest" if side.patches > 1 else ","
    return (
        f"{_about(piece)} {percent(side.share)} is missing {location}{count_text} {piece.place}{_too_much(places)}",
        piece.box,
    )


def _erode(places: Places) -> Remark:
    left_out = "of the object is left out"
    return _moved(places.missing, _too_much(places), size="small", direction="in", words=left_out)


def _dilate(places: Places) -> Remark:
    return _moved(places.extra, _left_out(places), size="large", direction="out", words="of the mask is too much")


def _moved(side: ErrorSide, other_side: str, *, size: str, direction: str, words: str) -> Remark:
    """An outline that lies too far in or out."""
    if side.largest is None or side.plain < _OF_NOTE:
        return f"it is like masks that are too {size}, but no place stands out{other_side}", None
    text = f"the outline lies {_pixels(side)} too far {direction}, {_where(side)}"
    return f"{text}; {_about(side.largest)} {percent(side.share)} {words}{other_side}", side.largest.box


def _merge(places: Places) -> Remark:
    piece = places.extra.largest
    if piece is None or piece.share < _OF_NOTE:
        return "it is like masks that hold two things, but no second one stands out" + _left_out(places), None
    text = f"it holds a second thing {piece.place}, {_about(piece)} {percent(piece.share)} of it"
    return text + _left_out(places), piece.box


def _full_neg(places: Places) -> Remark:
    share = min(places.extra.share, 1.0)
    if share < 0.5:
        return "the mask is like those that lie on no object", _box(places.extra)
    return f"the mask lies on no object that stands out; about {percent(share)} of it is too much", _box(places.extra)


_RATIONALES: Final[Mapping[Defect, Callable[[Places], Remark]]] = {
    "perfect": _perfect,
    "cutout": _cutout,
    "dilate": _dilate,
    "erode": _erode,
    "merge": _merge,
    "full_neg": _full_neg,
}


def _too_much(places: Places) -> str:
    return _other(places.extra, "of the mask is too much")


def _left_out(places: Places) -> str:
    return _other(places.missing, "of the object is missing")


def _other(side: ErrorSide, words: str) -> str:
    if side.plain < _OTHER_SIDE or side.largest is None:
        return ""
    return f"; also {_about(side.largest)} {percent(side.share)} {words}, {_where(side)}"


def _about(piece: Patch) -> str:
    return "about" if piece.sure >= _UNSURE else "perhaps"


def _where(side: ErrorSide) -> str:
    return {MIDDLE: "in several places", ALL_ROUND: ALL_ROUND}.get(side.where, f"mostly {side.where}")


def _pixels(side: ErrorSide) -> str:
    return f"about {side.shift_px:.0f} px" if side.shift_px >= 1.5 else "about 1 px"


def _box(side: ErrorSide) -> Box | None:
    return None if side.largest is None else side.largest.box


_NEVER_ACCEPTED: Final = 0.89  # under every shipped policy's least IoU for accepting


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The numbers of a verdict, as in ``Verdict``; the IoU is that of a mask on the right object."""

    iou: float
    low: float
    high: float
    probs: Mapping[str, float]
    novelty: float


def verdict_of(
    case: Case, mask: Mask, *, view: View, outputs: Mapping[str, Floats], calibration: Calibration, judge: str
) -> Verdict:
    """Make a verdict on a candidate, not empty, from what the network gave, a batch of one."""
    sight = sight_of(mask, view.crop, view.box)
    if sight in BLIND:
        return unjudged(case.id, judge, NOTHING_SEEN[sight])
    estimate = estimated(outputs, calibration, area_px=int(np.count_nonzero(mask)), sight=sight)
    height, width = mask.shape
    signed, inside = differences(outputs["truth"][0, 0], view, (height, width))
    defect = likeliest(estimate.probs)
    sentence, region = rationale_of(
        places_of(signed, inside, box=view.box, size=(height, width)),
        defect=defect,
        probs=estimate.probs,
        sight=sight,
        width=estimate.high - estimate.low,
        novelty=estimate.novelty,
    )
    return Verdict(
        id=case.id,
        iou=estimate.iou,
        iou_low=estimate.low,
        iou_high=estimate.high,
        defect=defect,
        defect_probs=estimate.probs,
        evidence=Evidence(shape=True, boundary=True),
        rationale=sentence,
        judge=judge,
        novelty=estimate.novelty,
        region=region,
        error_map=error_map_of(noted(signed), view.box),
    )


def estimated(outputs: Mapping[str, Floats], calibration: Calibration, *, area_px: int, sight: Sight) -> Estimate:
    """The numbers of a verdict.

    Below the measured size the estimate is drawn half-way to the mean of the calibration masks and the interval covers
    theirs as well; novelty is 1, and no shipped policy accepts it.
    """
    kinds = named(outputs["types"], calibration.temperature, calibration.arbitrary)
    probs = by_defect(kinds[0])
    shares = lowered(probabilities(outputs["ious"], calibration.iou_temperature), kinds[:, -1])
    plain = lowered(probabilities(outputs["ious"], 1.0), kinds[:, -1])
    spread = spread_of(shares, calibration.ends, plain=plain)
    novelty = np.ones(1) if sight == "small" else novelty_of(outputs["features"], calibration.known)
    reach = reach_of(calibration.reach, area_px, likeliest(probs))
    low, high = interval_of(spread, np.array([reach]), widths_of(novelty, calibration.widening))
    raw = Estimate(
        iou=float(spread.mean[0]), low=float(low[0]), high=float(high[0]), probs=probs, novelty=float(novelty[0])
    )
    return raw if sight == "clear" else _unmeasured(raw, calibration)


def _unmeasured(raw: Estimate, calibration: Calibration) -> Estimate:
    prior, low, high = calibration.prior
    iou = min((raw.iou + prior) / 2, _NEVER_ACCEPTED)
    return replace(raw, iou=iou, low=min(iou, low, raw.low), high=max(iou, high, raw.high))
