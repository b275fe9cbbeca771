"""Cells to tables: the forms of the paper's Tables 2, 3 and 4, and what stands beside them.

A cell without a number is a dash. RMSE has three decimals, F2 is in percent with two, as in the paper. ``cells.json``
and ``cells.csv`` hold every cell with interval, counts, reason and signature.

A track is one kind of mask over the frames of a clip: its true type is the same throughout and its true IoU changes
slowly. With s_t the estimated and g_t the true IoU of frame t, over the steps between neighbouring frames that
both have an answer:

- ``excess_change``: mean of |s_t - s_(t-1)| minus mean of |g_t - g_(t-1)|. 0 is best: the judge moves as much as the
  mask does. Above 0 it is restless, below 0 it does not follow.
- ``step_error``: mean of |(s_t - s_(t-1)) - (g_t - g_(t-1))|, 0 or more, lower is better: a judge that moves as much
  but at other times is found here.
- ``agreement``: share of the frames whose told type is the track's most frequent one (of equally frequent ones any).
  0..1, higher is better. It asks for one mind, not for the right one.
- ``flicker``: share of the steps at which the told type changes, 0..1, lower is better.

Each is computed per track and averaged over the tracks; intervals draw whole clips. A track with fewer than two
answered neighbours has no steps and enters ``agreement`` only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

import numpy as np

from auscult.outcome import Scored, Undefined
from auscult.report.tables import Table
from auscult.score.judges import Measured, measures
from auscult.suites.mqa.calibration import SIZES, Bin, of_size, size_name
from auscult.suites.mqa.evaluate import (
    GROUPS,
    NO_ITEMS,
    AnsweredCandidate,
    Block,
    TableNumber,
    cell_for,
    columns_of,
    defined_pairs,
    with_lost,
)
from auscult.suites.mqa.rows import Answers, Candidate, JudgeAnswer

DASH = "–"
TITLES: Mapping[str, str] = {
    "rmse": "RMSE of the estimated IoU",
    "f2_m": "F2-M, type",
    "f2_a": "F2-A, action",
}
_BETTER = {"rmse": "lower is better", "f2_m": "percent, higher is better", "f2_a": "percent, higher is better"}
_FORM = {"image": "form of Table 2", "video": "form of Table 3"}
_PERCENT = frozenset({"f2_m", "f2_a", "f2_confusion_m", "f2_confusion_a"})
_COUNTS = ("failed", "undefined", "unparsed")


def number_text(outcome: Scored[float] | Undefined, metric: str) -> str:
    """A number as the tables print it; a dash where there is none."""
    if not isinstance(outcome, Scored):
        return DASH
    return _fixed(100 * outcome.value, 2) if metric in _PERCENT else _fixed(outcome.value, 3)


def interval_text(outcome: Scored[float] | Undefined, metric: str) -> str:
    """The interval as the tables print it; empty where there is none."""
    low, high = getattr(outcome, "low", None), getattr(outcome, "high", None)
    if low is None or high is None:
        return ""
    if metric in _PERCENT:
        return f"[{_fixed(100 * low, 1)}, {_fixed(100 * high, 1)}]"
    return f"[{_fixed(low, 3)}, {_fixed(high, 3)}]"


def _fixed(value: float, digits: int) -> str:
    """A number with so many decimals; what rounds to 0 has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _span_text(outcome: Scored[float] | Undefined, metric: str) -> str:
    """The interval for a narrow column."""
    return interval_text(outcome, metric).strip("[]").replace(", ", DASH)


def cell_text(cell: TableNumber) -> str:
    """A number with its interval; an undefined one with its count."""
    text = number_text(cell.outcome, cell.metric)
    if text == DASH:
        return f"{DASH} (n {cell.n})"
    return f"{text} {interval_text(cell.outcome, cell.metric)}".rstrip()


