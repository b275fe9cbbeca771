"""Masks that were predicted elsewhere: one file for each frame, in a folder for each condition and case.

::

    <folder>/<condition>/<case id>/<frame>.png    or .npy
    <folder>/<condition>/<case id>.png            for a case of one frame
    <folder>/<uid>/00000.png                      as of Ref-AVSBench: clean input alone, frames by their numbers

A ``/`` in a case's id is a folder. Files are black and white (0 and 255), palette pictures (every index but 255, void,
is the object), grey pictures with more values (soft), or NPY arrays of bool, 0 and 1, or probabilities. Grey pictures
of 0 and 1 are masks where no soft picture lies in the folder; else nearly black.

Where classes are asked for, a file is a class map, as ``media.masks.read_class_map`` reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from auscult.errors import AuscultError, InputError, UsageError
from auscult.media.limits import DEFAULT_LIMITS
from auscult.media.masks import check_size, npy_array, read_class_map
from auscult.media.paths import inside, read_bytes
from auscult.media.pictures import opened, orientation, pixels, upright
from auscult.media.readings import VOID, one_channel
from auscult.models.base import THRESHOLD, Answer, Masks, Request

_SOFT_LEAST: Final = 1 / 8  # a soft clip that nowhere reaches this share of white looks like object indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredMask:
    """The values of one file."""

    values: NDArray[Any]  # (H, W): bool, unsigned whole numbers, or floating point in 0..1
    # ``mask`` for bool; ``grey`` for whole numbers, whose reading the clip decides; ``soft`` for floating point
    kind: Literal["mask", "grey", "soft"]
    path: Path  # the file


def read_stored(path: Path, *, size: tuple[int, int]) -> StoredMask:
    """Read one file, PNG or NPY by its suffix, of ``size`` (height, width)."""
    values, indexed = _values(path)
    check_size((values.shape[0], values.shape[1]), size, path)
    if indexed:
        values = _objects(values, path)
    return _checked(values, path)


def is_grey_and_soft(path: Path) -> bool:
    """Whether a file is a grey picture of probabilities: some values reach an eighth of white, but not white itself."""
    try:
        values, indexed = _values(path)
    except AuscultError:
        return False
    if indexed or values.dtype.kind != "u":
        return False
    white = np.iinfo(values.dtype).max
    return bool(((values >= _SOFT_LEAST * white) & (values < white)).any())


def _values(path: Path) -> tuple[NDArray[Any], bool]:
    """The values of a file, and whether they are indices into colours."""
    data = read_bytes(path)
    if path.suffix.lower() == ".npy":
        return npy_array(data, path=path, limits=DEFAULT_LIMITS), False
    with opened(data, path=path, limits=DEFAULT_LIMITS) as picture:
        palette = picture.getpalette("RGB") if picture.mode == "P" else None
        values = upright(pixels(picture), orientation(picture))
    if values.ndim == 3:
        values = one_channel(values, path)[0]
    return values, palette is not None and not _is_grey(palette, values)


def _is_grey(palette: Sequence[int], values: NDArray[Any]) -> bool:
    """Whether each index that is used stands for the grey of its own number, as where a grey picture was converted.

    Small indices beside void are labels, whatever their colours: they would be nearly black.
    """
    colours = np.zeros((256, 3), np.int64)
    colours[: len(palette) // 3] = np.asarray(palette, np.int64)[: len(palette) // 3 * 3].reshape(-1, 3)
    used = np.unique(values)
    objects = used[(used != 0) & (used != VOID)]
    if objects.size and VOID in used and objects.max() < _SOFT_LEAST * VOID:
        return False
    return bool((colours[used] == used[:, None]).all())


def _objects(values: NDArray[Any], path: Path) -> Masks:
    mask = np.asarray((values != 0) & (values != VOID))
    if not mask.any() and values.any():
        raise InputError(
            f"the only index above 0 is {VOID}, which is void and no object",
            expected="a palette picture with the object's index from 1 to 254, or white on black",
            hint=f"is {VOID} the mask? save it as a grey picture",
            path=path,
        )
    return mask


def _checked(values: NDArray[Any], path: Path) -> StoredMask:
    if values.dtype == np.bool_:
        return StoredMask(values=values, kind="mask", path=path)
    low, high = values.min(), values.max()
    if values.dtype.kind == "f":
        if low < 0 or high > 1:
            raise InputError(
                f"the prediction holds numbers from {low:g} to {high:g}",
                expected="probabilities in 0..1",
                hint="are they logits? apply a sigmoid; are they 0..255? divide by 255",
                path=path,
            )
        return StoredMask(values=values, kind="soft", path=path)
    if low < 0:
        raise InputError("the prediction holds negative numbers", expected="numbers from 0 up", path=path)
    if path.suffix.lower() == ".npy":
        if high > 1 and bool(((values != 0) & (values != high)).any()):
            raise InputError(
                f"the prediction holds several whole numbers above 0, up to {high}",
                expected="0 and 1, or probabilities as floating point",
                hint="one object is asked for at a time: compare with its index, or with 0",
                path=path,
            )
        return StoredMask(values=values != 0, kind="mask", path=path)
    return StoredMask(values=values, kind="grey", path=path)


def union_of(stored: Sequence[StoredMask], *, among_soft: Callable[[], bool]) -> tuple[Masks, float | None]:
    """The masks of a clip's files, bool (T, H, W), and .5 where something soft was cut at it, else None.

    Grey values are black and white where the clip holds 0 and white alone; else every frame of the clip is soft. A clip
    that nowhere reaches an eighth of white is soft where other predictions beside it are, which ``among_soft`` is asked
    for then. Where they are not, 0 and 1 are a mask; other indices, and one grey everywhere, are refused.
    """
    grey = [mask for mask in stored if mask.kind == "grey"]
    soft_grey = bool(grey) and _is_soft(grey, among_soft)
    masks = np.stack([_mask(mask, soft_grey=soft_grey) for mask in stored])
    soft = soft_grey or any(mask.kind == "soft" for mask in stored)
    return masks, THRESHOLD if soft else None


def _is_soft(grey: Sequence[StoredMask], among_soft: Callable[[], bool]) -> bool:
    """Whether the grey values of a clip are probabilities."""
    highest = max(int(mask.values.max()) for mask in grey)
    if all(_is_black_and(highest, mask) for mask in grey) and highest in {0, _white(grey[0])}:
        return False
    if highest > 1 and min(int(mask.values.min()) for mask in grey) == highest:
        raise InputError(
            f"every pixel has the grey value {highest}, which is neither black nor white",
            expected="black and white, or soft values from black to white",
            hint="a mask is 0 and 255",
            path=grey[0].path,
        )
    if max(int(mask.values.max()) / _white(mask) for mask in grey) >= _SOFT_LEAST or among_soft():
        return True
    if highest > 1:
        raise InputError(
            f"the grey values reach {highest} of {_white(grey[0]):,} and look like object indices",
            expected="black and white, a palette picture, or soft values up to white",
            hint="one object is asked for at a time: write its mask in white; scale soft values to 0..255",
            path=grey[0].path,
        )
    return False


def _is_black_and(value: int, stored: StoredMask) -> bool:
    return bool(((stored.values == 0) | (stored.values == value)).all())


def _white(stored: StoredMask) -> int:
    return int(np.iinfo(stored.values.dtype).max)


def _mask(stored: StoredMask, *, soft_grey: bool) -> NDArray[np.bool_]:
    if stored.kind == "mask":
        return stored.values
    if stored.kind == "soft":
        return np.asarray(stored.values >= THRESHOLD)
    if soft_grey:
        return np.asarray(stored.values > _white(stored) // 2)
    return np.asarray(stored.values != 0)


SUFFIXES: Final = (".png", ".npy")
CLEAN: Final = "clean"
"""The condition whose folder may be left out."""

_MOST_SHOWN = 10
_MOST_LOOKED_AT = 2000


class FolderOfPredictions:
    """Looks up what was predicted, in a folder for each condition."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError("there is no such folder of predictions", expected=_EXPECTED, path=folder)
        self._folder = folder
        self._is_soft: bool | None = None

    def __call__(self, request: Request) -> Answer:
        """Read the masks of a case under its condition; no model runs here, so it takes no seconds."""
        files = [_file(paths, request) for paths in self._paths(request)]
        if request.classes:
            maps = [read_class_map(path, classes=request.classes, size=request.size) for path in files]
            return Answer(masks=np.stack(maps), seconds=0.0)
        stored = [read_stored(path, size=request.size) for path in files]
        masks, threshold = union_of(stored, among_soft=self._is_soft_folder)
        return Answer(masks=masks, seconds=0.0, threshold=threshold)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def unasked(self, requests: Iterable[Request]) -> tuple[str, ...]:
        """Files of the folder, relative to it, that no request needs: of other cases or frames, or misnamed."""
        requested = {path for request in requests for paths in self._valid_paths(request) for path in paths}
        return tuple(sorted(name for name in _files(self._folder) if self._folder / name not in requested))

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

    def _valid_paths(self, request: Request) -> Iterator[tuple[Path, ...]]:
        try:
            yield from self._paths(request)
        except InputError:  # its id is no valid path, so it needs no file
            return

    def _paths(self, request: Request) -> Iterator[tuple[Path, ...]]:
        """The possible paths of each frame's mask."""
        homes = [inside(self._folder, request.condition)]
        if request.condition == CLEAN and not homes[0].is_dir():
            homes.append(self._folder)
        files = [f"{request.id}{suffix}" for suffix in SUFFIXES] if len(request.names) == 1 else []
        for name in request.names:
            stems = [name, f"{int(name):05d}"] if name.isascii() and name.isdigit() else [name]
            frames = [f"{request.id}/{stem}{suffix}" for stem in dict.fromkeys(stems) for suffix in SUFFIXES]
            yield tuple(inside(home, path) for home in homes for path in (*frames, *files))


