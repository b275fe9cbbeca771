"""RefCOCO on files written in the released structure, as Python 2 and Python 3 pickle them."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.instances import list_instances
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import read_mask

BOX = [[2.0, 2.0, 9.0, 2.0, 9.0, 9.0, 2.0, 9.0]]
FAR = [[12.0, 2.0, 18.0, 2.0, 18.0, 9.0, 12.0, 9.0]]
CROWD = {"size": [16, 20], "counts": [100, 20, 200]}


def sentence(number: int, text: str, **fields: Any) -> dict[str, Any]:
    clean = text.lower().rstrip(".")
    return {"tokens": clean.split(), "raw": text, "sent_id": number, "sent": clean, **fields}


def ref(number: int, annotation: int, split: str, *sentences: dict[str, Any], image: int = 7) -> dict[str, Any]:
    return {
        "sent_ids": [sentence_["sent_id"] for sentence_ in sentences],
        "file_name": f"COCO_train2014_{image:012d}_{number}.jpg",
        "ann_id": annotation,
        "ref_id": number,
        "image_id": image,
        "split": split,
        "sentences": list(sentences),
        "category_id": 18,
    }


REFS = [
    ref(0, 11, "train", sentence(0, "Left dog."), sentence(1, "dog closest to us")),
    ref(1, 12, "testA", sentence(2, "the cat")),
]
COCO = {
    "info": {},
    "images": [
        {"id": 7, "file_name": "COCO_train2014_000000000007.jpg", "height": 16, "width": 20},
        {"id": 8, "file_name": "COCO_train2014_000000000008.jpg", "height": 16, "width": 20},
    ],
    "annotations": [
        {"id": 11, "image_id": 7, "category_id": 18, "iscrowd": 0, "segmentation": BOX, "bbox": [2, 2, 7, 7]},
        {"id": 12, "image_id": 7, "category_id": 17, "iscrowd": 0, "segmentation": FAR, "bbox": [12, 2, 6, 7]},
        {"id": 13, "image_id": 7, "category_id": 18, "iscrowd": 1, "segmentation": CROWD},
        {"id": 14, "image_id": 8, "category_id": 18, "iscrowd": 0, "segmentation": BOX},
        {"id": 15, "image_id": 7, "category_id": 18, "iscrowd": 0, "segmentation": []},
    ],
    "categories": [{"id": 17, "name": "cat"}, {"id": 18, "name": "dog"}],
}


@pytest.fixture
def options(tmp_path: Path) -> ListOptions:
    write_frame(tmp_path / "train2014/COCO_train2014_000000000007.jpg", np.zeros((16, 20, 3), np.uint8))
    return ListOptions(images=tmp_path / "train2014")


def release(folder: Path, refs: Any = REFS, *, protocol: int = 0, name: str = "refs(unc).p") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(pickle.dumps(refs, protocol))
    (folder / "instances.json").write_text(json.dumps(COCO))
    return folder


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_every_sentence_is_an_instance(protocol: int, tmp_path: Path, options: ListOptions) -> None:
    listing = list_instances(release(tmp_path / "refcoco", protocol=protocol), options)
    assert listing.layout == "datasets.refcoco.v1"
    assert not listing.errors
    assert listing.notes == ("3 sentences: train 2, testA 1",)
    first, second, third = listing.instances
    assert [instance.id for instance in listing.instances] == [
        "COCO_train2014_000000000007/0/1",
        "COCO_train2014_000000000007/0/2",
        "COCO_train2014_000000000007/1/1",
    ]
    assert (first.query.text, second.query.text, third.query.text) == ("Left dog.", "dog closest to us", "the cat")
    assert (first.split, third.split, first.category, third.category) == ("train", "testA", "dog", "cat")
    assert {instance.clip for instance in listing.instances} == {"COCO_train2014_000000000007"}
    assert (first.others, third.others) == (("cat",), ("dog",)), "crowds and empty annotations are no others"
    (moment,) = first.moments
    assert moment.frame.is_file()
    assert moment.target is not None
    assert moment.others[0] is not None
    assert np.argwhere(read_mask(moment.target).mask)[:, 1].max() < 10
    assert np.argwhere(read_mask(moment.others[0]).mask)[:, 1].min() >= 12
    assert (third.moments[0].target, third.moments[0].others[0]) == (moment.others[0], moment.target)


def test_what_python_2_wrote(tmp_path: Path, options: ListOptions) -> None:
    text = (
        b"(lp0\n(dp1\nS'sent_ids'\np2\n(lp3\nI5\nasS'file_name'\np4\nS'COCO_train2014_000000000007_0.jpg'\np5\n"
        b"sS'ann_id'\np6\nI11\nsS'sentences'\np7\n(lp8\n(dp9\nS'tokens'\np10\n(lp11\nS'caf\\xc3\\xa9'\np12\nasS'raw'\n"
        b"p13\nVcaf\xe9\np14\nsS'sent_id'\np15\nL5L\nsS'sent'\np16\ng12\nsasS'split'\np17\nS'val'\np18\nsS'ref_id'\np19\n"
        b"I0\nsS'image_id'\np20\nI7\nsS'category_id'\np21\nI18\nsa."
    )
    folder = release(tmp_path / "refcoco")
    (folder / "refs(unc).p").write_bytes(text)
    (instance_,) = list_instances(folder, options).instances
    assert (instance_.query.text, instance_.split) == ("caf\u00e9", "val")


def test_as_items_every_ref_is_listed_once(tmp_path: Path, options: ListOptions) -> None:
    listing = list_items(release(tmp_path / "refcoco"), options)
    assert [item.id for item in listing.items] == ["COCO_train2014_000000000007/0", "COCO_train2014_000000000007/1"]
    assert [item.query.text for item in listing.items] == ["Left dog.", "the cat"]
    assert listing.items[0].extra["sentences"] == 2
    assert len(listing.items[0].others) == 1


def test_a_sentence_that_names_nothing(tmp_path: Path, options: ListOptions) -> None:
    refs = [ref(0, 11, "val", sentence(0, "left dog", exist=True), sentence(1, "green dog", exist=False))]
    true, absent = list_instances(release(tmp_path / "rrefcoco", refs), options).instances
    assert (true.absent, absent.absent) == (False, True)
    assert absent.moments[0].target is None
    assert absent.others == ("dog", "cat")
    assert not absent.category


def test_one_bad_ref_costs_itself(tmp_path: Path, options: ListOptions) -> None:
    refs = [
        "x",
        ref(1, 99, "train", sentence(0, "no annotation")),
        ref(2, 13, "train", sentence(1, "a crowd")),
        ref(3, 15, "train", sentence(2, "no segmentation")),
        ref(4, 14, "train", sentence(3, "no picture"), image=8),
        ref(5, 14, "train", sentence(4, "no picture again"), image=8),
        ref(6, 11, "train"),
        ref(7, 11, "train", {"sent_id": 6, "sent": " "}),
        {**ref(8, 11, "train", sentence(7, "odd id")), "ref_id": "8"},
        ref(9, 11, "train", sentence(8, "good")),
        ref(9, 12, "train", sentence(9, "the same id")),
    ]
    listing = list_instances(release(tmp_path / "refcoco", refs), options)
    assert [instance.query.text for instance in listing.instances] == ["good"]
    messages = [record.error for _, record in listing.errors]
    assert len(messages) == 8
    assert sum("there is no picture" in message for message in messages) == 1, "a missing picture is told once"
    assert "1 ref to a crowd region left out: a crowd is no single object" in listing.notes
    assert all(record.path and record.expected for _, record in listing.errors)


def test_one_bad_sentence_costs_itself(tmp_path: Path, options: ListOptions) -> None:
    sentences_ = [sentence(0, " "), "x", sentence(2, "good"), {**sentence(3, "odd id"), "sent_id": "3"}]
    refs = [{**ref(1, 11, "train"), "sentences": sentences_}]
    listing = list_instances(release(tmp_path / "refcoco", refs), options)
    assert [instance.query.text for instance in listing.instances] == ["good"]
    messages = [record.error.split(":")[0] for _, record in listing.errors]
    assert messages == ["ref 1, sentence 1", "ref 1, sentence 2", "ref 1, sentence 4"]


def test_which_refs_of_several(tmp_path: Path, options: ListOptions) -> None:
    folder = release(tmp_path / "refcocog", name="refs(google).p")
    release(folder, REFS[1:], name="refs(umd).p")
    listing = list_instances(folder, options)
    assert [instance.query.text for instance in listing.instances] == ["the cat"]
    assert "refs(google).p" in listing.notes[0]
    named_listing = list_instances(folder / "refs(google).p", options)
    assert len(named_listing.instances) == 3
    assert named_listing.notes == ("3 sentences: train 2, testA 1",)


def test_what_cannot_be_read_at_all(tmp_path: Path, options: ListOptions) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (print, ("executed",))

    folder = release(tmp_path / "refcoco")
    with pytest.raises(UsageError, match="--images"):
        list_instances(folder)
    with pytest.raises(UsageError, match="names no folder"):
        list_instances(folder, ListOptions(images=tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="--text"):
        list_instances(folder, ListOptions(images=options.images, text="x"))
    (folder / "refs(unc).p").write_bytes(pickle.dumps([Evil()]))
    with pytest.raises(NothingToDo, match="no plain value"):
        list_instances(folder, options)
    (folder / "refs(unc).p").write_bytes(pickle.dumps({"refs": 1}))
    with pytest.raises(NothingToDo, match="an object"):
        list_instances(folder, options)
    (folder / "refs(unc).p").write_bytes(pickle.dumps(REFS, protocol=2)[:200])
    with pytest.raises(NothingToDo, match="in the middle"):
        list_instances(folder, options)
    release(folder)
    (folder / "instances.json").rename(tmp_path / "elsewhere.json")
    assert list_instances(folder, replace(options, instances=tmp_path / "elsewhere.json")).instances
    with pytest.raises(NothingToDo, match="does not exist") as error:
        list_instances(folder, options)
    assert error.value.path == str(folder / "instances.json")
    (folder / "instances.json").write_text("[]")
    with pytest.raises(NothingToDo, match="a list"):
        list_instances(folder, options)
