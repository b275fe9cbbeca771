"""People who rate: a Bayesian model of their errors, whom to trust, when ratings agree, and what to rate next.

A rating is a whole number 1..5; tables are int (raters, items) with 0 where a rater has not rated an item.

Source: SAM Audio Judge, Sec. III-A, which names the model (posterior of confusion matrices, expected mean absolute
deviation) and gives no formulas; those are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.types import Doubles

Ratings: TypeAlias = NDArray[np.int64]
"""(raters, items), 1..5, and 0 where there is none."""

SCALE: Final = 5
AGREE_WITHIN: Final = 1.0
"""Items whose ratings differ by more are dropped."""

_DISTANCE: Final = np.abs(np.subtract.outer(np.arange(SCALE), np.arange(SCALE))).astype(np.float64)


def rows_around_truth(weight: float, spread: float) -> Doubles:
    """Dirichlet prior of a confusion matrix, (5, 5): each row has ``weight`` ratings, falling off from the true score.

    Shares fall by a factor of e over each ``spread`` scores.
    """
    shares = np.exp(-_DISTANCE / spread)
    return np.asarray(weight * shares / shares.sum(axis=1, keepdims=True))


# Chosen on simulated pools of seeds that no reported number uses, among twelve sets of kinds.
KINDS_OF_RATERS: Final = (rows_around_truth(5.0, 0.6), rows_around_truth(4.0, 1.5), np.full((SCALE, SCALE), 0.3))
"""Priors of a careful rater, of an imprecise one, and of one of whom nothing is expected."""
_EXPERT: Final = rows_around_truth(8.0, 0.4)
_SCORES: Final = 1.0
_FIRST_POWER: Final = 0.1
_FIRST_RATINGS: Final = 4.0
"""Chains begin with what ratings say multiplied by the first, and with no fewer ratings an item than the second: from
less on, they end with scores exchanged."""
_MOVES: Final = 4
"""Items in a step whose true score is drawn with matrices integrated out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterPosterior:
    """What ratings say about the people who gave them."""

    confusion: Doubles  # (raters, 5, 5) mean of the shares with which a true score (row) is rated (column)
    # (raters,) expected mean absolute deviation from the true score, 0..4, lower is better. Every true score counts the
    # same, so that an even answer does not pay where most items have one score
    mad: Doubles
    draws: Doubles  # (draws, raters) draws of it from the posterior
    items: Doubles  # (items, 5) probabilities of each item's true score
    n: NDArray[np.int64]  # (raters,) ratings of each
    r_hat: float  # the largest ratio of spread between chains to that within, over raters; 1 where the chains agree
    signature: Signature  # how it was made

    def interval(self) -> Doubles:
        """(2, raters): the middle 90 % of each rater's draws."""
        return np.asarray(np.quantile(self.draws, (0.05, 0.95), axis=0))


def fit_raters(
    ratings: Ratings,
    experts: Ratings | None = None,
    *,
    kinds: Sequence[Doubles] = KINDS_OF_RATERS,
    expert_prior: Doubles = _EXPERT,
    rng: np.random.Generator,
    draws: int = 1000,
    warm_up: int = 400,
) -> RaterPosterior:
    """Fit confusion matrices of raters and true scores of items together, by Gibbs sampling in two chains.

    True scores have a distribution with a Dirichlet prior. A rater is of a kind, and each row of his matrix has that
    kind's Dirichlet prior: so few ratings are pulled towards care or carelessness, and never half-way between. Experts
    are raters with a sharper prior, so that one expert's slip is outvoted; without experts, agreement alone tells.

    Args:
        ratings: (raters, items), 1..5, 0 where missing.
        experts: (experts, items) likewise, or None.
        kinds: (5, 5) Dirichlet weights of a rater's matrix, one for each kind of rater.
        expert_prior: (5, 5) the same of an expert's; a huge diagonal takes experts at their word.
        rng: From ``auscult.rng.generator``.
        draws: Kept draws of each chain.
        warm_up: Draws before them that are not kept.

    Raises:
        InputError: A rating is not 0..5, shapes differ, or there is no rating.
    """
    experts = np.zeros((0, ratings.shape[1]), np.int64) if experts is None else experts
    _require_ratings(ratings, experts)
    chains = [_Chain(ratings, experts, kinds=np.stack(kinds), expert=expert_prior, rng=child) for child in rng.spawn(2)]
    deviations = np.zeros((2, draws, len(ratings)))
    confusion, items = np.zeros((len(ratings), SCALE, SCALE)), np.zeros((ratings.shape[1], SCALE))
    per_item = (np.count_nonzero(ratings) + np.count_nonzero(experts)) / ratings.shape[1]
    first = max(_FIRST_POWER, _FIRST_RATINGS / per_item)
    for number, chain in enumerate(chains):
        for step in range(warm_up + draws):
            chain.step(min(1.0, first + 2 * step / (1 + warm_up)))
            if step >= warm_up:
                deviations[number, step - warm_up] = (chain.matrices * _DISTANCE).sum(axis=2).mean(axis=1)
                confusion += chain.expected / (2 * draws)
                items += chain.beliefs / (2 * draws)
    return RaterPosterior(
        confusion=confusion,
        mad=(confusion * _DISTANCE).sum(axis=2).mean(axis=1),
        draws=deviations.reshape(2 * draws, -1),
        items=items,
        n=(ratings > 0).sum(axis=1),
        r_hat=_r_hat(deviations),
        signature=Signature.of(protocol="expected_mad", experts=len(experts), kinds=len(kinds), draws=2 * draws),
    )


