"""What is said of several models on several data sets at once: Pearson matrices (Figs. 8, 9), means by kind (Fig. 7).

Correlations are over the changes of all samples of all models and data sets, one vector for each kind. A mean counts
every model on every data set alike, however many cases each has; its interval draws whole clips or photographs, within
each data set by itself, so that all models of a data set meet the same clips and every data set is in every draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.errors import InputError
from auscult.outcome import Outcome, Signature
from auscult.rng import generator
from auscult.score.stats.change import Change, ChangeInterval, sample_changes
from auscult.score.stats.correlation import Correlation, correlation, joined
from auscult.score.stats.resample import Floats, drawn, drawn_fields, percentile_interval, sums_by_cluster
from auscult.score.stats.samples import Clusters, Common, Counts, Values, common, memberships
from auscult.stress.recipe_parts import room_of
from auscult.suites.r2.compare_sets import DataSet
from auscult.suites.r2.conditions import CLEAN, MIXES
from auscult.suites.r2.measures import Number, View, static_of
from auscult.suites.r2.tables import group_name, is_baseline

ALL: Final = "all data sets"
LEVEL: Final = 0.95
REPLICATES: Final = 1000

Parts: TypeAlias = Mapping[str, Sequence[Values]]
"""Data set to the values of each of its models, by sample."""


def correlations_over(views: Mapping[str, View], metric: str) -> dict[str, Correlation]:
    """Room of the kinds to the correlation of their changes, over all models and data sets joined.

    Rooms with fewer than two kinds are left out, and so are baselines, whose changes are none or chance.

    Args:
        views: The scores of each data set.
        metric: Of which metric.
    """
    places = dict.fromkeys(place for view in views.values() for place in view.grid.groups() if place[0] not in MIXES)
    rooms: dict[str, dict[str, Values]] = {}
    for place in places:
        parts = {
            (model, name): changes
            for name, view in views.items()
            for model, changes in _changes(view, place, metric).items()
        }
        if parts:
            rooms.setdefault(room_of(place[0]), {})[group_name(*place)] = joined(parts)
    return {room: correlation(kinds) for room, kinds in rooms.items() if len(kinds) > 1}


def _changes(view: View, place: tuple[str, str], metric: str) -> dict[str, Values]:
    """Each model's change of every sample; baselines and models that were not asked are left out."""
    found: dict[str, Values] = {}
    for model in view.grid.models:
        static = static_of(view, model, place)
        if static and view.grid.asked(model, CLEAN) and not is_baseline(model):
            found[model] = sample_changes(view.scores(model, static, metric))
    return found


def kind_means(sets: Sequence[DataSet], metric: str, *, seed: int) -> tuple[Number, ...]:
    """The level and the change of every group of conditions as means over models, for each data set and over all.

    Baselines are in no mean: what does not look has nothing to lose. Nothing is returned of one model on one data set.

    Args:
        sets: The data sets.
        metric: Of which metric.
        seed: Of the draws.

    Returns:
        Numbers whose ``model`` is the data set, or ``ALL``: ``level`` and ``apc``.
    """
    series: dict[str, Sequence[DataSet]] = {one.name: [one] for one in sets}
    if len(sets) > 1:
        series[ALL] = sets
    elif len([model for model in sets[0].grid.models if not is_baseline(model)]) < 2:
        return ()
    clusters = {one.name: one.grid.cases for one in sets}
    return tuple(
        Number(
            measure=measure,
            model=name,
            metric=metric,
            group=group,
            level=level,
            part=part,
            outcome=mean_over(parts, clusters, seed=seed, of=measure, levels=level or _strengths(mine, (group, part))),
            signature=mine[0].grid.signature("", metric),
        )
        for name, mine in series.items()
        for (measure, group, level, part), parts in _columns(mine, metric)
    )


def _columns(
    sets: Sequence[DataSet], metric: str
) -> Iterator[tuple[tuple[str, str, str, str], dict[str, list[Values]]]]:
    """(measure, group, level, part) with the values of every model that was asked."""
    for one in dict.fromkeys((one.group, one.level, one.part) for part in sets for one in part.grid.conditions):
        levels = {part.name: _levels(part.view, one, metric) for part in sets}
        if any(levels.values()):
            yield ("level", *one), {name: found for name, found in levels.items() if found}
    for place in dict.fromkeys(place for part in sets for place in part.grid.groups()):
        changes = {part.name: list(_changes(part.view, place, metric).values()) for part in sets}
        if any(changes.values()):
            yield ("apc", place[0], "", place[1]), {name: found for name, found in changes.items() if found}


