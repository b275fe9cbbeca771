"""What turns the networks' numbers into a verdict's: few numbers, fitted on calibration masks, in `calibration.json`.

Each network gives a histogram of the IoU; their mean p is bent by five numbers into q, one histogram that everything
else is read off: ``log q(c) = sharp log p(c) + (slope + by_size z) c + bend c^2`` and a constant, where c is a bin's
centre and z the log share of the frame that the candidate fills. Estimate, both probabilities and the ends of the
interval are q's, so they cannot contradict one another. What is unlike the calibration masks has its q mixed with the
histogram of all of them, and a mask that cannot be looked at has that alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from auscult.errors import OutputError, UsageError
from auscult.judge.masks.compact.calibration import FEATURES, KnownFeatures
from auscult.judge.masks.prompted.network import BINS, FOLDER, TYPES
from auscult.types import Doubles

FILE: Final = FOLDER / "calibration.json"
SCHEMA: Final = 2
MOST_BYTES: Final = 400_000
CENTRES: Final = (np.arange(BINS) + 0.5) / BINS
GOOD: Final = 0.8
BAD: Final = 0.5

_EDGES: Final = np.arange(BINS + 1) / BINS
_EXPECTED: Final = "the file that `auscult train prompted-mask` writes"
_LEAST: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Bent:
    """How histograms are bent, see the module; ``sharp`` is above 0."""

    sharp: float = 1.0
    slope: float = 0.0
    bend: float = 0.0
    by_size: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Head:
    """What masks of a user's own taught: a slope of its own for each mask, linear in the networks' features.

    Attributes:
        centre: Mean of the features, all networks' one after the other, (k,).
        weights: Weights of what the features are off it, (k,).
    """

    centre: Doubles
    weights: Doubles

    def slopes(self, features: ArrayLike) -> Doubles:
        """Slopes of n masks, (n, members, 64) -> (n,)."""
        flat = np.asarray(features, dtype=np.float64).reshape(len(np.asarray(features)), -1)
        return np.asarray((flat - self.centre) @ self.weights, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """All that was fitted.

    Attributes:
        weights: SHA-256 of each network's file, in hex, in order; for other weights the numbers mean nothing.
        bent: How the mean histogram is bent.
        tails: Levels of q at which the interval's lower and upper end lie, each 0...5.
        temperature: Multiplies the log shares of the networks' types, above 0.
        outline: Multiplies those of the outline network, 0 and more; 0 leaves it aside.
        offsets: Added to the logits of the types, (6,).
        prior: The calibration masks' histogram, (25,), summing to 1.
        spread: Standard deviations of the networks' mean histogram that are novelty 0, .5 and 1, ascending.
        known: The features of the calibration masks.
        mixing: How much of q is the prior at novelty 1, 0..1.
        counts: Masks and clusters that it rests on, by family.
        shift: Standard deviation, in logits, of a family's own offset: how far off one source's probabilities are.
        head: What masks of a user's own taught; None as shipped.
    """

    weights: tuple[str, ...]
    bent: Bent
    tails: tuple[float, float]
    temperature: float
    outline: float
    offsets: tuple[float, ...]
    prior: Doubles
    spread: tuple[float, float, float]
    known: KnownFeatures
    mixing: float
    counts: Mapping[str, tuple[int, int]]
    shift: float
    head: Head | None = None


def shares_of(logits: ArrayLike) -> Doubles:
    """Softmax over the last axis."""
    scores = np.asarray(logits, dtype=np.float64)
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True), dtype=np.float64)


def bend(shares: Doubles, size: Doubles, bent: Bent, *, slopes: ArrayLike = 0.0) -> Doubles:
    """Bend histograms, (n, 25) -> (n, 25).

    Args:
        shares: The networks' mean histograms.
        size: Log share of the frame, (n,), as ``view.shape_of`` has it.
        bent: How.
        slopes: Added to the slope of each, (n,).
    """
    slope = bent.slope + bent.by_size * np.asarray(size, dtype=np.float64) + np.asarray(slopes, dtype=np.float64)
    tilt = slope[:, None] * CENTRES + bent.bend * CENTRES**2
    return shares_of(bent.sharp * np.log(np.maximum(shares, _LEAST)) + tilt)


def histograms(
    ious: ArrayLike, features: ArrayLike, *, size: Doubles, novelty: Doubles, calibration: Calibration
) -> Doubles:
    """The calibrated histograms that a verdict is read off, (n, 25).

    Args:
        ious: Logits of each network's histogram, (n, members, 25).
        features: (n, members, 64).
        size: Log share of the frame, (n,).
        novelty: (n,), 0..1.
        calibration: What the numbers mean.
    """
    slopes = 0.0 if calibration.head is None else calibration.head.slopes(features)
    bent = bend(shares_of(ious).mean(axis=1), size, calibration.bent, slopes=slopes)
    return mixed(bent, novelty, calibration)


def mixed(shares: Doubles, novelty: Doubles, calibration: Calibration) -> Doubles:
    """Histograms with the prior mixed in by novelty, (n, 25)."""
    part = (calibration.mixing * np.asarray(novelty, dtype=np.float64))[:, None]
    return np.asarray((1 - part) * shares + part * calibration.prior[None], dtype=np.float64)


def spread_of(shares: Doubles) -> Doubles:
    """Standard deviation of the networks' mean histogram, (n, members, 25) -> (n,); wide where they differ, too."""
    mean = shares.mean(axis=1)
    return np.asarray(np.sqrt(np.maximum(mean @ CENTRES**2 - (mean @ CENTRES) ** 2, 0.0)), dtype=np.float64)


