"""The frames of a picture prompt: of a picture, a folder of pictures, or a video."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import cv2
import numpy as np

from auscult.cases.ids import natural_key
from auscult.errors import InputError
from auscult.media.frames import FRAME_SUFFIXES, read_frame
from auscult.types import Frame, Frames

MOST_FRAMES: Final = 8
LONGEST_PX: Final = 512


def prompt_frames(path: Path) -> Frames:
    """Up to ``MOST_FRAMES`` frames spread evenly, uint8 RGB (T, H, W, 3), shrunk to ``LONGEST_PX``.

    Frames of another size than the first are scaled to its. Links in a folder are left out.

    Raises:
        InputError: There is no frame, or one cannot be read.
    """
    from auscult.media.video import VIDEO_SUFFIXES, count_frames, frames_numbered

    if path.is_dir():
        files = [one for one in path.iterdir() if one.suffix.lower() in FRAME_SUFFIXES and not one.is_symlink()]
        files.sort(key=lambda one: natural_key(one.name))
        found = [read_frame(files[number]) for number in _spread(len(files))]
    elif path.suffix.lower() in VIDEO_SUFFIXES:
        numbers = _spread(count_frames(path))
        found = [timed.frame for _, timed in frames_numbered(path, numbers)]
    else:
        found = [read_frame(path)]
    if not found:
        hint = "name a picture, a folder of pictures, or a video with frames; or take 'video' out"
        raise InputError("the picture prompt has no frame", expected="one frame at least", hint=hint, path=path)
    height, width = found[0].shape[:2]
    scale = min(1.0, LONGEST_PX / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.stack([_resized(frame, size) for frame in found])


def _resized(frame: Frame, size: tuple[int, int]) -> Frame:
    if frame.shape[1::-1] == size:
        return frame
    return np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _spread(count: int) -> list[int]:
    """Numbers of ``MOST_FRAMES`` of so many frames, in the middle of equal parts."""
    return sorted({int((part + 0.5) * count / MOST_FRAMES) for part in range(MOST_FRAMES)}) if count else []
