"""Where the sentences and the videos of Ref-DAVIS stand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from auscult.cases.datasets.refavs_table import file_names
from auscult.cases.datasets.refdavis_sentences import FILE, TEXTS, Sentences, read_expressions, read_texts
from auscult.cases.walk import is_file, is_folder, subfolders

FOLDER: Final = "davis_text_annotations"
FRAMES: Final = "JPEGImages"
MASKS: Final = ("Annotations", "Annotations_unsupervised")

_RESOLUTIONS = ("480p", "Full-Resolution", "1080p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the sentences and the videos of an INPUT stand.

    Attributes:
        folder: The folder of the videos.
        files: The files of sentences that are read.
        left: Files that are not.
    """

    folder: Path
    files: tuple[Path, ...]
    left: tuple[Path, ...] = ()

    def read(self) -> Sentences:
        """All sentences, file by file.

        Raises:
            NothingToDo: A file cannot be read.
        """
        read = [read_expressions(path) if path.name == FILE else read_texts(path) for path in self.files]
        rows = tuple(row for one in read for row in one.rows)
        return Sentences(rows=rows, errors=tuple(error for one in read for error in one.errors))

    def notes(self) -> tuple[str, ...]:
        """Which files were left unread."""
        if not self.left:
            return ()
        names = ", ".join(path.name for path in self.left)
        return (f"the sentences of DAVIS 2017 were read; name a file to read {names} instead",)


def place_of(source: Path) -> Place | None:
    """Where sentences and videos stand; None where there are none."""
    if is_file(source):
        if source.name == FILE:
            return Place(folder=source.parent, files=(source,)) if _has_videos(source.parent) else None
        tree = _tree(source.parent) if TEXTS.match(source.name) else None
        return None if tree is None else Place(folder=tree, files=(source,))
    for folder in (source / FOLDER, source):
        found = [(match[1], folder / name) for name in file_names(folder) if (match := TEXTS.match(name))]
        tree = _tree(folder) if found else None
        if tree is not None:
            newest = max(year for year, _ in found)
            return Place(
                folder=tree,
                files=tuple(path for year, path in found if year == newest),
                left=tuple(path for year, path in found if year != newest),
            )
    if is_file(source / FILE) and _has_videos(source):
        return Place(folder=source, files=(source / FILE,))
    return None


def _tree(texts: Path) -> Path | None:
    """The DAVIS tree that a folder of texts stands in or beside."""
    above = texts.absolute().parent
    home = texts.parent if texts.parent != texts else above
    near = (home, home / "DAVIS", texts)
    return next((folder for folder in near if is_folder(folder / FRAMES)), None)


def _has_videos(folder: Path) -> bool:
    if is_folder(folder / FRAMES) or _is_sequence(folder):
        return True
    return any(_is_sequence(one) for one in subfolders(folder))


def _is_sequence(folder: Path) -> bool:
    return is_folder(folder / "frames") and is_folder(folder / "masks")


def patterns(folder: Path) -> tuple[str, str]:
    """Where the frames and masks of a video stand in the folder; ``*`` is its name."""
    if not is_folder(folder / FRAMES):
        return ("frames", "masks") if _is_sequence(folder) else ("*/frames", "*/masks")
    masks = next((name for name in MASKS if is_folder(folder / name)), MASKS[0])
    size = next((name for name in _RESOLUTIONS if is_folder(folder / FRAMES / name)), "")
    sized = size if size and is_folder(folder / masks / size) else ""
    return "/".join(filter(None, (FRAMES, size, "*"))), "/".join(filter(None, (masks, sized, "*")))
