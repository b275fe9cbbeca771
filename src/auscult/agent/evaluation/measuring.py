"""``auscult run agent``: planners debate every labelled instruction; ACC and Rate in the form of R2-Bench, Table 7."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, TypeAlias, get_args

import numpy as np

from auscult.agent.chat_debater import ChatDebater, chat_debaters
from auscult.agent.debate import (
    CHOICE_SETS,
    LOG_FILE,
    MOST_ROUNDS,
    UNANSWERED,
    AgentLog,
    Choice,
    ChoiceSet,
    Debate,
    Debater,
    Offer,
    Offered,
    Proposal,
    Role,
    debate,
)
from auscult.agent.evaluation import AgentTableOptions
from auscult.agent.evaluation.labels import SCORES, Half, Labelled, kappa, labelled, offer_for, score, table_of_grades
from auscult.agent.knowledge import BuiltInDebater
from auscult.errors import ErrorRecord
from auscult.jobs.options import CHANGE_NOTHING
from auscult.jobs.runner import ERRORS, ErrorLog, Progress, Silent, finish_tables
from auscult.models.chat.loading import ChatHow
from auscult.outcome import Failed, Scored, Signature
from auscult.record.folder import open_run
from auscult.record.manifest import IGNORED
from auscult.record.schema import Summary, error_to_json, metric_row
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.stats.few_clusters import CORRELATION, SHARE, Range
from auscult.score.stats.intervals import FromSums, Interval, resampled, with_interval
from auscult.stress.presets import barred, places, tags_of
from auscult.suites.options import refuse_unknown
from auscult.suites.registered import SuiteRun, refuse_idle
from auscult.types import Doubles

ERROR_RATES: Final = (0.2, 0.35, 0.5)
BUILT_IN: Final = "built-in"
_CHOSEN: Final = 2  # rounds, as the paper chooses
_RANDOM: Final = 20  # draws
_DRAWS: Final = 1000
_TITLES: Final = ("Data Sample", "Perturbation", "Metric Func.")
_PRINTED: Final = (
    "0.53 0.78 0.64 0.81 0.77 0.85 0.80 0.91",
    "0.65 0.87 0.77 0.86 0.86 0.91 0.87 0.93",
    "1.00 1.00 1.00 1.00 1.00 1.00 1.00 1.00",
)
Selection: TypeAlias = Mapping[ChoiceSet, Collection[str]]
_Said: TypeAlias = Sequence[Selection] | None
"""What a planner selects for one instruction after 0 to 3 rounds; None where it has failed."""
_Values: TypeAlias = Mapping[str, Doubles]
"""By planner: (instructions, rounds, sets, scores), 0..1; NaN where it has failed."""


def run_agent_table(options: AgentTableOptions, progress: Progress | None = None) -> SuiteRun:
    """Measure the planner, baselines and scripted models; what was answered before is not asked for again."""
    refuse_unknown((options.half,), get_args(Half), "half")
    refuse_idle(options, dict.fromkeys(("data", "split", "images"), "another suite"))
    examples = instructions(options.half)
    listener, seed = progress or Silent(), options.seed
    with open_run(
        options.out, options.manifest("run agent"), overwrite=options.overwrite, ignore=IGNORED | CHANGE_NOTHING
    ) as run:
        for file in (ERRORS, LOG_FILE) if options.overwrite else (ERRORS,):
            run.remove(file)
        log = AgentLog(options.out)
        planners = _planners(options, examples, log=log)
        name = next(iter(planners))
        listener.stage("instructions", len(planners) * len(examples))
        selections, errors = dict[str, list[_Said]](), dict[str, ErrorRecord]()
        for planner, pair in planners.items():
            selections[planner], failed = _debated(
                examples, pair, log=log if planner == name else AgentLog(), progress=listener
            )
            errors |= failed
        ErrorLog(run).keep(error_to_json(id_, error) for id_, error in errors.items())
        values = {planner: _values(examples, selected) for planner, selected in selections.items()}
        tables = {
            "table7": _table7(values, half=options.half, n=len(examples)),
            "baselines": _baseline_table(
                name, values[name], _baselines(examples, selections[name], seed=seed), seed=seed
            ),
            "rounds": _rounds_table(values, seed=seed),
            "agreement": _agreement_table(seed=seed),
        }
        count: dict[str, Any] = {"n": len(examples), "ok": len(examples) - len(errors), "failed": len(errors)}
        draft = Summary(command="run agent", **count, metrics=_metrics(values, seed=seed))
        summary, shown = finish_tables(run, draft, tables)
    return SuiteRun(out=options.out, summary=summary, tables=tables, shown=tuple(shown))


# --- choices ---


def instructions(half: str) -> list[Labelled]:
    """The labelled instructions of a half."""
    return [example for example in labelled() if example.half == half]


def _planners(
    options: AgentTableOptions, found: Sequence[Labelled], *, log: AgentLog
) -> dict[str, tuple[Debater, Debater]]:
    """Operator and guardian of each planner, the one that is measured first."""
    planners: dict[str, tuple[Debater, Debater]] = {}
    if options.llm:
        chat_settings = ChatHow.of(options, seed=options.seed, folder=options.out, replies=LOG_FILE)
        planners[options.llm] = chat_debaters(options.llm, how=chat_settings, log=log)
    planners[BUILT_IN] = BuiltInDebater("operator"), BuiltInDebater("guardian")
    texts = {example.instruction: example for example in found}
    for error in ERROR_RATES:
        planners[f"scripted, {error:.0%} errors"] = (
            ScriptedDebater("operator", texts, error=error, seed=options.seed),
            ScriptedDebater("guardian", texts, error=error, seed=options.seed),
        )
    return planners


def _debated(
    found: Sequence[Labelled], pair: tuple[Debater, Debater], *, log: AgentLog, progress: Progress
) -> tuple[list[_Said], dict[str, ErrorRecord]]:
    """What a pair selects for each instruction, and errors by its id; once nobody answers, nothing more is asked."""
    selections, errors, dead = list[_Said](), dict[str, ErrorRecord](), None
    for example in found:
        offer = offer_for(example.task)
        done = dead or debate(*pair, instruction=example.instruction, offer=offer, rounds=MOST_ROUNDS, log=log)
        if isinstance(done, Failed):
            dead = done if done.error.stage in UNANSWERED else None
            errors[example.id] = done.error
        selections.append(None if isinstance(done, Failed) else by_rounds(done))
        progress.step()
    if isinstance(pair[0], ChatDebater):
        pair[0].close()
    return selections, errors


def _baselines(found: Sequence[Labelled], said: Sequence[_Said], *, seed: int) -> dict[str, Doubles]:
    """Choices without thought, with the values of one round; random ones are as many as the planner's."""
    rng = generator(seed, "agent", "random")
    offers = [offer_for(example.task) for example in found]
    sizes = [
        everything(offer) if selection is None else selection[_CHOSEN]
        for selection, offer in zip(said, offers, strict=True)
    ]
    draws = [
        _values(found, [[at_random(*pair, rng=rng)] for pair in zip(offers, sizes, strict=True)])
        for _ in range(_RANDOM)
    ]
    return {
        "all": _values(found, [[everything(offer)] for offer in offers]),
        "none": _values(found, [[dict.fromkeys(CHOICE_SETS, ())]] * len(found)),
        f"as many at random, mean of {_RANDOM}": np.mean(draws, 0),
        "by place only": _values(
            found, [[by_place(example.instruction, offer_for(example.task))] for example in found]
        ),
    }


