"""`make avi` as a job: the released tree, the same bytes whoever makes it, and truths that observers find again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import avi_observers
from auscult.arrays.boxes import FrameBoxes, SoundingBoxes
from auscult.cases.avi_tree import AviSample, read_tree
from auscult.errors import Mismatch
from auscult.jobs.make_avi import FOLDERS, make_avi
from auscult.jobs.options import FamiliarOptions
from auscult.scenes.familiar.base import World
from auscult.scenes.familiar.material import Material, open_material
from auscult.score.boxes import iou_of_boxes
from auscult.score.replies import Read, read_reply
from auscult.score.tasks import TASKS
from small_inputs import tree

pytestmark = [pytest.mark.extra_video, pytest.mark.slow]


def make(out: Path, **options: Any) -> list[tuple[str, ...]]:
    summary, tables = make_avi(FamiliarOptions(**{"out": out, "count": 2, "seed": 7, "workers": 0, **options}))
    assert summary.ok == summary.n == len(FOLDERS) * options.get("count", 2)
    return list(tables[0].rows)


def material(out: Path) -> dict[str, bytes | str]:
    return {name: data for name, data in tree(out).items() if name not in {"manifest.json", ".written"}}


@pytest.fixture(scope="module")
def question_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    out = tmp_path_factory.mktemp("avi") / "made"
    make(out)
    return out


def test_workers_and_growing_change_no_bytes(question_tree: Path, tmp_path: Path) -> None:
    make(tmp_path / "grown", count=1)
    make(tmp_path / "grown", workers=1)
    assert material(tmp_path / "grown") == material(question_tree)
    with pytest.raises(Mismatch, match="not all of them are asked for"):
        make(question_tree, count=1)


def test_a_run_that_was_cut_off_goes_on(question_tree: Path, tmp_path: Path) -> None:
    """What a kill leaves: media of a sample whose line is missing or half written, and no tables."""
    make(tmp_path / "cut", count=1)
    lines = (tmp_path / "cut" / "samples.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut" / "samples.jsonl").write_bytes(b"".join(lines[:9]) + lines[9][:60])
    (tmp_path / "cut" / "summary.json").unlink()
    make(tmp_path / "cut")
    assert material(tmp_path / "cut") == material(question_tree)


def test_observers_of_pixels_and_samples_find_every_truth(question_tree: Path) -> None:
    wrong = [
        sample.id for sample, observed in avi_observers.observed(question_tree, World()) if observed != sample.truth
    ]
    assert not wrong


def test_a_reply_in_the_asked_form_is_read_strictly_and_is_the_truth(question_tree: Path) -> None:
    listing = read_tree(question_tree)
    assert not listing.errors
    assert len(listing.samples) == 2 * len(FOLDERS)
    for sample in listing.samples:
        answer_form = TASKS[sample.folder].answer
        reply = read_reply(reply_of(sample), answer_form, words=sample.options, frames=10)
        assert isinstance(reply, Read), sample.id
        assert reply.path == "strict", sample.id
        assert same_answer(reply.answer, sample.truth), sample.id


def reply_of(sample: AviSample) -> str:
    """The truth as the prompt asks for it."""
    truth = sample.truth
    if isinstance(truth, SoundingBoxes):
        numbered = [f"{name}_{index}" for index, (name, _) in enumerate(truth.boxes, start=1)]
        shares = [_shares(box, truth) for _, box in truth.boxes]
        return json.dumps(dict(zip(numbered, shares, strict=True)))
    if isinstance(truth, FrameBoxes):
        return json.dumps({f"frame_{index}": box and _shares(box, truth) for index, box in enumerate(truth.boxes)})
    if isinstance(truth, Mapping):
        return json.dumps(dict(truth))
    if isinstance(truth, tuple):
        return json.dumps(truth) if sample.folder in {"VAR", "AVR"} else str(truth[0])
    return truth


def _shares(box: tuple[float, ...], truth: SoundingBoxes | FrameBoxes) -> list[float]:
    return [box[0] / truth.width, box[1] / truth.height, box[2] / truth.width, box[3] / truth.height]


def same_answer(answer: Any, truth: Any) -> bool:
    if isinstance(truth, SoundingBoxes):
        pairs = list(zip(answer, truth.boxes, strict=True))
        return all(
            first[0] == second[0] and iou_of_boxes(_pixels(first[1], truth), second[1]) > 0.999
            for first, second in pairs
        )
    if isinstance(truth, FrameBoxes):
        pairs = list(zip(answer, truth.boxes, strict=True))
        return all(
            (first is second) if second is None else iou_of_boxes(_pixels(first, truth), second) > 0.999
            for first, second in pairs
        )
    if isinstance(truth, tuple) and truth and isinstance(truth[0], str):
        return bool(answer == truth[0])
    return bool(tuple(answer) == truth if isinstance(truth, tuple) else answer == truth)


def _pixels(box: Any, truth: SoundingBoxes | FrameBoxes) -> Any:
    return box[0] * truth.width, box[1] * truth.height, box[2] * truth.width, box[3] * truth.height


def test_real_recordings_and_photographs_make_every_second_sample(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    rows = make(tmp_path / "real", count=2, data=data)
    real = {row[0]: row[2] for row in rows}
    assert real["AMIC"] == "made_sounds, recordings"
    assert real["VMIC"] == "made_picture, photograph"
    assert real["AVL"] == "made_located, photograph_located"
    assert real["VAR"] == "made_sounds_wanted, recordings_wanted"
    assert real["AVR"] == "made_pictures_wanted, photographs_wanted"
    assert real["AVQA"] == "how_many_sound, how_many_recorded"
    assert real["AVLG"] == "described, heard_in_clips"
    world = World(material=open_material(data)[0])
    assert world.material.digest() != Material().digest()
    observations = [(sample, observed) for sample, observed in avi_observers.observed(tmp_path / "real", world)]
    assert not [sample.id for sample, observed in observations if observed != sample.truth]
    assert {sample.subtask for sample, _ in observations} >= {
        "recordings", "recordings_wanted", "photographs_wanted", "photographs_matching", "photographed_or_suggested",
        "recorded_or_suggested", "how_many_recorded", "heard_in_clips",
    }  # fmt: skip
