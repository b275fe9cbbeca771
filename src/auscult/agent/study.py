"""A study: a sentence, what can be chosen, a debate, a plan, its run, a written analysis and a report.

::

    DIR/plan.yaml        what is run, and why
    DIR/agent.jsonl      every message, parse, turn and decision
    DIR/captions.jsonl   facts about samples, by a hash of their content
    DIR/run/             the suite's own record
    DIR/analysis.json report.html

The same command again repeats no request. The agent writes its files by ``record.folder``; scores are written by the
suite alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult.agent.analysis import Analysis, analyse
from auscult.agent.captions import FILE as CAPTIONS
from auscult.agent.chat_debater import chat_debaters
from auscult.agent.debate import (
    CHOICE_SETS,
    LOG_FILE,
    AgentLog,
    ChoiceSet,
    Debate,
    Debater,
    Dispute,
    Offer,
    Proposal,
    debate,
    replay,
)
from auscult.agent.knowledge.planner import BuiltInDebater, alternatives, nearest_samples
from auscult.agent.knowledge.sentence import Reading, read_sentence
from auscult.agent.knowledge.situations import kind_of, lineage, situations
from auscult.agent.offers import offer_of
from auscult.agent.options import AgentOptions
from auscult.agent.plan import (
    FILE,
    MOST_TEXT,
    SUITES,
    Plan,
    PlanChoice,
    PlanData,
    PlanLeftOut,
    PlanLimits,
    PlanPerturbation,
    PlanSample,
    PlanSource,
    check_plan,
    conflicts,
    plan_text,
    read_plan,
    yaml_module,
)
from auscult.agent.report import study_report
from auscult.agent.running import LimitReached, folder_mb, of_baseline, refuse_beside_plan, run_plan
from auscult.cases.avi_tree import TASK_OF
from auscult.errors import AuscultError, ErrorRecord, NothingToDo, UsageError
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.jobs.runner import Progress, Silent
from auscult.media.paths import read_bytes, write_bytes
from auscult.models.chat.loading import ChatHow, named_chat
from auscult.models.chat.model import key_of
from auscult.outcome import Failed
from auscult.record.codec import to_json
from auscult.record.folder import MANIFEST, open_run
from auscult.record.lines import read_lines
from auscult.record.manifest import IGNORED
from auscult.stress.recipe_parts import room_of
from auscult.suites.core.conditions import DYNAMIC, level_word
from auscult.suites.options import SCENES, data_of, refuse_unknown
from auscult.suites.r2.cases import task_rules
from auscult.suites.registered import SuiteRun, from_keywords, load_suite, options_of, refuse_foreign
from auscult.work.pool import default_workers

RUN: Final = "run"
_OF_DATA: Final = ("texts", "masks", "images", "assets")
_LEVELS: Final = ("low", "medium", "high")
_MASK_SEVERITIES: Final = ("low", "high")  # severities of first masks
_CHANGEABLE: Final = frozenset(
    {"dry_run", "plan", "replay", "max_usd", "max_requests", "max_seconds", "max_disk_mb", "base_url", "profile"}
)
"""Arguments that may change between commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study, finished or not."""

    folder: Path
    plan: Plan
    debate: Debate | None = None  # None if the plan was given
    run: SuiteRun | None = None  # None for a dry run
    analysis: Analysis | None = None  # None for a dry run, and if every request failed

    @property
    def record(self) -> Path:
        """The suite's record."""
        return self.folder / RUN


