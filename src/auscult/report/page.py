"""The page of every report: what may stand on it, as plain values, and the one way from them to an HTML file.

An audit, a suite and a comparison each fill a ``Page``; all are laid out by the templates beside this module. The file
is closed: no network, pictures are part of it, and no script but its own, which pages without items do without. It is
readable without any script, on paper and on a phone, in light and dark.

Ids, expressions, names and sentences come from files that nobody has checked. They reach the page as escaped text
only, charts are values of which the markup is made here, and the content security policy allows the inline script by
its hash and nothing else. ``audit`` fills a page from the lines of a record, ``suite`` keeps one in a record.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Final
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from auscult.errors import ErrorRecord
from auscult.record.cells import disarmed
from auscult.report.drawing import Drawing, to_markup
from auscult.report.facts import (
    ACTION_MEANING,
    ACTION_WORDS,
    DEFECT_MEANING,
    UNLIKE,
    action_key,
    interval,
    number,
)
from auscult.report.tables import Table
from auscult.types import Evidence, Verdict

PICTURED: Final = 1_000
"""Items that have a picture, at most."""

LARGE: Final = 100
"""Items that have a large view and are printed on paper, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart."""

    name: str = ""  # of its files in a suite's record, in `figures/`, without ending; empty where it is in none
    caption: str  # what it shows
    drawing: Drawing
    # for a chart as wide as its panel: `bars`, `scatter` or `timeline`, for the style sheet. Empty for one that is at
    # most of its own size
    kind: str = ""
    legend: bool = False  # whether it has the colours of actions, so that these are named below it


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleSound:
    """A sound that an example plays."""

    data: bytes  # WAV or FLAC
    file: str  # its name in the record
    label: str = ""  # what is heard; empty where the example has but one


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One candidate in pictures."""

    title: str  # what it is, for example `erode, hard`
    jpeg: bytes  # the picture: the candidate's tint and the true outline, unless it ``shows`` something else
    text: str  # the referring expression; empty for none
    id: str
    facts: tuple[tuple[str, str], ...]  # label and text: the truth, then each judge's verdict
    shows: str = ""  # what is on the picture, for those who do not see it; empty for tint and true outline
    broad: bool = False  # whether the picture is a strip, which takes the whole width of the page
    file: str = ""  # the picture's name in the record; empty where it is in none
    sounds: tuple[ExampleSound, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """One judged item."""

    verdict: Verdict  # the judge's estimates and the policy's decision
    text: str = ""  # the referring expression; empty when there is none
    frame: str = ""  # name of the frame's file
    reading: str = ""  # how the mask was read: as an index, soft with a threshold, and the like
    thumbnail: bytes | None = None  # JPEG bytes, or None
    crop: bytes | None = None  # JPEG bytes of the large view, or None
    missing: float | None = None  # likely missing part of the object, 0..1; None where the record does not say
    extra: float | None = None  # likely superfluous part of the mask, 0..1; None where the record does not say
    model_score: float | None = None  # the model's own score of its mask; None where INPUT has none
    ranks: str = ""  # why it is listed apart; may be empty


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemList:
    """Judged items as cards."""

    rows: tuple[ItemRow, ...]
    lead: str = ""  # what they are; may be empty
    # defect and count of each filter; None for a list that cannot be searched, sorted and filtered
    defects: tuple[tuple[str, int], ...] | None = None
    total: int = 0  # of how many items the searchable list shows the worst
    record: str = ""  # names the record, so that a browser keeps its marks apart from those of others
    folded: str = ""  # what is said of the empty masks, which have no card; empty where there are none
    empty: tuple[str, ...] = ()  # ids of empty masks, not more than are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipView:
    """One object of a video."""

    name: str  # clip and track
    action: str  # what the policy decides for it
    facts: tuple[tuple[str, str], ...]  # label and text, in the order of the page
    # kind, time or number, sentence and link of each frame that stands out
    marks: tuple[tuple[str, str, str, str], ...]
    more: int  # how many marks are left out
    note: str  # why the action is not the policy's alone, or why a number is missing; may be empty
    timeline: Figure  # estimated IoU over its frames


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that a person is asked about; the answer is one of the page's ``answers``."""

    id: str  # what the file of answers calls it
    title: str
    text: str
    tag: str = ""  # a word or two beside the title


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page; what it holds stands in the order of the attributes."""

    name: str  # its anchor: letters, digits and hyphens
    title: str  # its heading
    tab: str = ""  # words of the button that shows it, where those are not its heading
    count: int | None = None  # a number on that button; None for none
    lead: str = ""  # what it is about, one or two sentences
    figures: tuple[Figure, ...] = ()  # charts, side by side where there is room
    tables: tuple[Table, ...] = ()  # below them, or beside them
    wordy: bool = False  # whether its tables hold sentences, which are broken into lines
    beside: bool = False  # whether the tables stand beside the charts
    examples: tuple[Example, ...] = ()
    items: ItemList | None = None  # cards of judged items
    clips: tuple[ClipView, ...] = ()  # objects of videos
    questions: tuple[Question, ...] = ()  # what a person is asked; the page names the answers
    errors: tuple[ErrorRecord, ...] = ()  # what failed
    statements: tuple[tuple[str, tuple[str, ...]], ...] = ()  # sentences, each with the rows that it refers to
    referred: Table | None = None  # the table of these rows, whose first column is what they are referred to by
    notes: tuple[str, ...] = ()  # small print; words between backticks are names of files and commands


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A warning at the head of a page: heading, sentences, and steps as a word and a sentence each."""

    title: str
    text: str
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Counts that stand above the sections and filter their items."""

    totals: tuple[tuple[int, str], ...]  # count and what is counted
    facts: tuple[tuple[str, str], ...] = ()  # label and text
    note: str = ""  # how to read those
    tally: tuple[tuple[str, int], ...]  # action and how many items it has
    figures: tuple[Figure, ...] = ()  # charts in the colours of the actions


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page shows."""

    title: str
    command: str  # what made it, words of the command line after `auscult`; a comparison names the run that it compares
    lead: str = ""  # what came out, in one paragraph; the notes then stand below the first section
    facts: tuple[tuple[str, str], ...] = ()  # label and text of what the record says: input, time, version, seed
    alarms: tuple[str, ...] = ()  # sentences in red: why the numbers below are not to be used
    notes: tuple[str, ...] = ()  # plain sentences that a reader must know
    advice: Advice | None = None  # what a reader must do first, or None
    # (words, path) of each judge's own report, relative, with `/` between the parts
    links: tuple[tuple[str, str], ...] = ()
    # counts above the sections, which are then tabs, shown one at a time; the one named `items` comes first. None for
    # sections one below the other with a list of contents
    overview: Overview | None = None
    sections: tuple[Section, ...]
    shown: tuple[Table, ...] = ()  # tables of the sections that fit a console
    lost: tuple[str, ...] = ()  # sentences about parts that are missing from the record; they stand below the notes
    footer: str = ""  # where every number lies; words between backticks are names of files
    answers: tuple[str, ...] = ()  # of a page that asks: what can be answered, and exported as ``answers.csv``


_TEMPLATES = resources.files("auscult.report") / "templates"
_BOOT = 'document.documentElement.classList.add("js");'
_SENSES = ("shape", "boundary", "identity", "sound")
_CODE = re.compile("`([^`]+)`")


def render(page: Page) -> str:
    """Lay out a page as one self-contained HTML file, UTF-8 when written.

    It has under 12 MB for 1,000 items with the pictures that ``page_of_audit`` keeps.
    """
    return "".join(rendered(page))


def rendered(page: Page) -> Iterator[str]:
    """The text of ``render`` in parts, of which the whole would be in memory several times."""
    scripts = (_BOOT, _asset("report.js")) if page.overview else (_asset("answers.js"),) if page.answers else ()
    media = "media-src data:; " if any(example.sounds for part in page.sections for example in part.examples) else ""
    allowed = "script-src " + " ".join(f"'sha256-{_digest(text)}'" for text in scripts) + "; " if scripts else ""
    return (
        _environment()
        .get_template("page.html")
        .generate(
            page=page,
            scripts=[Markup(text) for text in scripts],  # noqa: S704 - our own files
            style=Markup(_asset("report.css")),  # noqa: S704 - our own file
            csp=f"default-src 'none'; img-src data:; {media}style-src 'unsafe-inline'; {allowed}"
            "base-uri 'none'; form-action 'none'",
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        action_words=ACTION_WORDS,
        action_meaning=ACTION_MEANING,
        defect_meaning=DEFECT_MEANING,
        unlike_from=UNLIKE,
        large=LARGE,
        pictured=PICTURED,
        action_key=action_key,
        number=number,
        interval=interval,
        wrong=_wrong,
        evidence=_evidence,
        likely=_likely,
        sort_keys=_sort_keys,
    )
    environment.filters.update(
        drawn=_figure_markup,
        jpeg=_jpeg_link,
        sound=_sound_link,
        address=_address,
        coded=_coded,
        counted="{:,}".format,
        disarmed=disarmed,
    )
    return environment


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode("ascii")


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _figure_markup(figure: Figure) -> Markup:
    return to_markup(figure.drawing, kind=figure.kind)


def _jpeg_link(picture: bytes) -> Markup:
    return Markup("data:image/jpeg;base64,") + Markup(b64encode(picture).decode("ascii"))  # noqa: S704 - base64


def _sound_link(sound: bytes) -> Markup:
    kind = Markup("data:audio/flac;base64,") if sound.startswith(b"fLaC") else Markup("data:audio/wav;base64,")
    return kind + Markup(b64encode(sound).decode("ascii"))  # noqa: S704 - base64


def _address(path: str) -> str:
    """A path of the record as a link; what might be a scheme, a query or a fragment becomes part of the path."""
    return quote(path, safe="/", errors="replace")


def _coded(text: str) -> Markup:
    """A sentence, escaped, with what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def _evidence(evidence: Evidence) -> dict[str, list[str]]:
    """The senses that were used and those that were not."""
    used = [sense for sense in _SENSES if getattr(evidence, sense)]
    return {"checked": used, "unchecked": [sense for sense in _SENSES if sense not in used]}


def _wrong(row: ItemRow) -> str:
    """Alternative text for the marks on a picture; empty where nothing is marked."""
    shares = []
    if row.missing:
        shares.append("likely missing, blue with stripes")
    if row.extra:
        shares.append("likely too much, yellow with dots")
    return "; ".join(shares)


def _likely(row: ItemRow) -> str:
    """The defects' probabilities in words, most probable first; those under 1 % left out."""
    ordered = sorted(row.verdict.defect_probs.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {number(share)}" for name, share in ordered if share >= 0.01)


def _sort_keys(row: ItemRow) -> dict[str, str]:
    """What the script sorts by: estimated IoU, width of its interval, novelty, probability of a good mask."""
    verdict = row.verdict
    width = 0.0 if verdict.iou_low is None or verdict.iou_high is None else verdict.iou_high - verdict.iou_low
    return {
        "iou": "-1" if verdict.iou is None else number(verdict.iou, 4),
        "width": number(width, 4),
        "novelty": number(verdict.novelty, 4),
        "good": "2" if verdict.prob_iou_80 is None else number(verdict.prob_iou_80, 6),
    }
