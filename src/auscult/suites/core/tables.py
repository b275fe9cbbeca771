"""Numbers as tables: the paper's, one row a model, and what the paper has no table for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from auscult.cases.ids import counted
from auscult.outcome import Undefined
from auscult.report.tables import Table
from auscult.score.stats.correlation import Correlation
from auscult.stress.recipe_parts import room_of
from auscult.stress.strength import strength_of
from auscult.suites.core.conditions import CLEAN, DYNAMIC, is_kind, is_mix, words_of
from auscult.suites.core.grid import Grid, Task
from auscult.suites.core.measures import NOT_ALL_LEVELS, Ranks, static_of, unranked
from auscult.suites.core.numbers import (
    PAPER_LEVELS,
    GridCell,
    GridColumns,
    Number,
    averaged,
    levels_only,
    metric_json,
    number_text,
    percent,
)
from auscult.suites.core.results import few

ROOM_WORDS: Final[Mapping[str, str]] = {"vision": "pictures"}
"""What the kinds of a room perturb, where that is not the room's name."""
PERCENT: Final = (
    "Scores are percent; changes are percentage points, below 0 is a loss. In brackets: 95 % interval over clips."
)
CASES: Final = "Cases: of every column in turn, once where all are of as many; in brackets those left out."
_MOVING: Final = ("dynamic", "dynamic - clean")
_CLEAN: Final[GridCell] = (CLEAN, "all")


class Index:
    """Numbers of a task by what they are of."""

    def __init__(self, numbers: Iterable[Number], task: Task) -> None:
        self.numbers, self.task = tuple(numbers), task
        self.metric = task.metric_name(task.main)  # as tables call what one number a model is told in
        self._known = {
            (one.measure, one.model, one.metric, one.group, one.level, one.part, one.split): one for one in self.numbers
        }
        self._levels: dict[tuple[str, ...], set[str]] = {}
        for one in self.numbers:
            if one.level != DYNAMIC:
                self._levels.setdefault((one.measure, one.model, one.group, one.part), set()).add(one.level)

    def get(
        self, measure: str, model: str, place: GridCell = _CLEAN, *, metric: str = "", level: str = "", split: str = ""
    ) -> Number | None:
        """One number, of the main metric where no other is named; None where it was not measured."""
        level = CLEAN if place == _CLEAN else level
        return self._known.get((measure, model, metric or self.task.main, place[0], level, place[1], split))

    def of(self, measure: str) -> tuple[Number, ...]:
        """All of a measure, in their order; those that cannot be for want of levels are shown nowhere."""
        found = (one for one in self.numbers if one.measure == measure)
        return tuple(one for one in found if getattr(one.outcome, "reason", "") != NOT_ALL_LEVELS)

    def models(self) -> tuple[str, ...]:
        """The models, in their order."""
        return tuple(dict.fromkeys(one.model for one in self.of("level")))

    def stressed(self) -> tuple[str, ...]:
        """The models that were asked about anything perturbed."""
        found = {one.model for one in self.of("level") if one.group != "clean"}
        return tuple(model for model in self.models() if model in found)

    def metrics(self) -> tuple[str, ...]:
        """The metrics, in their order."""
        return tuple(dict.fromkeys(one.metric for one in self.of("level")))

    def mixes(self) -> list[GridCell]:
        """The mixes with their part."""
        return [place for place in self._groups() if is_mix(place[0])]

    def kinds(self) -> list[GridCell]:
        """The kinds alone with their part."""
        return [place for place in self._groups() if is_kind(place[0])]

    def _groups(self) -> dict[GridCell, None]:
        return dict.fromkeys(one.place for one in self.of("level"))

    def gaps(self) -> list[tuple[Number, Number | None, Number | None]]:
        """Every dynamic gap of the main metric with the static and the dynamic change behind it."""
        found = [one for one in self.of("dynamic_gap") if one.metric == self.task.main and not one.split]
        return [
            (one, self.get("gap_static", one.model, one.place), self.get("gap_dynamic", one.model, one.place))
            for one in found
        ]

    def levels(self, model: str, group: str, part: str, *, measure: str = "level") -> tuple[str, ...]:
        """The levels behind an average change, mildest first: the paper's, or what there is, of a model or a pair."""
        return averaged(self._levels.get((measure, model, group, part), ()))

    def curve(self, model: str, group: str, part: str) -> tuple[str, ...]:
        """All strengths that do not change from frame to frame, mildest first."""
        return tuple(sorted(self._levels.get(("level", model, group, part), ()), key=strength_of))


