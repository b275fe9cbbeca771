"""Errors of estimated numbers: how far estimated IoUs are from the true ones.

Conventions: one number per item; RMSE has the unit of its input, 0 or more, **lower is better**. Items that
failed or are undefined are left out by the caller and counted there.

Metrics:

- ``rmse``: over all items (Eqs. 8 and 10).
- ``rmse_video``: the frames of a video are averaged first, in prediction and truth, then RMSE over the videos
  (Eq. 12). Errors within a video cancel, so it is never above the item-wise one when all videos have as many
  frames.

References: MQA-RefAVS App. C, Eqs. 8, 10, 12.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.arrays.averages import group_means
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.inputs import numbers, same_length
from auscult.types import ScoreSpec


def rmse(predictions: ArrayLike, truths: ArrayLike) -> Scored[float] | Undefined:
    """Root mean square error of estimates.

    Args:
        predictions: Estimates, (n,), such as predicted IoUs in 0..1.
        truths: True values, (n,).

    Returns:
        0 or more, lower is better. Undefined when there is no item.

    Raises:
        InputError: Unequal lengths, or a number that is not finite.

    Example:
        >>> round(rmse([0.9, 0.5], [0.9, 0.9]).value, 6)
        0.282843

    Source: MQA-RefAVS Eqs. 8 and 10.
    """
    predicted, true = numbers(predictions=predictions, truths=truths)
    if predicted.size == 0:
        return Undefined("no items")
    return Scored(_rmse(predicted, true), Signature.of(metric="rmse", over="items"))


def rmse_video(predictions: ArrayLike, truths: ArrayLike, *, videos: Sequence[Hashable]) -> Scored[float] | Undefined:
    """Root mean square error of the videos' mean estimates; as ``rmse``, from frames, (n,), and the video of each.

    Source: MQA-RefAVS Eq. 12.
    """
    predicted, true = numbers(predictions=predictions, truths=truths)
    same_length(predictions=predicted, videos=videos)
    if predicted.size == 0:
        return Undefined("no items")
    means = [group_means(values, videos)[1] for values in (predicted, true)]
    return Scored(_rmse(means[0], means[1]), Signature.of(metric="rmse", over="videos"))


def _rmse(predicted: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    return math.sqrt(math.fsum((predicted - true) ** 2) / predicted.size)


RMSE = ScoreSpec.of(
    rmse,
    takes="numbers",
    higher_is_better=False,
    summary="root mean square error of estimates",
    goal="estimates of IoU that are far off",
    source="MQA-RefAVS Eqs. 8 and 10",
    modality="number",
    truth="the true values",
)
RMSE_VIDEO = ScoreSpec.of(
    rmse_video,
    takes="numbers",
    higher_is_better=False,
    summary="root mean square error of mean estimates of videos",
    goal="estimates of IoU that are far off for a whole video",
    source="MQA-RefAVS Eq. 12",
    modality="number",
    truth="the true values",
)
