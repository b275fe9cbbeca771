"""People who rate: a Bayesian model of their errors, whom to trust, when ratings agree, and simulated pools.

A rating is a whole number 1..5; tables are int (raters, items) with 0 where a rater has not rated an item.

Source: SAM Audio Judge, Sec. III-A, which names the model (posterior of confusion matrices, expected mean absolute
deviation) and gives no formulas; those are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.ranks import auc
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


# Weights of the priors, chosen on simulated pools of seeds that no reported number uses: studied were 2, 5 and 10.
_OWN: Final = rows_around_truth(5.0, 0.6)
_POOLED: Final = 5.0
_EXPERT: Final = rows_around_truth(8.0, 0.4)
_SCORES: Final = 1.0
_POOL_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterPosterior:
    """What ratings say about the people who gave them.

    Attributes:
        confusion: (raters, 5, 5) mean of the shares with which a true score (row) is rated (column).
        mad: (raters,) expected mean absolute deviation from the true score, 0..4; lower is better.
        draws: (draws, raters) draws of it from the posterior.
        items: (items, 5) probabilities of each item's true score.
        n: (raters,) ratings of each.
        r_hat: The largest ratio of spread between chains to that within, over raters; 1 where the chains agree.
        signature: How it was made.
    """

    confusion: Doubles
    mad: Doubles
    draws: Doubles
    items: Doubles
    n: NDArray[np.int64]
    r_hat: float
    signature: Signature

    def interval(self, level: float = 0.9) -> Doubles:
        """(2, raters): the middle ``level`` of each rater's draws."""
        return np.asarray(np.quantile(self.draws, ((1 - level) / 2, (1 + level) / 2), axis=0))

    def below(self, most_mad: float) -> Doubles:
        """(raters,) probability that the mean absolute deviation is at most ``most_mad``."""
        return np.asarray((self.draws <= most_mad).mean(axis=0))

    def among_best(self, count: int) -> Doubles:
        """(raters,) probability of being one of the ``count`` raters with the lowest deviation."""
        places = self.draws.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        return np.asarray((places < count).mean(axis=0))


def fit_raters(
    ratings: Ratings,
    experts: Ratings | None = None,
    *,
    prior: Doubles | None = None,
    expert_prior: Doubles | None = None,
    weights: Sequence[float] | None = None,
    rng: np.random.Generator,
    draws: int = 1000,
    warm_up: int = 200,
) -> RaterPosterior:
    """Fit confusion matrices of raters and true scores of items together, by Gibbs sampling in two chains.

    True scores have a distribution with a Dirichlet prior; each row of a rater's matrix has a Dirichlet prior. Experts
    are raters with a sharper prior, so that one expert's slip is outvoted; without experts, agreement alone tells.

    Args:
        ratings: (raters, items), 1..5, 0 where missing.
        experts: (experts, items) likewise, or None.
        prior: (5, 5) Dirichlet weights of a rater's matrix. By default ours, with as many of the whole pool's shares
            (empirical Bayes): what all find hard counts against nobody.
        expert_prior: (5, 5) the same of an expert's; infinity on the diagonal takes experts at their word.
        weights: (5,) how much each true score counts in the deviation; equal by default, so that an even answer does
            not pay where most items have one score.
        rng: From ``auscult.rng.generator``.
        draws: Kept draws of each chain.
        warm_up: Draws before them that are not kept.

    Raises:
        InputError: A rating is not 0..5, shapes differ, or there is no rating.
    """
    told = np.zeros((0, ratings.shape[1]), np.int64) if experts is None else experts
    _require_ratings(ratings, told)
    sharp = _EXPERT if expert_prior is None else expert_prior
    chosen = _pooled_prior(ratings, told, sharp) if prior is None else prior
    shares = np.full(SCALE, 1 / SCALE) if weights is None else np.asarray(weights, float) / np.sum(weights)
    chains = [_Chain(ratings, told, (chosen, sharp), rng=child) for child in rng.spawn(2)]
    deviations = np.zeros((2, draws, len(ratings)))
    confusion, items = np.zeros((len(ratings), SCALE, SCALE)), np.zeros((ratings.shape[1], SCALE))
    for number, chain in enumerate(chains):
        for step in range(warm_up + draws):
            chain.step()
            if step >= warm_up:
                deviations[number, step - warm_up] = (chain.matrices * _DISTANCE).sum(axis=2) @ shares
                confusion += chain.expected / (2 * draws)
                items += chain.beliefs / (2 * draws)
    signature = Signature.of(
        protocol="expected_mad", experts=len(told), prior="pooled" if prior is None else "given",
        weights="equal" if weights is None else "given", draws=2 * draws,
    )  # fmt: skip
    return RaterPosterior(
        confusion=confusion,
        mad=(confusion * _DISTANCE).sum(axis=2) @ shares,
        draws=deviations.reshape(2 * draws, -1),
        items=items,
        n=(ratings > 0).sum(axis=1),
        r_hat=_r_hat(deviations),
        signature=signature,
    )


