"""The parts of a recipe, and the names of the perturbations they are made of.

How the strength of a perturbation goes through a clip, and which perturbation a frame gets (R2-Bench, Eq. 2).

======== =======================================================================================================
static   the same strength in every frame
paper    each frame draws its type among the steps of a recipe, and its severity among 1, 3 and 5
r2bench  each frame draws its severity among 1, 3 and 5; the type stays, as in the release's own code
ramp     rises on a straight line from nothing in the first frame to the full strength in the last
burst    nothing, broken by bursts of full strength: one in every 50 frames, a quarter to a half of them long
walk     wanders between nothing and the full strength, by about a sixteenth of it per frame
======== =======================================================================================================

Each is a pure function of a seed, the frame's number and the number of frames. What a perturbation draws, it draws once
for the clip: only how strong it is changes, so weather stays one weather and does not boil.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult import registry
from auscult.errors import UnknownName, UsageError
from auscult.rng import generator, pick
from auscult.stress.perturbation import strength_of

LEVELS: Final = (1.0, 3.0, 5.0)
"""Low, medium and high: what ``paper`` and ``r2bench`` draw among."""

_BURST_FRAMES: Final = 50
_WALK_STEP: Final = 1 / 16

Strengths: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule by its name."""

    name: str  # one of `SCHEDULES`

    @property
    def draws_levels(self) -> bool:
        """Whether severities are drawn, so that the strength of a step says nothing."""
        return self.name in {"paper", "r2bench"}

    @property
    def draws_types(self) -> bool:
        """Whether the steps of a recipe are alternatives, of which each frame takes one."""
        return self.name == "paper"

    @property
    def moves(self) -> bool:
        """Whether anything changes from frame to frame."""
        return self.name != "static"

    def strengths(self, full: float, *, seed: int, frames: int) -> Strengths:
        """The strength of every frame of a step of strength ``full``, float64 (frames,), 0..5; drawn from the seed."""
        if self.draws_levels and full > 0.0:
            return np.array(LEVELS)[generator(seed, "schedule", "levels").integers(len(LEVELS), size=frames)]
        shape = _SHAPES.get(self.name)
        return np.full(frames, full) if shape is None else full * shape(generator(seed, "schedule", self.name), frames)

    def types(self, count: int, *, seed: int, frames: int) -> NDArray[np.int64]:
        """Which of ``count`` alternatives each frame takes, int64 (frames,)."""
        return generator(seed, "schedule", "types").integers(count, size=frames)

    def whole(self, full: float, rng: np.random.Generator) -> float:
        """The strength of what has no frames, a sound or a sentence: drawn once where severities are drawn."""
        return pick(rng, LEVELS) if self.draws_levels and full > 0.0 else full


def no_such(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a name that is none of those known, with the nearest."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=2)
    return UnknownName(
        f"there is no {what} {name!r:.60}",
        expected=f"one of: {', '.join(names)}",
        hint=f"did you mean {' or '.join(close)}?" if close else "",
    )


def schedule_of(name: str) -> Schedule:
    """A schedule by its name; an UnknownName where there is no such."""
    if name in SCHEDULES:
        return SCHEDULES[name]
    raise no_such("schedule", name, SCHEDULES)


def _ramp(rng: np.random.Generator, frames: int) -> Strengths:
    del rng
    return np.linspace(0.0, 1.0, frames) if frames > 1 else np.ones(1)


def _burst(rng: np.random.Generator, frames: int) -> Strengths:
    shape = np.zeros(frames)
    for start in range(0, frames, _BURST_FRAMES):
        period = min(_BURST_FRAMES, frames - start)
        length = max(1, round(period * rng.uniform(0.25, 0.5)))
        begin = start + int(rng.integers(period - length + 1))
        shape[begin : begin + length] = 1.0
    return shape


def _walk(rng: np.random.Generator, frames: int) -> Strengths:
    start = rng.uniform()
    steps = _WALK_STEP * rng.standard_normal(frames - 1)
    path = start + np.concatenate([[0.0], np.cumsum(steps)])
    return 1.0 - np.abs(1.0 - np.mod(path, 2.0))  # reflected at both ends


_SHAPES: Final[Mapping[str, Callable[[np.random.Generator, int], Strengths]]] = MappingProxyType(
    {"ramp": _ramp, "burst": _burst, "walk": _walk}
)

SCHEDULES: Final[Mapping[str, Schedule]] = MappingProxyType(
    {name: Schedule(name) for name in ("static", "paper", "r2bench", "ramp", "burst", "walk")}
)
STATIC: Final = SCHEDULES["static"]


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
        schedule: One of ``SCHEDULES``. Under ``paper`` the kinds are what each frame draws from, and become
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
