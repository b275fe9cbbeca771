from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import NothingToDo
from auscult.media.masks import read_mask


def ids(listing: Listing) -> list[str]:
    return [item.id for item in listing.items]


def truths(listing: Listing) -> list[tuple[str, int | None] | None]:
    truths_found: list[tuple[str, int | None] | None] = []
    for item in listing.items:
        ref = item.truth.mask if item.truth is not None else None
        truths_found.append(None if ref is None or ref.path is None else (ref.path.parts[-3], ref.index))
    return truths_found


@pytest.fixture
def davis(make: Any) -> Any:
    for video in ("dog", "bear"):
        for stem in ("00000", "00001"):
            make.frame(f"JPEGImages/480p/{video}/{stem}.jpg")
            make.palette(f"Annotations/480p/{video}/{stem}.png", 1, 2)
    return make


def test_the_released_tree(davis: Any) -> None:
    listing = list_items(davis.root)
    assert listing.layout == "datasets.davis.v1"
    assert ids(listing) == [f"{v}/{s}#{i}" for v in ("bear", "dog") for s in ("00000", "00001") for i in (1, 2)]
    assert {item.clip for item in listing.items} == {"bear", "dog"}
    assert set(truths(listing)) == {None}


def test_candidates_from_elsewhere_have_the_annotations_as_truth(davis: Any, tmp_path: Path) -> None:
    for stem in ("00000", "00001"):
        davis.palette(f"results/dog/{stem}.png", 1)
    listing = list_items(davis.root, ListOptions(masks=Path("results")))
    assert ids(listing) == ["dog/00000#1", "dog/00001#1"]
    assert truths(listing) == [("480p", 1), ("480p", 1)]
    assert listing.notes == ("1 video without masks",)
    (davis.root / "results").rename(tmp_path / "results")
    assert ids(list_items(davis.root, ListOptions(masks=tmp_path / "results"))) == ids(listing)


def test_the_annotations_named_as_candidates_are_not_their_own_truth(davis: Any) -> None:
    listing = list_items(davis.root, ListOptions(masks=Path("Annotations")))
    assert len(listing.items) == 8
    assert set(truths(listing)) == {None}


def test_without_annotations_candidates_must_be_named(make: Any) -> None:
    make.frame("JPEGImages/dog/0.jpg")
    with pytest.raises(NothingToDo, match="Annotations"):
        list_items(make.root)
    with pytest.raises(NothingToDo, match="nowhere"):
        list_items(make.root, ListOptions(masks=Path("nowhere")))


def test_an_object_that_left_the_picture_has_an_empty_truth(davis: Any) -> None:
    davis.palette("results/dog/00000.png", 1, 5)
    listing = list_items(davis.root, ListOptions(masks=Path("results")))
    areas = [int(read_mask(item.truth.mask).mask.sum()) for item in listing.items if item.truth and item.truth.mask]
    assert areas == [18, 0]


def test_masks_that_no_sequence_has_are_named(make: Any) -> None:
    make.frame("s/frames/0.jpg")
    make.mask("s/masks/0.png")
    for no_such_path in ("nowhere", "a\x00b", "x" * 5000):
        with pytest.raises(NothingToDo, match="--masks"):
            list_items(make.root, ListOptions(masks=Path(no_such_path)))


def test_a_sequence_with_predictions(make: Any) -> None:
    make.frame("seq/frames/0.jpg")
    make.mask("seq/masks/0.png")
    make.palette("seq/pred_one/0.png", 1)
    make.palette("seq/pred_two/0.png", 1, 2)
    make.palette("seq/other/0.png", 1)
    source = make.root / "seq"
    one_object = list_items(source, ListOptions(masks=Path("pred_one")))
    assert (ids(one_object), truths(one_object)) == (["0#1"], [("seq", None)])
    assert one_object.items[0].clip == "seq"
    two_objects = list_items(source, ListOptions(masks=Path("pred_two")))
    assert (ids(two_objects), truths(two_objects)) == (["0#1", "0#2"], [None, None])
    assert any("2 items left without truth" in note for note in two_objects.notes)
    # masks/ is the truth of predictions only; other folders of masks may be a second opinion
    assert truths(list_items(source, ListOptions(masks=Path("other")))) == [None]
    assert list_items(source).layout == "datasets.folder.v1"


def test_a_folder_of_sequences(make: Any) -> None:
    for name in ("s10", "s9"):
        make.frame(f"{name}/frames/0.jpg")
        make.mask(f"{name}/masks/0.png")
        make.palette(f"{name}/pred_one/0.png", 1)
    assert ids(list_items(make.root)) == ["s9/0", "s10/0"]
    listing = list_items(make.root, ListOptions(masks=Path("pred_one")))
    assert ids(listing) == ["s9/0#1", "s10/0#1"]
    assert truths(listing) == [("s9", None), ("s10", None)]
