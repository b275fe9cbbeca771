"""AVI-Bench as a task, and its tables and charts.

Stages and levels, tasks, both ways to count, confirmations, senses, people, ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from auscult.cases.ids import counted
from auscult.errors import UsageError
from auscult.jobs.levels import LEVELS, SHORT, rank_column
from auscult.record.manifest import argument
from auscult.report.charts.bars import BarGroup, TypeBars, apc_bars
from auscult.report.charts.maps import MAX_ROWS, heat_map
from auscult.report.charts.marks import MAX_MODELS, Words
from auscult.report.page import Figure
from auscult.report.tables import Table
from auscult.score.answers import AnswerScore, Unparsed
from auscult.score.levels import Reading
from auscult.score.tasks import STAGES, TASKS, check_variant, of_stage
from auscult.suites.avi.results import (
    BASELINES,
    NOT_FENSE,
    AnswerRules,
    AviNumber,
    AviResults,
    clean_models,
    tasks_there,
)
from auscult.suites.avi.scoring import SCORE
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.grid import Task
from auscult.suites.core.numbers import GridView, Number, estimate, number_text, percent, significant
from auscult.suites.core.page import PagePart, SuiteResults
from auscult.suites.core.tables import difference_text

_LEVEL_NAMES: Final = tuple(SHORT[name] for name in LEVELS)
_HUMAN: Final = "human:"
OWN: Final = "Own data: these numbers are not comparable with the paper's Table 3."
RELEASED: Final = "The data have the released number of samples in every folder."
_DROPPED: Final[Mapping[str, str]] = {
    "AVL": "sound", "AVC": "sound", "AVH": "sound", "VAH": "picture", "AVQA": "sound", "AVLG": "sound",
    "AVSQA": "sound",
}  # fmt: skip
"""The unimodal ablation of Table 7: the sense removed from each task."""
_PARTS: Final[tuple[PagePart, ...]] = (
    ("general", "Stages and levels", "", ("general_levels",), ("ladder",)),
    ("tasks", "Tasks", "", ("general_tasks", "confirmed", "unparsed"), ("ranks",)),
    ("without", "Without a sense", "", ("without", "table_7"), ()),
    ("models", "Which model", "", ("differences", "human"), ()),
    ("answers", "What was asked", "", ("",), ()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AviBenchTask(Task):
    """AVI-Bench, and how it is scored."""

    rules: AnswerRules = field(default_factory=AnswerRules)

    def results(self, view: GridView) -> SuiteResults:
        """Numbers and tables from answers, not from means over samples."""
        return results_with_tables(view, AviResults.of(view, self.rules))


def task_of(unparsed: str, variant: str, reading: str) -> AviBenchTask:
    """The task with its options, checked."""
    for name, value, words in (("unparsed", unparsed, Unparsed), ("reading", reading, Reading)):
        if value not in get_args(words):
            raise UsageError(f"--{name} is {value[:40]!r}", expected=" or ".join(get_args(words)))
    check_variant(variant)
    return AviBenchTask(
        suite="avi",
        name="avi",
        title="questions about what is seen and heard",
        metrics=(SCORE,),
        baselines=BASELINES,
        rules=AnswerRules(unparsed=unparsed, variant=variant, reading=reading),  # type: ignore[arg-type] # as checked
    )


def record_task(manifest: Mapping[str, Any]) -> AviBenchTask:
    """The task of a record."""
    return task_of(*(str(argument(manifest, name) or "") for name in ("unparsed", "variant", "reading")))


AviNumbers = Mapping[tuple[str, str, str], AviNumber]
"""Numbers of one measure by model, condition and name."""


def results_with_tables(view: GridView, found: AviResults) -> SuiteResults:
    """Numbers, tables and charts of a record."""
    level, tables = _by(found, "level"), dict[str, Table | None]()
    tables["general_levels"] = _levels(view, found, level)
    tables["general_tasks"] = _tasks(view, found, level)
    tables["confirmed"] = _confirmed(found, level)
    tables["unparsed"] = _unparsed(found, level)
    tables["without"] = _without(found, level)
    tables["table_7"] = _table_7(view, found, level)
    tables["differences"] = _differences(found)
    tables["human"] = _humans(found, level)
    models = view.grid.task.tested(clean_models(found)) or clean_models(found)
    ranked = (*tasks_there(found), *STAGES, *LEVELS)
    charts = [chart for chart in (ladder_chart(models, level), rank_map(clean_models(found), ranked, level)) if chart]
    return SuiteResults(
        view=view,
        numbers=found.numbers,
        tables={name: table for name, table in tables.items() if table is not None and table.rows},
        charts=tuple(charts),
        unscored=tuple(model for model in clean_models(found) if not _has_score(found, model)),
        lead=_lead(view, found, level),
        parts=_PARTS,
    )


def _by(results: AviResults, measure: str) -> dict[tuple[str, str, str], AviNumber]:
    return {
        (number.model, number.group, number.metric): number for number in results.numbers if number.measure == measure
    }


def _has_score(results: AviResults, model: str) -> bool:
    return any(isinstance(score.main, AnswerScore) for score in results.scores[model, CLEAN].values())


def origin_note(view: GridView) -> str:
    """Whether numbers may be compared with the paper's."""
    unreleased = any(about.get("released") != 1 for about in view.grid.about.values())
    return OWN if unreleased else RELEASED


