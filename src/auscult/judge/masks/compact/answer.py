"""From the network's numbers to probabilities and an estimate of the IoU; arithmetic only.

The histogram of the IoU has 40 bins. Bin k stands for its centre (k + 0.5) / 40, but for the first and the last, whose
values are fitted in calibration: in training a true IoU is shared between the two nearest centres, and one beyond the
outermost centres goes to the outermost bin whole. So the last bin stands for all that is above 0.9875, 1 included, and
the estimate can reach 1.

The network gives the IoU of a mask on an object, and apart from that how likely it is on none. With few objects to
learn from it takes unknown things for background too readily; so that likelihood is calibrated by itself, for a share
of ``NOTHING`` of masks on no object, and then enters the estimate with IoU 0. Another real object is not told from the
right one here: identity is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.types import DEFECTS, Defect

KINDS: Final = (*DEFECTS[:5], "arbitrary")
"""What the network tells apart, in its order; ``arbitrary``, a mask on no object, counts as ``full_neg``."""
BINS: Final = 40
CENTRES: Final = (np.arange(BINS) + 0.5) / BINS

NOTHING: Final = 0.02
"""The share of masks on no object that probabilities are calibrated for."""

Floats = NDArray[np.float64]


def named(logits: ArrayLike, temperature: float, arbitrary: tuple[float, float]) -> Floats:
    """Probabilities of ``KINDS``, (n, 6) -> (n, 6), each row summing to 1.

    Args:
        logits: The network's ``types``.
        temperature: Divides those of the five kinds of masks on an object.
        arbitrary: Slope and offset of the sixth's log-odds against these.
    """
    scores = np.asarray(logits, dtype=np.float64)
    nothing = 1.0 / (1.0 + np.exp(-np.clip(arbitrary[0] * odds_of_nothing(scores) + arbitrary[1], -30.0, 30.0)))
    five = probabilities(scores[:, :-1], temperature)
    return np.hstack([five * (1.0 - nothing[:, None]), nothing[:, None]])


def odds_of_nothing(logits: Floats) -> Floats:
    """The network's own log-odds that a mask is on no object, (n, 6) -> (n,)."""
    highest = logits[:, :-1].max(axis=1)
    rest = highest + np.log(np.exp(logits[:, :-1] - highest[:, None]).sum(axis=1))
    return np.asarray(logits[:, -1] - rest, dtype=np.float64)


def lowered(shares: Floats, nothing: Floats) -> Floats:
    """Histograms of the IoU, (n, 40), with the share of masks on no object, (n,), moved to the first bin."""
    found = shares * (1.0 - nothing[:, None])
    found[:, 0] += nothing
    return found


def probabilities(logits: ArrayLike, temperature: float) -> Floats:
    """Softmax of logits over a temperature, (n, k) -> (n, k), each row summing to 1."""
    scores = np.asarray(logits, dtype=np.float64) / temperature
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float64)


def soft_labels(ious: ArrayLike) -> Floats:
    """How true IoUs are shared between the bins, (n,) -> (n, 40): what the network is trained on."""
    place = np.clip(np.asarray(ious, dtype=np.float64) * BINS - 0.5, 0.0, BINS - 1.0)
    lower = np.minimum(place.astype(np.intp), BINS - 2)
    upper_share = place - lower
    found = np.zeros((len(place), BINS))
    rows = np.arange(len(place))
    found[rows, lower] = 1 - upper_share
    found[rows, lower + 1] = upper_share
    return found


def bin_values(ends: tuple[float, float]) -> Floats:
    """What each bin stands for, (40,): its centre, but ``ends`` for the first and the last."""
    found = CENTRES.copy()
    found[0], found[-1] = ends
    return found


def mean_iou(shares: Floats, ends: tuple[float, float]) -> Floats:
    """Mean of histograms, (n, 40) -> (n,), 0..1."""
    return np.asarray(np.clip(shares @ bin_values(ends), 0.0, 1.0), dtype=np.float64)


def quantiles(shares: Floats, ends: tuple[float, float], level: float) -> Floats:
    """Quantile of histograms at ``level``, (n, 40) -> (n,), 0..1.

    Between the values of two bins the distribution rises as a straight line, half of each bin's share on either side.
    """
    values = bin_values(ends)
    below = np.cumsum(shares, axis=1) - shares / 2
    upper = np.clip((below < level).sum(axis=1), 1, BINS - 1)
    rows = np.arange(len(shares))
    left, right = below[rows, upper - 1], below[rows, upper]
    part = np.clip((level - left) / np.maximum(right - left, 1e-12), 0.0, 1.0)
    return np.asarray(values[upper - 1] + part * (values[upper] - values[upper - 1]), dtype=np.float64)


def by_defect(probs: NDArray[np.float64]) -> Mapping[str, float]:
    """The six defects' probabilities of one mask, (6,) in the order of ``KINDS``."""
    return {name: float(value) for name, value in zip(DEFECTS, probs, strict=True)}


def likeliest(probs: Mapping[str, float]) -> Defect:
    """The most probable defect."""
    return max(DEFECTS, key=lambda name: probs[name])
