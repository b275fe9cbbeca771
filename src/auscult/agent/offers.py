"""The offer of a suite: samples, perturbations and metrics that can be chosen, listed by the suite's own readers.

A sample is a clip or a photograph with all its objects and sentences, of suite avi a question with its confirmation.
Data that cannot be used give a remark. Scenes of r2 and rris are not rendered for an offer: their plans, which follow
from the seed, have the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from auscult import registry
from auscult.agent.captions import SampleClip, describe
from auscult.agent.debate import Offer, Offered
from auscult.cases.avi_tree import TASK_OF
from auscult.cases.problems import ListError
from auscult.errors import AuscultError, ErrorRecord, NothingToDo, UsageError
from auscult.jobs.make import SCENES as SCENES_FILE
from auscult.jobs.make import SceneMaker
from auscult.jobs.options import MakeOptions
from auscult.jobs.runner import Progress, Silent
from auscult.judge.replies import printable
from auscult.language.referring import head_noun
from auscult.models.chat.model import ChatModel, ReplyCache
from auscult.record.lines import read_lines
from auscult.scenes.plan import ScenePlan
from auscult.scenes.splits import SPLITS
from auscult.score.tasks import TASKS
from auscult.shipped import read_shipped
from auscult.stress.negatives import KINDS
from auscult.stress.recipe_parts import registered, room_of
from auscult.suites.avi import AviOptions
from auscult.suites.avi import data as avi_data
from auscult.suites.options import SCENES, SuiteOptions, refuse_unknown_splits
from auscult.suites.r2 import R2Options
from auscult.suites.r2.cases import TaskRules, cases_of, frame_rule, listing_of, task_rules
from auscult.suites.r2.conditions import FIRST_MASKS, OF_SOUND
from auscult.suites.rris import RrisOptions
from auscult.suites.rris import cases as rris

_TWINS: Final = "_r2bench"  # variants in the geometry of the release, not offered beside the others
_MOST_REMARKS: Final = 20
_MOST_TEXT: Final = 300


def offer_of(
    options: R2Options | RrisOptions | AviOptions,
    *,
    kept: Path | None = None,
    chat: ChatModel | None = None,
    log: ReplyCache | None = None,
    progress: Progress | None = None,
) -> Offer:
    """What can be chosen with a suite's options, which have the data and, for r2, the task.

    ``kept`` is ``captions.jsonl``; ``chat`` captions each sample, through ``log``. Suite avi makes its samples, if
    needed, in ``options.out``. NothingToDo if the data hold no usable sample, with the first reasons.
    """
    listener = progress or Silent()
    if isinstance(options, R2Options):
        samples, errors, middle = _r2(options, listener)
    elif isinstance(options, AviOptions):
        samples, errors, middle = _avi(options, listener)
    else:
        samples, errors, middle = _rris(options, listener)
    suite, task = type(options).__name__.removesuffix("Options").lower(), getattr(options, "task", "")
    texts = (f"{name or 'data'}: {error.error}; expected: {error.expected or 'whole data'}" for name, error in errors)
    remarks = list(dict.fromkeys(printable(text, _MOST_TEXT) for text in texts))
    remarks[_MOST_REMARKS:] = [f"and {len(remarks) - _MOST_REMARKS} more"][: len(remarks[_MOST_REMARKS:])]
    if not samples:
        path = options.data if isinstance(options.data, Path) else None
        raise NothingToDo(f"the data hold no sample of {task or suite}", path=path, hint="; ".join(remarks[:3]))
    workers = options.n_workers
    offered, unknown = describe(samples, kept=kept, chat=chat, workers=workers, progress=listener, log=log)
    return Offer(
        suite=suite,
        task=task,
        samples=offered,
        perturbations=tuple(Offered(name=name, summary=line) for name, line in middle.items()),
        metrics=tuple(Offered(name=name, summary=line) for name, line in metrics_of(suite, task).items()),
        remarks=(*remarks, *unknown),
    )


def metrics_of(suite: str, task: str) -> dict[str, str]:
    """The metrics of a suite (for r2 of one task), with a line on each."""
    return dict(read_shipped("agent/metrics.json")[f"{suite} {task}".strip()])


_Found = tuple[Sequence[SampleClip], Sequence[ListError], Mapping[str, str]]
"""Samples, errors, and the entries of the set between samples and metrics, with a line on each."""


def perturbations_of(task: TaskRules) -> tuple[dict[str, str], list[ListError]]:
    """The full names of a task's perturbations, one of each kind, with a line on each; and the broken plug-ins."""
    rooms = ("vision", *task.rooms, *(() if task.still else ("timing",)))
    names = [name for name in registered(rooms) if _TWINS not in name and room_of(name) != "masks"]
    names = [name for name in names if "sound" in task.rooms or name not in OF_SOUND]
    names += FIRST_MASKS if task.guidance == "masks" else ()
    lines, broken = dict[str, str](), list[ListError]()
    for name in names:
        try:
            lines[name] = registry.load("stressor", name).meta.summary
        except UsageError as error:
            broken.append((name, replace(ErrorRecord.of(error, "plug-in"), expected="a plug-in that can be loaded")))
    return lines, broken


