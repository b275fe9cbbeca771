"""Reading video: what a file holds, and its frames with exact times.

Second 0 is where the file's earliest stream starts, so sound and pictures share one clock. The time of a frame is its
presentation time as the file states it; nothing is derived from a frame rate. Frames come upright: a display matrix of
quarter turns and mirrors is applied. Pixels that are not square are left as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auscult.errors import InputError, TooLarge
from auscult.media.containers import EXPECTED, best_stream, damaged, decoder_errors, opened_video, zero_of
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_pixels, check_seconds
from auscult.types import Frame

_LOST_S = 0.5
_LOST_FEW_S = 0.05


def video_stream(container: Any, *, path: Path, limits: Limits) -> Any:
    """The main video stream of an open container, its size, length and frames within the limits."""
    stream = best_stream(container, "video")
    if stream is None:
        raise InputError("the file holds no video that can be decoded", expected=EXPECTED, path=path)
    check_pixels((stream.codec_context.height, stream.codec_context.width), limits=limits, path=path)
    check_seconds(duration_s(container) or 0.0, limits=limits, path=path)
    if stream.frames > limits.max_frames:
        raise too_many(path, limits)
    stream.thread_type = "AUTO"
    return stream


def duration_s(container: Any) -> float | None:
    """Length of a file as it says itself; None where it does not."""
    return container.duration / 1e6 if container.duration and container.duration > 0 else None


def decoded(container: Any, stream: Any, *, path: Path, limits: Limits) -> Iterator[tuple[Any, Fraction]]:
    """Decode a video: the pictures that are shown and their times, in order, and then an error where it is damaged."""
    zero, reached = zero_of(container), _Reached()
    try:
        for picture in _pictures(container, stream, zero=zero, reached=reached):
            time = reached.picture(picture, zero)
            if time is not None:
                _check(picture, time, reached, path=path, limits=limits)
                yield picture, time
    except decoder_errors() as error:
        yield from _held(stream, zero=zero, reached=reached)
        raise damaged(path, error, done=reached.progress()) from error
    reached.check_whole(container, stream, zero, path=path)


def _pictures(container: Any, stream: Any, *, zero: Fraction, reached: _Reached) -> Iterator[Any]:
    # All streams are read, not this one alone, to see how far the file goes.
    for packet in container.demux():
        reached.packet(packet, zero)
        if packet.stream.index == stream.index:
            yield from packet.decode()


def _held(stream: Any, *, zero: Fraction, reached: _Reached) -> Iterator[tuple[Any, Fraction]]:
    """What a decoder still holds when it comes to damage: pictures from before it."""
    try:
        for picture in stream.codec_context.decode(None):
            time = None if picture.is_corrupt else reached.picture(picture, zero)
            if time is not None:
                yield picture, time
    except decoder_errors():
        return


def _check(picture: Any, time: Fraction, reached: _Reached, *, path: Path, limits: Limits) -> None:
    if reached.frames > limits.max_frames:
        raise too_many(path, limits)
    check_seconds(float(time), limits=limits, path=path)
    check_pixels((picture.height, picture.width), limits=limits, path=path)


class _Reached:
    """How far the decoding of a file has come."""

    def __init__(self) -> None:
        self.frames = 0
        self._latest = Fraction(0)
        self._end = Fraction(0)

    def packet(self, packet: Any, zero: Fraction) -> None:
        """Note a packet of any stream."""
        if packet.pts is not None and packet.time_base:
            end = (packet.pts + (packet.duration or 0)) * Fraction(packet.time_base) - zero
            self._end = max(self._end, end)

    def picture(self, picture: Any, zero: Fraction) -> Fraction | None:
        """The time of a decoded picture; None for one that is never shown.

        Those are pictures without a time or behind their time, as in damaged files, and those before the first whole
        one, as in a recording that starts anywhere.
        """
        if picture.is_corrupt and self.frames:
            raise ValueError("a frame is incomplete")
        if picture.pts is None or picture.is_corrupt:
            return None
        time = picture.pts * Fraction(picture.time_base) - zero
        if self.frames and time <= self._latest:
            return None
        self.frames, self._latest = self.frames + 1, time
        return Fraction(time)

    def progress(self) -> str:
        """For a message."""
        return f" after {self.frames} frames, at {float(self._latest):.3f} s"

    def check_whole(self, container: Any, stream: Any, zero: Fraction, *, path: Path) -> None:
        """A file that is cut off may end without an error; its header still says how much there was."""
        stated = duration_s(container)
        # Some formats state a length, others the time of the end.
        lost = 0.0 if stated is None else stated - float(self._end + zero)
        # A few frames less than stated are no loss by themselves: an edit list may leave them out.
        few = bool(stream.frames) and self.frames < stream.frames - 2
        if lost > (_LOST_FEW_S if few else _LOST_S):
            of = f" of {stream.frames}" if stream.frames else ""
            length = f" of {stated:.3f}" if stated is not None else ""
            raise InputError(
                f"the video is truncated: {self.frames}{of} frames, {float(self._end):.3f}{length} s are there",
                expected=EXPECTED,
                hint="copy or export it again",
                path=path,
            )


def too_many(path: Path, limits: Limits) -> TooLarge:
    """The error of a video that has, or would give, too many frames."""
    return TooLarge(
        "the video gives too many frames",
        expected=f"at most {limits.max_frames:,} frames",
        hint="cut out the part that is needed",
        path=str(path),
    )


_MATRIX_BYTES = 36


@dataclass(frozen=True, slots=True)
class Rotation:
    """What is done to a stored frame before it is shown."""

    mirrored: bool = False  # first it is mirrored left to right
    quarters: int = 0  # then it is turned by so many quarters counter-clockwise, 0 to 3

    def applied(self, frame: Frame) -> Frame:
        """The frame as it is shown, C-contiguous."""
        upright = frame[:, ::-1] if self.mirrored else frame
        return np.ascontiguousarray(np.rot90(upright, self.quarters))


def turn_of(picture: Any) -> Rotation:
    """The turn of a decoded PyAV frame; turns that are no quarter are rounded to one."""
    side = picture.side_data.get("DISPLAYMATRIX")
    if side is not None and len(bytes(side)) >= _MATRIX_BYTES:
        return turn_of_matrix(bytes(side)[:_MATRIX_BYTES])
    return Rotation(quarters=round(float(getattr(picture, "rotation", 0) or 0) / 90.0) % 4)


def turn_of_matrix(matrix: bytes) -> Rotation:
    """Read a display matrix (ISO/IEC 14496-12, 8.3.2: nine 32-bit numbers a b u c d v x y w in the machine's order).

    A stored point (p, q) is shown at (a p + c q + x, b p + d q + y), with q downwards.
    """
    a, b, _, c, d = struct.unpack_from("=5i", matrix)
    if a * d - b * c == 0:
        return Rotation()
    mirrored = a * d - b * c < 0
    # Mirroring first turns the direction of p round; what is left is a pure turn, whose x axis is (a, b).
    along, across = (-a, -b) if mirrored else (a, b)
    return Rotation(mirrored=mirrored, quarters=round(float(np.degrees(np.arctan2(-across, along))) / 90.0) % 4)


VIDEO_SUFFIXES = frozenset({".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".mpg", ".mpeg", ".ts", ".ogv", ".gif"})

_MOST_SLACK = Fraction(1, 2000)
_SLOWEST, _FASTEST = 0.001, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoInfo:
    """What a video file says of itself; nothing but its first frame was decoded."""

    height: int  # of the upright frame, pixels
    width: int  # of the upright frame, pixels
    duration_s: float | None  # length of the file, or None where it does not say
    fps: float | None  # average rate of frames, or None; frames need not be even in time
    frames: int | None  # number of frames, or None where the file does not say
    turned: bool  # the stored frames are turned or mirrored before they are shown
    sound_rate_hz: int | None  # sample rate of the sound; None for a video without sound
    sound_channels: int  # channels of the sound; 0 for a video without sound
    codec: str  # name of the video coding


class TimedFrame(NamedTuple):
    """A frame, uint8 RGB (H, W, 3), and the second at which it appears."""

    time_s: float
    frame: Frame


def probe(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> VideoInfo:
    """Say what a video file holds; its first frame must be decodable."""
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
            turned=turn != Rotation(),
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
    """Read frames in order: those shown at rising ``times_s``, those shown at 0, 1/fps, 2/fps, ..., or all of them.

    The frame shown at a time is the last that appears at or before it; before the first frame it is the first. Each
    comes with its own exact time, and again where it is still shown. What is wrong with the file, or a time behind its
    end, is raised after the frames before it.
    """
    if times_s is not None and fps is not None:
        raise ValueError("either times_s or fps is given, not both")
    if fps is not None and not _SLOWEST <= fps <= _FASTEST:
        raise ValueError(f"fps is {_SLOWEST} to {_FASTEST}, not {fps}")
    if times_s is not None:
        _check_times(times_s)
        return _frames_at(path, map(Fraction, times_s), endless=False, limits=limits)
    if fps is not None:
        rate = Fraction(fps).limit_denominator(100_000)
        return _frames_at(path, _evenly(rate, path, limits), endless=True, limits=limits)
    return _every(path, limits=limits)


def count_frames(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> int:
    """How many frames a video holds, by its packets: nothing is decoded, so a damaged one may give fewer."""
    with opened_video(path, limits=limits) as container:
        stream = video_stream(container, path=path, limits=limits)
        packets = (packet for packet in container.demux(stream) if packet.size and not packet.is_discard)
        return sum(1 for _ in islice(packets, limits.max_frames))


def frames_numbered(
    path: Path, numbers: Collection[int], *, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[int, TimedFrame]]:
    """Decode a video once, and give the frames of some numbers, from 0, in order; the rest is decoded and dropped.

    What is wrong with the file is raised after the frames before it; numbers behind its end give nothing.
    """
    last = max(numbers, default=-1)
    with opened_video(path, limits=limits) as container:
        stream = video_stream(container, path=path, limits=limits)
        for number, (picture, time) in enumerate(decoded(container, stream, path=path, limits=limits)):
            if number > last:
                return
            if number in numbers:
                yield number, TimedFrame(float(time), _frame(picture))


def _frame(picture: Any) -> Frame:
    return turn_of(picture).applied(picture.to_ndarray(format="rgb24"))


def _every(path: Path, *, limits: Limits) -> Iterator[TimedFrame]:
    with opened_video(path, limits=limits) as container:
        stream = video_stream(container, path=path, limits=limits)
        for picture, time in decoded(container, stream, path=path, limits=limits):
            yield TimedFrame(float(time), _frame(picture))


def _evenly(rate: Fraction, path: Path, limits: Limits) -> Iterator[Fraction]:
    """Times without end; the limits hold back a file whose last frame claims to last for years."""
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


def _frames_at(path: Path, times: Iterator[Fraction], *, endless: bool, limits: Limits) -> Iterator[TimedFrame]:
    """Give the frame shown at each wanted time; times are ``endless`` where they may stop at the end of the video.

    A time within half a tick of the file's clock before a frame counts as that frame's: files round their times.
    """
    time, showing, fault = next(times, None), None, None
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
                    time = next(times, None)
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
    detail = "the video has no frame" if last is None else f"the last frame appears at {float(last.time):.3f} s"
    return InputError(
        f"there is no frame at {float(time):.3f} s: {detail}",
        expected="times before the end of the video",
        hint="leave the later times out",
        path=path,
    )


def _check_times(times_s: Sequence[float]) -> None:
    if any(not 0.0 <= time < 1e9 for time in times_s):
        raise ValueError("times are 0 s or later, and finite")
    if any(later < earlier for earlier, later in pairwise(times_s)):
        raise ValueError("times rise")
