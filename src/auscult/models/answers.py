"""What counts as an answer: masks of the asked shape, or probabilities that are cut at one half."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.models.base import ClassMaps, Masks

THRESHOLD: Final = 0.5
_EXPECTED: Final = "an array bool (T, H, W), or probabilities in [0, 1]"


def masks_of(given: object, *, shape: tuple[int, int, int]) -> tuple[Masks, float | None]:
    """What a model gave as masks of ``shape`` (T, H, W), a new array, and what it was cut at: .5, or None for masks.

    It may be bool, whole numbers 0 and 1, or floating point in [0, 1], where .5 itself is in the mask as in files; T
    may be left out for a single frame.
    """
    array = _shaped(given, shape)
    if array.dtype == np.bool_:
        return array.copy(), None
    if np.issubdtype(array.dtype, np.integer):
        return _of_whole(array), None
    return _of_soft(array), THRESHOLD


def class_maps_of(given: object, *, shape: tuple[int, int, int], classes: int) -> ClassMaps:
    """What a model gave as classes of ``shape`` (T, H, W): whole numbers from 0, the background, to ``classes`` - 1.

    A bool array without a True says that all is background. T may be left out for a single frame.
    """
    array = _shaped(given, shape)
    if array.dtype.kind not in "iu" and not (array.dtype == np.bool_ and not array.any()):
        raise InputError(
            f"the model gave {array.dtype} where the class of each pixel is asked for",
            expected=f"whole numbers (T, H, W) from 0, the background, to {classes - 1}",
            hint="of scores of each class, take numpy.argmax over the classes",
        )
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < classes:
        raise InputError(
            f"the model gave classes from {array.min()} to {array.max()}",
            expected=f"whole numbers from 0, the background, to {classes - 1}",
        )
    return array.astype(np.uint8)


def _shaped(given: object, shape: tuple[int, int, int]) -> NDArray[Any]:
    array = _array(given)
    if array.ndim == 2 and shape[0] == 1:
        array = array[None]
    if array.shape != shape:
        raise InputError(
            f"the model gave an array of shape {array.shape}",
            expected=f"{shape}: frames, height, width of the clip",
            hint="masks are never resized here; resize them to the frames in the model",
        )
    return array


def _array(given: object) -> NDArray[Any]:
    given = _unmasked(_from_tensor(given))
    if isinstance(given, list | tuple) and given:
        frames = [_unmasked(_from_tensor(one)) for one in given]
        if all(isinstance(one, np.ndarray) for one in frames):
            given = _stacked(frames)
    if not isinstance(given, np.ndarray):
        raise InputError(
            f"the model gave {type(given).__name__}", expected=_EXPECTED, hint="return a NumPy array or a torch tensor"
        )
    if given.dtype.kind not in "biuf":
        raise InputError(
            f"the model gave an array of {given.dtype}", expected=_EXPECTED, hint="return a NumPy array of numbers"
        )
    return np.asarray(given)


def _from_tensor(given: object) -> object:
    """A torch tensor, or what acts like one, says itself how it becomes an array; anything else is left as it is."""
    kept = getattr(given, "detach", None)
    if not callable(kept):
        return given
    try:
        return kept().cpu().numpy()
    except (TypeError, AttributeError, RuntimeError) as error:  # bfloat16, a sparse tensor
        raise InputError(
            f"the model gave {type(given).__name__}, which does not become an array: {error}",
            expected=_EXPECTED,
            hint="end the model with `.float().cpu().numpy()`",
        ) from error


def _unmasked(given: object) -> object:
    """An array without NumPy's mask of what is not valid; a mask that hides nothing is dropped."""
    if not isinstance(given, np.ma.MaskedArray):
        return given
    if np.ma.getmaskarray(given).any():
        raise InputError(
            "the model gave a masked array that hides some of its values",
            expected=_EXPECTED,
            hint="say what they are: `.filled(False)` where nothing is segmented there",
        )
    return np.asarray(given)


def _stacked(frames: list[Any]) -> NDArray[Any]:
    shapes = {one.shape for one in frames}
    if len(shapes) > 1:
        raise InputError(
            f"the model gave masks of different shapes: {sorted(shapes)[:4]}",
            expected=_EXPECTED,
            hint="masks are never resized here; resize them to the frames in the model",
        )
    return np.stack(frames)


def _of_whole(array: NDArray[Any]) -> Masks:
    if array.size and (int(array.min()) < 0 or int(array.max()) > 1):
        raise InputError(
            f"the model gave whole numbers from {array.min()} to {array.max()}",
            expected="0 and 1",
            hint="one object is asked for at a time: compare with its index, or with 0",
        )
    return np.asarray(array != 0)


def _of_soft(array: NDArray[Any]) -> Masks:
    if not np.isfinite(array).all():
        raise InputError(
            "the model gave NaN or infinity",
            expected="probabilities in [0, 1]",
            hint="look at what the model computes there; numpy.nan_to_num would only hide it",
        )
    low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
    if low < 0.0 or high > 1.0:
        raise InputError(
            f"the model gave numbers from {low:g} to {high:g}",
            expected="probabilities in [0, 1]",
            hint="pass scores through a sigmoid, or compare them with 0",
        )
    return np.asarray(array >= THRESHOLD)
