"""What a perturbation of sentences is: it chooses a list of edits, and rendering them is the same for all (law 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from msgspec import Meta

from auscult.errors import InputError
from auscult.language.tokens import MOST_CHARACTERS, TextSpan
from auscult.record import codec
from auscult.stress.perturbation import Declaration, JsonParams, Strength, WordChange

Kept: TypeAlias = Sequence[TextSpan]
"""Spans of characters, such as the head noun, that no edit may touch."""


class Edit(NamedTuple):
    """One span of the sentence and its replacement.

    Attributes:
        start: First character of it.
        end: One past its last; ``start`` where something is put in.
        text: The replacement.
    """

    start: codec.Count
    end: codec.Count
    text: Annotated[str, Meta(max_length=MOST_CHARACTERS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits(JsonParams):
    """Everything that was chosen for one sentence.

    Attributes:
        strength: 0..5; 0 changes nothing.
        edits: In the order of the sentence; none overlaps another. In JSON, start, end and text of each.
    """

    strength: Strength
    edits: Annotated[tuple[Edit, ...], Meta(max_length=100_000)] = ()

    def __post_init__(self) -> None:
        """Refuse edits that end before they start, overlap, or are out of order."""
        if any(edit.start > edit.end for edit in self.edits):
            raise InputError("an edit ends before it starts", expected="[start, end, text]")
        if any(before.end > after.start for before, after in pairwise(self.edits)):
            raise InputError("edits overlap or are out of order")


@runtime_checkable
class SentenceStressor(Declaration, Protocol):
    """Perturbs sentences."""

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Choose what to change.

        Args:
            rng: Draws everything that is random.
            sentence: Any text; not empty.
            strength: Above 0, up to 5.
            kept: What no edit may touch.

        Returns:
            Edits in the order of the sentence that do not overlap; none where nothing can be changed.
        """
        ...


Rewriter: TypeAlias = Callable[[str, str], str]
"""From an instruction and a sentence to a rewritten sentence: what a chat model that is plugged in must do."""


def edited(sentence: str, edits: Sequence[Edit]) -> str:
    """The sentence with its edits; an InputError where one reaches past the end: it was chosen for another sentence."""
    if edits and edits[-1].end > len(sentence):
        raise InputError("an edit reaches past the end of the sentence", hint="it was chosen for another sentence")
    parts, at = [], 0
    for edit in edits:
        parts += [sentence[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, sentence[at:]])


def changes(sentence: str, edits: Sequence[Edit]) -> tuple[WordChange, ...]:
    """What the edits did, in words."""
    return tuple(WordChange(start=one.start, before=sentence[one.start : one.end], after=one.text) for one in edits)


def followed(kept: Kept, edits: Sequence[Edit]) -> tuple[TextSpan, ...]:
    """Where spans that no edit touches stand in the edited sentence."""
    moved = []
    for low, high in kept:
        by = sum(len(edit.text) - (edit.end - edit.start) for edit in edits if edit.end <= low)
        moved.append((low + by, high + by))
    return tuple(moved)
