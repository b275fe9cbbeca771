"""COCO json: instances (``images``, ``annotations``, ``categories``), or results (a list) beside instances.

Each annotation or result with a segmentation is a candidate; its id is ``<picture's stem>/<annotation id>``, and a
result without an id gets its place in the list, from 1, as pycocotools counts. The category's name and other plain
values stay with the item, and under the key ``coco`` its own id and what is nested, so that it can be handed over as it
came. A result that names an annotation in ``ann_id`` or ``annotation_id`` has that one's mask as
truth, and its ``score`` is the model's own. Crowd regions are no single object and are left out. Pictures of a COCO
file are no clip.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.datasets.label_studio import is_tasks
from auscult.cases.fields import BOM, load
from auscult.cases.foreign import foreign_json
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems
from auscult.cases.references import AnnotatedObject, AnnotatedPicture, Reference, ReferenceListing, Sentence
from auscult.cases.walk import boundary, is_folder, suffix, within
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.media.paths import open_regular
from auscult.types import Item, MaskRef, Metadata, Query, Truth

MAX_FILE_BYTES = 1024 * 1024 * 1024

_HEAD_BYTES = 4096
_INSTANCE_KEYS = (b'"images"', b'"annotations"', b'"categories"', b'"licenses"')
_RESULT_KEYS = (b'"image_id"', b'"segmentation"')
_PANOPTIC_KEY, _OTHER_KEY = b'"segments_info"', b'"segmentation"'
_BLOCK = 1 << 20
_DROPPED = frozenset({"id", "frame", "mask", "segmentation", "area", "bbox", "iscrowd", "text"})
_GEOMETRY = frozenset({"segmentation", "area", "bbox", "iscrowd", "text"})
_OVERWRITTEN = frozenset({"id", "annotation_id", "category", "coco"})  # names under which an item has values of our own
_MAX_NESTED_CHARS = 16_000  # of an annotation's further keys, as JSON: some tools repeat the mask in one
_FEDERATED = ("neg_category_ids", "not_exhaustive_category_ids")
_LARGEST = 1e300
_EXPORT = "export it again as COCO instances; an items.jsonl takes masks of any other form"
_FORMS = "an RLE object {size, counts} or a list of polygons"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of a COCO file, and its height and width where the file says them."""

    path: Path
    size: tuple[int, int] | None


class CocoFile:
    """COCO instances and the folder of their pictures, checked as far as they are used.

    ``annotations``, ``images`` and the names of ``categories`` are by id; of several with one id the first counts. Keys
    in ``needs`` must hold lists; others may be absent. With ``unseen`` it may be read without its pictures, which are
    then not looked for.
    """

    def __init__(
        self,
        data: object,
        path: Path,
        *,
        options: ListOptions,
        needs: Sequence[str] = ("images",),
        unseen: bool = False,
    ) -> None:
        if not isinstance(data, dict):
            expected = "COCO instances with 'images'"
            raise NothingToDo(f"the file holds {fields.kind(data)}", expected=expected, hint=_EXPORT, path=path)
        tables: dict[str, list[Mapping[str, Any]]] = {}
        for key in ("images", "annotations", "categories"):
            rows = data.get(key, None if key in needs else [])
            if not isinstance(rows, list):
                expected = f"COCO instances, where {key!r} is a list"
                message = f"{key!r} is {fields.kind(rows)}" if key in data else f"there is no {key!r}"
                raise NothingToDo(message, expected=expected, hint=_EXPORT, path=path)
            tables[key] = [row for row in rows if isinstance(row, dict) and type(row.get("id")) in {int, str}]
        self.path = path
        self.annotations = _by_id(tables["annotations"])
        self.categories = {row["id"]: row["name"] for row in tables["categories"] if isinstance(row.get("name"), str)}
        self.images = _by_id(tables["images"])
        self.seen = not unseen or options.images is not None
        self._folder = folder_of(options, path) if self.seen else path.parent
        self._base = boundary(self._folder, source=self._folder, root=options.root)
        self._pictures: dict[int | str, Picture | InputError] = {}

    def picture(self, image_id: object) -> Picture:
        """The picture an annotation stands on, looked for once; a broken one is the same error each time."""
        key = check_key(image_id, "image_id")
        if key not in self._pictures:
            try:
                self._pictures[key] = self._find(key)
            except InputError as error:
                self._pictures[key] = error
        outcome = self._pictures[key]
        if isinstance(outcome, InputError):
            raise outcome
        return outcome

    def _find(self, key: int | str) -> Picture:
        row = self.images.get(key)
        if row is None:
            raise InputError(
                f"image_id {_shown_id(key)} is none of the images", expected="an id of 'images'", path=self.path
            )
        name = fields.required(row, "file_name")
        path = within(self._base, home=self._folder, name=name)
        if self.seen and not path.is_file():
            raise InputError(
                f"there is no picture {shown(name)}",
                expected="the file under --images",
                hint="check --images, or drop the picture",
                path=path,
            )
        height, width = row.get("height"), row.get("width")
        if type(height) is int and type(width) is int and height > 0 and width > 0:
            return Picture(path=path, size=(height, width))
        return Picture(path=path, size=None)

    def category(self, row: Mapping[str, Any]) -> str | None:
        """The name of an annotation's category; None where it is not known."""
        category_id = row.get("category_id")
        return self.categories.get(category_id) if isinstance(category_id, int | str) else None

    @cached_property
    def _on_picture(self) -> Mapping[int | str, Sequence[Mapping[str, Any]]]:
        by_picture: dict[int | str, list[Mapping[str, Any]]] = {}
        for row in self.annotations.values():
            key = row.get("image_id")
            if type(key) in {int, str}:
                by_picture.setdefault(key, []).append(row)  # type: ignore[arg-type]
        return by_picture

    def objects(self, image_id: int | str) -> tuple[AnnotatedObject, ...]:
        """All that is annotated on a picture, in the order of the file: crowd regions and bare boxes included."""
        size = self.picture(image_id).size
        return tuple(_object(self, row, size) for row in self._on_picture.get(image_id, ()))

    def looked_for(self, image_id: int | str) -> frozenset[str] | None:
        """The categories that were looked for on a picture, where it says so as LVIS does; None where it does not.

        LVIS annotates a category on some pictures alone: its absence is known of ``neg_category_ids``, and all of it is
        annotated unless it is among ``not_exhaustive_category_ids``.
        """
        row = self.images.get(image_id, {})
        absent, unfinished = (row.get(key) for key in _FEDERATED)
        if not isinstance(absent, list) and not isinstance(unfinished, list):
            return None
        annotated = {self.category(one) for one in self._on_picture.get(image_id, ())}
        missing = {self.category({"category_id": one}) for one in unfinished or ()}
        known = {self.category({"category_id": one}) for one in absent or ()} | (annotated - missing)
        return frozenset(name for name in known if name)


