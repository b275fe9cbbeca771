"""Formats of other tools: each writes the frames of a record, one behind the other, as pieces of files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean
from typing import Any, Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from auscult.act.export.masks import (
    ESTIMATES,
    ExportedFrame,
    ExportedMask,
    Exporter,
    Piece,
    Tally,
    estimate,
    one_line,
    polygon_of,
)
from auscult.arrays.boxes import box_of
from auscult.media.masks import encode_labels, encode_mask
from auscult.media.rle import runs_of
from auscult.media.rle_pack import pack
from auscult.types import Box
from auscult.version import VERSION


def _yolo(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """YOLO-seg: ``labels/x.txt`` of ``images/x.jpg``, a line a mask, and ``data.yaml`` with the classes.

    A line is ``class x1 y1 x2 y2 ...`` in shares of width and height. The format has no place for ids, scores and
    estimates, and no holes: parts and holes of a mask are joined by slits without width.
    """
    numbers = {name: number for number, name in enumerate(tally.classes)}
    names = "".join(f"  {number}: {json.dumps(name)}\n" for name, number in numbers.items())
    yield "data.yaml", f"path: .\ntrain: images\nval: images\nnames:\n{names}".encode()
    for frame in frames:
        height, width = frame.size
        lines = []
        for mask in frame.masks:
            polygon = polygon_of(mask.mask, tally)
            if polygon is not None:
                shares = (polygon / np.array([width, height])).ravel()
                lines.append(f"{numbers[mask.label]} " + " ".join(f"{share:.6g}" for share in shares))
        yield f"labels/{frame.stem}.txt", "".join(f"{line}\n" for line in lines).encode()


_LABELME_VERSION = "5.5.0"  # of LabelMe, whose files since have these keys


def _labelme(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """LabelMe: ``x.json`` beside its picture ``x.jpg``, a polygon a mask.

    A shape's ``description`` says what is wrong, ``auscult`` holds the estimate, ``score`` the model's own. Parts and
    holes of a mask are joined by slits without width. The pictures are named, not held (``imageData`` is null).
    """
    for frame in frames:
        height, width = frame.size
        shapes = [shape for mask in frame.masks if (shape := _labelme_shape(mask, tally)) is not None]
        content: dict[str, Any] = {
            "version": _LABELME_VERSION,
            "flags": {},
            "shapes": shapes,
            "imagePath": PurePosixPath(frame.picture).name,
            "imageData": None,
            "imageHeight": height,
            "imageWidth": width,
        }
        yield f"{frame.stem}.json", json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _labelme_shape(mask: ExportedMask, tally: Tally) -> dict[str, Any] | None:
    polygon = polygon_of(mask.mask, tally)
    if polygon is None:
        return None
    words = (str(mask.row.get(key) or "") for key in ("action", "rationale"))
    return {
        "label": mask.label,
        "points": polygon.tolist(),
        "group_id": None,
        "description": ": ".join(word for word in words if word),
        "shape_type": "polygon",
        "flags": {},
        "mask": None,
        **({} if mask.score is None else {"score": mask.score}),
        "auscult": estimate(mask.row),
    }


_VOC_MOST = 254  # 0 is none, 255 is void


@dataclass(frozen=True, slots=True)
class _VocObject:
    label: str
    area: int
    box: Box


def _voc(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """PASCAL VOC: ``SegmentationObject/``, ``SegmentationClass/`` and ``Annotations/`` of ``JPEGImages/``.

    The two pictures are palette PNGs: in the first an index is an object, in the order of the xml's, in the second a
    class, in the order of ``labels.txt``. A pixel has one index, so of two masks that overlap the smaller one gets it.
    """
    yield "labels.txt", "".join(f"{name}\n" for name in ("background", *tally.classes)).encode()
    numbers = {name: number for number, name in enumerate(tally.classes, start=1)}
    for frame in frames:
        indices, objects = _voc_painted(frame, tally)
        classes = np.array([0, *(min(numbers[instance.label], 255) for instance in objects)], dtype=np.uint8)
        yield f"SegmentationObject/{frame.stem}.png", encode_labels(indices)
        yield f"SegmentationClass/{frame.stem}.png", encode_labels(classes[indices])
        yield f"Annotations/{frame.stem}.xml", _voc_xml(frame, objects).encode()
        yield "ImageSets/Segmentation/all.txt", f"{frame.stem}\n".encode()


def _voc_painted(frame: ExportedFrame, tally: Tally) -> tuple[NDArray[np.uint8], list[_VocObject]]:
    """Indices of the objects, and the objects; the tally gets how much of each can be seen."""
    indices = np.zeros(frame.size, dtype=np.uint8)
    areas = np.full(256, frame.size[0] * frame.size[1] + 1, dtype=np.int64)
    objects: list[_VocObject] = []
    for mask in frame.masks:
        box = box_of(mask.mask)
        if box is None or len(objects) == _VOC_MOST:
            tally.left_out["nothing is segmented" if box is None else "more than 254 on one picture"] += 1
            continue
        area = int(mask.mask.sum())
        objects.append(_VocObject(mask.label, area, box))
        areas[len(objects)] = area
        indices[mask.mask & (areas[indices] >= area)] = len(objects)
    visible = np.bincount(indices.ravel(), minlength=len(objects) + 1)
    tally.ious += [int(visible[index]) / instance.area for index, instance in enumerate(objects, start=1)]
    return indices, objects


def _voc_xml(frame: ExportedFrame, objects: list[_VocObject]) -> str:
    height, width = frame.size
    path = PurePosixPath(frame.picture)
    elements = "".join(
        f"  <object>\n    <name>{escape(one.label)}</name>\n    <bndbox><xmin>{one.box[0] + 1}</xmin>"
        f"<ymin>{one.box[1] + 1}</ymin><xmax>{one.box[2]}</xmax><ymax>{one.box[3]}</ymax></bndbox>\n  </object>\n"
        for one in objects
    )
    return (
        f"<annotation>\n  <filename>{escape(path.name)}</filename>\n  <size><width>{width}</width>"
        f"<height>{height}</height><depth>3</depth></size>\n  <segmented>1</segmented>\n{elements}</annotation>\n"
    )


_ANNOTATIONS = "annotations.xml"
_CVAT_ATTRIBUTES = ("iou", "iou_low", "iou_high", "defect", "action", "rationale")


def _cvat(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """CVAT: ``annotations.xml`` in the format "CVAT for images 1.1", with painted masks, pixel by pixel.

    Estimate, defect, action and the model's score are attributes of a mask; CVAT drops those that the label of a task
    lacks.
    """
    yield _ANNOTATIONS, f'<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n{_cvat_meta(tally.classes)}'.encode()
    for number, frame in enumerate(frames):
        height, width = frame.size
        yield (
            _ANNOTATIONS,
            f'  <image id="{number}" name={quoteattr(frame.picture)} width="{width}" height="{height}">\n'.encode(),
        )
        for mask in frame.masks:
            yield _ANNOTATIONS, _cvat_mask(mask, tally).encode("utf-8", "backslashreplace")
        yield _ANNOTATIONS, b"  </image>\n"
    yield _ANNOTATIONS, b"</annotations>\n"


def _cvat_meta(classes: Iterable[str]) -> str:
    text = "<input_type>text</input_type><mutable>False</mutable><default_value></default_value><values></values>"
    names = ("item", *_CVAT_ATTRIBUTES, "score")
    attributes = "".join(f"<attribute><name>auscult_{name}</name>{text}</attribute>" for name in names)
    labels = "".join(
        f"        <label><name>{escape(name)}</name><type>mask</type><attributes>{attributes}</attributes></label>\n"
        for name in classes
    )
    return (
        f"  <version>1.1</version>\n  <meta>\n    <task>\n      <labels>\n{labels}      </labels>\n"
        "    </task>\n  </meta>\n"
    )


def _cvat_mask(mask: ExportedMask, tally: Tally) -> str:
    box = box_of(mask.mask)
    if box is None:
        tally.left_out["nothing is segmented"] += 1
        return ""
    left, top, right, bottom = box
    runs = runs_of(np.ascontiguousarray(mask.mask[top:bottom, left:right].T))  # row by row, from 0
    values = {"item": mask.row.get("id"), **{key: mask.row.get(key) for key in _CVAT_ATTRIBUTES}, "score": mask.score}
    attributes = "".join(
        f'      <attribute name="auscult_{key}">{escape(one_line(str(value)))}</attribute>\n'
        for key, value in values.items()
        if value is not None
    )
    return (
        f'    <mask label={quoteattr(mask.label)} source="auto" occluded="0" '
        f'rle="{", ".join(map(str, runs.tolist()))}" left="{left}" top="{top}" width="{right - left}" '
        f'height="{bottom - top}" z_order="0">\n{attributes}    </mask>\n'
    )


_TASKS = "tasks.json"
_LOCAL = "/data/local-files/?d="  # how Label Studio names files of a local storage


def _label_studio(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """Label Studio: ``tasks.json``, tasks with predictions (pre-annotations), which are brush masks, pixel by pixel.

    The labelling interface needs an ``Image`` of name ``image`` and ``BrushLabels`` of name ``label`` with the classes.
    A prediction's ``score`` is the mean estimated IoU of its masks, by which Label Studio can sort tasks; a region's
    ``score`` is the model's own. ``meta`` of a region holds the estimate, and a text that people see.
    """
    yield _TASKS, b"["
    for number, frame in enumerate(frames):
        name = f"images/{frame.picture}" if tally.pictures else frame.picture
        results: list[dict[str, Any]] = []
        scores: list[float] = []
        for mask in frame.masks:
            if not mask.mask.any():
                tally.left_out["nothing is segmented"] += 1
                continue
            results.append(_brush_region(mask, number=len(results)))
            scores += [mask.row["iou"]] if mask.row.get("iou") is not None else []
        prediction: dict[str, Any] = {"model_version": f"auscult {VERSION}", "result": results}
        if scores:
            prediction["score"] = round(fmean(scores), 6)
        task = {"data": {"image": _LOCAL + quote(name)}, "predictions": [prediction]}
        yield _TASKS, (b",\n" if number else b"\n") + json.dumps(task).encode()
    yield _TASKS, b"\n]\n"


def _brush_region(mask: ExportedMask, *, number: int) -> dict[str, Any]:
    height, width = mask.mask.shape
    words = ": ".join(str(mask.row[key]) for key in ("action", "rationale") if mask.row.get(key))
    return {
        "id": f"mask{number + 1}",
        "type": "brushlabels",
        "from_name": "label",
        "to_name": "image",
        "original_width": width,
        "original_height": height,
        "image_rotation": 0,
        "value": {"format": "rle", "rle": pack(mask.mask), "brushlabels": [mask.label]},
        **({} if mask.score is None else {"score": mask.score}),
        "meta": {"text": [words], "auscult": estimate(mask.row)},
    }


_SEGMENTATIONS = "segmentations"
_METADATA = "metadata.jsonl"


def _hf_datasets(frames: Iterable[ExportedFrame], tally: Tally) -> Iterator[Piece]:
    """A folder for Hugging Face ``datasets``: ``metadata.jsonl``, a line a mask, and ``segmentations/``, exact PNGs.

    ``datasets.load_dataset("imagefolder", data_dir=FOLDER)`` gives the column ``mask``, and ``image`` where the
    pictures were copied. ``frame`` is the picture's name; ``item``, ``category``, ``text`` and ``score`` (the model's
    own) follow, and what auscult says in ``auscult_iou`` and the like; each is null where it is not known.
    """
    for frame in frames:
        picture = {"image_file_name": f"images/{frame.picture}"} if tally.pictures else {}
        for number, mask in enumerate(frame.masks, start=1):
            name = f"{_SEGMENTATIONS}/{frame.stem}/{number}.png"
            line = {"mask_file_name": name, **picture, "frame": frame.picture, **_hf_columns(mask)}
            yield name, encode_mask(mask.mask)
            yield _METADATA, f"{json.dumps(line)}\n".encode()


def _hf_columns(mask: ExportedMask) -> dict[str, Any]:
    return {
        "item": mask.row.get("id"),
        "category": mask.label,
        "text": mask.row.get("text"),
        "score": mask.score,
        **{f"auscult_{key}": mask.row.get(key) for key in ESTIMATES},
    }


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format: what writes it, and the folder of its pictures."""

    write: Exporter
    pictures: str = "images"


FORMATS: Final[Mapping[str, ExportFormat]] = {
    "yolo": ExportFormat(_yolo),
    "labelme": ExportFormat(_labelme, pictures=""),
    "voc": ExportFormat(_voc, pictures="JPEGImages"),
    "cvat": ExportFormat(_cvat),
    "label-studio": ExportFormat(_label_studio),
    "hf-datasets": ExportFormat(_hf_datasets),
}
