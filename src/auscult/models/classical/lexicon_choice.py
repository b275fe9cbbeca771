"""How well each region of a frame fits what a sentence wishes, as the probability that it is the thing that is meant.

Each region is a thing with some probability, by its looks alone. What is said of a thing by itself (its colour, place,
size, shape, texture, motion) multiplies that. "The largest", "the second from the left" then ask how probable it is
that none, or one, of the other things has more of it; "left of ..." how probable it is that a thing stands so to one
that fits what is said of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.models.classical.lexicon_colours import COLOURS
from auscult.models.classical.lexicon_reading import Cue, Wish
from auscult.models.classical.lexicon_things import Things

Values = NDArray[np.float64]

LEAST: Final = 0.02
"""What a thing that does not fit a word at all is still given, since regions and tones are not exact."""

_CERTAIN: Final = 0.95
_SAME: Final = 0.5  # share of the smaller region from which on two are parts of one thing
_WIDTH: Final = 1.6  # width over height, for distances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Motions:
    """How regions move, the motion of the picture itself taken out; shares of its longer side from frame to frame.

    Attributes:
        right: To the right, (n,).
        down: Downwards.
        speed: How fast, 0 or more.
    """

    right: Values
    down: Values
    speed: Values


def chances(things: Things, wish: Wish, *, motions: Motions | None = None) -> Values:
    """How probable it is that each region is what is meant.

    Args:
        things: The regions.
        wish: What is said.
        motions: How they move; None for a photograph, where words of motion say nothing.

    Returns:
        (n,), above 0; they do not sum to 1.
    """
    found = likely(things, motions)
    for cue in wish.cues:
        if cue.kind != "most":
            found = found * _of_fit(_fit(things, cue, motions), denied=cue.denied)
    members = found
    for cue in wish.cues:
        if cue.kind == "most":
            amounts = _amounts(things, cue.word, motions)
            if amounts is not None:
                found = found * _of_fit(_ranked(things, members, amounts, place=cue.place), denied=cue.denied)
    if wish.other is not None:
        others = chances(things, wish.other, motions=motions)
        found = found * _of_fit(_related(things, wish.how, others, motions=motions), denied=wish.denied)
    return found


def likely(things: Things, motions: Motions | None = None) -> Values:
    """How probable it is that each region is a thing, by its looks alone, (n,).

    A logistic curve fitted to the IoU of regions with the objects of generated scenes (seed 30000) and of the COCO
    photographs of even number, rounded. It knows no place: what stands in the middle is no more a thing.
    """
    size = np.log(things.area)
    logit = (
        -6.4
        - 0.3 * size
        - 0.17 * size**2
        + 2.0 * things.edge
        + 0.9 * (things.apart - things.apart.mean())
        + 4.3 * (things.rare - things.rare.mean())
        + 2.9 * things.contrast
        - 2.7 * things.frame
        + 2.1 * things.round
        + 3.4 * things.rough
    )
    if motions is not None:
        logit = logit + 1.5 * _rises(motions.speed, 0.002, 0.02)
    return np.asarray(1 / (1 + np.exp(-logit)), dtype=np.float64)


def _of_fit(fit: Values, *, denied: bool) -> Values:
    return LEAST + (1 - LEAST) * (1 - fit if denied else fit)


def _rises(values: Values, low: float, high: float) -> Values:
    return np.asarray(np.clip((values - low) / (high - low), 0, 1), dtype=np.float64)


def _more(one: Values, two: Values, margin: float) -> Values:
    """How surely each of the first is more than each of the second, (n, m), 0..1."""
    return np.asarray(1 / (1 + np.exp(-np.clip((one[:, None] - two[None]) / margin, -30, 30))), dtype=np.float64)


def _fit(things: Things, cue: Cue, motions: Motions | None) -> Values:
    """How well each region fits a word, 0..1; where nothing can be told, a half."""
    if cue.kind == "colour":
        return np.minimum(1.0, things.colours[:, COLOURS.index(cue.word)] / 0.55)
    if cue.kind == "motion":
        return _moves(cue.word, motions, len(things))
    return _FITS[cue.kind, cue.word](things)


def _moves(word: str, motions: Motions | None, count: int) -> Values:
    if motions is None or word in {"nearer", "away"}:
        return np.full(count, 0.5)
    going = _rises(motions.speed, 0.001, 0.01)
    if word in {"still", "slow"}:
        return 1 - going
    sides = {"left": -motions.right, "right": motions.right, "up": -motions.down, "down": motions.down}
    return _rises(sides[word], -0.004, 0.01) if word in sides else going


def _amounts(things: Things, word: str, motions: Motions | None) -> tuple[Values, float] | None:
    """How much of a quality each region has, and what difference is seen; None where nothing can be told."""
    if word in {"fast", "slow"}:
        return None if motions is None else (motions.speed if word == "fast" else -motions.speed, 0.003)
    return _QUALITIES[word](things)


def _ranked(things: Things, members: Values, amounts: tuple[Values, float], *, place: int) -> Values:
    """How probable it is that just ``place - 1`` of the other members have more."""
    pool = apart(things, members)
    members = np.minimum(_CERTAIN, members / members.max())  # who compares supposes that there are things to compare
    more = _more(amounts[0][pool], amounts[0], amounts[1]) * members[pool][:, None]
    more[things.within[pool] > _SAME] = 0.0  # no thing is compared with a part of itself
    counts = np.zeros((place + 1, len(things)))
    counts[0] = 1.0
    for chance in more:
        counts[1:] = counts[1:] * (1 - chance) + counts[:-1] * chance
        counts[0] = counts[0] * (1 - chance)
    ranked: Values = counts[place - 1]
    return ranked


def apart(things: Things, values: Values) -> NDArray[np.intp]:
    """Regions that are no parts of one another, the highest values first."""
    chosen: list[int] = []
    for index in np.argsort(-values, kind="stable").tolist():
        if all(things.within[index, other] <= _SAME for other in chosen):
            chosen.append(index)
    return np.array(chosen, dtype=np.intp)


def _related(things: Things, how: str, others: Values, *, motions: Motions | None) -> Values:
    """How probable it is that each region stands so to what is probably the other thing."""
    pool = apart(things, others)
    shares = others[pool] / others[pool].sum()
    stands = _standing(things, how, pool, motions=motions)
    stands[things.within[:, pool] > _SAME] = 0.0
    return np.asarray(stands @ shares, dtype=np.float64)


def _standing(things: Things, how: str, pool: NDArray[np.intp], *, motions: Motions | None) -> Values:
    if how in _STANDING:
        amounts, margin = _STANDING[how](things)
        return _more(amounts, amounts[pool], margin)
    if how in {"nearest", "farthest"}:
        away = np.hypot(_WIDTH * (things.x[:, None] - things.x[pool][None]), things.y[:, None] - things.y[pool][None])
        near: Values = np.exp(-3 * away)
        return near if how == "nearest" else 1 - near
    if how == "same_colour":
        return np.asarray(np.minimum(things.colours[:, None], things.colours[pool][None]).sum(axis=2), dtype=np.float64)
    if how == "same_motion" and motions is not None:
        unlike = np.hypot(
            motions.right[:, None] - motions.right[pool][None], motions.down[:, None] - motions.down[pool][None]
        )
        return np.asarray(np.exp(-unlike / 0.01), dtype=np.float64)
    return np.ones((len(things), len(pool)))


def _central(things: Things) -> Values:
    return -np.hypot(things.x - 0.5, things.y - 0.5)


def _near(things: Things) -> Values:
    """How near the viewer a thing seems: things in front stand lower and are larger."""
    return 0.5 * things.boxes[:, 3] + 0.5 * np.sqrt(things.area)


def _tall(things: Things) -> Values:
    return things.boxes[:, 3] - things.boxes[:, 1]


def _wide(things: Things) -> Values:
    return things.boxes[:, 2] - things.boxes[:, 0]


_QUALITIES: Final[Mapping[str, Callable[[Things], tuple[Values, float]]]] = {
    "large": lambda things: (np.log(things.area), 0.15),
    "small": lambda things: (-np.log(things.area), 0.15),
    "left": lambda things: (-things.x, 0.02),
    "right": lambda things: (things.x, 0.02),
    "high": lambda things: (-things.y, 0.02),
    "low": lambda things: (things.y, 0.02),
    "tall": lambda things: (np.log(_tall(things)), 0.1),
    "short": lambda things: (-np.log(_tall(things)), 0.1),
    "wide": lambda things: (np.log(_wide(things)), 0.1),
    "thin": lambda things: (-things.thin, 0.05),
    "near": lambda things: (_near(things), 0.03),
    "far": lambda things: (-_near(things), 0.03),
    "central": lambda things: (_central(things), 0.02),
}
_STANDING: Final[Mapping[str, Callable[[Things], tuple[Values, float]]]] = {
    "left_of": _QUALITIES["left"],
    "right_of": _QUALITIES["right"],
    "above": _QUALITIES["high"],
    "below": _QUALITIES["low"],
    "larger": _QUALITIES["large"],
    "smaller": _QUALITIES["small"],
    "in_front_of": _QUALITIES["near"],
    "behind": _QUALITIES["far"],
}
_FITS: Final[Mapping[tuple[str, str], Callable[[Things], Values]]] = {
    ("light", "dark"): lambda things: 1 - _rises(things.light, 0.2, 0.55),
    ("light", "light"): lambda things: _rises(things.light, 0.45, 0.75),
    ("light", "vivid"): lambda things: _rises(things.vivid, 0.15, 0.5),
    ("place", "left"): lambda things: 1 - _rises(things.x, 0.35, 0.6),
    ("place", "right"): lambda things: _rises(things.x, 0.4, 0.65),
    ("place", "top"): lambda things: 1 - _rises(things.y, 0.35, 0.6),
    ("place", "bottom"): lambda things: _rises(things.y, 0.4, 0.65),
    ("place", "centre"): lambda things: 1 - _rises(-_central(things), 0.08, 0.35),
    ("place", "edge"): lambda things: _rises(-_central(things), 0.2, 0.45),
    ("place", "corner"): lambda things: _rises(np.minimum(abs(things.x - 0.5), abs(things.y - 0.5)), 0.1, 0.3),
    ("place", "near"): lambda things: _rises(_near(things), 0.35, 0.75),
    ("place", "far"): lambda things: 1 - _rises(_near(things), 0.35, 0.75),
    ("size", "large"): lambda things: _rises(np.log(things.area), np.log(0.01), np.log(0.12)),
    ("size", "small"): lambda things: 1 - _rises(np.log(things.area), np.log(0.01), np.log(0.08)),
    ("size", "tall"): lambda things: _rises(np.log(_tall(things) / _wide(things)), -0.5, 0.9),
    ("size", "short"): lambda things: 1 - _rises(_tall(things), 0.1, 0.4),
    ("size", "wide"): lambda things: _rises(np.log(_wide(things) / _tall(things)), -0.2, 1.0),
    ("shape", "round"): lambda things: _rises(things.round, 0.4, 0.85),
    ("shape", "thin"): lambda things: 1 - _rises(things.thin, 0.15, 0.6),
    ("shape", "square"): lambda things: _rises(things.fill, 0.65, 0.95),
    ("texture", "plain"): lambda things: 1 - _rises(things.rough, 0.04, 0.18),
    ("texture", "patterned"): lambda things: _rises(things.rough, 0.06, 0.2),
}
