"""JSON lines: one item a line, in ``items.jsonl`` or any file that ends in ``.jsonl``.

A line names ``id``, ``frame`` and ``mask``, and may name ``text``, ``clip``, ``time_s``, ``audio``, ``mixture`` with
``separated``, and ``truth``; other keys are kept. A line that names ``mixture`` and no ``frame`` is a sound's
(``cases.sounds``). Paths are relative to the file, or absolute, and stay inside its folder unless ``root`` names
another. A line that cannot be used costs itself: its error names file and line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from auscult.cases import fields
from auscult.cases.fields import FILE, SUFFIXES, Home, item_lines, parsed_line
from auscult.cases.ids import check_id, safe_id
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems
from auscult.cases.sounds import sound_item
from auscult.cases.walk import base_folder, suffix
from auscult.errors import InputError, UsageError
from auscult.types import (
    ACTIONS,
    DEFECTS,
    JOINT_FAULTS,
    Action,
    Defect,
    Difficulty,
    Item,
    JointFault,
    MaskRef,
    Metadata,
    Query,
    SoundItem,
    Truth,
)

MASK_FORMS = "a path, a COCO RLE object {size, counts}, a list of polygons, or {path, index}"

_KNOWN = frozenset({"id", "frame", "mask", "text", "clip", "time_s", "audio", "mixture", "separated", "truth"})
_DIFFICULTIES: tuple[Difficulty, ...] = ("hard", "medium", "easy")
_NOT_POSITION = frozenset({"mask", "text", "audio", "mixture", "separated", "truth"})
"""Keys that do not locate an item in a video."""
_NO_MASK: Mapping[str, Any] = {"size": [0, 0], "counts": ""}
_MAX_INDEX, _MAX_COLOUR = 65_535, 256**3 - 1


def item_of(row: object, *, home: Home, line: int | None = None) -> Item:
    """Read the object of one line, given with its number from 1; an error of it names neither file nor line.

    A malformed truth costs the item: left out silently, it would make the comparison with truth look complete.
    """
    if not isinstance(row, dict):
        raise InputError(
            f"the line holds {fields.kind(row)}",
            expected='an object: {"id": ..., "frame": ..., "mask": ...}',
            hint="write one object a line",
        )
    name = check_id(fields.required(row, "id"))
    frame = home.path(fields.required(row, "frame"))
    clip = fields.text(row, "clip") or fields.text(row, "video")
    words = fields.text(row, "text")
    files = (fields.text(row, key) for key in ("audio", "mixture", "separated"))
    sound, mixture, separated = (None if file is None else home.path(file) for file in files)
    if (mixture is None) != (separated is None):
        present, missing = ("mixture", "separated") if separated is None else ("separated", "mixture")
        raise InputError(
            f"there is {present!r} and no {missing!r}",
            expected="both: a separated sound is judged against what it was separated from",
            hint=f"add {missing!r} to the line, or take {present!r} out",
        )
    return Item(
        id=name,
        frame=frame,
        mask=_mask(row, home),
        query=Query(words if words and words.strip() else None),
        clip=clip or _parent(frame, home),
        time_s=fields.number(row, "time_s"),
        audio=sound,
        mixture=mixture,
        separated=separated,
        truth=_truth(row, home),
        extra={key: value for key, value in row.items() if key not in _KNOWN},
        source=home.file,
        line=line,
        in_video=any(row.get(key) is not None for key in ("clip", "video", "time_s")),
    )


def _parent(frame: Path, home: Home) -> str | None:
    """The folder the frame stands in, relative to ``base``, or the name of ``base``."""
    folder = frame.parent.relative_to(home.base).as_posix()
    return folder if folder != "." else home.base.resolve().name or None


def _mask(row: Mapping[str, Any], home: Home) -> MaskRef:
    value = row.get("mask")
    if value is None:
        raise InputError("there is no 'mask'", expected=f"'mask' is {MASK_FORMS}", hint="add 'mask' to the line")
    if isinstance(value, str):
        return MaskRef(path=home.path(value), labels=home.labels)
    if isinstance(value, dict) and "path" in value:
        return _indexed(value, home)
    if isinstance(value, dict) and ({"size", "counts"} <= value.keys() or "box" in value):
        return MaskRef(segmentation=value)
    if isinstance(value, list) and value:
        return MaskRef(segmentation=value)
    raise fields.wrong("mask", value, MASK_FORMS)


def _indexed(value: Mapping[str, Any], home: Home) -> MaskRef:
    index, labels, rgb = (value.get(key) for key in ("index", "labels", "rgb"))
    largest = _MAX_COLOUR if rgb is True else _MAX_INDEX
    if index is not None and (type(index) is not int or not 1 <= index <= largest):
        raise fields.wrong("index", index, f"a whole number from 1 to {largest}")
    for key, word in (("labels", labels), ("rgb", rgb)):
        if word is not None and not isinstance(word, bool):
            raise fields.wrong(key, word, "true or false")
    path = home.path(fields.required(value, "path"))
    return MaskRef(path=path, index=index, labels=home.labels if labels is None else labels is True, rgb=rgb is True)


def _truth(row: Mapping[str, Any], home: Home) -> Truth | None:
    value = fields.mapping(row, "truth")
    if value is None:
        return None
    try:
        return Truth(
            # ground truth may say that the object is out of the picture; a candidate may not
            mask=replace(_mask(value, home), absent_ok=True) if value.get("mask") is not None else None,
            iou=fields.number(value, "iou", low=0.0, high=1.0),
            defect=cast("Defect | None", fields.one_of(value, "defect", (*DEFECTS, "empty"))),
            difficulty=cast("Difficulty | None", fields.one_of(value, "difficulty", _DIFFICULTIES)),
            action=cast("Action | None", fields.one_of(value, "action", ACTIONS)),
            joint=cast("JointFault | None", fields.one_of(value, "joint", JOINT_FAULTS)),
        )
    except InputError as error:
        raise InputError(
            f"in 'truth', {error.message}", expected=error.expected, hint="correct 'truth', or leave it out"
        ) from error


class ItemsDataset:
    """A file of JSON lines that names everything."""

    name = "datasets.items.v1"
    meta = Metadata(
        summary="items.jsonl: one JSON object a line with id, frame, mask, and maybe text, clip, time_s, audio, truth",
        goal="lists anything, with what is known about it; what `auscult stress` and `auscult make` write",
        modality="mask",
        source="auscult's own layout",
        truth="the key truth: mask, iou, defect, difficulty, action, joint",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a file of JSON lines or a folder with an ``items.jsonl``, and no option names other folders."""
        if source.is_dir():
            return options.frames is None and options.masks is None and (source / FILE).is_file()
        return suffix(source.name) in SUFFIXES and source.is_file()

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the lines that name an item."""
        refuse_options(options, "frames", "masks", "images", "instances", layout="JSON lines that name every file")
        file = source / FILE if source.is_dir() else source
        try:
            return self._list(file, Home(file=file, base=base_folder(file, options.root), labels=options.labels))
        except UsageError:  # --root does not hold the file, which matters to relative paths alone
            if (
                options.root is None
                or not (listing := self._list(file, Home(file=file, base=options.root, labels=options.labels))).items
            ):
                raise
            return listing

    def _list(self, file: Path, home: Home) -> Listing:
        items: list[Item] = []
        sounds: list[SoundItem] = []
        lost: list[Item] = []
        problems = Problems()
        for line, content in item_lines(file):
            row = None
            try:
                row = parsed_line(content, file=file, line=line)
                if isinstance(row, dict) and "mixture" in row and "frame" not in row:
                    sounds.append(sound_item(row, home, line))
                else:
                    items.append(item_of(row, home=home, line=line))
            except InputError as error:  # the path an item names is in the message, the file that names it in ``path``
                problems.add(error, file, line=line, item=_id_of(row))
                lost += _lost_items(row, home=home, line=line)
        return Listing(tuple(items), tuple(problems.found), self.name, lost=tuple(lost), sounds=tuple(sounds))


def _id_of(row: object) -> str | None:
    name = row.get("id") if isinstance(row, dict) else None
    return safe_id(name) if isinstance(name, str) else None


def _lost_items(row: object, *, home: Home, line: int) -> list[Item]:
    """The item of an unusable line, where it has id and frame, so that its video is reported as incomplete."""
    if not isinstance(row, dict):
        return []
    position = {key: value for key, value in row.items() if key not in _NOT_POSITION}
    mask = row.get("mask")
    index = mask.get("index") if isinstance(mask, dict) else None  # identifies the object's track
    try:
        item = item_of({**position, "mask": _NO_MASK}, home=home, line=line)
    except InputError:
        return []
    return [replace(item, mask=MaskRef(index=index if type(index) is int else None))]


DATASET = ItemsDataset()
