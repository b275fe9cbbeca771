"""Tables beside the card: the form of the paper's Table 2, what each input is worth, confusions, the hardest cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.judge.cards.page import markdown
from auscult.outcome import Scored
from auscult.score.stats import f2_tables
from auscult.stress.masks.base import truth_of
from auscult.suites.mqa.columns import TABLE_2, Column
from auscult.train.compact.card_judging import FULL_NEG, Measured, Said
from auscult.train.compact.card_metrics import Keep, Metric, Row, f2_confusion, rmse
from auscult.train.compact.card_metrics import f2_tables as f2_of_types
from auscult.train.compact.card_numbers import spearman_of
from auscult.types import ACTIONS, DEFECTS

DASH: Final = "–"
METRICS: Final[Mapping[str, str]] = {
    "rmse": "RMSE of the IoU, lower is better",
    "f2_m": "F2-M, the type, percent, higher is better",
    "f2_a": "F2-A, the action by policy `default`, percent, higher is better",
}
HARDEST: Final = 10
LEAST_OF_CELL: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A row as another paper printed it.

    Attributes:
        metric: A key of ``METRICS``.
        part: ``seen`` or ``unseen``.
        method: Its name there.
        cells: The nine columns.
        average: The printed average.
    """

    metric: str
    part: str
    method: str
    cells: tuple[str, ...]
    average: str


def table_2(measured: Measured, metric: str, *, printed: Sequence[Printed] = ()) -> str:
    """The rows of a set in the form of the paper's Table 2, and printed rows below.

    Args:
        measured: The set.
        metric: A key of ``METRICS``.
        printed: Rows of the paper, which are of other data; those of this metric are taken.
    """
    lines = []
    for name, said in measured.rows.items():
        cells = [_cell(measured, said, column=column, metric=metric) for column in TABLE_2]
        known = [value for value in cells if value is not None]
        mean = math.fsum(known) / len(known) if known else None
        lines.append([name, *(_written(value, metric) for value in cells), _written(mean, metric)])
    lines.extend(
        [f"{row.method}, {row.part}: other data, not comparable", *row.cells, row.average]
        for row in printed
        if row.metric == metric
    )
    lines.append(["n", *(str(int(_members(measured, column).sum())) for column in TABLE_2), str(len(measured))])
    return markdown(["row", *(column.title for column in TABLE_2), "Avg."], lines)


def _members(measured: Measured, column: Column) -> Keep:
    keep = measured.defect == column.defect
    return np.asarray(keep if column.difficulty is None else keep & (measured.difficulty == column.difficulty))


def _cell(measured: Measured, said: Said, *, column: Column, metric: str) -> float | None:
    keep = _members(measured, column)
    if not keep.any():
        return None
    if metric == "rmse":
        return float(np.sqrt(np.mean((said.iou[keep] - measured.iou[keep]) ** 2)))
    if not said.named:
        return None
    if metric == "f2_m":
        found = f2_tables(said.defect[keep].tolist(), [column.defect] * int(keep.sum()), DEFECTS)
    else:
        known = next(name for name in DEFECTS if name == column.defect)
        true = [truth_of(known, float(iou)).action or "" for iou in measured.iou[keep]]
        found = f2_tables(said.action[keep].tolist(), true, ACTIONS, columns=[column.key] * len(true))
    return 100 * found.value if isinstance(found, Scored) else None


def _written(value: float | None, metric: str) -> str:
    if value is None:
        return DASH
    return f"{value:.3f}" if metric == "rmse" else f"{value:.2f}"


def inputs_table(measured: Measured) -> str:
    """RMSE, both F2 and Spearman of each row over the five types, as Markdown; rows that look at nothing are last."""
    lines = []
    for name, said in measured.rows.items():
        row = Row(measured=measured, said=said, keep=measured.defect != FULL_NEG)
        types = [_percent(f2_of_types("", row)), _percent(f2_confusion("", row))] if said.named else [DASH, DASH]
        order = spearman_of(row, np.flatnonzero(row.keep))
        lines.append([name, f"{_whole(rmse('', row)):.3f}", *types, DASH if math.isnan(order) else f"{order:.3f}"])
    return markdown(["shown", "RMSE", "F2-tables", "F2-confusion", "Spearman"], lines)


