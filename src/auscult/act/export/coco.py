"""Masks as COCO instances; what came from a COCO file goes out with its own ids, categories, scores and keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from auscult.act.export.masks import OBJECT, ExportedMask, JsonRow, estimate
from auscult.errors import InputError
from auscult.media.rle import Runs
from auscult.version import VERSION

OWN = "coco"
"""Key of an item's ``extra`` under which the reader of COCO keeps what cannot stand beside our own keys."""

_OURS = f"key 'auscult' of an annotation is the estimate of auscult {VERSION}; 'score' is the model's own"


def coco(
    candidates: Iterable[ExportedMask], *, header: JsonRow | None = None, classes: Iterable[str] = ()
) -> dict[str, Any]:
    """Make COCO instances of masks.

    An annotation of a COCO file keeps ``id``, ``image_id``, ``category_id``, ``score`` and all further keys; ``bbox``
    (x, y, width, height in pixels), ``area`` (pixels) and ``segmentation`` (compressed RLE) are of the mask that was
    judged. ``score`` is the model's own, absent where there is none. What auscult says is in ``auscult``: ``item`` (the
    id it was judged under), ``iou`` (estimated, 0..1), ``iou_low``, ``iou_high``, ``prob_iou_80``, ``defect``,
    ``action``, ``rationale``, ``judge``.

    Args:
        candidates: The masks, each with its line of ``verdicts.jsonl``.
        header: What the COCO file they came from says beside annotations: ``images``, ``categories``, ``info``, ...
        classes: Further names of categories, numbered in this order behind those of ``header``.
    """
    content = coco_in_parts(tuple(candidates), header=header, classes=classes)
    return {**content, "annotations": list(content["annotations"])}


def coco_in_parts(
    candidates: Iterable[ExportedMask], *, header: JsonRow | None = None, classes: Iterable[str] = ()
) -> dict[str, Any]:
    """As ``coco``, but ``annotations`` are an iterator, which makes each when it is asked for.

    The candidates are gone through twice: for images and ids, then for annotations.
    """
    source = header or {}
    tables = _Tables(_by_id(source.get("images")), _by_id(source.get("categories")))
    for name in classes:
        tables.category_of(name)
    ids = []
    for candidate in candidates:
        tables.image(candidate, candidate.runs)
        tables.category(candidate)
        ids.append(_key(_original(candidate).get("id")))
    annotations = (
        {"id": number, **_annotation(candidate, tables)}
        for number, candidate in zip(_numbers(ids), candidates, strict=True)
    )
    info = source.get("info", "masks handed over")
    return {
        **source,
        "info": {**(info if isinstance(info, Mapping) else {"description": info}), "auscult": _OURS},
        "images": [tables.images[key] for key in tables.used],
        "annotations": annotations,
        "categories": list((tables.categories or {1: _OBJECT}).values()),
    }


_OBJECT = {"id": 1, "name": OBJECT, "supercategory": OBJECT}


class _Tables:
    """Images and categories by id, those of the source first; ``used`` are the images that have a mask, in order."""

    def __init__(self, images: dict[Any, dict[str, Any]], categories: dict[Any, dict[str, Any]]) -> None:
        self.images = images
        self.categories = categories
        self.used: dict[Any, None] = {}
        self._frames: dict[str, Any] = {}  # frame to image id, where the source gave none
        self._names = {row.get("name"): key for key, row in categories.items()}
        self._free_image, self._free_category = count(_highest_id(images) + 1), count(_highest_id(categories) + 1)

    def image(self, candidate: ExportedMask, runs: Runs) -> Any:
        """The id of a mask's image, which is added where it is new."""
        height, width = runs.size
        key = _key(candidate.extra.get("image_id"))
        if key is None and candidate.frame not in self._frames:
            self._frames[candidate.frame] = next(self._free_image)
        key = self._frames[candidate.frame] if key is None else key
        row = self.images.setdefault(key, {"id": key, "file_name": candidate.frame})
        size = (row.get("height"), row.get("width"))
        if key in self.used and size != (height, width):
            raise InputError(
                f"the mask of {candidate.row.get('id')!r} is {height} x {width}, another of its frame "
                f"{size[0]} x {size[1]} (height x width)",
                expected="masks of one size on one frame",
                hint="do two frames have the same file name? give them different ones",
            )
        row.update(height=height, width=width)
        self.used[key] = None
        return key

    def category(self, candidate: ExportedMask) -> Any:
        """The id of a mask's category, which is added where it is new."""
        return self.category_of(candidate.label, key=_key(candidate.extra.get("category_id")))

    def category_of(self, name: str, *, key: Any = None) -> Any:
        """The id of a category by its name, or with the source's own."""
        if key is None:
            key = self._names[name] if name in self._names else next(self._free_category)
        if key not in self.categories:
            self.categories[key] = {"id": key, "name": name, "supercategory": OBJECT}
            self._names.setdefault(name, key)
        return key


def _annotation(candidate: ExportedMask, tables: _Tables) -> dict[str, Any]:
    extra, original, runs = candidate.extra, _original(candidate), candidate.runs
    left, top, right, bottom = runs.box or (0, 0, 0, 0)
    row: dict[str, Any] = {
        "image_id": tables.image(candidate, runs),
        "category_id": tables.category(candidate),
        "segmentation": runs.encoded,
        "bbox": [left, top, right - left, bottom - top],
        "area": runs.area,
        "iscrowd": 0,
    }
    further: dict[str, Any] = {"text": candidate.row.get("text"), "score": candidate.score}
    further = {key: value for key, value in further.items() if value is not None}
    if original:
        further |= {key: value for key, value in extra.items() if key not in {OWN, "annotation_id", "category"}}
    further |= original
    ours = {"id", *row}
    return {**row, **{key: further[key] for key in further if key not in ours}, "auscult": estimate(candidate.row)}


def _original(candidate: ExportedMask) -> Mapping[str, Any]:
    """What a COCO file said of the mask; empty for other INPUT."""
    original = candidate.extra.get(OWN)
    return original if isinstance(original, Mapping) else {}


def _numbers(ids: Sequence[int | str | None]) -> Iterator[int | str]:
    """The ids of annotations: new ones for those that have none, or one that an earlier annotation has."""
    used = set[int | str]()
    free = count(max((name for name in ids if isinstance(name, int)), default=0) + 1)
    for name in ids:
        number = next(free) if name is None or name in used else name
        used.add(number)
        yield number


def _highest_id(rows: Mapping[Any, Any]) -> int:
    return max((key for key in rows if isinstance(key, int)), default=0)


def _key(value: object) -> int | str | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _by_id(rows: object) -> dict[Any, dict[str, Any]]:
    by_id: dict[Any, dict[str, Any]] = {}
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, Mapping) and _key(row.get("id")) is not None:
            by_id.setdefault(row["id"], dict(row))
    return by_id
