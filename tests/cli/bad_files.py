"""The tables of bad input: what is wrong, how to make it, and what has to be said about it.

A row adds one bad item to an INPUT that also holds good ones. ``{name}`` is the row's own name: its id, its files.
"""

from __future__ import annotations

import os
import pickle
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from small_inputs import HEIGHT, LEFT, WIDTH, item, save_frame, save_mask, save_palette

ROOT_USER = os.geteuid() == 0  # nothing is unreadable for the super user, so that a pipe stands in


@dataclass(frozen=True, slots=True)
class Bad:
    """One bad item.

    Attributes:
        name: What is wrong; also the item's id where it has one.
        make: Adds it to the folder; what it returns, if anything, becomes the item's line.
        message: A word of the error, which must name the problem.
        id: The id in the error record; the name by default, None where no id can be trusted.
        path: Ending of the path in the error record.
    """

    name: str
    make: Callable[[Path, str], Any]
    message: str
    id: str | None = "{name}"
    path: str = "{name}"

    def expected_id(self) -> str | None:
        return None if self.id is None else self.id.format(name=self.name)


def gigapixel_png(side: int = 60_000) -> bytes:
    """A whole PNG header that promises far more pixels than the file could ever hold."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def unreadable(path: Path) -> None:
    path.unlink()
    if ROOT_USER:
        os.mkfifo(path)
    else:
        path.touch(mode=0o000)


def truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


class _Boom:
    """Says whether a pickle was loaded: unpickling it makes a file."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.witness,)


def pickled_npy(path: Path) -> None:
    """An NPY file of objects whose unpickling would leave a trace beside INPUT."""
    array = np.empty((HEIGHT, WIDTH), object)
    array[:] = None
    array[0, 0] = _Boom(path.parents[2] / "unpickled")
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": (HEIGHT, WIDTH)})
        pickle.dump(array, file)


# --- frames/ and masks/: a frame and a mask of the row's name, one of the two spoilt ---


def frame_is(damage: Callable[[Path], object], suffix: str = ".jpg") -> Callable[[Path, str], None]:
    def make(folder: Path, name: str) -> None:
        damage(save_frame(folder / "frames" / f"{name}{suffix}"))
        save_mask(folder / "masks" / f"{name}.png")

    return make


def mask_is(write: Callable[[Path], object], suffix: str = ".png") -> Callable[[Path, str], None]:
    def make(folder: Path, name: str) -> None:
        save_frame(folder / "frames" / f"{name}.png")
        path = save_mask(folder / "masks" / f"{name}.png")
        if suffix != ".png":
            path = path.rename(path.with_suffix(suffix))
        write(path)

    return make


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_link_out(path: Path) -> None:
    outside = path.parents[2] / f"outside-{path.name}"
    path.rename(outside)
    path.symlink_to(outside)


def to_dead_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere.png"))


