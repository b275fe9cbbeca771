"""Ref-AVSBench: a folder with ``metadata.csv``, ``media/`` and ``gt_mask/``; ``auscult make scenes`` writes the same.

A row is an expression of one object (``fid``) of one clip. As instances, each has its ten true masks and, as others,
the clip's other objects, referred to or not. As items, every object of every frame is listed once, its true mask as the
candidate, asked by the first expression that refers to it. Rows marked ``TODO`` are left out; a uid that stands on
several rows, as eleven do in the release, is kept as it is on the first and gets ``#2``, ``#3`` on the further ones.
Missing files are told once a clip. Frame ``k`` is the picture at second ``k``.

The families of its expressions are exact where the classes of ``template_of`` are guessed from words, and every object
has a category, referred to or not. A line that cannot be read costs only that.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from auscult.cases.fields import BOM, MAX_TEXT_CHARS, parse
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.instances import InstanceListing
from auscult.cases.layouts.refavs import COLUMNS, CROSS, FRAMES, MASKS, MEDIA, TABLE, TODO, MetadataRow
from auscult.cases.listing import ListError, Listing, ListOptions, refuse_options
from auscult.cases.walk import Tree, base_folder, boundary, is_file, is_folder, walk, within
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

_FRAME = re.compile(r"^(?:frames/)?([0-9]{1,6})(\.[A-Za-z]+)$")
_MASK = re.compile(r"^fid_([0-9]{1,6})/([0-9]{1,6})(\.[A-Za-z]+)$")
_LISTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipFiles:
    """What is there of a clip.

    Attributes:
        folder: Its folder in ``media`` and ``gt_mask``.
        frames: Frame number to picture, ascending.
        masks: Object number to its true masks by frame number, ascending.
        errors: What cannot be used, such as links that lead out.
    """

    folder: str
    frames: Mapping[int, Path]
    masks: Mapping[int, Mapping[int, MaskRef]]
    errors: tuple[ErrorRecord, ...] = ()

    def ref(self, fid: int, frame: int) -> MaskRef | None:
        """The true mask of an object on a frame, or None where there is no file."""
        return self.masks.get(fid, {}).get(frame)


@dataclass(slots=True)
class Clips:
    """The clips of a data root; each is looked up once.

    Attributes:
        source: The data root.
        root: Folder that links may reach; ``source`` by default.
    """

    source: Path
    root: Path | None = None
    _known: dict[str, ClipFiles] = field(default_factory=dict)
    _limits: dict[str, Path] = field(default_factory=dict)
    _sounds: dict[str, Path | None] = field(default_factory=dict)
    _usual: int | None = None

    def clip(self, folder: str) -> ClipFiles:
        """The files of a clip; a folder that leads out of the data root costs the clip."""
        if folder not in self._known:
            self._known[folder] = self._read(folder)
        return self._known[folder]

    def missing(self, folder: str, fids: Iterable[int]) -> list[ErrorRecord]:
        """What is missing of a clip: one record for all its frames, one for all masks of the objects referred to.

        Args:
            folder: The clip's folder.
            fids: The objects that are referred to.
        """
        clip = self.clip(folder)
        if any(error.stage == "read" for error in clip.errors):
            return []  # it is said already why there is nothing
        masks = {fid: clip.masks.get(fid, {}) for fid in sorted(set(fids))}
        drawn = {number for numbers in masks.values() for number in numbers}
        wanted = sorted({*range(self._length()), *clip.frames, *drawn})
        bare = [f"{number}.jpg" for number in wanted if number not in clip.frames]
        lost = [
            f"fid_{fid}/{number:05d}.png"
            for fid, numbers in masks.items()
            for number in wanted
            if number not in numbers
        ]
        records = []
        if bare:
            stage = "frames" if clip.frames else "read"
            path = self.source / MEDIA / folder / "frames"
            records.append(_lost(path, bare, "frame", of=len(wanted), stage=stage))
        if lost and clip.frames:
            stage = "truth" if all(masks.values()) else "read"
            records.append(_lost(self.source / MASKS / folder, lost, "mask", of=len(wanted) * len(masks), stage=stage))
        return records

    def _length(self) -> int:
        """How many frames most clips have; ten where there is none to tell."""
        if self._usual is None:
            counts = Counter(1 + max(clip.frames) for clip in self._known.values() if clip.frames)
            self._usual = max(counts, key=lambda length: (counts[length], length), default=FRAMES)
        return self._usual

    def sound(self, folder: str, *, vid: str, absent: bool) -> Path | None:
        """The sound of an expression: for a null expression the exchanged one goes first, under either name."""
        crossed = [f"{CROSS}/{name}/audio.wav" for name in (folder, vid)] if absent else []
        for name in (*crossed, f"{MEDIA}/{folder}/audio.wav"):
            if name not in self._sounds:
                self._sounds[name] = self._sound(name)
            if self._sounds[name] is not None:
                return self._sounds[name]
        return None

    def _sound(self, name: str) -> Path | None:
        try:
            path = self._path(name)
        except InputError:
            return None
        return path if is_file(path) else None

    def _read(self, folder: str) -> ClipFiles:
        try:
            media, masks = self._tree(f"{MEDIA}/{folder}", MEDIA), self._tree(f"{MASKS}/{folder}", MASKS)
        except InputError as error:
            return ClipFiles(folder=folder, frames={}, masks={}, errors=(ErrorRecord.of(error, "read"),))
        errors: list[ErrorRecord] = []
        for tree, stage in ((media, "frames"), (masks, "truth")):
            errors += [replace(error, stage=stage) for error in (() if tree is None else tree.errors)]
        return ClipFiles(
            folder=folder,
            frames={} if media is None else _numbered_frames(media),
            masks={} if masks is None else _numbered_masks(masks),
            errors=tuple(errors),
        )

    def _path(self, name: str) -> Path:
        return within(self.root or self.source, home=self.source, name=name)

    def _tree(self, name: str, top: str) -> Tree | None:
        path = self._path(name)
        if not is_folder(path):
            return None
        if top not in self._limits:
            self._limits[top] = boundary(self.source / top, source=self.source, root=self.root)
        return walk(path, root=self._limits[top])


def _numbered_frames(tree: Tree) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for name, path in tree.files.items():
        match = _FRAME.match(name)
        if match and name.startswith("frames/") and match[2].lower() in FRAME_SUFFIXES:
            found.setdefault(int(match[1]), path)
    return dict(sorted(found.items()))


def _numbered_masks(tree: Tree) -> dict[int, dict[int, MaskRef]]:
    found: dict[int, dict[int, MaskRef]] = {}
    for name, path in tree.files.items():
        match = _MASK.match(name)
        if match and match[3].lower() in MASK_SUFFIXES:
            found.setdefault(int(match[1]), {}).setdefault(int(match[2]), MaskRef(path=path, positive=True))
    return {fid: dict(sorted(found[fid].items())) for fid in sorted(found)}


def _lost(path: Path, names: Sequence[str], noun: str, *, of: int, stage: str) -> ErrorRecord:
    told = ", ".join(map(shown, names[:_LISTED])) + (", ..." if len(names) > _LISTED else "")
    missing = "all" if len(names) == of else str(len(names))
    error = InputError(
        f"{missing} of {counted(of, noun)} {'is' if len(names) == 1 else 'are'} missing: {told}",
        expected="frames 0.jpg to 9.jpg" if noun == "frame" else "00000.png to 00009.png of every object",
        hint="unpack the archive again, or drop the rows of this clip",
        path=path,
    )
    return ErrorRecord.of(error, stage)


MAX_TABLE_BYTES = 256 * 1024 * 1024
KEY_FRAME = "kfid"

_HEAD_BYTES = 256
_MAX_NUMBER = 99_999
_HINT = "correct or drop the row"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRow:
    """A row and the id its instance has: the uid, or ``<uid>#2`` for the second row of one uid."""

    id: str
    row: MetadataRow


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """What a table holds.

    Attributes:
        rows: Usable rows, in the order of the file, ids unique; rows marked ``TODO`` are not among them.
        errors: Rows that cannot be used.
        todo: How many rows are marked ``TODO``.
        repeats: How many rows repeat a uid.
        copies: How many of those repeat the whole row.
    """

    rows: tuple[NamedRow, ...]
    errors: tuple[ErrorRecord, ...]
    todo: int = 0
    repeats: int = 0
    copies: int = 0

    def notes(self) -> tuple[str, ...]:
        """What was left out or renamed on purpose, in plain sentences."""
        told = []
        if self.rows:
            splits = Counter(one.row.split or "no split" for one in self.rows)
            told.append(f"{counted(len(self.rows), 'row')}: {', '.join(f'{name} {n}' for name, n in splits.items())}")
        if self.todo:
            told.append(f"{counted(self.todo, 'row')} marked TODO left out")
        if self.repeats:
            copies = f", {self.copies} of them word for word" if self.copies else ""
            told.append(
                f"{counted(self.repeats, 'row')} with a uid that stands above{copies}: kept apart as <uid>#2, ..."
            )
        return tuple(told)


