"""Base classes of the dataset layouts: recognising INPUT, checking options, finding the files of a clip.

A layout adds its own files, row format and references.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auscult.cases import fields
from auscult.cases.ids import shown
from auscult.cases.instances import InstanceListing, untrue
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems, used_twice
from auscult.cases.walk import Tree, base_folder, boundary, is_folder, stem, walk, within
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.masks import object_indices
from auscult.types import Instance, Item, Metadata, Query

LAST_INDEX = 254

_MAX_NAME = 255


class Layout(ABC):
    """A layout of an INPUT, as ``auscult.cases.listing`` uses it."""

    name: str
    meta: Metadata
    described_as: str  # what INPUT is, in words, where an option does not fit it
    foreign_options: tuple[str, ...] = ("frames", "masks")  # that name another layout
    unused_options: tuple[str, ...] = ("frames", "masks", "images", "instances")  # that say nothing about this one

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether ``source`` has this layout; an option for another layout says that it has not."""
        return all(getattr(options, name) is None for name in self.foreign_options) and self.matches(source)

    @abstractmethod
    def matches(self, source: Path) -> bool:
        """Whether the files that mark this layout are there."""

    def check(
        self, source: Path, options: ListOptions, *, files: Iterable[Path] = (), folders: Iterable[Path] = ()
    ) -> Path:
        """Refuse options that do not fit, and links out of INPUT; gives the folder that links may reach."""
        refuse_options(options, *self.unused_options, layout=self.described_as)
        base = base_folder(source, options.root)
        for file in files:
            if not file.resolve().is_relative_to(base.resolve()):
                raise UsageError(
                    "this file is a symbolic link that leads out of the input",
                    path=file,
                    expected=f"a file inside {base}",
                    hint="copy the file into the folder",
                )
        for folder in folders:
            if is_folder(folder) and folder != source:
                boundary(folder, source=folder.parent, root=base)
        return base


class ListedPart(ABC):
    """A split of a data set, or all of it; ``notes`` and problems are filled while it is listed."""

    notes: list[str]
    videos: Videos | None = None

    @abstractmethod
    def items(self) -> Iterable[Item]:
        """Its masks."""

    @abstractmethod
    def instances(self) -> Iterable[Instance]:
        """What it refers to."""


class ReferringLayout(Layout):
    """A layout that knows what its expressions refer to: it opens its parts, and here they are listed."""

    @abstractmethod
    def open(self, source: Path, options: ListOptions, problems: Problems) -> Sequence[ListedPart]:
        """The parts of an INPUT of this layout."""

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every mask."""
        problems = Problems()
        parts = self.open(source, options, problems)
        items = tuple(item for part in parts for item in part.items())
        return Listing(items, tuple(problems.found), self.name, tuple(note for part in parts for note in part.notes))

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every instance, the first of an id; of frames whose mask cannot be opened it says so."""
        problems = Problems()
        parts = self.open(source, options, problems)
        by_id: dict[str, Instance] = {}
        listed = [instance for part in parts for instance in part.instances()]
        for instance in listed:
            if by_id.setdefault(instance.id, instance) is not instance:  # a video may stand in two splits
                problems.add(used_twice(instance.id, "", path=instance.source))
        unopened: dict[Path, ErrorRecord] = {}
        for part in parts:
            unopened |= {} if part.videos is None else part.videos.unopened()
        problems.take(map(untrue, unopened.values()))
        return InstanceListing(
            instances=tuple(by_id.values()),
            errors=tuple(problems.found),
            layout=self.name,
            notes=tuple(note for part in parts for note in part.notes),
            unopened=unopened,
        )


@dataclass(frozen=True, slots=True)
class Folders:
    """Files below a data root, by untrusted names: none leads out of ``base``, which links may reach."""

    source: Path
    base: Path

    def path(self, name: str) -> Path:
        """The path of a name, whether it exists or not; it may not leave ``base``."""
        return within(self.base, home=self.source, name=name)

    def tree(self, name: str) -> Tree:
        """The files of a folder, which may not lead out; none where there is no such folder."""
        path = self.path(name)
        return walk(path, root=self.base) if is_folder(path) else Tree(path, {})


