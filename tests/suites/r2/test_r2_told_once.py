"""What failed is told once: a file that cannot be read in one row, however many questions it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from r2_material import asked, clips, line, listed, model_file, questions_of, rows, scores, sounding

from auscult.errors import ErrorRecord
from auscult.suites.core.results import ResultKey, error_rows, failed_row, standing, unmade_rows

MODELS = ("flow", "lexicon")
CONDITIONS = ("clean", "fog_low", "fog_high", "fog_5")
ASKED = dict.fromkeys(MODELS, CONDITIONS)


def every(*cases: str, models: tuple[str, ...] = MODELS) -> list[ResultKey]:
    return [(model, condition, case) for model in models for condition in CONDITIONS for case in cases]


def unread(places: list[ResultKey], stage: str = "predict") -> list[dict[str, Any]]:
    broken = ErrorRecord(stage="read", error="it is truncated", path="/clip/00002.jpg", hint="restore it")
    return [failed_row("/".join(place), place, broken, stage=stage) for place in places]


def crashed(places: list[ResultKey], text: str = "it crashed") -> list[dict[str, Any]]:
    error = ErrorRecord(stage="predict", error=text, path="/0.jpg")
    return [failed_row("/".join(one), one, error, stage="predict") for one in places]


def once(
    given: list[dict[str, Any]], failed: list[ResultKey], asked_of: dict[str, tuple[str, ...]] = ASKED
) -> list[dict[str, Any]]:
    found = standing(given, {"/".join(place): place for place in failed}, metrics=("J",)).failed
    return error_rows(found, conditions_by_model=asked_of, conditions=CONDITIONS)


def test_a_broken_frame_is_one_row_with_all_that_it_cost() -> None:
    places = every("a#1", "a#2")
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
    places = every("a#1", "a#2")
    assert once(unread(places), places) == once(unread(places[::-1]), places)


def test_telling_again_changes_nothing() -> None:
    places = every("a")
    given = [*unread(places), *crashed(every("b"))]
    first = once(given, [*places, *every("b")])
    assert once([*given, *unread(places)], [*places, *every("b")]) == first


def test_a_model_that_says_the_same_under_all_its_conditions_says_it_once_a_case() -> None:
    places = every("a", "b", models=("flow",))
    told = once(crashed(places), places)
    assert [(row["id"], row["error"]) for row in told] == [
        ("a", "flow, all 4 conditions: it crashed"),
        ("b", "flow, all 4 conditions: it crashed"),
    ]
    assert [len(questions_of(row)) for row in told] == [4, 4]


def test_else_once_a_condition() -> None:
    some = every("a", models=("flow",))[:3]
    assert [row["error"] for row in once(crashed(some), some)] == [
        f"flow, {name}: it crashed" for name in CONDITIONS[:3]
    ]
    last = every("a", models=("flow",))[3:]
    told = once([*crashed(some), *crashed(last, "it took too long")], [*some, *last])
    assert [row["error"].partition(": ")[2] for row in told] == ["it crashed"] * 3 + ["it took too long"]


def test_two_models_and_two_cases_are_not_joined() -> None:
    places = every("a", "b")
    assert len(once(crashed(places), places)) == 4


def test_what_has_an_answer_by_now_is_not_told() -> None:
    places = every("a")
    (row,) = once(unread(places), [place for place in places if place[0] == "lexicon"])
    assert row["error"].endswith("it costs 4 requests about a: lexicon (4 conditions)")
    assert once(unread(places), []) == []


def test_the_last_failure_of_a_request_counts() -> None:
    places = every("a", models=("flow",))
    (row,) = once([*crashed(places), *crashed(places, "it took too long")], places)
    assert row["cause"] == "it took too long"


def test_one_more_condition_that_is_answered_parts_a_joined_row() -> None:
    places = every("a", models=("flow",))[:3]
    assert len(once(crashed(places), places, {"flow": CONDITIONS[:3]})) == 1
    parted = once(crashed(places), places, {"flow": CONDITIONS})
    assert [row["error"] for row in parted] == [f"flow, {name}: it crashed" for name in CONDITIONS[:3]]


def test_a_file_that_makes_several_cases_impossible_is_one_row() -> None:
    gone = ErrorRecord(stage="case", error="no such file", path="/p.jpg")
    other = ErrorRecord(stage="case", error="no such file", path="/q.jpg")
    nameless = ErrorRecord(stage="case", error="why not")
    told = unmade_rows([*((f"s{place}", gone) for place in range(5)), ("t", other), ("u", nameless), ("v", nameless)])
    assert [(row["id"], row["path"]) for row in told] == [(None, "/p.jpg"), ("t", "/q.jpg"), ("u", None), ("v", None)]
    assert told[0]["error"] == "no such file; it costs 5 cases: s0, s1, s2 and 2 more"
    assert told[0]["cases"] == [f"s{place}" for place in range(5)]


def spoiled(path: Path) -> bytes:
    """Cut a file off in the middle; what it held."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return content


