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
_ROUNDS: Final = 2  # as in the paper
_RANDOM_DRAWS: Final = 20
_DRAWS: Final = 1000
_TITLES: Final = ("Data Sample", "Perturbation", "Metric Func.")
_PRINTED: Final = (
    "0.53 0.78 0.64 0.81 0.77 0.85 0.80 0.91",
    "0.65 0.87 0.77 0.86 0.86 0.91 0.87 0.93",
    "1.00 1.00 1.00 1.00 1.00 1.00 1.00 1.00",
)
Selection: TypeAlias = Mapping[ChoiceSet, Collection[str]]
_Rounds: TypeAlias = Sequence[Selection] | None
"""What a planner selects for one instruction after 0 to 3 rounds; None where it has failed."""
_Values: TypeAlias = Mapping[str, Doubles]
"""By planner: (instructions, rounds, sets, scores), 0..1; NaN where it has failed."""


def run_agent_table(options: AgentTableOptions, progress: Progress | None = None) -> SuiteRun:
    """Measure the planner, baselines and scripted models; replies in the log are used again."""
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
        selections, errors = dict[str, list[_Rounds]](), dict[str, ErrorRecord]()
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
    options: AgentTableOptions, examples: Sequence[Labelled], *, log: AgentLog
) -> dict[str, tuple[Debater, Debater]]:
    """Operator and guardian of each planner, the planner under test first."""
    planners: dict[str, tuple[Debater, Debater]] = {}
    if options.llm:
        chat_settings = ChatHow.of(options, seed=options.seed, folder=options.out, replies=LOG_FILE)
        planners[options.llm] = chat_debaters(options.llm, how=chat_settings, log=log)
    planners[BUILT_IN] = BuiltInDebater("operator"), BuiltInDebater("guardian")
    texts = {example.instruction: example for example in examples}
    for error in ERROR_RATES:
        planners[f"scripted, {error:.0%} errors"] = (
            ScriptedDebater("operator", texts, error=error, seed=options.seed),
            ScriptedDebater("guardian", texts, error=error, seed=options.seed),
        )
    return planners


def _debated(
    examples: Sequence[Labelled], pair: tuple[Debater, Debater], *, log: AgentLog, progress: Progress
) -> tuple[list[_Rounds], dict[str, ErrorRecord]]:
    """Selections of a pair for each instruction, and errors by id; after a request without reply no more are sent."""
    selections, errors, dead = list[_Rounds](), dict[str, ErrorRecord](), None
    for example in examples:
        offer = offer_for(example.task)
        outcome = dead or debate(*pair, instruction=example.instruction, offer=offer, rounds=MOST_ROUNDS, log=log)
        if isinstance(outcome, Failed):
            dead = outcome if outcome.error.stage in UNANSWERED else None
            errors[example.id] = outcome.error
        selections.append(None if isinstance(outcome, Failed) else by_rounds(outcome))
        progress.step()
    if isinstance(pair[0], ChatDebater):
        pair[0].close()
    return selections, errors


def _baselines(examples: Sequence[Labelled], selections: Sequence[_Rounds], *, seed: int) -> dict[str, Doubles]:
    """Values of trivial choices, one round each; random choices are as many as the planner's."""
    rng = generator(seed, "agent", "random")
    offers = [offer_for(example.task) for example in examples]
    sizes = [
        everything(offer) if selection is None else selection[_ROUNDS]
        for selection, offer in zip(selections, offers, strict=True)
    ]
    draws = [
        _values(examples, [[at_random(*pair, rng=rng)] for pair in zip(offers, sizes, strict=True)])
        for _ in range(_RANDOM_DRAWS)
    ]
    return {
        "all": _values(examples, [[everything(offer)] for offer in offers]),
        "none": _values(examples, [[dict.fromkeys(CHOICE_SETS, ())]] * len(examples)),
        f"as many at random, mean of {_RANDOM_DRAWS}": np.mean(draws, 0),
        "by place only": _values(
            examples, [[by_place(example.instruction, offer_for(example.task))] for example in examples]
        ),
    }


# --- scripted debaters and baselines ---


class ScriptedDebater:
    """Operator or guardian that knows the labels and is wrong about each entry with one fixed probability.

    Each look at an entry is a new independent draw. The guardian proposes what it draws; the operator draws again for
    the entries that the guardian disputes, and keeps the others. So verification can correct errors and cause them.
    """

    def __init__(self, role: Role, labels: Mapping[str, Labelled], *, error: float, seed: int) -> None:
        self.name = f"scripted {role}, {error:.0%} errors"
        self._role, self._labels, self._error, self._seed = role, labels, error, seed
        self._instruction, self._look_count, self._last_selected = "", 0, dict[tuple[ChoiceSet, str], bool]()

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal:
        """A new draw; of the operator, after its first proposal, only for disputed entries."""
        first = other is None or instruction != self._instruction  # a new sentence clears the memory
        self._look_count = int(other is not None) if first else self._look_count + 1
        self._instruction, labels = instruction, self._labels[instruction].labels
        entries = [(of, offered.name) for of in CHOICE_SETS for offered in offer.of(of)]
        rng = generator(self._seed, "scripted", self._role, str(self._error), instruction, str(self._look_count))
        wrong = rng.random(len(entries)) < self._error
        selected = {
            (of, name): (name in labels[of].needed) != err for (of, name), err in zip(entries, wrong, strict=True)
        }
        if self._role == "operator" and other is not None:
            theirs = {(of, choice.type): choice.selected for of in CHOICE_SETS for choice in other.of(of)}
            selected |= {key: last for key, last in self._last_selected.items() if theirs[key] == last}
        self._last_selected = selected
        chosen = {
            of: tuple(Choice(type=one.name, reason="", selected=selected[of, one.name]) for one in offer.of(of))
            for of in CHOICE_SETS
        }
        return Proposal(**chosen)


