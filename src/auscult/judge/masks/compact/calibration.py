"""What was measured on the calibration split, and its file: ``calibration.json``, beside the weights it belongs to.

The histogram gives a mean and its 5 % and 95 % quantiles. The true IoU's distance from the mean, in units of the
distance of the quantile on its side, is the score; calibration keeps its quantile, the ``reach``, for each group of
size and predicted defect (conformalised quantile regression in its normalised form, CQR-m). An interval is then the
quantiles stretched by the reach, so that it stays narrow where the network is sure and right.

Scores count less, and intervals grow, by ``1 + widening x novelty``.

Source: Romano, Patterson, Candes, "Conformalized Quantile Regression", NeurIPS 2019; Sesia, Candes, "A comparison of
some conformal quantile regression methods", Stat 2020, for the normalised form.

Half of the calibration masks have novelty 0, one in twenty 0.5 or more. The distance is Mahalanobis's, under a
covariance that is shrunk towards its diagonal, measured from photographs the covariance has not seen.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from auscult.errors import UsageError
from auscult.judge.masks.compact.network import mean_iou, quantiles
from auscult.types import DEFECTS, Doubles

LEVEL: Final = 0.9
ALL: Final = "all"
"""The group of all masks, for those whose own group was too small in calibration."""
SIZES: Final[tuple[tuple[str, int], ...]] = (("small", 0), ("medium", 32 * 32), ("large", 96 * 96))
"""Size groups by the mask's area in pixels of the frame, with their least area; those of COCO."""

_LEAST: Final = 0.01  # of IoU: half a histogram's quantile distance is never taken for less


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """What histograms say by themselves, each (n,), 0..1.

    Attributes:
        mean: The estimated IoU.
        below: Distance from there to the 5 % quantile, above 0.
        above: Distance to the 95 % quantile, above 0.
    """

    mean: Doubles
    below: Doubles
    above: Doubles


def spread_of(shares: Doubles, ends: tuple[float, float], *, plain: Doubles | None = None) -> Spread:
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


def scores_of(spread: Spread, ious: Doubles, widths: Doubles) -> Doubles:
    """How far true IoUs lie from the means, in quantile distances times ``widths``, (n,), 0 and more."""
    off = ious - spread.mean
    return np.asarray(np.where(off < 0, -off / spread.below, off / spread.above) / widths, dtype=np.float64)


def widths_of(novelty: Doubles, widening: float) -> Doubles:
    """How much wider intervals are for their novelty, (n,), 1 and more."""
    return 1.0 + widening * novelty


def interval_of(spread: Spread, reach: Doubles, widths: Doubles) -> tuple[Doubles, Doubles]:
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


FEATURES: Final = 64
QUANTILES: Final = (0.5, 0.95)

_SHRINK: Final = 0.1
_LEAST_VARIANCE: Final = 1e-3  # of the mean variance, so that a feature that never moves decides nothing alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownFeatures:
    """What the network's features are like on calibration data.

    Attributes:
        centre: Their mean, (64,).
        precision: Inverse of their shrunk covariance, (64, 64).
        distances: Distances that mean novelty 0, 0.5 and 1, ascending.
    """

    centre: Doubles
    precision: Doubles
    distances: tuple[float, float, float]


def distances_from(features: ArrayLike, centre: Doubles, precision: Doubles) -> Doubles:
    """Mahalanobis distances, (n, k) -> (n,)."""
    off = np.asarray(features, dtype=np.float64) - centre
    squared = np.einsum("ij,jk,ik->i", off, precision, off, optimize=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)), dtype=np.float64)


def novelty_of(features: ArrayLike, known: KnownFeatures) -> Doubles:
    """Novelty of features, (n, k) -> (n,), 0 (like most of the calibration data) to 1."""
    distance = distances_from(features, known.centre, known.precision)
    return np.asarray(np.interp(distance, known.distances, (0.0, 0.5, 1.0)), dtype=np.float64)


def described(features: Doubles, weights: Doubles) -> tuple[Doubles, Doubles]:
    """Mean and shrunk precision of features, (n, k), under weights, (n,)."""
    shares = weights / weights.sum()
    centre = shares @ features
    off = features - centre
    covariance = (off * shares[:, None]).T @ off
    variance = np.diag(covariance)
    least = max(_LEAST_VARIANCE * float(variance.mean()), 1e-9)
    shrunk = (1 - _SHRINK) * covariance + np.diag(_SHRINK * variance + least)
    return np.asarray(centre), np.asarray(np.linalg.inv(shrunk), dtype=np.float64)


