"""Computes the numbers of a grid: levels, changes, ranks, breaking points, differences; with interval and counts.

=============  ===================================================================================================
level          the mean of a metric under one condition; a ratio of pixels for a pooled metric such as oIoU
apc            mean over low, medium and high of perturbed minus clean (R2-Bench, Tables 3 to 6)
apc_relative   the share of the clean score that is lost
apc_dynamic    dynamic minus clean (Fig. 10)
dynamic_gap    dynamic change minus static change, case by case; needs low, medium and high
gap_static     the static change, over the cases of the gap
gap_dynamic    the dynamic change, over the same cases
breaking       the strength at which half of the clean score is lost; the strongest one tested if less is lost there
=============  ===================================================================================================

Intervals are of 95 %, by drawing whole clips or photographs; all numbers of a run use the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from auscult.outcome import Failed, Outcome, Undefined
from auscult.score.stats.breaking import breaking_point
from auscult.score.stats.change import (
    RatioColumns,
    SampleValues,
    Scores,
    change_difference,
    change_interval,
    common,
    mean_of_ratios,
    mean_ratio,
    ratio_change,
    sample_changes,
)
from auscult.score.stats.correlation import Correlation, correlation, joined
from auscult.score.stats.few_clusters import CORRELATION, GAP, SHARE
from auscult.score.stats.ranking import DataSet as RankedSet
from auscult.score.stats.ranking import Ranking, rank_by_change_over, rank_by_score_over
from auscult.stress.recipe_parts import room_of
from auscult.suites.core.conditions import CLEAN, DYNAMIC, Condition, is_mix, part_name
from auscult.suites.core.numbers import (
    CLEAN_GROUP,
    PAPER_LEVELS,
    ConditionGroup,
    GridView,
    Number,
    ValueMap,
    level_numbers,
    levels_only,
    mean_value,
    minus,
)

NOT_ALL_LEVELS: Final = "low, medium and high are needed"
"""Why there is no ``dynamic_gap``: dynamic draws from all three levels."""


def numbers_of(view: GridView) -> tuple[Number, ...]:
    """Every number of a run except correlations and ranks."""
    numbers: list[Number] = []
    for model in view.grid.models:
        for metric in view.metrics:
            numbers += level_numbers(view, model, metric)
            for group in view.grid.groups():
                numbers += _changes(view, model, metric, group=group)
        for metric in (*([view.grid.task.pooled] if view.grid.task.pooled else []), *view.grid.task.class_wise):
            numbers += _pooled(view, model, metric)
    numbers += _differences(view)
    return tuple(numbers)


def _pooled(view: GridView, model: str, metric: str) -> Iterator[Number]:
    for condition in view.grid.conditions:
        if view.grid.is_complete(model, condition.name):
            outcome = mean_of_ratios(view.ratios(model, condition.name, metric), **view.interval_options(SHARE))
            yield view.number("level", condition, outcome=outcome, model=model, metric=metric)
    for group in view.grid.groups():
        static = static_of(view, model, group)
        if static and view.grid.is_complete(model, CLEAN):
            parts = [view.ratios(model, name, metric) for name in (CLEAN, *(condition.name for condition in static))]
            change = ratio_change(parts, **view.interval_options(CORRELATION))
            columns = _columns(view, model, metric, group=group)
            yield view.number("apc", group, outcome=change, model=model, metric=metric, columns=columns)


def static_of(view: GridView, model: str, group: ConditionGroup) -> tuple[Condition, ...]:
    """The conditions of constant strength with results of a model: the paper's three, if it has them, else all."""
    curve = _curve(view, model, group)
    printed = [condition for condition in curve if condition.level in PAPER_LEVELS]
    return tuple(printed or curve)


def _curve(view: GridView, model: str, group: ConditionGroup) -> list[Condition]:
    """All conditions of constant strength with results of a model."""
    conditions = (condition for condition in view.grid.of_group(*group) if condition.strength is not None)
    return [condition for condition in conditions if view.grid.is_complete(model, condition.name)]


