"""Models over several data sets at once: levels, changes, differences of every two, and a ranking with its uncertainty.

Of the models that were asked on every data set. Every number is the mean of what it is on each data set, and each data
set counts alike however many cases it has. On a data set two models are held against each other case by case; clips
are drawn within each data set, the same for all models. Nothing here compares a case of one data set with one of
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from auscult.outcome import Outcome
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.stats.change import Scores, change_fields, change_sums, changes_of
from auscult.score.stats.ranking import DataSet as Ranked
from auscult.score.stats.ranking import Stratum, added, interval_over, rank_by_change_over, rank_by_score_over
from auscult.score.stats.samples import Common, SampleValues, common
from auscult.suites.core.conditions import CLEAN, Condition
from auscult.suites.core.grid import joined_signature
from auscult.suites.core.numbers import PAPER_LEVELS, GridCell, GridColumns, Number
from auscult.suites.r2.compare_sets import DataSet
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.measures import static_of
from auscult.suites.r2.relations import Ranks, ranking_table
from auscult.suites.r2.tables import Index, difference_table, group_name, is_baseline, levels_only, metric_name
from auscult.types import Doubles

_EACH: Final = "Every number is a mean over the data sets, each of which counts alike; clips are drawn within each."


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """What is said of models over all data sets.

    Attributes:
        numbers: ``level``, ``apc``, ``difference`` and ``apc_difference``, of the main metric.
        ranks: The rankings; none of fewer than two models.
        apart: Models that were not asked on every data set, and are in none of these; without baselines.
        without: Models that a ranking leaves out, since they have no score on one of the data sets.
        lone: Data sets with a single clip, wherefore there is no interval.
    """

    numbers: tuple[Number, ...] = ()
    ranks: tuple[Ranks, ...] = ()
    apart: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    lone: tuple[str, ...] = ()


def models_over(sets: Sequence[DataSet], metric: str, *, seed: int) -> Overall:
    """Put the models that were asked on every data set side by side."""
    if len(sets) < 2:
        return Overall()
    joined = _Joined({one.name: one.view for one in sets}, metric, seed)
    every = dict.fromkeys(model for one in sets for model in one.grid.models)
    return Overall(
        numbers=tuple(joined.numbers()),
        ranks=tuple(joined.ranks()),
        apart=tuple(model for model in every if model not in joined.models and not is_baseline(model)),
        without=tuple(dict.fromkeys(joined.without())),
        lone=tuple(one.name for one in sets if len(set(one.grid.cases.values())) < 2),
    )


class _Joined:
    """All data sets; what was asked on every one of them."""

    def __init__(self, views: Mapping[str, GridColumns], metric: str, seed: int) -> None:
        self.views, self.metric, self.seed = views, metric, seed
        first, *others = views.values()
        shared = [model for model in first.grid.models if all(model in view.grid.models for view in others)]
        self.models = tuple(sorted((model for model in shared if self._clean(model)), key=is_baseline))
        places = [{_place(one): one.name for one in view.grid.conditions} for view in views.values()]
        self.conditions = tuple(one for one in first.grid.conditions if all(_place(one) in known for known in places))
        self._names = dict(zip(views, places, strict=True))
        self.groups = tuple(place for place in first.grid.groups() if all(place in v.grid.groups() for v in others))

    def _clean(self, model: str) -> bool:
        return all(view.grid.asked(model, CLEAN) for view in self.views.values())

    def numbers(self) -> Iterator[Number]:
        """Of every model, then of every two."""
        for model in self.models:
            yield from self._of(model)
        for pair in combinations(self.models, 2):
            yield from self._between(pair)

    def ranks(self) -> Iterator[Ranks]:
        """By the clean score, and for each mix by what is lost, as within one data set."""
        told = metric_name(self.metric)
        clean = self.conditions[0]
        models = [model for model in self.models if self._scored(model, [clean])]
        if len(models) > 1:
            sets = {
                name: self._set(name, {model: self._values(name, model, clean) for model in models})
                for name in self.views
            }
            yield Ranks(name="clean", title=f"clean {told}", ranking=rank_by_score_over(sets))
        for place in (one for one in self.groups if one[0] in MIXES):
            stressed = [model for model in models if self._static(model, place)]
            shared = self._common(stressed, place)
            stressed = [model for model in stressed if self._scored(model, shared)]
            if len(stressed) < 2 or not shared:
                continue
            changes = {
                name: self._set(name, {model: self._scores(name, model, shared) for model in stressed})
                for name in self.views
            }
            only = levels_only([one.level for one in shared], PAPER_LEVELS)
            yield Ranks(
                name="_".join(("loss", place[0], *((place[1],) if place[1] != "all" else ()))),
                title=f"least {told} lost, {group_name(*place)}{only}",
                ranking=rank_by_change_over(changes),
            )

    def without(self) -> Iterator[str]:
        """Models that were asked what a ranking is of, and on some data set have not one score of all that."""
        for place in (None, *(one for one in self.groups if one[0] in MIXES)):
            asked = [model for model in self.models if place is None or self._static(model, place)]
            shared = () if place is None else self._common(asked, place)
            yield from (model for model in asked if not self._scored(model, shared))

    def _of(self, model: str) -> Iterator[Number]:
        for one in self.conditions:
            if self._asked(model, one):
                columns = {name: [self._values(name, model, one)] for name in self.views}
                made = self._number("level", (model,), outcome=self._mean(columns, of="level"))
                yield replace(made, group=one.group, level=one.level, part=one.part)
        for place in self.groups:
            if shared := self._static(model, place):
                scores = {name: [self._scores(name, model, shared)] for name in self.views}
                made = self._number("apc", (model,), outcome=self._change(scores))
                yield replace(made, group=place[0], part=place[1])

    def _between(self, pair: tuple[str, str]) -> Iterator[Number]:
        for one in self.conditions:
            if all(self._asked(model, one) for model in pair):
                columns = {name: [self._values(name, model, one) for model in pair] for name in self.views}
                made = self._number("difference", pair, outcome=self._mean(columns, of="difference"))
                yield replace(made, group=one.group, level=one.level, part=one.part)
        for place in self.groups:
            shared = self._common(pair, place)
            if shared and all(self._static(model, place) for model in pair):
                scores = {name: [self._scores(name, model, shared) for model in pair] for name in self.views}
                made = self._number("apc_difference", pair, outcome=self._change(scores))
                yield replace(made, group=place[0], part=place[1])

    def _mean(self, columns: Mapping[str, Sequence[SampleValues]], *, of: str) -> Outcome[float]:
        """The mean of one column, or of the first minus the second."""
        strata = {}
        for name, many in columns.items():
            kept = common(many)
            value = kept.values[0] if len(many) == 1 else kept.values[0] - kept.values[1]
            strata[name] = self._stratum(name, kept, np.stack([value, np.ones_like(value)], axis=1))
        return _change_outcome(strata, {"metric": f"mean {of}"}, pair=False)

    def _change(self, scores: Mapping[str, Sequence[Scores]]) -> Outcome[float]:
        """The change of one model, or that of the first minus that of the second."""
        strata = {}
        for name, many in scores.items():
            kept = common([column for one in many for column in one.columns])
            columns = np.hstack([change_sums(part) for part in np.split(kept.values, len(many))])
            strata[name] = self._stratum(name, kept, columns)
        many = next(iter(scores.values()))
        fields = change_fields(many[0], "difference")
        pair = len(many) > 1
        return _change_outcome(strata, fields | ({"metric": "apc difference"} if pair else {}), pair=pair, change=True)

    def _stratum(self, name: str, kept: Common, columns: Doubles) -> Stratum:
        cases = self.views[name].grid.cases
        return Stratum(samples=kept.samples, columns=columns, clusters=cases, rng=self._rng(name), counts=kept.counts)

    def _rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, "r2", "bootstrap", "joined", name)

    def _set(self, name: str, models: Mapping[str, Any]) -> Ranked[Any]:
        return Ranked(models=models, clusters=self.views[name].grid.cases, rng=self._rng(name))

    def _values(self, name: str, model: str, one: Condition) -> SampleValues:
        return self.views[name].values(model, self._names[name][_place(one)], self.metric)

    def _scores(self, name: str, model: str, shared: Sequence[Condition]) -> Scores:
        here = [replace(one, name=self._names[name][_place(one)]) for one in shared]
        return self.views[name].scores(model, here, self.metric)

    def _asked(self, model: str, one: Condition) -> bool:
        return all(view.grid.asked(model, self._names[name][_place(one)]) for name, view in self.views.items())

    def _scored(self, model: str, shared: Sequence[Condition]) -> bool:
        """Whether a model has a score on every data set; one that has none would leave nothing of the others."""
        return all(
            common([self._values(name, model, one) for one in (self.conditions[0], *shared)]).samples
            for name in self.views
        )

    def _static(self, model: str, place: GridCell) -> tuple[Condition, ...]:
        """The levels of constant strength that count, those that are on every data set."""
        found = [{one.level: one for one in static_of(view, model, place)} for view in self.views.values()]
        return tuple(one for level, one in found[0].items() if all(level in other for other in found))

    def _common(self, models: Sequence[str], place: GridCell) -> tuple[Condition, ...]:
        """The levels that several models share."""
        found = [self._static(model, place) for model in models]
        shared = set.intersection(*({one.level for one in many} for many in found)) if found else set()
        return tuple(one for one in found[0] if one.level in shared) if found else ()

    def _number(self, measure: str, models: tuple[str, ...], *, outcome: Outcome[float]) -> Number:
        signed = [view.grid.signature(model, self.metric) for view in self.views.values() for model in models]
        return Number(
            measure=measure,
            model=" - ".join(models),
            metric=self.metric,
            group="",
            outcome=outcome,
            signature=joined_signature(signed),
        )


def _place(one: Condition) -> tuple[str, str, str]:
    return one.group, one.level, one.part


def _change_outcome(
    strata: Mapping[str, Stratum], fields: Mapping[str, object], *, pair: bool, change: bool = False
) -> Outcome[float]:
    empty = [name for name, one in strata.items() if not one.samples]
    if empty:
        return added([one.counts for one in strata.values()]).none(f"no sample is scored on {empty[0]}")

    def of(sums: Doubles) -> Doubles:
        found = changes_of(sums, "difference") if change else sums[:, :1] / sums[:, 1:]
        return found[:, :1] - found[:, 1:] if pair else found

    return interval_over(strata, of, fields=fields)


def overall_tables(found: Overall) -> dict[str, Table]:
    """The ranking and the differences over all data sets, by file name; those that there are."""
    told: dict[str, Table] = {}
    alone = f" No interval: {', '.join(found.lone)} has a single clip or photograph." if found.lone else ""
    ranking, differences = ranking_table(list(found.ranks)), difference_table(Index(found.numbers))
    if ranking is not None:
        note = (
            f"{_EACH} In brackets: 90 % interval of the place. First in: the share of draws that it wins. Of the "
            f"models that were asked on every data set, on the cases that all of them have.{alone}"
        )
        told["joined_ranking"] = replace(ranking, title=f"{ranking.title} over all data sets", note=note)
    if differences is not None:
        title = f"{differences.title} of all data sets"
        told["joined_differences"] = replace(differences, title=title, note=f"{differences.note} {_EACH}{alone}")
    return told
