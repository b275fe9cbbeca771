"""What a judge that needs the clip sees around each frame."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest

from auscult.cases.listing import ListOptions, list_items
from auscult.errors import InputError
from auscult.jobs.clip_context import MOST_FRAMES, ClipIndex, ClipPictures
from auscult.media.frames import write_frame
from auscult.types import ClipContext


def _frame(path: Path, level: int) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_frame(path, np.full((8, 8, 3), level, np.uint8))
    return path.as_posix()


def _index(folder: Path, rows: list[dict[str, object]]) -> dict[str, ClipContext]:
    mask = {"size": [8, 8], "counts": [0, 64]}
    lines = [json.dumps({"mask": mask, **row}) for row in rows]
    (folder / "items.jsonl").write_text("\n".join(lines))
    listing = list_items(folder / "items.jsonl", ListOptions())
    assert not listing.errors
    index = ClipIndex.of(listing)
    return {item.id: index.context(item) for item in listing.items}


def test_the_pictures_beside_a_frame_are_its_clip_and_photographs_have_none(tmp_path: Path) -> None:
    for number in (0, 1, 2, 10):
        _frame(tmp_path / "v1" / f"{number}.png", 10 * number)
    for name in "ab":
        _frame(tmp_path / "photos" / f"{name}.png", 200)
    pictures_of = _index(
        tmp_path,
        [
            {"id": "x", "frame": "v1/10.png", "clip": "v1"},
            {"id": "y", "frame": "v1/1.png", "clip": "v1"},
            {"id": "a", "frame": "photos/a.png"},
        ],
    )
    assert (len(pictures_of["x"]), pictures_of["x"].at, pictures_of["y"].at) == (4, 3, 1)
    assert pictures_of["x"].key == pictures_of["y"].key
    assert [int(pictures_of["x"].frame(index)[0, 0, 0]) for index in range(4)] == [0, 10, 20, 100]
    assert (len(pictures_of["a"]), pictures_of["a"].at, pictures_of["a"].sound()) == (1, 0, None)
    assert isinstance(pictures_of["a"], ClipContext)


def test_clips_that_share_a_folder_hold_the_frames_that_name_them_in_order_of_time(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = []
    for number, (clip, time) in enumerate([("v", 2.0), ("w", 0.0), ("v", 1.0)]):
        _frame(tmp_path / "frames" / f"{number}.png", 50 * number)
        rows.append({"id": str(number), "frame": f"frames/{number}.png", "clip": clip, "time_s": time})
    pictures_of = _index(tmp_path, rows)
    assert [(len(pictures_of[name]), pictures_of[name].at) for name in "012"] == [(2, 1), (1, 0), (2, 0)]


def test_sound_is_read_when_it_is_asked_for_and_an_unreadable_frame_is_an_input_error(tmp_path: Path) -> None:
    _frame(tmp_path / "v" / "0.png", 0)
    (tmp_path / "v" / "1.png").write_bytes(b"no picture")
    with wave.open(str(tmp_path / "s.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(1600))
    pictures = _index(tmp_path, [{"id": "x", "frame": "v/0.png", "clip": "v", "audio": "s.wav"}])["x"]
    sound = pictures.sound()
    assert sound is not None
    assert (sound[0].shape[-1], sound[1]) == (800, 8000)
    with pytest.raises(InputError, match=r"1\.png|picture"):
        pictures.frame(1)


def test_a_long_clip_is_thinned_and_keeps_the_frame_itself(tmp_path: Path) -> None:
    names = [tmp_path / "v" / f"{number}.png" for number in range(3 * MOST_FRAMES)]
    (tmp_path / "v").mkdir()
    for path in names:
        path.touch()
    _frame(names[1234], 7)
    pictures = _index(tmp_path, [{"id": "x", "frame": f"v/{names[1234].name}", "clip": "v"}])["x"]
    assert isinstance(pictures, ClipPictures)
    assert len(pictures) <= MOST_FRAMES
    assert pictures.frames[pictures.at] == names[1234]
