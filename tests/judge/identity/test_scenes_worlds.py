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


def found_thing(x: float, y: float = 0.5, *, share: float = 0.03, dog: float = 1.0, red: float = 0.5) -> FoundThing:
    """A dog, or a bell or drum with what is left, somewhere."""
    other_share = (1 - dog) / 2
    return FoundThing(
        x=x,
        y=y,
        share=share,
        sure=1.0,
        categories=np.array([other_share, dog, other_share], np.float32),
        colours=np.array([1 - red, red], np.float32),
        textures=np.array([0.5, 0.5], np.float32),
    )


def parsed_of(text: str) -> ParsedExpression:
    parsed = READER.read(text)
    assert parsed is not None
    return parsed


def test_the_only_dog_is_the_dog() -> None:
    naming = named(parsed_of("the dog"), [found_thing(0.2), found_thing(0.8, dog=0.0)], WORDS)
    assert naming.shares == pytest.approx((1.0, 0.0))
    assert naming.settled == 1.0
    assert naming.nothing == 0.0


def test_of_two_dogs_each_may_be_meant() -> None:
    naming = named(parsed_of("the dog"), [found_thing(0.2), found_thing(0.8)], WORDS)
    assert naming.shares == pytest.approx((0.5, 0.5))
    assert naming.settled == 0.0


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
    things_ = [
        found_thing(0.1),
        found_thing(0.45, 0.6, share=0.1),
        found_thing(0.9, 0.2),
        found_thing(0.7, 0.8, share=0.01, dog=0.0),
    ]
    bell = np.array([1.0, 0.0, 0.0], np.float32)
    things_[3] = FoundThing(
        **{**{name: getattr(things_[3], name) for name in things_[3].__slots__}, "categories": bell}
    )
    naming = named(parsed_of(text), things_, WORDS)
    assert int(np.argmax(naming.shares)) == winner
    assert naming.shares[winner] > 0.9


def test_what_is_only_heard_tells_nothing_apart() -> None:
    naming = named(
        parsed_of("the dog that makes a sound"), [found_thing(0.2), found_thing(0.8), found_thing(0.5, dog=0.0)], WORDS
    )
    assert naming.shares == pytest.approx((0.5, 0.5, 0.0))


def test_a_sentence_of_something_absent_names_nothing() -> None:
    naming = named(parsed_of("the dog"), [found_thing(0.2, dog=0.0), found_thing(0.8, dog=0.0)], WORDS)
    assert naming.nothing == 1.0
    assert sum(naming.shares) == 0.0


def test_an_unknown_kind_may_be_whatever_is_known() -> None:
    naming = named(
        parsed_of("the apricot on the left"), [found_thing(0.2), found_thing(0.8), found_thing(0.1, dog=0.4)], WORDS
    )
    assert naming.shares == pytest.approx((0.5, 0.0, 0.5))
    assert naming.possible == pytest.approx((1.0, 0.0, 1.0))
    assert naming.settled == 0.0


def test_one_of_many_alike_is_possible_though_it_is_not_likely() -> None:
    naming = named(parsed_of("the rusty dog"), [found_thing(0.1 + 0.12 * index) for index in range(7)], WORDS)
    assert naming.shares == pytest.approx([1 / 7] * 7)
    assert naming.possible == pytest.approx([1.0] * 7)


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
    things_ = [found_thing(x, y, share=share, dog=dog) for x, y, share, dog in rows]
    first = named(parsed_of(text), things_, WORDS, worlds=12)
    assert first == named(parsed_of(text), things_, WORDS, worlds=12)
    assert all(0 <= share <= 1 for share in first.shares)
    assert sum(first.shares) <= 1 + 1e-9
    assert 0 <= first.nothing <= 1


def peak(x: float, y: float, *, share: float = 0.03, height: float = 0.9) -> Peak:
    return Peak(x=x, y=y, share=share, height=height, words=np.zeros(7, np.float32))


def test_peaks_are_found_where_the_map_is_highest() -> None:
    centres = np.full((2, 18, 32), -6.0, np.float32)
    centres[0, 4, 8], centres[0, 4, 9], centres[0, 12, 20] = 2.0, 1.0, 3.0
    centres[1] = np.log(0.05)
    peaks_found = peaks(centres, np.zeros((7, 18, 32), np.float32))
    assert [peak_.x for peak_ in peaks_found] == pytest.approx([20.5 / 32, 8.5 / 32])
    assert [peak_.y for peak_ in peaks_found] == pytest.approx([12.5 / 18, 4.5 / 18])
    assert [peak_.share for peak_ in peaks_found] == pytest.approx([0.05, 0.05])


def test_a_mask_over_two_things_falls_apart_between_them() -> None:
    mask = np.zeros((90, 160), bool)
    mask[30:60, 20:50] = mask[30:60, 100:140] = True
    two_peaks = [peak(35 / 160, 0.5, share=0.06), peak(120 / 160, 0.5, share=0.08)]
    mask_parts = parts(mask, two_peaks)
    assert [int(np.count_nonzero(part)) for part in mask_parts] == [900, 1200]
    assert np.array_equal(mask_parts[0] | mask_parts[1], mask)
    assert parts(mask, two_peaks[:1])[0] is mask
    assert parts(mask, [peak(35 / 160, 0.5, share=0.14), peak(120 / 160, 0.5, share=0.14)])[0] is mask


def test_a_thing_that_is_found_twice_is_one_thing() -> None:
    centres = np.full((2, 18, 32), -6.0, np.float32)
    centres[0, 6, 8], centres[0, 6, 10], centres[0, 6, 24] = 3.0, 2.0, 1.0
    centres[1] = np.log(0.1)
    assert [peak_.x for peak_ in peaks(centres, np.zeros((7, 18, 32), np.float32))] == pytest.approx(
        [8.5 / 32, 24.5 / 32]
    )


def test_the_thing_under_a_mask_is_no_other_thing() -> None:
    mask = np.zeros((90, 160), bool)
    mask[30:60, 20:50] = True
    hollow = mask.copy()
    hollow[38:52, 28:42] = False
    own_peak, far_peak = peak(35 / 160, 0.5), peak(0.8, 0.5)
    assert others([mask], [own_peak, far_peak]) == [far_peak]
    assert others([hollow], [own_peak, far_peak]) == [far_peak]


def test_a_place_is_in_shares_of_the_picture() -> None:
    mask = np.zeros((100, 200), bool)
    mask[0:50, 100:200] = True
    assert centre_and_share(mask) == pytest.approx((0.75, 0.25, 0.25))
