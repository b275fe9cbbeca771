"""YOLO-seg: ``labels/x.txt`` of ``images/x.jpg``, a line a mask, and ``data.yaml`` with the classes.

A line is ``class x1 y1 x2 y2 ...`` in shares of width and height. The format has no place for ids, scores and
estimates, and no holes: parts and holes of a mask are joined by slits without width.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np

from auscult.act.export.masks import ExportedFrame, Piece, Tally, polygon_of

PICTURES = "images"


def write(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """The label file of each frame, and the names of the classes."""
    numbers = {name: number for number, name in enumerate(tally.classes)}
    names = "".join(f"  {number}: {json.dumps(name)}\n" for name, number in numbers.items())
    yield "data.yaml", f"path: .\ntrain: images\nval: images\nnames:\n{names}".encode()
    for frame in frames:
        height, width = frame.size
        lines = []
        for one in frame.masks:
            polygon = polygon_of(one.mask, tally)
            if polygon is not None:
                shares = (polygon / np.array([width, height])).ravel()
                lines.append(f"{numbers[one.label]} " + " ".join(f"{share:.6g}" for share in shares))
        yield f"labels/{frame.stem}.txt", "".join(f"{line}\n" for line in lines).encode()
