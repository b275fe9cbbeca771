"""What perturbations of every room have, whatever they perturb: strength, drawn parameters, named constants, metadata.

A strength of 0 leaves its input as it was, 1 to 5 are the levels of R2-Bench, with all between; the papers call 1, 3
and 5 low, medium and high.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cache
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Annotated, Any, Final, Generic, Protocol, Self, TypeAlias, TypeVar, get_args, get_type_hints

import numpy as np
from msgspec import Meta

from auscult import registry
from auscult.errors import InputError, UnknownName, UsageError
from auscult.record import codec
from auscult.rng import generator
from auscult.types import Box, Mask, Metadata

STRONGEST: Final = 5.0
NAMED: Final[Mapping[str, float]] = {"low": 1.0, "medium": 3.0, "high": 5.0}

_WANTED: Final = f"a number from 0 to {STRONGEST:g}, or {', '.join(NAMED)}"
_LEVELS: Final = "0 changes nothing, 5 is the strongest; low, medium and high are 1, 3 and 5"

Rows: TypeAlias = Sequence[Sequence[float]]


def strength_of(severity: float | str) -> float:
    """The strength, 0..5, of a severity: a number or its text, or ``low``, ``medium``, ``high``; else a UsageError."""
    if isinstance(severity, str) and severity in NAMED:
        return NAMED[severity]
    try:
        strength = float(severity)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{severity!r} is no severity", expected=_WANTED, hint=_LEVELS) from error
    if isinstance(severity, bool) or not (math.isfinite(strength) and 0.0 <= strength <= STRONGEST):
        raise UsageError(f"the severity is {severity!r}", expected=_WANTED, hint=_LEVELS)
    return strength


def between(values: Sequence[float], strength: float) -> float:
    """The constant of a strength, 0..5, on straight lines between six: that which changes nothing, then the levels'.

    Example:
        >>> between((0.0, 0.4, 0.3, 0.2, 0.1, 0.05), 2.5)
        0.25
    """
    below = min(int(strength), len(values) - 2)
    low, high = values[below], values[below + 1]
    return low if low == high else low + (strength - below) * (high - low)


def monotone(rows: Rows, column: int) -> bool:
    """Whether a constant goes one way from level 1 to level 5."""
    values = [row[column] for row in rows[1:]]
    steps = [after - before for before, after in pairwise(values)]
    return all(step >= 0 for step in steps) or all(step <= 0 for step in steps)


MOST_SEED: Final = 2**63 - 1

DrawParams: TypeAlias = Callable[[np.random.Generator], Any]
Share: TypeAlias = codec.Share
"""A drawn number from 0 to 1."""
Seed: TypeAlias = Annotated[int, Meta(ge=-MOST_SEED, le=MOST_SEED)]
"""What is made while rendering follows from it."""
Strength: TypeAlias = Annotated[float, Meta(ge=0.0, le=STRONGEST)]
"""0 changes nothing, 5 is the strongest."""


def seed_from(rng: np.random.Generator) -> int:
    """Draw a seed for what is made while rendering, such as one noise for each frame."""
    return int(rng.integers(MOST_SEED))


class JsonParams:
    """Makes JSON of a frozen dataclass of parameters and reads it: keys are its fields, rules their annotations."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        value: dict[str, Any] = codec.to_json(self)
        return value

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value of another kind or out of range.
        """
        hint = "parameters replay only with the stressor and version that wrote them"
        return codec.from_json(cls, value, error=InputError, hint=hint, exact=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params(JsonParams):
    """Everything that was drawn for one perturbation; a subclass adds its own draws, of type int, float, bool or str.

    A number has its bounds in its annotation, ``angle_deg: Annotated[float, Meta(ge=-45.0, le=45.0)]``, and a seed is
    a ``Seed``: they are drawn between these bounds, and refused beyond them.
    """

    strength: Strength

    @classmethod
    def drawn(cls, rng: np.random.Generator, *, strength: float) -> Self:
        """Draw every field, each value equally likely, in the order of the fields but for the seed, which is last."""
        return cls(strength=strength, **{name: draw(rng) for name, draw in cls._draws()})

    @classmethod
    @cache
    def _draws(cls) -> tuple[tuple[str, DrawParams], ...]:
        """How each field but the strength is drawn, the seed last; kept, since reading annotations takes longer."""
        hints = get_type_hints(cls, include_extras=True)
        names = [field.name for field in fields(cls) if field.name != "strength"]
        return tuple((name, _draw_of(hints[name])) for name in sorted(names, key=lambda name: name == "seed"))


def _draw_of(kind: Any) -> DrawParams:
    """How a value of an annotated field is drawn."""
    if kind is bool:
        return lambda rng: bool(rng.integers(2))
    if kind == Seed:
        return seed_from
    number, bounds = get_args(kind)
    low, high = bounds.ge, bounds.le
    if number is int:
        return lambda rng: int(rng.integers(low, high + 1))
    span = high - low
    return lambda rng: low + span * rng.random()  # as rng.uniform, in a fifth of the time


@dataclass(frozen=True, slots=True, kw_only=True)
class NoDraws(Params):
    """Parameters of a perturbation that draws nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedParams(Params):
    """Parameters with a seed, which every draw while rendering follows from."""

    seed: Seed

    def of_frame(self, index: int) -> np.random.Generator:
        """The generator of one frame."""
        return generator(self.seed, "frame", index)

    def stream(self, *key: str | int) -> np.random.Generator:
        """The generator of one purpose in a sound."""
        return generator(self.seed, "sound", *key)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChange:
    """One change in a sentence."""

    start: int  # where in the old sentence it begins, in characters
    before: str  # what stood there; empty where something was put in
    after: str  # what stands there now; empty where something was taken out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effect:
    """The ground truth after the perturbation. A field that is None or empty did not change."""

    masks: tuple[Mask, ...] | None = None  # the given masks where the pixels went, each bool and of the shape given
    # the given boxes where the pixels went; None for one that left the picture
    boxes: tuple[Box | None, ...] | None = None
    frames: tuple[int, ...] | None = None  # the number of the input frame that each output frame shows
    silent_s: tuple[tuple[float, float], ...] = ()  # spans in which the sound was taken away, (start, end) in seconds
    # how much later than its picture the sound at each output frame is: the time of the picture shown less that of the
    # sound heard, in seconds of the input
    offset_s: tuple[float, ...] = ()
    words: tuple[WordChange, ...] = ()  # what changed in a sentence