def caption_note(view: GridView) -> str:
    """The score of AVC if it is not FENSE; else empty."""
    metrics = {
        str(answer["metric"]) for rows in view.grid.answers.values() for answer in rows.values() if "metric" in answer
    }
    used = " and ".join(name for metric, name in NOT_FENSE.items() if metric in metrics)
    if not used:
        return ""
    return (
        f" AVC is {used}: FENSE needs --sentence-model and --fluency-model; level 3 takes off it what a caption of "
        "another clip scores here, that of reference.blind.v1."
    )


def _levels(view: GridView, results: AviResults, level: AviNumbers) -> Table:
    names = (*STAGES, *LEVELS)
    rows = [
        (model, *(number_text(level.get((model, CLEAN, name)), interval=True) for name in names))
        for model in clean_models(results)
    ]
    mean = "the three familiar stages" if results.rules.reading == "table" else "the eleven familiar tasks"
    return Table(
        title="Stages and levels",
        header=("model", *STAGES, *_LEVEL_NAMES),
        rows=tuple(rows),
        note=f"Percent, with 95 % intervals over clips; n/a: a task that it needs has no score. Level 1 is the mean of "
        f"{mean}, level 4 needs all fourteen tasks.{caption_note(view)} {origin_note(view)}",
    )


def _tasks(view: GridView, results: AviResults, level: AviNumbers) -> Table:
    models, rows = clean_models(results), []
    for name in tasks_there(results):
        samples = max(task_score.asked for model in models if (task_score := results.scores[model, CLEAN].get(name)))
        cells = [_cell(results, level.get((model, CLEAN, name)), model=model, name=name) for model in models]
        rows.append((TASKS[name].stage, name, f"{samples:,}", *cells))
    return Table(
        title="Tasks",
        header=("stage", "task", "samples", *models),
        rows=tuple(rows),
        note="Percent, with 95 % intervals over clips, and how many samples failed, since a request did, where any "
        f"did: these are in no number. Samples of sensation count with their confirmation.{caption_note(view)} "
        f"{origin_note(view)}",
    )


def _cell(results: AviResults, number: Number | None, *, model: str, name: str) -> str:
    scores = results.scores[model, CLEAN].get(name)
    text = number_text(number, interval=True)
    return f"{text} ({scores.failed:,} failed)" if scores is not None and scores.failed else text


def _confirmed(results: AviResults, level: AviNumbers) -> Table:
    """The form of Table 8."""
    names = [name for name in tasks_there(results) if TASKS[name].confirmed]
    rows = []
    for model in clean_models(results):
        pairs = [[level.get((model, CLEAN, key)) for key in (name, f"{name} unconfirmed")] for name in names]
        means = [_mean([pair[side] for pair in pairs]) for side in (0, 1)]
        cells = [number_text(number) for pair in pairs for number in pair]
        rows.append((model, *cells, *means))
    header = tuple(f"{name} {word}" for name in (*names, "mean") for word in ("w/", "w/o"))
    return Table(
        title="With and without confirmation",
        header=("model", *header),
        rows=tuple(rows) if names else (),
        note="Percent. With it a right answer counts only where the second question, if anything is heard or seen at "
        "all, is answered right too (w/); levels take this. Without it answers count alone (w/o).",
    )


