"""Means and ratios of sums over samples, with intervals that draw whole clusters.

A mean score is a ratio with a denominator of 1 for every sample; an overall IoU (oIoU) is the pixels of all
intersections over those of all unions, so that large objects weigh more. Higher is better where the score's own is.

References: oIoU and mIoU as in Kazemzadeh et al. 2014 and the RefCOCO literature; intervals as in ``intervals``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.change import Clusters, Counts, SampleValues, Value, common, memberships
from auscult.score.stats.few import Range, ends_of
from auscult.score.stats.intervals import cluster_totals, resampled
from auscult.types import Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(Scored[float]):
    """A ratio (``value``), its interval and the samples behind it."""

    low: float | None  # lower end; None where there is one cluster only, or the same in all of them
    high: float | None  # upper end; None likewise
    clusters: int  # clusters drawn from
    counts: Counts  # the samples
    # of a mean the sum of the values of each cluster, for ``sign_flips``
    totals: Doubles | None = field(default=None, compare=False, repr=False)


RatioColumns: TypeAlias = Sequence[tuple[SampleValues, Mapping[Hashable, Value]]]
"""For each ratio the value of every sample, and what it is over: one, or one for each class."""


def mean_ratio(
    values: SampleValues,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> Ratio | Undefined:
    """The mean of values, each over 1, with its interval; undefined when no sample has a value.

    ``within`` is what the number can be, as ``few.SHARE``: its interval does not leave it.
    """
    column = (values, dict.fromkeys(values, 1.0))
    return _mean([column], "mean", clusters=clusters, rng=rng, level=level, replicates=replicates, within=within)


def mean_of_ratios(
    parts: RatioColumns,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> Ratio | Undefined:
    """The mean of ratios of sums, with its interval: overall IoU of one ratio, class-wise mIoU of one for each class.

    A ratio whose samples are all over 0, as of a class that does not occur, is left out, in each draw by itself.
    ``within`` as in ``mean_ratio``. Undefined when no sample has a value, or all of all ratios are over 0.
    """
    metric = "ratio of sums" if len(parts) == 1 else "mean of ratios of sums"
    return _mean(parts, metric, clusters=clusters, rng=rng, level=level, replicates=replicates, within=within)


def _mean(
    parts: RatioColumns,
    metric: str,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float,
    replicates: int,
    within: Range | None,
) -> Ratio | Undefined:
    kept = common([column for part in parts for column in part])
    if not kept.samples:
        return kept.counts.none("no sample is scored")
    value = float(_means(np.array([[math.fsum(column) for column in kept.values]]))[0])
    if math.isnan(value):
        return kept.counts.none("all samples are over 0")
    members = memberships(kept.samples, clusters)
    drawn = resampled(kept.values.T, members, _means, rng=rng, replicates=replicates, level=level)
    found = _ratio(value, drawn, fields={"metric": metric}, counts=kept.counts, level=level, within=within)
    return replace(found, totals=cluster_totals(kept.values[0], members)) if metric == "mean" else found


def ratio_change(
    parts: Sequence[RatioColumns],
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> Ratio | Undefined:
    """The mean over levels minus clean: the average performance change of an overall IoU or a class-wise mIoU.

    ``parts`` are what ``mean_of_ratios`` takes, clean first, then one for each level; it is over the samples that all
    have. ``within`` is what the change can be. Undefined as there.
    """
    if len(parts) < 2:
        raise InputError(f"{len(parts)} ratios give no change", expected="the clean one and at least one level")
    kept = common([column for part in parts for ratio in part for column in ratio])
    if not kept.samples:
        return kept.counts.none("no sample is scored clean and at every level")
    ends = np.cumsum([2 * len(part) for part in parts])[:-1]

    def changes(sums: Doubles) -> Doubles:
        clean, *levels = (_means(part) for part in np.split(sums, ends, axis=1))
        return np.asarray(np.mean(levels, axis=0) - clean)

    value = float(changes(np.array([[math.fsum(column) for column in kept.values]]))[0])
    if math.isnan(value):
        return kept.counts.none("all samples are over 0")
    members = memberships(kept.samples, clusters)
    drawn = resampled(kept.values.T, members, changes, rng=rng, replicates=replicates, level=level)
    of = "a ratio of sums" if all(len(part) == 1 for part in parts) else "a mean of ratios of sums"
    fields = {"metric": f"apc of {of}", "levels": len(parts) - 1}
    return _ratio(value, drawn, fields=fields, counts=kept.counts, level=level, within=within)


def _ratio(
    value: float,
    drawn: tuple[int, Doubles | None],
    *,
    fields: Mapping[str, object],
    counts: Counts,
    level: float,
    within: Range | None = None,
) -> Ratio:
    """A ratio with what ``resampled`` gave for it."""
    clusters, draws = drawn
    ends = None if draws is None else ends_of(draws, value=value, clusters=clusters, level=level, within=within)
    return Ratio(
        value=value,
        signature=Signature.of(**fields, **({} if ends is None else ends.fields)),
        low=None if ends is None else ends.low,
        high=None if ends is None else ends.high,
        clusters=clusters,
        counts=counts,
    )


def _means(sums: Doubles) -> Doubles:
    """The mean of the ratios that there are, (draws,), from values and what they are over, (draws, 2 ratios)."""
    over = sums[:, 1::2]
    there = over > 0
    ratios = np.divide(sums[:, 0::2], over, out=np.zeros(over.shape), where=there)
    count = there.sum(axis=1)
    means: Doubles = np.divide(ratios.sum(axis=1), count, out=np.full(len(sums), np.nan), where=count > 0)
    return means
