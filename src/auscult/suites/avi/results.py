"""Numbers of tasks, stages and levels with intervals, by condition; costs of a missing sense; differences of models.

Scores are those of ``score.levels`` and of the modules of ``score`` that ``score.tasks`` names. Intervals draw whole
clips, the same ones for every model; numbers in cells.csv are shares, as everywhere, in tables percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Final

from auscult.errors import RecordError
from auscult.outcome import Outcome, Scored, Signature, Undefined
from auscult.score.answers import AnswerScore, Unparsed, double_confirmation
from auscult.score.levels import (
    NAMES,
    LevelDifference,
    LevelOptions,
    Reading,
    TaskRows,
    answer_rows,
    level_differences,
    level_intervals,
)
from auscult.score.stats.change import Counts
from auscult.score.stats.intervals import Interval
from auscult.score.tasks import TASKS, AviTask, answer_of, narrowed, task_score, truth_of
from auscult.suites.avi.scoring import SCORE, UNREAD
from auscult.suites.core.conditions import CLEAN, REMOVED
from auscult.suites.core.numbers import NO_ANSWER, GridView, Number

_BLIND: Final = "reference.blind.v1"
BASELINES: Final = ("reference.random.v1", "reference.constant.v1", _BLIND)
"""Baselines of every run."""
GAPS: Final = ("modality_gap", "bottleneck")
"""Fields of ``Levels`` that are not in percent."""
NOT_FENSE: Final[Mapping[str, str]] = {"meteor": "METEOR", "sbert": "the cosine of sentence vectors"}
"""Scores of captions without the networks of FENSE."""
_HUNDRED: Final = 100.0
_DAMAGED: Final = "the file was edited or damaged; run the command of this record again with --overwrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """How replies are scored, and which mean level 1 is."""

    unparsed: Unparsed = "wrong"
    variant: str = "paper"
    reading: Reading = "table"

    @property
    def other(self) -> Unparsed:
        """The other way to count a reply without an answer."""
        return "skip" if self.unparsed == "wrong" else "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class AviNumber(Number):
    """A number with the counts of its samples."""

    COUNTED: ClassVar[tuple[str, ...]] = (*Number.COUNTED, "unparsed")

    tally: Counts | None = None
    unparsed: int | None = None  # replies without an answer, counted as wrong or left out
    exchange_p: float | None = None  # of a difference, by exchanging models within clips

    @property
    def p(self) -> float | None:
        """Of a difference: its p value."""
        return self.exchange_p

    @property
    def counts(self) -> Counts | None:
        """The samples behind it."""
        return self.tally

    def counts_by_name(self) -> dict[str, Any]:
        """The samples behind it."""
        names = Number.COUNTED[1:]
        return {
            "beyond": None,
            **{name: getattr(self.tally, name, None) for name in names},
            "unparsed": self.unparsed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores:
    """The scores of one task of a model under one condition, by each way to count."""

    main: AnswerScore | Undefined  # the score that enters stages and levels
    other: AnswerScore | Undefined  # with the other rule for replies without an answer
    unconfirmed: AnswerScore | Undefined | None = None  # without confirmations, for tasks that have some
    cases: tuple[str, ...]  # samples asked about, as ``AnswerScore.kept`` counts them
    clips: tuple[str, ...]  # the clip of each

    @property
    def asked(self) -> int:
        """Count of samples, without confirmations."""
        return len(self.cases)

    @property
    def places(self) -> dict[str, int]:
        """The position of each sample with a score."""
        return {self.cases[index]: index for index in self.main.kept} if isinstance(self.main, AnswerScore) else {}

    @property
    def failed(self) -> int:
        """Samples with a failed request."""
        return self._count("failed")

    @property
    def unparsed(self) -> int:
        """Samples with a reply without an answer."""
        return self._count("unparsed")

    def _count(self, name: str) -> int:
        if isinstance(self.main, AnswerScore):
            return int(getattr(self.main, name))
        count = self.main.detail.get(name, 0)
        return count if isinstance(count, int) else 0

    @property
    def rows(self) -> TaskRows | None:
        """The rows for intervals; None without a score."""
        return answer_rows(self.main, self.clips) if isinstance(self.main, AnswerScore) else None

    @property
    def tally(self) -> Counts:
        """The counts of the samples by outcome."""
        n = self.main.n if isinstance(self.main, AnswerScore) else 0
        return Counts(n=n, failed=self.failed, undefined=max(0, self.asked - n - self.failed), missing=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AviResults:
    """All scores of a record, by (model, condition) and task, and their numbers."""

    rules: AnswerRules
    scores: Mapping[tuple[str, str], Mapping[str, TaskScores]]
    intervals: Mapping[tuple[str, str], Mapping[str, Outcome[float]]]  # 0..100 but gaps
    # by pair of models, and by model and condition, to task, stage or level
    differences: Mapping[tuple[str, str], Mapping[str, LevelDifference]]
    costs: Mapping[tuple[str, str], Mapping[str, LevelDifference]] = field(default_factory=dict)
    numbers: tuple[AviNumber, ...] = ()

    @classmethod
    def of(cls, view: GridView, rules: AnswerRules) -> AviResults:
        """Everything that follows from the answers."""
        grid, is_baseline = view.grid, view.grid.task.is_baseline
        keys = [
            (model, condition.name)
            for model in grid.models
            for condition in grid.conditions
            if grid.has_results(model, condition.name)
        ]
        scores = {key: _scores_of(view, key, rules) for key in keys}
        rows = {
            key: {name: rows for name, one in by_task.items() if (rows := one.rows) is not None}
            for key, by_task in scores.items()
        }
        level_options: LevelOptions = {"reading": rules.reading, "chance": _own_chance(view, scores)}
        intervals = {
            key: level_intervals(task_rows, rng=view.rng("levels"), **level_options) if task_rows else {}
            for key, task_rows in rows.items()
        }
        models = sorted((model for model in grid.models if rows.get((model, CLEAN))), key=is_baseline)
        pairs = [pair for pair in combinations(models, 2) if not (is_baseline(pair[0]) and is_baseline(pair[1]))]
        differences = {pair: _paired(view, [scores[model, CLEAN] for model in pair], level_options) for pair in pairs}
        costs = {
            key: _paired(view, [scores[key[0], CLEAN], scores[key]], level_options)
            for key in keys
            if key[1] != CLEAN and (key[0], CLEAN) in scores
        }
        results = cls(rules=rules, scores=scores, intervals=intervals, differences=differences, costs=costs)
        return replace(results, numbers=tuple(_numbers(results)))


def _own_chance(view: GridView, scores: Mapping[tuple[str, str], Mapping[str, TaskScores]]) -> dict[str, float]:
    """Chance of captions scored without FENSE: the score of a caption of another clip (Table 15 has that of FENSE)."""
    if not any(answer.get("metric") in NOT_FENSE for rows in view.grid.answers.values() for answer in rows.values()):
        return {}
    blind = scores.get((_BLIND, CLEAN), {}).get("AVC")
    return {"AVC": _HUNDRED * blind.main.value if blind and isinstance(blind.main, AnswerScore) else math.nan}


def _paired(
    view: GridView, pair: Sequence[Mapping[str, TaskScores]], options: LevelOptions
) -> dict[str, LevelDifference]:
    """The first minus the second, on the samples with a score of both."""
    rows: tuple[dict[str, TaskRows], dict[str, TaskRows]] = ({}, {})
    for name in [name for name in pair[0] if name in pair[1]]:
        scored = [part[name] for part in pair]
        places = [part.places for part in scored]
        common = [case for case in places[0] if case in places[1]]
        for by_task, part, place in zip(rows, scored, places, strict=True):
            if common and isinstance(part.main, AnswerScore):
                by_task[name] = answer_rows(narrowed(part.main, [place[case] for case in common]), part.clips)
    return level_differences(*rows, rng=view.rng("differences"), **options) if rows[0] else {}


# --- the samples of a task ---


def _scores_of(view: GridView, key: tuple[str, str], rules: AnswerRules) -> dict[str, TaskScores]:
    """The scores of a model under a condition, by task."""
    grid, (model, condition) = view.grid, key
    waiting = grid.waiting.get(key, frozenset())
    by_task: dict[str, list[str]] = {}
    confirmations: dict[str, str] = {}
    for case in view.cases:
        about = _texts(grid.about.get(case, {}), case)
        if condition in str(grid.about[case].get("unmet", "")).split(","):
            continue
        if about["confirms"]:
            confirmations[about["confirms"]] = case
        elif case not in waiting:
            by_task.setdefault(about["task"], []).append(case)
    ordered = [name for name in TASKS if name in by_task]
    answers, values = grid.answers.get(key, {}), grid.cell(model, condition, SCORE)
    task_scores = {}
    for name in ordered:
        cases = [case for case in by_task[name] if confirmations.get(case) not in waiting]
        reader = _Reader(view, TASKS[name], answers=answers, undefined=values.undefined)
        task_scores[name] = _task_scores(reader, cases, confirmations, rules=rules)
    return task_scores


def _texts(fields: Mapping[str, str | int], case: str) -> dict[str, str]:
    texts = {name: fields.get(name) for name in ("task", "truth", "confirms")}
    if not all(isinstance(value, str) for value in texts.values()) or texts["task"] not in TASKS:
        raise RecordError(
            f"the record does not say of which task {case:.60} is",
            expected="task, truth and confirms under `about` in cases.jsonl",
            hint=_DAMAGED,
        )
    return {name: str(value) for name, value in texts.items()}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the samples of a task from a grid."""

    view: GridView
    task: AviTask
    answers: Mapping[str, Mapping[str, Any]]
    undefined: set[str]

    def truth(self, case: str) -> Any:
        """The truth of a case."""
        return truth_of(self.task.answer, str(self.view.grid.about[case]["truth"]))

    def prediction(self, case: str) -> Any:
        """The answer to a case; ``NO_ANSWER`` without a reply, Undefined for a reply without an answer."""
        answer = self.answers.get(case)
        if answer is None:
            return NO_ANSWER
        if answer.get("path") == UNREAD:
            return Undefined(str(answer.get("reason", "")), {"skip": True} if answer.get("skip") is True else {})
        if self.task.metric == "fense":
            caption = None if case in self.undefined else answer.get("caption")
            return float(caption) if isinstance(caption, int | float) else None
        return answer_of(self.task.answer, answer.get("value"))


