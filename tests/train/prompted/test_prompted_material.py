"""What is read, what it is for, what is left out and what is lost: on a tiny folder and on the real one."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_material as small
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.train.material import committed
from auscult.train.prompted.material import FAMILIES, MAY_TRAIN, PARTS, Material, family_of, part_of, read_material


@given(
    st.integers(0).map("coco_{}.jpg".format),
    st.sampled_from(("photos/", "photos_nd/", "")),
    st.sampled_from(("train", "dev")),
)
def test_a_part_follows_from_the_name_and_the_datas_own_split(name: str, folder: str, split: str) -> None:
    part = part_of(folder + name, small.PHOTO, split)
    assert part == part_of(name, small.PHOTO + "elsewhere", split)
    assert part in {"train": {"train", "calibration"}, "dev": {"dev", "test"}}[split]
    assert part_of(folder + name, small.PET, split) == part_of(folder + name, small.VIDEO, split) == "unseen"


def test_parts_have_their_shares() -> None:
    names = [f"coco_{number:012d}.jpg" for number in range(2000)]
    counts = Counter(part_of(name, small.PHOTO, split) for name in names for split in ("train", "dev"))
    assert {part: counts[part] / 2000 for part in PARTS} == pytest.approx(
        {"train": 0.85, "calibration": 0.15, "test": 0.6, "dev": 0.4, "unseen": 0.0}, abs=0.03
    )


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("deeplabv3-mnv2-513-int8", "deeplab"),
        ("deeplabv3-mnv2-dm05-513-int8", "deeplabv3-mnv2-dm05"),
        ("grabcut (OpenCV)", "grabcut"),
        ("yolov8n-seg-256-int8", "yolo-256"),
        ("yolov8n-seg-320-int8", "yolo-320"),
        ("yolov8n-seg-int8 average of crops", "yolo-crops"),
        ("yolov8n-seg-int8 average of crops + grabcut", "yolo-refined"),
        ("csnet-L-x1", "csnet"),
        ("sam3", "sam3"),
    ],
)
def test_models_have_short_names(model: str, family: str) -> None:
    expected = "deeplab" if family == "deeplabv3-mnv2-dm05" else family
    assert family_of(model) == expected
    assert (expected in FAMILIES) == (model != "sam3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small.write(tmp_path)


def test_a_small_folder_is_read_as_it_is(folder: Path) -> None:
    material = read_material(folder.parents[1])
    assert material.lost == []
    assert [picture.path for picture in material.pictures] == [folder / name for name, _ in small.FILES]
    assert [picture.part for picture in material.pictures] == ["train", "unseen", "unseen", "unseen"]
    assert [picture.source for picture in material.pictures] == ["more", "pets", "davis", "davis"]
    assert [picture.cluster for picture in material.pictures] == ["coco_1", "pet_2", "davis_jump", "davis_jump"]
    assert [picture.order > 0 for picture in material.pictures] == [False, False, True, True]
    assert material.of("train", "dev") == material.pictures[:1]
    assert read_material(folder.parents[1], parts=("unseen",)).pictures == material.pictures[1:]
    for number, picture in enumerate(material.pictures):
        assert picture.categories == ("ball", "door")
        assert all(map(np.array_equal, picture.masks(), small.objects(number)))
        assert np.abs(picture.frame().astype(int) - small.picture(number)).mean() < 6


@pytest.mark.parametrize("families", [MAY_TRAIN, (), ("csnet", "yolo-320"), FAMILIES])
def test_families_that_are_not_asked_for_are_left_out(folder: Path, families: tuple[str, ...]) -> None:
    material = read_material(folder.parents[1], families=families)
    expected = {"deeplab", "grabcut", "yolo-320", "csnet"} & set(families)
    for picture in material.pictures:
        assert sorted((mask.family, mask.target) for mask in picture.real) == sorted(
            (name, target) for name in expected for target in (0, 1)
        )


def test_what_is_missing_costs_itself_and_is_counted(folder: Path) -> None:
    full_material = read_material(folder.parents[1])
    (folder / small.FILES[1][0]).unlink()
    with gzip.open(folder / "predictions.json.gz", "rt") as file:
        predictions = json.load(file)
    strangers = [{**predictions[0], "ann_id": 99}, {**predictions[0], "image_id": 3}]
    with gzip.open(folder / "predictions.json.gz", "wt") as file:
        json.dump([*strangers, *predictions], file)
    material = read_material(folder.parents[1])
    assert material.pictures == [full_material.pictures[0], *full_material.pictures[2:]]
    assert sorted((path.name, reason) for path, reason in material.lost) == [
        ("pet_2.jpg", "the picture is missing"),
        ("predictions.json.gz", "a mask of object 10, which picture 3 has not"),
        ("predictions.json.gz", "a mask of object 99, which picture 1 has not"),
    ]


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[40:80] = bytes(40)
    path.write_bytes(content)


def _overwrite_with(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


BROKEN: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "predictions cut off": ("predictions.json.gz", _truncate),
    "predictions damaged": ("predictions.json.gz", _damaged),
    "predictions not packed": ("predictions.json.gz", _overwrite_with("[]")),
    "listing cut off": ("instances.json", _truncate),
    "listing empty": ("instances.json", _overwrite_with("")),
    "listing of nothing": ("instances.json", _overwrite_with("{}")),
    "listing of a list": ("instances.json", _overwrite_with("[1]")),
    "split without columns": ("split.csv", _overwrite_with("a,b\n1,2\n")),
    "split of words": ("split.csv", _overwrite_with("image_id,split\none,dev\n")),
    "no split": ("split.csv", Path.unlink),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_listing_is_refused_by_name(folder: Path, fault: str) -> None:
    name, damage = BROKEN[fault]
    damage(folder / name)
    with pytest.raises(InputError) as error:
        read_material(folder.parents[1])
    assert error.value.path == str(folder / name)


def test_a_folder_with_nothing_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no picture") as error:
        read_material(tmp_path)
    assert error.value.path == str(tmp_path)


@pytest.fixture(scope="module")
def real(data: Path) -> Material:
    return read_material(data)


@pytest.mark.slow
def test_no_cluster_stands_in_two_parts(real: Material) -> None:
    parts = defaultdict(set)
    for picture in real.pictures:
        parts[picture.cluster].add(picture.part)
    assert len(parts) > 1500
    assert {name: values for name, values in parts.items() if len(values) > 1} == {}


@pytest.mark.slow
def test_no_photograph_comes_twice_under_two_names(real: Material) -> None:
    numbers = Counter(
        (int(stem) if (stem := picture.path.stem.removeprefix("coco_")).isdecimal() else stem)
        for picture in real.pictures
        if picture.source in {"coco", "more"}
    )
    assert [number for number, count in numbers.items() if count > 1] == []


@pytest.mark.slow
def test_what_was_for_testing_stays_for_testing(real: Material) -> None:
    parts = {(picture.source, picture.cluster): picture.part for picture in real.pictures}
    for source, divided in committed().items():
        for part, names in divided.items():
            assert {parts[source, name] for name in names if (source, name) in parts} == {part}
    assert {
        picture.part for picture in real.pictures if picture.source == "pets" or "motocross" in picture.cluster
    } == {"unseen"}


@pytest.mark.slow
def test_masks_for_measuring_only_never_come_unasked(real: Material) -> None:
    assert {mask.family for picture in real.pictures for mask in picture.real} == set(MAY_TRAIN)
    assert real.lost == []
