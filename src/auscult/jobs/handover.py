"""Masks of a record as COCO instances, for the tool that takes them from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auscult.act.export import Candidate, coco
from auscult.media.rle import decode


def coco_of(rows: Sequence[Mapping[str, Any]], segmentations: Mapping[str, Any]) -> dict[str, Any]:
    """COCO instances of some items of a record.

    Args:
        rows: Lines of ``verdicts.jsonl``.
        segmentations: COCO RLE by item id, from ``masks.jsonl``.
    """
    return coco(Candidate(row, decode(segmentations[row["id"]]), str(row["frame"])) for row in rows)