def _whole(metric: Metric) -> float:
    return float(metric.value((metric.adds * metric.keep[:, None]).sum(axis=0, keepdims=True))[0])


def _percent(metric: Metric) -> str:
    return f"{100 * _whole(metric):.2f}"


def confusion_table(measured: Measured, row: str) -> str:
    """What each true type was called, in percent, as Markdown."""
    said = measured.rows[row]
    lines = []
    for defect in DEFECTS:
        keep = measured.defect == defect
        if keep.any():
            shares = [100 * float((said.defect[keep] == one).mean()) for one in DEFECTS]
            lines.append([defect, str(int(keep.sum())), *(f"{share:.0f}" for share in shares)])
    return markdown(["true", "n", *DEFECTS], lines)


def hardest_table(sets: Sequence[Measured], row: str) -> str:
    """The cells of type, difficulty and size with the fewest right types, and what they were called instead.

    Args:
        sets: The sets; cells of fewer than ten masks are left out.
        row: Whose.
    """
    cells = [cell for one in sets for cell in _cells_of(one, row)]
    cells.sort(key=lambda cell: cell[0])
    header = ["set", "type", "size", "n", "px off", "type right", "RMSE", "called instead"]
    return markdown(header, [line for _, line in cells[:HARDEST]])


def _cells_of(measured: Measured, row: str) -> list[tuple[float, list[str]]]:
    said = measured.rows[row]
    found = []
    for column in TABLE_2[:-1]:
        for words, least, most in SIZES:
            size = (measured.side_px >= least) & (measured.side_px < most)
            keep = _members(measured, column) & size
            count = int(keep.sum())
            if count >= LEAST_OF_CELL:
                right = float((said.defect[keep] == column.defect).mean())
                error = float(np.sqrt(np.mean((said.iou[keep] - measured.iou[keep]) ** 2)))
                called = _called(said.defect[keep].tolist(), column.defect)
                off = f"{measured.off_px[keep].mean():.1f}"
                line = [
                    measured.name,
                    column.title,
                    words,
                    str(count),
                    off,
                    f"{100 * right:.0f} %",
                    f"{error:.3f}",
                    called,
                ]
                found.append((right, line))
    return found


def offsets_table(sets: Sequence[Measured], row: str) -> str:
    """Percent of right types, and of masks called perfect, by how many pixels the outline is off.

    Args:
        sets: The sets, pooled.
        row: Whose.
    """
    lines = []
    for defect in ("perfect", "cutout", "dilate", "erode"):
        for words, least, most in OFFSETS if defect != "perfect" else OFFSETS[:1]:
            said = [
                one.rows[row].defect[(one.defect == defect) & (one.off_px >= least) & (one.off_px < most)]
                for one in sets
            ]
            names = np.concatenate(said)
            if names.size:
                right, perfect = (100 * float((names == called).mean()) for called in (defect, "perfect"))
                off = "0" if defect == "perfect" else words
                lines.append([defect, off, str(names.size), f"{right:.0f}", f"{perfect:.0f}"])
    return markdown(["true", "px off", "n", "type right, %", "called perfect, %"], lines)


OFFSETS: Final = (
    ("under 1", 0.0, 1.0),
    ("1 to 2", 1.0, 2.0),
    ("2 to 4", 2.0, 4.0),
    ("4 to 8", 4.0, 8.0),
    ("over 8", 8.0, math.inf),
)
SIZES: Final = (("under 64 px", 0.0, 64.0), ("64 to 128 px", 64.0, 128.0), ("over 128 px", 128.0, math.inf))


def _called(names: Sequence[str], true: str) -> str:
    wrong = Counter(name for name in names if name != true)
    return ", ".join(f"{name} {100 * count / len(names):.0f} %" for name, count in wrong.most_common(2)) or DASH
