"""RefCOCO, RefCOCO+ and RefCOCOg as released: ``refs(<split by>).p`` beside ``instances.json``, with ``--images``.

A ref is an annotation and its sentences. Each sentence is an instance: its target is the annotation's mask, the others
are the other annotations of the picture, crowd regions left out. As items, each ref is listed once with its first
sentence. Splits are those of the file: train, val, testA, testB or test. The pickle is read without executing anything
(``cases/safe_pickle``). A sentence with ``exist`` false, as R-RefCOCO adds them, refers to nothing.

Where a folder holds several files of refs, the split most papers use is taken (``unc``, then ``umd``, then others by
name), and a note says so; name a file to choose it.

Fields as in REFER (Yu et al. 2016; github.com/lichengunc/refer): ``ref_id ann_id image_id category_id file_name split
sentences[sent raw tokens sent_id] sent_ids``. The released files themselves were not at hand; tests write files of
exactly this structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.datasets.base import file_names
from auscult.cases.datasets.refavs import template_of
from auscult.cases.fields import load
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.instances import InstanceListing
from auscult.cases.listing import ListError, Listing, ListOptions, refuse_options
from auscult.cases.safe_pickle import load_pickle
from auscult.cases.walk import boundary, is_file, is_folder, within
from auscult.errors import ErrorRecord, InputError, NothingToDo, UsageError
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

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


_REFS = re.compile(r"^refs\((\w+)\)\.p$")
_FIRST = ("unc", "umd")
_INSTANCES = "instances.json"
_MOST = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    id: int
    text: str
    absent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ref:
    id: int
    annotation: int
    split: str
    sentences: tuple[_Sentence, ...]


@dataclass(slots=True)
class _Found:
    """Refs that can be used, in the order of the file, and what is wrong with the rest."""

    file: Path
    pictures: Pictures
    refs: list[_Ref] = field(default_factory=list)
    errors: list[ListError] = field(default_factory=list)
    notes: tuple[str, ...] = ()


class RefCocoDataset:
    """Sentences over COCO annotations."""

    name = "datasets.refcoco.v1"
    meta = Metadata(
        summary="RefCOCO, RefCOCO+, RefCOCOg: refs(<split by>).p and instances.json, with --images FOLDER",
        goal="lists human sentences that name one object of a photograph",
        modality="image",
        source="Yu et al. 2016, Mao et al. 2016, Kazemzadeh et al. 2014; layout of lichengunc/refer",
        truth="the annotation a ref names in ann_id",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a file ``refs(...).p``, or a folder with one and its instances."""
        if options.frames is not None or options.masks is not None:
            return False
        if _REFS.match(source.name) is not None and is_file(source):
            return True
        return is_file(source / _INSTANCES) and bool(_refs_files(source))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the object of every ref.

        Raises:
            NothingToDo: The refs or instances cannot be read.
            UsageError: ``--images`` is missing, or an option is for another layout.
        """
        found = _read(source, options)
        items = tuple(_item(found, ref) for ref in found.refs)
        return Listing(items, _errors(found), self.name, _notes(found))

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every sentence.

        Raises:
            NothingToDo: The refs or instances cannot be read.
            UsageError: ``--images`` is missing, or an option is for another layout.
        """
        found = _read(source, options)
        instances = tuple(one for ref in found.refs for one in _instances(found, ref))
        return InstanceListing(instances=instances, errors=_errors(found), layout=self.name, notes=_notes(found))


def _refs_files(folder: Path) -> list[Path]:
    """The files of refs in a folder, the usual split first."""
    found = {match[1]: folder / name for name in file_names(folder) if (match := _REFS.match(name))}
    order = [*(name for name in _FIRST if name in found), *sorted(found.keys() - set(_FIRST))]
    return [found[name] for name in order]


def _read(source: Path, options: ListOptions) -> _Found:
    refuse_options(options, "frames", "masks", layout="RefCOCO; its pictures are named by --images")
    if options.images is None:
        raise UsageError(
            "RefCOCO needs its pictures", expected="--images FOLDER", hint="name the folder of train2014", path=source
        )
    if not is_folder(options.images):
        raise UsageError("--images names no folder", path=options.images, expected="the folder of the pictures")
    files = [source] if is_file(source) else _refs_files(source)
    instances = options.instances or files[0].parent / _INSTANCES
    pictures = read_pictures(instances, images=options.images, root=options.root)
    found = _Found(files[0], pictures)
    if len(files) > 1:
        others = ", ".join(path.name for path in files[1:])
        found.notes = (f"{files[0].name} was read; name a file to read {others} instead",)
    try:
        rows = load_pickle(files[0])
    except InputError as error:
        raise NothingToDo(error.message, expected=error.expected, hint=error.hint, path=files[0]) from error
    if not isinstance(rows, list):
        raise NothingToDo(f"the pickle holds {fields.kind(rows)}", expected="a list of refs", path=files[0])
    _add_refs(found, rows)
    return found


