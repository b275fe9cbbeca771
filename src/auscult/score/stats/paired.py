"""Two judges on the same items: is the difference more than chance?

Conventions: one value or one right/wrong per item and judge, items in one order. What only one of the two answered is
left out by the caller and counted there.

- ``rmse_difference``: RMSE of the first minus RMSE of the second, with an interval by drawing whole clusters for both
  at once, so that what makes a cluster hard for both cancels. Below 0 the first is better.
- ``sign_flips``: differences of items that come in clusters. Under no difference the two sides of a whole cluster may
  be exchanged, which turns the sign of its total: how often is the sum of all totals as far from 0 as it is?
- ``mcnemar``: of the items that only one of the two got right, is the share of either beyond chance? Exact, two-sided:
  under no difference that share is a fair coin. It takes items as independent: it is ``sign_flips`` where every cluster
  has one item. ``right_difference`` takes the one or the other.
- ``holm``: p values of several comparisons, adjusted so that the chance of any false alarm stays below the level.

References: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
Psychometrika 12, 1947; R. Fisher, "The Design of Experiments", 1935, Sec. 21 (sign flips), and J. Romano, "On the
behavior of randomization tests without a group invariance assumption", JASA 85, 1990; S. Holm, "A simple sequentially
rejective multiple test procedure", Scand. J. Statistics 6, 1979; intervals as in ``intervals``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats.inputs import marks, members_of, numbers, same_length
from auscult.score.stats.intervals import Interval, cluster_totals, resampled, with_interval
from auscult.types import Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class RightDifference(Scored[float]):
    """A two-sided p value (``value``); the signature says of which test.

    Attributes:
        first: Items that only the first got right.
        second: Items that only the second got right.
        n: All items.
        clusters: Clips or photographs they are of; of ``mcnemar`` the items themselves.
    """

    first: int
    second: int
    n: int
    clusters: int


def rmse_difference(
    first: ArrayLike,
    second: ArrayLike,
    truths: ArrayLike,
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> Scored[float] | Interval | Undefined:
    """RMSE of the first estimates minus RMSE of the second, on the same items.

    Args:
        first: Estimates of the first judge, (n,).
        second: Estimates of the second, (n,).
        truths: True values, (n,).
        clusters: The cluster of each item, (n,).
        rng: The generator of this draw, from ``auscult.rng.generator``.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        The difference with its interval; below 0 the first is better. Without interval where there is one cluster only,
        or every draw gives the same. Undefined when there is no item.

    Raises:
        InputError: Unequal lengths, a number that is not finite, or ``level`` or ``replicates`` out of range.

    Example:
        >>> from auscult.rng import generator
        >>> result = rmse_difference([0.9, 0.5], [0.5, 0.5], [1, 1], clusters="ab", rng=generator(1, "example"))
        >>> round(result.value, 4)
        -0.1394

    Source: MQA-RefAVS Eq. 8 for each side.
    """
    left, right, true = numbers(first=first, second=second, truths=truths)
    same_length(first=left, clusters=clusters)
    if true.size == 0:
        return Undefined("no items")
    signature = Signature.of(metric="rmse difference", over="items", sign="below 0: the first is better")
    errors = np.stack([(left - true) ** 2, (right - true) ** 2, np.ones_like(true)], axis=1)
    plain = Scored(float(_difference(errors.sum(axis=0)[None])[0]), signature)
    total, draws = resampled(errors, members_of(clusters), _difference, rng=rng, replicates=replicates, level=level)
    return plain if draws is None else with_interval(plain, draws, clusters=total, level=level) or plain


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> RightDifference | Undefined:
    """Exact two-sided McNemar test of two judges' right and wrong answers on the same items.

    Args:
        first: Whether the first judge was right, (n,), as booleans or as 0 and 1.
        second: Whether the second was, (n,).

    Returns:
        The p value, 0..1: the probability of a split at least as uneven as this, if each of the items that only one
        got right were as likely to fall to either. 1 where there is no such item. Undefined when there is no item.

    Raises:
        InputError: Unequal lengths, or something else than booleans.

    Example:
        >>> result = mcnemar([True] * 8 + [False], [False] * 8 + [True])
        >>> result.first, result.second, round(result.value, 6)
        (8, 1, 0.039062)

    Source: McNemar 1947, exact form; items are taken as independent, which frames of one clip are not.
    """
    one, other = marks(first=first, second=second)
    if not one.size:
        return Undefined("no items")
    only_first, only_second = int(np.count_nonzero(one & ~other)), int(np.count_nonzero(other & ~one))
    return RightDifference(
        value=_two_sided(only_first, only_second),
        signature=Signature.of(test="mcnemar", form="exact, two-sided"),
        first=only_first,
        second=only_second,
        n=one.size,
        clusters=one.size,
    )


def right_difference(
    first: Sequence[bool], second: Sequence[bool], *, clusters: Sequence[Hashable]
) -> RightDifference | Undefined:
    """Test of two judges' right and wrong answers: ``mcnemar`` where every cluster has one item, else ``sign_flips``.

    ``clusters``, (n,), are those of the items; other arguments and errors as in ``mcnemar``.

    Example:
        >>> result = right_difference([True] * 8, [False] * 8, clusters="aaaabbbb")
        >>> result.value, result.clusters
        (0.5, 2)
    """
    plain = mcnemar(first, second)
    one, other = marks(first=first, second=second)
    same_length(first=one, clusters=clusters)
    members = members_of(clusters)
    if isinstance(plain, Undefined) or np.unique(members).size == one.size:
        return plain
    totals = cluster_totals(one.astype(np.float64) - other, members)
    tested = sign_flips(totals)
    return replace(plain, value=tested.value, signature=tested.signature, clusters=totals.size)


ALL_FLIPS: Final = 14
"""Clusters that differ up to which all sign flips are tried, not a sample of them."""
_FLIPS: Final = 9_999
_AS_FAR: Final = 1e-9  # of the sum's size: equal sums in another order differ by rounding


def sign_flips(totals: ArrayLike) -> Scored[float]:
    """Two-sided p value of a sum of differences by flipping the signs of whole clusters.

    Args:
        totals: The sum of the differences of each cluster, (clusters,), in any unit.

    Returns:
        The share of all flips whose sum is as far from 0, 0..1; 1 where no cluster differs. Up to ``ALL_FLIPS``
        clusters that differ all flips count, beyond them 9,999 drawn ones and the one at hand. Below
        ``few_clusters.LEAST_FOR_STAR`` clusters it cannot fall below .05.

    Raises:
        InputError: A total is not finite.

    Example:
        >>> sign_flips([0.5, 0.25, 0.125, 0.5, 0.75, 0.25]).value
        0.03125
    """
    (values,) = numbers(totals=totals)
    values = values[values != 0]
    if values.size <= ALL_FLIPS:
        codes = np.arange(2**values.size, dtype=np.int64)[:, None] >> np.arange(values.size)
        flips, count = 1.0 - 2.0 * (codes & 1), "all"
    else:
        bits = generator(0, "sign flips").integers(2, size=(_FLIPS, values.size))
        flips, count = np.vstack([np.ones(values.size), 1.0 - 2.0 * bits]), f"{_FLIPS}"
    sums = np.abs(flips @ values)
    value = float(np.mean(sums >= abs(values.sum()) * (1 - _AS_FAR)))
    return Scored(value, Signature.of(test="sign flips over clusters", form="two-sided", flips=count))


def holm(values: Sequence[float]) -> list[float]:
    """P values adjusted for how many there are, by Holm's method; in the order given.

    Args:
        values: P values, 0..1.

    Returns:
        Adjusted ones, 0..1, never below the given; none for none.

    Raises:
        InputError: A value is not in 0..1.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    p_values = [float(value) for value in values]
    for value in p_values:
        if not 0 <= value <= 1:
            raise InputError(f"a p value is {value!r}", expected="0..1")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _two_sided(first: int, second: int) -> float:
    """Twice the lower tail of a fair coin, in whole numbers until the last division."""
    total = first + second
    binomial, tail = 1, 1
    for k in range(min(first, second)):
        binomial = binomial * (total - k) // (k + 1)
        tail += binomial
    return min(1.0, (tail << 1) / (1 << total))


def _difference(sums: Doubles) -> Doubles:
    roots: Doubles = np.sqrt(sums[:, :2] / sums[:, 2:])
    return roots[:, 0] - roots[:, 1]