# --- what a planner is compared with ---


class ScriptedDebater:
    """Operator or guardian that knows what is needed and errs about everything offered with one probability.

    Each look at something is a new draw, of the guardian apart from the operator's. The guardian says what it sees; the
    operator looks again at what the guardian disputes, and keeps to the rest. So verification can both mend and spoil.
    """

    def __init__(self, role: Role, labels: Mapping[str, Labelled], *, error: float, seed: int) -> None:
        self.name = f"scripted {role}, {error:.0%} errors"
        self._role, self._labels, self._error, self._seed = role, labels, error, seed
        self._about, self._looks, self._last = "", 0, dict[tuple[ChoiceSet, str], bool]()

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal:
        """What it sees at a first or another look; of the operator, then only where it is contradicted."""
        first = other is None or instruction != self._about  # a new sentence begins a new memory
        self._looks = int(other is not None) if first else self._looks + 1
        selected = self._look(instruction, offer)
        if self._role == "operator" and other is not None:
            theirs = {(of, choice.type): choice.selected for of in CHOICE_SETS for choice in other.of(of)}
            selected = {key: selected[key] if theirs[key] != last else last for key, last in self._last.items()}
        return self._said(offer, selected)

    def _look(self, instruction: str, offer: Offer) -> dict[tuple[ChoiceSet, str], bool]:
        self._about, labels = instruction, self._labels[instruction].labels
        truth = {
            (of, offered.name): offered.name in labels[of].needed for of in CHOICE_SETS for offered in offer.of(of)
        }
        rng = generator(self._seed, "scripted", self._role, str(self._error), instruction, str(self._looks))
        return {
            key: needed != (draw < self._error)
            for (key, needed), draw in zip(truth.items(), rng.random(len(truth)), strict=True)
        }

    def _said(self, offer: Offer, seen: dict[tuple[ChoiceSet, str], bool]) -> Proposal:
        self._last = seen
        chosen = {
            of: tuple(Choice(type=offered.name, reason="", selected=seen[of, offered.name]) for offered in offer.of(of))
            for of in CHOICE_SETS
        }
        return Proposal(**chosen)