def _task_scores(
    reader: _Reader, cases: Sequence[str], confirmations: Mapping[str, str], *, rules: AnswerRules
) -> TaskScores:
    task, grid = reader.task, reader.view.grid
    modes = (rules.unparsed, rules.other)
    predictions, truths = [reader.prediction(case) for case in cases], [reader.truth(case) for case in cases]
    unconfirmed = None
    if task.confirmed:
        pairs, true = [], []
        for case, prediction, truth in zip(cases, predictions, truths, strict=True):
            other, gone = confirmations.get(case), bool(grid.about[case].get("unconfirmed"))
            absent = NO_ANSWER if gone else Undefined("")  # a confirmation that was lost is a failure
            pairs.append((prediction, absent if other is None else reader.prediction(other)))
            true.append((truth, ("" if gone else None) if other is None else reader.truth(other)))
        outcomes = [double_confirmation(pairs, true, unparsed=mode) for mode in modes]
        main, other_way, unconfirmed = outcomes[0]["with"], outcomes[1]["with"], outcomes[0]["without"]
    else:
        boxes = next((text for case in cases if (text := reader.answers.get(case, {}).get("boxes"))), "xyxy share")
        captions = dict.fromkeys(str(answer["metric"]) for answer in reader.answers.values() if "metric" in answer)
        caption = " and ".join(captions) or "fense"
        score = task_score(task.metric, variant=rules.variant, boxes=str(boxes), caption=caption)
        main, other_way = (score(predictions, truths, unparsed=mode) for mode in modes)
    clips = tuple(grid.cases[case] for case in cases)
    return TaskScores(main=main, other=other_way, unconfirmed=unconfirmed, cases=tuple(cases), clips=clips)


