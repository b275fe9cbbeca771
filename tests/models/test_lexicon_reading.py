"""How the lexicon model reads a sentence, and which tones it calls by which word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.language.forms import MOTIONS, PLACES, Form, both, most, no
from auscult.language.grammar import phrase
from auscult.models.classical.lexicon_reading import LONGEST, MOST_THINGS, Cue, ParsedQuery, parse_query, phrases
from auscult.models.classical.lexicon_things import COLOURS, colour_fits


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("the red thing", (Cue("colour", "red"),)),
        ("Grey, LARGE and round.", (Cue("colour", "grey"), Cue("size", "large"), Cue("shape", "round"))),
        ("the second thing from the left", (Cue("most", "left", rank=2),)),
        ("the third smallest", (Cue("most", "small", rank=3),)),
        ("neither red nor blue", (Cue("colour", "red", denied=True), Cue("colour", "blue", denied=True))),
        ("not red and on the left", (Cue("colour", "red", denied=True), Cue("place", "left"))),
        ("the one that is not red but blue", (Cue("colour", "red", denied=True), Cue("colour", "blue"))),
        ("the thing that does not move", (Cue("motion", "still"),)),
        ("the thing that isn\u2019t still", (Cue("motion", "still", denied=True),)),
        ("red red red", (Cue("colour", "red"),)),
        ("the redd thing on the lefft", ()),
        ("the thing that can be heard", ()),
        ("the windmill", ()),
    ],
)
def test_what_is_said(text: str, cues: tuple[Cue, ...]) -> None:
    assert parse_query(text) == ParsedQuery(cues)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "   ",
        "?!",
        "the windmill",
        "qwertz uiop",
        "красный предмет слева",
        "左の赤いもの",
        "الشيء",
        "\x00\udcff",
    ],
    ids=["none", "empty", "blank", "marks", "noun", "nonsense", "cyrillic", "japanese", "arabic", "broken"],
)
def test_what_is_not_known_says_nothing(text: str | None) -> None:
    assert parse_query(text).empty


def test_what_follows_a_relation_is_said_of_the_other_thing() -> None:
    parsed = parse_query("the red thing to the left of the large one that is below the blue one")
    assert parsed.cues == (Cue("colour", "red"),)
    assert (parsed.how, parsed.denied) == ("left_of", False)
    assert parsed.other is not None
    assert (parsed.other.cues, parsed.other.how) == ((Cue("size", "large"),), "below")
    assert parsed.other.other == ParsedQuery((Cue("colour", "blue"),))
    assert parse_query("the one that is not larger than the drum").denied


def test_what_sounds_beside_it_is_another_thing() -> None:
    parsed = parse_query("the thing that sounds after the red one has stopped sounding")
    assert parsed.cues == ()
    assert (parsed.how, parsed.other) == ("unseen", ParsedQuery((Cue("colour", "red"),)))


def test_things_that_lead_to_one_another_are_bounded() -> None:
    parsed, depth = parse_query("left of the red thing " * 1000), 0
    while parsed.other is not None:
        parsed, depth = parsed.other, depth + 1
    assert depth == MOST_THINGS


def forms() -> list[tuple[Form, Cue]]:
    forms_and_cues: list[tuple[Form, Cue]] = []
    forms_and_cues += [({"op": "place", "word": word}, Cue("place", word)) for word in PLACES]
    forms_and_cues += [({"op": "motion", "word": word}, Cue("motion", word)) for word in MOTIONS]
    forms_and_cues += [({"op": "colour", "word": word}, Cue("colour", word)) for word in COLOURS]
    forms_and_cues += [(no({"op": "colour", "word": word}), Cue("colour", word, denied=True)) for word in COLOURS]
    qualities = ("large", "small", "left", "right", "high", "low")
    forms_and_cues += [(most(word, {"op": "anything"}), Cue("most", word)) for word in qualities]
    return forms_and_cues


@pytest.mark.parametrize(("form", "cue"), forms(), ids=lambda value: value.word if isinstance(value, Cue) else "")
def test_every_wording_of_the_grammar_is_understood(form: Form, cue: Cue) -> None:
    rng = np.random.default_rng(6)
    for _ in range(25):
        text = phrase(rng, form).text
        assert parse_query(text) == ParsedQuery((cue,)), text


def test_parts_said_together_are_all_read() -> None:
    form_ = both({"op": "colour", "word": "red"}, {"op": "place", "word": "left"})
    rng = np.random.default_rng(7)
    for _ in range(25):
        text = phrase(rng, form_).text
        assert set(parse_query(text).cues) == {Cue("colour", "red"), Cue("place", "left")}, text


def test_no_phrase_is_longer_than_what_is_matched() -> None:
    assert max(map(len, phrases())) <= LONGEST


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    parsed = parse_query(text)
    assert parsed.empty == (not parsed.cues and parsed.other is None)
    assert parse_query(text.swapcase() + "?!").cues == parse_query(text.swapcase()).cues


@pytest.mark.parametrize(
    ("tone", "word"),
    [
        ((210, 30, 30), "red"),
        ((240, 140, 20), "orange"),
        ((240, 220, 50), "yellow"),
        ((40, 150, 60), "green"),
        ((40, 80, 200), "blue"),
        ((130, 60, 180), "purple"),
        ((245, 150, 190), "pink"),
        ((110, 70, 35), "brown"),
        ((245, 245, 240), "white"),
        ((125, 125, 125), "grey"),
        ((12, 12, 14), "black"),
    ],
)
def test_plain_tones_have_their_word(tone: tuple[int, int, int], word: str) -> None:
    shares = colour_fits(np.array([[tone]], np.uint8))[0]
    assert COLOURS[int(shares.argmax())] == word
    assert shares.max() > 0.5


def test_every_tone_fits_words_in_part_at_most_one_in_all() -> None:
    picture = np.random.default_rng(8).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    shares = colour_fits(picture)
    assert shares.shape == (3600, len(COLOURS))
    assert shares.min() >= 0
    assert shares.sum(axis=1).max() <= 1 + 1e-6