def run_study(
    options: AgentOptions, progress: Progress | None = None, *, planned: Callable[[Study], None] = lambda _: None
) -> Study:
    """From a sentence, or a plan that a person changed, to a report; the same options again resume.

    ``planned`` is called with the study before the plan runs. UsageError for an unknown name, or if the folder holds
    another study; LimitReached at a limit of the plan.
    """
    listener = progress or Silent()
    yaml_module()  # a missing package is reported before any request
    manifest = options.manifest("agent")
    arguments = frozenset().union(*manifest["arguments"].values())  # given and default ones
    planned_before = (options.out / FILE).is_file()
    ignore = IGNORED | _CHANGEABLE | (arguments if options.plan or not planned_before else frozenset())
    with open_run(options.out, manifest, overwrite=options.overwrite, ignore=ignore) as run:
        if not planned_before:  # without a plan there is no study to resume
            run.manifest |= {key: manifest[key] for key in ("arguments", "seeds")}
            run.write_json(MANIFEST, run.manifest)
        for name in (LOG_FILE, CAPTIONS, "report.html"):
            run.claim(name)
        given_plan = _read_given(options) if options.plan else None
        limits = _limits(options, PlanLimits() if given_plan is None else given_plan[0].limits)
        log = AgentLog(options.out, most_requests=limits.requests)
        chat_settings = ChatHow(
            base_url=options.base_url,
            profile=options.profile,
            seed=options.seed,
            budget=limits.usd,
            folder=options.out,
            replies=LOG_FILE,
        )
        source = None
        if given_plan is None:
            study = _proposed(options, chat_settings, log, progress=listener)
        else:
            plan, source = given_plan
            study = Study(folder=options.out, plan=replace(_as_changed(plan, options, log), limits=limits))
        log.add("plan", hash=study.plan.hash, changed=study.plan.changed, proposed=study.plan.proposed)
        run.write_text(FILE, plan_text(_signed(study.plan)))
        planned(study)
        if not options.dry_run:
            run_options = {"workers": options.workers, "overwrite": options.overwrite}
            log.add("run", parts=_parts(study))
            done = run_plan(study.plan, study.record, listener, source=source, **run_options)
            study = replace(study, run=done)
            if done.summary.ok:
                analysis = _analysis(study, options, chat_settings, log=log)
                study = replace(study, analysis=analysis)
                run.write_json("analysis.json", to_json(analysis))
                report = study_report(study.folder, plan=study.plan, record=study.record, analysis=analysis)
                run.write_text("report.html", report)
        run.finish()
    return study


def _parts(study: Study) -> list[str]:
    """Models and conditions of a plan; refuses a record that has others, since it would report those too."""
    levels = [(kind_of(entry.name), level) for entry in study.plan.perturbations for level in entry.levels]
    conditions = [f"{kind} at {level if level == DYNAMIC else level_word(level)}" for kind, level in levels]
    parts = [*study.plan.models, *conditions]
    for row in read_lines(study.folder / LOG_FILE):
        before = row.get("parts") if row.get("kind") == "run" else None
        missing = [part for part in before if part not in parts] if isinstance(before, list) else []
        if missing:
            raise UsageError(
                f"the record has {', '.join(map(str, missing[:5]))}, which the plan leaves out",
                expected="a plan that holds what was run before",
                hint="another --out for this plan, or --overwrite to begin anew",
                path=study.record,
            )
    return parts


def _analysis(study: Study, options: AgentOptions, chat_settings: ChatHow, *, log: AgentLog) -> Analysis:
    """The analysis, by the language model if there is one; its reply is reused from the log."""
    metrics = [metric.name for metric in study.plan.metrics]
    if not options.llm or options.replay is not None:
        return analyse(study.record, metrics=metrics)
    with ExitStack() as stack:
        chat = named_chat(options.llm, profile=chat_settings.profile, asking=chat_settings.asking())
        stack.callback(chat.close)

        def write(text: str) -> str | Failed:
            key = key_of(chat.name, chat.revision, text=text, media=())
            try:
                return log.reply(key, partial(chat.answer, text), kind="message", role="analyst", sent=text)
            except AuscultError as error:
                return Failed(ErrorRecord.of(error, "ask"))

        return analyse(study.record, metrics=metrics, analyst=write, writer=chat.name)


