"""Opening video files with PyAV: which formats, what is in them, and what their errors mean.

A video is opened as a local file and only in formats that hold their own data: playlists, which name other files or
addresses, are refused. PyAV's exceptions end here and in ``decoding``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import check_file

FORMATS = (
    "mov", "mp4", "m4a", "3gp", "3g2", "mj2", "matroska", "webm", "avi", "mpegts", "mpeg", "mpegvideo", "flv", "ogg",
    "asf", "nut", "h264", "hevc", "ivf", "gif", "apng", "yuv4mpegpipe", "m4v",
)  # fmt: skip

EXPECTED = "a whole video file: MP4, MOV, WebM, MKV, AVI or MPEG"

# What PyAV is seen to raise on damaged files, beside its own errors.
_OTHERS = (OSError, ValueError, RuntimeError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError)


def load_av(doing: str = "reading and writing video") -> Any:
    """PyAV; a ``UsageError`` says that the extra `video` is missing, which ``doing`` needs."""
    try:
        import av
    except (ImportError, OSError) as error:
        raise UsageError(
            f"{doing} needs the extra `video`",
            expected="the package av (PyAV)",
            hint="pip install 'auscult[video]', or '.[video]' in a clone",
        ) from error
    return av


@contextmanager
def opened_video(path: Path, *, limits: Limits) -> Iterator[Any]:
    """Open a container of at most ``max_bytes``; whatever PyAV raises inside the block becomes an ``InputError``."""
    check_file(path, limits=limits)
    av = load_av()
    try:
        with av.open(
            f"file:{Path(path).absolute()}",
            options={"format_whitelist": ",".join(FORMATS), "protocol_whitelist": "file"},
            metadata_errors="replace",
        ) as container:
            yield container
    except decoder_errors() as error:
        raise damaged(path, error) from error


def decoder_errors() -> tuple[type[Exception], ...]:
    """What PyAV may raise on a damaged file."""
    return (load_av().error.FFmpegError, *_OTHERS)


def damaged(path: Path, error: BaseException, *, done: str = "") -> InputError:
    """The error of a file that PyAV cannot read, or cannot read on; ``done`` says how far it came."""
    message = " ".join(str(error).split()).replace(f"file:{Path(path).absolute()}", "it")[:120] or type(error).__name__
    problem = f"the video is truncated or damaged{done}" if done else "the file is no video that can be read"
    return InputError(
        f"{problem} ({message})",
        expected=EXPECTED,
        hint="copy or export it again",
        path=path,
    )


def best_stream(container: Any, kind: str) -> Any | None:
    """The main ``video`` or ``audio`` stream, None where there is none that can be decoded; no cover picture."""
    stream = container.streams.best(kind)
    if stream is None or stream.codec_context is None:
        return None
    return stream


def zero_of(container: Any) -> Fraction:
    """The time of second 0: where the earliest stream starts, but no less than 0, before which is a coder's padding."""
    return max(Fraction(0), Fraction(container.start_time or 0, 1_000_000))


def audio_frame(values: NDArray[Any], *, form: str, layout: str, rate_hz: int, at: int) -> Any:
    """Samples as PyAV codes them: in a form such as ``fltp``, channels first, and from which sample on they sound."""
    frame = load_av().AudioFrame.from_ndarray(values, format=form, layout=layout)
    frame.sample_rate = rate_hz
    frame.pts, frame.time_base = at, Fraction(1, rate_hz)
    return frame
