"""MQ-RAVSBench: files as released are read, and what we write is read as what it was."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auscult.cases.datasets.mqravs import ACTION_WORDS, file_name, files_of, response
from auscult.cases.datasets.refavs import MetadataRow
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import read_mask, write_mask
from auscult.suites.mqa.rows import candidates_of

UID = "v_0_10_dog_1"


def mask(name: str, iou: float | None = None, **fields: Any) -> dict[str, Any]:
    return {"mask_path": f"masks/{name}.png"} | ({} if iou is None else {"iou_to_gt": iou}) | fields


def groups(frame: str = "", **fields: Any) -> dict[str, Any]:
    return {
        "gt_mask_path": mask(f"gt{frame}", 1.0),
        "part_neg_masks": {
            "cutout": [
                mask(f"c1{frame}", 0.87, rank=1, action="Minor Revision"),
                mask(f"c2{frame}", 0.77, rank=2, action="Major Revision"),
            ],
            "erode": [mask(f"e1{frame}", 0.88, rank=1, action="minor_revision", seconds=3)],
            "dilate": [],
            "merge": [
                mask(f"m1{frame}", 0.93, rank=1, action="minor"),
                mask(f"m2{frame}", 0.4, rank=2, action="Reject", negative="a man"),
            ],
        },
        "full_neg_masks": [mask(f"n1{frame}", 0.0, rank=1)],
        "null_masks": [mask(f"0{frame}", 0.0, action="reject")],
        **fields,
    }


TRAIN = {
    "v_0_10_dog_1": {
        "gt_mask_path": mask("gt", 1.0, response="<audit> fine <iou_token> </audit>"),
        "part_neg_masks": {
            "cutout": [mask("c1", 0.87, rank=1, action="minor revision", response="<audit> hole </audit>")]
        },
        "full_neg_masks": [],
    }
}
IMAGE = [
    {"uid": UID, "vid": "v_0_10", "exp": "The dog.", "kfid": 4, "image_path": "media/v_0_10/frames/4.jpg", **groups()}
]
VIDEO = [
    {
        "uid": UID,
        "vid": "v_0_10",
        "exp": "The dog.",
        "kfid": 4,
        "fps": 1,
        "frames": [
            {"frame": n, "image_path": f"media/v_0_10/frames/{n}.jpg", **groups(f"_{n}", note="x")} for n in range(2)
        ],
    }
]
TABLE = 'vid,uid,split,fid,exp,kfid\nv_0_10,v_0_10_dog_1,{split},2,"The dog, again.",5\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "MQ-RAVSBench"
    (root / "train_test_meta_files").mkdir(parents=True)
    return root


def write_document(root: Path, name: str, value: Any, *, split: str = "test_s") -> Path:
    (root / "train_test_meta_files/metadata.csv").write_text(TABLE.format(split=split))
    path = root / "train_test_meta_files" / name
    path.write_text(json.dumps(value))
    return path


def test_the_image_file(root: Path) -> None:
    write_document(root, "test_s_image_filtered.json", IMAGE)
    listing = list_items(root)
    assert (listing.layout, listing.errors) == ("datasets.mqravs.v1", ())
    truths_listed = [
        (item.id.rpartition("/")[2], item.truth.defect, item.truth.difficulty, item.truth.action, item.truth.iou)
        for item in listing.items
        if item.truth is not None
    ]
    assert truths_listed == [
        ("perfect", "perfect", None, "accept", 1.0),
        ("cutout_hard", "cutout", "hard", "minor_revision", 0.87),
        ("cutout_medium", "cutout", "medium", "major_revision", 0.77),
        ("erode_hard", "erode", "hard", "minor_revision", 0.88),
        ("merge_1", "merge", "hard", "minor_revision", 0.93),
        ("merge_2", "merge", "easy", "reject", 0.4),
        ("full_neg_1", "full_neg", None, "reject", 0.0),
        ("empty_1", "empty", None, "reject", 0.0),
    ]
    item = listing.items[3]
    assert item.id == f"test_s/image/{UID}/00005/erode_hard"
    assert item.frame == root / "media/v_0_10/frames/4.jpg"
    assert item.mask.path == root / "masks/e1.png"
    assert item.truth is not None
    assert item.truth.mask is not None
    assert item.truth.mask.path == root / "masks/gt.png"
    assert (item.query.text, item.clip, item.time_s) == ("The dog, again.", "v_0_10", 5.0), "the table goes first"
    assert item.extra["mqa"] == {
        "uid": UID, "vid": "v_0_10", "split": "test_s", "protocol": "image", "frame": 5, "rank": 1,
        "track": "erode_hard", "category": "dog", "template": "attribute",
    }  # fmt: skip
    assert item.extra["mqravs"] == {"seconds": 3}
    assert listing.items[5].extra["mqravs"] == {"negative": "a man"}


def test_the_suite_takes_the_released_files(root: Path) -> None:
    write_document(root, "test_s_image_filtered.json", IMAGE)
    write_document(root, "test_u_video_filtered.json", VIDEO)
    candidates, errors = candidates_of(list_items(root).items)
    assert not errors
    assert Counter(candidate.protocol for candidate in candidates) == {"image": 8, "video": 16}
    assert {candidate.split for candidate in candidates} == {"test_s", "test_u"}
    tracks = Counter(candidate.track for candidate in candidates if candidate.protocol == "video")
    assert set(tracks.values()) == {2}
    assert f"{UID}/merge_2" in tracks


def test_the_video_file(root: Path) -> None:
    write_document(root, "test_u_video_filtered.json", VIDEO)
    listing = list_items(root)
    assert not listing.errors
    assert [item.id for item in listing.items if item.id.endswith("perfect")] == [
        f"test_u/video/{UID}/00000/perfect",
        f"test_u/video/{UID}/00001/perfect",
    ]
    assert listing.items[-1].frame == root / "media/v_0_10/frames/1.jpg"
    assert listing.items[0].extra["mqravs"] == {"fps": 1, "note": "x"}


def test_the_training_file(root: Path) -> None:
    write_document(root, "train_audit_only_filtered.json", TRAIN, split="train")
    listing = list_items(root)
    assert [item.id for item in listing.items] == [
        f"train/image/{UID}/00005/perfect",
        f"train/image/{UID}/00005/cutout_hard",
    ]
    assert {item.frame for item in listing.items} == {root / "media/v_0_10/frames/5.jpg"}
    assert listing.items[1].extra["response"] == "<audit> hole </audit>"
    (root / "train_test_meta_files/metadata.csv").unlink()
    without_key_frame = list_items(root)
    assert not without_key_frame.items
    assert "key frame is not known" in without_key_frame.errors[0][1].error
    assert "no metadata.csv" in without_key_frame.notes[0]


@pytest.mark.parametrize(
    ("name", "value", "masks"),
    [
        ("test_s_image_filtered.json", {UID: IMAGE[0]}, 8),
        (
            "test_s_image_filtered.json",
            [{"uid": "a_b_1", "kfid": 1, "gt_mask_path": "gt.png", "part_neg_masks": {}, "null_masks": []}],
            1,
        ),
        ("test_s_image_filtered.json", [{"uid": "a_b_1", "gt_mask_path": {}, "kfid": 1, "exp": None}], 0),
        ("test_s_image_filtered.json", [{"uid": "a_b_1", "kfid": 1, "full_neg_masks": [mask("x", 0.0, rank=None)]}], 1),
    ],
)
def test_other_ways_of_writing_an_entry_are_read(name: str, value: Any, masks: int, root: Path) -> None:
    write_document(root, "test_u_image_filtered.json", IMAGE)
    write_document(root, name, value)
    listing = list_items(root)
    assert not listing.errors
    assert len(listing.items) == 8 + masks


@pytest.mark.parametrize(
    "source_path", ["", "train_test_meta_files", "train_test_meta_files/test_s_image_filtered.json"]
)
def test_input_may_be_the_root_the_folder_or_a_file(source_path: str, root: Path) -> None:
    write_document(root, "test_s_image_filtered.json", IMAGE)
    write_document(root, "notes.json", {})
    listing = list_items(root / source_path, ListOptions())
    assert len(listing.items) == 8
    assert {item.mask.path.parent for item in listing.items if item.mask.path} == {root / "masks"}
    with pytest.raises(UsageError, match="--root"):
        list_items(root / source_path, ListOptions(root=root / "train_test_meta_files"))


def test_one_bad_entry_costs_itself(root: Path) -> None:
    bad: list[Any] = [
        7,
        {"vid": "no uid"},
        {"uid": "../x"},
        {"uid": "a_dog_1", "kfid": "four"},
        {"uid": "b_dog_1", "kfid": 1, "gt_mask_path": {"iou_to_gt": 1}},
        {"uid": "c_dog_1", "kfid": 1, "part_neg_masks": {"swirl": [mask("s", 0.5)]}},
        {"uid": "d_dog_1", "kfid": 1, "part_neg_masks": {"cutout": [mask("s", 1.5)]}},
        {"uid": "e_dog_1", "kfid": 1, "part_neg_masks": {"cutout": [mask("s", 0.8, action="shrug")]}},
        {"uid": "f_dog_1", "kfid": 1, "gt_mask_path": "../../out.png"},
        {"uid": "g_dog_1", "kfid": 1, "gt_mask_path": "/etc/passwd"},
        {"uid": "h_dog_1", "kfid": 1, "image_path": "/etc/x.jpg", "gt_mask_path": "gt.png"},
        {"uid": "i_dog_1", "kfid": 1, "full_neg_masks": {"a": 1}},
        {"uid": "j_dog_1", "gt_mask_path": "gt.png"},
        {"uid": "k_dog_1", "part_neg_masks": {"null": [mask("s")]}},
    ]
    path = write_document(root, "test_s_image_filtered.json", [*bad, *IMAGE])
    listing = list_items(root)
    assert len(listing.items) == 8
    assert len(listing.errors) == len(bad)
    for _, record in listing.errors:
        assert record.path == str(path)
        assert record.expected
    write_document(root, "test_s_image_filtered.json", 3)
    with pytest.raises(NothingToDo, match="a number"):
        list_items(root)


def benchmark_rows() -> list[dict[str, Any]]:
    """Lines of an items.jsonl as the suite writes them."""
    rows_made = []
    kinds: list[tuple[str, str, float, int, str]] = [
        ("perfect", "perfect", 1.0, 1, "accept"),
        ("cutout_hard", "cutout", 0.871234567, 1, "minor_revision"),
        ("dilate_medium", "dilate", 0.76, 2, "major_revision"),
        ("merge_1", "merge", 0.31, 1, "reject"),
        ("full_neg_1", "full_neg", 0.0, 1, "reject"),
        ("empty_1", "empty", 0.0, 1, "reject"),
    ]
    for split, protocol, frames in (("train", "image", [4]), ("test_s", "image", [4]), ("test_s", "video", [0, 1])):
        for frame in frames:
            for track, defect, iou, rank, action in kinds:
                uid = f"{split}v_dog_1"
                rows_made.append(
                    {
                        "id": f"{protocol}/{uid}/{track}/{frame}",
                        "frame": f"frames/{split}v/{frame}.jpg",
                        "mask": f"masks/{uid}/{protocol}/{track}/{frame:05d}.png",
                        "text": "The loudest dog, left.",
                        "truth": {"iou": iou, "defect": defect, "action": action, "difficulty": None},
                        "mqa": {
                            "uid": uid, "vid": f"{split}v", "split": split, "protocol": protocol, "frame": frame,
                            "rank": rank, "track": track, "category": "dog", "template": "loudness", "area": 0.1,
                        },
                    }
                )  # fmt: skip
    return rows_made


def test_what_we_write_is_read_as_what_it_was(root: Path) -> None:
    rows = benchmark_rows()
    files = files_of(rows, [MetadataRow(vid="trainv", uid="trainv_dog_1", split="train", fid=3, exp="x")])
    assert set(files) == {
        "train_test_meta_files/metadata.csv",
        "train_test_meta_files/train_audit_only_filtered.json",
        "train_test_meta_files/test_s_image_filtered.json",
        "train_test_meta_files/test_s_video_filtered.json",
    }
    assert files["train_test_meta_files/metadata.csv"].decode() == (
        "vid,uid,split,fid,exp,kfid\n"
        'trainv,trainv_dog_1,train,3,"The loudest dog, left.",4\n'
        'test_sv,test_sv_dog_1,test_s,0,"The loudest dog, left.",4\n'
    )
    for name, content in files.items():
        (root / name).write_bytes(content)
    for row in rows:
        write_frame(root / row["frame"], np.zeros((6, 8, 3), np.uint8))
        write_mask(root / row["mask"], np.full((6, 8), row["truth"]["defect"] != "empty"))
    listing = list_items(root / "train_test_meta_files")
    assert not listing.errors
    key = ("protocol", "uid", "frame", "track")
    given_rows = {tuple(row["mqa"][name] for name in key): row for row in rows}
    assert len(listing.items) == len(rows) == len(given_rows)
    for item in listing.items:
        row = given_rows[tuple(item.extra["mqa"][name] for name in key)]
        assert item.truth is not None
        assert {**row["mqa"], **item.extra["mqa"]} == row["mqa"]
        assert item.frame == root / row["frame"]
        assert item.mask.path == root / row["mask"]
        assert item.query.text == row["text"]
        assert (item.truth.iou, item.truth.defect, item.truth.action) == (
            row["truth"]["iou"], row["truth"]["defect"], row["truth"]["action"]
        )  # fmt: skip
        assert read_mask(item.mask).mask.any() == (item.truth.defect != "empty")
        answer = item.extra.get("response")
        assert (answer is not None) == (item.extra["mqa"]["split"] == "train")


def test_the_release_s_own_way_of_reading_our_files() -> None:
    """What the released loader asks for is there: six columns, and in training an answer for each mask."""
    files = files_of(benchmark_rows())
    train = json.loads(files[file_name("train", "image")])["trainv_dog_1"]
    assert train["gt_mask_path"].keys() >= {"mask_path", "response", "iou_to_gt"}
    parts = [mask_row for masks in train["part_neg_masks"].values() for mask_row in masks]
    for mask_row in (*parts, *train["full_neg_masks"], *train["null_masks"]):
        assert mask_row.keys() >= {"mask_path", "response", "iou_to_gt", "rank", "action"}
    image = json.loads(files[file_name("test_s", "image")])[0]
    assert image.keys() >= {
        "uid",
        "vid",
        "exp",
        "kfid",
        "image_path",
        "gt_mask_path",
        "part_neg_masks",
        "full_neg_masks",
    }
    video = json.loads(files[file_name("test_s", "video")])[0]
    assert [frame["frame"] for frame in video["frames"]] == [0, 1]
    assert "response" not in json.dumps([image, video])


def test_an_answer_has_the_release_s_tags_and_four_decimals() -> None:
    for action, word in ACTION_WORDS.items():
        text = response("merge", action, iou=0.123456, target="dog", other="a man")
        assert re.search(r"<iou> 0\.1235 </iou>", text)
        assert re.search(r"<mask_type> merge </mask_type>", text)
        assert re.search(rf"<action> {word} </action>", text)
        assert text.startswith("<audit> ")
        assert text.endswith(" </audit>")
        assert "dog" in text
    assert "<mask_type> null </mask_type>" in response("empty", "reject", iou=0.0, kind="null")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MASK = st.fixed_dictionaries(
    {"mask_path": st.text(alphabet="abc/.", min_size=1, max_size=6)},
    optional={
        "iou_to_gt": st.floats(0, 1),
        "rank": st.integers(0, 4),
        "action": st.sampled_from(["accept", "Reject"]),
        "more": JSON,
    },
)
ENTRY = st.fixed_dictionaries(
    {"uid": st.sampled_from(["a_dog_1", "b_cat_2"])},
    optional={
        "kfid": st.integers(0, 9) | JSON,
        "exp": st.text(max_size=5) | JSON,
        "gt_mask_path": MASK | JSON,
        "part_neg_masks": st.dictionaries(st.sampled_from(["cutout", "merge", "x"]), st.lists(MASK, max_size=2)) | JSON,
        "full_neg_masks": st.lists(MASK, max_size=2) | JSON,
        "null_masks": st.lists(MASK, max_size=1),
        "other": JSON,
    },
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ENTRY | JSON, max_size=3))
def test_any_json_is_survived(tmp_path: Path, rows: list[Any]) -> None:
    path = tmp_path / "test_s_image_filtered.json"
    path.write_text(json.dumps(rows))
    try:
        listing = list_items(path)
    except NothingToDo:
        return
    for item in listing.items:
        assert item.mask.path is not None
        assert item.mask.path.resolve().is_relative_to(tmp_path.resolve())
