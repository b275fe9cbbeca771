from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases import fields
from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.media.masks import read_mask
from auscult.media.rle import encode


def lines_of(listing: Listing) -> list[tuple[int | None, str]]:
    return [(record.line, record.error) for _, record in listing.errors]


def test_every_known_key_is_read(make: Any) -> None:
    source = make.lines(
        {
            "id": "v1/f3/m2",
            "frame": "frames/v1_3.jpg",
            "mask": "masks/v1_3_m2.png",
            "text": "the dog barking on the left",
            "clip": "v1",
            "time_s": 3,
            "video": "v1.mp4",
            "audio": "v1.wav",
            "truth": {
                "mask": "masks/v1_3.png",
                "iou": 0.87,
                "defect": "erode",
                "difficulty": "hard",
                "action": "minor_revision",
            },
            "score": [1, {"of": "mine"}],
        }
    )
    (item_,) = list_items(source).items
    assert item_.id == "v1/f3/m2"
    assert item_.frame == make.root / "frames/v1_3.jpg"
    assert item_.mask.path == make.root / "masks/v1_3_m2.png"
    assert item_.query.text == "the dog barking on the left"
    assert (item_.clip, item_.time_s, item_.line, item_.source) == ("v1", 3.0, 1, source)
    assert item_.audio == make.root / "v1.wav"
    assert item_.extra == {"video": "v1.mp4", "score": [1, {"of": "mine"}]}
    truth = item_.truth
    assert truth is not None
    assert truth.mask is not None
    assert truth.mask.path == make.root / "masks/v1_3.png"
    assert (truth.iou, truth.defect, truth.difficulty, truth.action) == (0.87, "erode", "hard", "minor_revision")


def test_the_folder_that_holds_items_is_an_input(make: Any, item: Any) -> None:
    make.lines(item())
    listing = list_items(make.root)
    assert [item_.id for item_ in listing.items] == ["a"]
    assert listing.layout == "datasets.items.v1"


def test_clip_falls_back_to_video_then_to_the_parent_folder(make: Any, item: Any) -> None:
    source = make.lines(
        item(id="a", clip="c", video="v"),
        item(id="b", video="v"),
        item(id="c", frame="frames/v7/x.jpg"),
        item(id="d", frame="x.jpg"),
        item(id="e", clip=None, text=None, time_s=None, truth=None),
    )
    assert [item_.clip for item_ in list_items(source).items] == ["c", "v", "frames/v7", "input", "frames"]


def test_masks_may_be_written_inline_or_be_one_index_of_a_file(make: Any, item: Any) -> None:
    mask = np.zeros((24, 32), bool)
    mask[3:9, 4:20] = True
    make.palette("masks/p.png", 1, 4)
    source = make.lines(
        item(id="rle", mask=encode(mask)),
        item(id="polygon", mask=[[4, 3, 20, 3, 20, 9, 4, 9]]),
        item(id="index", mask={"path": "masks/p.png", "index": 4}),
    )
    rle, polygon, index = (read_mask(item_.mask, size=(24, 32)).mask for item_ in list_items(source).items)
    assert np.array_equal(rle, mask)
    assert np.array_equal(polygon, mask)
    assert index.sum() == 18


def test_an_index_that_is_not_in_the_file_is_an_error_but_in_a_truth(make: Any, item: Any) -> None:
    make.palette("masks/p.png", 1, 4)
    absent = {"path": "masks/p.png", "index": 99}
    (item_,) = list_items(make.lines(item(mask=absent, truth={"mask": absent}))).items
    with pytest.raises(InputError, match="99 does not occur") as error:
        read_mask(item_.mask)
    assert "1, 4" in error.value.expected
    assert item_.truth is not None
    assert item_.truth.mask is not None
    assert not read_mask(item_.truth.mask).mask.any()


