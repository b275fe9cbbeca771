"""The report of a benchmark as one HTML file: tables, charts, example pictures, and links to each judge's own report.

It has no script at all. Names and expressions come from files that nobody has checked; they reach the page as escaped
text only, and the content security policy allows pictures that are part of the file and nothing else. Charts come as
drawings, which are values: whatever file they lay in, the markup is made here.

A suite lays its page down in the record with ``write_page``; ``read_page`` reads one back.

LaTeX is plain text with rules in the manner of ``booktabs``; names come from users, so that every character that means
something to TeX is escaped, and what TeX cannot set is dropped.

A drawing on record is ``{"size": [width, height], "title", "words", "parts": [{"part": "line", "start": [x, y],
...}]}``; what a part has as usual is left out. What is read is checked: a drawing holds names of colours, finite
numbers and plain text only.

A record may come from anyone. Text stays text, charts are values, names of files lead nowhere outside the folder, and
what is read is bounded. A part that is missing or damaged is told on the page and costs itself alone.

::

    DIR/tables/<name>.json .csv .tex     finished tables
    DIR/figures/<name>.json .svg .png    charts: as values, from which the page is laid out, and as pictures
    DIR/page.json                        title, facts, notes, links, and the sections with the names of their files
    DIR/report.html                      made from these alone
"""

from __future__ import annotations

import csv
import io
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar, get_args
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from auscult.errors import InputError, OutputError, RecordError
from auscult.media.limits import Limits
from auscult.media.paths import inside, read_bytes
from auscult.record.codec import load
from auscult.record.folder import RunFolder
from auscult.report.drawing import (
    Circle,
    Drawing,
    DrawnShape,
    Line,
    Point,
    Polygon,
    Polyline,
    Rect,
    Text,
    TextAnchor,
    plain,
    to_markup,
    to_png,
    to_svg,
)
from auscult.report.tables import Table, read_table

_TEMPLATES = resources.files("auscult.report") / "templates"
CSP = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart.

    Attributes:
        name: Of its files in the record's ``figures/``, without ending.
        caption: What it shows.
        drawing: The chart.
    """

    name: str
    caption: str
    drawing: Drawing


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One candidate in pictures.

    Attributes:
        title: What it is, for example ``erode, hard``.
        jpeg: The picture: the candidate's tint and the true outline.
        text: The referring expression; empty for none.
        id: The item's id.
        facts: Label and text: the truth, then what each judge said.
        broad: Whether the picture is a strip, which takes the whole width of the page.
        file: The picture's name in the record; empty where it does not lie there yet.
    """

    title: str
    jpeg: bytes
    text: str
    id: str
    facts: tuple[tuple[str, str], ...]
    broad: bool = False
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page.

    Attributes:
        name: Its anchor: letters, digits and hyphens.
        title: Its heading.
        lead: What it is about, one or two sentences.
        figures: Charts, side by side where there is room.
        tables: Below them.
        examples: Pictures, below those.
    """

    name: str
    title: str
    lead: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePage:
    """What the page shows.

    Attributes:
        title: Heading.
        suite: Name of the suite.
        facts: Label and text of what the record says: input, time, version, seed.
        notes: Plain sentences that a reader must know.
        links: (words, path) of other pages of the record, relative, with ``/`` between the parts.
        sections: In order.
        shown: Tables of the sections that fit a console.
        lost: Sentences about parts that are missing from the record; they stand below the notes.
    """

    title: str
    suite: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    shown: tuple[Table, ...] = ()
    lost: tuple[str, ...] = ()


def render_suite(page: SuitePage) -> str:
    """Lay out the page as one self-contained HTML file, UTF-8 when written."""
    environment = Environment(
        loader=FunctionLoader(_asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style = _asset("report.css") + _asset("suite.css")
    return environment.get_template("suite.html").render(
        page=page,
        csp=CSP,
        style=Markup(style),  # noqa: S704 - our own files
        jpeg=_jpeg_link,
        drawn=to_markup,
        address=_address,
    )


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _jpeg_link(picture: bytes) -> Markup:
    return Markup("data:image/jpeg;base64,") + Markup(b64encode(picture).decode("ascii"))  # noqa: S704 - base64


def _address(path: str) -> str:
    """A path of the record as a link; what might be a scheme, a query or a fragment becomes part of the path."""
    return quote(path, safe="/", errors="replace")


_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "[": "{[}",
    "]": "{]}",
}
_FORMULA = ("=", "+", "-", "@", "\t")
_NUMERIC = frozenset("0123456789.,+-–[]()%n/ ")


def escaped(text: str) -> str:
    r"""Text that TeX sets as it stands.

    Line breaks and tabs become spaces; control and format characters are dropped.

    Example:
        >>> escaped("100 % of a_b")
        '100 \\% of a\\_b'
    """
    line = " ".join(text.split())
    return "".join(_ESCAPED.get(sign, sign) for sign in line if unicodedata.category(sign)[0] != "C")


def table_latex(table: Table) -> str:
    r"""A table as a LaTeX ``table`` with ``\toprule``, ``\midrule`` and ``\bottomrule``; needs ``booktabs``.

    The first column is set to the left, columns of numbers to the right. A comment of the first line says so.
    """
    columns = "".join("l" if index == 0 or not _is_numeric(table, index) else "r" for index in range(len(table.header)))
    lines = [
        r"% needs \usepackage{booktabs,textcomp}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(table.header),
        r"\midrule",
        *(_row(row) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\footnotesize {escaped(table.note)}"] if table.note else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def table_csv(table: Table) -> str:
    """A table as CSV with its header; a cell that a spreadsheet would run as a formula is given an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in (table.header, *table.rows):
        writer.writerow([_harmless(cell) for cell in row])
    return file.getvalue()


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def _is_numeric(table: Table, index: int) -> bool:
    return all(set(row[index]) <= _NUMERIC for row in table.rows)


