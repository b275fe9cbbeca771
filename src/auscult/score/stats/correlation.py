"""How two columns of numbers go together: their order, their correlation, and which kinds of stress are alike.

Agreement of order: does the estimate put the better item first?

Conventions: one number per item; -1..1, higher is better, 0 for no relation. Equal values share the mean of
their ranks.

Metrics: ``auc``, how often an item that should be above one that should not be is; 0..1, .5 for no relation.
``spearman``, the correlation of the ranks. It asks nothing of the scale, so an estimate that is
always .1 too high has 1. When one side is constant there is no order to agree on: Undefined.

Intervals: whole clusters (clips, photographs) are drawn with replacement; ranks are those among all items in each draw.
A draw is a row of whole weights, one for each cluster, and both statistics follow from sums over weighted items in the
order of all items. Without two clusters, or where most draws give no number, the plain statistic stands alone.

References: C. Spearman, "The Proof and Measurement of Association between Two Things", 1904; J. Hanley, B. McNeil, "The
meaning and use of the area under a receiver operating characteristic (ROC) curve", Radiology 143, 1982; intervals as in
``intervals``.

Correlation is by Pearson, Spearman and Kendall, with intervals that draw whole clusters.

Conventions: -1..1, 0 for no relation; Kendall's is tau-b, which allows for ties. Undefined for fewer than two items and
where a column is constant. Spearman's ranks are those among all items in each draw, as above; a draw of
Kendall's counts pairs of items by how often their clusters were drawn, which is tau-b of the items drawn.

References: M. Kendall, "A new measure of rank correlation", Biometrika 30, 1938; intervals as in ``intervals``.

Which kinds of stress hurt the same samples? Pearson correlation between kinds, ordered so that likes stand together.

Conventions: for each kind of stress one number per sample, its change of performance, in vectors that may be joined
over models and data sets (``joined``). Correlations are -1..1; 1 is two kinds that hurt the same samples in proportion.

- A pair of kinds is correlated over the samples that both have; ``pairs`` counts them. Below ``LEAST`` it is undefined.
- A vector that is constant on these samples has no correlation: undefined, not 0. Values that differ by no more than
  ``CONSTANT`` are equal, for the change of a sample that nothing happened to may be 1e-17.
- Order: average linkage on 1 - r, then the order of leaves in which neighbours are most alike. Pairs without
  correlation enter no average. Kinds that correlate with nothing, not even themselves, go last, in the order given;
  where two choices are equally good the one of lower numbers is taken.

References: R2-Bench Sec. 5.3, Figs. 8 and 9; R. Sokal, C. Michener, "A statistical method for evaluating systematic
relationships", 1958 (average linkage); Z. Bar-Joseph, D. Gifford, T. Jaakkola, "Fast optimal leaf ordering for
hierarchical clustering", Bioinformatics 17, 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats.change import Counts, SampleKey, SampleValues, Value, common
from auscult.score.stats.few_clusters import CORRELATION, SHARE, widened
from auscult.score.stats.inputs import members_of, numbers, same_length
from auscult.score.stats.intervals import CELLS, cluster_draws, draws_in_parts, resampled, with_interval
from auscult.types import Doubles, ScoreSpec


def spearman(predictions: ArrayLike, truths: ArrayLike) -> Scored[float] | Undefined:
    """Rank correlation of estimates with the truth.

    Args:
        predictions: Estimates, (n,).
        truths: True values, (n,).

    Returns:
        -1..1, higher is better. Undefined for fewer than two items and when either side is constant.

    Raises:
        InputError: Unequal lengths, or a number that is not finite.

    Example:
        >>> spearman([0.1, 0.2, 0.9], [5, 6, 7]).value
        1.0
    """
    predicted, true = numbers(predictions=predictions, truths=truths)
    if predicted.size < 2:
        return Undefined("no items" if predicted.size == 0 else "one item has no order")
    first, second = (_centred_ranks(values) for values in (predicted, true))
    value = _cosine(first, second, np.ones(first.size))
    if np.isnan(value):
        return Undefined("all values are equal", {"predictions": not first.any(), "truths": not second.any()})
    return Scored(value, Signature.of(metric="spearman", ties="mean rank"))


def _cosine(first: Doubles, second: Doubles, weights: Doubles) -> float:
    """Correlation of centred ranks with weights, all whole numbers; NaN where one side is constant.

    Not by ``@``: of long arrays that is shared among threads, which wait for one another on a busy machine.
    """
    left, right = first * weights, second * weights
    scale = float(np.sqrt((left * first).sum() * (right * second).sum()))
    return float(np.clip((left * second).sum() / scale, -1.0, 1.0)) if scale else float("nan")


def auc(scores: ArrayLike, positives: ArrayLike) -> Scored[float] | Undefined:
    """Area under the ROC curve: the share of pairs of a positive and a negative that the scores order rightly.

    Args:
        scores: Higher for what is held to be positive, (n,).
        positives: What is positive, bool (n,).

    Returns:
        0..1, higher is better, .5 for no relation; pairs of equal scores count half. Undefined without positives or
        without negatives.

    Raises:
        InputError: Unequal lengths, or a number that is not finite.

    Example:
        >>> auc([0.9, 0.2, 0.5], [True, False, False]).value
        1.0
    """
    values, marks = numbers(scores=scores, positives=np.asarray(positives, dtype=np.float64))
    true = marks > 0.5
    positive_count, negatives = int(np.count_nonzero(true)), int(np.count_nonzero(~true))
    if not positive_count or not negatives:
        return Undefined("all items are positive" if positive_count else "no item is positive")
    # centred doubled ranks sum to 2 x wins + ties - pairs over the positives
    above = float(_centred_ranks(values)[true].sum())
    value = 0.5 + above / (2.0 * positive_count * negatives)
    return Scored(float(np.clip(value, 0.0, 1.0)), Signature.of(metric="auc", ties="half"))


def _centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the ranks around their mean: whole numbers, so that the sums are exact."""
    _, inverse, amount = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(amount)
    twice_mean_rank = 2 * last - amount + 1
    return (twice_mean_rank[inverse] - (values.size + 1)).astype(np.float64)


