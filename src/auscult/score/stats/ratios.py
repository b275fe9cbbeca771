"""Means and ratios of sums over samples, with intervals that draw whole clusters.

A mean score is a ratio with a denominator of 1 for every sample; an overall IoU (oIoU) is the pixels of all
intersections over those of all unions, so that large objects weigh more. Higher is better where the score's own is.

References: oIoU and mIoU as in Kazemzadeh et al. 2014 and the RefCOCO literature; intervals as in ``intervals``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.resample import drawn_fields, percentile_interval, resampled
from auscult.score.stats.samples import Clusters, Counts, SampleValues, common, memberships
from auscult.types import Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(Scored[float]):
    """A ratio (``value``), its interval and the samples behind it."""

    low: float | None  # lower end; None where there is one cluster only
    high: float | None  # upper end; None likewise
    clusters: int  # clusters drawn from
    counts: Counts  # the samples


def mean_ratio(
    values: SampleValues,
    over: Mapping[Hashable, float] | None = None,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> Ratio | Undefined:
    """The sum of values over the sum of what they are shares of, or the mean where ``over`` is None, with its interval.

    Undefined when no sample has a value, or all are over 0.
    """
    kept = common([values] if over is None else [values, over])
    if not kept.samples:
        return kept.counts.none("no sample is scored")
    rows = np.stack([kept.values[0], np.ones(len(kept.samples)) if over is None else kept.values[1]], axis=1)
    top, bottom = (math.fsum(column) for column in rows.T)
    if bottom <= 0:
        return kept.counts.none("all samples are over 0")
    drawn = resampled(rows, memberships(kept.samples, clusters), _shares, rng=rng, replicates=replicates)
    fields = {"metric": "mean" if over is None else "ratio of sums"}
    return _ratio(top / bottom, drawn, fields=fields, counts=kept.counts, level=level)


def ratio_change(
    parts: Sequence[tuple[SampleValues, Mapping[Hashable, float]]],
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> Ratio | Undefined:
    """The mean of several ratios minus the first: the average performance change of an overall IoU.

    ``parts`` are (values, what they are over), clean first, then one for each level; it is over the samples that all
    have. Undefined as in ``mean_ratio``.
    """
    if len(parts) < 2:
        raise InputError(f"{len(parts)} ratios give no change", expected="the clean one and at least one level")
    kept = common([column for part in parts for column in part])
    if not kept.samples:
        return kept.counts.none("no sample is scored clean and at every level")
    value = float(_changes(np.array([[math.fsum(column) for column in kept.values]]))[0])
    if math.isnan(value):
        return kept.counts.none("all samples are over 0")
    drawn = resampled(kept.values.T, memberships(kept.samples, clusters), _changes, rng=rng, replicates=replicates)
    fields = {"metric": "apc of a ratio of sums", "levels": len(parts) - 1}
    return _ratio(value, drawn, fields=fields, counts=kept.counts, level=level)


def _ratio(
    value: float,
    drawn: tuple[int, Doubles | None],
    *,
    fields: Mapping[str, object],
    counts: Counts,
    level: float,
) -> Ratio:
    """A ratio with what ``resampled`` gave for it."""
    clusters, draws = drawn
    ends = None if draws is None else percentile_interval(draws, level=level)
    made = {} if draws is None else drawn_fields(level, len(draws))
    return Ratio(
        value=value,
        signature=Signature.of(**fields, **made),
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        clusters=clusters,
        counts=counts,
    )


def _changes(sums: Doubles) -> Doubles:
    """From (draws, 2 parts) of values and what they are over."""
    over = sums[:, 1::2]
    ratios = np.divide(sums[:, 0::2], over, out=np.full(over.shape, np.nan), where=over > 0)
    changes: Doubles = ratios[:, 1:].mean(axis=1) - ratios[:, 0]
    return changes


def _shares(sums: Doubles) -> Doubles:
    shares: Doubles = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    return shares
