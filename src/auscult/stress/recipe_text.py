"""Sentences that several perturbations change one after another, told as changes of the sentence that was given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from auscult.stress.effect import WordChange
from auscult.stress.sentences.base import Edit, edited


def in_turn(sentence: str, rounds: Iterable[Sequence[Edit]]) -> str:
    """The sentence after one list of edits after another.

    Raises:
        InputError: An edit reaches past the end of what it was chosen for.
    """
    for edits in rounds:
        sentence = edited(sentence, edits)
    return sentence


def changes_of(sentence: str, rounds: Iterable[Sequence[Edit]]) -> tuple[WordChange, ...]:
    """What all rounds together did to the sentence that was given, in its own places.

    Follows every character from where it stood; what stands between two that stayed was put in, taken out or replaced.
    """
    text, came = sentence, list(range(len(sentence)))
    for edits in rounds:
        came = _followed(came, edits)
        text = edited(text, edits)
    found, start, at = [], 0, 0
    stayed = [(place, origin) for place, origin in enumerate(came) if origin >= 0]
    for place, origin in [*stayed, (len(text), len(sentence))]:
        if place > at or origin > start:
            found.append(WordChange(start=start, before=sentence[start:origin], after=text[at:place]))
        start, at = origin + 1, place + 1
    return tuple(found)


def _followed(came: Sequence[int], edits: Sequence[Edit]) -> list[int]:
    """For every character after the edits, where it stood at first; -1 for one that was put in."""
    found: list[int] = []
    at = 0
    for edit in edits:
        found += [*came[at : edit.start], *([-1] * len(edit.text))]
        at = edit.end
    return [*found, *came[at:]]
