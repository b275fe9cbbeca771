"""The metrics of a card as functions of sums, so that a bootstrap over photographs is one product of matrices.

The definitions are those of ``auscult.score.stats``; a test holds them together. A metric says which masks it is over,
what adds up, and what follows from the sums. NaN is a number that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.train.compact.card_judging import Measured, Names, Said
from auscult.types import DEFECTS

LEVELS: Final = np.linspace(0.5, 1.0, 101)
"""Levels of the constant judge's intervals."""

Floats = NDArray[np.float64]
Keep = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """One number of one row on one set.

    Attributes:
        name: ``rmse``, ``f2_tables.erode.hard``.
        keep: The masks it is over, (n,).
        adds: What adds up over them, (n, k).
        value: From sums, (draws, k), to numbers, (draws,); NaN where undefined.
        reason: Why it is undefined, if it is.
    """

    name: str
    keep: Keep
    adds: Floats
    value: Callable[[Floats], Floats]
    reason: str = "no masks"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """Some masks of a set, and what one row says of all of them.

    Attributes:
        measured: The set, n masks.
        said: What the row says.
        keep: Which masks, (n,).
    """

    measured: Measured
    said: Said
    keep: Keep

    def where(self, keep: Keep) -> Row:
        """Fewer masks: those that ``keep`` holds as well."""
        return replace(self, keep=self.keep & keep)

    def types(self) -> tuple[str, ...]:
        """The defects that occur, in their order."""
        return tuple(defect for defect in DEFECTS if (self.true[self.keep] == defect).any())

    @property
    def true(self) -> Names:
        """The true defects, (n,)."""
        return self.measured.defect

    @property
    def squared(self) -> Floats:
        """Squared errors of the estimated IoU, (n,)."""
        return np.asarray((self.said.iou - self.measured.iou) ** 2)

    @property
    def covered(self) -> Keep:
        """Whether the true IoU lies in the interval, (n,)."""
        return np.asarray((self.measured.iou >= self.said.low) & (self.measured.iou <= self.said.high))


def ratio(sums: Floats) -> Floats:
    """The first sum over the second."""
    return _over(sums[:, 0], sums[:, 1])


def root(sums: Floats) -> Floats:
    """Root of the first sum over the second."""
    return np.sqrt(ratio(sums))


def rmse(name: str, row: Row) -> Metric:
    """Root mean squared error of the estimated IoU."""
    return Metric(name=name, keep=row.keep, adds=_with_count(row.squared), value=root)


def rmse_types(name: str, row: Row) -> Metric:
    """Mean over the true types of their root mean squared errors."""
    types = [row.true == defect for defect in row.types()]

    def value(sums: Floats) -> Floats:
        return _mean(np.sqrt(_over(sums[:, : len(types)], sums[:, len(types) :])))

    adds = np.stack([*(row.squared * one for one in types), *types], axis=1).astype(np.float64)
    return Metric(name=name, keep=row.keep, adds=adds, value=value)


def share(name: str, row: Row, values: NDArray[np.generic]) -> Metric:
    """Mean of values, (n,)."""
    return Metric(name=name, keep=row.keep, adds=_with_count(values.astype(np.float64)), value=ratio)


def f2_tables(name: str, row: Row) -> Metric:
    """F2 one true type at a time, 5 R / (4 + R), and the mean of the types."""
    types = row.types()
    hits = [(row.said.defect == defect) & (row.true == defect) for defect in types]
    occurs = [row.true == defect for defect in types]

    def value(sums: Floats) -> Floats:
        right = _over(sums[:, : len(types)], sums[:, len(types) :])
        return _mean(5 * right / (4 + right))

    adds = np.stack([*hits, *occurs], axis=1).astype(np.float64)
    return Metric(name=name, keep=row.keep, adds=adds, value=value)


def f2_confusion(name: str, row: Row, *, of: tuple[str, ...] = ()) -> Metric:
    """F2 from the confusion matrix, mean over types.

    Args:
        name: The metric's name.
        row: The masks.
        of: The types of the mean; those that occur by default. With all six, types that are only said count as 0, as
            in ``score.stats.f2_confusion``.
    """
    types = of or row.types()
    called, occurs = [row.said.defect == one for one in types], [row.true == one for one in types]
    hits = [one & other for one, other in zip(called, occurs, strict=True)]

    def value(sums: Floats) -> Floats:
        hit, said_so, is_so = (sums[:, at * len(types) : (at + 1) * len(types)] for at in range(3))
        found = 5 * hit
        return _mean(_over(found, found + 4 * (is_so - hit) + (said_so - hit)))

    adds = np.stack([*hits, *called, *occurs], axis=1).astype(np.float64)
    return Metric(name=name, keep=row.keep, adds=adds, value=value)


def width_ratio(name: str, row: Row, *, held: Floats) -> Metric:
    """Mean width of the intervals over that of the constant interval that covers as much of the same masks.

    Of all constant intervals that hold a share L of the calibration part's IoUs the shortest is taken, and L is raised
    from .5 until it covers the masks as often as the judge's intervals do.

    Args:
        name: The metric's name.
        row: The masks.
        held: IoUs of the calibration part, ascending.
    """
    low, high = constant_intervals(held)
    truth = row.measured.iou[:, None]
    constant = (truth >= low) & (truth <= high)
    adds = np.column_stack([np.ones(len(truth)), row.said.high - row.said.low, row.covered, constant])

    def value(sums: Floats) -> Floats:
        enough = sums[:, 3:] >= sums[:, 2:3] - 1e-9
        enough[:, -1] = True  # no constant interval is longer than the last
        widths = (high - low)[enough.argmax(axis=1)]
        return _over(sums[:, 1], sums[:, 0] * widths)

    return Metric(name=name, keep=row.keep, adds=adds.astype(np.float64), value=value)


def constant_intervals(held: Floats) -> tuple[Floats, Floats]:
    """The shortest intervals that hold ``LEVELS`` of some IoUs; the last is 0..1, whatever these are.

    Args:
        held: IoUs, ascending, (m,), m at least 1.

    Returns:
        Lower and upper ends, each as long as ``LEVELS``, each interval no shorter than the one before.
    """
    ends = []
    for level in LEVELS[:-1]:
        count = max(int(np.ceil(level * len(held))), 1)
        widths = held[count - 1 :] - held[: len(held) - count + 1]
        start = int(widths.argmin())
        ends.append((float(held[start]), float(held[start + count - 1])))
    low, high = zip(*ends, (0.0, 1.0), strict=True)
    return np.array(low), np.array(high)


def _with_count(values: Floats) -> Floats:
    return np.column_stack([values, np.ones(len(values))])


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.asarray(np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0))


def _mean(values: Floats) -> Floats:
    """Mean over the second axis of what is defined; NaN where nothing is."""
    counts = (~np.isnan(values)).sum(axis=1)
    return _over(np.nansum(values, axis=1), counts.astype(np.float64))
