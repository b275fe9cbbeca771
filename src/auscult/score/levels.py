"""Stages and the four levels of AVI-Bench from task scores, with intervals and a paired test from samples.

Level 1 is how much a model can at all, level 2 whether it hears as well as it sees, level 3 whether it reasons on what
it perceives and understands, level 4 whether that holds for stimuli nobody trained on. All are 0..100.

- Level 1, ``table`` reading: mean of the means of the three familiar stages. It gives the paper's Table 5. Eq. 1 as
  printed is the mean of the eleven familiar tasks: the ``equation`` reading.
- Level 2 (Eqs. 2, 3): level 1 less half its share of the modality gap, 2 |A - V| / (A + V), or 2 where both are 0.
- Level 3 (Eqs. 4 to 6): level 2 less half its share of the bottleneck, by which reasoning exceeds the weaker of its
  prerequisites; here alone chance (Table 15) is taken off each task, and what is below it counts as 0.
- Level 4 (Eq. 7): harmonic mean of level 3 and the unfamiliar score, which is the mean of the three tasks of sensation
  less their own modality gap.

Intervals draw clusters (all samples of one clip) with replacement, for all tasks at once. The paired test exchanges two
models within clusters, each way as likely if they do not differ; it holds for levels, which are no means.

Source: AVI-Bench, arXiv 2606.07643, Sec. 5, App. G.2; intervals as in ``stats.intervals``, test as in ``stats.paired``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.answers import AnswerScore
from auscult.score.stats.few_clusters import Range, widened
from auscult.score.stats.inputs import numbers, same_length
from auscult.score.stats.intervals import (
    FromSums,
    Interval,
    cluster_draws,
    percentile_interval,
    sums_by_cluster,
    weighted_sums,
    with_interval,
)
from auscult.score.tasks import FAMILIAR, STAGES, TASKS, AviTask, leaning, of_stage
from auscult.types import Doubles

Reading: TypeAlias = Literal["table", "equation"]

_READINGS: Final[tuple[Reading, ...]] = get_args(Reading)

ALPHA: Final = 0.5
"""How much of a gap is taken off (Eqs. 3, 6)."""

_PLACE: Final = {name: place for place, name in enumerate(TASKS)}
_PERCENT: Final = Range(low=0.0, high=100.0)
_GAPS: Final = ("modality_gap", "bottleneck")
_AS_FAR: Final = 1e-9  # equal sums in another order differ by rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Stages and levels computed from task scores; 0..100 where nothing else is said."""

    perception: float  # mean of its tasks, as of the next three
    understanding: float  # mean of its tasks
    reasoning: float  # mean of its tasks
    sensation: float  # mean of its tasks, of stimuli nobody trained on
    average: float  # mean of the four stages
    level_1: float  # task-adaptive
    level_2: float  # modality-adaptive
    level_3: float  # stage-adaptive
    level_4: float  # domain-adaptive
    modality_gap: float  # relative difference of audio and visual tasks (Eq. 2), 0..2.
    bottleneck: float  # relative excess of reasoning over the weaker prerequisite (Eq. 5), 0..1.
    unfamiliar: float  # sensation less its modality gap


NAMES: Final = tuple(field.name for field in fields(Levels))


def levels(scores: Mapping[str, float], *, reading: Reading = "table") -> Levels:
    """Stages and levels of one model.

    Args:
        scores: Score of each of the fourteen tasks, 0..100; a row of a pandas frame is one too.
        reading: What level 1 is the mean of: ``table``, the three stage means, or ``equation``, the eleven tasks.

    Raises:
        InputError: A task is missing or unknown, a score is no number from 0 to 100, or there is no such reading.

    Example:
        >>> result = levels(dict.fromkeys(TASKS, 50.0))
        >>> result.level_1, result.level_2, result.level_3
        (50.0, 50.0, 50.0)
    """
    scores = dict(scores)  # to go over a pandas Series is to go over its values
    require_scores(scores)
    row = np.array([[float(scores[name]) for name in TASKS]])
    return Levels(**{name: float(column[0]) for name, column in level_columns(row, reading=reading).items()})


