"""clips.jsonl: planted errors in generated clips are found, whole clips are left alone, photographs have no row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.act.policy import DEFAULT
from auscult.cases.listing import ListOptions, list_items
from auscult.jobs import clips
from auscult.jobs.against_truth import clusters_of
from auscult.jobs.audit import audit_folder
from auscult.jobs.clip_tracks import filmed, tracks_of
from auscult.jobs.clips import write_clips
from auscult.jobs.options import AuditOptions
from auscult.jobs.runner import ResultWriter, Silent
from auscult.media.frames import write_frame
from auscult.media.rle import encode
from auscult.record.codec import from_json, to_json
from auscult.record.folder import open_run
from auscult.record.reader import read_run, read_verdicts
from auscult.record.schema import DECIMALS, ClipRow, verdict_to_json
from auscult.types import Evidence, Verdict
from small_inputs import auscult, ellipse, item, rows, save_frame, save_mask, save_palette, write_lines

FRAMES = 16
SIZE = (96, 128)

Bools = NDArray[np.bool_]


def scene(folder: Path) -> tuple[list[Bools], list[Bools]]:
    """A clip in which two textured discs glide over a textured wall; the true masks of both."""
    rng = np.random.default_rng(4)
    wall = np.kron(rng.integers(60, 110, (24, 32, 1)), np.ones((4, 4, 1), int)) + rng.integers(-8, 8, (*SIZE, 3))
    coats = [
        np.kron(rng.integers(0, 60, (12, 16, 1)), np.ones((8, 8, 1), int)) + base
        for base in ((170, 60, 40), (30, 90, 190))
    ]
    first, second = [], []
    for number in range(FRAMES):
        places = [((40, 30 + number), (18, 15)), ((60, 100 - number), (14, 14))]
        masks = [ellipse(centre, axes, SIZE) for centre, axes in places]
        masks[0] &= ~masks[1]
        frame = wall.copy()
        for mask, coat, shift in zip(masks, coats, (number, -number), strict=True):
            frame[mask] = np.roll(coat, shift, axis=1)[mask]
        write_frame(folder / "frames" / f"{number:03d}.png", np.clip(frame, 0, 255).astype(np.uint8))
        first.append(masks[0])
        second.append(masks[1])
    return first, second


def verdict_of_mask(name: str, mask: Bools, iou: float) -> Verdict:
    empty = not mask.any()
    return Verdict(
        id=name,
        iou=None if empty else iou,
        iou_low=None if empty else iou - 0.1,
        iou_high=None if empty else min(1.0, iou + 0.05),
        defect="empty" if empty else "perfect",
        defect_probs={} if empty else {"perfect": 0.8, "erode": 0.2},
        evidence=Evidence(shape=True),
        rationale="",
        judge="masks.planted.v1",
        action="reject" if empty else "accept",
    )


def rows_of(tmp_path: Path, masks: Sequence[Bools], ious: Sequence[float], **line_fields: Any) -> list[dict[str, Any]]:
    """The clip rows of planted masks and verdicts, in a record made by hand."""
    lines = [
        item(f"v/{number}", frame=f"frames/{number:03d}.png", mask=encode(mask), clip="v", **line_fields)
        for number, mask in enumerate(masks)
    ]
    listing = list_items(write_lines(tmp_path / "items.jsonl", *lines))
    with open_run(tmp_path / "out", {"schema": 1, "command": "audit"}) as run:
        for number, mask in enumerate(masks):
            run.append("masks.jsonl", {"id": f"v/{number}", "segmentation": encode(mask)})
            run.append("verdicts.jsonl", verdict_to_json(verdict_of_mask(f"v/{number}", mask, ious[number])))
        verdicts = read_verdicts(run.path)
        write_clips(ResultWriter(run, Silent()), tracks_of(listing), verdicts=verdicts, policy=DEFAULT, workers=0)
    return rows(tmp_path / "out" / "clips.jsonl")


@pytest.fixture
def clip(tmp_path: Path) -> tuple[list[Bools], list[Bools]]:
    return scene(tmp_path)


def numbers(marks: Sequence[Mapping[str, Any]]) -> list[int]:
    return [mark["number"] for mark in marks]


def test_a_good_clip_has_nothing_to_report(tmp_path: Path, clip: tuple[list[Bools], list[Bools]]) -> None:
    (row,) = rows_of(tmp_path, clip[0], [0.96] * FRAMES)
    assert (row["n"], row["failed"], row["empty"], row["missing"]) == (FRAMES, 0, 0, 0)
    assert row["flicker"] < 0.1
    assert row["switches"] == row["odd"] == []
    assert row["drift"] == 0
    assert (row["iou"], row["iou_low"], row["iou_high"]) == pytest.approx((0.96, 0.86, 1.0))
    assert (row["defect"], row["action"]) == ("perfect", "accept")
    assert set(row["signatures"]) == {"iou", "flicker", "drift"}
    assert to_json(from_json(ClipRow, row), decimals=DECIMALS) == row


def test_a_deleted_mask_is_odd_and_keeps_the_clip_from_being_accepted(
    tmp_path: Path, clip: tuple[list[Bools], list[Bools]]
) -> None:
    masks = [*clip[0]]
    masks[7] = np.zeros(SIZE, bool)
    (row,) = rows_of(tmp_path, masks, [0.96] * FRAMES)
    assert numbers(row["odd"]) == [7]
    assert row["odd"][0]["kind"] == "empty"
    assert row["switches"] == []
    assert row["empty"] == 1
    assert row["action"] == "minor_revision"
    assert "1 are rejected" in row["note"]
    # what is not known counts with the whole range of IoU
    assert row["iou"] == pytest.approx(0.96)
    assert row["iou_low"] == pytest.approx(0.86 * 15 / 16)


def test_another_object_for_some_frames_is_a_switch_there_and_back(
    tmp_path: Path, clip: tuple[list[Bools], list[Bools]]
) -> None:
    masks = [*clip[0][:5], *clip[1][5:10], *clip[0][10:]]
    (row,) = rows_of(tmp_path, masks, [0.9] * FRAMES)
    assert numbers(row["switches"]) == [5, 10]
    assert row["switches"][0]["id"] == "v/5"
    assert row["flicker"] < 0.1


def test_a_growing_error_is_drift(tmp_path: Path, clip: tuple[list[Bools], list[Bools]]) -> None:
    ious = [0.95 - 0.02 * number + 0.01 * (number % 2) for number in range(FRAMES)]
    (row,) = rows_of(tmp_path, clip[0], ious)
    assert row["drift"] == pytest.approx(-0.3, abs=0.02)
    assert row["drift_low"] <= row["drift"] <= row["drift_high"] < 0
    assert row["odd"] == []


def test_masks_that_grow_and_shrink_by_turns_flicker(tmp_path: Path, clip: tuple[list[Bools], list[Bools]]) -> None:
    masks = [ellipse((40, 30 + number), (18, 15) if number % 2 else (13, 11), SIZE) for number in range(FRAMES)]
    (row,) = rows_of(tmp_path, masks, [0.8] * FRAMES)
    assert row["flicker"] > 0.3


def test_one_low_estimate_is_odd(tmp_path: Path, clip: tuple[list[Bools], list[Bools]]) -> None:
    (row,) = rows_of(tmp_path, clip[0], [0.9] * 4 + [0.3] + [0.9] * 11)
    assert numbers(row["odd"]) == [4]
    assert row["odd"][0]["kind"] == "iou"
    assert "0.30" in row["odd"][0]["why"]
    assert row["oddness"][4] > 1 > row["oddness"][5]


def test_a_frame_that_is_gone_costs_its_numbers_only(tmp_path: Path, clip: tuple[list[Bools], list[Bools]]) -> None:
    for number in range(2, FRAMES):
        (tmp_path / "frames" / f"{number:03d}.png").unlink()
    (row,) = rows_of(tmp_path, clip[0], [0.9] * FRAMES)
    assert row["flicker"] is None
    assert "fewer than 3 steps" in row["undefined"]["flicker"]
    assert row["iou"] == pytest.approx(0.9)
    assert row["drift"] == 0


@pytest.mark.parametrize("longest", [3, 5, 6, 100])
def test_another_object_after_a_gap_is_a_switch_wherever_the_video_is_cut(
    tmp_path: Path, clip: tuple[list[Bools], list[Bools]], longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames 4 to 7 have no mask; with 3 steps a stretch, one has none at all."""
    monkeypatch.setattr(clips, "LONGEST", longest)
    masks = [*clip[0][:4], *[np.zeros(SIZE, bool)] * 4, *clip[1][8:]]
    (row,) = rows_of(tmp_path, masks, [0.9] * FRAMES)
    assert numbers(row["switches"]) == [8]


