"""From the values of an array to a mask: which values mean "object", and when nobody can tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.types import Mask, MaskRef

VOID = 255
SOFT = "soft>=0.5"


@dataclass(frozen=True, slots=True)
class LoadedMask:
    """A mask, and how its source was read.

    Attributes:
        mask: bool (H, W).
        reading: ``binary``, ``index``, ``soft>=0.5``, ``alpha``, ``alpha>=0.5``, ``npy``, ``rle`` or ``polygon``; part
            of the signature of whatever is computed from it.
    """

    mask: Mask
    reading: str


def of_values(array: NDArray[Any], ref: MaskRef, path: Path) -> LoadedMask:
    """Read a grey picture or an NPY array, (H, W), by its values.

    Raises:
        InputError: The values are of no kind that the reference allows.
    """
    binary = "npy" if path.suffix.lower() == ".npy" else "binary"
    asked = ref.labels or ref.index is not None
    if array.dtype == np.bool_:
        if ref.index is not None and ref.index > 1:
            return LoadedMask(np.zeros(array.shape, dtype=np.bool_), "index")
        return LoadedMask(np.ascontiguousarray(array), binary)
    if array.dtype.kind == "f":
        return LoadedMask(_soft_float(array, path, asked=asked), SOFT)
    if int(array.min()) < 0:
        raise InputError("the mask holds negative numbers", expected="numbers from 0 up", path=path)
    if asked:
        return LoadedMask(of_indices(array, ref.index, path), "index")
    if _at_most_two_values(array):
        return LoadedMask(np.ascontiguousarray(array > 0), binary)
    if binary == "npy" or array.dtype.kind != "u" or array.dtype.itemsize > 2:
        raise InputError(
            f"the mask holds more than two different whole numbers ({array.dtype})",
            expected="0 and 1, floats in 0..1, or object indices that are asked for",
            hint="use --labels, or give an index, to read the numbers as object indices",
            path=path,
        )
    return LoadedMask(np.ascontiguousarray(array > _largest(array) // 2), SOFT)


def of_indices(array: NDArray[Any], index: int | None, path: Path) -> Mask:
    """One object of an array of indices, or the union of all. Void is in no object; only 8-bit numbers have it.

    Raises:
        InputError: The index asked for is void.
    """
    void = _void(array)
    if index is None:
        mask = array > 0
        if void is not None:
            mask &= array != void
        return np.ascontiguousarray(mask)
    if index == void:
        raise InputError(f"object index {VOID} is void in an 8-bit file", expected="an index from 1 to 254", path=path)
    if index > _largest(array):
        return np.zeros(array.shape, dtype=np.bool_)
    return np.ascontiguousarray(array == index)


def distinct(array: NDArray[Any], path: Path) -> tuple[int, ...]:
    """The object indices that occur, ascending, without 0 (none) and void.

    Raises:
        InputError: The values are no indices.
    """
    if array.dtype.kind == "f" or int(array.min()) < 0:
        raise InputError("the values are no object indices", expected="whole numbers from 0 up", path=path)
    none = {0, _void(array)}
    return tuple(int(index) for index in np.unique(array).tolist() if index not in none)


def one_channel(array: NDArray[Any], path: Path) -> tuple[NDArray[Any], bool]:
    """The channel of an (H, W, channels) picture that is the mask.

    Returns:
        The channel, (H, W), and whether it is the alpha channel: it is, where not everything is opaque.

    Raises:
        InputError: The channels differ, or everything is transparent and yet of several colours.
    """
    count = array.shape[2]
    if count in {2, 4} and int(array[..., -1].min()) != _largest(array):
        alpha, colours = array[..., -1], array[..., :-1]
        if not alpha.any() and (colours != colours[0, 0]).any():
            raise InputError(
                "the picture is transparent everywhere but holds colours",
                expected="a mask in the alpha channel or in grey, not both",
                hint="export it as a grey PNG without alpha",
                path=path,
            )
        return alpha, True
    grey = array[..., 0]
    if count >= 3 and not (np.array_equal(grey, array[..., 1]) and np.array_equal(grey, array[..., 2])):
        raise in_colour(path)
    return grey, False


def in_colour(path: Path) -> InputError:
    """The error of a picture in colours where a mask is needed."""
    return InputError(
        "the picture is in colour, so it may be an overlay or a class map; it is not read as a mask",
        expected="a grey, 1-bit or palette picture",
        hint="export one object per file in black and white, or a palette PNG with one index per object",
        path=path,
    )


def _void(array: NDArray[Any]) -> int | None:
    return VOID if array.dtype == np.uint8 else None


def _largest(array: NDArray[Any]) -> int:
    return int(np.iinfo(array.dtype).max)


def _at_most_two_values(array: NDArray[Any]) -> bool:
    low, high = array.min(), array.max()
    return bool(low == high or ((array == low) | (array == high)).all())


def _soft_float(array: NDArray[Any], path: Path, *, asked: bool) -> Mask:
    if asked:
        raise InputError("object indices are asked of floating point numbers", expected="whole numbers", path=path)
    if not np.isfinite(array).all():
        raise InputError("the mask holds NaN or infinity", expected="numbers in 0..1", path=path)
    low, high = float(array.min()), float(array.max())
    if low < 0.0 or high > 1.0:
        raise InputError(
            f"the mask holds floating point numbers from {low:.4g} to {high:.4g}",
            expected="numbers in 0..1",
            hint="are they logits? apply a sigmoid; are they 0..255? divide by 255",
            path=path,
        )
    return np.ascontiguousarray(array >= 0.5)
