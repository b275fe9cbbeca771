"""``auscult run r2``: perturb cases, ask models, score their answers, write tables, figures and a page.

Besides the files of ``core.runner`` and ``core.page``, the folder has ``scenes/``, if they are the source, and, with
``--inputs``, the inputs of models in ``inputs/``. An added severity, kind or model computes only what is missing.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult.errors import NothingToDo, UsageError
from auscult.jobs.runner import Progress, Silent
from auscult.models.base import EndpointChoice
from auscult.models.spec import model_spec, named_models
from auscult.suites.core.command import SuiteCommand
from auscult.suites.core.requests import CaseList
from auscult.suites.r2 import R2Options
from auscult.suites.r2.cases import (
    R2Case,
    TaskRules,
    cases_of,
    cluster_of,
    frame_rule,
    listing_of,
    scored_frames,
    task_rules,
)
from auscult.suites.r2.conditions import conditions_of
from auscult.suites.r2.inputs import looked_up, write_inputs
from auscult.suites.r2.perturbing import PerturbedCase
from auscult.suites.r2.scoring import R2Scorer
from auscult.suites.r2.strips import beside_sections, strip_sections
from auscult.suites.registered import SuiteRun, refuse_idle

_MAY_CHANGE: Final = frozenset({"severity", "perturb", "kind", "part", "inputs", "base_url", "profile"})
"""Arguments that may change between commands: additions are computed, earlier results stay."""


def run_r2(options: R2Options, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; requests of earlier commands are not repeated."""
    command = _command(options, progress or Silent())
    task: Any = command.task
    with command.opened() as run:
        runner = command.runner(
            run,
            _cases(command, options, task),
            nothing=f"the input holds no case of {task.title} (read as {command.listing.layout})",
            prepare=partial(PerturbedCase, seed=options.seed, guidance=task.guidance),
            scorer=partial(R2Scorer, task),
        )
        if options.inputs:
            write_inputs(runner, command.conditions)
        done = command.ask(runner, looked_up=looked_up)
        return command.write(runner, done, first=beside_sections(runner, done), pictures=strip_sections(runner, done))


def _command(options: R2Options, progress: Progress) -> SuiteCommand[R2Case]:
    if not options.task:
        raise UsageError("no task was named", expected="--task ris, vos, rvos, avs, avss or refavs")
    task = task_rules(options.task)
    if not options.inputs:
        options.require_models()
    refuse_idle(options, _idle(options, task))
    endpoint = EndpointChoice(base_url=options.base_url, profile=options.profile)
    return SuiteCommand(
        options=options,
        task=task,
        models=named_models(options.models, task=task.name, does=f"do {task.title}", endpoint=endpoint),
        baselines=list(map(model_spec, task.baselines)),
        conditions=conditions_of(
            task, mixes=options.mixes, kinds=options.kinds, levels=options.levels, parts=options.parts
        ),
        may_change=_MAY_CHANGE,
        decided={"task": task.name, "masks": None if options.masks is None else str(options.masks)},
        data=partial(listing_of, options, task, progress),
        progress=progress,
    )


def _idle(options: R2Options, task: TaskRules) -> dict[str, str]:
    """Options without effect in this command, and what uses them."""
    idle = {} if task.guidance == "sentences" else {"texts": "a task that is asked by sentences: ris, rvos or refavs"}
    if not options.mixes and not options.kinds:
        idle |= dict.fromkeys(("severity", "part"), "something that is perturbed: --perturb or --kind")
    return idle


def _cases(command: SuiteCommand[R2Case], options: R2Options, task: TaskRules) -> CaseList[R2Case]:
    listing, splits = command.listing, options.splits
    instances = [instance for instance in listing.instances if not splits or instance.split in splits]
    instances = options.chosen(instances, lambda one: (one.id, cluster_of(one)))
    command.progress.stage("cases", len(instances))
    found = cases_of(
        instances,
        task,
        scored=frame_rule(task, listing.layout),
        step=command.progress.step,
        unopened=listing.unopened,
    )
    is_video = any(len(instance.moments) > 1 for instance in instances)
    if not is_video and found.cases and not scored_frames(found.cases[0].scored, 1):
        raise NothingToDo(
            "every clip has a single frame, which models are shown, and none to score",
            path=options.data if isinstance(options.data, Path) else None,
            expected="clips of several frames, each in a folder of its own",
            hint="if the frames side by side are one video, --data takes the folder above theirs",
        )
    return found
