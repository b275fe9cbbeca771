"""Order things by likeness: average linkage, then the order of leaves in which neighbours are most alike.

Conventions: distances are symmetric, 0 or more, NaN where there is none. Everything is deterministic; where two choices
are equally good the one of lower numbers is taken.

References: as in ``correlation``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.score.stats.resample import Floats

FARTHEST: Final = 2.0

_EQUAL: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A cluster: its leaves, those of its left part first, and the least cost of an order between any two ends."""

    leaves: tuple[int, ...]
    cost: Floats
    parts: tuple[_Node, _Node] | None


def clustered_order(distances: Floats) -> tuple[int, ...]:
    """An order in which likes stand beside one another.

    Args:
        distances: (n, n), symmetric, NaN where two things cannot be compared. A thing whose own entry on the diagonal
            is NaN cannot be compared with anything.

    Returns:
        The numbers 0..n-1 in order; what cannot be compared comes last, by its number. Of an order and its reverse the
        one that begins with the lower number.

    Example:
        >>> clustered_order(np.abs(np.subtract.outer([0.0, 9.0, 1.0, 8.0], [0.0, 9.0, 1.0, 8.0])))
        (0, 2, 3, 1)

    Source: average linkage, Sokal and Michener 1958; leaves, Bar-Joseph et al. 2001.
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
    return (*(int(known[place]) for place in order), *last)


def merges(distances: Floats) -> list[tuple[int, int, float]]:
    """Join the two nearest clusters until one is left.

    Args:
        distances: (n, n), symmetric, NaN where there is none. The distance of two clusters is the mean over the pairs
            that have one, ``FARTHEST`` where no pair has.

    Returns:
        n - 1 joins: two clusters and their distance. Things are 0..n-1; the join of number k makes cluster n + k.
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
        first, second = (alive[place] for place in least)
        joins.append((first, second, float(means[tuple(least)])))
        for sums in (total, amount):
            sums[made] = sums[first] + sums[second]
            sums[:, made] = sums[:, first] + sums[:, second]
        alive = [place for place in alive if place not in (first, second)] + [made]
    return joins


def _tree(joins: list[tuple[int, int, float]], distances: Floats) -> _Node:
    """The tree of joins, with the least cost between ends for each cluster."""
    nodes = [_Node(leaves=(place,), cost=np.zeros((1, 1)), parts=None) for place in range(len(distances))]
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


def _least(first: Floats, second: Floats) -> Floats:
    """The cheapest way from each row of the first to each column of the second."""
    ways: Floats = (first[:, :, None] + second[None]).min(axis=1)
    return ways


def _walk(node: _Node, ends: tuple[int, int], distances: Floats) -> tuple[int, ...]:
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