# --- numbers ---


def _numbers(results: AviResults) -> Iterator[AviNumber]:
    rules = results.rules
    for (model, condition), scores in results.scores.items():
        intervals, missing = results.intervals[model, condition], Undefined("a task that it needs has no score")
        outcomes: dict[str, Outcome[float]] = {name: intervals.get(name, missing) for name in (*scores, *NAMES)}
        for name, one in scores.items():
            if one.unconfirmed is not None:
                outcomes[f"{name} unconfirmed"] = _percent(one.unconfirmed)
            outcomes[f"{name} unparsed={rules.other}"] = _percent(one.other)
        for name, outcome in outcomes.items():
            yield _number(rules, (model, condition), name=name, outcome=outcome, scores=scores)
    for pair, rows in results.differences.items():
        scores = results.scores[pair[0], CLEAN]
        yield from _differences(rules, rows, scores, measure="difference", model=" - ".join(pair), condition=CLEAN)
    for (model, condition), rows in results.costs.items():
        scores = results.scores[model, CLEAN]
        yield from _differences(rules, rows, scores, measure="cost", model=model, condition=condition)


def _percent(score: AnswerScore | Undefined) -> Outcome[float]:
    return score if isinstance(score, Undefined) else Scored(_HUNDRED * score.value, score.signature)


