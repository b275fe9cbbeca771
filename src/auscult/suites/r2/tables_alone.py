"""Tables of kinds alone, of breaking points, and of static against dynamic."""

from __future__ import annotations

from collections.abc import Sequence

from auscult.report.tables import Table
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.measures import Number
from auscult.suites.r2.tables import (
    CASES,
    PERCENT,
    Index,
    averaged,
    cases_text,
    group_name,
    levels_only,
    main_metric,
    metric_name,
    number_text,
    signed,
)


def kinds_table(index: Index) -> Table | None:
    """Fig. 7 as a table: the change by each kind alone."""
    metric = main_metric(index)
    kinds = [(group, part) for group, part in index.groups() if group not in MIXES]
    if not kinds:
        return None
    models = index.stressed()
    levels = {(model, place): index.levels(model, *place) for model in models for place in kinds}
    over = averaged(level for found in levels.values() for level in found)
    rows = []
    for group, part in kinds:
        cells = [index.get("apc", model, metric, group=group, part=part) for model in models]
        breaks = [index.get("breaking", model, metric, group=group, part=part) for model in models]
        rows.append(
            (
                group_name(group, part),
                *(
                    number_text(one, points=True, interval=True)
                    + (levels_only(levels[model, (group, part)], over) if one is not None else "")
                    for model, one in zip(models, cells, strict=True)
                ),
                *(_strength(one) for one in breaks),
                cases_text(cells),
            )
        )
    return Table(
        title=f"Average change by kind, {metric_name(metric)}",
        header=("kind", *models, *(f"half lost at, {model}" for model in models), "cases"),
        rows=tuple(rows),
        note=f"Mean over {', '.join(over) or 'no level'}. Half lost: the strength (1 low, 3 medium, 5 high) at which "
        f"half of the clean score is gone; above: not at the strongest that was asked. {CASES} {PERCENT}",
    )


def _strength(number: Number | None) -> str:
    """A breaking point; what lies above every strength that was asked says above which."""
    if number is None:
        return "–"
    if number.value is None and number.beyond is None:
        return "n/a"
    open_end = "" if number.beyond is None else f"above {number.beyond:g}"
    text = open_end if number.value is None else f"{number.value:.1f}"
    if number.low is None and (number.value is None or not open_end):
        return text
    low, high = (open_end if end is None else f"{end:.1f}" for end in (number.low, number.high))
    return f"{text} [{low}, {high}]"


def breaking_table(index: Index) -> Table | None:
    """The breaking point of every model, by what is perturbed; None where no mix was asked about."""
    metric = main_metric(index)
    groups = [(group, part) for group, part in index.groups() if group in MIXES]
    if not groups:
        return None
    rows = [
        (model, *(_strength(index.get("breaking", model, metric, group=group, part=part)) for group, part in groups))
        for model in index.stressed()
    ]
    return Table(
        title=f"Breaking point: the strength at which half of the clean {metric_name(metric)} is lost",
        header=("model", *(group_name(group, part) for group, part in groups)),
        rows=tuple(rows),
        note="Strength 1 is low, 3 medium, 5 high; between them straight lines. Above: not lost at the strongest "
        f"that was asked. {_curves_told(index, groups)}In brackets: 95 % interval over clips.",
    )


def _curves_told(index: Index, groups: Sequence[tuple[str, str]]) -> str:
    """Which strengths breaking points were sought between, and of which column where these differ."""
    told: dict[str, list[str]] = {}
    for place in groups:
        for model in index.stressed():
            levels = index.curve(model, *place)
            if levels:
                told.setdefault(", ".join(levels), []).append(f"{model}, {group_name(*place)}")
    if len(told) < 2:
        return "".join(f"Asked at {levels}. " for levels in told)
    return "".join(f"Asked at {levels}: {'; '.join(whom)}. " for levels, whom in told.items())


def dynamic_table(index: Index) -> Table | None:
    """Fig. 10 as a table: static against dynamic."""
    metric = main_metric(index)
    gaps = [one for one in index.of("dynamic_gap") if one.metric == metric and not one.split]
    if not gaps:
        return None
    rows = []
    for one in gaps:
        static, moving = (
            index.get(measure, one.model, metric, group=one.group, part=one.part)
            for measure in ("gap_static", "gap_dynamic")
        )
        rows.append(
            (
                one.model,
                group_name(one.group, one.part),
                number_text(static, points=True, interval=True),
                number_text(moving, points=True, interval=True),
                signed(one),
                cases_text([one]),
            )
        )
    return Table(
        title=f"Static against dynamic, {metric_name(metric)}",
        header=("model", "perturbed", "static APC", "dynamic - clean", "dynamic - static", "cases"),
        rows=tuple(rows),
        note="A row is of the cases that have clean, low, medium, high and dynamic. Dynamic - static below 0: what "
        f"changes from frame to frame does more harm. {PERCENT}",
    )