class _Chain:
    """A Gibbs sampler: true scores given matrices, then matrices given true scores."""

    def __init__(
        self, ratings: Ratings, experts: Ratings, priors: tuple[Doubles, Doubles], *, rng: np.random.Generator
    ) -> None:
        self._rng = rng
        self._marks = _one_hot(ratings), _one_hot(experts)
        self._exact = bool(np.isinf(priors[1]).any())
        self._priors = priors
        self.beliefs = _start(ratings, experts, exact=self._exact)
        self._truth = self.beliefs if self._exact else _one_hot(_drawn(self.beliefs, rng)[None])[0]

    def step(self) -> None:
        """Draw everything once."""
        rng, (marks, told) = self._rng, self._marks
        weight = self._priors[0] + np.einsum("ik,ril->rkl", self._truth, marks)
        self.expected = weight / weight.sum(axis=2, keepdims=True)
        self.matrices = _dirichlet(weight, rng)
        if self._exact:
            return
        expert = _dirichlet(self._priors[1] + np.einsum("ik,ril->rkl", self._truth, told), rng)
        scores = rng.dirichlet(_SCORES + self._truth.sum(axis=0))
        self.beliefs = _beliefs(np.log(scores), (marks, np.log(self.matrices)), (told, np.log(expert)))
        self._truth = _one_hot(_drawn(self.beliefs, rng)[None])[0]


def _one_hot(ratings: Ratings) -> Doubles:
    """(raters, items) to (raters, items, 5), all 0 where there is no rating."""
    return np.asarray(np.eye(SCALE + 1)[ratings][:, :, 1:])


def _dirichlet(weight: Doubles, rng: np.random.Generator) -> Doubles:
    """A draw of each row, bounded away from 0 so that its logarithm is finite."""
    drawn = np.maximum(rng.standard_gamma(weight), 1e-300)
    return np.asarray(np.maximum(drawn / drawn.sum(axis=2, keepdims=True), 1e-12))


def _drawn(beliefs: Doubles, rng: np.random.Generator) -> Ratings:
    """A score 1..5 for each row of probabilities."""
    return np.asarray(1 + (beliefs.cumsum(axis=1) < rng.random((len(beliefs), 1))).sum(axis=1).clip(0, SCALE - 1))


def _beliefs(scores: Doubles, *seen: tuple[Doubles, Doubles]) -> Doubles:
    """(items, 5) probabilities of true scores from log shares of scores, and from marks with log matrices."""
    logs = scores + sum(np.einsum("ril,rkl->ik", marks, matrices) for marks, matrices in seen)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _start(ratings: Ratings, experts: Ratings, *, exact: bool) -> Doubles:
    """First probabilities of true scores: what the experts said, else what the median rater did."""
    found = np.full((ratings.shape[1], SCALE), 0.04)
    for item in range(ratings.shape[1]):
        said = experts[:, item][experts[:, item] > 0]
        said = said if len(said) else ratings[:, item][ratings[:, item] > 0]
        if len(said):
            found[item, int(np.median(said)) - 1] = 0.84
    if exact:  # an item that no expert rated tells nothing
        marks = _one_hot(experts).sum(axis=0)
        return np.asarray(marks / np.maximum(1.0, marks.sum(axis=1, keepdims=True)))
    return found


def _pooled_prior(ratings: Ratings, experts: Ratings, sharp: Doubles) -> Doubles:
    """Our prior and the pool's shares, which expectation maximisation finds."""
    exact = bool(np.isinf(sharp).any())
    marks, told = _one_hot(ratings), _one_hot(experts)
    beliefs, prior = _start(ratings, experts, exact=exact), _OWN
    for _ in range(_POOL_ROUNDS):
        counts = np.einsum("ik,ril->rkl", beliefs, marks)
        pooled = counts.sum(axis=0) + _OWN
        prior = _OWN + _POOLED * pooled / pooled.sum(axis=1, keepdims=True)
        if exact:
            break
        matrices = [prior + counts, sharp + np.einsum("ik,ril->rkl", beliefs, told)]
        logs = [np.log(one / one.sum(axis=2, keepdims=True)) for one in matrices]
        scores = np.log((beliefs.sum(axis=0) + _SCORES) / (len(beliefs) + SCALE * _SCORES))
        beliefs = _beliefs(scores, (marks, logs[0]), (told, logs[1]))
    return prior


def _r_hat(chains: Doubles) -> float:
    """The largest potential scale reduction of (chains, draws, raters); Gelman and Rubin 1992."""
    draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    return float(np.sqrt(((draws - 1) / draws * within + between) / np.maximum(within, 1e-300)).max())


