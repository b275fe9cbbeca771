"""COCO run-length encoding: a mask as runs of 0 and 1, column after column.

The runs alternate and start with 0, so a mask whose first pixel is set starts with a run of length 0. Uncompressed,
``counts`` is the list of runs. Compressed, it is text: from the fourth run on, a run is written as its difference to
the run two before, and a number as groups of 5 bits, lowest first, each in one character from ``0`` (48) up; bit 6
says that more groups follow, and the last group's top bit is the sign.

Nothing in a given encoding is trusted: every run, their number and their sum are checked before a pixel is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_pixels
from auscult.types import Box, Mask

_GROUP_BITS = 5
_MORE = 0x20
_SIGN = 0x10
_FIRST = 48
_LAST = 111
# Seven groups hold 34 bits and a sign: more than any allowed run, and 2**28 of them still fit into int64.
_MAX_GROUPS = 7
_BITS = 32


def encode(mask: Mask) -> dict[str, Any]:
    """Encode a mask, bool (H, W), as compressed COCO RLE, the same text that pycocotools gives.

    Example:
        >>> encode(np.array([[False, True], [False, True]]))
        {'size': [2, 2], 'counts': '22'}
    """
    runs = runs_of(mask)
    return {"size": list(mask.shape), "counts": _compressed(runs)}


def runs_of(mask: Mask) -> NDArray[np.int64]:
    """The lengths of a mask's runs in column order, the first of 0s (may be 0)."""
    if mask.ndim != 2 or mask.dtype != np.bool_:
        raise ValueError(f"a mask is bool (H, W), not {mask.dtype} {mask.shape}")
    if mask.size == 0:
        return np.zeros(1, dtype=np.int64)
    # The byte of True may be any but 0, as in what Pillow gives.
    pixels, height = mask.view(np.uint8), mask.shape[0]
    changes: list[NDArray[np.int64]] = []
    last, columns = 0, _columns_at_once(height)
    for left in range(0, mask.shape[1], columns):
        flat = cv2.transpose((pixels[:, left : left + columns] != 0).view(np.uint8)).reshape(-1)
        positions = np.flatnonzero(flat[1:] != flat[:-1]) + (left * height + 1)
        changes.append(np.concatenate(([left * height], positions)) if flat[0] != last else positions)
        last = int(flat[-1])
    return np.diff(np.concatenate(([0], *changes, [mask.size]))).astype(np.int64)


def mask_of(runs: NDArray[np.int64], size: tuple[int, int]) -> Mask:
    """Draw runs, int64 (N,), the first of 0s, known to be whole: bool of ``size`` (height, width), C-contiguous."""
    height, width = size
    values = (np.arange(runs.size) & 1).astype(np.uint8)
    columns = _columns_at_once(height)
    if width <= columns:
        flat = np.repeat(values, runs)
        return np.ascontiguousarray(cv2.transpose(flat.reshape(width, height))).reshape(height, width).view(np.bool_)
    mask = np.empty(size, dtype=np.uint8)
    ends = np.cumsum(runs)
    for left in range(0, width, columns):
        begin, end = left * height, min(left + columns, width) * height
        part = slice(int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(ends, end, "left")) + 1)
        edges = np.clip(ends[part], begin, end)
        flat = np.repeat(values[part], np.diff(edges, prepend=begin))
        mask[:, left : left + columns] = cv2.transpose(flat.reshape(-1, height)).reshape(height, -1)
    return mask.view(np.bool_)


_PIXELS_AT_ONCE = 1 << 24