def _add_refs(found: _Found, rows: Sequence[Any]) -> None:
    seen: set[int] = set()
    for place, row in enumerate(rows, start=1):
        try:
            ref = _ref(row)
            if ref.id in seen:
                raise _twice(ref)
            if found.pictures.usable(ref.annotation):
                seen.add(ref.id)
                found.refs.append(ref)
        except InputError as error:
            at = InputError(f"ref {place}: {error.message}", expected=error.expected, hint=error.hint, path=found.file)
            found.errors.append((None, ErrorRecord.of(at, "read")))


def _twice(ref: _Ref) -> InputError:
    return InputError(f"the ref_id {ref.id} is used twice", expected="ids that are unique", hint="drop one of the two")


def _ref(row: object) -> _Ref:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object with ref_id, ann_id and sentences")
    sentences = row.get("sentences")
    if not isinstance(sentences, list | tuple) or not sentences:
        raise InputError("there are no 'sentences'", expected="a list of objects with sent_id and sent")
    return _Ref(
        id=_whole(row, "ref_id"),
        annotation=_whole(row, "ann_id"),
        split=fields.text(row, "split") or "",
        sentences=tuple(map(_sentence, sentences)),
    )


def _sentence(row: object) -> _Sentence:
    if not isinstance(row, dict):
        raise InputError(f"a sentence is {fields.kind(row)}", expected="an object with sent_id and sent")
    said = [fields.text(row, key) for key in ("raw", "sent")]
    text = next((one.strip() for one in said if one and one.strip()), None)
    if text is None:
        raise InputError("a sentence is empty", expected="'raw' or 'sent' is a text")
    return _Sentence(id=_whole(row, "sent_id"), text=text, absent=row.get("exist") is False)


def _whole(row: Mapping[str, Any], key: str) -> int:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _MOST:
        raise fields.wrong(key, value, "a whole number of at most 18 digits")
    return value


def _item(found: _Found, ref: _Ref) -> Item:
    target = found.pictures.target(ref.annotation)
    text = next((one.text for one in ref.sentences if not one.absent), None)
    return Item(
        id=check_id(f"{target.frame.stem}/{ref.id}"),
        frame=target.frame,
        mask=target.mask,
        query=Query(text),
        others=target.others,
        extra={
            "ref_id": ref.id,
            "ann_id": ref.annotation,
            "split": ref.split,
            "category": target.category,
            "sentences": len(ref.sentences),
        },
        source=found.file,
    )


def _instances(found: _Found, ref: _Ref) -> Iterator[Instance]:
    target = found.pictures.target(ref.annotation)
    for place, sentence in enumerate(ref.sentences):
        others, names = target.others, target.names
        if sentence.absent:  # nothing is meant, so the annotation is one more object beside it
            others, names = (target.mask, *others), (target.category, *names)
        yield Instance(
            # a place in the ref, since nothing says that sent_id is unique
            id=check_id(f"{target.frame.stem}/{ref.id}/{place + 1}"),
            clip=target.frame.stem,
            query=Query(sentence.text),
            moments=(Moment(frame=target.frame, target=None if sentence.absent else target.mask, others=others),),
            split=ref.split,
            category="" if sentence.absent else target.category,
            template=template_of(sentence.text),
            others=names,
            absent=sentence.absent,
            source=found.file,
        )


def _errors(found: _Found) -> tuple[ListError, ...]:
    return (*found.errors, *((None, error) for error in found.pictures.errors))


def _notes(found: _Found) -> tuple[str, ...]:
    splits: dict[str, int] = {}
    for ref in found.refs:
        splits[ref.split or "no split"] = splits.get(ref.split or "no split", 0) + len(ref.sentences)
    told = f"{counted(sum(splits.values()), 'sentence')}: {', '.join(f'{name} {n}' for name, n in splits.items())}"
    return (*found.notes, *((told,) if splits else ()), *found.pictures.notes())


DATASET = RefCocoDataset()