def _r2(options: R2Options, progress: Progress) -> _Found:
    task = task_rules(options.task)
    middle, broken = perturbations_of(task)
    if options.data == SCENES:
        return _scenes_to_make(options), broken, middle
    listing = listing_of(options, task, progress)
    instances = [instance for instance in listing.instances if instance.split in (options.splits or (instance.split,))]
    result = cases_of(instances, task, scored=frame_rule(task, listing.layout), unopened=listing.unopened)
    words = {instance.id: instance.category for instance in instances}
    words |= {case.id: _noun(case.query.text or "") for case in result.cases if not words[case.id] and not case.absent}
    rows = ((case.clip, case.frames, case.sound, case.query.text or "", words[case.id]) for case in result.cases)
    return _by_clip(rows, options), (*broken, *listing.errors, *result.errors), middle


def _rris(options: RrisOptions, progress: Progress) -> _Found:
    if options.data == SCENES:
        return _scenes_to_make(options), (), {rris.NO_KIND: _negative("")}
    listing = rris.listing_of(options, progress)
    result = rris.cases_of(
        instance for instance in listing.instances if instance.split in (options.splits or (instance.split,))
    )
    words = {case.id: case.category or ("" if case.kind else _noun(case.text)) for case in result.cases}
    rows = ((case.clip, case.frames, None, case.text, words[case.id]) for case in result.cases)
    kinds = sorted({case.kind for case in result.cases if case.kind})
    return _by_clip(rows, options), (*listing.errors, *result.errors), {kind: _negative(kind) for kind in kinds}


def _by_clip(
    rows: Iterable[tuple[str, tuple[Path, ...], Path | None, str, str]], options: SuiteOptions
) -> list[SampleClip]:
    """Samples from cases; a row is clip, frames, sound, text and the word for its object, or empty."""
    plans, by_clip = _plans(options), dict[str, list[Any]]()
    for name, *row in rows:
        by_clip.setdefault(name, []).append(row)
    samples = []
    for name, clip_rows in by_clip.items():
        frames, (sound, *_), texts, words = zip(*clip_rows, strict=True)
        # an object may appear late: its frames are only the last ones of the clip
        longest = max(frames, key=len)
        samples.append(
            SampleClip(name=name, frames=longest, sound=sound, texts=texts, words=words, scene=plans.get(name))
        )
    return samples


def _noun(text: str) -> str:
    return head_noun(text[:_MOST_TEXT]) or ""


def _negative(kind: str) -> str:
    if kind in KINDS:
        return str(registry.load("stressor", f"negatives.{kind}.v1").meta.summary)
    return "sentences that name nothing, made in a way that is not told"


def _avi(options: AviOptions, progress: Progress) -> _Found:
    listing = avi_data.listing_of(options, progress)
    pairs = [(sample, TASK_OF[sample.folder]) for sample in listing.samples if sample.confirms is None]
    pairs = [(sample, task) for sample, task in pairs if task in (options.tasks or TASKS)]
    samples = [
        SampleClip(
            name=sample.id,
            frames=sample.images,
            sound=next(iter(sample.sounds), None),
            video=sample.video,
            texts=(sample.text,),
        )
        for sample, _ in pairs
    ]
    tasks = {task: TASKS[task] for _, task in pairs}
    return samples, listing.errors, {name: f"{task.title}: {task.capability}" for name, task in tasks.items()}


def _scenes_to_make(options: SuiteOptions) -> list[SampleClip]:
    refuse_unknown_splits(options.splits, SPLITS)
    maker = SceneMaker(MakeOptions(out=options.out, count=options.count, seed=options.seed, assets=options.assets))
    plans = map(maker.plan, range(options.count))
    return [
        SampleClip(name=plan.vid, scene=plan) for plan in plans if not options.splits or plan.split in options.splits
    ]


def _plans(options: SuiteOptions) -> dict[str, ScenePlan]:
    """The plans of scenes of ``auscult make scenes`` in the data; up to the first line that is not a plan."""
    plans = {}
    with suppress(AuscultError):
        for row in read_lines(Path(options.data) / SCENES_FILE):
            plan = ScenePlan.from_json(row.get("plan"))
            plans[plan.vid] = plan
    return plans
