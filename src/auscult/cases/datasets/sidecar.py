"""Layouts with one text file of masks a picture, ``x.txt`` or ``x.json`` of ``x.jpg``: YOLO-seg and LabelMe.

The text file stands beside its picture, or in ``labels/``, ``annotations/`` or ``masks/`` where the picture is in
``images/``, ``frames/`` or ``imgs/``, at any depth and with the same folders below (``images/train/`` and
``labels/train/``; ``train/images/`` and ``train/labels/``). ``--frames`` and ``--masks`` name two other folders.
Pictures are no clip. An id is the picture's name, without the folders above, ``/`` and the number of the mask.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.datasets.base import Layout
from auscult.cases.ids import check_id, counted, safe_id, shown
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
from auscult.media.masks import check_size
from auscult.media.paths import open_regular, read_bytes
from auscult.types import Item, MaskRef, Metadata

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
        files = (path for path in first_files(source) if suffix(path.name) == self.ending)
        return any(self.begins(_head(path)) for path in islice(files, _MOST_OPENED))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every mask of every text file that has a picture."""
        self.check(source, options)
        texts, pictures = _trees(source, options)
        regions = _Regions(self.name, self.reader(source), frames=_by_stem(pictures))
        regions.problems.take(pictures.errors, stage="frames")
        regions.problems.take(texts.errors if texts is not pictures else ())
        for name, path in texts.with_suffix(frozenset({self.ending})).items():
            if regions.has_picture(stem(name)) or self.begins(_head(path)):
                regions.add(stem(name), path)
        return regions.listing()


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


