"""A study: a sentence, what can be chosen, a debate, a plan, its run, a written analysis and a report.

::

    DIR/plan.yaml        what is run, and why
    DIR/agent.jsonl      every message, parse, turn and decision
    DIR/captions.jsonl   what is known of samples, by a hash of their content
    DIR/run/             the suite's own record
    DIR/analysis.json report.html

The same command again asks nothing twice. What the agent writes itself goes through ``record.folder``; scores are the
suite's alone.
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
from auscult.agent.knowledge.planner import BuiltInDebater, alternatives
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
_GROWING: Final = frozenset(
    {"dry_run", "plan", "replay", "max_usd", "max_requests", "max_seconds", "max_disk_mb", "base_url", "profile"}
)
"""Arguments that may change between commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study as far as it has come."""

    folder: Path
    plan: Plan  # what is run
    debate: Debate | None = None  # how it was proposed; None where a plan was given
    run: SuiteRun | None = None  # what the suite came to; None of a dry run
    analysis: Analysis | None = None  # None of a dry run, and where every request failed

    @property
    def record(self) -> Path:
        """The suite's record."""
        return self.folder / RUN


def run_study(
    options: AgentOptions, progress: Progress | None = None, *, planned: Callable[[Study], None] = lambda _: None
) -> Study:
    """From a sentence, or a plan that a person changed, to a report; the same options again resume.

    ``planned`` is told about the study when its plan stands, before it runs. UsageError where something that is named
    is not there or the folder holds another study; LimitReached at a limit of the plan.
    """
    listener = progress or Silent()
    yaml_module()  # what is not installed is said before anything is asked
    manifest = options.manifest("agent")
    every = frozenset().union(*manifest["arguments"].values())  # of those given and those by default
    planned_before = (options.out / FILE).is_file()
    ignore = IGNORED | _GROWING | (every if options.plan or not planned_before else frozenset())
    with open_run(options.out, manifest, overwrite=options.overwrite, ignore=ignore) as run:
        if not planned_before:  # what an earlier sentence left is no study
            run.manifest |= {key: manifest[key] for key in ("arguments", "seeds")}
            run.write_json(MANIFEST, run.manifest)
        for name in (LOG_FILE, CAPTIONS, "report.html"):
            run.claim(name)
        given = _read_given(options) if options.plan else None
        limits = _limits(options, PlanLimits() if given is None else given[0].limits)
        log = AgentLog(options.out, most_requests=limits.requests)
        how = ChatHow(
            base_url=options.base_url,
            profile=options.profile,
            seed=options.seed,
            budget=limits.usd,
            folder=options.out,
            replies=LOG_FILE,
        )
        source = None
        if given is None:
            study = _proposed(options, how, log, progress=listener)
        else:
            plan, source = given
            study = Study(folder=options.out, plan=replace(_as_changed(plan, options, log), limits=limits))
        log.add("plan", hash=study.plan.hash, changed=study.plan.changed, proposed=study.plan.proposed)
        run.write_text(FILE, plan_text(study.plan))
        planned(study)
        if not options.dry_run:
            more = {"workers": options.workers, "overwrite": options.overwrite}
            log.add("run", parts=_parts(study))
            done = run_plan(study.plan, study.record, listener, source=source, **more)
            study = replace(study, run=done)
            if done.summary.ok:
                analysis = _analysed(study, options, how, log=log)
                study = replace(study, analysis=analysis)
                run.write_json("analysis.json", analysis.as_json())
                report = study_report(study.folder, plan=study.plan, record=study.record, analysis=analysis)
                run.write_text("report.html", report)
        run.finish()
    return study


def _parts(study: Study) -> list[str]:
    """Models and conditions of a plan; a record that has others of an earlier plan would report those as well."""
    levels = [(kind_of(one.name), level) for one in study.plan.perturbations for level in one.levels]
    tried = [f"{kind} at {level if level == DYNAMIC else level_word(level)}" for kind, level in levels]
    parts = [*study.plan.models, *tried]
    for row in read_lines(study.folder / LOG_FILE):
        before = row.get("parts") if row.get("kind") == "run" else None
        lost = [part for part in before if part not in parts] if isinstance(before, list) else []
        if lost:
            raise UsageError(
                f"the record has {', '.join(map(str, lost[:5]))}, which the plan leaves out",
                expected="a plan that holds what was run before",
                hint="another --out for this plan, or --overwrite to begin anew",
                path=study.record,
            )
    return parts


