"""LabelMe: ``x.json`` beside its picture ``x.jpg``, a polygon a mask.

A shape's ``description`` says what is wrong, ``auscult`` holds the estimate, ``score`` the model's own. Parts and holes
of a mask are joined by slits without width. The pictures are named, not held (``imageData`` is null).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from auscult.act.export.masks import ExportedFrame, ExportedMask, Piece, Tally, estimate, polygon_of

PICTURES = ""
_VERSION = "5.5.0"  # of LabelMe, whose files since have these keys


def write(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """The file of each frame."""
    for frame in frames:
        height, width = frame.size
        shapes = [shape for one in frame.masks if (shape := _shape(one, tally)) is not None]
        content: dict[str, Any] = {
            "version": _VERSION,
            "flags": {},
            "shapes": shapes,
            "imagePath": PurePosixPath(frame.picture).name,
            "imageData": None,
            "imageHeight": height,
            "imageWidth": width,
        }
        yield f"{frame.stem}.json", json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _shape(one: ExportedMask, tally: Tally) -> dict[str, Any] | None:
    polygon = polygon_of(one.mask, tally)
    if polygon is None:
        return None
    words = (str(one.row.get(key) or "") for key in ("action", "rationale"))
    return {
        "label": one.label,
        "points": polygon.tolist(),
        "group_id": None,
        "description": ": ".join(word for word in words if word),
        "shape_type": "polygon",
        "flags": {},
        "mask": None,
        **({} if one.score is None else {"score": one.score}),
        "auscult": estimate(one.row),
    }
