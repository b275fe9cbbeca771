"""Numbers as charts, and strips of pictures: what was done to a case and what came of it, strength by strength."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from auscult.arrays.overlap import iou
from auscult.errors import InputError, UsageError
from auscult.jobs.predict import FILE, Reader
from auscult.media.frames import encode_jpeg
from auscult.media.rle import decode
from auscult.outcome import Failed, Undefined
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.report.charts.bars import BarGroup, PairedBar, Rank, TypeBars, apc_bars, paired, seen_unseen
from auscult.report.charts.bars import ranks as ranks_chart
from auscult.report.charts.lines import Matrix, StrengthLine, matrix, robustness_lines
from auscult.report.charts.marks import MAX_MODELS, MAX_TYPES, ChartEstimate, Words
from auscult.report.page import Example, Figure
from auscult.report.strip import StripCell, StripRow, evenly, strip
from auscult.score.stats.correlation import Correlation
from auscult.stress.recipe_parts import ORIGINS, base_of, load_stressors, room_of
from auscult.stress.strength import strength_of
from auscult.suites.core.conditions import CLEAN, DYNAMIC, Condition
from auscult.suites.core.numbers import GridColumns, Number, estimate
from auscult.suites.core.results import ResultKey
from auscult.suites.r2.cases import R2Case, task_rules, truths_of
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.measures import static_of
from auscult.suites.r2.perturbing import Prepared
from auscult.suites.r2.relations import Ranks, room_words
from auscult.suites.r2.tables import Index, group_name, is_baseline, main_metric, metric_name
from auscult.work.pool import Task, run_tasks

_HALF: Final = (
    " A cross: half of the clean score is lost. The lying line: the interval of that strength, an arrow where it may "
    "lie above the strongest that was asked."
)


def charts_of(
    index: Index, *, correlations: Mapping[str, Correlation], ranks: Sequence[Ranks], splits: Sequence[str]
) -> list[Figure]:
    """Every chart that the numbers allow."""
    if len(index.models()) > MAX_MODELS:
        return []
    found = [*_curves(index), *_kinds(index), *_dynamics(index), *_correlations(correlations), *_ranks(ranks)]
    if {"seen", "unseen"} <= set(splits):
        found += _splits(index)
    return found


def _curves(index: Index) -> Iterator[Figure]:
    """Score over strength, for the mixes; the kinds alone have their bars."""
    metric = main_metric(index)
    for group, part in index.groups():
        if group in MIXES:
            name = group_name(group, part)
            lines = [_line(index, model, metric, place=(group, part)) for model in index.models()]
            lines = [line for line in lines if len(line.at) > 1]
            if lines:
                words = Words(axis=f"{metric_name(metric)}, %, higher is better", digits=1)
                yield Figure(
                    name=f"curve_{group}" + ("" if part == "all" else f"_{part}"),
                    caption=f"{metric_name(metric)} over strength, perturbed: {name}. With 95 % intervals over clips."
                    + _HALF * any(_is_marked(line.breaks_at) for line in lines),
                    drawing=robustness_lines(lines, words),
                )


def _is_marked(found: ChartEstimate | None) -> bool:
    return found is not None and (found.value is not None or found.low is not None)


def _line(index: Index, model: str, metric: str, *, place: tuple[str, str]) -> StrengthLine:
    group, part = place
    clean = index.get("level", model, metric, group="clean", level="clean")
    levels = [
        one
        for one in index.of("level")
        if (one.model, one.metric, one.group, one.part, one.split) == (model, metric, group, part, "")
    ]
    still = sorted((strength_of(one.level), estimate(one)) for one in levels if one.level != DYNAMIC) if levels else []
    moving = next((estimate(one) for one in levels if one.level == DYNAMIC), None)
    found = index.get("breaking", model, metric, group=group, part=part)
    breaks = None if found is None else _break(found)
    at = ([(0.0, estimate(clean))] if clean is not None else []) + still
    return StrengthLine(name=model, at=tuple(at), dynamic=moving, breaks_at=breaks)


def _break(number: Number) -> ChartEstimate | None:
    """Where half is lost, or above which strength; None where there was nothing to lose."""
    if number.value is None and number.beyond is None:
        return None
    if number.beyond is not None:
        return ChartEstimate(value=number.value, low=number.low, beyond=number.beyond)
    if number.ends is None:
        return ChartEstimate(value=number.value)
    return ChartEstimate(value=number.value, low=number.ends[0], high=number.ends[1])


def _kinds(index: Index) -> Iterator[Figure]:
    """Fig. 7: the change by each kind alone, by origin."""
    metric, models = main_metric(index), index.stressed()
    kinds = [(group, part) for group, part in index.groups() if group not in MIXES][:MAX_TYPES]
    if not kinds:
        return
    origins = {group: _origin(group) for group, _ in kinds}
    groups = [
        BarGroup(
            name=origin,
            types=tuple(
                TypeBars(
                    name=group_name(group, part),
                    values=tuple(estimate(index.get("apc", model, metric, group=group, part=part)) for model in models),
                )
                for group, part in kinds
                if origins[group] == origin
            ),
        )
        for origin in dict.fromkeys([*ORIGINS, *origins.values()])
    ]
    yield Figure(
        name="kinds",
        caption=f"Average change of {metric_name(metric)} by kind (mean over the strengths), with 95 % intervals.",
        drawing=apc_bars(
            [group for group in groups if group.types],
            models,
            Words(axis=f"change of {metric_name(metric)}, percentage points, below 0 is a loss", digits=1),
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
    metric = main_metric(index)
    gaps = [one for one in index.of("dynamic_gap") if one.metric == metric and not one.split]
    alone = len({one.model for one in gaps}) == 1  # its name stands once, in the caption
    pairs = []
    for gap in gaps:
        static, moving = (
            index.get(measure, gap.model, metric, group=gap.group, part=gap.part)
            for measure in ("gap_static", "gap_dynamic")
        )
        name = ("" if alone else f"{gap.model}, ") + group_name(gap.group, gap.part)
        pairs.append(PairedBar(name=name, first=estimate(static), second=estimate(moving), difference=estimate(gap)))
    if pairs:
        words = Words(axis=f"change of {metric_name(metric)}, percentage points", digits=1)
        yield Figure(
            name="dynamic",
            caption=(f"{gaps[0].model}: what" if alone else "What")
            + " does not change within a clip (mean over the strengths) against what changes from frame to frame.",
            drawing=paired(pairs[:MAX_TYPES], ("static", "dynamic"), words),
        )


def _correlations(correlations: Mapping[str, Correlation]) -> Iterator[Figure]:
    for room, found in correlations.items():
        if len(found.kinds) > MAX_TYPES:
            continue
        places = [found.kinds.index(name) for name in found.order]
        values = tuple(
            tuple(None if (value := float(found.values[row, column])) != value else value for column in places)
            for row in places
        )
        count = _pairs_of(found)
        yield Figure(
            name=f"correlation_{room}",
            caption=f"Which kinds of {room_words(room)} harm the same cases: correlation of the changes, case by case, "
            "over all models; likes beside one another"
            + (f". From {count[0]:,} to {count[-1]:,} cases a pair." if len(count) > 1 else "."),
            drawing=matrix(
                Matrix(names=found.order, values=values, n=count[0] if len(count) == 1 else None),
                Words(axis="Pearson's r"),
            ),
        )


def _pairs_of(found: Correlation) -> list[int]:
    """How many cases pairs of kinds have in common, each number once."""
    size = len(found.kinds)
    return sorted({int(found.pairs[row, column]) for row in range(size) for column in range(row)})


def _ranks(ranks: Sequence[Ranks]) -> Iterator[Figure]:
    for one in ranks:
        if isinstance(one.ranking, Undefined):
            continue
        rows = [
            Rank(
                name=row.model,
                rank=ChartEstimate(value=row.place, n=one.ranking.counts.n)
                if row.place_low is None or row.place_high is None
                else ChartEstimate(value=row.place, low=row.place_low, high=row.place_high, n=one.ranking.counts.n),
                first=row.first,
            )
            for row in one.ranking.rows
        ]
        yield Figure(
            name=f"ranks_{one.name}",
            caption=f"Places of the models by {one.title}, with 90 % intervals and the probability of being first.",
            drawing=ranks_chart(rows, Words(axis=one.title)),
        )


def _splits(index: Index) -> Iterator[Figure]:
    metric = main_metric(index)
    for group, part in index.groups():
        if group not in MIXES:
            continue
        pairs = [
            PairedBar(
                name=model,
                first=estimate(index.get("apc", model, metric, group=group, part=part, split="seen")),
                second=estimate(index.get("apc", model, metric, group=group, part=part, split="unseen")),
            )
            for model in index.stressed()
        ]
        yield Figure(
            name=f"seen_unseen_{group}" + ("" if part == "all" else f"_{part}"),
            caption=f"Change on seen and on unseen categories, perturbed: {group_name(group, part)}.",
            drawing=seen_unseen(pairs, Words(axis=f"change of {metric_name(metric)}, percentage points", digits=1)),
        )


WIDTH_PX = 1200
_QUALITY = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class StripOrder:
    """What one strip shows.

    Attributes:
        name: Of its file.
        title: What was perturbed.
        case: The case.
        rows: (condition, its stored prediction or None, its score or None), mildest first.
        seed: The run's seed.
        guidance: The room of the reference.
    """

    name: str
    title: str
    case: R2Case
    rows: tuple[tuple[Condition, Mapping[str, Any] | None, float | None], ...]
    seed: int
    guidance: str


def draw_strips(
    run: RunFolder, view: GridColumns, cases: Sequence[R2Case], *, valid: Mapping[str, ResultKey], workers: int
) -> list[Example]:
    """Draw a strip for every group of conditions, of the case that the first model loses most on, or gains least.

    Args:
        run: The record; pictures go to ``figures/strips``.
        view: The scores.
        cases: What was asked about.
        valid: Key of an answer to (model, condition, case): answers to other data are passed over.
        workers: Worker processes.
    """
    orders = _orders(run, view, {case.id: case for case in cases}, valid=valid)
    made: dict[str, bytes] = {}
    tasks = [Task(order.name, order) for order in orders]
    for result in run_tasks(_Drawer, tasks, workers=workers, stage="figure"):
        if not isinstance(result.outcome, Failed):  # a figure is no result: its lack costs no case
            made[result.key] = result.outcome
            run.write_bytes(_file(result.key), result.outcome, durable=False)
    return [
        Example(
            title=order.title,
            jpeg=made[order.name],
            text=order.case.query.text or "",
            id=order.case.id,
            facts=_facts(order),
            broad=True,
            file=_file(order.name),
        )
        for order in orders
        if order.name in made
    ]


def _file(name: str) -> str:
    return f"figures/strips/{name}.jpg"


def _facts(order: StripOrder) -> tuple[tuple[str, str], ...]:
    """Each level's score, and its change from clean."""
    clean = next((score for one, _, score in order.rows if one.name == CLEAN), None)
    told = []
    for one, row, score in order.rows:
        text = "failed" if row is None else "n/a" if score is None else f"{100 * score:.1f}"
        if score is not None and clean is not None and one.name != CLEAN:
            text += f" ({100 * (score - clean):+.1f})"
        told.append((one.level, text))
    return tuple(told)


