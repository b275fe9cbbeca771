"""What stands between numbers: which kinds harm alike (Figs. 8 and 9), and which model comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from auscult.outcome import Undefined
from auscult.report.tables import Table
from auscult.score.stats.change import sample_changes
from auscult.score.stats.correlation import Correlation, correlation, joined
from auscult.score.stats.ranking import Ranking, rank_by_change, rank_by_score
from auscult.stress.recipe_parts import room_of
from auscult.suites.r2.conditions import CLEAN, MIXES
from auscult.suites.r2.measures import PAPER_LEVELS, View, static_of
from auscult.suites.r2.tables import group_name, is_baseline, levels_only, metric_name

_ROOMS: Final = {"vision": "pictures", "sentences": "sentences", "sound": "sound", "timing": "timing", "masks": "masks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A ranking and what it ranks by.

    Attributes:
        name: Fit for a file's name.
        title: What it ranks by.
        ranking: The ranking; Undefined where models have no case in common.
    """

    name: str
    title: str
    ranking: Ranking | Undefined


def correlations_of(view: View, metric: str) -> dict[str, Correlation]:
    """Room of the kinds to the correlation of their changes, case by case, over all models joined.

    Rooms with fewer than two kinds are left out, and so are baselines, whose changes are none or chance.
    """
    rooms: dict[str, dict[str, dict[object, object]]] = {}
    for group, part in view.grid.groups():
        if group in MIXES:
            continue
        parts = {}
        for model in view.grid.models:
            static = static_of(view, model, (group, part))
            if static and view.grid.asked(model, CLEAN) and not is_baseline(model):
                parts[model] = sample_changes(view.scores(model, static, metric))
        if parts:
            rooms.setdefault(room_of(group), {})[group_name(group, part)] = joined(parts)  # type: ignore[assignment]
    return {room: correlation(kinds) for room, kinds in rooms.items() if len(kinds) > 1}  # type: ignore[arg-type]


def rankings_of(view: View, metric: str) -> list[Ranks]:
    """Rankings by the clean score, and for each mix by what is lost; none of fewer than two models."""
    models = [model for model in view.grid.models if view.grid.asked(model, CLEAN)]
    if len(models) < 2:
        return []
    told = metric_name(metric)
    values = {model: view.values(model, CLEAN, metric) for model in models}
    found = [
        Ranks(
            name="clean",
            title=f"clean {told}",
            ranking=rank_by_score(values, clusters=view.grid.cases, rng=view.rng("levels")),
        )
    ]
    for group, part in view.grid.groups():
        stressed = [model for model in models if static_of(view, model, (group, part))]
        shared = static_of(view, stressed[0], (group, part)) if len(stressed) > 1 else ()
        shared = tuple(one for one in shared if all(view.grid.asked(model, one.name) for model in stressed))
        if group not in MIXES or not shared:
            continue
        scores = {model: view.scores(model, shared, metric) for model in stressed}
        levels = [one.level for one in shared]
        found.append(
            Ranks(
                name=f"loss_{group}" + ("" if part == "all" else f"_{part}"),
                title=f"least {told} lost, {group_name(group, part)}{levels_only(levels, PAPER_LEVELS)}",
                ranking=rank_by_change(scores, clusters=view.grid.cases, rng=view.rng("levels")),
            )
        )
    return found


def ranking_table(ranks: list[Ranks]) -> Table | None:
    """Every ranking, best first."""
    rows = []
    for one in ranks:
        if isinstance(one.ranking, Undefined):
            continue
        for row in one.ranking.rows:
            ends = "" if row.place_low is None else f" [{row.place_low}, {row.place_high}]"
            first = "–" if row.first is None else f"{100 * row.first:.0f} %"
            rows.append((one.title, f"{row.place}{ends}", row.model, f"{100 * row.value:+.1f}", first))
    if not rows:
        return None
    return Table(
        title="Ranking of the models",
        header=("ranked by", "place", "model", "value, percent", "first in"),
        rows=tuple(rows),
        note="In brackets: 90 % interval of the place, over drawn clips. First in: the share of draws that it wins. On "
        "the cases that all models have.",
    )


def correlation_table(room: str, found: Correlation) -> Table:
    """One matrix, likes beside one another."""
    places = [found.kinds.index(name) for name in found.order]
    rows = tuple(
        (found.kinds[row], *(_coefficient(float(found.values[row, column])) for column in places)) for row in places
    )
    return Table(
        title=f"Correlation of the changes, kinds of {_ROOMS.get(room, room)}",
        header=("kind", *found.order),
        rows=rows,
        note="Pearson's r over cases of all models; n/a where a kind changes nothing or too few cases have both. "
        "Ordered by average-linkage clustering.",
    )


def _coefficient(value: float) -> str:
    return "n/a" if value != value else f"{value:+.2f}"  # noqa: PLR0124 - NaN


def room_words(room: str) -> str:
    """What the kinds of a room perturb."""
    return _ROOMS.get(room, room)


__all__ = ["Ranks", "correlation_table", "correlations_of", "ranking_table", "rankings_of", "room_words"]
