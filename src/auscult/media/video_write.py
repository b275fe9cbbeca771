"""Writing video: MP4 with H.264 and AAC, which every player and browser shows, or Matroska without loss.

``encode_video`` makes an MP4 in memory, ``write_video`` in a file. ``video_file`` writes frames at their own times as
they come, by default lossless: a coding with loss would be a perturbation of its own; where a quality is asked for, it
is stated.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, OutputError
from auscult.media.containers import audio_frame, best_stream, damaged, decoder_errors, load_av, opened_video
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.wav import Depth, Sound, whole_samples
from auscult.types import Frame, Samples

LOSSLESS: Final = 0
WORST_QUALITY: Final = 51

_CLOCK: Final = Fraction(1, 90_000)
_BLOCK: Final = 4096
_KNOWN_LAYOUTS: Final = ("mono", "stereo", "2.1", "quad", "5.0", "5.1", "6.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoForm:
    """How a video is written."""

    size: tuple[int, int]  # (height, width) in pixels
    fps: Fraction  # frames a second that the file states; each frame has its own time all the same
    quality: int = LOSSLESS  # 0 for lossless RGB; else x264's constant quantiser, 1 to 51
    depth: Depth = "int16"  # of the sound's samples


class VideoCoder:
    """Codes frames at their times, with the sound beside them; made by ``video_file``."""

    def __init__(self, container: Any, form: VideoForm, sound: Sound | None) -> None:
        self._container = container
        self._form = form
        self._sound = sound
        self._heard = 0
        self._last = -1
        rate = Fraction(form.fps).limit_denominator(100_000)
        lossless = form.quality == LOSSLESS
        options = {"qp": str(form.quality), "preset": "ultrafast" if lossless else "veryfast", "threads": "1"}
        self._video = container.add_stream("libx264rgb" if lossless else "libx264", rate=rate, options=options)
        self._video.height, self._video.width = form.size
        even = form.size[0] % 2 == 0 and form.size[1] % 2 == 0
        self._video.pix_fmt = "rgb24" if lossless else "yuv420p" if even else "yuv444p"
        self._video.codec_context.time_base = _CLOCK
        if sound is not None:
            codec = "pcm_s16le" if form.depth == "int16" else "pcm_f32le"
            self._layout = _KNOWN_LAYOUTS[sound.samples.shape[0] - 1]
            self._audio = container.add_stream(codec, rate=sound.rate_hz, layout=self._layout)

    def add(self, time_s: float, frame: Frame) -> None:
        """Code one frame, of the form's size, and what is heard before the next."""
        if frame.shape[:2] != self._form.size:
            raise ValueError(f"a frame is {frame.shape}, the video {self._form.size}")
        picture = load_av().VideoFrame.from_ndarray(frame, format="rgb24")
        self._last = max(self._last + 1, round(Fraction(time_s) / _CLOCK))
        picture.pts, picture.time_base = self._last, _CLOCK
        self._container.mux(self._video.encode(picture))
        self._code_sound(time_s)

    def finish(self) -> None:
        """Code the rest of the sound, and what the coder holds back."""
        self._code_sound(float("inf"))
        self._container.mux(self._video.encode(None))
        if self._sound is not None:
            self._container.mux(self._audio.encode(None))

    def _code_sound(self, time_s: float) -> None:
        if self._sound is None:
            return
        end = self._sound.samples.shape[1]
        while self._heard < min(end, time_s * self._sound.rate_hz):
            block = self._sound.samples[:, self._heard : self._heard + _BLOCK]
            is_integer = self._form.depth == "int16"
            values = np.ascontiguousarray((whole_samples(block) if is_integer else block).T).reshape(1, -1)
            form, rate_hz = "s16" if is_integer else "flt", self._sound.rate_hz
            frame = audio_frame(values, form=form, layout=self._layout, rate_hz=rate_hz, at=self._heard)
            self._heard += block.shape[1]
            self._container.mux(self._audio.encode(frame))


@contextmanager
def video_file(path: Path, form: VideoForm, *, sound: Sound | None) -> Iterator[VideoCoder]:
    """Write a Matroska file in a folder that is there, whole or not at all; only the frame at hand is in memory.

    The sound is within [-1, 1], of one to seven channels, heard from second 0.
    """
    with _written(path, format="matroska", options={"fflags": "+bitexact"}) as container:
        coder = VideoCoder(container, form, sound)
        yield coder
        coder.finish()


@contextmanager
def _written(path: Path, **how: Any) -> Iterator[Any]:
    """A container that becomes the file when all went well; no half of one is left."""
    av = load_av()
    draft = path.with_name(f"{path.name}.part")
    try:
        with av.open(str(draft), "w", **how) as container:
            yield container
        os.replace(draft, path)  # noqa: PTH105 - one step, over an older one
    except (av.error.FFmpegError, OSError, MemoryError) as error:
        raise OutputError(
            f"the video cannot be written: {error}", hint="check the free space of the disk", path=path
        ) from error
    finally:
        draft.unlink(missing_ok=True)


_AAC_RATES_HZ = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000)
_SOUND_BLOCK = 1024
_LAYOUTS = {1: "mono", 2: "stereo"}
_MOST_PIXELS_A_SIDE = 16_384
_QUALITY = "20"  # x264's constant quantiser, from 0 (lossless) to 51


