"""Cells to tables: the forms of the paper's Tables 2, 3 and 4, and what stands beside them.

A cell without a number is a dash. RMSE has three decimals, F2 is in percent with two, as in the paper. ``cells.json``
and ``cells.csv`` hold every cell with interval, counts, reason and signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auscult.outcome import Scored, Undefined
from auscult.report.tables import Table
from auscult.suites.mqa.calibration import SIZES, Bin, of_size, size_name
from auscult.suites.mqa.evaluate import GROUPS, NO_ITEMS, Block, JudgedBlock, TableNumber, columns_of
from auscult.suites.mqa.rows import Candidate

DASH = "–"
TITLES: Mapping[str, str] = {
    "rmse": "RMSE of the estimated IoU",
    "f2_m": "F2-M, type",
    "f2_a": "F2-A, action",
}
_BETTER = {"rmse": "lower is better", "f2_m": "percent, higher is better", "f2_a": "percent, higher is better"}
_FORM = {"image": "form of Table 2", "video": "form of Table 3"}
_PERCENT = frozenset({"f2_m", "f2_a", "f2_confusion_m", "f2_confusion_a"})


def number_text(outcome: Scored[float] | Undefined, metric: str) -> str:
    """A number as the tables print it; a dash where there is none."""
    return _text(outcome.value, metric) if isinstance(outcome, Scored) else DASH


def interval_text(outcome: Scored[float] | Undefined, metric: str) -> str:
    """The interval as the tables print it; empty where there is none."""
    low, high = getattr(outcome, "low", None), getattr(outcome, "high", None)
    if low is None or high is None:
        return ""
    return f"[{_text(low, metric, percent_digits=1)}, {_text(high, metric, percent_digits=1)}]"


def _text(value: float, metric: str, *, percent_digits: int = 2) -> str:
    """A value with three decimals, or in percent; what rounds to 0 has no sign."""
    value, digits = (100 * value, percent_digits) if metric in _PERCENT else (value, 3)
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _average_texts(row: Sequence[TableNumber], metric: str) -> tuple[str, ...]:
    """The numbers of a row whose last is their average, and its interval for a narrow column."""
    span = interval_text(row[-1].outcome, metric).strip("[]").replace(", ", DASH)
    return *(number_text(cell.outcome, metric) for cell in row), span


def cell_text(cell: TableNumber) -> str:
    """A number with its interval; an undefined one with its count."""
    text = number_text(cell.outcome, cell.metric)
    if text == DASH:
        return f"{DASH} (n {cell.n})"
    return f"{text} {interval_text(cell.outcome, cell.metric)}".rstrip()


def paper_table(block: Block, metric: str, cells: Mapping[str, Sequence[TableNumber]]) -> Table:
    """One block of Table 2 or 3."""
    columns = columns_of(block.protocol)
    rows = [(judge, *_average_texts(row, metric)) for judge, row in cells.items()]
    held = [column.of(block) for column in columns]
    counts = {"n masks": [len(ones) for ones in held]}
    if block.protocol == "video":
        counts["n tracks"] = [_tracks(ones) for ones in held]
    rows += [(words, *map(str, (*each, sum(each))), "") for words, each in counts.items()]
    return Table(
        title=f"{block.title}: {TITLES[metric]} ({_FORM[block.protocol]})",
        header=("judge", *(column.title for column in columns), "Avg.", "95 %"),
        rows=tuple(rows),
        note=f"{_BETTER[metric]}. {_columns_note(block, metric)} {_left_out(cells)}".strip(),
    )


def _tracks(ones: Sequence[Candidate]) -> int:
    return len({one.track for one in ones})


def _columns_note(block: Block, metric: str) -> str:
    note = "H: hard, M: medium; Avg. is the plain mean of the columns, 95 % its interval by bootstrap over clips."
    if block.protocol == "video":
        each = "Each number is over tracks: the frames of a track come to one value first"
        note = f"{each}; of Merge and Full_neg the rank 1 tracks only. {note}"
    return note if metric == "rmse" else f"F2-tables: one true type at a time, so no false alarm shows. {note}"


def _left_out(cells: Mapping[str, Sequence[TableNumber]]) -> str:
    rows = list(cells.values())
    empty = [cell.column for cell in rows[0][:-1] if getattr(cell.outcome, "reason", "") == NO_ITEMS] if rows else []
    notes = [f"No masks, so left out of Avg.: {', '.join(empty)}."] if empty else []
    for judge, row in cells.items():
        lost = [cell.column for cell in row[:-1] if not isinstance(cell.outcome, Scored) and cell.column not in empty]
        notes += [f"No answer, so left out of the Avg. of {judge}: {', '.join(lost)}."] if lost else []
    notes.append(_failed({judge: row[-1].failed for judge, row in cells.items() if row}))
    return " ".join(filter(None, notes))


def _failed(counts: Mapping[str, int]) -> str:
    return " ".join(f"Failed and in no number: {count} of {judge}." for judge, count in counts.items() if count)


def ablation_table(metric: str, parts: Sequence[str], cells: Mapping[str, Sequence[TableNumber]]) -> Table:
    """The ablation form: hard and medium averaged first, then the mean over all columns."""
    prefix = {"seen": "S ", "unseen": "U "} if len(parts) > 1 else {}
    titles = [f"{prefix.get(part, '')}{defect.capitalize()}" for part in parts for defect, _ in GROUPS]
    rows = tuple(
        (
            judge,
            *_average_texts(row, metric),
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
        f"{len(titles)} columns{'; S: seen, U: unseen' if prefix else ''}. n: masks of all columns; left out: failed, "
        "undefined, and unparsed replies (without this answer)",
    )


def overall_table(block: Block, cells: Mapping[str, Mapping[str, TableNumber]]) -> Table:
    """What is over all masks of a block: the headline of the benchmark."""
    header = {
        "rmse": "RMSE",
        "f2_confusion_m": "F2-confusion M",
        "f2_m": "F2-tables M",
        "f2_confusion_a": "F2-confusion A",
        "f2_a": "F2-tables A",
        "spearman": "Spearman",
        "coverage": "coverage",
    }
    rows = tuple(
        (judge, *(cell_text(row[metric]) for metric in header), *_counted(row)) for judge, row in cells.items()
    )
    equation, over = ("Eq. 10", "masks") if block.protocol == "image" else ("Eq. 12: over tracks", "tracks")
    return Table(
        title=f"{block.title}: all masks",
        header=("judge", *header.values(), "n", "left out"),
        rows=rows,
        note=f"In brackets: 95 % intervals by bootstrap over clips. RMSE ({equation}): lower is better. F2 in percent: "
        "F2-tables is the average of the nine columns and sees no false alarm, F2-confusion (Eq. 11) does. Spearman: "
        "order of estimated and true IoU. Coverage: share of true IoUs inside the judge's own 90 % intervals; best is "
        f"0.900. n: {over} of the RMSE; left out: failed and undefined masks, which are in no number, and replies "
        "unparsed (without IoU/type/action).",
    )


def _counted(row: Mapping[str, TableNumber]) -> tuple[str, str]:
    whole = row["rmse"]
    silent = [row[metric].unparsed for metric in ("rmse", "f2_confusion_m", "f2_confusion_a")]
    unparsed = "/".join(map(str, silent)) if any(silent) else "0"
    counts = {"failed": str(whole.failed), "undefined": str(whole.undefined), "unparsed": unparsed}
    return str(whole.n), _left_words(counts)


def _left_words(counts: Mapping[str, str]) -> str:
    """What is not in a row, or only by a rule: ``0`` where that is nothing, so that the row stays narrow."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count != "0") or "0"


