"""Asks models and scores their answers, without repeating work.

::

    DIR/cases.jsonl         the cases
    DIR/requests.jsonl      the models and conditions so far
    DIR/predictions.jsonl   every answer, as RLE
    DIR/scores.jsonl        every metric of every answer; a failed request is a row like any other
    DIR/errors.jsonl        what failed, each cause once

The same command again repeats no work, and an added condition or model computes only what is missing. A model that
cannot be loaded fails alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from auscult.errors import AuscultError, ErrorRecord, OutputError, RecordError
from auscult.jobs import predict as job
from auscult.jobs.runner import ErrorLog, Progress
from auscult.models.adapters import ModelSpec
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.schema import error_to_json
from auscult.suites.core.conditions import NOTHING, Condition
from auscult.suites.core.grid import Grid, Task, grid_of
from auscult.suites.core.requests import FILE as REQUESTS
from auscult.suites.core.requests import (
    CaseKind,
    RequestLog,
    SuiteCase,
    changes_case,
    command_rows,
    conditions_for,
    key_of,
    load_log,
    log_of,
    require_log,
    withdrawn_rows,
)
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.results import RequestStatus, ResultKey, error_rows, failed_row, request_status
from auscult.suites.options import no_model_named
from auscult.work.pool import KeptWorkers, run_tasks
from auscult.work.pool import Task as PoolTask

CASES: Final = "cases.jsonl"
ERRORS: Final = "errors.jsonl"
_ROWS_A_WRITE: Final = 64

AskableKind = TypeVar("AskableKind", bound=job.Askable[Any])
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToScore(Generic[AskableKind]):
    """A stored prediction and its case under a condition; goes to a worker process."""

    row: Mapping[str, Any]
    prepared: AskableKind  # the case under its condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The scores and failures of a run, from which all results are computed."""

    grid: Grid  # all scores
    requests: Mapping[str, ResultKey]  # key of an answer to model, condition and case
    failed: tuple[ResultKey, ...]  # with those of models that could not be loaded
    status: RequestStatus  # of the requests, made or not


def truths_of(cases: Sequence[SuiteCase]) -> dict[str, str]:
    """The hash of the truth of each case, where it is known."""
    return {case.id: case.truth for case in cases if case.truth is not None}


def collect_scores(
    rows: Callable[[], Iterable[Mapping[str, Any]]],
    log: RequestLog,
    cases: Sequence[SuiteCase],
    *,
    task: Task,
    seed: int,
    lost: Sequence[ResultKey] = (),
) -> Finished:
    """The scores of the cases for all requests of a log, from the rows of a record, which are read twice.

    ``lost`` are requests that failed without a row.
    """
    requests = log.requests(cases, seed=seed)
    truths = truths_of(cases)
    status = request_status(rows(), requests, metrics=task.metrics, truths=truths)
    failed = tuple(dict.fromkeys((*lost, *filter(log.was_requested, status.failed))))
    grid = grid_of(
        rows(),
        task=task,
        valid=requests,
        cases={case.id: (case.clip, case.split) for case in cases},
        models=tuple(log.models),
        conditions=log.conditions,
        truths=truths,
        about={case.id: getattr(case, "about", {}) for case in cases},
        failed=failed,
        waiting=set(log.waiting(requests, status.scored)) - set(failed),
    )
    return Finished(grid=grid, requests=requests, failed=failed, status=status)


def earlier_log(run: RunFolder) -> RequestLog:
    """The requests of earlier commands; an error if the folder has scores but no list of requests."""
    has_log = (run.path / REQUESTS).is_file() or not (run.path / SCORES).is_file()
    return load_log(run.path) if has_log else require_log(run.path)