def mean_iou(shares: Doubles) -> Doubles:
    """The mean of histograms, (n, 25) -> (n,)."""
    return np.asarray(shares @ CENTRES, dtype=np.float64)


def share_from(shares: Doubles, level: float) -> Doubles:
    """How much of each histogram lies at ``level`` or above, (n, 25) -> (n,), 0..1."""
    above = np.clip((_EDGES[1:] - level) * BINS, 0.0, 1.0)
    return np.asarray(np.clip(shares @ above, 0.0, 1.0), dtype=np.float64)


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


def types_of(own: ArrayLike, outline: ArrayLike, calibration: Calibration) -> Doubles:
    """Probabilities of the six types, (n, 6).

    Args:
        own: Mean of the networks' log shares, (n, 6).
        outline: The outline network's log shares, (n, 6).
        calibration: How much each counts.
    """
    scores = calibration.temperature * np.asarray(own) + calibration.outline * np.asarray(outline)
    return shares_of(scores + np.asarray(calibration.offsets))


def log_shares(members: Sequence[ArrayLike]) -> Doubles:
    """Mean over networks of the log of their shares, (n, k)."""
    return np.asarray(np.mean([np.log(shares_of(one) + _LEAST) for one in members], axis=0), dtype=np.float64)


def load_calibration(path: Path = FILE) -> Calibration:
    """Read a calibration; a file that has not changed is read once.

    Raises:
        UsageError: It is missing, too large, or not what ``save_calibration`` writes.
    """
    try:
        status = path.stat()
        if status.st_size > MOST_BYTES:
            raise UsageError(f"more than {MOST_BYTES} bytes", expected=_EXPECTED, path=path)
        return _read(path, (status.st_mtime_ns, status.st_size))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UsageError(f"the calibration cannot be read: {error}", expected=_EXPECTED, path=path) from error


@lru_cache(maxsize=8)
def _read(path: Path, _written: tuple[int, int]) -> Calibration:
    """The file as it is now; when it was written and its size tell another one of the same name."""
    return from_json(json.loads(path.read_text(encoding="utf-8")))


