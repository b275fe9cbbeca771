"""A run of AVI-Bench from end to end, on a tree in the release's form whose media have no content."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from auscult.cases.avi_tree import read_tree
from auscult.errors import UsageError
from auscult.record.folder import read_manifest
from auscult.record.manifest import argument
from auscult.report.tables import Table
from auscult.score.tasks import TASKS, of_stage
from auscult.suites.avi import SUITE
from auscult.suites.avi.cases import cases_of, text_guesses
from auscult.suites.core.compare import write_comparison
from auscult.suites.core.records import ModelSuite, score_record, suite_of
from auscult.suites.registered import Suite, SuiteRun, options_of
from avi_release import SMALL, make_release
from plugged import install

MODELS = '''
import json
import time
from pathlib import Path

from auscult.models.omni import CountedText, Unreachable


def note(question, sounds, images, video):
    with open(__file__ + ".calls", "a") as file:
        row = [question, len(images), len(sounds), video is not None, Path(sounds[0]).parts[-3:] if sounds else None]
        file.write(json.dumps(row) + "\\n")


def second(question, *, images, sounds, video):
    """The second option; no answer where the text is long; an error about one file."""
    note(question, sounds, images, video)
    if sounds and Path(sounds[0]).match("*/AMIC/input/wavs/00001.wav"):
        raise RuntimeError("I heard enough")
    for line in question.splitlines():
        if line.startswith("Choose from: "):
            words = line.removeprefix("Choose from: ").rstrip(".").split(", ")
            return words[1] if "colour" not in question else "I could not say."
    return "one"


class Boxes:
    """Gives the true boxes of AVL in another convention."""

    boxes = "yxyx thousandths"

    def answer(self, question, *, images, sounds, video):
        number = int(Path(images[0]).stem)
        return json.dumps({"dog_1": [20 / .48, 10 / .64, 220 / .48, (110 + number % 50) / .64],
                           "dog_2": [20 / .48, 300 / .64, 220 / .48, 400 / .64]})


class Waits:
    """Asked from threads; unreachable where a file says so."""

    connections = 4

    def answer(self, question, *, images, sounds, video):
        note(question, sounds, images, video)
        if Path(__file__ + ".down").exists():
            raise Unreachable("nobody answers", hint="start it")
        return CountedText("yes", {"tokens_out": 1})


class Hoards:
    """Asked from threads; takes 3 GB for one file, while others are under way."""

    connections = 4

    def answer(self, question, *, images, sounds, video):
        note(question, sounds, images, video)
        mark = Path(f"{__file__}.{Path(video).stem}")
        first, kept = not mark.exists(), []
        mark.touch()
        if mark.suffix == ".00001":
            while len(list(mark.parent.glob("mine.py.0*"))) < 4:
                time.sleep(0.01)
            for _ in range(60):
                kept.append(bytearray(50 << 20))
                time.sleep(0.02)
        elif first:
            time.sleep(60)
        return "yes"


class Swells:
    """Takes 3 GB for one file; as ``MODEL`` it may be asked from threads."""

    name, meta = "answers.swells.v1", None

    def answer(self, question, *, images, sounds, video):
        kept = []
        for _ in range(60 if Path(video).stem == "00001" else 0):
            kept.append(bytearray(50 << 20))
            time.sleep(0.02)
        return "yes"


MODEL = Swells()
MODEL.connections = 4


def number(question, *, images, sounds, video):
    return 3
'''
PROGRAM = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    if asked["video"] is None:
        print(json.dumps({"id": asked["id"], "error": "no video"}), flush=True)
    else:
        print(json.dumps({"id": asked["id"], "reply": "No, I think."}), flush=True)
"""
QUICK = ("AVM", "AVH")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_release(tmp_path / "release")
    (tmp_path / "mine.py").write_text(MODELS)
    return tmp_path


def run(root: Path, *models: str, **options: Any) -> SuiteRun:
    words = {"data": root / "release", "out": root / "out", "models": models, "workers": 0, **options}
    return SUITE.run(options_of(SUITE, words))


