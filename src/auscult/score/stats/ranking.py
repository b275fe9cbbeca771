"""Which model is best, and how sure is its place?

Conventions: place 1 is best. Models of equal value share the better place (1, 1, 3). All are compared on the samples
that all of them scored; the others are counted. In each draw of whole clusters every model meets the same clusters, is
ranked anew, and

- the interval of a place holds the middle share of its places over the draws, both ends rounded outwards; a model that
  ties in a draw takes the better place for the lower end and the worse place for the upper end;
- the probability of being first is the share of draws it wins; those who tie share the draw.

Over several data sets (strata) a model's value is the mean of its values on each, which counts alike, and clusters are
drawn within each by itself, so that every data set is in every draw. Where one has a single cluster there is no
interval at all, since one of the other data sets alone would pass for one of all of them.

These are statements about other videos or photographs of the same kind. They are no p values of a single comparison.

References: R2-Bench Sec. 5.2 ranks by score and by APC without either; intervals as in ``intervals``; Marshall and
Spiegelhalter, "Reliability of league tables of in vitro fertilisation clinics", BMJ 316, 1998, for intervals of places;
Efron and Tibshirani, An Introduction to the Bootstrap, 1993, Sec. 8.3 (several samples, each drawn from by itself).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.change import (
    Change,
    ChangeInterval,
    Clusters,
    Common,
    Counts,
    SampleValues,
    Scores,
    Variant,
    change_fields,
    change_sums,
    changes_of,
    common,
    memberships,
    same_levels,
    with_draws,
)
from auscult.score.stats.few_clusters import Range, drawn_fields
from auscult.score.stats.intervals import FromSums, percentile_interval, resampled
from auscult.types import Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """One data set."""

    samples: Sequence[Hashable]  # the names of its samples, (n,)
    columns: Doubles  # what adds up over them, (n, k)
    clusters: Clusters  # the cluster of each
    rng: np.random.Generator  # the generator of its draws, from `auscult.rng.generator`; its own
    counts: Counts  # what became of its samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """A statistic over all data sets."""

    values: Doubles  # of all samples, the mean over data sets, (m,); NaN where it does not exist in one of them
    draws: Doubles | None  # likewise in each draw, (replicates, m); None where a data set has one cluster
    clusters: int  # clusters drawn from, of all data sets
    fewest: int  # those of the data set that has fewest
    single_cluster: tuple[str, ...]  # the data sets that have one cluster
    counts: Counts  # the samples of all data sets


def over_strata(
    strata: Mapping[str, Stratum], statistic: FromSums, *, replicates: int = 1000, level: float = 0.95
) -> Over:
    """A statistic, (draws, k) to (draws, m), of each data set, and the mean over them of all samples and each draw.

    The draws of each are ``few_clusters.widened`` by its own clusters, for an interval of ``level``.
    """
    empty = [name for name, stratum in strata.items() if not len(stratum.samples)]
    if empty or not strata:
        message = f"{empty[0]!r} has no sample" if empty else "there is no data set"
        raise InputError(message, expected="one data set or more, each with a sample")
    values, draws, single_cluster, clusters = [], [], [], []
    for name, stratum in strata.items():
        members = memberships(stratum.samples, stratum.clusters)
        total, stratum_draws = resampled(
            stratum.columns, members, statistic, rng=stratum.rng, replicates=replicates, level=level
        )
        clusters.append(total)
        # the sums are exact, so that the order of the samples does not matter
        values.append(statistic(np.array([[math.fsum(column) for column in stratum.columns.T]]))[0])
        if stratum_draws is None:
            single_cluster.append(name)
        else:
            draws.append(stratum_draws)
    return Over(
        values=np.mean(values, axis=0),
        draws=None if single_cluster else np.mean(draws, axis=0),
        clusters=sum(clusters),
        fewest=min(clusters),
        single_cluster=tuple(single_cluster),
        counts=added([stratum.counts for stratum in strata.values()]),
    )


def interval_over(
    strata: Mapping[str, Stratum],
    statistic: FromSums,
    *,
    fields: Mapping[str, object],
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
    totals: Doubles | None = None,
) -> ChangeInterval | Change | Undefined:
    """One number over all data sets with its interval, from a statistic of added columns, (draws, k) to (draws, 1).

    Without interval where a data set has one cluster; ``within`` is the range of the number, and ``totals`` are the
    sums of its clusters. Undefined where it does not exist in one of them, or in most
    draws.
    """
    over = over_strata(strata, statistic, replicates=replicates, level=level)
    value = float(over.values[0])
    if math.isnan(value):
        return over.counts.none("undefined on one of the data sets")
    signed = dict(fields) | over_fields(len(strata))
    return with_draws(
        value,
        over.counts,
        fields=signed,
        values=None if over.draws is None else over.draws[:, 0],
        clusters=over.clusters,
        fewest=over.fewest,
        level=level,
        within=within,
        totals=totals,
        drawn_from=drawn_within(len(strata)),
    )


def over_fields(count: int) -> dict[str, object]:
    """What a signature says of the mean over data sets; nothing for one."""
    return {"over": f"{count} data sets, each alike"} if count > 1 else {}


def drawn_within(count: int) -> dict[str, object]:
    """What a signature says of the draws over several data sets, beside ``drawn_fields``."""
    return {"drawn": "clusters within each data set"} if count > 1 else {}


def added(many: Sequence[Counts]) -> Counts:
    """The samples of several data sets together."""
    return Counts(
        n=sum(counts.n for counts in many),
        failed=sum(counts.failed for counts in many),
        undefined=sum(counts.undefined for counts in many),
        missing=sum(counts.missing for counts in many),
    )


_EQUAL = 1e-12
RankedColumns = TypeVar("RankedColumns", SampleValues, Scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked(Scored[float]):
    """A model's value and its place.

    Attributes:
        model: Its name.
        place: 1 is best; equal values share the better place.
        place_low: Best place of its interval; None where there is one cluster only.
        place_high: Worst place of its interval; None likewise.
        first: Probability of being first, 0..1; they sum to 1. None likewise.
        low: Lower end of the interval of the value; None likewise.
        high: Upper end; None likewise.
    """

    model: str
    place: int
    place_low: int | None
    place_high: int | None
    first: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Models, best first; equal ones in the order given.

    Attributes:
        rows: One for each model.
        counts: The samples that all of them scored, and how many were left out.
        clusters: Clusters drawn from.
        replicates: Draws in which every model has a value; 0 where there is one cluster only.
        signature: How it was made.
        single_cluster: Of several data sets those that have one cluster only, wherefore there is no interval.
    """

    rows: tuple[Ranked, ...]
    counts: Counts
    clusters: int
    replicates: int
    signature: Signature
    single_cluster: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet(Generic[RankedColumns]):
    """The scores of models on one of several data sets."""

    models: Mapping[str, RankedColumns]  # each model's scores; the same models on every data set, in one order
    clusters: Clusters  # the cluster of each sample
    rng: np.random.Generator  # the generator of its draws, from `auscult.rng.generator`; its own


