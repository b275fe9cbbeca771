"""COCO in, COCO out: what a tool put into its file is there after the audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.act.export.coco import coco
from auscult.act.export.masks import ExportedMask
from auscult.cases.listing import ListOptions, list_items
from auscult.jobs.act import filter_record
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions, FilterOptions
from auscult.media.masks import read_mask
from auscult.media.rle import decode, encode
from auscult.types import ACTIONS
from small_inputs import LEFT, RIGHT, save_frame

GEOMETRY = {"segmentation", "bbox", "area", "iscrowd"}


def instances() -> dict[str, Any]:
    size = {"height": LEFT.shape[0], "width": LEFT.shape[1]}
    common = {"iscrowd": 0, "area": 1.5, "bbox": [1, 2, 3, 4]}
    return {
        "info": {"description": "ours", "year": 2024},
        "licenses": [{"id": 7, "name": "CC0"}],
        "x_tool": {"version": [1, 2]},
        "images": [
            {"id": 40, "file_name": "sub/a.png", "license": 7, "x_camera": {"f_mm": 35}, **size},
            {"id": "b-7", "file_name": "b.png", **size},
            {"id": 41, "file_name": "b.png", "x_unused": True, **size},
        ],
        "categories": [
            {"id": 18, "name": "dog", "supercategory": "animal", "keypoints": ["nose"]},
            {"id": 3, "name": "car"},
        ],
        "annotations": [
            {
                "id": 1007, "image_id": 40, "category_id": 18, "segmentation": encode(LEFT), "score": 0.25,
                "text": "the dog", "attributes": {"occluded": True, "by": None}, "keypoints": [1, 2, 2],
                "frame": 12, "mask": "old.png", "category": "Dog!", "annotation_id": "A-1", "coco": [1], **common,
            },
            {"id": "x/9", "image_id": "b-7", "category_id": 3, "segmentation": encode(RIGHT), "track_id": 4, **common},
            {"id": 5, "image_id": "b-7", "category_id": 18, "segmentation": encode(LEFT & ~RIGHT), **common},
        ],
    }  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    save_frame(tmp_path / "images/sub/a.png")
    save_frame(tmp_path / "images/b.png", seed=1)
    (tmp_path / "instances.json").write_text(json.dumps(instances()))
    return tmp_path


def exported_parts(source: Path, file: str = "instances.json", **options: Any) -> list[dict[str, Any]]:
    """The hand-overs of an audit, and all of it through ``act filter``."""
    listing = ListOptions(images=source / "images", **options)
    audit_folder(AuditOptions(source=source / file, out=source / "out", judge="cues", workers=0, listing=listing))
    filter_record(FilterOptions(folder=source / "out", actions=ACTIONS, out=source / "all"))
    names = ("all/coco.json", "out/accepted.coco.json", "out/to_fix.coco.json")
    return [json.loads((source / name).read_text()) for name in names]


def test_ids_categories_scores_and_unknown_keys_come_out_as_they_went_in(source: Path) -> None:
    source_coco = instances()
    whole_coco, *parts = exported_parts(source)
    by_id = {row["id"]: row for row in source_coco["annotations"]}
    assert {row["id"] for row in whole_coco["annotations"]} == set(by_id)
    for content in (whole_coco, *parts):
        assert content["categories"] == source_coco["categories"]
        assert (content["licenses"], content["x_tool"]) == (source_coco["licenses"], source_coco["x_tool"])
        assert content["info"].items() >= source_coco["info"].items()
        images = {row["id"]: row for row in source_coco["images"]}
        assert all(row == images[row["id"]] for row in content["images"])
        for row in content["annotations"]:
            before = by_id[row["id"]]
            assert {key: row.get(key) for key in before.keys() - GEOMETRY} == {
                key: before[key] for key in before.keys() - GEOMETRY
            }
            assert row.keys() - before.keys() == {"auscult"}
            assert row["auscult"].keys() >= {"item", "iou", "iou_low", "iou_high", "defect", "action", "judge"}
            assert np.array_equal(decode(row["segmentation"]), decode(before["segmentation"]))
    assert [row["id"] for row in whole_coco["images"]] == [40, "b-7"], "images without a mask are left out"
    actions = [row["auscult"]["action"] for part in parts for row in part["annotations"]]
    assert sorted(actions) == sorted(
        row["auscult"]["action"] for row in whole_coco["annotations"] if row["auscult"]["action"] != "reject"
    )


def test_what_was_handed_over_can_be_judged_and_handed_over_again(source: Path) -> None:
    whole_coco, *_ = exported_parts(source)
    (source / "again").mkdir()
    (source / "images").rename(source / "again/images")
    (source / "again/instances.json").write_text(json.dumps(whole_coco))
    second, *_ = exported_parts(source / "again")
    assert second == whole_coco


def test_results_keep_their_scores_and_get_instances_around_them(source: Path) -> None:
    rows = [
        {key: row[key] for key in ("image_id", "category_id", "segmentation")} for row in instances()["annotations"]
    ]
    results = [{**row, "score": score, "x_head": {"q": 1}} for row, score in zip(rows, (0.9, 0.5, 0.1), strict=True)]
    results[1]["annotation_id"] = "x/9"
    (source / "results.json").write_text(json.dumps(results))
    whole_coco, *_ = exported_parts(source, "results.json", instances=source / "instances.json")
    found_rows = sorted(whole_coco["annotations"], key=lambda row: row["id"])
    assert [(row["id"], row["score"], row["x_head"]) for row in found_rows] == [
        (1, 0.9, {"q": 1}), (2, 0.5, {"q": 1}), (3, 0.1, {"q": 1}),
    ]  # fmt: skip
    assert [row.get("annotation_id") for row in found_rows] == [None, "x/9", None]
    assert whole_coco["categories"] == instances()["categories"]


def test_a_key_as_large_as_a_mask_stays_behind(source: Path) -> None:
    content = instances()
    content["annotations"][2]["x_copy"] = list(range(20_000))
    (source / "instances.json").write_text(json.dumps(content))
    whole_coco, *_ = exported_parts(source)
    assert not any("x_copy" in row for row in whole_coco["annotations"])


def test_every_real_annotation_keeps_its_keys(data: Path, tmp_path: Path) -> None:
    from pycocotools.coco import COCO

    path = data / "images/coco/instances.json"
    source_coco = json.loads(path.read_text())
    listing = list_items(path, ListOptions(images=data / "images/coco/images"))
    rows = ({"id": item.id, "extra": item.extra, "iou": 0.5, "action": "accept"} for item in listing.items)
    masks = (read_mask(item.mask).mask for item in listing.items)
    exported = coco(map(ExportedMask, rows, masks, ("no name",) * len(listing.items)), header=listing.header)
    by_id = {row["id"]: row for row in source_coco["annotations"]}
    assert len(exported["annotations"]) == len(listing.items) > 500
    for row in exported["annotations"]:
        before = by_id[row["id"]]
        small = {key for key in before.keys() - GEOMETRY if len(json.dumps(before[key])) <= 16_000}
        assert {key: row.get(key) for key in small} == {key: before[key] for key in small}
    assert exported["categories"] == source_coco["categories"]
    assert {row["id"] for row in exported["images"]} == {row["image_id"] for row in exported["annotations"]}
    assert all(row in source_coco["images"] for row in exported["images"])
    (tmp_path / "made.json").write_text(json.dumps(exported))
    assert len(COCO(str(tmp_path / "made.json")).getAnnIds(catIds=[1])) > 0
