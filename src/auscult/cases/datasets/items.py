"""JSON lines: one item a line, in ``items.jsonl`` or any file that ends in ``.jsonl``.

A line names ``id``, ``frame`` and ``mask``, and may name ``text``, ``clip``, ``time_s``, ``audio`` and ``truth``; other
keys are kept. Paths are relative to the file and stay inside its folder unless ``root`` widens it. A line that cannot
be used costs itself: its error names file and line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from auscult.cases.ids import check_id
from auscult.cases.lines import Home, item_of
from auscult.cases.listing import INPUTS, ListError, Listing, ListOptions, refuse_options
from auscult.cases.strict_json import BOM, parse
from auscult.cases.walk import base_folder, suffix
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.types import Item, Metadata

FILE = "items.jsonl"
SUFFIXES = frozenset({".jsonl", ".json-lines", ".jsonlines", ".ndjson"})
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_FILE_BYTES = 4 * 1024 * 1024 * 1024

_CHUNK = 1 << 20


class ItemsDataset:
    """A file of JSON lines that names everything."""

    name = "datasets.items.v1"
    meta = Metadata(
        summary="items.jsonl: one JSON object a line with id, frame, mask, and maybe text, clip, time_s, audio, truth",
        goal="lists anything, with what is known about it; what `auscult stress` and `auscult make` write",
        modality="mask",
        source="auscult's own layout",
        truth="the key truth: mask, iou, defect, difficulty, action",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a file of JSON lines or a folder with an ``items.jsonl``, and no option names other folders."""
        if source.is_dir():
            return options.frames is None and options.masks is None and (source / FILE).is_file()
        return suffix(source.name) in SUFFIXES and source.is_file()

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the lines that name an item.

        Raises:
            NothingToDo: The file cannot be opened, or is over 4 GB.
            UsageError: ``root`` does not contain it, or an option is for another layout.
        """
        refuse_options(options, "frames", "masks", "images", "instances", layout="JSON lines that name every file")
        file = source / FILE if source.is_dir() else source
        home = Home(file=file, base=base_folder(file, options.root), labels=options.labels)
        items: list[Item] = []
        errors: list[ListError] = []
        for line, content in _lines(file):
            try:
                row = _parsed(content, file=file, line=line)
            except InputError as error:
                errors.append((None, _record(error, home, line)))
                continue
            try:
                items.append(item_of(row, home=home, line=line))
            except InputError as error:
                errors.append((_id_of(row), _record(error, home, line)))
        return Listing(tuple(items), tuple(errors), self.name)


def _lines(file: Path) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of every line that is not blank; None for one that is too long."""
    try:
        with file.open("rb") as opened:
            size = file.stat().st_size
            if size > MAX_FILE_BYTES:
                raise NothingToDo(
                    f"the file has {size:,} bytes", expected=f"at most {MAX_FILE_BYTES:,}", hint="split it", path=file
                )
            for number, content in enumerate(_cut(opened), start=1):
                stripped = content if content is None else content.strip(b" \t\r\n")
                if number == 1 and stripped is not None:
                    stripped = stripped.removeprefix(BOM).strip()
                if stripped is None or stripped:
                    yield number, stripped
    except OSError as error:
        raise NothingToDo(f"cannot be opened: {error.strerror}", path=file, expected=INPUTS) from error


def _cut(opened: BinaryIO) -> Iterator[bytes | None]:
    while content := opened.readline(MAX_LINE_BYTES + 1):
        if len(content) <= MAX_LINE_BYTES or content.endswith(b"\n"):
            yield content
            continue
        while (rest := opened.readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass
        yield None


def _parsed(content: bytes | None, *, file: Path, line: int) -> Any:
    if content is None:
        raise InputError(
            f"the line is longer than {MAX_LINE_BYTES:,} bytes",
            expected="one item a line",
            hint="put large masks into files",
        )
    return parse(content, path=file, line=line)


def _record(error: InputError, home: Home, line: int) -> ErrorRecord:
    """The error at its line; the path an item names is in the message, the file that names it in ``path``."""
    at = InputError(error.message, expected=error.expected, hint=error.hint, path=home.file, line=line)
    return ErrorRecord.of(at, "read")


def _id_of(row: object) -> str | None:
    name = row.get("id") if isinstance(row, dict) else None
    try:
        return check_id(name) if isinstance(name, str) else None
    except InputError:
        return None


DATASET = ItemsDataset()
