"""Numbers as tables: those of the paper, one row per model, and further ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from auscult.cases.ids import counted
from auscult.outcome import Undefined
from auscult.report.facts import ends_text
from auscult.report.tables import Table
from auscult.score.stats.correlation import Correlation
from auscult.score.stats.few_clusters import FEW, LEAST_FOR_STAR
from auscult.stress.perturbation import strength_of
from auscult.stress.recipe_parts import room_of
from auscult.suites.core.conditions import CLEAN, DYNAMIC, REMOVED, Condition, is_kind, is_mix, words_of
from auscult.suites.core.grid import CLIPS, Grid, Task
from auscult.suites.core.measures import NOT_ALL_LEVELS, PERFORMANCE, Ranks, static_of, unranked
from auscult.suites.core.numbers import (
    CLEAN_GROUP,
    PAPER_LEVELS,
    SIGNIFICANT,
    ConditionGroup,
    GridView,
    Number,
    averaged,
    levels_only,
    metric_json,
    number_text,
    percent,
    significant,
)
from auscult.suites.core.results import few

ROOM_WORDS: Final[Mapping[str, str]] = {"vision": "pictures"}
"""What the kinds of a room perturb, if it is not the room's name."""
_PERCENT: Final = "Scores are percent; changes are percentage points, below 0 is a loss."
CASES: Final = "Cases: of every column in turn, once where all are of as many; in brackets those left out."
_DYNAMIC_COLUMNS: Final = ("dynamic", "dynamic - clean")


class Index:
    """Numbers of a task, by measure, model, metric, group, level, part and split."""

    def __init__(self, numbers: Iterable[Number], task: Task) -> None:
        self.numbers, self.task = tuple(numbers), task
        self.metric = task.metric_name(task.main)  # the main metric's name in tables
        self._known = {
            (number.measure, number.model, number.metric, number.group, number.level, number.part, number.split): number
            for number in self.numbers
        }
        self._levels: dict[tuple[str, ...], set[str]] = {}
        for number in self.numbers:
            if number.level != DYNAMIC:
                key = (number.measure, number.model, number.group, number.part)
                self._levels.setdefault(key, set()).add(number.level)

    def get(
        self,
        measure: str,
        model: str,
        group: ConditionGroup = CLEAN_GROUP,
        *,
        metric: str = "",
        level: str = "",
        split: str = "",
    ) -> Number | None:
        """One number, by default of the main metric; None if not measured."""
        level = CLEAN if group == CLEAN_GROUP else level
        return self._known.get((measure, model, metric or self.task.main, group[0], level, group[1], split))

    def of(self, measure: str) -> tuple[Number, ...]:
        """All numbers of a measure, except those undefined for lack of levels."""
        numbers = (number for number in self.numbers if number.measure == measure)
        return tuple(number for number in numbers if getattr(number.outcome, "reason", "") != NOT_ALL_LEVELS)

    def models(self) -> tuple[str, ...]:
        """The models, in their order."""
        return tuple(dict.fromkeys(number.model for number in self.of("level")))

    def stressed(self) -> tuple[str, ...]:
        """The models with results under a perturbation."""
        models = {number.model for number in self.of("level") if number.group != "clean"}
        return tuple(model for model in self.models() if model in models)

    def tested(self) -> list[str]:
        """The models that are not baselines."""
        return self.task.tested(self.models())

    def above_baselines(self) -> dict[str, list[Number | None]]:
        """The clean score of each model minus that of each baseline; empty without baselines."""
        baselines = [model for model in self.models() if self.task.is_baseline(model)]
        differences = {
            model: [self.get("difference", f"{model} - {baseline}") for baseline in baselines]
            for model in self.tested()
        }
        return differences if baselines else {}

    def metrics(self) -> tuple[str, ...]:
        """The metrics, in their order."""
        return tuple(dict.fromkeys(number.metric for number in self.of("level")))

    def mixes(self) -> list[ConditionGroup]:
        """The mixes with their part."""
        return [group for group in self._groups() if is_mix(group[0])]

    def kinds(self) -> list[ConditionGroup]:
        """The single kinds with their part."""
        return [group for group in self._groups() if is_kind(group[0])]

    def _groups(self) -> dict[ConditionGroup, None]:
        return dict.fromkeys(number.condition_group for number in self.of("level"))

    def gaps(self) -> list[tuple[Number, Number | None, Number | None]]:
        """The dynamic gaps of the main metric, each with its static and dynamic change."""
        found = [gap for gap in self.of("dynamic_gap") if gap.metric == self.task.main and not gap.split]
        return [
            (
                gap,
                self.get("gap_static", gap.model, gap.condition_group),
                self.get("gap_dynamic", gap.model, gap.condition_group),
            )
            for gap in found
        ]

    def levels(self, model: str, group: str, part: str, *, measure: str = "level") -> tuple[str, ...]:
        """The levels of an average change of a model or pair, mildest first: the paper's, or all there are."""
        return averaged(self._levels.get((measure, model, group, part), ()))

    def curve(self, model: str, group: str, part: str) -> tuple[str, ...]:
        """All constant strengths, mildest first."""
        return tuple(sorted(self._levels.get(("level", model, group, part), ()), key=strength_of))