def require_scores(scores: Mapping[str, float]) -> None:
    """Insist on a score from 0 to 100 for each of the fourteen tasks; else an InputError."""
    unknown, missing = [name for name in scores if name not in TASKS], [name for name in TASKS if name not in scores]
    if unknown:
        hint = "drop it, or write the task's short name"
        raise InputError(f"there is no task {unknown[0]!r}", expected=f"the tasks {', '.join(TASKS)}", hint=hint)
    if missing:
        hint = "levels need all fourteen; there is no way to fill one in"
        raise InputError(
            f"without a score of {', '.join(missing)}", expected=f"the tasks {', '.join(TASKS)}", hint=hint
        )
    for name, score in scores.items():
        given: object = score
        if not isinstance(given, float | int | np.floating | np.integer) or not 0 <= score <= 100:
            raise InputError(
                f"{name} is {score!r}",
                expected="a number from 0 to 100, in percent",
                hint="a task without a score has no levels; leave the model out until it is run",
            )


def level_columns(
    scores: Doubles, *, reading: Reading = "table", chance: Mapping[str, float] = MappingProxyType({})
) -> dict[str, Doubles]:
    """The fields of ``Levels``, (n,) each, of scores, (n, 14) in the order of ``TASKS``; NaN where one is missing."""
    if reading not in _READINGS:
        raise InputError(f"reading is {reading!r:.40}", expected=" or ".join(_READINGS))
    columns = {stage: _mean(scores, of_stage(stage)) for stage in STAGES}
    average = np.mean([columns[stage] for stage in STAGES], axis=0)
    familiar = [task for stage in FAMILIAR for task in of_stage(stage)]
    level_1 = np.mean([columns[s] for s in FAMILIAR], axis=0) if reading == "table" else _mean(scores, familiar)
    gap = relative_gap(_mean(scores, leaning("sound")), _mean(scores, leaning("vision")))
    level_2 = (1 - ALPHA * gap) * level_1
    guessed = np.array([chance.get(task.name, task.chance) for task in TASKS.values()])
    above = np.maximum(0.0, 100 * _ratio(scores - guessed, np.broadcast_to(100 - guessed, scores.shape), none=np.nan))
    perceived, understood, reasoned = (_mean(above, of_stage(stage)) for stage in FAMILIAR)
    bottleneck = np.maximum(0.0, _ratio(reasoned - np.minimum(perceived, understood), reasoned, none=0.0))
    level_3 = (1 - ALPHA * bottleneck) * level_2
    own_gap = relative_gap(
        _mean(scores, leaning("sound", ("sensation",))), _mean(scores, leaning("vision", ("sensation",)))
    )
    unfamiliar = (1 - ALPHA * own_gap) * columns["sensation"]
    level_4 = harmonic_mean(level_3, unfamiliar)
    derived = (average, level_1, level_2, level_3, level_4, gap, bottleneck, unfamiliar)
    return dict(zip(NAMES, (*columns.values(), *derived), strict=True))


def _mean(scores: Doubles, tasks: Sequence[AviTask]) -> Doubles:
    means: Doubles = scores[:, [_PLACE[task.name] for task in tasks]].mean(axis=1)
    return means


def relative_gap(audio: Doubles, visual: Doubles) -> Doubles:
    """How far two scores lie apart beside how high they are, 0..2; 2 where both are 0 (Eq. 2)."""
    return 2 * _ratio(np.abs(audio - visual), audio + visual, none=1.0)


def harmonic_mean(first: Doubles, second: Doubles) -> Doubles:
    """Harmonic mean of two scores, in their unit; 0 where both are 0 (Eq. 7)."""
    return _ratio(2 * first * second, first + second, none=0.0)


