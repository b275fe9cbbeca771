"""Every number as plain values: JSON, CSV, and the metrics of ``summary.json``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from auscult.outcome import Scored, Signature, Undefined
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.measures import Number

_KEYS: Final = (
    "measure", "model", "metric", "group", "level", "part", "split", "value", "low", "high", "beyond",
    "n", "failed", "undefined", "missing", "reason", "signature",
)  # fmt: skip


def cells_json(numbers: Iterable[Number]) -> list[dict[str, Any]]:
    """Every number as plain values, scores 0..1; an undefined one has value null and its reason.

    ``beyond`` is of breaking points: the strongest strength that was asked, where the point (``value`` null) or the
    upper end of its interval (``high`` null) lies above it.
    """
    return list(_rows(numbers))


def _rows(numbers: Iterable[Number]) -> Iterator[dict[str, Any]]:
    for one in numbers:
        counts = one.counts
        yield {
            **{key: getattr(one, key) for key in _KEYS[:7]},
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "beyond": one.beyond,
            "n": None if counts is None else counts.n,
            "failed": None if counts is None else counts.failed,
            "undefined": None if counts is None else counts.undefined,
            "missing": None if counts is None else counts.missing,
            "reason": one.outcome.reason if isinstance(one.outcome, Undefined) else None,
            "signature": number_signature(one) if isinstance(one.outcome, Scored) else None,
        }


def cells_csv(numbers: Sequence[Number]) -> str:
    """The same as CSV, one number a line."""
    file = io.StringIO()
    writer = csv.DictWriter(file, _KEYS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(numbers))
    return file.getvalue()


def summary_metrics(numbers: Iterable[Number]) -> dict[str, dict[str, Any]]:
    """The numbers of the mixes as metrics of ``summary.json``: ``model/group/level/metric`` to value and interval."""
    found: dict[str, dict[str, Any]] = {}
    for one in numbers:
        if one.split or (one.group not in {"clean", *MIXES}) or one.measure not in {"level", "apc", "breaking"}:
            continue
        (row,) = _rows([one])
        name = "/".join(part for part in (one.model, one.group, one.level or one.measure, one.metric) if part)
        name = name if one.part == "all" else f"{name}/{one.part}"
        rounded = {key: None if row[key] is None else round(row[key], 6) for key in ("value", "low", "high")}
        more = {key: row[key] for key in ("beyond", "reason") if row[key]}
        found[name] = {**rounded, "n": row["n"], "signature": row["signature"], **more}
    return found


def number_signature(number: Number) -> str:
    """How a number was made: its scores, then the statistic."""
    if not isinstance(number.outcome, Scored):
        return ""
    scores = {f"score_{name}": value for name, value in number.signature.items() if name != "version"}
    made = dict(number.outcome.signature.fields)
    made.pop("version", None)
    return str(Signature.of(**scores, **made))
