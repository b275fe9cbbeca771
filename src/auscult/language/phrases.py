"""Sentences from logical forms: a noun with words before it, after it, and a clause, each chosen among many.

Two rules keep a sentence from being read in another way than its form: what ends in a phrase of its own ("to the left
of the drum") stands last, so that nothing after it can be taken to belong to the drum; and a superlative ranges over
the whole phrase that follows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, overload

import numpy as np

from auscult.language.forms import SOUNDS, Form
from auscult.language.morphology import is_plural, negated, of_many
from auscult.language.words import Way, sound_name, ways

T = TypeVar("T")

_TRIES: Final = 40
_GENERIC: Final = (("thing", "things"), ("object", "objects"), ("item", "items"), ("one", "ones"))
# Before a noun; what one does who is the first or last to do it; a clause.
_SUPERLATIVES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]] = {
    "large": (("largest", "biggest"), (), ("is the largest", "is bigger than all the others")),
    "small": (("smallest",), (), ("is the smallest", "is smaller than all the others")),
    "left": (("leftmost",), (), ("is farthest to the left", "lies farthest left")),
    "right": (("rightmost",), (), ("is farthest to the right", "lies farthest right")),
    "high": (("highest", "topmost"), (), ("is the highest up", "is nearest to the top")),
    "low": (("lowest", "bottommost"), (), ("is the lowest down", "is nearest to the bottom")),
    "loud": (("loudest",), (), ("is the loudest", "sounds loudest")),
    "quiet": (("quietest",), (), ("is the quietest to be heard", "sounds softest")),
    "early": (
        (),
        ("first * to start sounding", "first * to be heard"),
        ("is heard first", "starts sounding first", "is the first to start sounding"),
    ),
    "late": (
        (),
        ("last * to start sounding", "last * to begin to sound"),
        ("starts sounding last", "is the last to start sounding"),
    ),
    "short_lived": (
        (),
        ("first * to fall silent for good", "first * to stop sounding for good"),
        ("goes quiet for good first", "is the first to stop sounding for good"),
    ),
    "lasting": (
        (),
        ("last * to fall silent", "last * to stop sounding"),
        ("falls silent last", "is the last to stop sounding"),
    ),
    "frequent": ((), (), ("sounds most often", "is heard the most times", "sounds more often than all the others")),
    "long": ((), (), ("sounds for the longest time", "is heard the longest", "sounds longer than all the others")),
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words, and which way of saying it was taken."""

    text: str
    wording: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """One predicate, said: its way, with the phrase it leads to put in, and whether it leads to one."""

    way: Way
    key: str
    leads: bool


def phrase(rng: np.random.Generator, form: Form) -> Phrase:
    """Say a form as a phrase that begins with ``the``, ``of`` or ``among``; every wording can come out.

    Raises:
        ValueError: The form has no wording: it joins two predicates that both lead to a phrase of their own.
    """
    return _superlative(rng, form) if form["op"] == "most" else _singular(rng, form)


def _singular(rng: np.random.Generator, form: Form) -> Phrase:
    said = _noun_phrase(rng, form, many=False)
    return Phrase(f"the {said.text}", said.wording)


def _superlative(rng: np.random.Generator, form: Form, *, inner: bool = False) -> Phrase:
    """Say a superlative; ``inner``, in a way that fits after a relation."""
    before, first, clauses = _SUPERLATIVES[form["by"]]
    there = {"before": before, "first": first, "among": not inner, "of": before}
    kind = _pick(rng, [kind for kind, ways_of in there.items() if ways_of])
    if kind == "before":
        word, said = _pick(rng, before), _noun_phrase(rng, form["of"], many=False)
        return Phrase(f"the {word} {said.text}", f"{word} {said.wording}")
    if kind == "first":
        word, group = _pick(rng, first), {"op": "anything"} if form["of"]["op"] == "sounds" else form["of"]
        short = _noun_phrase(rng, group, many=False, short=True)
        if short is not None:
            return Phrase(f"the {word.replace('*', short.text)}", f"{word} {short.wording}")
    said = _noun_phrase(rng, form["of"], many=True)
    if kind == "of":
        word = _pick(rng, before)
        among = _pick(rng, ("of", "among", "of all"))
        return Phrase(f"the {word} {among} the {said.text}", f"{word} {among} {said.wording}")
    start, clause = _pick(rng, ("among", "of", "out of")), _pick(rng, clauses)
    one = f"the ones that {of_many(clause)}" if _several(form) else f"the one that {clause}"
    return Phrase(f"{start} the {said.text}, {one}", f"{start}, {clause} {said.wording}")


