"""Label Studio: ``tasks.json``, tasks with predictions (pre-annotations), which are brush masks, pixel by pixel.

The labelling interface needs an ``Image`` of name ``image`` and ``BrushLabels`` of name ``label`` with the classes. A
prediction's ``score`` is the mean estimated IoU of its masks, by which Label Studio can sort tasks; a region's
``score`` is the model's own. ``meta`` of a region holds the estimate, and a text that people see.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Any
from urllib.parse import quote

from auscult.act.export.masks import ExportedFrame, ExportedMask, Piece, Tally, estimate
from auscult.media.rle_pack import pack
from auscult.version import VERSION

PICTURES = "images"
FILE = "tasks.json"
_LOCAL = "/data/local-files/?d="  # how Label Studio names files of a local storage


def write(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """The one file, task by task."""
    yield FILE, b"["
    for number, frame in enumerate(frames):
        name = f"{PICTURES}/{frame.picture}" if tally.pictures else frame.picture
        results: list[dict[str, Any]] = []
        scores: list[float] = []
        for one in frame.masks:
            if not one.mask.any():
                tally.left_out["nothing is segmented"] += 1
                continue
            results.append(_region(one, number=len(results)))
            scores += [one.row["iou"]] if one.row.get("iou") is not None else []
        prediction: dict[str, Any] = {"model_version": f"auscult {VERSION}", "result": results}
        if scores:
            prediction["score"] = round(fmean(scores), 6)
        task = {"data": {"image": _LOCAL + quote(name)}, "predictions": [prediction]}
        yield FILE, (b",\n" if number else b"\n") + json.dumps(task).encode()
    yield FILE, b"\n]\n"


def _region(one: ExportedMask, *, number: int) -> dict[str, Any]:
    height, width = one.mask.shape
    words = ": ".join(str(one.row[key]) for key in ("action", "rationale") if one.row.get(key))
    return {
        "id": f"mask{number + 1}",
        "type": "brushlabels",
        "from_name": "label",
        "to_name": "image",
        "original_width": width,
        "original_height": height,
        "image_rotation": 0,
        "value": {"format": "rle", "rle": pack(one.mask), "brushlabels": [one.label]},
        **({} if one.score is None else {"score": one.score}),
        "meta": {"text": [words], "auscult": estimate(one.row)},
    }
