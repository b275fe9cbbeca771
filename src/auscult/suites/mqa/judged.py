"""The INPUT that the judges see: the benchmark's evaluated part, as lines of the run's own ``items.jsonl``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from auscult.errors import UsageError
from auscult.jobs.groups import asked
from auscult.types import Item, MaskRef, Truth

FILE = "items.jsonl"


def root_of(folder: Path, items: Sequence[Item]) -> Path | None:
    """The folder around the record and every file it names; None where all lie in the record.

    Args:
        folder: The record.
        items: What is to be judged.

    Raises:
        UsageError: They lie on different drives.
    """
    home = folder.resolve()
    parents = {home, *(path.resolve().parent for item in items for path in _paths(item))}
    try:
        root = Path(os.path.commonpath(parents))
    except ValueError as error:
        raise UsageError(
            "output folder and benchmark lie on different drives", hint="choose an --out on the benchmark's drive"
        ) from error
    return None if root == home else root


def line_of(item: Item, folder: Path) -> dict[str, Any]:
    """An item as a line of the ``items.jsonl`` in a folder; keys that auscult does not know are kept."""
    home = folder.resolve()
    row: dict[str, Any] = {"id": item.id, "frame": _name(item.frame, home), "mask": _mask(item.mask, home)}
    row |= asked(item)
    if item.audio is not None:
        row["audio"] = _name(item.audio, home)
    if item.truth is not None:
        row["truth"] = _truth(item.truth, home)
    return row | {key: _kept(item, key, home) for key in item.extra if key not in row}


def _kept(item: Item, key: str, home: Path) -> Any:
    """A further key of the line; the path of a video is told from the new folder."""
    value = item.extra[key]
    if key == "video" and isinstance(value, str) and item.source is not None and "\0" not in value:
        return _name(item.source.parent / value, home)
    return value


def _paths(item: Item) -> list[Path]:
    masks = (item.mask, None if item.truth is None else item.truth.mask)
    sound = () if item.audio is None else (item.audio,)
    return [item.frame, *sound, *(ref.path for ref in masks if ref is not None and ref.path is not None)]


def _name(path: Path, home: Path) -> str:
    return Path(os.path.relpath(path.resolve(), home)).as_posix()


def _mask(ref: MaskRef, home: Path) -> Any:
    if ref.path is None:
        return ref.segmentation
    name = _name(ref.path, home)
    if ref.index is None and not ref.labels:
        return name
    return {"path": name, "index": ref.index, "labels": ref.labels}


def _truth(truth: Truth, home: Path) -> dict[str, Any]:
    row: dict[str, Any] = {} if truth.mask is None else {"mask": _mask(truth.mask, home)}
    row |= {"iou": truth.iou, "defect": truth.defect, "difficulty": truth.difficulty, "action": truth.action}
    return {key: value for key, value in row.items() if value is not None}
