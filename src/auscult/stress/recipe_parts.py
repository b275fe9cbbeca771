"""The parts of a recipe, and the names of the perturbations they are made of."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final

from auscult import registry
from auscult.errors import UnknownName, UsageError
from auscult.stress.perturbation import strength_of
from auscult.stress.schedule import STATIC, Schedule, schedule_of

ORIGINS: Final = ("source", "environment", "sensor", "transmission")
"""Where perturbations arise, in the order in which they do (R2-Bench, Eq. 1)."""

ROOMS: Final = ("vision", "sound", "sentences", "timing")

PAPER: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "vision": (
            "snow",
            "fog",
            "frost",
            "spatter",
            "brightness",
            "defocus_blur",
            "gaussian_blur",
            "motion_blur",
            "glass_blur",
            "impulse_noise",
            "shot_noise",
            "speckle_noise",
            "contrast",
            "saturate",
            "jpeg_compression",
            "pixelate",
        ),
        "sound": (
            "gain",
            "background_noise",
            "air_absorption",
            "room_reverberation",
            "gaussian_noise",
            "impulse_response",
            "peaking_filter",
            "time_mask",
            "tanh_distortion",
            "mp3_compression",
            "low_pass",
            "high_pass",
        ),
        "sentences": ("misspelling", "mispunctuation", "grammar_error", "character_missing"),
        "timing": ("offset", "drift", "dropped_frames", "repeated_frames"),
    }
)
"""The paper's 16 perturbations of pictures, 12 of sound, 4 of text; timing is ours."""

MORE: Final = ("gaussian_noise", "zoom_blur", "elastic_transform")
"""What the release's mix draws of pictures beside the paper's 16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeStep:
    """One perturbation of a recipe."""

    name: str  # its full registry name, `vision.fog.v1`
    strength: float  # 0..5

    @property
    def room(self) -> str:
        """``vision``, ``sound``, ``sentences`` or ``timing``."""
        return room_of(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is to be done to an item.

    Attributes:
        name: Fit for a folder's name: ``fog_3``, ``fog+jpeg_compression_3``, ``fog_3_dyn_walk``, ``fog_dyn_r2bench``.
        steps: In any order: they are applied in the order of their origins. Under a schedule that draws types, the
            steps of one room are alternatives.
        schedule: How strength goes through a clip.
    """

    name: str
    steps: tuple[RecipeStep, ...]
    schedule: Schedule = STATIC

    @property
    def rooms(self) -> tuple[str, ...]:
        """The rooms it touches."""
        return tuple(room for room in ROOMS if any(step.room == room for step in self.steps))


def room_of(name: str) -> str:
    """The room of a full name."""
    return name.partition(".")[0]


def base_of(name: str) -> str:
    """A full name without its room and version: ``fog``."""
    return name.split(".")[1]


def version_of(name: str) -> int:
    """The version of a full name."""
    return int(name.rpartition(".v")[2])


def full_name(kind: str, rooms: Iterable[str] = ROOMS) -> str:
    """The full registry name of a perturbation of pictures, sounds, sentences or timing.

    Args:
        kind: ``fog``, ``fog.v1``, ``vision.fog`` or ``vision.fog.v1``; without a version, the newest.
        rooms: Where to look.

    Raises:
        UnknownName: No such perturbation in these rooms, with the nearest names; or one in several of them.
    """
    return full_names([kind], rooms)[0]


def full_names(kinds: Iterable[str], rooms: Iterable[str] = ROOMS) -> tuple[str, ...]:
    """As ``full_name`` for several names, with one registry lookup."""
    searched = tuple(rooms)
    known = registered(searched)
    return tuple(_full(kind, known, rooms=searched) for kind in kinds)


def registered(rooms: Iterable[str] = ROOMS) -> tuple[str, ...]:
    """The full names of all perturbations of some rooms."""
    return _registered(tuple(rooms), tuple(sys.path))


@cache
def _registered(rooms: tuple[str, ...], _where: tuple[str, ...]) -> tuple[str, ...]:
    """Kept for a search path: a mix is drawn for every case, and each look through the packages takes milliseconds."""
    return tuple(entry.name for entry in registry.entries("stressor") if room_of(entry.name) in rooms)


def _full(kind: str, known: Sequence[str], *, rooms: Sequence[str]) -> str:
    newest: dict[str, str] = {}
    for name in known:
        room, base, version = name.split(".")
        if kind in {name, f"{room}.{base}", f"{base}.{version}", base}:
            newest[room] = max(newest.get(room, name), name, key=version_of)
    if len(newest) == 1:
        return next(iter(newest.values()))
    if newest:
        raise UnknownName(
            f"several rooms have a perturbation {kind!r}",
            expected=" or ".join(newest.values()),
            hint=f"write {' or '.join(name.rpartition('.')[0] for name in newest.values())}",
        )
    shorts = {short: base_of(name) for name in known for short in (base_of(name), name)}
    close = dict.fromkeys(shorts[match] for match in difflib.get_close_matches(kind, list(shorts), n=3, cutoff=0.5))
    raise UnknownName(
        f"there is no perturbation {kind!r:.60} of {' or '.join(rooms)}",
        expected=f"one of: {', '.join(dict.fromkeys(base_of(name) for name in known))}",
        hint=f"did you mean {' or '.join(close)}?" if close else "",
    )


