"""What becomes of content as it is decoded: its hash, which two people compare, and what reading a picture changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from auscult.media.limits import DEFAULT_LIMITS
from auscult.media.pictures import opened, orientation
from auscult.types import Frame, Samples

_MODES: Final = {"1": "grey", "L": "grey", "LA": "grey", "La": "grey", "I": "grey", "P": "palette", "PA": "palette"}


def frame_digest(frames: Iterator[Frame]) -> tuple[str, int]:
    """SHA-256 of the bytes of frames in their order, uint8 RGB row by row, and how many there were."""
    digest, count = hashlib.sha256(), 0
    for frame in frames:
        digest.update(np.ascontiguousarray(frame).data)
        count += 1
    return digest.hexdigest(), count


def sound_digest(samples: Samples) -> str:
    """SHA-256 of a sound's samples as they are read: float32, little-endian, channel after channel."""
    return hashlib.sha256(np.ascontiguousarray(samples, dtype="<f4").data).hexdigest()


def conversions(path: Path) -> list[str]:
    """What ``read_frame`` changed in a picture, in words; empty for one of RGB, 8 bits, upright, without alpha.

    Raises:
        InputError: It is no picture.
        TooLarge: It has more pixels than the limit.
    """
    with path.open("rb") as file, opened(file, path=path, limits=DEFAULT_LIMITS) as picture:
        mode, stored = picture.mode, [tile[3] for tile in getattr(picture, "tile", ())]
        raw = [str(one if isinstance(one, str) or not one else one[0]) for one in stored]
        found = {
            "16 bits to 8": mode.startswith("I") or any(";16" in one for one in raw),
            "alpha over black": mode == "RGBa" or picture.has_transparency_data,
            "turned upright": orientation(picture) != 1,
            "the first of several pictures": _several(picture),
            f"{_MODES.get(mode.partition(';')[0], mode)} to RGB": mode not in {"RGB", "RGBA", "RGBa"},
        }
    return [what for what, changed in found.items() if changed]


def _several(picture: object) -> bool:
    """Whether a file holds further pictures, such as pages or an animation; the preview in a camera's file is none."""
    return bool(getattr(picture, "is_animated", False)) and getattr(picture, "format", "") != "MPO"