def _harmless(cell: str) -> str:
    line = " ".join(cell.splitlines())
    return f"'{line}" if line.startswith(_FORMULA) and not _is_number(line) else line


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


_PARTS: Final[Mapping[str, type[DrawnShape]]] = {
    "line": Line,
    "polyline": Polyline,
    "polygon": Polygon,
    "rect": Rect,
    "circle": Circle,
    "text": Text,
}
_NAMES: Final = {kind: name for name, kind in _PARTS.items()}
_DRAW_AGAIN: Final = "repeat the command that made the record: it draws its charts anew"


def drawing_json(drawing: Drawing) -> dict[str, Any]:
    """The drawing as JSON has it."""
    return {
        "size": list(drawing.size),
        "title": drawing.title,
        "words": drawing.words,
        "parts": [_part_json(part) for part in drawing.parts],
    }


def read_drawing(name: str, content: object) -> Drawing:
    """A drawing from the JSON of ``figures/<name>.json``."""
    try:
        told = _mapping(content)
        width, height = _sequence(told["size"])
        return Drawing(
            size=(_whole(width), _whole(height)),
            parts=tuple(_part(_mapping(one)) for one in _sequence(told["parts"])),
            title=_words(told["title"]),
            words=_words(told["words"]),
        )
    except InputError as error:
        raise InputError(error.message, expected=error.expected, hint=_DRAW_AGAIN, path=name) from error
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        why = f"without {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"the chart is damaged: {why[:200]}", expected="a drawing as auscult writes it", hint=_DRAW_AGAIN, path=name
        ) from error


def _part_json(part: DrawnShape) -> dict[str, Any]:
    row: dict[str, Any] = {"part": _NAMES[type(part)]}
    for one in fields(part):
        value = getattr(part, one.name)
        if one.default is MISSING or value != one.default:
            row[one.name] = value
    return row


def _part(told: Mapping[str, Any]) -> DrawnShape:
    kind = _PARTS[_words(told["part"])]
    return kind(**{name: _READERS[name](value) for name, value in told.items() if name != "part"})


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} instead of an object")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.40} instead of a number")
    return float(value)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.40} instead of a whole number")
    return value


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} instead of text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.40} instead of true or false")
    return value


