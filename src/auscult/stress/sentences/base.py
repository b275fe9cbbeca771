"""What a perturbation of sentences is: it chooses a list of edits, and rendering them is the same for all (law 3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Final, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from msgspec import Meta

from auscult.errors import InputError, UsageError
from auscult.language.referring import head_span
from auscult.language.tokens import MOST_CHARACTERS, TextSpan
from auscult.record import codec
from auscult.rng import generator
from auscult.stress.perturbation import (
    Declaration,
    Effect,
    JsonParams,
    Strength,
    WordChange,
    at_fault,
    loaded,
    strength_of,
)
from auscult.types import Stressed

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
    parts, position = [], 0
    for edit in edits:
        parts += [sentence[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, sentence[position:]])


def changes(sentence: str, edits: Sequence[Edit]) -> tuple[WordChange, ...]:
    """What the edits did, in words."""
    return tuple(WordChange(start=start, before=sentence[start:end], after=text) for start, end, text in edits)


def followed(kept: Kept, edits: Sequence[Edit]) -> tuple[TextSpan, ...]:
    """Where spans that no edit touches stand in the edited sentence."""
    moved = []
    for low, high in kept:
        by = sum(len(edit.text) - (edit.end - edit.start) for edit in edits if edit.end <= low)
        moved.append((low + by, high + by))
    return tuple(moved)


@dataclass(frozen=True, slots=True)
class Guard:
    """Tells quickly what touches a span that must stay, however many there are."""

    lows: tuple[int, ...]  # where each begins, ascending
    highs: tuple[int, ...]  # where each ends, ascending

    @classmethod
    def over(cls, kept: Kept) -> Self:
        """A guard over spans in any order, which may overlap."""
        merged: list[TextSpan] = []
        for low, high in sorted(kept):
            if merged and low < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            elif high > low:
                merged.append((low, high))
        return cls(tuple(low for low, _ in merged), tuple(high for _, high in merged))

    def free(self, start: int, end: int) -> bool:
        """Whether a span, or the place of an insertion where ``start == end``, touches none of them."""
        index = bisect_right(self.highs, start)
        return index == len(self.highs) or self.lows[index] >= end


_LETTER: Final = r"[^\W\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
"""A letter or digit, but of Thai, Lao, Tibetan, Burmese, Khmer, Chinese and Japanese, which have no spaces."""


def apply(
    name: str,
    sentence: str,
    *,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
    keep: Sequence[str] = (),
    keep_head: bool = False,
) -> str:
    """Perturb a sentence.

    Args:
        name: ``sentences.misspelling.v1``, or a short form such as ``misspelling``.
        sentence: Any text.
        severity: 0..5, or ``low``, ``medium``, ``high`` for 1, 3, 5; 0 changes nothing.
        seed: The run's seed.
        key: What it is made for, an item's id; another key draws anew.
        keep: Words or phrases that must stay as they are, wherever they stand as whole words, whatever their case.
        keep_head: Keep the head noun too, where ``head_noun`` finds one.

    Returns:
        The perturbed sentence; as it was where there is nothing to change.

    Raises:
        UnknownName: No such stressor.
        UsageError: The sentence is no text or too long, or the severity is out of range.

    Example:
        >>> apply("mispunctuation", "the dog that barks after the horn", severity=0)
        'the dog that barks after the horn'
    """
    return perturb(name, sentence, severity=severity, seed=seed, key=key, keep=keep, keep_head=keep_head).output


def perturb(
    name: str,
    sentence: str,
    *,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
    keep: Sequence[str] = (),
    keep_head: bool = False,
) -> Stressed[str, Effect]:
    """Perturb a sentence, with its parameters and changes; arguments and errors as in ``apply``."""
    stressor = loaded("sentences", name)
    strength = strength_of(severity)
    kept = spans_of(checked(sentence), keep, head=keep_head)
    rng = generator(seed, "stress", stressor.name, key)
    edits = chosen_edits(stressor, rng, sentence, strength=strength, kept=kept)
    params = Edits(strength=strength, edits=edits)
    return Stressed(
        output=edited(sentence, edits), params=params.as_json(), truth=Effect(words=changes(sentence, edits))
    )


def render(name: str, sentence: str, params_json: Mapping[str, Any]) -> str:
    """Render again from recorded parameters.

    Raises:
        UnknownName: No such stressor.
        InputError: The parameters are none of a sentence, or of another sentence.
    """
    loaded("sentences", name)
    return edited(checked(sentence), Edits.from_json(params_json).edits)


def spans_of(sentence: str, keep: Sequence[str], *, head: bool = False) -> tuple[TextSpan, ...]:
    """Where the phrases that must stay stand as whole words, whatever their case; with ``head``, the head noun too."""
    patterns = [_pattern(phrase) for phrase in _phrases(keep) if phrase]
    spans = {
        match.span(1) for pattern in patterns for match in re.finditer(f"(?=({pattern}))", sentence, re.IGNORECASE)
    }
    first = head_span(sentence) if head else None
    return tuple(sorted(spans if first is None else spans | {first}))


def _phrases(keep: object) -> tuple[str, ...]:
    phrases = tuple(keep) if isinstance(keep, Iterable) and not isinstance(keep, str) else (None,)
    if not all(isinstance(phrase, str) for phrase in phrases):
        raise UsageError(f"keep is {keep!r:.60}", expected="a list of phrases")
    return phrases


def _pattern(phrase: str) -> str:
    """A pattern of a phrase that is no part of a longer word, in scripts with spaces between words."""
    before = f"(?<!{_LETTER})" if re.match(_LETTER, phrase) else ""
    after = f"(?!{_LETTER})" if re.match(_LETTER, phrase[-1]) else ""
    return before + re.escape(phrase) + after


def chosen_edits(
    stressor: SentenceStressor, rng: np.random.Generator, sentence: str, *, strength: float, kept: Sequence[TextSpan]
) -> tuple[Edit, ...]:
    """What a stressor chooses to change; a UsageError where its edits overlap or touch what must stay."""
    if not sentence or strength == 0.0:
        return ()
    edits, guard = stressor.choose(rng, sentence, strength=strength, kept=kept), Guard.over(kept)
    disjoint = all(before.end <= after.start for before, after in pairwise(edits))
    if not disjoint or not all(guard.free(edit.start, edit.end) for edit in edits):
        raise at_fault(stressor, "chose edits that overlap, or touched what must stay")
    return tuple(edits)


def checked(sentence: object) -> str:
    """A sentence of bounded length; a UsageError where it is no text."""
    if not isinstance(sentence, str):
        raise UsageError(f"the sentence is {type(sentence).__name__}", expected="text")
    if len(sentence) > MOST_CHARACTERS:
        raise UsageError(f"the sentence has {len(sentence)} characters", expected=f"at most {MOST_CHARACTERS}")
    return sentence
