"""Ref-DAVIS on small trees of the released structure, and the project's sentences on real DAVIS."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auscult.cases.datasets import refdavis
from auscult.cases.datasets.refdavis import DATASET
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import AuscultError, NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import read_mask, write_labels, write_mask
from auscult.types import MaskRef

SIZE = (10, 24)
STEMS = ("00000", "00001", "00002")
TEXTS = "davis_text_annotations"


def labels(*indices: int) -> np.ndarray:
    """Object k is the column 2 k."""
    label_map = np.zeros(SIZE, np.uint8)
    for index in indices:
        label_map[2:8, 2 * index : 2 * index + 2] = index
    return label_map


def left_column(ref: MaskRef | None) -> int | None:
    """The left column of a mask; -1 for an empty one."""
    if ref is None:
        return None
    positions = np.argwhere(read_mask(ref, size=SIZE).mask)
    return int(positions[:, 1].min()) if len(positions) else -1


def width(ref: MaskRef | None) -> int:
    return 0 if ref is None else int(read_mask(ref, size=SIZE).mask.any(axis=0).sum())


def video(frames: Path, masks: Path, *frame_indices: tuple[int, ...]) -> None:
    for stem, indices in zip(STEMS, frame_indices, strict=True):
        write_frame(frames / f"{stem}.jpg", np.full((*SIZE, 3), 90, np.uint8))
        write_labels(masks / f"{stem}.png", labels(*indices))


def davis(root: Path) -> Path:
    """Two videos of the released tree: a swan alone; a man, and a dog that leaves."""
    for name, frame_indices in {"swan": [(1,)] * 3, "dogs-scale": [(1, 2), (1, 2), (1,)]}.items():
        video(root / f"JPEGImages/480p/{name}", root / f"Annotations/480p/{name}", *frame_indices)
    sets = root / "ImageSets/2017"
    sets.mkdir(parents=True)
    (sets / "train.txt").write_text("dogs-scale\n")
    (sets / "val.txt").write_text("swan\n")
    return root


def texts(folder: Path, content: bytes | str, name: str = "Davis17_annot1.txt") -> Path:
    path = folder / TEXTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def problems_of(listing: InstanceListing) -> list[tuple[str, int | None]]:
    return [(record.error, record.line) for _, record in listing.errors]


SPOKEN = 'swan 1 "a black swan"\ndog-scale 1 "the man on the left"\ndogs-scale 2 "a dog"\n'


@pytest.mark.parametrize("source_form", ["in the tree", "beside the tree", "the folder", "a file"])
def test_every_sentence_is_an_instance(tmp_path: Path, source_form: str) -> None:
    tree = davis(tmp_path / "DAVIS")
    root = tmp_path if source_form == "beside the tree" else tree
    file = texts(root, SPOKEN)
    source = {"the folder": file.parent, "a file": file}.get(source_form, root)
    listing = list_instances(source)
    assert listing.layout == "datasets.refdavis.v1"
    assert not listing.errors
    assert listing.notes == ("3 sentences, 0 of them refer to nothing",)
    swan, man, dog = listing.instances
    assert [instance.id for instance in listing.instances] == [
        "swan/1/annot1",
        "dogs-scale/1/annot1",
        "dogs-scale/2/annot1",
    ]
    assert [instance.query.text for instance in listing.instances] == ["a black swan", "the man on the left", "a dog"]
    assert (swan.split, man.split, man.template, man.clip) == ("val", "train", "position", "dogs-scale")
    assert (swan.others, man.others) == ((), ("",))
    assert [left_column(moment.target) for moment in dog.moments] == [4, 4, -1]
    assert [left_column(moment.others[0]) for moment in dog.moments] == [2, 2, 2]
    assert [moment.frame.stem for moment in dog.moments] == list(STEMS)
    assert (dog.source, dog.line) == (file, 3)


def test_both_annotators_with_their_first_frame_and_full_video(tmp_path: Path) -> None:
    tree = davis(tmp_path)
    names = ("annot1", "annot1_full_video", "annot2", "annot2_full_video")
    for name in names:
        texts(tree, f'swan 1 "a swan by {name}"\n', f"Davis17_{name}.txt")
    texts(tree, 'swan 1 "all of it"\n', "Davis16_annot1.txt")
    texts(tree, "no sentences", "readme.txt")
    listing = list_instances(tree)
    assert {instance.id for instance in listing.instances} == {f"swan/1/{name}" for name in names}
    assert listing.notes[0] == ("the sentences of DAVIS 2017 were read; name a file to read Davis16_annot1.txt instead")


@pytest.mark.parametrize("line", ['dogs-scale 1 "both"', 'dogs-scale "both"'], ids=["numbered", "unnumbered"])
def test_sentences_of_davis_2016_mean_all_that_is_drawn(tmp_path: Path, line: str) -> None:
    tree = davis(tmp_path)
    texts(tree, line, "Davis16_annot2.txt")
    (instance_,) = list_instances(tree).instances
    assert (instance_.id, instance_.query.text, instance_.others) == ("dogs-scale/foreground/annot2", "both", ())
    assert [width(moment.target) for moment in instance_.moments] == [4, 4, 2]


def test_texts_in_two_encodings(tmp_path: Path) -> None:
    tree = davis(tmp_path)
    content = "\ufeffswan 1 \u201ca caf\u00e9\u201d\r\n".encode() + b'\r\nswan 1 "a caf\xe9"\nswan 1 \x93swan\x94\n'
    texts(tree, content)
    listing = list_instances(tree)
    assert not listing.errors
    assert [(instance.id, instance.query.text, instance.line) for instance in listing.instances] == [
        ("swan/1/annot1", "a caf\u00e9", 1),
        ("swan/1/annot1#2", "a caf\u00e9", 3),
        ("swan/1/annot1#3", "swan", 4),
    ]


BAD_LINES = {
    "no sentence": (b"swan 1", "the line is 'swan 1'"),
    "empty": (b'swan 1 ""', "the sentence is empty"),
    "no number": (b'swan "a swan"', "the line is"),
    "object 0": (b'swan 0 "a swan"', "the object is '0'"),
    "a path": (b'../../etc 1 "a swan"', "'../../etc' is no name of a file"),
    "a NUL": (b'swan 1 "a\0swan"', "holds a NUL"),
    "endless": (b"swan 1 " + b"a" * 5000, "the line has 5,007 bytes"),
    "object not drawn": (b'swan 7 "a swan"', "swan/7/annot1: object 7 is in no mask of swan"),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_costs_itself(tmp_path: Path, name: str) -> None:
    line, message = BAD_LINES[name]
    tree = davis(tmp_path)
    file = texts(tree, b'swan 1 "good"\n' + line + b'\ndogs-scale 2 "good"\n')
    listing = list_instances(tree)
    assert [instance.id for instance in listing.instances] == ["swan/1/annot1", "dogs-scale/2/annot1"]
    ((_, record),) = listing.errors
    assert message in record.error
    assert (record.path, record.line, record.stage) == (str(file), 2, "read")


def test_what_is_missing_is_told_once_a_video(tmp_path: Path) -> None:
    tree = davis(tmp_path)
    texts(tree, 'gone 1 "a"\ngone 2 "b"\nswan 1 "c"\ndogs-scale 1 "d"\ndogs-scale 2 "e"\n')
    (tree / "Annotations/480p/dogs-scale/00001.png").unlink()
    listing = list_instances(tree)
    assert [instance.id for instance in listing.instances] == [
        "swan/1/annot1",
        "dogs-scale/1/annot1",
        "dogs-scale/2/annot1",
    ]
    assert [left_column(moment.target) for moment in listing.instances[2].moments] == [4, None, -1]
    assert [(record.stage, record.error) for _, record in listing.errors] == [
        ("read", "1 frame is missing: '*.jpg'"),
        ("truth", "1 of 3 masks is missing: '00001.png'"),
    ]
    assert listing.notes[-1] == "2 sentences without frames or without the object left out"


def expressions(folder: Path, *rows: Any) -> Path:
    path = folder / "expressions.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"note": "ours", "expressions": rows}))
    return path


def row(name: str, object_: Any, text: str = "the dog", **fields: Any) -> dict[str, Any]:
    return {"video": name, "exp": text, "object": object_, **fields}


@pytest.fixture
def sequences(tmp_path: Path) -> Path:
    """A video of two objects, and one with a mask file without indices."""
    root = tmp_path / "videos"
    video(root / "two/frames", root / "two/masks", (1, 2), (1, 2), (2,))
    for stem in STEMS:
        write_frame(root / f"one/frames/{stem}.jpg", np.zeros((*SIZE, 3), np.uint8))
        write_mask(root / f"one/masks/{stem}.png", labels(3) > 0)
    return root


def test_an_expressions_json_beside_sequences(sequences: Path) -> None:
    file = expressions(
        sequences,
        row("two", 1, referent=True, kind="positive"),
        row("two", 1, "the left one", referent=True),
        row("two", "foreground", "both"),
        row("two", None, "the cat", referent=False, kind="absent-object"),
        row("one", "foreground", "it", referent=True),
        row("one", None, "nothing"),
    )
    listing = list_instances(file)
    assert listing.layout == "datasets.refdavis.v1"
    assert not listing.errors
    first, second_expression, both_objects, null, alone, empty_expression = listing.instances
    assert [instance.id for instance in listing.instances] == [
        "two/1/1", "two/1/2", "two/foreground/1", "two/null/1", "one/foreground/1", "one/null/1"
    ]  # fmt: skip
    assert [left_column(moment.target) for moment in first.moments] == [2, 2, -1]
    assert [left_column(moment.others[0]) for moment in first.moments] == [4, 4, 4]
    assert [width(moment.target) for moment in both_objects.moments] == [4, 4, 2]
    assert (null.absent, null.template, len(null.others)) == (True, "absent-object", 2)
    assert [moment.target for moment in null.moments] == [None] * 3
    assert [left_column(ref) for ref in null.moments[0].others] == [2, 4]
    assert [left_column(moment.target) for moment in alone.moments] == [6] * 3
    assert [left_column(moment.others[0]) for moment in empty_expression.moments] == [6] * 3
    assert (second_expression.template, first.template, first.source, first.line) == (
        "position",
        "attribute",
        file,
        None,
    )
    assert listing.notes == ("6 sentences, 2 of them refer to nothing",)


def test_a_folder_with_expressions_stays_a_folder_of_objects(sequences: Path) -> None:
    file = expressions(sequences, row("two", 1))
    assert list_instances(sequences).layout == "datasets.davis.v1"
    assert list_items(sequences).layout == "datasets.davis.v1"
    assert DATASET.instances(sequences, ListOptions()) == list_instances(file), "asked for by name, it is read"


def test_one_sequence_is_one_video_whatever_its_folder_is_called(sequences: Path) -> None:
    file = expressions(sequences / "two", row("other-name", 2), row("two", 1), row("other-name", None))
    listing = list_instances(file)
    assert [(instance.id, left_column(instance.moments[0].target)) for instance in listing.instances] == [
        ("other-name/2/1", 4),
        ("other-name/null/1", None),
    ]
    assert [error for error, _ in problems_of(listing)] == ["two/1/1: it is on the video two"]


def test_an_expressions_json_in_a_released_tree(tmp_path: Path) -> None:
    file = expressions(davis(tmp_path), row("dogs-scale", 2))
    (instance_,) = list_instances(file).instances
    assert (instance_.id, instance_.split, left_column(instance_.moments[0].target)) == ("dogs-scale/2/1", "train", 4)


BAD_ROWS = {
    "a text": ("x", "it is a text"),
    "no video": ({"exp": "a", "object": 1}, "there is no 'video'"),
    "no sentence": ({"video": "two", "object": 1}, "there is no 'exp'"),
    "blank": (row("two", 1, " "), "'exp' is empty"),
    "no object": ({"video": "two", "exp": "a"}, "there is no 'object'"),
    "object a list": (row("two", [1]), "the object is a list"),
    "object void": (row("two", 255), "the object is '255'"),
    "object true": (row("two", True), "the object is 'True'"),
    "a half truth": (row("two", 1, referent=False), "'referent' is true or false where 'object' is a number"),
    "referent a text": (row("two", 1, referent="yes"), "'referent' is a text"),
    "a path": (row("../two", 1), "'../two' is no name of a file"),
    "hidden": (row(".git", 1), "'.git' is no name of a file"),
    "not drawn": (row("two", 9), "two/9/1: object 9 is in no mask of two"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_costs_itself(sequences: Path, name: str) -> None:
    bad, message = BAD_ROWS[name]
    file = expressions(sequences, row("two", 1), bad, row("two", "2"))
    listing = list_instances(file)
    assert [instance.id for instance in listing.instances] == ["two/1/1", "two/2/1"]
    ((_, record),) = listing.errors
    assert message in record.error
    assert "expression 2" in record.error or "two/9/1" in record.error
    assert record.path == str(file)


def test_an_index_in_files_of_one_mask(sequences: Path) -> None:
    listing = list_instances(expressions(sequences, row("one", 1), row("one", 2)))
    assert [(instance.id, left_column(instance.moments[0].target)) for instance in listing.instances] == [
        ("one/1/1", 6)
    ]
    assert [error for error, _ in problems_of(listing)] == ["one/2/1: object 2 is in no mask of one"]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"expressions": {}}', b""], ids=["cut", "list", "object", "empty"])
def test_a_file_that_holds_no_expressions(sequences: Path, content: bytes) -> None:
    path = sequences / "expressions.json"
    path.write_bytes(content)
    with pytest.raises(NothingToDo) as error:
        list_instances(path)
    assert error.value.path == str(path)


@pytest.mark.parametrize("file_form", ["json", "txt"])
def test_a_huge_file_is_not_read(tmp_path: Path, file_form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = davis(tmp_path)
    source = texts(tree, SPOKEN) if file_form == "txt" else expressions(tree, row("swan", 1))
    monkeypatch.setattr(refdavis, "_MAX_BYTES", 20)
    with pytest.raises(NothingToDo, match="bytes or more"):
        list_instances(source)


def test_links_that_lead_out(tmp_path: Path) -> None:
    tree = davis(tmp_path / "DAVIS")
    texts(tree, SPOKEN)
    outside = tmp_path / "outside"
    (tree / "JPEGImages/480p/swan").rename(outside)
    (tree / "JPEGImages/480p/swan").symlink_to(outside)
    listing = list_instances(tree)
    assert [instance.clip for instance in listing.instances] == ["dogs-scale", "dogs-scale"]
    ((error, _),) = problems_of(listing)
    assert "leaves the folder through a symbolic link" in error
    (tree / "Annotations").rename(tmp_path / "away")
    (tree / "Annotations").symlink_to(tmp_path / "away")
    with pytest.raises(UsageError, match="leads out of the input"):
        list_instances(tree)
    assert len(list_instances(tree, ListOptions(root=tmp_path)).instances) == 3


def test_as_items_every_object_with_its_first_sentence(tmp_path: Path) -> None:
    tree = davis(tmp_path)
    texts(tree, SPOKEN + 'swan 1 "once more"\n')
    listing = DATASET.list(tree, ListOptions())
    assert listing.layout == "datasets.refdavis.v1"
    assert Counter((item.clip, item.mask.index, item.query.text) for item in listing.items) == {
        ("swan", 1, "a black swan"): 3,
        ("dogs-scale", 1, "the man on the left"): 3,
        ("dogs-scale", 2, "a dog"): 2,
    }


def test_a_file_that_is_a_link_out(tmp_path: Path) -> None:
    source = davis(tmp_path / "DAVIS")
    file = texts(source, SPOKEN)
    file.rename(tmp_path / "private")
    file.symlink_to(tmp_path / "private")
    with pytest.raises(UsageError, match="leads out of the input") as error:
        list_instances(source)
    assert error.value.path == str(file)


def test_which_inputs_are_its_own(tmp_path: Path) -> None:
    tree, plain = davis(tmp_path), ListOptions()
    assert not DATASET.recognises(tree, plain)
    assert list_instances(tree).layout == "datasets.davis.v1"
    file = texts(tree, SPOKEN)
    assert DATASET.recognises(tree, plain)
    assert not DATASET.recognises(tree, ListOptions(masks=Path("pred")))
    assert list_instances(tree, ListOptions(masks=tree / "Annotations")).layout == "datasets.davis.v1"
    lonely = texts(tmp_path / "elsewhere/deep", SPOKEN)
    assert not DATASET.recognises(lonely, plain), "no videos near it"
    assert not DATASET.recognises(expressions(tmp_path / "elsewhere"), plain)
    with pytest.raises(NothingToDo, match="no sentences beside videos"):
        DATASET.instances(lonely, plain)
    with pytest.raises(UsageError, match="--frames does not fit"):
        DATASET.instances(file, ListOptions(frames=tree))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["../a", "foreground", "two"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ROW = st.fixed_dictionaries(
    {"video": st.sampled_from(["two", "one"]) | JSON, "exp": st.just("a") | JSON, "object": st.integers(0, 3) | JSON},
    optional={"referent": JSON, "kind": JSON},
)


def check(source: Path, root: Path) -> None:
    try:
        listing = list_instances(source)
    except AuscultError as error:
        str(error).encode()
        return
    assert len({instance.id for instance in listing.instances}) == len(listing.instances)
    for instance in listing.instances:
        assert instance.moments
        assert root in instance.moments[0].frame.parents
    for _, record in listing.errors:
        assert record.path
        f"{record.error}{record.expected}{record.hint}".encode()


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROW | JSON, max_size=4))
def test_any_json_is_survived(sequences: Path, rows: list[Any]) -> None:
    check(expressions(sequences, *rows), sequences)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"swan 1 ", b'"a"', b"\n"]), max_size=6), st.booleans())
def test_any_bytes_are_survived(tmp_path: Path, pieces: list[bytes], whole: bool) -> None:
    tree = tmp_path / "DAVIS"
    if not tree.is_dir():
        davis(tree)
    name = "Davis16_annot1.txt" if whole else "Davis17_annot1.txt"
    check(texts(tree, b"".join(pieces), name), tree)


def test_the_sentences_on_real_davis(data: Path) -> None:
    listing = list_instances(data / "video/davis2016/expressions.json")
    assert (listing.layout, listing.errors) == ("datasets.refdavis.v1", ())
    assert Counter(instance.absent for instance in listing.instances) == {False: 20, True: 30}
    assert Counter(Counter(instance.clip for instance in listing.instances).values()) == {5: 10}
    plain = {instance.clip: instance for instance in list_instances(data / "video/davis2016").instances}
    for instance in listing.instances:
        moments = plain[instance.clip].moments
        assert [moment.frame for moment in instance.moments] == [moment.frame for moment in moments]
        if instance.absent:
            assert all(moment.target is None and len(moment.others) == 1 for moment in instance.moments)
            continue
        target_mask, davis_mask = instance.moments[-1].target, moments[-1].target
        assert target_mask is not None
        assert davis_mask is not None
        assert np.array_equal(read_mask(target_mask).mask, read_mask(davis_mask).mask)
    assert Counter(instance.template for instance in listing.instances if instance.absent) == {
        "absent-object": 12, "attribute": 9, "action": 9
    }  # fmt: skip


def test_the_sentences_on_three_real_objects(data: Path) -> None:
    listing = list_instances(data / "video/dogs-jump/expressions.json")
    assert (len(listing.instances), listing.errors) == (7, ())
    assert [instance.id.split("/")[1] for instance in listing.instances] == ["1", "2", "3", "3", "null", "null", "null"]
    assert {len(instance.moments) for instance in listing.instances} == {66}
    person, same_person = listing.instances[2:4]
    assert [moment.target for moment in person.moments] == [moment.target for moment in same_person.moments]
    assert {len(instance.others) for instance in listing.instances if instance.absent} == {3}
