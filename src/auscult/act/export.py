"""Hand-over: verdicts as CSV for a spreadsheet, masks as COCO for every other tool."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from auscult.arrays.boxes import box_of
from auscult.errors import InputError
from auscult.media.rle import encode
from auscult.record.cells import disarmed
from auscult.types import Mask
from auscult.version import VERSION

JsonRow: TypeAlias = Mapping[str, Any]

COLUMNS = (
    "id",
    "action",
    "defect",
    "iou",
    "iou_low",
    "iou_high",
    "novelty",
    "text",
    "frame",
    "mask",
    "reading",
    "rationale",
    "judge",
)
OPTIONAL_COLUMNS = ("missing_share", "extra_share", "prob_iou_80", "prob_iou_50", "model_score")
"""Columns that follow where a row has them: from judges with an error map (the map itself stays in the record), from
judges with probabilities, and the model's own score where INPUT has it."""

_KEPT = ("defect", "action", "rationale", "text")


def verdicts_csv(rows: Iterable[JsonRow]) -> str:
    r"""Write rows of a record as CSV, one line each, safe to open in a spreadsheet.

    Texts are ``disarmed``: no program takes one for a formula. Missing values and empty texts are empty cells; keys
    that are neither in ``COLUMNS`` nor in ``OPTIONAL_COLUMNS`` are left out. Lines end in ``\r\n`` (RFC 4180).
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    kept = list(rows)
    columns = (*COLUMNS, *(name for name in OPTIONAL_COLUMNS if any(row.get(name) is not None for row in kept)))
    writer.writerow(columns)
    for row in kept:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return out.getvalue()


@dataclass(frozen=True, slots=True, eq=False)
class ExportedMask:
    """One mask to hand over."""

    row: JsonRow
    mask: Mask  # bool (H, W)
    frame: str  # the picture's file name, as it is to stand in ``file_name``


def coco(candidates: Iterable[ExportedMask]) -> dict[str, Any]:
    """Make COCO instances of masks.

    An annotation's ``score`` is the estimated IoU (absent where there is none); ``item`` is the id it was judged under,
    and ``defect``, ``action``, ``rationale`` and ``text`` are the verdict's. ``bbox`` is x, y, width, height in
    pixels, ``area`` pixels, ``segmentation`` compressed RLE. All are of one category, ``object``.
    """
    images: dict[str, dict[str, Any]] = {}
    annotations = []
    for number, candidate in enumerate(candidates, start=1):
        image = _image(images, candidate)
        annotations.append(_annotation(candidate, number=number, image=image["id"]))
    return {
        "info": {"description": f"masks handed over by auscult {VERSION}; score is the estimated IoU"},
        "images": list(images.values()),
        "annotations": annotations,
        "categories": [{"id": 1, "name": "object", "supercategory": "object"}],
    }


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return disarmed(value)
    return repr(float(value)) if isinstance(value, int | float) else _cell(str(value))


def _image(images: dict[str, dict[str, Any]], candidate: ExportedMask) -> dict[str, Any]:
    height, width = candidate.mask.shape
    fresh = {"id": len(images) + 1, "file_name": candidate.frame, "height": height, "width": width}
    image = images.setdefault(candidate.frame, fresh)
    if (image["height"], image["width"]) != (height, width):
        raise InputError(
            f"the mask of {candidate.row.get('id')!r} is {height} x {width}, another of its frame "
            f"{image['height']} x {image['width']} (height x width)",
            expected="masks of one size on one frame",
            hint="do two frames have the same file name? give them different ones",
        )
    return image


def _annotation(candidate: ExportedMask, *, number: int, image: int) -> dict[str, Any]:
    box = box_of(candidate.mask)
    left, top, right, bottom = box or (0, 0, 0, 0)
    annotation: dict[str, Any] = {
        "id": number,
        "image_id": image,
        "category_id": 1,
        "segmentation": encode(candidate.mask),
        "bbox": [left, top, right - left, bottom - top],
        "area": int(candidate.mask.sum()),
        "iscrowd": 0,
        "item": candidate.row.get("id"),
    }
    if candidate.row.get("iou") is not None:
        annotation["score"] = candidate.row["iou"]
    annotation.update({key: candidate.row[key] for key in _KEPT if candidate.row.get(key) is not None})
    return annotation
