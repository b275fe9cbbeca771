"""A suite's page, read back from its record: ``page.json`` and the files that it names.

A record may come from anyone. Text stays text, charts are values, names of files lead nowhere outside the folder, and
what is read is bounded. A part that is missing or damaged is told on the page and costs itself alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from auscult.errors import InputError, RecordError
from auscult.media.drawing import plain
from auscult.media.limits import Limits
from auscult.media.paths import inside, read_bytes
from auscult.record.lines import load
from auscult.report.suite import Example, Figure, Section, SuitePage
from auscult.report.suite_drawing import read_drawing
from auscult.report.tables import Table, read_table

PAGE: Final = "page.json"

MAX_PAGE_BYTES: Final = 8 << 20
MAX_FILE_BYTES: Final = 32 << 20
MAX_BYTES: Final = 256 << 20
"""Of all files of a page together."""

_MOST_LOST: Final = 20
_MOST_ENTRIES: Final = 10_000
_CONTROLS: Final = dict.fromkeys((*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), " ")
_JPEG: Final = b"\xff\xd8\xff"
_AGAIN: Final = "repeat the `auscult run` command that made the record: it asks nothing again and writes its page"

_Read = TypeVar("_Read")


def read_page(folder: Path) -> SuitePage:
    """Read the page of a record.

    Args:
        folder: The record of a suite.

    Returns:
        The page with its tables, charts and pictures; ``lost`` tells of those that are missing or damaged.

    Raises:
        RecordError: ``page.json`` is missing or damaged.
    """
    path = folder / PAGE
    if not path.exists():
        raise RecordError(
            f"the record holds no {PAGE}, which says how its report is laid out", path=folder,
            expected="a record of this version that came to its end", hint=_AGAIN,
        )  # fmt: skip
    try:
        content = load(read_bytes(inside(folder, PAGE), limits=Limits(max_bytes=MAX_PAGE_BYTES)))
        return _Reader(folder).page(_object(content))
    except KeyError as error:
        raise RecordError(f"the page is damaged: without {error}"[:200], path=path, hint=_AGAIN) from error
    except InputError as error:
        raise RecordError(error.message, expected=error.expected, path=path, hint=_AGAIN) from error
    except (ValueError, TypeError) as error:
        raise RecordError(f"the page is damaged: {error}"[:200], path=path, hint=_AGAIN) from error


class _Reader:
    """Reads the files of one page, and keeps what could not be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left = MAX_BYTES
        self._lost: dict[str, str] = {}

    def page(self, told: dict[str, Any]) -> SuitePage:
        """The whole page; what is lost is known when everything else has been read."""
        sections = tuple(self._section(_object(one)) for one in _list(told["sections"]))
        shown = _present(self._table(_text(one)) for one in _list(told["shown"]))
        return SuitePage(
            title=_text(told["title"]),
            suite=_text(told["suite"]),
            facts=_pairs(told["facts"]),
            notes=tuple(_text(one) for one in _list(told["notes"])),
            links=self._links(_pairs(told["links"])),
            sections=sections,
            shown=shown,
            lost=tuple(self._told()),
        )

    def _section(self, told: dict[str, Any]) -> Section:
        return Section(
            name=_text(told["name"]),
            title=_text(told["title"]),
            lead=_text(told["lead"]),
            figures=_present(self._figure(_object(one)) for one in _list(told["figures"])),
            tables=_present(self._table(_text(one)) for one in _list(told["tables"])),
            examples=_present(self._example(_object(one)) for one in _list(told["examples"])),
        )

    def _figure(self, told: dict[str, Any]) -> Figure | None:
        name, caption = _text(told["file"]), _text(told["caption"])
        drawing = self._of(name, lambda data: read_drawing(name, load(data)))
        return None if drawing is None else Figure(name=Path(name).stem, caption=caption, drawing=drawing)

    def _table(self, name: str) -> Table | None:
        return self._of(name, lambda data: _clean(read_table(name, load(data))))

    def _example(self, told: dict[str, Any]) -> Example | None:
        name, broad = _text(told["file"]), told["broad"]
        if not isinstance(broad, bool):
            raise TypeError("broad is neither true nor false")
        words = {key: _text(told[key]) for key in ("title", "text", "id")}
        facts = _pairs(told["facts"])
        jpeg = self._of(name, _jpeg)
        return None if jpeg is None else Example(**words, jpeg=jpeg, facts=facts, broad=broad, file=name)

    def _links(self, pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """The links that stay in the record."""
        kept = []
        for words, name in pairs:
            try:
                inside(self._folder, name)
                kept.append((words, name))
            except InputError as error:
                self._lost[name] = error.message
        return tuple(kept)

    def _of(self, name: str, read: Callable[[bytes], _Read]) -> _Read | None:
        """A file of the record as a value; None, and a note, where it cannot be had."""
        try:
            limits = Limits(max_bytes=min(MAX_FILE_BYTES, self._left))
            data = read_bytes(inside(self._folder, name), limits=limits)
            self._left -= len(data)
            return read(data)
        except InputError as error:
            self._lost[name] = error.message
        except ValueError as error:
            self._lost[name] = f"it is no JSON: {error}"
        return None

    def _told(self) -> list[str]:
        told = [plain(f"Not shown: {name}: {why}.", limit=400) for name, why in self._lost.items()]
        left = len(told) - _MOST_LOST
        return told[:_MOST_LOST] + ([f"Not shown: {left:,} more parts of the page."] if left > 0 else [])


def _present(found: Iterable[_Read | None]) -> tuple[_Read, ...]:
    return tuple(one for one in found if one is not None)


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} instead of an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} instead of a list")
    if len(value) > _MOST_ENTRIES:
        raise ValueError(f"a list of {len(value):,} entries, where {_MOST_ENTRIES:,} are allowed")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} instead of text")
    return _safe(value)


def _safe(words: str) -> str:
    """The words without what would control a terminal, on which tables are printed too, or is no Unicode text."""
    return words.encode("utf-8", "backslashreplace").decode().translate(_CONTROLS)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    pairs = [_list(one) for one in _list(value)]
    if any(len(one) != 2 for one in pairs):
        raise TypeError("a list that is no pair")
    return tuple((_text(first), _text(second)) for first, second in pairs)


def _clean(table: Table) -> Table:
    return Table(
        title=_safe(table.title),
        header=tuple(map(_safe, table.header)),
        rows=tuple(tuple(map(_safe, row)) for row in table.rows),
        note=_safe(table.note),
    )


def _jpeg(data: bytes) -> bytes:
    if not data.startswith(_JPEG):
        raise InputError("it is no JPEG picture")
    return data
