"""A record as views of an in-memory database (``views.sql``), with read-only queries of bounded time and size."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.errors import REMARKS, UsageError
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.media.paths import inside
from auscult.record.folder import read_manifest
from auscult.record.lines import read_lines
from auscult.record.reader import require_record
from auscult.shipped import read_shipped
from auscult.suites.core.conditions import CLEAN, is_kind
from auscult.suites.core.grid import Task
from auscult.suites.core.numbers import GridView
from auscult.suites.core.records import SuiteRecord, read_record, suite_of
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.runner import CASES, ERRORS
from auscult.suites.mqa.finish_run import CANDIDATES, JUDGES, read_basis, read_candidates
from auscult.suites.mqa.finish_run import COMMAND as MQA

MOST_ROWS: Final = 500
MOST_SECONDS: Final = 5.0
_MOST_LETTERS: Final = 4000
_MOST_CELL: Final = 300
_FULL_FRAME: Final = "baseline.full_frame.v1"
_MQA: Final = Task(suite="mqa", name="mqa", title="judges of masks", metrics=("closeness",))
"""Of a judge's IoU: 1 minus the absolute error."""

Row: TypeAlias = tuple[Any, ...]


class RecordViews:
    """The views of one record, its ``task`` with the metrics, and its ``seed``."""

    def __init__(self, folder: Path) -> None:
        """Read a record; UsageError where the extra is missing or the record is of no suite."""
        if find_spec("duckdb") is None:
            hint = "pip install 'auscult[agent]', or '.[agent]' in a clone"
            raise UsageError("questions need the extra `agent`", expected="the package duckdb", hint=hint)
        require_record(folder)
        command, self.task, self.seed = read_manifest(folder)["command"], _MQA, 0
        suite = None if command == MQA else suite_of(command, folder)
        if suite is not None:
            record = read_record(folder, suite)
            self.task, self.seed = record.grid.task, record.seed
        elif command != MQA:
            expected = "a study that has run, or a record of `auscult run`"
            raise UsageError(f"the record is of `auscult {command}`", expected=expected, path=folder)
        self._connection = _database(_of_judges(folder) if suite is None else _of_models(record))

    def query(self, sql: str, *, most_rows: int = MOST_ROWS) -> tuple[tuple[str, ...], list[Row]]:
        """Columns and rows of one SELECT over the views; ``most_rows + 1`` rows if there are more than that."""
        import duckdb

        sql = _text(sql)
        self._check(sql)
        timer = threading.Timer(MOST_SECONDS, self._connection.interrupt)
        timer.start()
        try:
            result = self._connection.execute(sql)
            rows = [tuple(map(_cell, row)) for row in result.fetchmany(most_rows + 1)]
        except duckdb.InterruptException as error:
            raise UsageError(f"the query takes longer than {MOST_SECONDS:g} s", expected="a cheaper one") from error
        except duckdb.Error as error:
            raise UsageError(f"the query does not run: {str(error)[:_MOST_CELL]}", expected="SQL of DuckDB") from error
        finally:
            timer.cancel()
        return tuple(str(column[0]) for column in result.description), rows

    def _check(self, sql: str) -> None:
        """Refuse anything but one SELECT over the views with known functions, by DuckDB's own parser."""
        if len(sql) > _MOST_LETTERS:
            raise UsageError(f"the query has {len(sql)} letters", expected=f"{_MOST_LETTERS} at most")
        (text,) = self._connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
        try:
            parsed = json.loads(text)
            statements = parsed.get("statements", ())
            if parsed["error"] or len(statements) != 1:
                cause = str(parsed.get("error_message") or f"{len(statements)} statements")[:_MOST_CELL]
                raise UsageError(f"the query is refused: {cause}", expected="one SELECT")
            _check_part(statements[0], _allowed()["views"])
        except RecursionError as error:
            raise UsageError("the query is refused: it is nested too deep", expected="a plain SELECT") from error


@cache
def _allowed() -> dict[str, frozenset[str]]:
    """The permitted parts of a query: none of them reads anything but the views and its arguments."""
    return {name: frozenset(words.split()) for name, words in read_shipped("agent/allowed.json").items()}


