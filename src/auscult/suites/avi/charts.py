"""Charts of AVI-Bench: levels as a ladder, and ranks of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auscult.report.charts.bars import BarGroup, TypeBars, apc_bars
from auscult.report.charts.maps import MAX_ROWS, MapColumn, heat_map
from auscult.report.charts.marks import MAX_MODELS, Words
from auscult.report.page import Figure
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.numbers import Number, estimate

_LADDER = {
    "level_1": "level 1, task", "level_2": "level 2, modality", "level_3": "level 3, stage",
    "level_4": "level 4, domain",
}  # fmt: skip

_SHORT = {
    "perception": "perc.", "understanding": "und.", "reasoning": "reas.", "sensation": "sens.",
    "level_1": "L1", "level_2": "L2", "level_3": "L3", "level_4": "L4",
}  # fmt: skip


def ladder_chart(models: Sequence[str], level: Mapping[tuple[str, str, str], Number]) -> Figure | None:
    """The four levels of each model, one below the other; None where no model has level 1."""
    there = [name for name in models if (found := level.get((name, CLEAN, "level_1"))) and found.value is not None]
    if not there or len(there) > MAX_MODELS:
        return None
    rows = tuple(
        TypeBars(name=words, values=tuple(estimate(level.get((model, CLEAN, name))) for model in there))
        for name, words in _LADDER.items()
    )
    return Figure(
        name="ladder",
        caption="The four levels, with 95 % intervals over clips.",
        drawing=apc_bars(
            [BarGroup(name="levels", types=rows)], there, Words(axis="percent, higher is better", digits=1)
        ),
    )


def rank_map(
    models: Sequence[str], names: Sequence[str], level: Mapping[tuple[str, str, str], Number]
) -> Figure | None:
    """Each model's rank in tasks and levels, 1 the highest; None where fewer than two can be ranked."""
    if not 1 < len(models) <= MAX_ROWS:
        return None
    columns = []
    for name in names:
        numbers = [level.get((model, CLEAN, name)) for model in models]
        values = [None if one is None else one.value for one in numbers]
        if any(value is not None for value in values):
            short, last = _SHORT.get(name, name), float(len(models))
            columns.append(MapColumn(name=short, values=_ranks(values), low=last, high=1.0))
    if not columns:
        return None
    return Figure(
        name="ranks",
        caption="Ranks of the models in each task, stage and level; equal numbers share a rank.",
        drawing=heat_map(models, columns, Words(axis="rank, 1 is the highest", digits=0), ends=("last", "first")),
    )


def _ranks(values: Sequence[float | None]) -> tuple[float | None, ...]:
    there = [value for value in values if value is not None]
    return tuple(None if value is None else float(1 + sum(other > value for other in there)) for value in values)
