"""Masks from files, read clip by clip: whether grey values are soft shows in the clip, not in one frame of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.limits import DEFAULT_LIMITS
from auscult.media.npy import npy_array
from auscult.media.paths import read_bytes
from auscult.media.pictures import opened, orientation, pixels, upright
from auscult.media.readings import VOID, one_channel
from auscult.models.answers import THRESHOLD
from auscult.models.base import Masks

_SOFT_LEAST: Final = 1 / 8  # a soft clip that nowhere reaches this share of white looks like object indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredMask:
    """The values of one file.

    Attributes:
        values: (H, W): bool, unsigned whole numbers, or floating point in 0..1.
        kind: ``mask`` for bool; ``grey`` for whole numbers, whose reading the clip decides; ``soft`` for floating
            point.
        path: The file.
    """

    values: NDArray[Any]
    kind: Literal["mask", "grey", "soft"]
    path: Path


def read_stored(path: Path, *, size: tuple[int, int]) -> StoredMask:
    """Read one file.

    Args:
        path: PNG, or NPY by its suffix.
        size: (height, width) of the frame.

    Raises:
        InputError: It cannot be read, is no mask, or is of another size.
        TooLarge: It is over the limits of ``media``.
    """
    data = read_bytes(path)
    if path.suffix.lower() == ".npy":
        values, indexed = npy_array(data, path=path, limits=DEFAULT_LIMITS), False
    else:
        with opened(data, path=path, limits=DEFAULT_LIMITS) as picture:
            indexed = picture.mode == "P"
            values = upright(pixels(picture), orientation(picture))
        if values.ndim == 3:
            values = one_channel(values, path)[0]
    if values.shape != size:
        raise InputError(
            f"the mask is {values.shape[0]} x {values.shape[1]}, its frame {size[0]} x {size[1]} (height x width)",
            expected=f"a mask of {size[0]} x {size[1]}",
            hint="a prediction is never resized here; resize it where it is made",
            path=path,
        )
    if indexed:
        values = (values != 0) & (values != VOID)
    return _checked(values, path)


def _checked(values: NDArray[Any], path: Path) -> StoredMask:
    if values.dtype == np.bool_:
        return StoredMask(values=values, kind="mask", path=path)
    low, high = values.min(), values.max()
    if values.dtype.kind == "f":
        if low < 0 or high > 1:
            raise InputError(
                f"the prediction holds numbers from {low:g} to {high:g}",
                expected="probabilities in 0..1",
                hint="are they logits? apply a sigmoid; are they 0..255? divide by 255",
                path=path,
            )
        return StoredMask(values=values, kind="soft", path=path)
    if low < 0:
        raise InputError("the prediction holds negative numbers", expected="numbers from 0 up", path=path)
    if path.suffix.lower() == ".npy":
        if high > 1 and bool(((values != 0) & (values != high)).any()):
            raise InputError(
                f"the prediction holds several whole numbers above 0, up to {high}",
                expected="0 and 1, or probabilities as floating point",
                hint="one object is asked for at a time: compare with its index, or with 0",
                path=path,
            )
        return StoredMask(values=values != 0, kind="mask", path=path)
    return StoredMask(values=values, kind="grey", path=path)


def union_of(stored: Sequence[StoredMask]) -> tuple[Masks, float | None]:
    """The masks of a clip's files.

    Grey values are black and white where the clip holds 0 and one other value at most; else every frame of the clip is
    soft, its white 1.

    Returns:
        bool (T, H, W), and .5 where something soft was cut at it, else None.

    Raises:
        InputError: The grey values look like object indices.
    """
    grey = [one for one in stored if one.kind == "grey"]
    soft_grey = _is_soft(grey)
    if soft_grey:
        _refuse_indices(grey)
    masks = np.stack([_mask(one, soft_grey=soft_grey) for one in stored])
    soft = soft_grey or any(one.kind == "soft" for one in stored)
    return masks, THRESHOLD if soft else None


def _is_soft(grey: Sequence[StoredMask]) -> bool:
    highest: int | None = None
    for one in grey:
        high = int(one.values.max())
        if high == 0:
            continue
        if highest not in {None, high} or bool(((one.values != 0) & (one.values != high)).any()):
            return True
        highest = high
    return False


def _refuse_indices(grey: Sequence[StoredMask]) -> None:
    largest = max(int(one.values.max()) / np.iinfo(one.values.dtype).max for one in grey)
    if largest < _SOFT_LEAST:
        raise InputError(
            f"the grey values reach {largest:.1%} of white and look like object indices",
            expected="black and white, a palette picture, or soft values up to white",
            hint="one object is asked for at a time: write its mask in white; scale soft values to 0..255",
            path=grey[0].path,
        )


def _mask(one: StoredMask, *, soft_grey: bool) -> NDArray[np.bool_]:
    if one.kind == "mask":
        return one.values
    if one.kind == "soft":
        return np.asarray(one.values >= THRESHOLD)
    if soft_grey:
        return np.asarray(one.values > np.iinfo(one.values.dtype).max // 2)
    return np.asarray(one.values != 0)
