"""``auscult levels``: a table of task scores, from anywhere, to stages and the four levels of AVI-Bench.

A file holds one model a row (CSV: column ``model`` and one a task) or a key (JSON: model to task to score), or is a
list of entries of the released leaderboard, which this verb also writes. A model that cannot be used fails alone.
Figures are maps of ranks and scores (Figs. 3 to 5), and illustrate the formulas (Figs. 6, 7).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.cases.fields import kind, load, table_rows
from auscult.cases.ids import shown
from auscult.cases.problems import Problems, required_file
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import LevelsOptions
from auscult.media.paths import write_bytes
from auscult.record.codec import dump
from auscult.record.schema import Summary
from auscult.report.charts.maps import MAX_ROWS, MapColumn, MapPoint, Surface, heat_map, surfaces
from auscult.report.charts.marks import Words
from auscult.report.drawing import Drawing, to_png, to_svg
from auscult.report.tables import Table
from auscult.score.levels import ALPHA, Levels, Reading, harmonic_mean, levels, relative_gap, require_scores
from auscult.score.tasks import STAGES, TASKS
from auscult.types import Doubles

_SQUARES: Final = 25
_SENSES: Final = (("A", 0.9, 0.9), ("B", 0.2, 0.2), ("C", 0.9, 0.7), ("D", 0.3, 0.1), ("E", 0.1, 0.3))  # Table 14
_DOMAINS: Final = (("A", 0.9, 0.85), ("B", 0.9, 0.3), ("C", 0.6, 0.6), ("D", 0.2, 0.15), ("E", 0.3, 0.9))
_BEST_RANK: Final = ("low rank", "rank 1")

SHORT: Final[Mapping[str, str]] = {
    "perception": "perc.", "understanding": "und.", "reasoning": "reas.", "sensation": "sens.", "average": "avg.",
    "level_1": "L1 task", "level_2": "L2 modality", "level_3": "L3 stage", "level_4": "L4 domain",
}  # fmt: skip
"""Stages and levels as heads of columns."""
LEVELS: Final = ("level_1", "level_2", "level_3", "level_4")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLevels:
    """One model: its task scores, 0..100, and its levels."""

    model: str
    scores: Mapping[str, float]
    levels: Levels


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """Ranks from 1, the highest; equal numbers share the better one, and what has no number has no rank."""
    there = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(other > value for other in there) for value in values]


def rank_column(name: str, values: Sequence[float | None], *, apart: bool = False) -> MapColumn:
    """The ranks of models as a column of a map, of which the first ``MAX_ROWS`` are shown."""
    shown_ranks = tuple(None if rank is None else float(rank) for rank in ranks(values)[:MAX_ROWS])
    return MapColumn(name=name, values=shown_ranks, low=float(max(len(values), 2)), high=1.0, apart=apart)


def figures(models: Sequence[ModelLevels]) -> dict[str, Drawing]:
    """Each figure by file name, with the first ``MAX_ROWS`` models, ranked among all."""
    cut = f" (the first {MAX_ROWS} of {len(models)} models)" if len(models) > MAX_ROWS else ""
    of_stages = {stage: list(map(_of(stage), models)) for stage in (*STAGES, "average")}
    of_tasks = {task: list(map(_of(task), models)) for task in TASKS}
    names = [entry.model for entry in models[:MAX_ROWS]]
    begin = {"VAR", "AVH", "ASQA"}  # the first of their stages
    rank_words = Words(axis="rank among the models, 1 is the highest", digits=0)
    return {
        "stage_ranks": heat_map(
            names,
            [rank_column(SHORT[stage], values, apart=stage == "average") for stage, values in of_stages.items()],
            Words(axis=rank_words.axis, digits=0, heading=f"Ranks by stage{cut}"),
            ends=_BEST_RANK,
        ),
        "task_scores": heat_map(
            names,
            [
                MapColumn(name=task, values=tuple(values[:MAX_ROWS]), low=0.0, high=100.0, apart=task in begin)
                for task, values in of_tasks.items()
            ],
            Words(axis="percent, higher is better", digits=1, heading=f"Scores by task{cut}"),
            ends=("0", "100"),
        ),
        "task_ranks": heat_map(
            names,
            [rank_column(task, values, apart=task in begin) for task, values in of_tasks.items()],
            Words(axis=rank_words.axis, digits=0, heading=f"Ranks by task{cut}"),
            ends=_BEST_RANK,
        ),
        "why_relative": why_relative(),
        "why_harmonic": why_harmonic(),
    }


def why_relative() -> Drawing:
    """Fig. 6: models of Table 14 by the absolute and the relative difference of their audio and visual scores."""
    return surfaces(
        [
            _surface("|A - V|", lambda audio, visual: np.abs(audio - visual), _SENSES, worst=1.0, best=0.0),
            _surface("2 |A - V| / (A + V)", relative_gap, _SENSES, worst=2.0, best=0.0),
        ],
        [MapPoint(name=name, x=x, y=y) for name, x, y in _SENSES],
        Words(axis="difference of the senses, 0 is balanced", heading="Why the modality gap is relative (Eq. 2)"),
        axes=("A, audio score", "V, visual score"),
        ends=("1 and 2", "0"),
    )


def why_harmonic() -> Drawing:
    """Fig. 7: level 4 as a harmonic mean, and as a penalty of the kind that levels 2 and 3 have."""

    def penalised(familiar: Doubles, unfamiliar: Doubles) -> Doubles:
        return (1 - ALPHA * relative_gap(familiar, unfamiliar)) * familiar

    return surfaces(
        [
            _surface("harmonic mean (Eq. 7)", harmonic_mean, _DOMAINS, worst=0.0, best=1.0),
            _surface("(1 - gap / 2) x familiar", penalised, _DOMAINS, worst=0.0, best=1.0),
        ],
        [MapPoint(name=name, x=x, y=y) for name, x, y in _DOMAINS],
        Words(axis="level 4: B and E have exchanged scores", heading="Why level 4 is a harmonic mean (Eq. 7)"),
        axes=("familiar, level 3", "unfamiliar"),
        ends=("0", "1"),
    )


def _surface(
    name: str,
    of: Callable[[Doubles, Doubles], Doubles],
    points: Sequence[tuple[str, float, float]],
    *,
    worst: float,
    best: float,
) -> Surface:
    middles = (np.arange(_SQUARES) + 0.5) / _SQUARES
    across, up = np.meshgrid(middles, middles[::-1])
    places = np.array([(x, y) for _, x, y in points])
    return Surface(
        name=name,
        values=tuple(tuple(map(float, row)) for row in of(across, up)),
        at_points=tuple(map(float, of(places[:, 0], places[:, 1]))),
        low=worst,
        high=best,
    )


_READINGS: Final[Mapping[str, Reading]] = {"table": "table", "equation": "equation"}
_MAX_BYTES: Final = 16 << 20
_FORM: Final = "a CSV with the column model and one for each task, or JSON of model to task to score, all in percent"
_Row: TypeAlias = tuple[str, int | None, Callable[[], dict[str, float]]]
"""A model, its line, and what reads its scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelsRun:
    """The results of a table: models by level 4, highest first, summary, tables and failures."""

    models: tuple[ModelLevels, ...]
    summary: Summary
    tables: tuple[Table, ...]
    errors: tuple[Mapping[str, Any], ...]


