"""``auscult score`` of a record of ``run r2``: its numbers anew from its lines; no data is opened, no model asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from auscult.errors import REMARKS, RecordError
from auscult.jobs.errors import FILE as ERRORS
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.jobs.predict import STAGE
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.record.lines import load, numbered_lines
from auscult.suites.r2.answers import Answers, answers_of, answers_table
from auscult.suites.r2.asking import FILE as ASKED
from auscult.suites.r2.asking import Asked, Place, asked_of
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.compare_reading import R2Record, labels_of, read_record
from auscult.suites.r2.finish_run import Outcome, shown_of, summary_of
from auscult.suites.r2.measures import View
from auscult.suites.r2.results import results_of
from auscult.suites.r2.scoring import FILE as SCORES
from auscult.suites.r2.telling import questions_of
from auscult.suites.r2.vain import vain_keys
from auscult.suites.registered import SuiteRun
from auscult.types import Query

COMMAND: Final = "score"
_LIMITS: Final = Limits(max_bytes=64 << 20)
_AGAIN: Final = "the file was edited or damaged; run the command of this record again with --overwrite"


def score_r2(folder: Path) -> SuiteRun:
    """Compute the numbers of a record from its scores; nothing is written.

    Args:
        folder: The output folder of ``auscult run r2``; the run may still be at work.

    Returns:
        Summary and tables, as the run itself tells them of the same lines; a remark where it did not come to its end.

    Raises:
        RecordError: It is no such record, or a damaged one; the message names file and line.
    """
    record = read_record(folder, labels_of([folder])[0])
    asked = _asked(record)
    places = asked.places(_cases(record), seed=record.seed)
    results = results_of(View(grid=record.grid, seed=record.seed))
    answers = answers_of(
        _predictions(folder / PREDICTIONS),
        valid=places,
        models=record.grid.models,
        failed=tuple(dict.fromkeys(_failed(record, asked, places))),
    )
    tables = {**results.tables, "answers": answers_table(answers, record.grid.waiting)}
    summary = summary_of(_outcome(record, asked, answers), results.numbers)
    remarks = () if record.finished else ("the run has not come to its end: what has no score is only yet to come",)
    return SuiteRun(out=folder, summary=summary, tables=tables, shown=shown_of(tables), remarks=remarks)


def _asked(record: R2Record) -> Asked:
    content = load(read_bytes(record.path / ASKED, limits=_LIMITS))  # ``read_record`` has checked it
    told, vain = asked_of(content), vain_keys(record.path)
    return Asked(models=record.revisions, conditions=record.grid.conditions, asked_of=told, vain=vain)


def _cases(record: R2Record) -> list[R2Case]:
    """The cases without their files: who they are and what they were, by hash."""
    return [
        R2Case(
            id=name,
            clip=clip,
            split=record.grid.splits.get(name, ""),
            query=Query(),
            frames=(),
            targets=(),
            size=(0, 0),
            rate_fps=1.0,
            scored=record.task.scored,
            digest=record.digests[name].partition(" ")[0],
        )
        for name, clip in record.grid.cases.items()
    ]


def _failed(record: R2Record, asked: Asked, places: Mapping[str, Place]) -> Iterator[Place]:
    """What has no answer, or one without a score: as errors tell it, and of a finished run what lacks a score."""
    if asked.vain is not None:
        yield from asked.without(places, {str(row["key"]) for _, row in numbered_lines(record.path / SCORES)})
        return
    valid = set(places.values())
    place_of = asked.told()
    for _, row in numbered_lines(record.path / ERRORS):
        told = place_of(str(row.get("error")))  # a row of an earlier version names its question in its words alone
        costs = questions_of(row) or ([] if told is None else [(*told, str(row.get("id")))])
        yield from (place for place in costs if place in valid)
    if record.finished:
        scored = {str(row["key"]) for _, row in numbered_lines(record.path / SCORES)}
        yield from asked.without(places, scored)


def _predictions(path: Path) -> Iterator[Mapping[str, Any]]:
    """What the table of answers needs of each prediction; masks are not decoded."""
    numbers = ("seconds", "preparing_s", "overhead_s")
    for number, row in numbered_lines(path):
        times = [row.get(name) for name in numbers]
        optional = [row.get(name) for name in ("peak_mb", "threshold")]
        sound = (
            isinstance(row.get("key"), str)
            and isinstance(row.get("counts"), list)
            and all(_is_number(one) for one in times)
            and all(one is None or _is_number(one) for one in optional)
        )
        if not sound:
            raise RecordError(
                "the line is no answer", path=path, line=number, expected="key, counts and times", hint=_AGAIN
            )
        yield {"threshold": None, **row}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _outcome(record: R2Record, asked: Asked, answers: Mapping[str, Answers]) -> Outcome:
    place_of = asked.told()
    rows = (row for _, row in numbered_lines(record.path / ERRORS) if place_of(str(row.get("error"))) is None)
    unlisted = sum(map(_unlisted, rows))
    return Outcome(
        command=COMMAND,
        grid=record.grid,
        answers=answers,
        cases=(),
        unlisted=unlisted,
        absent=0,
        valid={},
        seed=record.seed,
        workers=0,
    )


def _unlisted(row: Mapping[str, Any]) -> int:
    """How many cases an error kept from being made; 0 for one that is about questions or a model, or costs nothing."""
    if row.get("stage") in (*REMARKS, STAGE, "score") or "questions" in row:
        return 0
    cases = row.get("cases")
    return len(cases) if isinstance(cases, list) else 1
