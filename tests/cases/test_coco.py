from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.cases.references import list_references
from auscult.errors import NothingToDo, UsageError
from auscult.media.masks import read_mask
from auscult.media.rle import encode

POLYGON = [[4.0, 3.0, 20.0, 3.0, 20.0, 9.0, 4.0, 9.0]]


def annotation(**changes: Any) -> dict[str, Any]:
    row = {
        "id": 11, "image_id": 1, "category_id": 3, "segmentation": POLYGON, "area": 96.0,
        "bbox": [4, 3, 16, 6], "iscrowd": 0, **changes,
    }  # fmt: skip
    return {key: value for key, value in row.items() if value is not ...}


def instances(*annotations: Any) -> dict[str, Any]:
    return {
        "images": [
            {"id": 1, "file_name": "a.jpg", "height": 24, "width": 32},
            {"id": 2, "file_name": "sub/b.jpg", "height": 24, "width": 32},
            {"id": 3, "file_name": "gone.jpg", "height": 24, "width": 32},
            {"id": 4, "file_name": "../a.jpg", "height": 24, "width": 32},
        ],
        "categories": [{"id": 3, "name": "dog"}],
        "annotations": list(annotations),
    }


@pytest.fixture
def photos(make: Any) -> Path:
    make.frame("photos/a.jpg")
    make.frame("photos/sub/b.jpg")
    folder: Path = make.root / "photos"
    return folder


def coco_listing(make: Any, value: Any, **options: Any) -> Listing:
    return list_items(make.json("file.json", value), ListOptions(images=make.root / "photos", **options))


@pytest.mark.usefixtures("photos")
def test_instances(make: Any) -> None:
    mask = np.zeros((24, 32), bool)
    mask[2:5, 7:9] = True
    value = instances(
        annotation(score=0.7, text="the dog", tags=[1]),
        annotation(id=12, image_id=2, segmentation=encode(mask), category_id=99),
        annotation(id=13, iscrowd=1),
    )
    listing = coco_listing(make, value)
    polygon, rle = listing.items
    assert (polygon.id, polygon.query.text, polygon.clip) == ("a/11", "the dog", None)
    assert polygon.extra == {
        "annotation_id": 11, "image_id": 1, "category_id": 3, "category": "dog", "score": 0.7,
        "coco": {"id": 11, "tags": [1]},
    }  # fmt: skip
    assert polygon.model_score is None, "a score of instances may be anybody's"
    assert read_mask(polygon.mask).mask.sum() == 16 * 6
    assert (rle.id, rle.frame, rle.query.text) == ("b/12", make.root / "photos/sub/b.jpg", None)
    assert np.array_equal(read_mask(rle.mask).mask, mask)
    assert not listing.errors
    assert listing.notes == ("1 crowd region left out: a crowd is no single object",)


@pytest.mark.usefixtures("photos")
def test_results_take_their_pictures_and_truth_from_instances(make: Any) -> None:
    names = make.json("instances.json", instances(annotation(), annotation(id=14, image_id=2)))
    results = [
        {"image_id": 1, "category_id": 3, "segmentation": POLYGON, "score": 0.5, "ann_id": 11},
        {"image_id": 2, "category_id": 3, "segmentation": POLYGON, "score": 0.25},
        {"image_id": 2, "category_id": 3, "segmentation": POLYGON, "annotation_id": 11},
        {"image_id": 2, "category_id": 3, "segmentation": POLYGON, "ann_id": 999},
        {"image_id": 2, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.25},
    ]
    listing = coco_listing(make, results, instances=names)
    first, second = listing.items
    assert [(item_.id, item_.extra["score"]) for item_ in (first, second)] == [("a/1", 0.5), ("b/2", 0.25)]
    assert [item_.model_score for item_ in (first, second)] == [0.5, 0.25]
    assert first.truth is not None
    assert first.truth.mask is not None
    assert read_mask(first.truth.mask).mask.sum() == 16 * 6
    assert second.truth is None
    messages = [record.error for _, record in listing.errors]
    assert [
        "another picture" in messages[0],
        "none of the annotations" in messages[1],
        "segmentation" in messages[2],
    ] == [True] * 3


