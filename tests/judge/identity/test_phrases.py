"""What expressions ask for: noun phrases, heads in the singular, places; for our own sentences and for strangers'."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.judge.identity.clip import MOST_LETTERS, NOUNS, parse_expression, photo_of, prompts, singular
from auscult.language.grammar import phrase
from auscult.language.lexicon import plural
from auscult.rng import generator

TABLE = [
    ("The striped red cars that move to the left", "striped red cars", "car"),
    ("among the drums, the one that is louder", "drum", "drum"),
    ("of all the birds, the one that is heard first", "bird", "bird"),
    ("the largest of the cats", "cat", "cat"),
    ("the largest among all vases at the bottom", "vase", "vase"),
    ("the left car", "left car", "car"),
    ("the car left of the tree", "car", "car"),
    ("man in red", "man", "man"),
    ("the barking dog on the upper right", "barking dog", "dog"),
    ("Segment the guitar being played by the man", "guitar", "guitar"),
    ("the young woman's hat", "young woman's hat", "hat"),
    ("the traffic lights in the middle", "traffic lights", "traffic light"),
    ("the object making a sound", "object", None),
    ("the first thing to be heard", "first thing", None),
    ("an object that is not a cat", "object", None),
    ("second from left", "second", None),
    ("the scissors on the table", "scissors", "scissors"),
    ("guy", "guy", "guy"),
]


@pytest.mark.parametrize(("text", "words", "noun"), TABLE)
def test_what_is_asked_for(text: str, words: str, noun: str | None) -> None:
    parsed = parse_expression(text)
    assert parsed is not None
    assert (parsed.phrase, parsed.noun) == (words, noun)


@pytest.mark.parametrize("text", ["", "   ", "...", "the", "the of a", ","])
def test_words_that_name_nothing_ask_for_nothing(text: str) -> None:
    assert parse_expression(text) is None
    assert prompts(text) == ()


@pytest.mark.parametrize(
    ("text", "is_heard"),
    [
        ("the thing that makes a sound", True),
        ("the loudest object", True),
        ("the barking dog", True),
        ("the red car", False),
        ("the earring", False),
    ],
)
def test_words_of_sound_are_noticed(text: str, *, is_heard: bool) -> None:
    parsed = parse_expression(text)
    assert parsed is not None
    assert parsed.heard is is_heard


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_short_phrases_or_nothing(text: str) -> None:
    parsed = parse_expression(text)
    if parsed is None:
        return
    assert 0 < len(parsed.phrase) <= MOST_LETTERS
    assert prompts(text)[0] == " ".join(text.split())
    assert 1 <= len(prompts(text)) <= 3


def test_a_very_long_text_is_cut_and_does_not_take_long() -> None:
    parsed = parse_expression("the " + "very " * 100_000 + "long car")
    assert parsed is not None
    assert len(parsed.phrase) <= MOST_LETTERS


def test_the_head_of_our_own_sentences_is_found() -> None:
    """Every way in which the language room says a category with one more word gives back the category."""
    right = total = 0
    for noun in ("drum", "cat", "bottle", "bird"):
        for number, attribute in enumerate(
            [
                {"op": "colour", "word": "red"},
                {"op": "place", "word": "left"},
                {"op": "motion", "word": "right"},
                {"op": "hidden"},
                {"op": "texture", "word": "striped"},
            ]
        ):
            form_ = {"op": "and", "of": [{"op": "category", "word": noun}, attribute]}
            for repeat in range(6):
                sentence = phrase(generator(repeat, noun, number), form_).text
                parsed = parse_expression(sentence)
                total += 1
                right += parsed is not None and parsed.noun == noun
    assert right == total == 120


def test_every_noun_of_the_list_is_one_and_is_found_from_many() -> None:
    assert len(set(NOUNS)) == len(NOUNS)
    for noun in NOUNS:
        assert noun == noun.lower().strip()
        assert singular(noun) == noun
        assert singular(plural(noun)) == noun
        parsed = parse_expression(f"the {noun} on the right")
        assert parsed is not None
        assert parsed.noun == noun


@pytest.mark.parametrize(
    ("plural_word", "expected"), [("guys", "guy"), ("ladies", "lady"), ("grass", "grass"), ("wugs", "wug")]
)
def test_one_of_words_that_are_not_in_the_list(plural_word: str, expected: str) -> None:
    assert singular(plural_word) == expected


def test_prompts_are_sentences() -> None:
    assert prompts("the red cars") == ("the red cars", "a photo of red cars", "a photo of a car")
    assert photo_of("orange") == "a photo of an orange"
    assert photo_of("scissors") == "a photo of scissors"
