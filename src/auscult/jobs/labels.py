"""What a person says of masks of a record: a CSV of ``id`` with ``label`` (good, bad, unsure), ``true_iou`` or ``iou``.

The marks that a report exports are such a file; ``act gate``, ``act calibrate`` and ``score`` read it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from auscult.cases.fields import table_rows
from auscult.cases.ids import shown
from auscult.errors import InputError, UsageError
from auscult.record.reader import Run
from auscult.score.judges.measures import GOOD

LabelWord: TypeAlias = Literal["good", "bad", "unsure"]

EXPECTED: Final = "CSV in UTF-8 with a first row `id,label` (good, bad or unsure) or `id,true_iou` (0 to 1)"
_MAX_BYTES: Final = 64 << 20
_DROP: Final = "correct or drop the row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person says of one mask."""

    word: LabelWord | None  # None where only an IoU is given
    iou: float | None  # the true IoU, 0..1; None where only a word is given

    @property
    def good(self) -> bool | None:
        """Whether the mask is good, by the word, else by an IoU of at least .8; None where that is not sure."""
        if self.word is None:
            return None if self.iou is None else self.iou >= GOOD
        return None if self.word == "unsure" else self.word == "good"


def header_of(path: Path) -> list[str]:
    """The names in the first row of a table, lower case; empty for an empty file."""
    rows = table_rows(path, max_bytes=_MAX_BYTES, expected=EXPECTED)
    return next(([cell.strip().lower() for cell in cells] for _, cells in rows), [])


def read_labels(path: Path, *, known: Collection[str]) -> dict[str, Label]:
    """Read a table of labels, by item id.

    Args:
        path: The file; columns besides ``id``, ``label`` and ``iou`` are passed over, rows without a value too.
        known: Ids of the items that may be named. An apostrophe before an id, which keeps a spreadsheet from taking it
            for a formula, is dropped where the id is not known with it.

    Raises:
        InputError: The file cannot be read, a value is wrong, or an id is named twice; with its line.
        UsageError: An id is not known, or no row has a value.
    """
    names = header_of(path)
    if "true_iou" in names:  # then `iou` is the estimate
        names = ["" if name == "iou" else "iou" if name == "true_iou" else name for name in names]
    if "id" not in names or not {"label", "iou"} & set(names):
        raise InputError(
            f"the first row is {shown(','.join(names)) or 'missing'}", expected=EXPECTED, path=path, line=1
        )
    found: dict[str, Label] = {}
    foreign: list[str] = []
    rows = table_rows(path, max_bytes=_MAX_BYTES, expected=EXPECTED)
    next(rows)
    for line, cells in rows:
        row = dict(zip(names, cells, strict=False))
        name = row["id"] if row["id"] in known else row["id"].removeprefix("'")
        try:
            label = _label(row.get("label", ""), row.get("iou", ""))
        except ValueError as error:
            raise InputError(str(error), expected=EXPECTED, hint=_DROP, path=path, line=line) from error
        if label is None:
            continue
        if name in found:
            raise InputError(f"the id {shown(name)} is named twice", hint=_DROP, path=path, line=line)
        if name not in known:
            foreign.append(name)
        found[name] = label
    if foreign or not found:
        raise UsageError(
            f"{len(foreign)} of {len(found)} labels name no mask of the record, first {shown(foreign[0])}"
            if foreign
            else "the table holds no label",
            expected="labels of masks of this record",
            hint="mark masks in its report.html and export them"
            if not foreign
            else "is it the table of another record?",
            path=path,
        )
    return found


def clusters_in(run: Run) -> dict[str, str]:
    """What each judged item of a record is clustered by: its clip where the record follows that, else its frame."""
    films = {str(row.get("clip")) for row in run.clips}
    return {
        verdict.id: f"clip {row['clip']}" if row.get("clip") in films else f"frame {row.get('frame') or verdict.id}"
        for verdict, row in run.verdicts
    }


def _label(word: str, iou: str) -> Label | None:
    """The label of a row; None where both cells are empty; a ValueError for anything else."""
    word, iou = word.strip().lower(), iou.strip()
    if word and word not in get_args(LabelWord):
        raise ValueError(f"the label is {shown(word)}")
    try:
        value = float(iou) if iou else None
    except ValueError:
        raise ValueError(f"the IoU is {shown(iou)}") from None
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"the IoU is {value:g}")
    return Label(word=cast("LabelWord", word) if word else None, iou=value) if word or value is not None else None
