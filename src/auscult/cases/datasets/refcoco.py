"""RefCOCO, RefCOCO+ and RefCOCOg as released: ``refs(<split by>).p`` beside ``instances.json``, with ``--images``.

A ref is an annotation and its sentences. Each sentence is an instance: its target is the annotation's mask, the others
are the other annotations of the picture, crowd regions left out. As items, each ref is listed once with its first
sentence. Splits are those of the file: train, val, testA, testB or test. The pickle is read without executing anything
(``cases/safe_pickle``); ``refs(<split by>).json`` holds the same as JSON. A sentence with ``exist`` false, as R-RefCOCO
adds them, refers to nothing.

Where a folder holds several files of refs, the split most papers use is taken (``unc``, then ``umd``, then others by
name), and a note says so; name a file to choose it.

Fields as in REFER (Yu et al. 2016; github.com/lichengunc/refer): ``ref_id ann_id image_id category_id file_name split
sentences[sent raw tokens sent_id] sent_ids``. The released files themselves were not at hand; tests write files of
exactly this structure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.datasets.base import ListedPart, ReferringLayout, file_names
from auscult.cases.datasets.coco import MAX_FILE_BYTES, CocoFile, folder_of, segmentation_of
from auscult.cases.datasets.refavs import template_of
from auscult.cases.fields import load
from auscult.cases.ids import check_id, counted
from auscult.cases.listing import ListOptions, refuse_options
from auscult.cases.problems import Problems, required_file
from auscult.cases.references import AnnotatedPicture, Reference, ReferenceListing, Sentence
from auscult.cases.safe_pickle import load_pickle
from auscult.cases.walk import is_file
from auscult.errors import InputError, NothingToDo
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

_REFS = re.compile(r"^refs\((\w+)\)\.(?:p|json)$")
_FIRST = ("unc", "umd")
_INSTANCES = "instances.json"
_MOST = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class _RefSentence:
    text: str
    absent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ref:
    id: int
    annotation: int
    split: str
    sentences: tuple[_RefSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """An annotation, its picture, and the other annotations of the picture in the order of the file, without crowds."""

    frame: Path
    mask: MaskRef
    category: str
    others: tuple[MaskRef, ...]
    names: tuple[str, ...]


class _RefCoco(ListedPart):
    """Refs that can be used, in the order of the file, and what is wrong with the rest."""

    def __init__(self, file: Path, coco: CocoFile, problems: Problems) -> None:
        self.file = file
        self.coco = coco
        self.problems = problems
        self.notes = []
        self.refs: list[_Ref] = []
        self._crowds = 0
        self._missing: dict[object, InputError] = {}
        self._on_image: dict[object, list[Mapping[str, Any]]] = {}
        for row in coco.annotations.values():
            if isinstance(row.get("image_id"), int) and not row.get("iscrowd"):
                self._on_image.setdefault(row["image_id"], []).append(row)

    def items(self) -> Iterator[Item]:
        """The object of every ref, with its first sentence."""
        for ref in self.refs:
            target = self.target(ref.annotation)
            yield Item(
                id=check_id(f"{target.frame.stem}/{ref.id}"),
                frame=target.frame,
                mask=target.mask,
                query=Query(next((sentence.text for sentence in ref.sentences if not sentence.absent), None)),
                others=target.others,
                extra={
                    "ref_id": ref.id,
                    "ann_id": ref.annotation,
                    "split": ref.split,
                    "category": target.category,
                    "sentences": len(ref.sentences),
                },
                source=self.file,
            )

    def instances(self) -> Iterator[Instance]:
        """Every sentence, by its number in the ref, since nothing says that sent_id is unique."""
        for ref in self.refs:
            target = self.target(ref.annotation)
            for number, sentence in enumerate(ref.sentences, start=1):
                others, names = target.others, target.names
                if sentence.absent:  # nothing is meant, so the annotation is one more object beside it
                    others, names = (target.mask, *others), (target.category, *names)
                true = None if sentence.absent else target.mask
                yield Instance(
                    id=check_id(f"{target.frame.stem}/{ref.id}/{number}"),
                    clip=target.frame.stem,
                    query=Query(sentence.text),
                    moments=(Moment(frame=target.frame, target=true, others=others),),
                    split=ref.split,
                    category="" if sentence.absent else target.category,
                    template=template_of(sentence.text),
                    others=names,
                    absent=sentence.absent,
                    reference=f"{target.frame.stem}/{ref.id}",
                    source=self.file,
                )

    def read(self) -> None:
        """Read the refs, and note how many sentences each split has, and what was left out on purpose."""
        with required_file(self.file):
            plain = self.file.suffix == ".json"
            rows = load(self.file, max_bytes=MAX_FILE_BYTES) if plain else load_pickle(self.file)
        if not isinstance(rows, list):
            raise NothingToDo(f"the file holds {fields.kind(rows)}", expected="a list of refs", path=self.file)
        ref_ids: set[int] = set()
        for number, row in enumerate(rows, start=1):
            with self.problems.skipping(self.file, key=f"ref {number}"):
                ref = self._ref(row, number)
                if ref.id in ref_ids:
                    raise InputError(
                        f"the ref_id {ref.id} is used twice", expected="ids that are unique", hint="drop one of the two"
                    )
                if ref.sentences and self._usable(ref.annotation):
                    ref_ids.add(ref.id)
                    self.refs.append(ref)
        for error in self._missing.values():
            self.problems.add(error, error.path or self.coco.path)
        splits: Counter[str] = Counter()
        for ref in self.refs:
            splits[ref.split or "no split"] += len(ref.sentences)
        if splits:
            per_split = ", ".join(f"{name} {count}" for name, count in splits.items())
            self.notes.append(f"{counted(splits.total(), 'sentence')}: {per_split}")
        if self._crowds:
            left_out = f"{counted(self._crowds, 'ref')} to a crowd region left out"
            self.notes.append(f"{left_out}: a crowd is no single object")

    def _ref(self, row: object, number: int) -> _Ref:
        """A ref with the sentences that can be used; one that cannot costs itself."""
        if not isinstance(row, dict):
            raise InputError(f"it is {fields.kind(row)}", expected="an object with ref_id, ann_id and sentences")
        entries = row.get("sentences")
        if not isinstance(entries, list | tuple) or not entries:
            raise InputError("there are no 'sentences'", expected="a list of objects with sent_id and sent")
        name, annotation, split = _integer(row, "ref_id"), _integer(row, "ann_id"), fields.text(row, "split") or ""
        sentences = []
        for position, entry in enumerate(entries, start=1):
            with self.problems.skipping(self.file, key=f"ref {number}, sentence {position}"):
                sentences.append(_sentence(entry))
        return _Ref(id=name, annotation=annotation, split=split, sentences=tuple(sentences))

    def _usable(self, annotation: int) -> bool:
        """Whether an annotation has a picture; False for crowds and missing pictures, each reported once."""
        row = self.coco.annotations.get(annotation)
        if row is None:
            expected = f"an id in {self.coco.path.name}"
            raise InputError(f"ann_id {annotation} is none of the annotations", expected=expected)
        if row.get("iscrowd"):
            self._crowds += 1
            return False
        segmentation_of(row)
        try:
            self.coco.picture(row.get("image_id"))
        except InputError as error:
            self._missing.setdefault(repr(row.get("image_id")), error)
            return False
        return True

    def target(self, annotation: int) -> _Target:
        """An annotation that is usable, with all that is around it."""
        row = self.coco.annotations[annotation]
        picture = self.coco.picture(row["image_id"])
        others = [
            other
            for other in self._on_image[row["image_id"]]
            if other["id"] != annotation
            and other.get("segmentation")
            and isinstance(other["segmentation"], dict | list)
        ]
        return _Target(
            frame=picture.path,
            mask=MaskRef(segmentation=segmentation_of(row), size=picture.size),
            category=self.coco.category(row) or "",
            others=tuple(MaskRef(segmentation=other["segmentation"], size=picture.size) for other in others),
            names=tuple(self.coco.category(other) or "" for other in others),
        )

    def listing(self, layout: str, split: str) -> ReferenceListing:
        """The pictures of the refs, in the order in which refs name them first; made when they are asked for."""
        on_image: dict[int, list[_Ref]] = {}
        for ref in self.refs:
            if split in {"", ref.split}:
                on_image.setdefault(self.coco.annotations[ref.annotation]["image_id"], []).append(ref)
        return ReferenceListing(
            pictures=lambda: (self._picture(key, refs) for key, refs in on_image.items()),
            count=sum(map(len, on_image.values())),
            layout=layout,
            looked_for=frozenset(self.coco.categories.values()),
            errors=tuple(self.problems.found),
            notes=tuple(self.notes),
            seen=self.coco.seen,
            files=(self.file, self.coco.path),
        )

    def _picture(self, key: int, refs: Sequence[_Ref]) -> AnnotatedPicture:
        picture = self.coco.picture(key)
        references = tuple(
            Reference(
                id=f"{picture.path.stem}/{ref.id}",
                target=str(ref.annotation),
                sentences=tuple(
                    Sentence(text=sentence.text, exists=not sentence.absent, kind="given" if sentence.absent else "")
                    for sentence in ref.sentences
                ),
                split=ref.split,
            )
            for ref in refs
        )
        return AnnotatedPicture(
            id=str(key),
            path=picture.path,
            size=picture.size,
            objects=self.coco.objects(key),
            references=references,
            looked_for=self.coco.looked_for(key),
        )


class RefCocoDataset(ReferringLayout):
    """Sentences over COCO annotations."""

    name = "datasets.refcoco.v1"
    meta = Metadata(
        summary="RefCOCO, RefCOCO+, RefCOCOg: refs(<split by>).p and instances.json, with --images FOLDER",
        goal="lists human sentences that name one object of a photograph",
        modality="image",
        source="Yu et al. 2016, Mao et al. 2016, Kazemzadeh et al. 2014; layout of lichengunc/refer",
        truth="the annotation a ref names in ann_id",
    )
    described_as = "RefCOCO; its pictures are named by --images"
    unused_options = ("frames", "masks")

    def matches(self, source: Path) -> bool:
        """Whether it is a file ``refs(...).p``, or a folder with one."""
        if _REFS.match(source.name) is not None and is_file(source):
            return True
        return bool(_refs_files(source))

    def references(self, source: Path, options: ListOptions, *, split: str = "") -> ReferenceListing:
        """Every ref with all its sentences; the pictures may be missing where --images is not given."""
        problems = Problems()
        (part,) = self._open(source, options, problems, unseen=True)
        return part.listing(self.name, split)

    def open(self, source: Path, options: ListOptions, problems: Problems) -> Sequence[_RefCoco]:
        """Read the refs of one file."""
        folder_of(options, source)
        return self._open(source, options, problems)

    def _open(
        self, source: Path, options: ListOptions, problems: Problems, *, unseen: bool = False
    ) -> Sequence[_RefCoco]:
        refuse_options(options, *self.unused_options, layout=self.described_as)
        file, *others = [source] if is_file(source) else _refs_files(source)
        instances = options.instances or file.parent / _INSTANCES
        data = load(instances, max_bytes=MAX_FILE_BYTES)
        coco = CocoFile(data, instances, options=options, needs=("images", "annotations"), unseen=unseen)
        part = _RefCoco(file, coco, problems)
        if others:
            names = ", ".join(path.name for path in others)
            part.notes.append(f"{file.name} was read; name a file to read {names} instead")
        part.read()
        return [part]


def _refs_files(folder: Path) -> list[Path]:
    """The files of refs in a folder, the usual split first."""
    files = {match[1]: folder / name for name in file_names(folder) if (match := _REFS.match(name))}
    order = [*(name for name in _FIRST if name in files), *sorted(files.keys() - set(_FIRST))]
    return [files[name] for name in order]


def _sentence(row: object) -> _RefSentence:
    if not isinstance(row, dict):
        raise InputError(f"a sentence is {fields.kind(row)}", expected="an object with sent_id and sent")
    texts = [fields.text(row, key) for key in ("raw", "sent")]
    text = next((value.strip() for value in texts if value and value.strip()), None)
    if text is None:
        raise InputError("a sentence is empty", expected="'raw' or 'sent' is a text")
    _integer(row, "sent_id")
    return _RefSentence(text=text, absent=row.get("exist") is False)


def _integer(row: Mapping[str, Any], key: str) -> int:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _MOST:
        raise fields.wrong(key, value, "a whole number of at most 18 digits")
    return value


DATASET = RefCocoDataset()
