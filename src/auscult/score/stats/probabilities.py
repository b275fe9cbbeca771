"""Probabilities that items are good: what they promise, and how several numbers are joined into one.

What probabilities promise of masks that nobody has looked at: how many are bad, and how many looks find them.

Conventions: for each mask the probability that it is good, 0..1; a judge's ``prob_iou_80`` says it of IoU .8. Bad is
what is not good. All of it holds as far as the probabilities are calibrated.

- ``share_below``: the share of bad masks, with an interval. Lower is better.
- ``looks_for``: how many masks have to be looked at, the most probably bad first, to find a share of the bad ones.
- ``adapt_to_label_shift``: what the probabilities become where the set itself shows that it is better or worse than the
  material they were calibrated on. Probabilities that hold for a calibration in which every second mask is good say of
  a set of good masks that far too many are bad.

The interval is made of replicates. Each draws whole clusters (clips or frames) with replacement; one offset for all
masks, normal in logits, since on material of another kind a judge's probabilities are too high or too low together; and
then for each mask whether it is good. So it holds for the share among these very masks, and for that of the material
they are a sample of, which the clusters stand for. For either alone it is a little wide.

References: as in ``intervals``; M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the Outputs of a Classifier to New
a Priori Probabilities", Neural Computation 14, 2002; a sum of independent outcomes of unequal probability is Poisson's
binomial: L. Le Cam, "An approximation theorem for the Poisson binomial distribution", Pacific J. Mathematics 10, 1960.

Several numbers joined into one probability by logistic regression, judged on items that it was not fitted on.

Conventions: one row of numbers and one label per item. Slopes are held towards 0 by a quadratic penalty, so that a fit
exists for labels that one number separates, and for few items.

- ``logistic_fit``: coefficients from all items.
- ``cross_fitted``: for each item the probability by coefficients that were fitted without its cluster, in parts of
  whole clusters, so that no item of a photograph tells about another of it.

References: D. Cox, "The Regression Analysis of Binary Sequences", JRSS B 20, 1958; S. le Cessie, J. van Houwelingen,
"Ridge Estimators in Logistic Regression", Applied Statistics 41, 1992; M. Stone, "Cross-Validatory Choice and
Assessment of Statistical Predictions", JRSS B 36, 1974.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.inputs import members_of, numbers, same_length
from auscult.score.stats.intervals import Interval, cluster_draws, percentile_interval
from auscult.types import Doubles

SHIFT: Final = 0.5
"""Offset of a judge's probabilities on material of another kind, as a standard deviation in logits: what holds where
the judge's own calibration measured none."""

_SURE: Final = 1e-6  # a record keeps six decimals; logits of 0 and 1 do not exist
_EQUAL: Final = 1e-9
_HELD: Final = 0.3  # chosen on the calibration part of `masks.prompted.v1` from .1 to .5
_FEW: Final = 10
_ROUNDS: Final = 200


def share_below(
    probabilities: ArrayLike,
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    shift: float = SHIFT,
    level: float = 0.9,
    replicates: int = 1000,
) -> Interval | Undefined:
    """Share of masks that are not good, expected from the probabilities that they are.

    Args:
        probabilities: That each mask is good, (n,), 0..1.
        clusters: The clip or frame each belongs to, (n,).
        rng: The generator of this draw, from ``auscult.rng.generator``.
        shift: Standard deviation of the offset that all probabilities share, in logits, 0 or more. A judge's
            calibration measures it between families of models and material.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        The mean of 1 - probability, 0..1, lower is better, with its interval, which holds it. Undefined for no mask.

    Raises:
        InputError: Unequal lengths, a probability outside 0..1, or an option out of range.

    Example:
        >>> from auscult.rng import generator
        >>> interval = share_below([0.9, 0.8, 0.1, 0.6], clusters="abcd", rng=generator(1, "example"))
        >>> round(interval.value, 6), interval.low <= interval.value <= interval.high
        (0.4, True)
    """
    good = _probabilities(probabilities)
    same_length(probabilities=good, clusters=clusters)
    if not 0 <= shift < np.inf or replicates < 1:
        raise InputError(f"shift is {shift!r}, replicates {replicates}", expected="0 or more logits, 1 or more draws")
    if good.size == 0:
        return Undefined("no items")
    value = float(np.mean(1 - good))
    draws = _share_draws(good, members_of(clusters), rng=rng, shift=shift, replicates=replicates)
    ends = percentile_interval(draws, level=level)
    low, high = (value, value) if ends is None else ends
    return Interval(
        value=value,
        signature=Signature.of(
            metric="mean of 1 - probability",
            interval="percentiles of draws",
            drawn="clusters, offset, outcomes",
            shift=f"{shift:g}",
            level=f"{level:g}",
            replicates=replicates,
        ),
        low=min(low, value),
        high=max(high, value),
        clusters=len(set(clusters)),
        replicates=replicates,
        undefined=0,
    )


