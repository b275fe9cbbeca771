"""Strips of pictures: a case and its predictions at each strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.jobs.predict import MediaReader, stored_answer
from auscult.media.frames import encode_jpeg
from auscult.report.page import Example, Section
from auscult.report.strip import MOST_FRAMES, StripCell, StripRow, evenly, strip
from auscult.stress.recipe_parts import base_of
from auscult.suites.core.conditions import CLEAN, Condition, is_mix
from auscult.suites.core.grid import Grid
from auscult.suites.core.measures import static_of
from auscult.suites.core.numbers import ConditionGroup, GridView
from auscult.suites.core.runner import Finished, stored_rows
from auscult.suites.r2.cases import R2Case, truths_of
from auscult.suites.r2.inputs import R2Runner
from auscult.suites.r2.perturbing import PerturbedCase

WIDTH_PX = 1200
_MOST_BESIDE: Final = 4
"""Most strips with all models."""
_QUALITY = 85


_BESIDE: Final = (
    "One frame of the cases that the first model loses most on, by what is perturbed. Tinted is a model's mask, "
    "the white line is the true outline; below each picture the IoU of its frame."
)
_THROUGH: Final = (
    "Of each the case that the first model loses most on, or gains least, at the highest strength. Tinted is its "
    "mask, the white line is the true outline. In brackets: the change from clean."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StripContent:
    """The content of one strip: a case under conditions, mildest first."""

    title: str
    case: R2Case
    models: tuple[str, ...]
    beside: bool  # whether to show one frame with all models instead of the clip with the first model
    # the case under each condition, the stored predictions, the first model's score
    rows: tuple[tuple[PerturbedCase, tuple[Mapping[str, Any] | None, ...], float | None], ...]


class _Selected(NamedTuple):
    """What a strip is to show."""

    case: str
    group: ConditionGroup
    conditions: Sequence[Condition]  # of the group, ``clean`` first
    models: tuple[str, ...]


def beside_sections(runner: R2Runner, done: Finished) -> list[Section]:
    """All models side by side, for the groups of conditions that cost the first model most on one case."""
    grid, view = done.grid, GridView(grid=done.grid, seed=runner.seed)
    first, models = _first(grid), sorted(grid.models, key=grid.task.is_baseline)  # baselines last
    worst = {group: _worst(view, first, group) for group in grid.groups()}
    losses = sorted((change, group) for group, (case, change) in worst.items() if case)[:_MOST_BESIDE]
    chosen = []
    for _, group in losses:
        conditions = (grid.conditions[0], *static_of(view, first, group))
        complete = [
            model for model in models if all(grid.is_complete(model, condition.name) for condition in conditions)
        ]
        chosen.append(_Selected(worst[group][0], group, conditions, tuple(complete[:MOST_FRAMES])))
    strips = tuple(_draw(runner, done, chosen, beside=True))
    return [Section(name="beside", title="All models side by side", lead=_BESIDE, examples=strips)] if strips else []


def strip_sections(runner: R2Runner, done: Finished) -> list[Section]:
    """The case with the largest loss, or least gain, of the first model for each group of conditions."""
    grid, view = done.grid, GridView(grid=done.grid, seed=runner.seed)
    first, chosen = _first(grid), []
    for group in grid.groups():
        case, _ = _worst(view, first, group)
        conditions = (grid.conditions[0], *grid.of_group(*group))
        if case:
            complete = [condition for condition in conditions if grid.is_complete(first, condition.name)]
            chosen.append(_Selected(case, group, complete, (first,)))
    strips = tuple(_draw(runner, done, chosen, beside=False))
    section = Section(name="strips", title="The first model through its clips", lead=_THROUGH, examples=strips)
    return [section] if strips else []


def _first(grid: Grid) -> str:
    """The first model, not a baseline, with clean results; empty for none."""
    return next((name for name in grid.task.tested(grid.models) if grid.is_complete(name, CLEAN)), "")


def _draw(
    runner: R2Runner,
    finished: Finished,
    selection: Sequence[_Selected],
    *,
    beside: bool,
) -> list[Example]:
    """Draw cases under the conditions of a group, with the predictions of models."""
    grid, cases, contents = finished.grid, {case.id: case for case in runner.cases}, dict[str, StripContent]()
    keys = {
        (model, condition.name, case)
        for case, _, conditions, models in selection
        for condition in conditions
        for model in models
    }
    stored = stored_rows(runner.run.path, finished.requests, keys)
    for case, group, conditions, models in selection:
        scores = [
            grid.cell(models[0], condition.name, grid.task.metrics[0]).values.get(case) for condition in conditions
        ]
        rows = [tuple(stored.get((model, condition.name, case)) for model in models) for condition in conditions]
        prepared = [runner.prepare(cases[case], condition) for condition in conditions]
        name, words = conditions[-1].name.rpartition("_")[0] or group[0], grid.task.group_name(*group)
        contents[f"models_{name}" if beside else name] = StripContent(
            title=words if beside else f"{words}: {models[0]}",
            case=cases[case],
            models=models,
            beside=beside,
            rows=tuple(zip(prepared, rows, scores, strict=True)),
        )
    examples = []
    for name, jpeg in runner.draw_pictures(_StripDrawer, contents).items():
        content, file = contents[name], f"figures/strips/{name}.jpg"
        text, facts = content.case.query.text or "", () if beside else _facts(content)
        examples.append(
            Example(title=content.title, jpeg=jpeg, text=text, id=content.case.id, facts=facts, broad=True, file=file)
        )
    return examples


def _facts(content: StripContent) -> tuple[tuple[str, str], ...]:
    """Each level's score, and its change from clean."""
    clean = next((score for prepared, _, score in content.rows if prepared.condition.name == CLEAN), None)
    facts = []
    for prepared, (row,), score in content.rows:
        text = "failed" if row is None else "n/a" if score is None else f"{100 * score:.1f}"
        if score is not None and clean is not None and prepared.condition.name != CLEAN:
            text += f" ({100 * (score - clean):+.1f})"
        facts.append((prepared.condition.level, text))
    return tuple(facts)


