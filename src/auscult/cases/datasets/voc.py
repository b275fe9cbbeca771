"""PASCAL VOC: ``JPEGImages/`` with ``SegmentationObject/``, palette masks of one object an index; 255 is void.

Where only ``SegmentationClass/`` is there, its indices are classes, and what is drawn in one class is one mask.
``--masks`` picks other candidates, a folder of the same names; the objects are then the truth, matched by index.
Pictures are photographs, of which most releases have masks for some only.
"""

from __future__ import annotations

from pathlib import Path

from auscult.cases.datasets.base import Layout
from auscult.cases.listing import Listing, ListOptions
from auscult.cases.pairs import Pairing, Pairs, pair
from auscult.cases.walk import boundary, chosen, is_folder, walk
from auscult.errors import NothingToDo
from auscult.types import Metadata

PICTURES = "JPEGImages"
OBJECTS, CLASSES = "SegmentationObject", "SegmentationClass"


class VocDataset(Layout):
    """Photographs and palette masks of their objects."""

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
        return (source / PICTURES).is_dir() and any((source / name).is_dir() for name in (OBJECTS, CLASSES))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object."""
        self.check(source, options)
        drawn = source / (OBJECTS if (source / OBJECTS).is_dir() else CLASSES)
        masks = drawn if options.masks is None else chosen(source, options.masks, "")
        if not is_folder(masks):
            raise NothingToDo(f"there is no folder {masks}", path=source, hint="name the candidates with --masks DIR")
        trees = [
            walk(folder, root=boundary(folder, source=source, root=options.root))
            for folder in (source / PICTURES, masks, drawn)
        ]
        truth = None if masks.resolve() == drawn.resolve() else trees[2]
        found = Pairs()
        pair(
            Pairing(
                frames=trees[0],
                masks=trees[1],
                truth=truth,
                clips=False,
                labels=options.labels,
                objects=options.objects,
            ),
            found,
        )
        return found.listing(self.name)


DATASET = VocDataset()
