"""Whole sentences of something absent: another reference's sentence, or a bare category.

Robust Referring Image Segmentation, Sec. 3, methods 1 and 2. A borrowed sentence is kept only where none of the
categories that it may name is in the picture, its head noun means an absent category and nothing else, and its words
are not all vague ("second from left"). Categories are compared with their synonyms and with those that they belong to.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from auscult.language.categories import Categories
from auscult.language.tokens import words
from auscult.outcome import Undefined
from auscult.rng import pick
from auscult.shipped import read_shipped
from auscult.stress.negatives.base import (
    NOT_EXHAUSTIVE,
    Borrowed,
    Negative,
    NegativeParams,
    NegativeStressor,
    Subject,
    absent_category,
    read,
    whole,
)
from auscult.types import Metadata

_TRIES: Final = 40


@cache
def vague_words() -> frozenset[str]:
    """Words that name no thing, of which a sentence may refer to anything; from ``vague_words.json``."""
    raw = read_shipped("language/data/vague_words.json")
    return frozenset(word for key, text in raw.items() if key != "source" for word in text.split())


def is_vague(sentence: str) -> bool:
    """Whether a sentence has no other words than vague ones."""
    return all(word.low in vague_words() for word in words(sentence))


def borrowable(text: str, source: str, *, known: Categories, category: str = "") -> Borrowed:
    """A sentence to be borrowed, with what it names and what its target is, or why it may refer to anything."""
    parsed = read(text)
    problem, head = "", None
    if isinstance(parsed, Undefined):
        problem = "vague words only" if is_vague(text) else parsed.reason
    elif is_vague(text):
        problem = "vague words only"
    else:
        head = known.mention_at(text, parsed.head.end) if parsed.head is not None else None  # its last word
        if head is None or not head.closed:
            problem = "its head noun names no category of the table, or other things too"
        elif not head.categories - known.table.unclaimed.keys():
            problem = "its head noun is never said to be absent"
    categories = known.named(text) | ({category} & set(known.names))
    meant = frozenset() if head is None else head.categories
    return Borrowed(text=text, source=source, head=meant, categories=categories, problem=problem)


class _BorrowedSentence(Negative):
    """Another reference's sentence."""

    name = "negatives.sentence.v1"
    meta = Metadata(
        summary="another reference's sentence, none of whose categories is in the picture",
        goal="a model that segments whatever stands out, whatever it is asked for",
        modality="text",
        source="Robust Referring Image Segmentation, Sec. 3 (1)",
        truth="the sentence names nothing: the annotation has none of its categories, crowd regions included",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, subject: Subject, /) -> NegativeParams | Undefined:
        """Draw sentences until one fits."""
        if not subject.looked_for:
            return NOT_EXHAUSTIVE
        absent, related = frozenset(subject.absent), subject.known.related(subject.present)
        for _ in range(_TRIES if subject.others else 0):
            other = pick(rng, subject.others)
            if other.problem or not other.head <= absent or other.categories & related:
                continue
            names = ", ".join(sorted(other.head))
            return NegativeParams(
                edits=whole(subject.sentence, other.text), proof=subject.without(names), source=other.source
            )
        return Undefined("no sentence of another reference names only categories that are absent")


class _Category(Negative):
    """A bare category."""

    name = "negatives.category.v1"
    meta = Metadata(
        summary="the bare name of a category that is not in the picture",
        goal="a model that segments whatever stands out, whatever it is asked for",
        modality="text",
        source="Robust Referring Image Segmentation, Sec. 3 (2)",
        truth="the sentence names nothing: the annotation has none of this category, crowd regions included",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, subject: Subject, /) -> NegativeParams | Undefined:
        """Draw a category."""
        name = absent_category(rng, subject)
        if isinstance(name, Undefined):
            return name
        return NegativeParams(edits=whole(subject.sentence, name), proof=subject.without(name))


SENTENCE: NegativeStressor = _BorrowedSentence()
CATEGORY: NegativeStressor = _Category()