def _worst(view: GridView, model: str, group: ConditionGroup) -> tuple[str, float]:
    """The case with the largest loss, or least gain, at the strongest static condition, and its change; or ("", 0)."""
    static, metric = static_of(view, model, group), view.grid.task.metrics[0]
    if not static:
        return "", 0.0
    clean = view.grid.cell(model, CLEAN, metric).values
    strong = view.grid.cell(model, static[-1].name, metric).values
    shared = sorted(clean.keys() & strong.keys())
    change, worst = min(((strong[case] - clean[case], case) for case in shared), default=(0.0, ""))
    return worst, change


class _StripDrawer:
    """Draws strips in one process."""

    def __init__(self) -> None:
        self._reader = MediaReader()

    def __call__(self, content: StripContent) -> bytes:
        """One strip as JPEG: one frame with every model, or evenly chosen frames of the clip."""
        frames = [self._frame(content.case)] if content.beside else evenly(len(content.case.frames))
        rows = [
            StripRow(
                name=prepared.condition.level,
                cells=tuple(self._cells(prepared, [(row, index) for row in answers for index in frames], content)),
                detail="" if score is None or content.beside else f"{100 * score:.1f} %",
                note=self._note(prepared),
            )
            for prepared, answers, score in content.rows
        ]
        few = len(content.models) > 1
        width_px = min(WIDTH_PX, 120 + 280 * len(rows[0].cells)) if few else WIDTH_PX
        return encode_jpeg(strip(rows, width_px=width_px), quality=_QUALITY)

    @staticmethod
    def _frame(case: R2Case) -> int:
        """The middle one of the frames with a true object."""
        truths = truths_of(case).masks
        indices = [index for index, truth in enumerate(truths) if truth is not None and truth.any()]
        return indices[len(indices) // 2] if indices else len(truths) // 2

    def _note(self, prepared: PerturbedCase) -> str:
        """The kinds drawn for the case, and a changed sentence."""
        clean = prepared.case.query.text
        text = clean if clean is None else prepared.ask(self._reader).query.text
        sentence = f"“{text}”" if text != clean else ""
        return ": ".join(part for part in (_drawn(prepared), sentence) if part)

    def _cells(
        self, prepared: PerturbedCase, answers: Sequence[tuple[Mapping[str, Any] | None, int]], content: StripContent
    ) -> list[StripCell]:
        """Frames of a case, each with its stored prediction, or None if that failed."""
        truths = prepared.truths(truths_of(prepared.case).masks)
        frames = prepared.frames(self._reader)
        cells = []
        for number, (row, index) in enumerate(answers):
            # for classes, all but the background is shown
            truth = None if (true := truths[index]) is None else true != 0
            mask = None if row is None else stored_answer(row, index) != 0
            cells.append(
                StripCell(
                    frame=frames[index],
                    prediction=mask,
                    truth=truth,
                    score=None if mask is None or truth is None else iou(mask, truth),
                    why="failed" if row is None else "",
                    over=content.models[number] if content.beside else "",
                )
            )
        return cells


def _drawn(prepared: PerturbedCase) -> str:
    """The kinds that a mix drew for the case; empty for a single kind, which is in the title."""
    if not is_mix(prepared.condition.group):
        return ""
    recipe = prepared.recipe
    if recipe is None:  # a defect of the first mask, whose kind depends on the object
        try:
            kind = prepared.first_kind()
        except InputError:  # too small for a defect at this level: its row says failed
            return ""
        return f"{base_of(kind)} of the first mask" if kind else ""
    rooms: dict[str, list[str]] = {}
    for step in recipe.steps:
        rooms.setdefault(step.room, []).append(base_of(step.name))
    return "; ".join(names[0] if len(names) == 1 else "a kind drawn for each frame" for names in rooms.values())
