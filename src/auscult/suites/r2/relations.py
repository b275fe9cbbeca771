"""What stands between numbers: which kinds harm alike (Figs. 8 and 9), and which model comes first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.outcome import Undefined
from auscult.report.tables import Table
from auscult.score.stats.change import sample_changes
from auscult.score.stats.correlation import Correlation, correlation, joined
from auscult.score.stats.ranking import Ranking, rank_by_change, rank_by_score
from auscult.score.stats.samples import common
from auscult.stress.recipe_parts import room_of
from auscult.suites.core.conditions import CLEAN, Condition
from auscult.suites.core.numbers import PAPER_LEVELS, GridCell, GridColumns, percent
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.measures import static_of
from auscult.suites.r2.tables import group_name, is_baseline, levels_only, metric_name

_ROOMS: Final = {"vision": "pictures", "sentences": "sentences", "sound": "sound", "timing": "timing", "masks": "masks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A ranking and what it ranks by.

    Attributes:
        name: Fit for a file's name.
        title: What it ranks by.
        ranking: The ranking; Undefined where models have no case in common.
        without: Models that are left out, since they have no score of what is ranked.
    """

    name: str
    title: str
    ranking: Ranking | Undefined
    without: tuple[str, ...] = ()


def correlations_of(view: GridColumns, metric: str) -> dict[str, Correlation]:
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


def rankings_of(view: GridColumns, metric: str) -> list[Ranks]:
    """Rankings by the clean score, and for each mix by what is lost; none of fewer than two models with a score."""
    asked = [model for model in view.grid.models if view.grid.asked(model, CLEAN)]
    told = metric_name(metric)
    clean = view.grid.conditions[:1]
    models = _scored(view, metric, dict.fromkeys(asked, clean))
    found = []
    if len(models) > 1:
        values = {model: view.values(model, CLEAN, metric) for model in models}
        ranking = rank_by_score(values, clusters=view.grid.cases, rng=view.rng("levels"))
        found.append(Ranks(name="clean", title=f"clean {told}", ranking=ranking, without=_others(asked, models)))
    for group, part in view.grid.groups():
        if group not in MIXES:
            continue
        met = {model: static_of(view, model, (group, part)) for model in asked}
        met = {model: static for model, static in met.items() if static}
        # first those without any: they may have been asked at fewer levels than the others share
        stressed = _scored(view, metric, {model: (*clean, *static) for model, static in met.items()})
        shared = _shared(view, stressed, (group, part))
        if len(stressed) < 2 or not shared:
            continue
        scores = {model: view.scores(model, shared, metric) for model in stressed}
        levels = [one.level for one in shared]
        found.append(
            Ranks(
                name=f"loss_{group}" + ("" if part == "all" else f"_{part}"),
                title=f"least {told} lost, {group_name(group, part)}{levels_only(levels, PAPER_LEVELS)}",
                ranking=rank_by_change(scores, clusters=view.grid.cases, rng=view.rng("levels")),
                without=_others(met, stressed),
            )
        )
    return found


def _scored(view: GridColumns, metric: str, conditions: Mapping[str, Sequence[Condition]]) -> list[str]:
    """The models with a case that is scored under all of their conditions; one without would leave none to others."""
    return [
        model
        for model, mine in conditions.items()
        if common([view.values(model, one.name, metric) for one in mine]).samples
    ]


def _shared(view: GridColumns, models: Sequence[str], place: GridCell) -> tuple[Condition, ...]:
    """The conditions of constant strength under which all of the models were asked."""
    found = static_of(view, models[0], place) if models else ()
    return tuple(one for one in found if all(view.grid.asked(model, one.name) for model in models))


def _others(asked: Iterable[str], ranked: Collection[str]) -> tuple[str, ...]:
    return tuple(model for model in asked if model not in ranked)


def unranked(ranks: Iterable[Ranks]) -> list[str]:
    """Who is in no ranking and why, and which ranking there is not, in sentences."""
    found = []
    for one in ranks:
        if one.without:
            found.append(f"Left out of the ranking by {one.title}, without a score to rank: {', '.join(one.without)}.")
        if isinstance(one.ranking, Undefined):
            found.append(f"No ranking by {one.title}: {one.ranking.reason}.")
    return found


_RANKED: Final = (
    "In brackets: 90 % interval of the place, over drawn clips. First in: the share of draws that it wins. On the "
    "cases that all of these models have."
)


def ranking_table(ranks: list[Ranks]) -> Table | None:
    """Every ranking, best first."""
    rows = []
    for one in ranks:
        if isinstance(one.ranking, Undefined):
            continue
        for row in one.ranking.rows:
            ends = "" if row.place_low is None else f" [{row.place_low}, {row.place_high}]"
            first = "–" if row.first is None else f"{100 * row.first:.0f} %"
            rows.append(
                (one.title, f"{row.place}{ends}", row.model, percent(row.value, points=one.name != "clean"), first)
            )
    if not rows:
        return None
    return Table(
        title="Ranking of the models",
        header=("ranked by", "place", "model", "value, percent", "first in"),
        rows=tuple(rows),
        note=" ".join((_RANKED, *unranked(ranks))),
    )


def strengths_text(views: Iterable[GridColumns], room: str) -> str:
    """Of which strengths the changes of the kinds of a room are the means, in a sentence."""
    told: dict[str, dict[str, None]] = {}
    for view in views:
        for place in view.grid.groups():
            models = [one for one in view.grid.models if not is_baseline(one)] if room_of(place[0]) == room else []
            for model in models:
                levels = ", ".join(one.level for one in static_of(view, model, place))
                told.setdefault(levels, {})[group_name(*place)] = None
    each = [(levels, ", ".join(kinds)) for levels, kinds in told.items() if levels]
    if len(each) < 2:
        return "".join(f"A change is the mean over {levels}." for levels, _ in each)
    return f"A change is the mean over {'; '.join(f'{levels} ({kinds})' for levels, kinds in each)}."


def correlation_table(room: str, found: Correlation, over: str) -> Table:
    """One matrix, likes beside one another; ``over`` says which strengths a change is of."""
    places = [found.kinds.index(name) for name in found.order]
    rows = tuple(
        (found.kinds[row], *(_coefficient(float(found.values[row, column])) for column in places)) for row in places
    )
    return Table(
        title=f"Correlation of the changes, kinds of {_ROOMS.get(room, room)}",
        header=("kind", *found.order),
        rows=rows,
        note="Pearson's r over cases of all models; n/a where a kind changes nothing or too few cases have both. "
        f"Ordered by average-linkage clustering. {over}",
    )


def _coefficient(value: float) -> str:
    return "n/a" if value != value else f"{round(value, 2) + 0.0:+.2f}"  # noqa: PLR0124 - NaN


def room_words(room: str) -> str:
    """What the kinds of a room perturb."""
    return _ROOMS.get(room, room)


__all__ = [
    "Ranks",
    "correlation_table",
    "correlations_of",
    "ranking_table",
    "rankings_of",
    "room_words",
    "strengths_text",
    "unranked",
]