def local_model(root: Path, name: str) -> str:
    return f"{root / 'mine.py'}:{name}"


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def cells(suite_run: SuiteRun, **fields: str) -> dict[str, dict[str, Any]]:
    """Numbers by metric."""
    rows = json.loads((suite_run.out / "cells.json").read_text())
    selection = {"measure": "level", "group": "clean", **fields}
    return {row["metric"]: row for row in rows if selection.items() <= row.items()}


def column(table: Table, name: str, row_cells: Mapping[str, str]) -> str:
    column_of = {title: table.header.index(title) for title in (name, *row_cells)}
    (cell,) = [
        row[column_of[name]]
        for row in table.rows
        if all(row[column_of[key]] == value for key, value in row_cells.items())
    ]
    return cell


def bottleneck_of(row: Mapping[str, Any], understood: list[float]) -> float:
    """Eq. 5 of shares, with what is above chance in understanding."""
    chance = {name: task.chance / 100 for name, task in TASKS.items()}
    above = {
        name: max(0.0, (row[name]["value"] - chance_level) / (1 - chance_level))
        for name, chance_level in chance.items()
    }
    perceived, reasoned = (fmean(above[task.name] for task in of_stage(stage)) for stage in ("perception", "reasoning"))
    lower = min(perceived, fmean(understood))
    return max(0.0, (reasoned - lower) / reasoned) if reasoned else 0.0


def test_reference_answerers_tell_what_a_score_means(root: Path) -> None:
    assert isinstance(SUITE, Suite)
    assert isinstance(SUITE, ModelSuite)
    suite_run = run(root, "ideal", "noisy:0.5")
    assert (suite_run.summary.failed, suite_run.summary.n) == (0, 5 * sum(SMALL.values()))
    ideal = cells(suite_run, model="reference.ideal.v1")
    for name in TASKS:
        assert ideal[name]["value"] == 1.0, name
    assert ideal["perception"]["value"] == ideal["reasoning"]["value"] == ideal["sensation"]["value"] == 1.0
    assert ideal["level_1"]["value"] == ideal["level_4"]["value"] == 1.0
    assert "metric:meteor" in ideal["AVC"]["signature"], "FENSE needs networks that are given"
    blind = cells(suite_run, model="reference.blind.v1")
    assert ideal["bottleneck"]["value"] == 0.0
    assert "what a caption of another clip scores here" in suite_run.tables["general_levels"].note
    retrieved = [max(0.0, (blind[name]["value"] - 0.1) / 0.9) for name in ("VAR", "AVR")]
    captioned = 0.0  # its own captions are what chance gives, not FENSE's 13.06
    assert blind["bottleneck"]["value"] == pytest.approx(bottleneck_of(blind, [*retrieved, captioned]), abs=1e-4)
    noisy, random = (cells(suite_run, model=name) for name in ("reference.noisy.v1:0.5", "reference.random.v1"))
    assert 0 < random["reasoning"]["value"] < noisy["reasoning"]["value"] < 1
    names = {path.relative_to(suite_run.out).as_posix() for path in suite_run.out.rglob("*") if path.is_file()}
    assert {"report.html", "cells.csv", "tables/general_levels.tex", "tables/confirmed.csv", "cases.jsonl"} <= names
    assert [table.title for table in suite_run.shown][:2] == ["Stages and levels", "Tasks"]
    page = (suite_run.out / "report.html").read_text()
    assert "not comparable with the paper" in page
    question_of = {row["id"]: row["question"] for row in lines(suite_run.out / "cases.jsonl")}
    assert question_of["AVM/0000/00000"].endswith(
        "Choose from: yes, no, not sure.\nDoes what is heard match what is seen?"
    )


