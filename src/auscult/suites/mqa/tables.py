"""Tables from cells: the forms of the paper's Tables 2, 3 and 4, further tables, and all tables of a run.

A cell without a number is a dash. RMSE has three decimals, F2 is in percent with two, as in the paper. ``cells.json``
and ``cells.csv`` hold every cell with interval, counts, reason and signature.

The printed rows of Tables 2 to 6 and 9 to 11 are beside tables of the same form. They are of other data, MQ-RAVSBench
itself, so differences to rows measured here mean nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Final, TypeAlias

from auscult.outcome import Scored, Signature
from auscult.report.facts import ends_text
from auscult.report.tables import Table
from auscult.suites.core.numbers import metric_json, percent
from auscult.suites.mqa.evaluate import (
    ALL,
    COLUMNS,
    GROUPS,
    METRICS,
    NO_ITEMS,
    OWN_ACTION,
    SIZES,
    Bin,
    Block,
    JudgedBlock,
    TableNumber,
    ablation_cells,
    block_cells,
    blocks_of,
    calibration_error,
    consistency_cells,
    of_size,
    rank_cell,
    reliability,
    size_cells,
    size_name,
)
from auscult.suites.mqa.rows import BASELINES, MAKING, AnswersById, Candidate

CellRows: TypeAlias = Mapping[str, Sequence[TableNumber]]
"""Judge, in the order of the tables, to its cells."""

DASH = "–"
TITLES: Mapping[str, str] = {
    "rmse": "RMSE of the estimated IoU",
    "f2_m": "F2-M, type",
    "f2_a": "F2-A, action by the policy",
    OWN_ACTION: "F2-A, the judge's own action",
}
_BETTER = {metric: "lower is better" if metric == "rmse" else "percent, higher is better" for metric in TITLES}
_FORM = {"image": "form of Table 2", "video": "form of Table 3"}


def number_text(cell: TableNumber) -> str:
    """A number in tables, with three decimals or in percent; a dash for none."""
    if cell.value is None:
        return DASH
    share = cell.metric.startswith("f2")
    return percent(cell.value, digits=2) if share else percent(cell.value, digits=3, scale=1.0)


def interval_text(cell: TableNumber) -> str:
    """The interval in tables; empty for none."""
    if cell.ends is None:
        return ""
    scale, digits = (100, 1) if cell.metric.startswith("f2") else (1, 3)
    low, high = (scale * end for end in cell.ends)
    return f"[{ends_text(low, high, digits)}]"


def _average_texts(row: Sequence[TableNumber]) -> tuple[str, ...]:
    """The numbers of a row, the last one their average, then its interval."""
    return *map(number_text, row), interval_text(row[-1]).strip("[]").replace(", ", DASH)


def cell_texts(row: Iterable[TableNumber]) -> tuple[str, ...]:
    """Numbers with their intervals; for an undefined one the count."""
    return tuple(
        f"{DASH} (n {cell.n})" if cell.value is None else f"{number_text(cell)} {interval_text(cell)}".rstrip()
        for cell in row
    )


def paper_table(block: Block, metric: str, cells: CellRows) -> Table:
    """One block of Table 2 or 3."""
    columns = COLUMNS[block.protocol]
    rows = [(judge, *_average_texts(row)) for judge, row in cells.items()]
    by_column = [column.of(block) for column in columns]
    counts = {"n masks": [len(members) for members in by_column]}
    if block.protocol == "video":
        counts["n tracks"] = [_tracks(members) for members in by_column]
    rows += [(words, *map(str, (*numbers, sum(numbers))), "") for words, numbers in counts.items()]
    return Table(
        title=f"{block.title}: {TITLES[metric]} ({_FORM[block.protocol]})",
        header=("judge", *(column.title for column in columns), "Avg.", "95 %"),
        rows=tuple(rows),
        note=f"{_BETTER[metric]}. {_columns_note(block, metric)} {_left_out(cells)}".strip(),
    )


def _tracks(candidates: Sequence[Candidate]) -> int:
    return len({candidate.track for candidate in candidates})


def _columns_note(block: Block, metric: str) -> str:
    note = f"H: hard, M: medium; Avg. is the plain mean of the columns, 95 % its interval over {block.clips_text}."
    if block.protocol == "video":
        per_track = "Each number is over tracks: the frames of a track come to one value first"
        note = f"{per_track}; of Merge and Full_neg the rank 1 tracks only. {note}"
    return note if metric == "rmse" else f"F2-tables: one true type at a time, so no false alarm shows. {note}"


def _left_out(cells: CellRows) -> str:
    rows = list(cells.values())
    empty = [cell.column for cell in rows[0][:-1] if getattr(cell.outcome, "reason", "") == NO_ITEMS] if rows else []
    notes = [f"No masks, so left out of Avg.: {', '.join(empty)}."] if empty else []
    for judge, row in cells.items():
        missing = [
            cell.column for cell in row[:-1] if not isinstance(cell.outcome, Scored) and cell.column not in empty
        ]
        notes += [f"No answer, so left out of the Avg. of {judge}: {', '.join(missing)}."] if missing else []
    notes.append(_failed({judge: row[-1].failed for judge, row in cells.items() if row}))
    return " ".join(filter(None, notes))


def _failed(counts: Mapping[str, int]) -> str:
    return " ".join(f"Failed and in no number: {count} of {judge}." for judge, count in counts.items() if count)


def ablation_table(metric: str, blocks: Sequence[Block], cells: CellRows) -> Table:
    """The ablation form: hard and medium averaged first, then the mean over all columns."""
    parts = [block.part for block in blocks]
    prefix = {"seen": "S ", "unseen": "U "} if len(parts) > 1 else {}
    titles = [f"{prefix.get(part, '')}{defect.capitalize()}" for part in parts for defect, _ in GROUPS]
    rows = tuple(
        (
            judge,
            *_average_texts(row),
            str(sum(cell.n for cell in row[:-1])),
            _left_words({name: str(getattr(row[-1], name)) for name in ("failed", "undefined", "unparsed")}),
        )
        for judge, row in cells.items()
    )
    return Table(
        title=f"Image protocol: {TITLES[metric]} (form of Table 4)",
        header=("judge", *titles, "Avg.", "95 %", "n", "left out"),
        rows=rows,
        note=f"{_BETTER[metric]}. Hard and medium are averaged first; Avg. is the plain mean of the "
        f"{len(titles)} columns{'; S: seen, U: unseen' if prefix else ''}, 95 % its interval over "
        f"{' and '.join(block.clips_text for block in blocks)}. n: masks of all columns; left out: failed, "
        "undefined, and replies without this answer (unparsed, or a mask unjudged)",
    )


def overall_table(block: Block, cells: Mapping[str, Mapping[str, TableNumber]], remark: str) -> Table:
    """The metrics over all masks of a block, the headline of the benchmark; ``remark`` ends its note."""
    header = {
        "rmse": "RMSE",
        "f2_confusion_m": "F2-confusion M",
        "f2_m": "F2-tables M",
        "f2_confusion_a": "F2-confusion A",
        "f2_a": "F2-tables A",
        "spearman": "Spearman",
        "coverage": "coverage",
    }
    rows = tuple((judge, *cell_texts(row[metric] for metric in header), *_counted(row)) for judge, row in cells.items())
    equation, over = ("Eq. 10", "masks") if block.protocol == "image" else ("Eq. 12: over tracks", "tracks")
    return Table(
        title=f"{block.title}: all masks",
        header=("judge", *header.values(), "n", "left out"),
        rows=rows,
        note=f"In brackets: 95 % intervals over {block.clips_text}. RMSE ({equation}): lower is better. F2 in percent: "
        "F2-tables is the average of the nine columns and sees no false alarm, F2-confusion (Eq. 11) does. Spearman: "
        "order of estimated and true IoU. Coverage: share of true IoUs inside the judge's own 90 % intervals; best is "
        f"0.900. n: {over} of the RMSE; left out: failed and undefined masks, which are in no number, and replies "
        f"unparsed or masks unjudged (without IoU/type/action).{remark}",
    )


def _counted(row: Mapping[str, TableNumber]) -> tuple[str, str]:
    cell = row["rmse"]
    silent = [row[metric].unparsed for metric in ("rmse", "f2_confusion_m", "f2_confusion_a")]
    unparsed = "/".join(map(str, silent)) if any(silent) else "0"
    counts = {"failed": str(cell.failed), "undefined": str(cell.undefined), "unparsed": unparsed}
    return str(cell.n), _left_words(counts)


def _left_words(counts: Mapping[str, str]) -> str:
    """Counts left out of a row; ``0`` if all are zero, for a narrow row."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count != "0") or "0"


