"""A suite in one file: photographs of a bright square under noise; all else comes from ``suites.core``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.errors import RecordError, UsageError
from auscult.jobs.options import Flag
from auscult.jobs.predict import PredictOptions, Reader
from auscult.jobs.runner import Progress, Silent
from auscult.media.frames import read_frame, write_frame
from auscult.media.rle import decode
from auscult.models.base import Request
from auscult.models.spec import model_spec
from auscult.outcome import Failed, Scored, Signature
from auscult.record.folder import open_run
from auscult.record.manifest import IGNORED
from auscult.record.schema import Summary, score_to_json
from auscult.report.charts.lines import StrengthLine, robustness_lines
from auscult.report.charts.marks import Words
from auscult.report.facts import facts_of
from auscult.report.page import Figure, Page, Section
from auscult.report.suite import read_page
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.suites.core.conditions import NOTHING, Condition
from auscult.suites.core.finish import write_run
from auscult.suites.core.grid import questions
from auscult.suites.core.numbers import GridColumns, Number, estimate, level_numbers, number_text
from auscult.suites.core.requests import assign_unique_names
from auscult.suites.core.runner import SuiteRunner, ToScore, earlier_log, write_cases
from auscult.suites.options import SuiteOptions
from auscult.suites.registered import Suite, SuiteRun, options_of
from auscult.types import Frames, Metadata, Query

SIZE = (32, 32)
CONDITIONS = (NOTHING, *(Condition(name=f"noise_{one}", group="noise", level=one) for one in ("low", "high")))
MODELS = """
def note(name):
    with open(__file__ + ".calls", "a") as file:
        file.write(name + "\\n")


def bright(frames, query, **rest):
    note("bright")
    return frames.min(axis=3) > 128


def careful(frames, query, **rest):
    note("careful")
    if frames[0, 0, 0, 0] == 7:
        raise RuntimeError("it is too dark in here")
    return frames.mean(axis=3) > 100
"""


# --- the suite: options, cases, what is done to a case, scores, tables


@dataclass(frozen=True, kw_only=True)
class ToyOptions(SuiteOptions):
    """Which models are tested."""

    models: Annotated[tuple[str, ...], Flag(name="model")] = ()


@dataclass(frozen=True, kw_only=True)
class ToyTask:
    """What is asked."""

    suite: str = "toy"
    name: str = "squares"
    title: str = "finding squares"
    metrics: tuple[str, ...] = ("IoU",)
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    derived: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ToyCase:
    """A photograph; its file says by its name where the square is."""

    frames: tuple[Path, ...]
    split: str = ""
    truth: str = "1"

    @property
    def id(self) -> str:
        return self.frames[0].stem

    @property
    def clip(self) -> str:
        return self.id

    @property
    def digest(self) -> str:
        return self.frames[0].read_bytes().hex()[-64:]


@dataclass(frozen=True, kw_only=True)
class Noisy:
    """A case under a condition."""

    case: ToyCase
    condition: Condition

    def ask(self, reader: Reader) -> Request:  # noqa: ARG002 - one small photograph needs no cache
        return Request(
            id=self.case.id,
            condition=self.condition.name,
            names=(self.case.id,),
            size=SIZE,
            query=Query(),
            frames=self.frames,
        )

    def frames(self) -> Frames:
        frame = read_frame(self.case.frames[0]).astype(float)
        noise = generator(0, "toy", self.case.id).normal(size=frame.shape)
        strength = 30 * (self.condition.strength or 0.0)
        made: Frames = np.clip(frame + strength * noise * (frame != 7), 0, 255).astype(np.uint8)[None]
        return made


def score(given: ToScore[Noisy]) -> list[dict[str, Any]] | Failed:
    row, case = given.row, given.prepared.case
    mask = decode({"size": row["size"], "counts": row["counts"][0]})
    outcome = Scored(iou(mask, square(int(case.id))), Signature.of(metric="IoU", task="squares"))
    about = {name: row[name] for name in ("key", "model", "condition")} | {"truth": case.truth}
    return [{**score_to_json(case.id, "IoU", outcome), **about}]


def make_scorer() -> Any:
    return score


class ToySuite:
    """Squares under noise."""

    name = "toy.v1"
    meta = Metadata(summary="squares", goal="shows the engine", modality="image", source="here", truth="known")

    def options(self) -> type[ToyOptions]:
        return ToyOptions

    def run(self, options: Any, progress: Progress | None = None) -> SuiteRun:
        manifest = options.manifest("run toy")
        with open_run(options.out, manifest, overwrite=options.overwrite, ignore=IGNORED | {"model"}) as run:
            cases = [ToyCase(frames=(path,)) for path in sorted(Path(options.data).glob("*.png"))]
            write_cases(run, ({"id": one.id, "clip": one.clip, "digest": one.digest} for one in cases))
            log = earlier_log(run)
            models = assign_unique_names(log, [model_spec(one) for one in options.models])
            runner = SuiteRunner(
                run=run,
                task=ToyTask(),
                cases=cases,
                seed=options.seed,
                how=PredictOptions(workers=options.n_workers),
                prepare=lambda case, condition: Noisy(case=case, condition=condition),
                scorer=make_scorer,
                progress=progress or Silent(),
            )
            asked = runner.ask_all(log, models, CONDITIONS, floor=())
            view = GridColumns(grid=runner.finish(asked).grid, seed=options.seed)
            numbers = [one for model in view.grid.models for one in level_numbers(view, model, "IoU")]
            table, figure = table_of(view, numbers), figure_of(view, numbers)
            n, failed, undefined = questions(view.grid)
            page = Page(
                title="Squares",
                command="run toy",
                facts=facts_of(run.manifest),
                notes=(),
                links=(),
                sections=(Section(name="noise", title="Noise", figures=(figure,), tables=(table,)),),
                shown=(table,),
            )
            counts = Summary(command="run toy", n=n, ok=n - failed - undefined, failed=failed, undefined=undefined)
            return write_run(run, page, tables={"noise": table}, numbers=numbers, summary=counts)


def table_of(view: GridColumns, numbers: list[Number]) -> Table:
    rows = [
        (model, *(number_text(one, interval=True) for one in numbers if one.model == model))
        for model in view.grid.models
    ]
    header = ("model", *(one.level for one in view.grid.conditions))
    return Table(title="IoU under noise", header=header, rows=tuple(rows))


def figure_of(view: GridColumns, numbers: list[Number]) -> Figure:
    strengths = [one.strength or 0.0 for one in view.grid.conditions]
    lines = []
    for model in view.grid.models:
        mine = [estimate(one) for one in numbers if one.model == model]
        lines.append(StrengthLine(name=model, at=tuple(zip(strengths, mine, strict=True))))
    return Figure(name="noise", caption="IoU over strength.", drawing=robustness_lines(lines, Words(axis="IoU, %")))


SUITE = ToySuite()


# --- what it gets from the core


def square(place: int) -> NDArray[np.bool_]:
    mask = np.zeros(SIZE, bool)
    mask[8:24, place : place + 16] = True
    return mask


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Five photographs, of which the second is dark in its corner, and a file of two models."""
    for place in range(5):
        frame = np.full((*SIZE, 3), 40, np.uint8)
        frame[square(place)] = 220
        frame[0, 0] = 7 if place == 1 else 40
        write_frame(tmp_path / f"data/{place}.png", frame)
    (tmp_path / "mine.py").write_text(MODELS)
    return tmp_path


