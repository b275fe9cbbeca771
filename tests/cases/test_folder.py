from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import read_mask


def ids(listing: Listing) -> list[str]:
    return [item.id for item in listing.items]


def errors(listing: Listing) -> dict[str | None, str]:
    return {name: record.error for name, record in listing.errors}


def test_masks_are_matched_by_name_in_natural_order(make: Any) -> None:
    for stem in ("f10", "f9", "f100"):
        make.frame(f"frames/{stem}.jpg")
        make.mask(f"masks/{stem}.png")
    listing = list_items(make.root)
    assert listing.layout == "datasets.folder.v1"
    assert ids(listing) == ["f9", "f10", "f100"]
    assert {item.clip for item in listing.items} == {"input"}
    assert not listing.errors
    assert not listing.notes


@pytest.mark.parametrize("suffix", ["bmp", "gif"])
def test_masks_of_no_mask_format_are_named_and_what_is_read(make: Any, suffix: str) -> None:
    make.frame("frames/a.jpg")
    (make.root / "masks").mkdir()
    (make.root / "masks" / f"a.{suffix}").write_bytes(b"x")
    with pytest.raises(NothingToDo, match=f"no mask format: 'a.{suffix}'") as raised:
        list_items(make.root)
    assert raised.value.expected == "masks as .npy, .png, .tif, .tiff, .webp"