def has_heading(path: Path, *columns: str) -> bool:
    """Whether a file is a table with these columns first; cheap, and False for what cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).removeprefix(BOM)
    except (OSError, ValueError):
        return False
    cells = [cell.strip().strip(b'"').lower() for cell in head.split(b"\n")[0].split(b",")]
    return cells[: len(columns)] == [name.encode() for name in columns]


def file_names(folder: Path) -> list[str]:
    """The names of what is in a folder; none where there is no folder or it cannot be opened."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return []


def read_table(path: Path, *, released: bool = True) -> TableRows:
    """Read a table of expressions.

    Args:
        path: The file.
        released: A uid names a folder and an object, as in the release, and an expression is never empty; False for a
            table that only says what is known of ids, which may be any.

    Raises:
        NothingToDo: It cannot be read, is not UTF-8, or has another heading.
    """
    errors: list[ErrorRecord] = []
    rows: list[MetadataRow] = []
    for line, cells in _cells(path):
        try:
            rows.append(_row(cells, line, released=released))
        except InputError as error:
            at = InputError(error.message, expected=error.expected, hint=error.hint or _HINT, path=path, line=line)
            errors.append(ErrorRecord.of(at, "read"))
    kept = [row for row in rows if row.split != TODO]
    named = _named(kept)
    repeats = [one for one in named if one.id != one.row.uid]
    whole = Counter(replace(row, line=0) for row in kept)
    return TableRows(
        rows=tuple(named),
        errors=tuple(errors),
        todo=len(rows) - len(kept),
        repeats=len(repeats),
        copies=sum(count - 1 for count in whole.values()),
    )


