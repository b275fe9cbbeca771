"""Charts of AVI-Bench: levels as a ladder, and ranks of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auscult.report.charts.bars import BarGroup, TypeBars, apc_bars
from auscult.report.charts.marks import MAX_MODELS, Words
from auscult.report.page import Figure
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.numbers import Number, estimate

_LADDER = {
    "level_1": "level 1, task", "level_2": "level 2, modality", "level_3": "level 3, stage",
    "level_4": "level 4, domain",
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
        caption="The four levels, each at most the one before, with 95 % intervals over clips.",
        drawing=apc_bars(
            [BarGroup(name="levels", types=rows)], there, Words(axis="percent, higher is better", digits=1)
        ),
    )
