"""Which kinds of stress hurt the same samples? Pearson correlation between kinds, ordered so that likes stand together.

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

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.score.stats.samples import Counts, SampleKey, SampleValues, Value, common
from auscult.types import Doubles

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
    known = np.flatnonzero(~np.isnan(np.diag(distances)))
    last = tuple(np.flatnonzero(np.isnan(np.diag(distances))).tolist())
    if known.size < 2:
        return (*known.tolist(), *last)
    between = distances[np.ix_(known, known)]
    filled = np.where(np.isnan(between), FARTHEST, between)
    root = _tree(merges(between), filled)
    first, last_leaf = np.unravel_index(int(root.cost.argmin()), root.cost.shape)
    order = _walk(root, (root.leaves[first], root.leaves[last_leaf]), filled)
    if order[0] > order[-1]:
        order = order[::-1]
    return (*(int(known[index]) for index in order), *last)


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
    for made in range(size, 2 * size - 1):
        grid = np.ix_(alive, alive)
        means = np.divide(total[grid], amount[grid], out=np.full((len(alive),) * 2, FARTHEST), where=amount[grid] > 0)
        means[np.tril_indices(len(alive))] = np.inf
        least = np.argwhere(means <= means.min() + _EQUAL)[0]
        first, second = (alive[index] for index in least)
        joins.append((first, second, float(means[tuple(least)])))
        for sums in (total, amount):
            sums[made] = sums[first] + sums[second]
            sums[:, made] = sums[:, first] + sums[:, second]
        alive = [index for index in alive if index not in (first, second)] + [made]
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
    ways: Doubles = (first[:, :, None] + second[None]).min(axis=1)
    return ways


def _walk(node: _Node, ends: tuple[int, int], distances: Doubles) -> tuple[int, ...]:
    """The cheapest order of a cluster's leaves between two ends."""
    if node.parts is None:
        return node.leaves
    left, right = node.parts if ends[0] in node.parts[0].leaves else node.parts[::-1]
    before = left.cost[left.leaves.index(ends[0])]
    after = right.cost[:, right.leaves.index(ends[1])]
    ways = before[:, None] + distances[np.ix_(left.leaves, right.leaves)] + after[None]
    middle, next_to = np.unravel_index(int(ways.argmin()), ways.shape)
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
        at = self.kinds.index(first), self.kinds.index(second)
        value, shared = float(self.values[at]), int(self.pairs[at])
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
        found = _correlate(values[row, both], values[column, both])
        if found is not None:
            matrix[row, column] = matrix[column, row] = found
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
        kept = common([scores])
        row[[index_of[sample] for sample in kept.samples]] = kept.values[0]
        absent = sum(sample not in scores for sample in index_of)
        failed = sum(isinstance(value, Failed) for value in scores.values())
        counts[key] = Counts(n=kept.counts.n, failed=failed, undefined=kept.counts.undefined, missing=absent)
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
