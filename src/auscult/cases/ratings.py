"""People's ratings of separated sound: from CSV, JSON lines, Label Studio's JSON or released listening tests.

A table has a row for each rater and item, with the columns ``item``, ``rater`` and any of ``RATED_AXES``, an empty cell
where there is no rating; or a row for each rating, with ``item``, ``rater``, ``axis``, ``rating``. ``domain`` may be
there too. JSON lines hold the same keys. What cannot be used costs itself and is named with its line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases import fields
from auscult.cases.fields import JSON_LINES, Home, json_objects, number_of
from auscult.cases.ids import check_id, shown
from auscult.cases.problems import ListError, Problems, required_file
from auscult.errors import InputError, NothingToDo
from auscult.record.cells import disarmed
from auscult.types import DIFFICULTY_AXES, DOMAINS, PERFORMANCE, Doubles, SoundQuery

RATED_AXES: Final = (*PERFORMANCE, *DIFFICULTY_AXES[:-1], "difficulty")
"""The nine axes that people rate, 1..5; ``difficulty`` is the overall one."""
_CLIP_COLUMNS: Final = ("set", "page", "sound", "kind", "audio")
_RAW_COLUMNS: Final = ("set", "page", "sound", "attribute", "rater", "rating")
_MAX_BYTES: Final = 256 << 20
_FORM: Final = (
    "rows with item, rater and any of " + ", ".join(RATED_AXES) + "; or item, rater, axis, rating; as CSV with a first "
    "row of names, JSON lines or Label Studio's JSON, in UTF-8"
)
_ALIASES: Final = {"id": "item", "annotator": "rater", "overall_difficulty": "difficulty", "score": "rating"}
_DROP: Final = "correct or drop the row; the others are used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One number that one person gave one item on one axis."""

    item: str
    rater: str
    axis: str
    value: float  # 1..5; in released listening tests what they asked, such as 0..100
    path: Path | None = None  # its file
    line: int | None = None  # of it


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedItem:
    """What was rated; a text is empty and a file None where it is not known."""

    id: str  # unique in its set
    domain: str = ""  # one of ``DOMAINS``
    cluster: str = ""  # what was heard side by side, the page of a listening test; else its own id
    system: str = ""  # what made the sound
    kind: str = ""  # separator, anchor, reference, mixture or other stem
    text: str = ""  # what was wanted
    separated: Path | None = None  # the sound that was rated
    reference: Path | None = None  # the true stem
    mixture: Path | None = None  # where a test has none, its anchor of true stem and other sources


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingSet:
    """Ratings, what they are of, and what could not be used."""

    ratings: tuple[Rating, ...]  # each item, rater and axis once, in the order of the file
    items: Mapping[str, RatedItem] = field(default_factory=dict)
    problems: tuple[ListError, ...] = ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that were rated, in the order of ``RATED_AXES``, then any others."""
        rated = dict.fromkeys(rating.axis for rating in self.ratings)
        return (*(axis for axis in RATED_AXES if axis in rated), *(axis for axis in rated if axis not in RATED_AXES))

    def matrix(self, axis: str, *, raters: Sequence[str], items: Sequence[str]) -> Doubles:
        """(raters, items) the ratings on one axis, NaN where there is none."""
        rows, columns = ({name: index for index, name in enumerate(names)} for names in (raters, items))
        values = np.full((len(rows), len(columns)), np.nan)
        for rating in self.ratings:
            if rating.axis == axis and rating.rater in rows and rating.item in columns:
                values[rows[rating.rater], columns[rating.item]] = rating.value
        return values


def read_ratings(*sources: Path, known_raters: Collection[str] | None = None) -> RatingSet:
    """Read ratings from files, or from a folder with ``raw_ratings.csv`` and ``clips.csv``.

    Ratings out of scale, repeated, on no axis, or from a rater that is not among ``known_raters`` are problems; the
    first of repeated ones is kept. ``NothingToDo`` where there is nothing that could be read, or no rating at all.
    """
    if len(sources) == 1 and sources[0].is_dir():
        return _released(sources[0])
    collector = _Collector(known_raters)
    for source in sources:
        collector.path = source
        with required_file(source):
            if source.suffix.lower() == ".json":
                _of_tasks(fields.load(source, max_bytes=_MAX_BYTES), collector)
            else:
                for line, row in rows_of(source, needed=("item", "rater"), expected=_FORM):
                    collector.add(row, line)
    return collector.result()


class _Collector:
    """Collects ratings of files; ``path`` is the one that is read."""

    def __init__(self, known_raters: Collection[str] | None) -> None:
        self.problems = Problems()
        self.path, self._known_raters = Path(), known_raters
        self._ratings: dict[tuple[str, str, str], Rating] = {}
        self._items: dict[str, RatedItem] = {}

    def add(self, row: Mapping[str, Any], line: int | None, *, key: str = "") -> None:
        """Take what a row holds."""
        row = dict(zip(_renamed(list(row)), row.values(), strict=True))
        with self.problems.skipping(self.path, line=line, key=key):
            if row.get(""):
                raise InputError("the row has more cells than the first row", expected=_FORM, hint=_DROP)
            item, rater = (check_id(str(row.get(name) or "")) for name in ("item", "rater"))
            if self._known_raters is not None and rater not in self._known_raters:
                raise InputError(f"the rater {shown(rater)} is not known", expected="a rater of the list", hint=_DROP)
            domain = str(row.get("domain") or "")
            self._items.setdefault(item, RatedItem(id=item, domain=domain if domain in DOMAINS else "", cluster=item))
            wide = {axis: row[axis] for axis in RATED_AXES if axis in row}
            for axis, value in ({str(row["axis"]): row.get("rating")} if row.get("axis") else wide).items():
                with self.problems.skipping(self.path, line=line, key=key):
                    self._keep(axis, value, (item, rater, line))

    def _keep(self, axis: str, value: object, of: tuple[str, str, int | None]) -> None:
        item, rater, line = of
        axis, value = _ALIASES.get(axis, axis), _plain(value)
        number = number_of(value)
        if axis not in RATED_AXES:
            raise InputError(f"the axis is {shown(axis)}", expected=f"one of: {', '.join(RATED_AXES)}", hint=_DROP)
        if number is None:
            return
        if number not in {1.0, 2.0, 3.0, 4.0, 5.0}:
            raise InputError(f"{axis} is {shown(str(value))}", expected="a whole number from 1 to 5", hint=_DROP)
        first = self._ratings.get((item, rater, axis))
        if first is not None:
            raise InputError(
                f"{shown(rater)} rated {axis} of {shown(item)} twice; the first{self._place(first)} is kept",
                expected="one rating of an item by a rater on an axis",
                hint=_DROP,
            )
        rating = Rating(item=item, rater=rater, axis=axis, value=number, path=self.path, line=line)
        self._ratings[item, rater, axis] = rating

    def _place(self, rating: Rating) -> str:
        places = [] if rating.line is None else [f"line {rating.line}"]
        places += [shown(rating.path.name)] if rating.path and rating.path != self.path else []
        return f", in {' of '.join(places)}," if places else ""

    def result(self) -> RatingSet:
        """All of it."""
        if not self._ratings:
            first = f"; first problem: {self.problems.found[0][1].error}" if self.problems.found else ""
            raise NothingToDo(f"there is no rating{first}", expected=_FORM, path=self.path)
        return RatingSet(ratings=tuple(self._ratings.values()), items=self._items, problems=tuple(self.problems.found))


def _renamed(names: Sequence[str]) -> list[str]:
    """Names of columns in lower case and without aliases; an alias of a column that is there too is left alone."""
    plain = [name.strip().lower() for name in names]
    return [_ALIASES[name] if name in _ALIASES and _ALIASES[name] not in plain else name for name in plain]


def _plain(value: object) -> object:
    """What a cell holds; Label Studio has ``{"rating": 4}``, ``[{"rating": 4}]``, and in its CSV the text of that."""
    if isinstance(value, str) and value.startswith('[{"rating":') and value.endswith("}]"):
        return value[11:-2]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value.get("rating") if isinstance(value, Mapping) else value


def rows_of(path: Path, *, needed: Sequence[str], expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV, whose first has the ``needed`` names, or of JSON lines, each with its line.

    A column of a CSV without a name is left out; cells beyond the first row's have the name "".
    """
    if path.suffix.lower() in JSON_LINES:
        for line, row in fields.json_rows(path, max_bytes=_MAX_BYTES, expected=expected):
            yield line, dict.fromkeys(set(needed) - {*row, *_renamed(list(row))}, "") | row
        return
    rows = fields.table_rows(path, max_bytes=_MAX_BYTES, expected=expected)
    line, cells = next(rows, (1, []))
    names = [cell.strip().lower() for cell in cells]
    unnamed = {number for number, name in enumerate(names) if not name}  # such as the index that pandas writes
    names = [name for name in names if name]
    missing = set(needed) - {*names, *_renamed(names)}
    if missing or len(set(names)) < len(names):
        message = f"the first row is {shown(','.join(cells))}"
        hint = f"there is no column {min(missing)}" if missing else "name each column once"
        raise InputError(message, expected=expected, hint=hint, path=path, line=line)
    for line, cells in rows:
        named = [_as_written(cell) for number, cell in enumerate(cells) if number not in unnamed]
        yield line, dict(zip_longest(names, named, fillvalue=""))


