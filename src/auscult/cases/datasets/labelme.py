"""LabelMe json: ``x.json`` beside ``x.jpg``, or in a folder of their own; polygons and painted masks.

Shapes of one label and one ``group_id`` are one object, as LabelMe's own converters take them. Boxes, circles, lines
and points are no masks and are left out, which is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auscult.cases import fields
from auscult.cases.problems import Problems
from auscult.cases.sidecar import Region, SidecarFile, SidecarLayout, SidecarReader
from auscult.errors import InputError
from auscult.media.masks import check_size
from auscult.types import Metadata

_EXPECTED = "a LabelMe file: an object with 'shapes', a list"
_POINTS = "at least three [x, y] in pixels"
_CORNERS = "two [x, y], the first and the last pixel of the mask's box"
_LEAST_CORNERS = 3


class LabelmeDataset(SidecarLayout):
    """Polygons and painted masks in one json a picture."""

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
            raise InputError(f"'shapes' is {fields.kind(shapes)}", expected=_EXPECTED, path=file.path)
        height, width = data.get("imageHeight"), data.get("imageWidth")
        if type(height) is int and type(width) is int:
            check_size((height, width), file.size, file.path)
        grouped: dict[tuple[str, int], tuple[Region, list[Any]]] = {}
        for number, shape in enumerate(shapes, start=1):
            with problems.skipping(file.path, key=f"shape {number}"):
                mask = self._mask(shape)
                if mask is None:
                    continue
                extra = _extra(shape)
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
        points = _points(shape, _POINTS)
        if len(points) < _LEAST_CORNERS:
            raise InputError(f"the polygon has {len(points)} corners", expected=_POINTS)
        return [[number for point in points for number in point]]


def _painted(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    points = _points(shape, _CORNERS)
    if len(points) != 2:
        raise InputError(f"the mask's box has {len(points)} corners", expected=_CORNERS)
    (left, top), (right, bottom) = ((round(x), round(y)) for x, y in points)
    picture = shape.get("mask")
    if not isinstance(picture, str):  # its length is bounded by the file's
        raise fields.wrong("mask", picture, "a PNG in base64")
    return {"box": [left, top, right - left + 1, bottom - top + 1], "png": picture}


def _points(shape: Mapping[str, Any], expected: str) -> list[tuple[float, float]]:
    points = shape.get("points")
    if not isinstance(points, list):
        raise fields.wrong("points", points, expected)
    found = []
    for point in points:
        if not isinstance(point, list) or len(point) != 2 or not {type(value) for value in point} <= {int, float}:
            raise InputError("a corner is no pair of numbers", expected=expected)
        found.append((point[0], point[1]))
    return found


def _extra(shape: Mapping[str, Any]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if label := fields.text(shape, "label"):
        extra["category"] = label
    group = shape.get("group_id")
    if type(group) in {int, str}:
        extra["group_id"] = group
    return extra


DATASET = LabelmeDataset()