def to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def to_circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def save_grey(path: Path, *values: int) -> None:
    """A grey picture of horizontal stripes."""
    rows = np.array(values, np.uint8)[np.arange(HEIGHT) * len(values) // HEIGHT]
    Image.fromarray(np.repeat(rows[:, None], WIDTH, axis=1)).save(path)


def _save(array: Any) -> Callable[[Path], None]:
    return lambda path: np.save(path, array, allow_pickle=False)


def _no_frame(folder: Path, name: str) -> None:
    save_mask(folder / "masks" / f"{name}.png")


def _not_utf8(folder: Path, _: str) -> None:
    (folder / "masks" / os.fsdecode(b"\xff\xfe.png")).write_bytes((folder / "masks" / "good.png").read_bytes())


def _two_lines(folder: Path, _: str) -> None:
    for kind in ("frames", "masks"):
        (folder / kind / "new\nline.png").write_bytes((folder / kind / "good.png").read_bytes())


def _deep(folder: Path, _: str) -> None:
    parts = Path(*["d" * 120] * 5)
    save_frame(folder / "frames" / parts / "deep.png")
    save_mask(folder / "masks" / parts / "deep.png")


def _twice(folder: Path, _: str) -> None:
    np.save(folder / "masks" / "good.npy", LEFT)


IN_FOLDER = (
    Bad("missing_frame", _no_frame, "missing frame"),
    Bad("empty_frame", frame_is(lambda path: path.write_bytes(b"")), "0 bytes"),
    Bad("cut_jpeg", frame_is(truncate), "truncated"),
    Bad("cut_png", frame_is(truncate, ".png"), "truncated"),
    Bad("text_frame", frame_is(lambda path: path.write_text("not a picture")), "looks like text"),
    Bad("gigapixel_frame", frame_is(lambda path: path.write_bytes(gigapixel_png()), ".png"), "pixels"),
    Bad("folder_frame", frame_is(to_folder), "missing frame"),
    Bad("unreadable_frame", frame_is(unreadable), "pipe" if ROOT_USER else "may not be read"),
    Bad("dead_link_frame", frame_is(to_dead_link), "does not exist"),
    Bad("dead_link_mask", mask_is(to_dead_link), "does not exist"),
    Bad("pipe_mask", mask_is(to_pipe), "pipe"),
    Bad("circle", mask_is(to_circle), "circle"),
    Bad("label_map", mask_is(lambda path: save_grey(path, 0, 1, 2)), "grey values 0, 1, 2 look like object indices"),
    Bad("no_background", mask_is(lambda path: save_grey(path, 1, 255)), "1 and 255 and no 0"),
    Bad("all_void", mask_is(lambda path: save_palette(path, {255: LEFT})), "void"),
    Bad("empty_file", mask_is(lambda path: path.write_bytes(b"")), "0 bytes"),
    Bad("cut_mask", mask_is(truncate), "truncated"),
    Bad("text_mask", mask_is(lambda path: path.write_text("not a mask")), "looks like text"),
    Bad("gigapixel_mask", mask_is(lambda path: path.write_bytes(gigapixel_png())), "pixels"),
    Bad("other_size", mask_is(lambda path: save_mask(path, LEFT[:-2])), "46 x 64, its frame 48 x 64"),
    Bad("turned", mask_is(lambda path: save_mask(path, LEFT.T)), "64 x 48, its frame 48 x 64"),
    Bad("colours", mask_is(save_frame), "in colour"),
    Bad("jpeg_mask", mask_is(lambda path: Image.fromarray(LEFT).convert("L").save(path), ".jpg"), "blurs"),
    Bad("nan", mask_is(_save(np.full((HEIGHT, WIDTH), np.nan)), ".npy"), "NaN"),
    Bad("logits", mask_is(_save(np.linspace(-3, 3, LEFT.size).reshape(LEFT.shape)), ".npy"), "from -3 to 3"),
    Bad("stack", mask_is(_save(np.zeros((3, HEIGHT, WIDTH), bool)), ".npy"), "shape (3, 48, 64)"),
    Bad("pickled", mask_is(pickled_npy, ".npy"), "pickled"),
    Bad("cut_npy", mask_is(lambda path: (np.save(path, LEFT), truncate(path)), ".npy"), "truncated"),
    Bad("text_npy", mask_is(lambda path: path.write_text("x"), ".npy"), "no NPY"),
    Bad("link_out", mask_is(to_link_out), "symbolic link", id=None, path="masks/{name}.png"),
    Bad("link_out_frame", frame_is(to_link_out), "missing frame"),
    Bad("not utf-8", _not_utf8, "not UTF-8", id=None, path=".png"),
    Bad("control characters", _two_lines, "control characters", id=None, path=".png"),
    Bad("long id", _deep, "characters", id=None, path="deep.png"),
    Bad("used twice", _twice, "used twice", id=None, path="good.png"),
)


# --- items.jsonl: a line of the row's name ---


def line(**change: Any) -> Callable[[Path, str], dict[str, Any]]:
    """A good line with some keys changed; None takes one out."""
    return lambda _, name: {key: value for key, value in item(name, **change).items() if value is not ...}


def raw(content: bytes) -> Callable[[Path, str], bytes]:
    return lambda *_: content


def _file_line(key: str, name: str, damage: Callable[[Path], object]) -> Callable[[Path, str], dict[str, Any]]:
    def make(folder: Path, row: str) -> dict[str, Any]:
        path = folder / "spoilt" / name
        picture = (save_frame if key == "frame" else save_mask)(path.with_suffix(".png"))
        damage(picture.rename(path))
        return item(row, **{key: f"spoilt/{name}"})

    return make


def _outside(folder: Path, row: str) -> dict[str, Any]:
    save_mask(folder.parent / "secret.png")
    return item(row, mask="../secret.png")


def _absolute(folder: Path, row: str) -> dict[str, Any]:
    return item(row, frame=str((folder.parent / "frames" / "a.png").resolve()))


RLE = {"size": [HEIGHT, WIDTH], "counts": [0, HEIGHT * WIDTH]}

IN_LINES = (
    Bad("no id", line(id=...), "'id'", id=None),
    Bad("empty id", line(id=" "), "is empty", id=None),
    Bad("number as id", line(id=7), "'id'", id=None),
    Bad("id climbs", line(id="../../etc/passwd"), "leads out", id=None),
    Bad("id is absolute", line(id="/etc/passwd"), "absolute", id=None),
    Bad("id with NUL", line(id="a\0b"), "NUL", id=None),
    Bad("id with newline", line(id="a\nb"), "control characters", id=None),
    Bad("id too long", line(id="x" * 600), "600 characters", id=None),
    Bad("good", line(), "used twice", id=None),
    Bad("frame climbs", line(frame="../../../etc/hostname"), "`..`"),
    Bad("mask climbs", _outside, "`..`"),
    Bad("frame is absolute", _absolute, "absolute"),
    Bad("frame with NUL", line(frame="frames/a\0.png"), "NUL"),
    Bad("frame too long", line(frame="x" * 5000 + ".png"), "too long"),
    Bad("frame by link out", _file_line("frame", "linked.png", to_link_out), "symbolic link"),
    Bad("no frame", line(frame=...), "'frame'"),
    Bad("frame is a list", line(frame=["frames/a.png"]), "a list"),
    Bad("missing file", line(frame="frames/none.png"), "does not exist", path="none.png"),
    Bad("folder as frame", _file_line("frame", "folder.png", to_folder), "folder", path="folder.png"),
    Bad("unreadable", _file_line("frame", "closed.png", unreadable), "", path="closed.png"),
    Bad("empty frame", _file_line("frame", "empty.png", lambda p: p.write_bytes(b"")), "0 bytes", path="empty.png"),
    Bad("folder as mask", _file_line("mask", "maskdir.png", to_folder), "folder", path="maskdir.png"),
    Bad("dead link", _file_line("mask", "dead.png", to_dead_link), "does not exist", path="dead.png"),
    Bad("pickled mask", _file_line("mask", "objects.npy", pickled_npy), "pickled", path="objects.npy"),
    Bad("no mask", line(mask=...), "'mask'"),
    Bad("null mask", line(mask=None), "'mask'"),
    Bad("no polygon", line(mask=[]), "'mask' is an empty list"),
    Bad("mask is a number", line(mask=3), "a number"),
    Bad("rle of another size", line(mask={"size": [10, 10], "counts": [0, 100]}), "10 x 10, its frame 48 x 64"),
    Bad("rle too short", line(mask={**RLE, "counts": [0, 5]}), "cover"),
    Bad("rle negative", line(mask={**RLE, "counts": [-5, 5 + HEIGHT * WIDTH]}), "negative"),
    Bad("rle of text", line(mask={**RLE, "counts": "\x01\x02"}), "no encoder"),
    Bad("rle huge", line(mask={"size": [10**6, 10**6], "counts": [10**12]}), "its frame 48 x 64"),
    Bad("rle size of texts", line(mask={**RLE, "size": ["48", "64"]}), "`size`"),
    Bad("a box", line(mask=[[1, 2, 3, 4]]), "4 numbers"),
    Bad("polygon of texts", line(mask=[["a"] * 6]), "no number"),
    Bad("index 0", line(mask={"path": "masks/a.png", "index": 0}), "'index'"),
    Bad("index that is not there", line(mask={"path": "masks/a.png", "index": 99}), "99 does not", path="a.png"),
    Bad("text is a number", line(text=3), "'text'"),
    Bad("time is a text", line(time_s="soon"), "'time_s'"),
    Bad("truth is a text", line(truth="good"), "'truth'"),
    Bad("truth of nothing known", line(truth={"defect": "blurry"}), "'defect'"),
    Bad("truth climbs", line(truth={"mask": "../x.png"}), "`..`"),
    Bad("broken", raw(b'{"id": "broken", "frame": '), "broken JSON", id=None),
    Bad("list", raw(b"[1, 2]"), "a list", id=None),
    Bad("null", raw(b"null"), "null", id=None),
    Bad("number", raw(b"7"), "a number", id=None),
    Bad("byte order mark inside", raw(b'\xef\xbb\xbf{"id": "bom"}'), "", id=None),
    Bad("not utf-8", raw(b'{"id": "\xff"}'), "not UTF-8", id=None),
    Bad("half a surrogate", raw(b'{"id": "\\ud800"}'), "surrogate", id=None),
    Bad("nan", raw(b'{"id": "nan", "time_s": NaN}'), "NaN", id=None),
    Bad("nested", raw(b"[" * 100_000), "", id=None),
    Bad("two values", raw(b'{"id": "x"} {"id": "y"}'), "broken JSON", id=None),
    Bad("very long line", raw(b'{"id": "' + b"x" * (17 << 20) + b'"}'), "longer than", id=None),
)
