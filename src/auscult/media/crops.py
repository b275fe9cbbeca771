"""Masks of a box of their frame, as LabelMe (a PNG) and CVAT (runs, row by row) write them into text files.

A crop is ``{"box": [left, top, width, height], "png": base64}`` or ``{"box": ..., "runs": [...]}``, whose runs
alternate and start with 0. The box must lie on the frame.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from auscult.errors import InputError
from auscult.media.limits import Limits, check_pixels
from auscult.media.pictures import opened, pixels
from auscult.types import Mask

_EXPECTED = "a box [left, top, width, height] on the frame, with a PNG or runs that fill it"


def cropped(segmentation: Mapping[str, Any], *, size: tuple[int, int], limits: Limits) -> Mask:
    """Draw a crop on a frame of ``size`` (height, width): bool (height, width)."""
    check_pixels(size, limits=limits)
    left, top, width, height = _box(segmentation.get("box"), size)
    whole = np.zeros(size, dtype=np.bool_)
    png = segmentation.get("png")
    drawn = _of_png(png, limits) if isinstance(png, str) else _of_runs(segmentation.get("runs"), (height, width))
    if drawn.shape != (height, width):
        raise InputError(
            f"the mask in the box is {drawn.shape[0]} x {drawn.shape[1]}, its box {height} x {width} (height x width)",
            expected=_EXPECTED,
        )
    whole[top : top + height, left : left + width] = drawn
    return whole


def _box(value: object, size: tuple[int, int]) -> tuple[int, int, int, int]:
    if not isinstance(value, list | tuple) or len(value) != 4 or not all(type(side) is int for side in value):
        raise InputError("the box is not four whole numbers", expected=_EXPECTED)
    left, top, width, height = value
    if min(left, top) < 0 or min(width, height) < 1 or left + width > size[1] or top + height > size[0]:
        raise InputError(f"the box {str(list(value))[:60]} does not lie on the frame", expected=_EXPECTED)
    return left, top, width, height


def _of_png(text: str, limits: Limits) -> Mask:
    path = Path("the PNG in the file")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError("the mask is no base64", expected=_EXPECTED) from error
    with opened(data, path=path, limits=limits) as picture:
        array = pixels(picture)
    return np.ascontiguousarray((array if array.ndim == 2 else array.any(axis=2)) > 0)


def _of_runs(value: object, size: tuple[int, int]) -> Mask:
    area = size[0] * size[1]
    runs = value if isinstance(value, list | tuple) else ()
    good = 0 < len(runs) <= area + 1 and all(type(run) is int and 0 <= run <= area for run in runs)
    if not good or sum(runs) != area:
        raise InputError("the runs do not fill the box", expected=_EXPECTED)
    bits = (np.arange(len(runs)) & 1).astype(np.bool_)
    return np.repeat(bits, np.array(runs, dtype=np.int64)).reshape(size)