def test_palettes_give_one_item_an_object(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.palette("masks/a.png", 1, 7, 255)
    make.frame("frames/b.jpg")
    make.palette("masks/b.png")
    listing = list_items(make.root)
    assert ids(listing) == ["a#1", "a#7", "b"]
    assert [read_mask(item.mask).mask.any() for item in listing.items] == [True, True, False]


def test_labels_are_read_as_indices_only_when_asked(make: Any) -> None:
    make.frame("frames/a.jpg")
    grey = np.zeros((24, 32, 3), np.uint8)
    grey[3:6], grey[9:12] = 1, 2
    write_frame(make.root / "masks/a.png", grey)
    assert ids(list_items(make.root)) == ["a"]
    listing = list_items(make.root, ListOptions(labels=True))
    assert ids(listing) == ["a#1", "a#2"]
    assert read_mask(listing.items[1].mask).mask.sum() == 3 * 32


def test_a_folder_named_like_the_frame_holds_several_candidates(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    make.mask("masks/a/second.png")
    make.palette("masks/a/third.png", 2, 3)
    assert sorted(ids(list_items(make.root))) == ["a", "a/second", "a/third#2", "a/third#3"]


def test_clips_are_folders(make: Any) -> None:
    for clip in ("v10", "v9"):
        make.frame(f"frames/{clip}/0.jpg")
        make.mask(f"masks/{clip}/0.png")
    make.mask("masks/v9/0/other.png")
    listing = list_items(make.root)
    assert ids(listing) == ["v9/0", "v9/0/other", "v10/0"]
    assert [item.clip for item in listing.items] == ["v9", "v9", "v10"]


def test_what_does_not_match_is_told_and_the_rest_goes_on(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.frame("frames/bare.jpg")
    make.mask("masks/a.png")
    make.mask("masks/ghost.png")
    make.frame("masks/bare.jpg")
    (make.root / "masks/notes.txt").write_text("x")
    (make.root / "masks/.hidden.png").write_text("x")
    listing = list_items(make.root)
    assert ids(listing) == ["a"]
    error_of = errors(listing)
    assert set(error_of) == {"ghost", "bare"}
    assert error_of["ghost"] == "a mask for a missing frame"
    assert ".jpg" in error_of["bare"]
    assert listing.notes == ("1 frame without a mask", "1 file among the masks left out, no mask format: 'notes.txt'")
    for name in ("a.csv", "b.csv", "c.csv"):
        (make.root / "masks" / name).write_text("x")
    assert list_items(make.root).notes[1].endswith("'a.csv', 'b.csv', 'c.csv', ...")


def test_a_damaged_palette_costs_itself(make: Any) -> None:
    for stem in ("a", "b"):
        make.frame(f"frames/{stem}.jpg")
        make.palette(f"masks/{stem}.png", 1)
    broken = make.root / "masks/a.png"
    broken.write_bytes(broken.read_bytes()[:60])
    listing = list_items(make.root)
    assert ids(listing) == ["b#1"]
    ((name, record),) = listing.errors
    assert (name, record.path, record.stage) == ("a", str(broken), "read")


def test_truth_beside_the_masks(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a/one.png", left_px=9)
    make.mask("truth/a.png")
    make.frame("frames/b.jpg")
    make.palette("masks/b.png", 1, 2)
    make.palette("truth/b.png", 1)
    make.frame("frames/c.jpg")
    make.palette("masks/c.png", 1, 2)
    make.mask("truth/c.png")
    make.frame("frames/d.jpg")
    make.mask("masks/d.png")
    listing = list_items(make.root)
    truths = {item.id: None if item.truth is None else item.truth.mask for item in listing.items}
    areas = {name: None if ref is None else int(read_mask(ref).mask.sum()) for name, ref in truths.items()}
    # c's truth is of one object and its candidates are two: which one is meant is not known
    assert areas == {"a/one": 90, "b#1": 18, "b#2": 0, "c#1": None, "c#2": None, "d": None}
    assert any("2 items left without truth" in note for note in listing.notes)


def test_folders_can_be_named(make: Any, tmp_path: Path) -> None:
    make.frame("pictures/a.jpg")
    make.mask("v2/a.png")
    inside = ListOptions(frames=Path("pictures"), masks=Path("v2"))
    assert ids(list_items(make.root, inside)) == ["a"]
    elsewhere = ListOptions(frames=make.root / "pictures", masks=make.root / "v2")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert ids(list_items(empty, elsewhere)) == ["a"]


def test_named_folders_win_over_an_items_file(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    make.mask("v2/a.png")
    make.lines({"id": "x", "frame": "frames/a.jpg", "mask": "masks/a.png"})
    assert ids(list_items(make.root)) == ["x"]
    assert ids(list_items(make.root, ListOptions(masks=Path("v2")))) == ["a"]


@pytest.mark.parametrize("layout", ["nothing", "mixed", "frames only", "masks only", "empty folders"])
def test_a_folder_without_the_layout_is_told_what_is_missing(make: Any, layout: str) -> None:
    make.root.mkdir()
    if layout == "mixed":
        make.frame("a.jpg")
        make.mask("b.png")
    elif layout == "frames only":
        make.frame("frames/a.jpg")
    elif layout == "masks only":
        make.mask("masks/a.png")
    elif layout == "empty folders":
        (make.root / "frames").mkdir()
        (make.root / "masks").mkdir()
    with pytest.raises(NothingToDo) as error:
        list_items(make.root)
    assert "frames/ and masks/" in str(error.value)


def test_a_missing_input_is_wrong_usage(tmp_path: Path) -> None:
    for name in ("nowhere", "a\x00b", "x" * 5000):
        with pytest.raises(UsageError, match="no such file or folder"):
            list_items(tmp_path / name)


def test_links_that_leave_the_input_are_refused(make: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for stem in ("a", "b"):
        make.frame(f"frames/{stem}.jpg")
    make.mask("masks/a.png")
    (outside / "b.png").write_bytes((make.root / "masks/a.png").read_bytes())
    (make.root / "masks/b.png").symlink_to(outside / "b.png")
    (make.root / "masks/c").symlink_to(outside)
    (make.root / "masks/loop").symlink_to(make.root / "masks")
    listing = list_items(make.root)
    assert ids(listing) == ["a"]
    assert len(listing.errors) == 2
    assert all("symbolic link" in record.error for _, record in listing.errors)
    assert ids(list_items(make.root, ListOptions(root=tmp_path))) == ["a", "b"]


def test_a_whole_folder_that_is_a_link_out_is_refused_but_may_be_named(make: Any, tmp_path: Path) -> None:
    make.mask("masks/a.png")
    make.frame("elsewhere/a.jpg")
    (make.root / "elsewhere").rename(tmp_path / "elsewhere")
    (make.root / "frames").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="symbolic link"):
        list_items(make.root)
    assert ids(list_items(make.root, ListOptions(frames=tmp_path / "elsewhere"))) == ["a"]


def test_names_that_cannot_be_written_are_refused(make: Any) -> None:
    for stem in ("good", "new\nline"):
        make.frame(f"frames/{stem}.jpg")
        make.mask(f"masks/{stem}.png")
    (make.root / "masks" / b"\xff.png".decode("utf-8", "surrogateescape")).write_bytes(b"x")
    listing = list_items(make.root)
    assert ids(listing) == ["good"]
    assert len(listing.errors) == 2
    for _, record in listing.errors:
        f"{record.error}{record.path}".encode()


def test_two_pictures_of_one_frame_are_told(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.frame("frames/a.png")
    make.mask("masks/a.png")
    listing = list_items(make.root)
    assert ids(listing) == ["a"]
    ((name, record),) = listing.errors
    assert (name, record.stage) == (None, "frames")
    assert "twice" in record.error


def test_the_hint_for_a_missing_frame_names_the_frame(make: Any) -> None:
    for stem in ("000", "001"):
        make.frame(f"frames/{stem}.jpg")
        make.frame(f"clips/v/{stem}.jpg")
    make.mask("masks/002/dog.png")
    make.mask("masks/003.png")
    hints = {name: record.hint for name, record in list_items(make.root).errors}
    assert hints == {
        "002/dog": "add the frame 002, or remove the mask",
        "003": "add the frame 003, or remove the mask",
    }
    for name in ("v/002", "v/002/dog", "w/002"):
        make.mask(f"more/{name}.png")
    clips = list_items(make.root, ListOptions(frames=Path("clips"), masks=Path("more")))
    assert [record.hint.split(",")[0] for _, record in clips.errors] == [
        "add the frame v/002",
        "add the frame v/002",
        "add the frame w/002",
    ]


def test_the_hint_for_a_missing_frame_knows_other_ways_of_naming(make: Any) -> None:
    make.frame("frames/000.jpg")
    (make.root / "frames/001.bmp").touch()
    for name in ("000_1", "dog/000", "001_mask"):
        make.mask(f"masks/{name}.png")
    hints = {name: record.hint for name, record in list_items(make.root).errors}
    assert hints["000_1"] == "is it one of several masks of the frame '000'? then name it '000/000_1'"
    assert hints["dog/000"] == "is it one of several masks of the frame '000'? then name it '000/dog'"
    assert hints["001_mask"].startswith("'001.bmp' is in no format of frames; convert it")


def test_many_masks_without_frames_are_told_in_linear_time(make: Any) -> None:
    make.frame("frames/a.png")
    picture = (make.root / "frames/a.png").read_bytes()
    (make.root / "masks").mkdir()
    for number in range(1500):
        for name in (f"frames/{number}.png", f"masks/m{number}.png"):
            (make.root / name).write_bytes(picture)
    started = time.process_time()
    assert len(list_items(make.root).errors) == 1500
    assert time.process_time() - started < 2  # 4 s where each looked at all frames


def test_links_to_nowhere_and_pipes_are_masks_and_frames_that_cannot_be_opened(make: Any) -> None:
    for stem in ("a", "b", "c", "d"):
        make.frame(f"frames/{stem}.jpg")
        make.mask(f"masks/{stem}.png")
    for name in ("masks/a.png", "masks/b.png", "masks/c.png", "frames/d.jpg"):
        (make.root / name).unlink()
    (make.root / "masks/a.png").symlink_to("nowhere.png")
    os.mkfifo(make.root / "masks/b.png")
    (make.root / "masks/c.png").symlink_to("c.png")
    (make.root / "frames/d.jpg").symlink_to("nowhere.jpg")
    listing = list_items(make.root)
    error_of = errors(listing)
    assert ids(listing) == ["d"]
    assert set(error_of) == {"a", "b", "c"}
    assert "does not exist" in str(error_of["a"])
    assert "pipe" in str(error_of["b"])
    assert "circle" in str(error_of["c"])


def test_options_of_another_layout_are_refused(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    lines = make.lines({"id": "x", "frame": "frames/a.jpg", "mask": "masks/a.png"}, name="lines.jsonl")
    coco = make.json("coco.json", {"images": [], "annotations": []})
    folder = make.root / "frames"
    for source, options in (
        (make.root, {"images": folder}),
        (make.root, {"instances": coco}),
        (lines, {"frames": folder}),
        (lines, {"masks": folder}),
        (lines, {"images": folder}),
        (coco, {"images": folder, "frames": folder}),
    ):
        name = list(options)[-1]
        with pytest.raises(UsageError, match=f"--{name} does not fit"):
            list_items(source, ListOptions(**options))


@pytest.mark.parametrize("name", ["frames", "masks", "images", "instances", "root"])
def test_an_option_that_names_nothing_is_refused(make: Any, name: str) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    for no_such_path in ("nowhere", "a\x00b", "x" * 5000):
        with pytest.raises(UsageError, match=f"--{name}"):
            list_items(make.root, ListOptions(**{name: Path(no_such_path)}))


def test_an_input_of_remarks_only_holds_nothing(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.frame("frames/a.png")
    (make.root / "masks").mkdir()
    with pytest.raises(NothingToDo, match="no mask"):
        list_items(make.root)


def test_two_masks_of_one_name_are_told(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    np.save(make.root / "masks/a.npy", np.zeros((24, 32), bool))
    listing = list_items(make.root)
    assert ids(listing) == ["a"]
    assert "used twice" in listing.errors[0][1].error


def test_a_folder_of_frames_alone_is_told_the_option_that_reads_it(make: Any) -> None:
    make.frame("shots/a.jpg")
    make.mask("masks/a.png")
    shots, masks = make.root / "shots", make.root / "masks"
    with pytest.raises(NothingToDo) as error:
        list_items(shots, ListOptions(masks=masks))
    assert error.value.hint == f"name the folder with --frames {shots}"
    assert ids(list_items(shots, ListOptions(frames=shots, masks=masks))) == ["a"]
