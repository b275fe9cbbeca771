"""The page of a suite or a comparison, kept in its record: written with ``write_page``, read back with ``read_page``.

A drawing on record is ``{"size": [width, height], "title", "words", "parts": [{"part": "line", "start": [x, y],
...}]}``; what a part has as usual is left out. What is read is checked: a drawing holds names of colours, finite
numbers and plain text only.

A record may come from anyone. Text stays text, charts are values, names of files lead nowhere outside the folder, and
what is read is bounded. A part that is missing or damaged is named on the page; the rest is still shown.

::

    DIR/tables/<name>.json .csv .tex     finished tables
    DIR/figures/<name>.json .svg .png    charts: as values, from which the page is laid out, and as pictures
    DIR/page.json                        title, facts, notes, links, and the sections with the names of their files
    DIR/...                              pictures and sounds of examples, where the page says
    DIR/report.html                      made from these alone
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from msgspec import Meta

from auscult.errors import InputError, OutputError, RecordError
from auscult.media.limits import Limits
from auscult.media.paths import inside, read_bytes
from auscult.record.codec import from_json, load, to_json
from auscult.record.folder import RunFolder
from auscult.report.drawing import (
    Circle,
    Drawing,
    DrawnShape,
    Line,
    Polygon,
    Polyline,
    Rect,
    Text,
    plain,
    to_png,
    to_svg,
)
from auscult.report.page import Example, ExampleSound, Figure, Page, Section, render
from auscult.report.tables import Table, read_table, table_csv, table_latex

_PARTS: Final[Mapping[str, type[DrawnShape]]] = {
    "line": Line,
    "polyline": Polyline,
    "polygon": Polygon,
    "rect": Rect,
    "circle": Circle,
    "text": Text,
}
_NAMES: Final = {kind: name for name, kind in _PARTS.items()}
_Part = TypeVar("_Part", bound=DrawnShape)
_DRAW_AGAIN: Final = "repeat the command that made the record: it draws its charts anew"


def drawing_json(drawing: Drawing) -> dict[str, Any]:
    """The drawing as JSON has it."""
    return {
        "size": list(drawing.size),
        "title": drawing.title,
        "words": drawing.words,
        "parts": [_part_json(part) for part in drawing.parts],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawingFile:
    """``figures/<name>.json``, but for its parts."""

    size: tuple[int, int]
    title: str
    words: str
    parts: tuple[dict[str, Any], ...]


def read_drawing(name: str, content: object) -> Drawing:
    """A drawing from the JSON of ``figures/<name>.json``."""
    try:
        file = from_json(_DrawingFile, content, error=InputError)
        return Drawing(size=file.size, parts=_parts(file.parts), title=file.title, words=file.words)
    except InputError as error:
        raise InputError(error.message, expected=error.expected, hint=_DRAW_AGAIN, path=name) from error
    except ValueError as error:
        raise InputError(
            f"the chart is damaged: {str(error)[:200]}",
            expected="a drawing as auscult writes it",
            hint=_DRAW_AGAIN,
            path=name,
        ) from error


def _part_json(part: DrawnShape) -> dict[str, Any]:
    row: dict[str, Any] = {"part": _NAMES[type(part)]}
    for field in fields(part):
        value = getattr(part, field.name)
        if field.default is MISSING or value != field.default:
            row[field.name] = value
    return row


def _parts(rows: Sequence[Mapping[str, Any]]) -> tuple[DrawnShape, ...]:
    """The parts in their order; those of one kind are read at once, which is a hundred times as fast.

    A part that leads anywhere is none, for a record may come from anyone.
    """
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        kind = str(row.get("part"))
        if kind not in _PARTS or "link" in row:
            raise InputError(
                f"a part of the chart is {row!r:.80}", expected=f"one of {', '.join(_PARTS)}, without a link"
            )
        by_kind.setdefault(kind, []).append({name: value for name, value in row.items() if name != "part"})
    parts = {kind: iter(_parts_of(_PARTS[kind], group)) for kind, group in by_kind.items()}
    return tuple(next(parts[str(row["part"])]) for row in rows)


def _parts_of(kind: type[_Part], rows: list[dict[str, Any]]) -> tuple[_Part, ...]:
    names = [field.name for field in fields(kind)]
    unknown = set().union(*rows).difference(names)
    if unknown:
        raise InputError(
            f"a {kind.__name__} of the chart has the key {min(unknown)!r:.40}", expected=f"the keys {', '.join(names)}"
        )
    return from_json(tuple[kind, ...], rows, error=InputError)  # type: ignore[valid-type]


PAGE: Final = "page.json"
REPORT: Final = "report.html"

MAX_PAGE_BYTES: Final = 8 << 20
MAX_FILE_BYTES: Final = 32 << 20
MAX_BYTES: Final = 256 << 20
"""Of all files of a page together."""

_RUN: Final = "run "
_FOOTER: Final = (
    "Every number of the tables, with interval, counts and signature: `cells.json`, `cells.csv`; the tables as CSV and "
    "LaTeX: `tables/`."
)
_MOST_LOST: Final = 20
_MOST_ENTRIES: Final = 10_000
_CONTROLS: Final = dict.fromkeys((*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), " ")
_JPEG: Final = b"\xff\xd8\xff"
_SOUNDS: Final = (b"RIFF", b"fLaC")
_AGAIN: Final = "repeat the `auscult run` command that made the record: it asks nothing again and writes its page"

_Read = TypeVar("_Read")
_Entry = TypeVar("_Entry")
_Many: TypeAlias = Annotated[tuple[_Entry, ...], Meta(max_length=_MOST_ENTRIES)]
_TextPairs: TypeAlias = _Many[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FigureFile:
    """A figure of ``page.json``."""

    file: str
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExampleFile:
    """An example of ``page.json``."""

    title: str
    file: str
    text: str
    id: str
    facts: _TextPairs
    broad: bool
    sound: str = ""  # of a record that was made before an example could have several
    sounds: _TextPairs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _SectionFile:
    """A section of ``page.json``; tables are files."""

    name: str
    title: str
    lead: str
    figures: _Many[_FigureFile]
    tables: _Many[str]
    examples: _Many[_ExampleFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageFile:
    """``page.json``: a ``Page`` with the names of its files."""

    title: str
    suite: str
    lead: str = ""
    facts: _TextPairs
    alarms: _Many[str] = ()
    notes: _Many[str]
    links: _TextPairs
    shown: _Many[str]
    sections: _Many[_SectionFile]


def read_page(folder: Path) -> Page:
    """Read the page of a suite's record; ``lost`` tells of tables, charts and pictures that are missing or damaged."""
    path = folder / PAGE
    if not path.exists():
        raise RecordError(
            f"the record holds no {PAGE}, which says how its report is laid out", path=folder,
            expected="a record of this version that came to its end", hint=_AGAIN,
        )  # fmt: skip
    try:
        content = _safe_texts(load(read_bytes(inside(folder, PAGE), limits=Limits(max_bytes=MAX_PAGE_BYTES))))
    except InputError as error:
        raise RecordError(error.message, expected=error.expected, path=path, hint=_AGAIN) from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"the page is damaged: {error}"[:200], path=path, hint=_AGAIN) from error
    return _PageReader(folder).page(from_json(_PageFile, content, path=path, hint=_AGAIN))


