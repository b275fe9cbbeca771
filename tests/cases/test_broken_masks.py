"""Masks that cannot be opened, and masks that are missing: a clip keeps its frames, an item is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import ListOptions, list_items
from auscult.media.masks import read_mask, write_mask
from auscult.types import Instance

STEMS = ("00000", "00001", "00002", "00003")


def targets_known(instance_: Instance) -> list[tuple[str, bool]]:
    """The frames of a clip, and whether each has a true mask."""
    return [(moment.frame.stem, moment.target is not None) for moment in instance_.moments]


def gap(at: int) -> list[tuple[str, bool]]:
    return [(stem, place != at) for place, stem in enumerate(STEMS)]


def problems_of(listing: InstanceListing) -> list[tuple[str, str]]:
    return [(error.stage, Path(error.path or "").name) for _, error in listing.errors]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:60])


def unlink(path: Path) -> None:
    path.unlink()


def released(make: Any) -> Path:
    for stem in STEMS:
        make.frame(f"JPEGImages/480p/dog/{stem}.jpg")
        make.palette(f"Annotations/480p/dog/{stem}.png", 1, 2)
    return make.root / "Annotations/480p/dog"


def sequences(make: Any) -> Path:
    for stem in STEMS:
        make.frame(f"dog/frames/{stem}.jpg")
        make.palette(f"dog/masks/{stem}.png", 1, 2)
    return make.root / "dog/masks"


def folder(make: Any) -> Path:
    for stem in STEMS:
        make.frame(f"frames/dog/{stem}.jpg")
        make.palette(f"masks/dog/{stem}.png", 1, 2)
    return make.root / "masks/dog"


LAYOUTS = {"released": released, "sequences": sequences, "folder": folder}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("place", [0, 2])
def test_a_broken_mask_leaves_a_moment_without_target(make: Any, layout: str, place: int) -> None:
    masks = LAYOUTS[layout](make)
    truncate(masks / f"{STEMS[place]}.png")
    listing = list_instances(make.root)
    assert [instance.id for instance in listing.instances] == ["dog#1", "dog#2"]
    assert [targets_known(instance) for instance in listing.instances] == [gap(place), gap(place)]
    assert problems_of(listing) == [("truth", f"{STEMS[place]}.png")]
    assert [frame.stem for frame in listing.unopened] == [STEMS[place]]
    assert all(
        moment.others == (None,) for instance in listing.instances for moment in instance.moments[place : place + 1]
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_as_items_a_broken_mask_costs_its_item(make: Any, layout: str) -> None:
    truncate(LAYOUTS[layout](make) / "00002.png")
    listing = list_items(make.root)
    assert len(listing.items) == 6
    assert [error.stage for _, error in listing.errors] == ["read"]


@pytest.mark.parametrize(("layout", "is_kept"), [("released", True), ("sequences", True), ("folder", False)])
def test_a_missing_mask(make: Any, layout: str, is_kept: bool) -> None:
    """Video layouts have a mask for every frame; in a person's own folder some frames may just not be annotated."""
    (LAYOUTS[layout](make) / "00002.png").unlink()
    listing = list_instances(make.root)
    assert {len(instance.moments) for instance in listing.instances} == {4 if is_kept else 3}
    assert problems_of(listing) == ([("truth", "dog" if layout == "released" else "masks")] if is_kept else [])
    assert all("00002.png" in error.error for _, error in listing.errors)
    assert not listing.unopened


def test_a_picture_given_as_a_mask(make: Any) -> None:
    masks = sequences(make)
    (masks / "00001.png").unlink()
    make.frame("dog/masks/00001.jpg")
    listing = list_instances(make.root)
    assert targets_known(listing.instances[0]) == gap(1)
    assert problems_of(listing) == [("truth", "00001.jpg")]


def test_a_file_of_one_mask(make: Any) -> None:
    """Without a palette; the only object of its video."""
    for stem in STEMS:
        make.frame(f"dog/frames/{stem}.jpg")
        make.mask(f"dog/masks/{stem}.png")
    (make.root / "dog/masks/00003.png").write_bytes(b"no picture")
    listing = list_instances(make.root)
    assert [(instance.id, targets_known(instance)) for instance in listing.instances] == [("dog", gap(3))]


