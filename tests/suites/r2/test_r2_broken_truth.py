"""True masks that cannot be read: models see the whole clip, the frame is not scored, and the file is named once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from r2_material import SIZE, block, calls, clip, clips, line, model_file, rows, run_r2, scores, sounding, write_items

from auscult.cases.instances import list_instances
from auscult.errors import InputError
from auscult.media.masks import write_labels, write_mask
from auscult.suites.core.requests import CaseList
from auscult.suites.r2.cases import R2Case, cases_of, task_rules, truths_of
from auscult.types import Query


def truncate(path: Path) -> bytes:
    """Keep the head of a file; what it held."""
    content = path.read_bytes()
    path.write_bytes(content[:70])
    return content


def empty(path: Path) -> None:
    path.write_bytes(b"")


def other_size(path: Path) -> None:
    write_labels(path, block(1, size=(40, 60)).astype(np.uint8))


def listing(data: Path, task: str = "vos") -> CaseList[R2Case]:
    """The cases of a folder of sequences."""
    listing_ = list_instances(data)
    return cases_of(listing_.instances, task_rules(task), scored="all", unopened=listing_.unopened)


@pytest.mark.parametrize("damage", [truncate, empty, other_size], ids=["cut", "empty", "size"])
def test_a_later_mask_costs_its_frame(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    clip(tmp_path / "data/one", 5)
    damage(tmp_path / "data/one/masks/00002.png")
    (case,) = listing(tmp_path / "data").cases
    assert [frame.stem for frame in case.frames] == ["00000", "00001", "00002", "00003", "00004"]
    truths = truths_of(case)
    assert [mask is None for mask in truths.masks] == [False, False, True, False, False]
    assert all(error.path and error.path.endswith("00002.png") for error in truths.errors.values())


@pytest.mark.parametrize("damage", [truncate, empty, other_size], ids=["cut", "empty", "size"])
def test_a_picture_of_a_clip_is_one_that_has_a_truth(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    clip(tmp_path / "data/one", 5)
    damage(tmp_path / "data/one/masks/00002.png")
    listing_ = list_instances(tmp_path / "data")
    instances = [replace(instance, query=Query(text="the block")) for instance in listing_.instances]
    (case,) = cases_of(instances, task_rules("ris"), scored="all", unopened=listing_.unopened).cases
    assert case.frames[0].stem == "00001"


@pytest.mark.parametrize("damage", [truncate, empty, other_size], ids=["cut", "empty", "size"])
def test_the_first_mask_costs_the_case(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    clip(tmp_path / "data/one", 5)
    damage(tmp_path / "data/one/masks/00000.png")
    case_list = listing(tmp_path / "data")
    assert not case_list.cases
    ((name, error),) = case_list.errors
    assert name == "one#1"
    assert "the first mask, which says which object is meant, cannot be read" in error.error
    assert error.path == str(tmp_path / "data/one/masks/00000.png")


def test_nobody_can_tell_where_a_late_object_begins_behind_a_broken_mask(tmp_path: Path) -> None:
    clip(tmp_path / "data/late", 6, hidden=(0, 1))
    truncate(tmp_path / "data/late/masks/00001.png")
    assert "cannot be read" in listing(tmp_path / "data").errors[0][1].error


def test_a_mask_that_is_not_there_does_not_hold_back_the_next(tmp_path: Path) -> None:
    clip(tmp_path / "data/one", 5)
    for place in (0, 3):
        (tmp_path / f"data/one/masks/{place:05d}.png").unlink()
    (case,) = listing(tmp_path / "data").cases
    assert [frame.stem for frame in case.frames] == ["00001", "00002", "00003", "00004"]
    assert [mask is None for mask in truths_of(case).masks] == [False, False, True, False]


def test_an_inline_mask_names_its_frame(tmp_path: Path) -> None:
    frame = line(tmp_path, "v", 0, clip="v", time_s=0.0, text="the block")
    bad = {**line(tmp_path, "v", 1, clip="v", time_s=0.2, text="the block"), "mask": {"size": [3, 3], "counts": [9]}}
    write_items(tmp_path, [frame, bad])
    (case,) = listing(tmp_path, "rvos").cases
    (error,) = truths_of(case).errors.values()
    assert isinstance(error, InputError)
    assert error.path == str(case.frames[1])


def truth_rows(out: Path) -> list[tuple[Any, ...]]:
    return [(row["id"], Path(row["path"]).name) for row in rows(out, "errors.jsonl") if row["stage"] == "truth"]


def test_a_run_scores_the_rest(tmp_path: Path) -> None:
    data, file, out = tmp_path / "data", model_file(tmp_path), tmp_path / "out"
    lines = [line(data, "v", place, clip="v", time_s=place / 5, text="the red block") for place in range(4)]
    write_items(data, lines)
    truncate(data / "masks/v-1.png")
    suite_run = run_r2(data, out, "rvos", f"{file}:colour", f"{file}:one_frame_only", mixes=())
    assert {call["shape"][0] for call in calls(file)} == {4}
    assert scores(out, "J", model="mine.colour") == {"v": 1.0}
    assert scores(out, "J", model="mine.one_frame_only") == {"v": pytest.approx(1 / 3)}
    assert truth_rows(out) == [(None, "v-1.png")]
    assert suite_run.summary.failed == 0


@pytest.mark.slow
class TestRuns:
    def test_the_same_command_again_and_a_mended_mask(self, tmp_path: Path) -> None:
        data, file, out = clips(tmp_path / "data", one=6), model_file(tmp_path), tmp_path / "out"
        mask_bytes = truncate(data / "one/masks/00003.png")
        first = run_r2(data, out, "vos", f"{file}:colour").summary
        before = (out / "errors.jsonl").read_bytes()
        assert truth_rows(out) == [(None, "00003.png")]
        assert run_r2(data, out, "vos", f"{file}:colour").summary == first
        assert (out / "errors.jsonl").read_bytes() == before
        (data / "one/masks/00003.png").write_bytes(mask_bytes)
        run_r2(data, out, "vos", f"{file}:colour")
        assert rows(out, "errors.jsonl") == []
        assert len(calls(file)) == 2, "the model has seen that frame already"

    def test_a_mask_found_broken_when_it_is_scored(self, tmp_path: Path) -> None:
        """The header of a file of one mask is whole, so that the listing finds nothing wrong."""
        data, file, out = clips(tmp_path / "data", one=6), model_file(tmp_path), tmp_path / "out"
        for place in range(6):
            write_mask(data / f"one/masks/{place:05d}.png", block(place))
        mask_bytes = truncate(data / "one/masks/00003.png")
        for _ in range(2):
            run_r2(data, out, "vos", f"{file}:colour", f"{file}:nothing")
            assert truth_rows(out) == [(None, "00003.png")]
            assert scores(out, "J", model="mine.colour") == {"one": 1.0}
        (data / "one/masks/00003.png").write_bytes(mask_bytes)
        run_r2(data, out, "vos", f"{file}:colour")
        assert rows(out, "errors.jsonl") == []

    def test_nothing_left_to_score_with(self, tmp_path: Path) -> None:
        data, file, out = clips(tmp_path / "data", one=3), model_file(tmp_path), tmp_path / "out"
        other_size(data / "one/masks/00001.png")  # of three frames only the middle one is scored
        for _ in range(2):
            suite_run = run_r2(data, out, "vos", f"{file}:colour", mixes=())
            (row,) = rows(out, "errors.jsonl")
            assert row["path"].endswith("00001.png")
            assert "it costs 5 requests about one#1" in row["error"]
            assert suite_run.summary.failed == 5
        assert {row["outcome"] for row in rows(out, "scores.jsonl")} == {"failed"}

    def test_a_sounding_clip(self, tmp_path: Path) -> None:
        data, file, out = sounding(tmp_path / "data", count=1), model_file(tmp_path), tmp_path / "out"
        (mask,) = data.rglob("gt_masks/test/c0/c0_2.png")
        truncate(mask)
        suite_run = run_r2(data, out, "avs", f"{file}:colour", mixes=())
        assert truth_rows(out) == [(None, "c0_2.png")]
        assert scores(out, "J", model="mine.colour") == {"test/c0": pytest.approx(1.0)}
        assert (suite_run.summary.failed, {call["shape"][0] for call in calls(file)}) == (0, {5})

    def test_sentences_on_sequences(self, tmp_path: Path) -> None:
        """An expressions.json beside sequences; the first mask is broken, and no reference here."""
        data, file, out = clips(tmp_path / "data", one=5), model_file(tmp_path), tmp_path / "out"
        rows_of = [{"video": "one", "exp": "the red block", "object": 1, "referent": True}]
        (data / "expressions.json").write_text(json.dumps({"expressions": rows_of}))
        truncate(data / "one/masks/00000.png")
        suite_run = run_r2(data, out, "rvos", f"{file}:colour", mixes=())
        assert set(scores(out, "J", model="mine.colour").values()) == {1.0}
        assert {call["shape"] == [5, *SIZE, 3] for call in calls(file)} == {True}
        assert truth_rows(out) == [(None, "00000.png")]
        assert suite_run.summary.failed == 0
