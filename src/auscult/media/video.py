"""Reading video: what a file holds, and its frames with exact times.

Second 0 is where the file's earliest stream starts, so sound and pictures share one clock. The time of a frame is its
presentation time as the file states it; nothing is derived from a frame rate. Frames come upright: a display matrix of
quarter turns and mirrors is applied. Pixels that are not square are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from auscult.errors import InputError
from auscult.media.containers import EXPECTED, best_stream, opened_video
from auscult.media.decoding import decoded, duration_s, too_many, video_stream
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_seconds
from auscult.media.turning import Turn, turn_of
from auscult.types import Frame

VIDEO_SUFFIXES = frozenset({".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".mpg", ".mpeg", ".ts", ".ogv", ".gif"})

_MOST_SLACK = Fraction(1, 2000)
_SLOWEST, _FASTEST = 0.001, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoInfo:
    """What a video file says of itself; nothing but its first frame was decoded.

    Attributes:
        height: Of the upright frame, pixels.
        width: Of the upright frame, pixels.
        duration_s: Length of the file, or None where it does not say.
        fps: Average rate of frames, or None; frames need not be even in time.
        frames: Number of frames, or None where the file does not say.
        turned: The stored frames are turned or mirrored before they are shown.
        sound_rate_hz: Sample rate of the sound; None for a video without sound.
        sound_channels: Channels of the sound; 0 for a video without sound.
        codec: Name of the video coding.
    """

    height: int
    width: int
    duration_s: float | None
    fps: float | None
    frames: int | None
    turned: bool
    sound_rate_hz: int | None
    sound_channels: int
    codec: str


class TimedFrame(NamedTuple):
    """A frame, uint8 RGB (H, W, 3), and the second at which it appears."""

    time_s: float
    frame: Frame


def probe(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> VideoInfo:
    """Say what a video file holds.

    Raises:
        InputError: It is no video, holds no pictures, or not even its first frame can be decoded.
        TooLarge: Over ``limits`` on bytes, pixels or seconds.
        UsageError: The extra `video` is not installed.
    """
    with opened_video(path, limits=limits) as container:
        stream = video_stream(container, path=path, limits=limits)
        first = next(decoded(container, stream, path=path, limits=limits), None)
        if first is None:
            raise InputError("the video has no frame", expected=EXPECTED, hint="copy or export it again", path=path)
        picture, _ = first
        turn = turn_of(picture)
        size = (picture.height, picture.width)
        height, width = size[::-1] if turn.quarters % 2 else size
        sound = best_stream(container, "audio")
        return VideoInfo(
            height=height,
            width=width,
            duration_s=duration_s(container),
            fps=float(stream.average_rate) if stream.average_rate else None,
            frames=stream.frames or None,
            turned=turn != Turn(),
            sound_rate_hz=None if sound is None else int(sound.rate),
            sound_channels=0 if sound is None else int(sound.channels),
            codec=str(stream.codec_context.name),
        )


def read_frames(
    path: Path,
    *,
    times_s: Sequence[float] | None = None,
    fps: float | Fraction | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[TimedFrame]:
    """Read frames in order: those shown at some times, those shown at an even rate, or all of them.

    The frame shown at a time is the last that appears at or before it; before the first frame it is the first.

    Args:
        path: The video file.
        times_s: Rising times, seconds; one frame is given for each, the same frame again where it is still shown.
        fps: Frames shown at 0, 1/fps, 2/fps, ... to the end of the video; 0.001 to 1000.
        limits: Bounds on bytes, pixels, seconds and frames.

    Yields:
        Frames with their own exact presentation times, which are not the times that were asked for.

    Raises:
        InputError: It is no video, or it is truncated or damaged: raised after the last frame that could be read, with
            how far that was. Or a time of ``times_s`` lies behind the end: raised after the frames before it.
        TooLarge: Over ``limits``.
        UsageError: The extra `video` is not installed.
        ValueError: Both ``times_s`` and ``fps`` are given, times do not rise or are below 0, or fps is out of range.
    """
    if times_s is not None and fps is not None:
        raise ValueError("either times_s or fps is given, not both")
    if fps is not None and not _SLOWEST <= fps <= _FASTEST:
        raise ValueError(f"fps is {_SLOWEST} to {_FASTEST}, not {fps}")
    if times_s is not None:
        _check_times(times_s)
        return _shown(path, map(Fraction, times_s), endless=False, limits=limits)
    if fps is not None:
        rate = Fraction(fps).limit_denominator(100_000)
        return _shown(path, _evenly(rate, path, limits), endless=True, limits=limits)
    return _every(path, limits=limits)


def _frame(picture: Any) -> Frame:
    return turn_of(picture).applied(picture.to_ndarray(format="rgb24"))


def _every(path: Path, *, limits: Limits) -> Iterator[TimedFrame]:
    with opened_video(path, limits=limits) as container:
        stream = video_stream(container, path=path, limits=limits)
        for picture, time in decoded(container, stream, path=path, limits=limits):
            yield TimedFrame(float(time), _frame(picture))


def _evenly(rate: Fraction, path: Path, limits: Limits) -> Iterator[Fraction]:
    """Times without end; the limits hold back a file whose last frame is said to stay for years."""
    for index in count():
        if index > limits.max_frames:
            raise too_many(path, limits)
        check_seconds(float(index / rate), limits=limits, path=path)
        yield index / rate


class _Showing:
    """The picture on the screen: when it appeared, and its pixels once they are asked for."""

    def __init__(self, picture: Any, time: Fraction) -> None:
        self.time = time
        self._picture = picture
        self._timed: TimedFrame | None = None

    def timed(self) -> TimedFrame:
        if self._timed is None:
            self._timed = TimedFrame(float(self.time), _frame(self._picture))
        return self._timed

    def end(self, stream: Any) -> Fraction:
        """When it goes, if nothing follows: after its own duration, else after a frame of the average rate."""
        if self._picture.duration:
            return self.time + int(self._picture.duration) * Fraction(self._picture.time_base)
        return self.time + (1 / Fraction(stream.average_rate) if stream.average_rate else 0)


def _shown(path: Path, wanted: Iterator[Fraction], *, endless: bool, limits: Limits) -> Iterator[TimedFrame]:
    """Give the frame shown at each wanted time; times are ``endless`` where they may stop at the end of the video.

    A time within half a tick of the file's clock before a frame counts as that frame's: files round their times.
    """
    time, showing, fault = next(wanted, None), None, None
    with opened_video(path, limits=limits) as container:
        stream = video_stream(container, path=path, limits=limits)
        slack = min(Fraction(stream.time_base or 0) / 2, _MOST_SLACK)
        pictures = decoded(container, stream, path=path, limits=limits)
        while time is not None:
            following, fault = _next(pictures)
            if showing is not None:
                end = following.time if following else showing.end(stream) + (0 if endless else 2 * slack)
                while time is not None and time + slack < end:
                    yield showing.timed()
                    time = next(wanted, None)
            if following is None:
                break
            showing = following
    if time is None:
        return
    if fault is not None:
        raise fault
    if not endless:
        raise _behind(path, time, showing)


def _next(pictures: Iterator[tuple[Any, Fraction]]) -> tuple[_Showing | None, InputError | None]:
    try:
        following = next(pictures, None)
    except InputError as error:
        return None, error
    return None if following is None else _Showing(*following), None


def _behind(path: Path, time: Fraction, last: _Showing | None) -> InputError:
    told = "the video has no frame" if last is None else f"the last frame appears at {float(last.time):.3f} s"
    return InputError(
        f"there is no frame at {float(time):.3f} s: {told}",
        expected="times before the end of the video",
        hint="leave the later times out",
        path=path,
    )


def _check_times(times_s: Sequence[float]) -> None:
    if any(not 0.0 <= time < 1e9 for time in times_s):
        raise ValueError("times are 0 s or later, and finite")
    if any(later < earlier for earlier, later in pairwise(times_s)):
        raise ValueError("times rise")
