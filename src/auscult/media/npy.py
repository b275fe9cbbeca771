"""NPY files without pickles: the header is read and bounded before an array is made of the bytes."""

from __future__ import annotations

import io
import math
import tokenize
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.limits import Limits, check_pixels

_MAX_HEADER_CHARACTERS = 2_000
_EXPECTED = "an array (height, width) or (1, height, width) of bool, whole numbers or floats in 0..1"
_HEADER_ERRORS = (
    ValueError,
    TypeError,
    SyntaxError,
    LookupError,
    EOFError,
    OverflowError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)


def npy_array(data: bytes, *, path: Path, limits: Limits) -> NDArray[Any]:
    """Read a mask's array.

    Args:
        data: The bytes of the file.
        path: Its name, for messages.
        limits: ``max_pixels`` bounds height times width.

    Returns:
        (H, W) of bool, integer or finite float.

    Raises:
        InputError: Not NPY, pickled objects, another shape or type, fewer bytes than the header promises, NaN or
            infinity.
        TooLarge: Over the limit.
    """
    shape, fortran, dtype, start = _header(data, path)
    if dtype.hasobject:
        raise InputError(
            "the NPY file holds pickled objects, which are never loaded",
            expected=_EXPECTED,
            hint="save the mask as an array of numbers: numpy.save(path, mask.astype(bool))",
            path=path,
        )
    if dtype.kind not in "biuf":
        raise InputError(f"the NPY array is of type {dtype}", expected=_EXPECTED, path=path)
    size = shape[1:] if len(shape) == 3 and shape[0] == 1 else shape
    if len(size) != 2 or min(size) < 1:
        hint = "a stack of masks? give each its own file" if len(shape) == 3 else ""
        raise InputError(f"the NPY array has shape {_shown(shape)}", expected=_EXPECTED, hint=hint, path=path)
    check_pixels((size[0], size[1]), limits=limits, path=path)
    needed = math.prod(size) * dtype.itemsize
    if len(data) - start < needed:
        raise InputError(
            f"the NPY file is truncated: it holds {len(data) - start:,} of {needed:,} bytes",
            expected="a whole file",
            hint="copy it again",
            path=path,
        )
    array = np.frombuffer(data, dtype=np.uint8 if dtype.kind == "b" else dtype, count=math.prod(size), offset=start)
    array = array.reshape(size, order="F" if fortran else "C")
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(
            "the NPY array holds NaN or infinity",
            expected=_EXPECTED,
            hint="look at what the model gave; numpy.nan_to_num would only hide it",
            path=path,
        )
    return array != 0 if dtype.kind == "b" else array


def _header(data: bytes, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    file = io.BytesIO(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of headers that Python 2 wrote
        try:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, _MAX_HEADER_CHARACTERS)
            elif version == (2, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_2_0(file, _MAX_HEADER_CHARACTERS)
            else:
                raise ValueError(f"format version {version}")
        except _HEADER_ERRORS as error:
            raise InputError(
                f"the file is no NPY array, or its header is damaged ({type(error).__name__})",
                expected=_EXPECTED,
                hint="save it with numpy.save(path, array)",
                path=path,
            ) from error
    return shape, fortran, dtype, file.tell()


def _shown(shape: tuple[int, ...]) -> str:
    text = str(shape)
    return text if len(text) <= 60 else text[:57] + "..."