def save_calibration(calibration: Calibration, path: Path) -> Path:
    """Write a calibration as JSON, numbers to six digits.

    Raises:
        OutputError: The file cannot be written.
    """
    known = calibration.known
    value = {
        "schema": SCHEMA,
        "weights": list(calibration.weights),
        "bent": {name: _short(number) for name, number in asdict(calibration.bent).items()},
        "tails": _shorts(calibration.tails),
        "temperature": _short(calibration.temperature),
        "outline": _short(calibration.outline),
        "offsets": _shorts(calibration.offsets),
        "prior": _shorts(calibration.prior),
        "spread": _shorts(calibration.spread),
        "mixing": _short(calibration.mixing),
        "shift": _short(calibration.shift),
        "counts": {name: list(pair) for name, pair in calibration.counts.items()},
        "novelty": {
            "distances": _shorts(known.distances),
            "centre": _shorts(known.centre),
            "precision": [_shorts(row[: at + 1]) for at, row in enumerate(known.precision)],
        },
    }
    if calibration.head is not None:
        value["head"] = {"centre": _shorts(calibration.head.centre), "weights": _shorts(calibration.head.weights)}
    try:
        path.write_text(json.dumps(value) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path


def from_json(value: Any) -> Calibration:
    """Read what ``save_calibration`` wrote, and nothing else.

    Raises:
        ValueError: Another schema, or a number out of its range.
        KeyError: A part is missing.
        TypeError: A part is of another type.
    """
    if value["schema"] != SCHEMA:
        raise ValueError(f"its schema is {value['schema']!r}, not {SCHEMA}")
    weights = value["weights"]
    if not isinstance(weights, list) or not 1 <= len(weights) <= 4 or not all(_is_digest(one) for one in weights):
        raise ValueError("`weights` are no SHA-256")
    bent = Bent(**{name: _number(value["bent"][name], (-100.0, 100.0)) for name in asdict(Bent())})
    if bent.sharp <= 0:
        raise ValueError("`sharp` is not above 0")
    low, high = _numbers(value["tails"], 2, (0.0, 0.5))
    prior = np.array(_numbers(value["prior"], BINS, (0.0, 1.0)))
    if abs(prior.sum() - 1) > 1e-3:
        raise ValueError("`prior` does not sum to 1")
    return Calibration(
        weights=tuple(weights),
        bent=bent,
        tails=(low, high),
        temperature=_number(value["temperature"], (1e-3, 1e3)),
        outline=_number(value["outline"], (0.0, 1e3)),
        offsets=tuple(_numbers(value["offsets"], len(TYPES), (-1e3, 1e3))),
        prior=prior / prior.sum(),
        spread=_ascending(value["spread"]),
        known=_known(value["novelty"]),
        mixing=_number(value["mixing"], (0.0, 1.0)),
        counts={str(name): (int(pair[0]), int(pair[1])) for name, pair in value["counts"].items()},
        shift=_number(value["shift"], (0.0, 100.0)),
        head=_head(value.get("head"), len(weights) * FEATURES),
    )


def _head(value: Any, count: int) -> Head | None:
    if value is None:
        return None
    centre, weights = (np.array(_numbers(value[name], count, (-1e6, 1e6))) for name in ("centre", "weights"))
    return Head(centre=centre, weights=weights)


def _known(value: Mapping[str, Any]) -> KnownFeatures:
    rows = value["precision"]
    if len(rows) != FEATURES:
        raise ValueError(f"`precision` has {len(rows)} rows, not {FEATURES}")
    lower = np.zeros((FEATURES, FEATURES))
    for at, row in enumerate(rows):
        lower[at, : at + 1] = _numbers(row, at + 1, (-math.inf, math.inf))
    precision = lower + np.tril(lower, -1).T
    if np.linalg.eigvalsh(precision)[0] <= 0:
        raise ValueError("`precision` is not positive definite")
    centre = np.array(_numbers(value["centre"], FEATURES, (-math.inf, math.inf)))
    return KnownFeatures(centre=centre, precision=precision, distances=_ascending(value["distances"]))


def _ascending(values: Any) -> tuple[float, float, float]:
    near, middle, far = _numbers(values, 3, (0.0, math.inf))
    if not near < middle < far:
        raise ValueError("distances do not ascend")
    return near, middle, far


def _numbers(values: Any, count: int, limits: tuple[float, float]) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"{count} numbers are expected, not {str(values)[:80]}")
    return [_number(value, limits) for value in values]


def _number(value: Any, limits: tuple[float, float]) -> float:
    if type(value) not in {int, float} or not math.isfinite(value) or not limits[0] <= value <= limits[1]:
        raise ValueError(f"{str(value)[:80]!r} is no number from {limits[0]:g} to {limits[1]:g}")
    return float(value)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _shorts(values: ArrayLike) -> list[float]:
    return [_short(float(value)) for value in np.asarray(values, dtype=np.float64)]


def _short(number: float) -> float:
    return float(f"{number:.6g}")
