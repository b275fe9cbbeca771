"""``auscult run separation``: ask separators, score their outputs, write tables, players and a page.

The files are those of ``core.runner`` and ``core.finish``; ``outputs/`` has what was separated, and with ``--data
scenes`` ``mixtures/`` what it was separated from. The same command again asks only what has no output; a model that is
added computes only itself.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from auscult.errors import REMARKS, NothingToDo
from auscult.jobs.runner import Progress, Silent
from auscult.models.separators import named_separators
from auscult.record.folder import open_run
from auscult.record.manifest import IGNORED
from auscult.record.schema import error_to_json
from auscult.suites.core.conditions import NOTHING
from auscult.suites.core.page import write_results
from auscult.suites.core.requests import assign_unique_names
from auscult.suites.core.results import unmade_rows
from auscult.suites.core.runner import SuiteRunner, earlier_log, write_cases, write_errors
from auscult.suites.options import CHOSEN, SCENES
from auscult.suites.registered import SuiteRun, refuse_idle
from auscult.suites.separation import SeparationOptions
from auscult.suites.separation.asking import separate
from auscult.suites.separation.cases import Prepared, cases_of, listing_of
from auscult.suites.separation.results import FLOOR, TASK
from auscult.suites.separation.scoring import Scorer
from auscult.suites.separation.worst import worst_sections

_GROWING: Final = CHOSEN | {"model", "memory_mb", "timeout"}
"""Arguments that may change between commands."""


def run_separation(options: SeparationOptions, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; requests of earlier commands are not repeated."""
    listener = progress or Silent()
    models = named_separators(options.models)
    refuse_idle(options, {"images": "a COCO json, which holds no sound"})
    scenes = options.data == SCENES
    read = None if scenes else listing_of(options, listener)
    manifest = options.manifest(
        "run separation",
        spelled=frozenset({"model"}),
        model=[model.name for model in models],
        count=options.count if scenes else None,
        timeout=options.limits.timeout_s,
    )
    with open_run(options.out, manifest, overwrite=options.overwrite, ignore=IGNORED | _GROWING) as run:
        log = earlier_log(run)
        named = assign_unique_names(log, models)
        listing = read or listing_of(options, listener)
        items = options.chosen(listing.items, lambda item: (item.id, item.cluster or item.id))
        listener.stage("cases", len(items))
        found = cases_of(items, step=listener.step)
        problems = (*listing.problems, *found.errors)
        errors = [*(error_to_json(name, error) for name, error in listing.problems), *unmade_rows(found.errors)]
        if not found.cases:
            write_errors(run, errors)
            raise NothingToDo(
                "there is no mixture that can be read",
                path=options.data if isinstance(options.data, Path) else None,
                hint="; ".join(dict.fromkeys(error.error for _, error in problems[:3])),
            )
        write_cases(run, (case.row() for case in found.cases))
        runner = SuiteRunner(
            run=run,
            task=TASK,
            cases=found.cases,
            seed=options.seed,
            how=options.limits,
            prepare=Prepared,
            scorer=partial(Scorer, run.path),
            progress=listener,
            send=partial(separate, run),
            errors=errors,
        )
        asked = {model.name for model in models}
        floor = [model for model in named_separators(FLOOR) if model.name not in asked]
        done = runner.finish(runner.ask_all(log, named, [NOTHING], floor=floor))
        return write_results(
            runner,
            done,
            unlisted=sum(error.stage not in REMARKS for _, error in problems),
            pictures=worst_sections(runner, done),
        )
