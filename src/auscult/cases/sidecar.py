"""Layouts with one text file of masks a picture, ``x.txt`` or ``x.json`` of ``x.jpg``: what they have in common.

The text file stands beside its picture, or in ``labels/``, ``annotations/`` or ``masks/`` where the picture is in
``images/``, ``frames/`` or ``imgs/``, at any depth and with the same folders below (``images/train/`` and
``labels/train/``; ``train/images/`` and ``train/labels/``). ``--frames`` and ``--masks`` name two other folders.
Pictures are no clip. An id is the picture's name, without the folders above, ``/`` and the number of the mask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from auscult.cases.datasets.base import Layout
from auscult.cases.ids import check_id, counted, safe_id
from auscult.cases.listing import Listing, ListOptions, Unmasked
from auscult.cases.problems import Problems
from auscult.cases.walk import (
    MASK_FOLDERS,
    PICTURE_FOLDERS,
    Tree,
    boundary,
    chosen,
    first_files,
    is_folder,
    stem,
    suffix,
    walk,
)
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.media.frames import FRAME_SUFFIXES, frame_size
from auscult.media.limits import Limits
from auscult.media.paths import open_regular, read_bytes
from auscult.types import Item, MaskRef

HEAD_BYTES = 4096

_LIMITS = Limits(max_bytes=256 << 20)
_MOST_OPENED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One mask that a text file draws; ``number`` tells it apart in its file."""

    number: int
    segmentation: Mapping[str, Any] | Sequence[Any]
    score: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarFile:
    """A text file, and the (height, width) of its picture."""

    path: Path
    size: tuple[int, int]

    def read(self) -> bytes:
        """What it holds; ``InputError`` where that is nothing."""
        return read_bytes(self.path, limits=_LIMITS)


class SidecarLayout(Layout):
    """A layout of one text file a picture."""

    foreign_options = ("images", "instances")
    unused_options = ("images", "instances")
    ending: str  # of the text files

    @abstractmethod
    def begins(self, head: bytes) -> bool:
        """Whether the first bytes of a file are those of this format."""

    @abstractmethod
    def reader(self, source: Path) -> SidecarReader:
        """What reads the files of an INPUT."""

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether a text file of the format stands below ``source`` or ``--masks``."""
        if not is_folder(source) or (source / "items.jsonl").is_file() or not super().recognises(source, options):
            return False
        return self.matches(source if options.masks is None else chosen(source, options.masks, ""))

    def matches(self, source: Path) -> bool:
        """Whether one of the first files with the ending is of the format."""
        named = (path for path in first_files(source) if suffix(path.name) == self.ending)
        return any(self.begins(_head(path)) for path in islice(named, _MOST_OPENED))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every mask of every text file that has a picture."""
        self.check(source, options)
        texts, pictures = _trees(source, options)
        found = _Found(self.name, self.reader(source), frames=_by_stem(pictures))
        found.problems.take(pictures.errors, stage="frames")
        found.problems.take(texts.errors if texts is not pictures else ())
        for name, path in texts.with_suffix(frozenset({self.ending})).items():
            if found.has_picture(stem(name)) or self.begins(_head(path)):
                found.add(stem(name), path)
        return found.listing()


class SidecarReader(ABC):
    """Reads the text files of one INPUT; ``left_out`` counts what is no region, by a plural noun."""

    def __init__(self) -> None:
        self.left_out: dict[str, int] = {}

    @abstractmethod
    def regions(self, file: SidecarFile, problems: Problems) -> Iterator[Region]:
        """The masks of a file; what cannot be used is noted in ``problems``, or ends the file with ``InputError``."""

    def leave_out(self, noun: str) -> None:
        """Count something that is no region."""
        self.left_out[noun] = self.left_out.get(noun, 0) + 1


def left_out(counts: Mapping[str, int]) -> list[str]:
    """The note of what is no region, by plural noun; none where that is nothing."""
    listed = ", ".join(f"{noun} ({count})" for noun, count in counts.items())
    return [f"left out, no regions: {listed}"] if listed else []


