"""The parts of a recipe, and the names of the perturbations they are made of."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from auscult import registry
from auscult.errors import UnknownName, UsageError
from auscult.stress.schedule import STATIC, Schedule

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
class Step:
    """One perturbation of a recipe.

    Attributes:
        name: Its full registry name, ``vision.fog.v1``.
        strength: 0..5.
    """

    name: str
    strength: float

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
    steps: tuple[Step, ...]
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
    """Several at once, for the price of one look into the registry; as ``full_name``."""
    asked = tuple(rooms)
    known = registered(asked)
    return tuple(_full(kind, known, rooms=asked) for kind in kinds)


def registered(rooms: Iterable[str] = ROOMS) -> tuple[str, ...]:
    """The full names of all perturbations of some rooms."""
    return _registered(tuple(rooms), tuple(sys.path))


@cache
def _registered(rooms: tuple[str, ...], _where: tuple[str, ...]) -> tuple[str, ...]:
    """Kept for a search path: a mix is drawn for every case, and each look through the packages takes milliseconds."""
    return tuple(entry.name for entry in registry.entries("stressor") if room_of(entry.name) in rooms)


def _full(kind: str, known: Sequence[str], *, rooms: Sequence[str]) -> str:
    found: dict[str, str] = {}
    for name in known:
        room, base, version = name.split(".")
        if kind in {name, f"{room}.{base}", f"{base}.{version}", base}:
            found[room] = max(found.get(room, name), name, key=version_of)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise UnknownName(
            f"several rooms have a perturbation {kind!r}",
            expected=" or ".join(found.values()),
            hint=f"write {' or '.join(name.rpartition('.')[0] for name in found.values())}",
        )
    shorts = {short: base_of(name) for name in known for short in (base_of(name), name)}
    close = dict.fromkeys(shorts[one] for one in difflib.get_close_matches(kind, list(shorts), n=3, cutoff=0.5))
    raise UnknownName(
        f"there is no perturbation {kind!r:.60} of {' or '.join(rooms)}",
        expected=f"one of: {', '.join(dict.fromkeys(base_of(name) for name in known))}",
        hint=f"did you mean {' or '.join(close)}?" if close else "",
    )


def crew_of(names: Iterable[str]) -> dict[str, Any]:
    """What carries out each of several steps, by full name, for the price of one look into the registry.

    Raises:
        UnknownName: A name is not registered.
        UsageError: A perturbation cannot be loaded, or says nowhere that it arises.
    """
    return dict(_crew(tuple(dict.fromkeys(names))))


@cache
def _crew(asked: tuple[str, ...]) -> Mapping[str, Any]:
    """Kept, since looking through the installed packages costs more than perturbing a sentence."""
    known = {entry.name: entry for entry in registry.entries("stressor") if room_of(entry.name) in ROOMS}
    return {name: _checked(known[name if name in known else _full(name, tuple(known), rooms=ROOMS)]) for name in asked}


def _checked(entry: registry.Entry) -> Any:
    stressor = entry.load()
    if stressor.meta.origin not in ORIGINS:
        raise UsageError(
            f"stressor {entry.name} arises at {stressor.meta.origin!r}",
            expected=f"one of: {', '.join(ORIGINS)}",
            hint="the plug-in is at fault; its contract test shows where",
        )
    return stressor
