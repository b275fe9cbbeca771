"""What goes wrong with a source costs what it must and nothing else, and is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from auscult.suites.mqa.build import build_benchmark
from auscult.suites.mqa.options import BuildOptions
from small_ref_avs import SIZE, Clip, write_root, write_table

WHOLE = Clip("bad", "test_s")
GOOD = [Clip("good", "test_s", words=("dog", "drum")), Clip("fine", "test_s", words=("bell", "dog"))]
VIDEO = ("image", "video")


@dataclass(frozen=True)
class Case:
    """A source that is wrong in one way.

    Attributes:
        spoil: What is done to the data root that holds the clips ``bad``, ``good`` and ``fine``.
        clip: The clip ``bad``.
        failed: Ids, or None for a whole clip, that errors.jsonl must name; with words of the message.
        bad: How many instances of ``bad`` still come out.
        undefined: Kind and reason pairs that must be counted.
        left_out: Words that the table of the sample must hold.
        protocols: What is built.
    """

    spoil: Callable[[Path], None] = lambda root: None  # noqa: ARG005 - nothing is spoiled
    clip: Clip = WHOLE
    failed: str = ""
    bad: int = 2
    undefined: tuple[tuple[str, str], ...] = ()
    left_out: str = ""
    protocols: tuple[str, ...] = ("image",)


def no_frames(root: Path) -> None:
    for path in (root / "media/bad/frames").iterdir():
        path.unlink()


def one_broken_frame(root: Path) -> None:
    (root / "media/bad/frames/4.jpg").write_bytes(b"not a picture")


def no_masks(root: Path) -> None:
    for path in (root / "gt_mask/bad").glob("fid_*/*.png"):
        path.unlink()


def one_empty_file(root: Path) -> None:
    (root / "gt_mask/bad/fid_0/00002.png").write_bytes(b"")


def other_size(root: Path) -> None:
    small = np.full((SIZE[0] // 2, SIZE[1] // 2), 255, np.uint8)
    for path in (root / "gt_mask/bad/fid_1").iterdir():
        cv2.imwrite(str(path), small)


def all_empty(root: Path) -> None:
    for path in (root / "gt_mask/bad/fid_0").iterdir():
        cv2.imwrite(str(path), np.zeros(SIZE, np.uint8))


def no_sound(root: Path) -> None:
    (root / "media/bad/audio.wav").write_bytes(b"")


def one_category(root: Path) -> None:
    rows = [("bad", f"bad_dog_{fid}", "test_s", fid, "The dog.") for fid in range(3)]
    rows += [(name, f"{name}_dog_1", "test_s", 0, "The dog.") for name in ("good", "fine")]
    write_table(root, rows)


def null_expression(root: Path) -> None:
    with (root / "metadata.csv").open("a", encoding="utf-8") as file:
        file.write("bad,bad_null_1,test_s,9,The zebra.\n")


CASES = {
    "frames are missing": Case(spoil=no_frames, failed="missing", bad=0),
    "a frame is broken": Case(spoil=one_broken_frame, failed="4.jpg", bad=0),
    "masks are missing": Case(spoil=no_masks, failed="missing", bad=0),
    "a mask is an empty file": Case(
        spoil=one_empty_file,
        failed="00002.png",  # of an object that only others are compared with: it costs a frame of two tracks
        undefined=(("merge", "other_not_annotated"), ("full_neg", "other_not_annotated")),
        protocols=VIDEO,
    ),
    "the target's mask is an empty file": Case(
        spoil=one_empty_file,
        clip=Clip("bad", "test_s", words=("dog", "drum")),
        failed="00002.png",
        bad=1,
        undefined=(("merge", "other_not_annotated"),),
        protocols=VIDEO,
    ),
    "a mask has another size": Case(spoil=other_size, failed="48 x 64", bad=2),
    "the target is in no frame": Case(
        spoil=all_empty,
        clip=Clip("bad", "test_s", words=("dog", "drum")),
        bad=1,
        undefined=(("merge", "no_other_object"), ("full_neg", "no_other_object")),
        left_out="the target's mask is empty in every frame",
    ),
    "the target leaves the picture": Case(
        clip=Clip("bad", "test_s", words=("dog",), leaves_after=7),
        bad=1,
        undefined=(("perfect", "target_empty"), ("merge", "no_other_object")),
        protocols=VIDEO,
    ),
    "another object leaves the picture": Case(
        clip=Clip("bad", "test_s", words=("dog", "drum"), leaves_after=7),
        undefined=(("merge", "other_not_visible"), ("full_neg", "other_not_visible")),
        protocols=VIDEO,
    ),
    "there is one object": Case(
        clip=Clip("bad", "test_s", words=("dog",)),
        bad=1,
        undefined=(("merge", "no_other_object"), ("full_neg", "no_other_object")),
    ),
    "all objects have one category": Case(spoil=one_category),
    "the sound is broken": Case(spoil=no_sound, failed="audio.wav"),
    "an expression refers to nothing": Case(spoil=null_expression, left_out="null expression"),
    "a category is in one split only": Case(clip=Clip("bad", "train"), bad=1),
}


@pytest.mark.parametrize("name", CASES)
def test_one_bad_thing_costs_itself_only(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    root = write_root(tmp_path / "root", [case.clip, *GOOD])
    case.spoil(root)
    out = tmp_path / "out"
    summary, tables = build_benchmark(BuildOptions(source=root, out=out, workers=0, protocols=case.protocols))
    uids = {row["mqa"]["uid"] for row in _rows(out, "items.jsonl")}
    assert sum(uid.startswith("bad_") for uid in uids) == case.bad
    assert sum(uid.startswith(("good_", "fine_")) for uid in uids) == (
        2 if name == "all objects have one category" else 4
    )
    errors = " ".join(f"{row['path']} {row['error']}" for row in _rows(out, "errors.jsonl"))
    assert case.failed in errors
    assert bool(errors) == bool(case.failed)
    undefined = {
        (failed_mask["kind"], failed_mask["reason"])
        for row in _rows(out, "targets.jsonl")
        for failed_mask in row["undefined"]
    }
    assert set(case.undefined) <= undefined
    assert bool(undefined) == bool(case.undefined)
    assert summary.undefined == sum(
        failed_mask.get("count", 1) for row in _rows(out, "targets.jsonl") for failed_mask in row["undefined"]
    )
    sample = next(table for table in tables if table.title == "benchmark: sample")
    assert case.left_out in " ".join(cell for row in sample.rows for cell in row)


def _rows(out: Path, name: str) -> list[dict[str, Any]]:
    path = out / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def test_a_file_that_was_mended_gives_what_was_right_from_the_start(tmp_path: Path) -> None:
    clips = [Clip("bad", "test_s"), *GOOD]
    whole_root = write_root(tmp_path / "whole", clips)
    build_benchmark(BuildOptions(source=whole_root, out=tmp_path / "right", workers=0, count=2, protocols=("image",)))
    taken_clips = {row["id"].split("_")[0] for row in _rows(tmp_path / "right", "survey.jsonl")}
    broken = sorted(taken_clips)[0]
    spoiled = list((whole_root / f"gt_mask/{broken}").glob("fid_*/00003.png"))
    content = {path: path.read_bytes() for path in spoiled}
    for path in spoiled:
        path.write_bytes(b"broken")
    options = BuildOptions(source=whole_root, out=tmp_path / "mended", workers=0, count=2, protocols=("image",))
    first, _ = build_benchmark(options)
    assert first.failed > 0
    assert not any(row["mqa"]["vid"] == broken for row in _rows(tmp_path / "mended", "items.jsonl"))
    for path, data in content.items():
        path.write_bytes(data)
    second_summary, _ = build_benchmark(options)
    assert second_summary.failed == 0
    assert _rows(tmp_path / "mended", "items.jsonl") == _rows(tmp_path / "right", "items.jsonl")
    masks = {path.relative_to(tmp_path / "mended") for path in (tmp_path / "mended/masks").rglob("*.png")}
    assert masks == {path.relative_to(tmp_path / "right") for path in (tmp_path / "right/masks").rglob("*.png")}