def paper_table(block: Block, metric: str, cells: Mapping[str, Sequence[TableNumber]]) -> Table:
    """One block of Table 2 or 3."""
    columns = columns_of(block.protocol)
    rows = [
        (
            judge,
            *(number_text(cell.outcome, metric) for cell in row),
            _span_text(row[-1].outcome, metric),
        )
        for judge, row in cells.items()
    ]
    held = [[one for one in block.candidates if column.holds(one)] for column in columns]
    counts = [str(len(ones)) for ones in held]
    rows.append(("n masks", *counts, str(sum(map(len, held))), ""))
    if block.protocol == "video":
        tracks = [len({one.track for one in ones}) for ones in held]
        rows.append(("n tracks", *map(str, tracks), str(sum(tracks)), ""))
    return Table(
        title=f"{_title(block)}: {TITLES[metric]} ({_FORM[block.protocol]})",
        header=("judge", *(column.title for column in columns), "Avg.", "95 %"),
        rows=tuple(rows),
        note=f"{_BETTER[metric]}. {_columns_note(block, metric)} {_left_out(cells)}".strip(),
    )


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
            *(number_text(cell.outcome, metric) for cell in row),
            _span_text(row[-1].outcome, metric),
            str(sum(cell.n for cell in row[:-1])),
            _left_words({name: str(getattr(row[-1], name)) for name in _COUNTS}),
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
        title=f"{_title(block)}: all masks",
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


def answers_table(block: Block, judges: Mapping[str, Mapping[str, int]]) -> Table:
    """What became of the candidates of a block, per judge: judged, failed, undefined, without an answer."""
    header = ("masks", "judged", "failed", "undefined", "no IoU", "no type", "no action")
    without = "a reply without IoU counts as 0"
    if block.protocol == "video":
        without = "a reply without IoU leaves the mean of its track, a track without any counts as 0"
    rows = tuple((judge, *(str(counts[name]) for name in header)) for judge, counts in judges.items())
    return Table(
        title=f"{_title(block)}: answers",
        header=("judge", *header),
        rows=rows,
        note=f"failed and undefined are in no number; {without}; one without type or action is a miss, unless a table "
        "says otherwise",
    )


def size_table(block: Block, cells: Mapping[str, Sequence[TableNumber]]) -> Table:
    """RMSE by size of the object."""
    names = [size_name(bounds) for bounds in SIZES]
    rows = [(judge, *(cell_text(cell) for cell in row)) for judge, row in cells.items()]
    held = [[one for one in of_size(block, bounds) if one.defect != "empty"] for bounds in SIZES]
    over = "masks"
    if block.protocol == "video":
        over = "tracks, and a track whose object changes size is in several columns"
        rows.append(("n", *(str(len({one.track for one in ones})) for ones in held)))
    else:
        rows.append(("n", *(str(len(ones)) for ones in held)))
    unknown = sum(one.area is None for one in block.candidates)
    notes = [f"Of unknown size and in no column: {unknown}."] if unknown else []
    notes.append(_failed({judge: sum(cell.failed for cell in row) for judge, row in cells.items()}))
    return Table(
        title=f"{_title(block)}: RMSE by size of the object",
        header=("judge", *names),
        rows=tuple(rows),
        note=f"columns are the object's share of the frame; lower is better; n: {over}. {' '.join(notes)}".strip(),
    )


