"""Which folders and files of a YouTube-VOS tree belong together, and which categories are unseen in training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from auscult.cases.datasets.ytvos_meta import read_things
from auscult.cases.strict_json import BOM
from auscult.cases.walk import is_file, is_folder, subfolders
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

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
class Part:
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


def parts_of(source: Path) -> tuple[Part, ...]:
    """The splits of a tree; none where it is no YouTube-VOS.

    A folder with ``JPEGImages/`` is one split. Of a folder of splits, all with expressions, or the first with objects:
    ``valid``, ``val``, ``test``, ``train``, then others by name.
    """
    if is_folder(source / FRAMES):
        return _here(source)
    asked = tuple(part for folder in subfolders(source / _EXPRESSIONS) if (part := _asked(source, folder)) is not None)
    return asked or splits_of(source)[:1]


def splits_of(source: Path) -> tuple[Part, ...]:
    """The folders of a tree that have frames and ``meta.json``, the one to test on first."""
    found = [one for one in subfolders(source) if is_folder(one / FRAMES) and is_file(one / META)]
    order = {name: place for place, name in enumerate(_SPLITS)}
    found.sort(key=lambda one: order.get(one.name, len(order)))
    return tuple(Part(folder=one, split=one.name, things=one / META) for one in found)


def _here(source: Path) -> tuple[Part, ...]:
    things = source / META if is_file(source / META) else None
    own = source.resolve().name
    split = own if own in _SPLITS else ""
    folder = source / _EXPRESSIONS
    for file in (source / SENTENCES, folder / SENTENCES):
        if is_file(file):
            return (Part(folder=source, split=split, things=things, sentences=file),)
    inner = [one for one in subfolders(folder) if is_file(one / SENTENCES)]
    if inner:
        return tuple(Part(folder=source, split=one.name, things=things, sentences=one / SENTENCES) for one in inner)
    return () if things is None else (Part(folder=source, split=split, things=things),)


def _asked(source: Path, folder: Path) -> Part | None:
    """The split of a folder of expressions; ``val`` of one may be called ``valid`` in the other."""
    if not is_file(folder / SENTENCES):
        return None
    for name in (folder.name, _OTHER.get(folder.name, folder.name)):
        frames = source / name
        if is_folder(frames / FRAMES):
            things = frames / META if is_file(frames / META) else None
            return Part(folder=frames, split=folder.name, things=things, sentences=folder / SENTENCES)
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


def categories_of(part: Part, *, source: Path) -> Categories:
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


def _beside(part: Part, source: Path) -> Iterable[Path]:
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
