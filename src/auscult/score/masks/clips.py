"""A pair of clips taken apart into pairs of masks: all objects as one, or each by itself.

Values: 0 none, 255 void, any other whole number an object; bool is one object of index 1. Pixels that the
truth calls void are taken out of both masks; void in the prediction is no object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.types import Mask

VOID = 255

Pairs: TypeAlias = Iterator[tuple[Mask, Mask]]
ObjectPairs: TypeAlias = tuple[int | None, tuple[int, ...], Pairs]
"""An object's index (None: the union), its frames, and its predicted and true mask in each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """Prediction and truth of one clip, both (T, H, W), bool or object indices."""

    prediction: NDArray[Any]
    truth: NDArray[Any]

    @classmethod
    def of(cls, prediction: NDArray[Any], truth: NDArray[Any]) -> Clip:
        """Check the values of two arrays of one shape; a single frame becomes a clip of one.

        Raises:
            InputError: Not bool or whole numbers, negative, or nothing but 0 and 255.
        """
        for name, array in (("prediction", prediction), ("truth", truth)):
            _check_values(name, array)
        if truth.ndim == 2:
            return cls(prediction[None], truth[None])
        return cls(prediction, truth)

    @property
    def length(self) -> int:
        """Number of frames."""
        return int(self.truth.shape[0])


def union_of_objects(clip: Clip, frames: Sequence[int]) -> tuple[ObjectPairs, ...]:
    """All objects as one mask, in the given frames."""
    return ((None, tuple(frames), (_union_pair(clip, frame) for frame in frames)),)


def each_object(clip: Clip, frames: Sequence[int], *, late: bool) -> tuple[tuple[ObjectPairs, ...], tuple[int, ...]]:
    """Each object of the truth by itself.

    Args:
        clip: Prediction and truth.
        frames: The frames that count.
        late: An object counts from the first of them that shows it, not from the first of all; and one that none of
            them shows in the truth does not exist.

    Returns:
        The objects by index, and the indices that only the prediction has in these frames.
    """
    in_truth = {frame: _objects(clip.truth[frame]) for frame in (frames if late else range(clip.length))}
    in_prediction = {frame: _objects(clip.prediction[frame]) for frame in frames}
    void = frozenset(frame for frame in frames if VOID in in_truth[frame])
    real = sorted(frozenset().union(*in_truth.values()) - {VOID})
    extra = sorted(frozenset().union(*in_prediction.values()) - {VOID, *real})
    objects = []
    for index in real:
        seen = [frame for frame in frames if index in in_truth[frame] or index in in_prediction[frame]]
        kept = tuple(frame for frame in frames if not late or frame >= seen[0])
        objects.append((index, kept, _object_pairs(clip, (index, kept), void)))
    return tuple(objects), tuple(extra)


def _object_pairs(clip: Clip, chosen: tuple[int, Iterable[int]], void: frozenset[int]) -> Pairs:
    index, frames = chosen
    for frame in frames:
        prediction, truth = clip.prediction[frame] == index, clip.truth[frame] == index
        if frame in void:
            prediction &= clip.truth[frame] != VOID
        yield prediction, truth


def _union_pair(clip: Clip, frame: int) -> tuple[Mask, Mask]:
    prediction, truth = _foreground(clip.prediction[frame]), _foreground(clip.truth[frame])
    if clip.truth.dtype != np.bool_:
        void = clip.truth[frame] == VOID
        if void.any():
            prediction = prediction & ~void
    return prediction, truth


def _foreground(frame: NDArray[Any]) -> Mask:
    if frame.dtype == np.bool_:
        return frame
    foreground: Mask = (frame > 0) & (frame != VOID)
    return foreground


def _objects(frame: NDArray[Any]) -> frozenset[int]:
    if frame.dtype == np.bool_:
        return frozenset({1} if frame.any() else ())
    # Counting 256 values is several times as fast as sorting the pixels.
    small = frame.dtype == np.uint8
    values = np.flatnonzero(np.bincount(frame.ravel(), minlength=256)) if small else np.unique(frame)
    return frozenset(values.tolist()) - {0}


def _check_values(name: str, array: NDArray[Any]) -> None:
    if array.dtype == np.bool_:
        return
    expected = "bool, or whole numbers: 0 none, 1.. objects, 255 void"
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{name} has dtype {array.dtype}", expected=expected, hint=f"threshold it first: `{name} > 0.5`"
        )
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise InputError(f"{name} holds the value {array.min()}", expected=expected)
    if (array == VOID).any() and not ((array > 0) & (array != VOID)).any():
        raise InputError(
            f"{name} holds no value but 0 and 255, and 255 is void",
            expected=expected,
            hint=f"a mask stored as 0 and 255? pass `{name} > 0`",
        )
