"""``auscult run r2``: cases perturbed, models asked, answers scored, and told in tables, figures and one page.

::

    DIR/scenes/             generated scenes, where they are the source
    DIR/cases.jsonl         what was asked about
    DIR/requests.jsonl      models and conditions so far
    DIR/predictions.jsonl   every answer, as RLE
    DIR/scores.jsonl        every metric of every answer; a failed request is a row like any other
    DIR/inputs/             what models are shown, where it was asked for
    DIR/cells.json .csv     every number with interval, counts and signature
    DIR/tables/ figures/    tables as JSON, CSV and LaTeX; figures as SVG and PNG
    DIR/report.html summary.json errors.jsonl

The same command again computes nothing that is done; a severity, a kind or a model that is added computes only what is
missing. A model that cannot be loaded costs its own rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auscult import registry
from auscult.cases.instances import InstanceListing
from auscult.errors import REMARKS, ErrorRecord, NothingToDo, UsageError
from auscult.jobs import predict as job
from auscult.jobs.runner import ERRORS, ErrorLog, Progress, Silent
from auscult.models.spec import ModelSpec, model_spec
from auscult.record.folder import RunFolder, open_run
from auscult.record.lines import read_lines
from auscult.record.manifest import IGNORED
from auscult.record.schema import error_to_json
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.results import error_rows, unmade_rows
from auscult.suites.r2.answering import R2Runner, answers_of
from auscult.suites.r2.cases import BASELINES, CaseList, R2Case, TaskRules, cases_of, frame_rule, listing_of, task_rules
from auscult.suites.r2.conditions import NOTHING, Condition, conditions_of
from auscult.suites.r2.grid import grid_of
from auscult.suites.r2.options import R2Options
from auscult.suites.r2.requests import FILE as REQUESTS
from auscult.suites.r2.requests import (
    RequestLog,
    assign_unique_names,
    command_rows,
    conditions_for,
    load_log,
    log_of,
    require_log,
    withdrawn_rows,
)
from auscult.suites.r2.results import RunOutcome, write_results
from auscult.suites.registered import SCENES, SuiteRun, refuse_idle

COMMAND = "run r2"
CASES = "cases.jsonl"
_GROWING = frozenset({"model", "severity", "perturb", "kind", "part", "memory_mb", "timeout", "inputs"})
"""Arguments that may change from command to command: what they add is computed, what they leave out stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A run as it was asked for."""

    options: R2Options
    task: TaskRules
    models: tuple[ModelSpec, ...]
    conditions: tuple[Condition, ...]


def run_r2(options: R2Options, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark.

    Args:
        options: What to run it on and how, which models, task and conditions.
        progress: Who listens.

    Returns:
        Summary and tables; the record lies in ``options.out``.

    Raises:
        UnknownName: There is no such task, model or perturbation.
        UsageError: An option is wrong, or no model was named.
        NothingToDo: The source holds no case of the task.
        RecordError: The folder is in use, or was made with other arguments.
    """
    listener = progress or Silent()
    setting = _setting(options)
    # what is wrong with the data is said before the folder is made; scenes are made inside it
    read = None if options.data == SCENES else listing_of(options, setting.task, listener)
    with open_run(options.out, _manifest(setting), overwrite=options.overwrite, ignore=IGNORED | _GROWING) as run:
        log = _log(run)
        models = assign_unique_names(log, setting.models)
        floor = [one for one in map(model_spec, BASELINES) if one.name not in {model.name for model in setting.models}]
        listing = read or listing_of(options, setting.task, listener)
        found = _cases(listing, setting, listener)
        errors = [*(error_to_json(name, error) for name, error in listing.errors), *unmade_rows(found.errors)]
        if not found.cases:
            _write_errors(run, errors)
            raise NothingToDo(
                f"the input holds no case of {setting.task.title} (read as {listing.layout})",
                path=options.data if isinstance(options.data, Path) else None,
                hint="; ".join(dict.fromkeys(error.error for _, error in (*listing.errors, *found.errors)[:3])),
            )
        _write_cases(run, found.cases)
        bench = R2Runner(
            run=run,
            task=setting.task,
            cases=found.cases,
            seed=options.seed,
            how=_how(options),
            progress=listener,
            errors=errors,
        )
        rows = command_rows(log, models, setting.conditions, floor=floor)
        run.append_many(REQUESTS, rows)
        asked = log_of((*log.rows, *rows))
        if options.inputs:
            bench.write_inputs(setting.conditions)
        for model in models:
            bench.ask([model], conditions_for(model, setting.conditions, log))
        run.append_many(REQUESTS, withdrawn_rows(asked, bench.unloaded))
        if models and len(bench.unloaded) == len(models):
            raise next(iter(bench.unloaded.values()))
        bench.ask(floor, [NOTHING])
        bench.score(asked.places(found.cases, seed=options.seed), asked.conditions)
        outcome = _finished(bench, asked, found=found, read=[error for _, error in listing.errors])
        done = write_results(run, replace(outcome, notes=listing.notes))
        unloaded = tuple(f"{name}: {error}" for name, error in bench.unloaded.items())
        return replace(done, remarks=(*unloaded, *done.remarks))


def _log(run: RunFolder) -> RequestLog:
    """What the folder was asked before this command."""
    if (run.path / SCORES).is_file() and not (run.path / REQUESTS).is_file():
        return require_log(run.path)  # refuses it
    return load_log(run.path)


