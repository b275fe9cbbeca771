"""The network as a function of arrays: `weights.onnx` run by ONNX Runtime on one core, see ``nets.onnx_session``.

The histogram of the IoU has 40 bins. Bin k stands for its centre (k + 0.5) / 40, but for the first and the last, whose
values are fitted in calibration: in training a true IoU is shared between the two nearest centres, and one beyond the
outermost centres goes to the outermost bin whole. So the last bin stands for all that is above 0.9875, 1 included, and
the estimate can reach 1.

The network gives the IoU of a mask on an object, and apart from that how likely it is on none. With few objects to
learn from it takes unknown things for background too readily; so that likelihood is calibrated by itself, for a
share of 2 % of masks on no object, and then enters the estimate with IoU 0. Another real object cannot be distinguished
from the right one: identity is not checked.

What was measured on the calibration split, and its file: ``calibration.json``, beside the weights it belongs to.

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

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from auscult.judge.masks.shared import softmax, symmetric
from auscult.nets.onnx_session import HINT, check_outputs, open_session, read_network
from auscult.record.codec import Count, Share, read_file
from auscult.types import DEFECTS, Defect, Doubles, Floats

FILE: Final = Path(__file__).with_name("weights.onnx")
INPUTS: Final[Mapping[str, tuple[int, ...]]] = {
    "crop": (6, 128, 128),
    "context": (5, 64, 64),
    "strip": (6, 24, 256),
    "cues": (169,),
}
"""What a network may take, float32, batch first; it takes one of these or more."""
OUTPUTS: Final[Mapping[str, tuple[int, ...]]] = {
    "types": (6,),
    "ious": (40,),
    "truth": (1, 64, 64),
    "features": (64,),
}
"""What it gives, float32, batch first: logits but for the features."""

Network: TypeAlias = Callable[[Mapping[str, Floats]], dict[str, Floats]]
"""From inputs to outputs, by name. It may be called from several threads."""

_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnnxNetwork:
    """A loaded network: the inputs it uses, the SHA-256 of its file in hex, and its session of ONNX Runtime."""

    path: Path
    takes: tuple[str, ...]
    digest: str
    session: Any

    def __call__(self, inputs: Mapping[str, Floats]) -> dict[str, Floats]:
        """Run a batch: arrays of ``INPUTS`` to arrays of ``OUTPUTS``, all float32 and batch first."""
        names = list(OUTPUTS)
        arrays = self.session.run(names, {name: inputs[name] for name in self.takes})
        outputs = dict(zip(names, arrays, strict=True))
        check_outputs(outputs, OUTPUTS, count=len(inputs[self.takes[0]]), hint=HINT, path=self.path)
        return outputs


def load_network(path: Path = FILE) -> OnnxNetwork:
    """Open a network; the same file is opened once per process, whichever thread asks first.

    That its inputs and outputs are those above follows from its digest, which the calibration names.
    """
    with _LOCK:
        return _opened(path)


@cache
def _opened(path: Path) -> OnnxNetwork:
    content = read_network(path)
    session = open_session(content, path)
    takes = tuple(tensor.name for tensor in session.get_inputs())
    return OnnxNetwork(path=path, takes=takes, digest=hashlib.sha256(content).hexdigest(), session=session)


BINS: Final = 40
CENTRES: Final = (np.arange(BINS) + 0.5) / BINS


def named(logits: ArrayLike, temperature: float, arbitrary: tuple[float, float]) -> Doubles:
    """Probabilities of the six defects from the network's ``types``, (n, 6) -> (n, 6), each row summing to 1.

    The last is a mask on no object, all that the network knows of ``full_neg``.
    ``temperature`` divides the logits of the five kinds of masks on an object; ``arbitrary`` is slope and offset of the
    sixth's log-odds against these.
    """
    scores = np.asarray(logits, dtype=np.float64)
    highest = scores[:, :-1].max(axis=1)
    rest = highest + np.log(np.exp(scores[:, :-1] - highest[:, None]).sum(axis=1))
    odds = scores[:, -1] - rest  # the network's own log-odds of a mask on no object
    nothing = 1.0 / (1.0 + np.exp(-np.clip(arbitrary[0] * odds + arbitrary[1], -30.0, 30.0)))
    five = probabilities(scores[:, :-1], temperature)
    return np.hstack([five * (1.0 - nothing[:, None]), nothing[:, None]])


def lowered(shares: Doubles, nothing: Doubles) -> Doubles:
    """Histograms of the IoU, (n, 40), with the share of masks on no object, (n,), moved to the first bin."""
    moved = shares * (1.0 - nothing[:, None])
    moved[:, 0] += nothing
    return moved


def probabilities(logits: ArrayLike, temperature: float) -> Doubles:
    """Softmax of logits over a temperature, (n, k) -> (n, k), each row summing to 1."""
    return softmax(np.asarray(logits, dtype=np.float64) / temperature)


def bin_values(ends: tuple[float, float]) -> Doubles:
    """What each bin stands for, (40,): its centre, but ``ends`` for the first and the last."""
    values = CENTRES.copy()
    values[0], values[-1] = ends
    return values


def mean_iou(shares: Doubles, ends: tuple[float, float]) -> Doubles:
    """Mean of histograms, (n, 40) -> (n,), 0..1."""
    return np.asarray(np.clip(shares @ bin_values(ends), 0.0, 1.0), dtype=np.float64)


def quantiles(shares: Doubles, ends: tuple[float, float], level: float) -> Doubles:
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
    """The six defects' probabilities of one mask, (6,)."""
    return {name: float(value) for name, value in zip(DEFECTS, probs, strict=True)}


