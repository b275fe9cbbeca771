"""From cues to numbers: the coefficients in ``coefficients.json`` and the arithmetic that uses them.

Each cue is standardised, clipped to three standard deviations, and bent at three knots (a hinge basis), so that its
effect is a broken line a person can plot. A multinomial logistic regression over that basis gives the probabilities
of the six defects, with ``full_neg`` in two halves: another object, and ``arbitrary``, a mask on no object. One ridge
regression per defect gives the IoU that a mask with that defect would have; the estimate is their mean under the
probabilities. Identity is not checked, so the IoU is that of a mask on the right object: another object keeps its
probability but does not enter the mixture. ``arbitrary`` can be seen, and enters with IoU 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.judge.masks.shared import FULL_SHARE, LEAST_PX, MEASURED_PX, Sight, softmax, symmetric
from auscult.record import codec
from auscult.types import DEFECTS, Defect, Doubles


@dataclass(frozen=True, slots=True)
class Cue:
    """One number a person can check by eye: what coefficients call it, its meaning, and what it is clipped to."""

    name: str
    meaning: str
    low: float
    high: float


CUES: Final[tuple[Cue, ...]] = (
    # the mask alone
    Cue("hole_count", "log(1 + holes)", 0, 6),
    Cue("hole_share", "root of the holes' area over the mask's", 0, 2),
    Cue("hole_largest", "the same of the largest hole", 0, 2),
    Cue("hole_regularity", "how much the largest hole is an upright rectangle or ellipse", 0, 1),
    Cue("part_count", "log of the number of separate parts", 0, 6),
    Cue("parts_share", "root of the area outside the largest part", 0, 1),
    Cue("part_second", "root of the second part's share of the area", 0, 1),
    Cue("part_colour_gap", "log(1 + Lab distance of the two largest parts)", 0, 6),
    Cue("neck_thin", "root of the second piece's share after peeling 0.35 thicknesses", 0, 1),
    Cue("neck_thick", "the same after peeling 0.7 thicknesses", 0, 1),
    Cue("notch_largest", "root of the largest notch of the outline over the area", 0, 1),
    Cue("notch_regularity", "how much that notch is an upright rectangle or ellipse", 0, 1),
    Cue("roughness", "log of the outline's length over its smoothed length", -0.5, 2),
    Cue("compactness", "log of length squared over 4 pi area; 0 is a disc", -0.5, 6),
    Cue("solidity", "area over that of the convex hull", 0, 1),
    Cue("solidity_largest", "the same of the largest part", 0, 1),
    Cue("box_fill", "area over that of the box", 0, 1),
    Cue("wiggle", "log(1 + mean distance of the outline from its smoothed self)", 0, 3),
    Cue("turning_skew", "skew of the curvature: outward corners sharp (+) or inward ones (-)", -3, 3),
    Cue("straight_share", "share of the outline in long upright or level runs off the frame", 0, 1),
    Cue("spikes_fine", "root of the area that opening by 0.1 thicknesses removes", 0, 1),
    Cue("spikes_mid", "the same, 0.2 thicknesses", 0, 1),
    Cue("spikes_coarse", "the same, 0.4 thicknesses", 0, 1),
    Cue("dents_fine", "root of the area that closing by 0.1 thicknesses adds", 0, 1.5),
    Cue("dents_mid", "the same, 0.2 thicknesses", 0, 1.5),
    Cue("dents_coarse", "the same, 0.4 thicknesses", 0, 1.5),
    Cue("log_area", "log of the area in pixels", 0, 20),
    Cue("frame_share", "root of the area over the frame's", 0, 1),
    Cue("thinness", "log of area over squared thickness; thin things are high", 0, 10),
    # the picture across the outline
    Cue("frame_contact", "share of the outline on the frame's border", 0, 1),
    Cue("edge_far_inside", "log edge strength 0.8-0.35 thicknesses inside, to the ribbon's mean", -3, 3),
    Cue("edge_inside", "the same 0.35-0.18 inside", -3, 3),
    Cue("edge_just_inside", "the same 0.18-0.07 inside", -3, 3),
    Cue("edge_on", "the same on the outline", -3, 3),
    Cue("edge_just_outside", "the same 0.07-0.18 outside", -3, 3),
    Cue("edge_outside", "the same 0.18-0.35 outside", -3, 3),
    Cue("edge_far_outside", "the same 0.35-0.8 outside", -3, 3),
    Cue("peak_offset", "median offset of the strongest edge, outside positive, in thicknesses", -0.5, 0.5),
    Cue("mean_peak_offset", "mean of it, weighted by strength", -0.5, 0.5),
    Cue("peak_spread", "its weighted standard deviation", 0, 0.5),
    Cue("peak_on_share", "share of the outline whose strongest edge lies on it", 0, 1),
    Cue("peak_outside_share", "share whose strongest edge lies outside", 0, 1),
    Cue("peak_inside_share", "share whose strongest edge lies inside", 0, 1),
    Cue("run_outside", "longest stretch of outline with the edge outside, share of its length", 0, 1),
    Cue("run_inside", "longest stretch with the edge inside", 0, 1),
    Cue("unsupported_share", "share of the outline with no edge of note on it", 0, 1),
    Cue("edge_strength", "log(1 + mean edge strength of the ribbon in Lab units)", 0, 5),
    Cue("contrast", "log(1 + mean Lab distance across the outline)", 0, 6),
    Cue("contrast_weak_share", "share of the outline with less than 6 Lab units across it", 0, 1),
    Cue("hole_edge_support", "log edge strength on holes' outlines to that on the outer one", -4, 4),
    # colour
    Cue("colour_deep_inside", "log ratio inside to outside colour, 0.6-0.35 thicknesses inside", -3, 3),
    Cue("colour_inside", "the same 0.35-0.18 inside", -3, 3),
    Cue("colour_just_inside", "the same 0.18-0 inside", -3, 3),
    Cue("colour_just_outside", "the same 0-0.18 outside", -3, 3),
    Cue("colour_outside", "the same 0.18-0.35 outside", -3, 3),
    Cue("colour_far_outside", "the same 0.35-0.7 outside", -3, 3),
    Cue("colour_step", "its fall across the outline", -6, 6),
    Cue("colour_likeness", "overlap of the two colour histograms", 0, 1.01),
    Cue("inside_spread", "log(1 + Lab standard deviation of the core)", 0, 5),
    Cue("outside_spread", "the same of the ring around", 0, 5),
    Cue("missing_largest", "root of the largest region outside that looks like the inside, over the area", 0, 3),
    Cue("missing_share", "root of all pixels just outside that look like the inside, over the area", 0, 3),
    Cue("foreign_largest", "root of the largest region inside that looks like the outside, over the area", 0, 1),
    Cue("foreign_share", "share of the mask that looks like the outside", 0, 1),
    # the frame's other masks
    Cue("swallowed", "root of the mask's share that is another object, covered whole", 0, 1),
    Cue("overlap", "root of the mask's largest share that lies on another object", 0, 1),
    Cue("touching", "largest share of the rim that lies on another object", 0, 1),
)
"""The cues, in the order of every cue vector."""


_LEAST_THICKNESS_PX = 1.25  # area over outline length: a line about two and a half pixels wide
_DISC_THINNESS = 2.6
_LONG_OUTLINE = 1.2
_LEAST_CONTRAST = 1.5  # Lab units: a step this small between two patches is at the limit of what people see
_LEAST_EDGE = 0.35  # Lab units per step of the ribbon
_AT = {cue.name: at for at, cue in enumerate(CUES)}


def sight_of(vector: NDArray[np.float64]) -> Sight:
    """How much of a mask can be judged by its picture, from its cues, float64 (n,)."""
    area_px = float(np.exp(vector[_AT["log_area"]]))
    if float(vector[_AT["frame_share"]]) ** 2 > FULL_SHARE or float(vector[_AT["frame_contact"]]) >= 1.0:
        return "full"
    if area_px < LEAST_PX - 0.5 or _is_hairline(vector, area_px):
        return "tiny"
    contrast, edge = np.expm1(vector[_AT["contrast"]]), np.expm1(vector[_AT["edge_strength"]])
    if contrast < _LEAST_CONTRAST and edge < _LEAST_EDGE:
        return "flat"
    return "small" if area_px < MEASURED_PX - 0.5 else "clear"


def _is_hairline(vector: NDArray[np.float64], area_px: float) -> bool:
    """Whether the mask is so thin that smoothing takes it, or nearly."""
    thinness = float(vector[_AT["thinness"]])
    # with nothing left after smoothing the thinness is a disc's, which a long outline contradicts
    if thinness < _DISC_THINNESS and float(vector[_AT["compactness"]]) > _LONG_OUTLINE:
        return True
    return float(np.sqrt(area_px / np.exp(thinness))) < _LEAST_THICKNESS_PX


FILE: Final = Path(__file__).with_name("coefficients.json")
SCHEMA: Final = 2
JUDGED: Final[tuple[Defect, ...]] = ("perfect", "cutout", "dilate", "erode", "merge")
"""The defects that shape and boundary can show; the IoU is a mixture over these."""
ARBITRARY: Final = "arbitrary"
CLASSES: Final[tuple[str, ...]] = (*DEFECTS, ARBITRARY)
"""What the classifier tells apart; at the end ``arbitrary`` is added to ``full_neg``."""

_CLIP = 3.0
_LEAST_SPREAD = 0.02
_MOST_BYTES = 2_000_000
_NEVER_ACCEPTED = 0.94  # under every shipped policy's least IoU for accepting


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coefficients:
    """What the recipe fitted."""

    mean: Doubles  # each cue's mean, (n,)
    spread: Doubles  # its standard deviation, (n,), above 0
    knots: Doubles  # where its line bends, in standard deviations, (k, n)
    defects: Doubles  # logistic weights of ``CLASSES``, (7, 1 + n + k n), bias first
    iou: Doubles  # ridge weights of the five judged defects, (5, 1 + n + k n), bias first
    # residual quantiles (below, above) by predicted defect, in units of the mixture's spread
    reach: Mapping[str, tuple[float, float]]
    # mean, 5 % and 95 % quantile of the calibration masks' IoU, for masks that cannot be looked at
    prior: tuple[float, float, float]
    precision: Doubles  # inverse covariance of the standardised cues, (n, n)
    distances: tuple[float, float, float]  # Mahalanobis distances that mean novelty 0, 0.5 and 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CueEstimate:
    """What the coefficients say of one cue vector, as in a ``Verdict``, with the ``sight`` of its mask.

    ``arbitrary`` is the probability that the mask lies on no object, 0..1; part of ``full_neg``'s.
    """

    iou: float
    iou_low: float
    iou_high: float
    defect: Defect
    defect_probs: dict[str, float]
    novelty: float
    sight: Sight
    arbitrary: float


def basis(values: Doubles, coefficients: Coefficients) -> Doubles:
    """The hinge basis of cue vectors, (m, n) -> (m, 1 + n + k n), a column of ones first."""
    scaled = standardised(values, coefficients)
    bent = [np.maximum(scaled - knots, 0.0) for knots in coefficients.knots]
    return np.hstack([np.ones((len(values), 1)), scaled, *bent])


def standardised(values: Doubles, coefficients: Coefficients) -> Doubles:
    """Cue vectors in standard deviations from the mean, clipped, (m, n)."""
    return np.clip((values - coefficients.mean) / coefficients.spread, -_CLIP, _CLIP)


def probabilities(based: Doubles, coefficients: Coefficients) -> Doubles:
    """The probabilities of ``CLASSES`` of based vectors, (m, 7), each row summing to 1."""
    return softmax(based @ coefficients.defects.T)


def named(probs: Doubles) -> Doubles:
    """The six defects' probabilities, (m, 7) -> (m, 6): a mask on no object is a ``full_neg`` too."""
    six = probs[:, : len(DEFECTS)].copy()
    six[:, DEFECTS.index("full_neg")] += probs[:, len(DEFECTS)]
    return six