def answers_table(block: Block, judges: Sequence[JudgedBlock]) -> Table:
    """Counts of a block's candidates per judge: judged, failed, undefined, without an answer."""
    without = "a reply without IoU counts as 0"
    if block.protocol == "video":
        without = "a reply without IoU leaves the mean of its track, a track without any counts as 0"
    return Table(
        title=f"{block.title}: answers",
        header=("judge", "masks", "judged", "failed", "undefined", "no IoU", "no type", "no action"),
        rows=tuple((judged.judge, *map(str, _answer_counts(judged))) for judged in judges),
        note=f"failed and undefined are in no number; {without}; one without type or action is a miss, unless a table "
        "says otherwise",
    )


def _answer_counts(judged: JudgedBlock) -> tuple[int, ...]:
    candidates = judged.block.candidates
    answered = [candidate for candidate in candidates if candidate.id in judged.answers]
    undefined = sum(candidate.defect == "empty" or candidate.iou is None for candidate in answered)
    return len(candidates), len(answered), len(candidates) - len(answered), undefined, *judged.unanswered()


def size_table(block: Block, cells: CellRows) -> Table:
    """RMSE by size of the object."""
    by_size = [[candidate for candidate in of_size(block, bounds) if candidate.defect != "empty"] for bounds in SIZES]
    counts, over = [len(members) for members in by_size], "masks"
    if block.protocol == "video":
        counts = [_tracks(members) for members in by_size]
        over = "tracks, and a track whose object changes size is in several columns"
    unknown = sum(candidate.area is None for candidate in block.candidates)
    notes = [f"Of unknown size and in no column: {unknown}."] if unknown else []
    notes.append(_failed({judge: sum(cell.failed for cell in row) for judge, row in cells.items()}))
    return Table(
        title=f"{block.title}: RMSE by size of the object",
        header=("judge", *map(size_name, SIZES)),
        rows=(*((judge, *cell_texts(row)) for judge, row in cells.items()), ("n", *map(str, counts))),
        note=f"columns are the object's share of the frame; lower is better; n: {over}; in brackets: 95 % intervals "
        f"over {block.clips_text}, or those of them in a column. {' '.join(notes)}".strip(),
    )