class _PageReader:
    """Reads the files of one page, and keeps what could not be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left = MAX_BYTES
        self._lost: dict[str, str] = {}

    def page(self, entry: _PageFile) -> Page:
        """The whole page; what is lost is known when everything else has been read."""
        sections = tuple(self._section(section) for section in entry.sections)
        shown = _present(map(self._table, entry.shown))
        links = self._links(entry.links)
        return Page(
            title=entry.title,
            command=f"{_RUN}{entry.suite}",
            lead=entry.lead,
            facts=entry.facts,
            alarms=entry.alarms,
            notes=entry.notes,
            links=links,
            sections=sections,
            shown=shown,
            lost=tuple(self._lost_notes()),
            footer=_FOOTER,
        )

    def _section(self, entry: _SectionFile) -> Section:
        return Section(
            name=entry.name,
            title=entry.title,
            lead=entry.lead,
            figures=_present(map(self._figure, entry.figures)),
            tables=_present(map(self._table, entry.tables)),
            examples=_present(map(self._example, entry.examples)),
        )

    def _figure(self, entry: _FigureFile) -> Figure | None:
        drawing = self._read_file(entry.file, lambda data: read_drawing(entry.file, load(data)))
        return None if drawing is None else Figure(name=Path(entry.file).stem, caption=entry.caption, drawing=drawing)

    def _table(self, name: str) -> Table | None:
        return self._read_file(name, lambda data: read_table(name, _safe_texts(load(data))))

    def _example(self, entry: _ExampleFile) -> Example | None:
        jpeg = self._read_file(entry.file, _jpeg)
        if jpeg is None:
            return None
        sounds = (*entry.sounds, *((("", entry.sound),) if entry.sound else ()))
        loaded = ((label, file, self._read_file(file, _sound)) for label, file in sounds)
        return Example(
            title=entry.title,
            jpeg=jpeg,
            text=entry.text,
            id=entry.id,
            facts=entry.facts,
            broad=entry.broad,
            file=entry.file,
            sounds=tuple(ExampleSound(data=data, file=file, label=label) for label, file, data in loaded if data),
        )

    def _links(self, pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """The links that stay in the record."""
        links = []
        for words, name in pairs:
            try:
                inside(self._folder, name)
                links.append((words, name))
            except InputError as error:
                self._lost[name] = error.message
        return tuple(links)

    def _read_file(self, name: str, read: Callable[[bytes], _Read]) -> _Read | None:
        """A file of the record as a value; None, and a note, where it cannot be had."""
        try:
            limits = Limits(max_bytes=min(MAX_FILE_BYTES, self._left))
            data = read_bytes(inside(self._folder, name), limits=limits)
            self._left -= len(data)
            return read(data)
        except InputError as error:
            self._lost[name] = error.message
        except (ValueError, RecursionError) as error:
            self._lost[name] = f"it is no JSON: {error}"
        return None

    def _lost_notes(self) -> list[str]:
        notes = [plain(f"Not shown: {name}: {reason}.", limit=400) for name, reason in self._lost.items()]
        left = len(notes) - _MOST_LOST
        return notes[:_MOST_LOST] + ([f"Not shown: {left:,} more parts of the page."] if left > 0 else [])


def _present(items: Iterable[_Read | None]) -> tuple[_Read, ...]:
    return tuple(item for item in items if item is not None)


def _safe_texts(value: Any) -> Any:
    """JSON values without what would control a terminal, on which tables are printed too, or is no Unicode text."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode().translate(_CONTROLS)
    if isinstance(value, dict):
        return {key: _safe_texts(item) for key, item in value.items()}
    return [_safe_texts(item) for item in value] if isinstance(value, list) else value