P = TypeVar("P", bound=Params)
About_contra = TypeVar("About_contra", contravariant=True)


class Declaration(Protocol):
    """What a perturbation says about itself.

    Attributes:
        name: The registry's full name, ``vision.fog.v1``.
        meta: What it says about itself; ``origin`` names where it arises.
        levels: Its constants: what changes nothing, then levels 1 to 5.
        declared: Columns of ``levels`` that do not go one way from level 1 to 5, each with the reason in words.
    """

    name: str
    meta: Metadata
    levels: Rows
    declared: Mapping[int, str]


class Perturbation(Declaration, Protocol[P, About_contra]):
    """What perturbs pictures, sound or timing; ``params`` is the class of its parameters."""

    params: type[P]

    def choose(self, rng: np.random.Generator, about: About_contra, /, *, strength: float) -> P:
        """Draw everything that is random, once for a clip; the draws do not depend on ``strength``."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """A named constant of a formula, by strength."""

    name: str  # what it is, in words
    values: tuple[float, ...]  # the one that changes nothing, then those of levels 1 to 5
    _: KW_ONLY
    unit: str = ""  # of the values; empty for a plain number
    exception: str = ""  # why it does not go one way from level 1 to level 5; empty where it does

    @property
    def rows(self) -> Rows:
        """The values, a row of one for each strength."""
        return tuple(zip(self.values))

    def at(self, strength: float) -> float:
        """The value of a strength, 0..5; on straight lines between the levels."""
        return between(self.values, strength)


@dataclass(frozen=True, slots=True)
class Range:
    """Two bounds, by strength, between which a constant of a formula is drawn."""

    name: str  # what the constant is, in words
    low: tuple[float, ...]  # the lower bounds: that which changes nothing, then those of levels 1 to 5
    high: tuple[float, ...]  # the upper ones
    _: KW_ONLY
    unit: str = ""  # of both bounds; empty for a plain number
    exception: str = ""  # why a bound does not go one way from level 1 to level 5; empty where both do

    @property
    def rows(self) -> Rows:
        """Both bounds, a row for each strength."""
        return tuple(zip(self.low, self.high, strict=True))

    def at(self, strength: float) -> tuple[float, float]:
        """Both bounds of a strength, 0..5; on straight lines between the levels."""
        return between(self.low, strength), between(self.high, strength)

    def within(self, strength: float, share: float) -> float:
        """The value at a share of the way from one bound to the other, 0..1."""
        low, high = self.at(strength)
        return low + share * (high - low)


class Declared:
    """What a perturbation says about itself, with its constants by name.

    A subclass sets ``name``, ``meta``, and each constant of its formula as an attribute; what else the pages, the
    contract test and the tables read follows from them.
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
        by_name: dict[str, Constant | Range] = {}
        for attribute, value in chain.from_iterable(vars(base).items() for base in cls.__mro__):
            if isinstance(value, Constant | Range):
                by_name.setdefault(attribute, value)
        cls.constants = tuple(by_name.values())
        cls.levels = tuple(tuple(chain(*rows)) for rows in zip(*(value.rows for value in cls.constants), strict=True))
        columns = [constant for constant in cls.constants for _ in constant.rows[0]]
        reasons = {index: constant.exception for index, constant in enumerate(columns) if constant.exception}
        cls.declared = MappingProxyType(reasons)


class Perturbs(Declared, Generic[P]):
    """A perturbation of pictures, sound or timing that draws its parameters from their own bounds."""

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
    """The error for a stressor that returned an invalid value."""
    hint = "the plug-in is at fault; its contract test shows where"
    return UsageError(f"stressor {stressor.name} {did}", expected=expected, hint=hint)


_SHORT: Final = re.compile(r"[^.]+(\.v[0-9]+)?")


def loaded(room: str, name: object) -> Any:
    """A registered perturbation of a room, by ``vision.fog.v1`` or a short form such as ``fog``."""
    if not isinstance(name, str):
        raise UnknownName(f"{name!r:.40} is no name of a perturbation", expected="text")
    return _loaded(room, name)


@cache
def _loaded(room: str, name: str) -> Any:
    """Kept, since looking through the installed packages costs more than most perturbations."""
    try:
        entry = registry.find("stressor", f"{room}.{name}" if _SHORT.fullmatch(name) else name)
    except UnknownName as error:
        own = (entry.name for entry in registry.entries("stressor") if entry.name.startswith(f"{room}."))
        raise UnknownName(error.message, expected=f"one of: {', '.join(own)}", hint=error.hint) from error
    other = entry.name.partition(".")[0]
    if other != room:
        raise UnknownName(
            f"{entry.name} is no perturbation of {room}",
            expected=f"a name that begins with {room}.",
            hint=f"auscult.stress.{other} has it",
        )
    return entry.load()
