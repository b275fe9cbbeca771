"""Strips of pictures: a case and its predictions at each strength."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.jobs.predict import FILE, Reader, stored_answer
from auscult.media.frames import encode_jpeg
from auscult.outcome import Failed
from auscult.record.lines import read_lines
from auscult.report.page import Example, Section
from auscult.report.strip import MOST_FRAMES, StripCell, StripRow, evenly, strip
from auscult.stress.recipe_parts import base_of
from auscult.suites.core.conditions import CLEAN, Condition, is_mix
from auscult.suites.core.measures import static_of
from auscult.suites.core.numbers import GridColumns
from auscult.suites.core.results import ResultKey
from auscult.suites.core.runner import Finished
from auscult.suites.r2.cases import R2Case, truths_of
from auscult.suites.r2.inputs import R2Runner
from auscult.suites.r2.perturbing import Prepared
from auscult.work.pool import Task, run_tasks

WIDTH_PX = 1200
_MOST_BESIDE = 4
"""Strips of all models, at most."""
_QUALITY = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class StripOrder:
    """The content of one strip."""

    name: str
    title: str
    case: R2Case
    # under each condition, mildest first: the case, its stored prediction, its score
    rows: tuple[tuple[Prepared, Mapping[str, Any] | None, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideOrder:
    """The content of one strip of all models: one frame of a case, conditions below one another."""

    name: str
    title: str
    case: R2Case
    models: tuple[str, ...]
    rows: tuple[tuple[Prepared, tuple[Mapping[str, Any] | None, ...]], ...]  # each with the models' stored predictions


def draw_strips(runner: R2Runner, done: Finished) -> list[Example]:
    """Draw a strip for every group of conditions: the case with the largest loss, or least gain, of the first model."""
    view, cases = GridColumns(grid=done.grid, seed=runner.seed), {case.id: case for case in runner.cases}
    orders = _orders(runner.run.path / FILE, view, cases, prepare=runner.prepare, valid=done.requests)
    return _examples(runner, orders)


def draw_beside(runner: R2Runner, done: Finished) -> list[Example]:
    """Draw all models side by side, for the groups of conditions that cost the first model most on one case."""
    grid, view = done.grid, GridColumns(grid=done.grid, seed=runner.seed)
    cases = {case.id: case for case in runner.cases}
    found = sorted(grid.models, key=grid.task.is_baseline)  # baselines last
    tested = [name for name in found if not grid.task.is_baseline(name) and grid.is_complete(name, CLEAN)]
    if not tested:
        return []
    metric, first = grid.task.metrics[0], tested[0]
    worst = {group: _worst(view, first, metric, group=group) for group in grid.groups()}
    losses = sorted((change, group) for group, (case, change) in worst.items() if case in cases)[:_MOST_BESIDE]
    groups = {group: (grid.conditions[0], *static_of(view, first, group)) for _, group in losses}
    models = {
        group: tuple(model for model in found if all(grid.is_complete(model, one.name) for one in conditions))
        for group, conditions in groups.items()
    }
    wanted = {
        (model, one.name, worst[group][0]) for group, all_ in groups.items() for one in all_ for model in models[group]
    }
    stored = _stored(runner.run.path / FILE, wanted, done.requests)
    orders = []
    for group, conditions in groups.items():
        case, shown = cases[worst[group][0]], models[group][:MOST_FRAMES]
        rows = (
            (runner.prepare(case, one), tuple(stored.get((model, one.name, case.id)) for model in shown))
            for one in conditions
        )
        name = f"models_{conditions[-1].name.rpartition('_')[0] or group[0]}"
        title = grid.task.group_name(*group)
        orders.append(BesideOrder(name=name, title=title, case=case, models=shown, rows=tuple(rows)))
    return _examples(runner, orders)


def _examples(runner: R2Runner, orders: Sequence[StripOrder] | Sequence[BesideOrder]) -> list[Example]:
    """Draw strips into the record; one that cannot be drawn is left out."""
    run = runner.run
    made: dict[str, bytes] = {}
    tasks = [Task(order.name, order) for order in orders]
    for result in run_tasks(_StripDrawer, tasks, workers=runner.how.workers, stage="figure"):
        if not isinstance(result.outcome, Failed):  # a figure that cannot be drawn fails no case
            made[result.key] = result.outcome
            run.write_bytes(_file(result.key), result.outcome, durable=False)
    return [
        Example(
            title=order.title,
            jpeg=made[order.name],
            text=order.case.query.text or "",
            id=order.case.id,
            facts=_facts(order) if isinstance(order, StripOrder) else (),
            broad=True,
            file=_file(order.name),
        )
        for order in orders
        if order.name in made
    ]


def beside_sections(strips: Sequence[Example]) -> list[Section]:
    """The section of the page that shows all models side by side; none where there is no strip."""
    lead = (
        "One frame of the cases that the first model loses most on, by what is perturbed. Tinted is a model's mask, "
        "the white line is the true outline; below each picture the IoU of its frame."
    )
    section = Section(name="beside", title="All models side by side", lead=lead, examples=tuple(strips))
    return [section] if strips else []


def strip_sections(strips: Sequence[Example]) -> list[Section]:
    """The section of the page that shows them; none where there is no strip."""
    lead = (
        "Of each the case that the first model loses most on, or gains least, at the highest strength. Tinted is its "
        "mask, the white line is the true outline. In brackets: the change from clean."
    )
    section = Section(name="strips", title="The first model through its clips", lead=lead, examples=tuple(strips))
    return [section] if strips else []


def _file(name: str) -> str:
    return f"figures/strips/{name}.jpg"


def _facts(order: StripOrder) -> tuple[tuple[str, str], ...]:
    """Each level's score, and its change from clean."""
    clean = next((score for prepared, _, score in order.rows if prepared.condition.name == CLEAN), None)
    facts = []
    for prepared, row, score in order.rows:
        text = "failed" if row is None else "n/a" if score is None else f"{100 * score:.1f}"
        if score is not None and clean is not None and prepared.condition.name != CLEAN:
            text += f" ({100 * (score - clean):+.1f})"
        facts.append((prepared.condition.level, text))
    return tuple(facts)