def _analysed(study: Study, options: AgentOptions, how: ChatHow, *, log: AgentLog) -> Analysis:
    """The numbers in words, by the language model where there is one; what it wrote is not asked again."""
    metrics = [one.name for one in study.plan.metrics]
    if not options.llm or options.replay is not None:
        return analyse(study.record, metrics=metrics)
    with ExitStack() as held:
        chat = named_chat(options.llm, profile=how.profile, asking=how.asking())
        held.callback(chat.close)

        def write(text: str) -> str | Failed:
            key = key_of(chat.name, chat.revision, text=text, media=())
            try:
                return log.reply(key, partial(chat.answer, text), kind="message", role="analyst", sent=text)
            except AuscultError as error:
                return Failed(ErrorRecord.of(error, "ask"))

        return analyse(study.record, metrics=metrics, analyst=write, writer=chat.name)


def _read_given(options: AgentOptions) -> tuple[Plan, PlanSource]:
    """The plan that was given, checked."""
    path = options.plan or Path()
    refuse_beside_plan(
        path, options.given | ({"sentence"} if options.sentence else set()), {*_GROWING, "llm"} - {"replay"}
    )
    plan, source = read_plan(path)
    check_plan(plan, source)
    return plan, source


def _as_changed(plan: Plan, options: AgentOptions, log: AgentLog) -> Plan:
    """A plan that was given; it says that a person changed it where it is not the one proposed."""
    rows = read_lines(options.out / LOG_FILE) if (options.out / LOG_FILE).is_file() else ()
    proposed = next((str(row.get("hash")) for row in rows if row.get("kind") == "plan"), "")
    if proposed in {"", plan.hash}:
        return plan
    log.add("change", file=(options.plan or Path()).name, hash=plan.hash, proposed=proposed)
    return replace(plan, changed=True, proposed=proposed)


def _limits(options: AgentOptions, known: PlanLimits) -> PlanLimits:
    """The limits of a plan, and those that were given beside it."""
    given = {one.name: getattr(options, f"max_{one.name}") for one in fields(known)}
    return replace(known, **{name: most for name, most in given.items() if most is not None})


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
    own = {"sentence": sentence, "data": data_of(data) if data else "", "task": task, "models": models, "dry_run": True}
    given = frozenset({"severity"} if "levels" in more else ())
    with tempfile.TemporaryDirectory(prefix="auscult-") as folder:
        return run_study(from_keywords(AgentOptions, {**more, **own, "out": Path(out or folder), "given": given})).plan


def _proposed(options: AgentOptions, how: ChatHow, log: AgentLog, *, progress: Progress) -> Study:
    """The study of a sentence, as far as its plan."""
    if not options.sentence.strip():
        raise UsageError("there is no sentence", expected="SENTENCE, or --plan")
    if options.data == "":
        raise UsageError("there is no data", expected="--data PATH or scenes")
    suite, base = _suite_options(options), _unchosen(options)
    tried = (PlanPerturbation(name="gaussian_noise", severities=options.levels),)
    # what is mistyped is said before anything is measured or asked
    check_plan(replace(base, perturbations=tried if options.suite == "r2" and "severity" in options.given else ()))
    built_in, kept = (BuiltInDebater("operator"), BuiltInDebater("guardian")), options.out / CAPTIONS
    if options.replay is not None and (options.replay / CAPTIONS).is_file():
        write_bytes(kept, read_bytes(options.replay / CAPTIONS))
    with ExitStack() as held:
        chat, debaters = None, tuple[Debater, ...](built_in)
        if options.replay is not None:
            debaters = replay(options.replay)
        elif options.llm:
            chat = named_chat(options.llm, profile=how.profile, asking=how.asking())
            debaters = pair = chat_debaters(options.llm, how=how, log=log, fallbacks=built_in)
            for one in (chat, *pair):
                held.callback(one.close)
        offer = offer_of(suite, kept=kept, chat=chat, log=log, progress=progress)
        found = debate(*debaters, instruction=options.sentence, offer=offer, rounds=options.rounds, log=log)
    if isinstance(found, Failed):
        hint = found.error.hint or "the same command goes on; leave --llm out for the built-in planner"
        hint = hint.replace("--budget", "--max-usd")
        kind = LimitReached if found.error.stage == "limit" else UsageError
        raised = kind(found.error.error, expected=found.error.expected, hint=hint, path=found.error.path)
        if isinstance(raised, LimitReached):
            raised.limit = "requests" if log.is_spent else "usd"
        raise raised
    plan, path = plan_of(options, offer, found, base=base), options.out / FILE
    if path.is_file() and read_plan(path)[0].hash != plan.hash:
        raise UsageError(
            "the folder has another plan than this command proposes",
            path=path,
            hint=f"--plan {path} goes on from it; --overwrite begins anew",
        )
    return Study(folder=options.out, plan=plan, debate=found)


