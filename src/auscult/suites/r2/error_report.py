"""What failed, told once in ``errors.jsonl``: a file that cannot be read is one row, however many questions it cost.

Two kinds of failures are told apart:

- **of the input**: a frame, a sound or a true mask cannot be read, for every model alike. One row names the file, and
  says how many questions it cost, and of whom. It has no ``id``, since one file may be of several cases.
- **of the model**: it crashed, took too long or gave no answer. One row for a case and a condition; one for a case
  where the same was said under every condition that the model was asked under.

Both say under ``questions`` what they cost, as blocks of ``{"model", "conditions", "cases"}``, each standing for every
case under every condition, and under ``cause`` what was said of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from auscult.cases.ids import counted
from auscult.cases.listing import ListError
from auscult.errors import ErrorRecord
from auscult.jobs.predict import READ
from auscult.record.schema import error_to_json
from auscult.suites.r2.conditions import words_of
from auscult.suites.r2.grid import Grid
from auscult.suites.r2.request_log import RequestLog, ResultKey

_NAMED: Final = 3
_MOST_QUESTIONS: Final = 1_000_000  # of a row: records come from strangers
_MOST_NAMES: Final = 1_000_000


def failed_row(place: ResultKey, error: ErrorRecord, *, stage: str) -> dict[str, Any]:
    """The row of a question without an answer or a score.

    Args:
        place: The question.
        error: Why; of stage ``READ`` where the input is at fault.
        stage: What was being done: ``predict`` or ``score``.
    """
    of_input = error.stage == READ
    kept = READ if of_input and stage != "score" else stage
    row = error_to_json(None if of_input else place[2], replace(error, stage=kept))
    return _with({**row, "cause": error.error}, [place])


def questions_of(row: Mapping[str, Any]) -> list[ResultKey]:
    """What an error row says it cost; nothing where it does not say it."""
    blocks = row.get("questions")
    found: dict[ResultKey, None] = {}
    for block in blocks if isinstance(blocks, list) else ():
        told = block if isinstance(block, Mapping) else {}
        model, conditions, cases = (told.get(name) for name in ("model", "conditions", "cases"))
        if not (isinstance(model, str) and isinstance(conditions, list) and isinstance(cases, list)):
            continue
        conditions, cases = (dict.fromkeys(map(str, some[:_MOST_NAMES])) for some in (conditions, cases))
        if len(found) + len(conditions) * len(cases) <= _MOST_QUESTIONS:
            found.update(dict.fromkeys((model, condition, case) for condition in conditions for case in cases))
    return list(found)


def still_true(
    rows: Iterable[Mapping[str, Any]], asked: RequestLog, now: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """The errors of questions that are not asked again now; everything else is tried again, and told again."""

    def stands(model: str, condition: str) -> bool:
        return condition in asked.asked_of.get(model, ()) and condition not in now.get(model, ())

    kept = []
    for row in rows:
        if row.get("stage") == "score":  # every answer without a score is scored again
            continue
        places = questions_of(row)
        left = [place for place in places if stands(*place[:2])]
        if left:
            kept.append(_with(row, left))
    return kept


def merge_errors(
    rows: Iterable[Mapping[str, Any]], *, asked: RequestLog, failed: Collection[ResultKey]
) -> list[dict[str, Any]]:
    """Join the rows that say the same."""
    standing = set(failed)
    groups: dict[object, tuple[Mapping[str, Any], dict[ResultKey, None]]] = {}
    plain: list[dict[str, Any]] = []
    for row in rows:
        costs = questions_of(row)
        if not costs:
            plain.append(dict(row))
            continue
        _, left = groups.setdefault(_key(row, costs), (row, {}))
        left.update(dict.fromkeys(place for place in costs if place in standing))
    unread = {(row.get("path"), row.get("cause")) for row, left in groups.values() if _of_input(row) and left}
    # what keeps a case's input from being written keeps it from being shown, which is told already
    found = [row for row in plain if row.get("stage") != "frames" or (row.get("path"), row.get("error")) not in unread]
    order = {name: place for place, name in enumerate((*asked.models, *(one.name for one in asked.conditions)))}
    for row, left in groups.values():
        if left:
            places = sorted(left, key=lambda place: ([order.get(name, len(order)) for name in place[:2]], place[2]))
            found += _rows(row, places, asked.asked_of)
    return found


def _key(row: Mapping[str, Any], places: Sequence[ResultKey]) -> object:
    said = tuple(row.get(name) for name in ("id", "path", "line", "stage", "cause"))
    return said if _of_input(row) else (*said, places[0][0])


def _of_input(row: Mapping[str, Any]) -> bool:
    return "questions" in row and row.get("id") is None


def _rows(
    row: Mapping[str, Any], places: Sequence[ResultKey], asked_of: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """A file in one row; a model's failure on a case in one row where it failed so under all its conditions."""
    every = asked_of.get(places[0][0], ())
    if _of_input(row) or {condition for _, condition, _ in places} == set(every):
        yield _with(row, places, every=len(places))
        return
    for place in places:
        yield _with(row, [place])