class _Found:
    """What comes of the text files of one INPUT."""

    def __init__(self, layout: str, reader: SidecarReader, *, frames: Mapping[str, Path]) -> None:
        self.problems = Problems()
        self._layout = layout
        self._reader = reader
        self._frames = frames
        self._items: list[Item] = []
        self._drawn: set[Path] = set()

    def has_picture(self, key: str) -> bool:
        """Whether there is a picture for the text file of this name, without ending."""
        return any(one in self._frames for one in _picture_keys(key))

    def add(self, key: str, path: Path) -> None:
        """List the masks of a text file."""
        name = _without_folder(key)
        try:
            picture = self._picture(key)
            size = frame_size(picture)
            for one in self._reader.regions(SidecarFile(path=path, size=size), self.problems):
                self._drawn.add(picture)
                self._items.append(
                    Item(
                        id=check_id(f"{name}/{one.number}"),
                        frame=picture,
                        mask=MaskRef(segmentation=one.segmentation, size=size),
                        model_score=one.score,
                        extra=one.extra,
                        source=path,
                        line=one.line,
                    )
                )
        except InputError as error:
            self.problems.add(error, error.path or path, line=error.line, item=safe_id(name))

    def _picture(self, key: str) -> Path:
        for candidate in _picture_keys(key):
            if candidate in self._frames:
                return self._frames[candidate]
        raise InputError(
            "there is no picture of this name",
            expected="x.jpg beside x, or images/x.jpg for labels/x",
            hint="add the picture, or name the two folders with --frames DIR --masks DIR",
        )

    def listing(self) -> Listing:
        """All of it."""
        bare = [path for path in self._frames.values() if path not in self._drawn]
        notes = [f"{counted(len(bare), 'picture')} without a mask"] if bare else []
        notes += left_out(self._reader.left_out)
        return Listing(
            tuple(self._items),
            tuple(self.problems.found),
            self._layout,
            tuple(notes),
            bare=tuple(Unmasked(clip=None, frame=path, mask=path) for path in bare),
        )


def _head(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with open_regular(path) as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""


def _trees(source: Path, options: ListOptions) -> tuple[Tree, Tree]:
    """Text files and pictures: one walk of ``source``, or of the two folders that options name."""
    if options.frames is None and options.masks is None:
        tree = walk(source, root=boundary(source, source=source, root=options.root))
        return tree, tree
    if options.frames is None or options.masks is None:
        missing = "frames" if options.frames is None else "masks"
        given = next((source / name for name in (*PICTURE_FOLDERS, *MASK_FOLDERS) if (source / name).is_dir()), source)
        raise UsageError(
            f"--{missing} is missing", expected="both folders", hint=f"add --{missing} {given}", path=source
        )
    found = []
    for name, folder in (("masks", options.masks), ("frames", options.frames)):
        path = chosen(source, folder, "")
        if not is_folder(path):
            raise NothingToDo(f"there is no folder {path}", path=source, hint=f"name the folder with --{name} DIR")
        found.append(walk(path, root=boundary(path, source=source, root=options.root)))
    return found[0], found[1]


def _by_stem(tree: Tree) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name, path in tree.with_suffix(FRAME_SUFFIXES).items():
        found.setdefault(stem(name), path)
    return found


def _picture_keys(key: str) -> Iterator[str]:
    yield key
    parts = key.split("/")
    for index in reversed(range(len(parts) - 1)):
        if parts[index] in MASK_FOLDERS:
            for folder in PICTURE_FOLDERS:
                yield "/".join((*parts[:index], folder, *parts[index + 1 :]))


def _without_folder(key: str) -> str:
    """A name without the folder that only says that masks are in it."""
    parts = key.split("/")
    index = next((index for index in reversed(range(len(parts) - 1)) if parts[index] in MASK_FOLDERS), None)
    return "/".join(part for place, part in enumerate(parts) if place != index)
