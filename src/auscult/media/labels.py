"""A mask file as a map of object indices, for scores that look at several objects at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.masks import object_indices, read_mask
from auscult.media.paths import read_bytes
from auscult.media.pictures import opened, orientation, pixels, upright
from auscult.media.readings import VOID
from auscult.types import MaskRef


def read_labels(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> NDArray[np.uint8]:
    """Read which object each pixel belongs to.

    Args:
        path: A palette file (index = object, 255 void), or a file of one mask.
        limits: The bounds on the file and the mask.

    Returns:
        uint8 (H, W): 0 none, 1..254 objects, 255 void. A file of one mask gives 0 and 1.

    Raises:
        InputError: It cannot be read, or is no mask.
        TooLarge: It is over ``limits``.
    """
    indices = object_indices(path, limits=limits)
    if indices is None:
        return read_mask(MaskRef(path=path), limits=limits).mask.astype(np.uint8)
    return palette_indices(path, limits=limits)


def palette_indices(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> NDArray[np.uint8]:
    """The indices of a palette file as they stand, uint8 (H, W).

    Raises:
        InputError: It cannot be read, or has no palette.
    """
    with opened(read_bytes(path, limits=limits), path=path, limits=limits) as picture:
        if picture.mode != "P":
            raise InputError("the file has no palette", expected=f"object indices 0..254, {VOID} void", path=path)
        return np.ascontiguousarray(upright(pixels(picture), orientation(picture)), dtype=np.uint8)
