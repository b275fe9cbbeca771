"""PASCAL VOC: ``SegmentationObject/``, ``SegmentationClass/`` and ``Annotations/`` of ``JPEGImages/``.

The two pictures are palette PNGs: in the first an index is an object, in the order of the xml's, in the second a class,
in the order of ``labels.txt``. A pixel has one index, so of two masks that overlap the smaller one gets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from auscult.act.export.masks import ExportedFrame, Piece, Tally
from auscult.arrays.boxes import box_of
from auscult.media.masks import encode_labels
from auscult.types import Box

PICTURES = "JPEGImages"
_MOST = 254  # 0 is none, 255 is void


@dataclass(frozen=True, slots=True)
class _Object:
    label: str
    area: int
    box: Box


def write(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """The files of each frame, and the names of the classes and pictures."""
    yield "labels.txt", "".join(f"{name}\n" for name in ("background", *tally.classes)).encode()
    numbers = {name: number for number, name in enumerate(tally.classes, start=1)}
    for frame in frames:
        indices, objects = _painted(frame, tally)
        classes = np.array([0, *(min(numbers[one.label], 255) for one in objects)], dtype=np.uint8)
        yield f"SegmentationObject/{frame.stem}.png", encode_labels(indices)
        yield f"SegmentationClass/{frame.stem}.png", encode_labels(classes[indices])
        yield f"Annotations/{frame.stem}.xml", _xml(frame, objects).encode()
        yield "ImageSets/Segmentation/all.txt", f"{frame.stem}\n".encode()


def _painted(frame: ExportedFrame, tally: Tally) -> tuple[NDArray[np.uint8], list[_Object]]:
    """Indices of the objects, and the objects; the tally gets how much of each can be seen."""
    indices = np.zeros(frame.size, dtype=np.uint8)
    areas = np.full(256, frame.size[0] * frame.size[1] + 1, dtype=np.int64)
    objects: list[_Object] = []
    for one in frame.masks:
        box = box_of(one.mask)
        if box is None or len(objects) == _MOST:
            tally.left_out["nothing is segmented" if box is None else "more than 254 on one picture"] += 1
            continue
        area = int(one.mask.sum())
        objects.append(_Object(one.label, area, box))
        areas[len(objects)] = area
        indices[one.mask & (areas[indices] >= area)] = len(objects)
    seen = np.bincount(indices.ravel(), minlength=len(objects) + 1)
    tally.ious += [int(seen[index]) / one.area for index, one in enumerate(objects, start=1)]
    return indices, objects


def _xml(frame: ExportedFrame, objects: list[_Object]) -> str:
    height, width = frame.size
    path = PurePosixPath(frame.picture)
    drawn = "".join(
        f"  <object>\n    <name>{escape(one.label)}</name>\n    <bndbox><xmin>{one.box[0] + 1}</xmin>"
        f"<ymin>{one.box[1] + 1}</ymin><xmax>{one.box[2]}</xmax><ymax>{one.box[3]}</ymax></bndbox>\n  </object>\n"
        for one in objects
    )
    return (
        f"<annotation>\n  <filename>{escape(path.name)}</filename>\n  <size><width>{width}</width>"
        f"<height>{height}</height><depth>3</depth></size>\n  <segmented>1</segmented>\n{drawn}</annotation>\n"
    )