def _sequence(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} instead of a list")
    return value


def _point(value: object) -> Point:
    x, y = _sequence(value)
    return _number(x), _number(y)


def _points(value: object) -> tuple[Point, ...]:
    return tuple(_point(one) for one in _sequence(value))


def _numbers(value: object) -> tuple[float, ...]:
    return tuple(_number(one) for one in _sequence(value))


def _anchor(value: object) -> str:
    if value not in get_args(TextAnchor):
        raise ValueError(f"{value!r:.40} is no anchor of text")
    return str(value)


_READERS: Final[Mapping[str, Callable[[object], Any]]] = {
    **dict.fromkeys(("start", "end", "at", "centre"), _point),
    **dict.fromkeys(("x", "y", "width_px", "height_px", "width", "radius", "opacity", "size", "rotation"), _number),
    **dict.fromkeys(("colour", "fill", "stroke", "title", "words"), _words),
    "points": _points,
    "dash": _numbers,
    "anchor": _anchor,
    "bold": _flag,
}
"""Field of a part to what reads it; a name means the same in every part."""


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


REPORT: Final = "report.html"


def write_tables(run: RunFolder, tables: Mapping[str, Table]) -> None:
    """Write each table as JSON, CSV and LaTeX.

    Raises:
        OutputError: The disk is full, or the folder cannot be written to.
    """
    for name, table in tables.items():
        run.write_json(f"tables/{name}.json", asdict(table))
        run.write_text(f"tables/{name}.csv", table_csv(table))
        run.write_text(f"tables/{name}.tex", table_latex(table))


def write_charts(run: RunFolder, charts: Iterable[tuple[str, Drawing]]) -> None:
    """Write each chart, by name, as JSON, SVG and PNG.

    Raises:
        OutputError: The disk is full, or the folder cannot be written to.
    """
    for name, drawing in charts:
        run.write_json(f"figures/{name}.json", drawing_json(drawing), indent=None)
        run.write_text(f"figures/{name}.svg", to_svg(drawing))
        run.write_bytes(f"figures/{name}.png", to_png(drawing), durable=False)


def write_page(run: RunFolder, page: SuitePage, tables: Mapping[str, Table]) -> None:
    """Write ``page.json``, and ``report.html`` from what lies in the record.

    Args:
        run: The record; the page's tables, charts and pictures have been written.
        page: The page.
        tables: File name of every table, without folder and ending.

    Raises:
        OutputError: The page shows what is not in the record, or the folder cannot be written to.
    """
    run.write_json(PAGE, _page_json(page, {table: name for name, table in tables.items()}))
    run.write_text(REPORT, render_suite(read_page(run.path)))


def _page_json(page: SuitePage, names: Mapping[Table, str]) -> dict[str, Any]:
    return {
        "title": page.title,
        "suite": page.suite,
        "facts": [list(one) for one in page.facts],
        "notes": list(page.notes),
        "links": [list(one) for one in page.links],
        "shown": [_file_of(table, names) for table in page.shown],
        "sections": [_section_json(one, names) for one in page.sections],
    }


def _section_json(section: Section, names: Mapping[Table, str]) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "lead": section.lead,
        "figures": [{"file": f"figures/{one.name}.json", "caption": one.caption} for one in section.figures],
        "tables": [_file_of(table, names) for table in section.tables],
        "examples": [_example_json(one) for one in section.examples],
    }


def _file_of(table: Table, names: Mapping[Table, str]) -> str:
    if table not in names:
        raise OutputError(f"the page shows a table that is not in the record: {table.title[:100]}")
    return f"tables/{names[table]}.json"


def _example_json(example: Example) -> dict[str, Any]:
    if not example.file:
        raise OutputError(f"the page shows a picture that is not in the record: {example.title[:100]}")
    return {
        "title": example.title,
        "file": example.file,
        "text": example.text,
        "id": example.id,
        "facts": [list(one) for one in example.facts],
        "broad": example.broad,
    }