def general_table(index: Index, group: str, part: str, *, split: str = "") -> Table:
    """Tables 3 to 6: clean, the levels, the average change, and dynamic where it was asked; models that met it."""
    mine = [one for one in index.of("level") if (one.group, one.part, one.split) == (group, part, split)]
    levels = sorted({one.level for one in mine if one.level != DYNAMIC}, key=strength_of)
    moves = any(one.level == DYNAMIC for one in mine)
    over = averaged(levels)
    rows, apart = [], False
    for model in index.stressed() or index.models()[:1]:
        only = levels_only(index.levels(model, group, part), over)
        for metric in index.metrics():
            clean = index.get("level", model, metric=metric, split=split)
            if clean is None:
                continue
            get = partial(index.get, model=model, place=(group, part), metric=metric, split=split)
            change, moving, gap = get("apc"), get("level", level=DYNAMIC), get("apc_dynamic")
            alike = {} if change is None else change.columns
            apart = apart or (change is not None and not alike)
            still = [get("level", level=one) for one in levels]
            rows.append(
                (
                    model,
                    index.task.metric_name(metric),
                    _column(clean, alike, "clean"),
                    *(_column(one, alike, level) for one, level in zip(still, levels, strict=True)),
                    number_text(change, points=True, interval=True) + (only if change is not None else ""),
                    *((number_text(moving), number_text(gap, points=True, interval=True)) if moves else ()),
                    _counts(change or clean),
                )
            )
    return Table(
        title=f"Perturbed: {index.task.group_name(group, part)}" + (f"; {split} cases" if split else ""),
        header=("model", "metric", "clean", *levels, "APC", *(_MOVING if moves else ()), "cases"),
        rows=tuple(rows),
        note=_general_note(levels, over, moves=moves, apart=apart),
    )


def _column(number: Number | None, alike: Mapping[str, float], level: str) -> str:
    """A level over the cases of its row; over its own where the row has none."""
    if number is None or number.value is None or not alike:
        return number_text(number)
    return percent(alike[level]) if level in alike else "n/a"


def _general_note(levels: Sequence[str], over: Sequence[str], *, moves: bool, apart: bool) -> str:
    more = ", other strengths of those that have them too" if set(levels) != set(over) else ""
    told = f"APC: mean over {', '.join(over)} of perturbed minus clean" if over else "APC: none without a strength"
    parts = [f"{told}; clean, levels and APC of a row are of the cases that have all of them{more}."]
    parts += ["Dynamic: of its own cases; dynamic - clean: of those that have both."] if moves else []
    parts += ["Where no case has all, each level is of its own cases."] if apart else []
    return " ".join((*parts, PERCENT))


def _counts(number: Number | None) -> str:
    """How many cases a number is of, and how many are left out of it."""
    counts = None if number is None else number.counts
    if counts is None:
        return "–"
    told = [f"{counts.failed} failed"] if counts.failed else []
    told += [f"{counts.missing} not asked"] if counts.missing else []
    told += [f"{counts.undefined} undefined"] if counts.undefined else []
    return f"{counts.n}" + (f" ({', '.join(told)})" if told else "")


def cases_text(numbers: Sequence[Number | None], *, counts: Callable[[Number | None], str] = _counts) -> str:
    """The cases of the numbers of a row: once where all are of as many, else of each in the order of the columns."""
    told = [counts(one) for one in numbers if one is not None]
    return ", ".join(told) if len(set(told)) > 1 else next(iter(told), "–")