def rank_by_score(
    models: Mapping[str, SampleValues],
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    higher: bool = True,
    level: float = 0.9,
    replicates: int = 1000,
) -> Ranking | Undefined:
    """Rank models by their mean score over the samples that all of them scored.

    Args:
        models: For each model the score of each sample.
        clusters: The cluster of each sample.
        rng: The generator of this draw, from ``auscult.rng.generator``.
        higher: Whether a higher score is better.
        level: Share of draws inside the intervals, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        The ranking; without intervals where there is one cluster only. Undefined when no sample is scored by all.

    Raises:
        InputError: There is no model, a score is not finite, a sample has no cluster, or ``level`` or ``replicates`` is
            out of range.

    Example:
        >>> from auscult.rng import generator
        >>> models = {"a": {0: 0.5, 1: 0.25}, "b": {0: 0.75, 1: 0.5}}
        >>> result = rank_by_score(models, clusters={0: "v", 1: "w"}, rng=generator(1, "example"))
        >>> [(row.model, row.place, row.place_low, row.place_high, row.first) for row in result.rows]
        [('b', 1, 1, 1, 1.0), ('a', 2, 2, 2, 0.0)]
    """
    alone = {"": DataSet(models=models, clusters=clusters, rng=rng)}
    return rank_by_score_over(alone, higher=higher, level=level, replicates=replicates)


def rank_by_score_over(
    sets: Mapping[str, DataSet[SampleValues]], *, higher: bool = True, level: float = 0.9, replicates: int = 1000
) -> Ranking | Undefined:
    """``rank_by_score`` by the mean over data sets; all have the same models.

    Without intervals where a data set has one cluster. Undefined where on one of them no sample is scored by all.
    """
    names = _names(sets)
    fields: dict[str, object] = {"ranked_by": "mean score", "best": "highest" if higher else "lowest"}
    strata = {}
    for name, data in sets.items():
        shared = common(list(data.models.values()))
        columns = np.vstack([shared.values, np.ones((1, len(shared.samples)))]).T
        strata[name] = _stratum(data, shared, columns)
    options = _RankOptions(sign=1 if higher else -1, fields=fields, level=level, replicates=replicates)
    return _ranking(names, strata, statistic=lambda sums: sums[:, :-1] / sums[:, -1:], options=options)


def rank_by_change(
    models: Mapping[str, Scores],
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    variant: Variant = "difference",
    level: float = 0.9,
    replicates: int = 1000,
) -> Ranking | Undefined:
    """Rank models by their change under stress: who loses least is first; as ``rank_by_score``.

    All are scored at the same levels; of ``difference`` the highest is best, of ``relative`` the lowest. Undefined when
    no sample is scored by all clean and at every level, and for ``relative`` when a clean mean is not above 0.
    """
    alone = {"": DataSet(models=models, clusters=clusters, rng=rng)}
    return rank_by_change_over(alone, variant=variant, level=level, replicates=replicates)


