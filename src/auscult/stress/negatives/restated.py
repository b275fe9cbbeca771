"""A part of what a sentence says of a generated scene, changed so that it names nothing.

The logical form of the sentence is changed; it must then be false of everything, by the same proof that every sentence
of a scene has. The words are made anew from the form, in the wording that keeps most of the sentence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from auscult.language import grammar, proof
from auscult.language.forms import Facts, Form
from auscult.outcome import Undefined
from auscult.rng import generator, pick
from auscult.stress.negatives.base import Claim, Negative, NegativeParams, Proof, Subject
from auscult.stress.perturbation import seed_from
from auscult.stress.sentences.base import Edit

_WORDINGS: Final = 30


class Change(NamedTuple):
    """Another form in the place of one."""

    form: Form
    claim: Claim
    word: str  # what is said instead


class Restated(Negative, ABC):
    """A kind that changes one part of the logical form; a subclass names the reasons why none can be changed."""

    unknown: ClassVar[str]  # there is no scene
    unsaid: ClassVar[str]  # the sentence has no such part
    unproven: ClassVar[str]  # with any change something may still be named

    def choose(self, rng: np.random.Generator, subject: Subject, /) -> NegativeParams | Undefined:
        """Draw among the changes of the form that name nothing."""
        facts, form = subject.facts, subject.form
        if facts is None or form is None:
            return Undefined(self.unknown)
        changed = list(_changed(form, lambda part: self.changes(part, facts, subject)))
        if not changed:
            return Undefined(self.unsaid)
        proven = [change for change in changed if proof.named(change.form, facts) == frozenset()]
        if not proven:
            return Undefined(self.unproven)
        new = pick(rng, proven)
        text = _in_form(subject.sentence, new.form, seed=seed_from(rng))
        if text is None:
            return Undefined("the changed form cannot be said")
        says = "the changed logical form is false of everything in the scene"
        return NegativeParams(
            edits=_difference(subject.sentence, text), proof=Proof(claim=new.claim, word=new.word, says=says)
        )

    @abstractmethod
    def changes(self, part: Form, facts: Facts, subject: Subject) -> Iterator[Change]:
        """What may stand in the place of one part of the form, whose own parts are asked for apart."""


def _changed(form: Form, changes: Callable[[Form], Iterator[Change]]) -> Iterator[Change]:
    """The forms with one part changed."""
    yield from changes(form)
    for key in ("of", "to"):
        inner: Any = form.get(key)
        if isinstance(inner, Mapping):
            yield from (new._replace(form={**form, key: new.form}) for new in _changed(inner, changes))
        for index, part in enumerate(inner if isinstance(inner, list | tuple) else ()):
            for new in _changed(part, changes):
                yield new._replace(form={**form, key: [*inner[:index], new.form, *inner[index + 1 :]]})


def _in_form(sentence: str, form: Form, *, seed: int) -> str | None:
    """The wording of a form that has most in common with a sentence."""
    try:
        texts = {grammar.phrase(generator(seed, "wording", number), form).text for number in range(_WORDINGS)}
    except ValueError:
        return None
    texts.discard(sentence)
    return max(
        sorted(texts), key=lambda text: _common(sentence, text) + _common(sentence[::-1], text[::-1]), default=None
    )


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many parts two sequences begin with alike."""
    return next((index for index, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))


def _difference(sentence: str, text: str) -> tuple[Edit, ...]:
    """One edit of whole words."""
    old, new = sentence.split(" "), text.split(" ")
    start = _common(old, new)
    same = min(_common(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    before = len(" ".join(old[:start])) + (start > 0)
    middle_old, middle_new = " ".join(old[start : len(old) - same]), " ".join(new[start : len(new) - same])
    if not middle_old or not middle_new:  # a word more or less: its space goes with it
        return (Edit(0, len(sentence), text),)
    return (Edit(before, before + len(middle_old), middle_new),)
