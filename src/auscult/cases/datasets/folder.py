"""Frames and masks that are matched by name: a plain folder, PASCAL VOC, masks beside their pictures.

A plain folder: ``frames/`` and ``masks/``, matched by name; ``images/`` and ``labels/`` or ``annotations/`` as well.

``masks/<stem>.png`` is the candidate of ``frames/<stem>.jpg``; ``masks/<stem>/*.png`` are several. Clips are folders:
``frames/<clip>/<stem>.jpg`` with ``masks/<clip>/<stem>.png``. A palette PNG holds one object per index. Where
``truth/`` stands beside them, ``truth/<stem>.png`` is the true mask. Ids are the mask's name, ``<stem>``,
``<stem>#<index>``, ``<stem>/<name>``, with the clip in front. ``_mask``, ``_seg`` or ``_gt`` may end a mask's name. In
``labels/`` and ``annotations/`` grey values that could be no soft mask are object indices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from auscult.cases.datasets.base import Layout, file_names
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.pairs import Pairing, pair
from auscult.cases.walk import (
    MASK_FOLDERS,
    PICTURE_FOLDERS,
    Tree,
    boundary,
    chosen,
    first_files,
    is_folder,
    stem,
    subfolders,
    suffix,
    unmarked,
    walk,
)
from auscult.errors import NothingToDo
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.types import Metadata

_TEXTS = frozenset({".txt", ".json"})
_OTHER_LAYOUTS = ("items.jsonl", "train_test_meta_files")


class FolderDataset:
    """Frames and masks in two folders, matched by name."""

    name = "datasets.folder.v1"
    takes_objects = True
    meta = Metadata(
        summary="frames/ or images/ with masks/, labels/ or annotations/, matched by name; truth/ where it is known",
        goal="lists a person's own masks without a file that names them",
        modality="mask",
        source="auscult's own layout",
        truth="truth/<stem>.png, when there",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a folder with ``frames/`` or ``masks/``, or an option names one; ``items.jsonl`` goes first.

        Masks in text files are another layout's.
        """
        if not source.is_dir():
            return False
        masks = _folder(source, options, which="masks")
        if options.frames is not None or options.masks is not None:
            return not _texts_only(masks) and (options.frames is not None or not (source / "JPEGImages").is_dir())
        if any((source / name).exists() for name in _OTHER_LAYOUTS):
            return False
        pictures = _folder(source, options, which="frames")
        has_folder = (source / "frames").is_dir() or (source / "masks").is_dir()
        return (has_folder and not _texts_only(masks)) or (is_folder(pictures) and _endings(masks, MASK_SUFFIXES))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the masks that have a frame."""
        refuse_options(options, "images", "instances", layout="a folder of frames and masks")
        frames = _tree(source, options, which="frames")
        masks = _tree(source, options, which="masks")
        truth_folder = masks.folder.parent / "truth"
        truth = None
        if truth_folder.is_dir():
            truth = walk(truth_folder, root=boundary(truth_folder, source=source, root=options.root))
        clip = source.resolve().name or None
        labels = options.labels or (None if masks.folder.name in MASK_FOLDERS[1:] else False)
        clips = options.frames is not None or frames.folder.name == "frames"  # images/train/ is no video
        pairing = Pairing(
            frames=frames, masks=masks, truth=truth, clip=clip, clips=clips, labels=labels, objects=options.objects
        )
        return pair(pairing).listing(self.name)


def _folder(source: Path, options: ListOptions, *, which: str) -> Path:
    """The folder that an option names, else the first of the known names that is there, else the first of them."""
    option, names = (options.frames, PICTURE_FOLDERS) if which == "frames" else (options.masks, MASK_FOLDERS)
    return chosen(source, option, next((name for name in names if (source / name).is_dir()), names[0]))


def _texts_only(folder: Path) -> bool:
    return not _endings(folder, MASK_SUFFIXES) and _endings(folder, _TEXTS)


def _endings(folder: Path, endings: frozenset[str]) -> bool:
    """Whether one of the first files below a folder has one of the endings."""
    return any(suffix(path.name) in endings for path in first_files(folder))


def _tree(source: Path, options: ListOptions, *, which: str) -> Tree:
    folder = _folder(source, options, which=which)
    if not is_folder(folder):
        itself = which == "frames" and options.frames is None and _endings(source, FRAME_SUFFIXES)
        raise NothingToDo(
            f"there is no folder {folder}",
            path=source,
            expected="a folder with frames/ and masks/",
            hint=f"name the folder with --{which} {source if itself else 'DIR'}",
        )
    return walk(folder, root=boundary(folder, source=source, root=options.root))


DATASET = FolderDataset()


_PHOTOGRAPHS = "JPEGImages"
_OBJECTS, _CLASSES = "SegmentationObject", "SegmentationClass"


class VocDataset(Layout):
    """PASCAL VOC: ``JPEGImages/`` with ``SegmentationObject/``, palette masks of one object an index; 255 is void.

    Where only ``SegmentationClass/`` is there, its indices are classes, and what is drawn in one class is one mask.
    ``--masks`` picks other candidates, a folder of the same names; the objects are then the truth, matched by index.
    Pictures are photographs, of which most releases have masks for some only.
    """

    name = "datasets.voc.v1"
    takes_objects = True
    meta = Metadata(
        summary="PASCAL VOC: JPEGImages/ with SegmentationObject/, or with SegmentationClass/ alone",
        goal="lists photographs with the objects on them, as VOC and tools that export it write them",
        modality="mask",
        source="Everingham et al. 2010 (PASCAL VOC development kit)",
        truth="the objects, when --masks names other candidates",
    )
    described_as = "a PASCAL VOC folder"
    foreign_options = ("frames", "images", "instances")
    unused_options = ("frames", "images", "instances")

    def matches(self, source: Path) -> bool:
        """Whether both folders are there."""
        return (source / _PHOTOGRAPHS).is_dir() and any((source / name).is_dir() for name in (_OBJECTS, _CLASSES))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object."""
        self.check(source, options)
        true_masks = source / (_OBJECTS if (source / _OBJECTS).is_dir() else _CLASSES)
        masks = true_masks if options.masks is None else chosen(source, options.masks, "")
        if not is_folder(masks):
            raise NothingToDo(f"there is no folder {masks}", path=source, hint="name the candidates with --masks DIR")
        trees = [
            walk(folder, root=boundary(folder, source=source, root=options.root))
            for folder in (source / _PHOTOGRAPHS, masks, true_masks)
        ]
        truth = None if masks.resolve() == true_masks.resolve() else trees[2]
        pairing = Pairing(
            frames=trees[0],
            masks=trees[1],
            truth=truth,
            clips=False,
            labels=options.labels,
            objects=options.objects,
        )
        return pair(pairing).listing(self.name)


