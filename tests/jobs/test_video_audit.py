"""A video file and its masks: audited from the file as from its frames, and drawn as a video again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from auscult.media.frames import write_frame
from auscult.media.video import probe, read_frames
from auscult.media.video_write import VideoForm, encode_video, video_file
from small_inputs import LEFT, RIGHT, SIZE, auscult, folder_input, picture, rows, save_mask, save_palette

pytestmark = pytest.mark.extra_video
pytest.importorskip("av", reason="the extra `video` is not installed")

COUNT = 6


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six frames, five a second."""
    path = tmp_path_factory.mktemp("video") / "clip.mp4"
    path.write_bytes(encode_video((picture(number) for number in range(COUNT)), fps=5))
    return path


def _masks(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        save_mask(folder / f"{name}.png", np.roll(LEFT, 2 * number, axis=1))
    return folder


def _audit(clip: Path, masks: Path, out: Path, *options: str) -> int:
    code: int = auscult(
        "audit", "--video", clip, "--masks", masks, "--out", out, "--judge", "cues", "--workers", "1", *options
    ).code
    return code


def _verdict_of(out: Path) -> dict[str, dict[str, object]]:
    keep = ("iou", "defect", "action", "time_s")
    return {row["id"]: {key: row.get(key) for key in keep} for row in rows(out / "verdicts.jsonl")}


def test_a_video_is_audited_as_its_frames_are(clip: Path, tmp_path: Path) -> None:
    masks = _masks(tmp_path / "in" / "masks", *(f"{number:05d}" for number in range(COUNT)))
    assert _audit(clip, masks, tmp_path / "out") == 0
    for number, timed in enumerate(read_frames(clip)):
        write_frame(tmp_path / "in" / "frames" / f"{number:05d}.png", timed.frame)
    plain = ["audit", tmp_path / "in", "--out", tmp_path / "plain", "--judge", "cues", "--workers", "1"]
    assert auscult(*plain).code == 0
    verdict_of, expected = _verdict_of(tmp_path / "out"), _verdict_of(tmp_path / "plain")
    assert [verdict_of[name]["time_s"] for name in sorted(verdict_of)] == pytest.approx(
        [number / 5 for number in range(COUNT)]
    )
    assert {name: row["iou"] for name, row in verdict_of.items()} == {
        name: row["iou"] for name, row in expected.items()
    }
    [track] = rows(tmp_path / "out" / "clips.jsonl")
    assert (track["clip"], track["n"]) == ("clip", COUNT)
    frame = tmp_path / "out" / "frames" / rows(tmp_path / "out" / "verdicts.jsonl")[0]["frame"]
    assert frame.is_file()
    before = (tmp_path / "out" / "verdicts.jsonl").read_bytes()
    frame.unlink()  # it is written again, and nothing is judged again
    assert _audit(clip, masks, tmp_path / "out") == 0
    assert frame.is_file()
    assert (tmp_path / "out" / "verdicts.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["a_0001", "a_0002", "a_0006"], [0, 1, 5]),  # from 1, since the last is the number of frames
        (["1", "2", "4"], [1, 2, 4]),
        (["a", "b", "c", "d", "e", "f"], [0, 1, 2, 3, 4, 5]),
        (["f101", "f102", "f103", "f104", "f105", "f106"], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_masks_belong_to_frames_by_number_or_order(
    clip: Path, tmp_path: Path, names: list[str], numbers: list[int]
) -> None:
    assert _audit(clip, _masks(tmp_path / "masks", *names), tmp_path / "out") == 0
    frame_of = {row["id"]: row["frame"] for row in rows(tmp_path / "out" / "verdicts.jsonl")}
    assert frame_of == {name: f"{number:06d}.png" for name, number in zip(names, numbers, strict=True)}
    assert len(list((tmp_path / "out" / "frames").iterdir())) == len(names)


def test_masks_of_no_frame_cost_themselves_and_names_without_numbers_need_one_each(clip: Path, tmp_path: Path) -> None:
    assert _audit(clip, _masks(tmp_path / "some", "0", "3", "17"), tmp_path / "out") == 1
    assert [row["id"] for row in rows(tmp_path / "out" / "errors.jsonl")] == ["17"]
    assert len(rows(tmp_path / "out" / "verdicts.jsonl")) == 2
    result = auscult("audit", "--video", clip, "--masks", _masks(tmp_path / "few", "a", "b"), "--out", tmp_path / "no")
    assert result.code == 2
    assert "2 masks" in result.err
    assert "6 frames" in result.err
    assert not (tmp_path / "no").exists()


def test_a_video_that_is_cut_off_costs_the_frames_that_are_lost(clip: Path, tmp_path: Path) -> None:
    masks = _masks(tmp_path / "masks", *map(str, range(COUNT)))
    cut_video = tmp_path / "cut.mkv"
    video_form = VideoForm(size=SIZE, fps=Fraction(5))
    with video_file(cut_video, video_form, sound=None) as coder:
        for number in range(COUNT):
            coder.add(number / 5, picture(number))
    cut_video.write_bytes(cut_video.read_bytes()[: cut_video.stat().st_size * 2 // 3])
    assert _audit(cut_video, masks, tmp_path / "out") == 1
    judged_ids = {row["id"] for row in rows(tmp_path / "out" / "verdicts.jsonl")}
    failed = {row["id"] for row in rows(tmp_path / "out" / "errors.jsonl")}
    assert judged_ids
    assert failed
    assert judged_ids | failed == set(map(str, range(COUNT)))
    assert not judged_ids & failed
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(clip.read_bytes()[: clip.stat().st_size // 3])
    result = auscult("audit", "--video", broken, "--masks", masks, "--out", tmp_path / "no")
    assert (result.code, "broken.mp4" in result.err) == (2, True)


def test_a_video_needs_masks_and_nothing_at_all_is_refused(clip: Path, tmp_path: Path) -> None:
    result = auscult("audit", "--video", clip, "--out", tmp_path / "out")
    assert (result.code, "--masks" in result.err) == (2, True)
    result = auscult("audit", "--out", tmp_path / "out")
    assert (result.code, "INPUT is missing" in result.err) == (2, True)


def test_the_report_draws_every_object_of_a_clip_on_its_frames(clip: Path, tmp_path: Path) -> None:
    for number in range(COUNT):
        save_palette(tmp_path / "masks" / f"{number}.png", {1: LEFT, 2: RIGHT})
    assert auscult("audit", clip, "--masks", tmp_path / "masks", "--out", tmp_path / "out", "--judge", "cues").code == 0
    result = auscult("report", tmp_path / "out", "--video")
    assert result.code == 0
    video = tmp_path / "out" / "videos" / "clip.mp4"
    assert str(video) in result.err
    info = probe(video)
    assert (info.height, info.width, info.frames, info.fps, info.codec) == (*SIZE, COUNT, 5.0, "h264")
    frames_drawn = [timed.frame.astype(int) for timed in read_frames(video)]
    frames_before = [timed.frame.astype(int) for timed in read_frames(clip)]
    inside = LEFT & (np.arange(SIZE[0]) > 30)[:, None]  # below the captions
    assert all(np.abs(a - b)[inside].mean() > 25 for a, b in zip(frames_drawn, frames_before, strict=True))


def test_a_record_without_clips_has_no_video(tmp_path: Path) -> None:
    auscult("audit", folder_input(tmp_path / "in", ("a",)), "--out", tmp_path / "out", "--judge", "cues")
    result = auscult("report", tmp_path / "out", "--video")
    assert (result.code, "no clip" in result.err) == (2, True)
