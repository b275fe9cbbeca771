"""A statistic over several data sets, each of which counts alike however many samples it has.

The statistic is computed of each data set and averaged. An interval draws whole clusters within each data set by
itself, so that every data set is in every draw, and everything that is computed of one data set at once meets the same
clusters. A data set with a single cluster has nothing to draw from: then there is no interval at all, since one of the
other data sets alone would pass for one of all of them.

References: intervals as in ``intervals``; Efron and Tibshirani, An Introduction to the Bootstrap, 1993, Sec. 8.3
(several samples, each drawn from by itself).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from auscult.errors import InputError
from auscult.outcome import Signature, Undefined
from auscult.score.stats.change import Change
from auscult.score.stats.change_intervals import ChangeInterval
from auscult.score.stats.drawn import drawn, drawn_fields
from auscult.score.stats.resample import Floats, FromSums, percentile_interval, sums_by_cluster
from auscult.score.stats.samples import Clusters, Counts, memberships


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """One data set.

    Attributes:
        samples: The names of its samples, (n,).
        columns: What adds up over them, (n, k).
        clusters: The cluster of each.
        rng: The generator of its draws, from ``auscult.rng.generator``; its own.
        counts: What became of its samples.
    """

    samples: Sequence[Hashable]
    columns: Floats
    clusters: Clusters
    rng: np.random.Generator
    counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """A statistic over all data sets.

    Attributes:
        values: Of all samples, the mean over data sets, (m,); NaN where it does not exist in one of them.
        draws: Likewise in each draw, (replicates, m); None where a data set has one cluster.
        clusters: Clusters drawn from, of all data sets.
        lone: The data sets that have one cluster.
        counts: The samples of all data sets.
    """

    values: Floats
    draws: Floats | None
    clusters: int
    lone: tuple[str, ...]
    counts: Counts


def over_strata(strata: Mapping[str, Stratum], statistic: FromSums, *, replicates: int = 1000) -> Over:
    """Compute a statistic of each data set, and the mean over them.

    Args:
        strata: By name, one or more, each with a sample or more and the same columns.
        statistic: From added columns, (draws, k), to (draws, m).
        replicates: How often to draw.

    Returns:
        The mean of all samples and of each draw.

    Raises:
        InputError: There is no data set, or one without sample, a sample has no cluster, or ``replicates`` is below 1.

    Example:
        >>> from auscult.rng import generator
        >>> def stratum(*values):
        ...     return Stratum(samples=range(len(values)), columns=np.array([[value, 1.0] for value in values]),
        ...         clusters={at: at for at in range(len(values))}, rng=generator(1, "example"),
        ...         counts=Counts(n=len(values), failed=0, undefined=0, missing=0))
        >>> many = {"a": stratum(0.25, 0.25, 0.25), "b": stratum(0.75)}
        >>> told = over_strata(many, lambda sums: sums[:, :1] / sums[:, 1:])
        >>> told.values.tolist(), told.draws, told.lone
        ([0.5], None, ('b',))
    """
    empty = [name for name, one in strata.items() if not len(one.samples)]
    if empty or not strata:
        told = f"{empty[0]!r} has no sample" if empty else "there is no data set"
        raise InputError(told, expected="one data set or more, each with a sample")
    values, draws, lone, clusters = [], [], [], 0
    for name, one in strata.items():
        members = memberships(one.samples, one.clusters)
        total = int(members.max()) + 1
        clusters += total
        # the sums are exact, so that the order of the samples does not matter
        values.append(statistic(np.array([[math.fsum(column) for column in one.columns.T]]))[0])
        if total < 2:
            lone.append(name)
            continue
        sums = sums_by_cluster(one.columns, members, total)
        draws.append(drawn(sums, statistic, rng=one.rng, replicates=replicates))
    return Over(
        values=np.mean(values, axis=0),
        draws=None if lone else np.mean(draws, axis=0),
        clusters=clusters,
        lone=tuple(lone),
        counts=added([one.counts for one in strata.values()]),
    )


def interval_over(
    strata: Mapping[str, Stratum],
    statistic: FromSums,
    *,
    fields: Mapping[str, object],
    level: float = 0.95,
    replicates: int = 1000,
) -> ChangeInterval | Change | Undefined:
    """One number over all data sets with its interval.

    Args:
        strata: As in ``over_strata``.
        statistic: From added columns, (draws, k), to (draws, 1).
        fields: How it is computed, for the signature.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        The number; without interval where a data set has one cluster. Undefined where it does not exist in one of them,
        or in most draws.

    Raises:
        InputError: As in ``over_strata``, or ``level`` is out of range.
    """
    found = over_strata(strata, statistic, replicates=replicates)
    value = float(found.values[0])
    if math.isnan(value):
        return found.counts.none("undefined on one of the data sets")
    signed = dict(fields) | over_fields(len(strata))
    if found.draws is None:
        return Change(value=value, signature=Signature.of(**signed), counts=found.counts)
    draws = found.draws[:, 0]
    ends = percentile_interval(draws, level=level)
    if ends is None:
        return found.counts.none("undefined in most draws")
    missing = int(np.count_nonzero(np.isnan(draws)))
    return ChangeInterval(
        value=value,
        signature=Signature.of(**signed | drawn_fields(level, replicates) | within(len(strata))),
        low=ends[0],
        high=ends[1],
        clusters=found.clusters,
        replicates=replicates - missing,
        undefined=missing,
        counts=found.counts,
    )


def over_fields(count: int) -> dict[str, object]:
    """What a signature says of the mean over data sets; nothing for one."""
    return {"over": f"{count} data sets, each alike"} if count > 1 else {}


def within(count: int) -> dict[str, object]:
    """What a signature says of the draws over several data sets, beside ``drawn_fields``."""
    return {"drawn": "clusters within each data set"} if count > 1 else {}


def added(many: Sequence[Counts]) -> Counts:
    """The samples of several data sets together."""
    return Counts(
        n=sum(one.n for one in many),
        failed=sum(one.failed for one in many),
        undefined=sum(one.undefined for one in many),
        missing=sum(one.missing for one in many),
    )