VOC = VocDataset()


_PICTURES = (".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".png")
"""Which of several files of one name is the picture: the first of these; a mask is never a JPEG."""


class BesideDataset(Layout):
    """Masks beside their pictures: ``x.png`` of ``x.jpg``, or ``x_mask.png``, ``x_seg.png``, ``x_gt.png``.

    Folders in it are taken as they are, each with its own pairs. Pictures are photographs. Ids are the mask's name, and
    ``#<index>`` for an object of a palette.
    """

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
        pairing = Pairing(
            frames=replace(tree, files=pictures),
            masks=replace(tree, files={name: tree.files[name] for name in masks}, errors=()),
            clips=False,
            labels=options.labels,
            objects=options.objects,
        )
        return pair(pairing).listing(self.name)


def _masks(names: Iterable[str]) -> list[str]:
    """Which of these names are masks of another one among them, in their order."""
    endings: dict[str, set[str]] = {}
    listed = [name for name in names if suffix(name) in FRAME_SUFFIXES | MASK_SUFFIXES]
    for name in listed:
        endings.setdefault(stem(name), set()).add(suffix(name))
    masks = []
    for name in listed:
        key, base = stem(name), unmarked(stem(name))
        picture = next((ending for ending in _PICTURES if ending in endings[key]), None)
        marked = base != key and bool(endings.get(base, set()) & FRAME_SUFFIXES)
        second = picture is not None and suffix(name) != picture
        if suffix(name) in MASK_SUFFIXES and (marked or second):
            masks.append(name)
    return masks


BESIDE = BesideDataset()
