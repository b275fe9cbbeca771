"""Numbers as charts: score over strength, changes by kind, static against dynamic, correlations, ranks, splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from auscult.errors import UsageError
from auscult.outcome import Undefined
from auscult.report.charts.bars import BarGroup, PairedBar, Rank, TypeBars, apc_bars, paired, seen_unseen
from auscult.report.charts.bars import ranks as ranks_chart
from auscult.report.charts.lines import Matrix, StrengthLine, matrix, robustness_lines
from auscult.report.charts.marks import MAX_MODELS, MAX_TYPES, ChartEstimate, Words
from auscult.report.page import Figure
from auscult.score.stats.correlation import Correlation
from auscult.stress.perturbation import strength_of
from auscult.stress.recipe_parts import ORIGINS, load_stressors, room_of
from auscult.suites.core.conditions import DYNAMIC, REMOVED, part_name
from auscult.suites.core.measures import PERFORMANCE, Ranks
from auscult.suites.core.numbers import ConditionGroup, Number, estimate
from auscult.suites.core.tables import Index, room_in

_HALF: Final = (
    " A cross: half of the clean score is lost. Horizontal line: the interval of that strength, an arrow where it may "
    "lie above the strongest that was asked."
)


def charts_of(
    index: Index, *, correlations: Mapping[str, Correlation], ranks: Sequence[Ranks], splits: Sequence[str]
) -> list[Figure]:
    """All charts for which there are numbers."""
    if len(index.models()) > MAX_MODELS:
        return []
    charts = [*_curves(index), *_kinds(index), *_dynamics(index), *_correlations(correlations), *_ranks(ranks)]
    if {"seen", "unseen"} <= set(splits):
        charts += _splits(index)
    return charts


def _curves(index: Index) -> Iterator[Figure]:
    """Score over strength for the mixes; single kinds are bars elsewhere."""
    for mix in index.mixes():
        lines = [line for line in (_line(index, model, mix) for model in index.models()) if len(line.at) > 1]
        if lines:
            words = Words(axis=f"{index.metric}, %, higher is better", digits=1)
            breaks = [line.breaks_at for line in lines]
            title = f"{index.metric} over strength, perturbed: {index.task.group_name(*mix)}."
            yield Figure(
                name=part_name("curve", *mix),
                caption=f"{title} With 95 % intervals over clips."
                + _HALF * any(point is not None and (point.value, point.low) != (None, None) for point in breaks),
                drawing=robustness_lines(lines, words),
            )


def _line(index: Index, model: str, group: ConditionGroup) -> StrengthLine:
    clean, breaking = index.get("level", model), index.get("breaking", model, group)
    levels = [
        number
        for number in index.of("level")
        if (number.model, number.metric, number.condition_group, number.split) == (model, index.task.main, group, "")
    ]
    static = sorted(
        (strength_of(number.level), estimate(number)) for number in levels if number.level not in (DYNAMIC, REMOVED)
    )
    dynamic = next((estimate(number) for number in levels if number.level == DYNAMIC), None)
    breaks = None if breaking is None else _break(breaking)
    points = ([(0.0, estimate(clean))] if clean is not None else []) + static
    return StrengthLine(name=model, at=tuple(points), dynamic=dynamic, breaks_at=breaks)


def _break(number: Number) -> ChartEstimate | None:
    """The breaking point, or the strength it is above; None if undefined."""
    if number.value is None and number.beyond is None:
        return None
    return ChartEstimate(value=number.value, low=number.low, high=number.high, beyond=number.beyond)


def _kinds(index: Index) -> Iterator[Figure]:
    """Fig. 7: the change by each kind alone, by origin."""
    models, kinds = index.stressed(), index.kinds()[:MAX_TYPES]
    if not kinds:
        return
    origins = {group: _origin(group) for group, _ in kinds}
    groups = [
        BarGroup(
            name=origin,
            types=tuple(
                TypeBars(
                    name=index.task.group_name(*kind),
                    values=tuple(estimate(index.get("apc", model, kind)) for model in models),
                )
                for kind in kinds
                if origins[kind[0]] == origin
            ),
        )
        for origin in dict.fromkeys([*ORIGINS, *origins.values()])
    ]
    yield Figure(
        name="kinds",
        caption=f"Average change of {index.metric} by kind (mean over the strengths), with 95 % intervals.",
        drawing=apc_bars(
            [group for group in groups if group.types],
            models,
            Words(axis=f"change of {index.metric}, percentage points, below 0 is a loss", digits=1),
        ),
    )


def _origin(group: str) -> str:
    if room_of(group) in {"masks", "timing"}:
        return {"masks": "first mask", "timing": "timing"}[room_of(group)]
    try:
        return str(load_stressors([group])[group].meta.origin)
    except UsageError:  # a plug-in's kind, in a record from a machine that has it
        return "other"


def _dynamics(index: Index) -> Iterator[Figure]:
    """Fig. 10."""
    gaps = index.gaps()
    alone = len({gap.model for gap, _, _ in gaps}) == 1  # then its name is in the caption alone
    pairs = []
    for gap, static, dynamic in gaps:
        name = ("" if alone else f"{gap.model}, ") + index.task.group_name(*gap.condition_group)
        pairs.append(PairedBar(name=name, first=estimate(static), second=estimate(dynamic), difference=estimate(gap)))
    if pairs:
        words = Words(axis=f"change of {index.metric}, percentage points", digits=1)
        yield Figure(
            name="dynamic",
            caption=(f"{gaps[0][0].model}: what" if alone else "What")
            + " does not change within a clip (mean over the strengths) against what changes from frame to frame.",
            drawing=paired(pairs[:MAX_TYPES], ("static", "dynamic"), words),
        )


_CORRELATED: Final[Mapping[str, str]] = {
    "changes": "Which kinds of {} harm the same cases: correlation of the changes",
    PERFORMANCE: "Under which kinds of {} the same cases score high: correlation of performance",
}


def _correlations(correlations: Mapping[str, Correlation]) -> Iterator[Figure]:
    for room, correlation in correlations.items():
        if len(correlation.kinds) > MAX_TYPES:
            continue
        indices = [correlation.kinds.index(name) for name in correlation.order]
        values = tuple(
            tuple(None if (value := float(correlation.values[row, column])) != value else value for column in indices)
            for row in indices
        )
        count = _pairs_of(correlation)
        yield Figure(
            name=f"correlation_{room}",
            caption=f"{_CORRELATED[correlation.of].format(room_in(room))}, case by case, over all models; likes beside "
            "one another" + (f". From {count[0]:,} to {count[-1]:,} cases a pair." if len(count) > 1 else "."),
            drawing=matrix(
                Matrix(names=correlation.order, values=values, n=count[0] if len(count) == 1 else None),
                Words(axis="Pearson's r"),
            ),
        )


def _pairs_of(correlation: Correlation) -> list[int]:
    """The distinct counts of cases that pairs of kinds share."""
    size = len(correlation.kinds)
    return sorted({int(correlation.pairs[row, column]) for row in range(size) for column in range(row)})


def _ranks(ranks: Sequence[Ranks]) -> Iterator[Figure]:
    for ranked in ranks:
        if isinstance(ranked.ranking, Undefined):
            continue
        rows, count = [], ranked.ranking.counts.n
        for row in ranked.ranking.rows:
            low, high = (row.place_low, row.place_high) if row.place_low != row.place_high else (None, None)
            place = ChartEstimate(value=row.place, low=low, high=high, n=count)
            rows.append(Rank(name=row.model, rank=place, first=row.first))
        yield Figure(
            name=f"ranks_{ranked.name}",
            caption=f"Places of the models by {ranked.title}, with 90 % intervals and the probability of being first.",
            drawing=ranks_chart(rows, Words(axis=ranked.title)),
        )


def _splits(index: Index) -> Iterator[Figure]:
    for mix in index.mixes():
        pairs = [
            PairedBar(
                name=model,
                first=estimate(index.get("apc", model, mix, split="seen")),
                second=estimate(index.get("apc", model, mix, split="unseen")),
            )
            for model in index.stressed()
        ]
        yield Figure(
            name=part_name("seen_unseen", *mix),
            caption=f"Change on seen and on unseen categories, perturbed: {index.task.group_name(*mix)}.",
            drawing=seen_unseen(pairs, Words(axis=f"change of {index.metric}, percentage points", digits=1)),
        )
