"""``auscult run avi``: ask omni models, read and score their replies, write tables, levels and a page.

The files are those of ``core.runner`` and ``core.page``; ``predictions.jsonl`` has replies, ``cases.jsonl`` the whole
text of each question. With ``--data scenes`` the samples are made into ``scenes/``. The same command again sends only
requests without a reply; models and missing senses can be added, and how replies are scored can be changed without new
requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from auscult.cases.avi_tree import AviListing
from auscult.errors import UsageError
from auscult.jobs.ask import REFORMATTED, ask, declared
from auscult.jobs.runner import Progress, Silent
from auscult.models.chat.model import REPLY_CACHE, ChatFormatter
from auscult.models.omni_spec import OmniSpec, omni_models, omni_spec
from auscult.record.folder import MANIFEST, RunFolder
from auscult.score.tasks import TASKS, convention_of
from auscult.suites.avi import AviOptions
from auscult.suites.avi.cases import WITHOUT, AviCase, Prepared, cases_of
from auscult.suites.avi.data import count_of, is_released, listing_of
from auscult.suites.avi.endpoints import ENDPOINT, dry_run, formatter_of, how_of, reformatting, reply_notes
from auscult.suites.avi.results import BASELINES
from auscult.suites.avi.scoring import ScoreHow, Scorer
from auscult.suites.avi.senses import AblatedVideos, ablated_videos
from auscult.suites.avi.tables import task_of
from auscult.suites.avi.worst import sample_sections
from auscult.suites.core.command import SuiteCommand
from auscult.suites.core.conditions import NOTHING, Condition
from auscult.suites.core.requests import CaseList
from auscult.suites.options import refuse_unknown
from auscult.suites.registered import SuiteRun, refuse_idle

_SCORED: Final = frozenset({"unparsed", "reading", "variant", "boxes", "sentence_model", "fluency_model"})
"""Arguments of the scoring of stored replies."""
_MAY_CHANGE: Final = frozenset({"without", "tasks", "count"}) | _SCORED | ENDPOINT
"""Arguments that may change between commands."""


def run_avi(options: AviOptions, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; requests of earlier commands are not repeated."""
    listener = progress or Silent()
    task = task_of(options.unparsed, options.variant, options.reading)
    conditions, how_asked = _conditions(options), how_of(options)
    options.require_models()
    refuse_idle(options, {})
    command = SuiteCommand[AviCase](
        options=options,
        task=task,
        models=omni_models(options.models, how=how_asked),
        baselines=list(map(omni_spec, BASELINES)),
        conditions=conditions,
        may_change=_MAY_CHANGE,
        decided={"count": count_of(options)},
        data=partial(listing_of, options, listener),
        progress=listener,
    )
    formatter = formatter_of(options, how_asked)
    with command.opened() as run:
        _keep_scoring(run, command.manifest())
        models = [declared(spec, options.limits) for spec in command.models if isinstance(spec, OmniSpec)]
        command.models = models
        run.claim(REPLY_CACHE)
        scored = _scored(options, models, formatter)
        case_list = _cases(options, command.listing, scored, progress=listener)
        left, errors = ablated_videos(run, case_list.cases, conditions, progress=listener)
        runner = command.runner(
            run,
            case_list,
            nothing="there is no sample to ask about",
            expected="samples of the tasks that were asked for",
            prepare=partial(_prepared, seed=options.seed, ablated=left),
            scorer=partial(Scorer, scored),
            send=ask,
        )
        runner.errors += errors
        if options.dry_run:
            return dry_run(runner, models, conditions, log=command.log)
        if formatter is not None:
            runner.before_scoring = reformatting(runner, formatter, variant=options.variant)
        done = command.ask(runner)
        notes = reply_notes(run.path, done.requests)
        written = command.write(runner, done, pictures=sample_sections(runner, done), notes=notes)
        return replace(written, remarks=(*written.remarks, *notes))


def _conditions(options: AviOptions) -> list[Condition]:
    """Clean, and without each sense to remove."""
    refuse_unknown(options.without, WITHOUT, "sense")
    refuse_unknown(options.tasks, TASKS, "task")
    convention_of(options.boxes)
    _check_folders(options)
    return [NOTHING, *(WITHOUT[sense] for sense in dict.fromkeys(options.without))]


def _check_folders(options: AviOptions) -> None:
    """Refuse a missing folder of a caption network, and the fluency model alone."""
    folders = {"--sentence-model": options.sentence_model, "--fluency-model": options.fluency_model}
    given = {name: folder for name, folder in folders.items() if folder is not None}
    for name, folder in given.items():
        if not folder.is_dir():
            raise UsageError(f"{name}: there is no such folder", path=folder, expected="a folder of weights")
    if list(given) == ["--fluency-model"]:
        raise UsageError("--fluency-model alone scores no caption", expected=" and ".join(folders))


def _scored(options: AviOptions, models: Sequence[OmniSpec], formatter: ChatFormatter | None) -> ScoreHow:
    return ScoreHow(
        formatter="" if formatter is None else f"{formatter.name} {formatter.revision}",
        reformatted=None if formatter is None else options.out / REFORMATTED,
        variant=options.variant,
        boxes={model.name: model.boxes or options.boxes for model in models},
        sentence_model=options.sentence_model,
        fluency_model=options.fluency_model,
    )


def _cases(options: AviOptions, listing: AviListing, scored: ScoreHow, *, progress: Progress) -> CaseList[AviCase]:
    progress.stage("cases", len(listing.samples))
    case_list = cases_of(
        listing.samples,
        tasks=options.tasks,
        scored={name: scored.identity(task.metric) for name, task in TASKS.items()},
        released=is_released(options, listing),
        step=progress.step,
    )
    confirmed = {case.confirms: case.id for case in case_list.cases if case.confirms}  # a question and its confirmation
    case_list.cases = options.chosen(
        case_list.cases, lambda one: (one.id, one.clip, one.confirms, confirmed.get(one.id, ""))
    )
    return case_list


def _prepared(case: AviCase, condition: Condition, *, seed: int, ablated: AblatedVideos) -> Prepared:
    video = case.sample.video
    stays = None if video is None else ablated.get((video, condition.name))
    return Prepared(case=case, condition=condition, seed=seed, left=stays)


def _keep_scoring(run: RunFolder, manifest: Mapping[str, Any]) -> None:
    """Write this command's scoring arguments into the manifest of a resumed folder."""
    earlier, now = run.manifest.get("arguments"), manifest["arguments"]
    if isinstance(earlier, dict):
        for part in ("given", "defaulted"):
            kept = {name: value for name, value in dict(earlier.get(part) or {}).items() if name not in _SCORED}
            earlier[part] = kept | {name: value for name, value in now[part].items() if name in _SCORED}
        run.write_json(MANIFEST, run.manifest)