def _no_follower() -> Any:
    def follow(_: object) -> Any:
        raise RuntimeError("out of memory")

    return follow


def test_a_stretch_that_could_not_be_followed_is_a_line_and_costs_no_item(
    tmp_path: Path, clip: tuple[list[Bools], list[Bools]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clips, "Follower", _no_follower)
    (row,) = rows_of(tmp_path, clip[0], [0.9] * FRAMES)
    assert row["flicker"] is None
    (error,) = rows(tmp_path / "out" / "errors.jsonl")
    assert (error["id"], error["stage"], error["path"]) == (None, "clips", str(tmp_path / "frames" / "000.png"))
    assert "clip v could not be followed from 000.png to 015.png" in error["error"]
    assert "out of memory" in error["error"]
    run = read_run(tmp_path / "out")
    assert (run.failed, len(run.remarks)) == ((), 1)


# --- which items are a track ---


def test_photographs_in_one_folder_have_no_row(tmp_path: Path) -> None:
    lines = []
    for number in range(4):
        save_frame(tmp_path / "photos" / f"{number}.png", seed=number)
        lines.append(item(f"p{number}", frame=f"photos/{number}.png", mask=encode(ellipse((24, 18), (14, 11)))))
    source = write_lines(tmp_path / "items.jsonl", *lines)
    assert tracks_of(list_items(source)) == []
    audit_folder(AuditOptions(source=source, out=tmp_path / "out", workers=0))
    assert not (tmp_path / "out" / "clips.jsonl").exists()
    # the same files are a video as soon as a line says so
    (clip,) = tracks_of(
        list_items(write_lines(tmp_path / "items.jsonl", *({**line, "clip": "photos"} for line in lines)))
    )
    assert [track.name for track in clip.tracks] == [""]


def test_a_plain_folder_is_photographs_and_a_folder_in_it_a_video(tmp_path: Path) -> None:
    for number in range(3):
        save_frame(tmp_path / "a" / "frames" / f"{number}.png", seed=number)
        save_mask(tmp_path / "a" / "masks" / f"{number}.png")
        save_frame(tmp_path / "b" / "frames" / "v1" / f"{number}.png", seed=number)
        save_mask(tmp_path / "b" / "masks" / "v1" / f"{number}.png")
    assert tracks_of(list_items(tmp_path / "a")) == []
    (clip,) = tracks_of(list_items(tmp_path / "b"))
    assert (clip.clip, len(clip.frames), len(clip.tracks)) == ("v1", 3, 1)


def test_objects_of_a_clip_are_told_apart_by_what_their_ids_share(tmp_path: Path) -> None:
    lines = [
        item(f"v1/f{number}/m{mask}", frame=f"frames/v1_{number}.png", clip="v1", time_s=float(number))
        for number in (10, 9, 1, 2)
        for mask in (1, 2)
    ]
    (clip,) = tracks_of(list_items(write_lines(tmp_path / "items.jsonl", *lines)))
    assert [track.name for track in clip.tracks] == ["v1/f*/m1", "v1/f*/m2"]
    assert clip.times_s == (1.0, 2.0, 9.0, 10.0)
    assert [item_.id for item_ in clip.tracks[1].items.values()] == ["v1/f1/m2", "v1/f2/m2", "v1/f9/m2", "v1/f10/m2"]


def test_a_number_that_names_the_frame_may_stand_elsewhere_in_the_id(tmp_path: Path) -> None:
    lines = [
        item(f"v1/f{number}/m{mask}", frame=f"frames/{number}.png", clip="v1")
        for number in range(1, 5)
        for mask in (1, 2)
    ]
    (clip,) = tracks_of(list_items(write_lines(tmp_path / "items.jsonl", *lines)))
    assert [(track.name, len(track.items)) for track in clip.tracks] == [("v1/f*/m1", 4), ("v1/f*/m2", 4)]


def test_tracks_that_lines_name_are_not_put_together(tmp_path: Path) -> None:
    lines = [
        item(name, frame=f"frames/{number}.png", clip="v", track=name)
        for number, name in enumerate(("dog", "cat", "horse"))
    ]
    assert tracks_of(list_items(write_lines(tmp_path / "items.jsonl", *lines))) == []
    plain = [{key: value for key, value in line.items() if key != "track"} for line in lines]
    (clip,) = tracks_of(list_items(write_lines(tmp_path / "items.jsonl", *plain)))
    assert [(track.name, len(track.items)) for track in clip.tracks] == [("", 3)]


def test_a_flat_folder_is_photographs_whatever_it_is_called(tmp_path: Path) -> None:
    for number in range(3):
        save_frame(tmp_path / "frames" / "frames" / f"{number}.png", seed=number)
        save_mask(tmp_path / "frames" / "masks" / f"{number}.png")
        save_frame(tmp_path / "photos" / "photos" / f"{number}.png", seed=number)
        save_mask(tmp_path / "photos" / "masks" / f"{number}.png")
        save_frame(tmp_path / "films" / "films" / "films" / f"{number}.png", seed=number)
        save_mask(tmp_path / "films" / "masks" / "films" / f"{number}.png")
    assert tracks_of(list_items(tmp_path / "frames")) == []
    assert tracks_of(list_items(tmp_path / "photos", ListOptions(frames=Path("photos")))) == []
    (clip,) = tracks_of(list_items(tmp_path / "films", ListOptions(frames=Path("films"))))
    assert (clip.clip, len(clip.frames)) == ("films", 3)


# --- what failed already while INPUT was listed, and frames without a mask ---


def film(folder: Path, *, palette: bool = False, davis: bool = False) -> Path:
    """Eight frames of a clip with one mask each, or with two objects in a palette; gives the folder of the masks."""
    frames, masks = ("JPEGImages", "pred") if davis else ("frames", "masks")
    for number in range(8):
        save_frame(folder / frames / "dog" / f"{number:05d}.png", seed=1)
        save_mask(folder / masks / "dog" / f"{number:05d}.png")
        if palette:
            objects = {1: ellipse((12, 16), (7, 9)), 2: ellipse((34, 44), (8, 11))}
            save_palette(folder / masks / "dog" / f"{number:05d}.png", objects)
    return folder / masks / "dog"


def clips_of(tmp_path: Path, source: Path, masks: Path | None = None) -> list[dict[str, Any]]:
    listing = ListOptions(masks=masks)
    audit_folder(AuditOptions(source=source, out=tmp_path / "out", workers=0, listing=listing))
    return rows(tmp_path / "out" / "clips.jsonl")


@pytest.mark.parametrize("palette", [False, True])
@pytest.mark.parametrize("number", [0, 3])
def test_a_mask_that_failed_while_it_was_listed_keeps_its_clip_from_being_accepted(
    tmp_path: Path, palette: bool, number: int
) -> None:
    (film(tmp_path / "in", palette=palette) / f"{number:05d}.png").write_bytes(b"")
    clip_rows = clips_of(tmp_path, tmp_path / "in")
    assert [row["track"] for row in clip_rows] == (["#1", "#2"] if palette else [""])
    for row in clip_rows:
        assert (row["n"], row["failed"], row["missing"]) == (8, 1, 0)
        assert row["action"] != "accept"
        assert row["frames"][number] == f"dog/{number:05d}"
    (error,) = rows(tmp_path / "out" / "errors.jsonl")
    assert error["id"] == f"dog/{number:05d}"


def test_a_candidate_that_failed_counts_for_its_own_track(tmp_path: Path) -> None:
    for number in range(5):
        save_frame(tmp_path / "frames" / "dog" / f"{number:05d}.png", seed=1)
        for name in "ab":
            save_mask(tmp_path / "masks" / "dog" / f"{number:05d}" / f"{name}.png")
    (tmp_path / "masks" / "dog" / "00002" / "a.png").write_bytes(b"")
    (clip,) = tracks_of(list_items(tmp_path))
    listed_ids = {item_.id for item_ in list_items(tmp_path).items}
    failed = {
        track.name: [item_.id for item_ in track.items.values() if item_.id not in listed_ids] for track in clip.tracks
    }
    assert failed == {"dog/*/a": ["dog/00002/a"], "dog/*/b": []}


def test_a_mask_whose_frame_is_gone_and_one_that_is_a_photograph_have_failed(tmp_path: Path) -> None:
    masks = film(tmp_path / "in")
    (tmp_path / "in" / "frames" / "dog" / "00002.png").unlink()
    (masks / "00005.png").rename(masks / "00005.jpg")
    (row,) = clips_of(tmp_path, tmp_path / "in")
    assert (row["n"], row["failed"], row["missing"]) == (8, 2, 0)
    assert row["action"] != "accept"


@pytest.mark.parametrize("broken", [{"mask": 7}, {"truth": {"iou": 1.7}}, {"mask": "../out.png"}])
def test_a_line_that_cannot_be_used_has_failed_in_its_clip(tmp_path: Path, broken: dict[str, Any]) -> None:
    lines = []
    for number in range(6):
        save_frame(tmp_path / "frames" / f"{number}.png", seed=1)
        lines += [
            item(f"{name}/{number}", frame=f"frames/{number}.png", mask=encode(ellipse((24, 18), (14, 11))), clip="v")
            | {"track": name}
            for name in ("dog", "cat")
        ]
    lines[4] |= broken
    clip_rows = clips_of(tmp_path, write_lines(tmp_path / "items.jsonl", *lines))
    assert {row["track"]: (row["n"], row["failed"]) for row in clip_rows} == {"dog": (6, 1), "cat": (6, 0)}


@pytest.mark.parametrize("davis", [False, True])
def test_masks_deleted_from_the_middle_of_a_clip_are_missing(tmp_path: Path, davis: bool) -> None:
    masks = film(tmp_path / "in", davis=davis)
    for number in (0, 3, 4):  # nothing says that the first should be there
        (masks / f"{number:05d}.png").unlink()
    (row,) = clips_of(tmp_path, tmp_path / "in", Path("pred") if davis else None)
    assert (row["n"], row["failed"], row["missing"]) == (5, 0, 2)
    assert row["frames"][2:4] == [None, None]
    assert [(mark["kind"], mark["frame"]) for mark in row["odd"]] == [
        ("missing", "00003.png"),
        ("missing", "00004.png"),
    ]


@pytest.mark.parametrize("step", [2, 3])
def test_where_masks_were_made_of_every_few_frames_only_none_is_missing(tmp_path: Path, step: int) -> None:
    masks = film(tmp_path / "in")
    for number in range(8):
        if number % step:
            (masks / f"{number:05d}.png").unlink()
    (clip,) = tracks_of(list_items(tmp_path / "in"))
    assert [frame.stem for frame in clip.frames] == [f"{number:05d}" for number in range(0, 8, step)]


# --- what resembles one another ---


def test_frames_of_a_film_are_one_cluster_and_photographs_are_one_each(tmp_path: Path) -> None:
    films = [
        item(f"{name}{number}", frame=f"{name}/{number}.png", clip=name) for name in ("v1", "v2") for number in range(3)
    ]
    loose = [item(f"p/{folder}/{number}", frame=f"p/{folder}/{number}.png") for folder in "ab" for number in range(2)]
    for lines, clusters in (
        (films[:3], {"clip v1": 3}),
        (films, {"clip v1": 3, "clip v2": 3}),
        ([*films, loose[0]], {"clip v1": 3, "clip v2": 3, "frame p/a/0.png": 1}),
        (loose, {"frame a/0.png": 1, "frame a/1.png": 1, "frame b/0.png": 1, "frame b/1.png": 1}),
        ([loose[0], {**loose[0], "id": "again"}], {"frame 0.png": 2}),
    ):
        listing = list_items(write_lines(tmp_path / "items.jsonl", *lines))
        assert Counter(clusters_of(listing.items, films=filmed(listing)).values()) == clusters


def test_frames_of_a_clip_of_a_benchmark_are_one_cluster_though_they_are_no_film(tmp_path: Path) -> None:
    lines = [
        item(f"i{number}", frame=f"media/c/frames/{number}.png", clip="c", mqa={"protocol": "image"})
        for number in range(3)
    ]
    listing = list_items(write_lines(tmp_path / "items.jsonl", *lines))
    assert tracks_of(listing) == []
    assert set(clusters_of(listing.items, films=filmed(listing)).values()) == {"clip c"}


def test_several_candidates_of_one_moment_are_no_track(tmp_path: Path) -> None:
    lines = [
        item(f"{number}-{mask}", frame=f"frames/{number}.png", clip="v", track="dog")
        for number in range(3)
        for mask in "ab"
    ]
    assert tracks_of(list_items(write_lines(tmp_path / "items.jsonl", *lines))) == []


def test_the_command_writes_the_rows_shows_them_and_makes_them_anew(tmp_path: Path) -> None:
    for number in range(5):
        save_frame(tmp_path / "in" / "frames" / "v1" / f"{number}.png", seed=1)
        save_mask(tmp_path / "in" / "masks" / "v1" / f"{number}.png")
    out = tmp_path / "out"
    assert auscult("audit", tmp_path / "in", "--out", out, "--workers", "1", "--quiet").code == 0
    first = (out / "clips.jsonl").read_text(encoding="utf-8")
    (row,) = rows(out / "clips.jsonl")
    assert (row["clip"], row["n"], row["flicker"]) == ("v1", 5, 0.0)
    assert row["iou"] == pytest.approx(np.mean([row_["iou"] for row_ in rows(out / "verdicts.jsonl")]), abs=1e-6)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'class="drawing chart timeline"' in page
    (out / "clips.jsonl").write_text("{}\n", encoding="utf-8")
    assert auscult("audit", tmp_path / "in", "--out", out, "--workers", "1", "--quiet").code == 0
    assert (out / "clips.jsonl").read_text(encoding="utf-8") == first


@pytest.mark.slow
def test_true_masks_of_real_videos_do_not_switch(data: Path, tmp_path: Path) -> None:
    from auscult.jobs.clips import Follower, joined, stretches
    from auscult.media.masks import read_mask
    from auscult.score.masks.video import is_switch

    steps = wrong = n_planted = n_found = 0
    clips = {clip.clip: clip for clip in tracks_of(list_items(data / "video" / "davis2016"))}
    for name in ("camel", "dog", "car-shadow"):
        clip = clips[name]
        true = [read_mask(clip.tracks[0].items[number].mask).mask for number in range(len(clip.frames))]
        other = [np.roll(mask, (mask.shape[0] // 2, mask.shape[1] // 2), (0, 1)) for mask in true]
        for masks, bad in ((true, set()), ([*true[:8], *other[8:12], *true[12:]], {8, 12})):
            parts = stretches(clip.frames, {"": [encode(mask) for mask in masks]})
            track = joined([Follower()(part) for part in parts])[""]
            switches = {place + 1 for place, step in enumerate(track.steps) if is_switch(step)}
            steps, wrong = steps + len(track.steps), wrong + len(switches - bad)
            n_planted, n_found = n_planted + len(bad), n_found + len(switches & bad)
    assert (wrong, n_found) == (0, n_planted), (
        f"{wrong} of {steps} steps called wrongly, {n_found} of {n_planted} found"
    )
