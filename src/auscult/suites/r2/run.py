"""``auscult run r2``: perturb cases, ask models, score their answers, write tables, figures and a page.

Besides the files of ``core.runner`` and ``core.finish``, the folder has ``scenes/``, where scenes are the source, and
``inputs/``, what models are shown, with ``--inputs``. A severity, a kind or a model that is added computes only what is
missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from auscult.cases.instances import InstanceListing
from auscult.errors import REMARKS, NothingToDo, UsageError
from auscult.jobs.runner import Progress, Silent
from auscult.models.base import EndpointChoice
from auscult.models.spec import ModelSpec, model_spec, named_models
from auscult.record.folder import open_run
from auscult.record.manifest import IGNORED
from auscult.record.schema import error_to_json
from auscult.suites.core.conditions import Condition
from auscult.suites.core.page import write_results
from auscult.suites.core.requests import assign_unique_names, conditions_for, unasked_remarks
from auscult.suites.core.results import unmade_rows
from auscult.suites.core.runner import earlier_log, write_cases, write_errors
from auscult.suites.options import CHOSEN, SCENES
from auscult.suites.r2 import R2Options
from auscult.suites.r2.cases import (
    CaseList,
    R2Case,
    TaskRules,
    cases_of,
    cluster_of,
    frame_rule,
    listing_of,
    task_rules,
)
from auscult.suites.r2.conditions import conditions_of
from auscult.suites.r2.inputs import R2Runner, looked_up, write_inputs
from auscult.suites.r2.perturbing import Prepared
from auscult.suites.r2.scoring import R2Scorer
from auscult.suites.r2.strips import beside_sections, draw_beside, draw_strips, strip_sections
from auscult.suites.registered import SuiteRun, refuse_idle

COMMAND = "run r2"
_GROWING = CHOSEN | {"model", "severity", "perturb", "kind", "part", "memory_mb", "timeout", "inputs"}
_GROWING |= {"base_url", "profile"}
"""Arguments that may change between commands: what they add is computed, what they leave out stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """The settings of a run."""

    options: R2Options
    task: TaskRules
    models: tuple[ModelSpec, ...]
    conditions: tuple[Condition, ...]


def run_r2(options: R2Options, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; requests of earlier commands are not repeated."""
    listener = progress or Silent()
    setting = _setting(options)
    # errors of the data come before the folder is made; scenes are made inside it
    read = None if options.data == SCENES else listing_of(options, setting.task, listener)
    with open_run(options.out, _manifest(setting), overwrite=options.overwrite, ignore=IGNORED | _GROWING) as run:
        log = earlier_log(run)
        models = assign_unique_names(log, setting.models)
        asked = {model.name for model in setting.models}
        floor = [one for one in map(model_spec, setting.task.baselines) if one.name not in asked]
        listing = read or listing_of(options, setting.task, listener)
        found = _cases(listing, setting, listener)
        errors = [*(error_to_json(name, error) for name, error in listing.errors), *unmade_rows(found.errors)]
        if not found.cases:
            write_errors(run, errors)
            raise NothingToDo(
                f"the input holds no case of {setting.task.title} (read as {listing.layout})",
                path=options.data if isinstance(options.data, Path) else None,
                hint="; ".join(dict.fromkeys(error.error for _, error in (*listing.errors, *found.errors)[:3])),
            )
        write_cases(run, map(_case_row, found.cases))
        runner = R2Runner(
            run=run,
            task=setting.task,
            cases=found.cases,
            seed=options.seed,
            how=options.limits,
            prepare=partial(Prepared, seed=options.seed, guidance=setting.task.guidance),
            scorer=partial(R2Scorer, setting.task),
            progress=listener,
            errors=errors,
        )
        if options.inputs:
            write_inputs(runner, setting.conditions)
        extended = runner.ask_all(log, models, setting.conditions, floor=floor)
        for model in models:
            mine = conditions_for(model, setting.conditions, log)
            runner.errors += unasked_remarks(model, looked_up(found.cases, mine))
        done = runner.finish(extended, reported=frozenset(error.path for _, error in listing.errors))
        return write_results(
            runner,
            done,
            unlisted=sum(error.stage not in REMARKS for _, error in (*listing.errors, *found.errors)),
            absent=found.absent,
            notes=listing.notes,
            first=beside_sections(draw_beside(runner, done)),
            pictures=strip_sections(draw_strips(runner, done)),
        )


def _setting(options: R2Options) -> _Setting:
    if not options.task:
        raise UsageError("no task was named", expected="--task ris, vos, rvos, avs, avss or refavs")
    task = task_rules(options.task)
    if not options.models and not options.inputs:
        raise UsageError(
            "no model was named", expected="at least one --model", hint="`auscult list model` shows what is there"
        )
    refuse_idle(options, _idle(options, task))
    endpoint = EndpointChoice(base_url=options.base_url, profile=options.profile)
    models = named_models(options.models, task=task.name, does=f"do {task.title}", endpoint=endpoint)
    conditions = conditions_of(
        task, mixes=options.mixes, kinds=options.kinds, levels=options.levels, parts=options.parts
    )
    return _Setting(options=options, task=task, models=models, conditions=conditions)


def _idle(options: R2Options, task: TaskRules) -> dict[str, str]:
    """Options that have no effect with the other ones, and what they belong to."""
    found = {} if task.guidance == "sentences" else {"texts": "a task that is asked by sentences: ris, rvos or refavs"}
    if not options.mixes and not options.kinds:
        found |= dict.fromkeys(("severity", "part"), "something that is perturbed: --perturb or --kind")
    return found


def _manifest(setting: _Setting) -> dict[str, Any]:
    options = setting.options
    return options.manifest(
        COMMAND,
        spelled=frozenset({"task", "model"}),
        task=setting.task.name,
        model=[model.name for model in setting.models],
        masks=None if options.masks is None else str(options.masks),
        count=options.count if options.data == SCENES else None,
        timeout=options.limits.timeout_s,
    )


def _cases(listing: InstanceListing, setting: _Setting, progress: Progress) -> CaseList:
    wanted = setting.options.splits
    instances = [instance for instance in listing.instances if not wanted or instance.split in wanted]
    instances = setting.options.chosen(instances, lambda one: (one.id, cluster_of(one)))
    progress.stage("cases", len(instances))
    return cases_of(
        instances,
        setting.task,
        scored=frame_rule(setting.task, listing.layout),
        step=progress.step,
        unopened=listing.unopened,
    )


def _case_row(case: R2Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "clip": case.clip,
        "split": case.split,
        "text": case.query.text,
        "frames": len(case.frames),
        "size": list(case.size),
        "digest": case.digest,
        "truth": case.truth,
        **({"about": case.about} if case.about else {}),
    }
