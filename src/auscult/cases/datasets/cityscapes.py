"""Cityscapes: ``<image>_gtFine_instanceIds.png`` of ``<image>_leftImg8bit.png``, at any depth of one folder.

A pixel of an object holds 1000 times its class and a number, which is one mask; smaller values are classes, or groups
whose objects nobody told apart, and are left out, which is said. ``x_instanceIds.png`` of ``x.jpg`` is read as well.
Of several pictures of one name the one in the folder most alike counts; ids of such masks have their folder in front.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from operator import eq
from pathlib import Path

from auscult.cases.datasets.base import Layout
from auscult.cases.ids import check_id, counted, safe_id
from auscult.cases.listing import Listing, ListOptions
from auscult.cases.problems import Problems
from auscult.cases.walk import boundary, first_files, is_folder, stem, suffix, walk
from auscult.errors import InputError
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.masks import object_indices
from auscult.types import Item, MaskRef, Metadata

_MASK = re.compile(r"(?:_gtFine|_gtCoarse)?_instanceIds\.png$")
_PICTURE = "_leftImg8bit"
_LEAST = 1000
_CLASSES = {
    24: "person",
    25: "rider",
    26: "car",
    27: "truck",
    28: "bus",
    29: "caravan",
    30: "trailer",
    31: "train",
    32: "motorcycle",
    33: "bicycle",
}
_EXPECTED = f"<image>{_PICTURE}.png for <image>_gtFine_instanceIds.png"


class CityscapesDataset(Layout):
    """Street scenes with a number for each object."""

    name = "datasets.cityscapes.v1"
    meta = Metadata(
        summary="Cityscapes: *_instanceIds.png of *_leftImg8bit.png, in any folders",
        goal="lists the objects of street scenes, and of tools that write this form",
        modality="mask",
        source="Cordts et al. 2016 (Cityscapes, labels.py)",
    )
    described_as = "a Cityscapes folder"
    foreign_options = ("frames", "masks", "images", "instances")

    def matches(self, source: Path) -> bool:
        """Whether a file of object numbers is among the first ones."""
        if not is_folder(source) or (source / "items.jsonl").exists():
            return False
        return any(_MASK.search(path.name) for path in first_files(source))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object of every picture."""
        self.check(source, options)
        tree = walk(source, root=boundary(source, source=source, root=options.root))
        pictures = _pictures(tree.files)
        masks = {file: _MASK.sub("", path.name) for file, path in tree.files.items() if _MASK.search(path.name)}
        same = Counter(masks.values())
        problems, items, areas = Problems(), list[Item](), 0
        problems.take(tree.errors)
        for file, name in masks.items():
            path, key = tree.files[file], _MASK.sub("", file) if same[name] > 1 else name
            try:
                objects = _objects(path, key, _picture(file, pictures.get(name, {})))
                items += objects
                areas += len(object_indices(path, labels=True) or ()) - len(objects)
            except InputError as error:
                problems.add(error, error.path or path, item=safe_id(key))
        notes = (f"{counted(areas, 'area')} of a class or group left out: no single object",) if areas else ()
        return Listing(tuple(items), tuple(problems.found), self.name, notes)


def _pictures(files: Mapping[str, Path]) -> dict[str, dict[str, Path]]:
    """Pictures that may have objects, by name and file; ``_leftImg8bit`` first."""
    listed: dict[str, dict[str, Path]] = {}
    for file in sorted(files, key=lambda file: not stem(file).endswith(_PICTURE)):
        path = files[file]
        if suffix(path.name) in FRAME_SUFFIXES and not _MASK.search(path.name):
            listed.setdefault(stem(path.name).removesuffix(_PICTURE), {})[file] = path
    return listed


def _picture(mask: str, pictures: Mapping[str, Path]) -> Path | None:
    """Of pictures of one name the one whose folders agree most with the mask's, at their beginning and end."""
    folders = mask.split("/")[:-1]

    def alike(file: str) -> int:
        others = file.split("/")[:-1]
        return _agreeing(folders, others) + _agreeing(folders[::-1], others[::-1])

    return pictures[max(pictures, key=alike)] if pictures else None


def _agreeing(first: Sequence[str], second: Sequence[str]) -> int:
    return sum(takewhile(bool, map(eq, first, second)))


def _objects(path: Path, name: str, picture: Path | None) -> list[Item]:
    if picture is None:
        raise InputError(
            "there is no picture of this name",
            expected=_EXPECTED,
            hint="give the folder that holds both trees, leftImg8bit/ and gtFine/",
        )
    return [
        Item(
            id=check_id(f"{name}#{value}"),
            frame=picture,
            mask=MaskRef(path=path, index=value, labels=True),
            extra={"category": _CLASSES[value // _LEAST]} if value // _LEAST in _CLASSES else {},
            source=path,
        )
        for value in object_indices(path, labels=True) or ()
        if value >= _LEAST
    ]


DATASET = CityscapesDataset()
