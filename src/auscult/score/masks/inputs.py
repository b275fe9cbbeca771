"""What every mask score asks of its two arrays, and what it says when they are not that."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError


def check_pair(prediction: NDArray[Any], truth: NDArray[Any], *, ndim: tuple[int, ...]) -> None:
    """Refuse two arrays that cannot be compared."""
    for name, array in (("prediction", prediction), ("truth", truth)):
        _check_array(name, array, ndim)
    if prediction.shape != truth.shape:
        raise InputError(
            f"prediction has shape {prediction.shape} and truth has shape {truth.shape}",
            expected="two masks of one shape",
            hint="resize the prediction to the truth's size before scoring, and say how in your record"
            if prediction.ndim == truth.ndim
            else "pass both as one frame (H, W) or both as a clip (T, H, W)",
        )


def check_bool(prediction: NDArray[Any], truth: NDArray[Any]) -> None:
    """Refuse arrays that are not bool."""
    for name, array in (("prediction", prediction), ("truth", truth)):
        if array.dtype != np.bool_:
            raise InputError(
                f"{name} has dtype {array.dtype}",
                expected="bool",
                hint=f"pass `{name} > 0`" if array.dtype.kind in "iu" else f"threshold it first: `{name} > 0.5`",
            )


def _check_array(name: str, array: NDArray[Any], ndim: tuple[int, ...]) -> None:
    wanted = " or ".join({2: "(H, W)", 3: "(T, H, W)"}[axes] for axes in ndim)
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name} is {type(array).__name__}", expected=f"a numpy array {wanted}", hint="use np.asarray")
    if array.ndim not in ndim:
        raise InputError(
            f"{name} has shape {array.shape}", expected=wanted, hint="a mask has no colour axis; take one channel"
        )
    if 0 in array.shape[-2:]:
        raise InputError(f"{name} has shape {array.shape}, so no pixels", expected=wanted)
