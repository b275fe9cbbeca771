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


def names(part: str, count_: int) -> Iterator[str]:
    """Names of photographs that belong to a part."""
    candidate_names = (f"photos/coco_{number_}.jpg" for number_ in count(1))
    part_names = (name for name in candidate_names if part_of(name, small.PHOTO, "train") == part)
    return (next(part_names) for _ in range(count_))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    small.write(folder, [(name, small.PHOTO) for part in ("train", "calibration") for name in names(part, 12)])
    return folder


@pytest.fixture(scope="module")
def pictures(data: Path) -> list[Picture]:
    return read_material(data).of("train")


def run_recipe(data: Path, out: Path, *, minutes: float = 60.0) -> list[Path]:
    options = TrainOptions(name="prompted-mask", data=data, out=out, minutes=minutes, threads=1, workers=0)
    return list(prompted_mask(options, Silent(), [TINY]))


def test_drawn_masks_are_of_what_the_network_draws(pictures: list[Picture]) -> None:
    drawn_masks = [judgeable for judgeables in recipe.drawn_by(Echo(), pictures, seed=0) for judgeable in judgeables]  # type: ignore[arg-type]
    assert {judgeable.family for judgeable in drawn_masks} == {OWN}
    assert all(
        judgeable.mask.shape == small.SHAPE and (judgeable.mask & judgeable.truth).any() for judgeable in drawn_masks
    )
    boxes = [judgeable for judgeable in drawn_masks if iou(judgeable.mask, judgeable.truth) > 0.6]
    assert 0 < len(boxes) < len(drawn_masks), "prompts are both boxes and points"


def test_an_answer_is_placed_where_its_crop_lies() -> None:
    logits = np.full((16, 16), -3.0, np.float32)
    logits[4:12, 8:] = 3.0
    inside = recipe.placed(logits, (10, 20, 42, 52), (100, 120))
    expected = np.zeros((100, 120), np.bool_)
    expected[28:44, 26:42] = True
    assert np.array_equal(inside, expected)
    beyond = recipe.placed(logits, (-16, 84, 16, 116), (100, 120))
    assert np.array_equal(np.argwhere(beyond)[[0, -1]], [[92, 0], [99, 15]])


def test_a_folder_without_training_pictures_is_an_error(tmp_path: Path) -> None:
    small.write(tmp_path, [(name, small.PHOTO) for name in names("calibration", 3)])
    with pytest.raises(InputError, match="no object to learn from"):
        run_recipe(tmp_path, tmp_path / "out")


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
    """Eight masks of each of some photographs; one truth is text, one has no mask, one line is no JSON."""
    rows = []
    for index in range(photographs):
        write_frame(folder / f"frames/{index:03}.jpg", small.picture(index))
        truth = small.objects(index)[0]
        write_mask(folder / f"truth/{index:03}.png", truth)
        for lower in range(8):
            mask = truth & (np.arange(small.SHAPE[0]) < 120 - 8 * lower)[:, None]
            name = f"{index:03}_{lower}"
            write_mask(folder / f"masks/{name}.png", mask)
            rows.append(
                {
                    "id": name,
                    "frame": f"frames/{index:03}.jpg",
                    "mask": f"masks/{name}.png",
                    "truth": {"mask": "truth/broken.png" if index == lower == 0 else f"truth/{index:03}.png"},
                }
            )
    (folder / "truth/broken.png").write_text("no picture")
    rows[1]["truth"] = {"iou": 0.5}
    write_mask(folder / "masks/000_2.png", np.zeros(small.SHAPE, np.bool_))
    lines = [json.dumps(row) for row in rows]
    (folder / "items.jsonl").write_text("\n".join([*lines[:3], "no json", *lines[3:]]))
    return folder / "items.jsonl"


def test_masks_of_ones_own_fit_the_shipped_judge_and_what_is_broken_is_named(tmp_path: Path) -> None:
    for part in ("frames", "masks", "truth"):
        (tmp_path / part).mkdir()
    own_data = own_masks(tmp_path, photographs=10)
    options = TrainOptions(name="prompted-mask", data=own_data, out=tmp_path / "fitted", threads=1)
    names_written = [path.name for path in run(options, Silent())]
    assert names_written == ["material.json", "own.npz", "calibration.txt", "calibration.json"]
    lost_files = json.loads((tmp_path / "fitted/material.json").read_text())["lost"]
    assert [lost_file["path"] for lost_file in lost_files] == ["items.jsonl", "broken.png"]
    log_text = (tmp_path / "fitted/calibration.txt").read_text()
    assert log_text.startswith("77 masks with truth; 2 files or lines could not be read")
    assert "1 masks were left out: their truth has no mask" in log_text
    assert "1 masks were left out: they or their true masks are empty" in log_text
    assert "photographs or clips left out, 10 in all" in log_text
    frame, mask = small.picture(3), small.objects(3)[0]
    shipped, fitted_verdict = (
        judge(Case(id="a", frame=frame), Prediction(mask)) for judge in (JUDGE, JUDGE.fitted(tmp_path / "fitted"))
    )
    assert fitted_verdict.iou != shipped.iou


@pytest.mark.slow
def test_pieces_give_the_same_judge_as_one_go(data: Path, tmp_path: Path) -> None:
    in_one_go, pieces = tmp_path / "whole", tmp_path / "pieces"
    names_written = [path.name for path in run_recipe(data, in_one_go)]
    assert {"member0.pt", "member0.onnx", "defect_classifier.onnx", "calibration.json"} <= set(names_written)
    names_at_stop = [path.name for path in run_recipe(data, pieces, minutes=0.0)]
    assert "member0.onnx" not in names_at_stop
    assert run_recipe(data, pieces)
    assert (in_one_go / "member0.onnx").read_bytes() == (pieces / "member0.onnx").read_bytes()
    calibration_json = json.loads((in_one_go / "calibration.json").read_text())
    assert calibration_json == json.loads((pieces / "calibration.json").read_text())
    frame, mask = small.picture(0), small.objects(0)[0]
    verdict = JUDGE.fitted(in_one_go)(Case(id="a", frame=frame), Prediction(mask))
    assert verdict.iou is not None
    assert np.isfinite(verdict.iou)
