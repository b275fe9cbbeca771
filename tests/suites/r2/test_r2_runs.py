"""``auscult run r2`` from one end to the other, on a handful of tiny clips: what the record says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from r2_material import (
    MODEL,
    block,
    calls,
    clip,
    clips,
    line,
    model_file,
    models_of,
    photographs,
    picture,
    rows,
    run_r2,
    scores,
    sounding,
    spoken,
    write_items,
)

from auscult.media.frames import write_frame
from auscult.media.masks import write_labels, write_mask
from auscult.suites.r2 import R2Options
from auscult.suites.r2 import run as r2_run
from auscult.suites.registered import SuiteRun, run
from entered_modules import entered_modules
from small_inputs import auscult

SOURCES = {"ris": photographs, "vos": clips, "rvos": spoken, "avs": sounding}
MAIN = {"ris": "IoU", "vos": "J", "rvos": "J", "avs": "J"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("r2")


@pytest.fixture(scope="module", params=list(SOURCES))
def task_run(request: pytest.FixtureRequest, root: Path) -> tuple[str, SuiteRun, Path]:
    """A run of one task with four models, one of which fails on every case, one on cases of five frames."""
    task = request.param
    data = SOURCES[task](root / task / "data")
    file = model_file(root / task)
    models = [f"{file}:{name}" for name in ("colour", "nothing", "soft", "unsizely")]
    return task, run_r2(data, root / task / "out", task, *models), file


def test_the_record_is_whole(task_run: tuple[str, SuiteRun, Path]) -> None:
    task, suite_run, _ = task_run
    names = {path.relative_to(suite_run.out).as_posix() for path in suite_run.out.rglob("*") if path.is_file()}
    assert {
        "cases.jsonl",
        "cells.csv",
        "cells.json",
        "errors.jsonl",
        "predictions.jsonl",
        "report.html",
        "requests.jsonl",
        "manifest.json",
        "scores.jsonl",
        "summary.json",
        "tables/answers.csv",
        "tables/general_mix.json",
        "tables/general_mix.tex",
    } <= names
    assert any(name.startswith("figures/") and name.endswith(".svg") for name in names)
    assert json.loads((suite_run.out / "summary.json").read_text()) == json.loads(
        json.dumps(suite_run.summary.as_json())
    )
    assert suite_run.summary.n == suite_run.summary.ok + suite_run.summary.failed
    assert task in (suite_run.out / "manifest.json").read_text()


def test_a_perfect_model_scores_one_and_an_empty_one_what_the_protocol_says(
    task_run: tuple[str, SuiteRun, Path],
) -> None:
    task, suite_run, _ = task_run
    perfect = scores(suite_run.out, MAIN[task], model="mine.colour")
    assert len(perfect) == {"ris": 4, "vos": 2, "rvos": 2, "avs": 2}[task]
    assert list(perfect.values()) == pytest.approx([1.0] * len(perfect))
    empty_scores = scores(suite_run.out, MAIN[task], model="mine.nothing")
    # the last of five frames is silent, where an empty mask is right
    assert list(empty_scores.values()) == pytest.approx([0.2 if task == "avs" else 0.0] * len(empty_scores))


def test_soft_masks_say_their_threshold(task_run: tuple[str, SuiteRun, Path]) -> None:
    task, suite_run, _ = task_run
    for row in rows(suite_run.out, "scores.jsonl"):
        if row["outcome"] == "scored":
            assert row["signature"]["task"] == task
            assert "frames" in row["signature"]
            assert (str(row["signature"].get("threshold")) == "0.5") == (row["model"] == "mine.soft"), row["signature"]
    assert list(scores(suite_run.out, MAIN[task], model="mine.soft").values()) == pytest.approx(
        list(scores(suite_run.out, MAIN[task], model="mine.colour").values())
    )


def test_what_failed_is_counted_and_in_no_mean(task_run: tuple[str, SuiteRun, Path]) -> None:
    _, suite_run, _ = task_run
    cases = {row["id"] for row in rows(suite_run.out, "cases.jsonl")}
    errors = [row for row in rows(suite_run.out, "errors.jsonl") if "mine.unsizely" in row["error"]]
    assert {row["id"] for row in errors} == cases
    assert len(errors) == len(cases), "said once where it is the same under every condition"
    assert all(row["error"].startswith("mine.unsizely, all 2 conditions: ") for row in errors)
    assert all("(2, 3, 3)" in row["error"] and row["stage"] == "predict" and row["path"] for row in errors)
    failed_rows = [row for row in rows(suite_run.out, "scores.jsonl") if row["model"] == "mine.unsizely"]
    assert {row["outcome"] for row in failed_rows} == {"failed"}
    assert suite_run.summary.failed == 2 * len(errors)
    assert "mine.unsizely" in (suite_run.out / "tables/answers.csv").read_text()


def test_predictions_tell_their_times(task_run: tuple[str, SuiteRun, Path]) -> None:
    _, suite_run, _ = task_run
    prediction_rows = rows(suite_run.out, "predictions.jsonl")
    assert min(row[name] for row in prediction_rows for name in ("seconds", "preparing_s", "overhead_s")) >= 0.0
    assert median(row["overhead_s"] / len(row["counts"]) for row in prediction_rows) < 0.010, (
        "over 10 ms a frame beside the model"
    )


def test_the_guidance_reaches_the_model(task_run: tuple[str, SuiteRun, Path]) -> None:
    task, _, file = task_run
    for call in calls(file):
        assert (call["text"] is not None) == (task in {"ris", "rvos"})
        assert (call["sound"] is not None) == (call["rate_hz"] is not None) == (task == "avs")
        assert (call["first_mask"] is not None) == (task == "vos")
        assert call["shape"][1:] == [48, 64, 3]


def test_one_bad_case_costs_itself(tmp_path: Path) -> None:
    data = clips(tmp_path / "data", five=5, six=6)
    file = model_file(tmp_path)
    suite_run = run_r2(data, tmp_path / "out", "vos", f"{file}:picky", f"{file}:colour", mixes=())
    assert scores(suite_run.out, "J", model="mine.picky") == {"six#1": 1.0}
    assert scores(suite_run.out, "J", model="mine.colour") == {"five#1": 1.0, "six#1": 1.0}
    errors = rows(suite_run.out, "errors.jsonl")
    assert {row["id"] for row in errors} == {"five#1"}
    assert all("five frames are too many" in row["error"] for row in errors)
    assert suite_run.summary.failed == 1
    cell = next(
        cell_
        for cell_ in json.loads((suite_run.out / "cells.json").read_text())
        if (cell_["model"], cell_["metric"], cell_["measure"], cell_["group"]) == ("mine.picky", "J", "level", "clean")
    )
    assert (cell["value"], cell["n"], cell["failed"]) == (1.0, 1, 1)


class TestAgain:
    """A folder is asked only what it lacks."""

    @pytest.fixture
    def first(self, tmp_path: Path) -> tuple[Path, Path, Path]:
        data, file, out = clips(tmp_path / "data"), model_file(tmp_path), tmp_path / "out"
        run_r2(data, out, "vos", f"{file}:colour")
        assert len(calls(file)) == 4
        return data, file, out

    def test_only_what_is_missing(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        before = (out / "scores.jsonl").read_bytes(), scores(out, "J")
        run_r2(data, out, "vos", f"{file}:colour")
        assert len(calls(file)) == 4
        assert (out / "scores.jsonl").read_bytes() == before[0]
        run_r2(data, out, "vos", f"{file}:colour", levels=("low", "5"), kinds="fog")  # fog twice, the mix at 5
        assert len(calls(file)) == 4 + 2 * 3
        suite_run = run_r2(data, out, "vos", f"{file}:nothing", levels=("high",))  # the first model stays in the tables
        assert [call["model"] for call in calls(file)[10:]] == ["nothing"] * 4
        assert {"mine.colour", "mine.nothing"} <= set(models_of(out))
        assert "mine.colour" in (out / "tables/general_mix.csv").read_text()
        assert suite_run.summary.failed == 0
        assert len({row["key"] for row in rows(out, "predictions.jsonl")}) == len(rows(out, "predictions.jsonl"))

    def test_a_killed_run_goes_on_and_scores_are_made_again_without_a_model(
        self, first: tuple[Path, Path, Path]
    ) -> None:
        data, file, out = first
        score_lines = sorted(json.dumps(row, sort_keys=True) for row in rows(out, "scores.jsonl"))
        (out / "scores.jsonl").unlink()
        run_r2(data, out, "vos", f"{file}:colour")
        assert len(calls(file)) == 4
        assert sorted(json.dumps(row, sort_keys=True) for row in rows(out, "scores.jsonl")) == score_lines
        lines = (out / "predictions.jsonl").read_bytes().splitlines(keepends=True)
        colour_indices = [index for index, text_line in enumerate(lines) if b'"mine.colour"' in text_line]
        lines = [text_line for index, text_line in enumerate(lines) if index not in colour_indices[2:]] + [
            lines[colour_indices[3]][:60]
        ]
        (out / "predictions.jsonl").write_bytes(b"".join(lines))
        (out / "scores.jsonl").unlink()
        run_r2(data, out, "vos", f"{file}:colour")
        assert len(calls(file)) == 6
        assert sorted(json.dumps(row, sort_keys=True) for row in rows(out, "scores.jsonl")) == score_lines

    def test_a_changed_frame_and_a_changed_model_are_asked_again(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        frame = picture(block(2))
        frame[0, 0] = 7
        write_frame(data / "one/frames/00002.png", frame)
        run_r2(data, out, "vos", f"{file}:colour")
        assert len(calls(file)) == 6  # clean and mixed, of the one clip
        file.write_text(MODEL.replace("return red(frames)\n\n\ndef nothing", "return ~red(frames)\n\n\ndef nothing"))
        suite_run = run_r2(data, out, "vos", f"{file}:colour")
        assert len(calls(file)) == 10
        assert suite_run.summary.metrics["mine.colour/clean/clean/J"]["value"] == 0.0


def test_a_model_that_does_not_load_costs_itself(tmp_path: Path) -> None:
    data = clips(tmp_path / "data", one=4)
    good, bad = model_file(tmp_path), model_file(tmp_path, "bad.py", "raise ValueError('no weights here')\n")
    suite_run = run_r2(data, tmp_path / "out", "vos", f"{bad}:predict", f"{good}:colour")
    assert scores(suite_run.out, "J", model="mine.colour") == {"one#1": 1.0}
    assert "no weights here" in (suite_run.out / "errors.jsonl").read_text()
    assert suite_run.summary.failed == 2


@pytest.mark.slow
def test_what_a_worker_process_does_is_the_same(tmp_path: Path) -> None:
    data, file = clips(tmp_path / "data", five=5, six=6), model_file(tmp_path)
    scores_by_workers = []
    for workers in (0, 2):
        out = tmp_path / f"out{workers}"
        run_r2(data, out, "vos", f"{file}:picky", kinds=["elastic_transform", "dropped_frames"], workers=workers)
        scores_by_workers.append(sorted((row["key"], row["metric"], row["value"]) for row in rows(out, "scores.jsonl")))
        assert {row["id"] for row in rows(out, "errors.jsonl")} == {"five#1"}
    assert scores_by_workers[0] == scores_by_workers[1]


def test_the_command(tmp_path: Path) -> None:
    """What a model breaks in its own process breaks nothing else."""
    breaking = "from auscult.suites.r2.scoring import R2Scorer\n\nR2Scorer.__call__ = None\n" + MODEL
    data, file, out = clips(tmp_path / "data", one=5), model_file(tmp_path, text=breaking), tmp_path / "out"
    words = ["run", "r2", "--task", "vos", "--data", data, "--out", out, "--workers", "1", "--quiet"]
    words += ["--perturb", "none"]
    result = auscult(*words, "--model", f"{file}:colour", "--model", f"{file}:picky", "--json")
    assert result.code == 1  # the one clip has five frames
    assert json.loads(result.out)["failed"] == 1
    assert scores(out, "J", model="mine.colour") == {"one#1": 1.0}


@pytest.mark.slow
def test_the_command_in_words(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=5), model_file(tmp_path), tmp_path / "out"
    words = ["run", "r2", "--task", "vos", "--data", data, "--out", out, "--workers", "1", "--quiet"]
    words += ["--model", f"{file}:colour", "--model", f"{file}:picky", "--max-failed", "5"]
    result = auscult(*words)
    assert result.code == 0
    assert "mine.colour" in result.out
    assert "report.html" in result.err


@pytest.mark.slow
@pytest.mark.parametrize("task", ["ris", "vos", "rvos", "avs"])
def test_scenes_are_made_for_a_run(tmp_path: Path, task: str) -> None:
    """Generated scenes hold what every task needs; the same command again makes and asks nothing."""
    models = ["baseline.centre_box", "baseline.full_frame"]
    suite_run = run(
        "r2", data="scenes", out=tmp_path / "out", task=task, models=models, levels=["low"], count=2, workers=0
    )
    assert suite_run.summary.failed == 0
    cases = rows(suite_run.out, "cases.jsonl")
    assert len({row["clip"] for row in cases}) == 2
    assert all((row["text"] is not None) == (task in {"ris", "rvos"}) for row in cases)
    assert {row["frames"] for row in cases} == {1} if task == "ris" else min(row["frames"] for row in cases) > 2
    left_out = [
        note for note in json.loads((suite_run.out / "page.json").read_text())["notes"] if "left out: only" in note
    ]
    assert len(left_out) == (task in {"ris", "rvos"})
    needs = {
        expression["uid"]: expression["needs"]
        for row in rows(suite_run.out / "scenes", "scenes.jsonl")
        for expression in row["expressions"]
    }
    assert task not in {"ris", "rvos"} or all(needs[row["id"]] == ["sight"] for row in cases)
    size = (suite_run.out / "predictions.jsonl").stat().st_size
    second_run = run(
        "r2", data="scenes", out=tmp_path / "out", task=task, models=models, levels=["low"], count=2, workers=0
    )
    assert second_run.summary == suite_run.summary
    assert (suite_run.out / "predictions.jsonl").stat().st_size == size


def predicted(folder: Path, condition: str, case: str, frames: int) -> None:
    for place in range(frames):
        write_mask(folder / condition / case / f"{place:05d}.png", block(place))


@pytest.mark.slow
def test_predictions_of_a_folder(tmp_path: Path) -> None:
    data = clips(tmp_path / "data", one=5, two=6)
    root = tmp_path / "my masks"
    predicted(root, "clean", "one#1", 5)
    predicted(root, "clean", "two#1", 6)
    predicted(root, "fog_low", "one#1", 5)
    predicted(root, "fog_low", "two#1", 5)  # one is missing
    suite_run = run_r2(data, tmp_path / "out", "vos", f"predictions:{root}", mixes=(), kinds="fog")
    name = next(name for name in models_of(suite_run.out) if "predictions" in name)
    assert scores(suite_run.out, "J", model=name) == {"one#1": 1.0, "two#1": 1.0}
    assert scores(suite_run.out, "J", "fog_low", model=name) == {"one#1": 1.0}
    (error,) = [row for row in rows(suite_run.out, "errors.jsonl") if name in row["error"]]
    assert error["id"] == "two#1"
    assert error["path"].endswith("fog_low/two#1/00005.png")
    predicted(root, "fog_low", "two#1", 6)
    suite_run = run_r2(data, tmp_path / "out", "vos", f"predictions:{root}", mixes=(), kinds="fog")
    assert suite_run.summary.failed == 0


def test_names_that_hurt(tmp_path: Path) -> None:
    """Ids with slashes are folders; ids that leave the folder find nothing, and nothing is read elsewhere."""
    data = tmp_path / "data"
    names = ["a/b c", "..", "a/../../x", "ünï ☂", "-rf"]
    lines: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        write_frame(data / f"{place}.png", picture(block(place)))
        write_mask(data / f"{place}-mask.png", block(place))
        lines.append({"id": name, "frame": f"{place}.png", "mask": f"{place}-mask.png", "text": "the red block"})
    (data / "items.jsonl").write_text("".join(json.dumps(item_line) + "\n" for item_line in lines))
    root = tmp_path / "masks"
    write_mask(root / "clean/a/b c/0.png", block(0))
    write_mask(root / "clean/ünï ☂.png", block(3))
    write_mask(tmp_path / "x.png", block(2))
    write_mask(root / "clean/-rf/4.png", block(4))
    suite_run = run_r2(data, tmp_path / "out", "ris", f"predictions:{root}", mixes=())
    iou_of = scores(suite_run.out, "IoU", model="predictions.masks")
    assert {name: value for name, value in iou_of.items() if value == 1.0}.keys() == set(iou_of)
    assert set(iou_of) == {"a/b c", "ünï ☂", "-rf"}
    assert {row["id"] for row in rows(suite_run.out, "cases.jsonl")} == set(iou_of)
    assert sorted(row["line"] for row in rows(suite_run.out, "errors.jsonl")) == [2, 3]


@pytest.mark.slow
def test_splits_of_any_name(tmp_path: Path) -> None:
    """What a source calls its splits is a stranger's text: it names no file and ends no run; seen and unseen do."""
    data, file = tmp_path / "data", model_file(tmp_path)
    splits = ("a/b", "../../x", "x\ny", "é" * 300, "seen", "unseen")
    write_items(
        data, [line(data, f"p{place}", place, text="the block", split=name) for place, name in enumerate(splits)]
    )
    suite_run = run_r2(data, tmp_path / "out", "ris", f"{file}:colour")
    assert suite_run.summary.failed == 0
    tables = {path.name for path in (suite_run.out / "tables").rglob("general_mix__*.csv")}
    assert tables == {"general_mix__seen.csv", "general_mix__unseen.csv"}
    assert not list(tmp_path.glob("x*"))