def mixture(based: Doubles, probs: Doubles, coefficients: Coefficients) -> tuple[Doubles, Doubles]:
    """Mean IoU under the probabilities of all classes but another object, and how far these differ, each (m,)."""
    shares = np.delete(probs, DEFECTS.index("full_neg"), axis=1)
    shares = shares / shares.sum(axis=1, keepdims=True)
    ious = np.zeros_like(shares)  # the last, a mask on no object, stays 0
    ious[:, : len(JUDGED)] = np.clip(based @ coefficients.iou.T, 0.0, 1.0)
    mean = np.clip((shares * ious).sum(axis=1), 0.0, 1.0)
    spread = np.sqrt((shares * (ious - mean[:, None]) ** 2).sum(axis=1) + _LEAST_SPREAD**2)
    return mean, spread


def distance(values: Doubles, coefficients: Coefficients) -> Doubles:
    """Mahalanobis distance of cue vectors from the fitting data, (m,)."""
    scaled = standardised(values, coefficients)
    squared = np.einsum("ij,jk,ik->i", scaled, coefficients.precision, scaled)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)), dtype=np.float64)


def estimate(vector: Doubles, coefficients: Coefficients) -> CueEstimate:
    """Judge one cue vector, float64 (n,), of a mask that can be looked at."""
    sight = sight_of(vector)
    values = vector[None]
    based = basis(values, coefficients)
    probs = probabilities(based, coefficients)
    if sight == "small":
        return _unmeasured(based, probs, coefficients)
    mean, spread = mixture(based, probs, coefficients)
    six = named(probs)[0]
    below, above = coefficients.reach.get(DEFECTS[int(six.argmax())], coefficients.reach["any"])
    iou = float(mean[0])
    novelty = np.interp(distance(values, coefficients)[0], coefficients.distances, (0.0, 0.5, 1.0))
    ends = max(0.0, iou - below * float(spread[0])), min(1.0, iou + above * float(spread[0]))
    return _estimated(six, iou, ends, sight=sight, novelty=float(novelty), arbitrary=float(probs[0, -1]))