def rank_by_change_over(
    sets: Mapping[str, DataSet[Scores]],
    *,
    variant: Variant = "difference",
    level: float = 0.9,
    replicates: int = 1000,
) -> Ranking | Undefined:
    """``rank_by_change`` by the mean over data sets; all have the same models and levels.

    Without intervals where a data set has one cluster. Undefined where it is so on one of them.
    """
    names = _names(sets)
    all_scores = [scores for data in sets.values() for scores in data.models.values()]
    same_levels(all_scores)
    fields = change_fields(all_scores[0], variant)
    fields = {"ranked_by": fields.pop("metric"), "best": "loses least", **fields}
    strata = {}
    for name, data in sets.items():
        shared = common([column for scores in data.models.values() for column in scores.columns])
        columns = np.hstack([change_sums(part) for part in np.split(shared.values, len(names))])
        strata[name] = _stratum(data, shared, columns)
    options = _RankOptions(sign=1 if variant == "difference" else -1, fields=fields, level=level, replicates=replicates)
    return _ranking(names, strata, statistic=lambda sums: changes_of(sums, variant), options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankOptions:
    sign: int
    fields: dict[str, object]
    level: float
    replicates: int


def _stratum(data: DataSet[Any], shared: Common, columns: Doubles) -> Stratum:
    return Stratum(samples=shared.samples, columns=columns, clusters=data.clusters, rng=data.rng, counts=shared.counts)


def _ranking(
    names: tuple[str, ...], strata: Mapping[str, Stratum], *, statistic: FromSums, options: _RankOptions
) -> Ranking | Undefined:
    counts = added([stratum.counts for stratum in strata.values()])
    empty = [name for name, stratum in strata.items() if not stratum.samples]
    if empty:
        return counts.none("no sample is scored by all models" + (f" on {empty[0]}" if len(strata) > 1 else ""))
    over = over_strata(strata, statistic, replicates=options.replicates, level=options.level)
    if np.isnan(over.values).any():
        return counts.none("a model's value is undefined")
    draws, fields = over.draws, options.fields | over_fields(len(strata))
    if draws is not None:
        draws = draws[~np.isnan(draws).any(axis=1)]
        if 2 * len(draws) < options.replicates:
            return counts.none("a model's value is undefined in most draws")
        draw_fields = drawn_fields(over.fewest, level=options.level, replicates=options.replicates)
        fields = fields | draw_fields | drawn_within(len(strata))
    signature = Signature.of(**fields | {"samples": "scored by all"}, models=len(names), ties="share the better place")
    rows = _rows(names, over.values[None], draws=draws, sign=options.sign, level=options.level, signature=signature)
    return Ranking(
        rows=rows,
        counts=counts,
        clusters=over.clusters,
        replicates=0 if draws is None else len(draws),
        signature=signature,
        single_cluster=over.single_cluster if len(strata) > 1 else (),
    )


def _rows(
    names: tuple[str, ...], values: Doubles, *, draws: Doubles | None, sign: int, level: float, signature: Signature
) -> tuple[Ranked, ...]:
    places = _places(sign * values)[0][0]
    rows = []
    intervals = None if draws is None else _place_intervals(sign * draws, level)
    for index, name in enumerate(names):
        ends = None if draws is None else percentile_interval(draws[:, index], level=level)
        rows.append(
            Ranked(
                value=float(values[0, index]),
                signature=signature,
                model=name,
                place=int(places[index]),
                place_low=None if intervals is None else int(intervals[0][index]),
                place_high=None if intervals is None else int(intervals[1][index]),
                first=None if intervals is None else float(intervals[2][index]),
                low=None if ends is None else ends[0],
                high=None if ends is None else ends[1],
            )
        )
    return tuple(sorted(rows, key=lambda row: row.place))


def _place_intervals(better: Doubles, level: float) -> tuple[Doubles, Doubles, Doubles]:
    """Best and worst place and probability of being first of each model, from (draws, models), higher is better."""
    best, worst = _places(better)
    tail = (1 - level) / 2
    winners = best == 1
    return (
        np.quantile(best, tail, axis=0, method="lower"),
        np.quantile(worst, 1 - tail, axis=0, method="higher"),
        (winners / winners.sum(axis=1, keepdims=True)).mean(axis=0),
    )


def _places(better: Doubles) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The better and the worse place of each model in each row, where equal values share places from one to the other.

    Values that differ by less than rounding are equal: the same sums in another order must tie.
    """
    margin = _EQUAL * np.maximum(1.0, np.abs(better).max(axis=1))
    best = np.empty(better.shape, np.int64)
    worst = np.empty(better.shape, np.int64)
    for column in range(better.shape[1]):
        ahead = better - better[:, column : column + 1]
        best[:, column] = 1 + (ahead > margin[:, None]).sum(axis=1)
        worst[:, column] = (ahead >= -margin[:, None]).sum(axis=1)
    return best, worst


def _names(sets: Mapping[str, DataSet[Any]]) -> tuple[str, ...]:
    """The models, the same on every data set."""
    models = [tuple(data.models) for data in sets.values()]
    if not models or not models[0]:
        raise InputError("there is no model to rank", expected="one model or more")
    for name, names in zip(sets, models, strict=True):
        if names != models[0]:
            raise InputError(f"{name} has the models {', '.join(names)}", expected=f"as on all: {', '.join(models[0])}")
    return models[0]
