"""The Bayesian model of raters: known posteriors, agreement of chains, and whom it tells apart."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.raters import KINDS_OF_RATERS, entropy_bits, fit_raters, plain_mad, rows_around_truth, settled
from simulated_raters import PoolPlan, pool_aucs, simulate_pool

DISTANCE = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
AT_THEIR_WORD = np.where(np.eye(5) > 0, 1e9, 1e-9)


def test_experts_at_their_word_give_the_dirichlet_posterior_in_closed_form() -> None:
    ratings = np.array([[1, 2, 2, 5, 4, 0], [3, 3, 3, 0, 0, 0]])
    experts = np.array([[1, 2, 3, 5, 5, 0]])
    prior = rows_around_truth(2.0, 0.7)
    posterior = fit_raters(
        ratings, experts, kinds=(prior,), expert_prior=AT_THEIR_WORD, rng=generator(3, "closed"), draws=1500
    )
    weight = np.stack([prior, prior])
    for rater, item in itertools.product(range(2), range(5)):
        if ratings[rater, item]:
            weight[rater, experts[0, item] - 1, ratings[rater, item] - 1] += 1
    total = weight.sum(axis=2, keepdims=True)
    mean = weight / total
    row = (mean * DISTANCE).sum(axis=2)
    spread = ((mean * DISTANCE**2).sum(axis=2) - row**2) / (total[:, :, 0] + 1)
    assert posterior.confusion == pytest.approx(mean, abs=1e-9)
    assert posterior.mad == pytest.approx(row.mean(axis=1), abs=1e-9)
    assert posterior.draws.mean(axis=0) == pytest.approx(row.mean(axis=1), abs=0.02)
    assert posterior.draws.std(axis=0) == pytest.approx(np.sqrt(spread.sum(axis=1)) / 5, rel=0.05)


def _evidence(counts: np.ndarray, prior: np.ndarray) -> float:
    """Log probability of one rater's counts, (5, 5), his matrix integrated out."""
    gamma = np.vectorize(math.lgamma)
    return float(
        (gamma(prior + counts) - gamma(prior)).sum()
        + (gamma(prior.sum(axis=1)) - gamma((prior + counts).sum(axis=1))).sum()
    )


@pytest.mark.slow
def test_true_scores_follow_their_posterior_by_enumeration_of_all_of_them() -> None:
    ratings = np.array([[1, 4], [2, 5], [0, 5]])
    experts = np.array([[1, 0]])
    sharp = rows_around_truth(8.0, 0.4)
    expected, mad, total = np.zeros((2, 5)), np.zeros(3), 0.0
    for truth in itertools.product(range(5), repeat=2):
        times = np.bincount(truth, minlength=5)
        logs = sum(math.lgamma(1 + n) for n in times)  # the scores' Dirichlet(1), integrated out, up to a constant
        kinds, row_mads = [], []
        for table, priors in ((ratings, KINDS_OF_RATERS[:1]), (experts, (sharp,))):
            for row_ratings in table:
                counts = np.zeros((5, 5))
                for item, rating in enumerate(row_ratings):
                    if rating:
                        counts[truth[item], rating - 1] += 1
                logs += _evidence(counts, priors[0])
                kinds.append(counts)
                weight = priors[0] + counts
                row_mads.append((weight / weight.sum(axis=1, keepdims=True) * DISTANCE).sum(axis=1).mean())
        share = math.exp(logs)
        total += share
        mad += share * np.array(row_mads[:3])
        for item, score in enumerate(truth):
            expected[item, score] += share
    posterior = fit_raters(ratings, experts, kinds=KINDS_OF_RATERS[:1], rng=generator(1, "all"), draws=1500)
    assert posterior.items == pytest.approx(expected / total, abs=0.03)
    assert posterior.mad == pytest.approx(mad / total, abs=0.01)


def test_the_kind_of_a_rater_has_its_posterior_too() -> None:
    ratings, experts = np.array([[5, 1, 5, 1, 2, 3]]), np.array([[1, 5, 1, 5, 2, 3]])
    counts = np.zeros((5, 5))
    np.add.at(counts, (experts[0] - 1, ratings[0] - 1), 1)
    evidence = np.array([_evidence(counts, prior) for prior in KINDS_OF_RATERS])
    shares = np.exp(evidence - evidence.max())  # of one rater the shares of kinds are even
    means = [(prior + counts) / (prior + counts).sum(axis=1, keepdims=True) for prior in KINDS_OF_RATERS]
    expected = sum(share * mean for share, mean in zip(shares / shares.sum(), means, strict=True))
    posterior = fit_raters(ratings, experts, expert_prior=AT_THEIR_WORD, rng=generator(2, "kind"), draws=1500)
    assert posterior.confusion[0] == pytest.approx(expected, abs=0.02)


