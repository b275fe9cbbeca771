"""All tables of the benchmark, from candidates and answers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from auscult.outcome import Scored, Signature
from auscult.report.tables import Table
from auscult.suites.mqa.calibration import Bin, calibration_error, pairs_of, rank_cell, reliability, size_cells
from auscult.suites.mqa.consistency import consistency_cells
from auscult.suites.mqa.evaluate import METRICS, Block, Cell, ablation_cells, block_cells, blocks_of
from auscult.suites.mqa.rows import MAKING, Answers, Candidate
from auscult.suites.mqa.tables import (
    ablation_table,
    answers_table,
    consistency_table,
    metric_of,
    number_text,
    overall_table,
    paper_table,
    reliability_table,
    size_table,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockResults:
    """What one block came to.

    Attributes:
        block: The block.
        cells: Judge to all its cells.
        curves: Judge to its reliability curve; only those that vary.
        sizes: Judge to its RMSE by size of the object.
        tables: File name to table, the most important first.
    """

    block: Block
    cells: Mapping[str, Sequence[Cell]]
    curves: Mapping[str, Sequence[Bin]]
    sizes: Mapping[str, Sequence[Cell]]
    tables: Mapping[str, Table]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """What the benchmark came to.

    Attributes:
        blocks: One per protocol and part.
        tables: File name to table of what is over several blocks.
        cells: Every cell.
    """

    blocks: tuple[BlockResults, ...]
    tables: Mapping[str, Table]
    cells: tuple[Cell, ...]

    @property
    def all_tables(self) -> dict[str, Table]:
        """Every table by file name: block by block, then what is over several."""
        parts = (*(one.tables for one in self.blocks), self.tables)
        return {name: table for part in parts for name, table in part.items()}


def results_of(candidates: Sequence[Candidate], judges: Mapping[str, Answers]) -> Results:
    """Compute everything.

    Args:
        candidates: The benchmark, its training part included or not.
        judges: Row to answers, in the order of the tables.
    """
    blocks = tuple(_block(block, judges) for block in blocks_of(candidates))
    cells = [cell for one in blocks for row in one.cells.values() for cell in row]
    tables: dict[str, Table] = {}
    images = [one for one in blocks if one.block.protocol == "image"]
    if images:
        for metric in METRICS:
            rows = {judge: _ablation(images, judge, metric) for judge in judges}
            tables[f"image_ablation_{metric}"] = ablation_table(metric, [one.block.part for one in images], rows)
            cells += [cell for row in rows.values() for cell in row]
    making = _making(candidates)
    return Results(blocks=blocks, tables=tables, cells=tuple(_signed(cell, making) for cell in cells))


def _making(candidates: Sequence[Candidate]) -> tuple[tuple[str, str], ...]:
    """Who made the defects and how instances and frames were chosen, where not in the paper's way."""
    found: dict[str, set[str]] = {"generator": {one.generator for one in candidates} - {""}}
    for one in candidates:
        for name, value in one.making:
            found.setdefault(name, set()).add(value)
    return tuple((name, ",".join(sorted(found[name]))) for name in ("generator", *MAKING) if found.get(name))


def _signed(cell: Cell, making: tuple[tuple[str, str], ...]) -> Cell:
    """The cell with how its masks were made in its signature."""
    if not making or not isinstance(cell.outcome, Scored):
        return cell
    signature = Signature((*cell.outcome.signature.fields, *making))
    return replace(cell, outcome=replace(cell.outcome, signature=signature))


