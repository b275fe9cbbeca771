"""YouTube-VOS and Ref-YouTube-VOS on small trees of the released structure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auscult.cases.datasets import ytvos
from auscult.cases.datasets.ytvos import DATASET
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import AuscultError, NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import read_mask, write_labels
from auscult.types import Instance, MaskRef

SIZE = (10, 24)
EVERY_FIFTH = ("00000", "00005", "00010", "00015")


def labels(*indices: int) -> np.ndarray:
    """Object k is the column 2 k."""
    label_map = np.zeros(SIZE, np.uint8)
    for index in indices:
        label_map[2:8, 2 * index : 2 * index + 2] = index
    return label_map


class Tree:
    """Writes a split: frames, masks, and what is told of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects: dict[str, Any] = {}
        self.expressions: dict[str, Any] = {}

    def frames(self, video: str, *stems: str) -> Tree:
        for stem in stems or EVERY_FIFTH:
            write_frame(self.folder / f"JPEGImages/{video}/{stem}.jpg", np.full((*SIZE, 3), 80, np.uint8))
        return self

    def mask(self, video: str, stem: str, *indices: int) -> Tree:
        write_labels(self.folder / f"Annotations/{video}/{stem}.png", labels(*indices))
        return self

    def thing(self, video: str, key: str, category: Any, frames: Any = EVERY_FIFTH) -> Tree:
        video_row = self.objects.setdefault(video, {"objects": {}})
        video_row["objects"][key] = {"category": category, "frames": list(frames)}
        return self.write("meta.json", self.objects)

    def ask(self, video: str, *rows: dict[str, Any], frames: Any = EVERY_FIFTH, file: Path | None = None) -> Tree:
        entries = {str(place): row for place, row in enumerate(rows)}
        self.expressions[video] = {"expressions": entries, "frames": list(frames)}
        return self.write("meta_expressions.json", self.expressions, file=file)

    def write(self, name: str, videos: Any, *, file: Path | None = None) -> Tree:
        path = file or self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"videos": videos}))
        return self


@pytest.fixture
def split(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "YTVOS" / "valid")


def problems_of(listing: InstanceListing) -> list[tuple[str, str]]:
    return [(record.stage, record.error) for _, record in listing.errors]


def columns(ref: MaskRef | None) -> int | None:
    """The left column of a mask; -1 for an empty one."""
    if ref is None:
        return None
    positions = np.argwhere(read_mask(ref, size=SIZE).mask)
    return int(positions[:, 1].min()) if len(positions) else -1


def targets(instance_: Instance) -> list[int | None]:
    return [columns(moment.target) for moment in instance_.moments]


def annotated(split: Tree) -> Tree:
    """A video with all masks: a bear throughout, a bird from the second annotated frame, gone in the fourth."""
    split.frames("v1", *EVERY_FIFTH, "00007")
    for stem, indices in zip(EVERY_FIFTH, ((1,), (1, 2), (1, 2), (1,)), strict=True):
        split.mask("v1", stem, *indices)
    return split.thing("v1", "1", "bear").thing("v1", "2", "bird", EVERY_FIFTH[1:3])


def test_every_object_from_its_first_frame_on(split: Tree) -> None:
    listing = list_instances(annotated(split).folder)
    assert listing.layout == "datasets.ytvos.v1"
    assert not listing.errors
    bear, bird = listing.instances
    assert (bear.id, bear.clip, bear.category, bear.others, bear.query.text) == ("v1/1", "v1", "bear", ("bird",), None)
    assert [moment.frame.stem for moment in bear.moments] == ["00000", "00005", "00007", "00010", "00015"]
    assert targets(bear) == [2, 2, None, 2, 2]
    assert [columns(moment.others[0]) for moment in bear.moments] == [-1, 4, None, 4, -1]
    assert [moment.frame.stem for moment in bird.moments] == ["00005", "00007", "00010", "00015"]
    assert targets(bird) == [4, None, 4, -1], "annotated and not drawn: out of the picture"
    assert [moment.time_s for moment in bear.moments] == [0, 5 / 30, 7 / 30, 10 / 30, 0.5]
    assert (bear.split, bear.source) == ("", split.folder / "meta.json")
    assert listing.notes == (
        "2 objects of 1 video",
        "seen and unseen categories are not told apart: no train/meta.json, no unseen_categories.txt",
    )


