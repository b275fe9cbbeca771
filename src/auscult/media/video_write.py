"""Writing video: MP4 with H.264 and AAC, which every player and browser shows."""

from __future__ import annotations

import io
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import OutputError
from auscult.media.containers import load_av
from auscult.media.paths import write_bytes
from auscult.types import Frame, Samples

_AAC_RATES_HZ = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000)
_BLOCK = 1024
_LAYOUTS = {1: "mono", 2: "stereo"}
_MOST_PIXELS_A_SIDE = 16_384


def write_video(
    path: Path,
    frames: Iterable[Frame],
    *,
    fps: float | Fraction,
    samples: Samples | None = None,
    rate_hz: int = 0,
    quality: int = 20,
) -> None:
    """Write ``encode_video`` to a file, whole or not at all; missing folders are made.

    Raises:
        ValueError: As ``encode_video``.
        OutputError: It cannot be coded or written.
        UsageError: The extra `video` is not installed.
    """
    write_bytes(path, encode_video(frames, fps=fps, samples=samples, rate_hz=rate_hz, quality=quality))


def encode_video(
    frames: Iterable[Frame],
    *,
    fps: float | Fraction,
    samples: Samples | None = None,
    rate_hz: int = 0,
    quality: int = 20,
) -> bytes:
    """Encode frames and sound as an MP4 file, in memory.

    The coding takes even sizes only, so a frame of an odd height or width has its last row or column doubled. The same
    input gives the same bytes on one machine.

    Args:
        frames: uint8 RGB (H, W, 3), all of one size, at least one; frame k appears at k / fps.
        fps: Frames a second.
        samples: (samples,) or (channels, samples) float32 in [-1, 1], one or two channels; None for no sound.
        rate_hz: Their rate; one that AAC does not know is resampled to 48,000 Hz.
        quality: x264's constant quantiser, 0 (lossless) to 51; lower is better and larger.

    Raises:
        ValueError: No frames, frames of different sizes, or arguments out of range.
        OutputError: It cannot be coded.
        UsageError: The extra `video` is not installed.
    """
    av = load_av()
    rate = Fraction(fps).limit_denominator(100_000)
    if not 0 < rate <= 1000 or not 0 <= quality <= 51:
        raise ValueError(f"fps is above 0 and at most 1000, quality 0 to 51, not {fps} and {quality}")
    sound = None if samples is None else _sound(samples, rate_hz)
    file = io.BytesIO()
    try:
        with av.open(file, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
            _code(container, frames, rate=rate, sound=sound, rate_hz=rate_hz, quality=quality)
    except (av.error.FFmpegError, MemoryError) as error:
        raise OutputError(f"the video cannot be coded: {error}", hint="use another size or rate") from error
    return file.getvalue()


def _sound(samples: Samples, rate_hz: int) -> NDArray[np.float32]:
    sound = np.atleast_2d(np.asarray(samples, dtype=np.float32))
    if sound.ndim != 2 or sound.shape[0] not in _LAYOUTS or not 1_000 <= rate_hz <= 192_000:
        raise ValueError(f"sound has one or two channels and 1,000 to 192,000 Hz, not {sound.shape} at {rate_hz} Hz")
    if sound.size and not float(np.max(np.abs(sound))) <= 1.0:
        raise ValueError("a sound is finite and within -1 to 1")
    return sound


def _code(
    container: Any,
    frames: Iterable[Frame],
    *,
    rate: Fraction,
    sound: NDArray[np.float32] | None,
    rate_hz: int,
    quality: int,
) -> None:
    """Code pictures and sound side by side, so that a player finds both together in the file."""
    every = iter(frames)
    first = next(every, None)
    if first is None:
        raise ValueError("a video has at least one frame")
    size = _even(first).shape[:2]
    video = _video_stream(container, size, rate=rate, quality=quality)
    audio = None if sound is None else _SoundCoder(container, sound, rate_hz)
    index = 0
    while first is not None:
        even = _even(first)
        if even.shape[:2] != size:
            raise ValueError(f"all frames have one size; frame {index} has {first.shape}, not {size}")
        picture = load_av().VideoFrame.from_ndarray(_planes(even), format="yuv420p")
        picture.pts = index
        picture.time_base = 1 / rate
        container.mux(video.encode(picture))
        index += 1
        if audio is not None:
            audio.code_until(float(index / rate))
        first = next(every, None)
    container.mux(video.encode(None))
    if audio is not None:
        audio.finish()


def _even(frame: Frame) -> Frame:
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or frame.size == 0:
        raise ValueError(f"a frame is uint8 (H, W, 3), not {frame.dtype} {frame.shape}")
    if max(frame.shape) > _MOST_PIXELS_A_SIDE:
        raise ValueError(f"a frame of {frame.shape[0]} x {frame.shape[1]} is too large for H.264")
    odd = frame.shape[0] % 2, frame.shape[1] % 2
    if not any(odd):
        return np.ascontiguousarray(frame)
    return np.pad(frame, ((0, odd[0]), (0, odd[1]), (0, 0)), mode="edge")


def _planes(frame: Frame) -> NDArray[np.uint8]:
    """Y, then U and V at half size, BT.601 in the video range, as one array (1.5 H, W).

    OpenCV takes the colour of one pixel in four, so the colours are averaged first.
    """
    height, width = frame.shape[:2]
    mean = cv2.resize(frame, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    planes = cv2.cvtColor(cv2.resize(mean, (width, height), interpolation=cv2.INTER_NEAREST), cv2.COLOR_RGB2YUV_I420)
    planes[:height] = cv2.cvtColor(frame, cv2.COLOR_RGB2YUV_I420)[:height]
    return np.asarray(planes, dtype=np.uint8)


def _video_stream(container: Any, size: tuple[int, ...], *, rate: Fraction, quality: int) -> Any:
    # x264 gives other bytes for another number of threads, and takes as many as there are cores unless told. Its rate
    # control (crf) was seen to give other bytes from run to run; a constant quantiser does not.
    options = {"qp": str(quality), "preset": "veryfast", "threads": "2", "flags": "+bitexact"}
    stream = container.add_stream("libx264", rate=rate, options=options)
    stream.height, stream.width = int(size[0]), int(size[1])
    stream.pix_fmt = "yuv420p"
    stream.codec_context.time_base = 1 / rate
    return stream


class _SoundCoder:
    """Codes a sound block by block, as far as the pictures have come."""

    def __init__(self, container: Any, sound: NDArray[np.float32], rate_hz: int) -> None:
        self._container = container
        self._sound = sound
        self._rate_hz = rate_hz
        self._place = 0
        self._layout = _LAYOUTS[sound.shape[0]]
        coded_hz = rate_hz if rate_hz in _AAC_RATES_HZ else 48_000
        self._stream = container.add_stream("aac", rate=coded_hz, layout=self._layout, options={"flags": "+bitexact"})
        self._resampler = load_av().AudioResampler(format="fltp", layout=self._layout, rate=coded_hz, frame_size=_BLOCK)

    def code_until(self, time_s: float) -> None:
        """Code what sounds before a time."""
        while self._place < min(time_s * self._rate_hz, self._sound.shape[1]):
            block = np.ascontiguousarray(self._sound[:, self._place : self._place + _BLOCK])
            heard = load_av().AudioFrame.from_ndarray(block, format="fltp", layout=self._layout)
            heard.sample_rate = self._rate_hz
            heard.pts = self._place
            heard.time_base = Fraction(1, self._rate_hz)
            self._place += block.shape[1]
            self._code(heard)

    def finish(self) -> None:
        """Code the rest."""
        self.code_until(float("inf"))
        self._code(None)
        self._container.mux(self._stream.encode(None))

    def _code(self, heard: Any) -> None:
        for piece in self._resampler.resample(heard):
            self._container.mux(self._stream.encode(piece))
