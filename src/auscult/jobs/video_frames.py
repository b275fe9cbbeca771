"""The frames of a video file as the input of an audit: decoded once, and stored in the record without loss.

``frames/000012.png`` is frame 12 of the video, and ``frames.jsonl`` has its time; only frames with a mask are stored.
A resumed run uses those that exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from auscult.cases.listing import Listing
from auscult.cases.video import VideoMasks
from auscult.errors import InputError, TooLarge
from auscult.jobs.runner import ResultWriter, failed_row
from auscult.media.frames import encode_png
from auscult.media.video import frames_numbered, probe
from auscult.types import Item

FOLDER: Final = "frames"
ROWS: Final = "frames.jsonl"
_MOST_PIXELS: Final = 20_000_000_000  # of all frames together: 10,000 of 1920 x 1080, some 25 GB


def refuse_large(video: Path, masks: VideoMasks) -> None:
    """Refuse a video whose frames would fill the disk; only its first frame is decoded."""
    info = probe(video)
    pixels = info.height * info.width * len(masks.numbers)
    if pixels > _MOST_PIXELS:
        raise TooLarge(
            f"{len(masks.numbers):,} frames of {info.height} x {info.width} are {pixels:,} pixels",
            expected=f"at most {_MOST_PIXELS:,} pixels over all frames with a mask",
            hint="cut the video, or give masks of fewer frames",
            path=video,
        )


def write_frames(video: Path, masks: VideoMasks, writer: ResultWriter) -> Listing:
    """Write missing frames; returns the listing with times, without items whose frame is missing."""
    run, listing = writer.run, masks.listing
    times = {row["id"]: row["time_s"] for row in run.lines(ROWS)}
    left = {number: path for path, number in masks.numbers.items() if path.stem not in times or not path.is_file()}
    problem = InputError(
        "the video ends before this frame", expected="a frame for each mask", hint="name the right video", path=video
    )
    if left:
        writer.progress.stage("reading the video", len(left))
    try:
        for number, timed in frames_numbered(video, left):
            path = left[number]
            run.write_bytes(f"{FOLDER}/{path.name}", encode_png(timed.frame), durable=False)
            if path.stem not in times:
                times[path.stem] = timed.time_s
                run.append(ROWS, {"id": path.stem, "time_s": timed.time_s})
            writer.progress.step()
    except InputError as error:  # frames behind the damage are missing
        problem = error
    missing = [item for item in listing.items if item.frame.stem not in times]
    writer.errors.keep(failed_row(item, problem, "read") for item in missing)
    return replace(listing, items=tuple(_timed(listing, times)), lost=(*listing.lost, *missing))


def _timed(listing: Listing, times: dict[str, float]) -> Iterator[Item]:
    for item in listing.items:
        if item.frame.stem in times:
            yield replace(item, time_s=times[item.frame.stem])