def test_of_first_masks_only_a_file_is_truth_for_what_it_draws(split: Tree) -> None:
    split.frames("v1").mask("v1", "00000", 1).mask("v1", "00010", 2)
    split.thing("v1", "1", "bear").thing("v1", "2", "bird", EVERY_FIFTH[2:])
    listing = list_instances(split.folder)
    assert not listing.errors, "the release keeps the other masks to itself"
    bear, bird = listing.instances
    assert targets(bear) == [2, None, None, None], "the file at 00010 draws new objects only"
    assert targets(bird) == [4, None]
    assert [columns(moment.others[0]) for moment in bird.moments] == [None, None]
    assert listing.notes[-1] == "2 objects without a mask after the first: there is nothing to score there"


@pytest.mark.parametrize("inside", [True, False], ids=["root", "split"])
def test_unseen_is_what_no_training_video_shows(split: Tree, inside: bool) -> None:
    annotated(split)
    Tree(split.folder.parent / "train").frames("t").mask("t", "00000", 1).thing("t", "1", "Bear")
    listing = list_instances(split.folder.parent if inside else split.folder)
    assert {instance.category: instance.split for instance in listing.instances} == {"bear": "seen", "bird": "unseen"}
    assert "by train/meta.json 1 are of seen, 1 of unseen categories" in listing.notes
    assert ("valid was read; name a folder to read train instead" in listing.notes) == inside
    trained = list_instances(split.folder.parent / "train")
    assert [instance.split for instance in trained.instances] == [""], "nothing is unseen in training"


def test_a_list_of_unseen_categories_goes_first(split: Tree) -> None:
    annotated(split)
    (split.folder / "unseen_categories.txt").write_text("\ufeffBear\n\nearless_seal\n", encoding="utf-8")
    Tree(split.folder.parent / "train").frames("t").mask("t", "00000", 1).thing("t", "1", "bear")
    listing = list_instances(split.folder)
    assert [instance.split for instance in listing.instances] == ["unseen", "seen"]
    (split.folder / "unseen_categories.txt").write_bytes(b"\xff\xfe\x00b")
    listing = list_instances(split.folder)
    assert [instance.split for instance in listing.instances] == ["", ""]
    assert problems_of(listing) == [("texts", "the list is not UTF-8")]


def test_every_expression_over_the_frames_it_names(split: Tree) -> None:
    root = split.folder.parent
    train = annotated(Tree(root / "train"))
    file = root / "meta_expressions/train/meta_expressions.json"
    rows = {"exp": " a bear ", "obj_id": "1"}, {"exp": "the bird on the left", "obj_id": 2}
    train.ask("v1", *rows, frames=EVERY_FIFTH[::-1], file=file)
    split.frames("v9").ask(
        "v9", {"exp": "a dog"}, {"exp": "a cat"}, file=root / "meta_expressions/valid/meta_expressions.json"
    )
    listing = list_instances(root)
    assert listing.layout == "datasets.ytvos.v1"
    assert not listing.errors
    bear, bird = listing.instances
    assert (bear.id, bear.query.text, bear.split, bear.category) == ("v1/0", "a bear", "train", "bear")
    assert (bird.id, bird.query.text, bird.template, bird.others) == (
        "v1/1",
        "the bird on the left",
        "position",
        ("bear",),
    )
    assert [moment.frame.stem for moment in bird.moments] == list(EVERY_FIFTH), "the frames listed, in order of time"
    assert targets(bird) == [-1, 4, 4, -1]
    assert bird.source == file
    assert listing.notes == (
        "train: 2 expressions",
        "valid: 2 expressions without obj_id left out: the release keeps the truth, nothing to score there",
    )


def test_a_split_without_truth_holds_nothing_to_score(split: Tree) -> None:
    split.frames("v").ask("v", {"exp": "a dog"})
    with pytest.raises(NothingToDo, match="no object with a true mask") as error:
        list_instances(split.folder)
    assert "nothing to score there" in error.value.hint
    split.ask("v", {"exp": "a dog", "obj_id": "1"})
    with pytest.raises(NothingToDo) as error:
        list_instances(split.folder)
    assert "1 expression of videos without annotations left out: nothing to score" in error.value.hint


