"""What every registered dataset promises."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from auscult import registry
from auscult.cases.listing import Dataset, Listing, ListOptions, list_items
from auscult.errors import AuscultError
from auscult.media.frames import write_frame
from auscult.media.masks import write_labels

NAMES = [entry.name for entry in registry.entries("dataset")]
LAYOUTS = ("folder", "items", "coco", "davis", "refavs", "mqravs", "refcoco", "ytvos", "refdavis", "avsbench")
LAYOUTS += ("beside", "yolo", "labelme", "voc", "cvat", "panoptic", "cityscapes")
BUILT_IN = {f"datasets.{layout}.v1" for layout in LAYOUTS}
RELEASED = {
    "datasets.refavs.v1": ("media/v_0_10/frames", "gt_mask/v_0_10/fid_0"),
    "datasets.mqravs.v1": ("media/v_0_10/frames", "masks"),
    "datasets.refcoco.v1": ("train2014", "drawn"),
    "datasets.davis.v1": ("JPEGImages/480p/dog", "Annotations/480p/dog"),
    "datasets.ytvos.v1": ("JPEGImages/dog", "Annotations/dog"),
    "datasets.refdavis.v1": ("JPEGImages/480p/dog", "Annotations/480p/dog"),
    "datasets.avsbench.v1": ("s4_data/visual_frames/test/dog/v", "s4_data/gt_masks/test/dog/v"),
    "datasets.beside.v1": (".", "."),
    "datasets.voc.v1": ("JPEGImages", "SegmentationObject"),
    "datasets.yolo.v1": ("images", "drawn"),
    "datasets.labelme.v1": (".", "drawn"),
    "datasets.cvat.v1": ("images", "drawn"),
    "datasets.panoptic.v1": ("images", "panoptic_val"),
    "datasets.cityscapes.v1": ("leftImg8bit", "gtFine"),
}
_POLYGON = [[1, 1], [5, 1], [5, 6]]
_SEGMENT = {"id": 0x010101, "category_id": 1}
_PANOPTIC = {
    "images": [{"id": 1, "file_name": "1.jpg"}],
    "annotations": [{"image_id": 1, "file_name": "1.png", "segments_info": [_SEGMENT]}],
    "categories": [{"id": 1, "name": "dog", "isthing": 1}],
}
_IMAGE = '<image name="1.jpg" width="10" height="8"><polygon label="dog" points="1,1;5,1;5,6"/></image>'
TOLD = {
    "datasets.ytvos.v1": ("meta.json", json.dumps({"videos": {"dog": {"objects": {"1": {"category": "dog"}}}}})),
    "datasets.refdavis.v1": ("davis_text_annotations/Davis17_annot1.txt", 'dog 1 "the dog"\n'),
    "datasets.avsbench.v1": ("s4_meta_data.csv", "name,start,category,split\nv,0,dog,test\n"),
    "datasets.yolo.v1": ("labels/1.txt", "0 .1 .1 .5 .1 .5 .8\n"),
    "datasets.labelme.v1": ("1.json", json.dumps({"shapes": [{"label": "dog", "points": _POLYGON}]})),
    "datasets.cvat.v1": ("annotations.xml", f"<annotations>{_IMAGE}</annotations>"),
    "datasets.panoptic.v1": ("panoptic_val.json", json.dumps(_PANOPTIC)),
}
"""What says that a tree of frames and masks is of that layout: a file and its content."""


def example(name: str, root: Path) -> tuple[Path, ListOptions]:
    """A small INPUT of each built-in layout."""
    labels = np.zeros((8, 10), np.uint8)
    labels[1:4, 1:4], labels[5:7, 6:9] = 1, 2
    frames, masks = RELEASED.get(name, ("frames", "masks"))
    for stem in ("v_2", "v_10", "v_1") if name == "datasets.avsbench.v1" else ("2", "10", "1"):
        write_frame(root / frames / f"{stem}.jpg", np.zeros((8, 10, 3), np.uint8))
        write_labels(root / masks / f"{stem}.png", labels)
    if name == "datasets.panoptic.v1":
        write_frame(root / masks / "1.png", np.repeat(labels[..., None], 3, axis=2))
    if name == "datasets.cityscapes.v1":
        Image.fromarray(labels.astype(np.uint16) * 26001).save(root / masks / "1_gtFine_instanceIds.png")
    if name in TOLD:
        file, content = TOLD[name]
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text(content)
    if name == "datasets.items.v1":
        (root / "items.jsonl").write_text('{"id": "a", "frame": "frames/1.jpg", "mask": "masks/1.png"}\n{"id": 3}\n')
    if name == "datasets.refavs.v1":
        (root / "metadata.csv").write_text("vid,uid,split,fid,exp\nv_0_10,v_0_10_dog_1,train,0,the dog\n")
    if name == "datasets.mqravs.v1":
        row = {"uid": "v_0_10_dog_1", "vid": "v_0_10", "exp": "the dog", "kfid": 1}
        row |= {"image_path": "media/v_0_10/frames/1.jpg", "gt_mask_path": {"mask_path": "masks/1.png"}}
        (root / "train_test_meta_files").mkdir()
        (root / "train_test_meta_files" / "test_s_image_filtered.json").write_text(json.dumps([row]))
    if name == "datasets.refcoco.v1":
        ref = {"ref_id": 3, "ann_id": 5, "image_id": 1, "category_id": 1, "split": "val", "file_name": "1.jpg"}
        ref["sentences"] = [{"sent": "the dog", "raw": "the dog", "tokens": ["the", "dog"], "sent_id": 8}]
        (root / "refs(unc).p").write_bytes(pickle.dumps([ref], protocol=2))
    if name not in {"datasets.coco.v1", "datasets.refcoco.v1"}:
        return root, ListOptions()
    file_name = "coco.json" if name == "datasets.coco.v1" else "instances.json"
    box = [[1, 1, 5, 1, 5, 6]]
    (root / file_name).write_text(
        json.dumps(
            {
                "images": [{"id": 1, "file_name": "1.jpg", "height": 8, "width": 10}],
                "annotations": [{"id": 5, "image_id": 1, "category_id": 1, "segmentation": box}, {"id": 6}],
                "categories": [{"id": 1, "name": "dog"}],
            }
        )
    )
    source = root / file_name if name == "datasets.coco.v1" else root
    return source, ListOptions(images=root / frames)


def load(name: str) -> Dataset:
    dataset: Dataset = registry.load("dataset", name)
    return dataset


def test_the_layouts_of_the_documentation_are_registered() -> None:
    assert set(NAMES) >= BUILT_IN


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_is(name: str) -> None:
    dataset = load(name)
    assert isinstance(dataset, Dataset)
    assert dataset.name == name
    for value in (dataset.meta.summary, dataset.meta.goal, dataset.meta.modality, dataset.meta.source):
        assert value.strip()
        assert "\n" not in value


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_it_recognises_its_own_and_lists_it_the_same_every_time(name: str, tmp_path: Path) -> None:
    source, options = example(name, tmp_path)
    dataset = load(name)
    assert dataset.recognises(source, options)
    first, second = dataset.list(source, options), dataset.list(source, options)
    assert first == second
    assert first.items
    assert first.layout == name
    assert list_items(source, options).layout == name
    natural = [stem for stem in ("1", "2", "10") for _ in range(2)]
    if name in {"datasets.folder.v1", "datasets.davis.v1"}:
        assert [item.frame.stem for item in first.items] == natural


@pytest.mark.parametrize("name", NAMES)
def test_it_does_not_recognise_what_is_not_its_own(name: str, tmp_path: Path) -> None:
    dataset = load(name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "zero.json").write_bytes(b"")
    for place in ("empty", "notes.txt", "package.json", "zero.json", "missing", "missing.json", "missing.jsonl"):
        assert not dataset.recognises(tmp_path / place, ListOptions())


@pytest.mark.parametrize("name", sorted(BUILT_IN))
@pytest.mark.parametrize("other", sorted(BUILT_IN))
def test_no_input_has_two_layouts(name: str, other: str, tmp_path: Path) -> None:
    source, options = example(name, tmp_path)
    assert load(other).recognises(source, options) == (name == other)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["../a", "/a", "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ITEM = st.fixed_dictionaries(
    {},
    optional={
        key: JSON | st.sampled_from(["a", "f.jpg"])
        for key in ("id", "frame", "mask", "text", "clip", "video", "time_s", "truth")
    },
)
ANNOTATION = st.fixed_dictionaries(
    {},
    optional={
        key: JSON | st.sampled_from([1, "1"])
        for key in ("id", "image_id", "segmentation", "category_id", "iscrowd", "text", "ann_id", "score")
    },
)
COCO = st.fixed_dictionaries(
    {
        "images": JSON | st.just([{"id": 1, "file_name": "f.jpg"}]),
        "annotations": JSON | st.lists(ANNOTATION, max_size=3),
    },
    optional={"categories": JSON},
)


def listing_of(content: bytes, file: str, **options: Any) -> Listing | None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / file
        source.write_bytes(content)
        (Path(folder) / "f.jpg").write_bytes(b"x")
        option_paths = {key: Path(folder) / value for key, value in options.items()}
        try:
            listing = list_items(source, ListOptions(**option_paths))
        except AuscultError as error:
            str(error).encode()
            return None
        return listing


def check(listing: Listing | None) -> None:
    """Ids are usable and unique, and everything can be written to a record."""
    if listing is None:
        return
    ids = [item.id for item in listing.items]
    assert len(set(ids)) == len(ids)
    for item in listing.items:
        assert ".." not in item.id.split("/")
        assert ".." not in item.frame.parts
        json.dumps([item.id, item.query.text, item.clip, item.time_s, dict(item.extra)], allow_nan=False).encode()
    for _, record in listing.errors:
        assert record.error
        assert record.path
        f"{record.error}{record.expected}{record.hint}".encode()


@settings(deadline=None, max_examples=60)
@given(st.lists(ITEM | JSON, max_size=4))
def test_any_lines_of_json_are_survived(rows: list[Any]) -> None:
    check(listing_of("\n".join(map(json.dumps, rows)).encode(), "items.jsonl"))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=30), max_size=4))
def test_any_bytes_are_survived(lines: list[bytes]) -> None:
    check(listing_of(b"\n".join(lines), "items.jsonl"))
    check(listing_of(b"\n".join(lines), "coco.json", images="."))


@settings(deadline=None, max_examples=60)
@given(COCO | JSON | st.lists(ANNOTATION, max_size=3))
def test_any_coco_is_survived(value: Any) -> None:
    check(listing_of(json.dumps(value).encode(), "coco.json", images="."))
    check(listing_of(json.dumps(value).encode(), "coco.json", images=".", instances="coco.json"))
