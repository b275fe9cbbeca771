"""DAVIS folders: several sequences of frames, palette masks whose index is the object.

Read are the released tree (``JPEGImages/[480p/]<video>/*.jpg`` with ``Annotations/[480p/]<video>/*.png``), a folder of
sequences that each hold ``frames/`` and ``masks/``, and one such sequence that also holds predictions (``pred*/``).
``--masks`` picks the candidates: a folder of videos, or the name of a folder in each sequence. The annotations are then
the truth, matched by object index; a truth of one object (DAVIS 2016) belongs to a candidate of one object.

Every frame should have a mask: one that cannot be opened, or is missing, costs its item, but its frame stays in the
clip (``cases.instances``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from auscult.cases.ids import counted
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.pairs import Pairing, Pairs, pair
from auscult.cases.walk import Tree, boundary, chosen, is_folder, subfolders, walk
from auscult.errors import NothingToDo
from auscult.types import Metadata

RESOLUTIONS = ("480p", "Full-Resolution", "1080p")
_ANNOTATIONS = ("Annotations", "Annotations_unsupervised")
_PREDICTIONS = "pred"
_OTHER_LAYOUTS = ("meta.json", "meta_expressions.json", "meta_expressions", "davis_text_annotations")
"""Files and folders that mark a more specific layout, which then reads the tree."""
_PHOTOGRAPHS = ("SegmentationObject", "SegmentationClass")
"""Folders of PASCAL VOC, whose JPEGImages/ holds photographs."""


@dataclass(frozen=True, slots=True)
class _Sequence:
    name: str
    frames: Path
    masks: Path
    truth: Path | None
    prefix: str


class DavisDataset:
    """Sequences of frames with one mask file a frame."""

    name = "datasets.davis.v1"
    takes_objects = True
    meta = Metadata(
        summary="DAVIS 2016 and 2017: JPEGImages/ and Annotations/, or sequences with frames/ and masks/",
        goal="lists video segmentations in the layout that video benchmarks share",
        modality="video",
        source="Perazzi et al. 2016; Pont-Tuset et al. 2017 (DAVIS releases)",
        truth="the annotations, when --masks names other candidates",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is the released tree, a folder of sequences, or a sequence whose predictions are chosen."""
        if options.masks is None and source.is_dir() and any((source / name).exists() for name in _OTHER_LAYOUTS):
            return False
        if not source.is_dir() or options.frames is not None or (source / "items.jsonl").is_file():
            return False
        if (source / "JPEGImages").is_dir():
            return not any((source / name).is_dir() for name in _PHOTOGRAPHS)
        if is_sequence(source):
            return _chooses_prediction(source, options.masks)
        return not (source / "masks").is_dir() and any(is_sequence(folder) for folder in subfolders(source))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object of every frame that has a mask, video by video."""
        refuse_options(options, "images", "instances", layout="a folder of sequences")
        released = (source / "JPEGImages").is_dir()
        sequences = _released(source, options) if released else _sequences(source, options)
        pairs, without = Pairs(), 0
        for sequence in sequences:
            if not is_folder(sequence.masks):
                without += 1
                continue
            pair(_pairing(sequence, source, options), pairs)
        if options.masks is not None and without and not pairs.items and not pairs.problems.found:
            raise NothingToDo("--masks names no folder of any video", path=options.masks, expected="a folder of masks")
        return pairs.listing(self.name, (f"{counted(without, 'video')} without masks",) if without else ())


def _pairing(sequence: _Sequence, source: Path, options: ListOptions) -> Pairing:
    def tree(folder: Path) -> Tree:
        return walk(folder, root=boundary(folder, source=source, root=options.root))

    truth = sequence.truth
    return Pairing(
        frames=tree(sequence.frames),
        masks=tree(sequence.masks),
        truth=None if truth is None or not truth.is_dir() else tree(truth),
        clip=sequence.name,
        prefix=sequence.prefix,
        labels=options.labels,
        objects=options.objects,
        whole=True,
    )


def _released(source: Path, options: ListOptions) -> Iterator[_Sequence]:
    frames = _resolution(source / "JPEGImages")
    annotations = next((source / name for name in _ANNOTATIONS if (source / name).is_dir()), None)
    truth = None if annotations is None else _resolution(annotations, frames.name)
    if options.masks is not None:
        candidates = chosen(source, options.masks, "")
    elif truth is not None:
        candidates, truth = truth, None
    else:
        raise NothingToDo("there is no folder Annotations", path=source, hint="name the candidates with --masks DIR")
    if not is_folder(candidates):
        raise NothingToDo(f"there is no folder {candidates}", path=source, hint="name the candidates with --masks DIR")
    candidates = _resolution(candidates, frames.name)
    if truth is not None and candidates.resolve() == truth.resolve():
        truth = None
    for folder in subfolders(frames):
        true_masks = None if truth is None else truth / folder.name
        yield _Sequence(folder.name, folder, candidates / folder.name, true_masks, f"{folder.name}/")


def _sequences(source: Path, options: ListOptions) -> Iterator[_Sequence]:
    single = is_sequence(source)
    folders = [source] if single else [folder for folder in subfolders(source) if is_sequence(folder)]
    for folder in folders:
        masks = _candidates(folder, source=source, option=options.masks)
        truth = folder / "masks"
        other = is_folder(masks) and masks.resolve() != truth.resolve()
        name = folder.resolve().name
        yield _Sequence(name, folder / "frames", masks, truth if other else None, "" if single else f"{name}/")


def _candidates(folder: Path, *, source: Path, option: Path | None) -> Path:
    if option is None:
        return folder / "masks"
    masks = folder / option
    if is_folder(masks) or folder == source:
        return chosen(folder, option, "masks")
    return chosen(source, option, "masks") / folder.name


def _resolution(folder: Path, first: str = "") -> Path:
    for name in (first, *RESOLUTIONS):
        if name and (folder / name).is_dir():
            return folder / name
    return folder


def is_sequence(folder: Path) -> bool:
    """Whether a folder holds the frames and masks of one video."""
    return (folder / "frames").is_dir() and (folder / "masks").is_dir()


def _chooses_prediction(source: Path, option: Path | None) -> bool:
    if option is None:
        return False
    folder = chosen(source, option, "masks")
    is_sibling = is_folder(folder) and folder.resolve().parent == source.resolve()
    return is_sibling and folder.name.startswith(_PREDICTIONS)


DATASET = DavisDataset()