@overload
def _noun_phrase(rng: np.random.Generator, form: Form, *, many: bool) -> Phrase: ...
@overload
def _noun_phrase(rng: np.random.Generator, form: Form, *, many: bool, short: bool) -> Phrase | None: ...
def _noun_phrase(rng: np.random.Generator, form: Form, *, many: bool, short: bool = False) -> Phrase | None:
    """Words from those before the noun to the last clause, without an article; ``short`` ends with the noun."""
    parts = _parts(form)
    many = many or _several(form)
    for _ in range(_TRIES):
        pieces = [_piece(rng, part, many=many) for part in parts]
        if _fit(pieces, short=short):
            return _joined(rng, pieces, many=many)
    if short:
        return None
    raise ValueError(f"there is no way to say {form}")


def _parts(form: Form) -> list[Form]:
    """What is said one by one; "sounds" and "not with" are said together, else it takes "audible" and "not heard"."""
    parts = [part for part in (form["of"] if form["op"] == "and" else (form,)) if part["op"] != "anything"]
    apart = [part for part in parts if part["op"] == "not" and part["of"].get("how") == "with"]
    if apart and SOUNDS in parts:
        kept = [part for part in parts if part != SOUNDS and part not in apart]
        return kept + [{**part["of"], "op": f"sounds_not_{part['of']['op']}"} for part in apart]
    return parts


def _several(form: Form) -> bool:
    """Whether a thing is called by a noun of the plural form: "the scissors that do not move"."""
    if form["op"] == "most":
        return _several(form["of"])
    parts = form["of"] if form["op"] == "and" else (form,)
    return any(part["op"] == "category" and is_plural(part["word"]) for part in parts)


def _piece(rng: np.random.Generator, part: Form, *, many: bool) -> _Piece:
    choice = ways(part)
    way = _pick(rng, _by_slot(rng, choice))
    key = f"{part['op']}.{way.slot}{choice.index(way)}"
    inner = part["of"] if part["op"] == "not" else part
    leads = "how" in inner
    denied = way.text.startswith("not:")
    text = way.text.removeprefix("not:")
    if denied:
        text = negated(text)
    said = (way.many or (of_many(text) if way.slot == "that" else text)) if many else text
    if leads:
        start, _, end = said.partition("{to} ")
        if end and "to" in inner and _several(inner["to"]):
            said = start + "{to} " + of_many(end)
        said = said.replace("{to}", _referent(rng, inner))
    return _Piece(replace(way, text=said), key, leads)


def _by_slot(rng: np.random.Generator, choice: Sequence[Way]) -> list[Way]:
    """The ways of one slot, so that a slot of many ways is not taken more often."""
    slot = _pick(rng, sorted({way.slot for way in choice}))
    return [way for way in choice if way.slot == slot]


def _referent(rng: np.random.Generator, form: Form) -> str:
    if "noun" in form:
        return f"the {sound_name(form['noun'])}"
    to = form["to"]
    return (_superlative(rng, to, inner=True) if to["op"] == "most" else _singular(rng, to)).text


def _fit(pieces: Sequence[_Piece], *, short: bool) -> bool:
    count = {slot: sum(piece.way.slot == slot for piece in pieces) for slot in ("noun", "before", "after", "that")}
    if any(count[slot] > most for slot, most in (("noun", 1), ("before", 2), ("after", 1), ("that", 2))):
        return False
    if short:
        return not count["after"] and not count["that"]
    leading = [piece for piece in pieces if piece.leads]
    if not count["that"]:
        return len(leading) <= 1
    # Nothing may come after what ends in a phrase of its own, or in a clause.
    return (
        all(piece.way.slot != "after" for piece in leading) and len(leading) <= 1 and not any(map(_is_clause, pieces))
    )


def _is_clause(piece: _Piece) -> bool:
    return piece.way.text.startswith(("whose", "from which"))


def _joined(rng: np.random.Generator, pieces: Sequence[_Piece], *, many: bool) -> Phrase:
    before = sorted((piece for piece in pieces if piece.way.slot == "before"), key=lambda piece: piece.way.rank)
    nouns = [piece.way.text for piece in pieces if piece.way.slot == "noun"]
    after = [piece for piece in pieces if piece.way.slot == "after"]
    that = sorted((piece for piece in pieces if piece.way.slot == "that"), key=lambda piece: piece.leads)
    generic = _pick(rng, _GENERIC if pieces else _GENERIC[:3])
    head = nouns[0] if nouns else generic[many]
    words = [*(piece.way.text for piece in before), head, *(piece.way.text for piece in after)]
    if that:
        words += ["that", " and ".join(piece.way.text for piece in that)]
    keys = [piece.key for piece in (*before, *after, *that) if piece.way.slot != "noun"]
    return Phrase(" ".join(words), " | ".join([*keys, "noun" if nouns else generic[0]]))


def _pick(rng: np.random.Generator, choice: Sequence[T]) -> T:
    return choice[int(rng.integers(len(choice)))]
