"""Labels of masks of a record by a person: a table of ``id`` with ``label`` (good, bad, unsure) or ``true_iou``.

The export of marks from a report is such a file; ``act gate``, ``act calibrate`` and ``score`` read it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from auscult.cases.fields import named_rows, number_of, table_rows
from auscult.cases.ids import shown
from auscult.errors import InputError, UsageError
from auscult.record.cells import disarmed
from auscult.record.reader import Run
from auscult.record.schema import cluster_of
from auscult.score.judges.measures import GOOD

LabelWord: TypeAlias = Literal["good", "bad", "unsure"]

EXPECTED: Final = (
    "columns id,label (good, bad or unsure) or id,true_iou (0 to 1); as CSV with a first row of names, or JSON lines, "
    "in UTF-8"
)
_MAX_BYTES: Final = 64 << 20
_DROP: Final = "correct or drop the row"
_OF_THE_JUDGE: Final = frozenset({"iou_low", "iou_high", "action"})
"""Columns of the tables that an audit writes, beside which ``iou`` is an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskLabel:
    """A person's label of one mask."""

    word: LabelWord | None  # None if only an IoU is given
    iou: float | None  # the true IoU, 0..1; None if only a word is given

    @property
    def good(self) -> bool | None:
        """Whether the mask is good, by the word, else by an IoU of at least .8; None if unsure."""
        if self.word is None:
            return None if self.iou is None else self.iou >= GOOD
        return None if self.word == "unsure" else self.word == "good"


def header_of(path: Path) -> list[str]:
    """The names in the first row of a table, lower case; empty for an empty file."""
    rows = table_rows(path, max_bytes=_MAX_BYTES, expected=EXPECTED)
    return next(([cell.strip().lower() for cell in cells] for _, cells in rows), [])


def read_labels(path: Path, *, known: Collection[str]) -> dict[str, MaskLabel]:
    """Read a table of labels, by item id.

    Args:
        path: The file, CSV or JSON lines (``.jsonl``). Other columns, and rows without a value, are passed over.
            ``iou`` is a true one where there is no ``true_iou`` and no ``label``; beside these it is the judge's, as
            it is in the tables of an audit.
        known: Ids of the items that may be named, as they are or as ``verdicts.csv`` has them, ``disarmed``.

    Raises:
        InputError: The file cannot be read, a value is wrong, or an id is named twice; with its line.
        UsageError: An id is not known, or no row has a value.
    """
    rows = [*named_rows(path, needed=("id",), max_bytes=_MAX_BYTES, expected=EXPECTED, hint=_DROP)]
    columns = {column for _, row in rows for column in row}
    if rows and not {"label", "true_iou", "iou"} & columns:
        hint = "name the column label, true_iou or iou"
        raise InputError("no column is a label or a true IoU", expected=EXPECTED, hint=hint, path=path, line=1)
    true_iou = "true_iou" if {"true_iou", "label"} & columns else "iou"
    if true_iou == "iou" and _OF_THE_JUDGE & columns:
        raise UsageError(
            "the table has the judge's own IoU and no label",
            expected=EXPECTED,
            hint="add a column label to it, or true_iou",
            path=path,
        )
    ids = {f"'{name}": name for name in known} | {name: name for name in known}
    ids |= {disarmed(name): name for name in known}
    labels: dict[str, MaskLabel] = {}
    foreign: list[str] = []
    for line, row in rows:
        try:
            label = _label(row.get("label"), row.get(true_iou))
        except ValueError as error:
            raise InputError(str(error), expected=EXPECTED, hint=_DROP, path=path, line=line) from error
        if label is None:
            continue
        name = str(row.get("id") or "")
        name = ids.get(name, name)
        if name in labels:
            raise InputError(f"the id {shown(name)} is named twice", hint=_DROP, path=path, line=line)
        if name not in known:
            foreign.append(name)
        labels[name] = label
    if foreign or not labels:
        raise UsageError(
            f"{len(foreign)} of {len(labels)} labels name no mask of the record, first {shown(foreign[0])}"
            if foreign
            else "the table holds no label",
            expected="labels of masks of this record",
            hint="mark masks in its report.html and export them"
            if not foreign
            else "is it the table of another record?",
            path=path,
        )
    return labels


def clusters_in(run: Run) -> dict[str, str]:
    """The cluster of each judged item: its clip if that is a video, else its frame."""
    films = run.films
    return {verdict.id: cluster_of(row, films) for verdict, row in run.verdicts}


def _label(word: object, iou: object) -> MaskLabel | None:
    """The label of a row; None if both cells are empty; ValueError for an invalid one."""
    text = "" if word is None else str(word).strip().lower()
    iou = iou.strip() if isinstance(iou, str) else iou
    if text and text not in get_args(LabelWord):
        raise ValueError(f"the label is {shown(text)}")
    value = number_of(iou)
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"the IoU is {shown(str(iou))}")
    return MaskLabel(word=cast("LabelWord", text) if text else None, iou=value) if text or value is not None else None
