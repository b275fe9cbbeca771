"""CVAT xml: "CVAT for images 1.1", an ``annotations.xml`` that names its pictures, with polygons and painted masks.

INPUT is the file or the folder it stands in; the pictures are in ``--images``, or in ``images/`` or beside the file,
in a folder of their subset where a whole project was exported.
Boxes, lines, points and tracks of videos are left out, which is said. Shapes with one ``group_id`` are one object.

The file is untrusted: a document type or an entity is refused before anything is expanded, and the size of the file
and the depth of its elements are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

from auscult.cases.datasets.sidecar import left_out
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems, required_file
from auscult.cases.walk import boundary, is_folder, stem, suffix, within
from auscult.errors import InputError
from auscult.media.frames import frame_size
from auscult.media.limits import Limits
from auscult.media.masks import check_size
from auscult.media.paths import open_regular, read_bytes
from auscult.types import Item, MaskRef, Metadata

FILE: Final = "annotations.xml"

_LIMITS = Limits(max_bytes=512 << 20)
_HEAD_BYTES = 4096
_DEEPEST = 40
_EXPECTED = 'a file of "CVAT for images 1.1": <annotations> with <image>'
_EXPORT = 'export the task again as "CVAT for images 1.1", with its pictures'
_REGIONS = frozenset({"polygon", "mask"})
_OTHERS = {
    "box": "boxes",
    "polyline": "lines",
    "points": "points",
    "ellipse": "ellipses",
    "cuboid": "cuboids",
    "skeleton": "skeletons",
    "tag": "tags",
    "track": "tracks of a video",
}
_OF_VIDEO = ".PNG"
"""What the files of a video's frames end in, of which the xml names the frame only."""
_POINTS = 'points="x,y;x,y;..." in pixels'
_RUNS = 'rle="0, 3, 5, ..." with left, top, width, height'


@dataclass(slots=True)
class _Image:
    attributes: Mapping[str, str]
    line: int
    shapes: list[tuple[int, str, Mapping[str, str]]] = field(default_factory=list)  # line, kind, attributes


