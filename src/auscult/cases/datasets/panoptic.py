"""COCO panoptic: a json whose ``segments_info`` names colours of PNG files, one colour an object.

INPUT is the json, or a folder that holds one, or holds it in ``annotations/``; of several the first by name is read,
which is said. The PNG files stand in the folder that is named like the json, or in ``--masks``; the pictures in
``--images``, or in INPUT, in ``images/`` or in the folder named like the json without ``panoptic_``. Ids are
``<picture's stem>/<segment id>``. Regions without objects ("stuff") and crowds are left out, which is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.datasets.coco import MAX_FILE_BYTES, CocoFile, is_panoptic
from auscult.cases.fields import load
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems, few
from auscult.cases.walk import boundary, chosen, is_folder, suffix, within
from auscult.errors import InputError, NothingToDo
from auscult.types import Item, MaskRef, Metadata

_LARGEST = 256**3 - 1
_EXPECTED = "COCO panoptic, where each annotation has 'file_name' and 'segments_info'"


class PanopticDataset:
    """Objects as colours of PNG files that a json names."""

    name = "datasets.panoptic.v1"
    meta = Metadata(
        summary="COCO panoptic: a json with segments_info, beside the folder of its PNG files",
        goal="lists the objects of panoptic annotations and predictions",
        modality="mask",
        source="Kirillov et al. 2019; COCO panoptic format",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is such a json, or a folder that holds one."""
        return options.frames is None and options.instances is None and next(_files(source), None) is not None

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object of every picture."""
        refuse_options(options, "frames", "instances", layout="COCO panoptic; its pictures are in --images")
        files = list(_files(source))
        file = files[0] if files else source
        data = load(file, max_bytes=MAX_FILE_BYTES)
        masks = file.with_suffix("") if options.masks is None else chosen(source, options.masks, "")
        if not is_folder(masks):
            raise NothingToDo(f"there is no folder {masks}", path=file, hint="name the PNG files with --masks DIR")
        pictures = options.images or _pictures(data, file, source)
        coco = CocoFile(data, file, options=replace(options, images=pictures), needs=("images", "annotations"))
        regions = {str(row.get("id")) for row in data.get("categories", ()) if isinstance(row, dict) and _is_stuff(row)}
        base = boundary(masks, source=source if is_folder(source) else file.parent, root=options.root)
        items, problems, stuff = list[Item](), Problems(), 0
        for number, row in enumerate(data["annotations"], start=1):
            with problems.skipping(file, key=f"entry {number}"):
                for segment in _segments(row):
                    if str(segment.get("category_id")) in regions or segment.get("iscrowd"):
                        stuff += 1
                        continue
                    items.append(_item(segment, row, coco=coco, path=within(base, home=masks, name=row["file_name"])))
        notes = [f"{counted(stuff, 'area')} of no single object (stuff, crowds) left out"] if stuff else []
        if len(files) > 1:
            names = few([path.name for path in files[1:]])
            notes.append(f"{file.name} is read; {names} not: each json is an INPUT of its own")
        return Listing(tuple(items), tuple(problems.found), self.name, tuple(notes))


def _is_stuff(category: Mapping[str, Any]) -> bool:
    return not category.get("isthing", 1)


def _files(source: Path) -> Iterator[Path]:
    """The json of an INPUT; of a folder those in it and then those in its ``annotations/``, by name."""
    if not is_folder(source):
        if suffix(source.name) == ".json" and is_panoptic(source):
            yield source
        return
    for folder in (source, source / "annotations"):
        candidates = (path for path in sorted(folder.glob("*.json")) if is_folder(path.with_suffix("")))
        yield from filter(is_panoptic, candidates)


def _pictures(data: object, file: Path, source: Path) -> Path:
    """The first folder of the usual ones in which a picture of the json stands."""
    home = source if is_folder(source) else file.parent
    short = file.stem.removeprefix("panoptic_")
    rows = data.get("images") if isinstance(data, dict) else None
    names = [row["file_name"] for row in rows or () if isinstance(row, dict) and isinstance(row.get("file_name"), str)]
    for folder in (home / short, home / "images" / short, home / "images", home):
        if any(_is_there(folder, name) for name in names[:20]):
            return folder
    raise NothingToDo(
        "the pictures are not found", path=file, expected=f"{short}/ or images/", hint="name them with --images FOLDER"
    )


def _is_there(folder: Path, name: str) -> bool:
    try:
        return within(folder, home=folder, name=name).is_file()
    except (InputError, OSError, ValueError):
        return False


def _segments(row: object) -> Iterator[Mapping[str, Any]]:
    segments = row.get("segments_info") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(segments, list):
        raise InputError(f"'segments_info' is {fields.kind(segments)}", expected=_EXPECTED)
    fields.required(row, "file_name")
    for segment in segments:
        index = segment.get("id") if isinstance(segment, dict) else None
        if type(index) is not int or not 0 < index <= _LARGEST:
            raise InputError(f"a segment's id is {shown(str(index))}", expected=f"a whole number from 1 to {_LARGEST}")
        yield segment


def _item(segment: Mapping[str, Any], row: Mapping[str, Any], *, coco: CocoFile, path: Path) -> Item:
    picture = coco.picture(row.get("image_id"))
    extra: dict[str, Any] = {"annotation_id": segment["id"], "image_id": row["image_id"]}
    if (category := coco.category(segment)) is not None:
        extra |= {"category_id": segment["category_id"], "category": category}
    return Item(
        id=check_id(f"{picture.path.stem}/{segment['id']}"),
        frame=picture.path,
        mask=MaskRef(path=path, index=segment["id"], rgb=True),
        extra=extra,
        source=coco.path,
    )


DATASET = PanopticDataset()