def test_failed_unparsed_and_wrong_are_three_things(root: Path) -> None:
    suite_run = run(root, local_model(root, "second"), tasks=("AMIC", "VSQA", "AVQA"))
    by_task = cells(suite_run, model="mine.second")
    assert {name: (by_task["AMIC"][name]) for name in ("n", "failed", "unparsed")} == {
        "n": 3,
        "failed": 1,
        "unparsed": 3,
    }
    table = suite_run.tables["unparsed"]
    colour = {"model": "mine.second", "task": "VSQA"}
    assert [column(table, name, colour) for name in ("samples", "failed", "unparsed", "unparsed %")] == [
        "4", "0", "2", "50.0"
    ]  # fmt: skip
    assert (column(table, "as wrong", colour), column(table, "left out", colour)) == ("0.0", "0.0")
    (error,) = lines(suite_run.out / "errors.jsonl")
    assert "I heard enough" in error["error"]
    skipped = run(root, local_model(root, "second"), tasks=("AMIC", "VSQA", "AVQA"), unparsed="skip")
    assert (cells(skipped, model="mine.second")["AMIC"]["value"], by_task["AMIC"]["value"]) == (None, 0.0)
    n_calls = len(lines(root / "mine.py.calls"))
    assert n_calls == len({row["id"] for row in lines(suite_run.out / "cases.jsonl")}) + 1, (
        "the failed one is tried again"
    )


def test_a_wrong_confirmation_makes_a_right_answer_wrong(root: Path) -> None:
    suite_run = run(root, "ideal", local_model(root, "second"), tasks=("ASQA", "VSQA", "AVSQA"))
    table = suite_run.tables["confirmed"]
    ideal, second = ({"model": name} for name in ("reference.ideal.v1", "mine.second"))
    assert (column(table, "VSQA w/", ideal), column(table, "VSQA w/o", ideal)) == ("100.0", "100.0")
    assert column(table, "ASQA w/o", second) == "50.0", "of two questions the second option is right once"
    assert column(table, "ASQA w/", second) == "0.0", "it says no to the question if anything is heard"


def test_a_confirmation_that_cannot_be_asked_excuses_no_answer(root: Path) -> None:
    """It is a failure of the sample, not one of the release's empty confirmations, which cost nothing."""
    (path,) = (root / "release").glob("levels/*/ASQA/data.json")
    rows = json.loads(path.read_text())
    rows[3]["output"]["question_answer"] = {"yes": 1}
    path.write_text(json.dumps(rows))
    by_task = cells(run(root, "ideal", tasks=("ASQA",)), model="reference.ideal.v1")
    assert [by_task["ASQA"][name] for name in ("value", "n", "failed")] == [1.0, 1, 1]
    assert by_task["ASQA unconfirmed"]["value"] == 1.0


def test_what_a_text_gives_away_is_counted_once(root: Path) -> None:
    sample = next(sample_ for sample_ in read_tree(root / "release").samples if sample_.folder == "AVM")
    truths = ("yes", "yes", "no", "no", "maybe")
    samples = [replace(sample, position=index, text=f"{index}?", truth=true) for index, true in enumerate(truths)]
    assert list(text_guesses(samples).values()) == ['"no"', '"no"', '"yes"', '"yes"', '"no"'], (
        "the others' most frequent"
    )
    assert list(text_guesses(samples[:1]).values()) == [""]
    same_text = [replace(sample_, text="?") for sample_ in samples * 2]
    assert set(
        text_guesses([replace(sample_, position=index) for index, sample_ in enumerate(same_text)]).values()
    ) == {'"no"'}
    single = [
        replace(sample_, position=index, truth=f"{index:02d}") for index, sample_ in enumerate(same_text + same_text)
    ]
    guesses = text_guesses(single)
    assert set(guesses.values()) == {'"00"', '"01"'}
    assert all(guesses[sample_.id] != f'"{sample_.truth}"' for sample_ in single), "of captions none is its own guess"


def test_media_that_cannot_be_read_cost_question_and_confirmation_alike(root: Path) -> None:
    samples = [sample for sample in read_tree(root / "release").samples if sample.folder == "VSQA_V"]
    missing = replace(samples[0], video=root / "gone.mp4")
    listing = cases_of(
        [missing, *samples[1:3], replace(samples[3], video=root / "gone.mp4")],
        tasks=(), scored=dict.fromkeys(TASKS, ""), released=False, step=lambda: None,
    )  # fmt: skip
    assert [(case.sample.position, case.about["unconfirmed"]) for case in listing.cases] == [(1, 1)]
    assert [name for name, _ in listing.errors] == [sample_.id for sample_ in (missing, samples[3], samples[2])]