@dataclass(slots=True)
class _Document:
    """What a file holds, filled while it is read."""

    images: list[_Image] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    root: str = ""
    _image: _Image | None = None

    def begin(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise InputError(f"elements stand {self.depth} deep", expected=_EXPECTED)
        self.root = self.root or name
        if name == "image" and self.depth == 2:
            self._image = _Image(attributes, line)
            self.images.append(self._image)
        elif name in _REGIONS and self._image is not None:
            self._image.shapes.append((line, name, attributes))
        elif name in _OTHERS and (self._image is not None or name == "track"):
            self.left_out[_OTHERS[name]] = self.left_out.get(_OTHERS[name], 0) + 1

    def end(self, name: str) -> None:
        self.depth -= 1
        if name == "image":
            self._image = None


def _refuse(*_: object) -> int:
    raise InputError(
        "the file declares a document type or an entity, which no export of CVAT does",
        expected=_EXPECTED,
        hint="remove the declaration",
    )


def _read(path: Path) -> _Document:
    data = read_bytes(path, limits=_LIMITS)
    document = _Document()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.ExternalEntityRefHandler = _refuse
    parser.StartElementHandler = lambda name, attributes: document.begin(name, attributes, parser.CurrentLineNumber)
    parser.EndElementHandler = document.end
    try:
        parser.Parse(data, True)  # noqa: FBT003  # the last piece
    except expat.ExpatError as error:
        raise InputError(
            f"broken XML: {expat.ErrorString(error.code)}",
            expected=_EXPECTED,
            hint=_EXPORT,
            path=path,
            line=error.lineno,
        ) from error
    except InputError as error:
        raise InputError(error.message, expected=error.expected, hint=error.hint, path=path) from error
    if document.root != "annotations":
        raise InputError(f"the file begins with <{document.root[:40]}>", expected=_EXPECTED, hint=_EXPORT, path=path)
    return document


class CvatDataset:
    """Polygons and painted masks that one xml names."""

    name = "datasets.cvat.v1"
    marked_by = (".xml", FILE)
    meta = Metadata(
        summary='CVAT xml: annotations.xml of "CVAT for images 1.1" with images/, or with --images FOLDER',
        goal="lists what people drew with CVAT",
        modality="mask",
        source="CVAT for images 1.1 (opencv/cvat)",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is such a file, or a folder that holds one."""
        if any(value is not None for value in (options.frames, options.masks, options.instances)):
            return False
        file = source / FILE if is_folder(source) else source
        try:
            if suffix(file.name) != ".xml" or not file.is_file():
                return False
            with open_regular(file) as opened:
                return b"<annotations" in opened.read(_HEAD_BYTES)
        except OSError:
            return False

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every region of every picture."""
        refuse_options(options, "frames", "masks", "instances", layout="a CVAT xml; its pictures are in --images")
        file = source / FILE if is_folder(source) else source
        with required_file(file):
            document = _read(file)
        folder = _pictures(file, options)
        base = boundary(folder, source=file.parent, root=options.root)
        problems = Problems()
        items: list[Item] = []
        bare = 0
        for image in document.images:
            with problems.skipping(file, line=image.line, key=f"image {shown(image.attributes.get('name', ''))}"):
                items += _items(image, file, folder=folder, base=base, problems=problems)
                bare += not image.shapes
        notes = [f"{counted(bare, 'picture')} without a mask"] if bare else []
        notes += left_out(document.left_out)
        return Listing(tuple(items), tuple(problems.found), self.name, tuple(notes))


def _pictures(file: Path, options: ListOptions) -> Path:
    if options.images is not None:
        return options.images
    return next((folder for folder in (file.parent / "images",) if is_folder(folder)), file.parent)


def _items(image: _Image, file: Path, *, folder: Path, base: Path, problems: Problems) -> list[Item]:
    name, picture = _picture(image.attributes, folder=folder, base=base)
    size = frame_size(picture)
    declared = tuple(_integer(image.attributes, key) for key in ("height", "width"))
    check_size((declared[0], declared[1]), size, picture)
    grouped: dict[tuple[str, str], list[Any]] = {}
    items = []
    for number, (line, kind, attributes) in enumerate(image.shapes, start=1):
        with problems.skipping(file, line=line, key=f"{kind} {number} of {shown(name)}"):
            mask = _polygon(attributes) if kind == "polygon" else _painted(attributes)
            group = attributes.get("group_id", "0")
            if isinstance(mask, list) and group != "0":
                key = attributes.get("label", ""), group
                if key in grouped:
                    grouped[key] += mask
                    continue
                grouped[key] = mask
            extra = {"category": label} if (label := attributes.get("label")) else {}
            items.append(
                Item(
                    id=check_id(f"{stem(name)}/{number}"),
                    frame=picture,
                    mask=MaskRef(segmentation=mask, size=size),
                    extra=extra,
                    source=file,
                    line=line,
                )
            )
    return items


def _picture(attributes: Mapping[str, str], *, folder: Path, base: Path) -> tuple[str, Path]:
    """The name of an image, with its subset where a project keeps that as a folder, and its file."""
    name, subset = attributes.get("name", ""), attributes.get("subset", "")
    for stands_in in (f"{subset}/{name}", name) if subset else (name,):
        for ending in ("", _OF_VIDEO):
            picture = within(base, home=folder, name=f"{stands_in}{ending}")
            if picture.is_file():
                return stands_in, picture
    raise InputError(
        "there is no such picture", expected=f"the file in {folder}", hint="name its folder with --images FOLDER"
    )


def _integer(attributes: Mapping[str, str], key: str) -> int:
    word = attributes.get(key, "")
    if not word.isascii() or not word.removeprefix("-").isdigit() or len(word) > 9:
        raise InputError(f"{key} is {shown(word)}", expected="a whole number", hint=_EXPORT)
    return int(word)


def _polygon(attributes: Mapping[str, str]) -> list[Any]:
    try:
        return [[float(word) for pair in attributes["points"].split(";") for word in pair.split(",", 1)]]
    except (KeyError, ValueError) as error:
        raise InputError("the points cannot be read", expected=_POINTS, hint=_EXPORT) from error


def _painted(attributes: Mapping[str, str]) -> dict[str, Any]:
    try:
        runs = [int(word) for word in attributes["rle"].split(",")]
    except (KeyError, ValueError) as error:
        raise InputError("the mask cannot be read", expected=_RUNS, hint=_EXPORT) from error
    return {"box": [_integer(attributes, key) for key in ("left", "top", "width", "height")], "runs": runs}


DATASET = CvatDataset()