def _cells(path: Path) -> Iterator[tuple[int, Sequence[str]]]:
    try:
        data = read_bytes(path, limits=Limits(max_bytes=MAX_TABLE_BYTES)).removeprefix(BOM)
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        head = next(reader, [])
        _check_heading(head, path)
        first = reader.line_num + 1
        for cells in reader:
            line, first = first, reader.line_num + 1
            if cells:
                yield line, cells
    except InputError as error:
        raise NothingToDo(
            error.message, expected=error.expected, hint=error.hint, path=path, line=error.line
        ) from error
    except UnicodeDecodeError as error:
        raise NothingToDo(f"byte {error.start + 1} is not UTF-8", expected="a table in UTF-8", path=path) from error
    except csv.Error as error:
        raise NothingToDo(f"broken table: {error}", expected=f"a CSV table {','.join(COLUMNS)}", path=path) from error


def _check_heading(head: Sequence[str], path: Path) -> None:
    if tuple(cell.strip().lower() for cell in head[: len(COLUMNS)]) != COLUMNS:
        raise InputError(f"the heading is {shown(','.join(head))}", expected=",".join(COLUMNS), path=path, line=1)


def _row(cells: Sequence[str], line: int, *, released: bool) -> MetadataRow:
    if len(cells) not in {len(COLUMNS), len(COLUMNS) + 1}:
        raise InputError(
            f"the row has {counted(len(cells), 'cell')}",
            expected=",".join(COLUMNS),
            hint="put an expression that holds commas into quotation marks",
        )
    vid, uid, split, fid, exp = cells[: len(COLUMNS)]
    if released:
        _check_uid(uid)
    if (released and not exp.strip()) or len(exp) > MAX_TEXT_CHARS or "\0" in exp:
        raise InputError(f"the expression is {shown(exp)}", expected="a sentence")
    key = cells[len(COLUMNS)] if len(cells) > len(COLUMNS) else ""
    return MetadataRow(
        vid=check_id(vid),
        uid=check_id(uid),
        split=split.strip(),
        fid=_number(fid, "fid"),
        exp=exp,
        kfid=_number(key, KEY_FRAME) if key.strip() else None,
        line=line,
    )