def test_an_odd_video_costs_what_is_asked_of_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(_: Path) -> bytes:
        raise AssertionError("a decoder's own trouble")

    monkeypatch.setattr("auscult.suites.avi.senses.without_sound", odd)
    suite_run = run(root, local_model(root, "second"), tasks=("AVM",), without=("sound",))
    errors = lines(suite_run.out / "errors.jsonl")
    assert any("a decoder's own trouble" in row["error"] and row["path"].endswith(".mp4") for row in errors)
    assert cells(suite_run, model="mine.second")["AVM"]["n"] == SMALL["AVM"]


def test_no_interval_is_without_width_and_requests_have_no_frames(root: Path) -> None:
    suite_run = run(root, "ideal", "noisy:0", tasks=QUICK)
    rows = json.loads((suite_run.out / "cells.json").read_text())
    full_differences = [row for row in rows if row["measure"] == "difference" and row["value"] == 1]
    assert full_differences
    assert all(row["low"] is None or row["low"] < row["high"] for row in rows)
    assert "frames" not in suite_run.tables["answers"].header
    assert "medians per request" in suite_run.tables["answers"].note


def test_nothing_is_asked_twice_and_a_record_is_scored_without_models(root: Path) -> None:
    first = run(root, local_model(root, "second"), tasks=QUICK)
    n_calls = len(lines(root / "mine.py.calls"))
    assert n_calls == 8
    second_run = run(root, local_model(root, "second"), tasks=QUICK, variant="AVI-Bench", reading="equation")
    assert len(lines(root / "mine.py.calls")) == n_calls
    assert argument(read_manifest(root / "out"), "variant") == "AVI-Bench"
    (root / "mine.py").unlink()
    rescored = score_record(second_run.out, SUITE)
    assert rescored.tables["general_tasks"] == second_run.tables["general_tasks"]
    assert rescored.summary.metrics == second_run.summary.metrics
    assert suite_of("run avi", second_run.out) is not None
    assert first.summary.n == second_run.summary.n


def test_without_a_sense_only_those_are_asked_that_lose_something(root: Path) -> None:
    suite_run = run(root, local_model(root, "second"), tasks=("ASQA", "VSQA", "AVL"), without=("sound", "picture"))
    calls = lines(root / "mine.py.calls")
    clean = sum(SMALL[name] for name in ("ASQA", "VSQA_I", "VSQA_V", "AVL"))
    assert len(calls) == clean + (SMALL["ASQA"] + SMALL["AVL"]) + (SMALL["VSQA_I"] + SMALL["VSQA_V"] + SMALL["AVL"])
    assert sum(not images and not sounds and not video for _, images, sounds, video, _ in calls) == 12
    table = suite_run.tables["without"]
    assert {row[:3] for row in table.rows} == {
        ("mine.second", "sound", "ASQA"), ("mine.second", "sound", "AVL"),
        ("mine.second", "picture", "VSQA"), ("mine.second", "picture", "AVL"),
    }  # fmt: skip
    assert suite_run.tables["table_7"].rows[0][:3] == ("mine.second", "1.1", "1.1"), (
        "a class that is no box finds nothing"
    )
    assert len(lines(root / "mine.py.calls")) == len(calls)


def test_boxes_are_read_in_the_convention_that_the_model_declares(root: Path) -> None:
    suite_run = run(root, local_model(root, "Boxes"), tasks=("AVL",))
    assert cells(suite_run, model="mine.Boxes")["AVL"]["value"] == pytest.approx(1.0)
    assert "boxes:yxyx thousandths" in cells(suite_run, model="mine.Boxes")["AVL"]["signature"]
    with pytest.raises(UsageError, match="boxes are given as"):
        run(root, "ideal", boxes="corners")


