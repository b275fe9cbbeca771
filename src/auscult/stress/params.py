"""Parameters of perturbations: frozen dataclasses of plain values that are written to JSON and read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Final, Self, TypeAlias, get_args, get_type_hints

import numpy as np
from msgspec import Meta

from auscult.errors import InputError
from auscult.record import codec
from auscult.rng import generator
from auscult.stress.strength import STRONGEST

MOST_SEED: Final = 2**63 - 1

Draw: TypeAlias = Callable[[np.random.Generator], Any]
Share: TypeAlias = codec.Share
"""A drawn number from 0 to 1."""
Seed: TypeAlias = Annotated[int, Meta(ge=-MOST_SEED, le=MOST_SEED)]
"""What is made while rendering follows from it."""
Strength: TypeAlias = Annotated[float, Meta(ge=0.0, le=STRONGEST)]
"""0 changes nothing, 5 is the strongest."""


def seed_from(rng: np.random.Generator) -> int:
    """Draw a seed for what is made while rendering, such as one noise for each frame."""
    return int(rng.integers(MOST_SEED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Everything that was drawn for one perturbation; a subclass adds its own draws, of type int, float, bool or str.

    A number has its bounds in its annotation, ``angle_deg: Annotated[float, Meta(ge=-45.0, le=45.0)]``, and a seed is
    a ``Seed``: they are drawn between these bounds, and refused beyond them.

    Attributes:
        strength: 0..5; 0 changes nothing.
    """

    strength: Strength

    @classmethod
    def drawn(cls, rng: np.random.Generator, *, strength: float) -> Self:
        """Draw every field, each value equally likely, in the order of the fields but for the seed, which is last."""
        return cls(strength=strength, **{name: draw(rng) for name, draw in cls._draws()})

    @classmethod
    @cache
    def _draws(cls) -> tuple[tuple[str, Draw], ...]:
        """How each field but the strength is drawn, the seed last; kept, since reading annotations takes longer."""
        hints = get_type_hints(cls, include_extras=True)
        names = [field.name for field in fields(cls) if field.name != "strength"]
        return tuple((name, _draw_of(hints[name])) for name in sorted(names, key=lambda name: name == "seed"))

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value of another kind.
        """
        return codec.from_json(cls, value, error=InputError, exact=True)


def _draw_of(kind: Any) -> Draw:
    """How a value of an annotated field is drawn."""
    if kind is bool:
        return lambda rng: bool(rng.integers(2))
    if kind == Seed:
        return seed_from
    number, bounds = get_args(kind)
    low, high = bounds.ge, bounds.le
    if number is int:
        return lambda rng: int(rng.integers(low, high + 1))
    return lambda rng: float(rng.uniform(low, high))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoDraws(Params):
    """Parameters of a perturbation that draws nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedParams(Params):
    """Parameters with a seed.

    Attributes:
        seed: What every draw while rendering follows from.
    """

    seed: Seed

    def of_frame(self, index: int) -> np.random.Generator:
        """The generator of one frame."""
        return generator(self.seed, "frame", index)

    def stream(self, *key: str | int) -> np.random.Generator:
        """The generator of one purpose in a sound."""
        return generator(self.seed, "sound", *key)
