"""One plain sentence and one place per verdict, made only from the network's error map and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from auscult.judge.masks.compact.places import ALL_ROUND, Patch, Places, Side
from auscult.judge.masks.compact.sight import Sight
from auscult.judge.masks.shared import MIDDLE
from auscult.types import Box, Defect

UNCHECKED: Final = "identity not checked"

_OF_NOTE: Final = 0.01
_OTHER_SIDE: Final = 0.03
_DOUBT: Final = 0.3
_UNSURE: Final = 0.6
_GUESS: Final = 0.6
_UNLIKE: Final = 0.5
_NOTHING_SEEN: Final[Mapping[Sight, str]] = {
    "tiny": "the mask is too small or too thin to judge by its picture",
    "full": "the mask fills the frame, so there is no outline to check",
    "flat": "the picture shows nothing along the outline to check it by",
}
_ALSO: Final[Mapping[Defect, str]] = {
    "perfect": "it may also be a good mask",
    "cutout": "a piece may also be missing",
    "dilate": "it may also be too large",
    "erode": "it may also be too small",
    "merge": "it may also hold a second thing",
    "full_neg": "it may also lie on no object",
}

Remark: TypeAlias = tuple[str, Box | None]


def say(
    places: Places,
    *,
    defect: Defect,
    probs: Mapping[str, float],
    sight: Sight,
    width: float,
    novelty: float,
) -> Remark:
    """Put a verdict into words.

    Args:
        places: What the error map amounts to.
        defect: The most probable defect.
        probs: All six probabilities.
        sight: How much of the mask could be judged by its picture.
        width: Width of the interval of the IoU, 0..1.
        novelty: 0..1.

    Returns:
        One sentence, and the box of the worst place in pixels of the frame; None where no place stands out.
    """
    if sight in _NOTHING_SEEN:
        text, box = _NOTHING_SEEN[sight], None
    else:
        text, box = _SAYERS[defect](places)
        text += _doubts(defect, probs)
        if sight == "small":
            text += "; it is smaller than anything this judge was measured on"
        elif novelty >= _UNLIKE:
            text += "; it looks unlike what this judge knows"
    if width > _GUESS:
        text += "; the estimate is hardly better than a guess here"
    return f"{text[0].upper()}{text[1:]}; {UNCHECKED}.", box


def _doubts(defect: Defect, probs: Mapping[str, float]) -> str:
    """The next most probable defect, where it is nearly as probable."""
    rest: dict[Defect, float] = {name: probs[name] for name in _ALSO if name != defect}
    second = max(rest, key=lambda name: rest[name])
    return f"; {_ALSO[second]}" if rest[second] > _DOUBT else ""


def _perfect(places: Places) -> Remark:
    off = places.missing.plain + places.extra.plain
    if off < _OF_NOTE:
        return "the outline follows the object; nothing of note is missing or too much", None
    worst = max((places.missing, places.extra), key=lambda side: side.plain)
    where = "" if worst.largest is None else f", most of it {worst.largest.place}"
    return f"no defect stands out; about {_percent(off)} seems to differ along the outline{where}", _box(worst)


def _cutout(places: Places) -> Remark:
    side, piece = places.missing, places.missing.largest
    if piece is None or side.plain < _OF_NOTE:
        return "it is like masks with a piece missing, but no place stands out" + _too_much(places), None
    where = "inside" if piece.inner else "at the outline"
    many = f" in {side.patches} pieces, the largest" if side.patches > 1 else ","
    return (
        f"{_about(piece)} {_percent(side.share)} is missing {where}{many} {piece.place}{_too_much(places)}",
        piece.box,
    )


def _erode(places: Places) -> Remark:
    side = places.missing
    if side.largest is None or side.plain < _OF_NOTE:
        return "it is like masks that are too small, but no place stands out" + _too_much(places), None
    text = f"the outline lies {_pixels(side)} too far in, {_where(side)}; {_about(side.largest)} {_percent(side.share)}"
    return f"{text} of the object is left out{_too_much(places)}", side.largest.box


def _dilate(places: Places) -> Remark:
    side = places.extra
    if side.largest is None or side.plain < _OF_NOTE:
        return "it is like masks that are too large, but no place stands out" + _left_out(places), None
    text = (
        f"the outline lies {_pixels(side)} too far out, {_where(side)}; {_about(side.largest)} {_percent(side.share)}"
    )
    return f"{text} of the mask is too much{_left_out(places)}", side.largest.box


def _merge(places: Places) -> Remark:
    piece = places.extra.largest
    if piece is None or piece.share < _OF_NOTE:
        return "it is like masks that hold two things, but no second one stands out" + _left_out(places), None
    text = f"it holds a second thing {piece.place}, {_about(piece)} {_percent(piece.share)} of it"
    return text + _left_out(places), piece.box


def _full_neg(places: Places) -> Remark:
    share = min(places.extra.share, 1.0)
    if share < 0.5:
        return "the mask is like those that lie on no object", _box(places.extra)
    return f"the mask lies on no object that stands out; about {_percent(share)} of it is too much", _box(places.extra)


_SAYERS: Final[Mapping[Defect, Callable[[Places], Remark]]] = {
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


def _other(side: Side, what: str) -> str:
    if side.plain < _OTHER_SIDE or side.largest is None:
        return ""
    return f"; also {_about(side.largest)} {_percent(side.share)} {what}, {_where(side)}"


def _about(piece: Patch) -> str:
    return "about" if piece.sure >= _UNSURE else "perhaps"


def _where(side: Side) -> str:
    return {MIDDLE: "in several places", ALL_ROUND: ALL_ROUND}.get(side.where, f"mostly {side.where}")


def _pixels(side: Side) -> str:
    return f"about {side.shift_px:.0f} px" if side.shift_px >= 1.5 else "about 1 px"


def _box(side: Side) -> Box | None:
    return None if side.largest is None else side.largest.box


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"
