"""Files on the terminal and in the record: one clip, objects of a palette, frames that can be opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from auscult.arrays.overlap import iou
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.clip_tracks import clip_offer, tracks_of
from auscult.jobs.options import AuditOptions, StressOptions
from auscult.jobs.stress import StressMasks
from auscult.media.masks import read_mask, write_labels
from auscult.record.reader import read_run
from small_inputs import ellipse, rows, save_frame, save_mask

SIZE = (96, 128)
WHOLE = ellipse((48, 60), (30, 24), SIZE)
PART = ellipse((48, 56), (15, 12), SIZE)


def palette_input(root: Path, *, count: int = 2, folder: str = "frames") -> Path:
    """Frames side by side, of each a palette of two proposals, the second one right, and the true mask."""
    for number in range(count):
        frame = np.full((*SIZE, 3), 60, np.uint8)
        frame[WHOLE] = (200, 150, 40)
        path = root / folder / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(frame).save(path)
        labels = np.where(WHOLE, 2, 0).astype(np.uint8)
        labels[PART] = 1
        write_labels(root / "masks" / f"{number:04d}.png", labels)
        save_mask(root / "truth" / f"{number:04d}.png", WHOLE)
    return root


def judged_rows(source: Path, out: Path, **options: Any) -> list[dict[str, Any]]:
    audit_folder(AuditOptions(source=source, out=out, judge="cues", workers=0, listing=ListOptions(**options)))
    return rows(out / "verdicts.jsonl")


def test_objects_of_a_palette_are_judged_each_as_union_or_the_best(tmp_path: Path) -> None:
    source = palette_input(tmp_path / "in")
    of_each = judged_rows(source, tmp_path / "each")
    assert sorted(row["id"] for row in of_each) == ["0000#1", "0000#2", "0001#1", "0001#2"]
    union = judged_rows(source, tmp_path / "union", objects="union")
    assert [row["id"] for row in union] == ["0000", "0001"]
    assert [row["iou"] for row in rows(tmp_path / "union/truth.jsonl")] == [1.0, 1.0]
    best = judged_rows(source, tmp_path / "best", objects="best")
    estimates = {row["id"]: -1.0 if row["iou"] is None else row["iou"] for row in of_each}  # None: cannot be judged
    for row in best:
        proposal = max((1, 2), key=lambda index, name=row["id"]: estimates[f"{name}#{index}"])
        assert (row["proposal"], row["proposals"]) == (proposal, 2)
        assert row["iou"] == estimates[f"{row['id']}#{proposal}"]
    drawn_mask = read_mask(list_items(source).items[best[0]["proposal"] - 1].mask).mask
    iou_of = {row["id"]: row["iou"] for row in rows(tmp_path / "best/truth.jsonl")}
    assert iou_of["0000"] == iou(drawn_mask, WHOLE)
    second = audit_folder(
        AuditOptions(source=source, out=tmp_path / "best", judge="cues", workers=0, listing=ListOptions(objects="best"))
    )
    assert second.n == 2
    assert len(rows(tmp_path / "best/verdicts.jsonl")) == 2  # nothing was judged twice


def test_objects_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    source = palette_input(tmp_path / "in", count=1)
    with pytest.raises(UsageError, match="--objects 'most'"):
        list_items(source, ListOptions(objects="most"))
    (tmp_path / "items.jsonl").write_text('{"id": "a", "frame": "in/frames/0000.png", "mask": "in/masks/0000.png"}\n')
    with pytest.raises(UsageError, match="does not fit"):
        list_items(tmp_path / "items.jsonl", ListOptions(objects="union"))
    with pytest.raises(UsageError, match="needs a judge"):
        StressMasks(StressOptions(source=source, out=tmp_path / "out", listing=ListOptions(objects="best")))


@pytest.mark.parametrize("folder", ["frames", "images"])
def test_frames_side_by_side_are_offered_as_a_clip_and_are_one_with_the_option(tmp_path: Path, folder: str) -> None:
    source = palette_input(tmp_path / "in", count=9, folder=folder)
    plain = list_items(source)
    (note,) = clip_offer(plain)
    assert "9 frames, 0000 to 0008" in note
    assert "--clip" in note
    assert not tracks_of(plain)
    listing = list_items(source, ListOptions(clip=True))
    assert not clip_offer(listing)
    (clip,) = tracks_of(listing)
    assert ([track.name for track in clip.tracks], len(clip.frames)) == (["#1", "#2"], 9)


def test_frames_with_their_masks_beside_them_are_offered_too(tmp_path: Path) -> None:
    for number in range(9):
        save_frame(tmp_path / f"shot{number:02d}.jpg")
        save_mask(tmp_path / f"shot{number:02d}_mask.png", WHOLE)
    (note,) = clip_offer(list_items(tmp_path))
    assert "9 frames, shot00 to shot08" in note
    (clip,) = tracks_of(list_items(tmp_path, ListOptions(clip=True)))
    assert len(clip.frames) == 9


def test_photographs_are_not_offered_as_a_clip(tmp_path: Path) -> None:
    for number in (139, 285, 632, 724, 776, 785, 802, 872, 885):
        save_frame(tmp_path / f"frames/{number:012d}.png")
        save_mask(tmp_path / f"masks/{number:012d}.png", WHOLE)
    assert not clip_offer(list_items(tmp_path))


def test_a_clip_of_which_no_mask_can_be_judged_has_a_row(tmp_path: Path) -> None:
    for number in range(2):
        save_frame(tmp_path / f"in/frames/v/{number}.png", size=SIZE)
        save_mask(tmp_path / f"in/masks/v/{number}.png", np.ones(SIZE, bool))
    judged_rows(tmp_path / "in", tmp_path / "out")
    (row,) = rows(tmp_path / "out/clips.jsonl")
    assert (row["defect"], row["iou"], row["n"]) == (None, None, 2)


def test_frames_on_record_can_be_opened_after_more_were_added(tmp_path: Path) -> None:
    source = palette_input(tmp_path / "in/a", folder="frames/v1").parent
    options = {"frames": Path("a/frames"), "masks": Path("a/masks")}
    (source / "a/masks/v1").mkdir()
    for path in list((source / "a/masks").glob("*.png")):
        path.rename(path.parent / "v1" / path.name)
    judged_rows(source, tmp_path / "out", **options)
    more_frames = palette_input(tmp_path / "more", count=1)
    (source / "a/frames/v2").mkdir()
    (more_frames / "frames/0000.png").rename(source / "a/frames/v2/0000.png")
    (source / "a/masks/v2").mkdir()
    (more_frames / "masks/0000.png").rename(source / "a/masks/v2/0000.png")
    verdicts = judged_rows(source, tmp_path / "out", **options)
    run = read_run(tmp_path / "out")
    paths = {run.frame_path(row) for row in verdicts}
    assert paths == {source / f"a/frames/{name}.png" for name in ("v1/0000", "v1/0001", "v2/0000")}
    assert all(path is not None and path.is_file() for path in paths)


UNKNOWN = {
    "two folders": (
        {"rgb/a.jpg", "rgb/b.jpg", "rgb/c.jpg", "rgb/d.jpg", "sem/a_mask.png"},
        "4 .jpg ('rgb/a.jpg', 'rgb/b.jpg', 'rgb/c.jpg', ...), 1 .png ('sem/a_mask.png')",
        "auscult audit IN --frames IN/rgb --masks IN/sem --out out",
    ),
    "deeper": (
        {"x/data/frames/a.jpg", "x/data/masks/a.png", "notes.md"},
        "1 .md ('notes.md')",
        "audit IN/x --out",
    ),
    "pictures only": ({"a.jpg", "b.jpg"}, "2 .jpg", "auscult audit IN --frames IN --masks MASKS --out out"),
    "other names": ({"p/a.jpg", "q/z.png"}, "1 .png ('q/z.png')", "or write items.jsonl"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_layout_is_shown_with_the_command_that_would_read_it(tmp_path: Path, name: str) -> None:
    names, found_text, command = UNKNOWN[name]
    for name_ in names:
        save_frame(tmp_path / name_) if not name_.endswith(".md") else (tmp_path / name_).write_text("x")
    with pytest.raises(NothingToDo) as error:
        list_items(tmp_path)
    assert found_text in error.value.message
    assert error.value.expected
    assert command.replace("IN", str(tmp_path)) in error.value.hint