def _suite_options(options: AgentOptions) -> Any:
    """The options of the suite that say what can be chosen."""
    refuse_unknown((options.suite,), SUITES, "study of suite")
    suite = load_suite(options.suite)
    asked = {name: value for name in (*_OF_DATA, "task") if (value := getattr(options, name))}
    refuse_foreign(suite, frozenset(asked))
    common = {name: getattr(options, name) for name in ("out", "data", "count", "seed", "splits", "workers")}
    return options_of(suite, common | asked)


def _unchosen(options: AgentOptions) -> Plan:
    """The plan as far as the command says it."""
    made = options.data == SCENES and options.suite != "avi"  # samples of avi are made for the offer
    return Plan(
        instruction=options.sentence[:MOST_TEXT],
        suite=options.suite,  # type: ignore[arg-type] # one of SUITES
        task=options.task,
        data=PlanData(
            path="" if made else str(options.out / "scenes" if options.data == SCENES else options.data),
            scenes=options.count if made else None,
            splits=options.splits,
            options={name: str(path) for name in _OF_DATA if (path := getattr(options, name)) is not None},
        ),
        models=options.models,
        seed=options.seed,
    )


def plan_of(options: AgentOptions, offer: Offer, found: Debate, *, base: Plan) -> Plan:
    """The plan of a proposal; what cannot occur is left out of it, unless the sentence asks for it."""
    proposal, told = found.proposal, [*offer.remarks, *found.remarks]
    if not proposal.selected("perturbations"):
        bold = BuiltInDebater("guardian").propose(options.sentence, offer)
        proposal = replace(proposal, perturbations=bold.perturbations)
        told.append("No perturbation is sure to occur here: the plausible ones are taken.")
    taken, left = (_chosen(proposal, selected=side) for side in (True, False))
    if options.suite == "avi":
        taken["samples"], left["samples"] = _of_tasks(taken, left["samples"])
    for of, chosen in taken.items():
        if not chosen:
            first = next((f"{one.type}: {one.reason}" for one in proposal.of(of)), "nothing is offered")
            lacking = f"none of {len(offer.of(of)):,} {of} is taken; {first}"
            raise NothingToDo(lacking, hint="other data, or fewer demands")
    reading, speaker = read_sentence(options.sentence), found.turns[0].name
    middle: dict[str, Any] = {} if options.suite == "r2" else {base.middle: taken["perturbations"]}
    plan = replace(
        base,
        places=_places(reading),
        samples=tuple(PlanSample(id=one.name, reason=one.reason) for one in taken["samples"]),
        metrics=taken["metrics"],
        planner="built-in" if speaker.startswith("built-in") else speaker,
        rounds=found.rounds,
        remarks=tuple(text[:MOST_TEXT] for text in (*told, *map(_dispute, found.disputes))),
        left_out=PlanLeftOut(**left),
        **middle,
    )
    if options.suite == "r2":
        plan = _possible(replace(plan, perturbations=_perturbations(options, reading, taken["perturbations"])), reading)
    plan = replace(plan, limits=_limits(options, plan.limits))
    check_plan(plan)
    return plan


def _chosen(proposal: Proposal, *, selected: bool) -> dict[ChoiceSet, tuple[PlanChoice, ...]]:
    """What a proposal takes, or what it leaves out."""
    return {
        of: tuple(PlanChoice(name=one.type, reason=one.reason) for one in proposal.of(of) if one.selected == selected)
        for of in CHOICE_SETS
    }


def _of_tasks(
    taken: Mapping[ChoiceSet, tuple[PlanChoice, ...]], left: Sequence[PlanChoice]
) -> tuple[tuple[PlanChoice, ...], tuple[PlanChoice, ...]]:
    """The samples of avi that are of a task that is taken, and the others; all of these tasks where none fits."""
    tasks = {one.name for one in taken["perturbations"]}
    mine, others = list[PlanChoice](), [*left]
    for one in taken["samples"]:
        of_task = TASK_OF.get(one.name.partition("/")[0]) in tasks
        (mine if of_task else others).append(one if of_task else replace(one, reason="Its task is left out."))
    if not mine:
        mine = [one for one in left if TASK_OF.get(one.name.partition("/")[0]) in tasks]
        others = [one for one in others if one not in mine]
        mine = [replace(one, reason="Its task is taken, of which nothing fits better.") for one in mine]
    return tuple(mine), tuple(others)


def _dispute(one: Dispute) -> str:
    word = "taken" if one.selected else "left out"
    return f"{one.type} is {word}, never agreed on: {one.operator_reason} The guardian: {one.guardian_reason}"


