"""``auscult effects``: what each part of composed models is worth, and whether other seeds change who is better.

A source is a record of ``auscult run avi``, of which stages, levels and tasks are read from its cells, or a CSV with a
column ``model`` and columns of numbers, of which a cell may be empty. Models whose names are all combinations of parts
in two versions, such as ``q1_a1_v1``, form a grid (AVI-Bench D.3). Several sources are runs of the same models with
other seeds (E.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeGuard

from auscult.cases.fields import load, number_of, table_rows
from auscult.cases.problems import required_file
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import EffectsOptions
from auscult.record.reader import require_record
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.score.effects import PartsGrid, RankStability, effects, parts_grid, rank_stability
from auscult.score.levels import NAMES
from auscult.score.tasks import TASKS

CELLS: Final = "cells.json"
_MAX_BYTES: Final = 64 << 20
_FORM: Final = "a record of `auscult run avi`, or a CSV with the column model and columns of numbers"
_REFERENCE: Final = "reference."
_SHARES: Final = frozenset(NAMES) - {"modality_gap", "bottleneck"} | TASKS.keys()
"""Numbers of a record that are shares and are shown as percent."""

_Numbers: TypeAlias = dict[str, dict[str, float]]
"""Metric to model to number."""


def run_effects(options: EffectsOptions) -> tuple[Summary, list[Table]]:
    """Read the sources, and compute effects where models form a grid, and stability where there are several sources.

    Raises:
        NothingToDo: A source cannot be read or has no number.
        UsageError: The models of one source form no grid, or several sources have no two models in common.
    """
    sources = {label: _read(path) for label, path in zip(_labels(options.sources), options.sources, strict=True)}
    grids = {label: grid for label, numbers in sources.items() if (grid := _grid(numbers)) is not None}
    if not grids and len(sources) < 2:
        models = sorted({model for row in next(iter(sources.values())).values() for model in row})
        raise UsageError(
            f"the models {', '.join(models)[:120]} form no grid", path=options.sources[0],
            expected="all combinations of parts in two versions, named such as q1_a1_v1, or several sources",
        )  # fmt: skip
    worth = {label: _effects(sources[label], grid) for label, grid in grids.items()}
    stable = _stability(list(sources.values())) if len(sources) > 1 else {}
    if len(sources) > 1 and not stable:
        raise UsageError("the sources have no two models and no number in common", expected="runs of the same models")
    metrics = {
        **{f"{label} {metric}": row for label, rows in worth.items() for metric, row in rows.items()},
        **{f"stability {metric}": asdict(stability) for metric, stability in stable.items()},
    }
    count = sum(len(rows) for rows in worth.values()) + len(stable)
    tables = [
        _effects_table(label, grids[label], rows, missing=_missing(sources[label], grids[label]), many=len(sources) > 1)
        for label, rows in worth.items()
    ]
    tables += [_stability_table(stable, list(sources))] if stable else []
    return Summary(command="effects", n=count, ok=count, failed=0, metrics=metrics), tables


def _grid(numbers: _Numbers) -> PartsGrid | None:
    """The grid of the models that some number, or every number, is there for; None where they form none."""
    rows = sorted(({*row} for row in numbers.values()), key=len, reverse=True)
    for models in [*rows, set.intersection(*rows)]:
        try:
            return parts_grid(sorted(models))
        except InputError:
            continue
    return None


def _missing(numbers: _Numbers, grid: PartsGrid) -> dict[str, list[str]]:
    """By metric, the models of the grid that it has no number of."""
    missing = {metric: [model for model in grid.models if model not in row] for metric, row in numbers.items()}
    return {metric: models for metric, models in missing.items() if models}


def _effects(numbers: _Numbers, grid: PartsGrid) -> dict[str, dict[str, float]]:
    """Of the metrics that every model of the grid has a number of."""
    missing = _missing(numbers, grid)
    return {
        metric: {name: float(value) for name, value in effects(grid, row).items()}
        for metric, row in numbers.items()
        if metric not in missing
    }


def _stability(sources: Sequence[_Numbers]) -> dict[str, RankStability]:
    """By metric, of the models that every source has."""
    by_metric = {}
    for metric in sources[0]:
        rows = [source[metric] for source in sources if metric in source]
        models = sorted(set.intersection(*({*row} for row in rows)))
        if len(rows) == len(sources) and len(models) > 1:
            by_metric[metric] = rank_stability([{model: row[model] for model in models} for row in rows])
    return by_metric


# --- reading ---


def _labels(paths: Sequence[Path]) -> list[str]:
    names = [path.resolve().name for path in paths]
    return [name if names.count(name) == 1 else f"{name} {number}" for number, name in enumerate(names, start=1)]


def _read(path: Path) -> _Numbers:
    numbers = _of_record(path) if path.is_dir() else _of_csv(path)
    if not numbers:
        raise NothingToDo("it has no number of two models", path=path, expected=_FORM)
    return numbers


def _of_record(folder: Path) -> _Numbers:
    """Tasks, stages and levels of the models of a record, as it was asked with both senses; references left out."""
    require_record(folder)
    path = folder / CELLS
    if not path.is_file():
        raise NothingToDo(f"there is no {CELLS}", path=folder, expected=_FORM, hint="let the run come to its end")
    rows = load(path, max_bytes=_MAX_BYTES)
    metrics = {*NAMES, *TASKS}
    numbers: _Numbers = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or (row.get("measure"), row.get("level")) != ("level", "clean"):
            continue
        model, metric, value = str(row.get("model")), row.get("metric"), row.get("value")
        if metric in metrics and _is_finite(value) and not model.startswith(_REFERENCE):
            numbers.setdefault(str(metric), {})[model] = (100.0 if metric in _SHARES else 1.0) * value
    begin = {model.rpartition(".")[0] for models in numbers.values() for model in models}
    if len(begin) == 1:  # of one file, or all cascades
        numbers = {metric: {name.rpartition(".")[2]: row[name] for name in row} for metric, row in numbers.items()}
    return {metric: row for metric, row in numbers.items() if len(row) > 1}


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _of_csv(path: Path) -> _Numbers:
    with required_file(path):
        rows = list(table_rows(path, max_bytes=_MAX_BYTES, expected=_FORM))
        header = [cell.strip() for cell in rows[0][1]] if rows else []
        if "model" not in header or len(set(header)) < len(header):
            raise InputError("there is no column model, or a column is there twice", expected=_FORM)
        columns: _Numbers = {name: {} for name in header if name != "model"}
        for line, cells in rows[1:]:
            if len(cells) != len(header):
                raise InputError(f"the row has {len(cells)} cells", expected=f"{len(header)}, as the header", line=line)
            row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
            model = row.pop("model")
            for name, cell in row.items():
                if model in columns[name]:
                    raise InputError(f"the model {model[:40]!r} is there twice", expected="each once", line=line)
                if cell:
                    columns[name][model] = _number(name, cell, line)
    return {name: row for name, row in columns.items() if len(row) > 1}


def _number(name: str, cell: str, line: int) -> float:
    value = number_of(cell)
    if value is None or not math.isfinite(value):
        raise InputError(f"{name[:40]} is {cell[:40]!r}", expected="a finite number", line=line)
    return value


# --- tables ---


def _effects_table(
    label: str,
    grid: PartsGrid,
    rows: Mapping[str, Mapping[str, Any]],
    *,
    missing: Mapping[str, Sequence[str]],
    many: bool,
) -> Table:
    versions = "; ".join(
        f"{part}: {second} less {first}" for part, (first, second) in zip(grid.parts, grid.versions, strict=True)
    )
    names = list(next(iter(rows.values())))
    without = "".join(f" {metric} has no number of {', '.join(models)}." for metric, models in missing.items())
    return Table(
        title="What each part is worth" + (f", {label}" if many else ""),
        header=("of", *names),
        rows=tuple((metric, *(f"{row[name]:+.2f}" for name in names)) for metric, row in rows.items()),
        note=f"{versions}, over {len(grid.models)} models. A column of several parts is their interaction: half of by "
        f"how much the effect of one differs with the version of the other.{without}",
    )


def _stability_table(by_metric: Mapping[str, RankStability], labels: Sequence[str]) -> Table:
    return Table(
        title="Do other seeds change who is better?",
        header=("of", "pairs of models", "in the same order", "most ranks moved", "largest change", "closest pair"),
        rows=tuple(
            (metric, str(row.pairs), str(row.kept), str(row.moved), f"{row.changed:.2f}", f"{row.closest:.2f}")
            for metric, row in by_metric.items()
        ),
        note=f"Runs: {', '.join(labels)}. Orders are safe where the largest change is well below the closest pair.",
    )
