"""What a perturbation of sentences is: it chooses a list of edits, and rendering them is the same for all (law 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Final, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from msgspec import Meta

from auscult.errors import InputError
from auscult.record import codec
from auscult.stress.params import Strength
from auscult.stress.perturbation import WordChange
from auscult.stress.strength import Rows
from auscult.types import Metadata

MOST_CHARACTERS: Final = 200_000

TextSpan: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Edit:
    """One place of the sentence and what stands there instead.

    Attributes:
        start: First character of it.
        end: One past its last; ``start`` where something is put in.
        text: What stands there instead.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditsFormat:
    """Edits as JSON."""

    strength: Strength  # 0..5
    # start, end and text of each
    edits: Annotated[
        tuple[tuple[codec.Count, codec.Count, Annotated[str, Meta(max_length=MOST_CHARACTERS)]], ...],
        Meta(max_length=100_000),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Everything that was chosen for one sentence.

    Attributes:
        strength: 0..5; 0 changes nothing.
        edits: In the order of the sentence; none overlaps another.
    """

    strength: float
    edits: tuple[Edit, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {"strength": self.strength, "edits": [[one.start, one.end, one.text] for one in self.edits]}

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value of another kind, or edits overlap.
        """
        held = codec.from_json(EditsFormat, value, error=InputError, exact=True)
        edits = tuple(Edit(*row) for row in held.edits)
        if any(edit.start > edit.end for edit in edits):
            raise InputError("an edit ends before it starts", expected="[start, end, text]")
        if any(before.end > after.start for before, after in pairwise(edits)):
            raise InputError("edits overlap or are out of order")
        return cls(strength=held.strength, edits=edits)


@runtime_checkable
class SentenceStressor(Protocol):
    """Perturbs sentences.

    Attributes:
        name: The registry's full name, ``sentences.misspelling.v1``.
        meta: What it says about itself; ``origin`` names where it arises.
        levels: Its constants: what changes nothing, then levels 1 to 5.
        declared: Columns of ``levels`` that do not go one way from level 1 to 5, each with the reason in words.
    """

    name: str
    meta: Metadata
    levels: Rows
    declared: Mapping[int, str]

    def choose(
        self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Sequence[TextSpan] = ()
    ) -> Sequence[Edit]:
        """Choose what to change.

        Args:
            rng: Draws everything that is random.
            sentence: Any text; not empty.
            strength: Above 0, up to 5.
            kept: Spans of characters, such as the head noun, that no edit may touch.

        Returns:
            Edits in the order of the sentence that do not overlap; none where nothing can be changed.
        """
        ...


Rewriter: TypeAlias = Callable[[str, str], str]
"""From an instruction and a sentence to a rewritten sentence: what a chat model that is plugged in must do."""


def edited(sentence: str, edits: Sequence[Edit]) -> str:
    """The sentence with its edits.

    Raises:
        InputError: An edit reaches past the end: it was chosen for another sentence.
    """
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


def free(span: TextSpan, kept: Sequence[TextSpan]) -> bool:
    """Whether a span, or the place of an insertion, touches none that is to be kept."""
    start, end = span
    return all(end <= low or start >= high for low, high in kept)


def followed(kept: Sequence[TextSpan], edits: Sequence[Edit]) -> tuple[TextSpan, ...]:
    """Where spans that no edit touches stand in the edited sentence."""
    moved = []
    for low, high in kept:
        by = sum(len(edit.text) - (edit.end - edit.start) for edit in edits if edit.end <= low)
        moved.append((low + by, high + by))
    return tuple(moved)
