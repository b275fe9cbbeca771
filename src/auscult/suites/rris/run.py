"""``auscult run rris``: ask models about what is there and what is not, score, write tables, pictures and a page.

The files are those of ``core.runner`` and ``core.finish``, and ``scenes/`` where scenes are the source. A model that is
added computes only itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from auscult.cases.problems import ListError
from auscult.errors import REMARKS, NothingToDo, UsageError
from auscult.jobs import predict as job
from auscult.jobs.runner import Progress, Silent
from auscult.models.spec import BY_SENTENCE, ModelSpec, model_spec, named_models
from auscult.record.folder import open_run
from auscult.record.manifest import IGNORED
from auscult.record.schema import error_to_json
from auscult.suites.core.conditions import NOTHING
from auscult.suites.core.page import write_results
from auscult.suites.core.requests import assign_unique_names, unasked_remarks
from auscult.suites.core.results import unmade_rows
from auscult.suites.core.runner import SuiteRunner, earlier_log, write_cases, write_errors
from auscult.suites.options import CHOSEN, SCENES
from auscult.suites.registered import SuiteRun, refuse_idle
from auscult.suites.rris import RrisOptions
from auscult.suites.rris.attention import attention_sections
from auscult.suites.rris.cases import NO_KIND, RrisCase, RrisPrepared, cases_of, listing_of
from auscult.suites.rris.results import FLOOR, TASK
from auscult.suites.rris.scoring import Scorer
from auscult.suites.rris.worst import worst_sections
from auscult.types import Instance

_GROWING = CHOSEN | {"model", "memory_mb", "timeout", "kind"}
"""Arguments that may change between commands."""


def run_rris(options: RrisOptions, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; requests of earlier commands are not repeated."""
    listener = progress or Silent()
    named = _models(options)
    read = None if options.data == SCENES else listing_of(options, listener)
    manifest = options.manifest(
        "run rris",
        spelled=frozenset({"model"}),
        model=[model.name for model in named],
        count=options.count if options.data == SCENES else None,
        timeout=options.limits.timeout_s,
    )
    with open_run(options.out, manifest, overwrite=options.overwrite, ignore=IGNORED | _GROWING) as run:
        log = earlier_log(run)
        models = assign_unique_names(log, named)
        asked = {model.name for model in named}
        floor = [one for one in map(model_spec, FLOOR) if one.name not in asked]
        listing = read or listing_of(options, listener)
        instances = _chosen(options, listing.instances)
        listener.stage("cases", len(instances))
        found = cases_of(instances, step=listener.step)
        errors = [*(error_to_json(name, error) for name, error in listing.errors), *unmade_rows(found.errors)]
        if not found.cases:
            write_errors(run, errors)
            raise NothingToDo(
                f"the input holds no sentence about a picture (read as {listing.layout})",
                path=options.data if isinstance(options.data, Path) else None,
                hint="; ".join(dict.fromkeys(map(_message, (*listing.errors, *found.errors)[:3]))),
            )
        write_cases(run, map(_case_row, found.cases))
        runner = SuiteRunner(
            run=run,
            task=TASK,
            cases=found.cases,
            seed=options.seed,
            how=options.limits,
            prepare=RrisPrepared,
            scorer=Scorer,
            progress=listener,
            errors=errors,
        )
        extended = runner.ask_all(log, models, [NOTHING], floor=floor)
        for model in models:
            asks = (RrisPrepared(case, NOTHING).ask(job.Reader()) for case in found.cases)
            runner.errors += unasked_remarks(model, asks)
        specs = {model.name: model for model in models if model.name not in runner.unloaded}
        done = runner.finish(extended, reported=frozenset(error.path for _, error in listing.errors))
        return write_results(
            runner,
            done,
            unlisted=sum(error.stage not in REMARKS for _, error in (*listing.errors, *found.errors)),
            notes=listing.notes,
            pictures=[*worst_sections(runner, done, specs), *attention_sections(runner, specs)],
        )


def _chosen(options: RrisOptions, instances: Sequence[Instance]) -> list[Instance]:
    """The instances of ``--only``, and of them the positive ones and those of ``--kind``."""
    known = dict.fromkeys(one.negation or NO_KIND for one in instances if one.absent)
    for kind in options.kinds:
        if kind not in known:
            raise UsageError(
                f"the data have no negative sentence of kind {kind[:40]!r}",
                expected=f"some of: {', '.join(known)}" if known else "no --kind: the data have no negative sentence",
            )
    found = options.chosen(instances, lambda one: (one.id, one.clip))
    return [one for one in found if not (options.kinds and one.absent) or (one.negation or NO_KIND) in options.kinds]


def _models(options: RrisOptions) -> tuple[ModelSpec, ...]:
    if not options.models:
        raise UsageError(
            "no model was named", expected="at least one --model", hint="`auscult list model` shows what is there"
        )
    refuse_idle(options, {})
    return named_models(options.models, task="ris", does=BY_SENTENCE)


def _message(found: ListError) -> str:
    _, error = found
    return error.error if error.path is None else f"{error.error}: {error.path}"


def _case_row(case: RrisCase) -> dict[str, Any]:
    return {
        "id": case.id,
        "clip": case.clip,
        "split": case.split,
        "text": case.text,
        "size": list(case.size),
        "digest": case.digest,
        "truth": case.truth,
        "about": case.about,
    }
