"""How two columns of numbers go together: Pearson, Spearman and Kendall, with intervals that draw whole clusters.

Conventions: -1..1, 0 for no relation; Kendall's is tau-b, which allows for ties. Undefined for fewer than two items and
where a column is constant. Spearman's ranks are those among all items in each draw, as in ``ranks``; a draw of
Kendall's counts pairs of items by how often their clusters were drawn, which is tau-b of the items drawn.

References: M. Kendall, "A new measure of rank correlation", Biometrika 30, 1938; intervals as in ``intervals``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats.few import CORRELATION, widened
from auscult.score.stats.inputs import members_of, numbers, same_length
from auscult.score.stats.intervals import with_interval
from auscult.score.stats.ranks import pearson_of_sums, spearman_interval
from auscult.score.stats.resample import cluster_draws, resampled
from auscult.types import Doubles

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
        >>> found = associations([1, 2, 3, 4], [1, 3, 2, 4], clusters="abcd")
        >>> [round(found[kind].value, 2) for kind in KINDS]
        [0.8, 0.8, 0.67]
    """
    x, y = numbers(first=first, second=second)
    same_length(first=x, clusters=clusters)
    if x.size < 2 or not np.ptp(x) or not np.ptp(y):
        reason = "fewer than two items" if x.size < 2 else "all values are equal"
        return dict.fromkeys(KINDS, Undefined(reason, {"items": x.size}))
    rngs = {kind: generator(seed, "association", kind) for kind in KINDS}
    members, scaled = members_of(clusters), [(one - one.mean()) / one.std() for one in (x, y)]
    pearson = _products(*scaled)
    plain = Scored(float(pearson_of_sums(pearson.sum(axis=0)[None])[0]), Signature.of(metric="pearson"))
    count, draws = resampled(pearson, members, pearson_of_sums, rng=rngs["pearson"], replicates=replicates)
    drawn = None if draws is None else with_interval(plain, draws, clusters=count, within=CORRELATION)
    return {
        "pearson": drawn or plain,
        "spearman": spearman_interval(x, y, clusters=clusters, rng=rngs["spearman"], replicates=replicates),
        "kendall": _kendall_interval(_pair_sums(x, y, members), members, rng=rngs["kendall"], replicates=replicates),
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
    found: dict[tuple[Hashable, str], Association] = {}
    for group in (None, *dict.fromkeys(groups or ())):
        inside = np.ones(len(clusters), np.bool_) if group is None else of_group == repr(group)
        for name, values in table.items():
            if name == against:
                continue
            known = inside & ~np.isnan(values) & ~np.isnan(table[against])
            mine = [cluster for cluster, kept in zip(clusters, known, strict=True) if kept]
            found[group, name] = associations(values[known], table[against][known], clusters=mine, seed=seed)
    return found


def _products(x: Doubles, y: Doubles) -> Doubles:
    return np.column_stack([np.ones(x.size), x, y, x * x, y * y, x * y])


def _kendall_interval(
    sums: tuple[Doubles, Doubles, Doubles], members: NDArray[np.int64], *, rng: np.random.Generator, replicates: int
) -> Scored[float]:
    count = len(sums[0])

    def tau(weights: Doubles) -> Doubles:
        both, of_x, of_y = (((weights @ one) * weights).sum(axis=1) for one in sums)
        spread = np.sqrt(of_x * of_y)
        return np.asarray(np.divide(both, spread, out=np.full(len(weights), np.nan), where=spread > 0))

    plain = Scored(float(tau(np.ones((1, count)))[0]), Signature.of(metric="kendall", ties="b"))
    if count < 2:
        return plain
    draws = tau(cluster_draws(count, rng=rng, replicates=replicates))
    draws = widened(draws, plain.value, sizes=np.bincount(members), level=0.95)
    return with_interval(plain, draws, clusters=count, within=CORRELATION) or plain


def _pair_sums(x: Doubles, y: Doubles, members: NDArray[np.int64]) -> tuple[Doubles, Doubles, Doubles]:
    """Of each pair of clusters the concordant less the discordant pairs, and those not tied in x and in y."""
    count = int(members.max()) + 1
    found = tuple(np.zeros((count, count)) for _ in range(3))
    step = max(1, _PAIRS_AT_ONCE // x.size)
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(count))
    for begin in range(0, x.size, step):
        rows = slice(begin, begin + step)
        sx, sy = (np.sign(one[rows, None] - one[order][None]) for one in (x, y))
        for total, values in zip(found, (sx * sy, np.abs(sx), np.abs(sy)), strict=True):
            np.add.at(total, members[rows], np.add.reduceat(values, starts, axis=1))
    return found[0], found[1], found[2]
