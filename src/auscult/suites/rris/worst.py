"""Invented masks in pictures, worst first: the sentence, what each model painted, and what should have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from auscult.jobs.predict import FILE, Reader, stored_answer
from auscult.media.frames import encode_jpeg
from auscult.outcome import Failed
from auscult.record.lines import read_lines
from auscult.report.page import Example, Section
from auscult.report.strip import MOST_FRAMES, StripCell, StripRow, strip
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.grid import Grid
from auscult.suites.core.runner import Finished, SuiteRunner
from auscult.suites.rris.cases import Prepared, RrisCase
from auscult.suites.rris.scoring import IOU, PAINTED
from auscult.work.pool import Task, run_tasks

MOST: Final = 12
"""Pictures of invented masks, and of missed objects, at most."""
_QUALITY: Final = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """One picture: a case, and what each model answered."""

    case: RrisCase
    models: tuple[str, ...]
    rows: tuple[Mapping[str, Any] | None, ...]
    shares: tuple[float | None, ...]  # the share of the picture that each painted
    ious: tuple[float | None, ...]

    @property
    def file(self) -> str:
        return f"figures/worst/{self.case.digest[:16]}.jpg"


def worst_sections(runner: SuiteRunner[RrisCase, Prepared], done: Finished) -> list[Section]:
    """Draw the largest masks that the first model invented, and the objects that it missed; none without a model."""
    grid = done.grid
    models = sorted((one for one in grid.models if grid.known(one, CLEAN)), key=grid.task.is_baseline)[:MOST_FRAMES]
    if not models or grid.task.is_baseline(models[0]):
        return []
    invented = _ranked(runner.cases, grid.cell(models[0], CLEAN, PAINTED).values, exists=False)
    missed = _ranked(runner.cases, {case: 1 - iou for case, iou in _ious(grid, models[0]).items()}, exists=True)
    drawn = _drawn(runner, _orders(runner, done, models, cases=[*invented, *missed]))
    sections = (
        (
            "invented",
            "Invented masks",
            "The largest masks of {} for what is not there; there should be none.",
            invented,
        ),
        ("missed", "Missed objects", "The sentences that {} answered worst, though what they name is there.", missed),
    )
    shown = {name: tuple(drawn[one.id] for one in cases if one.id in drawn) for name, _, _, cases in sections}
    return [
        Section(name=name, title=title, lead=f"{lead.format(models[0])} {_KEY}", examples=shown[name])
        for name, title, lead, _ in sections
        if shown[name]
    ]


_KEY: Final = (
    "Tinted is a model's mask, the white line is the true outline, where there is one. Percent over what is not there "
    "are of the picture."
)


def _ious(grid: Grid, model: str) -> Mapping[str, float]:
    return grid.cell(model, CLEAN, IOU).values


def _ranked(cases: Sequence[RrisCase], badness: Mapping[str, float], *, exists: bool) -> list[RrisCase]:
    """The worst, one a picture."""
    mine = [one for one in cases if (one.target is not None) == exists and badness.get(one.id, 0.0) > 0]
    worst: dict[str, RrisCase] = {}
    for one in sorted(mine, key=lambda one: (-badness[one.id], one.id)):
        worst.setdefault(one.clip, one)
    return list(worst.values())[:MOST]


def _orders(
    runner: SuiteRunner[RrisCase, Prepared], done: Finished, models: Sequence[str], *, cases: Sequence[RrisCase]
) -> Iterator[_Order]:
    wanted = {(model, CLEAN, case.id) for model in models for case in cases}
    stored = {
        done.requests[str(row["key"])]: row
        for row in read_lines(runner.run.path / FILE)
        if done.requests.get(str(row["key"])) in wanted
    }
    for case in cases:
        yield _Order(
            case=case,
            models=tuple(models),
            rows=tuple(stored.get((model, CLEAN, case.id)) for model in models),
            shares=tuple(done.grid.cell(model, CLEAN, PAINTED).values.get(case.id) for model in models),
            ious=tuple(_ious(done.grid, model).get(case.id) for model in models),
        )


def _drawn(runner: SuiteRunner[RrisCase, Prepared], orders: Iterator[_Order]) -> dict[str, Example]:
    """Draw into the record; a picture that cannot be drawn is left out."""
    known = {order.case.id: order for order in orders}
    found: dict[str, Example] = {}
    tasks = [Task(name, order) for name, order in known.items()]
    for result in run_tasks(_Drawer, tasks, workers=runner.how.workers, stage="figure"):
        if isinstance(result.outcome, Failed):  # a figure that cannot be drawn fails no case
            continue
        order = known[result.key]
        case = order.case
        runner.run.write_bytes(order.file, result.outcome, durable=False)
        shares = [f"{model} {_percent(share)}" for model, share in zip(order.models, order.shares, strict=True)]
        facts = (("kind", case.kind), ("painted", ", ".join(shares)), ("should be", "nothing"))
        ious = [f"{model} {_percent(iou)}" for model, iou in zip(order.models, order.ious, strict=True)]
        found[case.id] = Example(
            title=case.kind or "it is there",
            jpeg=result.outcome,
            text=case.text,
            id=case.id,
            facts=facts if case.kind else (("IoU", ", ".join(ious)),),
            broad=True,
            file=order.file,
        )
    return found


def _percent(share: float | None) -> str:
    return "failed" if share is None else f"{100 * share:.1f} %"


class _Drawer:
    """Draws pictures in one process."""

    def __init__(self) -> None:
        self._reader = Reader()

    def __call__(self, order: _Order) -> bytes:
        """All models side by side, as JPEG."""
        frame, truth = self._reader.frames(order.case.frames, order.case.size)[0], order.case.mask()
        cells = [
            StripCell(
                frame=frame,
                prediction=None if row is None else stored_answer(row, 0) != 0,
                truth=truth,
                score=None if truth is None else iou,
                why="failed" if row is None else "",
                over=model if truth is not None else f"{model}: {_percent(share)}",
            )
            for model, row, iou, share in zip(order.models, order.rows, order.ious, order.shares, strict=True)
        ]
        rows = [StripRow(name=order.case.kind or "there", cells=tuple(cells), note=f"“{order.case.text}”")]
        return encode_jpeg(strip(rows, width_px=min(1200, 120 + 280 * len(cells))), quality=_QUALITY)
