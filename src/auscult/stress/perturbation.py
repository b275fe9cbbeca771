"""What perturbations of every room have, whatever they perturb."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from auscult import registry
from auscult.errors import UnknownName, UsageError
from auscult.rng import generator
from auscult.stress.params import NoDraws, Params, SeedParams
from auscult.stress.strength import Rows, between, strength_of
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


@dataclass(frozen=True, slots=True)
class Constant:
    """A named constant of a formula, by strength.

    Attributes:
        name: What it is, in words.
        values: The one that changes nothing, then those of levels 1 to 5.
        unit: Of the values; empty for a plain number.
        exception: Why it does not go one way from level 1 to level 5; empty where it does.
    """

    name: str
    values: tuple[float, ...]
    _: KW_ONLY
    unit: str = ""
    exception: str = ""

    @property
    def rows(self) -> Rows:
        """The values, a row of one for each strength."""
        return tuple(zip(self.values))

    def at(self, strength: float) -> float:
        """The value of a strength, 0..5; on straight lines between the levels."""
        (value,) = between(self.rows, strength)
        return value


@dataclass(frozen=True, slots=True)
class Range:
    """Two bounds, by strength, between which a constant of a formula is drawn.

    Attributes:
        name: What the constant is, in words.
        low: The lower bounds: that which changes nothing, then those of levels 1 to 5.
        high: The upper ones.
        unit: Of both bounds; empty for a plain number.
        exception: Why a bound does not go one way from level 1 to level 5; empty where both do.
    """

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    _: KW_ONLY
    unit: str = ""
    exception: str = ""

    @property
    def rows(self) -> Rows:
        """Both bounds, a row for each strength."""
        return tuple(zip(self.low, self.high, strict=True))

    def at(self, strength: float) -> tuple[float, float]:
        """Both bounds of a strength, 0..5; on straight lines between the levels."""
        low, high = between(self.rows, strength)
        return low, high

    def within(self, strength: float, share: float) -> float:
        """The value at a share of the way from one bound to the other, 0..1."""
        low, high = self.at(strength)
        return low + share * (high - low)


class Declared:
    """What a perturbation says about itself, with its constants by name.

    A subclass sets ``name``, ``meta``, and each constant of its formula as an attribute; what else the pages, the
    contract test and the tables read follows from them.

    Attributes:
        constants: The named constants in the order in which they are declared.
        levels: Their values, as ``Perturbation`` has them.
        declared: Their exceptions, as ``Perturbation`` has them.
    """

    name: str
    meta: Metadata
    constants: tuple[Constant | Range, ...] = ()
    levels: Rows
    declared: Mapping[int, str] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        """Collect its own constants, then those of a base; a class that adds none keeps what it has."""
        super().__init_subclass__()
        if not any(isinstance(value, Constant | Range) for value in vars(cls).values()):
            return
        named: dict[str, Constant | Range] = {}
        for attribute, value in chain.from_iterable(vars(one).items() for one in cls.__mro__):
            if isinstance(value, Constant | Range):
                named.setdefault(attribute, value)
        cls.constants = tuple(named.values())
        rows = zip(*(constant.rows for constant in cls.constants), strict=True)
        cls.levels = tuple(tuple(chain.from_iterable(row)) for row in rows)
        columns = [constant for constant in cls.constants for _ in constant.rows[0]]
        reasons = {at: constant.exception for at, constant in enumerate(columns) if constant.exception}
        cls.declared = MappingProxyType(reasons)


class Perturbs(Declared, Generic[P]):
    """A perturbation of pictures, sound or timing that draws its parameters from their own bounds.

    Attributes:
        params: The class of its parameters.
    """

    params: type[P]

    def choose(self, rng: np.random.Generator, about: Any, /, *, strength: float) -> P:
        """Draw everything that is random; the draws depend neither on the input nor on ``strength``."""
        del about
        return self.params.drawn(rng, strength=strength)


class Seeded(Perturbs[SeedParams]):
    """A perturbation whose only draw is the seed of what it makes while rendering."""

    params = SeedParams


class Fixed(Perturbs[NoDraws]):
    """A perturbation that is the same every time."""

    params = NoDraws


def chosen(stressor: Any, about: object, *, severity: float | str, seed: int, key: str) -> Params:
    """What a perturbation draws for a picture, a sound or a video; a UsageError where the severity is out of range."""
    rng = generator(seed, "stress", stressor.name, key)
    params: Params = stressor.choose(rng, about, strength=strength_of(severity))
    return params


def kind_of(value: object) -> str:
    """An array by its type and shape, anything else by its type."""
    return f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def at_fault(stressor: Any, did: str, *, expected: str = "") -> UsageError:
    """The error for a stressor that gave something it must not give."""
    hint = "the plug-in is at fault; its contract test shows where"
    return UsageError(f"stressor {stressor.name} {did}", expected=expected, hint=hint)


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
