"""A folder for Hugging Face ``datasets``: ``metadata.jsonl``, a line a mask, and ``segmentations/``, exact PNGs.

``datasets.load_dataset("imagefolder", data_dir=FOLDER)`` gives the column ``mask``, and ``image`` where the pictures
were copied. ``frame`` is the picture's name; ``item``, ``category``, ``text`` and ``score`` (the model's own) follow,
and what auscult says in ``auscult_iou`` and the like; each is null where it is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from auscult.act.export.masks import ExportedFrame, ExportedMask, Piece, Tally
from auscult.media.masks import encode_mask

PICTURES = "images"
MASKS = "segmentations"
FILE = "metadata.jsonl"
_ESTIMATES = ("iou", "iou_low", "iou_high", "prob_iou_80", "defect", "action", "rationale", "judge")


def write(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """The masks of each frame with their lines."""
    for frame in frames:
        picture = {"image_file_name": f"{PICTURES}/{frame.picture}"} if tally.pictures else {}
        for number, one in enumerate(frame.masks, start=1):
            name = f"{MASKS}/{frame.stem}/{number}.png"
            line = {"mask_file_name": name, **picture, "frame": frame.picture, **_columns(one)}
            yield name, encode_mask(one.mask)
            yield FILE, f"{json.dumps(line)}\n".encode()


def _columns(one: ExportedMask) -> dict[str, Any]:
    return {
        "item": one.row.get("id"),
        "category": one.label,
        "text": one.row.get("text"),
        "score": one.score,
        **{f"auscult_{key}": one.row.get(key) for key in _ESTIMATES},
    }