def by_rounds(found: Debate) -> list[Selection]:
    """What the operator selects if the debate ends after 0 to 3 rounds; fewer rounds are the beginning of more."""
    words = [(turn.round, turn.proposal) for turn in found.turns if turn.role == "operator" and turn.proposal]
    last = [[proposal for number, proposal in words if number <= rounds][-1] for rounds in range(MOST_ROUNDS + 1)]
    return [{of: proposal.selected(of) for of in CHOICE_SETS} for proposal in last]


def everything(offer: Offer) -> Selection:
    """All that is offered."""
    return {of: [offered.name for offered in offer.of(of)] for of in CHOICE_SETS}


def at_random(offer: Offer, like: Selection, *, rng: np.random.Generator) -> Selection:
    """As many of each set as another selects, drawn."""
    return {
        of: [offer.of(of)[index].name for index in rng.permutation(len(offer.of(of)))[: len(like[of])]]
        for of in CHOICE_SETS
    }


def by_place(instruction: str, offer: Offer) -> Selection:
    """By places alone: what ``stress/data/occurrence.json`` does not bar there, and samples of these places.

    A place is known by its word in the sentence, singular or plural, and in a sample by its words and by whether it is
    indoors and by day. Where the sentence names no place, everything is taken.
    """
    named_places = _places(re.findall(r"[a-z]+", instruction.lower()))
    tags = frozenset[str]().union(*map(tags_of, named_places))
    return {
        "samples": [offered.name for offered in offer.samples if named_places <= _tags(offered)],
        "perturbations": [offered.name for offered in offer.perturbations if not barred(offered.name, tags)],
        "metrics": [offered.name for offered in offer.metrics],
    }


def _places(words: Iterable[str]) -> set[str]:
    spellings = {spelled: name for name in places() for spelled in (name, f"{name}s", name.removesuffix("s"))}
    return {spellings[word] for word in words if word in spellings}


def _tags(sample: Offered) -> frozenset[str]:
    facts = sample.facts
    side = {True: "indoors", False: "outdoors", None: ""}[facts["indoors"]]
    return frozenset[str]().union(*map(tags_of, _places([*facts["place"], facts["day"], side])))


# --- numbers ---


def _values(found: Sequence[Labelled], said: Sequence[_Said]) -> Doubles:
    """(instructions, rounds, sets, scores); NaN where a planner has failed."""
    rounds = max((len(by_round) for by_round in said if by_round), default=MOST_ROUNDS + 1)
    values = np.full((len(found), rounds, len(CHOICE_SETS), len(SCORES)), np.nan)
    for index, (example, selections) in enumerate(zip(found, said, strict=True)):
        for (number, selection), (place, of) in product(enumerate(selections or ()), enumerate(CHOICE_SETS)):
            names = [offered.name for offered in offer_for(example.task).of(of)]
            values[index, number, place] = [
                score(which, example.labels[of], offered=names, selected=selection[of]) for which in SCORES
            ]
    return values


def mean_over(values: Doubles, *, seed: int, within: Range = SHARE) -> Scored[float] | None:
    """The mean over instructions, (n,), with the interval of draws of whole instructions; None without any."""
    finite = values[~np.isnan(values)]
    rows = np.stack([finite, np.ones_like(finite)], axis=1)
    return _with_draws(rows, lambda sums: sums[:, 0] / sums[:, 1], seed=seed, within=within) if finite.size else None


def _with_draws(rows: Doubles, statistic: FromSums, *, seed: int, within: Range) -> Scored[float]:
    rng = generator(seed, "agent", "instructions")  # the same for all that is compared
    clusters, draws = resampled(rows, np.arange(len(rows)), statistic, rng=rng, replicates=_DRAWS)
    plain = Scored(float(statistic(rows.sum(axis=0)[None])[0]), Signature.of(over="instructions"))
    interval = None if draws is None else with_interval(plain, draws, clusters=clusters, within=within)
    return interval or plain


def _metrics(values: _Values, *, seed: int) -> dict[str, dict[str, Any]]:
    rows = {}
    for planner, numbers in values.items():
        for number, index, which in np.ndindex(numbers.shape[1:]):
            column = numbers[:, number, index, which]
            if (outcome := mean_over(column, seed=seed)) is not None:
                name = f"{planner}, {CHOICE_SETS[index]}, {SCORES[which]}, {number} rounds"
                rows[name] = metric_row(outcome, n=int(np.count_nonzero(~np.isnan(column))))
    return rows