def _strengths(sets: Sequence[DataSet], place: tuple[str, str]) -> str:
    """The strengths that a mean change is over, mildest first."""
    every = (one for part in sets for model in part.grid.models for one in static_of(part.view, model, place))
    return ",".join(one.level for one in sorted(dict.fromkeys(every), key=lambda one: one.strength or 0.0))


def _levels(view: View, place: tuple[str, str, str], metric: str) -> list[Values]:
    found = [one for one in view.grid.conditions if (one.group, one.level, one.part) == place]
    return [
        view.values(model, one.name, metric)
        for one in found
        for model in view.grid.models
        if view.grid.asked(model, one.name) and not is_baseline(model)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One data set's share of a mean: its models' own means, what was drawn of them, and its clips."""

    means: tuple[float, ...]
    draws: Floats | None
    clusters: int


def mean_over(
    parts: Parts,
    clusters: Mapping[str, Clusters],
    *,
    seed: int,
    of: str = "apc",
    levels: str = "",
    replicates: int = REPLICATES,
) -> Outcome[float]:
    """The mean of the means of every model on every data set.

    Args:
        parts: The values of each model, for each data set.
        clusters: The cluster of each sample, for each data set.
        seed: Of the draws; every data set draws by itself.
        of: What the values are, for the signature.
        levels: Under which strengths, likewise.
        replicates: How often to draw.

    Returns:
        The mean, over the models that have any value; with an interval where every data set has two clusters or more.
        Undefined where nothing is scored.

    Raises:
        InputError: A value is not finite, a sample has no cluster, or ``replicates`` is below 1.

    Example:
        >>> told = mean_over({"a": [{"x": -0.5, "y": -0.25}], "b": [{"z": -0.125}]},
        ...     {"a": {"x": 1, "y": 2}, "b": {"z": 1}}, seed=0)
        >>> told.value
        -0.25
    """
    columns = {name: [common([values]) for values in many] for name, many in parts.items()}
    counts = _added([one.counts for many in columns.values() for one in many])
    found = [
        _part([one for one in many if one.samples], clusters[name], seed=seed, key=name, replicates=replicates)
        for name, many in columns.items()
        if any(one.samples for one in many)
    ]
    means = [mean for one in found for mean in one.means]
    if not means:
        return counts.none("no sample is scored")
    value = math.fsum(means) / len(means)
    fields: dict[str, Any] = {
        "metric": f"mean {of}",
        **({"levels": levels} if levels else {}),
        "over": f"{len(means)} pairs of model and data set, each alike",
        "data_sets": len(found),
    }
    draws = [one.draws for one in found if one.draws is not None]
    if len(draws) < len(found):
        return Change(value=value, signature=Signature.of(**fields), counts=counts)
    # a model none of whose clips is drawn has no value in that draw, as one without any has none at all
    ends = percentile_interval(np.nanmean(np.hstack(draws), axis=1), level=LEVEL)
    if ends is None:
        raise InputError(f"{replicates} draws give no interval", expected="1 draw or more")
    made = drawn_fields(LEVEL, replicates) | {"drawn": "clusters within each data set"}
    return ChangeInterval(
        value=value,
        signature=Signature.of(**fields, **made),
        low=ends[0],
        high=ends[1],
        clusters=sum(one.clusters for one in found),
        replicates=replicates,
        undefined=0,
        counts=counts,
    )


def _part(many: Sequence[Common], clusters: Clusters, *, seed: int, key: str, replicates: int) -> _Part:
    samples = tuple(dict.fromkeys(sample for one in many for sample in one.samples))
    members = memberships(samples, clusters)
    total = int(members.max()) + 1
    rows = np.zeros((len(samples), 2 * len(many)))
    place = {sample: row for row, sample in enumerate(samples)}
    for column, one in enumerate(many):
        mine = [place[sample] for sample in one.samples]
        rows[mine, 2 * column] = one.values[0]
        rows[mine, 2 * column + 1] = 1.0
    draws = None
    if total >= 2:
        sums = sums_by_cluster(rows, members, total)
        rng = generator(seed, "r2", "bootstrap", "joined", key)
        draws = drawn(sums, _means, rng=rng, replicates=replicates)
    means = tuple(math.fsum(one.values[0]) / len(one.samples) for one in many)
    return _Part(means=means, draws=draws, clusters=total)


def _means(sums: Floats) -> Floats:
    over = sums[:, 1::2]
    means: Floats = np.divide(sums[:, 0::2], over, out=np.full(over.shape, np.nan), where=over > 0)
    return means


def _added(many: Sequence[Counts]) -> Counts:
    return Counts(
        n=sum(one.n for one in many),
        failed=sum(one.failed for one in many),
        undefined=sum(one.undefined for one in many),
        missing=sum(one.missing for one in many),
    )
