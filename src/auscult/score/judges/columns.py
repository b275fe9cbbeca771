"""What a judge said of n candidate masks and what is true of them, as columns of equal length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from auscult.types import Doubles


@dataclass(frozen=True, kw_only=True, eq=False)
class _Columns:
    def where(self, keep: NDArray[Any]) -> Self:
        """Some of the masks, given by mark (bool) or by place."""
        columns: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        return type(self)(**{name: None if column is None else column[keep] for name, column in columns.items()})


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeColumns(_Columns):
    """What one judge says of n masks. A column that it never fills is None.

    Attributes:
        iou: Estimates, (n,); NaN where a reply held none.
        rank: What it ranks by, (n,): the probability of IoU >= .8 where it has one, else the estimate.
        low: Lower ends of the 90 % intervals; NaN where a reply held none.
        high: Upper ends.
        accepted: Which it accepts, bool.
        defect: Types, texts; None where a reply held none.
        action: Actions, texts; None where a reply held none.
        flagged: Which it says are out of distribution, bool.
        map_f1: F1 over the cells of its error map against the true errors; NaN where nothing is wrong.
        good: Probabilities that the IoU is at least .8.
        fair: The same for .5.
    """

    iou: Doubles
    rank: Doubles | None = None
    low: Doubles | None = None
    high: Doubles | None = None
    accepted: NDArray[np.bool_] | None = None
    defect: NDArray[Any] | None = None
    action: NDArray[Any] | None = None
    flagged: NDArray[np.bool_] | None = None
    map_f1: Doubles | None = None
    good: Doubles | None = None
    fair: Doubles | None = None


def joined_columns(parts: Sequence[JudgeColumns]) -> JudgeColumns:
    """What one judge says of several sets of masks, one set after the other; all parts fill the same columns."""
    filled = [one.name for one in fields(JudgeColumns) if getattr(parts[0], one.name) is not None]
    return JudgeColumns(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in filled})


@dataclass(frozen=True, kw_only=True, eq=False)
class TruthColumns(_Columns):
    """What is true of n masks.

    Attributes:
        iou: True IoU, (n,); NaN where it cannot be had.
        cluster: The clip or photograph, (n,): masks of one cluster are not independent.
        defect: True types, texts; None where not known.
        action: Right actions, texts; None where not known.
        track: The mask over the frames of a clip that each belongs to; None where there are no clips.
        share: Share of the frame that each mask covers, 0..1; None where not known.
    """

    iou: Doubles
    cluster: NDArray[Any]
    defect: NDArray[Any] | None = None
    action: NDArray[Any] | None = None
    track: NDArray[Any] | None = None
    share: Doubles | None = None

    def __len__(self) -> int:
        return len(self.iou)


def texts(values: Sequence[object]) -> NDArray[Any]:
    """A column of texts in which None means that there is none, (n,)."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def reals(values: Iterable[float | None]) -> Doubles:
    """A column of numbers in which None becomes NaN, (n,)."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