def _read_given(options: AgentOptions) -> tuple[Plan, PlanSource]:
    """The given plan, checked."""
    path = options.plan or Path()
    refuse_beside_plan(
        path, options.given | ({"sentence"} if options.sentence else set()), {*_CHANGEABLE, "llm"} - {"replay"}
    )
    plan, source = read_plan(path)
    check_plan(plan, source)
    return plan, source


def _signed(plan: Plan) -> Plan:
    """A proposed plan with its hash, by which a copy that is changed is known wherever it lies."""
    return plan if plan.planner == "person" else replace(plan, proposed=plan.proposed or plan.hash)


def _as_changed(plan: Plan, options: AgentOptions, log: AgentLog) -> Plan:
    """The given plan, marked as changed by a person if the log of the folder or beside it, or its own hash, differs."""
    file = options.plan or Path()
    logs = [options.out / LOG_FILE, *([file.parent / LOG_FILE] if plan.planner != "person" else [])]
    rows = [row for path in logs if path.is_file() for row in read_lines(path) if row.get("kind") == "plan"]
    proposed = next((str(row.get("proposed") or row.get("hash")) for row in rows), plan.proposed)
    if proposed in {"", plan.hash}:
        return replace(plan, proposed="")
    log.add("change", file=file.name, hash=plan.hash, proposed=proposed)
    return replace(plan, changed=True, proposed=proposed)


def _limits(options: AgentOptions, limits: PlanLimits) -> PlanLimits:
    """The limits of a plan, replaced by those on the command line."""
    values = {limit.name: getattr(options, f"max_{limit.name}") for limit in fields(limits)}
    return replace(limits, **{name: limit for name, limit in values.items() if limit is not None})


# --- from a sentence to a plan ---


def plan(
    sentence: str,
    *,
    data: Path | str,
    task: str = "",
    models: str | Sequence[str] = (),
    out: Path | str = "",
    **more: Any,
) -> Plan:
    """Propose a study of a sentence, as ``auscult agent --dry-run`` does; ``auscult.run(plan, out=...)`` runs it.

    Args:
        sentence: Where it happens, and what matters.
        data: A source of true masks, or ``scenes``.
        task: Of suite r2.
        models: What is tested.
        out: Where messages and captions are kept; nowhere if it is empty.
        more: As ``agent.options.AgentOptions`` has them, such as ``suite``, ``count``, ``seed``, ``rounds``, ``llm``.

    Raises:
        UsageError: Something that is named is not there, or nothing fits the sentence.
    """
    if more.get("suite") == "avi" and data == SCENES and not out:
        raise UsageError("suite avi makes its samples in `out`, and there is none", expected="out=FOLDER")
    fixed = {
        "sentence": sentence,
        "data": data_of(data) if data else "",
        "task": task,
        "models": models,
        "dry_run": True,
    }
    given = frozenset({"severity"} if "levels" in more else ())
    with tempfile.TemporaryDirectory(prefix="auscult-") as folder:
        return run_study(
            from_keywords(AgentOptions, {**more, **fixed, "out": Path(out or folder), "given": given})
        ).plan


