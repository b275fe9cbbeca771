"""What the files of YouTube-VOS say of its videos: objects, expressions, splits, and categories that training lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.datasets.base import check_name, index_of
from auscult.cases.fields import BOM, load
from auscult.cases.ids import check_id, shown
from auscult.cases.problems import Problems
from auscult.cases.walk import is_file, is_folder, subfolders
from auscult.errors import InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoObject:
    """An object of a video: its index in the palette masks, from 1, and, where known, its category and frames."""

    index: int
    category: str = ""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """An expression about a video, by its key there; ``index`` is None where the release keeps the object to itself."""

    id: str
    text: str
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoSentences:
    """The expressions about a video, and the names of its frames where the file lists them."""

    video: str
    sentences: tuple[Sentence, ...]
    frames: tuple[str, ...] = ()


def read_objects(path: Path, problems: Problems) -> dict[str, tuple[VideoObject, ...]]:
    """Read the objects of every video, by its name, from a file of at most 64 MB."""
    videos: dict[str, tuple[VideoObject, ...]] = {}
    for name, row in _videos(path, problems):
        found: dict[int, VideoObject] = {}
        for key, value in _entries(row, "objects", file=path, video=name, problems=problems):
            with problems.skipping(path, key=f"video {shown(name)}, object {shown(key)}"):
                obj = _video_object(key, value, known=found)
                found[obj.index] = obj
        videos[name] = tuple(found[index] for index in sorted(found))
    return videos


def read_sentences(path: Path, problems: Problems) -> list[VideoSentences]:
    """Read the expressions of every video, from a file of at most 64 MB."""
    videos: list[VideoSentences] = []
    for name, row in _videos(path, problems):
        with problems.skipping(path, key=f"video {shown(name)}"):
            frames = _frames(row)
            found = []
            for key, value in _entries(row, "expressions", file=path, video=name, problems=problems):
                with problems.skipping(path, key=f"video {shown(name)}, expression {shown(key)}"):
                    found.append(_sentence(name, key, value))
            videos.append(VideoSentences(video=name, sentences=tuple(found), frames=frames))
    return videos


def _videos(path: Path, problems: Problems) -> Iterator[tuple[str, Mapping[str, Any]]]:
    data = load(path, max_bytes=MAX_FILE_BYTES)
    rows = data.get("videos") if isinstance(data, dict) else None
    if not isinstance(rows, dict):
        message = (
            "'videos' is " + fields.kind(rows) if isinstance(data, dict) else f"the file holds {fields.kind(data)}"
        )
        raise NothingToDo(message, expected='{"videos": {"<video>": {...}}}', path=path)
    good = []
    for name, row in rows.items():
        with problems.skipping(path, key=f"video {shown(name)}"):
            check_id(check_name(name))
            good.append((name, _object(row)))
    yield from good


def _entries(
    row: Mapping[str, Any], key: str, *, file: Path, video: str, problems: Problems
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = row.get(key)
    if not isinstance(rows, dict):
        error = InputError(f"{key!r} is {fields.kind(rows)}", expected=f"{key!r} is an object", hint="correct the file")
        problems.add(error, file, key=f"video {shown(video)}")
        return
    for name, value in rows.items():
        with problems.skipping(file, key=f"video {shown(video)}, {key} {shown(name)}"):
            yield name, _object(value)


def _object(row: object) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object", hint="correct or drop the entry")
    return row


def _video_object(key: str, row: Mapping[str, Any], *, known: Collection[int]) -> VideoObject:
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
    """A split: a folder with ``JPEGImages/``, its name or nothing, ``meta.json`` and ``meta_expressions.json``."""

    folder: Path
    split: str
    objects: Path | None = None
    sentences: Path | None = None


def parts_of(source: Path) -> tuple[SplitFolder, ...]:
    """The splits of a tree; none where it is no YouTube-VOS.

    A folder with ``JPEGImages/`` is one split. Of a folder of splits, all with expressions, or the first with objects:
    ``valid``, ``val``, ``test``, ``train``, then others by name.
    """
    if is_folder(source / FRAMES):
        return _here(source)
    splits = tuple(
        part for folder in subfolders(source / _EXPRESSIONS) if (part := _sentence_split(source, folder)) is not None
    )
    return splits or splits_of(source)[:1]


def splits_of(source: Path) -> tuple[SplitFolder, ...]:
    """The folders of a tree that have frames and ``meta.json``, the one to test on first."""
    found = [folder for folder in subfolders(source) if is_folder(folder / FRAMES) and is_file(folder / META)]
    order = {name: index for index, name in enumerate(_SPLITS)}
    found.sort(key=lambda folder: order.get(folder.name, len(order)))
    return tuple(SplitFolder(folder=folder, split=folder.name, objects=folder / META) for folder in found)


def _here(source: Path) -> tuple[SplitFolder, ...]:
    objects = source / META if is_file(source / META) else None
    own = source.resolve().name
    split = own if own in _SPLITS else ""
    folder = source / _EXPRESSIONS
    for file in (source / SENTENCES, folder / SENTENCES):
        if is_file(file):
            return (SplitFolder(folder=source, split=split, objects=objects, sentences=file),)
    inner = [path for path in subfolders(folder) if is_file(path / SENTENCES)]
    if inner:
        return tuple(
            SplitFolder(folder=source, split=path.name, objects=objects, sentences=path / SENTENCES) for path in inner
        )
    return () if objects is None else (SplitFolder(folder=source, split=split, objects=objects),)


def _sentence_split(source: Path, folder: Path) -> SplitFolder | None:
    """The split of a folder of expressions; ``val`` of one may be called ``valid`` in the other."""
    if not is_file(folder / SENTENCES):
        return None
    for name in (folder.name, _OTHER.get(folder.name, folder.name)):
        frames = source / name
        if is_folder(frames / FRAMES):
            objects = frames / META if is_file(frames / META) else None
            return SplitFolder(folder=frames, split=folder.name, objects=objects, sentences=folder / SENTENCES)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """Categories of the training videos, or unseen ones from a list, and the source file; None where not known."""

    seen: frozenset[str] | None = None
    unseen: frozenset[str] | None = None
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


def categories_of(part: SplitFolder, *, source: Path, problems: Problems) -> Categories:
    """Read which categories are seen: from a list of the unseen, else the ``meta.json`` of the training videos."""
    for folder in dict.fromkeys((part.folder, source)):
        if is_file(folder / UNSEEN):
            return _listed(folder / UNSEEN, problems)
    beside = dict.fromkeys((source / _TRAIN, part.folder.absolute().parent / _TRAIN))
    train = next((path / META for path in beside if is_file(path / META)), None)
    if train is None or part.folder.resolve() == train.parent.resolve():
        return Categories()
    try:
        videos = read_objects(train, Problems())  # what is broken in it is another split's
    except NothingToDo as error:
        problems.add(error, stage="texts")
        return Categories()
    names = frozenset(_plain(obj.category) for objects in videos.values() for obj in objects if obj.category)
    return Categories(seen=names, source=f"{_TRAIN}/{META}") if names else Categories()


def _listed(path: Path, problems: Problems) -> Categories:
    try:
        data = read_bytes(path, limits=Limits(max_bytes=_MAX_LIST_BYTES)).removeprefix(BOM)
        names = frozenset(_plain(line) for line in data.decode("utf-8").splitlines() if line.strip())
    except UnicodeDecodeError:
        broken = InputError("the list is not UTF-8", expected="one category a line", hint="save it again", path=path)
        problems.add(broken, stage="texts")
        return Categories()
    except InputError as error:
        problems.add(error, stage="texts")
        return Categories()
    return Categories(unseen=names, source=UNSEEN)


def _plain(category: str) -> str:
    return category.strip().casefold().replace("_", " ")
