"""COCO json: instances (``images``, ``annotations``, ``categories``), or results (a list) beside instances.

Each annotation or result with a segmentation is a candidate; its id is ``<picture's stem>/<annotation id>``, and a
result without an id gets its place in the list, from 1, as pycocotools counts. The category's name and other plain
values stay with the item. A result that names an annotation in ``ann_id`` or ``annotation_id`` has that one's mask as
truth, and its ``score`` is the model's own. Crowd regions are no single object and are left out. Pictures of a COCO
file are no clip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.fields import BOM, load
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import ListError, Listing, ListOptions, refuse_options
from auscult.cases.walk import boundary, suffix, within
from auscult.errors import ErrorRecord, InputError, NothingToDo, UsageError
from auscult.types import Item, MaskRef, Metadata, Query, Truth

MAX_FILE_BYTES = 1024 * 1024 * 1024

_HEAD_BYTES = 4096
_INSTANCE_KEYS = (b'"images"', b'"annotations"', b'"categories"', b'"licenses"')
_RESULT_KEYS = (b'"image_id"', b'"segmentation"')
_DROPPED = frozenset({"id", "frame", "mask", "segmentation", "area", "bbox", "iscrowd", "text"})
_LARGEST = 1e300
_FORMS = "an RLE object {size, counts} or a list of polygons"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    path: Path
    size: tuple[int, int] | None


@dataclass(slots=True)
class _Coco:
    """What stands in a COCO file, checked as far as it is used."""

    file: Path
    folder: Path
    base: Path
    names: dict[Any, Mapping[str, Any]] = field(default_factory=dict)
    categories: dict[Any, str] = field(default_factory=dict)
    truths: dict[Any, Mapping[str, Any]] = field(default_factory=dict)
    pictures: dict[Any, _Picture | InputError] = field(default_factory=dict)
    results: bool = False

    def picture(self, image_id: object) -> _Picture:
        """The picture an annotation stands on; every picture is looked for once."""
        key = _key(image_id, "image_id")
        if key not in self.pictures:
            try:
                self.pictures[key] = self._find(key)
            except InputError as error:
                self.pictures[key] = error
        found = self.pictures[key]
        if isinstance(found, InputError):
            raise found
        return found

    def _find(self, key: object) -> _Picture:
        row = self.names.get(key)
        if row is None:
            raise InputError(
                f"image_id {_shown_id(key)} is none of the images", expected="an id of 'images'", path=self.file
            )
        name = fields.required(row, "file_name")
        path = within(self.base, home=self.folder, name=name)
        if not path.is_file():
            raise InputError(
                f"there is no picture {shown(name)}",
                expected="the file under --images",
                hint="check --images, or drop the picture",
                path=path,
            )
        sides = row.get("height"), row.get("width")
        whole = all(type(side) is int and side > 0 for side in sides)
        return _Picture(path=path, size=(sides[0], sides[1]) if whole else None)  # type: ignore[arg-type]


class CocoDataset:
    """COCO instances or results."""

    name = "datasets.coco.v1"
    meta = Metadata(
        summary="COCO json with --images FOLDER: instances, or results with --instances FILE",
        goal="lists annotations and detections in the format most tools write",
        modality="mask",
        source="Lin et al. 2014 (COCO data and result formats)",
        truth="the annotation a result names in ann_id or annotation_id",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a ``.json`` file that begins like COCO, or one for which pictures are named."""
        if suffix(source.name) != ".json" or not source.is_file():
            return False
        if options.images is not None or options.instances is not None:
            return True
        try:
            with source.open("rb") as file:
                head = file.read(_HEAD_BYTES).removeprefix(BOM).lstrip()
        except OSError:
            return False
        keys = {b"{": _INSTANCE_KEYS, b"[": _RESULT_KEYS}.get(head[:1], ())
        return any(key in head for key in keys)

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the annotations or results that have a segmentation and a picture.

        Raises:
            NothingToDo: The file is not JSON, or not COCO.
            UsageError: ``--images`` or ``--instances`` is missing, or an option is for another layout.
        """
        refuse_options(options, "frames", "masks", layout="a COCO json; its pictures are named by --images")
        folder = _images(source, options)
        data = load(source, max_bytes=MAX_FILE_BYTES)
        coco = _Coco(source, folder, boundary(folder, source=folder, root=options.root))
        if isinstance(data, dict):
            _read_instances(coco, data, source)
            rows = _rows(data, "annotations", source)
        elif isinstance(data, list):
            rows = data
            coco.results = True
            _read_names(coco, source, options)
        else:
            raise NothingToDo(f"the file holds {fields.kind(data)}", path=source, expected="COCO instances or results")
        return _listed(coco, rows, layout=self.name)


def _images(source: Path, options: ListOptions) -> Path:
    if options.images is None:
        raise UsageError(
            "a COCO json needs its pictures", expected="--images FOLDER", hint="name their folder", path=source
        )
    if not options.images.is_dir():
        raise UsageError("--images names no folder", path=options.images, expected="the folder of the pictures")
    return options.images


def _read_names(coco: _Coco, source: Path, options: ListOptions) -> None:
    if options.instances is None:
        raise UsageError(
            "COCO results name no pictures",
            expected="--instances FILE, the COCO json with 'images'",
            hint="name the instances file the results were made for",
            path=source,
        )
    data = load(options.instances, max_bytes=MAX_FILE_BYTES)
    if not isinstance(data, dict):
        raise UsageError(
            f"the file holds {fields.kind(data)}", expected="COCO instances with 'images'", path=options.instances
        )
    _read_instances(coco, data, options.instances)
    for row in _rows({"annotations": [], **data}, "annotations", options.instances):
        if isinstance(row, dict) and isinstance(row.get("id"), int | str):
            coco.truths[row["id"]] = row


def _read_instances(coco: _Coco, data: Mapping[str, Any], path: Path) -> None:
    coco.file = path
    for row in _rows(data, "images", path):
        if isinstance(row, dict) and isinstance(row.get("id"), int | str):
            coco.names.setdefault(row["id"], row)
    for row in _rows({"categories": [], **data}, "categories", path):
        if isinstance(row, dict) and isinstance(row.get("id"), int | str) and isinstance(row.get("name"), str):
            coco.categories[row["id"]] = row["name"]


def _rows(data: Mapping[str, Any], key: str, path: Path) -> Sequence[Any]:
    rows = data.get(key)
    if not isinstance(rows, list):
        raise NothingToDo(
            f"{key!r} is {fields.kind(rows)}", path=path, expected=f"COCO instances, where {key!r} is a list"
        )
    return rows


def _listed(coco: _Coco, rows: Sequence[Any], *, layout: str) -> Listing:
    items: list[Item] = []
    errors: list[ListError] = []
    crowds = 0
    for place, row in enumerate(rows, start=1):
        if isinstance(row, dict) and row.get("iscrowd"):
            crowds += 1
            continue
        try:
            items.append(_item(coco, row, place))
        except InputError as error:
            at = InputError(
                f"{_name(row, place)}: {error.message}",
                expected=error.expected,
                hint=error.hint,
                path=error.path or coco.file,
            )
            errors.append((None, ErrorRecord.of(at, "read")))
    notes = (f"{counted(crowds, 'crowd region')} left out: a crowd is no single object",) if crowds else ()
    return Listing(tuple(items), tuple(errors), layout, notes)


def _item(coco: _Coco, row: object, place: int) -> Item:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object with image_id and segmentation")
    number = _key(row["id"], "id") if row.get("id") is not None else place
    mask = _segmentation(row)
    picture = coco.picture(row.get("image_id"))
    return Item(
        id=check_id(f"{picture.path.stem}/{number}"),
        frame=picture.path,
        mask=MaskRef(segmentation=mask, size=picture.size),
        query=Query(fields.text(row, "text") or None),
        truth=_truth(coco, row, picture),
        model_score=_score(row) if coco.results else None,
        extra=_extra(coco, row),
        source=coco.file,
    )


def _segmentation(row: Mapping[str, Any]) -> Mapping[str, Any] | Sequence[Any]:
    value = row.get("segmentation")
    if isinstance(value, dict) and {"size", "counts"} <= value.keys():
        return value
    if isinstance(value, list) and value:
        return value
    if value is None:
        raise InputError(
            "there is no 'segmentation'", expected=_FORMS, hint="a box alone is no mask; export segmentations"
        )
    raise fields.wrong("segmentation", value, _FORMS)


def _truth(coco: _Coco, row: Mapping[str, Any], picture: _Picture) -> Truth | None:
    named = row.get("ann_id", row.get("annotation_id"))
    if named is None or not coco.truths:
        return None
    true = coco.truths.get(_key(named, "ann_id"))
    if true is None:
        raise InputError(f"ann_id {_shown_id(named)} is none of the annotations", expected="an id in --instances")
    if true.get("image_id") != row.get("image_id"):
        raise InputError(
            f"ann_id {_shown_id(named)} is on another picture", expected="an annotation of the same picture"
        )
    return Truth(mask=MaskRef(segmentation=_segmentation(true), size=picture.size))


def _score(row: Mapping[str, Any]) -> float | None:
    """What a model says of its own result; None where it is no number, which costs no mask."""
    value = row.get("score")
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    return float(value) if known else None  # type: ignore[arg-type]


def _extra(coco: _Coco, row: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a row; lists and objects stay behind, they can be as large as the mask."""
    kept = {
        key: value
        for key, value in row.items()
        if key not in _DROPPED and (value is None or isinstance(value, bool | int | float | str))
    }
    if row.get("id") is not None:
        kept.setdefault("annotation_id", row["id"])
    category = row.get("category_id")
    if isinstance(category, int | str) and category in coco.categories:
        kept["category"] = coco.categories[category]
    return kept


def _key(value: object, name: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"{name!r} is {fields.kind(value)}", expected=f"{name!r} is a whole number")
    return value


def _name(row: object, place: int) -> str:
    known = row.get("id") if isinstance(row, dict) else None
    return f"entry {place}" if known is None else f"entry {place} (id {_shown_id(known)})"


def _shown_id(value: object) -> str:
    return shown(value) if isinstance(value, str) else str(value)[:40]


DATASET = CocoDataset()