def _proposed(options: AgentOptions, chat_settings: ChatHow, log: AgentLog, *, progress: Progress) -> Study:
    """The study of a sentence with its plan, before the run."""
    if not options.sentence.strip():
        raise UsageError("there is no sentence", expected="SENTENCE, or --plan")
    if options.data == "":
        raise UsageError("there is no data", expected="--data PATH or scenes")
    suite, base = _suite_options(options), _base_plan(options)
    trial = (PlanPerturbation(name="gaussian_noise", severities=options.levels),)
    # typing errors are reported before anything is measured or requested
    check_plan(replace(base, perturbations=trial if options.suite == "r2" and "severity" in options.given else ()))
    built_in, captions = (BuiltInDebater("operator"), BuiltInDebater("guardian")), options.out / CAPTIONS
    if options.replay is not None and (options.replay / CAPTIONS).is_file():
        write_bytes(captions, read_bytes(options.replay / CAPTIONS))
    with ExitStack() as stack:
        chat, debaters = None, tuple[Debater, ...](built_in)
        if options.replay is not None:
            debaters = replay(options.replay)
        elif options.llm:
            chat = named_chat(options.llm, profile=chat_settings.profile, asking=chat_settings.asking())
            debaters = pair = chat_debaters(options.llm, how=chat_settings, log=log, fallbacks=built_in)
            for opened in (chat, *pair):
                stack.callback(opened.close)
        offer = offer_of(suite, kept=captions, chat=chat, log=log, progress=progress)
        outcome = debate(*debaters, instruction=options.sentence, offer=offer, rounds=options.rounds, log=log)
    if isinstance(outcome, Failed):
        hint = outcome.error.hint or "the same command goes on; leave --llm out for the built-in planner"
        hint = hint.replace("--budget", "--max-usd")
        kind = LimitReached if outcome.error.stage == "limit" else UsageError
        raised = kind(outcome.error.error, expected=outcome.error.expected, hint=hint, path=outcome.error.path)
        if isinstance(raised, LimitReached):
            raised.limit = "requests" if log.is_spent else "usd"
        raise raised
    plan, path = plan_of(options, offer, outcome, base=base), options.out / FILE
    if path.is_file() and read_plan(path)[0].hash != plan.hash:
        raise UsageError(
            "the folder has another plan than this command proposes",
            path=path,
            hint=f"--plan {path} goes on from it; --overwrite begins anew",
        )
    return Study(folder=options.out, plan=plan, debate=outcome)


def _suite_options(options: AgentOptions) -> Any:
    """The options of the suite for the offer."""
    refuse_unknown((options.suite,), SUITES, "study of suite")
    suite = load_suite(options.suite)
    chosen = {name: value for name in (*_OF_DATA, "task") if (value := getattr(options, name))}
    refuse_foreign(suite, frozenset(chosen))
    common = {name: getattr(options, name) for name in ("out", "data", "count", "seed", "splits", "workers")}
    return options_of(suite, common | chosen)


def _base_plan(options: AgentOptions) -> Plan:
    """The plan from the command alone, before the debate."""
    makes_scenes = options.data == SCENES and options.suite != "avi"  # samples of avi are made for the offer
    return Plan(
        instruction=options.sentence[:MOST_TEXT],
        suite=options.suite,  # type: ignore[arg-type] # one of SUITES
        task=options.task,
        data=PlanData(
            path="" if makes_scenes else str(options.out / "scenes" if options.data == SCENES else options.data),
            scenes=options.count if makes_scenes else None,
            splits=options.splits,
            options={name: str(path) for name in _OF_DATA if (path := getattr(options, name)) is not None},
        ),
        models=options.models,
        seed=options.seed,
    )