def percent_note(numbers: Iterable[Number | None], *, scale: float = 100.0, clusters: str = CLIPS) -> str:
    """A note on units, and on the clips, or other ``clusters``, behind the intervals of a table."""
    return " ".join(filter(None, (_PERCENT if scale == 100.0 else "", clips_note(numbers, clusters=clusters))))


def clips_note(numbers: Iterable[Number | None], *, clusters: str = CLIPS) -> str:
    """A note on the count of clips, photographs or other clusters behind intervals; empty without intervals."""
    counts = sorted({number.clusters for number in numbers if number is not None and number.clusters is not None})
    if not counts:
        return ""
    over = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    few = f", widened by t below {FEW}" if counts[0] < FEW else ""
    return f"In brackets: 95 % interval over {over} {clusters}{few}."


def starred_note(numbers: Sequence[Number | None]) -> str:
    """A note on the meaning of a star, and on why there may be none."""
    tested = [number for number in numbers if number is not None and number.p is not None]
    few = [number for number in tested if number.differing < LEAST_FOR_STAR]
    note = (
        f"A star: it differs from 0 at {100 * SIGNIFICANT:g} %, by flipping the sign of whole clips, adjusted by Holm "
        f"for the {len(tested)} of this table."
    )
    return note + (f" None can have one with fewer than {LEAST_FOR_STAR} clips that differ." if few else "")


def general_table(index: Index, group: str, part: str, *, split: str = "") -> Table:
    """Tables 3 to 6: clean, levels, average change, and dynamic if requested; perturbed models."""
    selected = [
        number for number in index.of("level") if (number.group, number.part, number.split) == (group, part, split)
    ]
    levels = sorted({number.level for number in selected if number.level != DYNAMIC}, key=strength_of)
    has_dynamic = any(number.level == DYNAMIC for number in selected)
    over = averaged(levels)
    rows, changes, unshared = [], list[Number | None](), False
    for model in index.stressed() or index.models()[:1]:
        only = levels_only(index.levels(model, group, part), over)
        for metric in index.metrics():
            clean = index.get("level", model, metric=metric, split=split)
            if clean is None:
                continue
            get = partial(index.get, model=model, group=(group, part), metric=metric, split=split)
            change, dynamic, gap = get("apc"), get("level", level=DYNAMIC), get("apc_dynamic")
            columns = {} if change is None else change.columns
            unshared = unshared or (change is not None and not columns)
            static = [get("level", level=level) for level in levels]
            changes += [change, gap]
            rows.append(
                (
                    model,
                    index.task.metric_name(metric),
                    _column(clean, columns, "clean"),
                    *(_column(number, columns, level) for number, level in zip(static, levels, strict=True)),
                    number_text(change, points=True, interval=True) + (only if change is not None else ""),
                    *((number_text(dynamic), number_text(gap, points=True, interval=True)) if has_dynamic else ()),
                    counts_text(change or clean),
                )
            )
    return Table(
        title=f"Perturbed: {index.task.group_name(group, part)}" + (f"; {split} cases" if split else ""),
        header=("model", "metric", "clean", *levels, "APC", *(_DYNAMIC_COLUMNS if has_dynamic else ()), "cases"),
        rows=tuple(rows),
        note=f"{_general_note(levels, over, dynamic=has_dynamic, unshared=unshared)} {percent_note(changes)}",
    )


