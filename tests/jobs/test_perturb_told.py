"""What a run of perturbing tells: what was left out, converted, lost its meaning; and what it draws for a clip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perturb_inputs import film, run, scene, tone
from PIL import Image

from auscult.cases.listing import ListOptions
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.perturb.options import PerturbOptions, Wanted
from auscult.jobs.perturb.run import perturb
from auscult.media.wav import encode_wav
from small_inputs import folder_input, rows, save_frame, save_mask, write_lines

WORDS = "the small dog that barks on the left"


def _notes(out: Path) -> list[str]:
    notes: list[str] = json.loads((out / "manifest.json").read_text())["inputs"]["notes"]
    return notes


def _lines(out: Path) -> list[dict[str, Any]]:
    (path,) = out.glob("*/items.jsonl")
    return rows(path)


def _clip(folder: Path, **fields: Any) -> Path:
    """A clip of four frames, with one item on each."""
    save_mask(folder / "masks" / "m.png")
    (folder / "v.wav").write_bytes(encode_wav(tone(1), 8000))
    for number in range(4):
        save_frame(folder / "frames" / f"f{number}.png", seed=number)
    shared_fields = {"mask": "masks/m.png", "text": WORDS, "clip": "v", "audio": "v.wav", **fields}
    lines = [
        {"id": f"v/{index}", "frame": f"frames/f{index}.png", "time_s": index / 2, **shared_fields}
        for index in range(4)
    ]
    write_lines(folder / "items.jsonl", *lines)
    return folder


@pytest.mark.parametrize("schedule", ["static", "r2bench"])
def test_the_sentence_of_a_clip_is_perturbed_once_and_others_each_by_themselves(tmp_path: Path, schedule: str) -> None:
    full = {"severities": "5"} if schedule == "static" else {}
    run(_clip(tmp_path / "clip"), tmp_path / "a", "sentences", "misspelling", schedule=schedule, **full)
    assert (
        len({json.dumps(row["plan"]) for row in rows(tmp_path / "a" / "outputs.jsonl") if row["kind"] == "text"}) == 1
    )
    (sentence,) = {line["text"] for line in _lines(tmp_path / "a")}
    assert sentence != WORDS
    loose = folder_input(tmp_path / "loose")
    lines = [
        {"id": index, "frame": f"frames/{index}.png", "mask": f"masks/{index}.png", "text": WORDS} for index in "abc"
    ]
    write_lines(loose / "items.jsonl", *lines)
    run(loose, tmp_path / "b", "sentences", "misspelling", severities="5")
    assert len({line["text"] for line in _lines(tmp_path / "b")}) == 3


def test_two_sentences_of_a_clip_are_drawn_apart(tmp_path: Path) -> None:
    source = _clip(tmp_path / "in")
    lines = [
        {**line, "text": WORDS + " again" * (index % 2)} for index, line in enumerate(rows(source / "items.jsonl"))
    ]
    write_lines(source / "items.jsonl", *lines)
    run(source, tmp_path / "out", "sentences", "misspelling")
    keys = [row["key"] for row in rows(tmp_path / "out" / "outputs.jsonl") if row["kind"] == "text"]
    assert len(keys) == 4
    assert len(set(keys)) == 2


def test_the_head_noun_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text(f"{WORDS}\n" * 20)
    n_kept = {}
    for keep_head in (False, True):
        out = tmp_path / f"out{keep_head}"
        run(source, out, "sentences", "misspelling", severities="5", keep_head=keep_head)
        n_kept[keep_head] = sum(" dog " in line for line in (out / "misspelling_5" / "a.txt").read_text().splitlines())
    assert n_kept[True] == 20 > n_kept[False]


def test_the_offset_of_a_video_of_variable_rate_is_by_its_own_times(tmp_path: Path) -> None:
    times = (0, 0.04, 0.08, 0.5, 0.54, 1.2, 1.24, 1.28, 1.9, 2.0)
    source = film(tmp_path / "a.mkv", 10, times_s=times, sound=tone(1, 17_000))
    run(source, tmp_path / "out", "timing", "dropped_frames,offset", severities="5")
    for row in rows(tmp_path / "out" / "outputs.jsonl"):
        if row["shown"] is not None:
            assert row["shown"] != list(range(10))
            offsets_s = [times[shown_index] - time for shown_index, time in zip(row["shown"], times, strict=True)]
            assert row["offset_s"] == pytest.approx(offsets_s, abs=0.002)
        else:
            assert np.ptp(row["offset_s"]) < 1e-6  # the whole sound is as late everywhere


def test_what_nothing_is_done_to_and_what_does_nothing_is_noted(tmp_path: Path) -> None:
    save_frame(tmp_path / "in" / "a.png")
    (tmp_path / "in" / "a.wav").write_bytes(encode_wav(tone(1), 8000))
    run(tmp_path / "in", tmp_path / "preset", "recipe", "", preset="release")
    assert any("1 sound" in note for note in _notes(tmp_path / "preset"))
    (tmp_path / "in" / "a.wav").unlink()
    run(tmp_path / "in", tmp_path / "sweep", "recipe", "contrast,gain")
    assert any("gain_3" in note and "contrast" not in note for note in _notes(tmp_path / "sweep"))
    run(tmp_path / "in", tmp_path / "fine", "vision", "contrast")
    assert not _notes(tmp_path / "fine")


def test_hidden_files_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "in"
    for name in ("a.png", ".b.png", "sub/.c.png", ".d/e.png", "sub/f.png"):
        save_frame(source / name)
    for _ in range(2):  # the output folder has hidden files of its own
        assert run(source, source / "out", "vision", "contrast").n == 2
    assert _notes(source / "out") == ["left out, hidden by a dot: 3 names"]


@pytest.mark.parametrize("schedule", ["ramp", "burst", "walk"])
def test_a_schedule_through_a_clip_is_refused_where_there_is_none(tmp_path: Path, schedule: str) -> None:
    source = save_frame(tmp_path / "a.png")
    with pytest.raises(UsageError, match=f"--dynamic {schedule} goes from frame to frame"):
        run(source, tmp_path / "out", "vision", "contrast", schedule=schedule)
    assert not (tmp_path / "out").exists()
    assert run(source, tmp_path / "drawn", "vision", "contrast", schedule="r2bench").ok == 1
    assert run(_clip(tmp_path / "clip"), tmp_path / "moving", "vision", "contrast", schedule=schedule).ok == 4


def test_boxes_and_spans_that_are_true_no_more_are_left_out(tmp_path: Path) -> None:
    source = _clip(tmp_path / "in", box=[1, 2, 9, 9], bbox=[1, 2, 8, 7], spans_s=[[0, 1]], mine=[3])
    for kinds, left_out in (
        ("elastic_transform", ["box", "bbox"]),
        ("time_mask", ["spans_s"]),
        ("contrast+gain", None),
    ):
        out = tmp_path / kinds
        run(source, out, "recipe", kinds, severities="5")
        for line in _lines(out):
            assert line["stress"].get("left_out") == left_out
            assert line["mine"] == [3]
            assert {"box", "bbox", "spans_s"} - line.keys() == set(left_out or ())


def test_what_reading_a_picture_changed_is_in_its_row(tmp_path: Path) -> None:
    folder, colour = tmp_path / "in", Image.fromarray(scene(1))
    folder.mkdir()
    for mode in ("RGB", "L", "RGBA", "P"):
        colour.convert(mode).save(folder / f"{mode}.png")
    Image.fromarray(scene(1)[..., 0].astype(np.uint16) * 257).save(folder / "deep.png")
    colour.convert("LAB").save(folder / "lab.tiff")
    colour.save(folder / "pages.tiff", save_all=True, append_images=[Image.fromarray(scene(2))])
    run(folder, tmp_path / "out", "vision", "contrast")
    converted_of = {row["part"]: row.get("converted") for row in rows(tmp_path / "out" / "outputs.jsonl")}
    assert converted_of == {
        "RGB.png": None,
        "L.png": ["grey to RGB"],
        "RGBA.png": ["alpha over black"],
        "P.png": ["palette to RGB"],
        "deep.png": ["16 bits to 8", "grey to RGB"],
        "lab.tiff": ["LAB to RGB"],
        "pages.tiff": ["the first of several pictures"],
    }


def test_masks_that_nobody_opened_are_told(tmp_path: Path) -> None:
    save_frame(tmp_path / "one" / "a.png")
    has_note = []
    for source in (_clip(tmp_path / "in"), tmp_path / "one"):
        wishes = Wanted(room="vision", kinds="contrast")
        options = PerturbOptions(source=source, out=tmp_path / f"out{len(has_note)}", wanted=wishes, workers=0)
        has_note.append("copied unopened" in perturb(options)[1][0].note)
    assert has_note == [True, False]


def test_where_severities_are_drawn_the_manifest_names_none(tmp_path: Path) -> None:
    source, severities = save_frame(tmp_path / "a.png"), []
    for schedule in ("r2bench", "static"):
        run(source, tmp_path / schedule, "vision", "contrast", schedule=schedule)
        severities.append(
            json.loads((tmp_path / schedule / "manifest.json").read_text())["arguments"]["defaulted"]["severity"]
        )
    assert severities == ["", "3"]


def test_what_an_input_without_sentences_holds_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n")
    with pytest.raises(NothingToDo) as error:
        run(tmp_path / "a.csv", tmp_path / "out", "sentences", "misspelling")
    assert error.value.hint == "it holds no sentence"


def test_what_says_how_items_are_read_is_refused_beside_one_file(tmp_path: Path) -> None:
    source = save_frame(tmp_path / "a.png")
    wishes = Wanted(room="vision", kinds="contrast")
    listing = ListOptions(text="the dog", labels=True)
    with pytest.raises(UsageError, match="--text and --labels had no effect: the input is one file"):
        perturb(PerturbOptions(source=source, out=tmp_path / "out", wanted=wishes, listing=listing, workers=0))
    assert not (tmp_path / "out").exists()


def test_sentences_that_items_keep_are_not_told_as_left_out(tmp_path: Path) -> None:
    source = _clip(tmp_path / "in")
    run(source, tmp_path / "out", "vision", "contrast")
    assert {line["text"] for line in _lines(tmp_path / "out")} == {WORDS}
    assert not _notes(tmp_path / "out")