def _orders(
    predictions: Path,
    view: GridColumns,
    cases: Mapping[str, R2Case],
    *,
    prepare: Callable[[R2Case, Condition], Prepared],
    valid: Mapping[str, ResultKey],
) -> list[StripOrder]:
    grid = view.grid
    tested = (name for name in grid.models if not grid.task.is_baseline(name))
    model = next((name for name in tested if grid.is_complete(name, CLEAN)), "")
    if not model:
        return []
    metric = grid.task.metrics[0]
    chosen = {group: _worst(view, model, metric, group=group)[0] for group in grid.groups()}
    wanted = {
        (model, condition.name, case)
        for group, case in chosen.items()
        if case
        for condition in (grid.conditions[0], *grid.of_group(*group))
    }
    stored = _stored(predictions, wanted, valid)
    orders = []
    for (group, part), case in chosen.items():
        if case in cases:
            conditions = [
                one for one in (grid.conditions[0], *grid.of_group(group, part)) if grid.is_complete(model, one.name)
            ]
            rows = tuple(
                (
                    prepare(cases[case], condition),
                    stored.get((model, condition.name, case)),
                    grid.cell(model, condition.name, metric).values.get(case),
                )
                for condition in conditions
            )
            name = conditions[-1].name.rpartition("_")[0] or group
            title = f"{grid.task.group_name(group, part)}: {model}"
            orders.append(StripOrder(name=name, title=title, case=cases[case], rows=rows))
    return orders


def _stored(
    predictions: Path, wanted: Collection[ResultKey], valid: Mapping[str, ResultKey]
) -> dict[ResultKey, Mapping[str, Any]]:
    """The stored predictions of some requests; of several the first."""
    stored: dict[ResultKey, Mapping[str, Any]] = {}
    for row in read_lines(predictions):
        request = valid.get(str(row["key"]))
        if request in wanted and request is not None:
            stored.setdefault(request, row)
    return stored


