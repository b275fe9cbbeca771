"""The benchmark's page: cases of the first judge that answered, one mark per row, where failures are told."""

import re

import pytest
from mqa_material import answers, benchmark

from auscult.report.suite import Section, SuitePage, render_suite
from auscult.suites.mqa import finish_run
from auscult.suites.mqa.baselines import Constant
from auscult.suites.mqa.charts import figures_of
from auscult.suites.mqa.finish_run import Outcome, write_results
from auscult.suites.mqa.results import results_of

CANDIDATES = benchmark(2, protocols=("image",))
SAID = answers(CANDIDATES)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)
    monkeypatch.setattr("auscult.suites.mqa.calibration.DRAWS", 5)


def _page_of(tmp_path, monkeypatch, judges):
    """The page that a run of these judges writes; pictures are replaced by their titles."""
    from auscult.record.folder import open_run
    from auscult.record.manifest import build
    from auscult.report.suite import Example

    monkeypatch.setattr(
        finish_run,
        "draw_examples",
        lambda _run, chosen, _shown: [
            Example(title=title, jpeg=b"x", text="", id=one.id, facts=()) for title, one in chosen
        ],
    )
    outcome = Outcome(
        command="run mqa", candidates=tuple(CANDIDATES), judges=judges, rows=judges,
        constant=Constant(iou=0.8, defect="cutout", trained=0), by_action={}, by_defect={},
    )  # fmt: skip
    manifest = build("run mqa", given={"data": "in"}, defaulted={}, seeds={"seed": 0}, inputs={})
    with open_run(tmp_path / "out", manifest) as run:
        for judge in judges:
            if judge != "absent":
                (run.path / "judges" / judge).mkdir(parents=True)
                (run.path / "judges" / judge / "errors.jsonl").write_text("{}\n")
        write_results(run, outcome, items={}, unlisted=0)
    return (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_cases_are_those_of_the_first_judge_with_answers(tmp_path, monkeypatch):
    page = _page_of(tmp_path, monkeypatch, {"dead": {}, "alive": SAID})
    assert "largest error of alive on each type" in page
    assert "erode: worst case" in page


def test_failures_are_told_where_they_lie(tmp_path, monkeypatch):
    lacking = dict(list(SAID.items())[3:])
    page = _page_of(tmp_path, monkeypatch, {"absent": {}, "lacking": lacking, "whole": SAID})
    assert f"Failed cases of absent: {len(CANDIDATES)}; see errors.jsonl." in page
    assert "Failed cases of lacking: 3; see judges/lacking/errors.jsonl." in page
    assert "Failed cases of whole" not in page
    assert "The truth was opened after each judge&#39;s last verdict." in page


def test_a_row_has_one_mark_in_every_chart():
    rows = {"one": SAID, "always perfect": SAID, "constant IoU": SAID, "random": SAID}
    for block in results_of(CANDIDATES, rows).blocks:
        for figure in figures_of(block)[1:]:
            marks = dict(re.findall(r'class="mark (m\d)"><title>([^<:]+)</title>', str(figure.chart)))
            assert set(marks.items()) <= {
                ("m0", "one"), ("m1", "always perfect"), ("m2", "constant IoU"), ("m3", "random"),
            }  # fmt: skip
            assert {"m0", "m3"} <= marks.keys()


def test_intervals_stand_on_a_line_of_their_own():
    tables = results_of(CANDIDATES, {"one": SAID}).all_tables
    table = tables["image_seen_overall"]
    section = Section(name="a", title="A", tables=(table, tables["image_ablation_rmse"]))
    page = render_suite(SuitePage(title="t", suite="mqa", facts=(), notes=(), links=(), sections=(section,)))
    number, span = table.rows[0][1].split(" ", 1)
    assert f"<td>{number} <small>{span}</small></td>" in page
    assert page.count('class="panel scroll wide"') == 1  # the ablation form, which is set smaller
