"""What perturbations of every room have, whatever they perturb."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol, TypeVar

from auscult import registry
from auscult.errors import UnknownName
from auscult.stress.params import Params
from auscult.stress.strength import Rows
from auscult.types import Box, Mask, Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChange:
    """One place of a sentence that was changed.

    Attributes:
        start: Where in the old sentence it begins, in characters.
        before: What stood there; empty where something was put in.
        after: What stands there now; empty where something was taken out.
    """

    start: int
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effect:
    """What became of the truth. A field that is None or empty says that nothing of its kind changed.

    Attributes:
        masks: The given masks where the pixels went, each bool and of the shape given.
        boxes: The given boxes where the pixels went; None for one that left the picture.
        frames: The number of the input frame that each output frame shows.
        silent_s: Spans in which the sound was taken away, (start, end) in seconds.
        offset_s: How much later than its picture the sound at each output frame is: the time of the picture shown less
            that of the sound heard, in seconds of the input.
        words: What changed in a sentence.
    """

    masks: tuple[Mask, ...] | None = None
    boxes: tuple[Box | None, ...] | None = None
    frames: tuple[int, ...] | None = None
    silent_s: tuple[tuple[float, float], ...] = ()
    offset_s: tuple[float, ...] = ()
    words: tuple[WordChange, ...] = ()


P = TypeVar("P", bound=Params)


class Perturbation(Protocol[P]):
    """What a perturbation says about itself.

    Attributes:
        name: The registry's full name, ``vision.fog.v1``.
        meta: What it says about itself; ``origin`` names where it arises.
        params: The class of its parameters.
        levels: Its constants: what changes nothing, then levels 1 to 5.
        declared: Columns of ``levels`` that do not go one way from level 1 to 5, each with the reason in words.
    """

    name: str
    meta: Metadata
    params: type[P]
    levels: Rows
    declared: Mapping[int, str]


_SHORT: Final = re.compile(r"[^.]+(\.v[0-9]+)?")


def loaded(room: str, name: object) -> Any:
    """A registered perturbation of a room.

    Args:
        room: ``vision``, ``sound``, ``sentences`` or ``timing``.
        name: ``vision.fog.v1``, ``vision.fog``, ``fog.v1`` or ``fog``.

    Raises:
        UnknownName: It is no text, no such perturbation, or one of another room.
        UsageError: The perturbation cannot be loaded.
    """
    if not isinstance(name, str):
        raise UnknownName(f"{name!r:.40} is no name of a perturbation", expected="text")
    return _loaded(room, name)


@cache
def _loaded(room: str, name: str) -> Any:
    """Kept, since looking through the installed packages costs more than most perturbations."""
    entry = registry.find("stressor", f"{room}.{name}" if _SHORT.fullmatch(name) else name)
    other = entry.name.partition(".")[0]
    if other != room:
        raise UnknownName(
            f"{entry.name} is no perturbation of {room}",
            expected=f"a name that begins with {room}.",
            hint=f"auscult.stress.{other} has it",
        )
    return entry.load()