class _WeightedRanks:
    """Ranks of items that occur so often; sorted once."""

    def __init__(self, values: Doubles) -> None:
        self._order = np.argsort(values, kind="stable")
        last = np.concatenate((np.diff(values[self._order]) != 0, [True]))
        self._ends = np.flatnonzero(last)
        self._group = np.empty(values.size, dtype=np.int64)
        self._group[self._order] = np.cumsum(last) - last

    def centred(self, weights: Doubles) -> Doubles:
        """As ``_centred_ranks`` of each item repeated so often, (n,)."""
        upto = np.concatenate(([0.0], np.cumsum(weights[self._order])[self._ends]))
        ranks: Doubles = (upto[1:] + upto[:-1] - upto[-1])[self._group]
        return ranks


def spearman_of_draws(predictions: ArrayLike, truths: ArrayLike) -> Callable[[Doubles], float]:
    """``spearman`` of items that are drawn with replacement.

    The function takes how often each occurs, (n,), and gives the value, NaN where it is undefined.
    """
    first, second = map(_WeightedRanks, numbers(predictions=predictions, truths=truths))
    return lambda weights: _cosine(first.centred(weights), second.centred(weights), weights)


def auc_of_draws(scores: ArrayLike, positives: ArrayLike) -> Callable[[Doubles], float]:
    """``auc`` of items that are drawn with replacement, as ``spearman_of_draws``."""
    values, marks = numbers(scores=scores, positives=np.asarray(positives, dtype=np.float64))
    areas = _Areas(values, marks > 0.5, np.arange(values.size))
    return lambda weights: float(areas.of(weights[None])[0])


_CONSTANT: Final = 1e-12


