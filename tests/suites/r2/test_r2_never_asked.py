"""What an interrupted command never asked, or what other data would need asked again, is no failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from r2_material import MODEL, block, calls, clip, clips, model_file, picture, questions_of, rows, run_r2

from auscult.jobs.runner import Silent
from auscult.media.frames import write_frame
from auscult.media.masks import write_labels
from auscult.suites.core.records import read_record, score_record
from auscult.suites.r2 import SUITE
from auscult.suites.registered import run

pytestmark = pytest.mark.slow  # runs of the whole suite, beside those of test_r2_runs


class StopAfter(Silent):
    """Stops a run after some answers, as a signal does."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.asking = False

    def stage(self, name: str, total: int | None = None) -> None:  # noqa: ARG002
        self.asking = name.startswith("ask mine")

    def step(self, count: int = 1) -> None:  # noqa: ARG002
        self.left -= self.asking
        if self.left < 0:
            raise KeyboardInterrupt


def column(suite_run: Any, name: str) -> dict[str, str]:
    table = suite_run.tables["answers"]
    return {row[0]: row[table.header.index(name)] for row in table.rows}


def test_a_stopped_command_and_a_narrower_one(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=4, two=5, three=6), model_file(tmp_path), tmp_path / "out"
    words: dict[str, Any] = {"data": data, "out": out, "task": "vos", "models": [f"{file}:picky"], "workers": 0}
    with pytest.raises(KeyboardInterrupt):
        run("r2", levels=["low", "high"], progress=StopAfter(4), **words)
    suite_run = run_r2(data, out, "vos", f"{file}:picky")
    assert suite_run.summary.failed == 2, "clean and low of the clip of five frames"
    assert {tuple(sorted(place)) for row in rows(out, "errors.jsonl") for place in [row["questions"][0]["cases"]]} == {
        ("two#1",)
    }
    assert column(suite_run, "not yet asked")["mine.picky"] != "0"
    (note,) = suite_run.remarks
    assert "never asked" in note
    assert "--severity high" in note
    assert note in json.loads((out / "page.json").read_text())["notes"]
    (row,) = [row for row in suite_run.tables["general_mix"].rows if row[:2] == ("mine.picky", "J")]
    assert row[-1] == "2 (1 failed)", "what was not asked at high does not choose the cases of low"
    assert score_record(out, SUITE).tables == suite_run.tables
    assert read_record(out, SUITE).grid.waiting.keys() == {("mine.picky", "mix_high")}
    full_run = run_r2(data, out, "vos", f"{file}:picky", levels=("low", "high"))
    assert (full_run.summary.failed, full_run.remarks) == (3, ())


def test_a_changed_picture_and_one_of_two_models(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data"), model_file(tmp_path), tmp_path / "out"
    run_r2(data, out, "vos", f"{file}:colour", f"{file}:nothing")
    frame = data / "one/frames/00001.png"
    write_frame(frame, np.roll(picture(block(1)), 1, axis=0))
    suite_run = run_r2(data, out, "vos", f"{file}:colour")
    assert (suite_run.summary.failed, rows(out, "errors.jsonl")) == (0, [])
    assert column(suite_run, "not yet asked") == {
        name: "2" if "nothing" in name else "0" for name in column(suite_run, "failed")
    }
    (note,) = suite_run.remarks
    assert note.startswith("mine.nothing: 2 requests about one#1 were never asked")
    cases = {row[0]: row[-1] for row in suite_run.tables["general_mix"].rows}
    assert cases == {"mine.colour": "2", "mine.nothing": "1"}
    assert suite_run.summary.n == suite_run.summary.ok + suite_run.summary.failed + suite_run.summary.undefined


def test_predictions_of_a_further_severity(tmp_path: Path) -> None:
    data, out, folder = clips(tmp_path / "data"), tmp_path / "out", tmp_path / "mine"
    model = f"predictions:{folder}"

    def predicted(*names: str) -> None:
        for name in names:
            for case, frames in (("one#1", 5), ("two#1", 6)):
                for place in range(frames):
                    write_labels(folder / name / case / f"{place:05d}.png", block(place).astype(np.uint8))

    predicted("clean", "mix_low")
    first = run_r2(data, out, "vos", model)
    assert first.summary.failed == 0
    predicted("mix_high")
    suite_run = run_r2(data, out, "vos", model, levels=("high",))
    assert suite_run.summary.failed == 0
    assert suite_run.tables["general_mix"].header[3:5] == ("low", "high")
    assert {row[3] for row in suite_run.tables["general_mix"].rows} == {"100.0"}
    assert rows(out, "errors.jsonl") == [], "no file of an earlier severity is one that nobody asks for"


def test_stale_files_go(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data"), model_file(tmp_path), tmp_path / "out"
    run_r2(data, out, "vos", f"{file}:colour")
    stale = [out / name for name in ("tables/kinds.csv", "figures/kinds.svg", "figures/strips/fog.jpg")]
    for path in stale:
        path.write_text("of an earlier command")
    with (out / ".written").open("a") as notes:
        notes.writelines(json.dumps({"name": path.relative_to(out).as_posix()}) + "\n" for path in stale)
    run_r2(data, out, "vos", f"{file}:colour")
    assert not any(path.exists() for path in stale)
    assert (out / "figures/strips/mix.jpg").exists()
    assert (out / "tables/general_mix.csv").exists()


def test_a_file_called_like_a_baseline(tmp_path: Path) -> None:
    data, out = clips(tmp_path / "data"), tmp_path / "out"
    file = model_file(tmp_path, "baseline.empty.v1.py", MODEL.replace("def colour", "def predict"))
    suite_run = run_r2(data, out, "vos", f"{file}:predict", mixes=())
    names = [row[0] for row in suite_run.tables["answers"].rows]
    assert names[0] == "callable.baseline.empty.v1"
    assert "baseline.empty.v1" in names
    assert len(calls(file)) == 2


def test_counts_hold_while_something_waits_and_what_is_kept_out_is_told(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=4, two=5), model_file(tmp_path), tmp_path / "out"
    for number in range(1, 5):
        (data / f"two/masks/{number:05d}.png").unlink()
    run_r2(data, out, "vos", f"{file}:colour", levels=("low", "high"))
    clip(data / "four", 7)
    suite_run = run_r2(data, out, "vos", f"{file}:colour", levels=("low",))
    undefined = sum(row["outcome"] == "undefined" and row["metric"] == "J" for row in rows(out, "scores.jsonl"))
    summary = suite_run.summary
    assert summary.undefined == undefined > 0
    assert summary.n == summary.ok + summary.failed + summary.undefined
    assert "Until then its answers under" in " ".join(suite_run.remarks)


def test_a_failure_keeps_a_row_when_it_was_to_be_asked_again(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=4, two=5, three=6), model_file(tmp_path), tmp_path / "out"
    words: dict[str, Any] = {"data": data, "out": out, "task": "vos", "models": [f"{file}:picky"], "workers": 0}
    run_r2(data, out, "vos", f"{file}:picky", levels=("low", "high"))
    with pytest.raises(KeyboardInterrupt):
        run("r2", levels=["low", "high"], progress=StopAfter(0), **words)
    suite_run = run_r2(data, out, "vos", f"{file}:picky", levels=("low",))
    failed_questions = [row for row in rows(out, "errors.jsonl") for _ in questions_of(row)]
    assert suite_run.summary.failed == len(failed_questions) == 3
