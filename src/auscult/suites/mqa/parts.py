"""A division of a source that has none: which photograph or sequence belongs to which split, told by a file.

The file is a JSON object of split to list of names, or of groups of those; other keys are for people::

    {"rule": "by hash", "coco": {"train": ["a.jpg"], "test": ["b.jpg"]}, "davis": {"test": ["dog"]}}

A name is a clip's, or a picture's with or without its suffix. What the file does not name is in no split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from auscult.cases import fields
from auscult.errors import UsageError
from auscult.record.digest import digest_json
from auscult.suites.mqa.options import UNLISTED
from auscult.types import Instance

_MOST_BYTES: Final = 64 << 20
_SHAPE: Final = '{"test": ["name", ...], ...}, or such objects by group'


def read_parts(path: Path) -> dict[str, str]:
    """Name to split.

    Args:
        path: The file.

    Raises:
        NothingToDo: It cannot be read or is not JSON.
        UsageError: It names nothing, a name stands in two splits, or a split has a reserved name.
    """
    found: dict[str, str] = {}
    for split, name in _named(fields.load(path, max_bytes=_MOST_BYTES), path):
        if found.setdefault(name, split) != split:
            raise UsageError(
                f"{name!r} stands in the splits {found[name]!r} and {split!r}", path=path, expected="one split a name"
            )
    if not found:
        raise UsageError("the file names no photograph or sequence of any split", path=path, expected=_SHAPE)
    return found


def splits_digest(path: Path | None) -> str | None:
    """What a manifest says of a file of splits: its division, so that a resumed run insists on the same.

    Raises:
        NothingToDo: It cannot be read or is not JSON.
        UsageError: It is no such file.
    """
    return None if path is None else digest_json(sorted(read_parts(path).items()))


def with_parts(instances: Sequence[Instance], parts: Mapping[str, str]) -> tuple[Instance, ...]:
    """The instances with the split that a file gives them; what it does not name is in ``UNLISTED``.

    Raises:
        UsageError: The source has splits of its own.
    """
    own = sorted({instance.split for instance in instances if instance.split})
    if own:
        raise UsageError(
            f"the source has splits of its own: {', '.join(own[:4])}",
            expected="a file of splits only for a source that has none",
            hint="leave --splits-file out and name a split with --split",
        )
    return tuple(replace(instance, split=_part_of(instance, parts)) for instance in instances)


def _part_of(instance: Instance, parts: Mapping[str, str]) -> str:
    frame = instance.moments[0].frame
    for name in (instance.clip, frame.name, frame.stem):
        if name in parts:
            return parts[name]
    return UNLISTED


def _named(value: Any, path: Path, *, depth: int = 0) -> Iterator[tuple[str, str]]:
    """(split, name) of every list in the object, and in the objects one level down."""
    if not isinstance(value, dict):
        raise UsageError(f"the file holds {type(value).__name__}", path=path, expected=_SHAPE)
    for key, entry in value.items():
        if isinstance(entry, list):
            if not key or key == UNLISTED or not all(isinstance(name, str) for name in entry):
                raise UsageError(f"split {key[:40]!r} is no list of names", path=path, expected=_SHAPE)
            yield from ((key, name) for name in entry)
        elif isinstance(entry, dict) and depth == 0:
            yield from _named(entry, path, depth=1)
