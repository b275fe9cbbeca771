"""What frames and sounds share: those of one clip are drawn together, in order, others alone; what a line is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from perturb_inputs import run, scene, tone
from PIL import Image

from auscult.errors import NothingToDo
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
    clip_field = {"clip": "v"} if clip else {}
    lines = [
        {"id": name, "frame": f"frames/{name}.png", "mask": "masks/m.png", "audio": f"{name}.wav", **clip_field}
        for name in "abcd"
    ]
    run(_items(tmp_path / "in", lines), tmp_path / "out", "sound", "time_mask")
    outputs = [row for row in rows(tmp_path / "out" / "outputs.jsonl") if row["kind"] == "audio"]
    assert len(outputs) == 4
    assert len({row["sha256"] for row in outputs}) == (1 if clip else 4)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_a_line_is_a_sentence_however_it_ends(tmp_path: Path, end: str) -> None:
    path = tmp_path / "s.txt"
    path.write_bytes(end.join(["the small dog barks", "the man on the left", ""]).encode())
    run(path, tmp_path / "out", "sentences", "misspelling", severities="5")
    (output,) = tmp_path.glob("out/*/s.txt")
    assert output.read_bytes().count(b"\n") == 2
    assert [len(line.split()) for line in output.read_text().splitlines()] == [4, 5]


@pytest.mark.parametrize("timed", ["none", "all", "some"])
def test_frames_of_a_clip_stand_in_their_order_whatever_that_of_the_lines(tmp_path: Path, timed: str) -> None:
    """By their times; by their names where not all have one."""
    lines: list[dict[str, object]] = [
        {"id": f"v/{number}", "frame": f"frames/f{number}.png", "mask": "masks/m.png", "clip": "v", "audio": "v.wav"}
        for number in (11, 2, 9, 10)
    ]
    for line, time_s in zip(lines, (0.0, 1.5, 1.0, 0.5), strict=True):
        if timed == "all" or (timed == "some" and line["id"] == "v/11"):
            line["time_s"] = time_s
    run(_items(tmp_path / "in", lines), tmp_path / "out", "vision", "brightness", schedule="ramp", severities="5")
    index_of = {row["part"]: row["index"] for row in rows(tmp_path / "out" / "outputs.jsonl") if row["kind"] == "frame"}
    order = ["f11", "f10", "f9", "f2"] if timed == "all" else ["f2", "f9", "f10", "f11"]
    assert index_of == {f"{name}.png": place for place, name in enumerate(order)}


def test_a_folder_of_frames_is_a_clip_whose_timing_is_perturbed(tmp_path: Path) -> None:
    for clip in ("v1", "v2"):
        for index in range(12):
            path = tmp_path / "in" / clip / f"{index}.png"  # natural order: 2 before 10
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(scene(index)).save(path)
    summary = run(tmp_path / "in", tmp_path / "out", "timing", "repeated_frames", severities="5")
    assert (summary.ok, summary.failed) == (24, 0)
    row_of = {row["part"]: row for row in rows(tmp_path / "out" / "outputs.jsonl")}
    for clip in ("v1", "v2"):
        shown_frames = [row_of[f"{clip}/{index}.png"]["shown"] for index in range(12)]
        assert shown_frames == sorted(shown_frames)
        assert shown_frames != list(range(12))
        for index, number in enumerate(shown_frames):
            picture = np.asarray(Image.open(tmp_path / "out" / row_of[f"{clip}/{index}.png"]["output"]))
            assert np.array_equal(picture, scene(number))
    with pytest.raises(NothingToDo, match="nothing that timing can perturb"):
        run(tmp_path / "in", tmp_path / "silent", "timing", "offset")
    mixed = run(tmp_path / "in" / "v1", tmp_path / "mixed", "timing", "repeated_frames,offset")
    assert (mixed.ok, mixed.failed) == (12, 12)
    assert "the folder of frames has no sound" in rows(tmp_path / "mixed" / "errors.jsonl")[0]["error"]


def test_recipe_without_a_kind_draws_from_the_release(tmp_path: Path) -> None:
    save_frame(tmp_path / "in" / "a.png")
    assert run(tmp_path / "in", tmp_path / "out", "recipe", "", severities="3").ok == 1
    assert (tmp_path / "out" / "release" / "a.png").is_file()
