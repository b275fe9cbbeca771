"""The benchmark's page: cases of the first judge that answered, one mark per row, where failures are told."""

import pytest
from mqa_material import answers, benchmark

from auscult.report.drawing import points_of
from auscult.report.page import Page, Section, render
from auscult.suites.mqa import finish_run
from auscult.suites.mqa.charts import figures_of
from auscult.suites.mqa.finish_run import Basis, RunOutcome, write_results
from auscult.suites.mqa.rows import Constant
from auscult.suites.mqa.tables import results_of

CANDIDATES = benchmark(2, protocols=("image",))
SAID = answers(CANDIDATES)
JPEG = b"\xff\xd8\xff\xd9"


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.RANK_DRAWS", 5)


def _page_of(tmp_path, monkeypatch, judges):
    """The page that a run of these judges writes; pictures are replaced by their titles."""
    from auscult.record.folder import open_run
    from auscult.record.manifest import build
    from auscult.report.page import Example

    def draw_nothing(chosen_candidates, **_options):
        return [
            Example(title=title, jpeg=JPEG, text="", id=candidate_.id, facts=(), file="pictures/x.jpg")
            for title, candidate_ in chosen_candidates
        ]

    monkeypatch.setattr(finish_run, "draw_examples", draw_nothing)
    constant = Constant(iou=0.8, defect="cutout", trained=0)
    outcome = RunOutcome(
        command="run mqa", candidates=tuple(CANDIDATES), judges=judges, by_action={}, by_defect={},
        basis=Basis(judges=tuple(judges), constant=constant, unlisted=0), results=results_of(CANDIDATES, judges),
    )  # fmt: skip
    manifest = build("run mqa", given={"data": "in"}, defaulted={}, seeds={"seed": 0}, inputs={})
    with open_run(tmp_path / "out", manifest) as run:
        for judge in judges:
            if judge != "absent":
                (run.path / "judges" / judge).mkdir(parents=True)
                (run.path / "judges" / judge / "errors.jsonl").write_text("{}\n")
        write_results(run, outcome, {})
    return (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_cases_are_those_of_the_first_judge_with_answers(tmp_path, monkeypatch):
    page = _page_of(tmp_path, monkeypatch, {"dead": {}, "alive": SAID})
    assert "largest error of alive on each type" in page
    assert "erode: worst case" in page
    assert "with 95 % intervals" in page


def test_failures_are_told_where_they_lie(tmp_path, monkeypatch):
    lacking = dict(list(SAID.items())[3:])
    page = _page_of(tmp_path, monkeypatch, {"absent": {}, "lacking": lacking, "whole": SAID})
    assert f"Failed cases of absent: {len(CANDIDATES)}; see errors.jsonl." in page
    assert "Failed cases of lacking: 3; see judges/lacking/errors.jsonl." in page
    assert "Failed cases of whole" not in page
    assert "The truth was opened after each judge&#39;s last verdict." in page


def test_a_row_has_one_mark_in_every_chart():
    rows = {"one": SAID, "always perfect": SAID, "constant IoU": SAID, "random": SAID}
    marks = {}
    for block in results_of(CANDIDATES, rows).blocks:
        for figure in figures_of(block)[1:]:
            names_here = set()
            for part in figure.drawing.parts:
                name = getattr(part, "title", "").partition(":")[0]
                if name in rows:
                    marks.setdefault(name, set()).add((type(part), part.fill, part.stroke))
                    names_here.add(name)
            assert {"one", "random"} <= names_here
    assert marks.keys() == rows.keys()
    assert all(len(name_marks) == 1 for name_marks in marks.values())
    assert len(set.union(*marks.values())) == len(rows)


def test_charts_say_their_numbers_in_words_and_stay_inside():
    for figure in (figure_ for block in results_of(CANDIDATES, {"one": SAID}).blocks for figure_ in figures_of(block)):
        assert figure.name.startswith("image_")
        assert figure.drawing.words
        width, height = figure.drawing.size
        for x, y in (place for part in figure.drawing.parts for place in points_of(part)):
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_intervals_stand_on_a_line_of_their_own():
    tables = results_of(CANDIDATES, {"one": SAID}).tables
    table = tables["image_seen_overall"]
    section = Section(name="a", title="A", tables=(table, tables["image_ablation_rmse"]))
    page = render(Page(title="t", command="run mqa", facts=(), notes=(), links=(), sections=(section,)))
    number, span = table.rows[0][1].split(" ", 1)
    assert f"<td>{number} <small>{span}</small></td>" in page
    assert page.count('class="panel scroll wide"') == 1  # the ablation form, which is set smaller
