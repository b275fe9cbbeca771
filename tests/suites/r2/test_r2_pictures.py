"""Strips, charts and the page of ``auscult run r2``: what stands in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from r2_material import calls, clips, model_file, photographs, rows, run_r2

from auscult.outcome import Undefined
from auscult.report.drawing import Drawing, Text
from auscult.report.page import Example, Page, Section, render
from auscult.report.strip import StripRow
from auscult.rng import generator
from auscult.score.stats.correlation import correlation
from auscult.score.stats.ranking import rank_by_score
from auscult.suites.core.charts import charts_of
from auscult.suites.core.grid import Cell, Grid
from auscult.suites.core.measures import Ranks
from auscult.suites.core.page import undefined_reasons
from auscult.suites.core.tables import Index
from auscult.suites.r2 import strips
from auscult.suites.r2.cases import task_rules
from auscult.types import Frame

pytestmark = pytest.mark.slow  # runs of the whole suite, beside those of test_r2_runs


def words(drawing: Drawing) -> str:
    return "; ".join(part.words for part in drawing.parts if isinstance(part, Text))


@pytest.fixture
def drawn_strips(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[StripRow]]:
    """The rows of every strip that is drawn in this process."""
    kept_strips: list[Sequence[StripRow]] = []
    real = strips.strip

    def keep(strip_rows: Sequence[StripRow], *, width_px: int) -> Frame:
        kept_strips.append(strip_rows)
        return real(strip_rows, width_px=width_px)

    monkeypatch.setattr(strips, "strip", keep)
    return kept_strips


def test_a_strip_says_the_sentence_that_was_asked_and_what_was_drawn(
    tmp_path: Path, drawn_strips: list[Sequence[StripRow]]
) -> None:
    file = model_file(tmp_path)
    suite_run = run_r2(
        photographs(tmp_path / "data", 3), tmp_path / "out", "ris", f"{file}:colour",
        mixes=("guidance", "picture"), levels=("high",),
    )  # fmt: skip
    texts = {str(row["text"]) for row in calls(file)}
    drawn_strips = [rows_ for rows_ in drawn_strips if not rows_[0].cells[0].over]  # those of one model
    guidance, picture = drawn_strips if "“" in drawn_strips[0][1].note else drawn_strips[::-1]
    assert [row.name for row in guidance] == ["clean", "high"]
    assert guidance[0].note == picture[0].note == ""
    kind, _, sentence = guidance[1].note.partition(": ")
    assert kind
    assert sentence.startswith("“")
    assert sentence.strip("“”") in texts
    assert picture[1].note
    assert "“" not in picture[1].note, "its sentence is the clean one"
    page = (suite_run.out / "report.html").read_text()
    assert page.count('class="panel broad"') == 4, "of each, all models and the first one"
    assert page.index('id="beside"') < page.index('id="general"') < page.index('id="strips"')
    assert page.index(", in percent with 95 % intervals: ") < page.index('id="beside"')
    assert "loses most on, or gains least" in page
    assert "<dd>100.0 (+0.0)</dd>" in page, "a model of colours does not read"


def test_pictures_that_are_no_strips_stay_cards() -> None:
    card = Example(title="erode", jpeg=b"x", text="", id="a", facts=())
    page = Page(
        title="t",
        command="run mqa",
        facts=(),
        notes=(),
        links=(),
        sections=(Section(name="s", title="S", examples=(card,)),),
    )
    html = render(page)
    assert '<li class="panel">' in html
    assert "candidate tinted" in html


def test_clips_without_a_scored_frame_are_said_with_their_reason(tmp_path: Path) -> None:
    suite_run = run_r2(
        clips(tmp_path / "data", one=5, two=2), tmp_path / "out", "vos", f"{model_file(tmp_path)}:colour"
    )
    (case,) = {row["id"] for row in rows(suite_run.out, "scores.jsonl") if row["outcome"] == "undefined"}
    page = (suite_run.out / "report.html").read_text()
    count = len({(row["model"], row["condition"]) for row in rows(suite_run.out, "scores.jsonl") if row["id"] == case})
    assert f"Undefined, no frame is left to score: {count} answers to 1 cases ({case})." in page


def _grid(undefined: dict[str, set[str]]) -> Grid:
    cells = {("a", "clean", metric): Cell(undefined=cases) for metric, cases in undefined.items()}
    return Grid(
        task=task_rules("vos"), cases={}, splits={}, models=("a",), conditions=(), cells=cells, pixels={}, signatures={}
    )


def test_reasons_are_counted_by_answer_and_only_those_that_hold() -> None:
    score_rows = [
        {"model": "a", "condition": "clean", "metric": metric, "id": f"c{number}", "outcome": "undefined",
         "reason": f"reason {number % reasons}"}
        for reasons in (6,)
        for metric in ("J", "F")
        for number in range(12)
    ]  # fmt: skip
    score_rows.append({**score_rows[0], "id": "stale", "reason": "gone"})
    all_cases = {f"c{number}" for number in range(12)}
    reasons_said = undefined_reasons(score_rows, _grid({"J": all_cases, "F": all_cases}))
    assert reasons_said[0] == "Undefined, reason 0: 2 answers to 2 cases (c0, c6)."
    assert len(reasons_said) == 5
    assert reasons_said[-1].startswith("2 more reasons")
    assert undefined_reasons(score_rows, _grid({})) == []


def test_matrices_and_ranks_say_over_how_many_cases() -> None:
    values = generator(3, "pictures").normal(size=(3, 7))
    kinds = {name: dict(enumerate(map(float, values[row]))) for row, name in enumerate("xyz")}
    models = {name: {str(key): value for key, value in kinds[name].items()} for name in "xy"}
    ranking = rank_by_score(models, clusters={str(key): str(key) for key in range(7)}, rng=generator(3, "ranks"))
    assert not isinstance(ranking, Undefined)
    few = {**kinds, "z": {key: value for key, value in kinds["z"].items() if key < 5}}
    charts = charts_of(
        Index([], task_rules("rvos")),
        correlations={"vision": correlation(kinds), "sound": correlation(few)},
        ranks=[Ranks(name="clean", title="clean J", ranking=ranking)],
        splits=(),
    )
    same_chart, differing, ranks = charts
    assert "n 7" in words(same_chart.drawing)
    assert "n " not in words(differing.drawing).partition("Pearson")[2]
    assert "From 5 to 7 cases a pair." in differing.caption
    assert "n 7" in words(ranks.drawing)


def test_a_place_that_every_draw_gives_has_no_interval() -> None:
    values = {"best": 0.9, "worst": 0.1}
    models = {name: {str(key): value + key / 100 for key in range(7)} for name, value in values.items()}
    ranking = rank_by_score(models, clusters={str(key): str(key) for key in range(7)}, rng=generator(3, "ranks"))
    assert not isinstance(ranking, Undefined)
    (chart,) = charts_of(
        Index([], task_rules("rvos")),
        correlations={},
        ranks=[Ranks(name="clean", title="clean J", ranking=ranking)],
        splits=(),
    )
    assert "best: rank 1" in chart.drawing.words
    assert "[" not in chart.drawing.words