def _with(row: Mapping[str, Any], places: Sequence[ResultKey], *, every: int = 0) -> dict[str, Any]:
    """The row, about these questions."""
    cause = str(row.get("cause"))
    if row.get("id") is None:
        error = f"{cause}; it costs {_cost(places)}"
    elif every > 1:
        error = f"{places[0][0]}, all {every} conditions: {cause}"
    else:
        error = f"{places[0][0]}, {', '.join(condition for _, condition, _ in places)}: {cause}"
    return {**row, "error": error, "cause": cause, "questions": _blocks(places)}


def _cost(places: Sequence[ResultKey]) -> str:
    """How many questions, of which models under which conditions, about how many cases."""
    by_model: dict[str, dict[str, None]] = {}
    for model, condition, _ in places:
        by_model.setdefault(model, {})[condition] = None
    whom = ", ".join(
        f"{model} ({', '.join(under) if len(under) <= _NAMED else f'{len(under)} conditions'})"
        for model, under in by_model.items()
    )
    cases = list(dict.fromkeys(case for _, _, case in places))
    return f"{counted(len(places), 'question')} about {_few(cases)}: {whom}"


def _few(cases: Sequence[str]) -> str:
    named = ", ".join(case[:60] for case in cases[:_NAMED])
    return named if len(cases) <= _NAMED else f"{named} and {len(cases) - _NAMED} more"


def _blocks(places: Sequence[ResultKey]) -> list[dict[str, Any]]:
    """The questions as blocks of all cases under all conditions."""
    under: dict[tuple[str, str], dict[str, None]] = {}
    for model, condition, case in places:
        under.setdefault((model, condition), {})[case] = None
    blocks: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (model, condition), cases in under.items():
        blocks.setdefault((model, tuple(sorted(cases))), []).append(condition)
    return [
        {"model": model, "conditions": conditions, "cases": list(cases)}
        for (model, cases), conditions in blocks.items()
    ]


def waiting_notes(grid: Grid) -> list[str]:
    """What was to be asked of each model and never was, in a sentence each that says how to ask it."""
    found = []
    for model in grid.models:
        mine = {one: grid.waiting[model, one.name] for one in grid.conditions if (model, one.name) in grid.waiting}
        if not mine:
            continue
        count = sum(map(len, mine.values()))
        about = _few(sorted(set().union(*mine.values())))
        found.append(
            f"{model}: {counted(count, 'question')} of an earlier command about {about} "
            f"{'was' if count == 1 else 'were'} never asked, since it was stopped or the data have changed since; "
            f"they are no failures and in no number; repeat it: {words_of(mine)}.{_kept_out(grid, model)}"
        )
    return found


def _kept_out(grid: Grid, model: str) -> str:
    """Conditions whose answers are in no table, since others under them are missing."""
    out = [one for one in grid.conditions if grid.known(model, one.name) and not grid.asked(model, one.name)]
    named = _few([f"{one.label} {one.level}" for one in out])
    return f" Until then its answers under {named} are in no table." if out else ""


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
        told = replace(error, error=f"{error.error}; it costs {counted(len(cases), 'case')}: {_few(cases)}")
        rows.append({**error_to_json(None, told), "cases": cases})
    return rows