def remarks(frames: Tree, masks: Tree) -> list[ErrorRecord]:
    """What cannot be used of the files of a clip; it costs a frame or the truth of one."""
    return [
        replace(error, stage=stage) for tree, stage in ((frames, "frames"), (masks, "truth")) for error in tree.errors
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """The files of a video: pictures and masks by stem, in natural order, and errors for unusable ones."""

    name: str
    frames: Mapping[str, Path]
    masks: Mapping[str, Path]
    errors: tuple[ErrorRecord, ...] = ()


@dataclass(slots=True, kw_only=True)
class Videos:
    """Videos that stand in a folder each; each is looked up once, each mask file opened at most once for its objects.

    ``frames`` and ``masks`` say where those of a video stand in ``folders``; ``*`` is the video's name.
    """

    folders: Folders
    frames: str
    masks: str
    _known: dict[str, Video] = field(default_factory=dict)
    _drawn: dict[Path, tuple[int, ...] | None] = field(default_factory=dict)
    _broken: dict[Path, ErrorRecord] = field(default_factory=dict)

    def video(self, name: str) -> Video:
        """The files of a video; none where there is no such folder."""
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def drawn(self, path: Path) -> tuple[int, ...] | None:
        """The objects drawn on a mask file; None for a file of one mask, nothing for what cannot be opened."""
        if path not in self._drawn:
            try:
                self._drawn[path] = object_indices(path)
            except InputError as error:
                self._drawn[path] = ()
                self._broken[path] = ErrorRecord.of(error, "truth")
        return self._drawn[path]

    def broken(self, path: Path) -> bool:
        """Whether a mask file was tried and cannot be opened; its objects are then not known."""
        return path in self._broken

    def unopened(self) -> dict[Path, ErrorRecord]:
        """Frames whose mask file was tried and cannot be opened, each with its error."""
        return {
            video.frames[stem]: self._broken[path]
            for video in self._known.values()
            for stem, path in video.masks.items()
            if path in self._broken and stem in video.frames
        }

    def holds(self, video: Video, index: int) -> bool:
        """Whether an object is drawn on any mask of a video; files of one mask hold object 1."""
        return any(index in ((1,) if (drawn := self.drawn(path)) is None else drawn) for path in video.masks.values())

    def path_of(self, pattern: str, name: str) -> Path:
        """The path of a video's frames or masks, existing or not; the name must be a plain name."""
        return self.folders.path(pattern.replace("*", check_name(name)))

    def _read(self, name: str) -> Video:
        try:
            check_name(name)
            frames, masks = (self.folders.tree(pattern.replace("*", name)) for pattern in (self.frames, self.masks))
        except InputError as error:
            return Video(name=name, frames={}, masks={}, errors=(ErrorRecord.of(error, "read"),))
        return Video(
            name=name,
            frames=_by_stem(frames, FRAME_SUFFIXES),
            masks=_by_stem(masks, MASK_SUFFIXES),
            errors=tuple(remarks(frames, masks)),
        )


def _by_stem(tree: Tree, suffixes: frozenset[str]) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for name, path in tree.with_suffix(suffixes).items():
        if "/" not in name:
            paths.setdefault(stem(name), path)
    return paths


def check_name(name: str) -> str:
    """Give back the name of a video or frame, which may not be a path, hidden, too long or empty."""
    if not name or name.startswith(".") or len(name) > _MAX_NAME or any(sign in name for sign in "/\\\0"):
        raise InputError(
            f"the name {shown(name)} is no name of a file or folder",
            expected=f"a plain name of at most {_MAX_NAME} characters, without / and no leading dot",
            hint="correct or drop the entry",
        )
    return name


def index_of(value: object) -> int:
    """The index of an object, from 1 to 254, written as a number or as digits."""
    number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,3}", value) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= LAST_INDEX:
        actual = shown(str(value)) if isinstance(value, str | int) else fields.kind(value)
        raise InputError(
            f"the object is {actual}", expected=f"an index from 1 to {LAST_INDEX}", hint="correct or drop the entry"
        )
    return number


def missing(names: Iterable[str], present: Collection[str]) -> list[str]:
    """The names that are not in ``present``, each once, in their order."""
    return [name for name in dict.fromkeys(names) if name not in present]


def with_text(item: Item, text: str | None) -> Item:
    """The item with ``text`` as its referring expression; unchanged where ``text`` is None."""
    return item if text is None else replace(item, query=Query(text))


def file_names(folder: Path) -> list[str]:
    """The names of what is in a folder; none where there is no folder or it cannot be opened."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return []