def _worst(view: GridColumns, model: str, metric: str, *, group: tuple[str, str]) -> tuple[str, float]:
    """The case with the largest loss, or least gain, at the strongest static condition, and its change.

    Without a name where none is scored.
    """
    static = static_of(view, model, group)
    if not static:
        return "", 0.0
    clean = view.grid.cell(model, CLEAN, metric).values
    strong = view.grid.cell(model, static[-1].name, metric).values
    shared = sorted(clean.keys() & strong.keys())
    change, found = min(((strong[case] - clean[case], case) for case in shared), default=(0.0, ""))
    return found, change


class _StripDrawer:
    """Draws strips in one process."""

    def __init__(self) -> None:
        self._reader = Reader()

    def __call__(self, order: StripOrder | BesideOrder) -> bytes:
        """One strip as JPEG."""
        rows = self._of_models(order) if isinstance(order, BesideOrder) else self._of_model(order)
        few = isinstance(order, BesideOrder) and len(order.models) > 1
        width_px = min(WIDTH_PX, 120 + 280 * len(rows[0].cells)) if few else WIDTH_PX
        return encode_jpeg(strip(rows, width_px=width_px), quality=_QUALITY)

    def _of_models(self, order: BesideOrder) -> list[StripRow]:
        """The frame in the middle of those with a true object, as every model segments it."""
        truths = truths_of(order.case).masks
        known = [index for index, truth in enumerate(truths) if truth is not None and truth.any()]
        index = known[len(known) // 2] if known else len(truths) // 2
        rows = []
        for prepared, answers in order.rows:
            cells = self._cells(prepared, [(row, index) for row in answers])
            named = [replace(cell, over=model) for cell, model in zip(cells, order.models, strict=True)]
            rows.append(StripRow(name=prepared.condition.level, cells=tuple(named), note=self._note(prepared)))
        return rows

    def _of_model(self, order: StripOrder) -> list[StripRow]:
        """The frames of the case, evenly chosen."""
        indices = evenly(len(order.case.frames))
        return [
            StripRow(
                name=prepared.condition.level,
                cells=tuple(self._cells(prepared, [(row, index) for index in indices])),
                detail="" if score is None else f"{100 * score:.1f} %",
                note=self._note(prepared),
            )
            for prepared, row, score in order.rows
        ]

    def _note(self, prepared: Prepared) -> str:
        """What the pictures do not show: the kinds drawn for the case, and a changed sentence."""
        clean = prepared.case.query.text
        text = clean if clean is None else prepared.ask(self._reader).query.text
        sentence = f"“{text}”" if text != clean else ""
        return ": ".join(part for part in (_drawn(prepared), sentence) if part)

    def _cells(self, prepared: Prepared, wanted: Sequence[tuple[Mapping[str, Any] | None, int]]) -> list[StripCell]:
        """Frames of a case, each with a stored prediction of it, or None where that failed."""
        truths = prepared.truths(truths_of(prepared.case).masks)
        frames = prepared.frames(self._reader)
        found = []
        for row, index in wanted:
            # of classes what is no background is shown
            truth = None if (true := truths[index]) is None else true != 0
            mask = None if row is None else stored_answer(row, index) != 0
            found.append(
                StripCell(
                    frame=frames[index],
                    prediction=mask,
                    truth=truth,
                    score=None if mask is None or truth is None else iou(mask, truth),
                    why="failed" if row is None else "",
                )
            )
        return found


def _drawn(prepared: Prepared) -> str:
    """The kinds that a mix drew for the case; empty for a single kind, which the title names."""
    if not is_mix(prepared.condition.group):
        return ""
    recipe = prepared.recipe
    if recipe is None:  # a stressed first mask, whose kind depends on what its object allows
        try:
            kind = prepared.first_kind()
        except InputError:  # too small for a defect at this level: its row says failed
            return ""
        return f"{base_of(kind)} of the first mask" if kind else ""
    rooms: dict[str, list[str]] = {}
    for step in recipe.steps:
        rooms.setdefault(step.room, []).append(base_of(step.name))
    return "; ".join(names[0] if len(names) == 1 else "a kind drawn for each frame" for names in rooms.values())
