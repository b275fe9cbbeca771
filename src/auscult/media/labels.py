"""A mask file as a map of object indices, for scores that look at several objects at once."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, eq=False)
class LabelMap:
    """Which object each pixel belongs to, and how its file was read.

    Attributes:
        labels: uint8 (H, W): 0 none, 1..254 objects, 255 void. A file of one mask gives 0 and 1.
        reading: ``index``, or as in ``LoadedMask``; part of a score's signature.
    """

    labels: NDArray[np.uint8]
    reading: str


def read_labels(path: Path, *, labels: bool = False, limits: Limits = DEFAULT_LIMITS) -> LabelMap:
    """Read which object each pixel belongs to.

    Args:
        path: A palette file (index = object, 255 void), or a file of one mask.
        labels: Read a grey file's values as object indices too.
        limits: The bounds on the file and the mask.

    Raises:
        InputError: It cannot be read, or is no mask.
        TooLarge: It is over ``limits``.
    """
    indices = object_indices(path, labels=labels, limits=limits)
    if indices is None:
        loaded = read_mask(MaskRef(path=path), limits=limits)
        return LabelMap(loaded.mask.astype(np.uint8), loaded.reading)
    return LabelMap(_indices(path, indices, limits=limits), "index")


def _indices(path: Path, indices: tuple[int, ...], *, limits: Limits) -> NDArray[np.uint8]:
    if path.suffix.lower() != ".npy":
        with opened(read_bytes(path, limits=limits), path=path, limits=limits) as picture:
            if picture.mode in {"P", "L"}:
                return np.ascontiguousarray(upright(pixels(picture), orientation(picture)), dtype=np.uint8)
    if indices and max(indices) >= VOID:
        raise InputError(
            f"the file holds object index {max(indices)}",
            expected=f"indices below {VOID}",
            hint="renumber the objects",
            path=path,
        )
    whole = read_mask(MaskRef(path=path, labels=True), limits=limits).mask.astype(np.uint8)
    for index in indices:
        whole[read_mask(MaskRef(path=path, index=index, labels=True), limits=limits).mask] = index
    return whole