def _ratio(part: Doubles, total: Doubles, *, none: float) -> Doubles:
    """A quotient; ``none`` where the divisor is 0."""
    return np.asarray(np.divide(part, total, out=np.full(total.shape, none), where=total != 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRows:
    """One model's samples of a task."""

    rows: Doubles  # what adds up over samples, (n, k)
    clusters: Sequence[Hashable]  # the clip or picture of each, (n,); the same name in two tasks is the same clip
    statistic: FromSums  # from sums, (draws, k), to scores of 0..100, (draws,); NaN where there is none


def mean_rows(scores: ArrayLike, clusters: Sequence[Hashable]) -> TaskRows:
    """Samples whose mean is the task's score: scores of 0..100, (n,), and the cluster of each."""
    (values,) = numbers(scores=scores)
    same_length(scores=values, clusters=clusters)
    rows = np.stack([values, np.ones_like(values)], axis=1)
    return TaskRows(rows=rows, clusters=clusters, statistic=_mean_of_sums)


def answer_rows(score: AnswerScore, clusters: Sequence[Hashable]) -> TaskRows:
    """Samples of a score of answers, with the cluster of each sample that was given."""
    count = np.ones((len(score.samples), 1))

    def statistic(sums: Doubles) -> Doubles:
        means = _ratio(sums[:, :-1], np.broadcast_to(sums[:, -1:], sums[:, :-1].shape), none=np.nan)
        return 100 * score.combine(means)["score"]

    entered = [clusters[place] for place in score.kept]
    return TaskRows(rows=np.hstack([score.samples, count]), clusters=entered, statistic=statistic)


def _mean_of_sums(sums: Doubles) -> Doubles:
    return _ratio(sums[:, 0], sums[:, 1], none=np.nan)


def level_intervals(
    tasks: Mapping[str, TaskRows],
    *,
    rng: np.random.Generator,
    reading: Reading = "table",
    chance: Mapping[str, float] = MappingProxyType({}),
    level: float = 0.95,
    replicates: int = 1000,
) -> dict[str, Scored[float] | Interval | Undefined]:
    """Each task, stage and level with its interval.

    Args:
        tasks: Samples by task. What needs a task that is not there is Undefined.
        rng: The generator of these draws, from ``auscult.rng.generator``.
        reading: As in ``levels``.
        chance: What guessing scores, 0..100, in tasks of which Table 15 does not say it; NaN where nobody knows.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        By name of the task or field of ``Levels``; without interval where a task has one cluster or nothing differs.

    Raises:
        InputError: No task, an unknown one, or ``level`` or ``replicates`` out of range.
    """
    sums, clusters = _by_cluster([tasks])
    options: LevelOptions = {"reading": reading, "chance": chance}
    values = _numbers(_scores(tasks, [(sums[0], np.ones((1, clusters)))]), options)
    draws = cluster_draws(clusters, rng=rng, replicates=replicates)
    per_draw = _numbers(_draw_scores(tasks, sums[0], draws, level=level), options)
    sizes = {name: len(set(task.clusters)) for name, task in tasks.items()}
    fewest = min(sizes.values())
    intervals: dict[str, Scored[float] | Interval | Undefined] = {}
    for name, (value,) in values.items():
        if np.isnan(value):
            intervals[name] = Undefined("a task that it needs has no score")
            continue
        plain = Scored(
            float(value), Signature.of(metric=name.replace("_", " "), benchmark="AVI-Bench", reading=reading)
        )
        # a level of 0 is no mean, whose interval would follow from the count of clusters
        within = _PERCENT if name in TASKS or (name not in _GAPS and 0 < value < 100) else None
        interval = with_interval(plain, per_draw[name], clusters=sizes.get(name, fewest), level=level, within=within)
        intervals[name] = interval or plain
    return intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDifference:
    """One number of two models on the same samples."""

    difference: float  # the first less the second
    # lower end of its interval, by drawing clusters for both at once; None where nothing can be drawn, or every draw
    # gives the same
    low: float | None
    high: float | None  # upper end
    p: float  # two-sided p value by exchanging the models within clusters, 0..1


def level_differences(
    first: Mapping[str, TaskRows],
    second: Mapping[str, TaskRows],
    *,
    rng: np.random.Generator,
    reading: Reading = "table",
    chance: Mapping[str, float] = MappingProxyType({}),
    level: float = 0.95,
    replicates: int = 1000,
) -> dict[str, LevelDifference]:
    """Paired comparison of two models: each task, stage and level that their tasks give.

    Arguments as in ``level_intervals``; both models have the same samples in the same order.

    Raises:
        InputError: The tasks, or the clusters of a task, differ.
    """
    for name in sorted({*first, *second}):
        if name not in first or name not in second or list(first[name].clusters) != list(second[name].clusters):
            hint = "leave out the samples that one of them has no score for"
            raise InputError(f"the two models differ in the samples of {name}", expected="the same samples", hint=hint)
    sums, clusters = _by_cluster([first, second])
    ones = np.ones((1, clusters))
    options: LevelOptions = {"reading": reading, "chance": chance}
    values = [_numbers(_scores(first, [(model_sums, ones)]), options) for model_sums in sums]
    draws = cluster_draws(clusters, rng=rng, replicates=replicates)
    per_draw = [_numbers(_draw_scores(first, model_sums, draws, level=level), options) for model_sums in sums]
    keep = rng.integers(2, size=(replicates, clusters)).astype(np.float64)
    pairs = [[(sums[0], keep), (sums[1], 1 - keep)], [(sums[0], 1 - keep), (sums[1], keep)]]
    mixed = [_numbers(_scores(first, pair), options) for pair in pairs]
    differences = {}
    for name, (value,) in values[0].items():
        difference = float(value - values[1][name][0])
        if not np.isnan(difference):
            drawn_ends = percentile_interval(per_draw[0][name] - per_draw[1][name], level=level)
            ends = (None, None) if drawn_ends is None or drawn_ends[0] == drawn_ends[1] else drawn_ends
            extreme = np.abs(mixed[0][name] - mixed[1][name]) >= abs(difference) * (1 - _AS_FAR) - _AS_FAR
            p = (1 + int(np.count_nonzero(extreme))) / (1 + replicates)
            differences[name] = LevelDifference(difference=difference, low=ends[0], high=ends[1], p=p)
    return differences


def _by_cluster(models: Sequence[Mapping[str, TaskRows]]) -> tuple[list[dict[str, Doubles]], int]:
    """Sums of each model's tasks over the clusters of all tasks, (clusters, k) each, and how many there are."""
    place: dict[Hashable, int] = {}
    for tasks in models:
        for name, task in tasks.items():
            if name not in TASKS:
                raise InputError(f"there is no task {name!r}", expected=f"some of {', '.join(TASKS)}")
            for cluster in task.clusters:
                place.setdefault(cluster, len(place))
    if not place:
        raise InputError("no task has a sample", expected="one or more")
    members = [
        {name: np.array([place[cluster] for cluster in task.clusters]) for name, task in tasks.items()}
        for tasks in models
    ]
    sums = [
        {name: sums_by_cluster(task.rows, of_model[name], len(place)) for name, task in tasks.items()}
        for tasks, of_model in zip(models, members, strict=True)
    ]
    return sums, len(place)


def _scores(tasks: Mapping[str, TaskRows], parts: Sequence[tuple[Mapping[str, Doubles], Doubles]]) -> Doubles:
    """Task scores, (draws, 14), of sums by cluster, weighted by (draws, clusters) and added up over the parts."""
    scores = np.full((len(parts[0][1]), len(TASKS)), np.nan)
    for name, task in tasks.items():
        totals = [weighted_sums(weights, sums[name]) for sums, weights in parts]
        scores[:, _PLACE[name]] = task.statistic(np.sum(totals, axis=0))
    return scores


def _draw_scores(
    tasks: Mapping[str, TaskRows], sums: Mapping[str, Doubles], draws: Doubles, *, level: float
) -> Doubles:
    """Task scores of draws, ``widened`` about those of all samples by the clusters of each task; NaN of one cluster."""
    scores = _scores(tasks, [(sums, draws)])
    estimates = _scores(tasks, [(sums, np.ones((1, draws.shape[1])))])[0]
    for name, task in tasks.items():
        sizes, place = list(Counter(task.clusters).values()), _PLACE[name]
        moved = widened(scores[:, place], estimates[place], sizes=sizes, level=level) if len(sizes) > 1 else np.nan
        scores[:, place] = np.clip(moved, 0, 100)
    return scores


class LevelOptions(TypedDict):
    """Options of levels beside the scores: arguments of ``level_intervals``."""

    reading: Reading
    chance: Mapping[str, float]


def _numbers(scores: Doubles, options: LevelOptions) -> dict[str, Doubles]:
    """Tasks, stages and levels of task scores, (n, 14)."""
    return {**dict(zip(TASKS, scores.T, strict=True)), **level_columns(scores, **options)}
