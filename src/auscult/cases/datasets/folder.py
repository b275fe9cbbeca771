"""A plain folder: ``frames/`` and ``masks/``, matched by name.

``masks/<stem>.png`` is the candidate of ``frames/<stem>.jpg``; ``masks/<stem>/*.png`` are several. Clips are folders:
``frames/<clip>/<stem>.jpg`` with ``masks/<clip>/<stem>.png``. A palette PNG holds one object per index. Where
``truth/`` stands beside them, ``truth/<stem>.png`` is the true mask. Ids are the mask's name, ``<stem>``,
``<stem>#<index>``, ``<stem>/<name>``, with the clip in front.
"""

from __future__ import annotations

from pathlib import Path

from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.pairs import Pairing, Pairs, pair
from auscult.cases.walk import Tree, boundary, chosen, is_folder, walk
from auscult.errors import NothingToDo
from auscult.types import Metadata


class FolderDataset:
    """Frames and masks in two folders, matched by name."""

    name = "datasets.folder.v1"
    meta = Metadata(
        summary="frames/ and masks/, matched by name; truth/ beside them where it is known",
        goal="lists a person's own masks without a file that names them",
        modality="mask",
        source="auscult's own layout",
        truth="truth/<stem>.png, when there",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a folder with ``frames/`` or ``masks/``, or an option names one; ``items.jsonl`` goes first."""
        if not source.is_dir():
            return False
        if options.frames is not None or options.masks is not None:
            return True
        named = (source / "frames").is_dir() or (source / "masks").is_dir()
        return named and not (source / "items.jsonl").is_file() and not (source / "train_test_meta_files").is_dir()

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
        pair(Pairing(frames=frames, masks=masks, truth=truth, clip=clip, labels=options.labels), found)
        return found.listing(self.name)


def _tree(source: Path, options: ListOptions, *, which: str) -> Tree:
    given = options.frames if which == "frames" else options.masks
    folder = chosen(source, given, which)
    if not is_folder(folder):
        raise NothingToDo(
            f"there is no folder {folder}",
            path=source,
            expected="a folder with frames/ and masks/",
            hint=f"name the folder with --{which} DIR",
        )
    return walk(folder, root=boundary(folder, source=source, root=options.root))


DATASET = FolderDataset()
