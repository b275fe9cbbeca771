"""What is judged for calibration, what is kept of it, and that the file of it is read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import small_material as small

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.jobs.runner import Silent
from auscult.judge.masks.prompted.network import CLASSIFIER_FILE, FOLDER, load_classifier
from auscult.judge.masks.prompted.view import Lens, look, shape_of
from auscult.media.rle import encode
from auscult.nets.prompted import TYPES
from auscult.train.prompted.material import Material
from auscult.train.prompted.outputs import (
    FLAWLESS,
    MADE,
    Judgeable,
    Outputs,
    columns_of,
    judged,
    listed,
    load_outputs,
    made_of,
    real_and_flawless,
)

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return small.material(tmp_path_factory.mktemp("data"))


class Counts:
    """A network whose numbers are how much of the crop the candidate fills, so that rows can be told apart."""

    def __init__(self, lens: Lens) -> None:
        self.lens = lens

    def __call__(
        self, inputs: Mapping[str, NDArray[np.float32]], answers: NDArray[np.float32] | None = None
    ) -> dict[str, NDArray[np.float32]]:
        assert answers is None
        assert inputs["crop"].shape[1:] == (3, self.lens.side, self.lens.side)
        share = inputs["candidate"].mean(axis=(1, 2, 3))[:, None]
        return {"ious": share.repeat(25, 1), "types": share.repeat(6, 1), "features": share.repeat(64, 1)}


MEMBERS = (Counts(Lens(side=64, margin=1.5)), Counts(Lens(side=96, margin=3.0)))


@pytest.fixture(scope="module")
def things(material: Material) -> list[Judgeable]:
    return list(real_and_flawless(material.pictures))


@pytest.fixture(scope="module")
def outputs(things: list[Judgeable]) -> Outputs:
    return judged(things, MEMBERS, classifier=load_classifier(FOLDER / CLASSIFIER_FILE), progress=Silent())  # type: ignore[arg-type]


def test_every_object_gives_its_truth_and_the_models_masks(material: Material, things: list[Judgeable]) -> None:
    assert len(things) == 4 * 2 * 3
    for index, (family, upto) in enumerate(((FLAWLESS, None), ("deeplab", 90), ("grabcut", 85))):
        judgeable = things[index]
        expected = small.objects(0)[0]
        expected[upto:] = expected[upto:] & (upto is None)
        assert (judgeable.family, judgeable.cluster, judgeable.source, judgeable.name) == (
            family,
            "coco_1",
            "more",
            "coco_1.jpg#0",
        )
        assert np.array_equal(judgeable.mask, expected)
        assert np.array_equal(judgeable.truth, small.objects(0)[0])
        assert judgeable.defect == ("perfect" if family == FLAWLESS else "")
    fewer = list(real_and_flawless(material.pictures, every=2))
    assert [judgeable.name for judgeable in fewer if judgeable.family == FLAWLESS] == [
        f"{name}#{target}" for name in ("coco_1.jpg", "pet_2.jpg", "davis_jump_00000.jpg") for target in (0, 1)
    ]


def test_columns_hold_what_is_known_and_what_each_network_said(things: list[Judgeable], outputs: Outputs) -> None:
    assert len(outputs) == len(things)
    assert outputs.ious.shape == (len(things), 2, 25)
    assert outputs.types.shape == (len(things), 2, 6)
    assert outputs.features.shape == (len(things), 2, 64)
    for index, judgeable in enumerate(things):
        assert outputs.iou[index] == pytest.approx(iou(judgeable.mask, judgeable.truth))
        assert outputs.family[index] == judgeable.family
        assert outputs.area[index] == np.count_nonzero(judgeable.mask)
        assert outputs.share[index] == pytest.approx(judgeable.mask.mean())
        assert outputs.size[index] == pytest.approx(float(shape_of(judgeable.mask)[0]))
        for place, member in enumerate(MEMBERS):
            seen_share = look(judgeable.frame, judgeable.mask, member.lens).candidate.mean() / 255
            assert outputs.ious[index, place, 0] == pytest.approx(seen_share, abs=1e-5)
    known_columns = columns_of(things)
    assert all(
        np.array_equal(getattr(known_columns, field.name), getattr(outputs, field.name))
        for field in fields(known_columns)
    )


def test_rows_can_be_chosen(outputs: Outputs) -> None:
    flawless = outputs.where(outputs.family == FLAWLESS)
    assert len(flawless) == 8
    assert (flawless.iou == 1).all()
    assert flawless.ious.shape == (8, 2, 25)


def test_made_masks_follow_from_the_seed_and_have_types(material: Material) -> None:
    first, second, other = (list(made_of(material.pictures[:2], seed=seed, each=3)) for seed in (1, 1, 2))
    assert 6 <= len(first) <= 12
    assert {judgeable.family for judgeable in first} == {MADE}
    assert {judgeable.defect for judgeable in first} <= {"", *TYPES}
    assert len({judgeable.defect for judgeable in first}) > 2
    masks = [[judgeable.mask for judgeable in judgeables] for judgeables in (first, second, other)]
    assert all(map(np.array_equal, masks[0], masks[1]))
    assert not all(map(np.array_equal, masks[0], masks[2]))


def test_a_listing_is_joined_with_its_pictures(material: Material, tmp_path: Path) -> None:
    data = material.pictures[0].path.parents[3]
    mask = small.objects(0)[1]
    row = {"picture": "images/more/photos/coco_1.jpg", "target": 1, "rle": encode(mask), "family": "felz"}
    (judgeable,) = listed([row, {**row, "picture": "images/more/photos/none.jpg"}], material.pictures, data)
    assert (judgeable.family, judgeable.name) == ("felz", "coco_1.jpg#1")
    assert np.array_equal(judgeable.mask, mask)
    assert np.array_equal(judgeable.truth, mask)


def test_outputs_are_read_as_they_were_written(outputs: Outputs, tmp_path: Path) -> None:
    outputs.save(tmp_path / "outputs.npz")
    reloaded = load_outputs(tmp_path / "outputs.npz")
    for field in fields(outputs):
        assert np.array_equal(getattr(reloaded, field.name), getattr(outputs, field.name)), field.name
        assert getattr(reloaded, field.name).dtype == getattr(outputs, field.name).dtype


@pytest.mark.parametrize("fault", ["missing", "empty", "text", "cut off", "damaged", "a column short", "a pickle"])
def test_broken_outputs_are_refused_by_name(outputs: Outputs, tmp_path: Path, fault: str) -> None:
    path = tmp_path / "outputs.npz"
    if fault in {"cut off", "damaged"}:
        outputs.save(path)
        whole_file = bytearray(path.read_bytes())
        if fault == "damaged":
            whole_file[60:160] = bytes(100)
        path.write_bytes(whole_file[: len(whole_file) // (2 if fault == "cut off" else 1)])
    elif fault in {"a column short", "a pickle"}:
        columns = {field_.name: getattr(outputs, field_.name) for field_ in fields(outputs)[:-1]}
        np.savez(path, **columns, **({"size": np.array([None])} if fault == "a pickle" else {}))
    elif fault != "missing":
        path.write_bytes(b"" if fault == "empty" else b"no outputs")
    with pytest.raises(InputError, match="outputs cannot be read") as error:
        load_outputs(path)
    assert error.value.path == str(path)