def spearman_interval(
    predictions: ArrayLike,
    truths: ArrayLike,
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> Scored[float] | Undefined:
    """Rank correlation with its interval, as of ``auc_interval``."""
    plain = spearman(predictions, truths)
    same_length(predictions=np.asarray(predictions), clusters=clusters)
    if not isinstance(plain, Scored) or len(set(clusters)) < 2:
        return plain
    rows = pearson_rows(mean_ranks(predictions) - 0.5, mean_ranks(truths) - 0.5)
    total, draws = resampled(rows, members_of(clusters), pearson_of_sums, rng=rng, replicates=replicates, level=level)
    if draws is None:
        return plain
    interval = with_interval(plain, draws, clusters=total, level=level, within=CORRELATION, ranks="among all items")
    return interval or plain


def auc_interval(
    scores: ArrayLike,
    positives: Sequence[bool],
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> Scored[float] | Undefined:
    """Area under the ROC curve with its interval.

    Args:
        scores: Higher for what is held to be positive, (n,).
        positives: What is positive, (n,).
        clusters: The clip or photograph each item belongs to, (n,).
        rng: The generator of this draw, from ``auscult.rng.generator``.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        As ``auc``, an ``Interval`` where there is one.

    Raises:
        InputError: Unequal lengths, a number that is not finite, or ``level`` or ``replicates`` out of range.
    """
    plain = auc(scores, positives)
    (values,) = numbers(scores=scores)
    same_length(scores=values, clusters=clusters)
    if not isinstance(plain, Scored) or len(set(clusters)) < 2:
        return plain
    members = members_of(clusters)
    amount = int(members.max()) + 1
    areas = _Areas(values, np.asarray(positives, dtype=bool), members)
    parts = draws_in_parts(amount, rng=rng, replicates=replicates, step=max(1, CELLS // len(values)))
    draws = np.concatenate([areas.of(weights) for weights in parts])
    draws = widened(draws, plain.value, sizes=np.bincount(members), level=level)
    return with_interval(plain, draws, clusters=amount, level=level, within=SHARE) or plain


def mean_ranks(values: ArrayLike) -> Doubles:
    """Ranks between 0 and 1, the lowest value first, (n,); equal values share the mean of theirs.

    Raises:
        InputError: A number is not finite.

    Example:
        >>> mean_ranks([5.0, 1.0, 5.0, 9.0]).tolist()
        [0.5, 0.125, 0.5, 0.875]
    """
    (array,) = numbers(values=values)
    _, inverse, amount = np.unique(array, return_inverse=True, return_counts=True)
    ranks: Doubles = (2 * np.cumsum(amount) - amount)[inverse] / max(1, 2 * array.size)
    return ranks


def pearson_rows(x: Doubles, y: Doubles) -> Doubles:
    """Ones, x, y, squares and products, (n, 6): what adds up for ``pearson_of_sums``."""
    return np.column_stack([np.ones(x.size), x, y, x * x, y * y, x * y])


def pearson_of_sums(sums: Doubles) -> Doubles:
    """Correlation from sums of ``pearson_rows``, (draws, 6); NaN where a side is constant."""
    n, x, y, xx, yy, xy = sums.T
    spread = np.clip(xx - x * x / n, 0, None) * np.clip(yy - y * y / n, 0, None)
    result: Doubles = np.full(len(sums), np.nan)
    np.divide(xy - x * y / n, np.sqrt(spread), out=result, where=spread > _CONSTANT * n**2)
    return np.clip(result, -1.0, 1.0)


class _Areas:
    """The AUC of items whose clusters occur so often; sorted once."""

    def __init__(self, values: Doubles, positive: NDArray[np.bool_], members: NDArray[np.int64]) -> None:
        order = np.argsort(values[~positive], kind="stable")
        negatives = values[~positive][order]
        self._negative, self._positive = members[~positive][order], members[positive]
        self._below = np.searchsorted(negatives, values[positive], "left")
        self._upto = np.searchsorted(negatives, values[positive], "right")  # those of the same value count half

    def of(self, weights: Doubles) -> Doubles:
        """0..1, (draws,), from how often each cluster occurs, (draws, clusters); NaN where one kind does not."""
        others = np.zeros((len(weights), self._negative.size + 1))
        np.cumsum(weights[:, self._negative], axis=1, out=others[:, 1:])
        above = weights[:, self._positive]
        pairs = above.sum(axis=1) * others[:, -1]
        twice = (above * (others[:, self._below] + others[:, self._upto])).sum(axis=1)
        areas: Doubles = np.full(len(weights), np.nan)
        np.divide(twice / 2, pairs, out=areas, where=pairs > 0)
        return areas


SPEARMAN = ScoreSpec.of(
    spearman,
    takes="numbers",
    summary="rank correlation of estimates with the truth",
    goal="estimates that put masks in a wrong order",
    source="Spearman 1904; ties by mean rank",
    truth="the true values",
    modality="number",
)
AUC = ScoreSpec.of(
    auc,
    takes="marks",
    summary="area under the ROC curve",
    goal="estimates that do not tell good from bad",
    source="Hanley and McNeil 1982; ties count half",
    truth="which are positive",
    modality="number",
)


KINDS: Final = ("pearson", "spearman", "kendall")
_PAIRS_AT_ONCE: Final = 4_000_000

Association = Mapping[str, Scored[float] | Undefined]


def associations(
    first: ArrayLike, second: ArrayLike, *, clusters: Sequence[Hashable], seed: int = 0, replicates: int = 1000
) -> Association:
    """Pearson's, Spearman's and Kendall's coefficients of two columns, each with its interval.

    Args:
        first: Numbers, (n,).
        second: Numbers of the same items, (n,).
        clusters: What each item belongs to, such as its mixture or song; whole ones are drawn.
        seed: Of the draws.
        replicates: How often to draw.

    Returns:
        By ``KINDS``; an ``Interval`` where there is more than one cluster.

    Raises:
        InputError: Unequal lengths, or a number that is not finite.

    Example:
        >>> result = associations([1, 2, 3, 4], [1, 3, 2, 4], clusters="abcd")
        >>> [round(result[kind].value, 2) for kind in KINDS]
        [0.8, 0.8, 0.67]
    """
    x, y = numbers(first=first, second=second)
    same_length(first=x, clusters=clusters)
    if x.size < 2 or not np.ptp(x) or not np.ptp(y):
        reason = "fewer than two items" if x.size < 2 else "all values are equal"
        return dict.fromkeys(KINDS, Undefined(reason, {"items": x.size}))
    rngs = {kind: generator(seed, "association", kind) for kind in KINDS}
    members, scaled = members_of(clusters), [(column - column.mean()) / column.std() for column in (x, y)]
    pearson = pearson_rows(*scaled)
    plain = Scored(float(pearson_of_sums(pearson.sum(axis=0)[None])[0]), Signature.of(metric="pearson"))
    count, draws = resampled(pearson, members, pearson_of_sums, rng=rngs["pearson"], replicates=replicates)
    interval = None if draws is None else with_interval(plain, draws, clusters=count, within=CORRELATION)
    return {
        "pearson": interval or plain,
        "spearman": spearman_interval(x, y, clusters=clusters, rng=rngs["spearman"], replicates=replicates),
        "kendall": _kendall_interval(x, y, members, rng=rngs["kendall"], replicates=replicates),
    }


def associations_by(
    columns: Mapping[str, ArrayLike],
    *,
    against: str,
    clusters: Sequence[Hashable],
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> dict[tuple[Hashable, str], Association]:
    """Each column against one of them, by (group, column), where the group None is all items.

    Args:
        columns: Numbers of the items by name, NaN where there is none, such as five axes of difficulty and ``overall``.
        against: The name of the column that the others are compared with.
        clusters: What each item belongs to.
        groups: The domain of each item.
        seed: Of the draws.

    Source: the form of Fig. 2 of SAM Audio Judge: the axes against overall.
    """
    table = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    of_group = np.array([*map(repr, groups)] if groups is not None else [""] * len(clusters))
    result: dict[tuple[Hashable, str], Association] = {}
    for group in (None, *dict.fromkeys(groups or ())):
        inside = np.ones(len(clusters), np.bool_) if group is None else of_group == repr(group)
        for name, values in table.items():
            if name == against:
                continue
            mask = inside & ~np.isnan(values) & ~np.isnan(table[against])
            group_clusters = [cluster for cluster, is_valid in zip(clusters, mask, strict=True) if is_valid]
            result[group, name] = associations(values[mask], table[against][mask], clusters=group_clusters, seed=seed)
    return result


def _kendall_interval(
    x: Doubles, y: Doubles, members: NDArray[np.int64], *, rng: np.random.Generator, replicates: int
) -> Scored[float]:
    count = int(members.max()) + 1
    weights = np.ones((1, count))
    if count > 1:
        weights = np.concatenate([weights, cluster_draws(count, rng=rng, replicates=replicates)])
    sums = np.zeros((3, len(weights)))
    for rows, matrices in _pair_sums(x, y, members):
        for kind, matrix in enumerate(matrices):
            sums[kind] += ((weights @ matrix.T) * weights[:, rows]).sum(axis=1)
    spread = np.sqrt(sums[1] * sums[2])
    tau = np.divide(sums[0], spread, out=np.full(len(weights), np.nan), where=spread > 0)
    plain = Scored(float(tau[0]), Signature.of(metric="kendall", ties="b"))
    if count < 2:
        return plain
    draws = widened(tau[1:], plain.value, sizes=np.bincount(members), level=0.95)
    return with_interval(plain, draws, clusters=count, within=CORRELATION) or plain


def _pair_sums(
    x: Doubles, y: Doubles, members: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], tuple[Doubles, ...]]]:
    """Of pairs of clusters the concordant less the discordant pairs, and those not tied in x and in y.

    In parts, of which each has some of the clusters and a row for each of them: all rows of 20,000 clusters would take
    10 GB. Whole numbers are added, so that parts change no digit; a cluster may be in two of them.
    """
    step = max(1, _PAIRS_AT_ONCE // x.size)
    order = np.argsort(members, kind="stable")
    x, y, members = x[order], y[order], members[order]
    _, starts = np.unique(members, return_index=True)
    for begin in range(0, x.size, step):
        part = slice(begin, begin + step)
        rows, first = np.unique(members[part], return_index=True)
        sx, sy = (np.sign(column[part, None] - column[None]) for column in (x, y))
        of_items = (np.add.reduceat(values, starts, axis=1) for values in (sx * sy, np.abs(sx), np.abs(sy)))
        yield rows, tuple(np.add.reduceat(values, first, axis=0) for values in of_items)


FARTHEST: Final = 2.0

_EQUAL: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A cluster: its leaves, those of its left part first, and the least cost of an order between any two ends."""

    leaves: tuple[int, ...]
    cost: Doubles
    parts: tuple[_Node, _Node] | None


def clustered_order(distances: Doubles) -> tuple[int, ...]:
    """An order of 0..n-1 that puts similar items side by side, from distances, (n, n), symmetric.

    NaN: two items cannot be compared; an item with NaN on the diagonal can be compared with none and comes last.
    Of an order and its reverse it is the one that begins with the lower number.
    """
    comparable = np.flatnonzero(~np.isnan(np.diag(distances)))
    last = tuple(np.flatnonzero(np.isnan(np.diag(distances))).tolist())
    if comparable.size < 2:
        return (*comparable.tolist(), *last)
    between = distances[np.ix_(comparable, comparable)]
    filled = np.where(np.isnan(between), FARTHEST, between)
    root = _tree(merges(between), filled)
    first, last_leaf = np.unravel_index(int(root.cost.argmin()), root.cost.shape)
    order = _walk(root, (root.leaves[first], root.leaves[last_leaf]), filled)
    if order[0] > order[-1]:
        order = order[::-1]
    return (*(int(comparable[index]) for index in order), *last)


def merges(distances: Doubles) -> list[tuple[int, int, float]]:
    """Join the two nearest clusters until one is left: n - 1 joins, each two clusters and their distance.

    Distances are (n, n), symmetric, NaN where there is none. That of two clusters is the mean over the pairs that have
    one, ``FARTHEST`` where no pair has. Items are 0..n-1; the join of number k makes cluster n + k.
    """
    size = len(distances)
    alive = list(range(size))
    total = np.zeros((2 * size - 1, 2 * size - 1))
    amount = np.zeros_like(total)
    total[:size, :size] = np.nan_to_num(distances)
    amount[:size, :size] = ~np.isnan(distances)
    joins = []
    for new in range(size, 2 * size - 1):
        grid = np.ix_(alive, alive)
        means = np.divide(total[grid], amount[grid], out=np.full((len(alive),) * 2, FARTHEST), where=amount[grid] > 0)
        means[np.tril_indices(len(alive))] = np.inf
        least = np.argwhere(means <= means.min() + _EQUAL)[0]
        first, second = (alive[index] for index in least)
        joins.append((first, second, float(means[tuple(least)])))
        for sums in (total, amount):
            sums[new] = sums[first] + sums[second]
            sums[:, new] = sums[:, first] + sums[:, second]
        alive = [index for index in alive if index not in (first, second)] + [new]
    return joins


def _tree(joins: list[tuple[int, int, float]], distances: Doubles) -> _Node:
    """The tree of joins, with the least cost between ends for each cluster."""
    nodes = [_Node(leaves=(index,), cost=np.zeros((1, 1)), parts=None) for index in range(len(distances))]
    for first, second, _ in joins:
        left, right = nodes[first], nodes[second]
        through = _least(left.cost, distances[np.ix_(left.leaves, right.leaves)])
        ends = _least(through, right.cost)
        size = len(left.leaves)
        cost = np.full((size + len(right.leaves),) * 2, np.inf)
        cost[:size, size:] = ends
        cost[size:, :size] = ends.T  # the same order, read backwards
        nodes.append(_Node(leaves=(*left.leaves, *right.leaves), cost=cost, parts=(left, right)))
    return nodes[-1]


def _least(first: Doubles, second: Doubles) -> Doubles:
    """The cheapest way from each row of the first to each column of the second."""
    costs: Doubles = (first[:, :, None] + second[None]).min(axis=1)
    return costs


def _walk(node: _Node, ends: tuple[int, int], distances: Doubles) -> tuple[int, ...]:
    """The cheapest order of a cluster's leaves between two ends."""
    if node.parts is None:
        return node.leaves
    left, right = node.parts if ends[0] in node.parts[0].leaves else node.parts[::-1]
    before = left.cost[left.leaves.index(ends[0])]
    after = right.cost[:, right.leaves.index(ends[1])]
    costs = before[:, None] + distances[np.ix_(left.leaves, right.leaves)] + after[None]
    middle, next_to = np.unravel_index(int(costs.argmin()), costs.shape)
    return (
        *_walk(left, (ends[0], left.leaves[middle]), distances),
        *_walk(right, (right.leaves[next_to], ends[1]), distances),
    )


LEAST: Final = 3
CONSTANT: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Correlations between kinds of stress.

    Attributes:
        kinds: Their names, in the order given, (k,).
        values: (k, k) float64, symmetric; NaN where undefined, ``at`` says why.
        pairs: Samples that both have, (k, k); on the diagonal those that the kind has.
        order: The names, similar kinds side by side.
        counts: For each kind its samples and those that failed, are undefined, or that only other kinds have.
        signature: How it was made.
        of: What of the samples is correlated, such as ``changes`` or ``performance``.
    """

    kinds: tuple[str, ...]
    values: Doubles
    pairs: NDArray[np.int64]
    order: tuple[str, ...]
    counts: Mapping[str, Counts]
    signature: Signature
    of: str = "changes"

    def at(self, first: str, second: str) -> Scored[float] | Undefined:
        """The correlation of two kinds."""
        for name in (first, second):
            if name not in self.kinds:
                raise InputError(f"there is no kind {name!r}", expected=f"one of {', '.join(self.kinds)}")
        cell = self.kinds.index(first), self.kinds.index(second)
        value, shared = float(self.values[cell]), int(self.pairs[cell])
        if not np.isnan(value):
            return Scored(value, self.signature)
        if shared < LEAST:
            return Undefined(f"fewer than {LEAST} samples in common", {"pairs": shared})
        return Undefined("a vector is constant", {"pairs": shared})

    def ordered(self) -> tuple[Doubles, NDArray[np.int64]]:
        """Values and pairs with rows and columns in ``order``, (k, k) each."""
        indices = [self.kinds.index(name) for name in self.order]
        grid = np.ix_(indices, indices)
        return self.values[grid], self.pairs[grid]


def joined(parts: Mapping[Any, SampleValues]) -> dict[SampleKey, Value]:
    """One vector, under (part, sample), of those of several models and data sets, as the paper joins them.

    Source: R2-Bench Fig. 9.
    """
    return {(part, sample): value for part, values in parts.items() for sample, value in values.items()}


def correlation(kinds: Mapping[str, SampleValues], *, of: str = "changes") -> Correlation:
    """Pearson correlation between kinds of stress, over samples, and an order by likeness.

    Args:
        kinds: For each kind the change of each sample, such as from ``sample_changes``, joined over models and data
            sets. Samples that failed or are undefined enter no pair and are counted.
        of: What the values are, for the signature: ``changes``, or ``performance`` for the scores themselves.

    Returns:
        The matrix, the pairs it is from, and the order. No kind, or kinds without samples, is no error: everything is
        undefined.

    Raises:
        InputError: A value is not finite.

    Example:
        >>> blur, noise = {"a": -0.1, "b": -0.3, "c": -0.2}, {"a": -0.2, "b": -0.6, "c": -0.4}
        >>> round(correlation({"blur": blur, "noise": noise}).at("blur", "noise").value, 6)
        1.0

    Source: R2-Bench Sec. 5.3, Figs. 8 and 9.
    """
    names = tuple(kinds)
    values, counts = _columns(kinds)
    present = ~np.isnan(values)
    size = len(names)
    matrix = np.full((size, size), np.nan)
    pairs = np.diag(present.sum(axis=1)).astype(np.int64).reshape(size, size)
    for row in range(size):
        if _correlate(values[row, present[row]], values[row, present[row]]) is not None:
            matrix[row, row] = 1.0
    for row, column in combinations(range(size), 2):
        both = present[row] & present[column]
        pairs[row, column] = pairs[column, row] = both.sum()
        coefficient = _correlate(values[row, both], values[column, both])
        if coefficient is not None:
            matrix[row, column] = matrix[column, row] = coefficient
    return Correlation(
        kinds=names,
        values=matrix,
        pairs=pairs,
        order=tuple(names[index] for index in clustered_order(1 - matrix)),
        counts=counts,
        signature=Signature.of(
            metric="pearson",
            of=of,
            over="samples that both have",
            least=LEAST,
            order="average linkage on 1 - r, best leaves",
        ),
        of=of,
    )


def _columns(kinds: Mapping[str, SampleValues]) -> tuple[Doubles, dict[str, Counts]]:
    """Values of all kinds over all samples, (k, n), NaN where one has none; and what became of each kind's samples."""
    index_of = {
        sample: index for index, sample in enumerate(dict.fromkeys(key for scores in kinds.values() for key in scores))
    }
    values = np.full((len(kinds), len(index_of)), np.nan)
    counts = {}
    for row, (key, scores) in zip(values, kinds.items(), strict=True):
        shared = common([scores])
        row[[index_of[sample] for sample in shared.samples]] = shared.values[0]
        absent = sum(sample not in scores for sample in index_of)
        failed = sum(isinstance(value, Failed) for value in scores.values())
        counts[key] = Counts(n=shared.counts.n, failed=failed, undefined=shared.counts.undefined, missing=absent)
    return values, counts


def _correlate(first: Doubles, second: Doubles) -> float | None:
    """Pearson's r of two vectors of one length; None where there is none."""
    if first.size < LEAST or np.ptp(first) <= CONSTANT or np.ptp(second) <= CONSTANT:
        return None
    x, y = (_centred(values) for values in (first, second))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip((x @ y) / scale, -1.0, 1.0))


def _centred(values: Doubles) -> Doubles:
    """Around the mean, the largest 1 or -1: neither huge nor tiny numbers lose their squares."""
    left = values - values.mean()
    scaled: Doubles = left / np.abs(left).max()
    return scaled