def _columns(view: GridView, model: str, metric: str, *, group: ConditionGroup) -> dict[str, float]:
    """Clean and every level over the cases of the change, so that a row of a table is over the same cases."""
    static = static_of(view, model, group)
    get = partial(view.ratios, model, metric=metric)
    behind = {CLEAN: get(CLEAN), **{condition.level: get(condition.name) for condition in static}}
    columns = _ratios(behind)
    for condition in _curve(view, model, group):
        if condition not in static and columns:
            ratios = _ratios({**behind, condition.level: get(condition.name)})
            columns |= {level: value for level, value in ratios.items() if level == condition.level}
    return columns


def _ratios(parts: Mapping[str, RatioColumns]) -> dict[str, float]:
    """Every level over the cases that all levels have; empty without such cases, or if all denominators are 0."""
    shared = common([column for part in parts.values() for ratio in part for column in ratio]).values
    sums = iter(shared.sum(axis=1) if shared.size else np.zeros(len(shared)))
    by_level = {}
    for level, part in parts.items():
        pairs = [(next(sums), next(sums)) for _ in part]
        shares = [float(top / bottom) for top, bottom in pairs if bottom > 0]
        if shares:
            by_level[level] = sum(shares) / len(shares)
    return by_level


def dynamic_of(view: GridView, model: str, group: ConditionGroup) -> Condition | None:
    """The dynamic condition of a group, if the model has results under it."""
    conditions = (condition for condition in view.grid.of_group(*group) if condition.strength is None)
    return next((condition for condition in conditions if view.grid.is_complete(model, condition.name)), None)


def _changes(view: GridView, model: str, metric: str, *, group: ConditionGroup) -> Iterator[Number]:
    if not view.grid.is_complete(model, CLEAN):
        return
    number = partial(view.number, condition=group, model=model, metric=metric)
    static, dynamic = static_of(view, model, group), dynamic_of(view, model, group)
    if static:
        scores, columns = view.scores(model, static, metric), _columns(view, model, metric, group=group)
        yield number("apc", outcome=change_interval(scores, **view.interval_options(CORRELATION)), columns=columns)
        yield number("apc_relative", outcome=change_interval(scores, variant="relative", **view.interval_options()))
        curve = view.scores(model, _curve(view, model, group), metric)
        yield number("breaking", outcome=breaking_point(curve, **view.interval_options()))
    if dynamic is not None:
        scores = view.scores(model, [dynamic], metric)
        yield number("apc_dynamic", outcome=change_interval(scores, **view.interval_options(CORRELATION)))
        if static:
            for measure, outcome in _gap(view, model, metric, static=static, dynamic=dynamic).items():
                yield number(measure, outcome=outcome)


def _gap(
    view: GridView, model: str, metric: str, *, static: Sequence[Condition], dynamic: Condition
) -> dict[str, Outcome[float]]:
    """The gap, and the static and the dynamic change over its cases."""
    if {condition.level for condition in static} != set(PAPER_LEVELS):  # a mean over other strengths is not comparable
        return {"dynamic_gap": Undefined(NOT_ALL_LEVELS)}
    columns = [view.values(model, condition.name, metric) for condition in (view.grid.conditions[0], *static, dynamic)]
    cases = [case for case in view.cases if all(case in column for column in columns)]
    means: ValueMap = {case: mean_value([column[case] for column in columns]) for case in cases}
    unscored = {case: value for case, value in means.items() if isinstance(value, Failed | Undefined)}
    clean, *levels, last = ({case: column[case] for case in cases} | unscored for column in columns)
    level: ValueMap = {case: mean_value([column[case] for column in levels]) for case in cases}
    static_scores = Scores(
        clean=clean, levels={condition.level: column for condition, column in zip(static, levels, strict=True)}
    )
    dynamic_scores = Scores(clean=clean, levels={DYNAMIC: last})
    pair = [Scores(clean=clean, levels={"dynamic - static": column}) for column in (last, level)]
    return {
        "dynamic_gap": change_difference(*pair, **view.interval_options(CORRELATION)),
        "gap_static": change_interval(static_scores, **view.interval_options(CORRELATION)),
        "gap_dynamic": change_interval(dynamic_scores, **view.interval_options(CORRELATION)),
    }


