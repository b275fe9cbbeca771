"""Reads the frames and sounds of clips, and keeps the last: a clip is asked about many times in a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from auscult.errors import InputError
from auscult.media.frames import read_frame
from auscult.media.sound import read_sound
from auscult.media.wav import Sound
from auscult.models.base import Clip

_MOST_BYTES = 4 << 30


class Reader:
    """Reads clips, in one process."""

    def __init__(self) -> None:
        self._files: tuple[Path, ...] = ()
        self._clip: Clip | None = None
        self._error: InputError | None = None
        self._path: Path | None = None
        self._sound: Sound | None = None

    def frames(self, files: tuple[Path, ...], size: tuple[int, int]) -> Clip:
        """The frames of a clip, uint8 RGB (T, H, W, 3); never to be written to.

        A clip that cannot be read is not read again until another was asked for.

        Args:
            files: Picture files in order.
            size: (height, width) that all must have.

        Raises:
            InputError: A frame cannot be read or is of another size, or the clip is over 4 GiB.
        """
        if files != self._files:
            self._clip, self._error, self._files = None, None, files  # let go of the last one first
            try:
                self._clip = _read(files, size)
            except InputError as error:
                self._error = error
        if self._clip is None:
            raise self._error or InputError("there are no frames")
        return self._clip

    def sound(self, path: Path) -> Sound:
        """The sound of a file.

        Raises:
            InputError: It cannot be read.
            UsageError: It needs the extra `video`.
        """
        if self._sound is None or path != self._path:
            self._sound, self._path = read_sound(path), path
        return self._sound


def _read(files: tuple[Path, ...], size: tuple[int, int]) -> Clip:
    if len(files) * size[0] * size[1] * 3 > _MOST_BYTES:
        raise InputError(
            f"{len(files)} frames of {size[0]} x {size[1]} are too much at once",
            expected="a clip of at most 4 GiB",
            hint="thin out or shorten the clip",
            path=files[0],
        )
    clip = np.empty((len(files), *size, 3), np.uint8)
    for place, path in enumerate(files):
        frame = read_frame(path)
        if frame.shape[:2] != size:
            raise InputError(
                f"the frame is {frame.shape[0]} x {frame.shape[1]}",
                expected=f"{size[0]} x {size[1]}, as the clip's first",
                path=path,
            )
        clip[place] = frame
    return clip
