"""``auscult report DIR --video``: the frames of each clip of an audit with its masks and estimates drawn, as MP4.

Frames are read again from their original files; masks and estimates are from the record. A clip has a row in
``clips.jsonl``; its frames with at least one judged mask are shown, in order of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import cv2
import numpy as np

from auscult.cases.ids import natural_key
from auscult.errors import InputError, NothingToDo, RecordError
from auscult.jobs.finish import segmentations
from auscult.jobs.runner import Progress, Silent
from auscult.jobs.video_frames import FOLDER as OWN_FRAMES
from auscult.media.containers import load_av
from auscult.media.frames import read_frame
from auscult.media.paths import inside, safe_name
from auscult.media.rle import decode
from auscult.media.video_write import write_video
from auscult.record.codec import from_json
from auscult.record.folder import open_run
from auscult.record.reader import DAMAGED, Run, read_run
from auscult.record.schema import ClipRow
from auscult.report.facts import ACTION_WORDS, action_key, interval, number
from auscult.report.overlay import TRACK_COLOURS, Colour, captioned
from auscult.types import Frame, Mask, Verdict

FOLDER: Final = "videos"
_WITHOUT_TIMES_FPS: Final = 24.0
_SLOWEST_FPS, _FASTEST_FPS = 1.0, 60.0
_MOST_SIDE_PX: Final = 1280


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClipFrame:
    """One frame of a clip, with its masks."""

    frame: str  # its recorded name
    time_s: float | None
    verdicts: list[tuple[Verdict, str, Colour]]  # each with the track's name and colour


def write_videos(folder: Path, progress: Progress | None = None) -> list[Path]:
    """Write a video of each clip of an audit's record; ``RecordError`` if frames are missing."""
    load_av()
    read = read_run(folder)
    clips = _clips(read)
    if not clips:
        raise NothingToDo(
            "the record holds no clip",
            path=folder,
            expected="a record of `auscult audit` whose INPUT holds videos: clips.jsonl has a row for each object",
            hint="docs/clips.md says what counts as a video; `auscult audit --video FILE --masks DIR` reads a file",
        )
    masks = segmentations(read)
    listener, written = progress or Silent(), []
    with open_run(folder, read.manifest) as run:
        for clip, frames in clips.items():
            listener.stage(f"video of {clip}", len(frames))
            path = run.claim(f"{FOLDER}/{safe_name(clip)}.mp4")
            write_video(path, _drawn(read, frames, masks=masks, progress=listener), fps=_fps(frames))
            written.append(path)
        if "finished" in read.manifest:
            run.finish()
    return written


def _clips(run: Run) -> dict[str, list[_ClipFrame]]:
    """The frames of each clip in order of time, with their masks."""
    rows = {verdict.id: (verdict, row) for verdict, row in run.verdicts}
    tracks: dict[str, list[ClipRow]] = {}
    for row in run.clips:
        track = from_json(ClipRow, row, path=run.path / "clips.jsonl", hint=DAMAGED)
        tracks.setdefault(track.clip, []).append(track)
    clips: dict[str, list[_ClipFrame]] = {}
    for clip, clip_tracks in tracks.items():
        frames: dict[str, _ClipFrame] = {}
        for index, track in enumerate(clip_tracks):
            colour = TRACK_COLOURS[index % len(TRACK_COLOURS)]
            for verdict, row in (rows[name] for name in track.frames if name in rows):
                frame = str(row.get("frame"))
                time_s = row.get("time_s")
                empty = _ClipFrame(frame=frame, time_s=time_s if isinstance(time_s, int | float) else None, verdicts=[])
                frames.setdefault(frame, empty).verdicts.append((verdict, track.track, colour))
        clips[clip] = sorted(frames.values(), key=lambda one: (one.time_s or 0.0, natural_key(one.frame)))
    return {clip: frames for clip, frames in clips.items() if frames}


def _fps(frames: Sequence[_ClipFrame]) -> float:
    """Frames per second from their times, if all have one."""
    times = [frame.time_s for frame in frames if frame.time_s is not None]
    steps = [later - earlier for earlier, later in pairwise(times) if later > earlier]
    if len(times) < len(frames) or not steps:
        return _WITHOUT_TIMES_FPS
    return min(_FASTEST_FPS, max(_SLOWEST_FPS, 1.0 / median(steps)))


def _drawn(run: Run, frames: Sequence[_ClipFrame], *, masks: Mapping[str, Any], progress: Progress) -> Iterator[Frame]:
    size: tuple[int, int] | None = None
    for clip_frame in frames:
        try:
            frame = read_frame(_frame_path(run, clip_frame.frame))
        except InputError as error:
            raise RecordError(
                f"the frame {clip_frame.frame} cannot be read: {error.message}",
                path=error.path or run.path,
                expected="the frames where they were when they were judged",
                hint="put them back, or audit again into another --out",
            ) from error
        if size is None:
            size = _size(frame)
        overlays = [
            (_mask(masks[verdict.id], frame), _caption(verdict, track), colour)
            for verdict, track, colour in clip_frame.verdicts
            if verdict.id in masks
        ]
        small = [(_resized(mask.astype(np.uint8), size) > 0, text, colour) for mask, text, colour in overlays]
        yield captioned(_resized(frame, size), small)
        progress.step()


def _frame_path(run: Run, name: str) -> Path:
    """The path of a frame: in the record, which may have been moved, or the original one."""
    if (run.path / OWN_FRAMES).is_dir():
        return inside(run.path / OWN_FRAMES, name)
    path = run.frame_path({"frame": name})
    if path is None:
        raise RecordError(
            "the record does not say where its frames are",
            path=run.path,
            expected="a record of this version",
            hint="give the command that made it again: it judges nothing again",
        )
    return path


def _mask(segmentation: Any, frame: Frame) -> Mask:
    mask = decode(segmentation)
    if mask.shape != frame.shape[:2]:
        raise RecordError(f"a mask of {mask.shape}, and its frame is {frame.shape[:2]}", hint=DAMAGED)
    return mask


def _caption(verdict: Verdict, track: str) -> str:
    name = f"{track.rpartition('/')[2][:30]}: " if track else ""
    if verdict.iou is None:
        return f"{name}{verdict.defect or 'no basis'}, {verdict.action}"
    estimate = f"{number(verdict.iou)} {interval(verdict.iou_low, verdict.iou_high)}".strip()
    return f"{name}IoU {estimate} {verdict.defect}, {ACTION_WORDS[action_key(verdict.action)]}"


def _size(frame: Frame) -> tuple[int, int]:
    """(width, height) of the video: the frame's, at most 1280 pixels a side."""
    scale = min(1.0, _MOST_SIDE_PX / max(frame.shape[:2]))
    return max(2, round(frame.shape[1] * scale)), max(2, round(frame.shape[0] * scale))


def _resized(picture: Any, size: tuple[int, int]) -> Any:
    if (picture.shape[1], picture.shape[0]) == size:
        return picture
    interpolation = cv2.INTER_AREA if picture.ndim == 3 else cv2.INTER_NEAREST
    return cv2.resize(picture, size, interpolation=interpolation)
