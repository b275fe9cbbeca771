"""What was measured on the calibration split, and its file: ``calibration.json``, beside the weights it belongs to."""

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

from auscult.errors import UsageError
from auscult.judge.masks.compact.interval import ALL, SIZES
from auscult.judge.masks.compact.novelty import FEATURES, Known
from auscult.types import DEFECTS

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
    known: Known


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


def _known(value: Mapping[str, Any]) -> Known:
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
    return Known(
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
