"""A suite in one file: photographs of a bright square under noise; all else comes from ``suites.core``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError, RecordError, UsageError
from auscult.jobs.options import Flag
from auscult.jobs.predict import MediaReader, PredictOptions
from auscult.jobs.runner import Progress, Silent
from auscult.media.frames import read_frame, write_frame
from auscult.media.rle import decode
from auscult.models.base import Request
from auscult.models.spec import model_spec
from auscult.outcome import Failed, Scored, Signature
from auscult.record.folder import open_run
from auscult.record.manifest import IGNORED
from auscult.record.schema import score_to_json
from auscult.report.suite import read_page
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.suites.core.compare import write_comparison
from auscult.suites.core.conditions import NOTHING, Condition
from auscult.suites.core.grid import Task
from auscult.suites.core.page import write_results
from auscult.suites.core.records import ModelSuite, score_record, suite_of
from auscult.suites.core.requests import assign_unique_names
from auscult.suites.core.runner import SuiteRunner, ToScore, earlier_log, write_cases
from auscult.suites.options import SuiteOptions
from auscult.suites.r2 import SUITE as R2
from auscult.suites.registered import Suite, SuiteRun, options_of
from auscult.types import Frames, Metadata, Query

SIZE = (32, 32)
CONDITIONS = (NOTHING, *(Condition(name=f"noise_{level}", group="noise", level=level) for level in ("low", "high")))
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


TASK = Task(suite="toy", name="squares", title="finding squares", metrics=("IoU",))


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

    def ask(self, reader: MediaReader) -> Request:  # noqa: ARG002 - one small photograph needs no cache
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
        noisy: Frames = np.clip(frame + strength * noise * (frame != 7), 0, 255).astype(np.uint8)[None]
        return noisy


def score(to_score: ToScore[Noisy]) -> list[dict[str, Any]] | Failed:
    row, case = to_score.row, to_score.prepared.case
    mask = decode({"size": row["size"], "counts": row["counts"][0]})
    outcome = Scored(iou(mask, square(int(case.id))), Signature.of(metric="IoU", task="squares"))
    fields = {name: row[name] for name in ("key", "model", "condition")} | {"truth": case.truth}
    return [{**score_to_json(case.id, "IoU", outcome), **fields}]


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
            rows = ("id", "clip", "split", "digest", "truth")
            write_cases(run, ({name: getattr(case, name) for name in rows} for case in cases))
            log = earlier_log(run)
            models = assign_unique_names(log, [model_spec(model) for model in options.models])
            runner = SuiteRunner(
                run=run,
                task=TASK,
                cases=cases,
                seed=options.seed,
                how=PredictOptions(workers=options.n_workers),
                prepare=lambda case, condition: Noisy(case=case, condition=condition),
                scorer=make_scorer,
                progress=progress or Silent(),
            )
            return write_results(runner, runner.finish(runner.ask_all(log, models, CONDITIONS, baselines=())))

    def task(self, manifest: Mapping[str, Any]) -> Task:  # noqa: ARG002 - there is one
        return TASK


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


def run(root: Path, *models: str, **options: Any) -> SuiteRun:
    names = [f"{root / 'mine.py'}:{name}" for name in models]
    words = {"data": root / "data", "out": root / "out", "models": names, "workers": 0, **options}
    return SUITE.run(options_of(SUITE, words))


def numbers(suite_run: SuiteRun) -> dict[str, Table]:
    """The tables without that of the time that each answer took."""
    return {name: table for name, table in suite_run.tables.items() if name != "answers"}


def rows(root: Path, name: str) -> list[dict[str, Any]]:
    path = root / "out" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def calls(root: Path) -> list[str]:
    return (root / "mine.py.calls").read_text().split()


def test_record_table_chart_and_page(toy: Path) -> None:
    assert isinstance(SUITE, Suite)
    suite_run = run(toy, "bright", "careful")
    names = {path.relative_to(suite_run.out).as_posix() for path in suite_run.out.rglob("*") if path.is_file()}
    assert {"cells.csv", "tables/general_noise.tex", "figures/curve_noise.svg", "report.html", "scores.jsonl"} <= names
    assert (suite_run.summary.n, suite_run.summary.failed) == (30, 3)
    assert suite_run.tables["general_noise"].header == ("model", "metric", "clean", "low", "high", "APC", "cases")
    assert suite_run.tables["general_noise"].rows[0][:3] == ("mine.bright", "IoU", "100.0")
    sections = {section.name: section for section in read_page(suite_run.out).sections}
    assert sections.keys() == {"general", "models", "answers"}
    assert (len(sections["general"].tables), len(sections["general"].figures)) == (1, 1)
    cells = json.loads((suite_run.out / "cells.json").read_text())
    clean = [cell for cell in cells if (cell["measure"], cell["level"]) == ("level", "clean")]
    assert {(cell_["model"], cell_["level"], cell_["n"], cell_["failed"]) for cell_ in clean} == {
        ("mine.bright", "clean", 5, 0), ("mine.careful", "clean", 4, 1)
    }  # fmt: skip
    levels = [cell for cell in cells if cell["measure"] == "level"]
    assert all("score_task:squares" in level["signature"] and level["low"] <= level["value"] for level in levels)


def test_a_failure_is_a_result_row_and_one_line_of_errors(toy: Path) -> None:
    run(toy, "careful")
    failed = [row for row in rows(toy, "scores.jsonl") if row["outcome"] == "failed"]
    assert {(row["id"], row["condition"]) for row in failed} == {("1", condition.name) for condition in CONDITIONS}
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
    assert numbers(run(toy, "bright")) == numbers(first)
    assert calls(toy) == ["bright"] * 20
    both_runs = run(toy, "careful")
    assert [row[0] for row in both_runs.tables["general_noise"].rows] == ["mine.careful", "mine.bright"]
    assert calls(toy)[20:] == ["careful"] * 15


def test_a_command_without_a_model_is_refused_unless_an_earlier_one_had_some(toy: Path) -> None:
    with pytest.raises(UsageError, match="no model was named"):
        run(toy)
    first = run(toy, "bright")
    assert numbers(run(toy)) == numbers(first)


def test_a_mistyped_model_costs_nothing(toy: Path) -> None:
    with pytest.raises(AuscultError, match="brihgt"):
        run(toy, "brihgt")
    (toy / "data").rename(toy / "other")
    first = run(toy, "bright", data=toy / "other")
    assert first.summary.n == 15
    with pytest.raises(AuscultError, match="brihgt"):
        run(toy, "brihgt", data=toy / "other")
    assert run(toy, data=toy / "other").summary == first.summary


def test_its_record_is_scored_again_without_a_model(toy: Path) -> None:
    suite_run = run(toy, "bright", "careful")
    (toy / "mine.py").unlink()
    second_run = score_record(suite_run.out, SUITE)
    assert second_run.tables == suite_run.tables
    assert second_run.summary.metrics == suite_run.summary.metrics
    assert (second_run.summary.n, second_run.summary.failed, second_run.remarks) == (
        suite_run.summary.n,
        suite_run.summary.failed,
        (),
    )


def test_two_records_are_compared_as_one_run_of_both_models(toy: Path) -> None:
    both_runs = run(toy, "bright", "careful")
    parts = [run(toy, name, out=toy / name).out for name in ("bright", "careful")]
    comparison = write_comparison(parts, SUITE, toy / "compared")
    assert comparison.tables["differences"] == both_runs.tables["differences"]
    assert [row[0] for row in comparison.tables["differences"].rows] == ["mine.bright - mine.careful"]
    cells, compared_cells = (json.loads((out / "cells.json").read_text()) for out in (both_runs.out, toy / "compared"))
    assert [row for row in compared_cells if row in cells] == cells
    page = (toy / "compared/report.html").read_text()
    assert "Finding squares: 2 models compared" in page


def test_a_suite_of_models_is_found_by_the_command_of_its_record(tmp_path: Path) -> None:
    assert suite_of("run r2", tmp_path) is R2
    assert isinstance(SUITE, ModelSuite)
    assert [suite_of(command, tmp_path) for command in ("run mqa", "audit")] == [None, None]
    for command in ("run nothing", "run "):
        with pytest.raises(UsageError, match="not installed") as error:
            suite_of(command, tmp_path)
        assert str(error.value.path) == str(tmp_path)


def test_what_it_does_not_know_is_refused(toy: Path) -> None:
    with pytest.raises(UsageError, match="toy has no option judges"):
        options_of(SUITE, {"data": toy, "out": toy / "out", "judges": ["x"]})
    with pytest.raises(UsageError, match=r"toy has no option model\n") as error:
        options_of(SUITE, {"data": toy, "out": toy / "out", "model": "x"})
    assert error.value.hint == "--model of the command line is models in Python"
    for models, message in (([len], "models holds a function"), (None, "a value of the type NoneType")):
        with pytest.raises(UsageError, match=message):
            options_of(SUITE, {"data": toy, "out": toy / "out", "models": models})
    run(toy, "bright")
    (toy / "out/requests.jsonl").unlink()
    with pytest.raises(RecordError, match="does not say what was asked"):
        run(toy, "bright")
