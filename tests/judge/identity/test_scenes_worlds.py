"""Things that may be this or that, and how likely a sentence names each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.judge.identity.scenes import FoundThing, Peak, centre_and_share, named, others, parts, peaks
from auscult.judge.identity.scenes_text import ParsedExpression, SentenceReader, Vocabulary

WORDS = Vocabulary(categories=("bell", "dog", "drum"), colours=("blue", "red"), textures=("plain", "striped"))
READER = SentenceReader(WORDS)


def thing(x: float, y: float = 0.5, *, share: float = 0.03, dog: float = 1.0, red: float = 0.5) -> FoundThing:
    """A dog, or a bell or drum with what is left, somewhere."""
    rest = (1 - dog) / 2
    return FoundThing(
        x=x,
        y=y,
        share=share,
        sure=1.0,
        categories=np.array([rest, dog, rest], np.float32),
        colours=np.array([1 - red, red], np.float32),
        textures=np.array([0.5, 0.5], np.float32),
    )


def said(text: str) -> ParsedExpression:
    found = READER.read(text)
    assert found is not None
    return found


def test_the_only_dog_is_the_dog() -> None:
    found = named(said("the dog"), [thing(0.2), thing(0.8, dog=0.0)], WORDS)
    assert found.shares == pytest.approx((1.0, 0.0))
    assert found.settled == 1.0
    assert found.nothing == 0.0


def test_of_two_dogs_each_may_be_meant() -> None:
    found = named(said("the dog"), [thing(0.2), thing(0.8)], WORDS)
    assert found.shares == pytest.approx((0.5, 0.5))
    assert found.settled == 0.0


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("the leftmost dog", 0),
        ("the dog on the right", 2),
        ("the largest dog", 1),
        ("the highest of the dogs", 2),
        ("the dog to the right of the bell", 2),
        ("the smallest thing", 3),
    ],
)
def test_place_and_size_tell_dogs_apart(text: str, winner: int) -> None:
    things = [thing(0.1), thing(0.45, 0.6, share=0.1), thing(0.9, 0.2), thing(0.7, 0.8, share=0.01, dog=0.0)]
    bell = np.array([1.0, 0.0, 0.0], np.float32)
    things[3] = FoundThing(**{**{name: getattr(things[3], name) for name in things[3].__slots__}, "categories": bell})
    found = named(said(text), things, WORDS)
    assert int(np.argmax(found.shares)) == winner
    assert found.shares[winner] > 0.9


def test_what_is_only_heard_tells_nothing_apart() -> None:
    found = named(said("the dog that makes a sound"), [thing(0.2), thing(0.8), thing(0.5, dog=0.0)], WORDS)
    assert found.shares == pytest.approx((0.5, 0.5, 0.0))


def test_a_sentence_of_something_absent_names_nothing() -> None:
    found = named(said("the dog"), [thing(0.2, dog=0.0), thing(0.8, dog=0.0)], WORDS)
    assert found.nothing == 1.0
    assert sum(found.shares) == 0.0


def test_an_unknown_kind_may_be_whatever_is_known() -> None:
    found = named(said("the apricot on the left"), [thing(0.2), thing(0.8), thing(0.1, dog=0.4)], WORDS)
    assert found.shares == pytest.approx((0.5, 0.0, 0.5))
    assert found.possible == pytest.approx((1.0, 0.0, 1.0))
    assert found.settled == 0.0


def test_one_of_many_alike_is_possible_though_it_is_not_likely() -> None:
    found = named(said("the rusty dog"), [thing(0.1 + 0.12 * at) for at in range(7)], WORDS)
    assert found.shares == pytest.approx([1 / 7] * 7)
    assert found.possible == pytest.approx([1.0] * 7)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.001, 0.3), st.floats(0, 1)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(("the dog", "the leftmost dog", "the thing that is not a dog", "the drum below the largest bell")),
)
def test_shares_are_probabilities_and_repeat(rows: list[tuple[float, float, float, float]], text: str) -> None:
    things = [thing(x, y, share=share, dog=dog) for x, y, share, dog in rows]
    first = named(said(text), things, WORDS, worlds=12)
    assert first == named(said(text), things, WORDS, worlds=12)
    assert all(0 <= share <= 1 for share in first.shares)
    assert sum(first.shares) <= 1 + 1e-9
    assert 0 <= first.nothing <= 1


def peak(x: float, y: float, *, share: float = 0.03, height: float = 0.9) -> Peak:
    return Peak(x=x, y=y, share=share, height=height, words=np.zeros(7, np.float32))


def test_peaks_are_found_where_the_map_is_highest() -> None:
    centres = np.full((2, 18, 32), -6.0, np.float32)
    centres[0, 4, 8], centres[0, 4, 9], centres[0, 12, 20] = 2.0, 1.0, 3.0
    centres[1] = np.log(0.05)
    found = peaks(centres, np.zeros((7, 18, 32), np.float32))
    assert [one.x for one in found] == pytest.approx([20.5 / 32, 8.5 / 32])
    assert [one.y for one in found] == pytest.approx([12.5 / 18, 4.5 / 18])
    assert [one.share for one in found] == pytest.approx([0.05, 0.05])


def test_a_mask_over_two_things_falls_apart_between_them() -> None:
    mask = np.zeros((90, 160), bool)
    mask[30:60, 20:50] = mask[30:60, 100:140] = True
    both = [peak(35 / 160, 0.5, share=0.06), peak(120 / 160, 0.5, share=0.08)]
    found = parts(mask, both)
    assert [int(np.count_nonzero(part)) for part in found] == [900, 1200]
    assert np.array_equal(found[0] | found[1], mask)
    assert parts(mask, both[:1])[0] is mask
    assert parts(mask, [peak(35 / 160, 0.5, share=0.14), peak(120 / 160, 0.5, share=0.14)])[0] is mask


def test_a_thing_that_is_found_twice_is_one_thing() -> None:
    centres = np.full((2, 18, 32), -6.0, np.float32)
    centres[0, 6, 8], centres[0, 6, 10], centres[0, 6, 24] = 3.0, 2.0, 1.0
    centres[1] = np.log(0.1)
    assert [one.x for one in peaks(centres, np.zeros((7, 18, 32), np.float32))] == pytest.approx([8.5 / 32, 24.5 / 32])


def test_the_thing_under_a_mask_is_no_other_thing() -> None:
    mask = np.zeros((90, 160), bool)
    mask[30:60, 20:50] = True
    hollow = mask.copy()
    hollow[38:52, 28:42] = False
    own, away = peak(35 / 160, 0.5), peak(0.8, 0.5)
    assert others([mask], [own, away]) == [away]
    assert others([hollow], [own, away]) == [away]


def test_a_place_is_in_shares_of_the_picture() -> None:
    mask = np.zeros((100, 200), bool)
    mask[0:50, 100:200] = True
    assert centre_and_share(mask) == pytest.approx((0.75, 0.25, 0.25))
