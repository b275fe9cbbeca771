"""The faults that the grammar rules know, and that they leave a sentence's meaning alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sentence_cases import GRAMMAR_ERROR, LONG, edits, perturbed_text_of

from auscult.language.lexicon import lexicon, regular_past, third
from auscult.language.tokens import words
from auscult.stress.sentences.base import Guard, edited
from auscult.stress.sentences.grammar_error import SentenceWords, possible_faults


def faults(sentence: str, kind: str) -> set[str]:
    """The sentence with each single fault of a kind."""
    words_found = words(sentence)
    view = SentenceWords(
        sentence=sentence, words=words_found, lows=[word.low for word in words_found], lexicon=lexicon()
    )
    return {edited(sentence, [fault.edit]) for fault in possible_faults(view, Guard.over(())) if fault.kind == kind}


@pytest.mark.parametrize(
    ("sentence", "kind", "expected"),
    [
        ("the dog barks", "agreement", "the dog bark"),
        ("the dogs bark", "agreement", "the dogs barks"),
        ("the dog that barks", "agreement", "the dog that bark"),
        ("the men who play", "agreement", "the men who plays"),
        ("the dog is red", "agreement", "the dog are red"),
        ("two small dogs", "agreement", "two small dog"),
        ("3 men", "agreement", "3 man"),
        ("a small wolf", "agreement", "a small wolves"),
        ("these dogs", "agreement", "this dogs"),
        ("the man is singing", "tense", "the man is sing"),
        ("the man is singing", "tense", "the man is sang"),
        ("the cup held by him", "tense", "the cup holded by him"),
        ("the first to sing", "tense", "the first to sang"),
        ("the drum being played", "tense", "the drum being play"),
        ("a dog", "article", "dog"),
        ("a dog", "article", "an dog"),
        ("an apple", "article", "a apple"),
        ("the dog", "article", "the the dog"),
        ("dog on the left", "preposition", "dog in the left"),
        ("black dog", "order", "dog black"),
        ("The dog", "order", "Dog the"),
        ("sounding", "order", "sounding sounding"),
    ],
)
def test_knows_the_fault(sentence: str, kind: str, expected: str) -> None:
    assert expected in faults(sentence, kind)


@pytest.mark.parametrize("sentence", ["the dog behind the man", "the cup without a lid", "the bird above the tree"])
def test_no_preposition_that_tells_a_place_is_changed(sentence: str) -> None:
    assert not faults(sentence, "preposition")


@pytest.mark.parametrize("seed", range(30))
def test_what_denies_stays_where_it_stands(seed: int) -> None:
    sentence = perturbed_text_of(GRAMMAR_ERROR, "the man who is not sitting and never sings", strength=5, seed=seed)
    assert {"not", "never"} <= set(sentence.split())


def test_each_kind_is_drawn() -> None:
    sentence = "the first dog that barks on the left"
    kinds = {kind: faults(sentence, kind) for kind in ("agreement", "tense", "article", "preposition", "order")}
    single = [perturbed_text_of(GRAMMAR_ERROR, sentence, strength=1, seed=seed) for seed in range(80)]
    kinds_drawn = {kind for kind, changed_words in kinds.items() for word in single if word in changed_words}
    assert kinds_drawn == set(kinds)


def test_faults_do_not_touch_one_another() -> None:
    for seed in range(30):
        word_edits = edits(GRAMMAR_ERROR, LONG, strength=5, seed=seed)
        assert all(edit.end <= other.start for edit, other in pairwise(word_edits))


def test_forms_of_verbs() -> None:
    assert [third(verb) for verb in ("bark", "watch", "carry", "play", "have")] == [
        *("barks", "watches", "carries", "plays", "has")
    ]
    assert [regular_past(verb) for verb in ("bark", "make", "carry", "play", "stop", "hold")] == [
        *("barked", "maked", "carried", "played", "stopped", "holded")
    ]
    assert lexicon().past_of["sing"] == "sang"
    assert lexicon().participles["worn"] == "wear"
    plurals = ("men", "boxes", "puppies", "horses", "foxes", "ferries", "cookies", "tubas", "bus", "dog")
    singulars = ["man", "box", "puppy", "horse", "fox", "ferry", "cookie", "tuba", "bus", "dog"]
    assert [lexicon().singular(noun) for noun in plurals] == singulars