def _check_uid(uid: str) -> None:
    if not all(uid.rsplit("_", 2)) or uid.count("_") < 2:
        raise InputError(f"the uid is {shown(uid)}", expected="<folder>_<object>_<n>")
    if "/" in uid or "\\" in uid or uid.startswith("."):
        raise InputError(f"the uid {shown(uid)} is no name of a folder", expected="<folder>_<object>_<n>")


def _number(text: str, name: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(_MAX_NUMBER)):
        raise InputError(f"{name} is {shown(text)}", expected=f"a whole number from 0 to {_MAX_NUMBER}")
    return int(digits)


def _named(rows: Iterable[MetadataRow]) -> list[NamedRow]:
    seen: Counter[str] = Counter()
    named = []
    for row in rows:
        seen[row.uid] += 1
        count = seen[row.uid]
        named.append(NamedRow(id=row.uid if count == 1 else f"{row.uid}#{count}", row=row))
    return named


# Our own coarse rule, not the release's: the first class one of whose words stands in the expression. What is said of
# time and strength of a sound is rarer than that something sounds, and place rarer than action, so they go first.
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"\b(?:{'|'.join(words)})", re.IGNORECASE))
    for name, words in (
        (
            "silence",
            (
                r"silent|silence|mute|quiet\b|no sound|without (?:\w+ )?sound",
                r"not? (?:\w+ )?(?:mak|sound|emit|produc)",
            ),
        ),
        (
            "order",
            (r"first\b|last\b|second\b|third\b|before\b|after\b", r"latest\b|end\b|begin|start|initial|final|earli"),
        ),
        ("loudness", (r"loud|soft|intense|volume|quieter|quietest|strong|weak",)),
        (
            "duration",
            (
                r"long(?:er|est)? (?:\w+ )?(?:sound|duration|time)|short(?:er|est)\b|duration|continu|constant",
                r"keeps|always|throughout|entire|whole|all times|at times|intermittent|interval",
            ),
        ),
        ("rhythm", (r"rhythm|tempo|pitch|tone|frequen|faster|slower|higher|lower",)),
        (
            "position",
            (
                r"left|right\b|middle|cent(?:er|re)|front|behind|near|next|beside|between|top\b|bottom|above|below",
                r"under|beneath|far\b|farthest|close|back\b|upper|opposite|against",
            ),
        ),
        (
            "action",
            (
                r"(?!making|sounding|emitting)\w+ing (?:a|an|the|on|in|at|with|to|his|her|its)\b|playing\b",
                r"\w+ed by\b|(?:held|driven|ridden|hit) by\b|by (?!the\b)\w+ing\b",
            ),
        ),
        ("sound", (r"sound|audib|hear|nois|voice|emit|sing|speak|talk|bark",)),
    )
)


def template_of(expression: str) -> str:
    """The coarse class of an expression: ``silence``, ``order``, ``loudness``, ``duration``, ``rhythm``, ``position``,
    ``action``, ``sound``, or ``attribute`` for what names none of these.

    The classes are auscult's own, by single words, so that benchmarks can be balanced over kinds of expressions where
    a data set does not say how its expressions were made.
    """  # noqa: D205 - the classes are the summary
    for name, words in _CLASSES:
        if words.search(expression):
            return name
    return "attribute"


FILE = "scenes.jsonl"
MAX_LINE_BYTES = 16 * 1024 * 1024

_DIGITS = 5


@dataclass(slots=True)
class Scenes:
    """Families by uid, and categories by clip and object number.

    Attributes:
        families: uid to family.
        categories: (clip, object number) to category.
        broken: Lines that could not be read.
    """

    families: dict[str, str] = field(default_factory=dict)
    categories: dict[tuple[str, int], str] = field(default_factory=dict)
    broken: int = 0

    def notes(self) -> tuple[str, ...]:
        """What could not be read, in a plain sentence."""
        told = f"{counted(self.broken, 'line')} of {FILE} left out: families and categories come from the table"
        return (told,) if self.broken else ()


