"""The head noun of referring expressions, made up and real."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from auscult.language.tokens import words
from auscult.stress import sentences
from auscult.stress.sentences import head_noun

NAMES = ("misspelling", "grammar_error", "character_missing", "homoglyphs", "mispunctuation")


@pytest.mark.parametrize(
    ("sentence", "noun"),
    [
        ("the dog that barks", "dog"),
        ("The Cat positioned to the right of the audible baby.", "Cat"),
        ("a bowl whose exterior is neither red nor white", "bowl"),
        ("the yellow suitcase without a blue tag", "suitcase"),
        ("the third knife from the top, hanging on the wall", "knife"),
        ("a giant panda seated and eating", "panda"),
        ("barking dog near me", "dog"),
        ("the sounding guitar.", "guitar"),
        ("the black and white penguin facing right", "penguin"),
        ("the traffic light behind a car", "light"),
        ("a pair of glasses on a man", "glasses"),
        ("one of the chairs with a cushion on it", "chairs"),
        ("of the red things, the one that is largest", "things"),
        ("the man's dog", "dog"),
        ("the hair-dryer in front of the man", "hair-dryer"),
        ("a person bent over", "person"),
        ("the wolf consistently visible", "wolf"),
        ("the swimming pool", "pool"),
        ("an orange on a plate", "orange"),
        ("the guzheng", "guzheng"),
        ("the baby laughing at the cat", "baby"),
        ("the red and orange light", "light"),
        ("the adult closest to the door", "adult"),
        ("a person crossing the street", "person"),
        ("a giant flying bird", "bird"),
        ("The man is playing a harp.", "man"),
        ("Which of the two men, on the left, is singing?", "men"),
    ],
)
def test_finds_the_noun(sentence: str, noun: str) -> None:
    assert head_noun(sentence) == noun


@pytest.mark.parametrize("sentence", ["", "  ", "the loudest", "two of them", "собака, которая лает", "🐕", "3", "NO."])
def test_finds_none_where_there_is_none(sentence: str) -> None:
    assert head_noun(sentence) is None


@pytest.mark.parametrize("name", NAMES)
def test_the_head_noun_stays_when_it_is_to_be_kept(name: str) -> None:
    sentence = "the small brown dog that barks near the other dog"
    for seed in range(8):
        perturbed = sentences.perturb(name, sentence, severity=5, seed=seed, keep_head=True)
        start = sentence.index("dog")
        assert all(word.start + len(word.before) <= start or word.start >= start + 3 for word in perturbed.truth.words)
        assert "dog" in [word.text for word in words(perturbed.output)] or name == "mispunctuation"
        assert perturbed.output != sentence


def test_agrees_with_the_category_that_real_expressions_were_written_for(data: Path) -> None:
    """Where the name of the referred object's category begins an expression, the head noun is in that name."""
    with (data / "referring" / "ref_avs_expressions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[::7]
    noun_and_text = [(row["uid"].split("_")[-2].lower(), row["exp"]) for row in rows]
    starting_with_noun = [
        (noun, text) for noun, text in noun_and_text if text.lower().startswith((f"the {noun} ", f"{noun} "))
    ]
    right = sum((head_noun(text) or "").lower() in [*noun.split("-"), noun] for noun, text in starting_with_noun)
    assert len(starting_with_noun) >= 100
    assert right >= 0.97 * len(starting_with_noun)