def load_stressors(names: Iterable[str]) -> dict[str, Any]:
    """The stressor of each step, by the name given for it."""
    return {name: _stressor(name) for name in names}


@cache
def _stressor(name: str) -> Any:
    """Kept, since looking through the installed packages costs more than perturbing a sentence."""
    full = full_name(name)
    stressor = registry.load("stressor", full)
    if stressor.meta.origin not in ORIGINS:
        raise UsageError(
            f"stressor {full} arises at {stressor.meta.origin!r}",
            expected=f"one of: {', '.join(ORIGINS)}",
            hint="the plug-in is at fault; its contract test shows where",
        )
    return stressor


MOST_RECIPES: Final = 10_000
_MOST_STEPS: Final = 16
_MOST_NAME: Final = 120
_DRAWN_STRENGTH: Final = 3.0  # stands in a step whose severity the schedule draws


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
        UsageError: A severity is out of range, no recipe is left, or far too many.

    Example:
        >>> [recipe.name for recipe in sweep("vision", "gaussian_noise", "1,high")]
        ['gaussian_noise_1', 'gaussian_noise_5']
    """
    rooms = _rooms(room)
    parsed = schedule_of(schedule)
    mixes = _mixes(kinds, rooms)
    strengths = list(dict.fromkeys(strength_of(severity) for severity in _listed(severities, "severities")))
    _check_frames(mixes, parsed)
    if len(mixes) * len(strengths) > MOST_RECIPES:
        raise UsageError(f"{len(mixes) * len(strengths)} recipes", expected=f"at most {MOST_RECIPES}")
    if parsed.draws_types:
        return (_pool(kinds, mixes, schedule=parsed, rooms=rooms),)
    if parsed.draws_levels:
        strengths = strengths[:1]
    return tuple(recipe_of(mix, strength, schedule=parsed, rooms=rooms) for mix in mixes for strength in strengths)


def recipe_of(names: Sequence[str], strength: float, *, schedule: Schedule, rooms: Sequence[str] = ROOMS) -> Recipe:
    """A recipe of one step for each full name, all of one strength, with the name that follows from them.

    A kind that several of the ``rooms`` have is named with its room, and one that is not the newest with its version.
    """
    strength = _DRAWN_STRENGTH if schedule.draws_levels else strength
    parts = [("-" if schedule.draws_types else "+").join(_labels(names, rooms))]
    if len(parts[0]) > _MOST_NAME:
        tag = blake2b("+".join(sorted(names)).encode(), digest_size=4).hexdigest()  # no two mixes share a folder
        parts = [f"{len(names)}_kinds-{tag}"]
    if not schedule.draws_levels:
        parts.append(repr(float(strength) + 0.0).removesuffix(".0"))  # every digit, so that no two severities share one
    if schedule.moves:
        parts.append(f"dyn_{schedule.name}")
    steps = tuple(RecipeStep(name=name, strength=strength) for name in names)
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
    parts = [[kind.strip() for kind in mix.split("+")] for mix in listed]
    names = iter(full_names([kind for mix in parts for kind in mix], rooms))
    mixes = [tuple(next(names) for _ in mix) for mix in parts]
    if max(map(len, mixes)) > _MOST_STEPS:
        raise UsageError(f"{max(map(len, mixes))} perturbations at once", expected=f"at most {_MOST_STEPS}")
    unique: dict[tuple[str, ...], tuple[str, ...]] = {}
    for mix in mixes:  # the order of steps follows from their origins, so that fog+snow and snow+fog are one recipe
        unique.setdefault(tuple(sorted(mix)), mix)
    return list(unique.values())


def _pool(kinds: str, mixes: Sequence[tuple[str, ...]], *, schedule: Schedule, rooms: Sequence[str]) -> Recipe:
    if any(len(mix) > 1 for mix in mixes):
        raise UsageError(
            f"{kinds!r:.60} composes, but {schedule.name} draws one kind for each frame",
            expected="kinds with commas",
            hint="to compose with severities that change, take r2bench, ramp, burst or walk",
        )
    names = [mix[0] for mix in mixes]
    recipe = recipe_of(names, _DRAWN_STRENGTH, schedule=schedule, rooms=rooms)
    return replace(recipe, name=f"all_dyn_{schedule.name}") if kinds.strip() == "all" else recipe


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