BAD = {
    "list": ([], "entry 2: it is a list"),
    "null": (None, "entry 2: it is null"),
    "no image": (annotation(image_id=...), "'image_id' is null"),
    "image type": (annotation(image_id=[1]), "'image_id' is a list"),
    "unknown image": (annotation(image_id=77), "image_id 77"),
    "missing file": (annotation(image_id=3), "no picture 'gone.jpg'"),
    "file outside": (annotation(image_id=4), "leaves the folder"),
    "no mask": (annotation(segmentation=...), "no 'segmentation'"),
    "empty mask": (annotation(segmentation=[]), "'segmentation' is an empty list"),
    "text mask": (annotation(segmentation="abc"), "'segmentation' is a text"),
    "id type": (annotation(id=[5]), "'id' is a list"),
    "id out": (annotation(id="../../x"), "leads out"),
    "text type": (annotation(text=5), "'text' is a number"),
}


@pytest.mark.usefixtures("photos")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_annotation_costs_itself(make: Any, name: str) -> None:
    bad, words = BAD[name]
    listing = coco_listing(make, instances(annotation(id=1), bad, annotation(id=2)))
    assert [item.id for item in listing.items] == ["a/1", "a/2"]
    ((_, record),) = listing.errors
    assert words in record.error
    assert record.path
    assert record.error.startswith("entry 2")


@pytest.mark.usefixtures("photos")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"nul", b"[1,]", b"3", b'"x"', b"\xff\xfe", b"[" * 90_000, b'{"images": 3}', b'{"images": []}',
        b'{"images": [], "annotations": {}}', b'{"images": [NaN], "annotations": []}',
        b'{"images": [], "annotations": [], "categories": 1}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_coco_is_told_so(make: Any, content: bytes) -> None:
    path = make.root / "file.json"
    path.write_bytes(content)
    with pytest.raises(NothingToDo) as error:
        list_items(path, ListOptions(images=make.root / "photos"))
    assert error.value.path == str(path)
    assert error.value.expected


@pytest.mark.usefixtures("photos")
def test_what_is_missing_is_told(make: Any) -> None:
    path = make.json("file.json", instances(annotation()))
    with pytest.raises(UsageError, match="--images"):
        list_items(path)
    with pytest.raises(UsageError, match="--images"):
        list_items(path, ListOptions(images=make.root / "nowhere"))
    results = make.json("results.json", [{"image_id": 1, "segmentation": POLYGON}])
    with pytest.raises(UsageError, match="--instances"):
        list_items(results, ListOptions(images=make.root / "photos"))
    with pytest.raises(UsageError, match="COCO instances"):
        list_items(results, ListOptions(images=make.root / "photos", instances=results))


@pytest.mark.usefixtures("photos")
def test_equal_annotation_ids_are_told(make: Any) -> None:
    listing = coco_listing(make, instances(annotation(), annotation(image_id=1)))
    assert [item.id for item in listing.items] == ["a/11"]
    assert "used twice" in listing.errors[0][1].error


def test_pictures_that_are_links_out_are_refused(make: Any, photos: Path, tmp_path: Path) -> None:
    (photos / "a.jpg").rename(tmp_path / "a.jpg")
    (photos / "a.jpg").symlink_to(tmp_path / "a.jpg")
    value = instances(annotation(), annotation(id=12, image_id=2))
    listing = coco_listing(make, value)
    assert [item.id for item in listing.items] == ["b/12"]
    assert "symbolic link" in listing.errors[0][1].error
    assert len(coco_listing(make, value, root=tmp_path).items) == 2


def test_another_json_is_not_taken_for_coco(make: Any, photos: Path) -> None:
    with pytest.raises(NothingToDo, match="no layout"):
        list_items(make.json("package.json", {"name": "x", "version": 1}))


@pytest.mark.usefixtures("photos")
def test_labels_are_said_in_words(make: Any) -> None:
    """An export may write Fire_Hydrant; negative sentences are in words, and the positive one must not tell itself."""
    value = instances(annotation()) | {"categories": [{"id": 3, "name": "Fire_Hydrant"}]}
    listing = list_references(make.json("file.json", value), ListOptions(images=make.root / "photos"))
    ((reference,),) = (picture.references for picture in listing.pictures())
    assert [sentence.text for sentence in reference.sentences] == ["the fire hydrant"]


