"""What failed is told once: a file that cannot be read in one row, however many questions it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from r2_material import clips, line, model_file, questions_of, rows, run_r2, scores, sounding, write_items

from auscult.errors import ErrorRecord
from auscult.suites.core.results import ResultKey, error_rows, failed_row, request_status, unmade_rows

MODELS = ("flow", "lexicon")
CONDITIONS = ("clean", "fog_low", "fog_high", "fog_5")
ASKED = dict.fromkeys(MODELS, CONDITIONS)


def places_of(*cases: str, models: tuple[str, ...] = MODELS) -> list[ResultKey]:
    return [(model, condition, case) for model in models for condition in CONDITIONS for case in cases]


def unread(places: list[ResultKey], stage: str = "predict") -> list[dict[str, Any]]:
    broken = ErrorRecord(stage="read", error="it is truncated", path="/clip/00002.jpg", hint="restore it")
    return [failed_row("/".join(place), place, broken, stage=stage) for place in places]


def crashed(places: list[ResultKey], text: str = "it crashed") -> list[dict[str, Any]]:
    error = ErrorRecord(stage="predict", error=text, path="/0.jpg")
    return [failed_row("/".join(place), place, error, stage="predict") for place in places]


def once(
    row_list: list[dict[str, Any]], failed: list[ResultKey], asked_of: dict[str, tuple[str, ...]] = ASKED
) -> list[dict[str, Any]]:
    failures = request_status(row_list, {"/".join(place): place for place in failed}, metrics=("J",)).failed
    return error_rows(failures, conditions_by_model=asked_of, conditions=CONDITIONS)


def test_a_broken_frame_is_one_row_with_all_that_it_cost() -> None:
    places = places_of("a#1", "a#2")
    (row,) = once(unread(places), places)
    assert (row["id"], row["stage"], row["path"], row["hint"]) == (None, "read", "/clip/00002.jpg", "restore it")
    assert row["error"] == (
        "it is truncated; it costs 16 requests about a#1, a#2: flow (4 conditions), lexicon (4 conditions)"
    )
    assert row["questions"] == [
        {"model": model, "conditions": list(CONDITIONS), "cases": ["a#1", "a#2"]} for model in MODELS
    ]
    assert sorted(questions_of(row)) == sorted(places)


def test_few_conditions_are_named() -> None:
    places: list[ResultKey] = [("flow", "clean", "a"), ("flow", "fog_low", "a")]
    (row,) = once(unread(places), places)
    assert row["error"] == "it is truncated; it costs 2 requests about a: flow (clean, fog_low)"


def test_the_order_in_which_workers_tell_does_not_matter() -> None:
    places = places_of("a#1", "a#2")
    assert once(unread(places), places) == once(unread(places[::-1]), places)


def test_telling_again_changes_nothing() -> None:
    places = places_of("a")
    failed_rows_ = [*unread(places), *crashed(places_of("b"))]
    first = once(failed_rows_, [*places, *places_of("b")])
    assert once([*failed_rows_, *unread(places)], [*places, *places_of("b")]) == first


def test_a_model_that_says_the_same_under_all_its_conditions_says_it_once_a_case() -> None:
    places = places_of("a", "b", models=("flow",))
    rows_told = once(crashed(places), places)
    assert [(row["id"], row["error"]) for row in rows_told] == [
        ("a", "flow, all 4 conditions: it crashed"),
        ("b", "flow, all 4 conditions: it crashed"),
    ]
    assert [len(questions_of(row)) for row in rows_told] == [4, 4]


def test_else_once_a_condition() -> None:
    some_places = places_of("a", models=("flow",))[:3]
    assert [row["error"] for row in once(crashed(some_places), some_places)] == [
        f"flow, {name}: it crashed" for name in CONDITIONS[:3]
    ]
    last = places_of("a", models=("flow",))[3:]
    rows_told = once([*crashed(some_places), *crashed(last, "it took too long")], [*some_places, *last])
    assert [row["error"].partition(": ")[2] for row in rows_told] == ["it crashed"] * 3 + ["it took too long"]


def test_two_models_and_two_cases_are_not_joined() -> None:
    places = places_of("a", "b")
    assert len(once(crashed(places), places)) == 4


def test_what_has_an_answer_by_now_is_not_told() -> None:
    places = places_of("a")
    (row,) = once(unread(places), [place for place in places if place[0] == "lexicon"])
    assert row["error"].endswith("it costs 4 requests about a: lexicon (4 conditions)")
    assert once(unread(places), []) == []


def test_the_last_failure_of_a_request_counts() -> None:
    places = places_of("a", models=("flow",))
    (row,) = once([*crashed(places), *crashed(places, "it took too long")], places)
    assert row["cause"] == "it took too long"


def test_one_more_condition_that_is_answered_parts_a_joined_row() -> None:
    places = places_of("a", models=("flow",))[:3]
    assert len(once(crashed(places), places, {"flow": CONDITIONS[:3]})) == 1
    parted = once(crashed(places), places, {"flow": CONDITIONS})
    assert [row["error"] for row in parted] == [f"flow, {name}: it crashed" for name in CONDITIONS[:3]]


def test_a_file_that_makes_several_cases_impossible_is_one_row() -> None:
    missing_file = ErrorRecord(stage="case", error="no such file", path="/p.jpg")
    other = ErrorRecord(stage="case", error="no such file", path="/q.jpg")
    nameless = ErrorRecord(stage="case", error="why not")
    row_list = unmade_rows(
        [*((f"s{place}", missing_file) for place in range(5)), ("t", other), ("u", nameless), ("v", nameless)]
    )
    assert [(row["id"], row["path"]) for row in row_list] == [
        (None, "/p.jpg"),
        ("t", "/q.jpg"),
        ("u", None),
        ("v", None),
    ]
    assert row_list[0]["error"] == "no such file; it costs 5 cases: s0, s1, s2 and 2 more"
    assert row_list[0]["cases"] == [f"s{place}" for place in range(5)]


def spoiled(path: Path) -> bytes:
    """Cut a file off in the middle; what it held."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return content