class _Chain:
    """A Gibbs sampler: kinds and matrices of raters given true scores, then true scores given matrices."""

    def __init__(
        self, ratings: Ratings, experts: Ratings, *, kinds: Doubles, expert: Doubles, rng: np.random.Generator
    ) -> None:
        self._rng, self._kinds, self._expert = rng, kinds, expert
        self._marks, self._expert_marks = _one_hot(ratings), _one_hot(experts)
        items = ratings.shape[1]
        self._cells, self._rows = _log_rising(kinds, items), _log_rising(kinds.sum(axis=2), items)
        self._shares = np.full(len(kinds), 1 / len(kinds))
        self.beliefs = _start(ratings, experts)
        self._truth = _one_hot_draw(self.beliefs, rng)

    def step(self, power: float) -> None:
        """Draw everything once; a ``power`` below 1 flattens what ratings say of items, to find their best scores."""
        rng, truth = self._rng, self._truth
        counts = truth.T @ self._marks
        chosen = _one_hot_draw(self._of_kinds(counts.astype(np.int64)), rng)
        self._shares = rng.dirichlet(1.0 + chosen.sum(axis=0))
        prior = self._kinds[chosen.argmax(axis=1)]
        weight = prior + counts
        self.expected = weight / weight.sum(axis=2, keepdims=True)
        self.matrices = _dirichlet(weight, rng)
        expert = _dirichlet(self._expert + truth.T @ self._expert_marks, rng)
        scores = np.log(rng.dirichlet(_SCORES + truth.sum(axis=0)))
        self.beliefs = _normed(power * (scores + _logs(self._marks, self.matrices) + _logs(self._expert_marks, expert)))
        self._truth = _one_hot_draw(self.beliefs, rng)
        for item in rng.integers(len(truth), size=_MOVES):
            self._move(item, prior, power)

    def _move(self, item: int, prior: Doubles, power: float) -> None:
        """Draw one true score with all matrices integrated out.

        Given matrices, those of a hundred raters hold an item between two scores where it is.
        """
        truth = self._truth
        truth[item] = 0.0
        logs = np.log(_SCORES + truth.sum(axis=0))
        for weights, marks in ((prior, self._marks), (self._expert, self._expert_marks)):
            weight = weights + truth.T @ marks
            log_weights = np.log(weight / weight.sum(axis=2, keepdims=True))
            logs = logs + (log_weights * marks[:, item, None, :]).sum(axis=(0, 2))
        truth[item] = _one_hot_draw(_normed(power * logs[None]), self._rng)[0]

    def _of_kinds(self, counts: NDArray[np.int64]) -> Doubles:
        """(raters, kinds) probabilities given the counts, (raters, 5, 5), with matrices integrated out."""
        rows, columns = np.indices((SCALE, SCALE))
        cells = self._cells[:, rows, columns, counts].sum(axis=(2, 3))
        totals = self._rows[:, rows[:, 0], counts.sum(axis=2)].sum(axis=2)
        return _normed((cells - totals).T + np.log(self._shares))


def _logs(marks: Doubles, matrices: Doubles) -> Doubles:
    """(items, 5) logarithms of how probable the ratings are for each true score."""
    return np.tensordot(marks, np.log(matrices), axes=((0, 2), (0, 2)))


def _log_rising(weights: Doubles, count: int) -> Doubles:
    """Logarithms of gamma(weight + n) / gamma(weight) for n from 0 to ``count``, in a last dimension."""
    steps = np.log(weights[..., None] + np.arange(count)).cumsum(axis=-1)
    return np.concatenate((np.zeros_like(weights)[..., None], steps), axis=-1)