def run_levels(options: LevelsOptions) -> LevelsRun:
    """Read a table of task scores and compute stages and levels, and write leaderboard and figures where asked for.

    Raises:
        NothingToDo: The file cannot be read, or has no model.
        UsageError: ``--reading`` is none.
    """
    reading = _READINGS.get(options.reading)
    if reading is None:
        raise UsageError(f"--reading is {options.reading!r}", expected="table or equation")
    problems, by_model, count = Problems(), dict[str, ModelLevels](), 0
    for model, line, read in _models(options.file):
        count += 1
        try:
            _require_name(model, by_model)
            scores = read()
            _require_percent(scores)
            result = levels(scores, reading=reading)
            by_model[model] = ModelLevels(model=model, scores=scores, levels=result)
        except InputError as error:
            problems.add(error, options.file, line=line, key=f"model {shown(model)}", item=model)
    if not count:
        raise NothingToDo("the file holds no model", expected=_FORM, path=options.file)
    models = tuple(sorted(by_model.values(), key=lambda one: (-one.levels.level_4, -one.levels.level_3, one.model)))
    board = dump([leaderboard_entry(entry, source=options.file.name) for entry in models], indent=2)
    if options.leaderboard is not None:
        write_bytes(options.leaderboard, board)
    if options.out is not None and models:
        write_bytes(options.out / "leaderboard.json", board)
        for name, drawing in figures(models).items():
            write_bytes(options.out / "figures" / f"{name}.svg", to_svg(drawing).encode())
            write_bytes(options.out / "figures" / f"{name}.png", to_png(drawing))
    metrics = {entry.model: {**asdict(entry.levels), "reading": reading} for entry in models}
    return LevelsRun(
        models=models,
        summary=Summary(command="levels", n=count, ok=len(models), failed=count - len(models), metrics=metrics),
        tables=tables(models, reading=reading) if models else (),
        errors=tuple({**asdict(record), "id": None} for _, record in problems.found),
    )


