"""Masks that were predicted elsewhere: one file for each frame, in a folder for each condition and case.

::

    <folder>/<condition>/<case id>/<frame>.png    or .npy
    <folder>/<condition>/<case id>.png            for a case of one frame

A ``/`` in a case's id is a folder. Files are black and white (0 and 255), palette pictures (every index but 255, void,
is the object), grey pictures with more values (soft), or NPY arrays of bool, 0 and 1, or probabilities. Grey pictures
of 0 and 1 are masks where no soft picture lies in the folder; else nearly black.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from auscult.errors import InputError, UsageError
from auscult.media.paths import inside
from auscult.models.adapters.stored import StoredMask, is_grey_and_soft, read_stored, union_of
from auscult.models.base import Answer, Ask

SUFFIXES: Final = (".png", ".npy")
_MOST_SHOWN = 10
_MOST_LOOKED_AT = 2000


class FolderOfPredictions:
    """Looks up what was predicted.

    Args:
        folder: Holds a folder for each condition.

    Raises:
        UsageError: There is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError("there is no such folder of predictions", expected=_EXPECTED, path=folder)
        self._folder = folder
        self._is_soft: bool | None = None

    def __call__(self, ask: Ask) -> Answer:
        """Read the masks of a case under its condition; no model runs here, so it takes no seconds.

        Raises:
            InputError: A file is missing, of another size than the frames, or no mask; the message says which.
        """
        stored = [_read(places, ask) for places in self._places(ask)]
        masks, threshold = union_of(stored, among_soft=self._is_soft_folder)
        return Answer(masks=masks, seconds=0.0, threshold=threshold)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def unasked(self, asks: Iterable[Ask]) -> tuple[str, ...]:
        """Files of the folder that no question asks for: predictions of other cases, of other frames, misnamed.

        Hidden files are passed over.

        Args:
            asks: Every question of the run; their frames are not made.

        Returns:
            Paths relative to the folder, in order.
        """
        wanted = {place for ask in asks for places in self._tried(ask) for place in places}
        return tuple(sorted(name for name in _files(self._folder) if self._folder / name not in wanted))

    def _is_soft_folder(self) -> bool:
        """Whether a soft picture lies anywhere in the folder; of many files two thousand are looked at, evenly."""
        if self._is_soft is None:
            files = sorted(name for name in _files(self._folder) if name.lower().endswith(".png"))
            step = max(1, len(files) // _MOST_LOOKED_AT)
            self._is_soft = any(self._holds_soft(name) for name in files[::step])
        return self._is_soft

    def _holds_soft(self, name: str) -> bool:
        try:
            return is_grey_and_soft(inside(self._folder, name))
        except InputError:  # a link that leads out of the folder
            return False

    def _tried(self, ask: Ask) -> Iterator[tuple[Path, ...]]:
        try:
            yield from self._places(ask)
        except InputError:  # its id names no place, so it asks for no file
            return

    def _places(self, ask: Ask) -> Iterator[tuple[Path, ...]]:
        """Where each frame's mask may lie."""
        condition = inside(self._folder, ask.condition)
        whole = [inside(condition, ask.id + suffix) for suffix in SUFFIXES] if len(ask.names) == 1 else []
        for name in ask.names:
            yield (*(inside(condition, f"{ask.id}/{name}{suffix}") for suffix in SUFFIXES), *whole)


_EXPECTED: Final = "<folder>/<condition>/<case id>/<frame>.png, or .npy"


def _read(places: tuple[Path, ...], ask: Ask) -> StoredMask:
    there = [place for place in places if place.exists()]
    if not there:
        raise _missing(places[0], ask)
    if len(there) > 1:
        raise InputError(
            f"there are several predictions of one frame: {', '.join(place.name for place in there)}",
            expected="one file for each frame",
            hint="remove those that are not meant",
            path=there[0].parent,
        )
    return read_stored(there[0], size=ask.size)


def _missing(place: Path, ask: Ask) -> InputError:
    """Say what is missing: the condition, the case, or one of its frames."""
    case = place.parent
    condition = case
    for _ in Path(ask.id).parts:
        condition = condition.parent
    if not condition.is_dir():
        what, looked = f"there are no predictions under the condition {ask.condition!r}", condition
    elif not case.is_dir():
        what, looked = f"there are no predictions of the case under {ask.condition!r}", place
    else:
        what, looked = "there is no prediction of this frame", place
    near = sorted(one.name for one in looked.parent.iterdir())[:_MOST_SHOWN] if looked.parent.is_dir() else []
    return InputError(
        what,
        expected=f"{_EXPECTED}; an empty mask where nothing is segmented",
        hint=f"beside it lie: {', '.join(near)}" if near else "",
        path=looked,
    )


def _files(folder: Path) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        for name in names:
            if not name.startswith("."):
                yield (Path(place) / name).relative_to(folder).as_posix()
