"""Any text: other scripts, emoji, combining marks, length; no character that a reader sees is ever split."""

from __future__ import annotations

import json
import time
import unicodedata
from importlib import resources
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_cases import ALL, CHARACTER_MISSING, LONG, MISPUNCTUATION, edits, perturbed_text_of

from auscult.errors import UsageError
from auscult.language.tokens import graphemes, words
from auscult.stress import sentences
from auscult.stress.sentences.base import Edits, Guard, SentenceStressor, edited, spans_of

JOINED = ("e\u0301", "👩‍👩‍👧", "👍🏽", "🇩🇪", "क्षि", "❤️", "1️⃣", "नि", "\r\n", "각", "กำ")
ODD = (
    "café is été naïve, e\u0301te\u0301",
    "👩‍👩‍👧 sings near 👍🏽 the 🇩🇪🇫🇷 flag",
    "собака, которая лает 🐕",
    "那只在叫的狗",
    "कुत्ता भौंकता है",
    "كلب ينبح بصوت عال",
    "\"the dog\" that 'barks'\nand the cat\r\nthat sleeps",
    "3 12 45",
    "...",
    " \t\n",
    "\u0301 begins with a mark",
    "İSTANBUL ŞEHRİ",
    "\x00\x07 control",
)
stressors = pytest.mark.parametrize("stressor", ALL, ids=lambda stressor: stressor.name)


@pytest.mark.parametrize("text", JOINED)
def test_what_a_reader_sees_as_one_is_one(text: str) -> None:
    assert graphemes(f"a{text}b") == [(0, 1), (1, 1 + len(text)), (1 + len(text), 2 + len(text))]


def test_flags_pair_up() -> None:
    assert graphemes("🇩🇪🇫🇷") == [(0, 2), (2, 4)]


@given(st.text(max_size=60))
def test_graphemes_cover_any_text(text: str) -> None:
    spans = graphemes(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    assert all(not unicodedata.combining(text[start]) for start, _ in spans[1:])


@given(st.text(max_size=60))
def test_words_are_found_where_they_stand(text: str) -> None:
    words_found = words(text)
    assert all(text[word.start : word.end] == word.text for word in words_found)
    assert all(any(char.isalnum() for char in word.text) for word in words_found)


@settings(max_examples=25)
@given(st.text(alphabet=st.sampled_from("ae dogTHE.,'’-\n\u0301\u200d👩🇩🇪क्ष狗ж2"), max_size=40), st.integers(0, 3))
def test_any_text_can_be_perturbed_and_made_again(text: str, seed: int) -> None:
    for stressor in ALL:
        word_edits = tuple(edits(stressor, text, strength=5, seed=seed)) if text else ()
        reread = Edits.from_json(json.loads(json.dumps(Edits(strength=5, edits=word_edits).as_json())))
        assert edited(text, reread.edits) == edited(text, word_edits)
        borders = {start for start, _ in graphemes(text)} | {len(text)}
        assert all({edit.start, edit.end} <= borders for edit in word_edits)


@stressors
@pytest.mark.parametrize("text", ODD)
def test_odd_text_gives_text(stressor: SentenceStressor, text: str) -> None:
    for strength in (0.4, 1, 3, 5):
        perturbed_text = perturbed_text_of(stressor, text, strength=strength)
        assert perturbed_text.strip() or not text.strip()
        assert len(perturbed_text) <= 2 * len(text) + 1


def test_accents_go_with_their_letters() -> None:
    text = "e\u0301" * 40
    assert perturbed_text_of(CHARACTER_MISSING, text, strength=5) == "e\u0301" * 30
    assert all(
        mark not in perturbed_text_of(MISPUNCTUATION, text, strength=5) for mark in ("e,", "e.", "e;", "e:", "e!", "e?")
    )


@stressors
def test_words_of_another_script_are_changed_too(stressor: SentenceStressor) -> None:
    text = "собака которая громко лает справа от кошки и мешка"
    assert perturbed_text_of(stressor, text, strength=5) != text


@stressors
def test_10000_words_take_less_than_a_second(stressor: SentenceStressor) -> None:
    text = " ".join([LONG] * 667)
    protected = spans_of(text, ["the", "man"], head=True)
    begin = time.process_time()
    word_edits = edits(stressor, text, strength=5, protected=protected)
    edited(text, word_edits)
    assert time.process_time() - begin < 1.0
    assert len(word_edits) > 1000


@stressors
def test_what_must_stay_stays(stressor: SentenceStressor) -> None:
    protected = spans_of(LONG, ["OBJECT", "played by the man"])
    assert [LONG[low:high] for low, high in protected] == ["object", "played by the man"]
    for seed in range(20):
        perturbed_text = perturbed_text_of(stressor, LONG, strength=5, seed=seed, protected=protected)
        assert perturbed_text != LONG
        assert perturbed_text.count("object") == 1
        marks = perturbed_text.translate(str.maketrans("", "", ",.;:!?"))
        assert "played by the man" in (marks if stressor is MISPUNCTUATION else perturbed_text)


def test_a_kept_word_does_not_run_into_its_neighbours() -> None:
    protected = spans_of(LONG, ["object"])
    for seed in range(40):
        assert (
            "object" in perturbed_text_of(CHARACTER_MISSING, LONG, strength=5, seed=seed, protected=protected).split()
        )


def test_kept_phrases_are_found_whatever_letters_come_before() -> None:
    text = "İİİ dog dog-Dog dogs hotdog"
    assert [text[low:high] for low, high in spans_of(text, ["DOG"])] == ["dog", "dog", "Dog"]


def test_kept_phrases_are_whole_words() -> None:
    assert spans_of("a cat and a man, ma'am: a-b", ["a"]) == ((0, 1), (10, 11), (24, 25))
    assert spans_of("the 2nd (left) one, the (left)most", ["(left)"]) == ((8, 14), (24, 30))
    assert spans_of("那只在叫的狗 и собака, собакам", ["狗", "собака"]) == ((5, 6), (9, 15))
    perturbed_texts = {sentences.apply("misspelling", LONG, severity=5, seed=seed, keep=["a"]) for seed in range(10)}
    assert len(perturbed_texts) == 10


@pytest.mark.parametrize("keep", ["dog", None, [5], [None], 7, [b"dog"]], ids=repr)
def test_keep_is_a_list_of_phrases(keep: Any) -> None:
    with pytest.raises(UsageError, match="keep"):
        sentences.apply("misspelling", LONG, keep=keep)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), max_size=6), st.integers(0, 25), st.integers(0, 4))
def test_the_guard_is_the_plain_rule(lengths: list[tuple[int, int]], start: int, length: int) -> None:
    protected = [(low, low + size) for low, size in lengths]
    positions = {index for low, high in protected for index in range(low, high)}
    if length:
        assert Guard.over(protected).free(start, start + length) == positions.isdisjoint(range(start, start + length))
    else:
        inside = any(low < start < high for low, high in protected)
        assert Guard.over(protected).free(start, start) == (not inside)


def test_every_data_file_says_where_it_comes_from() -> None:
    folders = [resources.files("auscult") / name for name in ("stress/sentences/data", "language/data")]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".json")]
    assert len(files) >= 6
    for file in files:
        assert len(json.loads(file.read_text(encoding="utf-8"))["source"]) > 20