def plan_of(options: AgentOptions, offer: Offer, found: Debate, *, base: Plan) -> Plan:
    """The plan of a proposal, without what cannot occur, unless the sentence asks for it."""
    proposal, remarks = found.proposal, [*offer.remarks, *found.remarks]
    if not proposal.selected("perturbations"):
        bold = BuiltInDebater("guardian").propose(options.sentence, offer)
        proposal = replace(proposal, perturbations=bold.perturbations)
        remarks.append("No perturbation is sure to occur here: the plausible ones are taken.")
    if not proposal.selected("samples"):
        proposal = replace(proposal, samples=nearest_samples(options.sentence, offer))
        remarks.append("No sample is known to show what is asked for: those that come nearest to it are taken.")
    taken, left = (_chosen(proposal, selected=side) for side in (True, False))
    if options.suite == "avi":
        taken["samples"], left["samples"] = _of_tasks(taken, left["samples"])
    for of, chosen in taken.items():
        if not chosen:
            first = next((f"{choice.type}: {choice.reason}" for choice in proposal.of(of)), "nothing is offered")
            called = base.middle if of == "perturbations" else of
            makes = called == "negatives" and not offer.of(of)
            hint = "`auscult stress negatives` makes some" if makes else "other data, or fewer demands"
            raise NothingToDo(f"none of {len(offer.of(of)):,} {called} is taken; {first}", hint=hint)
    reading, speaker = read_sentence(options.sentence), found.turns[0].name
    middle: dict[str, Any] = {} if options.suite == "r2" else {base.middle: taken["perturbations"]}
    plan = replace(
        base,
        places=_places(reading),
        samples=tuple(PlanSample(id=choice.name, reason=choice.reason) for choice in taken["samples"]),
        metrics=taken["metrics"],
        planner="built-in" if speaker.startswith("built-in") else speaker,
        rounds=found.rounds,
        remarks=tuple(text[:MOST_TEXT] for text in (*remarks, *map(_dispute, found.disputes))),
        left_out=PlanLeftOut(**left),
        **middle,
    )
    if options.suite == "r2":
        plan = _possible(replace(plan, perturbations=_perturbations(options, reading, taken["perturbations"])), reading)
    plan = replace(plan, limits=_limits(options, plan.limits))
    check_plan(plan)
    return plan


def _chosen(proposal: Proposal, *, selected: bool) -> dict[ChoiceSet, tuple[PlanChoice, ...]]:
    """The entries that a proposal selects, or those that it does not."""
    return {
        of: tuple(PlanChoice(name=one.type, reason=one.reason) for one in proposal.of(of) if one.selected == selected)
        for of in CHOICE_SETS
    }


def _of_tasks(
    taken: Mapping[ChoiceSet, tuple[PlanChoice, ...]], left_out: Sequence[PlanChoice]
) -> tuple[tuple[PlanChoice, ...], tuple[PlanChoice, ...]]:
    """The avi samples of the selected tasks, and the others; all samples of these tasks if none was selected."""
    tasks = {task.name for task in taken["perturbations"]}
    fitting, others = list[PlanChoice](), [*left_out]
    for sample in taken["samples"]:
        of_task = TASK_OF.get(sample.name.partition("/")[0]) in tasks
        (fitting if of_task else others).append(sample if of_task else replace(sample, reason="Its task is left out."))
    if not fitting:
        fitting = [sample for sample in left_out if TASK_OF.get(sample.name.partition("/")[0]) in tasks]
        others = [sample for sample in others if sample not in fitting]
        fitting = [replace(sample, reason="Its task is taken, of which nothing fits better.") for sample in fitting]
    return tuple(fitting), tuple(others)


def _dispute(dispute: Dispute) -> str:
    word = "taken" if dispute.selected else "left out"
    return (
        f"{dispute.type} is {word}, never agreed on: {dispute.operator_reason} The guardian: {dispute.guardian_reason}"
    )


def _places(reading: Reading) -> tuple[str, ...]:
    """The places of the situations in a sentence; several if they exclude one another."""
    places = []
    for part in alternatives(reading.situations) if reading.situations else ():
        names = dict.fromkeys(situation for name in part for situation in lineage(name))
        places.append(
            "+".join(dict.fromkeys(word for name in names for word in situations()[name].place.split("+") if word))
        )
    return tuple(dict.fromkeys(filter(None, places))) or ("outdoors", "indoors")


