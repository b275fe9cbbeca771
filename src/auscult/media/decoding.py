"""Decoding the pictures of a video in order, with their times, and saying how far that came."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from auscult.errors import InputError, TooLarge
from auscult.media.containers import EXPECTED, best_stream, damaged, decoder_errors, zero_of
from auscult.media.limits import Limits, check_pixels, check_seconds

_LOST_S = 0.5
_LOST_FEW_S = 0.05


def video_stream(container: Any, *, path: Path, limits: Limits) -> Any:
    """The main video stream of an open container, its size, length and frames within the limits.

    Raises:
        InputError: There is none that can be decoded.
        TooLarge: Over ``limits``.
    """
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
    """Decode a video from its beginning.

    Yields:
        PyAV's pictures with their times, in order of presentation; pictures that are never shown are left out.

    Raises:
        InputError: The file is truncated or damaged; raised after the pictures that could be decoded, with how far
            that was.
        TooLarge: Over ``limits``.
    """
    zero, reached = zero_of(container), _Reached()
    try:
        for picture in _pictures(container, stream, zero=zero, reached=reached):
            time = reached.picture(picture, zero)
            if time is not None:
                _check(picture, time, reached, path=path, limits=limits)
                yield picture, time
    except decoder_errors() as error:
        yield from _held(stream, zero=zero, reached=reached)
        raise damaged(path, error, done=reached.told()) from error
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

        Never shown are pictures without a time or behind their time, as in damaged files, and pictures before the
        first whole one, as in a recording that starts anywhere.

        Raises:
            ValueError: A later picture is not whole.
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

    def told(self) -> str:
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
