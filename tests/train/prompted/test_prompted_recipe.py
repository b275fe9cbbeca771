"""The whole recipe on a tiny folder: own errors out of fold, training in pieces, export, calibration, a judge."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import small_material as small

pytest.importorskip("torch", reason="the extra `train` is not installed")

from torch import Tensor, nn

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.jobs.runner import Silent
from auscult.judge.masks.prompted import JUDGE
from auscult.media.rle import decode
from auscult.nets.prompted import Design
from auscult.train.prompted import folds
from auscult.train.prompted.loop import Plan
from auscult.train.prompted.material import Picture, part_of, read_material
from auscult.train.prompted.outputs import OWN
from auscult.train.prompted.recipe import PromptedOptions, prompted_mask
from auscult.types import Case, Prediction

pytestmark = pytest.mark.extra_train
TINY = Plan(design=Design(side=64, margin=1.5), start="scratch", seed=1, steps=2, size=6)


class Echo(nn.Module):
    """A network that answers with its prompt, and insists that it is not shown the candidate."""

    design = Design(side=64, margin=1.5)

    def forward(self, _: Tensor, candidate: Tensor, *, prompt: Tensor, **__: Tensor) -> dict[str, Tensor]:
        assert not candidate.any()
        assert not prompt[:, 0].any()
        return {"answer": prompt[:, 1:3].amax(dim=1, keepdim=True) * 8 - 4}


def names(part: str, wanted: int) -> Iterator[str]:
    """Names of photographs that belong to a part."""
    found = (f"photos/coco_{at}.jpg" for at in count(1))
    chosen = (name for name in found if part_of(name, small.PHOTO, "train") == part)
    return (next(chosen) for _ in range(wanted))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    small.write(folder, [(name, small.PHOTO) for part in ("train", "calibration") for name in names(part, 12)])
    return folder


@pytest.fixture(scope="module")
def pictures(data: Path) -> list[Picture]:
    return read_material(data).of("train")


def options(data: Path, out: Path, *, minutes: float = 60.0) -> PromptedOptions:
    fold = replace(TINY, seed=100)
    return PromptedOptions(data=data, out=out, minutes=minutes, threads=1, workers=0, plans=(TINY,), folds=fold)


def test_a_picture_is_in_one_fold_with_all_of_its_sequence(pictures: list[Picture]) -> None:
    assert {folds.fold_of(one) for one in pictures} == {0, 1}
    later = replace(pictures[0], path=Path("another.jpg"), order=7)
    assert folds.fold_of(later) == folds.fold_of(pictures[0])


def test_drawn_masks_come_back_beside_the_real_ones(pictures: list[Picture], tmp_path: Path) -> None:
    rows, again = ([one for some in folds.drawn_by(Echo(), pictures, seed=0) for one in some] for _ in range(2))  # type: ignore[arg-type]
    assert all(np.array_equal(one.mask, other.mask) for one, other in zip(rows, again, strict=True))
    path = folds.save_drawn(rows, tmp_path / "drawn.json.gz")
    with_them = folds.with_drawn(pictures, path)
    assert sum(len(one.real) for one in with_them) == sum(len(one.real) for one in pictures) + len(rows)
    for before, after in zip(pictures, with_them, strict=True):
        added = after.real[len(before.real) :]
        assert all(one.family == OWN and decode(one.rle).shape == small.SHAPE for one in added)


def test_drawn_masks_are_of_what_the_network_draws(pictures: list[Picture]) -> None:
    found = [one for some in folds.drawn_by(Echo(), pictures, seed=0) for one in some]  # type: ignore[arg-type]
    assert {one.family for one in found} == {OWN}
    assert all(one.mask.shape == small.SHAPE and (one.mask & one.truth).any() for one in found)
    boxes = [one for one in found if iou(one.mask, one.truth) > 0.6]
    assert 0 < len(boxes) < len(found), "prompts are both boxes and points"


def test_an_answer_is_placed_where_its_crop_lies() -> None:
    logits = np.full((16, 16), -3.0, np.float32)
    logits[4:12, 8:] = 3.0
    inside = folds.placed(logits, (10, 20, 42, 52), (100, 120))
    wanted = np.zeros((100, 120), np.bool_)
    wanted[28:44, 26:42] = True
    assert np.array_equal(inside, wanted)
    beyond = folds.placed(logits, (-16, 84, 16, 116), (100, 120))
    assert np.array_equal(np.argwhere(beyond)[[0, -1]], [[92, 0], [99, 15]])


BROKEN = {
    "empty": b"",
    "not packed": b"no gzip",
    "no JSON": gzip.compress(b"{", mtime=0),
    "no mask": gzip.compress(b'[{"picture": "a", "target": 0, "rle": {"size": [2, 2], "counts": "!"}}]', mtime=0),
    "parts missing": gzip.compress(b'[{"picture": "a"}]', mtime=0),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_file_of_drawn_masks_is_named(pictures: list[Picture], tmp_path: Path, how: str) -> None:
    path = tmp_path / "drawn.json.gz"
    path.write_bytes(BROKEN[how])
    with pytest.raises(InputError, match="drawn masks cannot be read") as caught:
        folds.with_drawn(pictures, path)
    assert caught.value.path == str(path)


def test_a_folder_without_training_pictures_is_an_error(tmp_path: Path) -> None:
    small.write(tmp_path, [(name, small.PHOTO) for name in names("calibration", 3)])
    with pytest.raises(InputError, match="no object to learn from"):
        list(prompted_mask(options(tmp_path, tmp_path / "out"), Silent()))


@pytest.mark.slow
def test_pieces_give_the_same_judge_as_one_go(data: Path, tmp_path: Path) -> None:
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    written = [path.name for path in prompted_mask(options(data, whole), Silent())]
    assert {"fold0.pt", "fold1.pt", "drawn.json.gz", "member0.pt", "member0.onnx", "calibration.json"} <= set(written)
    stopped = [path.name for path in prompted_mask(options(data, pieces, minutes=0.0), Silent())]
    assert "member0.onnx" not in stopped
    assert list(prompted_mask(options(data, pieces), Silent()))
    for name in ("member0.onnx", "drawn.json.gz"):
        assert (whole / name).read_bytes() == (pieces / name).read_bytes()
    found = json.loads((whole / "calibration.json").read_text())
    assert found == json.loads((pieces / "calibration.json").read_text())
    frame, mask = small.picture(0), small.objects(0)[0]
    verdict = JUDGE.fitted(whole)(Case(id="a", frame=frame), Prediction(mask))
    assert verdict.iou is not None
    assert np.isfinite(verdict.iou)
