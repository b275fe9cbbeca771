"""Files of JSON lines: where they stand, what their paths mean, and reading them line by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auscult.cases.fields import lines_of, parse
from auscult.cases.walk import within
from auscult.errors import InputError, NothingToDo
from auscult.media.paths import open_regular

FILE = "items.jsonl"
SUFFIXES = frozenset({".jsonl", ".json-lines", ".jsonlines", ".ndjson"})
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_FILE_BYTES = 4 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where a file of lines stands, whose paths may not leave ``base``; ``labels`` reads grey values as indices."""

    file: Path
    base: Path
    labels: bool = False
    _known: dict[str, Path] = field(default_factory=dict, repr=False, compare=False)

    def path(self, name: str) -> Path:
        """The path that a name in the file means; it may not leave ``base``."""
        found = self._known.get(name)  # many masks name one frame, and following links takes time
        if found is None:
            found = self._known[name] = within(self.base, home=self.file.parent, name=name)
        return found


def item_lines(file: Path) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of every line that is not blank; None for one that is too long."""
    try:
        with open_regular(file) as opened:
            size = file.stat().st_size
            if size > MAX_FILE_BYTES:
                raise NothingToDo(
                    f"the file has {size:,} bytes", expected=f"at most {MAX_FILE_BYTES:,}", hint="split it", path=file
                )
            yield from lines_of(opened, max_bytes=MAX_LINE_BYTES)
    except OSError as error:
        raise NothingToDo(f"cannot be opened: {error.strerror}", path=file, expected="a file of JSON lines") from error


def parsed_line(content: bytes | None, *, file: Path, line: int) -> Any:
    """What a line of ``item_lines`` holds."""
    if content is None:
        raise InputError(
            f"the line is longer than {MAX_LINE_BYTES:,} bytes",
            expected="one item a line",
            hint="put large masks into files",
        )
    return parse(content, path=file, line=line)
