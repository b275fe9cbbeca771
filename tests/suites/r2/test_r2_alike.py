"""Numbers of one row are of the same cases; who has no score takes nothing from the others; levels are told apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from auscult.models.adapters import ModelSpec
from auscult.record.folder import open_run
from auscult.record.manifest import build
from auscult.suites.core.conditions import Condition, words_of
from auscult.suites.core.grid import Grid, grid_of, joined_signature
from auscult.suites.core.measures import unranked
from auscult.suites.core.numbers import GridView
from auscult.suites.core.page import Answers, SuiteResults, remove_stale, results_of, summary_of
from auscult.suites.core.requests import FILE, command_rows, load_log, log_of
from auscult.suites.core.runner import stored_rows
from auscult.suites.core.tables import waiting_notes
from auscult.suites.r2.cases import task_rules
from auscult.suites.r2.conditions import conditions_of
from auscult.suites.scene_source import unshown

RULES = task_rules("rvos")
CASES = tuple("abcdef")
ScoresByModel = Mapping[str, Mapping[str, Sequence[float | None]]]


def conditions(*levels: str, kinds: Sequence[str] = (), mixes: Sequence[str] = ("mix",)) -> tuple[Condition, ...]:
    return conditions_of(RULES, mixes=mixes, kinds=kinds, levels=levels)


def grid(
    scores: ScoresByModel, conditions_: Sequence[Condition], *, soft: Sequence[str] = (), waiting: Sequence[Any] = ()
) -> Grid:
    """Model to condition to the score of each case; what has None failed."""
    rows, valid, failed = [], {}, []
    for model, by_condition in scores.items():
        for name, values in by_condition.items():
            for case, value in zip(CASES, values, strict=True):
                key = f"{model}/{name}/{case}"
                valid[key] = (model, name, case)
                if value is None:
                    failed.append(valid[key])
                    continue
                threshold = {"threshold": "0.5"} if case in soft else {}
                for metric in RULES.metrics:
                    signature = {"task": "rvos", "metric": metric, **threshold}
                    row = {"key": key, "metric": metric, "value": value, "outcome": "scored", "signature": signature}
                    rows.append(row | {"both_px": 1, "either_px": 2})
    return grid_of(
        rows, task=RULES, valid=valid, cases={case: (case, "") for case in CASES}, models=tuple(scores),
        conditions=conditions_, failed=[key_ for key_ in failed if key_ not in waiting], waiting=waiting,
    )  # fmt: skip


def results_for(scores: ScoresByModel, conditions_: Sequence[Condition], **options: Any) -> SuiteResults:
    return results_of(GridView(grid=grid(scores, conditions_, **options), seed=1))


def test_static_and_dynamic_of_a_row_are_of_the_same_cases() -> None:
    conditions_ = conditions("low", "medium", "high", "dynamic")
    values = [0.1] * 3 + [0.9] * 3
    scores = {
        "m": {
            "clean": [1.0] * 6, "mix_low": values, "mix_medium": values, "mix_high": values,
            "mix_dynamic": [0.1] * 3 + [None] * 3,
        }
    }  # fmt: skip
    (row,) = results_for(scores, conditions_).tables["dynamic"].rows
    assert row[2:5] == ("-90.0", "-90.0", "+0.0")  # the same in every clip: no spread, no interval
    assert row[5] == "3 (3 failed)"


def test_a_model_without_a_score_takes_no_ranking_from_the_others() -> None:
    conditions_ = conditions("low", "high")
    names = [condition_.name for condition_ in conditions_]
    scores = {
        "bad": {name: [None] * 6 for name in names},
        "good": {name: [0.8] * 6 for name in names},
        "fair": {name: [0.6] * 6 for name in names},
    }
    results = results_for(scores, conditions_)
    rows = results.tables["ranking"].rows
    assert [row[2] for row in rows if row[0] == "clean J&F"] == ["good", "fair"]
    assert {row[0] for row in rows} == {"clean J&F", "least J&F lost, a kind drawn for each case (low, high only)"}
    told_so = unranked(results.ranks)
    assert told_so[0] == "Left out of the ranking by clean J&F, without a score to rank: bad."
    assert told_so[0] in results.tables["ranking"].note
    assert results.unscored == ("bad",)


def test_of_a_model_without_a_score_nothing_is_said_of_its_curve() -> None:
    scores = {"bad": {"clean": [None] * 6}, "baseline.empty.v1": {"clean": [0.1] * 6}}
    results = results_for(scores, conditions("low", mixes=()))
    assert (results.unscored, results.uninformative) == (("bad",), ())


def test_cases_stand_in_every_table() -> None:
    conditions_ = conditions("low", kinds=["fog"])
    scores = {
        "m": {"clean": [1.0] * 6, "mix_low": [0.5] * 6, "fog_low": [0.5] * 5 + [None]},
        "n": {"clean": [1.0] * 6, "mix_low": [0.5] * 5 + [None], "fog_low": [0.5] * 6},
        "baseline.empty.v1": {"clean": [0.0] * 6},
    }
    tables = results_for(scores, conditions_).tables
    assert tables["kinds"].rows[0][-1] == "5 (1 failed), 6"
    assert tables["differences"].rows[0][-1] == "6, 5 (1 failed)"
    assert [row[-1] for row in tables["floor"].rows] == ["6", "6"]


def test_no_breaking_points_without_a_mix_and_no_loss_of_nothing() -> None:
    conditions_ = conditions("low", kinds=["fog"], mixes=())
    results = results_for({"m": {"clean": [1.0] * 6, "fog_low": [1.0 - 1e-6] * 6}}, conditions_)
    assert "breaking" not in results.tables
    assert results.tables["kinds"].rows[0][1] == "+0.0 *"  # the same in all six: no spread, no interval


def test_a_star_needs_six_clips_and_holm_counts_the_kinds() -> None:
    conditions_ = conditions("low", kinds=["fog", "snow"], mixes=())
    losses = [0.1, 0.2, 0.15, 0.12, 0.3, 0.25]
    scores = {
        "clean": [0.9] * 6,
        "fog_low": [0.9 - loss for loss in losses],
        "snow_low": [0.9, 1.0, 0.8, 0.9, 0.85, 0.95],
    }
    table = results_for({"m": scores}, conditions_).tables["kinds"]
    assert [row[1].endswith("*") for row in table.rows] == [False, False]  # 2 of 64 flips, times two kinds
    assert "by Holm for the 2 of this table" in table.note
    assert "over 6 clips or photographs, widened by t below 30" in table.note
    alone = results_for({"m": scores}, conditions("low", kinds=["fog"], mixes=())).tables["kinds"]
    assert alone.rows[0][1].endswith("*")
    five = {name: [*values[:5], None] for name, values in scores.items()}
    few = results_for({"m": five}, conditions("low", kinds=["fog"], mixes=())).tables["kinds"]
    assert not few.rows[0][1].endswith("*")
    assert "None can have one with fewer than 6 clips that differ" in few.note


def test_a_question_without_a_defined_score_is_not_ok() -> None:
    key = ("m", "clean", "J")
    signature = {"task": "rvos"}
    rows = [
        {"key": case, "metric": metric, "outcome": "undefined" if case == "c" or (case, metric) == ("b", "F") else
         "scored", "value": 0.5, "signature": signature}
        for case in "abc" for metric in ("J", "F")
    ]  # fmt: skip
    grid_ = grid_of(
        rows, task=RULES, valid={case: ("m", "clean", case) for case in "abc"}, models=("m",),
        cases={case: (case, "") for case in "abcd"}, conditions=conditions("low", mixes=()),
        failed=[("m", "clean", "d")],
    )  # fmt: skip
    assert grid_.cells[key].undefined == {"c"}
    answers = Answers(requested=4, answered=3, failed=1, frames=3, times_ms=(), peak_mb=None)
    summary = summary_of("run r2", grid_, {"m": answers}, numbers=(), unlisted=0)
    assert (summary.n, summary.ok, summary.failed, summary.undefined) == (4, 2, 1, 1)


def test_a_signature_has_every_threshold() -> None:
    conditions_ = conditions("low")
    grid_ = grid({"m": {"clean": [1.0] * 6, "mix_low": [1.0] * 6}}, conditions_, soft=("d", "e"))
    assert grid_.signature("m", "J")["threshold"] == "0.5 and none"
    assert grid_.signature("m", "J")["task"] == "rvos"
    assert joined_signature([{"threshold": "0.5 and none"}, {"threshold": "0.4"}, {}])["threshold"] == (
        "0.4 and 0.5 and none"
    )


TWO = conditions("low", "high")
HALF: ScoresByModel = {"m": {"clean": [1.0] * 6, "mix_low": [0.5] * 6, "mix_high": [0.1] * 2 + [None] * 4}}


class TestWaiting:
    def test_a_condition_that_was_not_asked_in_whole_is_in_no_average(self) -> None:
        waiting = [("m", "mix_high", case) for case in "cdef"]
        results = results_for(HALF, TWO, waiting=waiting)
        (row,) = [row_ for row_ in results.tables["general_mix"].rows if row_[1] == "J"]
        assert row[:4] == ("m", "J", "100.0", "50.0")
        assert row[-1] == "6"
        (note,) = waiting_notes(results.view.grid)
        assert note.startswith("m: 4 requests about c, d, e and 1 more were never asked")
        assert note.endswith(
            "repeat it: --perturb mix --severity high. Until then its answers under mix high are in no table."
        )

    def test_what_failed_still_narrows_the_cases(self) -> None:
        results = results_for(HALF, TWO)
        (row,) = [row_ for row_ in results.tables["general_mix"].rows if row_[1] == "J"]
        assert row[-1] == "2 (4 failed)"

    def test_a_case_that_waits_everywhere_is_no_failure(self) -> None:
        scores = {"m": {name: [0.5] * 5 + [None] for name in ("clean", "mix_low", "mix_high")}}
        waiting = [("m", name, "f") for name in scores["m"]]
        results = results_for(scores, TWO, waiting=waiting)
        assert {row[-1] for row in results.tables["general_mix"].rows} == {"5"}


class TestStrengths:
    @pytest.mark.parametrize(("level", "word"), [("3.0000000000000004", "medium"), ("4.9999999", "high"), ("2.0", "2")])
    def test_two_that_are_printed_alike_are_one(self, level: str, word: str) -> None:
        assert [condition.level for condition in conditions("medium", "high", level)][1:] == list(
            dict.fromkeys(["medium", "high", word])
        )

    def test_a_first_frame_alone_has_no_dynamic(self) -> None:
        conditions_ = conditions_of(
            task_rules("vos"), mixes=["mix"], kinds=["fog"], levels=["low", "dynamic"], parts=["first", "rest"]
        )
        assert [condition_.name for condition_ in conditions_ if condition_.level == "dynamic"] == [
            "mix_rest_dynamic",
            "fog_rest_dynamic",
        ]

    def test_of_masks_picture_and_mix_are_one(self) -> None:
        conditions_ = conditions_of(task_rules("vos"), mixes=["mix", "picture"], kinds=[], levels=["low"])
        assert [condition_.name for condition_ in conditions_] == ["clean", "mix_low"]

    def test_the_words_that_ask_for_conditions(self) -> None:
        assert words_of(conditions("low", "high", kinds=["fog"])) == (
            "--perturb mix --kind vision.fog.v1 --severity low,high"
        )
        assert words_of(conditions("low", mixes=())) == "--perturb none"

    def test_a_folder_with_one_strength_in_two_words_recovers(self, tmp_path: Path) -> None:
        with open_run(tmp_path, build("run r2", given={}, defaulted={}, seeds={}, inputs={})) as run:
            twice = [*conditions("medium"), Condition(name="mix_3", group="mix", level="3")]
            model = {"command": 1, "model": "m", "revision": "1", "source": "m"}
            run.append(FILE, {**model, "conditions": [asdict(condition_) for condition_ in twice]})
            assert [condition.name for condition in load_log(run.path).conditions] == ["clean", "mix_medium"]
            run.remove(FILE)
            run.append(FILE, {**model, "conditions": [asdict(condition_) for condition_ in (twice[0], twice[2])]})
            before = load_log(run.path)
            spec = ModelSpec(given="m", kind="callable", name="m", target="m", revision="1")
            now = log_of((*before.rows, *command_rows(before, [spec], conditions("medium"))))
            assert [condition.name for condition in now.conditions] == ["clean", "mix_medium"]


def test_a_strip_shows_no_answer_to_other_data(tmp_path: Path) -> None:
    lines = [{"key": key, "model": "m", "condition": "clean", "id": "a"} for key in ("now", "of other data", "now")]
    (tmp_path / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked_keys = {("m", "clean", "a"), ("m", "mix_low", "a")}
    assert stored_rows(tmp_path, {"now": ("m", "clean", "a")}, asked_keys) == {("m", "clean", "a"): lines[0]}


def test_sentences_of_what_is_not_shown(tmp_path: Path) -> None:
    kite = {
        "category": "kite", "colour": None, "texture": None, "y": [0.5, 0.5], "area": [0.1, 0.1], "depth": None,
        "covered_by": [], "hidden": 0.0,
    }  # fmt: skip
    bell = {"noun": "bell", "verb": "rings", "spans": [[1.0, 2.0]], "level_db": -20.0, "countable": True}
    first = kite | {"id": "1", "x": [0.1, 0.1], "motion": "left", "voice": bell}
    second = kite | {"id": "2", "x": [0.9, 0.9], "motion": "still", "voice": None}
    facts = {"things": [first, second], "duration_s": 10.0, "elsewhere": [], "silent": False, "unlisted": False}
    forms = {
        "heard": {"op": "sounds"},
        "moves": {"op": "motion", "word": "left"},
        "seen": {"op": "place", "word": "left"},
        "both": {"op": "and", "of": [{"op": "place", "word": "left"}, {"op": "sounds"}]},
    }
    expressions = [{"uid": name, "target": "1", "form": form} for name, form in forms.items()]
    (tmp_path / "scenes.jsonl").write_text(
        json.dumps({"facts": facts, "expressions": expressions})
        + "\n"
        + json.dumps({"facts": 1, "expressions": 2})
        + "\n"
    )
    assert unshown(tmp_path, still=False) == {"heard"}
    assert unshown(tmp_path, still=True) == {"heard", "moves"}
    assert unshown(tmp_path / "elsewhere", still=True) == frozenset()


def test_what_hides_for_a_while_is_not_shown_by_one_frame(tmp_path: Path) -> None:
    kite = {
        "category": "kite", "colour": None, "texture": None, "y": [0.5, 0.5], "area": [0.1, 0.1], "depth": None,
        "voice": None, "covered_by": [], "hidden": 0.0,
    }  # fmt: skip
    free = kite | {"id": "1", "x": [0.1, 0.1], "motion": "still"}
    behind = kite | {"id": "2", "x": [0.9, 0.9], "motion": "still", "covered_by": ["3"], "hidden": 0.6}
    front = kite | {"id": "3", "x": [0.9, 0.9], "motion": "still", "category": "tree"}
    expressions = [{"uid": "free", "target": "1", "form": {"op": "and", "of": [
        {"op": "category", "word": "kite"}, {"op": "not", "of": {"op": "hidden"}}]}}]  # fmt: skip
    for motion, hidden in (("still", frozenset()), ("left", {"free"})):
        facts = {
            "things": [free, behind, front | {"motion": motion}], "duration_s": 10.0, "elsewhere": [], "silent": False,
            "unlisted": False,
        }  # fmt: skip
        (tmp_path / "scenes.jsonl").write_text(json.dumps({"facts": facts, "expressions": expressions}) + "\n")
        assert unshown(tmp_path, still=True) == hidden
        assert unshown(tmp_path, still=False) == frozenset()


def test_only_our_own_stale_files_go(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with open_run(folder, build("run r2", given={}, defaulted={}, seeds={}, inputs={})) as run:
        for name in ("tables/old.json", "tables/new.json", "figures/strips/old.jpg", "figures/old.svg", "cells.csv"):
            run.write_text(name, "x")
        (folder / "tables/mine.json").write_text("x")
        (tmp_path / "outside.json").write_text("x")
        with (folder / ".written").open("a") as notes:
            notes.writelines(json.dumps({"name": name}) + "\n" for name in ("tables/../../outside.json", "tables/"))
    with open_run(folder, build("run r2", given={}, defaulted={}, seeds={}, inputs={})) as run:
        remove_stale(run, {"tables/new.json"})
    files_left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files_left == [".lock", ".written", "cells.csv", "manifest.json", "tables/mine.json", "tables/new.json"]
    assert (tmp_path / "outside.json").exists()
