"""What frames and sounds share: those of one clip are drawn together, in order, others alone; what a line is."""

from __future__ import annotations

from pathlib import Path

import pytest
from perturb_inputs import run, tone

from auscult.media.wav import encode_wav
from small_inputs import rows, save_frame, save_mask, write_lines


def _items(folder: Path, lines: list[dict[str, object]]) -> Path:
    save_mask(folder / "masks" / "m.png")
    for line in lines:
        save_frame(folder / str(line["frame"]))
        (folder / str(line["audio"])).write_bytes(encode_wav(tone(1), 8000))
    write_lines(folder / "items.jsonl", *lines)
    return folder


@pytest.mark.parametrize("clip", [False, True])
def test_sounds_of_loose_pictures_are_drawn_each_by_itself(tmp_path: Path, clip: bool) -> None:
    more = {"clip": "v"} if clip else {}
    lines = [
        {"id": at, "frame": f"frames/{at}.png", "mask": "masks/m.png", "audio": f"{at}.wav", **more} for at in "abcd"
    ]
    run(_items(tmp_path / "in", lines), tmp_path / "out", "sound", "time_mask")
    made = [row for row in rows(tmp_path / "out" / "outputs.jsonl") if row["kind"] == "audio"]
    assert len(made) == 4
    assert len({row["sha256"] for row in made}) == (1 if clip else 4)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_a_line_is_a_sentence_however_it_ends(tmp_path: Path, end: str) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(end.join(["the small dog barks", "the man on the left", ""]).encode())
    run(path, tmp_path / "out", "sentences", "misspelling", severities="5")
    (made,) = tmp_path.glob("out/*/s.txt")
    assert made.read_bytes().count(b"\n") == 2
    assert [len(line.split()) for line in made.read_text().splitlines()] == [4, 5]


@pytest.mark.parametrize("timed", ["none", "all", "some"])
def test_frames_of_a_clip_stand_in_their_order_whatever_that_of_the_lines(tmp_path: Path, timed: str) -> None:
    """By their times; by their names where not all have one."""
    lines: list[dict[str, object]] = [
        {"id": f"v/{at}", "frame": f"frames/f{at}.png", "mask": "masks/m.png", "clip": "v", "audio": "v.wav"}
        for at in (11, 2, 9, 10)
    ]
    for line, time_s in zip(lines, (0.0, 1.5, 1.0, 0.5), strict=True):
        if timed == "all" or (timed == "some" and line["id"] == "v/11"):
            line["time_s"] = time_s
    run(_items(tmp_path / "in", lines), tmp_path / "out", "vision", "brightness", schedule="ramp", severities="5")
    made = {row["part"]: row["index"] for row in rows(tmp_path / "out" / "outputs.jsonl") if row["kind"] == "frame"}
    order = ["f11", "f10", "f9", "f2"] if timed == "all" else ["f2", "f9", "f10", "f11"]
    assert made == {f"{name}.png": place for place, name in enumerate(order)}