def _normed(logs: Doubles) -> Doubles:
    """Probabilities, by rows, from their logarithms up to a constant."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _one_hot(ratings: Ratings) -> Doubles:
    """(raters, items) to (raters, items, 5), all 0 where there is no rating."""
    return np.asarray(np.eye(SCALE + 1)[ratings][:, :, 1:])


def _dirichlet(weight: Doubles, rng: np.random.Generator) -> Doubles:
    """A draw of each row, bounded away from 0 so that its logarithm is finite."""
    gamma = np.maximum(rng.standard_gamma(weight), 1e-300)
    return np.asarray(np.maximum(gamma / gamma.sum(axis=2, keepdims=True), 1e-12))


def _one_hot_draw(shares: Doubles, rng: np.random.Generator) -> Doubles:
    """A draw from each row of probabilities, one-hot."""
    chosen = (shares.cumsum(axis=1) <= rng.random((len(shares), 1))).sum(axis=1)
    return np.asarray(np.eye(shares.shape[1])[np.minimum(chosen, shares.shape[1] - 1)])


def _start(ratings: Ratings, experts: Ratings) -> Doubles:
    """First probabilities of true scores: around the median of the experts, else of the raters."""
    beliefs = np.full((ratings.shape[1], SCALE), 0.04)
    for item, (expert, rater) in enumerate(zip(experts.T, ratings.T, strict=True)):
        scores = expert if expert.any() else rater
        if scores.any():
            beliefs[item, int(np.median(scores[scores > 0])) - 1] = 0.84
    return beliefs


def _r_hat(chains: Doubles) -> float:
    """The largest potential scale reduction of (chains, draws, raters); Gelman and Rubin 1992."""
    draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    return float(np.sqrt(((draws - 1) / draws * within + between) / np.maximum(within, 1e-300)).max())


def _require_ratings(ratings: Ratings, experts: Ratings) -> None:
    for table in (ratings, experts):
        shaped = table.ndim == 2 and table.shape[1] == ratings.shape[1] and np.issubdtype(table.dtype, np.integer)
        if not shaped or not np.isin(table, range(SCALE + 1)).all() or not ratings.any():
            text = f"ratings are {table.dtype} {table.shape}"
            raise InputError(text, expected="whole numbers (raters, items), 1 to 5, 0 for none, not all of them none")


def mean_rating(ratings: Ratings) -> Doubles:
    """(items,) the mean rating of each item; NaN where there is none."""
    counted = (ratings > 0).sum(axis=0)
    return np.asarray(np.where(counted > 0, ratings.sum(axis=0) / np.maximum(counted, 1), np.nan))


def plain_mad(ratings: Ratings, experts: Ratings) -> Doubles:
    """(raters,) mean absolute deviation from the mean expert over the items rated; NaN without any."""
    deviations = np.abs(np.where(ratings > 0, ratings, np.nan) - mean_rating(experts))
    return np.asarray(np.ma.masked_invalid(deviations).mean(axis=1).filled(np.nan))


def settled(ratings: Sequence[float], *, within: float = AGREE_WITHIN, fewest: int = 3) -> Scored[float] | Undefined:
    """The mean of an item's ratings, 1..5, if they differ by no more than ``within`` (Sec. III-A).

    Undefined where they differ by more, or are fewer than ``fewest``.
    """
    if len(ratings) < fewest:
        return Undefined("too few ratings", {"n": len(ratings), "fewest": fewest})
    if max(ratings) - min(ratings) > within:
        return Undefined("raters disagree", {"low": min(ratings), "high": max(ratings), "within": within})
    return Scored(float(np.mean(ratings)), Signature.of(protocol="mean_rating", within=within, n=len(ratings)))


def entropy_bits(counts: Sequence[float]) -> float:
    """Entropy of a histogram in bits: 0 where all is in one bin, log2 of the bins where they are even."""
    shares = np.asarray(counts, float) / max(1e-300, float(np.sum(counts)))
    return float(-(shares[shares > 0] * np.log2(shares[shares > 0])).sum()) + 0.0


def balanced_draw(bins: NDArray[np.int64], count: int, *, before: Doubles, rng: np.random.Generator) -> list[int]:
    """Draw so that the bins on all axes become even, one after the other: next is what is in the emptiest bins.

    ``bins``, (candidates, axes), are those of each candidate, ``before``, (axes, bins), how many there are already. All
    are drawn where there are not more than ``count``; ties are broken at random.
    """
    filled, axes = np.asarray(before, float).copy(), np.arange(bins.shape[1])
    order = rng.permutation(len(bins))
    left, chosen = bins[order], []
    available = np.ones(len(bins), bool)
    for _ in range(min(count, len(bins))):
        cost = np.where(available, filled[axes, left].sum(axis=1), np.inf)
        index = int(cost.argmin())
        available[index] = False
        filled[axes, left[index]] += 1
        chosen.append(int(order[index]))
    return chosen
