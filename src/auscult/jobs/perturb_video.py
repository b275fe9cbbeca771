"""One video: decoded frame by frame, perturbed, coded, with its sound kept in step.

The file is gone through twice: once to count its frames and see that it is whole, since a plan needs to know how long
a clip is and half a video would be a wrong answer; once to perturb it. Frames come upright, at their own times.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from auscult.errors import InputError
from auscult.jobs.perturb_coding import frame_digest, sound_digest
from auscult.media.containers import opened_video
from auscult.media.limits import Limits
from auscult.media.sound import MOST_CHANNELS, read_soundtrack
from auscult.media.video import TimedFrame, VideoInfo, decoded, probe, read_frames, video_stream
from auscult.media.video_write import LOSSLESS, VideoForm, video_file
from auscult.media.wav import Depth, Sound, as_stored
from auscult.types import Frame, Samples

_MOST_HELD_BYTES: Final = 1 << 29
_LIMITS: Final = Limits(max_bytes=1 << 36)  # a file is never in memory whole, and lossless ones are large
_RATE_FPS: Final = 25.0
_TIDY_EVERY: Final = 64


class VideoPlan(Protocol):
    """What a plan does to a video."""

    def frame(self, frame: Frame, index: int) -> Frame:
        """One frame, perturbed."""
        ...

    def frame_number(self, index: int) -> int:
        """Which frame of the input is shown in a place of the output."""
        ...

    def sound(self, sound: Samples, rate_hz: int) -> Samples:
        """The sound, perturbed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A video that was looked through.

    Attributes:
        path: The file.
        info: What it says of itself.
        times_s: The second at which each frame appears.
        sound: Its sound, or None.
    """

    path: Path
    info: VideoInfo
    times_s: tuple[float, ...]
    sound: Sound | None

    @property
    def fps(self) -> float:
        """Frames a second, on average."""
        if self.info.fps:
            return self.info.fps
        span = self.times_s[-1] - self.times_s[0]
        return (len(self.times_s) - 1) / span if span > 0 else _RATE_FPS


def open_film(path: Path) -> Film:
    """Look through a video.

    Raises:
        InputError: It is no video, is truncated or damaged, or its sound has too many channels.
        TooLarge: Over the limits.
        UsageError: The extra `video` is not installed.
    """
    info = probe(path, limits=_LIMITS)
    if info.sound_channels > MOST_CHANNELS:
        raise InputError(
            f"the sound of the video has {info.sound_channels} channels",
            expected=f"at most {MOST_CHANNELS}",
            hint="mix it to fewer channels",
            path=path,
        )
    with opened_video(path, limits=_LIMITS) as container:
        stream = video_stream(container, path=path, limits=_LIMITS)
        times = tuple(float(time) for _, time in decoded(container, stream, path=path, limits=_LIMITS))
    sound = read_soundtrack(path, limits=_LIMITS) if info.sound_channels else None
    return Film(path=path, info=info, times_s=times, sound=sound)


def write_perturbed(film: Film, plan: VideoPlan, target: Path, *, quality: int, depth: Depth) -> dict[str, Any]:
    """Perturb a video into a Matroska file.

    Args:
        film: What was looked through.
        plan: What to do.
        target: The file to make.
        quality: 0 for lossless, else x264's quantiser.
        depth: Of the sound's samples.

    Returns:
        What a record says of it: hashes of the decoded frames and sound, how many, how large, what was cut off.

    Raises:
        InputError: The frames change their size, or more of them would have to be kept than memory allows.
        OutputError: It cannot be written.
    """
    size = (film.info.height, film.info.width)
    told: dict[str, Any] = {"frames": len(film.times_s), "size": list(size), "fps": film.fps, "coding": _told(quality)}
    sound, clipped = None, 0
    if film.sound is not None:
        made = plan.sound(film.sound.samples, film.sound.rate_hz)
        samples, clipped = as_stored(made, depth)
        sound = Sound(samples=samples, rate_hz=film.sound.rate_hz)
    fps = Fraction(min(max(film.fps, 0.1), 1000.0)).limit_denominator(100_000)
    form = VideoForm(size=size, fps=fps, quality=quality, depth=depth)
    digest = hashlib.sha256()
    with video_file(target, form, sound=sound) as coder:
        frames = _sized(read_frames(film.path, limits=_LIMITS), size, film.path)
        for index, frame in _shown(frames, plan, len(film.times_s), path=film.path):
            coder.add(film.times_s[index], frame)
            digest.update(frame.data)
    told["sha256"] = digest.hexdigest()
    if quality != LOSSLESS:
        told |= {"rendered_sha256": told["sha256"]}
        told["sha256"], _ = frame_digest(timed.frame for timed in read_frames(target, limits=_LIMITS))
    if sound is not None:
        shape = {"rate_hz": sound.rate_hz, "channels": sound.samples.shape[0], "samples": sound.samples.shape[1]}
        told |= {"sound_sha256": sound_digest(sound.samples), **shape, "clipped": clipped, "depth": depth}
    return told


def _told(quality: int) -> str:
    return "lossless" if quality == LOSSLESS else f"x264, quantiser {quality}"


def _sized(frames: Iterable[TimedFrame], size: tuple[int, int], path: Path) -> Iterator[Frame]:
    for number, timed in enumerate(frames):
        if number % _TIDY_EVERY == 0:
            gc.collect()  # the decoder's pictures are in cycles, and the collector does not know how large they are
        if timed.frame.shape[:2] != size:
            raise InputError(
                f"the frames change their size, to {timed.frame.shape[0]} x {timed.frame.shape[1]} at "
                f"{timed.time_s:.3f} s",
                expected=f"{size[0]} x {size[1]} (height x width) throughout",
                hint="cut the video where its size changes",
                path=path,
            )
        yield timed.frame


def _shown(frames: Iterable[Frame], plan: VideoPlan, count: int, *, path: Path) -> Iterator[tuple[int, Frame]]:
    """Each place of the output with its frame, rendered for that place; kept until it was shown last."""
    numbers = [plan.frame_number(place) for place in range(count)]
    last = {number: place for place, number in enumerate(numbers)}
    held: dict[int, Frame] = {}
    place = 0
    for number, frame in enumerate(frames):
        if number in last:
            held[number] = frame
        while place < count and numbers[place] in held:
            yield place, np.ascontiguousarray(plan.frame(held[numbers[place]], place))
            if last[numbers[place]] == place:
                del held[numbers[place]]
            place += 1
        if len(held) * frame.nbytes > _MOST_HELD_BYTES:
            raise InputError("too many frames are shown long after they were", expected="512 MiB of frames", path=path)
    if place != count:
        raise InputError(f"the video ended after {place} of {count} frames", path=path)
