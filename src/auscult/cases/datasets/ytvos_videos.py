"""The frames and palette masks of videos that stand in a folder each, as YouTube-VOS and DAVIS have them.

A video is looked up by the name a file of strangers gives it: a name is never a path, and a folder that leads out of
INPUT costs its video.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auscult.cases.ids import counted, shown
from auscult.cases.walk import Tree, is_folder, stem, walk, within
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.masks import object_indices

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
