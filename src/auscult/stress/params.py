"""Parameters of perturbations: frozen dataclasses of plain values that are written to JSON and read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np

from auscult.errors import InputError
from auscult.stress.strength import STRONGEST

MOST_SEED = 2**63 - 1


def seed_from(rng: np.random.Generator) -> int:
    """Draw a seed for what is made while rendering, such as one noise for each frame."""
    return int(rng.integers(MOST_SEED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Everything that was drawn for one perturbation; a subclass adds its own draws, of type int, float, bool or str.

    Attributes:
        strength: 0..5; 0 changes nothing.
        RANGES: Least and greatest value of each number that a subclass draws; seeds need none.
    """

    strength: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value of another kind.
        """
        names = [field.name for field in fields(cls)]
        if not isinstance(value, Mapping) or set(value) != set(names):
            given = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
            raise InputError(f"parameters hold {given}", expected=f"exactly {', '.join(names)}")
        kinds = get_type_hints(cls)
        found = {name: _plain(name, value[name], kinds[name]) for name in names}
        for name, (low, high) in {"strength": (0.0, STRONGEST), **cls.RANGES}.items():
            if not low <= found[name] <= high:
                raise InputError(f"{name} is {found[name]}", expected=f"{low:g} to {high:g}")
        return cls(**found)


def _plain(name: str, value: object, kind: type) -> Any:
    """A value of the kind that a field has; a whole number will do for a float, and nothing else for another."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) <= MOST_SEED else math.inf  # of more digits than a float can hold
    if type(value) is not kind:
        raise InputError(f"{name} is {value!r:.60}", expected=kind.__name__)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name} is {value}", expected="a finite number")
    if kind is int and not -MOST_SEED <= value <= MOST_SEED:  # type: ignore[operator]
        raise InputError(f"{name} is out of range", expected=f"at most {MOST_SEED}")
    return value
