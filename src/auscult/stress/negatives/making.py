"""Make negative sentences by name, and render them again from recorded parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from auscult.language.referring import vocabulary
from auscult.language.tokens import words
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.stress.negatives.base import NegativeParams, NegativeStressor, Proof, Subject
from auscult.stress.perturbation import loaded
from auscult.stress.sentences.making import checked
from auscult.types import Stressed

KINDS: Final = ("sentence", "category", "target", "attribute", "relation", "sound")


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
        word in places and not (word == "front" and low[at - 1 : at] == ["in"] and low[at + 1 : at + 2] == ["of"])
        for at, word in enumerate(low)
    )
