"""What a folder does when truth, model names or its own files changed between two commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from r2_material import (
    MODEL,
    block,
    calls,
    clips,
    line,
    model_file,
    models_of,
    picture,
    rows,
    run_r2,
    scores,
    spoken,
    write_items,
)

from auscult.media.frames import write_frame
from auscult.media.masks import write_labels

pytestmark = pytest.mark.slow  # runs of the whole suite, beside those of test_r2_runs


def test_a_changed_truth_is_scored_again_and_asks_no_model(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=5), model_file(tmp_path), tmp_path / "out"
    run_r2(data, out, "vos", f"{file}:colour", mixes=())
    write_labels(data / "one/masks/00002.png", np.roll(block(2), 40, axis=1).astype(np.uint8))
    suite_run = run_r2(data, out, "vos", f"{file}:colour", mixes=())
    assert len(calls(file)) == 1
    j_value = suite_run.summary.metrics["mine.colour/clean/clean/J"]["value"]
    assert j_value is not None
    assert abs(j_value - 2 / 3) < 0.1
    score_bytes = (out / "scores.jsonl").read_bytes()
    run_r2(data, out, "vos", f"{file}:colour", mixes=())
    assert (out / "scores.jsonl").read_bytes() == score_bytes


def test_a_score_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    """A kill between the two metrics of an answer leaves one of them."""
    data, file, out = clips(tmp_path / "data", one=5), model_file(tmp_path), tmp_path / "out"
    before = run_r2(data, out, "vos", f"{file}:colour", mixes=()).summary
    lines = (out / "scores.jsonl").read_text().splitlines(keepends=True)
    (out / "scores.jsonl").write_text("".join(score_line for score_line in lines if '"metric": "F"' not in score_line))
    assert run_r2(data, out, "vos", f"{file}:colour", mixes=()).summary == before
    assert len(calls(file)) == 1


def test_models_of_one_name_keep_theirs(tmp_path: Path) -> None:
    data, out = clips(tmp_path / "data", one=4), tmp_path / "out"
    first_file, second_file = model_file(tmp_path / "a"), model_file(tmp_path / "b", text=MODEL + "\n")
    run_r2(data, out, "vos", f"{first_file}:colour", f"{second_file}:nothing", f"{second_file}:colour", mixes=())
    suite_run = run_r2(data, out, "vos", f"{second_file}:colour", mixes=())
    assert (len(calls(first_file)), len(calls(second_file))) == (1, 2)
    assert {"mine.colour", "mine.nothing", "mine.colour~2"} <= set(models_of(out))
    assert {name.split("/")[0] for name in suite_run.summary.metrics} >= {
        "mine.colour",
        "mine.nothing",
        "mine.colour~2",
    }


def test_every_number_has_a_signature_of_its_model(tmp_path: Path) -> None:
    file = model_file(tmp_path)
    suite_run = run_r2(
        spoken(tmp_path / "data", count=1), tmp_path / "out", "rvos", f"{file}:colour", f"{file}:soft", mixes=()
    )
    for metric in ("J", "F", "J&F"):
        for name in ("colour", "soft"):
            signature = suite_run.summary.metrics[f"mine.{name}/clean/clean/{metric}"]["signature"]
            assert "score_task:rvos" in signature
            assert ("score_threshold:0.5" in signature) == (name == "soft")


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    data, file = tmp_path / "data", model_file(tmp_path)
    write_items(data, [line(data, "p0", 0, text="the block"), {**line(data, "p1", 1, text="the block"), "id": "../p1"}])
    suite_run = run_r2(data, tmp_path / "out", "ris", f"{file}:colour", mixes=())
    assert scores(suite_run.out, "IoU", model="mine.colour") == {"p0-0": 1.0}
    assert len(rows(suite_run.out, "errors.jsonl")) == 1
    assert suite_run.summary.failed >= 1


def test_inputs_of_a_changed_clip_are_written_again(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=4), model_file(tmp_path), tmp_path / "out"
    words = {"mixes": (), "kinds": "brightness", "inputs": True}
    run_r2(data, out, "vos", f"{file}:colour", **words)
    frame_path = out / "inputs/brightness_low/one#1/00002.png"
    before, when = frame_path.read_bytes(), frame_path.stat().st_mtime_ns
    run_r2(data, out, "vos", f"{file}:colour", **words)
    assert frame_path.stat().st_mtime_ns == when
    write_frame(data / "one/frames/00002.png", picture(block(3)))
    run_r2(data, out, "vos", f"{file}:colour", **words)
    assert frame_path.read_bytes() != before
