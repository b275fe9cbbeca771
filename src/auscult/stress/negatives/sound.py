"""A sound replaced by one that nothing in a scene makes, or the order of two sounds exchanged.

Beyond the paper, for scenes with known truth (``auscult make scenes``). The logical form of the sentence is changed;
it must then name nothing, by the same proof that every sentence of a scene has. The words are made anew from the form,
in the wording that keeps most of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from auscult.language import grammar, proof
from auscult.language.forms import Form, voices
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.stress.negatives.base import Negative, NegativeParams, NegativeStressor, Proof, Subject, drawn
from auscult.stress.perturbation import seed_from
from auscult.stress.sentences.base import Edit
from auscult.types import Metadata

_SWAPPED: Final = {"before": "after", "after": "before"}
_WORDINGS: Final = 30


class _Sound(Negative):
    """A sound that is not heard so."""

    name = "negatives.sound.v1"
    meta = Metadata(
        summary="a sound replaced by one that nothing makes, or the order of two sounds exchanged",
        goal="a model that finds the thing and does not listen",
        modality="text",
        source="auscult's own; the proof of its scenes",
        truth="the sentence names nothing: its logical form is false of everything in the scene",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, subject: Subject, /) -> NegativeParams | Undefined:
        """Draw among the changes of the form that name nothing."""
        facts, form = subject.facts, subject.form
        if facts is None or form is None:
            return Undefined("no logical form and no scene say what sounds when")
        there = {(voice["noun"], voice["verb"]) for voice in voices(facts)}
        others = sorted(set(subject.voices) - there)
        changed = list(_changed(form, others))
        if not changed:
            return Undefined("the sentence says nothing of a sound, or of the order of two")
        good = [one for one in changed if proof.named(one[0], facts) == frozenset()]
        if not good:
            return Undefined("with another sound or order something is still named, or it is not clear")
        new, word = drawn(rng, good)
        text = _in_form(subject.sentence, new, seed=seed_from(rng))
        if text is None:
            return Undefined("the changed form cannot be said")
        says = "the changed logical form is false of everything in the scene"
        return NegativeParams(
            edits=_difference(subject.sentence, text), proof=Proof(claim="sound", word=word, says=says)
        )


def _changed(form: Form, others: list[tuple[str, str]]) -> Iterator[tuple[Form, str]]:
    """The forms with one sound or order changed, and what they say instead."""
    if form["op"] == "voice":
        yield from (({**form, "noun": noun, "verb": verb}, noun) for noun, verb in others)
    how = form.get("how")
    if how in _SWAPPED:
        yield {**form, "how": _SWAPPED[how]}, _SWAPPED[how]
    for key in ("of", "to"):
        inner: Any = form.get(key)
        if isinstance(inner, Mapping):
            yield from (({**form, key: new}, word) for new, word in _changed(inner, others))
        for at, part in enumerate(inner if isinstance(inner, list | tuple) else ()):
            for new, word in _changed(part, others):
                yield {**form, key: [*inner[:at], new, *inner[at + 1 :]]}, word


def _in_form(sentence: str, form: Form, *, seed: int) -> str | None:
    """The wording of a form that has most in common with a sentence."""
    try:
        texts = {grammar.phrase(generator(seed, "wording", at), form).text for at in range(_WORDINGS)}
    except ValueError:
        return None
    texts.discard(sentence)
    return max(sorted(texts), key=lambda text: _shared(sentence, text), default=None)


def _shared(first: str, second: str) -> int:
    return _common(first, second) + _common(first[::-1], second[::-1])


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many parts two sequences begin with alike."""
    return next((at for at, (one, two) in enumerate(zip(first, second, strict=False)) if one != two), len(first))


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


STRESSOR: NegativeStressor = _Sound()
