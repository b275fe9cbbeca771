"""What probabilities promise: shares of bad masks with intervals that hold, and looks that find them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.stats import Interval, adapt_to_label_shift, looks_for, share_below

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def share(
    good: list[float], *, clusters: list[int] | None = None, shift: float = 0.5, replicates: int = 60
) -> Interval:
    names = list(range(len(good))) if clusters is None else clusters
    result = share_below(good, clusters=names, rng=generator(1, "test"), shift=shift, replicates=replicates)
    assert isinstance(result, Interval)
    return result


def looks(good: list[float], wanted_share: float = 0.9) -> int:
    result = looks_for(good, wanted=wanted_share)
    assert isinstance(result, Scored)
    return result.value


# --- the share ---


@settings(deadline=None, max_examples=50)
@given(SHARES, st.integers(1, 8), st.floats(0, 3))
def test_the_share_is_the_mean_and_lies_in_its_interval(good: list[float], clusters: int, shift: float) -> None:
    result = share(good, clusters=[place % clusters for place in range(len(good))], shift=shift)
    assert result.value == pytest.approx(1 - np.mean(good), abs=1e-9)
    assert 0 <= result.low <= result.value <= result.high <= 1
    assert share(good, clusters=[place % clusters for place in range(len(good))], shift=shift) == result


@settings(deadline=None, max_examples=30)
@given(SHARES, st.floats(0, 1))
def test_what_is_likelier_to_be_good_lowers_the_share(good: list[float], better: float) -> None:
    likelier = [max(probability, better) for probability in good]
    assert share(likelier, replicates=2).value <= share(good, replicates=2).value + 1e-12


def test_what_is_certain_is_certain_whatever_is_drawn() -> None:
    for value in (0.0, 1.0):
        result = share([value] * 12)
        assert (result.low, result.high) == pytest.approx((1 - value, 1 - value), abs=1e-3)


def test_few_clusters_and_a_larger_offset_make_the_interval_wider() -> None:
    good = [0.9] * 50 + [0.3] * 50
    each_alone, in_four = list(range(100)), [place // 25 for place in range(100)]
    narrow, wide, offset = (
        share(good, clusters=names, shift=shift, replicates=400)
        for names, shift in ((each_alone, 0.0), (in_four, 0.0), (each_alone, 1.0))
    )
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    assert offset.high - offset.low > 1.5 * (narrow.high - narrow.low)
    assert "shift:0.5" in str(share(good, shift=0.5).signature)


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_calibrated_probabilities_give_intervals_that_cover_the_true_share(shift: float) -> None:
    """Frames of 4 masks each; the truth is drawn from the probabilities, moved by one common offset."""
    rng = np.random.default_rng(5)
    n_covered = 0
    for number in range(150):
        logits = rng.normal(0.7, 0.7, 120)
        true = 1 / (1 + np.exp(-(logits + rng.normal(0, shift))))
        bad = rng.random(120) >= true
        result = share_below(
            1 / (1 + np.exp(-logits)), clusters=[place // 4 for place in range(120)], shift=shift,
            rng=generator(number, "covers"), replicates=300,
        )  # fmt: skip
        assert isinstance(result, Interval)
        n_covered += result.low <= bad.mean() <= result.high
    assert 0.86 <= n_covered / 150 <= 0.98


def test_an_offset_that_nobody_allows_for_is_missed() -> None:
    """What the offset is for: judges that are too kind on all masks alike."""
    rng = np.random.default_rng(6)
    logits = rng.normal(0.7, 0.7, 400)
    bad = (rng.random(400) >= 1 / (1 + np.exp(-(logits - 0.8)))).mean()
    good = (1 / (1 + np.exp(-logits))).tolist()
    without_shift, careful = share(good, shift=0.0, replicates=300), share(good, shift=0.8, replicates=300)
    assert not without_shift.low <= bad <= without_shift.high
    assert careful.low <= bad <= careful.high


# --- the looks ---


@settings(deadline=None, max_examples=80)
@given(SHARES, st.floats(0.05, 1), st.randoms(use_true_random=False))
def test_so_many_looks_find_the_wanted_share_and_one_less_does_not(
    good: list[float], wanted: float, mixed: object
) -> None:
    count = looks(good, wanted)
    worst = sorted((1 - probability for probability in good), reverse=True)
    total = sum(worst)
    assert 0 <= count <= len(good)
    assert sum(worst[:count]) >= wanted * total * (1 - 1e-6)
    assert count == 0 or sum(worst[: count - 1]) < wanted * total * (1 + 1e-6)
    shuffled = list(good)
    mixed.shuffle(shuffled)  # type: ignore[attr-defined]
    assert looks(shuffled, wanted) == count


@settings(deadline=None, max_examples=40)
@given(SHARES, st.floats(0.05, 1), st.floats(0.05, 1))
def test_more_takes_no_fewer_looks(good: list[float], first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert looks(good, low) <= looks(good, high)


def test_a_judge_that_knows_needs_no_more_looks_than_there_are_bad_masks() -> None:
    assert looks([0.0] * 10 + [1.0] * 90) == 9
    assert looks([0.5] * 100) == 90, "a judge that knows nothing"
    assert looks([1.0, 1.0]) == 0


# --- sets that are better or worse than the calibration ---


def outcomes(share_good: float, *, n: int, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (bad, good) that hold where half of the masks are good, and which of a set are."""
    rng = generator(3, "label shift", key)
    good = rng.random(n) < share_good
    logits = rng.normal(np.where(good, 1.0, -1.0), np.sqrt(2.0))  # of two normals, 2 apart: their log ratio is itself
    chances = 1 / (1 + np.exp(-logits))
    return np.column_stack([1 - chances, chances]), good