def _sound(data: bytes) -> bytes:
    if not data.startswith(_SOUNDS):
        raise InputError("it is no WAV or FLAC sound")
    return data


def _jpeg(data: bytes) -> bytes:
    if not data.startswith(_JPEG):
        raise InputError("it is no JPEG picture")
    return data


def write_tables(run: RunFolder, tables: Mapping[str, Table]) -> None:
    """Write each table as JSON, CSV and LaTeX."""
    for name, table in tables.items():
        run.write_json(f"tables/{name}.json", asdict(table))
        run.write_text(f"tables/{name}.csv", table_csv(table))
        run.write_text(f"tables/{name}.tex", table_latex(table))


def write_charts(run: RunFolder, charts: Iterable[tuple[str, Drawing]]) -> None:
    """Write each chart, by name, as JSON, SVG and PNG."""
    for name, drawing in charts:
        run.write_long_json(f"figures/{name}.json", drawing_json(drawing))
        run.write_text(f"figures/{name}.svg", to_svg(drawing))
        run.write_bytes(f"figures/{name}.png", to_png(drawing), durable=False)


def write_page(run: RunFolder, page: Page, tables: Mapping[str, Table]) -> None:
    """Write pictures and sounds of the examples and ``page.json``; from them, tables and charts, ``report.html``.

    Tables are by file name; they and the charts are in the record already.
    """
    for example in (example for section in page.sections for example in section.examples):
        for name, data in ((example.file, example.jpeg), *((sound.file, sound.data) for sound in example.sounds)):
            if not name:
                raise OutputError(f"the page shows a picture that is not in the record: {example.title[:100]}")
            run.write_bytes(name, data, durable=False)
    names = {table: name for name, table in tables.items()}
    file = _PageFile(
        title=page.title,
        suite=page.command.removeprefix(_RUN),
        lead=page.lead,
        facts=page.facts,
        alarms=page.alarms,
        notes=page.notes,
        links=page.links,
        shown=tuple(_file_of(table, names) for table in page.shown),
        sections=tuple(_section_file(section, names) for section in page.sections),
    )
    run.write_json(PAGE, to_json(file))
    run.write_text(REPORT, render(read_page(run.path)))


def _section_file(section: Section, names: Mapping[Table, str]) -> _SectionFile:
    return _SectionFile(
        name=section.name,
        title=section.title,
        lead=section.lead,
        figures=tuple(_FigureFile(file=f"figures/{item.name}.json", caption=item.caption) for item in section.figures),
        tables=tuple(_file_of(table, names) for table in section.tables),
        examples=tuple(map(_example_file, section.examples)),
    )


def _file_of(table: Table, names: Mapping[Table, str]) -> str:
    if table not in names:
        raise OutputError(f"the page shows a table that is not in the record: {table.title[:100]}")
    return f"tables/{names[table]}.json"


def _example_file(item: Example) -> _ExampleFile:
    return _ExampleFile(
        title=item.title, file=item.file, text=item.text, id=item.id, facts=item.facts, broad=item.broad,
        sounds=tuple((sound.label, sound.file) for sound in item.sounds),
    )  # fmt: skip