def test_a_clip_without_one_mask_that_opens_is_lost(make: Any) -> None:
    masks = sequences(make)
    make.frame("cat/frames/0.jpg")
    make.palette("cat/masks/0.png", 1)
    for stem in STEMS:
        truncate(masks / f"{stem}.png")
    listing = list_instances(make.root)
    assert [instance.clip for instance in listing.instances] == ["cat"]
    assert {stage for stage, _ in problems_of(listing)} == {"read"}
    assert not listing.unopened


def test_pictures_side_by_side_may_be_photographs(make: Any) -> None:
    """Palette masks are followed as a video, which keeps the frame; as photographs the broken one is lost."""
    for stem in STEMS:
        make.frame(f"frames/{stem}.jpg")
        make.palette(f"masks/{stem}.png", 1)
    truncate(make.root / "masks/00002.png")
    listing = list_instances(make.root)
    assert [targets_known(instance) for instance in listing.instances] == [gap(2)]
    assert problems_of(listing) == [("read", "00002.png")]


def test_photographs_gain_nothing(make: Any) -> None:
    for stem in ("a", "b", "c"):
        make.frame(f"frames/{stem}.jpg")
        make.mask(f"masks/{stem}.png")
    (make.root / "masks/b.png").write_bytes(b"no picture")
    listing = list_instances(make.root)
    assert [(instance.id, len(instance.moments)) for instance in listing.instances] == [("a", 1), ("c", 1)]
    assert problems_of(listing) == [("read", "b.png")]


def test_a_broken_truth_of_candidates(make: Any) -> None:
    sequences(make)
    for stem in STEMS:
        make.palette(f"dog/pred/{stem}.png", 1)
    truncate(make.root / "dog/masks/00001.png")
    listing = list_instances(make.root, ListOptions(masks=Path("pred")))
    assert [(instance.id, targets_known(instance)) for instance in listing.instances] == [("dog#1", gap(1))]
    assert problems_of(listing) == [("truth", "00001.png")]
    assert len(list_items(make.root, ListOptions(masks=Path("pred"))).items) == 4, "there is a candidate on each"


def ytvos(make: Any, **videos: Any) -> None:
    for stem in STEMS:
        make.frame(f"JPEGImages/dog/{stem}.jpg")
    make.json("meta.json", {"videos": {"dog": {"objects": videos}}})


def test_a_late_first_mask_does_not_pass_for_a_broken_one(make: Any) -> None:
    """Of an incomplete tree each file is truth for what it draws only."""
    ytvos(make, **{"1": {"category": "dog", "frames": list(STEMS)}})
    for stem in STEMS[:2]:
        make.palette(f"Annotations/dog/{stem}.png", 1)
    truncate(make.root / "Annotations/dog/00000.png")
    listing = list_instances(make.root)
    (instance_,) = listing.instances
    assert targets_known(instance_) == [("00000", False), ("00001", True), ("00002", False), ("00003", False)]
    assert problems_of(listing) == [("truth", "00000.png")]
    assert [frame.stem for frame in listing.unopened] == ["00000"]


@pytest.mark.parametrize("damage", [truncate, unlink], ids=["broken", "missing"])
def test_sentences_where_the_first_mask_is_lost(make: Any, damage: Callable[[Path], None]) -> None:
    """Files of one mask hold what is above 0, whichever of them tells so."""
    for stem in STEMS:
        make.frame(f"dog/frames/{stem}.jpg")
        write_mask(make.root / f"dog/masks/{stem}.png", np.eye(24, 32, dtype=bool))
    rows = [{"video": "dog", "exp": "the dog", "object": 1, "referent": True}]
    (make.root / "expressions.json").write_text(json.dumps({"expressions": rows}))
    first = make.root / "dog/masks/00000.png"
    first.write_bytes(b"no picture") if damage is truncate else damage(first)
    listing = list_instances(make.root / "expressions.json")
    (instance_,) = listing.instances
    assert [moment.frame.stem for moment in instance_.moments] == list(STEMS)
    for moment in instance_.moments[1:]:
        assert moment.target is not None
        assert read_mask(moment.target).mask.any()
    assert [stage for stage, _ in problems_of(listing)] == ["truth"]
