"""YouTube-VOS 2018 and 2019, and Ref-YouTube-VOS, as released.

::

    valid/JPEGImages/<video>/00000.jpg           every fifth frame of a video of 30 a second, or every frame
    valid/Annotations/<video>/00000.png          palette, index = object
    valid/meta.json                              {"videos": {<video>: {"objects": {"1": {"category", "frames"}}}}}
    meta_expressions/<split>/meta_expressions.json   {"videos": {<video>: {"expressions": {"0": {"exp", "obj_id"}},
                                                 "frames"}}}

INPUT is a split (``valid/``, with ``meta.json`` or ``meta_expressions.json`` in it) or the folder of the splits. Where
there are expressions, each is an instance; else each object is one, from its first annotated frame on. A frame without
an annotation is a moment without truth; an object that is not drawn on an annotated frame is out of the picture.

The released ``valid`` has of each object the first mask only, and its later files may draw new objects only: there a
file is truth for the objects it draws, and for no other. Expressions without ``obj_id`` (``valid`` and ``test`` of
Ref-YouTube-VOS) are left out: nothing can be scored there.

An object is ``unseen`` in ``Instance.split`` where its category stands in ``unseen_categories.txt`` (one a line, beside
``meta.json`` or in INPUT), or, without that file, in no training video of ``train/meta.json`` in INPUT or beside it. An
expression's split is that of its folder.

Sources: Xu et al. 2018 (YouTube-VOS), Seo et al. 2020 (URVOS); layout as read by wjn922/ReferFormer and
visionml/pytracking. The releases were not at hand; tests write trees of exactly this structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from auscult.cases.datasets.davis import DATASET as DAVIS
from auscult.cases.datasets.ytvos_instances import Found, expressions, objects
from auscult.cases.datasets.ytvos_meta import read_sentences
from auscult.cases.datasets.ytvos_parts import FRAMES, MASKS, Part, parts_of, splits_of
from auscult.cases.datasets.ytvos_videos import check_inside
from auscult.cases.ids import shown
from auscult.cases.instances import InstanceListing
from auscult.cases.listing import ListError, Listing, ListOptions, refuse_options
from auscult.cases.walk import base_folder, boundary, is_file, is_folder
from auscult.errors import ErrorRecord, InputError
from auscult.types import Instance, Item, Metadata, Query


class YtvosDataset:
    """Objects and expressions of YouTube-VOS."""

    name = "datasets.ytvos.v1"
    meta = Metadata(
        summary="YouTube-VOS and Ref-YouTube-VOS: JPEGImages/, Annotations/, meta.json or meta_expressions.json",
        goal="lists objects that appear late, seen and unseen categories, and sentences on videos",
        modality="video",
        source="Xu et al. 2018 (YouTube-VOS); Seo et al. 2020 (URVOS)",
        truth="the palette masks in Annotations/",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a split or a folder of splits; ``frames`` or ``masks`` name another layout."""
        if options.frames is not None or options.masks is not None or is_file(source / "items.jsonl"):
            return False
        return is_folder(source) and bool(parts_of(source))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object of every annotated frame, as a DAVIS folder lists them, with its first expression.

        Raises:
            NothingToDo: A file that says what is there cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        items: list[Item] = []
        errors: list[ListError] = []
        notes: list[str] = []
        for part in _opened(source, options):
            if not is_folder(part.folder / MASKS):
                notes.append(f"there is no folder {MASKS} in {part.split or 'it'}")
                continue
            texts, told = _texts(part)
            listing = DAVIS.list(part.folder, replace(options, root=options.root or source))
            items += (_with_text(item, texts) for item in listing.items)
            errors += (*((None, error) for error in told), *listing.errors)
            notes += listing.notes
        return Listing(tuple(items), tuple(errors), self.name, tuple(notes))

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every expression, or every object where there are no expressions.

        Raises:
            NothingToDo: A file that says what is there cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        parts = _opened(source, options)
        read = [_read(part, source=source, root=options.root) for part in parts]
        kept, twice = _unique(one for found in read for one in found.instances)
        errors = (*(error for found in read for error in found.errors), *twice)
        notes = (*_left(source, parts), *(note for found in read for note in found.notes))
        return InstanceListing(
            instances=kept,
            errors=tuple((None, error) for error in errors),
            layout=self.name,
            notes=notes,
            unopened={frame: error for found in read for frame, error in found.unopened.items()},
        )


def _opened(source: Path, options: ListOptions) -> tuple[Part, ...]:
    refuse_options(options, "frames", "masks", "images", "instances", layout="a tree of YouTube-VOS")
    base_folder(source, options.root)  # which refuses a root that does not contain it
    parts = parts_of(source)
    for part in parts:
        for file in filter(None, (part.things, part.sentences)):
            check_inside(file, options.root or source)
        for top in (part.folder, part.folder / FRAMES, part.folder / MASKS):
            if is_folder(top) and top != source:  # a link out is told once, not once a video
                boundary(top, source=top.parent, root=options.root or source)
    return parts


def _read(part: Part, *, source: Path, root: Path | None) -> Found:
    limit = root or source
    return objects(part, source=source, root=limit) if part.sentences is None else expressions(part, root=limit)


def _left(source: Path, parts: tuple[Part, ...]) -> tuple[str, ...]:
    """Which splits of objects were not read."""
    if not parts or parts[0].sentences is not None:
        return ()
    others = [one.split for one in splits_of(source) if one.folder != parts[0].folder]
    return (f"{parts[0].split} was read; name a folder to read {', '.join(others)} instead",) if others else ()


def _texts(part: Part) -> tuple[dict[tuple[str, int], str], tuple[ErrorRecord, ...]]:
    """The first expression of every object."""
    if part.sentences is None:
        return {}, ()
    meta = read_sentences(part.sentences)
    texts: dict[tuple[str, int], str] = {}
    for told in meta.videos:
        for one in told.rows:
            if one.index is not None:
                texts.setdefault((told.video, one.index), one.text)
    return texts, meta.errors


def _with_text(item: Item, texts: Mapping[tuple[str, int], str]) -> Item:
    text = texts.get((item.clip or "", item.mask.index or 0))
    return item if text is None else replace(item, query=Query(text))


def _unique(instances: Iterator[Instance]) -> tuple[tuple[Instance, ...], tuple[ErrorRecord, ...]]:
    """Keep the first instance of every id: a video may stand in two splits."""
    first: dict[str, Instance] = {}
    errors = []
    for one in instances:
        if first.setdefault(one.id, one) is not one:
            twice = InputError(
                f"the id {shown(one.id)} is used twice; the first is kept",
                expected="ids that are unique within the INPUT",
                hint="drop one of the two",
                path=one.source,
            )
            errors.append(ErrorRecord.of(twice, "read"))
    return tuple(first.values()), tuple(errors)


DATASET = YtvosDataset()
