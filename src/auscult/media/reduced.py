"""Frames at reduced size, for what looks at motion and not at detail: a JPEG is decoded at a fraction of its size."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from auscult.media.frames import read_frame
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.paths import read_bytes
from auscult.media.pictures import opened, orientation
from auscult.types import Frame

_FLAGS = {8: cv2.IMREAD_REDUCED_COLOR_8, 4: cv2.IMREAD_REDUCED_COLOR_4, 2: cv2.IMREAD_REDUCED_COLOR_2}
_END_OF_JPEG = b"\xff\xd9"
_UPRIGHT = 1


def read_reduced(path: Path, *, least: int, limits: Limits = DEFAULT_LIMITS) -> tuple[Frame, tuple[int, int]]:
    """Read a picture at a size that is easy to decode.

    Args:
        path: A picture file, as for ``read_frame``.
        least: Height and width that the reduced picture keeps at least, in pixels.
        limits: Checked against the header.

    Returns:
        uint8 RGB, reduced to a half, quarter or eighth where the file is a plain upright JPEG and large enough, else
        whole; and the (height, width) of the whole picture.

    Raises:
        InputError: As ``read_frame``.
        TooLarge: Over ``limits``.
    """
    data = read_bytes(path, limits=limits)
    with opened(data, path=path, limits=limits) as picture:
        size = picture.height, picture.width
        plain = picture.format in {"JPEG", "MPO"} and picture.mode == "RGB" and orientation(picture) == _UPRIGHT
    part = next((part for part in _FLAGS if min(size) // part >= least), None)
    if plain and part is not None and _END_OF_JPEG in data[-1024:]:
        found = cv2.imdecode(np.frombuffer(data, np.uint8), _FLAGS[part] | cv2.IMREAD_IGNORE_ORIENTATION)
        if found is not None and found.shape[:2] == (-(-size[0] // part), -(-size[1] // part)):
            return np.asarray(cv2.cvtColor(found, cv2.COLOR_BGR2RGB, dst=found), dtype=np.uint8), size
    frame = read_frame(path, limits=limits)
    return frame, (frame.shape[0], frame.shape[1])