def answers_table(block: Block, judges: Sequence[JudgedBlock]) -> Table:
    """What became of the candidates of a block, per judge: judged, failed, undefined, without an answer."""
    without = "a reply without IoU counts as 0"
    if block.protocol == "video":
        without = "a reply without IoU leaves the mean of its track, a track without any counts as 0"
    return Table(
        title=f"{block.title}: answers",
        header=("judge", "masks", "judged", "failed", "undefined", "no IoU", "no type", "no action"),
        rows=tuple((one.judge, *map(str, _answer_counts(one))) for one in judges),
        note=f"failed and undefined are in no number; {without}; one without type or action is a miss, unless a table "
        "says otherwise",
    )


def _answer_counts(judged: JudgedBlock) -> tuple[int, ...]:
    ones = judged.block.candidates
    answered = [one for one in ones if one.id in judged.answers]
    undefined = sum(one.defect == "empty" or one.iou is None for one in answered)
    return len(ones), len(answered), len(ones) - len(answered), undefined, *judged.unanswered()


def _cell_rows(cells: Mapping[str, Sequence[TableNumber]]) -> tuple[tuple[str, ...], ...]:
    return tuple((judge, *map(cell_text, row)) for judge, row in cells.items())


def size_table(block: Block, cells: Mapping[str, Sequence[TableNumber]]) -> Table:
    """RMSE by size of the object."""
    held = [[one for one in of_size(block, bounds) if one.defect != "empty"] for bounds in SIZES]
    counts, over = [len(ones) for ones in held], "masks"
    if block.protocol == "video":
        counts = [_tracks(ones) for ones in held]
        over = "tracks, and a track whose object changes size is in several columns"
    unknown = sum(one.area is None for one in block.candidates)
    notes = [f"Of unknown size and in no column: {unknown}."] if unknown else []
    notes.append(_failed({judge: sum(cell.failed for cell in row) for judge, row in cells.items()}))
    return Table(
        title=f"{block.title}: RMSE by size of the object",
        header=("judge", *map(size_name, SIZES)),
        rows=(*_cell_rows(cells), ("n", *map(str, counts))),
        note=f"columns are the object's share of the frame; lower is better; n: {over}. {' '.join(notes)}".strip(),
    )