def _orders(
    run: RunFolder, view: GridColumns, cases: Mapping[str, R2Case], *, valid: Mapping[str, ResultKey]
) -> list[StripOrder]:
    grid = view.grid
    model = next((name for name in grid.models if not is_baseline(name) and grid.asked(name, CLEAN)), "")
    if not model:
        return []
    metric = grid.task.metrics[0]
    chosen = {place: _worst(view, model, metric, place=place) for place in grid.groups()}
    wanted = {
        (one.name, case)
        for place, case in chosen.items()
        if case
        for one in (grid.conditions[0], *grid.of_group(*place))
    }
    stored: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in read_lines(run.path / FILE):
        of, condition, shown = valid.get(str(row["key"]), ("", "", ""))
        if of == model and (condition, shown) in wanted:
            stored.setdefault((condition, shown), row)
    orders = []
    for (group, part), case in chosen.items():
        if case in cases:
            conditions = [
                one for one in (grid.conditions[0], *grid.of_group(group, part)) if grid.asked(model, one.name)
            ]
            rows = tuple(
                (one, stored.get((one.name, case)), grid.cell(model, one.name, metric).values.get(case))
                for one in conditions
            )
            name = conditions[-1].name.rpartition("_")[0] or group
            orders.append(
                StripOrder(
                    name=name,
                    title=f"{group_name(group, part)}: {model}",
                    case=cases[case],
                    rows=rows,
                    seed=view.seed,
                    guidance=task_rules(grid.task.name).guidance,
                )
            )
    return orders