def test_models_of_one_name_are_told_apart(tmp_path: Path) -> None:
    data = clips(tmp_path / "data", one=4)
    first_file, second_file = model_file(tmp_path / "a"), model_file(tmp_path / "b", text=MODEL + "\n")
    suite_run = run_r2(data, tmp_path / "out", "vos", f"{first_file}:colour", f"{second_file}:colour", mixes=())
    assert set(scores(suite_run.out, "J", model="mine.colour~2")) == {"one#1"}
    assert (len(calls(first_file)), len(calls(second_file))) == (1, 1)


def test_two_cases_that_ask_the_very_same(tmp_path: Path) -> None:
    """One sentence for two objects of one photograph: the answer is one, the truths are two."""
    data, file = tmp_path / "data", model_file(tmp_path)
    write_frame(data / "frames/p.png", picture(block(1)))
    write_mask(data / "masks/left.png", block(1))
    write_mask(data / "masks/right.png", np.roll(block(1), 30, axis=1))
    lines = [
        {"id": name, "frame": "frames/p.png", "mask": f"masks/{name}.png", "text": "the block"}
        for name in ("left", "right")
    ]
    (data / "items.jsonl").write_text("".join(json.dumps(item_line) + "\n" for item_line in lines))
    suite_run = run_r2(data, tmp_path / "out", "ris", f"{file}:colour", mixes=())
    assert scores(suite_run.out, "IoU", model="mine.colour") == {"left": 1.0, "right": pytest.approx(0.0, abs=0.01)}
    assert suite_run.summary.failed == 0