def leaderboard_entry(one: ModelLevels, *, source: str) -> dict[str, Any]:
    """A model in the form of the released leaderboard (schema 2); unknown fields are null."""
    values = one.levels
    names = ("l1_task", "l2_modality", "l3_stage", "l4_domain")
    return {
        "id": one.model,
        "model_name": one.model,
        "provider": None,
        "model_id": None,
        "model_release_date": None,
        "source": source,
        "coverage": {"status": "complete", "tasks_completed": len(TASKS)},
        "scores": {
            "overall": round(values.average, 2),
            "stages": {stage: round(getattr(values, stage), 2) for stage in STAGES},
            "taxonomy": {name: round(getattr(values, level), 2) for name, level in zip(names, LEVELS, strict=True)},
            "tasks": dict(one.scores),
        },
    }


def tables(models: Sequence[ModelLevels], *, reading: Reading) -> tuple[Table, ...]:
    """Stages and levels of models and, if there are several, ranks of models and tasks."""
    basis = "the three familiar stages" if reading == "table" else "the eleven familiar tasks (Eq. 1 as printed)"
    rows = tuple((model.model, *(f"{getattr(model.levels, name):.2f}" for name in SHORT)) for model in models)
    numbers = Table(
        title="Stages and levels, 0 to 100, by level 4",
        header=("model", *SHORT.values()),
        rows=rows,
        note=f"Level 1 is the mean of {basis}. Scores of other samples than the released ones are not comparable.",
    )
    gaps = Table(
        title="Why a level is below the one before",
        header=("model", "modality gap (0 to 2)", "bottleneck (0 to 1)", "unfamiliar"),
        rows=tuple(
            (model.model, f"{values.modality_gap:.3f}", f"{values.bottleneck:.3f}", f"{values.unfamiliar:.2f}")
            for model in models
            for values in (model.levels,)
        ),
        note="L2 and L3 take off half of a gap's share. L4 is the harmonic mean of L3 and unfamiliar.",
    )
    if len(models) < 2:
        return numbers, gaps
    return (
        numbers,
        gaps,
        _ranks("Ranks of stages and levels", models, {text: _of(name) for name, text in SHORT.items()}),
        _ranks("Ranks of tasks", models, {name: _of(name) for name in TASKS}),
    )


def _of(name: str) -> Callable[[ModelLevels], float]:
    """Makes a function that reads a task's score or a field of ``Levels``."""
    return lambda one: float(one.scores[name] if name in TASKS else getattr(one.levels, name))


def _ranks(title: str, models: Sequence[ModelLevels], columns: Mapping[str, Callable[[ModelLevels], float]]) -> Table:
    """Ranks from 1, the highest; equal numbers share the better one."""
    ranked = [[str(rank) for rank in ranks([number(model) for model in models])] for number in columns.values()]
    rows = tuple((model.model, *row) for model, row in zip(models, zip(*ranked, strict=True), strict=True))
    return Table(
        title=title, header=("model", *columns), rows=rows, note="1 is the highest; equal numbers share a rank."
    )


