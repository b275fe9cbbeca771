"""From the values of an array to a mask: which values mean "object", and which arrays are ambiguous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.types import Mask, MaskRef

VOID = 255
MOST_LISTED = 10
SOFT = "soft>=0.5"

_FEW_INDICES, _MOST_INDICES = 8, 128  # of one picture
_SOFT_FROM = 16  # a soft mask has no areas of values below this part of the largest


@dataclass(frozen=True, slots=True)
class LoadedMask:
    """A mask, and how its source was read.

    Attributes:
        mask: bool (H, W).
        reading: ``binary``, ``index``, ``soft>=0.5``, ``alpha``, ``alpha>=0.5``, ``npy``, ``rle``, ``polygon`` or
            ``crop``; part of the signature of whatever is computed from it.
    """

    mask: Mask
    reading: str


def of_values(array: NDArray[Any], ref: MaskRef, path: Path, *, from_alpha: bool = False) -> LoadedMask:
    """Read a grey picture, an alpha channel or an NPY array, (H, W), by its values."""
    wants_index = ref.labels or ref.index is not None
    if array.dtype == np.bool_:
        if ref.index is not None:
            return LoadedMask(of_indices(array.astype(np.uint8), ref, path), "index")
        return LoadedMask(np.ascontiguousarray(array), _binary(path))
    if array.dtype.kind == "f":
        return LoadedMask(_soft_float(array, path, wants_index=wants_index), SOFT)
    if int(array.min()) < 0:
        raise InputError("the mask holds negative numbers", expected="numbers from 0 up", path=path)
    if wants_index:
        return LoadedMask(of_indices(array, ref, path), "index")
    if _at_most_two_values(array):
        return LoadedMask(_two_values(array, path), _binary(path))
    return LoadedMask(_soft_whole(array, path, from_alpha=from_alpha), SOFT)


def of_indices(array: NDArray[Any], ref: MaskRef, path: Path) -> Mask:
    """One object of an array of indices, or the union of all. Void is in no object; only 8-bit numbers have it."""
    if ref.index is None:
        return _union(array, path)
    if ref.index == _void(array):
        raise InputError(f"object index {VOID} is void in an 8-bit file", expected="an index from 1 to 254", path=path)
    mask = array == ref.index if ref.index <= _largest(array) else np.zeros(array.shape, dtype=np.bool_)
    if not mask.any() and not ref.absent_ok:
        present = distinct(array, path)
        raise InputError(
            f"the object index {ref.index} does not occur in the file",
            expected=f"one of the indices present: {_listed(present)}" if present else "a file with objects in it",
            hint="correct the index, or leave the item out where the object was not segmented",
            path=path,
        )
    return np.ascontiguousarray(mask)


def distinct(array: NDArray[Any], path: Path) -> tuple[int, ...]:
    """The object indices that occur, ascending, without 0 (none) and void."""
    if array.dtype.kind == "f" or int(array.min()) < 0:
        raise InputError("the values are no object indices", expected="whole numbers from 0 up", path=path)
    none = {0, _void(array)}
    return tuple(int(index) for index in np.unique(array).tolist() if index not in none)


def one_channel(array: NDArray[Any], path: Path) -> tuple[NDArray[Any], bool]:
    """The channel, (H, W), of an (H, W, channels) picture that is the mask, and whether it is the alpha channel.

    Alpha is, where not everything is opaque, or as transparent as all else; other channels must be equal.
    """
    count = array.shape[2]
    alpha, colours = array[..., -1], array[..., :-1]
    lowest, highest = int(alpha.min()), int(alpha.max())
    if count in {2, 4} and lowest != _largest(array) and not lowest == highest > 0:
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


def _union(array: NDArray[Any], path: Path) -> Mask:
    void = _void(array)
    mask = array > 0
    if void is not None and mask.any():
        mask &= array != void
        if not mask.any():
            raise InputError(
                f"the only object index is {VOID}, which is void and belongs to no mask",
                expected="objects drawn with the indices 1 to 254",
                hint=f"is {VOID} the mask? save it as a black and white picture, and leave --labels out",
                path=path,
            )
    return np.ascontiguousarray(mask)


def _two_values(array: NDArray[Any], path: Path) -> Mask:
    low, high = int(array.min()), int(array.max())
    if 0 < low < high:
        raise InputError(
            f"the mask holds the values {low} and {high} and no 0",
            expected="0 for the background and one other value for the mask",
            hint=f"which of the two is the background? write 0 for it; --labels reads {low} and {high} as two objects",
            path=path,
        )
    return np.ascontiguousarray(array > 0)


def looks_indexed(array: NDArray[Any]) -> bool:
    """Whether grey values, (H, W) of 8 or 16 bits, are drawn as object indices or classes are, and no soft mask.

    A soft mask passes through its values along an outline, and fills no area with values next to 0. Here the values
    between 0 and the largest of the type are few, begin low, and most of them fill areas. A soft mask in blocks, which
    was enlarged from a small one, does so too, but has many values, and as many above the half as below.
    """
    largest, array = _largest(array), np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    inner = array[1:-1, 1:-1]
    filled = np.zeros(array.shape, dtype=np.uint8)  # where a pixel has the value of its four neighbours
    filled[1:-1, 1:-1] = (inner == array[:-2, 1:-1]) & (inner == array[2:, 1:-1])
    filled[1:-1, 1:-1] &= (inner == array[1:-1, :-2]) & (inner == array[1:-1, 2:])
    counts, areas = (cv2.calcHist([array], [0], at, [largest], [0, largest]).reshape(-1)[1:] for at in (None, filled))
    values = np.flatnonzero(counts)
    if not 0 < values.size <= _MOST_INDICES or values[0] >= largest // _SOFT_FROM:
        return False
    if values.size > _FEW_INDICES and 4 * np.count_nonzero(values >= largest // 2) > values.size:
        return False
    return bool(2 * np.count_nonzero(2 * areas[values] >= counts[values]) >= values.size)


def _soft_whole(array: NDArray[Any], path: Path, *, from_alpha: bool) -> Mask:
    if _binary(path) == "npy" or array.dtype.kind != "u" or array.dtype.itemsize > 2:
        raise InputError(
            f"the mask holds more than two different whole numbers ({array.dtype})",
            expected="0 and 1, floats in 0..1, or object indices that are asked for",
            hint="use --labels, or give an index, to read the numbers as object indices",
            path=path,
        )
    largest = _largest(array)
    mask = array > largest // 2
    if not mask.any():
        raise InputError(
            f"the grey values {_listed(np.unique(array).tolist())} look like object indices",
            expected=f"a soft mask, which reaches {largest // 2 + 1} of {largest}",
            hint=f"--labels reads them as objects; or scale a soft mask to 0..{largest}",
            path=path,
        )
    if not from_alpha and looks_indexed(array):
        raise InputError(
            f"the grey values {_listed(np.unique(array).tolist())} fill areas, as object indices do",
            expected="two values, or a soft mask, whose values lie along its outline",
            hint=f"--labels reads them as objects{f', {VOID} as void' if _void(array) else ''}; a soft mask? cut it at "
            "the half and write two values",
            path=path,
        )
    return np.ascontiguousarray(mask)


def _listed(values: Sequence[int]) -> str:
    text = ", ".join(map(str, values[:MOST_LISTED]))
    return f"{text}, ... ({len(values)} in all)" if len(values) > MOST_LISTED else text


def _binary(path: Path) -> str:
    return "npy" if path.suffix.lower() == ".npy" else "binary"


def _void(array: NDArray[Any]) -> int | None:
    return VOID if array.dtype == np.uint8 else None


def _largest(array: NDArray[Any]) -> int:
    return int(np.iinfo(array.dtype).max)


def _at_most_two_values(array: NDArray[Any]) -> bool:
    low, high = array.min(), array.max()
    return bool(low == high or ((array == low) | (array == high)).all())


def _soft_float(array: NDArray[Any], path: Path, *, wants_index: bool) -> Mask:
    if wants_index:
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