def test_expressions_of_a_tree_without_meta_json_are_checked_by_the_masks(split: Tree) -> None:
    split.frames("v").ask("v", {"exp": "a", "obj_id": "2"}, {"exp": "b", "obj_id": "1"}, {"exp": "c", "obj_id": "7"})
    for stem in EVERY_FIFTH:
        split.mask("v", stem, 1, 2)
    listing = list_instances(split.folder)
    assert [(instance.id, targets(instance)[0], instance.category) for instance in listing.instances] == [
        ("v/0", 4, ""),
        ("v/1", 2, ""),
    ]
    assert problems_of(listing) == [("read", "video 'v', expression '2': obj_id 7 is no object of the video")]


def test_obj_id_that_meta_json_does_not_know(split: Tree) -> None:
    annotated(split).ask("v1", {"exp": "a", "obj_id": "3"}, {"exp": "b", "obj_id": "2"})
    listing = list_instances(split.folder)
    assert [instance.id for instance in listing.instances] == ["v1/1"]
    ((_, record),) = listing.errors
    assert (record.error, record.expected) == (
        "video 'v1', expression '0': obj_id 3 is no object of the video",
        "one of: 1, 2",
    )
    assert record.path == str(split.folder / "meta_expressions.json")


def test_what_is_missing_is_told_once_a_clip(split: Tree) -> None:
    stems = [f"{5 * place:05d}" for place in range(20)]
    for video in ("a", "b", "c"):
        split.thing(video, "1", "bear", stems).thing(video, "2", "bird", stems)
        split.frames(video, *(stem for stem in stems if (video, stem) != ("a", "00010") and video != "b"))
        for stem in stems:
            if (video, stem) != ("a", "00020"):
                split.mask(video, stem, 1, 2)
    (split.folder / "JPEGImages/b").mkdir(parents=True, exist_ok=True)
    for path in (split.folder / "JPEGImages/b").iterdir():
        path.unlink()
    listing = list_instances(split.folder)
    assert [instance.id for instance in listing.instances] == ["a/1", "a/2", "c/1", "c/2"]
    assert listing.instances[0].moments[3].target is None, "one missing mask does not make the others unknown"
    assert columns(listing.instances[0].moments[4].target) == 2
    assert problems_of(listing) == [
        ("frames", "1 frame is missing: '00010.jpg'"),
        ("truth", "1 of 20 masks is missing: '00020.png'"),
        ("read", "20 frames are missing: '00000.jpg', '00005.jpg', '00010.jpg', ..."),
    ]


def test_an_object_without_any_mask_costs_itself(split: Tree) -> None:
    split.frames("v").mask("v", "00000", 1).thing("v", "1", "bear").thing("v", "2", "bird", EVERY_FIFTH[1:])
    listing = list_instances(split.folder)
    assert [instance.id for instance in listing.instances] == ["v/1"]
    assert problems_of(listing) == [("read", "1 mask is missing: 'object 2'")]


BAD_THINGS = {
    "video name a path": ({"../x": {"objects": {}}}, "video '../x': the name '../x' is no name of a file or folder"),
    "video a list": ({"v": []}, "video 'v': it is a list"),
    "no objects": ({"v": {}}, "video 'v': 'objects' is null"),
    "objects a list": ({"v": {"objects": [1]}}, "video 'v': 'objects' is a list"),
    "object a text": ({"v": {"objects": {"1": "x"}}}, "video 'v', objects '1': it is a text"),
    "index 0": ({"v": {"objects": {"0": {}}}}, "video 'v', object '0': the object is '0'"),
    "index void": ({"v": {"objects": {"255": {}}}}, "video 'v', object '255': the object is '255'"),
    "index a word": ({"v": {"objects": {"dog": {}}}}, "video 'v', object 'dog': the object is 'dog'"),
    "index twice": (
        {"v": {"objects": {"1": {}, "01": {}}}},
        "video 'v', object '01': the object 1 is there twice",
    ),
    "category a number": ({"v": {"objects": {"1": {"category": 3}}}}, "'category' is a number (3)"),
    "frames a text": ({"v": {"objects": {"1": {"frames": "0"}}}}, "'frames' is a text ('0')"),
    "frame a path": ({"v": {"objects": {"1": {"frames": ["../../x"]}}}}, "the name '../../x' is no name"),
}