def run(home: Path, *models: str, **more: Any) -> SuiteRun:
    names = [f"{home / 'mine.py'}:{name}" for name in models]
    words = {"data": home / "data", "out": home / "out", "models": names, "workers": 0, **more}
    return SUITE.run(options_of(SUITE, words))


def rows(home: Path, name: str) -> list[dict[str, Any]]:
    path = home / "out" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def calls(home: Path) -> list[str]:
    return (home / "mine.py.calls").read_text().split()


def test_record_table_chart_and_page(toy: Path) -> None:
    assert isinstance(SUITE, Suite)
    made = run(toy, "bright", "careful")
    names = {path.relative_to(made.out).as_posix() for path in made.out.rglob("*") if path.is_file()}
    assert {"cells.csv", "tables/noise.tex", "figures/noise.svg", "report.html", "scores.jsonl"} <= names
    assert (made.summary.n, made.summary.failed) == (30, 3)
    assert made.tables["noise"].header == ("model", "clean", "low", "high")
    assert made.tables["noise"].rows[0][1] == "100.0 [100.0, 100.0]"
    (page,) = read_page(made.out).sections
    assert (len(page.tables), len(page.figures)) == (1, 1)
    cells = json.loads((made.out / "cells.json").read_text())
    assert {(one["model"], one["level"], one["n"], one["failed"]) for one in cells if one["level"] == "clean"} == {
        ("mine.bright", "clean", 5, 0), ("mine.careful", "clean", 4, 1)
    }  # fmt: skip
    assert all("score_task:squares" in one["signature"] and one["low"] <= one["value"] for one in cells)


def test_a_failure_is_a_result_row_and_one_line_of_errors(toy: Path) -> None:
    run(toy, "careful")
    failed = [row for row in rows(toy, "scores.jsonl") if row["outcome"] == "failed"]
    assert {(row["id"], row["condition"]) for row in failed} == {("1", one.name) for one in CONDITIONS}
    (error,) = rows(toy, "errors.jsonl")
    assert error["error"].startswith("mine.careful, all 3 conditions: ")
    assert error["questions"][0]["cases"] == ["1"]


def test_it_goes_on_where_it_stopped(toy: Path) -> None:
    first = run(toy, "bright")
    assert run(toy, "bright").summary == first.summary
    assert calls(toy) == ["bright"] * 15
    lines = (toy / "out/predictions.jsonl").read_text().splitlines(keepends=True)
    (toy / "out/predictions.jsonl").write_text("".join(lines[:10]) + lines[10][:40])
    (toy / "out/scores.jsonl").unlink()
    assert run(toy, "bright").tables == first.tables
    assert calls(toy) == ["bright"] * 20
    both = run(toy, "careful")
    assert [row[0] for row in both.tables["noise"].rows] == ["mine.careful", "mine.bright"]
    assert calls(toy)[20:] == ["careful"] * 15


def test_what_it_does_not_know_is_refused(toy: Path) -> None:
    with pytest.raises(UsageError, match="toy has no option judges"):
        options_of(SUITE, {"data": toy, "out": toy / "out", "judges": ["x"]})
    run(toy, "bright")
    (toy / "out/requests.jsonl").unlink()
    with pytest.raises(RecordError, match="does not say what was asked"):
        run(toy, "bright")
