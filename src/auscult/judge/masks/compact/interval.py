"""The 90 % interval of an IoU: the histogram's own quantiles, stretched by what calibration measured.

The histogram gives a mean and its 5 % and 95 % quantiles. The true IoU's distance from the mean, in units of the
distance of the quantile on its side, is the score; calibration keeps its quantile, the ``reach``, for each group of
size and predicted defect (conformalised quantile regression in its normalised form, CQR-m). An interval is then the
quantiles stretched by the reach, so that it stays narrow where the network is sure and right.

Scores count less, and intervals grow, by ``1 + widening x novelty``.

Source: Romano, Patterson, Candes, "Conformalized Quantile Regression", NeurIPS 2019; Sesia, Candes, "A comparison of
some conformal quantile regression methods", Stat 2020, for the normalised form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.answer import mean_iou, quantiles

LEVEL: Final = 0.9
ALL: Final = "all"
"""The group of all masks, for those whose own group was too small in calibration."""
SIZES: Final[tuple[tuple[str, int], ...]] = (("small", 0), ("medium", 32 * 32), ("large", 96 * 96))
"""Size groups by the mask's area in pixels of the frame, with their least area; those of COCO."""

_LEAST: Final = 0.01  # of IoU: half a histogram's quantile distance is never taken for less

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """What histograms say by themselves, each (n,), 0..1.

    Attributes:
        mean: The estimated IoU.
        below: Distance from there to the 5 % quantile, above 0.
        above: Distance to the 95 % quantile, above 0.
    """

    mean: Floats
    below: Floats
    above: Floats


def spread_of(shares: Floats, ends: tuple[float, float], *, plain: Floats | None = None) -> Spread:
    """Mean and quantile distances of histograms, (n, 40).

    Args:
        shares: The histograms, softened by their temperature.
        ends: What their first and last bin stand for.
        plain: The histograms as the network gave them, for the mean: softened, no mean would come near 1.
    """
    tail = (1 - LEVEL) / 2
    mean = mean_iou(shares if plain is None else plain, ends)
    low, high = quantiles(shares, ends, tail), quantiles(shares, ends, 1 - tail)
    return Spread(mean=mean, below=np.maximum(mean - low, 0.0) + _LEAST, above=np.maximum(high - mean, 0.0) + _LEAST)


def scores_of(spread: Spread, ious: Floats, widths: Floats) -> Floats:
    """How far true IoUs lie from the means, in quantile distances times ``widths``, (n,), 0 and more."""
    off = ious - spread.mean
    return np.asarray(np.where(off < 0, -off / spread.below, off / spread.above) / widths, dtype=np.float64)


def widths_of(novelty: Floats, widening: float) -> Floats:
    """How much wider intervals are for their novelty, (n,), 1 and more."""
    return 1.0 + widening * novelty


def interval_of(spread: Spread, reach: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """Lower and upper ends, each (n,), 0..1.

    Args:
        spread: What the histograms say.
        reach: The reach of each mask's group, (n,), or one for all.
        widths: From ``widths_of``, (n,).
    """
    low = np.clip(spread.mean - reach * widths * spread.below, 0.0, 1.0)
    high = np.clip(spread.mean + reach * widths * spread.above, 0.0, 1.0)
    return np.asarray(low), np.asarray(high)


def size_of(area_px: float) -> str:
    """The size group of a mask with this area, in pixels of the frame."""
    return [name for name, least in SIZES if area_px >= least][-1]


def groups_of(area_px: float, defect: str) -> tuple[str, str, str]:
    """The groups of a mask, the narrowest first: size and predicted defect, predicted defect, all."""
    return f"{size_of(area_px)} {defect}", defect, ALL


def reach_of(reach: Mapping[str, float], area_px: float, defect: str) -> float:
    """The reach of the narrowest group that calibration could measure."""
    return next(reach[group] for group in groups_of(area_px, defect) if group in reach)