def _write_errors(run: RunFolder, rows: Iterable[Mapping[str, Any]]) -> None:
    """Let ``errors.jsonl`` say these and no others."""
    run.remove(ERRORS)
    ErrorLog(run).keep(rows)


def _setting(options: R2Options) -> _Setting:
    if not options.task:
        raise UsageError("no task was named", expected="--task ris, vos, rvos or avs")
    task = task_rules(options.task)
    if not options.models and not options.inputs:
        raise UsageError(
            "no model was named", expected="at least one --model", hint="`auscult list model` shows what is there"
        )
    refuse_idle(options, _idle(options, task))
    models = _different(_beside_registered(model_spec(one)) for one in dict.fromkeys(options.models))
    for one in models:
        if task.name not in one.tasks:
            raise UsageError(
                f"{one.name} does not do {task.title}",
                expected=f"a model of {task.name}, {one.name} does: {', '.join(one.tasks)}",
            )
    return _Setting(
        options=options,
        task=task,
        models=models,
        conditions=conditions_of(
            task, mixes=options.mixes, kinds=options.kinds, levels=options.levels, parts=options.parts
        ),
    )


def _idle(options: R2Options, task: TaskRules) -> dict[str, str]:
    """Options that change nothing with the others, and what they would be of."""
    found = {} if task.guidance == "sentences" else {"texts": "a task that is asked by sentences: ris or rvos"}
    if not options.mixes and not options.kinds:
        found |= dict.fromkeys(("severity", "part"), "something that is perturbed: --perturb or --kind")
    return found


def _beside_registered(model: ModelSpec) -> ModelSpec:
    """The model; one of a file that is called as a registered one is, is not that one."""
    taken = {entry.name for entry in registry.entries("model")} if model.kind != "registered" else set()
    return replace(model, name=f"{model.kind}.{model.name}") if model.name in taken else model


def _different(models: Iterable[ModelSpec]) -> tuple[ModelSpec, ...]:
    """The models, one that is given under two spellings once."""
    found: dict[tuple[str, ...], ModelSpec] = {}
    for one in models:
        found.setdefault((one.kind, one.target, one.function, str(one.weights or ""), one.revision), one)
    return tuple(found.values())


def _manifest(setting: _Setting) -> dict[str, Any]:
    options = setting.options
    return options.manifest(
        COMMAND,
        spelled=frozenset({"task", "model"}),
        task=setting.task.name,
        model=[one.name for one in setting.models],
        masks=None if options.masks is None else str(options.masks),
        count=options.count if options.data == SCENES else None,
        workers=options.n_workers,
        timeout=options.limit_s(job.DEFAULT_TIMEOUT_S),
    )


def _cases(listing: InstanceListing, setting: _Setting, progress: Progress) -> CaseList:
    wanted = setting.options.splits
    instances = [one for one in listing.instances if not wanted or one.split in wanted]
    progress.stage("cases", len(instances))
    return cases_of(
        instances,
        setting.task,
        scored=frame_rule(setting.task, listing.layout),
        step=progress.step,
        unopened=listing.unopened,
    )


def _write_cases(run: RunFolder, cases: Sequence[R2Case]) -> None:
    run.remove(CASES)
    run.append_many(
        CASES,
        [
            {
                "id": case.id, "clip": case.clip, "split": case.split, "text": case.query.text,
                "frames": len(case.frames), "size": list(case.size), "digest": case.digest,
                "truth": case.truth,
            }
            for case in cases
        ],
    )  # fmt: skip


def _how(options: R2Options) -> job.PredictOptions:
    return job.PredictOptions(
        workers=options.n_workers,
        timeout_s=options.limit_s(job.DEFAULT_TIMEOUT_S),
        memory_mb=options.memory_mb,
    )


def _finished(bench: R2Runner, asked: RequestLog, *, found: CaseList, read: Sequence[ErrorRecord]) -> RunOutcome:
    """Write what failed, and put together what the rest follows from."""
    places = asked.places(found.cases, seed=bench.seed)
    now = bench.standing(places)
    failed = {place: error for place, error in now.failed.items() if asked.asked(place)}
    told = {error.path for error in read}
    truths = [row for row in now.unread if row.get("path") not in told]
    conditions = [one.name for one in asked.conditions]
    rows = error_rows(failed, asked_of=asked.asked_of, conditions=conditions)
    # what keeps a case's input from being written keeps it from being shown, which is told already
    unread = {(row["path"], row["cause"]) for row in rows if row["id"] is None}
    beside = [one for one in bench.errors if one["stage"] != "frames" or (one["path"], one["error"]) not in unread]
    _write_errors(bench.run, (*beside, *truths, *rows))
    every = tuple(dict.fromkeys((*bench.lost, *failed)))
    models = tuple(asked.models)
    return RunOutcome(
        command=COMMAND,
        grid=grid_of(
            read_lines(bench.run.path / SCORES),
            task=bench.task,
            valid=places,
            cases={case.id: (case.clip, case.split) for case in found.cases},
            models=models,
            conditions=asked.conditions,
            failed=every,
            waiting=set(asked.waiting(places, now.scored)) - set(every),
            truths={case.id: case.truth for case in found.cases},
        ),
        answers=answers_of(read_lines(bench.run.path / job.FILE), valid=places, models=models, failed=every),
        cases=tuple(found.cases),
        unlisted=sum(error.stage not in REMARKS for error in (*read, *(error for _, error in found.errors))),
        absent=found.absent,
        valid=places,
        seed=bench.seed,
        workers=bench.how.workers,
    )