def reliability_table(block: Block, curves: Mapping[str, Sequence[Bin]], errors: Mapping[str, str]) -> Table:
    """Mean estimated and true IoU in bins of the estimate."""
    bins = next(iter(curves.values()), ())
    rows = tuple(
        (judge, *(_bin_text(one) for one in curve), errors.get(judge, DASH)) for judge, curve in curves.items()
    )
    return Table(
        title=f"{_title(block)}: reliability of the estimated IoU",
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
    tracks = len({one.track for one in block.candidates})
    rows = tuple((judge, *(cell_text(cell) for cell in row)) for judge, row in cells.items())
    return Table(
        title=f"{_title(block)}: temporal consistency",
        header=("judge", "excess change", "step error", "agreement", "flicker"),
        rows=rows,
        note=f"means over {tracks} tracks. excess change: how much more the estimate moves from frame to frame than "
        "the true IoU, best 0; step error: how far the moves are from the true ones, lower is better; agreement: share "
        "of frames with the track's most frequent type, higher is better; flicker: share of steps at which the type "
        "changes, lower is better. A row that says the same of everything is consistent and worth nothing. "
        + _failed({judge: row[0].failed for judge, row in cells.items() if row}),
    )


def _title(block: Block) -> str:
    part = "" if block.part == "all" else f", {block.part}"
    return f"{block.protocol.capitalize()} protocol{part}"


_READS = {
    "excess_change": ("rmse", "iou"), "step_error": ("rmse", "iou"), "agreement": ("f2_m", "defect"),
    "flicker": ("f2_m", "defect"),
}  # fmt: skip
"""The quantities; to each the metric that is defined where it is, and the part of a reply that it reads."""

METRICS = tuple(_READS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackConsistency:
    """The four quantities of one track; None where it has no steps, or no answers."""

    excess_change: float | None
    step_error: float | None
    agreement: float | None
    flicker: float | None


def track_consistency(frames: Sequence[tuple[Candidate, JudgeAnswer | None]]) -> TrackConsistency:
    """Consistency of a judge on the frames of one track, in any order; None for what it said where it failed."""
    in_order = sorted(frames, key=lambda pair: pair[0].frame)
    ordered = [(one, answer) for one, answer in in_order if answer is not None]
    steps = [
        ((one, said), (other, then))
        for (one, said), (other, then) in pairwise(in_order)
        if said is not None and then is not None
    ]
    moves = [move for before, after in steps if (move := _move(before, after)) is not None]
    told = Counter(answer.defect for _, answer in ordered)
    return TrackConsistency(
        excess_change=fmean(abs(own) for own, _ in moves) - fmean(abs(true) for _, true in moves) if moves else None,
        step_error=fmean(abs(own - true) for own, true in moves) if moves else None,
        agreement=max(told.values()) / len(ordered) if ordered else None,
        flicker=fmean(after[1].defect != before[1].defect for before, after in steps) if steps else None,
    )


def _move(before: AnsweredCandidate, after: AnsweredCandidate) -> tuple[float, float] | None:
    """Change of the estimated and of the true IoU; None where one of the four is missing."""
    told, true = (before[1].iou, after[1].iou), (before[0].iou, after[0].iou)
    if told[0] is None or told[1] is None or true[0] is None or true[1] is None:
        return None
    return told[1] - told[0], true[1] - true[0]


def consistency_cells(block: Block, judge: str, answers: Answers) -> list[TableNumber]:
    """The four quantities of a judge over the tracks of a video block, each with its interval.

    ``n`` counts tracks; ``failed``, ``undefined`` and ``unparsed`` count frames.
    """
    tracks: dict[str, list[tuple[Candidate, JudgeAnswer | None]]] = {}
    for one in block.candidates:
        if one.defect != "empty":
            tracks.setdefault(one.track, []).append((one, answers.get(one.id)))
    found = [(pairs[0][0].clip, track_consistency(pairs)) for pairs in tracks.values()]
    cells = []
    for metric, (kind, part) in _READS.items():
        measured = _measured([(clip, getattr(track, metric)) for clip, track in found], metric)
        silent = sum(getattr(answer, part) is None for _, answer in defined_pairs(block.candidates, answers, kind))
        cell = cell_for(block, judge, replace(measured, unparsed=silent), metric=metric, column="all")
        cells.append(with_lost(cell, block.candidates, answers, metric=kind))
    return cells


def _measured(values: Sequence[tuple[str, float | None]], metric: str) -> Measured:
    kept = [(clip, value) for clip, value in values if value is not None]
    return measures.mean_of(
        np.array([value for _, value in kept]),
        [clip for clip, _ in kept],
        without="no track has two neighbouring frames with an answer",
        metric=metric,
        over="tracks",
        protocol="video",
    )