def _column(number: Number | None, columns: Mapping[str, float], level: str) -> str:
    """A level over the cases of its row; over its own cases if the row has none."""
    if number is None or number.value is None or not columns:
        return number_text(number)
    return percent(columns[level]) if level in columns else "n/a"


def _general_note(levels: Sequence[str], over: Sequence[str], *, dynamic: bool, unshared: bool) -> str:
    suffix = ", other strengths of those that have them too" if set(levels) != set(over) else ""
    average = f"APC: mean over {', '.join(over)} of perturbed minus clean" if over else "APC: none without a strength"
    parts = [f"{average}; clean, levels and APC of a row are of the cases that have all of them{suffix}."]
    parts += ["Dynamic: of its own cases; dynamic - clean: of those that have both."] if dynamic else []
    parts += ["Where no case has all, each level is of its own cases."] if unshared else []
    return " ".join(parts)


def counts_text(number: Number | None) -> str:
    """The counts of cases behind a number, and of those left out."""
    counts = None if number is None else number.counts
    if counts is None:
        return "–"
    parts = [f"{counts.failed} failed"] if counts.failed else []
    parts += [f"{counts.missing} not asked"] if counts.missing else []
    parts += [f"{counts.undefined} undefined"] if counts.undefined else []
    return f"{counts.n}" + (f" ({', '.join(parts)})" if parts else "")


def cases_text(numbers: Sequence[Number | None], *, counts: Callable[[Number | None], str] = counts_text) -> str:
    """The counts of cases of a row: one if all are equal, else one per column."""
    texts = [counts(number) for number in numbers if number is not None]
    return ", ".join(texts) if len(set(texts)) > 1 else next(iter(texts), "–")


def difference_table(index: Index) -> Table | None:
    """Differences of every two models: of the clean scores, and of the changes."""
    stressed, mixes = index.stressed(), index.mixes()
    names = dict.fromkeys(number.model for number in index.of("difference"))
    pairs = [pair for pair in names if all(model in stressed for model in pair.split(" - "))]
    if not pairs:
        return None
    of_pair = {
        pair: [index.get("difference", pair), *(index.get("apc_difference", pair, mix) for mix in mixes)]
        for pair in pairs
    }
    cells = [cell for row in of_pair.values() for cell in row]
    stars, rows, scale = significant(cells), [], index.task.scale(index.task.main)
    for pair, (clean, *changes) in of_pair.items():
        texts = [difference_text(clean, stars, scale=scale)]
        for mix, change in zip(mixes, changes, strict=True):
            only = levels_only(index.levels(pair, *mix, measure="difference"), PAPER_LEVELS)
            texts.append(difference_text(change, stars, scale=scale) + (only if change is not None else ""))
        rows.append((pair, *texts, cases_text([clean, *changes])))
    return Table(
        title=f"Differences of models, {index.metric}, on the same cases",
        header=("first - second", "clean", *(f"APC, {index.task.group_name(*mix)}" for mix in mixes), "cases"),
        rows=tuple(rows),
        note=f"Above 0: the first is better, or loses less. {starred_note(cells)} {CASES} "
        f"{percent_note(cells, scale=scale, clusters=index.task.cluster_words)}",
    )


def starred(text: str, number: Number | None, stars: Sequence[Number]) -> str:
    """A number's text, with a star if it is significant."""
    return f"{text} *" if any(number is star for star in stars) else text


def difference_text(number: Number | None, stars: Sequence[Number], *, scale: float = 100.0) -> str:
    """A difference, with a star if it is significant."""
    return starred(number_text(number, points=True, interval=True, digits=digits_of(scale), scale=scale), number, stars)


def digits_of(scale: float) -> int:
    """The digits of a number in percent, or on a scale of its own."""
    return 1 if scale == 100.0 else 2


