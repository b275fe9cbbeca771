"""Which lines of an ``items.jsonl`` name a clip themselves.

An item whose line names none has the folder of its frame for a clip, which may be a folder of photographs; and a line
may name a clip that is called like its folder. The line alone tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from auscult.cases.datasets.items import MAX_LINE_BYTES
from auscult.cases.fields import BOM, parse
from auscult.errors import InputError
from auscult.types import Item

KEYS = ("clip", "video", "time_s")

_QUOTED = tuple(f'"{key}"'.encode() for key in KEYS)


def naming_lines(items: Iterable[Item]) -> frozenset[tuple[Path, int]]:
    """The lines that say which video their item belongs to.

    Args:
        items: Items of an ``items.jsonl``; those that come from no line are passed over.

    Returns:
        (file, line from 1) of each; none of a file that can no longer be read.
    """
    files = {item.source for item in items if item.source is not None and item.line is not None}
    return frozenset((file, number) for file in files for number in _naming(file))


def _naming(file: Path) -> Iterator[int]:
    try:
        for number, content in _lines(file):
            if not any(key in content for key in _QUOTED):
                continue
            try:
                row = parse(content.strip().removeprefix(BOM), path=file, line=number)
            except InputError:
                continue  # a broken line has no item
            if isinstance(row, dict) and any(row.get(key) is not None for key in KEYS):
                yield number
    except OSError:
        return


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Number and content of every line that is not too long to be an item's."""
    with file.open("rb") as opened:
        number, begins = 0, True
        while part := opened.readline(MAX_LINE_BYTES + 1):
            number += begins
            if begins and len(part) <= MAX_LINE_BYTES:
                yield number, part
            begins = part.endswith(b"\n")
