"""A plain folder: ``frames/`` and ``masks/``, matched by name; ``images/`` and ``labels/`` or ``annotations/`` as well.

``masks/<stem>.png`` is the candidate of ``frames/<stem>.jpg``; ``masks/<stem>/*.png`` are several. Clips are folders:
``frames/<clip>/<stem>.jpg`` with ``masks/<clip>/<stem>.png``. A palette PNG holds one object per index. Where
``truth/`` stands beside them, ``truth/<stem>.png`` is the true mask. Ids are the mask's name, ``<stem>``,
``<stem>#<index>``, ``<stem>/<name>``, with the clip in front. ``_mask``, ``_seg`` or ``_gt`` may end a mask's name. In
``labels/`` and ``annotations/`` grey values that could be no soft mask are object indices.
"""

from __future__ import annotations

from pathlib import Path

from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.pairs import Pairing, Pairs, pair
from auscult.cases.walk import (
    MASK_FOLDERS,
    PICTURE_FOLDERS,
    Tree,
    boundary,
    chosen,
    first_files,
    is_folder,
    suffix,
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
        named = (source / "frames").is_dir() or (source / "masks").is_dir()
        return (named and not _texts_only(masks)) or (is_folder(pictures) and _endings(masks, MASK_SUFFIXES))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the masks that have a frame."""
        refuse_options(options, "images", "instances", layout="a folder of frames and masks")
        frames = _tree(source, options, which="frames")
        masks = _tree(source, options, which="masks")
        truth_folder = masks.folder.parent / "truth"
        truth = None
        if truth_folder.is_dir():
            truth = walk(truth_folder, root=boundary(truth_folder, source=source, root=options.root))
        found = Pairs()
        clip = source.resolve().name or None
        labels = options.labels or (None if masks.folder.name in MASK_FOLDERS[1:] else False)
        clips = options.frames is not None or frames.folder.name == "frames"  # images/train/ is no video
        pair(
            Pairing(
                frames=frames, masks=masks, truth=truth, clip=clip, clips=clips, labels=labels, objects=options.objects
            ),
            found,
        )
        return found.listing(self.name)


def _folder(source: Path, options: ListOptions, *, which: str) -> Path:
    """The folder that an option names, else the first of the known names that is there, else the first of them."""
    given, names = (options.frames, PICTURE_FOLDERS) if which == "frames" else (options.masks, MASK_FOLDERS)
    return chosen(source, given, next((name for name in names if (source / name).is_dir()), names[0]))


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