def likeliest(probs: Mapping[str, float]) -> Defect:
    """The most probable defect."""
    return max(DEFECTS, key=lambda name: probs[name])


LEVEL: Final = 0.9
ALL: Final = "all"
"""The group of all masks, for those whose own group was too small in calibration."""
SIZES: Final[tuple[tuple[str, int], ...]] = (("small", 0), ("medium", 32 * 32), ("large", 96 * 96))
"""Size groups by the mask's area in pixels of the frame, with their least area; those of COCO."""

_LEAST: Final = 0.01  # of IoU: half a histogram's quantile distance is never taken for less


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """Statistics of histograms, each (n,): the mean IoU, and the distances to the 5 % and 95 % quantiles."""

    mean: Doubles
    below: Doubles
    above: Doubles


def spread_of(shares: Doubles, ends: tuple[float, float], *, plain: Doubles | None = None) -> Spread:
    """Mean and quantile distances of histograms, (n, 40), softened by their temperature; ``ends`` as in ``bin_values``.

    ``plain`` are the histograms as the network gave them, for the mean: softened, no mean would come near 1.
    """
    tail = (1 - LEVEL) / 2
    mean = mean_iou(shares if plain is None else plain, ends)
    low, high = quantiles(shares, ends, tail), quantiles(shares, ends, 1 - tail)
    return Spread(mean=mean, below=np.maximum(mean - low, 0.0) + _LEAST, above=np.maximum(high - mean, 0.0) + _LEAST)


def widths_of(novelty: Doubles, widening: float) -> Doubles:
    """How much wider intervals are for their novelty, (n,), 1 and more."""
    return 1.0 + widening * novelty


def interval_of(spread: Spread, reach: Doubles, widths: Doubles) -> tuple[Doubles, Doubles]:
    """Lower and upper ends, each (n,), 0..1, by the reach of each mask's group, (n,), and its ``widths_of``."""
    low = np.clip(spread.mean - reach * widths * spread.below, 0.0, 1.0)
    high = np.clip(spread.mean + reach * widths * spread.above, 0.0, 1.0)
    return np.asarray(low), np.asarray(high)


def groups_of(area_px: float, defect: str) -> tuple[str, str, str]:
    """The groups of a mask, the narrowest first: size and predicted defect, predicted defect, all."""
    size = [name for name, least in SIZES if area_px >= least][-1]
    return f"{size} {defect}", defect, ALL


def reach_of(reach: Mapping[str, float], area_px: float, defect: str) -> float:
    """The reach of the narrowest group that calibration could measure, for a mask's area in pixels of the frame."""
    return next(reach[group] for group in groups_of(area_px, defect) if group in reach)


FEATURES: Final = 64
QUANTILES: Final = (0.5, 0.95)

_SHRINK: Final = 0.1
_LEAST_VARIANCE: Final = 1e-3  # of the mean variance, so that a feature that never moves decides nothing alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownFeatures:
    """What the network's features are like on calibration data."""

    centre: Doubles  # their mean, (64,)
    precision: Doubles  # inverse of their shrunk covariance, (64, 64)
    distances: tuple[float, float, float]  # distances that mean novelty 0, 0.5 and 1, ascending


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


CALIBRATION: Final = Path(__file__).with_name("calibration.json")
MOST_BYTES: Final = 200_000
GROUPS: Final = frozenset({ALL, *DEFECTS, *(f"{size} {defect}" for size, _ in SIZES for defect in DEFECTS)})

