"""Numbers by domain, prompt, difficulty and family, with intervals over mixtures; and their tables.

The four perceptual scores run from 1 to 5, the others are decibels; all are means over items. Equal requests to a
separator count once; published outputs are items of their own, with several of one mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from auscult.cases.ids import counted
from auscult.models.separators import ORACLE
from auscult.outcome import Outcome
from auscult.report.charts.bars import BarGroup, TypeBars, apc_bars
from auscult.report.charts.marks import MAX_MODELS, Words
from auscult.report.page import Figure
from auscult.report.tables import Table
from auscult.score.stats.change import mean_ratio
from auscult.score.stats.few_clusters import Range
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.grid import Task
from auscult.suites.core.numbers import GridView, Number, estimate, minus, number_text, percent, significant
from auscult.suites.core.page import PagePart, SuiteResults
from auscult.suites.core.tables import cases_text, clips_note, starred, starred_note
from auscult.suites.separation.scoring import DECIBELS, IMPROVEMENT, METRICS, SCALES, SI_SDR
from auscult.types import DIFFICULTY_AXES

BASELINES: Final = ("mixture", "silence", "random_bands")
"""Baselines of every run."""
PUBLISHED: Final = "predictions."
OURS: Final = (
    "Overall, recall, precision and faithfulness, 1 to 5, are perceptual.v1: our definition from true stems, not "
    "people's. Not comparable with what papers print for separators, nor with the published SAM Audio Judge (its "
    "release prints overall 4.386 for one sound): other mixtures, other raters."
)
_SCALE: Final = Range(low=1.0, high=5.0)
_COLUMNS: Final = (*DECIBELS, *SCALES)
_TELLING: Final = (IMPROVEMENT, "overall")
_COMPARED: Final = (SI_SDR, "overall")
_MOST_PAIRED: Final = 6
_BANDS: Final = ("1 to 2", "2 to 3", "3 to 4", "4 to 5")
_GROUPS: Final = {
    "domain": "By domain", "setting": "By setting of the prompt", "prompt": "By kind of prompt",
    "difficulty": "By difficulty", "seen": "Classes that shipped judges were trained on, and others",
}  # fmt: skip
_UNKNOWN: Final = "not stated"
_CLUSTERS: Final = "mixtures, or groups of those that share a recording"


class SeparationTask(Task):
    """Separation of what a prompt names."""

    def results(self, view: GridView) -> SuiteResults:
        """Numbers, tables and a chart of a record."""
        return _results(view)


TASK: Final = SeparationTask(
    suite="separation",
    name="separation",
    title="separation of what a prompt names",
    metrics=METRICS,
    baselines=BASELINES,
    about=dict.fromkeys(("domain", "setting", "prompt", "family"), str),
    cluster_words=_CLUSTERS,
    ranges=dict.fromkeys(SCALES, (1.0, 5.0)) | dict.fromkeys(DECIBELS, (-1e4, 1e4)),
)


# --- numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """The numbers of a record by model, metric, group and level."""

    level: Mapping[tuple[str, str, str, str], Number]
    difference: Mapping[tuple[str, str], Number]  # pair and metric
    models: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]  # by group

    def of(self, model: str, metric: str, place: tuple[str, str] = (CLEAN, CLEAN)) -> Number | None:
        return self.level.get((model, metric, *place))

    def grouped(self) -> tuple[str, ...]:
        """The models in tables by group: of the baselines only the mixture."""
        return tuple(model for model in self.models if model not in BASELINES[1:])

    def clusters_note(self, *groups: str) -> str:
        """A note on the clusters behind the intervals of some groups."""
        return clips_note((one for key, one in self.level.items() if key[2] in groups), clusters=_CLUSTERS)


def _results(view: GridView) -> SuiteResults:
    numbers = _numbers(view)
    tables = {"general": _general(view, numbers)}
    tables |= {f"by_{group}": _by_group(numbers, group) for group in _GROUPS}
    tables |= {"axes": _axes(numbers), "families": _families(view, numbers), "differences": _differences(numbers)}
    return SuiteResults(
        view=view,
        numbers=(*numbers.level.values(), *numbers.difference.values()),
        tables={name: table for name, table in tables.items() if table.rows},
        charts=tuple(_charts(numbers)),
        unscored=tuple(model for model in numbers.models if _value(numbers.of(model, "overall")) is None),
        lead=_lead(view, numbers),
        parts=_PARTS,
    )


_PARTS: Final[tuple[PagePart, ...]] = (
    ("general", "What is recovered, left over and spoilt", "", ("general", "by_", "axes"), ("difficulty",)),
    ("families", "Published outputs, by kind of system", "", ("families",), ()),
    ("models", "Which model", "", ("differences",), ()),
    ("answers", "What was asked", "", ("",), ()),
)


def _numbers(view: GridView) -> _Numbers:
    groups = _groups(view)
    level: dict[tuple[str, str, str, str], Number] = {}
    for model in view.models:
        families = _by(view, "family") if model.startswith(PUBLISHED) or model == BASELINES[0] else {}
        families.pop(_UNKNOWN, None)
        for group, by_level in (groups | {"family": families}).items():
            for name, cases in by_level.items():
                members = cases if model.startswith(PUBLISHED) or group == "family" else _once(view, cases)
                for metric in METRICS:
                    level[model, metric, group, name] = view.number(
                        "level" if group == CLEAN else "by group",  # summary.json has only the first
                        (group, "all"),
                        model=model,
                        metric=metric,
                        level=name,
                        outcome=_mean(view, [model], metric, cases=members),
                    )
    difference = {}
    for first, second in _pairs(view):
        published = first.startswith(PUBLISHED) or second.startswith(PUBLISHED)
        shared, pair = view.cases if published else _once(view, view.cases), f"{first} - {second}"
        for metric in _COMPARED:
            difference[pair, metric] = view.number(
                "difference",
                (CLEAN, "all"),
                model=pair,
                metric=metric,
                level=CLEAN,
                outcome=_mean(view, (first, second), metric, cases=shared),
                signature=view.grid.signature(first, metric),
            )
    return _Numbers(
        level=level,
        difference=difference,
        models=view.models,
        levels={group: tuple(by_level) for group, by_level in (groups | {"family": _by(view, "family")}).items()},
    )


def _groups(view: GridView) -> dict[str, dict[str, list[str]]]:
    """Every group of several levels, with the cases of each level."""
    groups = {name: _by(view, name) for name in ("domain", "setting", "prompt")}
    groups["seen"] = {
        split: [case for case in view.cases if view.grid.splits.get(case) == split] for split in ("seen", "unseen")
    }
    for axis in DIFFICULTY_AXES:
        name = "difficulty" if axis == "overall" else axis
        groups[name] = _banded(view, axis)
    filled = {group: {name: cases for name, cases in levels.items() if cases} for group, levels in groups.items()}
    return {CLEAN: {CLEAN: list(view.cases)}} | {group: levels for group, levels in filled.items() if len(levels) > 1}


def _by(view: GridView, key: str) -> dict[str, list[str]]:
    by_value: dict[str, list[str]] = {}
    for case in view.cases:
        by_value.setdefault(str(view.grid.about[case][key]) or _UNKNOWN, []).append(case)
    return dict(sorted(by_value.items()))


def _banded(view: GridView, axis: str) -> dict[str, list[str]]:
    by_band: dict[str, list[str]] = {band: [] for band in _BANDS}
    values: dict[str, float] = {}
    for answers in view.grid.answers.values():
        for case, answer in answers.items():
            hardness = answer.get("difficulty")  # a record is untrusted
            value = hardness.get(axis) if isinstance(hardness, Mapping) else None
            if isinstance(value, int | float) and 1 <= value <= 5:
                values[case] = value
    for case in view.cases:
        if case in values:
            by_band[_BANDS[min(3, int(values[case]) - 1)]].append(case)
    return by_band


def _once(view: GridView, cases: Iterable[str]) -> list[str]:
    """The cases without repeated requests."""
    return [case for case in cases if not view.grid.about[case].get("repeated")]


def _mean(view: GridView, models: Sequence[str], metric: str, *, cases: Iterable[str]) -> Outcome[float]:
    """The mean of a model over some cases; for two models that of their differences, item by item."""
    first, *second = (view.values(model, CLEAN, metric) for model in models)
    values = {case: first[case] for case in cases if case in first}
    for other in second:
        values = {case: minus(value, other[case]) for case, value in values.items() if case in other}
    return mean_ratio(values, **view.interval_options(_SCALE if metric in SCALES and not second else None))


def _pairs(view: GridView) -> list[tuple[str, str]]:
    """Pairs of every model with the untouched mixture and, if they are few, with each other."""
    tested = view.grid.task.tested(view.models)
    against = [(model, BASELINES[0]) for model in tested if BASELINES[0] in view.models]
    return against + (list(combinations(tested, 2)) if len(tested) <= _MOST_PAIRED else [])


# --- tables


def _value(number: Number | None) -> float | None:
    return None if number is None else number.value


def value_text(metric: str, value: float) -> str:
    """A score in tables: decibels with one digit, 1..5 with two."""
    return percent(value, digits=1 if metric in DECIBELS else 2, scale=1.0)


def _text(number: Number | None, *, interval: bool = False, signed: bool = False) -> str:
    digits = 1 if number is not None and number.metric in DECIBELS else 2
    return number_text(number, points=signed, interval=interval, digits=digits, scale=1.0)


def named(model: str) -> str:
    """The name of a model in tables."""
    return f"{model.removeprefix(ORACLE)} (oracle)" if model.startswith(ORACLE) else model


def _general(view: GridView, results: _Numbers) -> Table:
    rows = []
    for model in results.models:
        numbers = [results.of(model, metric) for metric in _COLUMNS]
        texts = [_text(number, interval=True) for number in numbers]
        rows.append((named(model), *texts, cases_text([results.of(model, "overall"), results.of(model, SI_SDR)])))
    repeated = sum(bool(view.grid.about[case].get("repeated")) for case in view.cases)
    twice = f" {counted(repeated, 'item')} ask for what another asks: separators count it once." if repeated else ""
    remarks = _remarks(view, results.models)
    return Table(
        title="Separation",
        header=("model", *_COLUMNS, "items: overall, SI-SDR"),
        rows=tuple(rows),
        note="SI-SDR, its improvement over the mixture, and SDR of BSS Eval v3 (512 taps) in dB. "
        f"{OURS} An oracle is shown the stems: a bound. Of silence SI-SDR is undefined.{twice}{remarks} "
        f"{results.clusters_note(CLEAN)}",
    )


def _remarks(view: GridView, models: Iterable[str]) -> str:
    """Remarks on tracks chosen without truth, and on outputs with a delay to their stems."""
    remarks, blindly = "", dict[int, list[str]]()
    for model in models:
        answers = view.grid.answers.get((model, CLEAN), {}).values()
        blindly.setdefault(sum(answer.get("by") == "order" for answer in answers), []).append(named(model))
        delays = [delay for answer in answers if isinstance(delay := answer.get("delay_s"), float)]
        if delays and not view.grid.task.is_baseline(model):
            largest = f"{1000 * max(delays, key=abs):+.1f} ms"
            remarks += (
                f" {named(model)}: {counted(len(delays), 'output')} up to {largest} beside the stem, scored as it lies."
            )
    for count, names in blindly.items():
        if count:
            of, items = ", ".join(names), counted(count, "item")
            remarks += f" Nothing told the tracks of {of} apart for {items}: the first is taken."
    return remarks


def _by_group(results: _Numbers, group: str) -> Table:
    rows = []
    for level in results.levels.get(group, ()):
        for model in results.grouped():
            numbers = [results.of(model, metric, (group, level)) for metric in _COLUMNS]
            texts = [_text(number, interval=number is not None and number.metric in _TELLING) for number in numbers]
            items = cases_text([results.of(model, metric, (group, level)) for metric in ("overall", SI_SDR)])
            rows.append((level, named(model), *texts, items))
    return Table(
        title=_GROUPS[group],
        header=(group, "model", *_COLUMNS, "items: overall, SI-SDR"),
        rows=tuple(rows),
        note=f"As above; other intervals, silence and random_bands are in cells.csv. {results.clusters_note(group)}"
        + (" 1 is easy, 5 is hard: docs/sound-truth.md." if group == "difficulty" else ""),
    )


def _axes(results: _Numbers) -> Table:
    """Overall by each axis of difficulty."""
    axes = [axis for axis in DIFFICULTY_AXES if axis != "overall" and axis in results.levels]
    rows = [
        (axis, named(model), *(_text(results.of(model, "overall", (axis, band)), interval=True) for band in _BANDS))
        for axis in axes
        for model in results.grouped()
    ]
    return Table(
        title="Overall by axis of difficulty",
        header=("axis", "model", *_BANDS),
        rows=tuple(rows),
        note="1 to 5. An axis is what makes a mixture hard: how many sources, how they overlap, how loud they are, how "
        f"alike. {results.clusters_note(*axes)}",
    )


def _families(view: GridView, results: _Numbers) -> Table:
    """Published outputs and the untouched mixture of the same items."""
    published = [model for model in results.models if model.startswith(PUBLISHED)]
    rows = []
    for model in published:
        for family, cases in _by(view, "family").items():
            if family == _UNKNOWN:
                continue
            oracle = any(view.grid.about[case].get("oracle") for case in cases)
            numbers = [results.of(model, metric, ("family", family)) for metric in _COLUMNS]
            floor = [results.of(BASELINES[0], metric, ("family", family)) for metric in ("overall", SI_SDR)]
            mixtures = len({view.grid.cases[case] for case in cases})
            texts = [
                _text(number, interval=number is not None and number.metric in (*_TELLING, SI_SDR))
                for number in numbers
            ]
            name = f"{family} (oracle)" if oracle else family
            outputs = cases_text([numbers[_COLUMNS.index("overall")]])
            rows.append((name, outputs, str(mixtures), *texts, *map(_text, floor)))
    return Table(
        title="Published outputs by family",
        header=("family", "outputs", "mixtures", *_COLUMNS, "mixture: overall", "mixture: SI-SDR"),
        rows=tuple(rows),
        note=f"The last columns are of the untouched mixture for the same items. {OURS} Families "
        f"have other mixtures each: no ranking. {results.clusters_note('family')}",
    )


def _differences(results: _Numbers) -> Table:
    stars = significant(results.difference.values())
    rows = []
    for pair in dict.fromkeys(pair for pair, _ in results.difference):
        numbers = [results.difference[pair, metric] for metric in _COMPARED]
        texts = [starred(_text(number, interval=True, signed=True), number, stars) for number in numbers]
        rows.append((" - ".join(map(named, pair.split(" - "))), *texts, cases_text(numbers[::-1])))
    all_numbers = list(results.difference.values())
    return Table(
        title="Differences of models on the same items",
        header=("first - second", *_COMPARED, "items: overall, SI-SDR"),
        rows=tuple(rows),
        note=f"Above 0: the first is better. {starred_note(all_numbers)} {clips_note(all_numbers, clusters=_CLUSTERS)}",
    )


def _charts(results: _Numbers) -> Iterable[Figure]:
    bands = results.levels.get("difficulty", ())
    models = results.models[:MAX_MODELS]
    if not bands:
        return
    types = tuple(
        TypeBars(
            name=band,
            values=tuple(estimate(results.of(model, "overall", ("difficulty", band)), scale=1.0) for model in models),
        )
        for band in bands
    )
    yield Figure(
        name="difficulty",
        caption="Overall, 1 to 5, by how hard the mixture is (1 easy, 5 hard), with 95 % intervals over mixtures.",
        drawing=apc_bars(
            [BarGroup(name="", types=types)], list(map(named, models)), Words(axis="overall, 1 to 5", digits=2)
        ),
    )


def _lead(view: GridView, results: _Numbers) -> str:
    """The results in one paragraph."""
    tested = view.grid.task.tested(results.models)
    mixtures = len(set(view.grid.cases.values()))
    opening = f"{counted(len(view.cases), 'item')} of {mixtures:,} mixtures or recordings"
    sentences = [f"{opening} {'was' if len(view.cases) == 1 else 'were'} asked of {counted(len(tested), 'model')}."]
    for model in tested[:_MOST_PAIRED]:
        texts = [f"{name} {_text(results.of(model, name), interval=True)}" for name in _TELLING]
        sentences.append(f"{named(model)}: {', '.join(texts)}.")
    stars = significant(results.difference.values())
    plain = [
        named(model)
        for model in tested
        if (number := results.difference.get((f"{model} - {BASELINES[0]}", "overall"))) is not None
        and not ((number.value or 0.0) > 0 and any(number is star for star in stars))
    ]
    sentences.append(f"The untouched mixture has overall {_text(results.of(BASELINES[0], 'overall'), interval=True)}.")
    if plain:
        sentences.append(f"Not shown to be better than it: {', '.join(plain)}.")
    return " ".join(sentences)
