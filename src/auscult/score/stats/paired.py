"""Two judges on the same items: is the difference more than chance?

Conventions: one value or one right/wrong per item and judge, items in one order. What only one of the two answered is
left out by the caller and counted there.

- ``rmse_difference``: RMSE of the first minus RMSE of the second, with an interval by drawing whole clusters for both
  at once, so that what makes a cluster hard for both cancels. Below 0 the first is better.
- ``mcnemar``: of the items that only one of the two got right, is the share of either beyond chance? Exact, two-sided:
  under no difference that share is a fair coin.
- ``holm``: p values of several comparisons, adjusted so that the chance of any false alarm stays below the level.

References: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
Psychometrika 12, 1947; S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statistics 6,
1979; intervals as in ``intervals``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.inputs import members_of, numbers, same_length
from auscult.score.stats.intervals import Interval, with_interval
from auscult.score.stats.resample import drawn_fields, resampled
from auscult.types import Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar(Scored[float]):
    """An exact two-sided p value (``value``).

    Attributes:
        first: Items that only the first got right.
        second: Items that only the second got right.
        n: All items.
    """

    first: int
    second: int
    n: int


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
        The difference with its interval; below 0 the first is better. Without interval where there is one cluster only.
        Undefined when there is no item.

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
    total, draws = resampled(errors, members_of(clusters), _difference, rng=rng, replicates=replicates)
    if draws is None:
        return plain
    found = with_interval(plain, draws, clusters=total, fields=drawn_fields(level, replicates))
    return found or Undefined("the difference is undefined in most draws")


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar | Undefined:
    """Exact two-sided McNemar test of two judges' right and wrong answers on the same items.

    Args:
        first: Whether the first judge was right, (n,).
        second: Whether the second was, (n,).

    Returns:
        The p value, 0..1: the probability of a split at least as uneven as this, if each of the items that only one
        got right were as likely to fall to either. 1 where there is no such item. Undefined when there is no item.

    Raises:
        InputError: Unequal lengths.

    Example:
        >>> result = mcnemar([True] * 8 + [False], [False] * 8 + [True])
        >>> result.first, result.second, round(result.value, 6)
        (8, 1, 0.039062)

    Source: McNemar 1947, exact form; items are taken as independent, which frames of one clip are not.
    """
    same_length(first=first, second=second)
    if not len(first):
        return Undefined("no items")
    only_first = sum(first_right and not second_right for first_right, second_right in zip(first, second, strict=True))
    only_second = sum(second_right and not first_right for first_right, second_right in zip(first, second, strict=True))
    return McNemar(
        value=_two_sided(only_first, only_second),
        signature=Signature.of(test="mcnemar", form="exact, two-sided"),
        first=only_first,
        second=only_second,
        n=len(first),
    )


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
    for value in values:
        if not 0 <= value <= 1:
            raise InputError(f"a p value is {value!r}", expected="0..1")
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = highest
    return adjusted


def _two_sided(first: int, second: int) -> float:
    """Twice the lower tail of a fair coin, in whole numbers until the last division."""
    total = first + second
    ways, tail = 1, 1
    for k in range(min(first, second)):
        ways = ways * (total - k) // (k + 1)
        tail += ways
    return min(1.0, (tail << 1) / (1 << total))


def _difference(sums: Doubles) -> Doubles:
    roots: Doubles = np.sqrt(sums[:, :2] / sums[:, 2:])
    return roots[:, 0] - roots[:, 1]