def baselines_table(index: Index) -> Table | None:
    """Every model against the baselines, on clean input."""
    of_model = index.above_baselines()
    if not of_model:
        return None
    cells = [cell for row in of_model.values() for cell in row]
    stars = significant(cells)
    rows = [
        (model, *(difference_text(number, stars) for number in row), cases_text(row)) for model, row in of_model.items()
    ]
    return Table(
        title=f"Clean {index.metric} above the baselines",
        header=("model", *filter(index.task.is_baseline, index.models()), "cases"),
        rows=tuple(rows),
        note=f"Model minus baseline on the same cases. {starred_note(cells)} A model without a star in every "
        "column is not shown to be better than something that does not look, so its curve carries no information; of "
        f"one without a single score nothing is known. {CASES} {percent_note(cells)}",
    )


def uninformative(index: Index) -> tuple[str, ...]:
    """Models not shown to beat every baseline: their changes carry no information."""
    of_model = index.above_baselines()
    stars = significant(cell for row in of_model.values() for cell in row)
    without = unscored(index)
    return tuple(
        model
        for model, row in of_model.items()
        if model not in without
        and not all(
            cell is not None and (cell.value or 0.0) > 0 and any(cell is star for star in stars) for cell in row
        )
    )


def unscored(index: Index) -> tuple[str, ...]:
    """Models without a clean score."""
    clean = {model: index.get("level", model) for model in index.models()}
    return tuple(model for model, number in clean.items() if number is not None and number.value is None)


KindChange: TypeAlias = tuple[ConditionGroup, list[Number | None], list[str]]
"""A kind with its change for each model, as numbers and text."""


def kind_changes(index: Index, models: Sequence[str]) -> tuple[tuple[str, ...], list[KindChange]]:
    """The levels of the average changes by kind, and the kinds; a change over fewer levels names them."""
    kinds = index.kinds()
    over = averaged(level for model in models for kind in kinds for level in index.levels(model, *kind))
    found: list[KindChange] = []
    for kind in kinds:
        cells = [index.get("apc", model, kind) for model in models]
        texts = [
            number_text(number, points=True, interval=True)
            + (levels_only(index.levels(model, *kind), over) if number is not None else "")
            for model, number in zip(models, cells, strict=True)
        ]
        found.append((kind, cells, texts))
    return over, found


def kinds_table(index: Index) -> Table | None:
    """Fig. 7 as a table: the change by each single kind."""
    models = index.stressed()
    over, kinds = kind_changes(index, models)
    if not kinds:
        return None
    all_cells = [cell for _, cells, _ in kinds for cell in cells]
    stars, rows, numbers = significant(all_cells), [], list(all_cells)
    for kind, cells, texts in kinds:
        marked = [starred(text, cell, stars) for cell, text in zip(cells, texts, strict=True)]
        breaks = [index.get("breaking", model, kind) for model in models]
        rows.append((index.task.group_name(*kind), *marked, *map(_strength, breaks), cases_text(cells)))
        numbers += breaks
    return Table(
        title=f"Average change by kind, {index.metric}",
        header=("kind", *models, *(f"half lost at, {model}" for model in models), "cases"),
        rows=tuple(rows),
        note=f"Mean over {', '.join(over) or 'no level'}. {starred_note(all_cells)} Half lost: the strength (1 low, 3 "
        "medium, 5 high) at which half of the clean score is gone; above: not at the strongest that was asked. "
        f"{CASES} {percent_note(numbers)}",
    )


def _strength(number: Number | None) -> str:
    """A breaking point; one above every strength tested prints as above the strongest."""
    if number is None:
        return "–"
    if number.value is None and number.beyond is None:
        return "n/a"
    open_end = "" if number.beyond is None else f"above {number.beyond:g}"
    text = open_end if number.value is None else f"{number.value:.1f}"
    if number.low is None and (number.value is None or not open_end):
        return text
    if number.low is not None and number.high is not None:
        return f"{text} [{ends_text(number.low, number.high, 1)}]"
    low, high = (open_end if end is None else f"{end:.1f}" for end in (number.low, number.high))
    return f"{text} [{low}, {high}]"