def test_what_a_model_inherits_or_says_late_is_heeded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "heir.py").write_text("from mine import Boxes\n\n\nclass Heir(Boxes):\n    pass\n")
    monkeypatch.syspath_prepend(str(root))
    suite_run = run(root, f"{root / 'heir.py'}:Heir", tasks=("AVL",))
    assert cells(suite_run, model="heir.Heir")["AVL"]["value"] == pytest.approx(1.0), "boxes are as its base says"
    source_text = "from pathlib import Path\nfrom mine import Boxes\n\n\nclass Late(Boxes):\n    def __init__(self):\n"
    source_text += (
        "        first = Path(__file__ + '.first')\n        if not first.exists():\n            first.touch()\n"
    )
    (root / "late.py").write_text(source_text + "            raise RuntimeError('not yet')\n")
    suite_run = run(root, "ideal", f"{root / 'late.py'}:Late", tasks=("AVL",))
    assert any("gives boxes as 'yxyx thousandths'" in row["error"] for row in lines(suite_run.out / "errors.jsonl"))


def stored_replies(root: Path, name: str, replies: list[Any], *, folder: str = "AVM") -> Path:
    path = root / name / "tasks" / f"{folder}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(replies))
    return root / name


def reply(number: int, prediction: object) -> dict[str, Any]:
    return {"task": "AVM", "subtask": None, "id": f"{number:05d}", "predict": prediction}


def test_replies_in_the_releases_form_are_scored_as_they_are(root: Path) -> None:
    replies = [reply(0, "**Yes**"), reply(1, None), None, reply(7, "no")]
    folder = stored_replies(root, "gemini", replies)
    person = stored_replies(root, "anna", ["yes", reply(1, "no"), "yes", "no"])  # texts alone will do
    suite_run = run(root, f"predictions:{folder}", f"human:{person}", tasks=("AVM",))
    cell = cells(suite_run, model="predictions.gemini")["AVM"]
    assert (cell["value"], cell["n"], cell["failed"]) == (1.0, 1, 3), "null, missing and another sample's are failed"
    error_texts = " ".join(row["error"] for row in lines(suite_run.out / "errors.jsonl"))
    assert "there is no reply at position 1" in error_texts
    assert "position 3 holds the reply to '00007', not to '00003'" in error_texts
    table = suite_run.tables["human"]
    assert table.header == ("stage", "task", "predictions.gemini", "human:anna")
    assert column(table, "human:anna", {"task": "AVM"}).startswith("100.0")


def test_a_program_and_a_function_that_gives_no_text(root: Path) -> None:
    (root / "program.py").write_text(PROGRAM)
    program = f"cmd:{sys.executable} {root / 'program.py'}"
    suite_run = run(root, program, local_model(root, "number"), tasks=("AVM", "ASQA"))
    by_task = cells(suite_run, model="command.program")
    assert (by_task["AVM"]["value"], by_task["AVM"]["failed"], by_task["ASQA"]["failed"]) == (0.5, 0, 2)
    assert cells(suite_run, model="mine.number")["AVM"]["failed"] == 4
    assert any("the model gave int" in row["error"] for row in lines(suite_run.out / "errors.jsonl"))


@pytest.mark.slow
def test_a_model_that_threads_ask_and_that_takes_too_much_memory_costs_what_asked_for_it(root: Path) -> None:
    suite_run = run(root, local_model(root, "Hoards"), tasks=("AVM",), workers=1, memory_mb=400)
    (error,) = (row["error"] for row in lines(suite_run.out / "errors.jsonl") if row["stage"] == "predict")
    assert error == "mine.Hoards, clean: took more memory than the limit of 400 MB and was stopped"
    cell = cells(suite_run, model="mine.Hoards")["AVM"]
    assert (cell["n"], cell["failed"]) == (3, 1)
    assert len(lines(root / "mine.py.calls")) == 8, "what was under way with it is asked again, one by one"


