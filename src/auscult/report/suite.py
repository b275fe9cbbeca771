"""The report of a benchmark as one HTML file: tables, charts, example pictures, and links to each judge's own report.

It has no script at all. Names and expressions come from files that nobody has checked; they reach the page as escaped
text only, and the content security policy allows pictures that are part of the file and nothing else. Charts come as
drawings, which are values: whatever file they lay in, the markup is made here.

A suite lays its page down in the record with ``suite_store``; ``suite_read`` reads one back.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from importlib import resources
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from auscult.media.drawing import Drawing, to_markup
from auscult.report.tables import Table

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
        jpeg=_jpeg,
        drawn=to_markup,
        address=_address,
    )


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _jpeg(picture: bytes) -> Markup:
    return Markup("data:image/jpeg;base64,") + Markup(b64encode(picture).decode("ascii"))  # noqa: S704 - base64


def _address(path: str) -> str:
    """A path of the record as a link; what might be a scheme, a query or a fragment becomes part of the path."""
    return quote(path, safe="/", errors="replace")