def _require_name(model: str, names: Collection[str]) -> None:
    if not model:
        raise InputError("it has no name", expected=_FORM, hint="name it")
    if model in names:
        raise InputError("it is there twice", expected="each model once", hint="rename or drop the second")


def _require_percent(scores: Mapping[str, float]) -> None:
    require_scores(scores)
    if 0 < max(scores.values()) <= 1:
        raise InputError(
            "no score is above 1", expected="percent, 0 to 100", hint="multiply shares by 100 before you write them"
        )


def _models(path: Path) -> list[_Row]:
    """The models of a file."""
    if path.is_dir():
        raise UsageError(
            "it is a folder", path=path, expected=_FORM, hint="auscult score prints the levels of a record of `run avi`"
        )
    with required_file(path):
        return _of_json(path) if path.suffix.lower() == ".json" else _of_csv(path)


def _of_csv(path: Path) -> list[_Row]:
    rows = list(table_rows(path, max_bytes=_MAX_BYTES, expected=_FORM))
    if not rows:
        raise InputError("the file is empty", expected=_FORM)
    line, header = rows[0][0], [cell.strip() for cell in rows[0][1]]
    if "model" not in header:
        cut_wrong = len(header) == 1 and not {";", "\t"}.isdisjoint(header[0])
        hint = "separate columns by commas, and write 32.9, not 32,9" if cut_wrong else "name the first column model"
        raise InputError("there is no column model", expected=_FORM, hint=hint, line=line)
    if len(set(header)) < len(header):
        raise InputError("two columns have the same name", expected=_FORM, hint="drop one of them", line=line)
    require_scores({name: 0.0 for name in header if name != "model"})
    column = header.index("model")

    def read(cells: Sequence[str]) -> dict[str, float]:
        if len(cells) != len(header):
            raise InputError(
                f"the row has {len(cells)} cells", expected=f"{len(header)}, as the header", hint="repair or drop it"
            )
        return {name: _number(name, cell) for name, cell in zip(header, cells, strict=True) if name != "model"}

    return [
        (cells[column].strip() if column < len(cells) else "", number, partial(read, cells))
        for number, cells in rows[1:]
    ]


def _of_json(path: Path) -> list[_Row]:
    content = load(path, max_bytes=_MAX_BYTES)  # finite numbers and whole text, or an error
    json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_once)
    if isinstance(content, dict):
        return [(model, None, partial(_scores_of, row)) for model, row in content.items()]
    if not isinstance(content, list):
        raise InputError(f"the file holds {kind(content)}", expected=_FORM)
    return [(_name_of(entry), None, partial(_tasks_of, entry)) for entry in content]


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        repeated = Counter(name for name, _ in pairs).most_common(1)[0][0]
        message = f"{shown(repeated)} is there twice"
        raise InputError(message, expected="each name once", hint="rename or drop the second")


def _name_of(entry: object) -> str:
    """The name in an entry of a leaderboard."""
    name = entry.get("model_name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def _tasks_of(entry: object) -> dict[str, float]:
    """The task scores of an entry of a leaderboard."""
    scores = entry.get("scores") if isinstance(entry, dict) else None
    return _scores_of(scores.get("tasks") if isinstance(scores, dict) else None)


def _scores_of(row: object) -> dict[str, float]:
    if not isinstance(row, dict):
        raise InputError(f"its scores are {kind(row)}", expected="an object of task to score")
    return {name: _number(name, value) for name, value in row.items()}


def _number(name: str, value: object) -> float:
    """A score of a cell or of JSON."""
    description = shown(value) if isinstance(value, str) else kind(value)
    expected, hint = "a number from 0 to 100, in percent", "leave the model out until it is run"
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"{name} is {description}", expected=expected, hint=hint)
    try:
        return float(value)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{name} is {description}", expected=expected, hint=hint) from error