@pytest.mark.parametrize("name", BAD_THINGS)
def test_a_bad_object_costs_itself(split: Tree, name: str) -> None:
    bad, message = BAD_THINGS[name]
    annotated(split).write("meta.json", {**split.objects, **bad})
    listing = list_instances(split.folder)
    assert [instance.id for instance in listing.instances if instance.clip == "v1"] == ["v1/1", "v1/2"]
    assert any(message in record.error for _, record in listing.errors), problems_of(listing)
    assert {record.path for _, record in listing.errors if message in record.error} == {str(split.folder / "meta.json")}


BAD_SENTENCES = {
    "no sentence": ({"obj_id": "1"}, "there is no 'exp'"),
    "blank": ({"exp": "  ", "obj_id": "1"}, "'exp' is empty"),
    "a number": ({"exp": 3, "obj_id": "1"}, "'exp' is a number (3)"),
    "a NUL": ({"exp": "a\0b", "obj_id": "1"}, "'exp' holds a NUL"),
    "object a list": ({"exp": "a", "obj_id": [1]}, "the object is a list"),
    "object true": ({"exp": "a", "obj_id": True}, "the object is 'True'"),
    "a list": ([], "it is a list"),
}


@pytest.mark.parametrize("name", BAD_SENTENCES)
def test_a_bad_expression_costs_itself(split: Tree, name: str) -> None:
    bad, message = BAD_SENTENCES[name]
    annotated(split).ask("v1", {"exp": "the bear", "obj_id": "1"}, bad)
    listing = list_instances(split.folder)
    assert [instance.id for instance in listing.instances] == ["v1/0"]
    ((_, record),) = listing.errors
    assert message in record.error
    assert "expression" in record.error
    assert "'1'" in record.error