def _differences(view: GridView) -> Iterator[Number]:
    """Differences of every two models on their common cases: of scores under each condition, and of changes."""
    for pair in view.pairs():
        for metric in view.metrics:
            yield from _between(view, pair, metric)


def _between(view: GridView, pair: tuple[str, str], metric: str) -> Iterator[Number]:
    name, signature = f"{pair[0]} - {pair[1]}", _of_both(view, pair, metric)
    number = partial(view.number, model=name, metric=metric, signature=signature)
    for condition in view.grid.conditions:
        if all(view.grid.is_complete(model, condition.name) for model in pair):
            first, second = (view.values(model, condition.name, metric) for model in pair)
            gap: ValueMap = {case: minus(first[case], second[case]) for case in first if case in second}
            yield number("difference", condition, outcome=mean_ratio(gap, **view.interval_options(CORRELATION)))
    for group in view.grid.groups():
        shared = [
            condition for condition in static_of(view, pair[0], group) if view.grid.is_complete(pair[1], condition.name)
        ]
        if shared:
            both = [view.scores(model, shared, metric) for model in pair]
            yield number("apc_difference", group, outcome=change_difference(*both, **view.interval_options(GAP)))


def _of_both(view: GridView, pair: tuple[str, str], metric: str) -> dict[str, Any]:
    """The joint signature of two models' scores, with the thresholds of both."""
    first, second = (dict(view.grid.signature(model, metric)) for model in pair)
    unlike = {key: f"{first[key]} - {second[key]}" for key in first if first[key] != second.get(key, first[key])}
    return {**second, **first, **unlike}


# --- correlations of kinds (Figs. 8 and 9) and rankings of models ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A ranking and its criterion."""

    name: str  # for files
    title: str  # the criterion
    ranking: Ranking | Undefined  # Undefined if the models share no case
    without: tuple[str, ...] = ()  # models left out, for lack of scores


PERFORMANCE: Final = "performance"


def correlations_over(views: Mapping[str, GridView], metric: str) -> dict[str, Correlation]:
    """Correlations of a room's kinds over all models except baselines; none for fewer than two kinds.

    ``vision`` correlates the changes by its kinds, ``vision_performance`` the scores under them, which also depend on
    how hard a case is without perturbation (R2-Bench Figs. 8 and 9 use performance).
    """
    changes = _correlations(views, metric, by_model=changes_by_model, of="changes")
    scores = _correlations(views, metric, by_model=_scores_by_model, of=PERFORMANCE)
    return {
        name: matrix
        for room, change in changes.items()
        for name, matrix in ((room, change), (f"{room}_{PERFORMANCE}", scores[room]))
    }


def _correlations(
    views: Mapping[str, GridView], metric: str, *, by_model: Callable[..., dict[str, SampleValues]], of: str
) -> dict[str, Correlation]:
    groups = dict.fromkeys(group for view in views.values() for group in view.grid.groups() if not is_mix(group[0]))
    rooms: dict[str, dict[str, SampleValues]] = {}
    for group in groups:
        parts = {
            (model, name): changes
            for name, view in views.items()
            for model, changes in by_model(view, group, metric).items()
        }
        if parts:
            words = next(iter(views.values())).grid.task.group_name(*group)
            rooms.setdefault(room_of(group[0]), {})[words] = joined(parts)
    return {room: correlation(kinds, of=of) for room, kinds in rooms.items() if len(kinds) > 1}


def _scores_by_model(view: GridView, group: ConditionGroup, metric: str) -> dict[str, SampleValues]:
    """The mean score over strengths by sample, for the models of ``changes_by_model``."""
    by_model: dict[str, SampleValues] = {}
    for model in changes_by_model(view, group, metric):
        columns = [view.values(model, condition.name, metric) for condition in static_of(view, model, group)]
        shared = [case for case in columns[0] if all(case in column for column in columns)]
        by_model[model] = {case: mean_value([column[case] for column in columns]) for case in shared}
    return by_model


def changes_by_model(view: GridView, group: ConditionGroup, metric: str) -> dict[str, SampleValues]:
    """The change by sample of each model, except baselines and models without results."""
    by_model: dict[str, SampleValues] = {}
    for model in view.grid.task.tested(view.models):
        static = static_of(view, model, group)
        if static:
            by_model[model] = sample_changes(view.scores(model, static, metric))
    return by_model


