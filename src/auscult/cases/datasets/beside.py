"""Masks beside their pictures in one folder: ``x.png`` of ``x.jpg``, or ``x_mask.png``, ``x_seg.png``, ``x_gt.png``.

Folders in it are taken as they are, each with its own pairs. Pictures are photographs. Ids are the mask's name, and
``#<index>`` for an object of a palette.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from auscult.cases.datasets.base import Layout, file_names
from auscult.cases.listing import Listing, ListOptions
from auscult.cases.pairs import Pairing, Pairs, pair
from auscult.cases.walk import MASK_FOLDERS, PICTURE_FOLDERS, boundary, stem, subfolders, suffix, unmarked, walk
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.types import Metadata

_PICTURES = (".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".png")
"""Which of several files of one name is the picture: the first of these; a mask is never a JPEG."""


class BesideDataset(Layout):
    """Pictures and masks side by side."""

    name = "datasets.beside.v1"
    takes_objects = True
    unmarked_by = (*PICTURE_FOLDERS, *MASK_FOLDERS, "JPEGImages", "items.jsonl")
    meta = Metadata(
        summary="x.jpg beside x.png, or x with x_mask, x_seg or x_gt, in one folder",
        goal="lists masks that were saved next to their pictures",
        modality="mask",
        source="auscult's own layout",
    )
    described_as = "a folder of pictures with their masks beside them"
    unused_options = ("frames", "masks", "images", "instances")
    foreign_options = ("frames", "masks", "images", "instances")

    def matches(self, source: Path) -> bool:
        """Whether a picture and its mask stand in the folder, or in each of the folders in it."""
        if not source.is_dir():
            return False
        if _masks(file_names(source)):
            return True
        folders = subfolders(source)
        return bool(folders) and all(_masks(file_names(folder)) for folder in folders)

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the masks that have a picture."""
        self.check(source, options)
        tree = walk(source, root=boundary(source, source=source, root=options.root))
        masks = _masks(tree.files)
        pictures = {name: path for name, path in tree.with_suffix(FRAME_SUFFIXES).items() if name not in masks}
        found = Pairs()
        pairing = Pairing(
            frames=replace(tree, files=pictures),
            masks=replace(tree, files={name: tree.files[name] for name in masks}, errors=()),
            clips=False,
            labels=options.labels,
            objects=options.objects,
        )
        pair(pairing, found)
        return found.listing(self.name)


def _masks(names: Iterable[str]) -> list[str]:
    """Which of these names are masks of another one among them, in their order."""
    endings: dict[str, set[str]] = {}
    listed = [name for name in names if suffix(name) in FRAME_SUFFIXES | MASK_SUFFIXES]
    for name in listed:
        endings.setdefault(stem(name), set()).add(suffix(name))
    found = []
    for name in listed:
        own, base = stem(name), unmarked(stem(name))
        picture = next((ending for ending in _PICTURES if ending in endings[own]), None)
        marked = base != own and bool(endings.get(base, set()) & FRAME_SUFFIXES)
        second = picture is not None and suffix(name) != picture
        if suffix(name) in MASK_SUFFIXES and (marked or second):
            found.append(name)
    return found


DATASET = BesideDataset()
