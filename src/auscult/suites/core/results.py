"""Result rows: one append-only file in which a failed request is a row like any other.

::

    {"id": case, "metric": "J", "value": 0.8, "outcome": "scored", "reason": null, "signature": {...}, "key", "model",
     "condition", ...}
    {"id": case, "metric": null, "value": null, "outcome": "failed", "reason": cause, ..., "error": {...}}

A row without a metric stands for all metrics of its request. Of several rows about one request the last one counts, and
a score takes precedence over a failure. ``errors.jsonl`` is made from the rows at the end of a run: one row for each
cause, a file or a fault of a model, with all requests that failed by it. There are two kinds of failures:

- **of the input**: a frame, a sound or a true mask cannot be read, for every model alike. One row names the file, and
  lists the requests that failed by it, by model. It has no ``id``, since one file may be of several cases.
- **of the model**: it crashed, took too long or gave no answer. One row for a case and a condition; one for a case
  where the error is the same under every condition of the model.

Both list the failed requests under ``questions``, as blocks of ``{"model", "conditions", "cases"}``, each standing for
every case under every condition, and the error's message under ``cause``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from auscult.cases.ids import counted
from auscult.cases.problems import ListError
from auscult.errors import ErrorRecord
from auscult.jobs.predict import READ
from auscult.outcome import Failed
from auscult.record.schema import error_to_json, score_to_json

FILE: Final = "scores.jsonl"

ResultKey: TypeAlias = tuple[str, str, str]
"""Model, condition and case."""

_NAMED: Final = 3


def failed_row(key: str, request: ResultKey, error: ErrorRecord, *, stage: str) -> dict[str, Any]:
    """The result row of a request without answer or score; an error of stage ``READ`` is of the input."""
    model, condition, case = request
    of_input = error.stage == READ
    recorded = replace(error, stage=READ if of_input and stage != "score" else stage)
    return {
        **score_to_json(case, "", Failed(recorded)),
        "metric": None,
        "key": key,
        "model": model,
        "condition": condition,
        "error": error_to_json(None if of_input else case, recorded),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStatus:
    """Which requests of a record have been scored, and which have failed."""

    scored: frozenset[str]  # keys of the requests with a score of every metric
    failed: Mapping[ResultKey, Mapping[str, Any]]  # failed ones, with their row of errors.jsonl
    unread: tuple[Mapping[str, Any], ...]  # rows naming the true masks that cannot be read, each once


def request_status(
    rows: Iterable[Mapping[str, Any]],
    valid: Mapping[str, ResultKey],
    *,
    metrics: Sequence[str],
    truths: Mapping[str, str] = MappingProxyType({}),
) -> RequestStatus:
    """Sort the rows of a record by the outcome of their requests; rows of other data or truths do not count."""
    by_key: dict[str, set[str]] = {}
    failed: dict[str, Mapping[str, Any]] = {}
    unread: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        key = str(row["key"])
        if not is_valid(row, valid, truths):
            continue
        if row["outcome"] == "failed":
            failed[key] = row["error"]
        else:
            by_key.setdefault(key, set()).add(str(row["metric"]))
            unread.update((str(entry), entry) for entry in row.get("unread", ()))
    scored = frozenset(key for key, present in by_key.items() if present >= set(metrics))
    return RequestStatus(
        scored=scored,
        failed={valid[key]: error for key, error in failed.items() if key not in scored},
        unread=tuple(unread.values()),
    )


def is_valid(row: Mapping[str, Any], valid: Mapping[str, ResultKey], truths: Mapping[str, str]) -> bool:
    """Whether a row is of the current data and truth; a row without a truth always is."""
    request = valid.get(str(row["key"]))
    if request is None:
        return False
    truth = truths.get(request[2])
    return truth is None or row.get("truth", truth) == truth


def error_rows(
    failed: Mapping[ResultKey, Mapping[str, Any]],
    *,
    conditions_by_model: Mapping[str, Sequence[str]],
    conditions: Sequence[str],
) -> list[dict[str, Any]]:
    """The rows of ``errors.jsonl`` about failed requests: one for each file, or case of a model.

    A model that failed about a case under some of its conditions only has a row for each of these.
    """
    order = {name: index for index, name in enumerate((*conditions_by_model, *conditions))}
    groups: dict[object, tuple[Mapping[str, Any], list[ResultKey]]] = {}
    for request, error in failed.items():
        identity = tuple(error.get(name) for name in ("id", "path", "line", "stage", "error"))
        _, requests = groups.setdefault((identity, request[0] if error.get("id") is not None else ""), (error, []))
        requests.append(request)
    rows: list[dict[str, Any]] = []
    for error, requests in groups.values():
        requests.sort(key=lambda request: ([order.get(name, len(order)) for name in request[:2]], request[2]))
        of_input = error.get("id") is None
        if of_input or {condition for _, condition, _ in requests} == set(conditions_by_model.get(requests[0][0], ())):
            rows.append(_error_row(error, requests))
        else:
            rows += [_error_row(error, [request]) for request in requests]
    return rows


def _error_row(error: Mapping[str, Any], requests: Sequence[ResultKey]) -> dict[str, Any]:
    """The row of an error with the requests that failed by it."""
    cause = str(error.get("error"))
    if error.get("id") is None:
        text = f"{cause}; it costs {_cost(requests)}"
    else:
        under = requests[0][1] if len(requests) == 1 else f"all {len(requests)} conditions"
        text = f"{requests[0][0]}, {under}: {cause}"
    return {**error, "error": text, "cause": cause, "questions": list(_blocks(requests))}


def _cost(requests: Sequence[ResultKey]) -> str:
    """The failed requests in words: counts, models, conditions and cases."""
    by_model: dict[str, dict[str, None]] = {}
    for model, condition, _ in requests:
        by_model.setdefault(model, {})[condition] = None
    whom = ", ".join(
        f"{model} ({', '.join(under) if len(under) <= _NAMED else f'{len(under)} conditions'})"
        for model, under in by_model.items()
    )
    cases = list(dict.fromkeys(case for _, _, case in requests))
    return f"{counted(len(requests), 'request')} about {few(cases)}: {whom}"


def few(names: Sequence[str]) -> str:
    """The first names, and the count of the others."""
    text = ", ".join(name[:60] for name in names[:_NAMED])
    return text if len(names) <= _NAMED else f"{text} and {len(names) - _NAMED} more"


def _blocks(requests: Sequence[ResultKey]) -> Iterator[dict[str, Any]]:
    """The requests as blocks of all cases under all conditions."""
    under: dict[tuple[str, str], dict[str, None]] = {}
    for model, condition, case in requests:
        under.setdefault((model, condition), {})[case] = None
    blocks: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (model, condition), cases in under.items():
        blocks.setdefault((model, tuple(sorted(cases))), []).append(condition)
    for (model, names), conditions in blocks.items():
        yield {"model": model, "conditions": conditions, "cases": list(names)}


def unmade_rows(errors: Sequence[ListError]) -> list[dict[str, Any]]:
    """The rows of data that could not be made a case, one for equal errors of one file."""
    by_error: dict[ErrorRecord, list[str | None]] = {}
    for name, error in errors:
        by_error.setdefault(error, []).append(name)
    rows = []
    for error, names in by_error.items():
        cases = [name for name in names if name is not None]
        if error.path is None or len(cases) < 2:
            rows += [error_to_json(name, error) for name in names]
            continue
        merged = replace(error, error=f"{error.error}; it costs {counted(len(cases), 'case')}: {few(cases)}")
        rows.append({**error_to_json(None, merged), "cases": cases})
    return rows
