"""Writing video frame by frame without loss: H.264 in RGB with PCM, each frame at its own time.

A coding with loss would be a perturbation of its own; where a quality is asked for, it is stated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import OutputError
from auscult.media.containers import load_av
from auscult.media.wav import Sound
from auscult.media.wav_write import Depth, whole_samples
from auscult.types import Frame

LOSSLESS: Final = 0
WORST_QUALITY: Final = 51

_CLOCK: Final = Fraction(1, 90_000)
_BLOCK: Final = 4096
_LAYOUTS: Final = ("mono", "stereo", "2.1", "quad", "5.0", "5.1", "6.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoForm:
    """How a video is written.

    Attributes:
        size: (height, width) in pixels.
        fps: Frames a second that the file states; each frame has its own time all the same.
        quality: 0 for lossless RGB; else x264's constant quantiser, 1 to 51.
        depth: Of the sound's samples.
    """

    size: tuple[int, int]
    fps: Fraction
    quality: int = LOSSLESS
    depth: Depth = "int16"


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
            self._layout = _LAYOUTS[sound.samples.shape[0] - 1]
            self._audio = container.add_stream(codec, rate=sound.rate_hz, layout=self._layout)

    def add(self, time_s: float, frame: Frame) -> None:
        """Code one frame, and what is heard before the next.

        Raises:
            ValueError: The frame is of another size.
        """
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
            whole = self._form.depth == "int16"
            values = np.ascontiguousarray((whole_samples(block) if whole else block).T).reshape(1, -1)
            heard = load_av().AudioFrame.from_ndarray(values, format="s16" if whole else "flt", layout=self._layout)
            heard.sample_rate = self._sound.rate_hz
            heard.pts, heard.time_base = self._heard, Fraction(1, self._sound.rate_hz)
            self._heard += block.shape[1]
            self._container.mux(self._audio.encode(heard))


@contextmanager
def video_file(path: Path, form: VideoForm, *, sound: Sound | None) -> Iterator[VideoCoder]:
    """Write a Matroska file, whole or not at all; only the frame at hand is in memory.

    Args:
        path: The file to make; its folder is there.
        form: How.
        sound: Within [-1, 1], of one to seven channels, heard from second 0; None for none.

    Raises:
        OutputError: It cannot be coded or written.
        UsageError: The extra `video` is not installed.
    """
    av = load_av()
    draft = path.with_name(f"{path.name}.part")
    try:
        with av.open(str(draft), "w", format="matroska", options={"fflags": "+bitexact"}) as container:
            coder = VideoCoder(container, form, sound)
            yield coder
            coder.finish()
        os.replace(draft, path)  # noqa: PTH105 - one step, over an older one
    except (av.error.FFmpegError, OSError, MemoryError) as error:
        raise OutputError(
            f"the video cannot be written: {error}", hint="check the free space of the disk", path=path
        ) from error
    finally:
        draft.unlink(missing_ok=True)