def write_cases(run: RunFolder, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write ``cases.jsonl``: rows of ``id``, ``clip``, ``digest``; maybe ``split``, ``truth`` (a hash), ``about``."""
    run.write_lines(CASES, rows)


def write_errors(run: RunFolder, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write ``errors.jsonl`` with these rows and no others."""
    run.remove(ERRORS)
    ErrorLog(run).keep(rows)


def stored_rows(
    folder: Path, requests: Mapping[str, ResultKey], wanted: Collection[ResultKey]
) -> dict[ResultKey, Mapping[str, Any]]:
    """The first stored answer to each of some requests."""
    stored: dict[ResultKey, Mapping[str, Any]] = {}
    for row in read_lines(folder / job.FILE):
        request = requests.get(str(row["key"]))
        if request is not None and request in wanted:
            stored.setdefault(request, row)
    return stored


@dataclass(slots=True, kw_only=True)
class SuiteRunner(Generic[CaseKind, AskableKind]):
    """A run in progress."""

    run: RunFolder
    task: Task
    cases: Sequence[CaseKind]
    seed: int
    how: job.PredictOptions  # workers and limits
    # from a case and a condition to what asks a model in a worker process
    prepare: Callable[[CaseKind, Condition], AskableKind]
    # called in a worker process, makes a function from one prediction to its rows; must be picklable
    scorer: Callable[[], Callable[[ToScore[AskableKind]], list[dict[str, Any]] | Failed]]
    progress: Progress  # optional callback
    # workers that ask baselines, score and draw one after the other, as no model under test does
    kept: KeptWorkers | None = None
    # sends requests to a model, as ``jobs.predict.predict`` does for masks and ``jobs.ask.ask`` for text
    send: Callable[..., None] = job.predict
    # called before replies are scored, with all valid requests
    before_scoring: Callable[[Mapping[str, ResultKey]], None] | None = None
    # rows of ``errors.jsonl`` that belong to no single request
    errors: list[dict[str, Any]] = field(default_factory=list)
    # models that could not be loaded, and why
    unloaded: dict[str, AuscultError] = field(default_factory=dict)
    # requests to models that could not be loaded: failures of this command alone
    lost: list[ResultKey] = field(default_factory=list)
    # request key to the row of a failed request, of any command
    failures: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # keys of the stored replies
    stored: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Load the rows of earlier commands, so that a repeated failure gets no second row."""
        self.stored = {str(row["key"]) for row in read_lines(self.run.path / job.FILE)}
        rows = read_lines(self.run.path / SCORES)
        self.failures = {str(row["key"]): row for row in rows if row["outcome"] == "failed"}

    def ask_all(
        self,
        log: RequestLog,
        models: Sequence[ModelSpec],
        conditions: Sequence[Condition],
        *,
        baselines: Sequence[ModelSpec],
    ) -> RequestLog:
        """Ask models under all conditions and baselines on clean input, and score; returns the extended log.

        UsageError if neither this command nor an earlier one names a model.
        """
        rows = command_rows(log, models, conditions, baselines=baselines)
        if not (log.rows or rows):
            raise no_model_named()
        self.run.append_many(REQUESTS, rows)
        extended = log_of((*log.rows, *rows))
        for model in models:
            self._ask(model, conditions_for(model, conditions, log), options=self.how)
        self.run.append_many(REQUESTS, withdrawn_rows(extended, self.unloaded))
        if models and len(self.unloaded) == len(models):
            if not (log.rows or self.stored):  # nothing was made: other arguments may use the folder
                self.run.remove(CASES)
                self.run.remove(REQUESTS)
            raise next(iter(self.unloaded.values()))
        for model in baselines:
            self._ask(model, [NOTHING], options=replace(self.how, kept=self.kept))
        requests = extended.requests(self.cases, seed=self.seed)
        if self.before_scoring is not None:
            self.before_scoring(requests)
        self._score(requests, extended.conditions)
        return extended

    def unasked(self, model: ModelSpec, conditions: Sequence[Condition]) -> list[job.QueuedRequest]:
        """The requests to a model without a stored reply."""
        return [request for request in self._requests(model, conditions) if request.key not in self.stored]

    def finish(self, log: RequestLog, *, reported: frozenset[str | None] = frozenset()) -> Finished:
        """Write the failures, except those of files in ``reported``, and collect the scores."""
        path = self.run.path / SCORES
        done = collect_scores(lambda: read_lines(path), log, self.cases, task=self.task, seed=self.seed, lost=self.lost)
        failed = {request: error for request, error in done.status.failed.items() if log.was_requested(request)}
        names = [condition.name for condition in log.conditions]
        rows = error_rows(failed, conditions_by_model=log.conditions_by_model, conditions=names)
        # an input file that cannot be written has an unreadable source, which is reported with its requests
        unread = {(row["path"], row["cause"]) for row in rows if row["id"] is None}
        other_errors = [
            error
            for error in self.errors
            if error["stage"] != "frames" or (error["path"], error["error"]) not in unread
        ]
        truths = (row for row in done.status.unread if row.get("path") not in reported)
        write_errors(self.run, (*other_errors, *truths, *rows))
        return done

    def draw_pictures(
        self, make: Callable[[], Callable[[T], R]], contents: Mapping[str, T], *, most_workers: int = 64
    ) -> dict[str, R]:
        """Pictures for the page by the names of their contents, drawn in worker processes, without those that fail."""
        tasks = [PoolTask(name, content) for name, content in contents.items()]
        workers = min(most_workers, self.how.workers)
        results = run_tasks(make, tasks, workers=workers, stage="figure", kept=self.kept)
        outcomes = {result.key: result.outcome for result in results}
        return {name: outcome for name in contents if not isinstance(outcome := outcomes[name], Failed)}

    def _ask(self, model: ModelSpec, conditions: Sequence[Condition], *, options: job.PredictOptions) -> None:
        """Make the requests whose answers are not stored yet."""
        requests, made = self.unasked(model, conditions), set[str]()

        def keep(row: Mapping[str, Any]) -> None:
            made.add(str(row["key"]))
            self.run.append(job.FILE, row)
            self.stored.add(str(row["key"]))

        def fail(request: job.QueuedRequest, error: ErrorRecord) -> None:
            made.add(request.key)
            self._not_answered(model, request, replace(error, path=error.path or str(request.source)))

        try:
            self.progress.stage(f"ask {model.name}", len(requests))
            self.send(requests, model, options=options, keep=keep, fail=fail, progress=self.progress)
        except (RecordError, OutputError):
            raise
        except job.Stopped as error:  # the same command continues
            self._remark(model, error)
        except AuscultError as error:  # this model cannot be loaded: the others go on
            left = [request for request in requests if request.key not in made]
            self._not_loaded(model, error, left, was_loaded=bool(made))

    def _not_loaded(
        self, model: ModelSpec, error: AuscultError, requests: Sequence[job.QueuedRequest], *, was_loaded: bool
    ) -> None:
        """Record why a model cannot be asked; one that never was loaded is withdrawn from the folder."""
        recorded = self._remark(model, error)
        if not was_loaded:
            self.unloaded[model.name] = error
            self.lost += [(model.name, request.condition, request.id) for request in requests]
            return
        for request in requests:
            self._not_answered(model, request, recorded)

    def _not_answered(self, model: ModelSpec, request: job.QueuedRequest, error: ErrorRecord) -> None:
        self._keep_failure(request.key, (model.name, request.condition, request.id), error, stage=job.STAGE)

    def _remark(self, model: ModelSpec, error: AuscultError) -> ErrorRecord:
        """Record an error of a model."""
        recorded = ErrorRecord.of(error, job.STAGE)
        self.errors.append(error_to_json(None, replace(recorded, error=f"{model.name}: {recorded.error}")))
        return recorded

    def _score(self, requests: Mapping[str, ResultKey], conditions: Sequence[Condition]) -> None:
        """Score every stored answer without a score."""
        status = request_status(
            read_lines(self.run.path / SCORES), requests, metrics=self.task.metrics, truths=truths_of(self.cases)
        )
        waiting = self.stored & requests.keys() - status.scored
        self.progress.stage("score", len(waiting))
        tasks = self._to_score(waiting, requests, {condition.name: condition for condition in conditions})
        rows: list[dict[str, Any]] = []  # written in small batches; rows lost by a kill are scored again
        for result in run_tasks(self.scorer, tasks, workers=self.how.workers, stage="score", kept=self.kept):
            if isinstance(result.outcome, Failed):
                self._keep_failure(result.key, requests[result.key], result.outcome.error, stage="score")
            else:
                rows += result.outcome
            if len(rows) >= _ROWS_A_WRITE:
                self.run.append_many(SCORES, rows)
                rows.clear()
            self.progress.step()
        self.run.append_many(SCORES, rows)

    def _requests(self, model: ModelSpec, conditions: Sequence[Condition]) -> Iterator[job.QueuedRequest]:
        pairs = ((case, condition) for case in self.cases for condition in conditions)
        for case, condition in pairs:
            if changes_case(case, condition):
                yield job.QueuedRequest(
                    key=key_of(case, condition, model=model.name, revision=model.revision, seed=self.seed),
                    id=case.id,
                    condition=condition.name,
                    source=case.frames[0],
                    prepared=self.prepare(case, condition),
                )

    def _to_score(
        self, keys: set[str], requests: Mapping[str, ResultKey], conditions: Mapping[str, Condition]
    ) -> Iterator[PoolTask[ToScore[AskableKind]]]:
        """The rows to score, read one by one, since the file may be large."""
        cases = {case.id: case for case in self.cases}
        for row in read_lines(self.run.path / job.FILE):
            key = str(row["key"])
            if key in keys:
                keys.discard(key)
                _, condition, case = requests[key]
                yield PoolTask(key, ToScore(row=row, prepared=self.prepare(cases[case], conditions[condition])))

    def _keep_failure(self, key: str, request: ResultKey, error: ErrorRecord, *, stage: str) -> None:
        row = failed_row(key, request, error, stage=stage)
        if stage == "score":  # another truth may be readable
            row["truth"] = next(case.truth for case in self.cases if case.id == request[2])
        if self.failures.get(key) != row:
            self.failures[key] = row
            self.run.append(SCORES, row)