def _worst(view: GridColumns, model: str, metric: str, *, place: tuple[str, str]) -> str:
    """The case that loses most, or gains least, at the strongest static condition; empty where none is scored."""
    static = static_of(view, model, place)
    if not static:
        return ""
    clean = view.grid.cell(model, CLEAN, metric).values
    strong = view.grid.cell(model, static[-1].name, metric).values
    shared = sorted(clean.keys() & strong.keys())
    return min(shared, key=lambda case: (strong[case] - clean[case], case), default="")


class _Drawer:
    """Draws strips in one process."""

    def __init__(self) -> None:
        self._reader = Reader()

    def __call__(self, order: StripOrder) -> bytes:
        """One strip as JPEG."""
        places = evenly(len(order.case.frames))
        rows = [
            StripRow(
                name=condition.level,
                cells=tuple(self._cells(order, condition, row, places=places)),
                said="" if score is None else f"{100 * score:.1f} %",
                note=self._note(order, condition),
            )
            for condition, row, score in order.rows
        ]
        return encode_jpeg(strip(rows, width_px=WIDTH_PX), quality=_QUALITY)

    def _note(self, order: StripOrder, condition: Condition) -> str:
        """What the pictures do not show: the kinds that were drawn for the case, and a sentence that was changed."""
        prepared = _prepared(order, condition)
        clean = order.case.query.text
        text = clean if clean is None else prepared.ask(self._reader).query.text
        sentence = f"“{text}”" if text != clean else ""
        return ": ".join(part for part in (_drawn(prepared), sentence) if part)

    def _cells(
        self, order: StripOrder, condition: Condition, row: Mapping[str, Any] | None, *, places: Sequence[int]
    ) -> list[StripCell]:
        prepared = _prepared(order, condition)
        truths = prepared.truths(truths_of(order.case).masks)
        frames = prepared.frames(self._reader)
        found = []
        for place in places:
            truth = truths[place]
            mask = None if row is None else decode({"size": row["size"], "counts": row["counts"][place]})
            found.append(
                StripCell(
                    frame=frames[place],
                    prediction=mask,
                    truth=truth,
                    score=None if mask is None or truth is None else iou(mask, truth),
                    why="failed" if row is None else "",
                )
            )
        return found


def _prepared(order: StripOrder, condition: Condition) -> Prepared:
    return Prepared(case=order.case, condition=condition, seed=order.seed, guidance=order.guidance)


def _drawn(prepared: Prepared) -> str:
    """The kinds that a mix has drawn for the case; empty for one kind alone, which the title names."""
    if prepared.condition.group not in MIXES:
        return ""
    recipe = prepared.recipe
    if recipe is None:  # a stressed first mask, whose kind depends on what its object allows
        try:
            kind = prepared.first_kind()
        except InputError:  # too small to be spoiled at this level: it was not asked, and its row says failed
            return ""
        return f"{base_of(kind)} of the first mask" if kind else ""
    rooms: dict[str, list[str]] = {}
    for step in recipe.steps:
        rooms.setdefault(step.room, []).append(base_of(step.name))
    return "; ".join(names[0] if len(names) == 1 else "a kind drawn for each frame" for names in rooms.values())
