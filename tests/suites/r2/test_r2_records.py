"""A record of ``run r2`` laid out and scored again from its own lines: no data is opened, no model is asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from r2_material import calls, clips, model_file, photographs, rows, run_r2

from auscult.errors import RecordError
from auscult.jobs.finish import report_suite
from auscult.record.folder import read_manifest
from auscult.suites.core.records import score_record
from auscult.suites.r2 import SUITE
from auscult.suites.registered import SuiteRun
from small_inputs import auscult, tree, write_lines

pytestmark = pytest.mark.slow  # runs of the whole suite, beside those of test_r2_runs


@pytest.fixture(scope="module")
def run_and_models(tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteRun, Path]:
    """A run on clips with a model that fails on some; its data is gone, its file says what it was asked."""
    root = tmp_path_factory.mktemp("records")
    file = model_file(root)
    models = [f"{file}:{name}" for name in ("colour", "picky")]
    data = clips(root / "data", one=5, two=6, three=7)
    suite_run = run_r2(data, root / "out", "vos", *models, mixes=("mix", "guidance"), kinds=("fog",))
    shutil.rmtree(data)
    return suite_run, file


@pytest.fixture
def copy(run_and_models: tuple[SuiteRun, Path], tmp_path: Path) -> Path:
    return shutil.copytree(run_and_models[0].out, tmp_path / "copy")


def test_a_report_is_the_same_from_the_record_alone(run_and_models: tuple[SuiteRun, Path], copy: Path) -> None:
    suite_run, file = run_and_models
    before, asked_before = tree(copy), calls(file)
    page = (copy / "report.html").read_text()
    assert page.count('class="panel broad"') == 6, "for each group a strip of one model, and one of all models"
    assert page.count("<svg") > 3
    (copy / "report.html").unlink()
    result = auscult("report", copy)
    assert result.code == 0
    assert "Requests\n" in result.out
    assert tree(copy) == before == tree(suite_run.out)
    assert calls(file) == asked_before


def test_a_lost_strip_is_told(copy: Path) -> None:
    strip = min((copy / "figures/strips").glob("*fog*.jpg"))
    strip.unlink()
    page = report_suite(copy)
    assert [f"figures/strips/{strip.name}" in lost_line for lost_line in page.lost] == [True]
    assert (copy / "report.html").read_text().count('class="panel broad"') == 5


def test_scores_are_those_of_the_run(run_and_models: tuple[SuiteRun, Path], copy: Path) -> None:
    suite_run, file = run_and_models
    before, asked_before = tree(copy), calls(file)
    second_run = score_record(copy, SUITE)
    assert second_run.tables == suite_run.tables
    assert second_run.shown == suite_run.shown
    assert second_run.remarks == ()
    summary = json.loads((copy / "summary.json").read_text())
    assert summary["failed"] > 0, "a model that fails on clips of five frames"
    result = auscult("score", copy, "--json", "--max-failed", str(summary["failed"]))
    assert (result.code, json.loads(result.out)) == (0, {**summary, "command": "score"})
    assert auscult("score", copy).code == 1
    assert tree(copy) == before, "a score writes nothing"
    assert calls(file) == asked_before


def test_an_unfinished_run_is_scored_as_far_as_it_is(copy: Path) -> None:
    manifest = read_manifest(copy)
    del manifest["finished"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    score_rows = rows(copy, "scores.jsonl")
    colour = next(str(row["model"]) for row in score_rows if "colour" in str(row["model"]))
    write_lines(copy / "scores.jsonl", *(row for row in score_rows if row["model"] == colour))
    second_run = score_record(copy, SUITE)
    assert len(second_run.remarks) == 1
    general = next(table for name, table in second_run.tables.items() if name.startswith("general_mix"))
    assert {row[0] for row in general.rows if "n/a" not in row} == {colour}
    assert "finished" not in read_manifest(copy)


@pytest.mark.parametrize(
    "change", [{"counts": None}, {"seconds": "1"}, {"key": 3}, {"peak_mb": "x"}, {"threshold": [1]}], ids=str
)
def test_a_line_that_is_no_answer_is_named(change: dict[str, object], copy: Path) -> None:
    lines = rows(copy, "predictions.jsonl")
    write_lines(copy / "predictions.jsonl", *lines[:2], {**lines[2], **change}, *lines[3:])
    with pytest.raises(RecordError) as error:
        score_record(copy, SUITE)
    assert (str(error.value.path), error.value.line) == (str(copy / "predictions.jsonl"), 3)


def test_what_could_not_be_asked_about_counts_as_in_the_run(tmp_path: Path) -> None:
    data = photographs(tmp_path / "data", 4)
    next(iter((data / "masks").glob("p1*"))).write_bytes(b"no picture")
    suite_run = run_r2(data, tmp_path / "out", "ris", f"{model_file(tmp_path)}:colour")
    assert suite_run.summary.failed > 0
    second_run = score_record(suite_run.out, SUITE)
    assert second_run.summary.as_json() == {**suite_run.summary.as_json(), "command": "score"}
    assert second_run.tables == suite_run.tables
