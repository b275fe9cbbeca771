"""The frames and palette masks of videos that stand in a folder each, as YouTube-VOS and DAVIS have them.

A video is looked up by the name a file of strangers gives it: a name is never a path, and a folder that leads out of
INPUT costs its video.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from auscult.cases import fields
from auscult.cases.fields import BOM, load
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.walk import Tree, is_file, is_folder, stem, subfolders, walk, within
from auscult.errors import ErrorRecord, InputError, NothingToDo, UsageError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.limits import Limits
from auscult.media.masks import object_indices
from auscult.media.paths import read_bytes

LAST_INDEX = 254

_LISTED = 3
_MAX_NAME = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """What is there of a video.

    Attributes:
        name: Its name.
        frames: Stem to picture, in natural order.
        masks: Stem to mask file, in natural order.
        errors: What cannot be used, such as links that lead out.
    """

    name: str
    frames: Mapping[str, Path]
    masks: Mapping[str, Path]
    errors: tuple[ErrorRecord, ...] = ()


@dataclass(slots=True, kw_only=True)
class Videos:
    """The videos of a folder; each is looked up once, each mask file opened at most once for its objects.

    Attributes:
        source: The folder.
        frames: Where the frames of a video stand in it; ``*`` is the video's name.
        masks: Where its masks stand.
        root: Folder that links may reach; ``source`` by default.
    """

    source: Path
    frames: str
    masks: str
    root: Path | None = None
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
        """Whether a mask file was looked into and cannot be opened; what is drawn on it is then not known."""
        return path in self._broken

    def unopened(self) -> dict[Path, ErrorRecord]:
        """Frames whose mask file was looked into and cannot be opened, to why."""
        return {
            video.frames[stem]: self._broken[path]
            for video in self._known.values()
            for stem, path in video.masks.items()
            if path in self._broken and stem in video.frames
        }

    def holds(self, video: Video, index: int) -> bool:
        """Whether an object is drawn on any mask of a video; files of one mask hold object 1."""
        for path in video.masks.values():
            found = self.drawn(path)
            if index in ((1,) if found is None else found):
                return True
        return False

    def place(self, pattern: str, name: str) -> Path:
        """Where something of a video stands, whether it is there or not.

        Raises:
            InputError: The name is a path, or the folder leads out.
        """
        check_name(name)
        return within(self.root or self.source, home=self.source, name=pattern.replace("*", name))

    def _read(self, name: str) -> Video:
        try:
            frames, masks = self._tree(self.frames, name), self._tree(self.masks, name)
        except InputError as error:
            return Video(name=name, frames={}, masks={}, errors=(ErrorRecord.of(error, "read"),))
        errors: list[ErrorRecord] = []
        for tree, stage in ((frames, "frames"), (masks, "truth")):
            errors += [replace(error, stage=stage) for error in (() if tree is None else tree.errors)]
        return Video(
            name=name,
            frames=_by_stem(frames, FRAME_SUFFIXES),
            masks=_by_stem(masks, MASK_SUFFIXES),
            errors=tuple(errors),
        )

    def _tree(self, pattern: str, name: str) -> Tree | None:
        path = self.place(pattern, name)
        return walk(path, root=self.root or self.source) if is_folder(path) else None


def _by_stem(tree: Tree | None, suffixes: frozenset[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name, path in () if tree is None else tree.with_suffix(suffixes).items():
        if "/" not in name:
            found.setdefault(stem(name), path)
    return found


def check_name(name: str) -> str:
    """Give back the name of a video or frame.

    Raises:
        InputError: It is a path, hidden, too long or empty.
    """
    if not name or name.startswith(".") or len(name) > _MAX_NAME or any(sign in name for sign in "/\\\0"):
        raise InputError(
            f"the name {shown(name)} is no name of a file or folder",
            expected=f"a plain name of at most {_MAX_NAME} characters, without / and no leading dot",
            hint="correct or drop the entry",
        )
    return name


def check_inside(path: Path, limit: Path) -> None:
    """Refuse a file that stands in INPUT but is a link that leads out of it.

    Raises:
        UsageError: It is.
    """
    if not path.resolve().is_relative_to(limit.resolve()):
        raise UsageError(
            "this file is a symbolic link that leads out of the input",
            path=path,
            expected=f"a file inside {limit}",
            hint="copy the file into the folder",
        )


def lost(path: Path, names: Sequence[str], *, noun: str, stage: str, of: int | None = None) -> ErrorRecord:
    """What is missing of a clip, in one record.

    Args:
        path: The folder it should stand in.
        names: The missing files.
        noun: What they are: ``frame`` or ``mask``.
        stage: ``read`` where it costs the clip, else ``frames`` or ``truth``.
        of: How many there should be, where that is known.
    """
    few = ", ".join(map(shown, names[:_LISTED])) + (", ..." if len(names) > _LISTED else "")
    told = "all" if of == len(names) else str(len(names))
    whole = counted(len(names), noun) if of is None else f"{told} of {counted(of, noun)}"
    error = InputError(
        f"{whole} {'is' if len(names) == 1 else 'are'} missing: {few}",
        expected=f"the {noun}s that the release names",
        hint="unpack the archive again, or drop the clip",
        path=path,
    )
    return ErrorRecord.of(error, stage)


def missing(names: Iterable[str], there: Collection[str]) -> list[str]:
    """The names that are not there, each once, in their order."""
    return [name for name in dict.fromkeys(names) if name not in there]


def at(error: InputError, path: Path, *, line: int | None = None, key: str = "") -> ErrorRecord:
    """The record of an error in a file of strangers: which file, and which line or key."""
    message = f"{key}: {error.message}" if key else error.message
    told = InputError(message, expected=error.expected, hint=error.hint, path=path, line=line)
    return ErrorRecord.of(told, "read")


MAX_FILE_BYTES = 64 * 1024 * 1024

RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoObject:
    """An object of a video.

    Attributes:
        index: Its index in the palette masks, from 1.
        category: Its category; empty where not told.
        frames: The frames it is annotated in, or is to be predicted in; empty where not told.
    """

    index: int
    category: str = ""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """An expression about a video.

    Attributes:
        id: Its key, unique in the video.
        text: The words.
        index: The object it refers to; None where the release keeps that to itself.
    """

    id: str
    text: str
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Generic[RowT]):
    """What a file says of a video.

    Attributes:
        video: Its name.
        rows: Its objects, or its expressions.
        frames: The frames of the video; empty where not told.
    """

    video: str
    rows: tuple[RowT, ...]
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta(Generic[RowT]):
    """What a file says, in its order, and what of it cannot be used."""

    file: Path
    videos: tuple[Told[RowT], ...]
    errors: tuple[ErrorRecord, ...] = ()


def read_things(path: Path) -> Meta[VideoObject]:
    """Read the objects of every video.

    Raises:
        NothingToDo: It cannot be read, is not JSON, is over 64 MB, or has no videos.
    """
    errors: list[ErrorRecord] = []
    videos: list[Told[VideoObject]] = []
    for name, row in _videos(path, errors):
        found: dict[int, VideoObject] = {}
        for key, value in _entries(row, "objects", file=path, video=name, errors=errors):
            try:
                thing = _thing(key, value, known=found)
                found[thing.index] = thing
            except InputError as error:
                errors.append(at(error, path, key=f"video {shown(name)}, object {shown(key)}"))
        videos.append(Told(video=name, rows=tuple(found[index] for index in sorted(found))))
    return Meta(file=path, videos=tuple(videos), errors=tuple(errors))


def read_sentences(path: Path) -> Meta[Sentence]:
    """Read the expressions of every video.

    Raises:
        NothingToDo: It cannot be read, is not JSON, is over 64 MB, or has no videos.
    """
    errors: list[ErrorRecord] = []
    videos: list[Told[Sentence]] = []
    for name, row in _videos(path, errors):
        try:
            frames = _frames(row)
        except InputError as error:
            errors.append(at(error, path, key=f"video {shown(name)}"))
            continue
        found = []
        for key, value in _entries(row, "expressions", file=path, video=name, errors=errors):
            try:
                found.append(_sentence(name, key, value))
            except InputError as error:
                errors.append(at(error, path, key=f"video {shown(name)}, expression {shown(key)}"))
        videos.append(Told(video=name, rows=tuple(found), frames=frames))
    return Meta(file=path, videos=tuple(videos), errors=tuple(errors))


def index_of(value: object) -> int:
    """The index of an object, written as a number or as digits.

    Raises:
        InputError: It is none from 1 to 254.
    """
    number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,3}", value) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= LAST_INDEX:
        told = shown(str(value)) if isinstance(value, str | int) else fields.kind(value)
        raise InputError(
            f"the object is {told}", expected=f"an index from 1 to {LAST_INDEX}", hint="correct or drop the entry"
        )
    return number


def _videos(path: Path, errors: list[ErrorRecord]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    data = load(path, max_bytes=MAX_FILE_BYTES)
    rows = data.get("videos") if isinstance(data, dict) else None
    if not isinstance(rows, dict):
        told = "'videos' is " + fields.kind(rows) if isinstance(data, dict) else f"the file holds {fields.kind(data)}"
        raise NothingToDo(told, expected='{"videos": {"<video>": {...}}}', path=path)
    for name, row in rows.items():
        try:
            video = _video(name, row)
        except InputError as error:
            errors.append(at(error, path, key=f"video {shown(name)}"))
            continue
        yield name, video


def _video(name: str, row: object) -> Mapping[str, Any]:
    check_id(check_name(name))
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object", hint="correct or drop the video")
    return row


def _entries(
    row: Mapping[str, Any], key: str, *, file: Path, video: str, errors: list[ErrorRecord]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = row.get(key)
    if not isinstance(rows, dict):
        error = InputError(f"{key!r} is {fields.kind(rows)}", expected=f"{key!r} is an object", hint="correct the file")
        errors.append(at(error, file, key=f"video {shown(video)}"))
        return
    for name, value in rows.items():
        if isinstance(value, dict):
            yield name, value
            continue
        error = InputError(f"it is {fields.kind(value)}", expected="an object", hint="correct or drop the entry")
        errors.append(at(error, file, key=f"video {shown(video)}, {key} {shown(name)}"))


def _thing(key: str, row: Mapping[str, Any], *, known: Collection[int]) -> VideoObject:
    index = index_of(key)
    if index in known:
        raise InputError(f"the object {index} is there twice", expected="one entry an object", hint="drop one of them")
    return VideoObject(index=index, category=(fields.text(row, "category") or "").strip(), frames=_frames(row))


def _sentence(video: str, key: str, row: Mapping[str, Any]) -> Sentence:
    text = fields.required(row, "exp").strip()
    if not text:
        raise InputError("'exp' is empty", expected="'exp' is a sentence", hint="correct or drop the entry")
    check_id(f"{video}/{check_name(key)}")
    index = row.get("obj_id")
    return Sentence(id=key, text=text, index=None if index is None else index_of(index))


def _frames(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row.get("frames")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise fields.wrong("frames", value, "a list of names")
    return tuple(dict.fromkeys(check_name(name) for name in value))


FRAMES, MASKS = "JPEGImages", "Annotations"
META = "meta.json"
SENTENCES = "meta_expressions.json"
UNSEEN = "unseen_categories.txt"

_EXPRESSIONS = "meta_expressions"
_TRAIN = "train"
_SPLITS = ("valid", "val", "test", _TRAIN)
_OTHER = {"val": "valid", "valid": "val"}
_MAX_LIST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFolder:
    """A split: a folder with ``JPEGImages/``, and what is told of it.

    Attributes:
        folder: The folder.
        split: Its name; empty where it has none.
        things: ``meta.json``, or None.
        sentences: ``meta_expressions.json``, or None.
    """

    folder: Path
    split: str
    things: Path | None = None
    sentences: Path | None = None


def parts_of(source: Path) -> tuple[SplitFolder, ...]:
    """The splits of a tree; none where it is no YouTube-VOS.

    A folder with ``JPEGImages/`` is one split. Of a folder of splits, all with expressions, or the first with objects:
    ``valid``, ``val``, ``test``, ``train``, then others by name.
    """
    if is_folder(source / FRAMES):
        return _here(source)
    asked = tuple(
        part for folder in subfolders(source / _EXPRESSIONS) if (part := _sentence_split(source, folder)) is not None
    )
    return asked or splits_of(source)[:1]


def splits_of(source: Path) -> tuple[SplitFolder, ...]:
    """The folders of a tree that have frames and ``meta.json``, the one to test on first."""
    found = [one for one in subfolders(source) if is_folder(one / FRAMES) and is_file(one / META)]
    order = {name: place for place, name in enumerate(_SPLITS)}
    found.sort(key=lambda one: order.get(one.name, len(order)))
    return tuple(SplitFolder(folder=one, split=one.name, things=one / META) for one in found)


def _here(source: Path) -> tuple[SplitFolder, ...]:
    things = source / META if is_file(source / META) else None
    own = source.resolve().name
    split = own if own in _SPLITS else ""
    folder = source / _EXPRESSIONS
    for file in (source / SENTENCES, folder / SENTENCES):
        if is_file(file):
            return (SplitFolder(folder=source, split=split, things=things, sentences=file),)
    inner = [one for one in subfolders(folder) if is_file(one / SENTENCES)]
    if inner:
        return tuple(
            SplitFolder(folder=source, split=one.name, things=things, sentences=one / SENTENCES) for one in inner
        )
    return () if things is None else (SplitFolder(folder=source, split=split, things=things),)


def _sentence_split(source: Path, folder: Path) -> SplitFolder | None:
    """The split of a folder of expressions; ``val`` of one may be called ``valid`` in the other."""
    if not is_file(folder / SENTENCES):
        return None
    for name in (folder.name, _OTHER.get(folder.name, folder.name)):
        frames = source / name
        if is_folder(frames / FRAMES):
            things = frames / META if is_file(frames / META) else None
            return SplitFolder(folder=frames, split=folder.name, things=things, sentences=folder / SENTENCES)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """Which categories no training video shows.

    Attributes:
        seen: The categories of the training videos; None where they are not known.
        unseen: The categories that a list names; None without a list.
        errors: Why a file that would tell cannot be used.
        source: What it was taken from, in words; empty where it is not known.
    """

    seen: frozenset[str] | None = None
    unseen: frozenset[str] | None = None
    errors: tuple[ErrorRecord, ...] = ()
    source: str = ""

    def split(self, category: str) -> str:
        """``seen``, ``unseen``, or empty where it is not known."""
        if not category:
            return ""
        name = _plain(category)
        if self.unseen is not None:
            return "unseen" if name in self.unseen else "seen"
        if self.seen is None:
            return ""
        return "seen" if name in self.seen else "unseen"


def categories_of(part: SplitFolder, *, source: Path) -> Categories:
    """Read what tells seen from unseen: a list of the unseen, else the ``meta.json`` of the training videos beside it.

    Nothing is known of the training videos themselves.
    """
    for folder in dict.fromkeys((part.folder, source)):
        if is_file(folder / UNSEEN):
            return _listed(folder / UNSEEN)
    train = next((one / META for one in _beside(part, source) if is_file(one / META)), None)
    if train is None or part.folder.resolve() == train.parent.resolve():
        return Categories()
    try:
        meta = read_things(train)
    except NothingToDo as error:
        return Categories(errors=(ErrorRecord.of(error, "texts"),))
    names = frozenset(_plain(thing.category) for video in meta.videos for thing in video.rows if thing.category)
    return Categories(seen=names, source=f"{_TRAIN}/{META}") if names else Categories()


def _beside(part: SplitFolder, source: Path) -> Iterable[Path]:
    return dict.fromkeys((source / _TRAIN, part.folder.absolute().parent / _TRAIN))


def _listed(path: Path) -> Categories:
    try:
        data = read_bytes(path, limits=Limits(max_bytes=_MAX_LIST_BYTES)).removeprefix(BOM)
        names = frozenset(_plain(line) for line in data.decode("utf-8").splitlines() if line.strip())
    except UnicodeDecodeError:
        broken = InputError("the list is not UTF-8", expected="one category a line", hint="save it again", path=path)
        return Categories(errors=(ErrorRecord.of(broken, "texts"),))
    except InputError as error:
        return Categories(errors=(ErrorRecord.of(error, "texts"),))
    return Categories(unseen=names, source=UNSEEN)


def _plain(category: str) -> str:
    return category.strip().casefold().replace("_", " ")
