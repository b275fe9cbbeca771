"""The whole recipe on a tiny folder: training in pieces, export, calibration, a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import small_material as small

pytest.importorskip("torch", reason="the extra `train` is not installed")

from torch import Tensor, nn

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Silent
from auscult.judge.masks.prompted import JUDGE
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.nets.prompted import Design
from auscult.train.prompted import recipe
from auscult.train.prompted.loop import TrainingPlan
from auscult.train.prompted.material import Picture, part_of, read_material
from auscult.train.prompted.outputs import OWN
from auscult.train.prompted.recipe import prompted_mask
from auscult.train.recipes import run
from auscult.types import Case, Prediction

pytestmark = pytest.mark.extra_train
TINY = TrainingPlan(design=Design(side=64, margin=1.5), start="scratch", seed=1, steps=2, size=6)


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


def made(data: Path, out: Path, *, minutes: float = 60.0) -> list[Path]:
    options = TrainOptions(name="prompted-mask", data=data, out=out, minutes=minutes, threads=1, workers=0)
    return list(prompted_mask(options, Silent(), [TINY]))


def test_drawn_masks_are_of_what_the_network_draws(pictures: list[Picture]) -> None:
    found = [one for some in recipe.drawn_by(Echo(), pictures, seed=0) for one in some]  # type: ignore[arg-type]
    assert {one.family for one in found} == {OWN}
    assert all(one.mask.shape == small.SHAPE and (one.mask & one.truth).any() for one in found)
    boxes = [one for one in found if iou(one.mask, one.truth) > 0.6]
    assert 0 < len(boxes) < len(found), "prompts are both boxes and points"


def test_an_answer_is_placed_where_its_crop_lies() -> None:
    logits = np.full((16, 16), -3.0, np.float32)
    logits[4:12, 8:] = 3.0
    inside = recipe.placed(logits, (10, 20, 42, 52), (100, 120))
    wanted = np.zeros((100, 120), np.bool_)
    wanted[28:44, 26:42] = True
    assert np.array_equal(inside, wanted)
    beyond = recipe.placed(logits, (-16, 84, 16, 116), (100, 120))
    assert np.array_equal(np.argwhere(beyond)[[0, -1]], [[92, 0], [99, 15]])


def test_a_folder_without_training_pictures_is_an_error(tmp_path: Path) -> None:
    small.write(tmp_path, [(name, small.PHOTO) for name in names("calibration", 3)])
    with pytest.raises(InputError, match="no object to learn from"):
        made(tmp_path, tmp_path / "out")


def test_shipping_replaces_the_networks_and_may_be_done_twice(tmp_path: Path) -> None:
    out, place = tmp_path / "out", tmp_path / "place"
    for folder, names_in in ((out, ("member0.onnx", "defect_classifier.onnx", "calibration.json")), (place, ())):
        folder.mkdir()
        for name in names_in:
            (folder / name).write_text(name)
    for stale in ("member0.onnx", "member1.onnx"):
        (place / stale).write_text("older")
    for _ in range(2):
        assert {path.name: path.read_text() for path in recipe.ship(out, place)} == {
            path.name: path.name for path in out.iterdir()
        }
        assert {path.name for path in place.iterdir()} == {path.name for path in out.iterdir()}


def own_masks(folder: Path, *, photographs: int) -> Path:
    """Eight masks of each photograph, all photographs in one folder; one truth is text and one line is no JSON."""
    rows = []
    for at in range(photographs):
        write_frame(folder / f"frames/{at:03}.jpg", small.picture(at))
        truth = small.objects(at)[0]
        write_mask(folder / f"truth/{at:03}.png", truth)
        for lower in range(8):
            mask = truth & (np.arange(small.SHAPE[0]) < 120 - 8 * lower)[:, None]
            name = f"{at:03}_{lower}"
            write_mask(folder / f"masks/{name}.png", mask)
            rows.append(
                {
                    "id": name,
                    "frame": f"frames/{at:03}.jpg",
                    "mask": f"masks/{name}.png",
                    "truth": {"mask": "truth/broken.png" if at == lower == 0 else f"truth/{at:03}.png"},
                }
            )
    (folder / "truth/broken.png").write_text("no picture")
    lines = [json.dumps(row) for row in rows]
    (folder / "items.jsonl").write_text("\n".join([*lines[:3], "no json", *lines[3:]]))
    return folder / "items.jsonl"


def test_masks_of_ones_own_fit_the_shipped_judge_and_what_is_broken_is_named(tmp_path: Path) -> None:
    for part in ("frames", "masks", "truth"):
        (tmp_path / part).mkdir()
    given = own_masks(tmp_path, photographs=10)
    options = TrainOptions(name="prompted-mask", data=given, out=tmp_path / "fitted", threads=1)
    written = [path.name for path in run(options, Silent())]
    assert written == ["material.json", "own.npz", "calibration.txt", "calibration.json"]
    lost = json.loads((tmp_path / "fitted/material.json").read_text())["lost"]
    assert [one["path"] for one in lost] == ["items.jsonl", "broken.png"]
    told = (tmp_path / "fitted/calibration.txt").read_text()
    assert told.startswith("79 masks with truth; 2 files or lines could not be read")
    assert "photographs or clips left out, 10 in all" in told
    frame, mask = small.picture(3), small.objects(3)[0]
    shipped, fitted = (
        judge(Case(id="a", frame=frame), Prediction(mask)) for judge in (JUDGE, JUDGE.fitted(tmp_path / "fitted"))
    )
    assert fitted.iou != shipped.iou


@pytest.mark.slow
def test_pieces_give_the_same_judge_as_one_go(data: Path, tmp_path: Path) -> None:
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    written = [path.name for path in made(data, whole)]
    assert {"member0.pt", "member0.onnx", "defect_classifier.onnx", "calibration.json"} <= set(written)
    stopped = [path.name for path in made(data, pieces, minutes=0.0)]
    assert "member0.onnx" not in stopped
    assert made(data, pieces)
    assert (whole / "member0.onnx").read_bytes() == (pieces / "member0.onnx").read_bytes()
    found = json.loads((whole / "calibration.json").read_text())
    assert found == json.loads((pieces / "calibration.json").read_text())
    frame, mask = small.picture(0), small.objects(0)[0]
    verdict = JUDGE.fitted(whole)(Case(id="a", frame=frame), Prediction(mask))
    assert verdict.iou is not None
    assert np.isfinite(verdict.iou)