BAD = {
    "broken": (b'{"id": "x", ', "broken JSON"),
    "list": (b"[1]", "a list"),
    "null": (b"null", "null"),
    "number": (b"3", "a number"),
    "text": (b'"x"', "a text"),
    "nul": (b'{"id": "x\x00"}', "broken JSON"),
    "latin": (b'{"id": "\xe9"}', "UTF-8"),
    "nan": (b'{"id": "x", "frame": "f", "mask": "m", "time_s": NaN}', "NaN"),
    "huge": (b'{"id": "x", "frame": "f", "mask": "m", "time_s": 1e999}', "too large"),
    "digits": (b'{"id": "x", "frame": "f", "mask": "m", "time_s": ' + b"9" * 5000 + b"}", "number"),
    "deep": (b"[" * 100_000, "nests too deeply"),
    "surrogate": (b'{"id": "x", "frame": "f", "mask": "m", "text": "\\ud800"}', "surrogate"),
    "no id": ({"frame": "f", "mask": "m"}, "no 'id'"),
    "no frame": ({"id": "x", "mask": "m"}, "no 'frame'"),
    "no mask": ({"id": "x", "frame": "f"}, "no 'mask'"),
    "number id": ({"id": 5, "frame": "f", "mask": "m"}, "'id' is a number (5)"),
    "up": ({"id": "../x", "frame": "f", "mask": "m"}, "leads out"),
    "inner up": ({"id": "a/../x", "frame": "f", "mask": "m"}, "leads out"),
    "absolute": ({"id": "/etc", "frame": "f", "mask": "m"}, "absolute"),
    "control": ({"id": "a\x00b", "frame": "f", "mask": "m"}, "NUL"),
    "newline": ({"id": "a\nb", "frame": "f", "mask": "m"}, "control"),
    "long": ({"id": "x" * 513, "frame": "f", "mask": "m"}, "513"),
    "blank": ({"id": "  ", "frame": "f", "mask": "m"}, "empty"),
    "frame up": ({"id": "x", "frame": "../f.jpg", "mask": "m"}, "leaves the folder"),
    "frame sly": ({"id": "x", "frame": "a/../../f.jpg", "mask": "m"}, "leaves the folder"),
    "frame abs": ({"id": "x", "frame": "/etc/passwd", "mask": "m"}, "absolute"),
    "mask abs": ({"id": "x", "frame": "f", "mask": "/etc/passwd"}, "absolute"),
    "mask nul": ({"id": "x", "frame": "f", "mask": "a\x00"}, "NUL"),
    "mask long": ({"id": "x", "frame": "f", "mask": "m" * 5000}, "too long"),
    "mask number": ({"id": "x", "frame": "f", "mask": 4}, "'mask' is a number"),
    "mask empty": ({"id": "x", "frame": "f", "mask": []}, "'mask' is an empty list"),
    "mask half": ({"id": "x", "frame": "f", "mask": {"size": [2, 2]}}, "'mask' is an object"),
    "index": ({"id": "x", "frame": "f", "mask": {"path": "m", "index": 0}}, "'index'"),
    "text type": ({"id": "x", "frame": "f", "mask": "m", "text": 5}, "'text' is a number"),
    "time type": ({"id": "x", "frame": "f", "mask": "m", "time_s": "x"}, "'time_s' is a text"),
    "time bool": ({"id": "x", "frame": "f", "mask": "m", "time_s": True}, "'time_s' is true or false"),
    "clip type": ({"id": "x", "frame": "f", "mask": "m", "clip": ["v"]}, "'clip' is a list"),
    "truth type": ({"id": "x", "frame": "f", "mask": "m", "truth": 1}, "'truth' is a number"),
    "truth iou": ({"id": "x", "frame": "f", "mask": "m", "truth": {"iou": 87}}, "in 'truth', 'iou'"),
    "truth word": ({"id": "x", "frame": "f", "mask": "m", "truth": {"defect": "eroded"}}, "'defect'"),
    "audio up": ({"id": "x", "frame": "f", "mask": "m", "audio": "../a.wav"}, "leaves the folder"),
    "audio root": ({"id": "x", "frame": "f", "mask": "m", "audio": "/etc/passwd"}, "absolute path"),
    "audio kind": ({"id": "x", "frame": "f", "mask": "m", "audio": 5}, "'audio' is a number"),
    "truth out": ({"id": "x", "frame": "f", "mask": "m", "truth": {"mask": "../t.png"}}, "leaves the folder"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_costs_itself_and_names_its_line(make: Any, item: Any, name: str) -> None:
    line, words = BAD[name]
    source = make.lines(item(id="first"), line, item(id="last"))
    listing = list_items(source)
    assert [item_.id for item_ in listing.items] == ["first", "last"]
    ((_, record),) = listing.errors
    assert (record.line, record.path, record.stage) == (2, str(source), "read")
    assert words in record.error, record.error
    assert record.expected
    json.dumps(record.error + record.hint).encode()


def test_the_id_of_a_bad_line_is_kept_when_it_is_usable(make: Any, item: Any) -> None:
    source = make.lines(item(id="ok"), item(id="known", text=5), item(id="../no"))
    assert [name for name, _ in list_items(source).errors] == ["known", None]


def test_the_second_of_two_equal_ids_is_the_error(make: Any, item: Any) -> None:
    source = make.lines(item(id="a"), item(id="b"), item(id="a", text="again"))
    listing = list_items(source)
    assert [(item_.id, item_.query.text) for item_ in listing.items] == [("a", None), ("b", None)]
    ((line, message),) = lines_of(listing)
    assert line == 3
    assert "line 1" in message


def test_byte_order_mark_blank_lines_and_windows_line_ends_are_accepted(make: Any, item: Any) -> None:
    content = json.dumps(item()).encode()
    source = make.lines(b"\xef\xbb\xbf" + content + b"\r", b"   ", b"", json.dumps(item(id="b")).encode() + b"\r")
    listing = list_items(source)
    assert [(item_.id, item_.line) for item_ in listing.items] == [("a", 1), ("b", 4)]
    assert not listing.errors


def test_a_line_that_is_too_long_is_skipped_whole(make: Any, item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_LINE_BYTES", 200)
    monkeypatch.setattr(fields, "_CHUNK", 64)
    source = make.lines(item(id="a"), item(id="b", text="x" * 1000), item(id="c"))
    listing = list_items(source)
    assert [(item_.id, item_.line) for item_ in listing.items] == [("a", 1), ("c", 3)]
    assert [line for line, _ in lines_of(listing)] == [2]


def test_root_widens_what_paths_may_reach(make: Any, item: Any) -> None:
    source = make.lines(item(frame="../../photos/a.jpg", mask="../masks/a.png"), name="sub/items.jsonl")
    assert len(list_items(source).errors) == 1
    (item_,) = list_items(source, ListOptions(root=make.root.parent)).items
    assert item_.frame == make.root.parent / "photos/a.jpg"
    assert item_.mask.path == make.root.parent / "input/masks/a.png"
    (make.root.parent / "elsewhere").mkdir()
    with pytest.raises(UsageError, match="does not contain"):
        list_items(source, ListOptions(root=make.root.parent / "elsewhere"))


def test_absolute_paths_work_inside_the_root_and_fail_one_by_one_outside(make: Any, item: Any, tmp_path: Path) -> None:
    inside, outside = make.root / "frames/a.jpg", tmp_path / "other/a.jpg"
    source = make.lines(item(id="in", frame=str(inside)), item(id="out", frame=str(outside)))
    listing = list_items(source)
    assert [(item_.id, item_.frame) for item_ in listing.items] == [("in", inside)]
    ((name, record),) = listing.errors
    assert name == "out"
    assert "is an absolute path outside" in record.error
    assert "--root" in record.hint
    assert len(list_items(source, ListOptions(root=tmp_path)).items) == 2
    alone = make.lines(item(id="a", frame=str(outside), mask=str(outside)), name="x.jsonl")
    outside.parent.mkdir()
    assert len(list_items(alone, ListOptions(root=outside.parent)).items) == 1  # which need not hold the file of lines
    (make.root / "link").symlink_to(tmp_path / "other")
    (linked,) = list_items(make.lines(item(frame=str(make.root / "link/a.jpg")))).errors
    assert "symbolic link" in linked[1].error


def test_a_link_that_leaves_the_folder_is_refused(make: Any, item: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"x")
    make.mask("masks/a.png")
    (make.root / "masks/out.png").symlink_to(tmp_path / "secret.png")
    (make.root / "masks/in.png").symlink_to("a.png")
    source = make.lines(item(id="in", mask="masks/in.png"), item(id="out", mask="masks/out.png"))
    listing = list_items(source)
    assert [item_.id for item_ in listing.items] == ["in"]
    assert "symbolic link" in listing.errors[0][1].error
    assert len(list_items(source, ListOptions(root=tmp_path)).items) == 2


def test_an_empty_file_holds_nothing(make: Any) -> None:
    with pytest.raises(NothingToDo, match="no mask"):
        list_items(make.lines(b""))


def test_ten_thousand_lines_take_seconds_at_most(make: Any, item: Any) -> None:
    source = make.lines(*(item(id=f"v/{number}", frame=f"frames/{number}.jpg") for number in range(10_000)))
    start_s = time.process_time()
    assert len(list_items(source).items) == 10_000
    assert time.process_time() - start_s < 8