def _object(coco: CocoFile, row: Mapping[str, Any], size: tuple[int, int] | None) -> AnnotatedObject:
    value, box = row.get("segmentation"), row.get("bbox")
    shape = value if isinstance(value, dict | list) and value else row.get("rle")
    corners = None
    if isinstance(box, list) and len(box) == 4 and all(type(side) in {int, float} for side in box):
        corners = (box[0], box[1], box[0] + box[2], box[1] + box[3])
    return AnnotatedObject(
        id=str(row["id"]),
        category=coco.category(row) or "",
        mask=MaskRef(segmentation=shape, size=size) if isinstance(shape, dict | list) and shape else None,
        box=corners,
        crowd=_is_crowd(row),
    )


def _by_id(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Mapping[str, Any]]:
    by_id: dict[Any, Mapping[str, Any]] = {}
    for row in rows:
        by_id.setdefault(row["id"], row)
    return by_id


def folder_of(options: ListOptions, source: Path) -> Path:
    """The folder of the pictures, which the user has to name."""
    if options.images is None:
        raise UsageError(
            "COCO annotations need their pictures", expected="--images FOLDER", hint="name their folder", path=source
        )
    if not is_folder(options.images):
        raise UsageError(
            "--images names no folder",
            path=options.images,
            expected="the folder of the pictures",
            hint="check the path",
        )
    return options.images


def segmentation_of(row: Mapping[str, Any]) -> Mapping[str, Any] | Sequence[Any]:
    """The mask of an annotation, which must have one."""
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