def read_scenes(source: Path) -> Scenes:
    """Read the scenes of a folder; empty where there are none."""
    found = Scenes()
    file = source / FILE
    if not is_file(file):
        return found
    for line in _lines(file):
        try:
            row = None if line is None else parse(line, path=file)
        except InputError:
            row = None
        clip = row.get("id") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(clip, str):
            found.broken += 1
            continue
        _add(found, clip, row)
    return found


def _add(found: Scenes, clip: str, row: Mapping[str, Any]) -> None:
    facts = row.get("facts")
    for thing in _objects(facts.get("things") if isinstance(facts, dict) else None):
        name, category = thing.get("id"), thing.get("category")
        if (
            isinstance(name, str)
            and name.isascii()
            and name.isdigit()
            and len(name) <= _DIGITS
            and isinstance(category, str)
        ):
            found.categories[clip, int(name)] = category
    for one in _objects(row.get("expressions")):
        uid, family = one.get("uid"), one.get("family")
        if isinstance(uid, str) and isinstance(family, str):
            found.families[uid] = family


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _lines(file: Path) -> Iterator[bytes | None]:
    """The lines that are not blank; None, and no further, for one that is too long or cannot be read."""
    try:
        with file.open("rb") as opened:
            while content := opened.readline(MAX_LINE_BYTES + 1):
                if len(content) > MAX_LINE_BYTES:
                    yield None
                    return
                if content.strip():
                    yield content.strip()
    except OSError:
        yield None


@dataclass(slots=True)
class _RefAvs:
    """What the table and the folders say together.

    Attributes:
        file: The table.
        rows: Its rows.
        clips: The clips.
        by_folder: The rows of each clip's folder.
        scenes: What is known beside, of scenes that auscult made.
    """

    file: Path
    rows: TableRows
    clips: Clips
    by_folder: Mapping[str, Sequence[NamedRow]] = field(default_factory=dict)
    scenes: Scenes = field(default_factory=Scenes)
    _words: dict[str, Mapping[int, str]] = field(default_factory=dict)

    def words(self, folder: str) -> Mapping[int, str]:
        """Object number to the object word of the first row that refers to it; not those of null expressions."""
        if folder not in self._words:
            told: dict[int, str] = {}
            for one in self.by_folder.get(folder, ()):
                if not one.row.absent:
                    told.setdefault(one.row.fid, one.row.word)
            self._words[folder] = told
        return self._words[folder]

    def name(self, folder: str, fid: int) -> str:
        """What an object is called; empty where nobody says it."""
        return self.words(folder).get(fid) or self.scenes.categories.get((folder, fid), "")

    def objects(self, folder: str) -> list[int]:
        """The objects of a clip that have masks; a number that only null expressions name is none."""
        words = self.words(folder)
        empty = {one.row.fid for one in self.by_folder.get(folder, ()) if one.row.absent} - words.keys()
        return [fid for fid in self.clips.clip(folder).masks if fid not in empty]

    def errors(self) -> tuple[ListError, ...]:
        """Rows and clips that cannot be used, clips in the order of the table; once all clips were looked up."""
        told = list(self.rows.errors)
        for folder in self.by_folder:
            told += self.clips.clip(folder).errors
            told += self.clips.missing(folder, self.words(folder))
        return tuple((None, error) for error in told)


