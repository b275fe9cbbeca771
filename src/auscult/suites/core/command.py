"""A command of a suite of models, from the data to the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Generic

from auscult.cases.problems import ListError
from auscult.errors import REMARKS, NothingToDo
from auscult.jobs.runner import Progress
from auscult.models.adapters import ModelSpec
from auscult.models.base import Request
from auscult.record.folder import RunFolder, open_run
from auscult.record.manifest import IGNORED
from auscult.record.schema import error_to_json
from auscult.report.page import Section
from auscult.suites.core.conditions import NOTHING, Condition
from auscult.suites.core.grid import Task
from auscult.suites.core.page import write_results
from auscult.suites.core.requests import (
    CaseKind,
    CaseList,
    RequestLog,
    assign_unique_names,
    conditions_for,
    unasked_remarks,
)
from auscult.suites.core.results import unmade_rows
from auscult.suites.core.runner import Finished, SuiteRunner, earlier_log, write_cases, write_errors
from auscult.suites.options import CHOSEN, SCENES, ModelOptions
from auscult.suites.registered import SuiteRun
from auscult.work.pool import KeptWorkers

_MAY_CHANGE: Final = CHOSEN | {"model", "memory_mb", "timeout"}


@dataclass(slots=True, kw_only=True)
class SuiteCommand(Generic[CaseKind]):
    """A command in progress: call ``opened``, then ``runner``, ``ask`` and ``write``.

    Errors of the data are raised before the folder is made, except for scenes, which are made inside it.
    """

    options: ModelOptions
    task: Task
    models: Sequence[ModelSpec]  # with unique names after the folder is opened
    baselines: Sequence[ModelSpec]  # asked about clean input; without those among the models
    conditions: Sequence[Condition] = (NOTHING,)
    may_change: frozenset[str] = frozenset()  # arguments that may change between commands, besides those of every suite
    decided: Mapping[str, Any] = field(default_factory=dict)  # arguments recorded with another value than given
    data: Callable[[], Any]  # lists the data, which may have ``notes``
    unlisted: Callable[[Any], Sequence[ListError]] = attrgetter("errors")  # errors of the listing
    progress: Progress
    log: RequestLog = field(default_factory=RequestLog)  # of earlier commands
    listing: Any = None
    kept: KeptWorkers = field(default_factory=KeptWorkers)
    found: CaseList[CaseKind] = field(default_factory=CaseList)

    def manifest(self) -> dict[str, Any]:
        """The manifest of the run."""
        options, names = self.options, [model.name for model in self.models]
        count = options.count if options.data == SCENES else None
        usual = {"model": names, "count": count, "timeout": options.limits.timeout_s}
        return options.manifest(
            f"run {self.task.suite}", spelled=frozenset({"task", "model"}), **usual | dict(self.decided)
        )

    @contextmanager
    def opened(self) -> Iterator[RunFolder]:
        """The folder of the run, with the data listed."""
        self.listing = None if self.options.data == SCENES else self.data()
        names, ignore = {model.name for model in self.models}, IGNORED | _MAY_CHANGE | self.may_change
        self.baselines = [spec for spec in self.baselines if spec.name not in names]
        opened = open_run(self.options.out, self.manifest(), overwrite=self.options.overwrite, ignore=ignore)
        with opened as run, self.kept:
            self.log = earlier_log(run)
            self.models = assign_unique_names(self.log, self.models)
            self.listing = self.listing or self.data()
            yield run

    def runner(
        self, run: RunFolder, found: CaseList[CaseKind], *, nothing: str, expected: str = "", **how: Any
    ) -> SuiteRunner[Any, Any]:
        """The engine with the recorded cases; ``how`` to ask and score, ``nothing`` is the message without cases."""
        self.found = found
        unlisted = self.unlisted(self.listing)
        errors = [*(error_to_json(name, error) for name, error in unlisted), *unmade_rows(found.errors)]
        if not found.cases:
            write_errors(run, errors)
            problems = (*unlisted, *found.errors)[:3]
            expected = expected or next((error.expected for _, error in problems), "")
            steps = [error.hint for _, error in problems if error.hint]
            raise NothingToDo(
                nothing,
                path=self.options.data if isinstance(self.options.data, Path) else None,
                expected=expected,
                hint="; ".join(dict.fromkeys([*map(_message, problems), *steps])),
            )
        write_cases(run, map(_row, found.cases))
        return SuiteRunner(
            run=run,
            task=self.task,
            cases=found.cases,
            seed=self.options.seed,
            how=self.options.limits,
            progress=self.progress,
            kept=self.kept,
            errors=errors,
            **how,
        )

    def ask(
        self, runner: SuiteRunner[Any, Any], *, looked_up: Callable[[CaseKind, Condition], Request] | None = None
    ) -> Finished:
        """Ask and score; ``looked_up`` gives the files expected in a folder of predictions, to report stray ones."""
        log = runner.ask_all(self.log, self.models, self.conditions, baselines=self.baselines)
        for model in self.models:
            under = conditions_for(model, self.conditions, self.log)
            if looked_up is not None:
                requests = (looked_up(case, condition) for case in self.found.cases for condition in under)
                runner.errors += unasked_remarks(model, requests)
        return runner.finish(log, reported=frozenset(error.path for _, error in self.unlisted(self.listing)))

    def write(
        self,
        runner: SuiteRunner[Any, Any],
        done: Finished,
        *,
        first: Sequence[Section] = (),
        pictures: Sequence[Section] = (),
        notes: tuple[str, ...] = (),
    ) -> SuiteRun:
        """Write the results; ``first``, ``pictures`` and ``notes`` as for ``write_results``."""
        problems = (*self.unlisted(self.listing), *self.found.errors)
        return write_results(
            runner,
            done,
            unlisted=sum(error.stage not in REMARKS for _, error in problems),
            absent=self.found.absent,
            notes=(*getattr(self.listing, "notes", ()), *notes),
            first=first,
            pictures=pictures,
        )


def _row(case: Any) -> dict[str, Any]:
    """The line of a case in ``cases.jsonl``; its ``shown`` is for people."""
    row = {"id": case.id, "clip": case.clip, "split": case.split, **case.shown}
    return {**row, "digest": case.digest, "truth": case.truth, **({"about": case.about} if case.about else {})}


def _message(problem: ListError) -> str:
    _, error = problem
    return error.error if error.path is None else f"{error.error}: {error.path}"
