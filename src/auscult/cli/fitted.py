"""Tables that fit a terminal: no number is broken from its interval, no name in two, and nothing is left out.

- A table that fits is printed as it is. Running text may take several lines; numbers with their intervals and units,
  and names, are never broken.
- One that is wider becomes several with the same rows, each with the columns that say which row it is.
- Where even these columns and one more do not fit, every row is a block of lines, ``column: value``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from rich.cells import cell_len, chop_cells

from auscult.cli.terminal import clean
from auscult.report.tables import Table

Lines: TypeAlias = tuple[str, ...]
"""The lines of a cell."""

GAPS: Final = (3, 2)
"""Columns of the terminal between two columns of a table: as usual, and where that saves parting it."""

_EDGES: Final = 2
_PROSE: Final = 20
"""Running text is never given less than this."""

_WORD: Final = 40
"""A longer word, such as a path, may be broken."""

_FIGURE: Final = re.compile(r"[<>+\-–]?\s?\d|above \d|n/a|–|[<>] ")
_TOKEN: Final = re.compile(r"[+\-]?\d[\d.,]* \[[^\]]*\](?: \*)?\S*|\S+")
_KEYS: Final = 3
"""At most so many columns are repeated in every part of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A table, or a part of one, as it is printed.

    Attributes:
        header: The lines of each column's name.
        rows: The lines of each cell.
        widths: Of each column, in cells of the terminal.
        gap: Between two columns, one of ``GAPS``.
    """

    header: tuple[Lines, ...]
    rows: tuple[tuple[Lines, ...], ...]
    widths: tuple[int, ...]
    gap: int


def pieces(table: Table, width: int) -> tuple[Piece, ...]:
    """Lay out a table.

    Args:
        table: The table.
        width: Of the terminal, in cells.

    Returns:
        One or several, each of all rows; none where not even the columns that name a row and one more fit.
    """
    columns = [[header, *(row[at] for row in table.rows)] for at, header in enumerate(table.header)]
    columns = [[clean(text) for text in column] for column in columns]
    least, most = [_least(column) for column in columns], [_most(column) for column in columns]
    gap = next((one for one in GAPS if sum(least) + _room(len(least), one) <= width), GAPS[-1])
    found = []
    for chosen in _split(table, least, width=width, gap=gap):
        room = width - _room(len(chosen), gap)
        widths = _widened([least[at] for at in chosen], [most[at] for at in chosen], room)
        if sum(widths) > room:
            return ()
        wrapped = [[wrapped_at(text, wide) for text in columns[at]] for at, wide in zip(chosen, widths, strict=True)]
        rows = tuple(zip(*(column[1:] for column in wrapped), strict=True))
        header = tuple(column[0] for column in wrapped)
        found.append(Piece(header=header, rows=rows, widths=tuple(widths), gap=gap))
    return tuple(found)


def blocks(table: Table, width: int) -> list[Lines]:
    """Every row as lines of ``column: value``, for a narrow terminal; without rows, the columns."""
    room = max(1, width)
    found = []
    for row in table.rows or (("",) * len(table.header),):
        lines: list[str] = []
        for number, (name, text) in enumerate(zip(table.header, row, strict=True)):
            before = "" if number == 0 else "  "
            told = wrapped_at(clean(f"{name}: {text}" if name else text), max(1, room - len(before)))
            lines += [f"{before}{line}" for line in told]
        found.append(tuple(lines))
    return found


def keys(table: Table) -> int:
    """How many of the first columns say which row it is: the fewest, of three, that tell most rows apart."""
    counts = range(1, max(2, min(_KEYS + 1, len(table.header))))
    return max(counts, key=lambda count: (len({row[:count] for row in table.rows}), -count))


def wrapped_at(text: str, width: int) -> Lines:
    """Lines of at most a width; they end at spaces, but not within a number with its interval that fits.

    Args:
        text: Its own lines stay apart.
        width: In cells of the terminal, 1 or more.
    """
    found: list[str] = []
    for paragraph in text.split("\n"):
        if cell_len(paragraph) <= width:
            found.append(paragraph)
            continue
        line = ""
        for word in _words(paragraph):
            longer = f"{line} {word}" if line else word
            if cell_len(longer) <= width:
                line = longer
                continue
            found += [line] if line else []
            *full, line = _parts(word, width)
            found += full
        found.append(line)
    return tuple(found)


def _parts(word: str, width: int) -> list[str]:
    """A word that is too long: at its own spaces where it has some, else anywhere."""
    if cell_len(word) <= width:
        return [word]
    if " " not in word:
        return chop_cells(word, width)
    lines: list[str] = []
    for part in word.split(" "):
        if lines and cell_len(f"{lines[-1]} {part}") <= width:
            lines[-1] += f" {part}"
        else:
            lines += _parts(part, width)
    return lines


def _words(text: str) -> list[str]:
    """What is not broken: words, numbers with interval, and short figures with their units."""
    if _FIGURE.match(text) and cell_len(text) <= _WORD:
        return [text]
    return _TOKEN.findall(text)


def _least(column: Sequence[str]) -> int:
    """The width below which a column is not read well."""
    words = [cell_len(word) for text in column for word in _words(text)]
    longest = max(words, default=0)
    return min(_most(column), max(min(longest, _WORD), _PROSE if _is_prose(column[1:]) else 0))


def _is_prose(texts: Sequence[str]) -> bool:
    return any(len(_words(text)) > 1 for text in texts)


def _most(column: Sequence[str]) -> int:
    return max(cell_len(line) for text in column for line in text.split("\n"))


def _room(count: int, gap: int) -> int:
    """What a number of columns takes beside their widths."""
    return _EDGES + gap * (count - 1)


def _split(table: Table, least: Sequence[int], *, width: int, gap: int) -> list[list[int]]:
    """The columns of each piece: all where they fit, else the keys with as many as fit beside them."""
    every = list(range(len(least)))
    first = every[: keys(table)]
    if sum(least) + _room(len(least), gap) <= width or len(first) == len(every):
        return [every]
    found: list[list[int]] = []
    for at in every[len(first) :]:
        wider = [*found[-1], at] if found else []
        if wider and sum(least[one] for one in wider) + _room(len(wider), gap) <= width:
            found[-1] = wider
        else:
            found.append([*first, at])
    return found


def _widened(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Widths with what is left over: each column, the narrowest wish first, gets what it lacks, or an equal share."""
    widths = list(least)
    left = room - sum(widths)
    wanting = sorted(range(len(widths)), key=lambda at: most[at] - least[at])
    for place, at in enumerate(wanting):
        more = max(0, min(most[at] - least[at], left // (len(wanting) - place)))
        widths[at] += more
        left -= more
    return widths
