"""One plain sentence and one box per verdict, made only from what was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import numpy as np

from auscult.judge.masks.cues.features import Findings
from auscult.judge.masks.cues.model import CueEstimate
from auscult.judge.masks.shared import MIDDLE, Remark, ninth, percent
from auscult.types import Box, Defect

_UNCHECKED: Final = "whether it is the right object was not checked"
_OFF = 0.08
_MOSTLY = (
    0.5  # share of the outline on an edge, below which the sentence does not claim that the outline follows the picture
)
_OF_NOTE = 0.01  # of the area: smaller holes and notches are not given as the reason
_GUESS = 0.9
_DOUBT = 0.2  # probability of lying on no object


def rationale_of(findings: Findings, estimate: CueEstimate) -> tuple[str, Box | None]:
    """Put the most probable defect into one sentence, with the box of the worst region in pixels of the frame.

    The box is None where no region stands out.
    """
    text, box = _RATIONALES[estimate.defect](findings)
    if estimate.sight == "small":
        text = f"{text}; it is smaller than anything this judge was measured on"
    if estimate.arbitrary > _DOUBT and estimate.defect != "full_neg":
        text = f"{text}; masks that lie on no object can look like this too"
    if estimate.iou_high - estimate.iou_low > _GUESS:
        text = f"{text}; the estimate is hardly better than a guess here"
    return f"{text[0].upper()}{text[1:]}; {_UNCHECKED}.", box


def _perfect(findings: Findings) -> Remark:
    cues = findings.cues
    on = cues["peak_on_share"]
    flaws = []
    if cues["hole_largest"] > 0:
        flaws.append(f"holes ({percent(cues['hole_share'] ** 2)} of the area)")
    if cues["part_second"] > 0:
        flaws.append(f"separate parts ({percent(cues['parts_share'] ** 2)} outside the largest)")
    rest = f"its {' and '.join(flaws)} look like the object's own" if flaws else "it has no hole and no loose part"
    if on < _MOSTLY:
        return f"no defect stands out, though only {percent(on)} of the outline lies on an edge of the picture", None
    return f"{percent(on)} of the outline lies on an edge of the picture, and {rest}", None


def _cutout(findings: Findings) -> Remark:
    text, box = _hole_or_notch(findings)
    return (text or "the mask is like those with a piece missing, but no hole or notch of note was found"), box


def _hole_or_notch(findings: Findings) -> Remark:
    """The holes, or the largest notch; an empty text where neither makes 1 % of the area."""
    cues, boxes = findings.cues, findings.boxes
    holes = cues["hole_share"] ** 2
    notch = cues["notch_largest"] ** 2
    share = holes / (1 + holes)
    if "hole_largest" in boxes and holes >= 0.5 * notch and share >= _OF_NOTE:
        count = round(float(np.expm1(cues["hole_count"])))
        place, box = _placed(findings, boxes["hole_largest"])
        text = f"about {percent(share)} of the area inside is missing"
        count_text = "" if count == 1 else f" in {count} holes, the largest"
        return f"{text}{count_text or ','} {place}", box
    if "notch_largest" in boxes and notch >= _OF_NOTE:
        place, box = _placed(findings, boxes["notch_largest"])
        return f"a notch of about {percent(notch)} of the area cuts into the outline, {place}", box
    return "", None


def _erode(findings: Findings) -> Remark:
    return _shifted(findings, sign=1) or (
        _coloured(findings, "outside")
        or ("the shape is like that of masks that are too small, but no single place stands out", None)
    )


def _dilate(findings: Findings) -> Remark:
    return _shifted(findings, sign=-1) or (
        _coloured(findings, "inside")
        or ("the shape is like that of masks that are too large, but no single place stands out", None)
    )


def _merge(findings: Findings) -> Remark:
    if findings.swallowed_box is not None:
        share = percent(findings.cues["swallowed"] ** 2)
        return f"another object of the frame is covered too and makes {share} of the mask", findings.swallowed_box
    text, box = _second_part(findings)
    if text:
        return text, box
    remark = _coloured(findings, "inside")
    return remark or ("the shape is like that of masks that hold two objects, but no second part stands out", None)


def _second_part(findings: Findings) -> Remark:
    """The second largest part; an empty text where it is small."""
    second = findings.cues["part_second"] ** 2
    if second <= 0.02:
        return "", None
    count = round(float(np.exp(findings.cues["part_count"])))
    place, box = _placed(findings, findings.boxes["part_second"])
    return f"{count} separate parts, the second holds {percent(second)}, {place}", box


def _full_neg(findings: Findings) -> Remark:
    on = findings.cues["peak_on_share"]
    if on < _MOSTLY:
        return f"the outline follows no object: {percent(on)} of it lies on an edge of the picture", None
    return "the mask's outline and colours are unlike those of masks on an object, a weak sign", None


_RATIONALES: Final[dict[Defect, Callable[[Findings], Remark]]] = {
    "perfect": _perfect,
    "cutout": _cutout,
    "dilate": _dilate,
    "erode": _erode,
    "merge": _merge,
    "full_neg": _full_neg,
}


def _shifted(findings: Findings, *, sign: int) -> Remark | None:
    """The stretch of outline whose strongest edge lies off it, on the side of ``sign`` (outside positive)."""
    ribbon, view = findings.ribbon, findings.view
    off = (ribbon.local_offset * sign > _OFF) & ~ribbon.inner
    if not off.any() or float(off.mean()) < 0.1:
        return None
    distance_px = float(np.median(np.abs(ribbon.local_offset[off]))) * view.thickness_px / view.scale
    points = ribbon.points[off]
    low, high = points.min(axis=0), points.max(axis=0)
    box = int(low[0]), int(low[1]), int(high[0]) + 1, int(high[1]) + 1
    side = "outside" if sign > 0 else "inside"
    amount = f"about {distance_px:.0f} px" if distance_px >= 1.5 else "about 1 px"
    share = float(off.sum()) / max(int(np.count_nonzero(~ribbon.inner)), 1)
    position = _where(float(points[:, 0].mean()), float(points[:, 1].mean()), findings)
    mostly = "in several places" if position == MIDDLE else f"mostly {position}"
    extent = "all round" if share > 0.7 else f"on {percent(share)} of its length, {mostly}"
    return f"the edges of the picture run {amount} {side} the outline, {extent}", view.to_frame(box)


def _coloured(findings: Findings, side: Literal["inside", "outside"]) -> Remark | None:
    """The largest region on one side of the outline that has the colours of the other."""
    name = "foreign_largest" if side == "inside" else "missing_largest"
    share = findings.cues[name] ** 2
    if share < 0.02:
        return None
    like = "surroundings" if side == "inside" else "inside"
    place, box = _placed(findings, findings.boxes[name])
    return f"a region {side} of about {percent(share)} of the area has the colours of the {like}, {place}", box


def _placed(findings: Findings, box: Box) -> tuple[str, Box]:
    """Where a box of the view lies in the mask's, in words, and the same box in pixels of the frame."""
    place = _where((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, findings)
    return place, findings.view.to_frame(box)


def _where(x: float, y: float, findings: Findings) -> str:
    """The ninth of the mask's box that a point of the view lies in, in words."""
    rows, columns = np.nonzero(findings.view.mask)
    across = (x - columns.min()) / max(columns.max() - columns.min(), 1)
    down = (y - rows.min()) / max(rows.max() - rows.min(), 1)
    return ninth(across, down)