def _columns_at_once(height: int) -> int:
    """Columns that are turned at a time: a large mask is not held twice."""
    return max(1, _PIXELS_AT_ONCE // max(height, 1))


def _compressed(runs: NDArray[np.int64]) -> str:
    numbers = runs.copy()
    numbers[3:] -= runs[1:-2]
    groups = _groups_needed(numbers)
    rest = numbers.astype(np.int32) if groups * _GROUP_BITS < _BITS else numbers  # half the time
    characters = np.empty((rest.size, groups), dtype=np.uint8)
    written = np.empty(characters.shape, dtype=np.bool_)
    goes_on = np.ones(rest.size, dtype=np.bool_)
    for index in range(groups):  # written while the groups above carry more than the sign
        low = rest & (_MORE - 1)
        rest = rest >> _GROUP_BITS
        more = rest != -(low // _SIGN)
        characters[:, index] = low + np.where(more, _FIRST + _MORE, _FIRST)
        written[:, index] = goes_on
        goes_on &= more
    return characters[written].tobytes().decode("ascii")


def _groups_needed(numbers: NDArray[np.int64]) -> int:
    largest = max(int(numbers.max()), -int(numbers.min()))
    return largest.bit_length() // _GROUP_BITS + 1


def decode(segmentation: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS) -> Mask:
    """Decode COCO RLE to bool (height, width); ``counts`` is text, bytes or a list of whole numbers.

    The size is bounded before anything is allocated, and the runs must cover it exactly.
    """
    return Runs.read(segmentation, limits=limits).mask


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """A mask as runs, of which size, area and box are known without drawing it."""

    lengths: NDArray[np.int64]  # as ``runs_of`` gives them, (N,); they cover the size
    size: tuple[int, int]  # (height, width)
    text: str | None = None  # the same as ``encode`` writes it, where it was read so

    @classmethod
    def of(cls, mask: Mask) -> Self:
        """The runs of a mask, bool (H, W)."""
        return cls(runs_of(mask), (mask.shape[0], mask.shape[1]))

    @classmethod
    def read(cls, segmentation: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS) -> Self:
        """COCO RLE, checked as ``decode`` does."""
        size = rle_size(segmentation)
        check_pixels(size, limits=limits)
        area = size[0] * size[1]
        counts = segmentation.get("counts")
        text = None
        if isinstance(counts, str | bytes | bytearray):
            characters = _characters(counts)
            runs = _decompressed(characters, area)
            text = counts if isinstance(counts, str) and _is_shortest(characters) and np.all(runs[1:]) else None
        elif isinstance(counts, list | tuple):
            runs = _listed(counts, area)
        else:
            raise InputError(
                f"the RLE's `counts` is {type(counts).__name__}", expected="text, or a list of whole numbers"
            )
        _check_runs(runs, size)
        return cls(runs, size, text)

    @property
    def mask(self) -> Mask:
        """The mask, bool (height, width)."""
        return mask_of(self.lengths, self.size)

    @property
    def encoded(self) -> dict[str, Any]:
        """The mask as ``encode`` gives it, whoever wrote the runs."""
        return encode(self.mask) if self.text is None else {"size": list(self.size), "counts": self.text}

    @property
    def area(self) -> int:
        """How many pixels are set."""
        return int(self.lengths[1::2].sum())

    def shared(self, other: Runs) -> int:
        """How many pixels are set in both of two masks of one size, without drawing either."""
        if self.size != other.size:
            raise InputError(
                f"the masks are {self.size[0]} x {self.size[1]} and {other.size[0]} x {other.size[1]}",
                expected="two masks of one size (height x width)",
            )
        ends = np.cumsum(other.lengths)
        starts, stops = ends[:-1:2], ends[1::2]  # of each run of 1s
        return int((self._set_before(stops) - self._set_before(starts)).sum())

    def _set_before(self, pixels: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many pixels are set before each of some, (N,), in column order."""
        ends = np.concatenate(([0], np.cumsum(self.lengths)))
        done = np.concatenate(([0], np.cumsum(self.lengths * (np.arange(self.lengths.size) & 1))))
        run = np.searchsorted(ends, pixels, "right") - 1  # which each lies in; the number of runs beyond the last
        inside: NDArray[np.int64] = done[run] + (run & 1) * (run < self.lengths.size) * (pixels - ends[run])
        return inside

    @property
    def box(self) -> Box | None:
        """As ``arrays.boxes.box_of`` gives it; None for an empty mask."""
        ends = np.cumsum(self.lengths)
        first, last = ends[:-1:2], ends[1::2] - 1  # of each run of 1s
        first, last = first[last >= first], last[last >= first]
        if not last.size:
            return None
        height = self.size[0]
        left, right = first // height, last // height
        wraps = np.any(right > left)  # a run that goes on in the next column
        top = 0 if wraps else int((first % height).min())
        bottom = height if wraps else int((last % height).max()) + 1
        return int(left[0]), top, int(right[-1]) + 1, bottom


def rle_size(segmentation: Mapping[str, Any]) -> tuple[int, int]:
    """(height, width) of an RLE, both at least 1."""
    if not isinstance(segmentation, Mapping):
        raise InputError(f"an RLE is given as {type(segmentation).__name__}", expected="an object {size, counts}")
    size = segmentation.get("size")
    is_pair = isinstance(size, list | tuple) and len(size) == 2 and all(type(side) is int for side in size)
    if not is_pair or min(size) < 1:  # type: ignore[arg-type]
        text = repr(size)
        raise InputError(
            f"the RLE's `size` is {text if len(text) <= 60 else text[:57] + '...'}",
            expected="[height, width], two whole numbers from 1 up",
        )
    height, width = size  # type: ignore[misc]
    return height, width


def _characters(counts: str | bytes | bytearray) -> NDArray[np.int64]:
    if isinstance(counts, str):
        if not counts.isascii():
            raise InputError("the RLE's `counts` holds characters outside ASCII", expected=_ALPHABET)
        counts = counts.encode("ascii")
    characters = np.frombuffer(counts, dtype=np.uint8)
    if characters.size == 0:
        raise InputError("the RLE's `counts` is empty", expected=_ALPHABET)
    if characters.min() < _FIRST or characters.max() > _LAST:
        raise InputError("the RLE's `counts` holds characters that no encoder writes", expected=_ALPHABET)
    return characters.astype(np.int64) - _FIRST


_ALPHABET = "characters from `0` to `o`, as pycocotools writes them"


def _decompressed(characters: NDArray[np.int64], area: int) -> NDArray[np.int64]:
    last = np.flatnonzero(characters < _MORE)
    if last.size == 0 or last[-1] != characters.size - 1:
        raise InputError("the RLE's `counts` ends inside a number", expected="a whole encoding", hint=_CUT)
    _check_number(last.size, area)
    first = np.concatenate(([0], last[:-1] + 1))
    groups = last - first + 1
    if groups.max() > _MAX_GROUPS:
        raise InputError("the RLE's `counts` holds a number of more than 34 bits", expected="runs within the picture")
    index = np.arange(characters.size) - np.repeat(first, groups)
    parts = (characters & (_MORE - 1)) << (_GROUP_BITS * index)
    runs = np.asarray(np.add.reduceat(parts, first), dtype=np.int64)
    runs -= np.where(characters[last] & _SIGN, np.int64(1) << (_GROUP_BITS * groups), 0)
    runs[1::2] = np.cumsum(runs[1::2])
    runs[2::2] = np.cumsum(runs[2::2])
    return runs


def _is_shortest(characters: NDArray[np.int64]) -> bool:
    """Whether no number ends with a group that says nothing."""
    ends = characters[1:] < _MORE
    last, before = characters[1:][ends], characters[:-1][ends]
    return not np.any((before >= _MORE) & (last == np.where(before & _SIGN, _MORE - 1, 0)))


_CUT = "the text was cut; write it again"


def _listed(counts: list[Any] | tuple[Any, ...], area: int) -> NDArray[np.int64]:
    if not counts:
        raise InputError("the RLE's `counts` is an empty list", expected="run lengths that cover the picture")
    _check_number(len(counts), area)
    kinds = set(map(type, counts))
    if kinds != {int}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds - {int}))
        raise InputError(f"the RLE's `counts` holds {names}", expected="whole numbers from 0 up")
    try:
        return np.array(counts, dtype=np.int64)
    except OverflowError as error:
        raise InputError("the RLE's `counts` holds a number of more than 63 bits", expected=_COVER) from error


_COVER = "runs that cover the picture exactly"


def _check_number(number: int, area: int) -> None:
    """A run of length 0 is allowed between others, but not so many that they cost more than the picture."""
    if number > 2 * area + 1:
        raise InputError(f"the RLE has {number:,} runs for {area:,} pixels", expected=_COVER)


def _check_runs(runs: NDArray[np.int64], size: tuple[int, int]) -> None:
    area = size[0] * size[1]
    if int(runs.min()) < 0:
        raise InputError("the RLE holds a negative run", expected=_COVER, hint="the encoding is damaged")
    if int(runs.max()) > area or int(runs.sum()) != area:
        total = "more than" if int(runs.max()) > area else f"{int(runs.sum()):,} pixels, not"
        raise InputError(
            f"the RLE's runs cover {total} the {area:,} pixels of its size {size[0]} x {size[1]} (height x width)",
            expected=_COVER,
            hint="is `size` [height, width], not [width, height]? is the encoding whole?",
        )
