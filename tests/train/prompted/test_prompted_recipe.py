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

from auscult.errors import InputError
from auscult.jobs.progress import Silent
from auscult.judge.masks.prompted import JUDGE
from auscult.media.rle import decode
from auscult.nets.prompted import Design, PromptedNet
from auscult.train.prompted import folds
from auscult.train.prompted.loop import Plan
from auscult.train.prompted.material import Picture, part_of, read_material
from auscult.train.prompted.outputs import OWN
from auscult.train.prompted.recipe import PromptedOptions, prompted_mask
from auscult.types import Case, Prediction

pytestmark = pytest.mark.extra_train
TINY = Plan(design=Design(side=64, margin=1.5), start="scratch", seed=1, steps=2, size=6)


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
    net = PromptedNet(TINY.design).eval()
    rows = [row for found in folds.drawn_by(net, pictures, seed=0) for row in found]
    again = [row for found in folds.drawn_by(net, pictures, seed=0) for row in found]
    assert rows == again
    assert rows
    path = folds.save_drawn(rows, tmp_path / "drawn.json.gz")
    with_them = folds.with_drawn(pictures, path)
    assert sum(len(one.real) for one in with_them) == sum(len(one.real) for one in pictures) + len(rows)
    for before, after in zip(pictures, with_them, strict=True):
        added = after.real[len(before.real) :]
        assert all(one.family == OWN and decode(one.rle).shape == small.SHAPE for one in added)


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(b"{"), gzip.compress(b'[{"picture": "a"}]')])
def test_a_broken_file_of_drawn_masks_is_named(pictures: list[Picture], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "drawn.json.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="drawn masks cannot be read") as caught:
        folds.with_drawn(pictures, path)
    assert caught.value.path == str(path)


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