@pytest.mark.slow
def test_a_split_and_an_object_that_comes_late(tmp_path: Path) -> None:
    data, file = tmp_path / "data", model_file(tmp_path)
    clip(data / "late", 6, hidden=(0, 1))
    clip(data / "never", 4, hidden=(0, 1, 2, 3))
    clip(data / "short", 2)
    suite_run = run_r2(data, tmp_path / "out", "vos", f"{file}:colour", mixes=())
    cases = {row["id"]: row["frames"] for row in rows(suite_run.out, "cases.jsonl")}
    assert cases == {"late#1": 4, "short#1": 2}
    assert scores(suite_run.out, "J", model="mine.colour") == {"late#1": 1.0, "short#1": None}
    short = next(row for row in rows(suite_run.out, "scores.jsonl") if row["id"] == "short#1")
    assert (short["outcome"], short["reason"]) == ("undefined", "no frame is left to score")
    assert suite_run.summary.undefined >= 1
    (error,) = rows(suite_run.out, "errors.jsonl")
    assert (error["id"], error["stage"]) == ("never", "case")
    assert suite_run.summary.failed == len(models_of(suite_run.out))
    shutil.rmtree(data / "late")
    suite_run = run_r2(data, tmp_path / "out2", "vos", f"{file}:colour")  # nothing at all to score
    assert set(scores(suite_run.out, "J", model="mine.colour").values()) == {None}
    assert suite_run.summary.metrics["mine.colour/clean/clean/J"]["value"] is None


