"""What a folder does when truth, model names or its own files changed between two commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from r2_material import (
    MODEL,
    asked,
    block,
    calls,
    clips,
    line,
    listed,
    model_file,
    models_of,
    picture,
    rows,
    scores,
    spoken,
)

from auscult.media.frames import write_frame
from auscult.media.masks import write_labels

pytestmark = pytest.mark.slow  # runs of the whole suite, beside those of test_r2_runs


def test_a_changed_truth_is_scored_again_and_asks_no_model(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=5), model_file(tmp_path), tmp_path / "out"
    asked(data, out, "vos", f"{file}:colour", mixes=())
    write_labels(data / "one/masks/00002.png", np.roll(block(2), 40, axis=1).astype(np.uint8))
    made = asked(data, out, "vos", f"{file}:colour", mixes=())
    assert len(calls(file)) == 1
    told = made.summary.metrics["mine.colour/clean/clean/J"]["value"]
    assert told is not None
    assert abs(told - 2 / 3) < 0.1
    scored = (out / "scores.jsonl").read_bytes()
    asked(data, out, "vos", f"{file}:colour", mixes=())
    assert (out / "scores.jsonl").read_bytes() == scored


def test_a_score_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    """A kill between the two metrics of an answer leaves one of them."""
    data, file, out = clips(tmp_path / "data", one=5), model_file(tmp_path), tmp_path / "out"
    before = asked(data, out, "vos", f"{file}:colour", mixes=()).summary
    lines = (out / "scores.jsonl").read_text().splitlines(keepends=True)
    (out / "scores.jsonl").write_text("".join(one for one in lines if '"metric": "F"' not in one))
    assert asked(data, out, "vos", f"{file}:colour", mixes=()).summary == before
    assert len(calls(file)) == 1


def test_models_of_one_name_keep_theirs(tmp_path: Path) -> None:
    data, out = clips(tmp_path / "data", one=4), tmp_path / "out"
    here, there = model_file(tmp_path / "a"), model_file(tmp_path / "b", text=MODEL + "\n")
    asked(data, out, "vos", f"{here}:colour", f"{there}:nothing", f"{there}:colour", mixes=())
    made = asked(data, out, "vos", f"{there}:colour", mixes=())
    assert (len(calls(here)), len(calls(there))) == (1, 2)
    assert {"mine.colour", "mine.nothing", "mine.colour~2"} <= set(models_of(out))
    assert {name.split("/")[0] for name in made.summary.metrics} >= {"mine.colour", "mine.nothing", "mine.colour~2"}


def test_every_number_has_a_signature_of_its_model(tmp_path: Path) -> None:
    file = model_file(tmp_path)
    made = asked(
        spoken(tmp_path / "data", count=1), tmp_path / "out", "rvos", f"{file}:colour", f"{file}:soft", mixes=()
    )
    for metric in ("J", "F", "J&F"):
        for name in ("colour", "soft"):
            signature = made.summary.metrics[f"mine.{name}/clean/clean/{metric}"]["signature"]
            assert "score_task:rvos" in signature
            assert ("score_threshold:0.5" in signature) == (name == "soft")


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    data, file = tmp_path / "data", model_file(tmp_path)
    listed(data, [line(data, "p0", 0, text="the block"), {**line(data, "p1", 1, text="the block"), "id": "../p1"}])
    made = asked(data, tmp_path / "out", "ris", f"{file}:colour", mixes=())
    assert scores(made.out, "IoU", model="mine.colour") == {"p0-0": 1.0}
    assert len(rows(made.out, "errors.jsonl")) == 1
    assert made.summary.failed >= 1


def test_inputs_of_a_changed_clip_are_written_again(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=4), model_file(tmp_path), tmp_path / "out"
    words = {"mixes": (), "kinds": "brightness", "inputs": True}
    asked(data, out, "vos", f"{file}:colour", **words)
    written = out / "inputs/brightness_low/one#1/00002.png"
    before, when = written.read_bytes(), written.stat().st_mtime_ns
    asked(data, out, "vos", f"{file}:colour", **words)
    assert written.stat().st_mtime_ns == when
    write_frame(data / "one/frames/00002.png", picture(block(3)))
    asked(data, out, "vos", f"{file}:colour", **words)
    assert written.read_bytes() != before