def encode_video(
    frames: Iterable[Frame],
    *,
    fps: float | Fraction,
    samples: Samples | None = None,
    rate_hz: int = 0,
) -> bytes:
    """Encode frames, uint8 RGB (H, W, 3) of one size, frame k at k / fps, and sound as an MP4 file, in memory.

    The coding takes even sizes only, so a frame of an odd height or width has its last row or column doubled. The sound
    is (samples,) or (1 or 2 channels, samples) float32 in [-1, 1]; a rate that AAC does not know is resampled to 48,000
    Hz. The same input gives the same bytes on one machine.
    """
    av = load_av()
    rate = _rate(fps)
    sound = None if samples is None else _sound(samples, rate_hz)
    file = io.BytesIO()
    try:
        with av.open(file, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
            _code(container, frames, rate=rate, sound=sound, rate_hz=rate_hz)
    except (av.error.FFmpegError, MemoryError) as error:
        raise OutputError(f"the video cannot be coded: {error}", hint="use another size or rate") from error
    return file.getvalue()


def without_sound(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """A video as MP4 without its sound: the pictures as they are coded, with their times.

    Raises:
        InputError: The file is no video, has no pictures, or has a coding that MP4 cannot hold.
        UsageError: The extra is not installed.
    """
    buffer = io.BytesIO()
    with opened_video(path, limits=limits) as source:
        pictures = best_stream(source, "video")
        if pictures is None:
            raise InputError("the video has no pictures", expected="a video", path=path)
        try:
            with load_av().open(buffer, "w", format="mp4") as container:
                stream = container.add_stream_from_template(pictures)
                for packet in source.demux(pictures):
                    if packet.dts is not None:
                        packet.stream = stream
                        container.mux(packet)
        except decoder_errors() as error:
            raise damaged(path, error) from error
    return buffer.getvalue()


def write_video(path: Path, frames: Iterable[Frame], *, fps: float | Fraction) -> None:
    """Write frames as ``encode_video`` codes them to an MP4 file, whole or not at all; one frame is in memory."""
    with _written(path, format="mp4", options={"movflags": "faststart"}) as container:
        _code(container, frames, rate=_rate(fps), sound=None, rate_hz=0)


def _rate(fps: float | Fraction) -> Fraction:
    rate = Fraction(fps).limit_denominator(100_000)
    if not 0 < rate <= 1000:
        raise ValueError(f"fps is above 0 and at most 1000, not {fps}")
    return rate


def _sound(samples: Samples, rate_hz: int) -> NDArray[np.float32]:
    sound = np.atleast_2d(np.asarray(samples, dtype=np.float32))
    if sound.ndim != 2 or sound.shape[0] not in _LAYOUTS or not 1_000 <= rate_hz <= 192_000:
        raise ValueError(f"sound has one or two channels and 1,000 to 192,000 Hz, not {sound.shape} at {rate_hz} Hz")
    if sound.size and not float(np.max(np.abs(sound))) <= 1.0:
        raise ValueError("a sound is finite and within -1 to 1")
    return sound


def _code(
    container: Any, frames: Iterable[Frame], *, rate: Fraction, sound: NDArray[np.float32] | None, rate_hz: int
) -> None:
    """Code pictures and sound side by side, so that a player finds both together in the file."""
    video, audio, index = None, None, 0
    for index, even in enumerate(map(_even, frames), start=1):
        if video is None:
            video = _video_stream(container, even.shape, rate=rate)
            audio = None if sound is None else _SoundCoder(container, sound, rate_hz)
        if even.shape[:2] != (video.height, video.width):
            raise ValueError(f"all frames have one size; frame {index - 1} has {even.shape}")
        picture = load_av().VideoFrame.from_ndarray(_planes(even), format="yuv420p")
        picture.pts, picture.time_base = index - 1, 1 / rate
        container.mux(video.encode(picture))
        if audio is not None:
            audio.code_until(float(index / rate))
    if video is None:
        raise ValueError("a video has at least one frame")
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


def _video_stream(container: Any, size: tuple[int, ...], *, rate: Fraction) -> Any:
    # x264 gives other bytes for another number of threads, and takes as many as there are cores unless told. Its rate
    # control (crf) was seen to give other bytes from run to run; a constant quantiser does not.
    options = {"qp": _QUALITY, "preset": "veryfast", "threads": "2", "flags": "+bitexact"}
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
        self._position = 0
        self._layout = _LAYOUTS[sound.shape[0]]
        coded_hz = rate_hz if rate_hz in _AAC_RATES_HZ else 48_000
        self._stream = container.add_stream("aac", rate=coded_hz, layout=self._layout, options={"flags": "+bitexact"})
        self._resampler = load_av().AudioResampler(
            format="fltp", layout=self._layout, rate=coded_hz, frame_size=_SOUND_BLOCK
        )

    def code_until(self, time_s: float) -> None:
        """Code what sounds before a time."""
        while self._position < min(time_s * self._rate_hz, self._sound.shape[1]):
            block = np.ascontiguousarray(self._sound[:, self._position : self._position + _SOUND_BLOCK])
            frame = audio_frame(block, form="fltp", layout=self._layout, rate_hz=self._rate_hz, at=self._position)
            self._position += block.shape[1]
            self._code(frame)

    def finish(self) -> None:
        """Code the rest."""
        self.code_until(float("inf"))
        self._code(None)
        self._container.mux(self._stream.encode(None))

    def _code(self, frame: Any) -> None:
        for piece in self._resampler.resample(frame):
            self._container.mux(self._stream.encode(piece))