Digest: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
"""SHA-256 of a network's file, in hex."""
Factor: TypeAlias = Annotated[float, Meta(ge=1e-3, le=1e3)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0.0)]

_EXPECTED: Final = "the calibration.json that comes with auscult, beside its weights.onnx"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fitted:
    """The fields that the file and a calibration share."""

    weights: Digest  # SHA-256 of the network's file, in hex; for other weights the numbers mean nothing
    temperature: Factor  # divides the logits of the five kinds of masks on an object, above 0
    # slope, 0 and more, and offset of the log-odds of a mask on no object
    arbitrary: tuple[Annotated[float, Meta(ge=0.0, le=1e3)], Annotated[float, Meta(ge=-1e3, le=1e3)]]
    iou_temperature: Factor  # divides the logits of the histogram, above 0
    ends: tuple[Share, Share]  # what the histogram's first and last bin stand for, 0..1
    # how much wider an interval is at novelty 1, as a share, 0 and more
    widening: Annotated[float, Meta(ge=0.0, le=1e3)]
    # mean, 5 % and 95 % quantile of the calibration masks' IoU, for masks that cannot be looked at
    prior: tuple[Share, Share, Share]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration(_Fitted):
    """The parameters that map the network's outputs to a verdict."""

    reach: Mapping[str, float]  # quantile of the scores by group, 0 and more; has ``all``
    known: KnownFeatures  # the features of the calibration masks


@dataclass(frozen=True, slots=True, kw_only=True)
class _MaskGroup:
    """A group of masks: its reach, and how many photographs (or clips) and masks it was measured on."""

    reach: Annotated[float, Meta(ge=0.0, le=1e6)]
    clusters: Count
    masks: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyFile:
    """A file's ``novelty``: ``KnownFeatures``, of the precision the lower triangle; numbers as a list, or as text."""

    distances: tuple[NotNegative, NotNegative, NotNegative]
    centre: str | tuple[float, ...]
    precision: tuple[str | tuple[float, ...], ...]

    def __post_init__(self) -> None:
        self.known()

    @classmethod
    def of(cls, known: KnownFeatures) -> NoveltyFile:
        """Features as they are written."""
        rows = tuple(tuple(row[: index + 1].tolist()) for index, row in enumerate(known.precision))
        return cls(distances=known.distances, centre=tuple(known.centre.tolist()), precision=rows)

    def known(self) -> KnownFeatures:
        """The features; a ValueError where distances do not ascend, or a part has another size or is no precision."""
        ascending(self.distances)
        rows = [_floats(row) for row in (*self.precision, self.centre)]
        if [row.size for row in rows] != [*range(1, FEATURES + 1), FEATURES]:
            raise ValueError(f"`precision` is no lower triangle of {FEATURES} rows, or `centre` has another size")
        precision = symmetric(rows[:-1])
        if np.linalg.eigvalsh(precision)[0] <= 0:
            raise ValueError("`precision` is not positive definite")
        return KnownFeatures(centre=rows[-1], precision=precision, distances=self.distances)


def ascending(distances: tuple[float, float, float]) -> None:
    """Check that the distances that mean novelty 0, 0.5 and 1 ascend."""
    if not distances[0] < distances[1] < distances[2]:
        raise ValueError("distances do not ascend")


def _floats(row: str | tuple[float, ...]) -> Doubles:
    numbers = np.array([float(word) for word in (row.split() if isinstance(row, str) else row)], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class _File(_Fitted):
    """``calibration.json``: a ``Calibration``, key by key."""

    schema: Literal[1]
    groups: Mapping[str, _MaskGroup]
    novelty: NoveltyFile

    def __post_init__(self) -> None:
        if ALL not in self.groups or not set(self.groups) <= GROUPS:
            raise ValueError(f"its groups are {', '.join(self.groups)[:200]}")
        mean, low, high = self.prior
        if not low <= mean <= high:
            raise ValueError("`prior` is not mean, low, high")


@cache
def load_calibration(path: Path = CALIBRATION) -> Calibration:
    """Read a calibration; the same file is read once."""
    file = read_file(_File, path, what="the calibration", expected=_EXPECTED, most_bytes=MOST_BYTES)
    reach = {name: group.reach for name, group in file.groups.items()}
    shared = {field.name: getattr(file, field.name) for field in fields(_Fitted)}
    return Calibration(**shared, reach=reach, known=file.novelty.known())