def scale_of(distances: Doubles, weights: Doubles) -> tuple[float, float, float]:
    """The distances that mean novelty 0, 0.5 and 1, from those of calibration masks, (n,), under weights, (n,)."""
    order = np.argsort(distances, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    near, middle = (
        float(distances[order][min(int(np.searchsorted(reached, level)), len(order) - 1)]) for level in QUANTILES
    )
    middle = max(middle, near + 1e-3 * max(near, 1.0))  # ascending, in the file's six digits too
    return near, middle, 2 * middle - near


FILE: Final = Path(__file__).with_name("calibration.json")
SCHEMA: Final = 1
MOST_BYTES: Final = 200_000
GROUPS: Final = frozenset({ALL, *DEFECTS, *(f"{size} {defect}" for size, _ in SIZES for defect in DEFECTS)})

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_EXPECTED: Final = "the calibration.json that comes with auscult, beside its weights.onnx"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """What turns the network's numbers into a verdict's.

    Attributes:
        weights: SHA-256 of the network's file, in hex; for other weights the numbers mean nothing.
        temperature: Divides the logits of the five kinds of masks on an object, above 0.
        arbitrary: Slope, 0 and more, and offset of the log-odds of a mask on no object.
        iou_temperature: Divides the logits of the histogram, above 0.
        ends: What the histogram's first and last bin stand for, 0..1.
        reach: Quantile of the scores by group (see ``interval``), 0 and more; has ``all``.
        counts: Photographs (or clips) and masks that each reach rests on.
        widening: How much wider an interval is at novelty 1, as a share, 0 and more.
        prior: Mean, 5 % and 95 % quantile of the calibration masks' IoU, for masks that cannot be looked at.
        known: The features of the calibration masks.
    """

    weights: str
    temperature: float
    arbitrary: tuple[float, float]
    iou_temperature: float
    ends: tuple[float, float]
    reach: Mapping[str, float]
    counts: Mapping[str, tuple[int, int]]
    widening: float
    prior: tuple[float, float, float]
    known: KnownFeatures


@cache
def load_calibration(path: Path = FILE) -> Calibration:
    """Read a calibration; the same file is read once.

    Raises:
        UsageError: It is missing, too large, or no calibration.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"more than {MOST_BYTES} bytes", expected=_EXPECTED, path=path)
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"the calibration cannot be read: {error}", expected=_EXPECTED, path=path) from error


def from_json(value: Any) -> Calibration:
    """A calibration out of JSON values.

    Raises:
        ValueError: Another schema, or a number out of its range.
        KeyError: A part is missing.
        TypeError: A part is of another type.
    """
    if value["schema"] != SCHEMA:
        raise ValueError(f"its schema is {value['schema']!r}, not {SCHEMA}")
    if _DIGEST.fullmatch(value["weights"]) is None:
        raise ValueError("`weights` is no SHA-256")
    groups = value["groups"]
    if ALL not in groups or not set(groups) <= GROUPS:
        raise ValueError(f"its groups are {', '.join(groups)[:200]}")
    first, last = _numbers(value["ends"], 2, (0.0, 1.0))
    slope, offset = _numbers(value["arbitrary"], 2, (-1e3, 1e3))
    mean, low, high = _numbers(value["prior"], 3, (0.0, 1.0))
    if not low <= mean <= high:
        raise ValueError("`prior` is not mean, low, high")
    return Calibration(
        weights=value["weights"],
        temperature=_number(value["temperature"], (1e-3, 1e3)),
        arbitrary=(max(slope, 0.0), offset),
        iou_temperature=_number(value["iou_temperature"], (1e-3, 1e3)),
        ends=(first, last),
        reach={name: _number(group["reach"], (0.0, 1e6)) for name, group in groups.items()},
        counts={name: (_count(group["clusters"]), _count(group["masks"])) for name, group in groups.items()},
        widening=_number(value["widening"], (0.0, 1e3)),
        prior=(mean, low, high),
        known=_known(value["novelty"]),
    )


def _known(value: Mapping[str, Any]) -> KnownFeatures:
    near, middle, far = _numbers(value["distances"], 3, (0.0, math.inf))
    if not near < middle < far:
        raise ValueError("`distances` do not ascend")
    if len(value["precision"]) != FEATURES:
        raise ValueError(f"`precision` has {len(value['precision'])} rows, not {FEATURES}")
    lower = np.zeros((FEATURES, FEATURES))
    for at, row in enumerate(value["precision"]):
        lower[at, : at + 1] = _written(row, at + 1)
    precision = lower + np.tril(lower, -1).T
    if np.linalg.eigvalsh(precision)[0] <= 0:
        raise ValueError("`precision` is not positive definite")
    return KnownFeatures(
        centre=np.array(_written(value["centre"], FEATURES)), precision=precision, distances=(near, middle, far)
    )


def _written(text: str, count: int) -> list[float]:
    return _numbers([float(word) for word in text.split()], count, (-math.inf, math.inf))


def _numbers(values: Any, count: int, limits: tuple[float, float]) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"{count} numbers are expected, not {str(values)[:80]}")
    return [_number(value, limits) for value in values]


def _number(value: Any, limits: tuple[float, float]) -> float:
    if type(value) not in {int, float} or not math.isfinite(value) or not limits[0] <= value <= limits[1]:
        raise ValueError(f"{str(value)[:80]!r} is no number from {limits[0]:g} to {limits[1]:g}")
    return float(value)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{str(value)[:80]!r} is no count")
    return value
