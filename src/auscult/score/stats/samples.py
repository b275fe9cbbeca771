"""Samples that several columns of scores have in common, and how many they do not.

A comparison is fair on the samples that every column scored. A sample that failed somewhere enters none of the sums and
is counted as failed, wherever else it was scored; likewise one that is undefined or missing somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Failed, Scored, Undefined
from auscult.score.stats.inputs import members_of

Value: TypeAlias = float | Scored[float] | Undefined | Failed
SampleKey: TypeAlias = Any  # any name that can be a key; a mapping is strict about the type of its keys
SampleValues: TypeAlias = Mapping[SampleKey, Value]
Clusters: TypeAlias = Mapping[SampleKey, Hashable]

_FLOATS: Final = frozenset({float, np.float64})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What became of the samples.

    Attributes:
        n: Scored in every column; these alone enter a number.
        failed: Failed in some column.
        undefined: Failed in none, undefined in some.
        missing: Neither, but not there in some.
    """

    n: int
    failed: int
    undefined: int
    missing: int

    def none(self, reason: str) -> Undefined:
        """An undefined number, and what became of its samples."""
        return Undefined(reason, asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The samples that every column scored.

    Attributes:
        samples: Their names, in the order of the first column that names them.
        values: (columns, n) float64, finite.
        counts: How many, and how many were left out.
    """

    samples: tuple[Hashable, ...]
    values: NDArray[np.float64]
    counts: Counts


def common(columns: Sequence[SampleValues]) -> Common:
    """Keep the samples that every column scored.

    Args:
        columns: For each column the value of each sample.

    Returns:
        Names, values and counts; no sample is no error.

    Raises:
        InputError: A value is NaN, infinite or no number.

    Example:
        >>> result = common([{"a": 0.5, "b": 0.25}, {"a": 1.0, "b": Undefined("empty truth"), "c": 0.5}])
        >>> result.samples, result.counts.undefined, result.counts.missing
        (('a',), 1, 1)
    """
    plain = _plain(columns)
    if plain is not None:
        return plain
    kept: list[Hashable] = []
    rows: list[list[float]] = []
    left = {Failed: 0, Undefined: 0, type(None): 0}
    for sample in dict.fromkeys(name for column in columns for name in column):
        row = [column.get(sample) for column in columns]
        worst = _worst(row)
        if worst is not None:
            left[worst] += 1
            continue
        kept.append(sample)
        rows.append([_number(value, sample) for value in row])
    counts = Counts(n=len(kept), failed=left[Failed], undefined=left[Undefined], missing=left[type(None)])
    values = np.array(rows, dtype=np.float64).reshape(len(kept), len(columns)).T
    return Common(samples=tuple(kept), values=values, counts=counts)


def _plain(columns: Sequence[SampleValues]) -> Common | None:
    """The usual case at once: every column has the same samples, all of them finite floating-point numbers."""
    names = tuple(columns[0]) if columns else ()
    alike = (column.keys() == columns[0].keys() and set(map(type, column.values())) <= _FLOATS for column in columns)
    if not names or not all(alike):
        return None
    values = np.array([[column[name] for name in names] for column in columns], dtype=np.float64)
    if not np.isfinite(values).all():
        return None
    return Common(samples=names, values=values, counts=Counts(n=len(names), failed=0, undefined=0, missing=0))


def memberships(samples: Sequence[Hashable], clusters: Clusters) -> NDArray[np.int64]:
    """The number of each sample's cluster, such as its video, (n,), from 0 in the order of first appearance."""
    for sample in samples:
        if sample not in clusters:
            raise InputError(
                f"sample {sample!r} has no cluster",
                expected="a cluster, such as its video or photograph, for every scored sample",
            )
    return members_of(clusters[sample] for sample in samples)


def _worst(row: Sequence[Value | None]) -> type | None:
    """Why a sample is left out; None where it is not."""
    held = {type(value) for value in row}
    return next((kind for kind in (Failed, Undefined, type(None)) if kind in held), None)


def _number(value: Value | None, sample: Hashable) -> float:
    plain = value.value if isinstance(value, Scored) else value
    try:
        number = float(plain)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError(f"sample {sample!r} holds {plain!r}", expected="a number or an outcome") from error
    if not math.isfinite(number):
        raise InputError(
            f"sample {sample!r} holds {number}",
            expected="a finite number",
            hint="what failed is Failed, what does not exist is Undefined: neither is a number",
        )
    return number
