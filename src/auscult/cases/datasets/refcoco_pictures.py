"""The pictures of RefCOCO and what is annotated on them, from its ``instances.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.ids import counted, shown
from auscult.cases.strict_json import load
from auscult.cases.walk import boundary, is_file, within
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.types import MaskRef

MAX_FILE_BYTES = 1024 * 1024 * 1024

_FORMS = "an RLE object {size, counts} or a list of polygons"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An annotation, its picture, and what else is annotated there.

    Attributes:
        frame: The picture.
        mask: The annotation's mask.
        category: Its category; empty where it is not known.
        others: Masks of the other annotations of the picture, in the order of the file, crowds left out.
        names: Their categories.
    """

    frame: Path
    mask: MaskRef
    category: str
    others: tuple[MaskRef, ...]
    names: tuple[str, ...]


@dataclass(slots=True)
class Pictures:
    """Annotations by id, and the pictures they stand on.

    Attributes:
        file: The instances.
        folder: The folder of the pictures.
        base: How far links of it may lead.
        errors: One record for every picture that is missing.
        crowds: Refs left out because they name a crowd region.
    """

    file: Path
    folder: Path
    base: Path
    errors: list[ErrorRecord] = field(default_factory=list)
    crowds: int = 0
    _annotations: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _images: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _categories: dict[int, str] = field(default_factory=dict)
    _on_image: dict[int, list[Mapping[str, Any]]] = field(default_factory=dict)
    _frames: dict[int, Path | None] = field(default_factory=dict)

    def add(self, data: Mapping[str, Any]) -> None:
        """Take what the file holds; rows that are malformed are found when a ref names them."""
        for row in _rows(data, "images", self.file):
            self._images.setdefault(row["id"], row)
        for row in _rows({"categories": [], **data}, "categories", self.file):
            if isinstance(row.get("name"), str):
                self._categories[row["id"]] = row["name"]
        for row in _rows(data, "annotations", self.file):
            self._annotations.setdefault(row["id"], row)
            if isinstance(row.get("image_id"), int) and not row.get("iscrowd"):
                self._on_image.setdefault(row["image_id"], []).append(row)

    def usable(self, annotation: int) -> bool:
        """Whether an annotation has a picture; False, once told, for crowds and pictures that are missing.

        Raises:
            InputError: There is no such annotation, or it has no mask.
        """
        row = self._annotations.get(annotation)
        if row is None:
            raise InputError(f"ann_id {annotation} is none of the annotations", expected=f"an id in {self.file.name}")
        if row.get("iscrowd"):
            self.crowds += 1
            return False
        image = row.get("image_id")
        if not isinstance(image, int) or image not in self._images:
            raise InputError(f"annotation {annotation} is on no picture of the file", expected="an id of 'images'")
        _segmentation(row)
        return self._frame(image) is not None

    def target(self, annotation: int) -> Target:
        """An annotation with all that is around it.

        Raises:
            InputError: It is not usable.
        """
        row = self._annotations[annotation]
        frame = self._frame(row["image_id"])
        if frame is None:
            raise InputError(f"the picture of annotation {annotation} is missing", expected="one under --images")
        size = _size(self._images[row["image_id"]])
        beside = [one for one in self._on_image[row["image_id"]] if one["id"] != annotation and _has_mask(one)]
        return Target(
            frame=frame,
            mask=MaskRef(segmentation=_segmentation(row), size=size),
            category=self._category(row),
            others=tuple(MaskRef(segmentation=one["segmentation"], size=size) for one in beside),
            names=tuple(map(self._category, beside)),
        )

    def notes(self) -> tuple[str, ...]:
        """What was left out on purpose."""
        told = f"{counted(self.crowds, 'ref')} to a crowd region left out: a crowd is no single object"
        return (told,) if self.crowds else ()

    def _category(self, row: Mapping[str, Any]) -> str:
        known = row.get("category_id")
        return self._categories.get(known, "") if isinstance(known, int) else ""

    def _frame(self, image: int) -> Path | None:
        if image not in self._frames:
            try:
                self._frames[image] = self._find(self._images[image])
            except InputError as error:
                at = InputError(error.message, expected=error.expected, hint=error.hint, path=error.path or self.file)
                self.errors.append(ErrorRecord.of(at, "read"))
                self._frames[image] = None
        return self._frames[image]

    def _find(self, row: Mapping[str, Any]) -> Path:
        name = fields.required(row, "file_name")
        path = within(self.base, home=self.folder, name=name)
        if is_file(path):
            return path
        raise InputError(
            f"there is no picture {shown(name)}", expected="the file under --images", hint="check --images", path=path
        )


def read_pictures(file: Path, *, images: Path, root: Path | None) -> Pictures:
    """Read the instances.

    Args:
        file: The COCO instances.
        images: The folder of the pictures.
        root: How far links may lead; ``images`` by default.

    Raises:
        NothingToDo: It cannot be read or is not COCO.
        UsageError: The folder is a link that leaves ``root``.
    """
    data = load(file, max_bytes=MAX_FILE_BYTES)
    if not isinstance(data, dict):
        raise NothingToDo(f"the file holds {fields.kind(data)}", expected="COCO instances", path=file)
    found = Pictures(file, images, boundary(images, source=images, root=root))
    found.add(data)
    return found


def _rows(data: Mapping[str, Any], key: str, path: Path) -> Sequence[Mapping[str, Any]]:
    rows = data.get(key)
    if not isinstance(rows, list):
        raise NothingToDo(f"{key!r} is {fields.kind(rows)}", expected=f"COCO, where {key!r} is a list", path=path)
    return [row for row in rows if isinstance(row, dict) and type(row.get("id")) is int]


def _size(row: Mapping[str, Any]) -> tuple[int, int] | None:
    height, width = row.get("height"), row.get("width")
    if type(height) is int and type(width) is int and height > 0 and width > 0:
        return height, width
    return None


def _has_mask(row: Mapping[str, Any]) -> bool:
    value = row.get("segmentation")
    return bool(value) and isinstance(value, list | dict)


def _segmentation(row: Mapping[str, Any]) -> Mapping[str, Any] | Sequence[Any]:
    value = row.get("segmentation")
    if isinstance(value, list | dict) and value:
        return value
    raise InputError(f"annotation {row['id']} has no segmentation", expected=_FORMS)
