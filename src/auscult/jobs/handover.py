"""Masks of a record as COCO instances, for the tool that takes them from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auscult.act.export import Candidate, coco
from auscult.errors import RecordError
from auscult.media.rle import decode


def coco_of(rows: Sequence[Mapping[str, Any]], segmentations: Mapping[str, Any]) -> dict[str, Any]:
    """COCO instances of some items of a record.

    Args:
        rows: Lines of ``verdicts.jsonl``.
        segmentations: COCO RLE by item id, from ``masks.jsonl``.

    Raises:
        RecordError: The record holds no mask or no frame of an item.
    """
    for row in rows:
        if row["id"] not in segmentations or not isinstance(row.get("frame"), str):
            raise RecordError(
                f"the record holds no mask or no frame of {row['id']!r}",
                expected="a line of masks.jsonl for each verdict",
                hint="the record was damaged or edited; judge again into another --out",
            )
    return coco(Candidate(row, decode(segmentations[row["id"]]), row["frame"]) for row in rows)
