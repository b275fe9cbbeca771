"""Averages over groups: how the numbers of frames become one number of their video."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Group = TypeVar("Group", bound=Hashable)


def group_means(values: ArrayLike, groups: Sequence[Group]) -> tuple[tuple[Group, ...], NDArray[np.float64]]:
    """The groups in order of first appearance, and the mean of each group's values, float64 (MQA-RefAVS Eq. 12).

    Example:
        >>> group_means([0.5, 1.0, 0.2], ["a", "a", "b"])
        (('a', 'b'), array([0.75, 0.2 ]))
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (len(groups),):
        raise ValueError(f"{len(groups)} groups for values of shape {numbers.shape}; there must be one of each")
    order = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    member = np.array([order[group] for group in groups], dtype=np.intp)
    return tuple(order), np.bincount(member, weights=numbers) / np.bincount(member)
