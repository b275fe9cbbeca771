"""What is seen of one thing or of two: true, false, or unclear (None) where it is too close to call.

Places are compared over the whole clip: a thing is left of another only if it is so at every time, by a margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from auscult.language.facts import Facts, Thing

Range = tuple[float, float]

APART: Final = 0.04  # of places, as a share of the picture
TIMES_AS_LARGE: Final = 1.3
_SIDE: Final = (0.45, 0.53)  # wholly within the first: on that side; wholly beyond the second: not
_CENTRE: Final = (0.36, 0.64)
_OFF_CENTRE: Final = (0.28, 0.72)
_PARTLY: Final = 0.12  # hidden at least so much: partly hidden; a fifth of it at most: not
_WIDTH: Final = 1.6  # width over height of a picture, for distances


def same(value: str | None, word: str | None) -> bool | None:
    """Whether a word fits; unclear where none is known."""
    return None if value is None or word is None else value == word


def moves(value: str | None, word: str | None) -> bool | None:
    """Whether a motion fits; what goes to and fro also goes left at times, so that is unclear."""
    if value is None or word is None:
        return None
    if {value, word} in ({"to_and_fro", "left"}, {"to_and_fro", "right"}):
        return None
    return value == word


def at(thing: Thing, place: str) -> bool | None:
    """Whether a thing is always in this part of the picture, or never."""
    if place == "centre":
        across, down = _central(thing.x), _central(thing.y)
        return False if across is False or down is False else None if across is None or down is None else True
    low, high = thing.x if place in {"left", "right"} else thing.y
    if place in {"right", "bottom"}:
        low, high = 1 - high, 1 - low
    return True if high <= _SIDE[0] else False if low >= _SIDE[1] else None


def _central(extent: Range) -> bool | None:
    if extent[0] >= _CENTRE[0] and extent[1] <= _CENTRE[1]:
        return True
    return False if extent[1] < _OFF_CENTRE[0] or extent[0] > _OFF_CENTRE[1] else None


def hidden(thing: Thing) -> bool | None:
    """Whether other things hide a part of it that one notices."""
    if thing.covered_by and thing.hidden >= _PARTLY:
        return True
    return None if thing.covered_by and thing.hidden > _PARTLY / 5 else False


def hiding(thing: Thing, facts: Facts) -> bool | None:
    """Whether it hides such a part of another."""
    values = [in_front(thing, other) for other in facts.things if thing.id in other.covered_by]
    return True if True in values else None if values else False


def in_front(one: Thing, two: Thing) -> bool | None:
    """Whether one hides a part of two; unclear where it is nearer and hides nothing, or hardly anything."""
    if one.id in two.covered_by:
        others = len(two.covered_by) > 1  # then it is not known how much each of them hides
        return True if two.hidden >= _PARTLY and not others else None
    if two.id in one.covered_by:
        return False
    if one.depth is None or two.depth is None:
        return None
    return None if one.depth < two.depth else False


def _beside(one: Range, two: Range) -> bool | None:
    """Whether the first range lies before the second; False where it is the other way round."""
    if one[1] + APART <= two[0]:
        return True
    return False if two[1] + APART <= one[0] else None


def _larger(one: Thing, two: Thing) -> bool | None:
    if one.area[0] >= TIMES_AS_LARGE * two.area[1]:
        return True
    return False if two.area[0] >= TIMES_AS_LARGE * one.area[1] else None


ORDERS: Final[Mapping[str, Callable[[Thing, Thing], bool | None]]] = {
    "large": _larger,
    "small": lambda one, two: _larger(two, one),
    "left": lambda one, two: _beside(one.x, two.x),
    "right": lambda one, two: _beside(two.x, one.x),
    "high": lambda one, two: _beside(one.y, two.y),
    "low": lambda one, two: _beside(two.y, one.y),
}
"""Whether the first thing has more of a quality than the second."""

RELATIONS: Final[Mapping[str, Callable[[Thing, Thing], bool | None]]] = {
    "left_of": ORDERS["left"],
    "right_of": ORDERS["right"],
    "above": ORDERS["high"],
    "below": ORDERS["low"],
    "larger": _larger,
    "smaller": ORDERS["small"],
    "in_front_of": in_front,
    "behind": lambda one, two: in_front(two, one),
    "same_colour": lambda one, two: same(one.colour, two.colour),
    "same_category": lambda one, two: same(one.category, two.category),
    "same_motion": lambda one, two: moves(one.motion, two.motion),
}


def nearest(one: Thing, two: Thing, facts: Facts, *, far: bool = False) -> bool | None:
    """Whether no other thing is as near to two as one is; with ``far``, as far from it.

    Distances are between centres; each is a range, from the nearest that the two can have been to the farthest.
    """
    mine, closer = _distance(one, two), []
    for other in facts.things:
        if other.id not in {one.id, two.id}:
            theirs = _distance(other, two)
            closer.append(_beside(theirs, mine) if far else _beside(mine, theirs))
    return False if False in closer else True if closer and None not in closer else None


def _distance(one: Thing, two: Thing) -> Range:
    (near_x, far_x), (near_y, far_y) = _gap(one.x, two.x), _gap(one.y, two.y)
    return math.hypot(_WIDTH * near_x, near_y), math.hypot(_WIDTH * far_x, far_y)


def _gap(one: Range, two: Range) -> Range:
    return max(0.0, one[0] - two[1], two[0] - one[1]), max(one[1] - two[0], two[1] - one[0])