def breaking_table(index: Index) -> Table | None:
    """The breaking point of every model, by mix; None without a mix."""
    mixes = index.mixes()
    if not mixes:
        return None
    of_model = {model: [index.get("breaking", model, mix) for mix in mixes] for model in index.stressed()}
    rows = [(model, *map(_strength, breaks)) for model, breaks in of_model.items()]
    clips = clips_note(number for breaks in of_model.values() for number in breaks)
    return Table(
        title=f"Breaking point: the strength at which half of the clean {index.metric} is lost",
        header=("model", *(index.task.group_name(*mix) for mix in mixes)),
        rows=tuple(rows),
        note="Strength 1 is low, 3 medium, 5 high; between them straight lines. Above: not lost at the strongest "
        f"that was asked. {_curves_text(index, mixes)}{clips}",
    )


def _curves_text(index: Index, groups: Sequence[tuple[str, str]]) -> str:
    """The strengths between which breaking points are interpolated, by column if they differ."""
    columns: dict[str, list[str]] = {}
    for group in groups:
        for model in index.stressed():
            levels = index.curve(model, *group)
            if levels:
                columns.setdefault(", ".join(levels), []).append(f"{model}, {index.task.group_name(*group)}")
    if len(columns) < 2:
        return "".join(f"Asked at {levels}. " for levels in columns)
    return "".join(f"Asked at {levels}: {'; '.join(whom)}. " for levels, whom in columns.items())


def dynamic_table(index: Index) -> Table | None:
    """Fig. 10 as a table: static against dynamic."""
    gaps = index.gaps()
    if not gaps:
        return None
    stars = significant(gap for gap, _, _ in gaps)
    rows = [
        (
            gap.model,
            index.task.group_name(*gap.condition_group),
            number_text(static, points=True, interval=True),
            number_text(dynamic, points=True, interval=True),
            difference_text(gap, stars),
            cases_text([gap]),
        )
        for gap, static, dynamic in gaps
    ]
    return Table(
        title=f"Static against dynamic, {index.metric}",
        header=("model", "perturbed", "static APC", "dynamic - clean", "dynamic - static", "cases"),
        rows=tuple(rows),
        note="A row is of the cases that have clean, low, medium, high and dynamic. Dynamic - static below 0: what "
        f"changes from frame to frame does more harm. {starred_note([gap for gap, _, _ in gaps])} "
        f"{percent_note(number for row in gaps for number in row)}",
    )


def metric_path(number: Number, *start: str) -> str:
    """The name of a number in ``summary.json``: ``start``, then ``group/level/metric``, and its part of a clip."""
    level = number.level or number.measure.removesuffix("_difference")
    parts = (*start, number.group, level, number.metric, "" if number.part == "all" else number.part)
    return "/".join(filter(None, parts))


def summary_metrics(numbers: Iterable[Number]) -> dict[str, dict[str, Any]]:
    """The numbers of the mixes as metrics of ``summary.json``: ``model/group/level/metric`` to value and interval."""
    metrics: dict[str, dict[str, Any]] = {}
    for number in numbers:
        if number.split or is_kind(number.group) or number.measure not in {"level", "apc", "breaking"}:
            continue
        metrics[metric_path(number, number.model)] = metric_json(number, "beyond")
    return metrics


def _again(conditions: Iterable[Condition]) -> str:
    """The options to repeat, or the command itself."""
    perturbed = [condition for condition in conditions if condition.level not in {CLEAN, REMOVED}]
    return f"it: {words_of(perturbed)}" if perturbed else "the command"


def waiting_notes(grid: Grid) -> list[str]:
    """A sentence for each model with requests never made, with the options to make them."""
    notes = []
    for model in grid.models:
        waiting = {
            condition: grid.waiting[model, condition.name]
            for condition in grid.conditions
            if (model, condition.name) in grid.waiting
        }
        if not waiting:
            continue
        number = sum(map(len, waiting.values()))
        cases = few(sorted(set().union(*waiting.values())))
        out = [
            condition
            for condition in grid.conditions
            if grid.has_results(model, condition.name) and not grid.is_complete(model, condition.name)
        ]
        names = few([f"{condition.label} {condition.level}" for condition in out])
        kept_out = f" Until then its answers under {names} are in no table." if out else ""
        notes.append(
            f"{model}: {counted(number, 'request')} about {cases} {'was' if number == 1 else 'were'} never asked, "
            "since a command was stopped or left the model, or the data have changed since; "
            f"they are no failures and in no number; repeat {_again(waiting)}.{kept_out}"
        )
    return notes


