"""The same seed and key give the same draws; any other key gives others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.rng import generator, pick

KEYS = st.lists(st.one_of(st.text(max_size=20), st.integers()), max_size=4)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(), key=KEYS)
def test_same_seed_and_key_same_draws(seed: int, key: list[str | int]) -> None:
    assert generator(seed, *key).random(4).tolist() == generator(seed, *key).random(4).tolist()


@settings(deadline=None, max_examples=60)
@given(first=KEYS, second=KEYS)
def test_other_key_other_draws(first: list[str | int], second: list[str | int]) -> None:
    is_same = [(type(part), part) for part in first] == [(type(part), part) for part in second]
    draws_same = generator(0, *first).random(4).tolist() == generator(0, *second).random(4).tolist()
    assert draws_same == is_same


def test_draws_do_not_change_between_versions() -> None:
    assert generator(7, "stress", "erode", 3).integers(0, 1000, 4).tolist() == GOLDEN


def test_one_of_some_choices_takes_one_draw() -> None:
    rng, same = generator(7, "stress", "erode", 3), generator(7, "stress", "erode", 3)
    assert [pick(rng, "abc") for _ in range(20)] == ["abc"[int(same.integers(3))] for _ in range(20)]
    assert rng.random() == same.random()
    with pytest.raises(ValueError, match="high <= 0"):
        pick(rng, "")


GOLDEN = [701, 790, 99, 906]