@pytest.mark.parametrize("share_good", [0.05, 0.25, 0.8, 0.97])
def test_a_set_that_is_better_or_worse_is_seen_as_that(share_good: float) -> None:
    given_rows, good = outcomes(share_good, n=3000, key=str(share_good))
    adapted = adapt_to_label_shift(given_rows, [0.5, 0.5])
    before, after = (abs(rows[:, 1].mean() - good.mean()) for rows in (given_rows, adapted))
    assert after < 0.6 * before
    assert (np.argsort(adapted[:, 1]) == np.argsort(given_rows[:, 1])).all(), "of two outcomes the order stays"


def test_a_set_like_the_calibration_stays_and_a_single_mask_nearly() -> None:
    given_rows, good = outcomes(0.5, n=4000, key="same")
    adapted = adapt_to_label_shift(given_rows, [0.5, 0.5])
    assert adapted[:, 1].mean() == pytest.approx(good.mean(), abs=0.03)
    assert adapt_to_label_shift([[0.3, 0.7]], [0.5, 0.5])[0, 1] == pytest.approx(0.7, abs=0.03)
    assert adapt_to_label_shift(np.zeros((0, 2)), [0.5, 0.5]).shape == (0, 2)
    assert (adapt_to_label_shift([[0, 1], [0.4, 0.6]], [0.5, 0.5])[0] == (0, 1)).all(), "what is certain stays so"


@settings(deadline=None, max_examples=50)
@given(SHARES, st.floats(0.05, 0.95), st.randoms(use_true_random=False))
def test_adapted_rows_are_probabilities_whatever_their_order(good: list[float], prior: float, order: Random) -> None:
    rows = np.column_stack([1 - np.array(good), good])
    adapted = adapt_to_label_shift(rows, [1 - prior, prior])
    assert adapted.sum(axis=1) == pytest.approx(1)
    assert ((adapted >= 0) & (adapted <= 1)).all()
    mixed = order.sample(range(len(rows)), len(rows))
    assert adapt_to_label_shift(rows[mixed], [1 - prior, prior]) == pytest.approx(adapted[mixed], abs=1e-7)


def test_looks_go_by_an_order_of_their_own_where_one_is_given() -> None:
    good = [0.1, 0.9, 0.2]
    assert looks(good) == 2
    found = looks_for(good, order=[0.3, 0.1, 0.2])
    assert isinstance(found, Scored)
    assert found.value == 3, "the surely good one is looked at first"


# --- wrong numbers ---


def test_nothing_is_undefined_and_what_is_no_probability_is_refused() -> None:
    assert isinstance(share_below([], clusters=[], rng=generator(0)), Undefined)
    assert isinstance(looks_for([]), Undefined)
    with pytest.raises(InputError, match=r"probability 1 is 1\.5"):
        share([0.2, 1.5])
    with pytest.raises(InputError, match="1 probabilities and 2 clusters"):
        share([0.2], clusters=[1, 2])
    for options in ({"shift": -1.0}, {"level": 1.0}, {"replicates": 0}):
        with pytest.raises(InputError):
            share_below([0.5], clusters=[0], rng=generator(0), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="wanted"):
        looks_for([0.5], wanted=0.0)
    for rows, prior in (
        ([0.5], [0.5]),
        ([[0.5, 0.5]], [0.3, 0.3, 0.4]),
        ([[1.5, 0.5]], [0.5, 0.5]),
        ([[0, 0]], [0.5, 0.5]),
        ([[0.5, 0.5]], [0, 1]),
    ):
        with pytest.raises(InputError):
            adapt_to_label_shift(rows, prior)
