"""Models asked and answers scored, each only where it has not been done: what runs in worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from auscult.cases.ids import counted
from auscult.errors import AuscultError, ErrorRecord, OutputError, RecordError
from auscult.jobs import predict as job
from auscult.jobs.errors import ErrorLog
from auscult.jobs.progress import Progress
from auscult.models.adapters.folder import FolderOfPredictions
from auscult.models.base import Ask, Clip
from auscult.models.spec import ModelSpec
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.schema import error_to_json
from auscult.suites.r2 import scoring
from auscult.suites.r2.asking import Place, key_of
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.conditions import Condition
from auscult.suites.r2.inputs import InputOrder, InputWriter, order_of
from auscult.suites.r2.perturbing import Prepared
from auscult.suites.r2.tasks import TaskRules
from auscult.suites.r2.telling import failed_row
from auscult.suites.r2.vain import FILE as VAIN
from auscult.suites.r2.vain import vain_row
from auscult.work.pool import Task, run_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What is scored.

    Attributes:
        keys: Answers with a score of every metric.
        unread: Rows that say which true masks could not be read, so that their frames are in no score; each once.
    """

    keys: set[str]
    unread: list[dict[str, Any]]


@dataclass(slots=True, kw_only=True)
class Bench:
    """A run at work.

    Attributes:
        run: The record.
        task: The task.
        cases: What is asked about.
        seed: The run's seed.
        how: Workers and limits.
        errors: Where errors are written.
        progress: Who listens.
        failed: What got no answer now, or one that could not be scored.
        unloaded: Models that could not be loaded, so that nothing was asked of them, and why.
        vain: Keys of the questions that were asked in vain, by whichever command.
    """

    run: RunFolder
    task: TaskRules
    cases: Sequence[R2Case]
    seed: int
    how: job.PredictOptions
    errors: ErrorLog
    progress: Progress
    failed: list[Place] = field(default_factory=list)
    unloaded: dict[str, AuscultError] = field(default_factory=dict)
    vain: set[str] = field(default_factory=set)

    def ask(self, models: Sequence[ModelSpec], conditions: Sequence[Condition]) -> None:
        """Ask every model what is not stored yet."""
        stored = {str(row["key"]) for row in read_lines(self.run.path / job.FILE)}
        for model in models:
            requests = [one for one in self._requests(model, conditions) if one.key not in stored]
            self.progress.stage(f"ask {model.name}", len(requests))
            replied: set[str] = set()
            try:
                job.predict(
                    requests,
                    model,
                    options=self.how,
                    keep=partial(self._answered, replied),
                    fail=partial(self._unanswered, (model.name, replied)),
                    progress=self.progress,
                )
            except (RecordError, OutputError):
                raise
            except AuscultError as error:  # this model cannot be loaded: the others go on
                told = ErrorRecord.of(error, job.STAGE)
                self.errors.keep([error_to_json(None, replace(told, error=f"{model.name}: {told.error}"))])
                left = {one.key: (model.name, one.condition, one.id) for one in requests if one.key not in replied}
                self.failed += left.values()
                if not replied:
                    self.unloaded[model.name] = error
                else:
                    self._in_vain(left)
            if model.kind == "predictions":
                self._unasked(model, conditions)

    def write_inputs(self, conditions: Sequence[Condition]) -> None:
        """Write what models are shown, as far as it is not written yet; what cannot be written fails no case."""
        orders: list[InputOrder] = []
        for case in self.cases:
            try:
                found = [order_of(self.run, self._prepared(case, condition)) for condition in conditions]
            except OutputError as error:  # its id is no name of a folder
                self.errors.keep([error_to_json(case.id, ErrorRecord.of(error, "frames"))])
                continue
            orders += [one for one in found if one is not None]
        self.progress.stage("inputs", len(orders))
        tasks = [Task(f"{one.prepared.condition.name}/{one.prepared.case.id}", one) for one in orders]
        for result in run_tasks(InputWriter, tasks, workers=self.how.workers, stage="frames"):
            if isinstance(result.outcome, Failed):
                self.errors.keep([error_to_json(None, result.outcome.error)])
            self.progress.step()

    def score(self, places: Mapping[str, Place], conditions: Sequence[Condition]) -> None:
        """Score every stored answer that is not scored yet; no model is asked again."""
        stored = {str(row["key"]) for row in read_lines(self.run.path / job.FILE)}
        waiting = stored & places.keys() - self.scored(places).keys
        self.progress.stage("score", len(waiting))
        results = run_tasks(
            partial(scoring.Scorer, self.task),
            self._to_score(waiting, places, {one.name: one for one in conditions}),
            workers=self.how.workers,
            stage="score",
        )
        for result in results:
            if isinstance(result.outcome, Failed):
                self.failed.append(places[result.key])
                self.errors.keep([failed_row(places[result.key], result.outcome.error, stage="score")])
                self._in_vain({result.key: places[result.key]})
            else:
                self.run.append_many(scoring.FILE, result.outcome)
            self.progress.step()

    def scored(self, places: Mapping[str, Place]) -> Scored:
        """Which answers have a score of every metric, by the true masks as they are now."""
        truths = {case.id: case.truth for case in self.cases}
        found: dict[str, set[str]] = {}
        unread: dict[str, dict[str, Any]] = {}
        for row in read_lines(self.run.path / scoring.FILE):
            key = str(row["key"])
            if key in places and row.get("truth") == truths[places[key][2]]:
                found.setdefault(key, set()).add(str(row["metric"]))
                unread.update((str(one), one) for one in row.get("unread", ()))
        keys = {key for key, metrics in found.items() if metrics >= set(self.task.metrics)}
        return Scored(keys=keys, unread=list(unread.values()))

    def _requests(self, model: ModelSpec, conditions: Sequence[Condition]) -> Iterator[job.Request]:
        for case in self.cases:
            for condition in conditions:
                yield job.Request(
                    key=key_of(case, condition, model=model.name, revision=model.revision, seed=self.seed),
                    id=case.id,
                    condition=condition.name,
                    source=case.frames[0],
                    asked=self._prepared(case, condition),
                )

    def _to_score(
        self, waiting: set[str], places: Mapping[str, Place], conditions: Mapping[str, Condition]
    ) -> Iterator[Task[scoring.ToScore]]:
        """The waiting rows one by one: the file may be larger than the memory."""
        cases = {case.id: case for case in self.cases}
        for row in read_lines(self.run.path / job.FILE):
            key = str(row["key"])
            if key in waiting:
                waiting.discard(key)
                _, condition, case = places[key]
                yield Task(key, scoring.ToScore(row=row, prepared=self._prepared(cases[case], conditions[condition])))

    def _unasked(self, model: ModelSpec, conditions: Sequence[Condition]) -> None:
        """Remark files of a folder of predictions that no question asks for: misnamed ones look like missing ones."""
        asks = (
            Ask(id=case.id, condition=one.name, names=case.names, size=case.size, query=case.query, frames=_no_frames)
            for case in self.cases
            for one in conditions
        )
        extra = FolderOfPredictions(Path(model.target)).unasked(asks)
        if extra:
            some = ", ".join(extra[:3]) + (", ..." if len(extra) > 3 else "")
            remark = ErrorRecord(
                stage="frames",
                error=f"{model.name}: {counted(len(extra), 'file')} that no question asks for: {some}",
                expected="<condition>/<case>/<frame>.png, as in cases.jsonl and asked.json",
                path=model.target,
            )
            self.errors.keep([error_to_json(None, remark)])

    def _prepared(self, case: R2Case, condition: Condition) -> Prepared:
        return Prepared(case=case, condition=condition, seed=self.seed, guidance=self.task.guidance)

    def _answered(self, replied: set[str], row: Mapping[str, Any]) -> None:
        replied.add(str(row["key"]))
        self.run.append(job.FILE, row)

    def _unanswered(self, asked: tuple[str, set[str]], request: job.Request, error: ErrorRecord) -> None:
        model, replied = asked
        replied.add(request.key)
        place = (model, request.condition, request.id)
        self.failed.append(place)
        told = replace(error, path=error.path or str(request.source))
        self.errors.keep([failed_row(place, told, stage=job.STAGE)])
        self._in_vain({request.key: place})  # last: what counts as failed has a row that says why

    def _in_vain(self, places: Mapping[str, Place]) -> None:
        new = {key: place for key, place in places.items() if key not in self.vain}
        self.vain.update(new)
        self.run.append_many(VAIN, [vain_row(key, place) for key, place in new.items()])


def _no_frames() -> Clip:
    raise AssertionError("a folder of predictions looks at no frame")
