"""Sentences of our grammar, and plain ways of saying the same, are read as the forms that they were made from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.judge.identity.scenes_text import MOST_TOKENS, UNHEARD, SentenceReader, Vocabulary, is_seen, is_whole
from auscult.language.forms import SIGHT_QUALITIES, Facts, Form, SceneObject, Voice, read
from auscult.language.grammar import describe
from auscult.language.proof import Proof
from auscult.rng import generator

WORDS = Vocabulary(
    categories=("bell", "dog", "guinea fowl", "mouse", "orange", "scissors"),
    colours=("blue", "orange", "red"),
    textures=("plain", "striped"),
    voices=(("bark", "barks", "dog"), ("siren", "wails", ""), ("hum", "hums", "")),
)
READER = SentenceReader(WORDS)


def plain(form_: Form) -> Any:  # noqa: PLR0911 - one case a line reads best
    """A form with all that one frame cannot show as one word, and joined parts in one list."""
    name = form_["op"]
    if name in {"sounds", "voice", "times", "throughout", "heard", "hiding"}:
        return "unheard"
    if name == "and":
        parts: list[Any] = []
        for part in map(plain, form_["of"]):
            joined = part["and"] if isinstance(part, dict) and "and" in part else [part]
            parts += [joined_part for joined_part in joined if joined_part not in parts]
        return {"and": sorted(parts, key=json.dumps)} if len(parts) > 1 else parts[0]
    if name == "not":
        inner = plain(form_["of"])
        return inner if inner == "unheard" else {"not": inner}
    if name == "most":
        group = plain(form_["of"])
        if form_["by"] in SIGHT_QUALITIES:
            return {"most": form_["by"], "of": group}
        return "unheard" if form_["of"]["op"] == "anything" else plain({"op": "and", "of": [form_["of"], UNHEARD]})
    if name == "relation":
        is_heard = form_["how"] in {"louder", "quieter", "after", "before", "with"}
        return "unheard" if is_heard else {"relation": form_["how"], "to": plain(form_["to"])}
    return dict(form_)


def scene(seed: int) -> Facts:
    """Five things, of which two are alike, some with a voice."""
    rng = generator(seed, "scene")
    names = ["dog", "dog", *(str(name) for name in rng.permutation(WORDS.categories)[:3])]
    scene_things = []
    for number, name in enumerate(names):
        x, y, area = float(rng.uniform(0.05, 0.95)), float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.003, 0.1))
        voice = Voice(
            noun="siren" if number else "hum",
            verb="wails" if number else "hums",
            spans=((float(number), number + 0.6),),
            level_db=-6.0 * number,
        )
        scene_things.append(
            SceneObject(
                id=str(number),
                category=name,
                colour=WORDS.colours[int(rng.integers(3))],
                texture=WORDS.textures[int(rng.integers(2))],
                x=(x, x),
                y=(y, y),
                area=(area, area),
                motion="left" if number % 2 else "still",
                voice=voice if number < 3 else None,
            )
        )
    return Facts(things=tuple(scene_things), duration_s=10.0)


@pytest.mark.parametrize("seed", range(6))
def test_what_the_grammar_says_is_read_as_it_was_meant(seed: int) -> None:
    facts = scene(seed)
    sentences = describe(generator(seed, "said"), facts, most=14)
    assert sentences
    for sentence in sentences:
        reading = READER.read(sentence.text)
        assert reading is not None
        assert not reading.unknown, sentence.text
        if "hum" not in sentence.text and "siren" not in sentence.text:
            assert plain(reading.form) == plain(sentence.form), sentence.text


def test_a_reading_is_a_form_and_its_proof_from_sight_never_contradicts_the_whole() -> None:
    for seed in range(3):
        facts = scene(seed)
        sight = Proof(facts, frozenset({"sight"}))
        for sentence in describe(generator(seed, "again"), facts, most=10):
            reading = READER.read(sentence.text)
            assert reading is not None
            assert sentence.target in sight.possible(read(reading.form)), sentence.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the left dog", {"most": "left", "of": {"op": "category", "word": "dog"}}),
        ("dog on the right side", {"and": [{"op": "category", "word": "dog"}, {"op": "place", "word": "right"}]}),
        ("the smaller of the bells", {"most": "small", "of": {"op": "category", "word": "bell"}}),
        ("the orange orange", {"and": [{"op": "category", "word": "orange"}, {"op": "colour", "word": "orange"}]}),
        ("the orange", {"op": "category", "word": "orange"}),
        ("the mice", {"op": "category", "word": "mouse"}),
        (
            "a red guinea fowl next to the bell",
            {
                "and": [
                    {"op": "category", "word": "guinea fowl"},
                    {"op": "colour", "word": "red"},
                    {"relation": "nearest", "to": {"op": "category", "word": "bell"}},
                ]
            },
        ),
        ("the dog that is farthest to the left", {"most": "left", "of": {"op": "category", "word": "dog"}}),
        ("The Dog, on the left!", {"and": [{"op": "category", "word": "dog"}, {"op": "place", "word": "left"}]}),
    ],
)
def test_plain_ways_of_saying(text: str, expected: Any) -> None:
    reading = READER.read(text)
    assert reading is not None
    assert plain(reading.form) == expected
    assert not reading.unknown


def test_a_voice_that_one_kind_of_thing_has_names_it() -> None:
    reading = READER.read("the one that barks")
    assert reading is not None
    assert reading.form == {"op": "category", "word": "dog"}
    assert is_seen(reading.form)


def test_what_only_sounds_or_moves_is_not_seen() -> None:
    for text in ("the one that wails", "the thing that never makes a sound", "the loudest of the things that sound"):
        reading = READER.read(text)
        assert reading is not None
        assert not is_seen(reading.form), text
        assert not reading.unknown, text


def test_words_that_fit_nothing_are_told() -> None:
    strange = READER.read("the apricot on the left")
    assert strange is not None
    assert strange.unknown == ("apricot",)
    assert strange.strange == {"apricot"}
    assert plain(strange.form) == {"and": ["unheard", {"op": "place", "word": "left"}]} or plain(strange.form) == {
        "and": [{"op": "place", "word": "left"}, "unheard"]
    }
    beside = READER.read("the rusty dog")
    assert beside is not None
    assert beside.unknown == ("rusty",)
    assert not beside.strange
    assert plain(beside.form) == {"and": ["unheard", {"op": "category", "word": "dog"}]} or plain(beside.form) == {
        "and": [{"op": "category", "word": "dog"}, "unheard"]
    }


@pytest.mark.parametrize("text", ["the puppy", "the dog house", "the bell pepper", "a guinea fowl statue"])
def test_a_strange_noun_is_none_that_is_known(text: str) -> None:
    reading = READER.read(text)
    assert reading is not None
    assert reading.unknown
    assert plain(reading.form) == "unheard"
    assert not is_seen(reading.form)


def test_where_a_strange_thing_stands_says_nothing_of_what_was_found() -> None:
    reading = READER.read("the dog to the left of the apricot")
    assert reading is not None
    assert reading.unknown == ("apricot",)
    assert reading.form["of"] == [{"op": "category", "word": "dog"}, UNHEARD]


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [
        ("the dog", True),
        ("the leftmost of the red things that are not bells", True),
        ("the dog larger than the orange on the left", True),
        ("the one that barks", True),  # a dog: what makes the sound is seen
        ("the dog that makes a sound", False),
        ("the dog that is moving", False),
        ("the loudest dog", False),
        ("the dog in front of the bell", False),
        ("the dog to the left of the bell that moves to the left", False),
        ("the dog that moves in the same way as the bell", False),
        ("the rusty dog", False),
    ],
)
def test_what_one_frame_shows_in_full_is_told_apart(text: str, is_complete: bool) -> None:
    reading = READER.read(text)
    assert reading is not None
    assert is_whole(reading.form) is is_complete


def test_nothing_and_too_much_are_no_sentence() -> None:
    assert READER.read("") is None
    assert READER.read(" ?! ") is None
    assert READER.read("dog " * (MOST_TOKENS + 1)) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            (
                *("the", "dog", "bell", "of", "left", "right", "largest", "among", "out", ",", "one", "that", "is"),
                *("not", "than", "above", "in", "front", "nothing", "zzz", "larger", "to"),
            )
        ),
        min_size=1,
        max_size=25,
    )
)
def test_any_row_of_words_gives_a_form_or_nothing(words: list[str]) -> None:
    reading = READER.read(" ".join(words))
    if reading is not None:
        read(reading.form)