class CocoDataset:
    """COCO instances or results."""

    name = "datasets.coco.v1"
    marked_by = (".json",)
    meta = Metadata(
        summary="COCO json with --images FOLDER: instances, or results with --instances FILE",
        goal="lists annotations and detections in the format most tools write",
        modality="mask",
        source="Lin et al. 2014 (COCO data and result formats)",
        truth="the annotation a result names in ann_id or annotation_id",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a ``.json`` file that begins like COCO, or one for which pictures are named."""
        if suffix(source.name) != ".json" or source.name.startswith("refs(") or not source.is_file():
            return False
        other = options.instances is None and (is_panoptic(source) or is_tasks(source))
        if options.instances is not None or (options.images is not None and not other):
            return True
        try:
            with open_regular(source) as file:
                head = file.read(_HEAD_BYTES).removeprefix(BOM).lstrip()
        except OSError:
            return False
        keys = {b"{": _INSTANCE_KEYS, b"[": _RESULT_KEYS}.get(head[:1], ())
        return any(key in head for key in keys) and not other

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the annotations or results that have a segmentation and a picture."""
        refuse_options(options, "frames", "masks", layout="a COCO json; its pictures are named by --images")
        other = foreign_json(source)
        if other is not None:
            raise NothingToDo(f"the file is of {other.tool}", expected="COCO json", hint=other.step, path=source)
        folder_of(options, source)  # which refuses a missing one before a large file is read
        data = load(source, max_bytes=MAX_FILE_BYTES)
        results = isinstance(data, list)
        if results and options.instances is None:
            raise UsageError(
                "COCO results name no pictures",
                expected="--instances FILE, the COCO json with 'images'",
                hint="name the instances file the results were made for",
                path=source,
            )
        if results and options.instances is not None:
            document = load(options.instances, max_bytes=MAX_FILE_BYTES)
            coco = CocoFile(document, options.instances, options=options)
        else:
            document = data
            coco = CocoFile(data, source, options=options, needs=("images", "annotations"))
        problems = Problems()
        items: list[Item] = []
        crowds = brushed = 0
        for number, row in enumerate(data if results else data["annotations"], start=1):
            if isinstance(row, dict) and _is_crowd(row):
                crowds += 1
                continue
            brushed += isinstance(row, dict) and bool(row.get("iscrowd"))
            try:
                items.append(_item(coco, row, number, results=results))
            except InputError as error:
                problems.add(error, error.path or coco.path, key=_name(row, number))
        notes = _crowd_notes(crowds, brushed, others=len(items))
        return Listing(tuple(items), tuple(problems.found), self.name, notes, header=_header(coco, document, items))

    def references(self, source: Path, options: ListOptions, *, split: str = "") -> ReferenceListing:
        """Every object that is alone of its category in its picture, as "the <category>"; pictures may be missing."""
        if split:
            raise UsageError(f"--split {shown(split)}: COCO instances have no splits", hint="leave --split out")
        refuse_options(options, "frames", "masks", layout="a COCO json; its pictures are named by --images")
        path = options.instances or source
        coco = CocoFile(
            load(path, max_bytes=MAX_FILE_BYTES), path, options=options, needs=("images", "annotations"), unseen=True
        )
        return _CocoReferences(coco).listing(self.name)


class _CocoReferences:
    """What can be referred to without a sentence: an object that is alone of its category."""

    def __init__(self, coco: CocoFile) -> None:
        self.coco = coco
        self.problems = Problems()
        self.images: list[int | str] = []
        self.count = self.left = self.bare = 0
        for key in coco.images:
            with self.problems.skipping(coco.path, key=f"image {_shown_id(key)}"):
                picture = self.picture(key)
                self.left += len(picture.objects) - len(picture.references)
                self.bare += not picture.objects
                if picture.references:
                    self.images.append(key)
                    self.count += len(picture.references)

    def picture(self, key: int | str) -> AnnotatedPicture:
        """A picture with its references."""
        image, objects, looked_for = self.coco.picture(key), self.coco.objects(key), self.coco.looked_for(key)
        counts = Counter(obj.category for obj in objects)
        references = tuple(
            Reference(
                id=f"{image.path.stem}/{obj.id}",
                target=obj.id,
                sentences=(Sentence(text=f"the {_in_words(obj.category)}"),),
            )
            for obj in objects
            if obj.category and counts[obj.category] == 1 and not obj.crowd and obj.mask is not None
            if looked_for is None or obj.category in looked_for
        )
        return AnnotatedPicture(
            id=str(key),
            path=image.path,
            size=image.size,
            objects=objects,
            references=references,
            looked_for=looked_for,
        )

    def listing(self, layout: str) -> ReferenceListing:
        """The pictures, made when they are asked for."""
        counts = (
            (self.count, "object", ' alone of a category: the sentence is "the <category>"'),
            (self.left, "object", " without a sentence: crowds, and several of one category"),
            (self.bare, "image", " without an annotation left out"),
        )
        notes = [counted(count, noun) + words for count, noun, words in counts if count]
        return ReferenceListing(
            pictures=lambda: map(self.picture, self.images),
            count=self.count,
            layout=layout,
            looked_for=frozenset(self.coco.categories.values()),
            errors=tuple(self.problems.found),
            notes=tuple(notes),
            seen=self.coco.seen,
            files=(self.coco.path,),
        )


def _in_words(category: str) -> str:
    """A category as a sentence says it: ``Stop_Sign`` is a stop sign."""
    return " ".join(category.replace("_", " ").split()).lower()


def is_panoptic(path: Path) -> bool:
    """Whether the first key that tells COCO panoptic from instances is its own; a long file is not read whole."""
    try:
        with open_regular(path) as file:
            before = b""
            while block := file.read(_BLOCK):
                text = before + block
                if _PANOPTIC_KEY in text or _OTHER_KEY in text:
                    return _PANOPTIC_KEY in text and _OTHER_KEY not in text.partition(_PANOPTIC_KEY)[0]
                before = text[-len(_PANOPTIC_KEY) :]
    except OSError:
        pass
    return False


def _is_crowd(row: Mapping[str, Any]) -> bool:
    """Whether a row is a crowd region. CVAT writes iscrowd 1 of every mask that a brush drew; ``occluded`` is its."""
    attributes = row.get("attributes")
    return bool(row.get("iscrowd")) and not (isinstance(attributes, dict) and "occluded" in attributes)


def _crowd_notes(crowds: int, brushed: int, *, others: int) -> tuple[str, ...]:
    notes = [f"{counted(brushed, 'mask')} of CVAT with iscrowd 1 taken for objects"] if brushed else []
    if crowds:
        remedy = "" if others else "; if each is an object, write iscrowd 0"
        notes.append(f"{counted(crowds, 'crowd region')} left out: a crowd is no single object{remedy}")
    return tuple(notes)


def _item(coco: CocoFile, row: object, number: int, *, results: bool) -> Item:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object with image_id and segmentation")
    key = check_key(row["id"], "id") if row.get("id") is not None else number
    mask = segmentation_of(row)
    picture = coco.picture(row.get("image_id"))
    return Item(
        id=check_id(f"{picture.path.stem}/{key}"),
        frame=picture.path,
        mask=MaskRef(segmentation=mask, size=picture.size),
        query=Query(fields.text(row, "text") or None),
        truth=_truth(coco, row, picture) if results else None,
        model_score=_score(row) if results else None,
        extra=_extra(coco, row, key),
        source=coco.path,
    )


def _truth(coco: CocoFile, row: Mapping[str, Any], picture: Picture) -> Truth | None:
    key = row.get("ann_id", row.get("annotation_id"))
    if key is None or not coco.annotations:
        return None
    annotation = coco.annotations.get(check_key(key, "ann_id"))
    if annotation is None:
        raise InputError(f"ann_id {_shown_id(key)} is none of the annotations", expected="an id in --instances")
    if annotation.get("image_id") != row.get("image_id"):
        raise InputError(f"ann_id {_shown_id(key)} is on another picture", expected="an annotation of the same picture")
    return Truth(mask=MaskRef(segmentation=segmentation_of(annotation), size=picture.size))


def _score(row: Mapping[str, Any]) -> float | None:
    """What a model says of its own result; None where it is no number, which costs no mask."""
    value = row.get("score")
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    return float(value) if is_number else None  # type: ignore[arg-type]


def _extra(coco: CocoFile, row: Mapping[str, Any], key: int | str) -> dict[str, Any]:
    """The plain values of a row, and in ``coco`` what cannot stand among them: its id, nested values, names of ours."""
    plain = {name: value for name, value in row.items() if name not in _DROPPED and _is_plain(value)}
    remaining = {
        name: value
        for name, value in row.items()
        if name not in _GEOMETRY and (name not in plain or name in _OVERWRITTEN) and _is_small(value)
    }
    if row.get("id") is not None:
        plain.setdefault("annotation_id", row["id"])
    category = coco.category(row)
    return {**plain, **({} if category is None else {"category": category}), "coco": {**remaining, "id": key}}


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _is_small(value: object) -> bool:
    return _is_plain(value) or len(json.dumps(value)) <= _MAX_NESTED_CHARS


def _header(coco: CocoFile, data: Mapping[str, Any], items: Sequence[Item]) -> dict[str, Any]:
    """What the file says beside its annotations: its categories, the images that have an item, and further keys."""
    used = {item.extra.get("image_id") for item in items}
    further = {key: value for key, value in data.items() if key not in {"images", "annotations"} and _is_small(value)}
    return {
        **further,
        "categories": data.get("categories", []),
        "images": [row for key, row in coco.images.items() if key in used],
    }


def check_key(value: object, name: str) -> int | str:
    """Give back the id of a picture or annotation, a number or a text."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"{name!r} is {fields.kind(value)}", expected=f"{name!r} is a whole number")
    return value


def _name(row: object, number: int) -> str:
    row_id = row.get("id") if isinstance(row, dict) else None
    return f"entry {number}" if row_id is None else f"entry {number} (id {_shown_id(row_id)})"


def _shown_id(value: object) -> str:
    return shown(value) if isinstance(value, str) else str(value)[:40]


DATASET = CocoDataset()
