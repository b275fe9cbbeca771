"""Parameters written to JSON and read back, by whoever."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from auscult import registry
from auscult.errors import InputError
from auscult.rng import generator
from auscult.stress.perturbation import MOST_SEED, Params, Seed, seed_from


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws(Params):
    """One draw of each kind.

    Attributes:
        seed: Any.
        angle: -45..45.
        count: 1..9.
        mud: Or water.
        word: Any.
    """

    seed: Seed
    angle: Annotated[float, Meta(ge=-45.0, le=45.0)]
    count: Annotated[int, Meta(ge=1, le=9)]
    mud: bool
    word: str


RIGHT: dict[str, Any] = {"strength": 2.5, "seed": 7, "angle": -3.0, "count": 4, "mud": True, "word": "a"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.builds(
        Draws,
        strength=st.floats(0.0, 5.0),
        seed=st.integers(-MOST_SEED, MOST_SEED),
        angle=st.floats(-45.0, 45.0),
        count=st.integers(1, 9),
        mud=st.booleans(),
        word=st.text(max_size=9),
    )
)
def test_what_is_written_is_read_back(params: Draws) -> None:
    text = json.dumps(params.as_json(), allow_nan=False)
    assert Draws.from_json(json.loads(text)) == params


def test_order_of_keys_does_not_matter_and_whole_numbers_will_do_for_floats() -> None:
    reversed_row = dict(reversed(RIGHT.items()))
    assert Draws.from_json(reversed_row) == Draws(**RIGHT)
    draws = Draws.from_json({**RIGHT, "strength": 3, "angle": 0})
    assert (draws.strength, draws.angle) == (3.0, 0.0)
    assert isinstance(draws.strength, float)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("strength", -0.1),
        ("strength", 5.1),
        ("strength", math.nan),
        ("strength", math.inf),
        ("strength", True),
        ("strength", "3"),
        ("strength", None),
        ("strength", 10**400),
        ("angle", 45.1),
        ("angle", -math.inf),
        ("angle", 10**400),
        ("angle", np.float64(1.0)),
        ("count", 0),
        ("count", 10),
        ("count", 4.0),
        ("count", True),
        ("seed", 2**63),
        ("seed", -(2**200)),
        ("seed", 1.5),
        ("seed", "7"),
        ("mud", 1),
        ("mud", "true"),
        ("word", 1),
        ("word", ["a"]),
        ("word", None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_other_values_are_refused_with_their_name(key: str, value: Any) -> None:
    with pytest.raises(InputError) as error:
        Draws.from_json({**RIGHT, key: value})
    assert key in error.value.message
    assert error.value.expected


@pytest.mark.parametrize("key", RIGHT)
def test_missing_and_unknown_keys_are_refused(key: str) -> None:
    lacking = {name: value for name, value in RIGHT.items() if name != key}
    for wrong in (lacking, {**RIGHT, f"{key}_": RIGHT[key]}):
        with pytest.raises(InputError) as error:
            Draws.from_json(wrong)
        assert key in error.value.expected


@given(JSON)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        Draws.from_json(value)


@given(st.sampled_from(sorted(RIGHT)), JSON)
def test_any_value_is_read_as_it_is_or_refused(key: str, value: Any) -> None:
    try:
        draws = Draws.from_json({**RIGHT, key: value})
    except InputError:
        return
    assert getattr(draws, key) == value


def test_seeds_are_in_range_and_follow_from_the_generator() -> None:
    seeds_drawn = [seed_from(generator(key, "seed")) for key in range(200)]
    assert len(set(seeds_drawn)) == 200
    assert all(0 <= seed < MOST_SEED for seed in seeds_drawn)
    assert seeds_drawn == [seed_from(generator(key, "seed")) for key in range(200)]


def test_a_seed_that_was_drawn_is_read_back() -> None:
    seeds = registry.load("stressor", "vision.gaussian_noise.v1").params
    for key in range(20):
        params = seeds(strength=1.0, seed=seed_from(generator(key, "seed")))
        assert seeds.from_json(json.loads(json.dumps(params.as_json()))) == params