def adapt_to_label_shift(probabilities: ArrayLike, prior: ArrayLike) -> Doubles:
    """Probabilities of k outcomes by the shares that the set itself has, found by expectation and maximisation.

    The shares are held to the prior: by 30 % of the set, and as if ten more items had it, since judges are wrong in
    common and small sets show little.

    Args:
        probabilities: Of each outcome for each item, (n, k), 0..1, rows summing to 1.
        prior: The share of each outcome in the material they were calibrated on, (k,), above 0.

    Returns:
        The adapted probabilities, (n, k), rows summing to 1. They depend on all items, but not on their order.

    Raises:
        InputError: A number outside its range, or another number of outcomes.

    Example:
        >>> likely = adapt_to_label_shift([[0.3, 0.7]] * 100, [0.5, 0.5])
        >>> bool(likely[0, 1] > 0.8)
        True
    """
    given, shares = np.asarray(probabilities, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    known = given.ndim == 2 and shares.shape == given.shape[1:] and bool(given.any(axis=1).all())
    if not known or not ((given >= 0) & (given <= 1)).all():
        raise InputError("these are no probabilities of k outcomes", expected="rows of k numbers from 0 to 1, k priors")
    if not (np.isfinite(shares) & (shares > 0)).all():
        raise InputError(f"the prior is {shares.tolist()}", expected="shares above 0")
    shares = shares / shares.sum()
    held = (_HELD * len(given) + _FEW) / (len(given) + _FEW)
    found, adapted = shares, given
    for _ in range(_ROUNDS if len(given) else 0):
        weighed = given / shares * found
        adapted = weighed / weighed.sum(axis=1, keepdims=True)
        before, found = found, (1 - held) * adapted.mean(axis=0) + held * shares
        if np.abs(found - before).max() < _EQUAL:
            break
    return np.asarray(adapted, dtype=np.float64)


def adapted_to_set(good: Doubles, fair: Doubles, *, prior: Sequence[float]) -> tuple[Doubles, Doubles]:
    """Probabilities of an IoU of .8 and of .5 or more, each (n,), adapted to how good this set of masks is.

    ``prior`` is the share of either among the masks that the judge was calibrated on; an InputError where it leaves
    nothing between them, below or above. See ``adapt_to_label_shift``.
    """
    outcomes = np.clip(np.column_stack([good, fair - good, 1 - fair]), 0.0, 1.0)
    adapted = adapt_to_label_shift(outcomes, [prior[0], prior[1] - prior[0], 1 - prior[1]])
    return adapted[:, 0], 1 - adapted[:, 2]


def adapted_by_prior(
    good: Doubles, fair: Doubles, priors: Sequence[tuple[float, float] | None]
) -> tuple[Doubles, Doubles]:
    """Probabilities as ``adapted_to_set`` makes them, masks of one prior as a set; those without a prior stay."""
    good, fair = good.copy(), fair.copy()
    for prior in {prior for prior in priors if prior is not None}:
        at = [index for index, known in enumerate(priors) if known == prior]
        good[at], fair[at] = adapted_to_set(good[at], fair[at], prior=prior)
    return good, fair


def looks_for(
    probabilities: ArrayLike, *, wanted: float = 0.9, order: ArrayLike | None = None
) -> Scored[int] | Undefined:
    """How many masks to look at, the most probably bad first, to find a share of the bad ones.

    Args:
        probabilities: That each mask is good, (n,), 0..1.
        wanted: The share of the bad masks to find, above 0, up to 1.
        order: Numbers by which masks are looked at, lowest first, (n,); the probabilities by default.

    Returns:
        The smallest number of looks among which that share of all bad masks is expected, 0..n, lower is better; 0 where
        no mask can be bad. Undefined for no mask.

    Raises:
        InputError: A probability outside 0..1, or ``wanted`` is out of range.

    Example:
        >>> looks_for([0.9, 0.2, 0.1, 1.0], wanted=0.85).value
        2
    """
    good = _probabilities(probabilities)
    if not 0 < wanted <= 1:
        raise InputError(f"wanted is {wanted!r}", expected="above 0, up to 1, such as 0.9")
    if good.size == 0:
        return Undefined("no items")
    first = np.argsort(good if order is None else np.asarray(order, dtype=np.float64), kind="stable")
    expected = np.cumsum((1 - good)[first])
    enough = wanted * expected[-1] - _EQUAL * expected[-1]
    looks = 1 + int(np.searchsorted(expected, enough)) if expected[-1] > 0 else 0
    return Scored(
        looks, Signature.of(metric="looks", order="lowest probability first", wanted=f"{wanted:g} of expected")
    )


def _probabilities(values: ArrayLike) -> Doubles:
    (good,) = numbers(probabilities=values)
    wrong = np.flatnonzero((good < 0) | (good > 1))
    if wrong.size:
        raise InputError(f"probability {wrong[0]} is {good[wrong[0]]}", expected="numbers from 0 to 1")
    return good


def _share_draws(
    good: Doubles, members: NDArray[np.int64], *, rng: np.random.Generator, shift: float, replicates: int
) -> Doubles:
    """The share of bad masks in each replicate, (replicates,)."""
    inside = np.clip(good, _SURE, 1 - _SURE)
    odds = inside / (1 - inside)
    clusters = int(members.max()) + 1
    shares = np.empty(replicates)
    for draw in range(replicates):
        times = cluster_draws(clusters, rng=rng, replicates=1)[0, members]
        bad = 1 / (1 + odds * np.exp(rng.normal(0.0, shift)))
        chances = np.repeat(bad, times.astype(np.int64))
        shares[draw] = np.count_nonzero(rng.random(chances.size) < chances) / chances.size
    return shares


FOLDS: Final = 5
_PENALTY: Final = 1.0
_OF_CONSTANT: Final = 1e-3  # keeps it finite where all labels of a part are alike
_STEPS: Final = 100
_SMALL: Final = 1e-10
_STEEPEST: Final = 30.0


def logistic_fit(rows: Doubles, good: Sequence[bool]) -> Doubles:
    """Coefficients of the probability that an item is good, (k + 1,), the constant first.

    ``rows``, (n, k), are of about the size of 1, ``good`` is (n,). No item, or unequal lengths, is an InputError.
    """
    same_length(rows=rows, good=good)
    if len(rows) == 0:
        raise InputError("there is no item to fit to", expected="one item or more")
    columns = np.column_stack([np.ones(len(rows)), rows])
    labels = np.asarray(good, dtype=np.float64)
    penalty = _penalty(columns)
    weights = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        chances = _chances(columns @ weights)
        slope = columns.T @ (labels - chances) - penalty @ weights
        change = np.linalg.solve(_curve(columns, chances), slope)
        weights = weights + change * min(1.0, 1.0 / float(np.abs(change).max() + _SMALL))  # far steps overshoot
        if np.abs(change).max() < _SMALL:
            break
    return weights


def mean_logit_error(
    rows: Doubles, chances: Doubles, *, off: Doubles, at: NDArray[np.int64], clusters: Sequence[Hashable]
) -> float:
    """Standard error, in logits, of the mean of n probabilities that were fitted to labels of some of these items.

    By the delta method, and by how far each cluster of labels pulls. Labels of items unlike the others leave more open.

    Args:
        rows: What tells of the items, as in ``logistic_fit``, (n, k).
        chances: Their probabilities, (n,).
        off: Label less probability of the m labelled ones, (m,).
        at: Which ones these are, (m,).
        clusters: The clip or photograph of each of these, (m,).
    """
    columns = np.column_stack([np.ones(len(rows)), rows])
    weights = chances * (1 - chances)
    moved = np.linalg.solve(_curve(columns[at], chances[at]), weights @ columns / weights.sum())
    pulls = np.bincount(members_of(clusters), weights=off * (columns[at] @ moved))
    return float(np.sqrt(pulls @ pulls))


def logistic(rows: Doubles, coefficients: Doubles) -> Doubles:
    """The probability that each item of rows (n, k) is good, (n,), 0..1, by coefficients of ``logistic_fit``."""
    return _chances(coefficients[0] + rows @ coefficients[1:])


def cross_fitted(
    rows: Doubles,
    good: Sequence[bool],
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    folds: int = FOLDS,
) -> Doubles | None:
    """The probability that each item is good, (n,), 0..1, by a fit that saw nothing of its cluster.

    ``rows`` and ``good`` as in ``logistic_fit``; ``clusters`` are the clip or photograph of each, dealt into ``folds``
    parts; with fewer clusters each is a part. None for fewer than two clusters.
    """
    same_length(rows=rows, good=good, clusters=clusters)
    parts = dealt_parts(clusters, rng=rng, folds=folds)
    if not parts.any():
        return None
    labels = np.asarray(good, dtype=bool)
    probabilities = np.zeros(len(rows))
    for part in range(int(parts.max()) + 1):
        held_out = parts == part
        probabilities[held_out] = logistic(rows[held_out], logistic_fit(rows[~held_out], labels[~held_out].tolist()))
    return probabilities


def dealt_parts(clusters: Sequence[Hashable], *, rng: np.random.Generator, folds: int = FOLDS) -> NDArray[np.int64]:
    """The part that each item falls into, (n,): whole clusters in one, as many as clusters where these are fewer."""
    names = sorted(set(clusters), key=str)
    dealt = rng.permutation(len(names)) % min(folds, len(names))
    part_of = dict(zip(names, dealt.tolist(), strict=True))
    return np.array([part_of[name] for name in clusters])


def _penalty(columns: Doubles) -> Doubles:
    return np.diag([_OF_CONSTANT, *[_PENALTY] * (columns.shape[1] - 1)])


def _curve(columns: Doubles, chances: Doubles) -> Doubles:
    """The second derivatives of the penalised fit, (k + 1, k + 1)."""
    curve: Doubles = (columns * (chances * (1 - chances))[:, None]).T @ columns + _penalty(columns)
    return curve


def _chances(logits: Doubles) -> Doubles:
    chances: Doubles = 1 / (1 + np.exp(-np.clip(logits, -_STEEPEST, _STEEPEST)))
    return chances