_EXPECTED: Final = "<folder>/<condition>/<case id>/<frame>.png, or .npy"


def _file(paths: tuple[Path, ...], request: Request) -> Path:
    existing = [path for path in paths if path.exists()]
    if not existing:
        raise _missing(paths[0], request)
    if len(existing) > 1:
        raise InputError(
            f"there are several predictions of one frame: {', '.join(path.name for path in existing)}",
            expected="one file for each frame",
            hint="remove those that are not meant",
            path=existing[0].parent,
        )
    return existing[0]


def _missing(path: Path, request: Request) -> InputError:
    """Say what is missing: the condition, the case, or one of its frames."""
    case = path.parent
    condition = case
    for _ in Path(request.id).parts:
        condition = condition.parent
    if not condition.is_dir():
        message, missing = f"there are no predictions under the condition {request.condition!r}", condition
    elif not case.is_dir():
        message, missing = f"there are no predictions of the case under {request.condition!r}", path
    else:
        message, missing = "there is no prediction of this frame", path
    names = sorted(other.name for other in missing.parent.iterdir())[:_MOST_SHOWN] if missing.parent.is_dir() else []
    return InputError(
        message,
        expected=f"{_EXPECTED}; an empty mask where nothing is segmented",
        hint=f"beside it lie: {', '.join(names)}" if names else "",
        path=missing,
    )


def _files(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            if not name.startswith("."):
                yield (Path(parent) / name).relative_to(folder).as_posix()