def by_rounds(found: Debate) -> list[Selection]:
    """The operator's selections after 0, 1, 2 and 3 rounds of one debate."""
    words = [(turn.round, turn.proposal) for turn in found.turns if turn.role == "operator" and turn.proposal]
    last = [[proposal for number, proposal in words if number <= rounds][-1] for rounds in range(MOST_ROUNDS + 1)]
    return [{of: proposal.selected(of) for of in CHOICE_SETS} for proposal in last]


def everything(offer: Offer) -> Selection:
    """All entries of the offer."""
    return {of: [offered.name for offered in offer.of(of)] for of in CHOICE_SETS}


def at_random(offer: Offer, like: Selection, *, rng: np.random.Generator) -> Selection:
    """A random selection with as many entries of each set as ``like``."""
    return {
        of: [offer.of(of)[index].name for index in rng.permutation(len(offer.of(of)))[: len(like[of])]]
        for of in CHOICE_SETS
    }


def by_place(instruction: str, offer: Offer) -> Selection:
    """Selection by place: perturbations that ``stress/data/occurrence.json`` allows there, and samples of the place.

    The places of a sentence are the place words in it, singular or plural; those of a sample are its facts ``place``,
    ``day`` and ``indoors``. Where the sentence names no place, everything is selected.
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


def _values(examples: Sequence[Labelled], by_instruction: Sequence[_Rounds]) -> Doubles:
    """(instructions, rounds, sets, scores); NaN where a planner has failed."""
    rounds = max((len(by_round) for by_round in by_instruction if by_round), default=MOST_ROUNDS + 1)
    values = np.full((len(examples), rounds, len(CHOICE_SETS), len(SCORES)), np.nan)
    for index, (example, selections) in enumerate(zip(examples, by_instruction, strict=True)):
        for (number, selection), (place, of) in product(enumerate(selections or ()), enumerate(CHOICE_SETS)):
            names = [offered.name for offered in offer_for(example.task).of(of)]
            values[index, number, place] = [
                score(which, example.labels[of], offered=names, selected=selection[of]) for which in SCORES
            ]
    return values


def mean_over(values: Doubles, *, seed: int, within: Range = SHARE) -> Scored[float] | None:
    """The mean over instructions, (n,), with an interval that draws whole instructions; None if there are none."""
    finite = values[~np.isnan(values)]
    rows = np.stack([finite, np.ones_like(finite)], axis=1)
    return _with_draws(rows, lambda sums: sums[:, 0] / sums[:, 1], seed=seed, within=within) if finite.size else None


def _with_draws(rows: Doubles, statistic: FromSums, *, seed: int, within: Range) -> Scored[float]:
    rng = generator(seed, "agent", "instructions")  # the same draws for all planners
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


def _baseline_table(name: str, values: Doubles, baselines: Mapping[str, Doubles], *, seed: int) -> Table:
    """The planner after two rounds, trivial choices, and the differences, paired by instruction."""
    chosen, rows = values[:, _ROUNDS], list[tuple[str, ...]]()
    for index, title in enumerate(_TITLES):
        rows.append((title, name, *_cells(chosen[:, index], seed=seed), *("",) * len(SCORES)))
        for other, numbers in baselines.items():
            gaps = _cells(chosen[:, index] - numbers[:, 0, index], seed=seed, gap=True)
            rows.append((title, other, *_cells(numbers[:, 0, index], seed=seed), *gaps))
    return Table(
        title=f"After {_ROUNDS} rounds, beside choices without thought",
        header=("", "chosen", *SCORES, *(f"{name} less this, {which}" for which in SCORES)),
        rows=tuple(rows),
        note="Means over instructions; intervals of 95 % draw whole instructions, differences are paired.",
    )


def _rounds_table(values: _Values, *, seed: int) -> Table:
    rows = [
        (title, planner, SCORES[which], *_cells(np.diff(numbers[:, :, index, which], axis=1), seed=seed, gap=True))
        for (index, title), (planner, numbers), which in product(enumerate(_TITLES[:2]), values.items(), (0, 1))
    ]
    return Table(
        title="What each round of verification changes",
        header=("", "planner", "score", "1 less 0", "2 less 1", "3 less 2"),
        rows=tuple(rows),
        note="Paired by instruction, intervals of 95 %.",
    )


def _agreement_table(*, seed: int) -> Table:
    """Agreement of two labellings, and the second as a planner: no planner can be expected to score higher."""
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
        rows.append((_TITLES[index], interval_text(agreed), *_cells(as_planner[:, 0, index], seed=seed)))
    return Table(
        title=f"Two labellings of {len(second)} instructions of both halves",
        header=("", "Cohen's kappa", *(f"{which} of the second" for which in SCORES)),
        rows=tuple(rows),
        note="Kappa is of needed, plausible, impossible; the second labelling counts as a planner that selects what it "
        "finds needed.",
    )


def _cells(columns: Doubles, *, seed: int, gap: bool = False) -> list[str]:
    """Table cells of (instructions, columns): means with intervals; ``gap`` for differences."""
    within = CORRELATION if gap else SHARE
    return [interval_text(mean_over(column, seed=seed, within=within), sign="+" * gap) for column in columns.T]


def interval_text(outcome: Scored[float] | None, *, sign: str = "", brief: bool = False) -> str:
    """A mean with its interval, if it has one and not ``brief``; a dash for None."""
    if outcome is None:
        return "–"
    ends = f" [{outcome.low:{sign}.2f}, {outcome.high:{sign}.2f}]" if isinstance(outcome, Interval) else ""
    return f"{outcome.value:{sign}.2f}{'' if brief else ends}"