def test_a_truncated_frame_in_a_run(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", bad=4, good=5), model_file(tmp_path), tmp_path / "out"
    spoiled(data / "bad/frames/00002.png")
    made = asked(data, out, "vos", f"{file}:colour")
    (row,) = rows(out, "errors.jsonl")
    assert row["path"] == str(data / "bad/frames/00002.png")
    assert sorted(questions_of(row)) == sorted(
        [("mine.colour", name, "bad#1") for name in ("clean", "mix_low")]
        + [
            (one["model"], "clean", "bad#1")
            for one in rows(out, "scores.jsonl")
            if one["model"] != "mine.colour" and one["metric"] == "J"
        ]
    )
    assert made.summary.failed == len(questions_of(row)) == 6
    assert scores(out, "J", model="mine.colour") == {"good#1": 1.0}


@pytest.mark.slow
def test_again_and_another_model_and_mended(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", bad=4, good=5), model_file(tmp_path), tmp_path / "out"
    whole = spoiled(data / "bad/frames/00002.png")
    before = asked(data, out, "vos", f"{file}:colour").summary
    first = (out / "errors.jsonl").read_bytes()
    assert asked(data, out, "vos", f"{file}:colour").summary == before
    assert (out / "errors.jsonl").read_bytes() == first
    made = asked(data, out, "vos", f"{file}:nothing")
    (row,) = rows(out, "errors.jsonl")
    assert made.summary.failed == len(questions_of(row)) == 8
    (data / "bad/frames/00002.png").write_bytes(whole)
    made = asked(data, out, "vos", f"{file}:nothing")
    assert (made.summary.failed, rows(out, "errors.jsonl")) == (0, []), "of the mended frame colour was never asked"
    (told,) = made.remarks
    assert told.startswith("mine.colour: 2 requests of an earlier command about bad#1 were never asked")
    assert told.endswith("repeat it: --perturb mix --severity low.")
    made = asked(data, out, "vos", f"{file}:colour")
    assert (made.summary.failed, made.remarks) == (0, ())


@pytest.mark.slow
def test_a_sound_that_cannot_be_read(tmp_path: Path) -> None:
    file, data = model_file(tmp_path), sounding(tmp_path / "avs")
    (data / "ms3_data/audio_wav/test/c0.wav").write_bytes(b"RIFF")
    made = asked(data, tmp_path / "out", "avs", f"{file}:colour")
    (row,) = rows(made.out, "errors.jsonl")
    assert row["path"].endswith("c0.wav")
    assert made.summary.failed == len(questions_of(row)) == 6


@pytest.mark.slow
@pytest.mark.parametrize("gone", [True, False])
def test_a_photograph_of_many_sentences(tmp_path: Path, gone: bool) -> None:
    file, data = model_file(tmp_path), tmp_path / "data"
    path = data / "frames/p-0.png"
    lines = [{**line(data, "p", place, text=f"block {place}"), "frame": "frames/p-0.png"} for place in range(3)]
    listed(data, [*lines, line(data, "q", 1, text="the block")])
    path.unlink() if gone else spoiled(path)
    made = asked(data, tmp_path / "out", "ris", f"{file}:colour")
    (row,) = rows(made.out, "errors.jsonl")
    assert (row["stage"], row["path"]) == ("case" if gone else "read", str(path))
    assert made.summary.failed == (3 * 5 if gone else 3 * 6)
