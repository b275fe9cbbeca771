"""CVAT: ``annotations.xml`` in the format "CVAT for images 1.1", with painted masks, pixel by pixel.

Estimate, defect, action and the model's score are attributes of a mask; CVAT drops those that the label of a task
lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from auscult.act.export.masks import ExportedFrame, ExportedMask, Piece, Tally, one_line
from auscult.arrays.boxes import box_of
from auscult.media.rle import runs_of

PICTURES = "images"
FILE = "annotations.xml"
_ATTRIBUTES = ("iou", "iou_low", "iou_high", "defect", "action", "rationale")


def write(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """The one file, picture by picture."""
    yield FILE, f'<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n{_meta(tally.classes)}'.encode()
    for number, frame in enumerate(frames):
        height, width = frame.size
        yield (
            FILE,
            f'  <image id="{number}" name={quoteattr(frame.picture)} width="{width}" height="{height}">\n'.encode(),
        )
        for one in frame.masks:
            yield FILE, _mask(one, tally).encode("utf-8", "backslashreplace")
        yield FILE, b"  </image>\n"
    yield FILE, b"</annotations>\n"


def _meta(classes: Iterable[str]) -> str:
    text = "<input_type>text</input_type><mutable>False</mutable><default_value></default_value><values></values>"
    names = ("item", *_ATTRIBUTES, "score")
    attributes = "".join(f"<attribute><name>auscult_{name}</name>{text}</attribute>" for name in names)
    labels = "".join(
        f"        <label><name>{escape(name)}</name><type>mask</type><attributes>{attributes}</attributes></label>\n"
        for name in classes
    )
    return (
        f"  <version>1.1</version>\n  <meta>\n    <task>\n      <labels>\n{labels}      </labels>\n"
        "    </task>\n  </meta>\n"
    )


def _mask(one: ExportedMask, tally: Tally) -> str:
    box = box_of(one.mask)
    if box is None:
        tally.left_out["nothing is segmented"] += 1
        return ""
    left, top, right, bottom = box
    runs = runs_of(np.ascontiguousarray(one.mask[top:bottom, left:right].T))  # row by row, from 0
    values = {"item": one.row.get("id"), **{key: one.row.get(key) for key in _ATTRIBUTES}, "score": one.score}
    attributes = "".join(
        f'      <attribute name="auscult_{key}">{escape(one_line(str(value)))}</attribute>\n'
        for key, value in values.items()
        if value is not None
    )
    return (
        f'    <mask label={quoteattr(one.label)} source="auto" occluded="0" '
        f'rle="{", ".join(map(str, runs.tolist()))}" left="{left}" top="{top}" width="{right - left}" '
        f'height="{bottom - top}" z_order="0">\n{attributes}    </mask>\n'
    )
