"""Result rows: one append-only file in which a failed request is a row like any other.

::

    {"id": case, "metric": "J", "value": 0.8, "outcome": "scored", "reason": null, "signature": {...}, "key", "model",
     "condition", ...}
    {"id": case, "metric": null, "value": null, "outcome": "failed", "reason": cause, ..., "error": {...}}

A row without a metric stands for all metrics of its request. Of several rows about one request the last one counts, and
a score counts before a failure. ``errors.jsonl`` follows from the rows when a run ends: what one file or one model's
fault cost is one row there, however many requests it cost. Two kinds of failures are told apart:

- **of the input**: a frame, a sound or a true mask cannot be read, for every model alike. One row names the file, and
  says how many requests it cost, and of whom. It has no ``id``, since one file may be of several cases.
- **of the model**: it crashed, took too long or gave no answer. One row for a case and a condition; one for a case
  where the same was said under every condition that the model was asked under.

Both say under ``questions`` what they cost, as blocks of ``{"model", "conditions", "cases"}``, each standing for every
case under every condition, and under ``cause`` what was said of each.
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


def failed_row(key: str, place: ResultKey, error: ErrorRecord, *, stage: str) -> dict[str, Any]:
    """The result row of a request without answer or score; an error of stage ``READ`` is of the input."""
    model, condition, case = place
    of_input = error.stage == READ
    told = replace(error, stage=READ if of_input and stage != "score" else stage)
    return {
        **score_to_json(case, "", Failed(told)),
        "metric": None,
        "key": key,
        "model": model,
        "condition": condition,
        "error": error_to_json(None if of_input else case, told),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the rows of a record say by now."""

    scored: frozenset[str]  # keys of the requests with a score of every metric
    failed: Mapping[ResultKey, Mapping[str, Any]]  # the others that failed, with the row of errors.jsonl that says why
    unread: tuple[Mapping[str, Any], ...]  # rows that say which true masks could not be read, each once


def standing(
    rows: Iterable[Mapping[str, Any]],
    valid: Mapping[str, ResultKey],
    *,
    metrics: Sequence[str],
    truths: Mapping[str, str] = MappingProxyType({}),
) -> Standing:
    """Sort the rows of a record, in their order, by what became of each request; other data and truths do not count."""
    found: dict[str, set[str]] = {}
    failed: dict[str, Mapping[str, Any]] = {}
    unread: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        key = str(row["key"])
        if not is_valid(row, valid, truths):
            continue
        if row["outcome"] == "failed":
            failed[key] = row["error"]
        else:
            found.setdefault(key, set()).add(str(row["metric"]))
            unread.update((str(one), one) for one in row.get("unread", ()))
    scored = frozenset(key for key, mine in found.items() if mine >= set(metrics))
    return Standing(
        scored=scored,
        failed={valid[key]: error for key, error in failed.items() if key not in scored},
        unread=tuple(unread.values()),
    )


def is_valid(row: Mapping[str, Any], valid: Mapping[str, ResultKey], truths: Mapping[str, str]) -> bool:
    """Whether a row is of the data and of the true masks as they are now; what names no truth is of any."""
    place = valid.get(str(row["key"]))
    if place is None:
        return False
    truth = truths.get(place[2])
    return truth is None or row.get("truth", truth) == truth


def error_rows(
    failed: Mapping[ResultKey, Mapping[str, Any]],
    *,
    asked_of: Mapping[str, Sequence[str]],
    conditions: Sequence[str],
) -> list[dict[str, Any]]:
    """The rows of ``errors.jsonl`` about failed requests, ordered by model and condition; what says the same is one."""
    order = {name: place for place, name in enumerate((*asked_of, *conditions))}
    groups: dict[object, tuple[Mapping[str, Any], list[ResultKey]]] = {}
    for place, error in failed.items():
        said = tuple(error.get(name) for name in ("id", "path", "line", "stage", "error"))
        _, places = groups.setdefault((said, place[0] if error.get("id") is not None else ""), (error, []))
        places.append(place)
    found: list[dict[str, Any]] = []
    for error, places in groups.values():
        places.sort(key=lambda place: ([order.get(name, len(order)) for name in place[:2]], place[2]))
        of_input = error.get("id") is None
        if of_input or {condition for _, condition, _ in places} == set(asked_of.get(places[0][0], ())):
            found.append(_error_row(error, places))
        else:
            found += [_error_row(error, [place]) for place in places]
    return found


def _error_row(error: Mapping[str, Any], places: Sequence[ResultKey]) -> dict[str, Any]:
    """The row of an error, about these requests."""
    cause = str(error.get("error"))
    if error.get("id") is None:
        text = f"{cause}; it costs {_cost(places)}"
    else:
        under = places[0][1] if len(places) == 1 else f"all {len(places)} conditions"
        text = f"{places[0][0]}, {under}: {cause}"
    return {**error, "error": text, "cause": cause, "questions": list(_blocks(places))}


def _cost(places: Sequence[ResultKey]) -> str:
    """How many requests, of which models under which conditions, about how many cases."""
    by_model: dict[str, dict[str, None]] = {}
    for model, condition, _ in places:
        by_model.setdefault(model, {})[condition] = None
    whom = ", ".join(
        f"{model} ({', '.join(under) if len(under) <= _NAMED else f'{len(under)} conditions'})"
        for model, under in by_model.items()
    )
    cases = list(dict.fromkeys(case for _, _, case in places))
    return f"{counted(len(places), 'question')} about {few(cases)}: {whom}"


def few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    named = ", ".join(name[:60] for name in names[:_NAMED])
    return named if len(names) <= _NAMED else f"{named} and {len(names) - _NAMED} more"


def _blocks(places: Sequence[ResultKey]) -> Iterator[dict[str, Any]]:
    """The requests as blocks of all cases under all conditions."""
    under: dict[tuple[str, str], dict[str, None]] = {}
    for model, condition, case in places:
        under.setdefault((model, condition), {})[case] = None
    blocks: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (model, condition), cases in under.items():
        blocks.setdefault((model, tuple(sorted(cases))), []).append(condition)
    for (model, names), conditions in blocks.items():
        yield {"model": model, "conditions": conditions, "cases": list(names)}


def unmade_rows(errors: Sequence[ListError]) -> list[dict[str, Any]]:
    """The rows of what could not be made a case: one for all cases of which the same is said of the same file."""
    said: dict[ErrorRecord, list[str | None]] = {}
    for name, error in errors:
        said.setdefault(error, []).append(name)
    rows = []
    for error, names in said.items():
        cases = [name for name in names if name is not None]
        if error.path is None or len(cases) < 2:
            rows += [error_to_json(name, error) for name in names]
            continue
        told = replace(error, error=f"{error.error}; it costs {counted(len(cases), 'case')}: {few(cases)}")
        rows.append({**error_to_json(None, told), "cases": cases})
    return rows
