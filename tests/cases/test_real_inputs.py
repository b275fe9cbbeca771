"""Every layout on real files: what is there is listed, and what is listed can be opened."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from auscult.arrays.overlap import iou
from auscult.cases.ids import group_by_frame
from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.media.frames import frame_size
from auscult.media.masks import read_mask


def open_all(listing: Listing) -> list[int]:
    areas = []
    for group in group_by_frame(listing.items):
        size = frame_size(group[0].frame)
        areas += [int(read_mask(item_.mask, size=size).mask.sum()) for item_ in group]
    return areas


def test_coco_instances(data: Path) -> None:
    source = data / "images/coco/instances.json"
    listing = list_items(source, ListOptions(images=data / "images/coco/images"))
    annotations = json.loads(source.read_text())["annotations"]
    single = {row["id"]: row for row in annotations if not row["iscrowd"]}
    assert len(annotations) == 532
    assert [item.extra["annotation_id"] for item in listing.items] == list(single)
    assert not listing.errors
    assert min(open_all(listing)) > 0
    for item in listing.items:
        opened_mask = read_mask(item.mask).mask
        rle_before = single[item.extra["annotation_id"]]["rle"]
        assert iou(opened_mask, read_mask(type(item.mask)(segmentation=rle_before)).mask) == 1.0


def test_coco_results_with_the_true_annotation_named(data: Path, tmp_path: Path) -> None:
    truth = data / "images/coco/instances.json"
    rows = [row for row in json.loads(truth.read_text())["annotations"] if not row["iscrowd"]]
    results = [
        {key: row[key] for key in ("image_id", "category_id")}
        | {"segmentation": row["rle"], "score": 0.5, "ann_id": row["id"]}
        for row in rows
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    listing = list_items(path, ListOptions(images=data / "images/coco/images", instances=truth))
    assert len(listing.items) == 527
    for item_ in listing.items[::20]:
        assert item_.truth is not None
        assert item_.truth.mask is not None
        assert iou(read_mask(item_.mask).mask, read_mask(item_.truth.mask).mask) == 1.0


def test_a_sequence_of_three_objects(data: Path) -> None:
    listing = list_items(data / "video/dogs-jump")
    assert len(group_by_frame(listing.items)) == 66
    assert {item.mask.index for item in listing.items} == {1, 2, 3}
    assert min(open_all(listing)) > 0
    names = [item.frame.name for item in listing.items]
    assert names == sorted(names)


@pytest.mark.parametrize("masks", ["pred_osvos", "pred_rvos"])
def test_predictions_of_a_sequence(data: Path, masks: str) -> None:
    listing = list_items(data / "video/davis2016/dog", ListOptions(masks=Path(masks)))
    assert len(group_by_frame(listing.items)) == 36
    assert min(open_all(listing)) > 0
    assert not listing.errors


def test_all_sequences_and_the_iou_that_is_known(data: Path) -> None:
    source = data / "video/davis2016"
    assert len(list_items(source).items) == 288
    listing = list_items(source, ListOptions(masks=Path("pred_osvos")))
    assert len({item.clip for item in listing.items}) == 10
    with (source / "frames.csv").open() as file:
        known_ious = {
            (row["video"], int(row["frame"])): float(row["iou_osvos_union_of_objects"]) for row in csv.DictReader(file)
        }
    n_compared = 0
    for item in listing.items[::7]:
        if item.truth is not None and item.truth.mask is not None:
            measured_iou = iou(read_mask(item.mask).mask, read_mask(item.truth.mask).mask)
            assert measured_iou == pytest.approx(known_ious[item.clip or "", int(item.frame.stem)], abs=1e-4)
            n_compared += 1
    assert n_compared > 20