# --- tables ---


def _table7(values: _Values, *, half: str, n: int) -> Table:
    rows = list[tuple[str, ...]]()
    for index, (title, printed) in enumerate(zip(_TITLES, _PRINTED, strict=True)):
        for planner, numbers in values.items():
            columns = numbers[:, :, index, :2].reshape(len(numbers), -1).T
            rows.append((title, planner, *(interval_text(mean_over(column, seed=0), brief=True) for column in columns)))
        rows.append((title, "R2-Bench, Table 7 (printed)", *printed.split()))
    return Table(
        title=f"Choices against labels by rounds of verification, {n} instructions, {half} half",
        header=("", "planner", *(f"{which} {number}" for number in range(MOST_ROUNDS + 1) for which in SCORES[:2])),
        rows=tuple(rows),
        note="Printed rows are not comparable: other instructions, samples and labels. A scripted model knows the "
        "labels and errs at each look with the chance given, guardian and operator apart. Intervals: summary.json.",
    )


def _baseline_table(name: str, own: Doubles, plain: Mapping[str, Doubles], *, seed: int) -> Table:
    """The planner after two rounds, what needs no thought, and how far apart they are, paired by instruction."""
    chosen, rows = own[:, _CHOSEN], list[tuple[str, ...]]()
    for index, title in enumerate(_TITLES):
        rows.append((title, name, *_shown(chosen[:, index], seed=seed), *("",) * len(SCORES)))
        for other, numbers in plain.items():
            gaps = _shown(chosen[:, index] - numbers[:, 0, index], seed=seed, gap=True)
            rows.append((title, other, *_shown(numbers[:, 0, index], seed=seed), *gaps))
    return Table(
        title=f"After {_CHOSEN} rounds, beside choices without thought",
        header=("", "chosen", *SCORES, *(f"{name} less this, {which}" for which in SCORES)),
        rows=tuple(rows),
        note="Means over instructions; intervals of 95 % draw whole instructions, differences are paired.",
    )


def _rounds_table(values: _Values, *, seed: int) -> Table:
    """What each further round changes."""
    rows = [
        (title, planner, SCORES[which], *_shown(np.diff(numbers[:, :, index, which], axis=1), seed=seed, gap=True))
        for (index, title), (planner, numbers), which in product(enumerate(_TITLES[:2]), values.items(), (0, 1))
    ]
    return Table(
        title="What each round of verification changes",
        header=("", "planner", "score", "1 less 0", "2 less 1", "3 less 2"),
        rows=tuple(rows),
        note="Paired by instruction, intervals of 95 %.",
    )


def _agreement_table(*, seed: int) -> Table:
    """How far two labellings agree, and the second as a planner: no planner can be expected above it."""
    first = {example.id: example for example in labelled()}
    second = labelled(second=True)
    pairs = [first[example.id] for example in second]
    as_planner = _values(pairs, [[{of: example.labels[of].needed for of in CHOICE_SETS}] for example in second])
    rows = []
    for index, of in enumerate(CHOICE_SETS):
        counts = [
            table_of_grades(
                example.labels[of], other.labels[of], [offered.name for offered in offer_for(example.task).of(of)]
            )
            for example, other in zip(pairs, second, strict=True)
        ]
        agreed = _with_draws(
            np.reshape(counts, (len(counts), -1)),
            lambda sums: kappa(sums.reshape(-1, 3, 3)),
            seed=seed,
            within=CORRELATION,
        )
        rows.append((_TITLES[index], interval_text(agreed), *_shown(as_planner[:, 0, index], seed=seed)))
    return Table(
        title=f"Two labellings of {len(second)} instructions of both halves",
        header=("", "Cohen's kappa", *(f"{which} of the second" for which in SCORES)),
        rows=tuple(rows),
        note="Kappa is of needed, plausible, impossible; the second labelling counts as a planner that selects what it "
        "finds needed.",
    )


def _shown(columns: Doubles, *, seed: int, gap: bool = False) -> list[str]:
    """The means of (instructions, columns) with their intervals; ``gap`` where they are differences."""
    within = CORRELATION if gap else SHARE
    return [interval_text(mean_over(column, seed=seed, within=within), sign="+" * gap) for column in columns.T]


def interval_text(outcome: Scored[float] | None, *, sign: str = "", brief: bool = False) -> str:
    """A mean with its interval, where it has one and ``brief`` leaves it in; a dash without any."""
    if outcome is None:
        return "–"
    ends = f" [{outcome.low:{sign}.2f}, {outcome.high:{sign}.2f}]" if isinstance(outcome, Interval) else ""
    return f"{outcome.value:{sign}.2f}{'' if brief else ends}"