def _places(reading: Reading) -> tuple[str, ...]:
    """Where the situations of a sentence are set; several where they exclude one another."""
    found = []
    for part in alternatives(reading.situations) if reading.situations else ():
        names = dict.fromkeys(one for name in part for one in lineage(name))
        found.append(
            "+".join(dict.fromkeys(word for name in names for word in situations()[name].place.split("+") if word))
        )
    return tuple(dict.fromkeys(filter(None, found))) or ("outdoors", "indoors")


def _perturbations(
    options: AgentOptions, reading: Reading, chosen: Sequence[PlanChoice]
) -> tuple[PlanPerturbation, ...]:
    """Each chosen one with the severities that were given or read, and changing over time where that was."""
    levels = options.levels if "severity" in options.given else reading.levels or _LEVELS
    task, found = task_rules(options.task), []
    for one in chosen:
        first_mask = room_of(one.name) == "masks"
        static = tuple(
            level for level in levels if level != DYNAMIC and not (first_mask and level_word(level) == "medium")
        )
        moves = not task.still and room_of(one.name) == "vision"
        if static or not moves:
            each = static or (("low", "high") if first_mask else _LEVELS)
            found.append(PlanPerturbation(name=one.name, severities=each, reason=one.reason))
        if moves and (reading.dynamic or DYNAMIC in levels):
            found.append(PlanPerturbation(name=one.name, schedule="dynamic", reason=one.reason))
    return tuple(found)


def _possible(plan: Plan, reading: Reading) -> Plan:
    """The plan with its conflicts solved: a wish is obeyed, the rules' own choice stands, another's is left out."""
    left, kept, remarks = [], list[PlanPerturbation](), []
    against = dict(conflicts(plan))
    for number, one in enumerate(plan.perturbations):
        why = against.get(number)
        if why is None:
            kept.append(one)
        elif kind_of(one.name) in reading.wished or plan.planner == "built-in" or "together" in why:
            kept.append(replace(one, force=True))
            remarks.append(f"{one.name} is tried, though it {why}.")
        else:
            left.append(PlanChoice(name=one.name, reason=f"It {why}."))
    if not kept:
        raise NothingToDo("no perturbation that was chosen can occur", hint=left[0].reason)
    out = replace(plan.left_out, perturbations=(*plan.left_out.perturbations, *left))
    texts = tuple(dict.fromkeys(remarks))
    return replace(plan, perturbations=tuple(kept), left_out=out, remarks=(*plan.remarks, *texts))


# --- what it would take ---


def estimated(plan: Plan, progress: Progress | None = None, *, workers: int | None = None) -> str:
    """What a plan takes, in a sentence, by running a small part of it: one sample, under one perturbation.

    What the part takes beside its requests is counted once for each set of severities, and its requests times the
    samples and conditions of the plan. Nothing is run where a part would cost money, or the plan names no samples.
    """
    scenes, samples = plan.data.scenes, plan.samples[:1]
    costs = any(name.startswith(("chat:", "cascade:", "tgs:")) for name in plan.models)
    if plan.suite == "avi" or costs or not (scenes or samples):
        return "how long it takes was not measured: a part would cost money, or no samples are named"
    levels = [level for one in plan.perturbations for level in one.levels]
    first = tuple(replace(one, severities=one.severities[:1]) for one in plan.perturbations[:1])
    data = replace(plan.data, scenes=1) if scenes is not None else plan.data
    part = replace(plan, samples=() if scenes else samples, data=data, perturbations=first, limits=PlanLimits())
    with tempfile.TemporaryDirectory(prefix="auscult-") as folder:
        begun = time.monotonic()
        run_plan(part, Path(folder), progress, workers=workers)
        wall, disk_mb = time.monotonic() - begun, folder_mb(Path(folder))
        rows = list(read_lines(Path(folder) / PREDICTIONS))
    of_models = [row for row in rows if not of_baseline(row.get("model"))]
    taken = sum(float(row.get(key, 0.0)) for row in of_models for key in ("seconds", "preparing_s", "overhead_s"))
    factor = (len(plan.samples) or scenes or 1) * (1 + len(levels)) / (1 + len(first))
    calls = len({one.levels for one in plan.perturbations}) or 1
    seconds = max(wall - taken, 0.0) * calls + taken * factor / max(1, workers or default_workers())
    how = f"a run of one sample{' under ' + first[0].name if first else ''}, which took {wall:.1f} s"
    requests = len(of_models) * factor
    return f"about {seconds:,.0f} s, {disk_mb * factor:,.0f} MB and {requests:,.0f} requests: from {how}"