def _mean(numbers: Sequence[Number | None]) -> str:
    values = [number.value for number in numbers if number is not None and number.value is not None]
    return percent(sum(values) / len(values)) if len(values) == len(numbers) and values else "n/a"


def _unparsed(results: AviResults, level: AviNumbers) -> Table:
    """The outcomes of the samples, and both ways to count a reply without an answer."""
    rules, rows = results.rules, []
    for (model, condition), scores in results.scores.items():
        for name, score in scores.items():
            answered = score.asked - score.failed
            share = "–" if not answered else percent(score.unparsed / answered)
            cells = {
                rules.unparsed: number_text(level.get((model, condition, name))),
                rules.other: number_text(level.get((model, condition, f"{name} unparsed={rules.other}"))),
            }
            under = model if condition == CLEAN else f"{model}, {condition.replace('_', ' ')}"
            counts = (f"{score.asked:,}", f"{score.failed:,}", f"{score.unparsed:,}", share)
            rows.append((under, name, *counts, cells["wrong"], cells["skip"]))
    return Table(
        title="Failed requests and replies without an answer",
        header=("model", "task", "samples", "failed", "unparsed", "unparsed %", "as wrong", "left out"),
        rows=tuple(rows),
        note="A request that never completed is failed and in no score. A reply in which no answer is found is "
        f"unparsed; all other tables take it as {'wrong' if rules.unparsed == 'wrong' else 'left out'}, here both are.",
    )


def _without(results: AviResults, level: AviNumbers) -> Table | None:
    """Each task without a sense, paired."""
    cost = _by(results, "cost")
    stars, rows = significant(list(cost.values())), []
    for (model, condition), scores in results.scores.items():
        if condition == CLEAN:
            continue
        for name in scores:
            number = cost.get((model, condition, name))
            rows.append(
                (
                    model,
                    condition.removeprefix("without_"),
                    name,
                    number_text(level.get((model, condition, name)), interval=True),
                    number_text(level.get((model, CLEAN, name)), interval=True),
                    "n/a" if number is None else difference_text(number, stars),
                )
            )
    return Table(
        title="What a sense is worth",
        header=("model", "taken away", "task", "without", "with", "with - without"),
        rows=tuple(rows),
        note="Percent; the last column in points, of the samples that have a score both times, drawn clip by clip. "
        f"{_starred(len(cost))}",
    )


def _table_7(view: GridView, results: AviResults, level: AviNumbers) -> Table | None:
    """The unimodal ablation in the form of Table 7."""
    conditions = {name: f"without_{sense}" for name, sense in _DROPPED.items()}
    rows = []
    for model in clean_models(results):
        present = [name for name, condition in conditions.items() if name in results.scores.get((model, condition), {})]
        if present:
            cells = [
                number_text(level.get((model, condition, name)))
                for name in conditions
                for condition in (conditions[name], CLEAN)
            ]
            rows.append((model, *cells))
    header = tuple(f"{name} {word}" for name in conditions for word in ("uni.", "mm."))
    return Table(
        title="One sense and both, in the form of Table 7",
        header=("model", *header),
        rows=tuple(rows),
        note="Percent. Taken away is the picture of VAH, the sound of the other tasks. The paper prints the mean of "
        f"four scores for AVC.{caption_note(view) or ' Here it is FENSE.'}",
    )


def _differences(results: AviResults) -> Table | None:
    numbers = _by(results, "difference")
    if not numbers:
        return None
    stars, names = significant(list(numbers.values())), (*STAGES, *LEVELS)
    pairs = list(dict.fromkeys(pair for pair, _, _ in numbers))
    present = [name for name in (*TASKS, *names) if any((pair, CLEAN, name) in numbers for pair in pairs)]
    words = dict(zip(LEVELS, _LEVEL_NAMES, strict=True))
    rows = [
        (words.get(name, name), *(difference_text(numbers.get((pair, CLEAN, name)), stars) for pair in pairs))
        for name in present
    ]
    return Table(
        title="Differences of models on the same samples",
        header=("task, stage, level", *pairs),
        rows=tuple(rows),
        note=f"Percentage points; above 0 the first is better. {_starred(len(numbers))}",
    )


