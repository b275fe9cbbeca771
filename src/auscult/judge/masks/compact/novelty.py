"""How unlike the calibration data a mask is: the distance of the network's features from theirs, 0 to 1.

Half of the calibration masks have novelty 0, one in twenty 0.5 or more. The distance is Mahalanobis's, under a
covariance that is shrunk towards its diagonal, measured from photographs the covariance has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEATURES: Final = 64
QUANTILES: Final = (0.5, 0.95)

_SHRINK: Final = 0.1
_LEAST_VARIANCE: Final = 1e-3  # of the mean variance, so that a feature that never moves decides nothing alone

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What the network's features are like on calibration data.

    Attributes:
        centre: Their mean, (64,).
        precision: Inverse of their shrunk covariance, (64, 64).
        distances: Distances that mean novelty 0, 0.5 and 1, ascending.
    """

    centre: Floats
    precision: Floats
    distances: tuple[float, float, float]


def distances_from(features: ArrayLike, centre: Floats, precision: Floats) -> Floats:
    """Mahalanobis distances, (n, k) -> (n,)."""
    off = np.asarray(features, dtype=np.float64) - centre
    squared = np.einsum("ij,jk,ik->i", off, precision, off, optimize=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)), dtype=np.float64)


def novelty_of(features: ArrayLike, known: Known) -> Floats:
    """Novelty of features, (n, k) -> (n,), 0 (like most of the calibration data) to 1."""
    distance = distances_from(features, known.centre, known.precision)
    return np.asarray(np.interp(distance, known.distances, (0.0, 0.5, 1.0)), dtype=np.float64)


def described(features: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Mean and shrunk precision of features, (n, k), under weights, (n,)."""
    shares = weights / weights.sum()
    centre = shares @ features
    off = features - centre
    covariance = (off * shares[:, None]).T @ off
    variance = np.diag(covariance)
    least = max(_LEAST_VARIANCE * float(variance.mean()), 1e-9)
    shrunk = (1 - _SHRINK) * covariance + np.diag(_SHRINK * variance + least)
    return np.asarray(centre), np.asarray(np.linalg.inv(shrunk), dtype=np.float64)


def scale_of(distances: Floats, weights: Floats) -> tuple[float, float, float]:
    """The distances that mean novelty 0, 0.5 and 1, from those of calibration masks, (n,), under weights, (n,)."""
    order = np.argsort(distances, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    near, middle = (
        float(distances[order][min(int(np.searchsorted(reached, level)), len(order) - 1)]) for level in QUANTILES
    )
    middle = max(middle, near + 1e-3 * max(near, 1.0))  # ascending, in the file's six digits too
    return near, middle, 2 * middle - near