def summary_metrics(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """The averages and what is over all masks, for ``summary.json``: ``image/seen/rmse/avg/masks.cues.v1``."""
    return {
        "/".join((cell.protocol, cell.part, cell.metric, cell.column, cell.judge)): metric_of(cell)
        for cell in cells
        if cell.column in {"avg", "all"}
    }


def _ablation(images: Sequence[BlockResults], judge: str, metric: str) -> list[Cell]:
    rows = [
        [cell for cell in one.cells[judge] if cell.metric == metric and cell.column not in {"avg", "all"}]
        for one in images
    ]
    return [_renamed(cell) for cell in ablation_cells(rows[0], rows[1] if len(rows) > 1 else ())]


def _renamed(cell: Cell) -> Cell:
    return replace(cell, metric=f"{cell.metric}_ablation")


def _block(block: Block, judges: Mapping[str, Answers]) -> BlockResults:
    cells = {
        judge: [*block_cells(block, judge, answers), rank_cell(block, judge, answers)]
        for judge, answers in judges.items()
    }
    sizes = {judge: size_cells(block, judge, answers) for judge, answers in judges.items()}
    curves = {judge: reliability(pairs_of(block, answers)) for judge, answers in judges.items()}
    steady: dict[str, list[Cell]] = {}
    if block.protocol == "video":
        steady = {judge: consistency_cells(block, judge, answers) for judge, answers in judges.items()}
    tables = _tables(block, judges, cells)
    name = f"{block.protocol}_{block.part}"
    tables[f"{name}_size"] = size_table(block, sizes)
    errors = {judge: number_text(calibration_error(curve), "calibration") for judge, curve in curves.items()}
    tables[f"{name}_reliability"] = reliability_table(block, curves, errors)
    if steady:
        tables[f"{name}_consistency"] = consistency_table(block, steady)
    return BlockResults(
        block=block,
        cells={judge: [*row, *sizes[judge], *steady.get(judge, [])] for judge, row in cells.items()},
        curves=curves,
        sizes=sizes,
        tables=tables,
    )


def _tables(block: Block, judges: Mapping[str, Answers], cells: Mapping[str, Sequence[Cell]]) -> dict[str, Table]:
    name = f"{block.protocol}_{block.part}"
    overall = {judge: {cell.metric: cell for cell in row if cell.column == "all"} for judge, row in cells.items()}
    averages = {judge: {cell.metric: cell for cell in row if cell.column == "avg"} for judge, row in cells.items()}
    headline = {
        judge: {**{key: averages[judge][key] for key in ("f2_m", "f2_a")}, **overall[judge]} for judge in judges
    }
    tables = {f"{name}_overall": overall_table(block, headline)}
    for metric in METRICS:
        rows = {
            judge: [cell for cell in row if cell.metric == metric and cell.column != "all"]
            for judge, row in cells.items()
        }
        tables[f"{name}_{metric}"] = paper_table(block, metric, rows)
    tables[f"{name}_answers"] = answers_table(block, {judge: _counts(block, said) for judge, said in judges.items()})
    tables |= _skipped(block, judges)
    return tables


def _skipped(block: Block, judges: Mapping[str, Answers]) -> dict[str, Table]:
    """The tables once more with replies without an answer left out, where there are any."""
    lacking = {judge: said for judge, said in judges.items() if any(_counts(block, said)[key] for key in _LACKS)}
    if not lacking:
        return {}
    rows = {judge: block_cells(block, judge, said, unparsed="skip") for judge, said in lacking.items()}
    found = {}
    for metric in METRICS:
        chosen = {
            judge: [cell for cell in row if cell.metric == metric and cell.column != "all"]
            for judge, row in rows.items()
        }
        table = paper_table(block, metric, chosen)
        name = f"{block.protocol}_{block.part}_{metric}_skip"
        found[name] = Table(
            title=f"{table.title}, replies without an answer left out",
            header=table.header,
            rows=table.rows,
            note=table.note,
        )
    return found


_LACKS = ("no IoU", "no type", "no action")


def _counts(block: Block, answers: Answers) -> dict[str, int]:
    said = [(one, answers[one.id]) for one in block.candidates if one.id in answers]
    undefined = sum(one.defect == "empty" or one.iou is None for one, _ in said)
    kept = [answer for one, answer in said if one.defect != "empty"]
    return {
        "masks": len(block.candidates),
        "judged": len(said),
        "failed": len(block.candidates) - len(said),
        "undefined": undefined,
        "no IoU": sum(answer.iou is None for answer in kept),
        "no type": sum(answer.defect is None for answer in kept),
        "no action": sum(answer.action is None for answer in kept),
    }
