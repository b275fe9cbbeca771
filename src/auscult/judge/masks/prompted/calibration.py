"""The few parameters that map the networks' outputs to a verdict, fitted on calibration masks, in `calibration.json`.

Each network gives a histogram of the IoU; their mean p is bent by five numbers into q, one histogram that everything
else is read off: ``log q(c) = sharp log p(c) + (slope + by_size z) c + bend c^2`` and a constant, where c is a bin's
centre and z the log share of the frame that the candidate fills. Estimate, both probabilities and the ends of the
interval are q's, so they cannot contradict one another. The q of an out-of-distribution mask is mixed
with the prior, the histogram of all calibration masks; a mask that cannot be judged by its picture has the prior alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike

from auscult.errors import OutputError, UsageError
from auscult.judge.masks.compact.network import (
    FEATURES,
    Digest,
    Factor,
    KnownFeatures,
    NotNegative,
    NoveltyFile,
    ascending,
)
from auscult.judge.masks.prompted.network import BINS, FOLDER, TYPES
from auscult.judge.masks.shared import softmax
from auscult.record.codec import Count, Share, dump, read_file, to_json
from auscult.types import Doubles

FILE: Final = FOLDER / "calibration.json"
SCHEMA: Final = 3
MOST_BYTES: Final = 400_000
CENTRES: Final = (np.arange(BINS) + 0.5) / BINS
GOOD: Final = 0.8
BAD: Final = 0.5
DISAGREEMENT: Final = 0.35
"""Standard deviation of a histogram whose halves lie .7 apart; where every IoU is as likely, it is .29."""

_EDGES: Final = np.arange(BINS + 1) / BINS
_EXPECTED: Final = "the file that `auscult train prompted-mask` writes"
_LEAST: Final = 1e-6
_MOST_WEIGHT: Final = 1e6

_Tail: TypeAlias = Annotated[float, Meta(ge=0.0, le=0.5)]
_Slope: TypeAlias = Annotated[float, Meta(ge=-100.0, le=100.0)]
_Offset: TypeAlias = Annotated[float, Meta(ge=-1e3, le=1e3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bent:
    """How histograms are bent, see the module; ``sharp`` is above 0."""

    sharp: Annotated[float, Meta(gt=0.0, le=100.0)] = 1.0
    slope: _Slope = 0.0
    bend: _Slope = 0.0
    by_size: _Slope = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Head:
    """Fitted to a user's own masks: a slope of its own for each mask, linear in the networks' features."""

    centre: Doubles  # mean of the features, all networks' one after the other, (k,)
    weights: Doubles  # weights of what the features are off it, (k,)

    def slopes(self, features: ArrayLike) -> Doubles:
        """Slopes of n masks, (n, members, 64) -> (n,)."""
        flat = np.asarray(features, dtype=np.float64).reshape(len(np.asarray(features)), -1)
        return np.asarray((flat - self.centre) @ self.weights, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """All that was fitted but the features."""

    # SHA-256 of each network's file, in hex, in order; for other weights the numbers mean nothing
    weights: Annotated[tuple[Digest, ...], Meta(min_length=1, max_length=4)]
    classifier: Digest  # the same of the defect classifier
    bent: Bent  # how the mean histogram is bent
    tails: tuple[_Tail, _Tail]  # levels of q at which the interval's lower and upper end lie, each 0...5
    temperature: Factor  # multiplies the log shares of the networks' types, above 0
    # multiplies those of the defect classifier, 0 and more; 0 leaves it aside
    classifier_temperature: Annotated[float, Meta(ge=0.0, le=1e3)]
    # added to the logits of the types, (6,)
    offsets: Annotated[tuple[_Offset, ...], Meta(min_length=len(TYPES), max_length=len(TYPES))]
    prior: Doubles  # the calibration masks' histogram, (25,), summing to 1
    # standard deviations of the bent histogram that are novelty 0, .5 and 1, ascending
    spread: tuple[NotNegative, NotNegative, NotNegative]
    mixing: Share  # how much of q is the prior at novelty 1, 0..1
    # standard deviation, in logits, of a set's own offset: how far off the adapted probabilities of one source's are
    shift: Annotated[float, Meta(ge=0.0, le=100.0)]
    counts: Mapping[str, tuple[Count, Count]]  # masks and clusters that it rests on, by family


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration(Fitted):
    """All that was fitted."""

    known: KnownFeatures  # the features of the calibration masks
    head: Head | None = None  # fitted to a user's own masks; None as shipped


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _File(Fitted):
    """``calibration.json``: a ``Calibration``, key by key."""

    schema: Literal[3]
    novelty: NoveltyFile
    head: Head | None = None

    def __post_init__(self) -> None:
        ascending(self.spread)
        if self.prior.shape != (BINS,) or self.prior.min() < 0 or abs(self.prior.sum() - 1) > 1e-3:
            raise ValueError(f"`prior` is not {BINS} shares that sum to 1")
        if self.head is not None:
            for part in (self.head.centre, self.head.weights):
                if part.shape != (len(self.weights) * FEATURES,) or np.abs(part).max() > _MOST_WEIGHT:
                    raise ValueError(f"`head` is not {len(self.weights) * FEATURES} numbers up to {_MOST_WEIGHT:g}")


def bend(shares: Doubles, size: Doubles, bent: Bent, *, slopes: ArrayLike = 0.0) -> Doubles:
    """Bend mean histograms, (n, 25) -> (n, 25), by the log share of the frame, (n,), as ``view.shape_of`` has it.

    ``slopes``, (n,), are added to the slope of each.
    """
    slope = bent.slope + bent.by_size * np.asarray(size, dtype=np.float64) + np.asarray(slopes, dtype=np.float64)
    tilt = slope[:, None] * CENTRES + bent.bend * CENTRES**2
    return softmax(bent.sharp * np.log(np.maximum(shares, _LEAST)) + tilt)


def histograms(ious: ArrayLike, features: ArrayLike, *, size: Doubles, calibration: Calibration) -> Doubles:
    """The networks' mean histograms, bent, (n, 25); ``mixed`` makes of them what a verdict is read off.

    ``ious`` are logits (n, members, 25), ``features`` (n, members, 64), ``size`` the log share of the frame, (n,).
    """
    slopes = 0.0 if calibration.head is None else calibration.head.slopes(features)
    return bend(softmax(ious).mean(axis=1), size, calibration.bent, slopes=slopes)


def mixed(shares: Doubles, novelty: Doubles, calibration: Calibration) -> Doubles:
    """Histograms with the prior mixed in by novelty, (n, 25)."""
    part = (calibration.mixing * np.asarray(novelty, dtype=np.float64))[:, None]
    return np.asarray((1 - part) * shares + part * calibration.prior[None], dtype=np.float64)


def spread_of(shares: Doubles) -> Doubles:
    """Standard deviation of histograms, (n, 25) -> (n,)."""
    return np.asarray(np.sqrt(np.maximum(shares @ CENTRES**2 - (shares @ CENTRES) ** 2, 0.0)), dtype=np.float64)


def mean_iou(shares: Doubles) -> Doubles:
    """The mean of histograms, (n, 25) -> (n,)."""
    return np.asarray(shares @ CENTRES, dtype=np.float64)


def share_from(shares: Doubles, level: float) -> Doubles:
    """How much of each histogram lies at ``level`` or above, (n, 25) -> (n,), 0..1."""
    above = np.clip((_EDGES[1:] - level) * BINS, 0.0, 1.0)
    return np.asarray(np.clip(shares @ above, 0.0, 1.0), dtype=np.float64)


def prior_shares(calibration: Calibration) -> tuple[float, float]:
    """The shares of calibration masks with an IoU of .8 and of .5 or more."""
    prior = calibration.prior[None]
    return float(share_from(prior, GOOD)[0]), float(share_from(prior, BAD)[0])


def quantiles(shares: Doubles, level: float) -> Doubles:
    """Quantile of histograms, (n, 25) -> (n,); inside a bin the distribution rises as a straight line."""
    reached = np.concatenate([np.zeros((len(shares), 1)), np.cumsum(shares, axis=1)], axis=1)
    upper = np.clip((reached <= level).sum(axis=1), 1, BINS)
    rows = np.arange(len(shares))
    left, right = reached[rows, upper - 1], reached[rows, upper]
    part = np.clip((level - left) / np.maximum(right - left, 1e-12), 0.0, 1.0)
    return np.asarray((upper - 1 + part) / BINS, dtype=np.float64)


def interval_of(shares: Doubles, tails: tuple[float, float]) -> tuple[Doubles, Doubles]:
    """Both ends of the interval, each (n,); they hold the mean; one that reaches an outermost bin takes all of it."""
    mean = mean_iou(shares)
    low, high = quantiles(shares, tails[0]), quantiles(shares, 1.0 - tails[1])
    low, high = np.where(low <= _EDGES[1], 0.0, low), np.where(high >= _EDGES[-2], 1.0, high)
    return np.minimum(low, mean), np.maximum(high, mean)


def types_of(network_log_probs: ArrayLike, classifier_log_probs: ArrayLike, calibration: Calibration) -> Doubles:
    """Probabilities of the six types, (n, 6), from the networks' mean log shares and the defect classifier's."""
    scores = calibration.temperature * np.asarray(network_log_probs)
    scores = scores + calibration.classifier_temperature * np.asarray(classifier_log_probs)
    return softmax(scores + np.asarray(calibration.offsets))


def log_shares(members: Sequence[ArrayLike]) -> Doubles:
    """Mean over networks of the log of their shares, (n, k)."""
    return np.asarray(np.mean([np.log(softmax(logits) + _LEAST) for logits in members], axis=0), dtype=np.float64)


def load_calibration(path: Path = FILE) -> Calibration:
    """Read a calibration; a file that has not changed is read once.

    Raises:
        UsageError: It is missing, too large, or not what ``save_calibration`` writes.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise UsageError(f"the calibration cannot be read: {error}", expected=_EXPECTED, path=path) from error
    return _read(path, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=8)
def _read(path: Path, _written: tuple[int, int]) -> Calibration:
    """The file as it is now; its time and size are part of the cache key."""
    file = read_file(_File, path, what="the calibration", expected=_EXPECTED, most_bytes=MOST_BYTES)
    shared = _shared(file) | {"prior": file.prior / file.prior.sum()}
    return Calibration(**shared, known=file.novelty.known(), head=file.head)


def _shared(fitted: Fitted) -> dict[str, Any]:
    """What the file and a calibration hold alike."""
    return {field.name: getattr(fitted, field.name) for field in fields(Fitted)}


def save_calibration(calibration: Calibration, path: Path) -> Path:
    """Write a calibration as JSON, numbers to six digits.

    Raises:
        OutputError: The file cannot be written.
    """
    written = _File(
        **_shared(calibration), schema=SCHEMA, novelty=NoveltyFile.of(calibration.known), head=calibration.head
    )
    value = {"schema": SCHEMA, **{key: part for key, part in to_json(written, digits=6).items() if part is not None}}
    try:
        path.write_bytes(dump(value) + b"\n")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path