class RefAvsDataset:
    """Referring audio-visual segmentation as released."""

    name = "datasets.refavs.v1"
    meta = Metadata(
        summary="Ref-AVSBench: metadata.csv, media/ and gt_mask/; also what `auscult make scenes` writes",
        goal="lists expressions of what is seen and heard, with the masks of every object of the clip",
        modality="video",
        source="Wang et al. 2024 (Ref-AVS, ECCV), release GeWu-Lab/Ref-AVS",
        truth="gt_mask/<folder>/fid_<fid>/",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a folder with a table of that heading; ``frames`` or ``masks`` name another layout."""
        if options.frames is not None or options.masks is not None:
            return False
        return has_heading(source / TABLE, *COLUMNS)

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object of every frame.

        Raises:
            NothingToDo: The table cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        bench = _open(source, options)
        items = tuple(item for folder in bench.by_folder for item in _items(bench, folder))
        null = sum(one.row.absent for one in bench.rows.rows)
        notes = (*bench.rows.notes(), *bench.scenes.notes())
        if null:
            notes = (
                *notes,
                f"{counted(null, 'null expression')} left out: nothing is referred to, so no mask is judged",
            )
        return Listing(items, bench.errors(), self.name, notes)

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every expression whose clip has a frame, in the order of the table.

        Raises:
            NothingToDo: The table cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        bench = _open(source, options)
        found = [instance for one in bench.rows.rows if (instance := _instance(bench, one)) is not None]
        lost = len(bench.rows.rows) - len(found)
        notes = (*bench.rows.notes(), *bench.scenes.notes())
        if lost:
            notes = (*notes, f"{counted(lost, 'row')} without a single frame and mask left out")
        return InstanceListing(instances=tuple(found), errors=bench.errors(), layout=self.name, notes=notes)


def _open(source: Path, options: ListOptions) -> _RefAvs:
    refuse_options(options, "frames", "masks", "images", "instances", layout="a folder with metadata.csv")
    base_folder(source, options.root)  # which refuses a root that does not contain it
    for top in (MEDIA, CROSS, MASKS):
        if is_folder(source / top):
            boundary(source / top, source=source, root=options.root)  # a link out is told once, not once a clip
    file = source / TABLE
    rows = read_table(file)
    by_folder: dict[str, list[NamedRow]] = {}
    for one in rows.rows:
        by_folder.setdefault(one.row.folder, []).append(one)
    return _RefAvs(
        file=file, rows=rows, clips=Clips(source, options.root), by_folder=by_folder, scenes=read_scenes(source)
    )


def _items(bench: _RefAvs, folder: str) -> Iterator[Item]:
    clip, words = bench.clips.clip(folder), bench.words(folder)
    first: dict[int, NamedRow] = {}
    for one in bench.by_folder[folder]:
        first.setdefault(one.row.fid, one)
    objects = bench.objects(folder)
    sound = bench.clips.sound(folder, vid=folder, absent=False)
    for number, frame in clip.frames.items():
        refs = {fid: ref for fid in objects if (ref := clip.ref(fid, number)) is not None}
        for fid, ref in refs.items():
            row = first[fid].row if fid in words else None
            yield Item(
                id=f"{folder}/fid_{fid}/{number:05d}",
                frame=frame,
                mask=ref,
                query=Query(None if row is None else row.exp),
                clip=folder,
                time_s=float(number),
                audio=sound,
                others=tuple(other for one, other in refs.items() if one != fid),
                extra={"fid": fid}
                if row is None
                else {"uid": row.uid, "fid": fid, "split": row.split, "category": row.word},
                source=bench.file,
                line=None if row is None else row.line,
            )


def _instance(bench: _RefAvs, one: NamedRow) -> Instance | None:
    row = one.row
    clip = bench.clips.clip(row.folder)
    beside = row.folder
    others = [fid for fid in bench.objects(row.folder) if row.absent or fid != row.fid]
    if row.absent and not others and row.vid in bench.by_folder:
        beside, others = row.vid, bench.objects(row.vid)  # the same pictures with another or no sound
    near = bench.clips.clip(beside)
    moments = tuple(
        Moment(
            frame=frame,
            target=clip.ref(row.fid, number),
            others=tuple(near.ref(fid, number) for fid in others),
            time_s=float(number),
        )
        for number, frame in clip.frames.items()
    )
    if not moments or not (row.absent or any(moment.target is not None for moment in moments)):
        return None
    return Instance(
        id=one.id,
        clip=row.vid,
        query=Query(row.exp),
        moments=moments,
        split=row.split,
        category="" if row.absent else row.word,
        template=bench.scenes.families.get(row.uid) or template_of(row.exp),
        others=tuple(bench.name(beside, fid) for fid in others),
        sound=bench.clips.sound(row.folder, vid=row.vid, absent=row.absent),
        absent=row.absent,
        source=bench.file,
        line=row.line,
    )


DATASET = RefAvsDataset()