def _starred(count: int) -> str:
    return (
        "A star: it differs from 0 at 5 %, by exchanging the two within whole clips, adjusted by Holm for the "
        f"{count:,} of this table."
    )


def _humans(results: AviResults, level: AviNumbers) -> Table | None:
    """People and models, in the form of Table 4."""
    models = [name for name in clean_models(results) if not name.startswith("reference.")]
    if not any(name.startswith(_HUMAN) for name in models):
        return None
    ordered = sorted(models, key=lambda name: name.startswith(_HUMAN))
    rows = [
        (
            task.stage,
            task.name,
            *(number_text(level.get((model, CLEAN, task.name)), interval=True) for model in ordered),
        )
        for stage in STAGES
        for task in of_stage(stage)
        if task.name in tasks_there(results)
    ]
    return Table(
        title="People and models, in the form of Table 4",
        header=("stage", "task", *ordered),
        rows=tuple(rows),
        note="Percent, with 95 % intervals over clips. A sample that a person left out is failed, and in no number.",
    )


def _lead(view: GridView, results: AviResults, level: AviNumbers) -> str:
    """The results in one paragraph."""
    grid = view.grid
    tested = grid.task.tested(clean_models(results))
    questions = sum(not about.get("confirms") for about in grid.about.values())
    baselines = counted(len(clean_models(results)) - len(tested), "reference answerer")
    asked_of = f"{counted(questions, 'question')} of {counted(len(tasks_there(results)), 'task')}"
    sentences = [
        f"{counted(len(tested), 'model')} {'was' if len(tested) == 1 else 'were'} asked {asked_of}, beside {baselines}."
    ]
    for model in tested[:6]:
        texts = [
            f"{word} {number_text(number, interval=True)}"
            for name, word in zip(LEVELS, _LEVEL_NAMES, strict=True)
            if (number := level.get((model, CLEAN, name))) is not None and number.value is not None
        ]
        stages = [
            f"{name} {number_text(level.get((model, CLEAN, name)), interval=True)}"
            for name in STAGES
            if _value(level, model, name) is not None
        ]
        sentences.append(f"{model}: {', '.join(texts or stages) or 'no stage is complete'}.")
    return " ".join([*sentences, origin_note(view)])


def _value(level: AviNumbers, model: str, name: str) -> float | None:
    number = level.get((model, CLEAN, name))
    return None if number is None else number.value


_LADDER = {
    "level_1": "level 1, task", "level_2": "level 2, modality", "level_3": "level 3, stage",
    "level_4": "level 4, domain",
}  # fmt: skip


def ladder_chart(models: Sequence[str], level: Mapping[tuple[str, str, str], Number]) -> Figure | None:
    """The four levels of each model with level 1; None for no such model, or too many to draw."""
    present = [name for name in models if (number := level.get((name, CLEAN, "level_1"))) and number.value is not None]
    if not present or len(present) > MAX_MODELS:
        return None
    rows = tuple(
        TypeBars(name=words, values=tuple(estimate(level.get((model, CLEAN, name))) for model in present))
        for name, words in _LADDER.items()
    )
    return Figure(
        name="ladder",
        caption="The four levels, with 95 % intervals over clips.",
        drawing=apc_bars(
            [BarGroup(name="levels", types=rows)], present, Words(axis="percent, higher is better", digits=1)
        ),
    )


def rank_map(
    models: Sequence[str], names: Sequence[str], level: Mapping[tuple[str, str, str], Number]
) -> Figure | None:
    """Each model's rank in tasks and levels, 1 is highest; None for a single model, or too many to draw."""
    if not 1 < len(models) <= MAX_ROWS:
        return None
    columns = []
    for name in names:
        numbers = [level.get((model, CLEAN, name)) for model in models]
        values = [None if number is None else number.value for number in numbers]
        if any(value is not None for value in values):
            columns.append(rank_column(SHORT.get(name, name).partition(" ")[0], values))
    if not columns:
        return None
    return Figure(
        name="ranks",
        caption="Ranks of the models in each task, stage and level; equal numbers share a rank.",
        drawing=heat_map(models, columns, Words(axis="rank, 1 is the highest", digits=0), ends=("last", "first")),
    )
