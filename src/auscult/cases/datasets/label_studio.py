"""Label Studio json: a list of tasks, with annotations that people made, or predictions where there is none.

Brush masks and polygons are candidates; boxes, points and the like are left out, which is said. Of several annotations
of a task those that were cancelled do not count. The pictures are looked for in ``--images``, by default ``images/``
beside the file or the file's folder, by the path behind ``?d=`` (local files), by name, and by name without the eight
digits that an upload puts in front.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from auscult.cases import fields
from auscult.cases.fields import BOM, json_objects, load
from auscult.cases.ids import check_id, shown
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems
from auscult.cases.walk import boundary, is_folder, suffix, within
from auscult.errors import InputError, NothingToDo
from auscult.media.rle import encode
from auscult.media.rle_pack import unpack
from auscult.types import Item, MaskRef, Metadata

MAX_FILE_BYTES = 1024 * 1024 * 1024
_HEAD_BYTES = 4096
_UPLOADED = re.compile(r"^[0-9a-f]{8}-")
_FARTHEST = 1_000.0  # percent
_EXPECTED = "tasks with 'data' and 'annotations' or 'predictions', as Label Studio exports them (JSON)"


def is_tasks(path: Path) -> bool:
    """Whether a JSON file begins like a list of tasks: COCO results are a list too, with other keys."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).removeprefix(BOM).lstrip()
    except OSError:
        return False
    return head[:1] == b"[" and any(key in head for key in (b'"annotations"', b'"predictions"', b'"result"'))


class LabelStudioDataset:
    """Masks of tasks."""

    name = "datasets.label_studio.v1"
    meta = Metadata(
        summary="Label Studio json: tasks with brush masks and polygons, with --images FOLDER or images/ beside",
        goal="lists what people drew, or models pre-drew, in Label Studio",
        modality="mask",
        source="Label Studio's JSON export; @thi.ng/rle-pack",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a ``.json`` file that begins like a list of tasks."""
        has_option = any(value is not None for value in (options.frames, options.masks, options.instances))
        return not has_option and suffix(source.name) == ".json" and source.is_file() and is_tasks(source)

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the regions of all tasks."""
        refuse_options(
            options, "frames", "masks", "instances", layout="tasks of Label Studio; pictures are in --images"
        )
        data = load(source, max_bytes=MAX_FILE_BYTES)
        if not isinstance(data, list):
            raise NothingToDo(f"the file holds {fields.kind(data)}", expected=_EXPECTED, path=source)
        images = source.parent / "images"
        folder = options.images or (images if is_folder(images) else source.parent)
        base = boundary(folder, source=source.parent, root=options.root)
        problems, left_out, items = Problems(), Counter[str](), list[Item]()
        for number, task in enumerate(data, start=1):
            try:
                frame = _picture(task, folder, base)
            except InputError as error:
                problems.add(error, error.path or source, key=f"task {number}")
                continue
            for place, region in enumerate(_regions(task), start=1):
                kind = str(region.get("type"))
                if kind not in {"brushlabels", "polygonlabels", "brush", "polygon"}:
                    left_out[kind[:40]] += 1
                    continue
                try:
                    items.append(_item(region, frame, f"{frame.stem}/{place}", source=source))
                except InputError as error:
                    problems.add(error, source, key=f"task {number}, region {place}")
        notes = tuple(f"{count} regions of type {shown(kind)} left out: no mask" for kind, count in left_out.items())
        return Listing(tuple(items), tuple(problems.found), self.name, notes)


def _picture(task: object, folder: Path, base: Path) -> Path:
    data = task.get("data") if isinstance(task, Mapping) else None
    if not isinstance(data, Mapping):
        raise InputError("the task has no 'data'", expected=_EXPECTED)
    address = data.get("image", next((value for value in data.values() if isinstance(value, str)), None))
    if not isinstance(address, str) or not address.strip():
        raise InputError("the task names no picture", expected="'data' with 'image'")
    try:
        parts = urlsplit(address)
        local = parse_qs(parts.query).get("d", [""])[0]
    except ValueError as error:
        raise InputError(f"{shown(address)} is no address: {error}", expected="a path or a URL") from error
    path = (local or unquote(parts.path)).lstrip("/")
    plain = path.rpartition("/")[2]
    for name in dict.fromkeys((path, path.removeprefix("images/"), plain, _UPLOADED.sub("", plain))):
        picture = within(base, home=folder, name=name) if name else folder
        if picture.is_file():
            return picture
    raise InputError(
        f"there is no picture {shown(plain)}", expected=f"the file in {folder}", hint="name its folder with --images"
    )


def _regions(task: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The regions that people drew; where nobody drew any, those of predictions."""
    valid = [annotation for annotation in json_objects(task.get("annotations")) if not annotation.get("was_cancelled")]
    for annotation in valid or json_objects(task.get("predictions")):
        yield from json_objects(annotation.get("result"))


def _item(region: Mapping[str, Any], frame: Path, name: str, *, source: Path) -> Item:
    value = fields.mapping(region, "value") or {}
    height, width = region.get("original_height"), region.get("original_width")
    if type(height) is not int or type(width) is not int or min(height, width) < 1:
        raise InputError("the region does not say how large its picture is", expected="original_height, original_width")
    if region.get("image_rotation"):
        raise InputError("the picture is turned", expected="'image_rotation' is 0", hint="turn the picture file itself")
    labels = next((entry for key, entry in value.items() if key.endswith("labels") and isinstance(entry, list)), [])
    extra: dict[str, Any] = {"category": labels[0]} if labels and isinstance(labels[0], str) else {}
    if isinstance(region.get("id"), str):
        extra["region"] = region["id"]
    return Item(
        id=check_id(name),
        frame=frame,
        mask=MaskRef(segmentation=_segmentation(value, (height, width)), size=(height, width)),
        model_score=fields.number(region, "score"),
        extra=extra,
        source=source,
    )


def _segmentation(value: Mapping[str, Any], size: tuple[int, int]) -> Mapping[str, Any] | Sequence[Any]:
    if isinstance(value.get("rle"), list):
        return encode(unpack(value["rle"], size))
    points = value.get("points")
    pairs = isinstance(points, list) and all(isinstance(point, list) and len(point) == 2 for point in points)
    if not pairs or not points:
        raise InputError("the region has no mask", expected="'rle', or 'points' in percent of width and height")
    if not all(type(side) in {int, float} and abs(side) <= _FARTHEST for point in points for side in point):
        raise InputError("a corner is no pair of percents", expected="'points' in percent of width and height")
    return [[side for x, y in points for side in (x * size[1] / 100, y * size[0] / 100)]]


DATASET = LabelStudioDataset()