def _estimated(
    six: Doubles, iou: float, ends: tuple[float, float], *, sight: Sight, novelty: float = 1.0, arbitrary: float = 0.0
) -> CueEstimate:
    return CueEstimate(
        iou=iou,
        iou_low=ends[0],
        iou_high=ends[1],
        defect=DEFECTS[int(six.argmax())],
        defect_probs={name: float(value) for name, value in zip(DEFECTS, six, strict=True)},
        novelty=novelty,
        sight=sight,
        arbitrary=arbitrary,
    )


def _unmeasured(based: Doubles, probs: Doubles, coefficients: Coefficients) -> CueEstimate:
    """Below the measured size: half the estimate, half the prior, never ``full_neg``, never sure."""
    mean, spread = mixture(based, probs, coefficients)
    prior, low, high = coefficients.prior
    below, above = coefficients.reach["any"]
    raw = float(mean[0])
    iou = min((raw + prior) / 2, _NEVER_ACCEPTED)
    six = _without(named(probs)[0], "full_neg")
    low = max(0.0, min(iou, low, raw - below * float(spread[0])))
    high = min(1.0, max(iou, high, raw + above * float(spread[0])))
    return _estimated(six, iou, (low, high), sight="small")


def _without(six: Doubles, defect: Defect) -> Doubles:
    weights = np.where(np.array(DEFECTS) == defect, 0.0, np.maximum(six, 1e-9))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CueFile:
    """A cue's part of the file."""

    mean: float
    spread: float
    knots: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoveltyFile:
    """What novelty is measured by; of the precision, the lower triangle."""

    distances: tuple[float, float, float]
    precision: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coefficients:
    """``coefficients.json``: every number under the name of its cue and defect; ``bias`` is one, a cue's are 1 + k."""

    schema: Literal[2]
    cues: Mapping[str, _CueFile]
    defects: Mapping[str, Mapping[str, float | tuple[float, ...]]]
    iou: Mapping[str, Mapping[str, float | tuple[float, ...]]]
    interval: Mapping[str, tuple[float, float]]
    prior: tuple[float, float, float]
    novelty: _NoveltyFile

    def __post_init__(self) -> None:
        names = [cue.name for cue in CUES]
        if list(self.cues) != names:
            raise ValueError("they are for another catalogue of cues")
        if tuple(self.defects) != CLASSES or tuple(self.iou) != JUDGED:
            raise ValueError("they are for other defects")
        if any(list(row) != ["bias", *names] for row in (*self.defects.values(), *self.iou.values())):
            raise ValueError("weights are for another catalogue of cues")

    def weights(self, rows: Iterable[Mapping[str, float | tuple[float, ...]]]) -> Doubles:
        """Weights as a matrix: bias, then each cue's first number, then each cue's second."""
        tables = [(row["bias"], np.array([row[name] for name in self.cues], dtype=np.float64)) for row in rows]
        return np.array([[bias, *table.T.ravel().tolist()] for bias, table in tables])


