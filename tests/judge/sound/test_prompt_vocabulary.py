"""What text prompts ask for: named classes, what is denied, what is unknown, and every prompt of `make mixtures`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from auscult.judge.sound.vocabulary import LEAST_COSINE, class_names, read_prompt
from auscult.scenes.mixtures.catalogue import WHOLE, class_of, committed_classes, prompts_of
from auscult.types import Doubles
from tiny_clip import needs_clip

# Prompts of mixtures whose words are not all known, and why.
OUTSIDE = {"balloon being inflated": "AudioSet has no class of it: a balloon is one that pops"}
# Classes whose general prompt has a meaning of another domain, which the prompt alone cannot tell apart.
AMBIGUOUS = {"twang": "a string is an instrument's, too"}


def classes_of(text: str, *, least_weight: float = 1.0) -> set[str]:
    weights = read_prompt(text).classes
    return {name for name, weight in zip(class_names(), weights, strict=True) if weight >= least_weight}


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("dog barking", {"Dog", "Bark"}),  # the particular leaves the general's other kinds out
        ("A DOG, barking in the distance!", {"Dog", "Bark"}),
        ("dog", {"Dog", "Bark", "Yip", "Howl", "Bow-wow", "Growling", "Whimper (dog)"}),
        ("car horn honking", {"Vehicle horn, car horn, honking", "Toot"}),  # and neither a car nor a goose
        ("goose honking", {"Honk"}),
        ("the man who is singing", {"Male singing"}),
        ("a dog and a man", classes_of("dog") | {"Male speech, man speaking"}),
        ("helicopter flying", {"Helicopter"}),  # and no fly
        ("fly buzzing", {"Fly, housefly", "Buzz"}),
        ("zither humming", {"Zither", "Hum", "Mains hum"}),
        ("speech without music and drums", classes_of("speech")),
        ("no music, only the dog", classes_of("dog")),
        ("piano but not the violin", classes_of("piano")),
        ("the flute rather than the harp, please", classes_of("flute")),
        ("nothing but the piano", classes_of("piano")),
        ("everything but speech", set()),
        ("without music", set()),
        ("don't keep the rain", set()),
        ("don’t keep the rain", set()),
        ("", set()),
        ("bassoon", set()),  # a wider class alone
    ],
)
def test_words_name_classes(text: str, classes: set[str]) -> None:
    assert classes_of(text) == classes


def test_wider_classes_and_parents_weigh_half() -> None:
    assert classes_of("bassoon", least_weight=0.1) == {"Wind instrument, woodwind instrument"}
    assert read_prompt("bassoon").classes.max() == pytest.approx(0.5)
    assert classes_of("violin playing", least_weight=0.1) - classes_of("violin playing") == {"Bowed string instrument"}


@pytest.mark.parametrize(
    ("text", "unknown", "domain"),
    [
        ("theorbo humming", ("theorbo",), "sound"),
        ("the loud theorbo in the background", ("theorbo",), ""),
        ("собака лает", ("собака", "лает"), ""),
        ("犬の鳴き声", ("犬の鳴き声",), ""),
        ("कुत्ता", ("कुत्ता",), ""),
        ("everything except the theorbo", ("everything",), ""),  # what is not wanted need not be known
        ("female voice", (), "speech"),
        ("electric guitar", (), "music"),
        ("man speaking and dog barking", (), ""),
    ],
)
def test_unknown_words_and_the_domain(text: str, unknown: tuple[str, ...], domain: str) -> None:
    prompt = read_prompt(text)
    assert (prompt.unknown, prompt.domain) == (unknown, domain)


def test_prompts_of_mixtures_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    prompts = {text: label for label in committed_classes().classes for text, _ in prompts_of(label)}
    prompts |= dict.fromkeys((text for texts in WHOLE.values() for text in texts), "")
    outside = {text for text in prompts if read_prompt(text).unknown or not read_prompt(text).classes.any()}
    with capsys.disabled():
        print(
            f"\n{len(prompts) - len(outside)} of {len(prompts)} prompts of mixtures are understood; outside: {OUTSIDE}"
        )
    assert outside == OUTSIDE.keys()
    other = {
        label
        for label, class_terms in committed_classes().classes.items()
        for text in (*class_terms.specific, *class_terms.general)
        if read_prompt(text).domain != class_of(label).domain
    }
    assert other == AMBIGUOUS.keys()


@pytest.mark.parametrize("text", ["a " * 10_000, "dog " * 10_000, "theorbo" * 40_000, "no " * 10_000, "é" * 10**6])
def test_ten_thousand_words_are_read_within_bounds(text: str) -> None:
    start = time.monotonic()
    prompt = read_prompt(text)
    assert time.monotonic() - start < 2
    assert len(prompt.unknown) <= 20
    assert all(len(word) <= 40 for word in prompt.unknown)


def test_a_prompt_of_all_words_is_read_within_bounds() -> None:
    words = " ".join(text for label in committed_classes().classes for text, _ in prompts_of(label))
    assert read_prompt(words * 3).classes.sum() > 100


def letters(texts: Sequence[str]) -> Doubles:
    """Vectors by first two letters, so that "harpo" is nearest to "Harp"."""
    rows = np.zeros((len(texts), 26 * 27))
    for row, text in enumerate(texts):
        for letter, next_letter in zip(text.lower(), text.lower()[1:], strict=False):
            if "a" <= letter <= "z":
                rows[row, (ord(letter) - 97) * 27 + (ord(next_letter) - 96 if "a" <= next_letter <= "z" else 0)] += 1
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def test_a_sentence_encoder_finds_the_class_nearest_to_an_unknown_word() -> None:
    assert not read_prompt("theremins' harmonicay").classes[class_names().index("Harmonica")]
    prompt = read_prompt("dog harmonicay wugs", sentences=letters)
    harmonica_weight = float(prompt.classes[class_names().index("Harmonica")])
    assert LEAST_COSINE <= harmonica_weight < 1
    assert prompt.unknown == ("wugs",)
    assert prompt.classes[class_names().index("Bark")] == 1
    assert read_prompt("harmonicay", sentences=letters).domain == "music"
    assert np.array_equal(read_prompt("dog", sentences=letters).classes, read_prompt("dog").classes)


@pytest.mark.extra_clip
def test_a_folder_of_a_sentence_encoder_is_used(tmp_path: Path) -> None:
    needs_clip()
    import tiny_captions
    from auscult.nets.hf_sentences import load_sentences

    encoder = load_sentences(tiny_captions.write_encoder(tmp_path / "tiny"))
    class_weights = read_prompt("theorbo", sentences=encoder).classes
    cosines = (encoder(["theorbo"]) @ encoder(class_names()).T)[0]
    assert cosines.max() >= LEAST_COSINE  # random weights find all texts alike
    assert int(class_weights.argmax()) == int(cosines.argmax())
    assert class_weights.max() == pytest.approx(cosines.max(), abs=1e-5)