def difference_table(index: Index) -> Table | None:
    """Every two models: clean, and how much more one loses than the other."""
    stressed, mixes = index.stressed(), index.mixes()
    every = dict.fromkeys(one.model for one in index.of("difference"))
    pairs = [pair for pair in every if all(model in stressed for model in pair.split(" - "))]
    if not pairs:
        return None
    rows = []
    for pair in pairs:
        cells, found = [index.get("difference", pair)], [signed(index.get("difference", pair))]
        for place in mixes:
            change = index.get("apc_difference", pair, place)
            only = levels_only(index.levels(pair, *place, measure="difference"), PAPER_LEVELS)
            cells.append(change)
            found.append(signed(change) + (only if change is not None else ""))
        rows.append((pair, *found, cases_text(cells)))
    return Table(
        title=f"Differences of models, {index.metric}, on the same cases",
        header=("first - second", "clean", *(f"APC, {index.task.group_name(*place)}" for place in mixes), "cases"),
        rows=tuple(rows),
        note="Above 0: the first is better, or loses less. A star: the interval holds no 0; the intervals are not "
        f"corrected for how many there are. {CASES} {PERCENT}",
    )


def signed(number: Number | None) -> str:
    """A difference, with a star where its interval holds no 0."""
    text = number_text(number, points=True, interval=True)
    ends = None if number is None else number.ends
    return f"{text} *" if ends is not None and (ends[0] > 0 or ends[1] < 0) else text


def floor_table(index: Index) -> Table | None:
    """Every model against what looks at next to nothing, on clean input."""
    models = [model for model in index.models() if not index.task.is_baseline(model)]
    floors = [model for model in index.models() if index.task.is_baseline(model)]
    if not models or not floors:
        return None
    rows = []
    for model in models:
        cells = [over(index, model, floor) for floor in floors]
        rows.append((model, *map(signed, cells), cases_text(cells)))
    return Table(
        title=f"Clean {index.metric} above the baselines",
        header=("model", *floors, "cases"),
        rows=tuple(rows),
        note="Model minus baseline on the same cases. A star: the interval holds no 0. A model without a star in every "
        "column is no better than something that does not look: its curve carries no information; of one without a "
        f"single score nothing is known. {CASES} {PERCENT}",
    )


def over(index: Index, model: str, floor: str) -> Number | None:
    """A model's clean score minus a baseline's."""
    return index.get("difference", f"{model} - {floor}")


def uninformative(index: Index) -> tuple[str, ...]:
    """Models that do not beat every baseline by an interval: what they lose says nothing."""
    floors = [model for model in index.models() if index.task.is_baseline(model)]
    without, found = unscored(index), []
    for model in index.models():
        if index.task.is_baseline(model) or not floors or model in without:
            continue
        ends = [None if (one := over(index, model, floor)) is None else one.ends for floor in floors]
        if any(one is None or one[0] <= 0 for one in ends):
            found.append(model)
    return tuple(found)


def unscored(index: Index) -> tuple[str, ...]:
    """Models without one clean score: nothing is known of them."""
    clean = {model: index.get("level", model) for model in index.models()}
    return tuple(model for model, one in clean.items() if one is not None and one.value is None)


KindChange: TypeAlias = tuple[GridCell, list[Number | None], list[str]]
"""A kind with its change for each model, as numbers and as text."""


def kind_changes(index: Index, models: Sequence[str]) -> tuple[tuple[str, ...], list[KindChange]]:
    """The levels that changes by kind are over, and each kind; a change over fewer levels says which."""
    places = index.kinds()
    over = averaged(level for model in models for place in places for level in index.levels(model, *place))
    found: list[KindChange] = []
    for place in places:
        cells = [index.get("apc", model, place) for model in models]
        texts = [
            number_text(one, points=True, interval=True)
            + (levels_only(index.levels(model, *place), over) if one is not None else "")
            for model, one in zip(models, cells, strict=True)
        ]
        found.append((place, cells, texts))
    return over, found


