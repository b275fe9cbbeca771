"""From what a person writes, ``fog,snow+jpeg_compression`` at ``1,3,5``, to recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from auscult.errors import UsageError
from auscult.stress.recipe_parts import (
    PAPER,
    ROOMS,
    Recipe,
    Step,
    base_of,
    full_names,
    registered,
    room_of,
    version_of,
)
from auscult.stress.schedule import Schedule, schedule_of
from auscult.stress.strength import strength_of

MOST_RECIPES: Final = 10_000
_MOST_STEPS: Final = 16
_MOST_NAME: Final = 120
_UNTOLD: Final = 3.0  # stands in a step whose severity the schedule draws


def sweep(room: str, kinds: str, severities: str, *, schedule: str = "static") -> tuple[Recipe, ...]:
    """Every kind at every severity: a comma is a sweep, a plus composes.

    Args:
        room: ``vision``, ``sound``, ``sentences``, ``timing``; or ``recipe`` for kinds of all of them.
        kinds: ``fog,snow+jpeg_compression``, or ``all``: the paper's 16, 12, 4, and the 4 of timing.
        severities: ``3``, ``1,3,5`` or ``low,high``. ``paper`` and ``r2bench`` draw their own.
        schedule: One of ``schedule.SCHEDULES``. Under ``paper`` the kinds are what each frame draws from, and become
            one recipe.

    Returns:
        Recipes with distinct names, kinds first, then severities.

    Raises:
        UnknownName: No such room, kind or schedule, with the nearest names.
        UsageError: A severity is out of range, nothing was asked for, or far too much.

    Example:
        >>> [recipe.name for recipe in sweep("vision", "gaussian_noise", "1,high")]
        ['gaussian_noise_1', 'gaussian_noise_5']
    """
    rooms = _rooms(room)
    found = schedule_of(schedule)
    mixes = _mixes(kinds, rooms)
    strengths = list(dict.fromkeys(strength_of(one) for one in _listed(severities, "severities")))
    _check_frames(mixes, found)
    if len(mixes) * len(strengths) > MOST_RECIPES:
        raise UsageError(f"{len(mixes) * len(strengths)} recipes", expected=f"at most {MOST_RECIPES}")
    if found.draws_types:
        return (_pool(kinds, mixes, schedule=found, rooms=rooms),)
    if found.draws_levels:
        strengths = strengths[:1]
    return tuple(recipe_of(mix, strength, schedule=found, rooms=rooms) for mix in mixes for strength in strengths)


def recipe_of(names: Sequence[str], strength: float, *, schedule: Schedule, rooms: Sequence[str] = ROOMS) -> Recipe:
    """A recipe of one step for each full name, all of one strength, with the name that follows from them.

    A kind that several of the ``rooms`` have is named with its room, and one that is not the newest with its version.
    """
    strength = _UNTOLD if schedule.draws_levels else strength
    parts = [("-" if schedule.draws_types else "+").join(_labels(names, rooms))]
    if len(parts[0]) > _MOST_NAME:
        tag = blake2b("+".join(sorted(names)).encode(), digest_size=4).hexdigest()  # no two mixes share a folder
        parts = [f"{len(names)}_kinds-{tag}"]
    if not schedule.draws_levels:
        parts.append(repr(float(strength) + 0.0).removesuffix(".0"))  # every digit, so that no two severities share one
    if schedule.moves:
        parts.append(f"dyn_{schedule.name}")
    steps = tuple(Step(name=name, strength=strength) for name in names)
    return Recipe(name="_".join(parts), steps=steps, schedule=schedule)


def _rooms(room: str) -> tuple[str, ...]:
    if room == "recipe":
        return ROOMS
    if room not in ROOMS:
        raise UsageError(f"there is no room {room!r:.40} of recipes", expected=f"one of: {', '.join(ROOMS)}, recipe")
    return (room,)


def _mixes(kinds: str, rooms: tuple[str, ...]) -> list[tuple[str, ...]]:
    listed = _listed(kinds, "kinds")
    if listed == ["all"]:
        return [(name,) for room in rooms for name in full_names(PAPER[room], [room])]
    parts = [[one.strip() for one in mix.split("+")] for mix in listed]
    names = iter(full_names([one for mix in parts for one in mix], rooms))
    mixes = [tuple(next(names) for _ in mix) for mix in parts]
    if max(map(len, mixes)) > _MOST_STEPS:
        raise UsageError(f"{max(map(len, mixes))} perturbations at once", expected=f"at most {_MOST_STEPS}")
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for mix in mixes:  # the order of steps follows from their origins, so that fog+snow and snow+fog are one recipe
        found.setdefault(tuple(sorted(mix)), mix)
    return list(found.values())


def _pool(kinds: str, mixes: Sequence[tuple[str, ...]], *, schedule: Schedule, rooms: Sequence[str]) -> Recipe:
    if any(len(mix) > 1 for mix in mixes):
        raise UsageError(
            f"{kinds!r:.60} composes, but {schedule.name} draws one kind for each frame",
            expected="kinds with commas",
            hint="to compose with severities that change, take r2bench, ramp, burst or walk",
        )
    names = [mix[0] for mix in mixes]
    made = recipe_of(names, _UNTOLD, schedule=schedule, rooms=rooms)
    return replace(made, name=f"all_dyn_{schedule.name}") if kinds.strip() == "all" else made


def _check_frames(mixes: Sequence[tuple[str, ...]], schedule: Schedule) -> None:
    still = [mix for mix in mixes if not any(room_of(name) == "vision" for name in mix)]
    if still and schedule.moves and not schedule.draws_levels:
        raise UsageError(
            f"schedule {schedule.name} goes from frame to frame, and {'+'.join(map(base_of, still[0]))} has no frames",
            expected="kinds of pictures",
            hint="a sound or a sentence has one strength; r2bench draws one for each item",
        )


def _labels(names: Sequence[str], rooms: Sequence[str]) -> list[str]:
    known = registered(rooms)
    labels = []
    for name in names:
        room, base, version = name.split(".")
        shared = len({room_of(other) for other in known if base_of(other) == base}) > 1
        newest = max((other for other in known if other.startswith(f"{room}.{base}.")), key=version_of) == name
        labels.append(f"{room}." * shared + base + f".{version}" * (not newest))
    return labels


def _listed(text: object, what: str) -> list[str]:
    if not isinstance(text, str):
        raise UsageError(f"{what} are {text!r:.60}", expected="text, with commas between several")
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise UsageError(f"{what} are {text!r:.60}", expected="names with commas between them, none empty")
    return parts
