"""Masks of one picture as ``supervision.Detections`` and as fields of FiftyOne's ``Detection``, and back.

Neither package is needed here: ``to_detections`` imports supervision when it is called, all else takes and gives plain
values or whatever has the same attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from auscult.act.export.masks import OBJECT, ExportedMask
from auscult.arrays.boxes import box_of
from auscult.errors import InputError, UsageError

_ESTIMATES = ("iou", "iou_low", "iou_high", "defect", "action")


def to_detections(masks: Sequence[ExportedMask], *, classes: Sequence[str] = ()) -> Any:
    """Make ``supervision.Detections`` of the masks of one picture.

    ``mask`` is bool (N, H, W), ``xyxy`` pixels, half-open. ``confidence`` is the model's own score, None where one mask
    has none; ``class_id`` counts ``classes``, or the names in their order. ``data`` holds ``class_name``, ``item`` (the
    id), and arrays ``auscult_iou``, ``auscult_iou_low``, ``auscult_iou_high`` (NaN where not known),
    ``auscult_defect``, ``auscult_action``.

    Raises:
        UsageError: supervision is not installed.
    """
    try:
        import supervision
    except ImportError as error:
        raise UsageError(
            "the package supervision is not installed", expected="supervision", hint="pip install supervision"
        ) from error
    if not masks:
        return supervision.Detections.empty()
    names = list(classes) or list(dict.fromkeys(mask.label for mask in masks))
    scores = [mask.score for mask in masks]
    data: dict[str, Any] = {
        "class_name": np.array([mask.label for mask in masks]),
        "item": np.array([str(mask.row.get("id")) for mask in masks]),
    }
    for key in _ESTIMATES:
        values = [mask.row.get(key) for mask in masks]
        texts = [str(value or "") for value in values]
        data[f"auscult_{key}"] = np.array(values, np.float64) if key.startswith("iou") else np.array(texts)
    return supervision.Detections(
        xyxy=np.array([box_of(mask.mask) or (0, 0, 0, 0) for mask in masks], dtype=np.float32),
        mask=np.stack([mask.mask for mask in masks]),
        confidence=None if None in scores else np.array(scores, dtype=np.float32),
        class_id=np.array([names.index(mask.label) for mask in masks]),
        data=data,
    )


def from_detections(found: Any, *, frame: str = "") -> list[ExportedMask]:
    """Masks, classes, scores and ids of ``supervision.Detections``, or of anything with its attributes.

    Args:
        found: Has ``mask``, (N, H, W), and may have ``confidence``, ``class_id`` and ``data``.
        frame: The picture's name.

    Raises:
        InputError: There is no ``mask``: boxes alone are no masks.
    """
    if getattr(found, "mask", None) is None:
        if len(found) == 0:
            return []
        raise InputError(
            "the detections have no mask", expected="mask, bool (N, H, W)", hint="use a model that segments"
        )
    data = getattr(found, "data", None) or {}
    classes = data.get("class_name")
    classes = getattr(found, "class_id", None) if classes is None else classes
    scores, ids = getattr(found, "confidence", None), data.get("item")
    masks = []
    for place, mask in enumerate(np.asarray(found.mask).astype(bool)):
        row: dict[str, Any] = {"id": str(place + 1 if ids is None else ids[place])}
        row["extra"] = {} if classes is None else {"category": str(classes[place])}
        if scores is not None:
            row["model_score"] = float(scores[place])
        masks.append(ExportedMask(row, mask, frame))
    return masks


def to_fiftyone(masks: Iterable[ExportedMask]) -> list[dict[str, Any]]:
    """Fields of FiftyOne detections: ``fiftyone.Detections(detections=[fiftyone.Detection(**one) for one in fields])``.

    ``bounding_box`` is left, top, width, height in shares of the picture, ``mask`` bool within that box, ``confidence``
    the model's own score. ``item`` is the id; ``auscult_iou``, ``auscult_iou_low``, ``auscult_iou_high``,
    ``auscult_defect`` and ``auscult_action`` are what auscult says. Masks of nothing are left out: FiftyOne has no box
    for them.
    """
    rows = []
    for mask in masks:
        box = box_of(mask.mask)
        if box is None:
            continue
        (height, width), (left, top, right, bottom) = mask.mask.shape, box
        fields: dict[str, Any] = {
            "label": mask.label,
            "bounding_box": [left / width, top / height, (right - left) / width, (bottom - top) / height],
            "mask": np.ascontiguousarray(mask.mask[top:bottom, left:right]),
            "item": mask.row.get("id"),
        }
        if mask.score is not None:
            fields["confidence"] = mask.score
        rows.append(fields | {f"auscult_{key}": mask.row[key] for key in _ESTIMATES if mask.row.get(key) is not None})
    return rows


def from_fiftyone(detections: Iterable[Any], *, size: tuple[int, int], frame: str = "") -> list[ExportedMask]:
    """Masks of FiftyOne detections, or of mappings or objects with the same fields, on a picture of ``size``.

    Args:
        detections: Each has ``label``, ``bounding_box`` and ``mask``, and may have ``confidence`` and ``item``.
        size: (height, width) of the picture.
        frame: The picture's name.

    Raises:
        InputError: A detection has no mask, or its mask is not as large as its box: nothing is resized.
    """
    masks = []
    for place, entry in enumerate(detections, start=1):
        fields = dict(entry) if isinstance(entry, Mapping) else {key: getattr(entry, key, None) for key in _FIELDS}
        name = str(fields.get("item") or place)
        mask = _full_mask(fields, size=size, name=name)
        row: dict[str, Any] = {"id": name, "extra": {"category": str(fields.get("label") or OBJECT)}}
        score = fields.get("confidence")
        if score is not None:
            row["model_score"] = float(score)
        masks.append(ExportedMask(row, mask, frame))
    return masks


_FIELDS = ("label", "bounding_box", "mask", "confidence", "item")


def _full_mask(fields: Mapping[str, Any], *, size: tuple[int, int], name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if fields.get("mask") is None or fields.get("bounding_box") is None:
        raise InputError(f"the detection {name} has no mask", expected="bounding_box and mask")
    part = np.asarray(fields["mask"]).astype(bool)
    height, width = size
    left, top = round(fields["bounding_box"][0] * width), round(fields["bounding_box"][1] * height)
    fits = part.ndim == 2 and left >= 0 and top >= 0 and top + part.shape[0] <= height and left + part.shape[1] <= width
    box = (round(fields["bounding_box"][3] * height), round(fields["bounding_box"][2] * width))
    if not fits or part.shape != box:
        raise InputError(
            f"the mask of the detection {name} is {part.shape}, its box {box} (height, width) on {height} x {width}",
            expected="a mask as large as its box, on the picture",
        )
    full = np.zeros(size, dtype=bool)
    full[top : top + part.shape[0], left : left + part.shape[1]] = part
    return full