def test_of_several_json_beside_pictures_the_one_with_masks_is_named(make: Any, photos: Path) -> None:
    """COCO's release has captions and keypoints beside the instances, and the captions come first."""
    (photos / "annotations").mkdir()
    for name in ("captions_val2017.json", "instances_val2017.json", "person_keypoints_val2017.json"):
        make.json(f"photos/annotations/{name}", instances(annotation()))
    with pytest.raises(NothingToDo) as caught:
        list_items(photos)
    assert "'annotations/instances_val2017.json'" in caught.value.expected
    assert "annotations/instances_val2017.json" in caught.value.hint


@pytest.mark.usefixtures("photos")
def test_masks_of_cvats_brush_are_no_crowds(make: Any) -> None:
    """CVAT's COCO 1.0 has iscrowd 1 of every mask that is no polygon."""
    brushed = annotation(id=12, iscrowd=1, segmentation=encode(np.eye(24, 32) > 0), attributes={"occluded": False})
    listing = coco_listing(make, instances(brushed, annotation(id=13, iscrowd=1, attributes={})))
    assert [item.id for item in listing.items] == ["a/12"]
    brush, crowd = listing.notes
    assert (brush, crowd[:14]) == ("1 mask of CVAT with iscrowd 1 taken for objects", "1 crowd region")
    with pytest.raises(NothingToDo, match=r"1 crowd region left out.*; if each is an object, write iscrowd 0"):
        coco_listing(make, instances(annotation(iscrowd=1)))


@pytest.mark.usefixtures("photos")
def test_pictures_beside_a_json_are_its_own(make: Any) -> None:
    """Roboflow writes a json into each of train/, valid/ and test/, beside its pictures."""
    make.json("photos/sub/_annotations.coco.json", instances(annotation()))
    make.frame("photos/c.jpg")
    with pytest.raises(NothingToDo, match="no layout") as caught:
        list_items(make.root / "photos")
    assert caught.value.hint.endswith("photos/sub --out out")


def test_a_json_without_pictures_is_told_what_it_needs(make: Any) -> None:
    """`act filter` writes a coco.json and no picture."""
    make.root.mkdir()
    file = make.json("coco.json", instances(annotation()))
    with pytest.raises(NothingToDo, match="no layout") as caught:
        list_items(file.parent)
    assert caught.value.hint == f"auscult audit {file} --images FOLDER --out out"


MASK = {"size": [24, 32], "counts": "0"}


@pytest.mark.parametrize(
    ("tool", "value", "step"),
    [
        ("Segment Anything", [{"segmentation": MASK, "predicted_iou": 0.9, "stability_score": 0.9}], "items.jsonl"),
        ("SA-1B", {"image": {"image_id": 1}, "annotations": [{"stability_score": 0.9}]}, "items.jsonl"),
        ("MMDetection", {"labels": [0], "scores": [0.9], "bboxes": [], "masks": [MASK]}, "items.jsonl"),
        ("Supervisely", {"size": {}, "objects": [{"classTitle": "dog", "bitmap": {}}]}, "as COCO"),
        ("JSON-MIN", [{"image": "a.jpg", "tag": [{"format": "rle", "rle": [0], "original_width": 32}]}], "as JSON"),
    ],
)
def test_json_of_other_tools_is_told_the_way(make: Any, photos: Path, tool: str, value: Any, step: str) -> None:
    file = make.json("photos/a.json", value)
    for source, options in ((file, {}), (file, {"images": photos}), (photos, {})):
        with pytest.raises(NothingToDo) as caught:
            list_items(source, ListOptions(**options))
        assert tool in f"{caught.value.message} {caught.value.expected}"
        assert step in caught.value.hint


def test_keys_of_other_tools_beside_those_of_coco_do_no_harm(make: Any, photos: Path) -> None:
    row = annotation(classTitle="dog", format="rle", original_width=32, stability_score=0.9, image_id=...)
    for rows in ([annotation(classTitle="dog", format="rle", original_width=32)], [row]):
        listing = list_items(make.json("a.json", instances(*rows)), ListOptions(images=photos))
        assert len(listing.items) + len(listing.errors) == 1