@cache
def load_coefficients(path: Path = FILE) -> Coefficients:
    """Read a coefficient file of this catalogue of cues; the same file is read once."""
    expected = "the file that `auscult train cues` writes"
    file = codec.read_file(_Coefficients, path, what="the coefficients", expected=expected, most_bytes=_MOST_BYTES)
    return _coefficients(file)


def to_json(coefficients: Coefficients) -> dict[str, Any]:
    """The coefficients with every number under the name of its cue and defect, to five digits."""
    names = [cue.name for cue in CUES]
    parts = 1 + len(coefficients.knots)

    def weights(row: Doubles) -> dict[str, Any]:
        table = row[1:].reshape(parts, len(names)).T
        return {"bias": row[0], **{name: table[index] for index, name in enumerate(names)}}

    written: dict[str, Any] = codec.to_json(
        {
            "schema": SCHEMA,
            "cues": {
                name: {
                    "mean": coefficients.mean[index],
                    "spread": coefficients.spread[index],
                    "knots": coefficients.knots[:, index],
                }
                for index, name in enumerate(names)
            },
            "defects": {name: weights(row) for name, row in zip(CLASSES, coefficients.defects, strict=True)},
            "iou": {name: weights(row) for name, row in zip(JUDGED, coefficients.iou, strict=True)},
            "interval": coefficients.reach,
            "prior": coefficients.prior,
            "novelty": {
                "distances": coefficients.distances,
                "precision": [row[: index + 1] for index, row in enumerate(coefficients.precision)],
            },
        },
        digits=5,
    )
    return written


def from_json(value: Mapping[str, Any]) -> Coefficients:
    """Read what ``to_json`` wrote for this catalogue of cues."""
    return _coefficients(codec.from_json(_Coefficients, value, error=UsageError))


def _coefficients(file: _Coefficients) -> Coefficients:
    rows = list(file.cues.values())
    return Coefficients(
        mean=np.array([row.mean for row in rows]),
        spread=np.array([row.spread for row in rows]),
        knots=np.array([row.knots for row in rows]).T,
        defects=file.weights(file.defects.values()),
        iou=file.weights(file.iou.values()),
        reach=file.interval,
        prior=file.prior,
        precision=symmetric(file.novelty.precision),
        distances=file.novelty.distances,
    )
