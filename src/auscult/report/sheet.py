"""Files of pictures, a video or a sound as one picture for a page: tiles side by side, or a spectrogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from auscult.media.frames import read_frame
from auscult.media.sound import read_sound
from auscult.media.video import count_frames, frames_numbered
from auscult.media.wav import Sound
from auscult.report.overlay import heated, shrunk
from auscult.report.strip import evenly
from auscult.types import Frame

_PICTURES: Final = 4
_TILE_PX: Final = 220
_MOST_SOUND_S: Final = 6.0
_MOST_RATE_HZ: Final = 16_000
_BAND: Final = 512


def sheet(images: Sequence[Path], video: Path | None, sound: Sound | None) -> Frame:
    """Up to four of the pictures, else four frames of the video, else the spectrogram of the sound, uint8 RGB."""
    tiles = [_tile(frame) for frame in _frames(images, video)]
    if not tiles and sound is not None:
        tiles = [_spectrogram(sound)]
    picture: Frame = np.hstack(tiles)
    return picture


def _frames(images: Sequence[Path], video: Path | None) -> Iterator[Frame]:
    for number in evenly(len(images), _PICTURES):
        yield read_frame(images[number])
    if video is not None and not images:
        for _, frame in frames_numbered(video, evenly(count_frames(video), _PICTURES)):
            yield frame.frame


def _tile(frame: Frame) -> Frame:
    """A picture in a square."""
    small = shrunk(frame, width_px=_TILE_PX) if frame.shape[1] > _TILE_PX else frame
    side = min(1.0, _TILE_PX / small.shape[0])
    if side < 1:
        small = np.asarray(cv2.resize(small, None, fx=side, fy=side, interpolation=cv2.INTER_AREA), np.uint8)
    tile = np.full((_TILE_PX, _TILE_PX, 3), 255, np.uint8)
    top, left = ((_TILE_PX - length) // 2 for length in small.shape[:2])
    tile[top : top + small.shape[0], left : left + small.shape[1]] = small
    return tile


def short_sound(path: Path) -> Sound:
    """The beginning of a sound, at most 6 s of one channel and about 16 kHz: small enough for a page."""
    sound = read_sound(path)
    samples = sound.samples if sound.samples.ndim == 1 else sound.samples.mean(axis=0)
    factor = max(1, sound.rate_hz // _MOST_RATE_HZ)
    short = samples[: round(_MOST_SOUND_S * sound.rate_hz)]
    resampled = short[: len(short) // factor * factor].reshape(-1, factor).mean(axis=1)
    return Sound(samples=resampled.astype(np.float32), rate_hz=sound.rate_hz // factor)


def _spectrogram(sound: Sound) -> Frame:
    samples = np.pad(sound.samples, (0, max(0, 2 * _BAND - len(sound.samples))))
    windows = np.lib.stride_tricks.sliding_window_view(samples, _BAND)[:: _BAND // 4]
    power = np.abs(np.fft.rfft(windows * np.hanning(_BAND), axis=1)) ** 2
    levels = 10 * np.log10(power.T[::-1] + 1e-7)
    return heated(np.zeros((_TILE_PX, 3 * _TILE_PX, 3), np.uint8), np.maximum(levels, levels.max() - 80))
