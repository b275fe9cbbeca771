"""A record of ``run r2`` laid out and scored again from its own lines: no data is opened, no model is asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from r2_material import asked, calls, clips, model_file, photographs, rows

from auscult.errors import RecordError
from auscult.jobs.finish import report_suite
from auscult.record.folder import read_manifest
from auscult.suites.core.records import score_record
from auscult.suites.r2 import SUITE
from auscult.suites.registered import SuiteRun
from small_inputs import auscult, tree, write_lines

pytestmark = pytest.mark.slow  # runs of the whole suite, beside those of test_r2_runs


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteRun, Path]:
    """A run on clips with a model that fails on some; its data is gone, its file says what it was asked."""
    home = tmp_path_factory.mktemp("records")
    file = model_file(home)
    models = [f"{file}:{name}" for name in ("colour", "picky")]
    data = clips(home / "data", one=5, two=6, three=7)
    made = asked(data, home / "out", "vos", *models, mixes=("mix", "guidance"), kinds=("fog",))
    shutil.rmtree(data)
    return made, file


@pytest.fixture
def copy(done: tuple[SuiteRun, Path], tmp_path: Path) -> Path:
    return shutil.copytree(done[0].out, tmp_path / "copy")


def test_a_report_is_the_same_from_the_record_alone(done: tuple[SuiteRun, Path], copy: Path) -> None:
    made, file = done
    before, asked_before = tree(copy), calls(file)
    page = (copy / "report.html").read_text()
    assert page.count('class="panel broad"') == 6, "for each group a strip of one model, and one of all models"
    assert page.count("<svg") > 3
    (copy / "report.html").unlink()
    shown = auscult("report", copy)
    assert shown.code == 0
    assert "Requests\n" in shown.out
    assert tree(copy) == before == tree(made.out)
    assert calls(file) == asked_before


def test_a_lost_strip_is_told(copy: Path) -> None:
    strip = min((copy / "figures/strips").glob("*fog*.jpg"))
    strip.unlink()
    page = report_suite(copy)
    assert [f"figures/strips/{strip.name}" in one for one in page.lost] == [True]
    assert (copy / "report.html").read_text().count('class="panel broad"') == 5


def test_scores_are_those_of_the_run(done: tuple[SuiteRun, Path], copy: Path) -> None:
    made, file = done
    before, asked_before = tree(copy), calls(file)
    again = score_record(copy, SUITE)
    assert again.tables == made.tables
    assert again.shown == made.shown
    assert again.remarks == ()
    summary = json.loads((copy / "summary.json").read_text())
    assert summary["failed"] > 0, "a model that fails on clips of five frames"
    told = auscult("score", copy, "--json", "--max-failed", str(summary["failed"]))
    assert (told.code, json.loads(told.out)) == (0, {**summary, "command": "score"})
    assert auscult("score", copy).code == 1
    assert tree(copy) == before, "a score writes nothing"
    assert calls(file) == asked_before


def test_an_unfinished_run_is_scored_as_far_as_it_is(copy: Path) -> None:
    manifest = read_manifest(copy)
    del manifest["finished"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    told = rows(copy, "scores.jsonl")
    colour = next(str(row["model"]) for row in told if "colour" in str(row["model"]))
    write_lines(copy / "scores.jsonl", *(row for row in told if row["model"] == colour))
    again = score_record(copy, SUITE)
    assert len(again.remarks) == 1
    general = next(table for name, table in again.tables.items() if name.startswith("general_mix"))
    assert {row[0] for row in general.rows if "n/a" not in row} == {colour}
    assert "finished" not in read_manifest(copy)


@pytest.mark.parametrize(
    "change", [{"counts": None}, {"seconds": "1"}, {"key": 3}, {"peak_mb": "x"}, {"threshold": [1]}], ids=str
)
def test_a_line_that_is_no_answer_is_named(change: dict[str, object], copy: Path) -> None:
    lines = rows(copy, "predictions.jsonl")
    write_lines(copy / "predictions.jsonl", *lines[:2], {**lines[2], **change}, *lines[3:])
    with pytest.raises(RecordError) as refused:
        score_record(copy, SUITE)
    assert (str(refused.value.path), refused.value.line) == (str(copy / "predictions.jsonl"), 3)


def test_what_could_not_be_asked_about_counts_as_in_the_run(tmp_path: Path) -> None:
    data = photographs(tmp_path / "data", 4)
    next(iter((data / "masks").glob("p1*"))).write_bytes(b"no picture")
    made = asked(data, tmp_path / "out", "ris", f"{model_file(tmp_path)}:colour")
    assert made.summary.failed > 0
    again = score_record(made.out, SUITE)
    assert again.summary.as_json() == {**made.summary.as_json(), "command": "score"}
    assert again.tables == made.tables