def _check_part(part: Any, names: frozenset[str]) -> None:
    """Refuse any part of a parsed query that is not known to be harmless; ``names`` are the tables it may read."""
    if isinstance(part, list):
        for child in part:
            _check_part(child, names)
    elif isinstance(part, dict):
        kind = str(part.get("class", part.get("type", "JOIN")))
        path = part.get("qualified_name", {}).get("path", [])
        functions = _allowed()["functions"]
        allowed = {"FUNCTION": functions, "WINDOW": functions, "BASE_TABLE": names}.get(kind)
        bad = allowed is not None and (len(path) != 1 or path[0].lower() not in allowed)
        if bad or kind not in _allowed()["parts"]:
            construct = f"{kind.lower().replace('_', ' ')} {'.'.join(path)[:60]}".strip()
            expected = f"one SELECT over {', '.join(sorted(names))} with plain functions"
            raise UsageError(f"the query is refused: {construct} is not allowed", expected=expected)
        for entry in part.get("cte_map", {}).get("map", ()):  # each may be used after it, inside this part
            _check_part(entry["value"], names)
            names |= {entry["key"].lower()}
        for key, value in part.items():
            if key != "cte_map":
                _check_part(value, names)


def _database(tables: Mapping[str, Iterable[Row]]) -> Any:
    import duckdb

    connection = duckdb.connect(":memory:")
    raw, views = files("auscult.agent").joinpath("views.sql").read_text("utf-8").split("\n\n", 1)
    connection.execute(raw)
    for name, rows in tables.items():
        if columns := [[_text(cell) for cell in column] for column in zip(*rows, strict=True)]:
            types = (row[1] for row in connection.execute(f"DESCRIBE {name}").fetchall())
            values = ", ".join(f"unnest(?::{kind}[])" for kind in types)
            connection.execute(f"INSERT INTO {name} SELECT {values}", columns)
    connection.execute(views)
    return connection


def _text(cell: Any) -> Any:
    """A cell for the database: rows as JSON, no lone surrogates."""
    text = json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict) else cell
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


def _of_models(record: SuiteRecord) -> dict[str, Iterable[Row]]:
    """The tables of a record of models, of the current data only."""
    grid = record.grid
    areas = grid.pixels.get((_FULL_FRAME, CLEAN), {})
    rows = {row["id"]: row for row in read_lines(record.path / CASES)}
    times = {
        row.get("key"): (row.get("seconds"), row.get("preparing_s")) for row in read_lines(record.path / PREDICTIONS)
    }
    return {
        "raw_cases": [(name, clip, rows[name], *areas.get(name, (0, 0))) for name, clip in grid.cases.items()],
        "raw_results": _results(record),
        "raw_asked": [(key, *request, request in record.failed) for key, request in record.requests.items()],
        "raw_times": [(key, *map(str, seconds)) for key, seconds in times.items()],
        "raw_failures": _failures(record),
        "conditions": [
            (one.name, one.label if is_kind(one.group) else one.group, one.group.rpartition(".v")[0].partition(".")[0],
             one.level, one.strength, one.part)
            for one in grid.conditions
        ],
        "models": [(model, grid.task.is_baseline(model)) for model in grid.models],
    }  # fmt: skip


def _results(record: SuiteRecord) -> Iterator[Row]:
    grid, view = record.grid, GridView(grid=record.grid, seed=record.seed)
    for model, condition in ((model, one.name) for model in grid.models for one in grid.conditions):
        for metric in view.metrics if grid.has_results(model, condition) else ():
            for case, value in view.values(model, condition, metric).items():
                number = value if isinstance(value, float | int) else None
                outcome = type(value).__name__.lower() if number is None else "scored"
                yield case, model, condition, metric, number, outcome
        for metric in grid.task.beside:
            for case, number in grid.cell(model, condition, metric).values.items():
                yield case, model, condition, metric, number, "scored"


def _failures(record: SuiteRecord) -> Iterator[Row]:
    last: dict[Any, Mapping[str, Any]] = {}
    for row in read_lines(record.path / SCORES):
        request = record.requests.get(str(row["key"]))
        if request in record.failed and row["outcome"] == "failed":
            last[request] = row["error"]
    yield from ((*request, error) for request, error in last.items())
    for row in read_lines(record.path / ERRORS):
        if "questions" not in row and row.get("stage") not in REMARKS:  # of data that could not be made a case
            yield None, None, str(row.get("id")), row


def _of_judges(folder: Path) -> dict[str, Iterable[Row]]:
    """The tables of a record of judges of masks: candidates are the cases, their defects the kinds of case."""
    read_candidates(folder)  # raises if they are damaged
    homes = {judge: inside(folder, f"{JUDGES}/{judge}") for judge in read_basis(folder).judges}
    verdicts = ((judge, row) for judge, home in homes.items() for row in read_lines(home / "verdicts.jsonl"))
    return {"raw_candidates": ((row,) for row in read_lines(folder / CANDIDATES)), "raw_verdicts": verdicts}


def _cell(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else " ".join(str(value).split())[:_MOST_CELL]