def reliability_table(block: Block, curves: Mapping[str, Sequence[Bin]], errors: Mapping[str, str]) -> Table:
    """Mean estimated and true IoU in bins of the estimate."""
    bins = next(iter(curves.values()), ())
    rows = tuple(
        (judge, *(_bin_text(one) for one in curve), errors.get(judge, DASH)) for judge, curve in curves.items()
    )
    return Table(
        title=f"{block.title}: reliability of the estimated IoU",
        header=("judge", *(f"{one.low:.1f}" for one in bins), "error"),
        rows=rows,
        note="columns are bins of the estimated IoU from .0, .1, ... up; in each the mean true IoU and, in brackets, "
        "n. error: mean absolute difference of estimated and true IoU over the bins, weighted by n; lower is better. "
        "What failed or has no IoU is in no bin",
    )


def _bin_text(one: Bin) -> str:
    return DASH if one.true is None else f"{one.true:.2f} ({one.n})"


def consistency_table(block: Block, cells: Mapping[str, Sequence[TableNumber]]) -> Table:
    """Temporal consistency of the video protocol."""
    return Table(
        title=f"{block.title}: temporal consistency",
        header=("judge", "excess change", "step error", "agreement", "flicker"),
        rows=_cell_rows(cells),
        note=f"means over {_tracks(block.candidates)} tracks. excess change: how much more the estimate moves from "
        "frame to frame than the true IoU, best 0; step error: how far the moves are from the true ones, lower is "
        "better; agreement: share of frames with the track's most frequent type, higher is better; flicker: share of "
        "steps at which the type changes, lower is better. A row that says the same of everything is consistent and "
        "worth nothing. " + _failed({judge: row[0].failed for judge, row in cells.items() if row}),
    )
