"""What the grammar gives: a sentence, and the logical form that proves what it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Sense: TypeAlias = Literal["sight", "sound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A referring expression.

    Attributes:
        text: The sentence, lower case, without a final stop.
        family: What kind of reason singles the target out: ``colour``, ``position``, ``order_of_sounds``, ...
        wording: Which way of saying it was taken, unique within the family.
        target: Id of the one thing it names; None for a null expression, which names nothing.
        needs: The senses without which it cannot be resolved among the scene's things.
        form: The logical form as JSON values, from which the proof can be repeated.
    """

    text: str
    family: str
    wording: str
    target: str | None
    needs: frozenset[Sense]
    form: Mapping[str, Any]
