"""Strips of pictures: a case and its predictions at each strength."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.jobs.predict import FILE, Reader, stored_answer
from auscult.media.frames import encode_jpeg
from auscult.outcome import Failed
from auscult.record.lines import read_lines
from auscult.report.page import Example, Section
from auscult.report.strip import StripCell, StripRow, evenly, strip
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
_QUALITY = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class StripOrder:
    """The content of one strip."""

    name: str
    title: str
    case: R2Case
    # under each condition, mildest first: the case, its stored prediction, its score
    rows: tuple[tuple[Prepared, Mapping[str, Any] | None, float | None], ...]


def draw_strips(runner: R2Runner, done: Finished) -> list[Example]:
    """Draw a strip for every group of conditions: the case with the largest loss, or least gain, of the first model."""
    run, view = runner.run, GridColumns(grid=done.grid, seed=runner.seed)
    cases = {case.id: case for case in runner.cases}
    orders = _orders(run.path / FILE, view, cases, prepare=runner.prepare, valid=done.requests)
    made: dict[str, bytes] = {}
    tasks = [Task(order.name, order) for order in orders]
    for result in run_tasks(_Drawer, tasks, workers=runner.how.workers, stage="figure"):
        if not isinstance(result.outcome, Failed):  # a figure that cannot be drawn fails no case
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


def strip_sections(strips: Sequence[Example]) -> list[Section]:
    """The section of the page that shows them; none where there is no strip."""
    lead = (
        "Of each the case that the first model loses most on, or gains least, at the highest strength. Tinted is its "
        "mask, the white line is the true outline. In brackets: the change from clean."
    )
    section = Section(name="strips", title="In pictures", lead=lead, examples=tuple(strips))
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
    chosen = {group: _worst(view, model, metric, group=group) for group in grid.groups()}
    wanted = {
        (condition.name, case)
        for group, case in chosen.items()
        if case
        for condition in (grid.conditions[0], *grid.of_group(*group))
    }
    stored: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in read_lines(predictions):
        of, condition, shown = valid.get(str(row["key"]), ("", "", ""))
        if of == model and (condition, shown) in wanted:
            stored.setdefault((condition, shown), row)
    orders = []
    for (group, part), case in chosen.items():
        if case in cases:
            conditions = [
                one for one in (grid.conditions[0], *grid.of_group(group, part)) if grid.is_complete(model, one.name)
            ]
            rows = tuple(
                (
                    prepare(cases[case], condition),
                    stored.get((condition.name, case)),
                    grid.cell(model, condition.name, metric).values.get(case),
                )
                for condition in conditions
            )
            name = conditions[-1].name.rpartition("_")[0] or group
            title = f"{grid.task.group_name(group, part)}: {model}"
            orders.append(StripOrder(name=name, title=title, case=cases[case], rows=rows))
    return orders


def _worst(view: GridColumns, model: str, metric: str, *, group: tuple[str, str]) -> str:
    """The case with the largest loss, or least gain, at the strongest static condition; empty where none is scored."""
    static = static_of(view, model, group)
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
        indices = evenly(len(order.case.frames))
        rows = [
            StripRow(
                name=prepared.condition.level,
                cells=tuple(self._cells(prepared, row, indices=indices)),
                detail="" if score is None else f"{100 * score:.1f} %",
                note=self._note(prepared),
            )
            for prepared, row, score in order.rows
        ]
        return encode_jpeg(strip(rows, width_px=WIDTH_PX), quality=_QUALITY)

    def _note(self, prepared: Prepared) -> str:
        """What the pictures do not show: the kinds drawn for the case, and a changed sentence."""
        clean = prepared.case.query.text
        text = clean if clean is None else prepared.ask(self._reader).query.text
        sentence = f"“{text}”" if text != clean else ""
        return ": ".join(part for part in (_drawn(prepared), sentence) if part)

    def _cells(self, prepared: Prepared, row: Mapping[str, Any] | None, *, indices: Sequence[int]) -> list[StripCell]:
        truths = prepared.truths(truths_of(prepared.case).masks)
        frames = prepared.frames(self._reader)
        found = []
        for index in indices:
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
