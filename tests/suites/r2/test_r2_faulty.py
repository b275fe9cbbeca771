"""Material at fault in a listing of videos with sentences: each costs its own case, and says what is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from r2_material import SIZE, block, line, model_file, photographs, picture, rows, run_r2, scores, write_items

from auscult.errors import NothingToDo
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask

VIDEOS = ("good", "lost", "unequal", "untrue", "gone", "mute")


def test_each_costs_its_case(tmp_path: Path) -> None:
    data, file = tmp_path / "data", model_file(tmp_path)
    lines = [
        line(data, name, place, clip=name, time_s=place / 5, **({} if name == "mute" else {"text": "the red block"}))
        for name in VIDEOS
        for place in range(3)
    ]
    write_items(data, lines)
    (data / "frames/lost-1.png").unlink()
    write_frame(data / "frames/unequal-2.png", picture(block(2, size=(50, 64))))
    write_mask(data / "masks/untrue-1.png", block(1, size=(50, 64)))
    (data / "masks/gone-0.png").unlink()
    suite_run = run_r2(data, tmp_path / "out", "rvos", f"{file}:colour", mixes=())
    # a true mask that is broken or gone costs its frame, anything else the case
    assert scores(suite_run.out, "J", model="mine.colour") == {"good": 1.0, "untrue": 1.0, "gone": 1.0}
    errors = {Path(row["path"]).stem.split("-")[0]: row for row in rows(suite_run.out, "errors.jsonl")}
    assert {name: row["stage"] for name, row in errors.items()} == {
        "lost": "case", "unequal": "read", "untrue": "truth", "gone": "truth", "items": "case"
    }  # fmt: skip
    assert "nothing says which object is meant" in errors["items"]["error"]
    assert errors["items"]["id"] == "mute"
    assert len(errors) == len(rows(suite_run.out, "errors.jsonl"))
    assert len(rows(suite_run.out, "predictions.jsonl")) == len(
        {row["key"] for row in rows(suite_run.out, "predictions.jsonl")}
    )


def test_an_object_out_of_the_picture_for_a_while_is_asked_through_all_frames(tmp_path: Path) -> None:
    data, file = tmp_path / "data", model_file(tmp_path)
    lines = [line(data, "v", place, clip="v", time_s=place / 5, text="the red block") for place in range(4)]
    for place in (0, 2):
        write_mask(data / f"masks/v-{place}.png", np.zeros(SIZE, bool))
        write_frame(data / f"frames/v-{place}.png", picture(np.zeros(SIZE, bool)))
    write_items(data, lines)
    suite_run = run_r2(data, tmp_path / "out", "rvos", f"{file}:colour", f"{file}:nothing", mixes=())
    assert scores(suite_run.out, "J", model="mine.colour") == {"v": 1.0}
    assert scores(suite_run.out, "J", model="mine.nothing") == {"v": 0.5}  # right where there is nothing


def test_photographs_for_a_task_of_videos(tmp_path: Path) -> None:
    file = model_file(tmp_path)
    with pytest.raises(NothingToDo, match="a single frame") as error:
        run_r2(photographs(tmp_path / "data", 2), tmp_path / "out", "vos", f"{file}:colour")
    assert "the folder above" in error.value.hint
    second_run = run_r2(tmp_path / "data", tmp_path / "out2", "rvos", f"{file}:colour", mixes=())
    assert set(scores(second_run.out, "J", model="mine.colour").values()) == {1.0}