def _number(
    rules: AnswerRules, key: tuple[str, str], *, name: str, outcome: Outcome[float], scores: Mapping[str, TaskScores]
) -> AviNumber:
    task = scores.get(name.partition(" ")[0])
    return AviNumber(
        measure="level",
        model=key[0],
        metric=name,
        group=key[1],
        level=CLEAN if key[1] == CLEAN else REMOVED,
        outcome=outcome if name in GAPS else _share(outcome),
        signature=_signature(rules, task),
        tally=None if task is None else task.tally,
        unparsed=None if task is None else task.unparsed,
    )


def _signature(rules: AnswerRules, task: TaskScores | None) -> dict[str, Any]:
    """The signature of a task's scores; for a stage or level, what all its tasks have in common."""
    base = {"benchmark": "AVI-Bench", "variant": rules.variant, "unparsed": rules.unparsed}
    score = None if task is None else task.main
    return base | (score.signature.as_dict() if isinstance(score, AnswerScore) else {})


def _share(outcome: Outcome[float]) -> Outcome[float]:
    """A number of 0..100 as a share."""
    if isinstance(outcome, Interval):
        ends = {name: getattr(outcome, name) / _HUNDRED for name in ("value", "low", "high")}
        return replace(outcome, **ends)
    return Scored(outcome.value / _HUNDRED, outcome.signature) if isinstance(outcome, Scored) else outcome


def _differences(
    rules: AnswerRules,
    rows: Mapping[str, LevelDifference],
    scores: Mapping[str, TaskScores],
    *,
    measure: str,
    model: str,
    condition: str,
) -> Iterator[AviNumber]:
    signature = Signature.of(statistic="difference", test="exchange within clips")
    clip_count = len({clip for one in scores.values() for clip in one.clips})
    for name, row in rows.items():
        by = 1.0 if name in GAPS else _HUNDRED
        outcome: Outcome[float] = Scored(row.difference / by, signature)
        if row.low is not None and row.high is not None:
            clips = len(set(scores[name].clips)) if name in scores else clip_count
            outcome = Interval(
                value=row.difference / by, signature=signature, low=row.low / by, high=row.high / by,
                clusters=clips, replicates=1000, undefined=0,
            )  # fmt: skip
        yield AviNumber(
            measure=measure, model=model, metric=name, group=condition,
            level=CLEAN if condition == CLEAN else REMOVED, outcome=outcome,
            signature=_signature(rules, None), exchange_p=row.p,
        )  # fmt: skip


def tasks_there(found: AviResults) -> list[str]:
    """The tasks in the record, in the paper's order."""
    present = {name for scores in found.scores.values() for name in scores}
    return [name for name in TASKS if name in present]


def clean_models(found: AviResults) -> list[str]:
    """The models with clean results, in the order of the run."""
    return [model for model, condition in found.scores if condition == CLEAN]