BROKEN = {
    "cut": b"{",
    "a list": b"[]",
    "no videos": b'{"videos": []}',
    "no UTF-8": b"\xff",
    "NaN": b"NaN",
    "deep": b"[" * 100_000,
    "empty": b"",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_meta_json(split: Tree, name: str) -> None:
    content = BROKEN[name]
    annotated(split)
    (split.folder / "meta.json").write_bytes(content)
    with pytest.raises(NothingToDo) as error:
        list_instances(split.folder)
    assert error.value.path == str(split.folder / "meta.json")


def test_a_huge_file_is_not_read(split: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    annotated(split)
    monkeypatch.setattr(ytvos, "MAX_FILE_BYTES", 100)
    with pytest.raises(NothingToDo, match="bytes or more"):
        list_instances(split.folder)


def test_links_that_lead_out(split: Tree, tmp_path: Path) -> None:
    annotated(split).thing("v2", "1", "bear")
    outside = tmp_path / "outside"
    (split.folder / "JPEGImages/v1").rename(outside)
    (split.folder / "JPEGImages/v2").symlink_to(outside)
    listing = list_instances(split.folder)
    assert not any(instance.clip == "v2" for instance in listing.instances)
    assert any("leaves the folder through a symbolic link" in error for _, error in problems_of(listing))
    (split.folder / "Annotations").rename(tmp_path / "away")
    (split.folder / "Annotations").symlink_to(tmp_path / "away")
    with pytest.raises(UsageError, match="leads out of the input"):
        list_instances(split.folder)
    inside = list_instances(split.folder, ListOptions(root=tmp_path))
    assert [instance.id for instance in inside.instances] == [], "v1 has no frames any more, v2 no masks"


def test_links_within_the_root_are_followed(split: Tree) -> None:
    annotated(split)
    shared = split.folder.parent / "frames"
    (split.folder / "JPEGImages").rename(shared)
    (split.folder / "JPEGImages").symlink_to(shared)
    listing = list_instances(split.folder, ListOptions(root=split.folder.parent))
    assert [instance.id for instance in listing.instances] == ["v1/1", "v1/2"]
    assert not listing.errors


def test_one_video_in_two_splits_is_kept_once(split: Tree) -> None:
    root = split.folder.parent
    for name in ("test", "train"):
        tree = annotated(Tree(root / name))
        tree.ask("v1", {"exp": name, "obj_id": "1"}, file=root / f"meta_expressions/{name}/meta_expressions.json")
    listing = list_instances(root)
    assert [(instance.id, instance.query.text) for instance in listing.instances] == [("v1/0", "test")]
    assert problems_of(listing) == [("read", "the id 'v1/0' is used twice; the first is kept")]


def test_as_items_every_drawn_object_of_every_annotated_frame(split: Tree) -> None:
    annotated(split).ask("v1", {"exp": "the bear", "obj_id": "1"}, {"exp": "once more", "obj_id": "1"})
    listing = DATASET.list(split.folder, ListOptions())
    assert listing.layout == "datasets.ytvos.v1"
    assert not listing.errors
    assert [item.id for item in listing.items] == [
        "v1/00000#1", "v1/00005#1", "v1/00005#2", "v1/00010#1", "v1/00010#2", "v1/00015#1"
    ]  # fmt: skip
    assert {(item.mask.index, item.query.text) for item in listing.items} == {(1, "the bear"), (2, None)}
    assert [item.id for item in list_items(split.folder).items] == [item.id for item in listing.items]


def test_a_file_that_is_a_link_out(split: Tree, tmp_path: Path) -> None:
    annotated(split)
    source, file = split.folder, split.folder / "meta.json"
    file.rename(tmp_path / "private")
    file.symlink_to(tmp_path / "private")
    with pytest.raises(UsageError, match="leads out of the input") as error:
        list_instances(source)
    assert error.value.path == str(file)


def test_which_trees_are_its_own(split: Tree) -> None:
    plain = ListOptions()
    split.frames("v").mask("v", "00000", 1)
    assert not DATASET.recognises(split.folder, plain), "a plain DAVIS tree"
    assert list_instances(split.folder).layout == "datasets.davis.v1"
    split.thing("v", "1", "bear")
    assert DATASET.recognises(split.folder, plain)
    assert DATASET.recognises(split.folder.parent, plain)
    assert not DATASET.recognises(split.folder, ListOptions(masks=Path("pred")))
    assert not DATASET.recognises(split.folder / "meta.json", plain)
    (split.folder / "items.jsonl").write_text("{}")
    assert not DATASET.recognises(split.folder, plain)


@pytest.mark.parametrize("option", ["frames", "images", "instances"])
def test_options_of_other_layouts_are_refused(split: Tree, option: str) -> None:
    annotated(split)
    with pytest.raises(UsageError, match=f"--{option} does not fit"):
        DATASET.instances(split.folder, ListOptions(**{option: split.folder}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["../a", "1", "v", "00000"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["v", "1", "exp", "obj_id", "frames"]), inner)
    ),
    max_leaves=8,
)
ROW = st.fixed_dictionaries({}, optional={"exp": JSON, "obj_id": JSON, "category": JSON, "frames": JSON})
ROWS = st.dictionaries(st.sampled_from(["1", "2", "0", "x", "../y"]), ROW | JSON, max_size=3)
VIDEO = st.fixed_dictionaries({}, optional={"objects": ROWS | JSON, "expressions": ROWS | JSON, "frames": JSON})


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["v", "w", "../v"]), VIDEO | JSON, max_size=2), st.booleans())
def test_any_json_is_survived(split: Tree, videos: Any, asked: bool) -> None:
    (split.folder / "meta_expressions.json").unlink(missing_ok=True)
    (split.folder / "meta.json").unlink(missing_ok=True)
    if not (split.folder / "JPEGImages/v").is_dir():
        split.frames("v", "00000").mask("v", "00000", 1)
    split.write("meta_expressions.json" if asked else "meta.json", videos)
    try:
        listing = list_instances(split.folder)
    except AuscultError as error:
        str(error).encode()
        return
    assert len({instance.id for instance in listing.instances}) == len(listing.instances)
    for instance in listing.instances:
        assert instance.moments
        assert split.folder in instance.moments[0].frame.parents
    for _, record in listing.errors:
        assert record.path
        f"{record.error}{record.expected}{record.hint}".encode()
