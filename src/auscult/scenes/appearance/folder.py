"""Asset set two: a user's folder of cut-outs (``cutouts/``) and photographs (``backgrounds/``).

A cut-out's category is the name of the sub-folder it lies in; directly in ``cutouts/`` it is the ``name`` of its row in
``cutouts/names.csv`` (columns ``file,name``). What a photograph is known to show may be listed in
``backgrounds/names.csv``, a row for each thing; it is then never the background of such things. Every file that cannot
be used, or that repeats an earlier one, is an ``ErrorRecord``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.cases.named_files import NAMES, Contents, NamedFile, listed_rows, named_files, noun
from auscult.cases.walk import Tree, walk
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.frames import FRAME_SUFFIXES, read_cutout, read_frame
from auscult.scenes.appearance.colours import word_of
from auscult.scenes.appearance.drawing import AssetSet, Look, Sprite, check_height, spread, with_a_pixel
from auscult.types import Frame

_MARGIN_PX: Final = 3
_BLEED_PX: Final = 4


def resampled(rgba: NDArray[np.uint8], *, height_px: int, turn_deg: float) -> Sprite:
    """Bring a cut-out, uint8 RGBA (H, W, 4), to a size; the middle of the box of what is half opaque is in its middle.

    Colours are weighted by alpha on the way, so that what is hidden under transparency never shows. The height is that
    of what is at least half opaque, before turning; at least one pixel must be.
    """
    box = box_of(rgba[..., 3] >= 128)
    if box is None:
        raise ValueError("a cut-out has at least one pixel with an alpha of 128 or more")
    soft = box_of(rgba[..., 3] > 0) or box
    weighted: NDArray[Any] = rgba[soft[1] : soft[3], soft[0] : soft[2]].astype(np.float32)
    weighted[..., :3] *= weighted[..., 3:] / np.float32(255)
    scale = height_px / (box[3] - box[1])
    middle = ((box[0] + box[2]) / 2 - soft[0], (box[1] + box[3]) / 2 - soft[1])
    placed = _transformed(weighted, scale=scale, middle=middle, turn_deg=turn_deg)
    alpha = np.clip(placed[..., 3], 0, 255)
    straight = spread(np.maximum(placed[..., :3], 0), alpha / np.float32(255), reach_px=_BLEED_PX)
    opacity = with_a_pixel(np.rint(alpha).astype(np.uint8))
    return Sprite(np.clip(np.rint(straight), 0, 255).astype(np.uint8), opacity)


def _transformed(
    weighted: NDArray[np.float32], *, scale: float, middle: tuple[float, float], turn_deg: float
) -> NDArray[np.float32]:
    """Scale and turn about the middle: first smaller by area, then by one mapping at twice the size, then by half."""
    fine = min(1.0, 2 * scale)
    if fine < 1:
        columns, rows = (max(1, round(side * fine)) for side in weighted.shape[1::-1])
        shrunk = (columns / weighted.shape[1], rows / weighted.shape[0])
        weighted = np.asarray(cv2.resize(weighted, (columns, rows), interpolation=cv2.INTER_AREA), dtype=np.float32)
    else:
        shrunk = (1.0, 1.0)
    angle = math.radians(turn_deg)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix = turn @ np.diag([2 * scale / shrunk[0], 2 * scale / shrunk[1]])
    centre = np.array(middle) * shrunk
    corners = np.array([(0, 0), (weighted.shape[1], 0), (0, weighted.shape[0]), weighted.shape[1::-1]]) - centre
    reach = np.abs(corners @ matrix.T).max(axis=0) / 2
    width, height = (2 * (math.ceil(side) + _MARGIN_PX) for side in reach)
    # OpenCV's pixel centres lie on whole numbers, ours on halves.
    shift = np.array((width, height)) - matrix @ (centre - 0.5) - 0.5
    interpolation = cv2.INTER_LINEAR if fine < 1 else cv2.INTER_CUBIC
    double = cv2.warpAffine(weighted, np.column_stack([matrix, shift]), (2 * width, 2 * height), flags=interpolation)
    return np.asarray(cv2.resize(double, (width, height), interpolation=cv2.INTER_AREA), dtype=np.float32)


PICTURES: Final = frozenset({".png", ".webp", ".tif", ".tiff", ".jpg", ".jpeg", ".gif", ".bmp"})
"""Endings that ``cutouts/`` is searched for; those of formats without alpha too, so that they are reported."""


def names_by_file(tree: Tree) -> tuple[Mapping[str, frozenset[str]], list[ErrorRecord]]:
    """All names that ``names.csv`` gives each file; a file may have several rows."""
    rows, errors = listed_rows(tree)
    names: dict[str, frozenset[str]] = {}
    for row in rows:
        file, text = row.cells
        try:
            name = noun(text, "the name of what is shown", path=tree.files[NAMES], line=row.line)
            names[file] = names.get(file, frozenset()) | {name}
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return names, errors


_LEAST_CUTOUT_PX: Final = 12
_LEAST_BACKGROUND_PX: Final = 64
_MOST_UPSCALED: Final = 1.5
_COLOUR_PIXELS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cutout:
    path: Path
    size: tuple[int, int]
    colour: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A user's cut-outs and photographs.

    A cut-out's colour word is measured; it has no texture word. ``Look.params["tallest_px"]`` is 1.5 times its own
    height: above that it would look blown up, and ``sprite`` refuses.
    """

    name: str
    cutouts: Mapping[str, Mapping[str, _Cutout]]
    photographs: Mapping[str, Path]
    holding: Mapping[str, frozenset[str]]

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Category to the names of its files, relative to ``cutouts/``; both in natural order."""
        return {category: tuple(files) for category, files in self.cutouts.items()}

    def backgrounds(self) -> tuple[str, ...]:
        """Names of the photographs, relative to ``backgrounds/``, in natural order."""
        return tuple(self.photographs)

    def held(self, background: str) -> frozenset[str]:
        """What ``backgrounds/names.csv`` says the photograph shows; a photograph may always show more than that."""
        return self.holding.get(background, frozenset())

    def look(self, rng: np.random.Generator, category: str, *, instance: str) -> Look:  # noqa: ARG002 - a photograph is as it is
        """What a cut-out looks like; nothing is free about it. An InputError where there is no such cut-out."""
        cutout = self._cutout(category, instance)
        height, width = cutout.size
        return Look(
            category=category,
            instance=instance,
            aspect=round(width / height, 6),
            colour=cutout.colour,
            params={"tallest_px": _tallest_px(cutout)},
        )

    def sprite(self, look: Look, *, height_px: int, turn_deg: float = 0.0) -> Sprite:
        """Read a cut-out and bring it to a size."""
        cutout = self._cutout(look.category, look.instance)
        check_height(height_px, tallest_px=_tallest_px(cutout))
        rgba, _ = _read(cutout.path)
        return resampled(rgba, height_px=height_px, turn_deg=turn_deg % 360.0)

    def background(self, name: str, *, size: tuple[int, int]) -> Frame:
        """Read a photograph; it is scaled until it covers the size, (height, width), and its middle is taken."""
        if name not in self.photographs:
            raise InputError(f"there is no background {name[:80]!r}", expected="one of the folder's photographs")
        return covering(read_frame(self.photographs[name]), size=size)

    def _cutout(self, category: str, instance: str) -> _Cutout:
        cutout = self.cutouts.get(category, {}).get(instance)
        if cutout is None:
            raise InputError(
                f"there is no cut-out {instance[:80]!r} of category {category[:60]!r}",
                hint="was the asset folder changed since the scenes were planned?",
            )
        return cutout


def _tallest_px(cutout: _Cutout) -> int:
    return int(_MOST_UPSCALED * cutout.size[0])


def covering(photograph: Frame, *, size: tuple[int, int]) -> Frame:
    """Scale a picture, uint8 RGB (H, W, 3), until it covers a size, (height, width) in pixels, and take its middle."""
    height, width = size
    scale = max(height / photograph.shape[0], width / photograph.shape[1])
    rows, columns = (max(least, round(side * scale)) for least, side in zip(size, photograph.shape[:2], strict=True))
    interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled = cv2.resize(photograph, (columns, rows), interpolation=interpolation)
    y, x = (rows - height) // 2, (columns - width) // 2
    return np.ascontiguousarray(scaled[y : y + height, x : x + width], dtype=np.uint8)


def open_assets(root: Path) -> tuple[AssetSet, tuple[ErrorRecord, ...]]:
    """Open a folder of cut-outs and photographs; each file is read once."""
    cutouts, refused = _open_cutouts(walk(root / "cutouts", root=root))
    grounds = walk(root / "backgrounds", root=root)
    photographs, unread = _open_photographs(grounds)
    holding, unlisted = names_by_file(grounds)
    errors = (*refused, *unread, *unlisted)
    for usable, folder, description in (
        (cutouts, "cutouts", "cut-out: a PNG, WebP or TIFF picture with alpha, in a sub-folder that names it"),
        (photographs, "backgrounds", "photograph"),
    ):
        if not usable:
            first = f"; first of {len(errors)}: {errors[0].path}: {errors[0].error}" if errors else ""
            raise UsageError(
                f"the folder holds nothing to use{first}", expected=f"at least one {description}", path=root / folder
            )
    assets = Folder(
        name=root.resolve().name,
        cutouts=MappingProxyType(cutouts),
        photographs=MappingProxyType(photographs),
        holding=MappingProxyType(dict(holding)),
    )
    return assets, errors


def _open_cutouts(tree: Tree) -> tuple[dict[str, Mapping[str, _Cutout]], list[ErrorRecord]]:
    files, errors = named_files(tree, PICTURES, what="cut-out")
    errors = [*tree.errors, *errors]
    cutouts: dict[str, dict[str, _Cutout]] = {}
    contents = Contents()
    for file in files:
        try:
            cutouts.setdefault(file.name, {})[file.file] = _open_cutout(file, contents)
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return {category: MappingProxyType(cutouts[category]) for category in sorted(cutouts) if cutouts[category]}, errors


def _open_cutout(file: NamedFile, contents: Contents) -> _Cutout:
    rgba, box = _read(file.path)
    contents.add(rgba, file)
    inside = rgba[rgba[..., 3] >= 224][:, :3]
    step = max(1, len(inside) // _COLOUR_PIXELS)
    size = (box[3] - box[1], box[2] - box[0])
    return _Cutout(path=file.path, size=size, colour=word_of(inside[::step]))


def _read(path: Path) -> tuple[NDArray[np.uint8], tuple[int, int, int, int]]:
    """A cut-out cropped to what is at least half opaque and its soft edge, and the box of the former."""
    rgba = read_cutout(path)
    box = box_of(rgba[..., 3] >= 128)
    if box is None:
        raise InputError(
            "the picture is transparent everywhere", expected="a thing with alpha of 128 or more", path=path
        )
    size = (box[3] - box[1], box[2] - box[0])
    if min(size) < 2 or max(size) < _LEAST_CUTOUT_PX:
        raise InputError(
            f"the thing in the picture is {size[0]} x {size[1]} pixels (height x width)",
            expected=f"at least {_LEAST_CUTOUT_PX} pixels on its longer side",
            path=path,
        )
    if int(rgba[..., 3].min()) == 255:
        raise InputError(
            "the picture is opaque everywhere, so it shows no outline",
            expected="transparency around the thing",
            hint="cut the thing out; photographs belong into backgrounds/",
            path=path,
        )
    return rgba, box


def _open_photographs(tree: Tree) -> tuple[dict[str, Path], list[ErrorRecord]]:
    errors = list(tree.errors)
    contents = Contents()
    photographs = {}
    for name, path in tree.with_suffix(FRAME_SUFFIXES).items():
        try:
            contents.add(_photograph(path), NamedFile(name, path, ""))
            photographs[name] = path
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return photographs, errors


def _photograph(path: Path) -> Frame:
    photograph = read_frame(path)
    size = photograph.shape[:2]
    if min(size) < _LEAST_BACKGROUND_PX:
        raise InputError(
            f"the photograph is {size[0]} x {size[1]} pixels (height x width)",
            expected=f"at least {_LEAST_BACKGROUND_PX} pixels on each side",
            path=path,
        )
    return photograph