@pytest.mark.slow
def test_a_plug_in_and_a_model_of_a_cascade_take_no_more_memory_than_they_may(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(root / "site")
    plugged = install(root / "site", "answers.swells.v1", module="swelling", code=MODELS, card=False, thing="models")
    parts = ('[[describe]]\nof = ["sound"]\n', "second"), ("[answer]\n", "Swells")
    (root / "both.toml").write_text("".join(f'{head}model = "{local_model(root, name)}"\n' for head, name in parts))
    suite_run = run(root, plugged, f"cascade:{root / 'both.toml'}", tasks=("AVM",), workers=1, memory_mb=400)
    for model in (plugged, "cascade.both"):
        cell = cells(suite_run, model=model)["AVM"]
        assert (cell["n"], cell["failed"]) == (3, 1)
    errors = [row["error"] for row in lines(suite_run.out / "errors.jsonl") if row["stage"] == "predict"]
    assert len(errors) == 2
    assert all("took more memory than the limit of 400 MB and was stopped" in error for error in errors)


def test_a_model_that_nobody_reaches_ends_the_run_which_goes_on_later(root: Path) -> None:
    (root / "mine.py.down").touch()
    tasks = ("AVM", "AVH", "VAH", "AMIC", "AVQA", "VMIC")
    suite_run = run(root, local_model(root, "Waits"), tasks=tasks)
    calls = len(lines(root / "mine.py.calls"))
    assert 12 <= calls <= 20, "three times its connections, and what was under way"
    assert suite_run.summary.failed >= 12
    assert any("left after 12 requests in a row reached nothing: nobody answers" in row["error"]
               for row in lines(suite_run.out / "errors.jsonl"))  # fmt: skip
    (root / "mine.py.down").unlink()
    second_run = run(root, local_model(root, "Waits"), tasks=tasks)
    assert second_run.summary.failed == 0
    n_expected = sum(SMALL[name] for name in tasks)
    assert len(lines(root / "mine.py.calls")) == calls + n_expected
    rows = [row for row in lines(second_run.out / "predictions.jsonl") if row["model"] == "mine.Waits"]
    assert len(rows) == len({row["key"] for row in rows}) == n_expected
    assert all(row["usage"] == {"tokens_out": 1} for row in rows)


def test_over_data_sets_a_sense_that_was_taken_away_is_said_and_no_strength(root: Path) -> None:
    heard = run(root, "noisy:0.9", tasks=("AVM",), out=root / "heard").out
    deaf = run(root, "noisy:0.9", tasks=("AVH",), without=("sound",), out=root / "deaf").out
    comparison = write_comparison([heard, deaf], SUITE, root / "compared")
    sets = comparison.tables["sets"]
    assert column(sets, "clean", {"model": "reference.noisy.v1:0.9", "metric": "AVM"}).endswith("]")
    assert not [title for title in sets.header if title.startswith("APC")]
    (note,) = (note for note in comparison.notes if note.startswith("Without sound"))
    first, second = (data.name for data in comparison.sets)
    assert note.endswith(f"in the tables of {second}, in no number over all data sets; {first} was not asked so.")


@pytest.mark.slow
def test_two_records_are_compared_as_one_run_of_both(root: Path) -> None:
    both_runs = run(root, "noisy:0.9", local_model(root, "second"), tasks=QUICK)
    parts = [run(root, name, tasks=QUICK, without=("sound",), out=root / folder_name).out
             for folder_name, name in (("a", "noisy:0.9"), ("b", local_model(root, "second")))]  # fmt: skip
    comparison = write_comparison(parts, SUITE, root / "compared")
    pair = "reference.noisy.v1:0.9 - mine.second"
    table = both_runs.tables["differences"]
    row = {"task, stage, level": "AVM"}
    assert column(comparison.tables["differences"], pair, row).rstrip(" *") == column(table, pair, row).rstrip(" *")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unparsed": "guess"}, "--unparsed is 'guess'"),
        ({"variant": "paper+best"}, "--variant names"),
        ({"reading": "mean"}, "--reading is 'mean'"),
        ({"without": ("smell",)}, "there is no sense 'smell'"),
        ({"tasks": ("AMICS",)}, "there is no task 'AMICS'"),
        ({"models": ()}, "no model was named"),
        ({"models": ("noisy",)}, "'noisy' is written otherwise"),
        ({"models": ("noisy:2",)}, "the accuracy '2' is none"),
        ({"models": ("ideal:2",)}, "'ideal:2' is written otherwise"),
        ({"models": ("flow",)}, "answers no questions in text"),
        ({"models": ("nobody",)}, "there is no model 'nobody'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(root: Path, options: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        run(root, **{"models": ("ideal",), **options})
    assert message in str(error.value)
    assert not (root / "out").exists()