def kinds_table(index: Index) -> Table | None:
    """Fig. 7 as a table: the change by each kind alone."""
    models = index.stressed()
    over, kinds = kind_changes(index, models)
    if not kinds:
        return None
    rows = []
    for place, cells, texts in kinds:
        breaks = [_strength(index.get("breaking", model, place)) for model in models]
        rows.append((index.task.group_name(*place), *texts, *breaks, cases_text(cells)))
    return Table(
        title=f"Average change by kind, {index.metric}",
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
    mixes = index.mixes()
    if not mixes:
        return None
    rows = [(model, *(_strength(index.get("breaking", model, place)) for place in mixes)) for model in index.stressed()]
    return Table(
        title=f"Breaking point: the strength at which half of the clean {index.metric} is lost",
        header=("model", *(index.task.group_name(*place) for place in mixes)),
        rows=tuple(rows),
        note="Strength 1 is low, 3 medium, 5 high; between them straight lines. Above: not lost at the strongest "
        f"that was asked. {_curves_text(index, mixes)}In brackets: 95 % interval over clips.",
    )


def _curves_text(index: Index, groups: Sequence[tuple[str, str]]) -> str:
    """Which strengths breaking points were sought between, and of which column where these differ."""
    told: dict[str, list[str]] = {}
    for place in groups:
        for model in index.stressed():
            levels = index.curve(model, *place)
            if levels:
                told.setdefault(", ".join(levels), []).append(f"{model}, {index.task.group_name(*place)}")
    if len(told) < 2:
        return "".join(f"Asked at {levels}. " for levels in told)
    return "".join(f"Asked at {levels}: {'; '.join(whom)}. " for levels, whom in told.items())


def dynamic_table(index: Index) -> Table | None:
    """Fig. 10 as a table: static against dynamic."""
    rows = [
        (
            one.model,
            index.task.group_name(*one.place),
            number_text(static, points=True, interval=True),
            number_text(moving, points=True, interval=True),
            signed(one),
            cases_text([one]),
        )
        for one, static, moving in index.gaps()
    ]
    if not rows:
        return None
    return Table(
        title=f"Static against dynamic, {index.metric}",
        header=("model", "perturbed", "static APC", "dynamic - clean", "dynamic - static", "cases"),
        rows=tuple(rows),
        note="A row is of the cases that have clean, low, medium, high and dynamic. Dynamic - static below 0: what "
        f"changes from frame to frame does more harm. {PERCENT}",
    )


def summary_metrics(numbers: Iterable[Number]) -> dict[str, dict[str, Any]]:
    """The numbers of the mixes as metrics of ``summary.json``: ``model/group/level/metric`` to value and interval."""
    found: dict[str, dict[str, Any]] = {}
    for one in numbers:
        if one.split or is_kind(one.group) or one.measure not in {"level", "apc", "breaking"}:
            continue
        name = "/".join(part for part in (one.model, one.group, one.level or one.measure, one.metric) if part)
        name = name if one.part == "all" else f"{name}/{one.part}"
        found[name] = metric_json(one, "beyond")
    return found


def waiting_notes(grid: Grid) -> list[str]:
    """What was to be asked of each model and never was, in a sentence each that says how to ask it."""
    found = []
    for model in grid.models:
        mine = {one: grid.waiting[model, one.name] for one in grid.conditions if (model, one.name) in grid.waiting}
        if not mine:
            continue
        number = sum(map(len, mine.values()))
        about = few(sorted(set().union(*mine.values())))
        out = [one for one in grid.conditions if grid.known(model, one.name) and not grid.asked(model, one.name)]
        named = few([f"{one.label} {one.level}" for one in out])
        kept_out = f" Until then its answers under {named} are in no table." if out else ""
        found.append(
            f"{model}: {counted(number, 'question')} of an earlier command about {about} "
            f"{'was' if number == 1 else 'were'} never asked, since it was stopped or the data have changed since; "
            f"they are no failures and in no number; repeat it: {words_of(mine)}.{kept_out}"
        )
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
            models = (
                [one for one in view.grid.models if not view.grid.task.is_baseline(one)]
                if room_of(place[0]) == room
                else []
            )
            for model in models:
                levels = ", ".join(one.level for one in static_of(view, model, place))
                told.setdefault(levels, {})[view.grid.task.group_name(*place)] = None
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
        title=f"Correlation of the changes, kinds of {ROOM_WORDS.get(room, room)}",
        header=("kind", *found.order),
        rows=rows,
        note="Pearson's r over cases of all models; n/a where a kind changes nothing or too few cases have both. "
        f"Ordered by average-linkage clustering. {over}",
    )


def _coefficient(value: float) -> str:
    return "n/a" if value != value else f"{round(value, 2) + 0.0:+.2f}"  # noqa: PLR0124 - NaN