def reliability_table(block: Block, curves: Mapping[str, Sequence[Bin]]) -> Table:
    """Mean estimated and true IoU in bins of the estimate."""
    bins = next(iter(curves.values()), ())
    errors = {judge: calibration_error(curve) for judge, curve in curves.items()}
    rows = tuple(
        (judge, *map(_bin_text, curves[judge]), f"{error.value:.3f}" if isinstance(error, Scored) else DASH)
        for judge, error in errors.items()
    )
    return Table(
        title=f"{block.title}: reliability of the estimated IoU",
        header=("judge", *(f"{bin_.low:.1f}" for bin_ in bins), "error"),
        rows=rows,
        note="columns are bins of the estimated IoU from .0, .1, ... up; in each the mean true IoU and, in brackets, "
        "n. error: mean absolute difference of estimated and true IoU over the bins, weighted by n; lower is better. "
        "What failed or has no IoU is in no bin",
    )


def _bin_text(row: Bin) -> str:
    return DASH if row.true is None else f"{row.true:.2f} ({row.n})"


def consistency_table(block: Block, cells: CellRows) -> Table:
    """Temporal consistency of the video protocol."""
    return Table(
        title=f"{block.title}: temporal consistency",
        header=("judge", "excess change", "step error", "agreement", "flicker"),
        rows=tuple((judge, *cell_texts(row)) for judge, row in cells.items()),
        note=f"means over {_tracks(block.candidates)} tracks, intervals over {block.clips_text}. excess change: "
        "how much more the estimate moves from frame to frame than the true IoU, best 0; step error: how far the moves "
        "are from the true ones, lower is better; agreement: share of frames with the track's most frequent type, "
        "higher is better; flicker: share of "
        "steps at which the type changes, lower is better. A row that says the same of everything is consistent and "
        "worth nothing. " + _failed({judge: row[0].failed for judge, row in cells.items() if row}),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockResults:
    """The results of one block."""

    block: Block
    cells: CellRows
    curves: Mapping[str, Sequence[Bin]]  # judge to its reliability curve
    sizes: CellRows  # judge to its RMSE by size of the object
    tables: Mapping[str, Table]  # by file name, the most important first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MqaResults:
    """The results of the benchmark."""

    blocks: tuple[BlockResults, ...]  # one per protocol and part
    ablation: Mapping[str, Table]  # over several blocks
    cells: tuple[TableNumber, ...]

    @property
    def tables(self) -> dict[str, Table]:
        """Every table by file name: block by block, then those over several."""
        parts = (*(block.tables for block in self.blocks), self.ablation)
        return {name: table for part in parts for name, table in part.items()}


def results_of(
    candidates: Sequence[Candidate], judges: Mapping[str, AnswersById], *, remark: str = "", policy: str = ""
) -> MqaResults:
    """All results from the candidates, training part included, and the answers in the order of the tables.

    ``remark`` ends the note of the tables over all masks; ``policy`` names what decided the actions.
    """
    blocks = tuple(_block(block, judges, remark) for block in blocks_of(candidates))
    cells = [cell for block in blocks for row in block.cells.values() for cell in row]
    tables: dict[str, Table] = {}
    images = [block for block in blocks if block.block.protocol == "image"]
    for metric in METRICS if images else ():
        columns = [_rows(block.cells, metric) for block in images]
        rows = {judge: ablation_cells(*(part[judge][:-1] for part in columns)) for judge in judges}
        tables[f"image_ablation_{metric}"] = ablation_table(metric, [block.block for block in images], rows)
        cells += [cell for row in rows.values() for cell in row]
    if images:
        tables["image_ablation_printed"] = printed_ablations()
    making = _making(candidates)
    signed = (_signed(cell, (*_decided_by(cell, policy), *making)) for cell in cells)
    return MqaResults(blocks=blocks, ablation=tables, cells=tuple(signed))


def _making(candidates: Sequence[Candidate]) -> tuple[tuple[str, str], ...]:
    """The generator of the defects and the choice of instances and frames, if not as in the paper."""
    values: dict[str, set[str]] = {"generator": {candidate.generator for candidate in candidates} - {""}}
    for candidate in candidates:
        for name, value in candidate.making:
            values.setdefault(name, set()).add(value)
    return tuple((name, ",".join(sorted(values[name]))) for name in ("generator", *MAKING) if values.get(name))


def _decided_by(cell: TableNumber, policy: str) -> tuple[tuple[str, str], ...]:
    """What decided the actions of a cell: the judge itself or the policy, if known."""
    if cell.metric == OWN_ACTION:
        return (("action_by", "the judge"),)
    decided = cell.metric.startswith(("f2_a", "f2_confusion_a")) and cell.judge not in BASELINES
    return (("action_by", f"policy {policy}"),) if decided and policy else ()


def _signed(cell: TableNumber, fields: tuple[tuple[str, str], ...]) -> TableNumber:
    """The cell with further fields in its signature: what decided, and how its masks were made."""
    if not fields or not isinstance(cell.outcome, Scored):
        return cell
    signature = Signature((*cell.outcome.signature.fields, *fields))
    return replace(cell, outcome=replace(cell.outcome, signature=signature))


def summary_metrics(cells: Sequence[TableNumber]) -> dict[str, dict[str, Any]]:
    """The averages, and the metrics over all masks, for ``summary.json``: ``image/seen/rmse/avg/masks.cues.v1``."""
    return {
        "/".join((cell.protocol, cell.part, cell.metric, cell.column, cell.judge)): metric_json(cell)
        for cell in cells
        if cell.column in {"avg", "all"}
    }


def _rows(cells: CellRows, metric: str) -> dict[str, list[TableNumber]]:
    """One metric of each judge: a cell per column of the paper, then their average."""
    rows = {
        judge: [cell for cell in row if cell.metric == metric and cell.column != ALL] for judge, row in cells.items()
    }
    return {judge: row for judge, row in rows.items() if row}


def _block(block: Block, judges: Mapping[str, AnswersById], remark: str) -> BlockResults:
    blocks = [JudgedBlock(block=block, judge=judge, answers=answers) for judge, answers in judges.items()]
    cells = {judged.judge: [*block_cells(judged), rank_cell(judged)] for judged in blocks}
    sizes = {judged.judge: size_cells(judged) for judged in blocks}
    curves = {judged.judge: reliability(judged.pairs("rmse")) for judged in blocks}
    tables = {
        "overall": overall_table(block, {judge: headline(row) for judge, row in cells.items()}, remark),
        **{metric: paper_table(block, metric, rows) for metric in TITLES if (rows := _rows(cells, metric))},
        "printed": printed_table(block),
        "answers": answers_table(block, blocks),
        **_skipped(block, blocks),
        "size": size_table(block, sizes),
        "reliability": reliability_table(block, curves),
    }
    steady: CellRows = {}
    if block.protocol == "video":
        steady = {judged.judge: consistency_cells(judged) for judged in blocks}
        tables["consistency"] = consistency_table(block, steady)
    return BlockResults(
        block=block,
        cells={judge: [*row, *sizes[judge], *steady.get(judge, [])] for judge, row in cells.items()},
        curves=curves,
        sizes=sizes,
        tables={f"{block.name}_{name}": table for name, table in tables.items()},
    )


def headline(cells: Sequence[TableNumber]) -> dict[str, TableNumber]:
    """Metric to its cell over all masks, or else the average of its columns."""
    averages = {cell.metric: cell for cell in cells if cell.column == "avg"}
    return averages | {cell.metric: cell for cell in cells if cell.column == ALL}


def _skipped(block: Block, judges: Sequence[JudgedBlock]) -> dict[str, Table]:
    """The tables again without replies that lack an answer, if there are any."""
    cells = {judged.judge: block_cells(judged, unparsed="skip") for judged in judges if any(judged.unanswered())}
    tables = {metric: paper_table(block, metric, _rows(cells, metric)) for metric in METRICS if cells}
    return {
        f"{metric}_skip": replace(table, title=f"{table.title}, replies without an answer left out")
        for metric, table in tables.items()
    }


# --- printed rows of the paper ---

OTHER_DATA: Final = "Printed in the paper, on MQ-RAVSBench: other data, not comparable with what was measured here."
ABLATIONS: Final = {"4": "mask use", "5": "IoU estimate", "6": "perfect masks of a batch", "9": "mask use, overlay",
                    "10": "training data"}  # fmt: skip
_NAMES: Final = {"rmse": "RMSE", "f2_m": "F2-M", "f2_a": "F2-A"}
_METHODS: Final = ("metric", "method")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRow:
    """One printed row."""

    table: str  # number
    part: str  # ``seen``, ``unseen``, or ``both`` in this order; empty in Table 11
    metric: str  # of ``METRICS``; empty in Table 11
    method: str
    cells: tuple[str, ...]  # as printed, without average; in Table 11 latency (s), throughput (1/s), memory (GB)
    average: str  # as printed; empty in Table 11


@cache
def printed_rows(table: str) -> tuple[PrintedRow, ...]:
    """The rows of a table of the paper by its number, in the paper's order."""
    text = resources.files("auscult.suites.mqa").joinpath("paper_tables.csv").read_text(encoding="utf-8")
    rows = (row for row in csv.DictReader(text.splitlines()) if row["table"] == table)
    return tuple(PrintedRow(**{**row, "cells": tuple(row["cells"].split())}) for row in rows)  # type: ignore[arg-type]


def printed_table(block: Block) -> Table:
    """Table 2 or 3 as printed, with our columns: the part of a block, or both if it has all."""
    number = "2" if block.protocol == "image" else "3"
    parts = ("seen", "unseen") if block.part == ALL else (block.part,)
    rows = [
        row
        for part in parts
        for metric in METRICS
        for row in printed_rows(number)
        if (row.part, row.metric) == (part, metric)
    ]
    return Table(
        title=f"{block.title}: the paper's Table {number}, other data",
        header=("part", *_METHODS, *(column.title for column in COLUMNS[block.protocol]), "Avg."),
        rows=tuple((row.part, _NAMES[row.metric], row.method, *row.cells, row.average) for row in rows),
        note=OTHER_DATA,
    )


def printed_ablations() -> Table:
    """Tables 4, 5, 6, 9 and 10 as printed: ablations of the paper's auditor."""
    columns = [f"{part} {defect.capitalize()}" for part in ("S", "U") for defect, _ in GROUPS]
    rows = [(row, title) for number, title in ABLATIONS.items() for row in printed_rows(number)]
    return Table(
        title="The paper's Tables 4, 5, 6, 9 and 10, other data",
        header=("table", *_METHODS, *columns, "Avg."),
        rows=tuple(
            (f"{row.table}: {title}", _NAMES[row.metric], row.method, *row.cells, row.average) for row, title in rows
        ),
        note=f"{OTHER_DATA} S: seen, U: unseen.",
    )