def _perturbations(
    options: AgentOptions, reading: Reading, choices: Sequence[PlanChoice]
) -> tuple[PlanPerturbation, ...]:
    """The chosen perturbations with the severities and schedules of the command or the sentence."""
    general = options.levels if "severity" in options.given else reading.levels or _LEVELS
    own_levels = {} if "severity" in options.given else dict(reading.own_levels)
    task, perturbations = task_rules(options.task), []
    for choice in choices:
        levels = own_levels.get(kind_of(choice.name), general)
        first_mask = room_of(choice.name) == "masks"
        static = tuple(
            level
            for level in levels
            if level != DYNAMIC and not (first_mask and level_word(level) not in _MASK_SEVERITIES)
        )
        moves = not task.still and room_of(choice.name) == "vision"
        if static or not moves:
            severities = static or (_MASK_SEVERITIES if first_mask else _LEVELS)
            perturbations.append(PlanPerturbation(name=choice.name, severities=severities, reason=choice.reason))
        if moves and (reading.dynamic or DYNAMIC in levels):
            perturbations.append(PlanPerturbation(name=choice.name, schedule="dynamic", reason=choice.reason))
    return tuple(perturbations)


def _possible(plan: Plan, reading: Reading) -> Plan:
    """Solve the conflicts of a plan: wishes, built-in choices and the later of a pair are forced, others left out."""
    left, possible, remarks = [], list[PlanPerturbation](), []
    against = dict(conflicts(plan))
    for number, perturbation in enumerate(plan.perturbations):
        reason = against.get(number)
        if reason is None:
            possible.append(perturbation)
        elif kind_of(perturbation.name) in reading.wished or plan.planner == "built-in" or "together" in reason:
            possible.append(replace(perturbation, force=True))
            remarks.append(f"{perturbation.name} is tried, though it {reason}.")
        else:
            left.append(PlanChoice(name=perturbation.name, reason=f"It {reason}."))
    if not possible:
        raise NothingToDo("no perturbation that was chosen can occur", hint=left[0].reason)
    out = replace(plan.left_out, perturbations=(*plan.left_out.perturbations, *left))
    texts = tuple(dict.fromkeys(remarks))
    return replace(plan, perturbations=tuple(possible), left_out=out, remarks=(*plan.remarks, *texts))


# --- estimate of time and size ---


def estimated(plan: Plan, progress: Progress | None = None, *, workers: int | None = None) -> str:
    """Time, size and requests of a plan, in a sentence, from a run of one sample under one perturbation.

    The overhead of this run counts once for each set of severities, its requests times the samples and conditions of
    the plan. Nothing is run if that would cost money, or if the plan names no samples.
    """
    scenes, samples = plan.data.scenes, plan.samples[:1]
    costs = any(name.startswith(("chat:", "cascade:", "tgs:")) for name in plan.models)
    if plan.suite == "avi" or costs or not (scenes or samples):
        return "how long it takes was not measured: a part would cost money, or no samples are named"
    levels = [level for entry in plan.perturbations for level in entry.levels]
    first = tuple(replace(entry, severities=entry.severities[:1]) for entry in plan.perturbations[:1])
    data = replace(plan.data, scenes=1) if scenes is not None else plan.data
    part = replace(plan, samples=() if scenes else samples, data=data, perturbations=first, limits=PlanLimits())
    with tempfile.TemporaryDirectory(prefix="auscult-") as folder:
        start = time.monotonic()
        run_plan(part, Path(folder), progress, workers=workers)
        wall, disk_mb = time.monotonic() - start, folder_mb(Path(folder))
        rows = list(read_lines(Path(folder) / PREDICTIONS))
    of_models = [row for row in rows if not of_baseline(row.get("model"))]
    model_s = sum(float(row.get(key, 0.0)) for row in of_models for key in ("seconds", "preparing_s", "overhead_s"))
    factor = (len(plan.samples) or scenes or 1) * (1 + len(levels)) / (1 + len(first))
    calls = len({entry.levels for entry in plan.perturbations}) or 1
    seconds = max(wall - model_s, 0.0) * calls + model_s * factor / max(1, workers or default_workers())
    basis = f"a run of one sample{' under ' + first[0].name if first else ''}, which took {wall:.1f} s"
    requests = len(of_models) * factor
    return f"about {seconds:,.0f} s, {disk_mb * factor:,.0f} MB and {requests:,.0f} requests: from {basis}"