def test_a_truncated_frame_in_a_run(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", bad=4, good=5), model_file(tmp_path), tmp_path / "out"
    spoiled(data / "bad/frames/00002.png")
    suite_run = run_r2(data, out, "vos", f"{file}:colour")
    (row,) = rows(out, "errors.jsonl")
    assert row["path"] == str(data / "bad/frames/00002.png")
    assert sorted(questions_of(row)) == sorted(
        [("mine.colour", name, "bad#1") for name in ("clean", "mix_low")]
        + [
            (score["model"], "clean", "bad#1")
            for score in rows(out, "scores.jsonl")
            if score["model"] != "mine.colour" and score["metric"] == "J"
        ]
    )
    assert suite_run.summary.failed == len(questions_of(row)) == 6
    assert scores(out, "J", model="mine.colour") == {"good#1": 1.0}


@pytest.mark.slow
def test_again_and_another_model_and_mended(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", bad=4, good=5), model_file(tmp_path), tmp_path / "out"
    frame_bytes = spoiled(data / "bad/frames/00002.png")
    before = run_r2(data, out, "vos", f"{file}:colour").summary
    first = (out / "errors.jsonl").read_bytes()
    assert run_r2(data, out, "vos", f"{file}:colour").summary == before
    assert (out / "errors.jsonl").read_bytes() == first
    suite_run = run_r2(data, out, "vos", f"{file}:nothing")
    (row,) = rows(out, "errors.jsonl")
    assert suite_run.summary.failed == len(questions_of(row)) == 8
    (data / "bad/frames/00002.png").write_bytes(frame_bytes)
    suite_run = run_r2(data, out, "vos", f"{file}:nothing")
    assert (suite_run.summary.failed, rows(out, "errors.jsonl")) == (0, []), (
        "of the mended frame colour was never asked"
    )
    (remark,) = suite_run.remarks
    assert remark.startswith("mine.colour: 2 requests about bad#1 were never asked")
    assert remark.endswith("repeat it: --perturb mix --severity low.")
    suite_run = run_r2(data, out, "vos", f"{file}:colour")
    assert (suite_run.summary.failed, suite_run.remarks) == (0, ())


@pytest.mark.slow
def test_a_sound_that_cannot_be_read(tmp_path: Path) -> None:
    file, data = model_file(tmp_path), sounding(tmp_path / "avs")
    (data / "ms3_data/audio_wav/test/c0.wav").write_bytes(b"RIFF")
    suite_run = run_r2(data, tmp_path / "out", "avs", f"{file}:colour")
    (row,) = rows(suite_run.out, "errors.jsonl")
    assert row["path"].endswith("c0.wav")
    assert suite_run.summary.failed == len(questions_of(row)) == 6


@pytest.mark.slow
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_photograph_of_many_sentences(tmp_path: Path, is_removed: bool) -> None:
    file, data = model_file(tmp_path), tmp_path / "data"
    path = data / "frames/p-0.png"
    lines = [{**line(data, "p", place, text=f"block {place}"), "frame": "frames/p-0.png"} for place in range(3)]
    write_items(data, [*lines, line(data, "q", 1, text="the block")])
    path.unlink() if is_removed else spoiled(path)
    suite_run = run_r2(data, tmp_path / "out", "ris", f"{file}:colour")
    (row,) = rows(suite_run.out, "errors.jsonl")
    assert (row["stage"], row["path"]) == ("case" if is_removed else "read", str(path))
    assert suite_run.summary.failed == (3 * 5 if is_removed else 3 * 6)
