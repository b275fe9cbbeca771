"""Figures of AVI-Bench from task scores: maps of ranks and scores (Figs. 3 to 5), why its formulas (Figs. 6, 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from auscult.report.charts.maps import MAX_ROWS, MapColumn, MapPoint, Surface, heat_map, surfaces
from auscult.report.charts.marks import Words
from auscult.report.drawing import Drawing
from auscult.score.levels import ALPHA, Levels, harmonic_mean, relative_gap
from auscult.score.tasks import STAGES, TASKS
from auscult.types import Doubles

LeaderboardRows: TypeAlias = Sequence[tuple[str, Mapping[str, float], Levels]]
"""Models from the first row down, with their task scores and levels."""

_SQUARES: Final = 25
_SENSES: Final = (("A", 0.9, 0.9), ("B", 0.2, 0.2), ("C", 0.9, 0.7), ("D", 0.3, 0.1), ("E", 0.1, 0.3))  # Table 14
_DOMAINS: Final = (("A", 0.9, 0.85), ("B", 0.9, 0.3), ("C", 0.6, 0.6), ("D", 0.2, 0.15), ("E", 0.3, 0.9))
_BEST_RANK: Final = ("low rank", "rank 1")


def ranks(values: Sequence[float]) -> list[int]:
    """Ranks from 1, the highest; equal numbers share the better one."""
    return [1 + sum(other > value for other in values) for value in values]


def figures(models: LeaderboardRows) -> dict[str, Drawing]:
    """Each figure by the name of its file; of many models the first ``MAX_ROWS`` are drawn, ranked among all."""
    cut = f" (the first {MAX_ROWS} of {len(models)} models)" if len(models) > MAX_ROWS else ""
    stages = (*STAGES, "average")
    of_stages = {stage: [float(getattr(made, stage)) for _, _, made in models] for stage in stages}
    of_tasks = {task: [float(scores[task]) for _, scores, _ in models] for task in TASKS}
    names = [model for model, _, _ in models[:MAX_ROWS]]
    short = {
        "perception": "perc.",
        "understanding": "und.",
        "reasoning": "reas.",
        "sensation": "sens.",
        "average": "avg.",
    }
    begin = {task.name for task in TASKS.values() if task.name in {"VAR", "AVH", "ASQA"}}
    rank_words = Words(axis="rank among the models, 1 is the highest", digits=0)
    return {
        "stage_ranks": heat_map(
            names,
            [_ranked(short[stage], values, apart=stage == "average") for stage, values in of_stages.items()],
            Words(axis=rank_words.axis, digits=0, heading=f"Ranks by stage{cut}"),
            ends=_BEST_RANK,
        ),
        "task_scores": heat_map(
            names,
            [
                MapColumn(name=task, values=tuple(values[:MAX_ROWS]), low=0.0, high=100.0, apart=task in begin)
                for task, values in of_tasks.items()
            ],
            Words(axis="percent, higher is better", digits=1, heading=f"Scores by task{cut}"),
            ends=("0", "100"),
        ),
        "task_ranks": heat_map(
            names,
            [_ranked(task, values, apart=task in begin) for task, values in of_tasks.items()],
            Words(axis=rank_words.axis, digits=0, heading=f"Ranks by task{cut}"),
            ends=_BEST_RANK,
        ),
        "why_relative": why_relative(),
        "why_harmonic": why_harmonic(),
    }


def _ranked(name: str, values: Sequence[float], *, apart: bool) -> MapColumn:
    found = tuple(float(rank) for rank in ranks(values)[:MAX_ROWS])
    return MapColumn(name=name, values=found, low=float(max(len(values), 2)), high=1.0, apart=apart)


def why_relative() -> Drawing:
    """Fig. 6: models of Table 14 by the absolute and the relative difference of what they hear and see."""
    return surfaces(
        [
            _surface("|A - V|", lambda audio, visual: np.abs(audio - visual), _SENSES, worst=1.0, best=0.0),
            _surface("2 |A - V| / (A + V)", relative_gap, _SENSES, worst=2.0, best=0.0),
        ],
        [MapPoint(name=name, x=x, y=y) for name, x, y in _SENSES],
        Words(axis="difference of the senses, 0 is balanced", heading="Why the modality gap is relative (Eq. 2)"),
        axes=("A, audio score", "V, visual score"),
        ends=("1 and 2", "0"),
    )


def why_harmonic() -> Drawing:
    """Fig. 7: level 4 as a harmonic mean, and as a penalty of the kind that levels 2 and 3 have."""

    def penalised(familiar: Doubles, unfamiliar: Doubles) -> Doubles:
        return (1 - ALPHA * relative_gap(familiar, unfamiliar)) * familiar

    return surfaces(
        [
            _surface("harmonic mean (Eq. 7)", harmonic_mean, _DOMAINS, worst=0.0, best=1.0),
            _surface("(1 - gap / 2) x familiar", penalised, _DOMAINS, worst=0.0, best=1.0),
        ],
        [MapPoint(name=name, x=x, y=y) for name, x, y in _DOMAINS],
        Words(axis="level 4: B and E have exchanged scores", heading="Why level 4 is a harmonic mean (Eq. 7)"),
        axes=("familiar, level 3", "unfamiliar"),
        ends=("0", "1"),
    )


def _surface(
    name: str,
    of: Callable[[Doubles, Doubles], Doubles],
    points: Sequence[tuple[str, float, float]],
    *,
    worst: float,
    best: float,
) -> Surface:
    middles = (np.arange(_SQUARES) + 0.5) / _SQUARES
    across, up = np.meshgrid(middles, middles[::-1])
    places = np.array([(x, y) for _, x, y in points])
    return Surface(
        name=name,
        values=tuple(tuple(map(float, row)) for row in of(across, up)),
        at_points=tuple(map(float, of(places[:, 0], places[:, 1]))),
        low=worst,
        high=best,
    )