@pytest.mark.slow
def test_two_chains_agree_on_a_pool_of_the_papers_size_in_time() -> None:
    pool = simulate_pool(PoolPlan(good=96, bad=32), generator(7, "pool"))
    start_s = time.process_time()
    posterior = fit_raters(pool.ratings, pool.experts, rng=generator(7, "fit"))
    assert time.process_time() - start_s < 10
    assert posterior.r_hat < 1.1
    halves = posterior.draws[:1000].mean(axis=0), posterior.draws[1000:].mean(axis=0)
    assert np.corrcoef(*halves)[0, 1] > 0.999
    assert np.abs(halves[0] - halves[1]).max() < 0.1


def test_bad_raters_are_told_without_experts_too() -> None:
    pool = simulate_pool(PoolPlan(good=30, bad=8), generator(6, "pool"))
    posterior = fit_raters(pool.ratings, rng=generator(6, "fit"), draws=200)
    assert posterior.mad[pool.bad].min() > np.median(posterior.mad[~pool.bad])
    assert (posterior.items.argmax(axis=1) + 1 == pool.truth).mean() > 0.9


def test_few_raters_an_item_without_experts_do_not_exchange_scores() -> None:
    pool = simulate_pool(PoolPlan(good=5, bad=0, items=48), generator(0, "three"))
    three_an_item = np.indices(pool.ratings.shape).sum(axis=0) % 5 < 3
    posterior = fit_raters(pool.ratings * three_an_item, rng=generator(0, "fit"), draws=100, warm_up=200)
    assert posterior.r_hat < 1.1
    assert posterior.mad.max() < 0.5


@pytest.mark.slow
def test_expected_mad_meets_its_bars_and_beats_plain_mad_where_half_is_missing() -> None:
    whole_pools = [pool_aucs(PoolPlan(), rng=generator(seed, "bar", "whole")) for seed in range(2)]
    assert np.mean([auc_of["expected MAD"] for auc_of in whole_pools]) >= 0.97
    half_pools = [pool_aucs(PoolPlan(missing=0.5), rng=generator(seed, "bar", "half")) for seed in range(10)]
    assert np.mean([auc_of["expected MAD"] for auc_of in half_pools]) >= 0.97
    gains = np.array([auc_of["expected MAD"] - auc_of["plain MAD"] for auc_of in half_pools])
    assert gains.mean() - 2.26 * gains.std(ddof=1) / np.sqrt(len(gains)) > 0


def test_an_even_answer_does_not_pay_where_most_items_have_one_score() -> None:
    rng = generator(7, "even")
    truth = np.where(rng.random(40) < 0.85, 5, rng.integers(1, 6, 40))
    good = np.clip(truth - (rng.random((12, 40)) < 0.5), 1, 5)
    ratings = np.vstack([good, np.full((1, 40), 5)])
    posterior = fit_raters(ratings, truth[None], rng=rng, draws=300)
    plain = plain_mad(ratings, truth[None])
    assert plain[-1] < plain[:-1].mean()
    assert posterior.mad[-1] > posterior.mad[:-1].max()


def test_fewer_ratings_have_a_wider_interval_and_none_the_prior() -> None:
    rng = generator(8, "few")
    truth = rng.integers(1, 6, 40)
    ratings = np.vstack([truth, truth, np.zeros(40, int)])
    ratings[1, 5:] = 0
    posterior = fit_raters(ratings, truth[None], rng=rng, draws=300)
    low, high = posterior.interval()
    assert (high - low)[0] < (high - low)[1] < (high - low)[2]
    assert posterior.n.tolist() == [40, 5, 0]
    assert np.isnan(plain_mad(ratings, truth[None])[2])


@pytest.mark.parametrize("ratings", [np.array([[6]]), np.array([[-1]]), np.array([[0]]), np.array([[1.0]])])
def test_ratings_that_are_none_are_refused(ratings: np.ndarray) -> None:
    with pytest.raises(InputError):
        fit_raters(ratings, rng=generator(1, "bad"))


def test_an_item_is_settled_where_its_ratings_differ_by_one_at_most() -> None:
    assert settled([3, 4, 4]) == Scored(11 / 3, settled([3, 4, 4]).signature)  # type: ignore[union-attr]
    outcome, few = settled([2, 3, 4]), settled([3, 3])
    assert isinstance(outcome, Undefined)
    assert outcome.reason == "raters disagree"
    assert isinstance(few, Undefined)
    assert few.reason == "too few ratings"


def test_entropy_is_none_in_one_bin_and_largest_where_bins_are_even() -> None:
    assert entropy_bits([7, 0, 0]) == 0.0
    assert entropy_bits([3, 3, 3, 3]) == pytest.approx(2.0)
