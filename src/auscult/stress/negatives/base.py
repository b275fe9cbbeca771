"""What a maker of negative sentences is: it edits a sentence so that it names nothing, and says what proves that.

A stressor here works on one positive sentence of one picture. ``choose`` draws edits together with their ``Proof``;
``render`` applies the edits and is pure (law 3). Pictures are known as objects with category, place and colours, as
somebody measured them; nothing is opened here. What the annotation cannot prove is ``Undefined``, with the reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from msgspec import Meta

from auscult.errors import InputError
from auscult.language.categories import Categories
from auscult.language.forms import Facts
from auscult.language.lexicon import article
from auscult.language.referring import Parse, Span, parse, vocabulary
from auscult.language.tokens import words
from auscult.outcome import Undefined
from auscult.rng import generator, pick
from auscult.stress.perturbation import JsonParams, loaded
from auscult.stress.sentences.base import Edit, checked, edited
from auscult.types import Metadata, Stressed

Claim: TypeAlias = Literal["absent", "position", "colour", "size", "texture", "motion", "sound"]
MOST_WORDS: Final = 200
"""Of a sentence that is worked on: nobody refers to an object in more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof(JsonParams):
    """Why a sentence names nothing in its picture.

    Attributes:
        claim: What the sentence says that is false: something absent is there; how a thing looks, moves or sounds.
        word: The category, position, colour, size, texture, motion or sound that is said.
        of: The categories whose objects were looked at; of ``absent`` those that are there.
        measured: What was measured of each of them: how far it reaches, the share of its pixels, its area; 0..1.
        limit: What each of these must stay below.
        says: The same in one sentence.
    """

    claim: Claim
    word: Annotated[str, Meta(max_length=1_000)]
    of: tuple[str, ...] = ()
    measured: tuple[float, ...] = ()
    limit: float | None = None
    says: Annotated[str, Meta(max_length=10_000)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeParams(JsonParams):
    """Everything that was chosen for one negative sentence.

    Attributes:
        edits: Of the positive sentence, in its order; none overlaps another.
        proof: Why the edited sentence names nothing.
        source: The reference that a whole sentence was taken from; empty where none was.
    """

    edits: Annotated[tuple[Edit, ...], Meta(min_length=1, max_length=100)]
    proof: Proof
    source: Annotated[str, Meta(max_length=10_000)] = ""

    def __post_init__(self) -> None:
        """Refuse edits that overlap or are out of order."""
        ends = [0, *(edit.end for edit in self.edits)]
        if any(edit.start < end or edit.end < edit.start for edit, end in zip(self.edits, ends, strict=False)):
            raise InputError("edits overlap or are out of order")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One object of a picture.

    Attributes:
        category: Its name in the table of categories.
        box: Left, top, right, bottom as shares of the picture, 0..1; None where it is not known.
        area: The share of the picture that it covers; None where it is not known.
        colours: The share of its pixels that each colour word may mean, 0..1; None where no picture was looked at.
        crowd: Whether it is a region of many.
    """

    category: str
    box: tuple[float, float, float, float] | None = None
    area: float | None = None
    colours: Mapping[str, float] | None = None
    crowd: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrowed:
    """A sentence of another reference.

    Attributes:
        text: The sentence.
        source: The id of its reference.
        head: What its head noun means.
        categories: Every category that it may name; that of its target among them.
        problem: Why it may refer to anything, such as vague words alone; empty where it is good.
    """

    text: str
    source: str
    head: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A positive sentence with what is known of its picture.

    Attributes:
        sentence: What refers to the target.
        known: The table of categories.
        things: All objects of the picture, crowd regions included.
        looked_for: The categories that the annotation has wherever they occur; empty where none is sure.
        others: Sentences of other references, to borrow one.
        absolute: Whether positions in the picture may be said.
        noun: Which noun counts as the target: the head, or the first one, as in the paper.
        facts: What is seen and heard in a generated scene; None elsewhere.
        form: The logical form of the sentence in such a scene.
        voices: The sounds of other scenes, each as noun and verb.
    """

    sentence: str
    known: Categories
    things: Sequence[Seen] = ()
    looked_for: frozenset[str] = frozenset()
    others: Sequence[Borrowed] = ()
    absolute: bool = True
    noun: Literal["head", "first"] = "head"
    facts: Facts | None = None
    form: Mapping[str, Any] | None = None
    voices: Sequence[tuple[str, str]] = ()

    @cached_property
    def present(self) -> frozenset[str]:
        """The categories that are there."""
        return frozenset(thing.category for thing in self.things)

    @cached_property
    def absent(self) -> tuple[str, ...]:
        """The categories that may be said to be absent."""
        return self.known.absent(self.present, self.looked_for)

    def noun_at(self, head: Span) -> Span:
        """A head noun with all words of the category's name that ends with it: "stop sign"."""
        mention = self.known.mention_at(self.sentence, head.end)
        return head if mention is None else Span(min(head.start, mention.start), head.end)

    def without(self, category: str) -> Proof:
        """The proof that a category is absent."""
        names = ", ".join(sorted(self.present)) or "nothing"
        says = f"no {category} is annotated, crowd regions included; there is {names}"
        return Proof(claim="absent", word=category, of=tuple(sorted(self.present)), says=says)


@runtime_checkable
class NegativeStressor(Protocol):
    """Makes negative sentences of one kind."""

    name: str
    meta: Metadata

    def choose(self, rng: np.random.Generator, subject: Subject, /) -> NegativeParams | Undefined:
        """Draw the edits of a positive sentence and their proof; Undefined with the reason where none is proven."""
        ...

    def render(self, sentence: str, params: NegativeParams, /) -> str:
        """The sentence with its edits."""
        ...


class Negative:
    """What all kinds share; a subclass sets ``name`` and ``meta``, and chooses."""

    name: str
    meta: Metadata

    def render(self, sentence: str, params: NegativeParams, /) -> str:
        """The sentence with its edits; an InputError where they were chosen for another one."""
        return edited(sentence, params.edits)


class Rewritten(Negative, ABC):
    """A kind that changes parts of the sentence: it needs a head noun."""

    def choose(self, rng: np.random.Generator, subject: Subject, /) -> NegativeParams | Undefined:
        """Read the sentence, and draw what is changed."""
        parsed = read(subject.sentence)
        return parsed if isinstance(parsed, Undefined) else self.rewrite(rng, subject, parsed)

    @abstractmethod
    def rewrite(self, rng: np.random.Generator, subject: Subject, parsed: Parse, /) -> NegativeParams | Undefined:
        """Draw what is changed in a sentence of these parts."""


_ALL: Final = frozenset({"all", "any", "anybody", "anyone", "anything", "everybody", "everyone", "everything"})
_BUT: Final = frozenset({"but", "save", "besides"})
NOT_EXHAUSTIVE: Final = Undefined("the annotation does not say which categories it has wherever they occur")
NOTHING_ABSENT: Final = Undefined("no category may be said to be absent")


def absent_category(rng: np.random.Generator, subject: Subject) -> str | Undefined:
    """A category that may be said to be absent, each as often."""
    if not subject.looked_for:
        return NOT_EXHAUSTIVE
    return pick(rng, subject.absent) if subject.absent else NOTHING_ABSENT


def whole(sentence: str, text: str) -> tuple[Edit, ...]:
    """The edit that puts another text in the place of a sentence."""
    return (Edit(0, len(sentence), text),)


@lru_cache(maxsize=512)  # a reference asks for each of its few sentences several times
def read(sentence: str) -> Parse | Undefined:
    """The parts of a sentence; Undefined with the reason where it has no head, or is too long to be one."""
    if len(sentence) > 20 * MOST_WORDS or sentence.count(" ") >= MOST_WORDS:
        return Undefined(f"the sentence has more than {MOST_WORDS} words")
    parsed = parse(sentence)
    if parsed.head is None:
        return Undefined(parsed.problem or "there is no head noun")
    return Undefined("its head noun is denied: it is about something else") if _head_is_denied(parsed) else parsed


def _head_is_denied(parsed: Parse) -> bool:
    """Whether "not the dog" or "all but the dog" is about what the noun does not mean; "the non-red dog" is a dog."""
    end = 0 if parsed.head is None else parsed.head.end
    low = [word.low for word in parsed.words if word.end <= end]
    left_out = any(word in _BUT and _ALL.intersection(low[:index]) for index, word in enumerate(low))
    return left_out or any(span.end < end and not _is_prefix(parsed.sentence, span) for span in parsed.negation)


def _is_prefix(sentence: str, denial: Span) -> bool:
    return sentence[denial.start : denial.end].lower().startswith("non-")


def with_noun(sentence: str, span: tuple[int, int], noun: str) -> tuple[Edit, ...]:
    """The edits that put a noun in a place, and make an ``a`` or ``an`` right before it agree."""
    start, end = span
    before = sentence[:start].rstrip()
    word = before.rpartition(" ")[2]
    if word.lower() not in {"a", "an"}:
        return (Edit(start, end, _cased(sentence, start, noun)),)
    right = article(noun).split(" ", 1)[0]
    right = right.capitalize() if word[0].isupper() else right
    edit = Edit(start, end, noun)
    return (edit,) if right == word else (Edit(len(before) - len(word), len(before), right), edit)


def _cased(sentence: str, start: int, noun: str) -> str:
    """The noun with a capital where it begins a sentence that begins with one."""
    return noun[0].upper() + noun[1:] if start == 0 and sentence[:1].isupper() else noun


KINDS: Final = ("sentence", "category", "target", "attribute", "relation", "sound", "scene_attribute")


def perturb(name: str, subject: Subject, *, seed: int = 0, key: str = "") -> Stressed[str, Proof] | Undefined:
    """A negative sentence from a positive one, with its parameters and its proof.

    Args:
        name: ``negatives.target.v1``, or a short form such as ``target``.
        subject: The positive sentence and its picture.
        seed: The run's seed.
        key: What it is made for; another key draws anew.

    Returns:
        The sentence; Undefined with the reason where nothing is proven to be absent or false.

    Raises:
        UnknownName: No such stressor.
        UsageError: The sentence is no text or too long.
    """
    stressor: NegativeStressor = loaded("negatives", name)
    sentence = checked(subject.sentence)
    chosen = stressor.choose(generator(seed, "stress", stressor.name, key), subject)
    if isinstance(chosen, Undefined):
        return chosen
    text = stressor.render(sentence, chosen)
    if text == sentence:
        return Undefined("what was drawn is what the sentence says already")
    if not subject.absolute and has_absolute_position(text):
        return Undefined("the sentence has an absolute position")
    return Stressed(output=text, params=chosen.as_json(), truth=chosen.proof)


def render(name: str, sentence: str, params_json: Mapping[str, Any]) -> str:
    """Render again from recorded parameters.

    Raises:
        UnknownName: No such stressor.
        InputError: The parameters are none of a negative sentence, or of another sentence.
    """
    stressor: NegativeStressor = loaded("negatives", name)
    return stressor.render(checked(sentence), NegativeParams.from_json(params_json))


def has_absolute_position(sentence: str) -> bool:
    """Whether a sentence says a place in the picture, such as left or top; "in front of" is none."""
    low = [word.low for word in words(sentence)]
    places = vocabulary().absolute
    return any(
        word in places and not (word == "front" and low[i - 1 : i] == ["in"] and low[i + 1 : i + 2] == ["of"])
        for i, word in enumerate(low)
    )