def levels_asked(views: Iterable[GridView], models: Sequence[str], group: ConditionGroup) -> tuple[str, ...]:
    """The levels of constant strength with results of each of these models on every data set."""
    levels = [[condition.level for condition in static_of(view, model, group)] for view in views for model in models]
    return tuple(level for level in levels[0] if all(level in other for other in levels)) if levels else ()


def scores_at(view: GridView, model: str, metric: str, *, group: ConditionGroup, levels: Iterable[str]) -> Scores:
    """A model's clean scores and those at some levels of a group."""
    by_level = {condition.level: condition for condition in view.grid.of_group(*group)}
    return view.scores(model, [by_level[level] for level in levels], metric)


def asked_clean(views: Mapping[str, GridView]) -> list[str]:
    """The models with results of the clean input of every data set."""
    first = next(iter(views.values()))
    return [model for model in first.models if all(model in view.models for view in views.values())]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedModels:
    """The models of a ranking."""

    group: ConditionGroup  # the mix whose loss ranks them; ``CLEAN_GROUP`` for the clean score
    levels: tuple[str, ...]  # of the group, with results of all of them
    models: list[str]  # with a case scored clean and at all levels, on every data set
    without: tuple[str, ...]  # the others, with which no case would be common


def ranked_models(views: Mapping[str, GridView], metric: str) -> Iterator[RankedModels]:
    """The models that can be ranked over one data set or several: by the clean score, and by the loss of each mix."""
    groups = next(iter(views.values())).grid.groups()
    for group in (CLEAN_GROUP, *(group for group in groups if is_mix(group[0]))):
        # each by its own levels: one left out may have fewer than the others share
        levels_by_model = {model: levels_asked(views.values(), [model], group) for model in asked_clean(views)}
        levels_by_model = {model: levels for model, levels in levels_by_model.items() if levels}
        scores = {
            model: [scores_at(view, model, metric, group=group, levels=levels) for view in views.values()]
            for model, levels in levels_by_model.items()
        }
        models = [model for model, parts in scores.items() if all(common(part.columns).samples for part in parts)]
        without = tuple(model for model in levels_by_model if model not in models)
        levels = levels_asked(views.values(), models, group)
        yield RankedModels(group=group, levels=levels, models=models, without=without)


def rankings_of(views: Mapping[str, GridView], metric: str) -> list[Ranks]:
    """Rankings by clean score and by loss under each mix; none for fewer than two models with a score."""
    task, rankings = next(iter(views.values())).grid.task, []
    label = task.metric_name(metric)
    for ranked in ranked_models(views, metric):
        if len(ranked.models) < 2 or not ranked.levels:
            continue
        by_loss, sets = ranked.group != CLEAN_GROUP, dict[str, RankedSet[Any]]()
        for name, view in views.items():
            scores = {
                model: scores_at(view, model, metric, group=ranked.group, levels=ranked.levels)
                for model in ranked.models
            }
            sets[name] = RankedSet(
                models=scores if by_loss else {model: score.clean for model, score in scores.items()},
                clusters=view.grid.cases,
                rng=view.rng("joined", name) if len(views) > 1 else view.rng("levels"),
            )
        loss_title = f"least {label} lost, {task.group_name(*ranked.group)}{levels_only(ranked.levels, PAPER_LEVELS)}"
        rankings.append(
            Ranks(
                name=part_name("loss", *ranked.group) if by_loss else "clean",
                title=loss_title if by_loss else f"clean {label}",
                ranking=rank_by_change_over(sets) if by_loss else rank_by_score_over(sets),
                without=ranked.without,
            )
        )
    return rankings


def unranked(ranks: Iterable[Ranks]) -> list[str]:
    """Sentences on the models and rankings that are missing, with reasons."""
    notes = []
    for ranked in ranks:
        if ranked.without:
            names = ", ".join(ranked.without)
            notes.append(f"Left out of the ranking by {ranked.title}, without a score to rank: {names}.")
        if isinstance(ranked.ranking, Undefined):
            notes.append(f"No ranking by {ranked.title}: {ranked.ranking.reason}.")
    return notes
