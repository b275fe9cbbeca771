"""All tables of a run and every number behind them, from candidates and answers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from auscult.outcome import Scored, Signature
from auscult.report.tables import Table
from auscult.suites.core.numbers import metric_json
from auscult.suites.mqa.calibration import (
    Bin,
    calibration_error,
    consistency_cells,
    rank_cell,
    reliability,
    size_cells,
)
from auscult.suites.mqa.evaluate import (
    ALL,
    METRICS,
    Block,
    JudgedBlock,
    TableNumber,
    ablation_cells,
    block_cells,
    blocks_of,
)
from auscult.suites.mqa.rows import MAKING, Answers, Candidate
from auscult.suites.mqa.tables import (
    ablation_table,
    answers_table,
    consistency_table,
    number_text,
    overall_table,
    paper_table,
    reliability_table,
    size_table,
)

CellRows: TypeAlias = Mapping[str, Sequence[TableNumber]]
"""Judge, in the order of the tables, to its cells."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockResults:
    """What one block came to."""

    block: Block
    cells: CellRows
    curves: Mapping[str, Sequence[Bin]]  # judge to its reliability curve
    sizes: CellRows  # judge to its RMSE by size of the object
    tables: Mapping[str, Table]  # by file name, the most important first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MqaResults:
    """What the benchmark came to."""

    blocks: tuple[BlockResults, ...]  # one per protocol and part
    tables: Mapping[str, Table]  # of what is over several blocks
    cells: tuple[TableNumber, ...]

    @property
    def all_tables(self) -> dict[str, Table]:
        """Every table by file name: block by block, then what is over several."""
        parts = (*(one.tables for one in self.blocks), self.tables)
        return {name: table for part in parts for name, table in part.items()}


def results_of(candidates: Sequence[Candidate], judges: Mapping[str, Answers]) -> MqaResults:
    """Everything that follows from the candidates, training part or not, and the rows in the order of the tables."""
    blocks = tuple(_block(block, judges) for block in blocks_of(candidates))
    cells = [cell for one in blocks for row in one.cells.values() for cell in row]
    tables: dict[str, Table] = {}
    images = [one for one in blocks if one.block.protocol == "image"]
    for metric in METRICS if images else ():
        columns = [_rows(one.cells, metric) for one in images]
        rows = {judge: ablation_cells(*(part[judge][:-1] for part in columns)) for judge in judges}
        tables[f"image_ablation_{metric}"] = ablation_table(metric, [one.block.part for one in images], rows)
        cells += [cell for row in rows.values() for cell in row]
    making = _making(candidates)
    return MqaResults(blocks=blocks, tables=tables, cells=tuple(_signed(cell, making) for cell in cells))


def _making(candidates: Sequence[Candidate]) -> tuple[tuple[str, str], ...]:
    """Who made the defects and how instances and frames were chosen, where not in the paper's way."""
    found: dict[str, set[str]] = {"generator": {one.generator for one in candidates} - {""}}
    for one in candidates:
        for name, value in one.making:
            found.setdefault(name, set()).add(value)
    return tuple((name, ",".join(sorted(found[name]))) for name in ("generator", *MAKING) if found.get(name))


def _signed(cell: TableNumber, making: tuple[tuple[str, str], ...]) -> TableNumber:
    """The cell with how its masks were made in its signature."""
    if not making or not isinstance(cell.outcome, Scored):
        return cell
    signature = Signature((*cell.outcome.signature.fields, *making))
    return replace(cell, outcome=replace(cell.outcome, signature=signature))


def summary_metrics(cells: Sequence[TableNumber]) -> dict[str, dict[str, Any]]:
    """The averages and what is over all masks, for ``summary.json``: ``image/seen/rmse/avg/masks.cues.v1``."""
    return {
        "/".join((cell.protocol, cell.part, cell.metric, cell.column, cell.judge)): metric_json(cell)
        for cell in cells
        if cell.column in {"avg", "all"}
    }


def _rows(cells: CellRows, metric: str) -> dict[str, list[TableNumber]]:
    """One metric of each judge: a cell per column of the paper, then their average."""
    return {judge: [one for one in row if one.metric == metric and one.column != ALL] for judge, row in cells.items()}


def _block(block: Block, judges: Mapping[str, Answers]) -> BlockResults:
    each = [JudgedBlock(block=block, judge=judge, answers=answers) for judge, answers in judges.items()]
    cells = {one.judge: [*block_cells(one), rank_cell(one)] for one in each}
    sizes = {one.judge: size_cells(one) for one in each}
    curves = {one.judge: reliability(one.pairs("rmse")) for one in each}
    errors = {judge: number_text(calibration_error(curve), "calibration") for judge, curve in curves.items()}
    tables = {
        "overall": overall_table(block, {judge: _headline(row) for judge, row in cells.items()}),
        **{metric: paper_table(block, metric, _rows(cells, metric)) for metric in METRICS},
        "answers": answers_table(block, each),
        **_skipped(block, each),
        "size": size_table(block, sizes),
        "reliability": reliability_table(block, curves, errors),
    }
    steady: CellRows = {}
    if block.protocol == "video":
        steady = {one.judge: consistency_cells(one) for one in each}
        tables["consistency"] = consistency_table(block, steady)
    return BlockResults(
        block=block,
        cells={judge: [*row, *sizes[judge], *steady.get(judge, [])] for judge, row in cells.items()},
        curves=curves,
        sizes=sizes,
        tables={f"{block.name}_{name}": table for name, table in tables.items()},
    )


def _headline(cells: Sequence[TableNumber]) -> dict[str, TableNumber]:
    """Metric to what stands for all masks: itself over all of them, or else the average of its columns."""
    averages = {cell.metric: cell for cell in cells if cell.column == "avg"}
    return averages | {cell.metric: cell for cell in cells if cell.column == ALL}


def _skipped(block: Block, judges: Sequence[JudgedBlock]) -> dict[str, Table]:
    """The tables once more with replies without an answer left out, where there are any."""
    cells = {one.judge: block_cells(one, unparsed="skip") for one in judges if any(one.unanswered())}
    tables = {metric: paper_table(block, metric, _rows(cells, metric)) for metric in METRICS if cells}
    return {
        f"{metric}_skip": replace(table, title=f"{table.title}, replies without an answer left out")
        for metric, table in tables.items()
    }