def test_material_at_fault_costs_itself(tmp_path: Path) -> None:
    data, file = tmp_path / "data", model_file(tmp_path)
    for name in ("good", "unequal", "damaged", "truth"):
        clip(data / name, 4)
    write_frame(data / "unequal/frames/00002.png", picture(block(2, size=(40, 64))))
    (data / "damaged/frames/00001.png").write_bytes(b"no picture")
    write_labels(data / "truth/masks/00001.png", block(1, size=(40, 60)).astype(np.uint8))
    suite_run = run_r2(data, tmp_path / "out", "vos", f"{file}:colour", mixes=())
    assert scores(suite_run.out, "J", model="mine.colour") == {"good#1": 1.0, "truth#1": 1.0}
    errors = [(row["stage"], row["path"].rsplit("/", 3)[-3]) for row in rows(suite_run.out, "errors.jsonl")]
    assert sorted(errors) == [("read", "damaged"), ("read", "unequal"), ("truth", "truth")], "one row for each file"


def test_a_run_enters_few_modules(tmp_path: Path) -> None:
    data, model = clips(tmp_path / "data", one=4, two=4), f"{model_file(tmp_path)}:colour"
    options = R2Options(data=data, out=tmp_path / "out", task="vos", models=(model,), levels=("low",), workers=0)
    entered = entered_modules(r2_run.run_r2, options)
    assert 60 < len(entered) <= 110, entered