def _require_ratings(ratings: Ratings, experts: Ratings) -> None:
    for name, table in (("ratings", ratings), ("experts", experts)):
        if table.ndim != 2 or table.shape[1] != ratings.shape[1] or not np.issubdtype(table.dtype, np.integer):
            raise InputError(f"{name} are {table.dtype} {table.shape}", expected="whole numbers (raters, items)")
        if table.size and not (table.min() >= 0 and table.max() <= SCALE):
            raise InputError(f"{name} reach from {table.min()} to {table.max()}", expected="1 to 5, 0 for none")
    if not ratings.any():
        raise InputError("there is no rating", expected="at least one rating, 1 to 5")


def plain_mad(ratings: Ratings, experts: Ratings) -> Doubles:
    """(raters,) mean absolute deviation from the mean expert over the items rated; NaN without any."""
    known = experts > 0
    truth = np.where(known, experts, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    both = (ratings > 0) & known.any(axis=0)
    counted = both.sum(axis=1)
    total = np.where(both, np.abs(ratings - truth), 0.0).sum(axis=1)
    return np.asarray(np.where(counted > 0, total / np.maximum(counted, 1), np.nan))


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


# --- simulated pools ---

BAD_KINDS: Final = ("noisy", "biased", "lazy", "adversarial")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Simulated raters of golden items.

    Attributes:
        ratings: (raters, items), 0 where missing.
        experts: (1, items).
        kinds: Of each rater: ``good`` or one of ``BAD_KINDS``.
        truth: (items,) true scores, 1..5.
    """

    ratings: Ratings
    experts: Ratings
    kinds: tuple[str, ...]
    truth: NDArray[np.int64]

    @property
    def bad(self) -> NDArray[np.bool_]:
        """(raters,) whether each is a bad one."""
        return np.array([kind != "good" for kind in self.kinds])


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """What a simulated pool is like; the paper has 40 golden items and ended with 128 raters.

    Attributes:
        good: Raters who are right but for a spread of .3 to .7.
        bad: Raters of ``BAD_KINDS``, in turn.
        items: Golden items; most have the lowest and the highest score.
        missing: Share of ratings that are missing, at random.
    """

    good: int = 128
    bad: int = 40
    items: int = 40
    missing: float = 0.0


_TRUE_SHARES: Final = (0.26, 0.13, 0.14, 0.17, 0.30)


def simulate_pool(plan: PoolPlan, rng: np.random.Generator) -> Pool:
    """Draw a pool: qualities on a line, items of unequal ambiguity, an expert with errors, and raters.

    Ratings come from a shift, a slope and Gaussian noise on that line and not from confusion matrices, so that the
    model that is tried on them is not the one that made them.
    """
    truth = rng.choice(SCALE, plan.items, p=_TRUE_SHARES)
    quality = truth + rng.uniform(-0.5, 0.5, plan.items)
    unclear = np.sqrt(rng.gamma(2.0, 0.5, plan.items))

    def rate(*, bias: float, spread: float, slope: float = 1.0) -> Ratings:
        heard = 2 + slope * (quality - 2) + bias + spread * unclear * rng.normal(size=plan.items)
        return np.clip(np.rint(heard), 0, SCALE - 1).astype(np.int64) + 1

    def bad(kind: str) -> Ratings:
        if kind == "noisy":
            return rate(bias=rng.normal(0, 0.2), spread=rng.uniform(1.2, 2.0))
        if kind == "biased":
            return rate(bias=rng.choice((-1, 1)) * rng.uniform(1.0, 1.6), spread=rng.uniform(0.3, 0.7))
        if kind == "lazy":  # the same answer to most
            same, most = rng.choice((3, 4, 5)), rng.random(plan.items) < rng.uniform(0.6, 0.95)
            return np.where(most, same, rate(bias=0.0, spread=0.5))
        return rate(bias=0.0, spread=0.6, slope=-1.0)

    kinds = ("good",) * plan.good + tuple(BAD_KINDS[number % len(BAD_KINDS)] for number in range(plan.bad))
    ratings = np.array(
        [
            rate(bias=rng.normal(0, 0.2), spread=rng.uniform(0.3, 0.7), slope=rng.uniform(0.85, 1.15))
            if kind == "good"
            else bad(kind)
            for kind in kinds
        ]
    )
    ratings[rng.random(ratings.shape) < plan.missing] = 0
    return Pool(ratings=ratings, experts=rate(bias=0.0, spread=0.35)[None], kinds=kinds, truth=truth + 1)


def pool_aucs(plan: PoolPlan, *, rng: np.random.Generator, draws: int = 150) -> Mapping[str, float]:
    """How well a pool's bad raters are told by expected and by plain deviation: two areas under the curve, 0..1."""
    pool = simulate_pool(plan, rng)
    expected = fit_raters(pool.ratings, pool.experts, rng=rng, draws=draws, warm_up=50).mad
    plain = plain_mad(pool.ratings, pool.experts)
    plain[np.isnan(plain)] = expected.mean()  # of a rater without a rating
    found = {"expected MAD": auc(expected, pool.bad), "plain MAD": auc(plain, pool.bad)}
    return {name: one.value for name, one in found.items() if isinstance(one, Scored)}