class _Regions:
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
        return any(name in self._frames for name in _picture_keys(key))

    def add(self, key: str, path: Path) -> None:
        """List the masks of a text file."""
        name = _without_folder(key)
        try:
            picture = self._picture(key)
            size = frame_size(picture)
            for region in self._reader.regions(SidecarFile(path=path, size=size), self.problems):
                self._drawn.add(picture)
                self._items.append(
                    Item(
                        id=check_id(f"{name}/{region.number}"),
                        frame=picture,
                        mask=MaskRef(segmentation=region.segmentation, size=size),
                        model_score=region.score,
                        extra=region.extra,
                        source=path,
                        line=region.line,
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
        guess = next((source / name for name in (*PICTURE_FOLDERS, *MASK_FOLDERS) if (source / name).is_dir()), source)
        raise UsageError(
            f"--{missing} is missing", expected="both folders", hint=f"add --{missing} {guess}", path=source
        )
    trees = []
    for name, folder in (("masks", options.masks), ("frames", options.frames)):
        path = chosen(source, folder, "")
        if not is_folder(path):
            raise NothingToDo(f"there is no folder {path}", path=source, hint=f"name the folder with --{name} DIR")
        trees.append(walk(path, root=boundary(path, source=source, root=options.root)))
    return trees[0], trees[1]


def _by_stem(tree: Tree) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for name, path in tree.with_suffix(FRAME_SUFFIXES).items():
        paths.setdefault(stem(name), path)
    return paths


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


_LABELME_EXPECTED = "a LabelMe file: an object with 'shapes', a list"
_POINTS = "at least three [x, y] in pixels"
_CORNERS = "two [x, y], the first and the last pixel of the mask's box"
_LEAST_CORNERS = 3


class LabelmeDataset(SidecarLayout):
    """LabelMe: ``x.json`` beside ``x.jpg``, or in a folder of their own; polygons and painted masks.

    Shapes of one label and one ``group_id`` are one object, as LabelMe's own converters take them. Boxes, circles,
    lines and points are no masks and are left out, which is said.
    """

    name = "datasets.labelme.v1"
    meta = Metadata(
        summary="LabelMe: x.json beside x.jpg, or in labels/ or annotations/; polygons and painted masks",
        goal="lists what people drew with LabelMe and tools that write its format",
        modality="mask",
        source="labelme (wkentaro/labelme), JSON of versions 3 to 5",
    )
    described_as = "a folder of LabelMe files"
    ending = ".json"

    def begins(self, head: bytes) -> bool:
        """Whether it is an object that speaks of shapes."""
        return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and b'"shapes"' in head

    def reader(self, source: object) -> SidecarReader:  # noqa: ARG002  # a file says everything itself
        """Knows nothing beforehand."""
        return _LabelmeReader()


class _LabelmeReader(SidecarReader):
    def regions(self, file: SidecarFile, problems: Problems) -> Iterator[Region]:
        data = fields.parse(file.read().removeprefix(fields.BOM), path=file.path)
        shapes = data.get("shapes") if isinstance(data, dict) else None
        if not isinstance(shapes, list):
            raise InputError(f"'shapes' is {fields.kind(shapes)}", expected=_LABELME_EXPECTED, path=file.path)
        height, width = data.get("imageHeight"), data.get("imageWidth")
        if type(height) is int and type(width) is int:
            check_size((height, width), file.size, file.path)
        grouped: dict[tuple[str, int], tuple[Region, list[Any]]] = {}
        for number, shape in enumerate(shapes, start=1):
            with problems.skipping(file.path, key=f"shape {number}"):
                mask = self._mask(shape)
                if mask is None:
                    continue
                extra = _labelme_extra(shape)
                region = Region(number=number, segmentation=mask, extra=extra)
                group = extra.get("group_id")
                if isinstance(mask, list) and type(group) is int:
                    _, polygons = grouped.setdefault((extra.get("category", ""), group), (region, []))
                    polygons += mask
                else:
                    yield region
        for first, polygons in grouped.values():
            yield Region(number=first.number, segmentation=polygons, extra=first.extra)

    def _mask(self, shape: object) -> Sequence[Any] | Mapping[str, Any] | None:
        """The polygon or painted mask of a shape; None for what is no region."""
        if not isinstance(shape, dict):
            raise InputError(f"it is {fields.kind(shape)}", expected="an object with 'points'")
        kind = fields.text(shape, "shape_type") or "polygon"
        if kind == "mask":
            return _painted(shape)
        if kind != "polygon":
            self.leave_out({"rectangle": "boxes", "circle": "circles", "point": "points"}.get(kind, "lines"))
            return None
        points = _corners_of(shape, _POINTS)
        if len(points) < _LEAST_CORNERS:
            raise InputError(f"the polygon has {len(points)} corners", expected=_POINTS)
        return [[number for point in points for number in point]]


def _painted(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    points = _corners_of(shape, _CORNERS)
    if len(points) != 2:
        raise InputError(f"the mask's box has {len(points)} corners", expected=_CORNERS)
    (left, top), (right, bottom) = ((round(x), round(y)) for x, y in points)
    picture = shape.get("mask")
    if not isinstance(picture, str):  # its length is bounded by the file's
        raise fields.wrong("mask", picture, "a PNG in base64")
    return {"box": [left, top, right - left + 1, bottom - top + 1], "png": picture}


def _corners_of(shape: Mapping[str, Any], expected: str) -> list[tuple[float, float]]:
    points = shape.get("points")
    if not isinstance(points, list):
        raise fields.wrong("points", points, expected)
    corners = []
    for point in points:
        if not isinstance(point, list) or len(point) != 2 or not {type(value) for value in point} <= {int, float}:
            raise InputError("a corner is no pair of numbers", expected=expected)
        corners.append((point[0], point[1]))
    return corners


def _labelme_extra(shape: Mapping[str, Any]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if label := fields.text(shape, "label"):
        extra["category"] = label
    group = shape.get("group_id")
    if type(group) in {int, str}:
        extra["group_id"] = group
    return extra


LABELME = LabelmeDataset()


_NAMES = ("data.yaml", "dataset.yaml", "classes.txt")
_NAME_LIMITS = Limits(max_bytes=1 << 20)
_BOX, _BOX_AND_SCORE = 5, 6
_OUTSIDE = 0.05
"""How far a corner may lie outside the picture, as a share of its side: augmented labels do, by a little."""
_DIGITS = 6
"""Digits of a pixel that are kept: a share of the width is seldom exact, and a half pixel may be rounded either way."""
_WHOLE = re.compile(r"\s[0-9]{1,9}\s*$")
_TRACKED = re.compile(r"\s(?:[2-9]|[1-9][0-9]{1,8})\s*$")
_YOLO_EXPECTED = "class x1 y1 x2 y2 x3 y3 ..., in shares of width and height, 0 to 1"


class YoloDataset(SidecarLayout):
    """YOLO-seg: ``labels/x.txt`` of ``images/x.jpg``, one mask a line, as Ultralytics trains on and predicts.

    A line is ``class x1 y1 x2 y2 ...`` in shares of the picture's width and height; a last number beyond the pairs is
    the model's confidence, which becomes its own score of the mask. A whole number above 1 behind shares says that
    lines of the file end in the ids of a tracker, which are kept as ``track``. Names of the classes are read from
    ``data.yaml``, ``dataset.yaml`` or ``classes.txt`` where one stands in INPUT. A box is no mask: its line is an
    error.
    """

    name = "datasets.yolo.v1"
    meta = Metadata(
        summary="YOLO-seg: labels/x.txt of images/x.jpg, or x.txt beside x.jpg; confidences are the model's own score",
        goal="lists what YOLO models train on and predict",
        modality="mask",
        source="Ultralytics YOLO segmentation format",
    )
    described_as = "a folder of YOLO-seg text files"
    ending = ".txt"

    def begins(self, head: bytes) -> bool:
        """Whether the first line is a class and the numbers of a box or more."""
        line, newline, _ = head.lstrip().partition(b"\n")
        words = line.split()
        words = words if newline or len(head) < HEAD_BYTES else words[:-1]  # the last one may be cut
        try:
            return len(words) >= _BOX and words[0].isdigit() and all(math.isfinite(float(word)) for word in words)
        except ValueError:
            return False

    def reader(self, source: Path) -> SidecarReader:
        """Knows the names of the classes."""
        return _YoloReader(_class_names(source))


class _YoloReader(SidecarReader):
    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__()
        self._names = names

    def regions(self, file: SidecarFile, problems: Problems) -> Iterator[Region]:
        data = file.read() if file.path.stat().st_size else b""  # a picture of nothing
        lines = data.decode("utf-8", "replace").splitlines()
        tracked = any(map(_ends_in_track, lines))
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            with problems.skipping(file.path, line=number):
                yield self._region(line, number, size=file.size, tracked=tracked)

    def _region(self, line: str, number: int, *, size: tuple[int, int], tracked: bool) -> Region:
        try:
            values = [float(word) for word in line.split()]
        except ValueError as error:
            raise InputError(
                f"the line is {shown(line)}", expected=_YOLO_EXPECTED, hint="correct or drop it"
            ) from error
        track = int(values.pop()) if tracked and _WHOLE.search(line) else None
        if len(values) in {_BOX, _BOX_AND_SCORE}:
            raise InputError(
                "the line is a box", expected=_YOLO_EXPECTED, hint="a box is no mask; export segmentations"
            )
        class_id = values[0] if values and math.isfinite(values[0]) and values[0] == int(values[0]) else -1
        if len(values) < _BOX or class_id < 0 or not all(map(math.isfinite, values[:-1])):
            raise InputError(f"the line is {shown(line)}", expected=_YOLO_EXPECTED, hint="correct or drop it")
        score = values.pop() if len(values) % 2 == 0 else None
        corners = values[1:]
        if not all(-_OUTSIDE <= value <= 1 + _OUTSIDE for value in corners):
            hint = "are they pixels? divide x by the width and y by the height"
            raise InputError("a corner lies outside the picture", expected=_YOLO_EXPECTED, hint=hint)
        height, width = size
        polygon = [round(value * (height if place % 2 else width), _DIGITS) for place, value in enumerate(corners)]
        extra: dict[str, Any] = {"class": int(class_id)}
        if int(class_id) in self._names:
            extra["category"] = self._names[int(class_id)]
        if track is not None:
            extra["track"] = track
        valid = score is not None and math.isfinite(score)
        return Region(number=number, segmentation=[polygon], score=score if valid else None, extra=extra, line=number)


def _ends_in_track(line: str) -> bool:
    """Whether a whole number above 1, neither a share nor a confidence, follows numbers that are all shares."""
    if not _TRACKED.search(line):
        return False
    try:
        return all(-_OUTSIDE <= float(word) <= 1 + _OUTSIDE for word in line.split()[1:-1])
    except ValueError:
        return False


def _class_names(source: Path) -> dict[int, str]:
    """The names of the classes, where a file says them."""
    for name in _NAMES:
        path = source / name
        with suppress(InputError):
            text = read_bytes(path, limits=_NAME_LIMITS).decode("utf-8", "replace")
            return dict(enumerate(text.split("\n"))) if path.suffix == ".txt" else _names_of_yaml(text)
    return {}


def _names_of_yaml(text: str) -> dict[int, str]:
    """What stands under ``names:``: a list or numbered names, in either of YAML's two styles."""
    match = re.search(
        r"^names:[ \t]*(?:#.*)?(\[[^\]]*\]|\{[^}]*\}|(?:\n[ \t]*(?:-|[0-9]+:)[^\n]*)+)", text, re.MULTILINE
    )
    block = match[1] if match else ""
    entries = block[1:-1].split(",") if block[:1] in {"[", "{"} else block.strip().split("\n")
    names: dict[int, str] = {}
    for place, entry in enumerate(entries):
        numbered = re.match(r"\s*([0-9]+)\s*:(.*)", entry)
        word = numbered[2] if numbered else entry.strip().removeprefix("-")
        names[int(numbered[1]) if numbered else place] = word.split(" #")[0].strip().strip("'\"")
    return {index: name for index, name in names.items() if name}


YOLO = YoloDataset()