_RANKED: Final = (
    "In brackets: 90 % interval of the place, over drawn clips; none where it is one place. First in: the share of "
    "draws that it wins. On the cases that all of these models have."
)


def ranking_table(ranks: list[Ranks], *, scale: float = 100.0) -> Table | None:
    """Every ranking, best first; values are multiplied by ``scale``."""
    rows = []
    for ranked in ranks:
        if isinstance(ranked.ranking, Undefined):
            continue
        for row in ranked.ranking.rows:
            ends = "" if row.place_low == row.place_high else f" [{row.place_low}, {row.place_high}]"
            first = "–" if row.first is None else f"{100 * row.first:.0f} %"
            value = percent(row.value, points=ranked.name != "clean", digits=digits_of(scale), scale=scale)
            rows.append((ranked.title, f"{row.place}{ends}", row.model, value, first))
    if not rows:
        return None
    return Table(
        title="Ranking of the models",
        header=("ranked by", "place", "model", "value, percent" if scale == 100.0 else "value", "first in"),
        rows=tuple(rows),
        note=" ".join((_RANKED, ranked_clips(ranks), *unranked(ranks))),
    )


def ranked_clips(ranks: Iterable[Ranks], *, clusters: str = CLIPS) -> str:
    """The count of clips, or other ``clusters``, behind the rankings."""
    counts = dict.fromkeys(ranked.ranking.clusters for ranked in ranks if not isinstance(ranked.ranking, Undefined))
    return f"{clusters.capitalize()}: {', '.join(map(str, counts))}."


def room_in(name: str) -> str:
    """The room of a correlation of ``correlations_over``, in words."""
    room = name.removesuffix(f"_{PERFORMANCE}")
    return ROOM_WORDS.get(room, room)


def strengths_text(views: Iterable[GridView], name: str) -> str:
    """A sentence on the strengths over which the correlated values are averaged."""
    room = name.removesuffix(f"_{PERFORMANCE}")
    by_levels: dict[str, dict[str, None]] = {}
    for view in views:
        for group in view.grid.groups():
            models = view.grid.models if room_of(group[0]) == room else ()
            for model in view.grid.task.tested(models):
                levels = ", ".join(condition.level for condition in static_of(view, model, group))
                by_levels.setdefault(levels, {})[view.grid.task.group_name(*group)] = None
    parts = [(levels, ", ".join(kinds)) for levels, kinds in by_levels.items() if levels]
    if len(parts) < 2:
        return "".join(f"Each is the mean over {levels}." for levels, _ in parts)
    return f"Each is the mean over {'; '.join(f'{levels} ({kinds})' for levels, kinds in parts)}."


def correlation_table(name: str, found: Correlation, over: str) -> Table:
    """One matrix, similar kinds side by side; ``over`` names the strengths of the averages."""
    indices = [found.kinds.index(name) for name in found.order]
    rows = tuple(
        (found.kinds[row], *(_coefficient(float(found.values[row, column])) for column in indices)) for row in indices
    )
    return Table(
        title=f"Correlation of {found.of}, kinds of {room_in(name)}",
        header=("kind", *found.order),
        rows=rows,
        note=f"Pearson's r of {_CORRELATED[found.of]}, over cases of all models; n/a where a kind changes nothing or "
        f"too few cases have both. Ordered by average-linkage clustering. {over} Signed {found.signature}.",
    )


_CORRELATED: Final[Mapping[str, str]] = {
    "changes": "the changes, perturbed minus clean",
    PERFORMANCE: "the perturbed scores themselves, which also agree because hard cases are hard under every kind",
}


def _coefficient(value: float) -> str:
    return "n/a" if value != value else f"{round(value, 2) + 0.0:+.2f}"  # noqa: PLR0124 - NaN
