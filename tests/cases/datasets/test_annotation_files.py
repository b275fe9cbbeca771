"""Layouts of other tools: YOLO-seg, LabelMe, VOC, CVAT, COCO panoptic, Cityscapes, and masks beside pictures."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import AuscultError, NothingToDo
from auscult.media.frames import write_frame
from auscult.media.masks import encode_mask, read_mask
from auscult.types import Item
from conftest import SIZE, square

HEIGHT, WIDTH = SIZE
BOX = (4, 5, 9, 10)  # left, top, width, height of ``square``
CORNERS = ((4, 5), (13, 5), (13, 15), (4, 15))


def ids(listing: Listing) -> list[str]:
    return [item.id for item in listing.items]


def is_square(item_: Item) -> bool:
    return bool((read_mask(item_.mask).mask == square()).all())


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


YOLO = "1 " + " ".join(f"{x / WIDTH} {y / HEIGHT}" for x, y in CORNERS)


def test_yolo_polygons_scores_and_names_of_classes(make: Any) -> None:
    for name in ("images/train/a.jpg", "images/train/b.jpg"):
        make.frame(name)
    write(make.root / "labels/train/a.txt", f"{YOLO}\n\n0 .5 .5 .2 .2\n{YOLO} .75\nx\n1 9 9 8 8 7 7\n1 nan 0 0 1 1 0\n")
    write(make.root / "labels/train/b.txt", "")
    write(make.root / "data.yaml", "train: images/train\nnames:\n  0: cat\n  1: 'dog'  # best\nnc: 2\n")
    listing = list_items(make.root)
    assert listing.layout == "datasets.yolo.v1"
    assert ids(listing) == ["train/a/1", "train/a/4"]
    assert all(map(is_square, listing.items))
    assert [item.model_score for item in listing.items] == [None, 0.75]
    assert dict(listing.items[0].extra) == {"class": 1, "category": "dog"}
    assert [(record.line, record.error) for _, record in listing.errors] == [
        (3, "the line is a box"),
        (5, "the line is 'x'"),
        (6, "a corner lies outside the picture"),
        (7, "the line is '1 nan 0 0 1 1 0'"),
    ]
    assert "1 picture without a mask" in listing.notes


@pytest.mark.parametrize("names", ["names: [cat, 'dog']", "names:\n- cat\n- dog", 'names: {0: cat, 1: "dog"}'])
def test_yolo_names_in_each_style_of_yaml(make: Any, names: str) -> None:
    make.frame("train/images/a.jpg")
    write(make.root / "train/labels/a.txt", YOLO)
    write(make.root / "data.yaml", f"nc: 2\n{names}\nval: x\n")
    (item_,) = list_items(make.root).items
    assert (item_.id, item_.extra["category"]) == ("train/a/1", "dog")


def test_yolo_predictions_in_two_named_folders(make: Any) -> None:
    make.frame("photos/a.jpg")
    write(make.root / "predict/labels/a.txt", f"{YOLO} .5")
    write(make.root / "predict/labels/ghost.txt", YOLO)
    listing = list_items(make.root, ListOptions(frames=Path("photos"), masks=Path("predict/labels")))
    assert (ids(listing), listing.items[0].model_score) == (["a/1"], 0.5)
    ((name, record),) = listing.errors
    assert (name, record.error) == ("ghost", "there is no picture of this name")


def test_yolo_ids_of_a_tracker_are_no_scores_and_no_corners(make: Any) -> None:
    for name, text in {"a": f"{YOLO} 1\n{YOLO} 2", "b": f"{YOLO} .75 1\n{YOLO} .5 12\n{YOLO} .25"}.items():
        make.frame(f"images/{name}.jpg")
        write(make.root / f"labels/{name}.txt", text)
    items = list_items(make.root).items
    assert all(map(is_square, items))
    assert [item.model_score for item in items] == [None, None, 0.75, 0.5, 0.25]
    assert [item.extra.get("track") for item in items] == [1, 2, 1, 12, None]


def shape(points: Any, **fields: Any) -> dict[str, Any]:
    return {"label": "dog", "points": points, "shape_type": "polygon", **fields}


def test_labelme_polygons_groups_and_painted_masks(make: Any) -> None:
    make.frame("a.jpg")
    left_px, top, width, height = BOX
    png = b64encode(encode_mask(np.ones((height, width), bool))).decode()
    halves = [((4, 5), (13, 5), (13, 10), (4, 10)), ((4, 10), (13, 10), (13, 15), (4, 15))]
    shapes = [
        shape([list(map(float, corner)) for corner in CORNERS]),
        shape(halves[0], group_id=3),
        shape(halves[1], group_id=3),
        shape([[left_px, top], [left_px + width - 1, top + height - 1]], shape_type="mask", mask=png),
        shape([[0, 0], [9, 9]], shape_type="rectangle"),
        shape([[0, 0], [9, 9]]),
        shape([[0, 0], [99, 9]], shape_type="mask", mask=png),
        5,
    ]
    make.json("a.json", {"version": "5.4.1", "flags": {}, "shapes": shapes, "imageHeight": HEIGHT, "imageWidth": WIDTH})
    listing = list_items(make.root)
    assert listing.layout == "datasets.labelme.v1"
    assert sorted(ids(listing)) == ["a/1", "a/2", "a/4", "a/7"]
    good = [item for item in listing.items if item.id != "a/7"]
    assert all(map(is_square, good))
    assert {item_.extra["category"] for item_ in good} == {"dog"}
    with pytest.raises(AuscultError, match="does not lie on the frame"):
        read_mask(listing.items[-2].mask)
    assert [record.error[:7] for _, record in listing.errors] == ["shape 6", "shape 8"]
    assert "left out, no regions: boxes (1)" in listing.notes


def test_labelme_of_another_picture_is_refused(make: Any) -> None:
    make.frame("images/a.jpg")
    (make.root / "annotations").mkdir()
    make.json("annotations/a.json", {"shapes": [shape(CORNERS)], "imageHeight": WIDTH, "imageWidth": HEIGHT})
    listing = list_items(make.root)
    assert not listing.items
    assert "height and width are exchanged" in listing.errors[0][1].hint


def test_voc_is_not_davis(make: Any) -> None:
    for name in ("a", "b"):
        make.frame(f"JPEGImages/{name}.jpg")
    make.palette("SegmentationObject/a.png", 1, 2, 255)
    make.palette("SegmentationClass/a.png", 15, 255)
    write(make.root / "Annotations/a.xml", "<annotation/>")
    listing = list_items(make.root)
    assert (listing.layout, ids(listing)) == ("datasets.voc.v1", ["a#1", "a#2"])
    assert listing.items[0].clip is None
    make.palette("mine/a.png", 1, 2)
    listing = list_items(make.root, ListOptions(masks=Path("mine")))
    assert [item.truth.mask.index for item in listing.items if item.truth and item.truth.mask] == [1, 2]


def cvat(*shapes: str, image: str = f'name="a.jpg" width="{WIDTH}" height="{HEIGHT}"', head: str = "") -> str:
    return f'<?xml version="1.0"?>{head}<annotations><image id="0" {image}>{"".join(shapes)}</image></annotations>'


def test_cvat_polygons_and_painted_masks(make: Any) -> None:
    make.frame("images/a.jpg")
    left_px, top, width, height = BOX
    box = f'left="{left_px}" top="{top}" width="{width}" height="{height}"'
    points = ";".join(f"{x}.00,{y}.00" for x, y in CORNERS)
    write(
        make.root / "annotations.xml",
        cvat(
            f'<polygon label="dog" points="{points}"><attribute name="x">1</attribute></polygon>',
            f'<mask label="cat" rle="0, {width * height}" {box}/>',
            '<box label="dog" xtl="1" ytl="1" xbr="3" ybr="3"/>',
            '<polygon label="dog" points="1,2;x"/>',
        ),
    )
    for source in (make.root, make.root / "annotations.xml"):
        listing = list_items(source)
        assert (listing.layout, ids(listing)) == ("datasets.cvat.v1", ["a/1", "a/2"])
        assert all(map(is_square, listing.items))
        assert [item.extra["category"] for item in listing.items] == ["dog", "cat"]
        assert "the points cannot be read" in listing.errors[0][1].error
        assert listing.notes == ("left out, no regions: boxes (1)",)


BOMB = '<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;&b;&b;">]>'


@pytest.mark.parametrize(
    ("text", "words"),
    {
        "entities": (cvat('<polygon label="&c;" points="1,1"/>', head=BOMB), "document type"),
        "external": (cvat(head='<!DOCTYPE a SYSTEM "file:///etc/passwd">'), "document type"),
        "deep": ("<annotations>" + "<a>" * 100, "deep"),
        "cut": ("<annotations><image", "broken XML"),
        "other": ("<annotation/><annotations", "broken XML"),
    }.values(),
)
def test_hostile_xml_ends_the_listing(make: Any, text: str, words: str) -> None:
    write(make.root / "annotations.xml", text)
    with pytest.raises(NothingToDo, match=words):
        list_items(make.root)


def test_cvat_projects_keep_subsets_in_folders_and_frames_of_videos_have_no_ending(make: Any) -> None:
    for name in ("images/train/a.png", "images/test/a.png", "images/train/frame_000000.png"):
        make.frame(name)
    (make.root / "images/train/frame_000000.png").rename(make.root / "images/train/frame_000000.PNG")
    shape = f'<polygon label="cat" points="{";".join(f"{x},{y}" for x, y in CORNERS)}"/>'
    size = f'width="{WIDTH}" height="{HEIGHT}"'
    images = (("a.png", "train"), ("a.png", "test"), ("frame_000000", "train"), ("a.png", "none"))
    image_tags = "".join(f'<image name="{name}" subset="{subset}" {size}>{shape}</image>' for name, subset in images)
    write(make.root / "annotations.xml", f"<annotations><version>1.1</version>{image_tags}</annotations>")
    listing = list_items(make.root)
    assert ids(listing) == ["train/a/1", "test/a/1", "train/frame_000000/1"]
    assert all(map(is_square, listing.items))
    assert [record.error for _, record in listing.errors] == ["image 'a.png': there is no such picture"]


def test_cvat_leads_nowhere_else(make: Any, tmp_path: Path) -> None:
    write_frame(tmp_path / "secret.jpg", np.zeros((*SIZE, 3), np.uint8))
    size = f'width="{WIDTH}" height="{HEIGHT}"'
    write(make.root / "annotations.xml", cvat(image=f'name="../../secret.jpg" {size}'))
    (make.root / "images").mkdir()
    assert "leaves the folder" in list_items(make.root).errors[0][1].error


def test_panoptic_colours_without_stuff(make: Any) -> None:
    make.frame("val2017/a.jpg")
    number = 300
    colours = np.where(square()[..., None], (number % 256, number // 256, 0), (7, 0, 0)).astype(np.uint8)
    write_frame(make.root / "annotations/panoptic_val2017/a.png", colours)
    segments = [{"id": number, "category_id": 1}, {"id": 7, "category_id": 2}, {"id": -3, "category_id": 1}]
    rows = [{"image_id": 5, "file_name": "a.png", "segments_info": segments}]
    kinds = [{"id": 1, "name": "dog", "isthing": 1}, {"id": 2, "name": "sky", "isthing": 0}]
    value = {"images": [{"id": 5, "file_name": "a.jpg"}], "annotations": rows, "categories": kinds}
    make.json("annotations/panoptic_val2017.json", value)
    listing = list_items(make.root)
    assert (listing.layout, ids(listing)) == ("datasets.panoptic.v1", ["a/300"])
    assert is_square(listing.items[0])
    assert listing.items[0].extra["category"] == "dog"
    assert "a segment's id is '-3'" in listing.errors[0][1].error
    file = make.root / "annotations/panoptic_val2017.json"
    assert ids(list_items(file, ListOptions(images=make.root / "val2017"))) == ["a/300"]
    make.json("annotations/panoptic_z.json", value)
    (make.root / "annotations/panoptic_z").mkdir()
    (note,) = set(list_items(make.root).notes) - set(listing.notes)
    assert note.startswith("panoptic_val2017.json is read; 'panoptic_z.json' not")


def test_cityscapes_objects_without_classes(make: Any) -> None:
    make.frame("leftImg8bit/val/ulm/ulm_000001_leftImg8bit.png")
    numbers = np.where(square(), 26001, 7).astype(np.uint16)
    numbers[0, 0] = 24  # a group of people
    folder = make.root / "gtFine/val/ulm"
    folder.mkdir(parents=True)
    Image.fromarray(numbers).save(folder / "ulm_000001_gtFine_instanceIds.png")
    Image.fromarray(numbers.astype(np.uint8)).save(folder / "ulm_000001_gtFine_labelIds.png")
    listing = list_items(make.root)
    assert (listing.layout, ids(listing)) == ("datasets.cityscapes.v1", ["ulm_000001#26001"])
    assert is_square(listing.items[0])
    assert listing.items[0].extra["category"] == "car"
    assert listing.notes == ("2 areas of a class or group left out: no single object",)


@pytest.mark.parametrize("folders", [("{}", "{}"), ("{}/img", "{}/ids"), ("img/{}", "ids/{}")])
def test_numbers_of_one_file_name_belong_to_the_picture_of_their_folder(make: Any, folders: tuple[str, str]) -> None:
    for place in ("north", "south"):
        make.frame(f"{folders[0]}/0001.jpg".format(place))
        mask = make.root / f"{folders[1]}/0001_instanceIds.png".format(place)
        mask.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.where(square(), 26001, 7).astype(np.uint16)).save(mask)
    listing = list_items(make.root)
    assert not listing.errors
    assert [place for item in listing.items for place in ("north", "south") if place in item.id] == ["north", "south"]
    assert all(place in str(item.frame) for item, place in zip(listing.items, ("north", "south"), strict=True))


@pytest.mark.parametrize(
    ("frame", "mask"),
    [
        ("a.jpg", "a.png"),
        ("a.png", "a_mask.png"),
        ("a.jpg", "a_seg.png"),
        ("x/a.jpg", "x/a-gt.png"),
        ("images/a.jpg", "labels/a.png"),
        ("images/train/a.jpg", "annotations/train/a_mask.png"),
        ("imgs/a.jpg", "masks/a_gt.png"),
        ("frames/a.png", "masks/a_seg.png"),
    ],
)
def test_masks_beside_their_pictures_and_in_folders_of_other_names(make: Any, frame: str, mask: str) -> None:
    make.frame(frame)
    make.mask(mask)
    listing = list_items(make.root)
    assert not listing.errors
    (item_,) = listing.items
    assert (item_.frame, item_.mask.path) == (make.root / frame, make.root / mask)
    assert (item_.clip is None) == (not frame.startswith("frames/"))


def test_grey_labels_are_indices_where_they_could_be_no_soft_mask(make: Any) -> None:
    soft = np.tile(np.arange(WIDTH, dtype=np.uint8) * 8, (HEIGHT, 1))
    for name, grey in (("a", square() * 1 + square(18) * 2), ("b", square() * 255), ("c", soft)):
        make.frame(f"images/{name}.jpg")
        (make.root / "labels").mkdir(exist_ok=True)
        Image.fromarray(grey.astype(np.uint8)).save(make.root / f"labels/{name}.png")
    assert ids(list_items(make.root)) == ["a#1", "a#2", "b", "c"]


def as_yolo(root: Path, image: Any, polygons: list[Any]) -> None:
    lines = []
    for (polygon,) in polygons:
        scaled = [value / image["height" if place % 2 else "width"] for place, value in enumerate(polygon)]
        lines.append(f"0 {' '.join(map(str, scaled))}")
    write(root / "labels" / f"{Path(image['file_name']).stem}.txt", "\n".join(lines))


def as_labelme(root: Path, image: Any, polygons: list[Any]) -> None:
    shapes = [shape(np.reshape(polygon, (-1, 2)).tolist()) for (polygon,) in polygons]
    write(root / "labels" / f"{Path(image['file_name']).stem}.json", json.dumps({"shapes": shapes}))


def as_cvat(root: Path, image: Any, polygons: list[Any]) -> None:
    file = root / "annotations.xml"
    text_before = file.read_text().removesuffix("</annotations>") if file.exists() else "<annotations>"
    shapes = [";".join(f"{x},{y}" for x, y in np.reshape(polygon, (-1, 2)).tolist()) for (polygon,) in polygons]
    drawn = "".join(f'<polygon label="x" points="{points}"/>' for points in shapes)
    size = f'width="{image["width"]}" height="{image["height"]}"'
    file.write_text(f'{text_before}<image name="{image["file_name"]}" {size}>{drawn}</image></annotations>')


@pytest.mark.parametrize("wrote", [as_yolo, as_labelme, as_cvat])
def test_real_polygons_are_the_masks_that_coco_draws(
    data: Path, tmp_path: Path, wrote: Callable[[Path, Any, list[Any]], None]
) -> None:
    coco = json.loads((data / "images/coco/instances.json").read_text())
    (tmp_path / "images").symlink_to(data / "images/coco/images")
    expected = []
    for image in sorted(coco["images"][:12], key=lambda image: image["file_name"]):
        rows = [row for row in coco["annotations"] if row["image_id"] == image["id"] and not row["iscrowd"]]
        rows = [row for row in rows if len(row["segmentation"]) == 1]
        wrote(tmp_path, image, [row["segmentation"] for row in rows])
        expected += [(Path(image["file_name"]).stem, row["rle"]) for row in rows]
    listing = list_items(tmp_path, ListOptions(root=Path("/")))
    assert not listing.errors
    assert len(listing.items) == len(expected) > 40
    for item_, (name, rle) in zip(listing.items, expected, strict=True):
        assert item_.frame.stem == name
        assert (read_mask(item_.mask).mask == read_mask(type(item_.mask)(segmentation=rle)).mask).all()
