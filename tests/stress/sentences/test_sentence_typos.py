"""Misspellings are no words, confusions aside; look-alikes are of another script and stay after normalisation."""

from __future__ import annotations

import unicodedata

import pytest
from sentence_cases import HOMOGLYPHS, LONG, MISSPELLING, edits, perturbed_text_of

from auscult.errors import UsageError
from auscult.rng import generator
from auscult.stress.sentences.spelling import DRAWS, Misspelling, look_alikes, misspelt, neighbours, typos

WORDS = (
    "a",
    "I",
    "of",
    "The",
    "THEIR",
    "dog",
    "rhythm",
    "don't",
    "hair-dryer",
    "Sounding",
    "café",
    "собака",
    "狗",
    "कुत्ता",
)


@pytest.mark.parametrize("word", WORDS)
def test_a_misspelling_is_never_the_word_itself(word: str) -> None:
    rules, rng = typos("qwerty"), generator(0, word)
    for _ in range(200):
        assert misspelt(word, rng.random(DRAWS).tolist(), rules).lower() != word.lower()


@pytest.mark.parametrize("word", ["the", "there", "dog", "sounding", "left"])
def test_a_misspelling_is_another_word_only_as_a_common_confusion(word: str) -> None:
    rules, rng = typos("qwerty"), generator(1, word)
    misspellings = {misspelt(word, rng.random(DRAWS).tolist(), rules) for _ in range(400)}
    assert misspellings & rules.words <= set(rules.confusions.get(word, ()))
    assert len(misspellings) >= 5


def test_every_kind_of_misspelling_occurs() -> None:
    rules, rng = typos("qwerty"), generator(2)
    misspellings = {misspelt("their", rng.random(DRAWS).tolist(), rules) for _ in range(2000)}
    expected = {"there", "thier", "tgeir", "hteir", "theeir", "ther", "deir"}
    assert expected <= misspellings


def test_capitals_stay() -> None:
    for seed in range(40):
        first, *_ = perturbed_text_of(MISSPELLING, "Dogs", strength=5, seed=seed)
        assert first.isupper()
        assert perturbed_text_of(MISSPELLING, "DOGS", strength=5, seed=seed).isupper()


def test_digits_are_left_alone() -> None:
    for seed in range(20):
        assert {"2", "1990s"} <= set(
            perturbed_text_of(MISSPELLING, "2 dogs of the 1990s", strength=5, seed=seed).split()
        )


def test_keys_lie_beside_keys() -> None:
    beside = neighbours(("qwertyuiop", "asdfghjkl", "zxcvbnm"), (0.0, 0.25, 0.75))
    assert set(beside["s"]) == set("awedzx")
    assert all(key in beside[other] for key in beside for other in beside[key])
    assert set(typos("qwertz").beside["z"]) >= set("tuh")
    assert set(typos("azerty").beside["a"]) >= set("zq")


def test_an_unknown_keyboard_is_named() -> None:
    with pytest.raises(UsageError, match="dvorak"):
        Misspelling("dvorak").choose(generator(0), LONG, strength=3)


def test_look_alikes_are_of_another_script_and_survive_normalisation() -> None:
    for letter, others in look_alikes().items():
        for other in others:
            assert unicodedata.name(letter).split()[0] != unicodedata.name(other).split()[0] or "PALOCHKA" in (
                unicodedata.name(letter) + unicodedata.name(other)
            )
            assert unicodedata.normalize("NFKC", other) == other
            assert letter.isupper() == other.isupper() or letter in "bЬlӏI"


def test_look_alikes_change_letters_one_for_one() -> None:
    perturbed_text = perturbed_text_of(HOMOGLYPHS, LONG, strength=5)
    assert len(perturbed_text) == len(LONG)
    assert not perturbed_text.isascii()
    assert all(edit.text in look_alikes()[LONG[edit.start]] for edit in edits(HOMOGLYPHS, LONG, strength=5))
