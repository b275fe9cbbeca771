"""The target or the related object of a sentence replaced by something that is absent, or such an object added.

Robust Referring Image Segmentation, Sec. 3, methods 3 and 5: "man in the left" becomes "cat in the left", and "man
standing" becomes "man standing left to the cat". Article and number are made to agree. The paper takes the first noun
of a sentence for its target; that is ``noun="first"``, and kept only where it is what the sentence is about: of
"baseball player" the first noun is no target, and "cat player" may still be the player.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from auscult.language.lexicon import lexicon
from auscult.language.referring import Parse, Relation, Span
from auscult.outcome import Undefined
from auscult.rng import pick
from auscult.stress.negatives.base import (
    NegativeParams,
    NegativeStressor,
    Rewritten,
    Subject,
    absent_category,
    with_noun,
)
from auscult.stress.sentences.base import Edit
from auscult.types import Metadata

_APART: Final = frozenset(
    {"apart", "avoiding", "away", "beyond", "far", "farther", "further", "instead", "lacking", "minus", "missing"}
    | {"outside", "rather", "unlike"}
)
"""Words of relations that hold where the related object is absent: a man is far from every bus that is not there."""
_ENDS_DENIAL: Final = re.compile(r",|\b(?:and|but)\b", re.IGNORECASE)
_PLACED: Final = ("left of", "right of", "next to", "behind", "in front of", "near")


def first_noun(parsed: Parse) -> Span | None:
    """The first word that is a noun of the lexicon and nothing else, as a tagger finds it; None where none is."""
    lex = lexicon()
    for word in parsed.words:
        if lex.singular(word.low) in lex.nouns and word.low not in lex.function_words | lex.adjectives:
            return Span(word.start, word.end)
    return None


class _Target(Rewritten):
    """An absent target."""

    name = "negatives.target.v1"
    meta = Metadata(
        summary="the head noun replaced by a category that is not in the picture",
        goal="a model that follows place and colour, and not the noun",
        modality="text",
        source="Robust Referring Image Segmentation, Sec. 3 (3); the paper's first noun is a variant",
        truth="the sentence names nothing: the annotation has none of this category, crowd regions included",
        origin="source",
    )

    def rewrite(self, rng: np.random.Generator, subject: Subject, parsed: Parse, /) -> NegativeParams | Undefined:
        """Draw a category and put it in the place of the head noun."""
        span = parsed.head if subject.noun == "head" else first_noun(parsed)
        if span is None or parsed.noun is None:
            return Undefined("there is no noun to replace")
        if span.end != parsed.noun.end:
            return Undefined("the first noun is not what the sentence is about")
        name = absent_category(rng, subject)
        if isinstance(name, Undefined):
            return name
        noun = subject.known.noun(name, many=parsed.plural)
        edits = with_noun(subject.sentence, subject.noun_at(span), noun)
        return NegativeParams(edits=edits, proof=subject.without(name))


class _Relation(Rewritten):
    """An absent related object."""

    name = "negatives.relation.v1"
    meta = Metadata(
        summary="the related object replaced by a category that is not in the picture, or such an object added",
        goal="a model that finds the noun and does not read on",
        modality="text",
        source="Robust Referring Image Segmentation, Sec. 3 (5)",
        truth="the sentence names nothing: what its target stands beside is not there, crowd regions included",
        origin="source",
    )

    def rewrite(self, rng: np.random.Generator, subject: Subject, parsed: Parse, /) -> NegativeParams | Undefined:
        """Draw a category, and put it in the place of the related object, or add it."""
        name = absent_category(rng, subject)
        if isinstance(name, Undefined):
            return name
        if parsed.relation is not None and _is_denied(parsed, parsed.relation):
            return Undefined("the relation is denied: beside something absent the denial is true")
        if parsed.relation is not None and _is_object(subject, parsed.relation):
            return NegativeParams(edits=_related(subject, parsed.relation, name), proof=subject.without(name))
        if parsed.negation:
            return Undefined("something is denied in it: what is added may be denied too")
        sided = subject.absolute and all(attribute.kind != "position" for attribute in parsed.attributes)
        return NegativeParams(edits=_added(rng, subject, name, sided=sided), proof=subject.without(name))


def _is_denied(parsed: Parse, relation: Relation) -> bool:
    """Whether it is said not to be so: by itself, as "far from", or by a word before it, as "not a man at the bus"."""
    related = relation.related.start
    count = sum(relation.words.start <= word.start < related for word in parsed.words)
    own = [word.low for word in parsed.words if word.start < related][-count - 1 :]  # "far" stands before "from"
    denials = (span for span in parsed.negation if span.end <= related)
    between = (parsed.sentence[span.end : relation.words.start] for span in denials)
    return relation.negated or not _APART.isdisjoint(own) or any(_ENDS_DENIAL.search(text) is None for text in between)


def _is_object(subject: Subject, relation: Relation) -> bool:
    """Whether the related noun is an object beside the target, and no part, garment or measure of it."""
    words = subject.sentence[relation.words.start : relation.words.end].lower()
    return words != "of" and subject.known.mention_at(subject.sentence, relation.head.end) is not None


def _related(subject: Subject, relation: Relation, name: str) -> tuple[Edit, ...]:
    """A related object gives way with its own adjectives, as "a red ball" does; an article stays."""
    text, (start, end) = subject.sentence, relation.related
    noun = text[relation.noun.start : relation.noun.end].lower()
    many = lexicon().singular(noun) != noun
    new = subject.known.noun(name, many=many)
    first = text[start:end].split(maxsplit=1)[0]
    if first.lower() in {"a", "an", "the"}:
        return with_noun(text, (start + len(first) + 1, end), new)
    return (Edit(start, end, new if many else f"the {new}"),)


def _added(rng: np.random.Generator, subject: Subject, name: str, *, sided: bool) -> tuple[Edit, ...]:
    text = subject.sentence
    end = len(text.rstrip(" .,;:!?"))
    placed = pick(rng, _PLACED if sided else _PLACED[2:])
    return (Edit(end, end, f" {placed} the {subject.known.noun(name)}"),)


TARGET: NegativeStressor = _Target()
RELATION: NegativeStressor = _Relation()