def _as_written(cell: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from running it."""
    return cell[1:] if cell.startswith("'") and disarmed(cell[1:]) == cell else cell


# --- Label Studio ---


def wanted_of(query: SoundQuery) -> str:
    """What a rater is told to listen for: words, and the seconds in which the target is heard or is not."""
    spans = {
        sign: [f"{span.start_s:.2f}-{span.end_s:.2f} s" for span in query.spans if span.sign == sign] for sign in "+-"
    }
    told = [f"{words} at {', '.join(spans[sign])}" for sign, words in (("+", "heard"), ("-", "not")) if spans[sign]]
    return "; ".join([query.text, *told] if query.text else told)


def label_studio_config() -> str:
    """The labelling interface: the sounds, what was wanted, and a rating 1..5 for each axis."""
    lines = [f'<Header value="{name}"/><Audio name="{name}" value="${name}"/>' for name in ("mixture", "separated")]
    rating = '<Header value="{0}"/><Rating name="{0}" toName="separated" maxRating="5" required="true"/>'
    lines += [rating.format(axis) for axis in RATED_AXES]
    return "\n".join(("<View>", '<Header value="Wanted: $text"/>', *lines, "</View>"))


def _of_tasks(tasks: object, collector: _Collector) -> None:
    """Ratings of Label Studio's JSON export, or of its JSON-MIN; a task's ``data`` names the ``item``."""
    if not isinstance(tasks, list):
        raise InputError(f"the file holds {fields.kind(tasks)}", expected=_FORM)
    for number, task in enumerate(tasks, start=1):
        key = f"task {number}"
        with collector.problems.skipping(collector.path, key=key):
            if not isinstance(task, dict):
                raise InputError(f"the task is {fields.kind(task)}", expected="an object")
            data = fields.mapping(task, "data") or {}
            if "annotations" not in task:
                collector.add(task, None, key=key)
            for annotation in json_objects(task.get("annotations")):
                if not annotation.get("was_cancelled"):
                    who = annotation.get("completed_by")
                    who = who.get("email") or who.get("username") or who.get("id") if isinstance(who, dict) else who
                    rated = {
                        str(row.get("from_name")): row.get("value") for row in json_objects(annotation.get("result"))
                    }
                    ids = {"item": data.get("item"), "domain": data.get("domain"), "rater": who}
                    collector.add({**rated, **ids}, None, key=key)


# --- released listening tests ---


def _released(folder: Path) -> RatingSet:
    """Ratings of ``raw_ratings.csv`` without repeated pages, and the clips that ``clips.csv`` lists."""
    problems, items, anchors = Problems(), dict[str, RatedItem](), dict[str, Path | None]()
    clips, path = folder / "clips.csv", folder / "raw_ratings.csv"
    home = Home(file=clips, base=folder)
    if not clips.exists():
        expected = "files of ratings, each by its name; or a listening test, with raw_ratings.csv and clips.csv"
        raise NothingToDo("the folder holds no clips.csv", path=folder, expected=expected)
    with required_file(clips):
        for line, row in rows_of(clips, needed=_CLIP_COLUMNS, expected=",".join(_CLIP_COLUMNS)):
            with problems.skipping(clips, line=line):
                item = _rated(row, home)
                items[item.id] = item
                if item.system == "Interferer":
                    anchors[item.cluster] = item.separated
    items = {name: replace(item, mixture=item.mixture or anchors.get(item.cluster)) for name, item in items.items()}
    ratings: dict[tuple[str, str, str], Rating] = {}
    with required_file(path):
        for line, row in rows_of(path, needed=_RAW_COLUMNS, expected=",".join(_RAW_COLUMNS)):
            with problems.skipping(path, line=line):
                item_id = f"{row['set']}/{row['page']}/{row['sound']}"
                value = number_of(row["rating"])
                if item_id not in items or value is None or not 0 <= value <= 100:
                    message = f"the rating is {shown(row['rating'])} of {shown(item_id)}"
                    raise InputError(message, expected="0 to 100, of a clip in clips.csv", hint=_DROP)
                if row.get("replicate") != "True":
                    key = (item_id, row["rater"], row["attribute"])
                    ratings[key] = Rating(item=item_id, rater=key[1], axis=key[2], value=value, line=line)
    return RatingSet(ratings=tuple(ratings.values()), items=items, problems=tuple(problems.found))


def _rated(row: Mapping[str, str], home: Home) -> RatedItem:
    page = f"{row['set']}/{row['page']}"
    return RatedItem(
        id=check_id(f"{page}/{row['sound']}"),
        domain="music",
        cluster=page,
        system=row["sound"],
        kind=row["kind"],
        text=row.get("text", ""),
        separated=home.path(row["audio"]),
        reference=home.path(row["reference"]) if row.get("reference") else None,
        mixture=home.path(row["mixture"]) if row.get("mixture") else None,
    )
