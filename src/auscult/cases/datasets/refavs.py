"""Ref-AVSBench: a folder with ``metadata.csv``, ``media/`` and ``gt_mask/``; ``auscult make scenes`` writes the same.

A row is an expression of one object (``fid``) of one clip. As instances, each has its ten true masks and, as others,
the clip's other objects, referred to or not. As items, every object of every frame is listed once, its true mask as the
candidate, with the first expression that refers to it. Rows marked ``TODO`` are left out; a uid that stands on
several rows, as eleven do in the release, is kept as it is on the first and gets ``#2``, ``#3`` on the further ones.
Missing files are reported once a clip. Frame ``k`` is the picture at second ``k``.

The families of its expressions are exact where the classes of ``template_of`` are guessed from words, and every object
has a category, referred to or not. A line that cannot be read costs only that.

::

    metadata.csv                              vid,uid,split,fid,exp
    media/<folder>/frames/0.jpg .. 9.jpg      one frame a second
    media/<folder>/audio.wav
    gt_mask/<folder>/fid_<fid>/00000.png ..   any value above 0 is the object

A ``uid`` is ``<folder>_<object>_<n>``: the folder is the uid without its last two underscore parts. An expression that
refers to nothing has the object word ``null``; in the release its folder begins with ``null_m-`` or ``null_c-``, and a
sound that was exchanged for it stands in ``media_cross/<folder>/audio.wav``.

Source: Wang et al. 2024, Ref-AVS (ECCV), release GeWu-Lab/Ref-AVS.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from auscult.cases.datasets.base import Folders, ListedPart, ReferringLayout, remarks
from auscult.cases.fields import BOM, MAX_TEXT_CHARS, json_objects, lines_of, parse, table_rows
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import ListOptions
from auscult.cases.problems import Problems, required_file
from auscult.cases.walk import is_file
from auscult.errors import ErrorRecord, InputError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.paths import open_regular
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

COLUMNS = ("vid", "uid", "split", "fid", "exp")
SPLITS = ("train", "val", "test_s", "test_u", "test_n")
TODO = "TODO"
TABLE = "metadata.csv"
MEDIA, CROSS, MASKS = "media", "media_cross", "gt_mask"
FRAMES = 10
NULL = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRow:
    """One row of ``metadata.csv``."""

    vid: str  # of a null expression the video it was made from
    uid: str  # ``<folder>_<object>_<n>``; not always unique in the release
    split: str  # one of ``SPLITS``, or ``TODO``
    fid: int  # number of the object's mask folder, from 0
    exp: str
    kfid: int | None = None  # number of the key frame, which MQ-RAVSBench adds as a sixth column; None without it
    line: int = 0  # the line of the file, from 1; 0 for a row that is to be written
    id: str = ""  # what the row read is called: the uid, or ``<uid>#2`` for the second row of one uid

    @property
    def folder(self) -> str:
        """The folder of frames, sound and masks: the uid without its last two underscore parts."""
        return self.uid.rsplit("_", 2)[0]

    @property
    def word(self) -> str:
        """The object word; ``null`` where the expression refers to nothing, empty where the uid has no such part."""
        parts = self.uid.rsplit("_", 2)
        return parts[1] if len(parts) == 3 else ""

    @property
    def absent(self) -> bool:
        """Whether the expression refers to nothing."""
        return self.word == NULL


def uid_of(folder: str, word: str, number: int) -> str:
    """The uid of the ``number``-th expression, from 1, of an object word, written with hyphens."""
    return f"{folder}_{'-'.join(word.replace('_', ' ').split()) or 'object'}_{number}"


def frame_name(folder: str, frame: int) -> str:
    """Where a frame stands, relative to the data root."""
    return f"{MEDIA}/{folder}/frames/{frame}.jpg"


def sound_name(folder: str) -> str:
    """Where the sound stands."""
    return f"{MEDIA}/{folder}/audio.wav"


def mask_name(folder: str, fid: int, frame: int) -> str:
    """Where a true mask stands."""
    return f"{MASKS}/{folder}/fid_{fid}/{frame:05d}.png"


def metadata_csv(rows: Iterable[MetadataRow], *, key_frames: bool = False) -> bytes:
    """The table, in UTF-8 with a heading and LF line ends; ``key_frames`` adds the sixth column of MQ-RAVSBench."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, "kfid") if key_frames else COLUMNS)
    for row in rows:
        cells = (row.vid, row.uid, row.split, row.fid, row.exp)
        writer.writerow((*cells, "" if row.kfid is None else row.kfid) if key_frames else cells)
    return text.getvalue().encode("utf-8")


_FRAME = re.compile(r"^frames/([0-9]{1,6})(\.[A-Za-z]+)$")
_MASK = re.compile(r"^fid_([0-9]{1,6})/([0-9]{1,6})(\.[A-Za-z]+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipFiles:
    """What is there of a clip: pictures by frame number, true masks by object and frame number, all ascending."""

    folder: str
    frames: Mapping[int, Path]
    masks: Mapping[int, Mapping[int, MaskRef]]
    errors: tuple[ErrorRecord, ...] = ()

    def ref(self, fid: int, frame: int) -> MaskRef | None:
        """The true mask of an object on a frame, or None where there is no file."""
        return self.masks.get(fid, {}).get(frame)


class Clips:
    """The clips of a data root, each looked up once; links may reach ``root``, by default the data root."""

    def __init__(self, source: Path, root: Path | None = None) -> None:
        self._folders = Folders(source, root or source)
        self._clips: dict[str, ClipFiles] = {}
        self._sound = cache(self._find_sound)
        self._usual: int | None = None

    def clip(self, folder: str) -> ClipFiles:
        """The files of a clip; a folder that leads out of the data root costs the clip."""
        if folder not in self._clips:
            self._clips[folder] = self._read(folder)
        return self._clips[folder]

    def report_missing(self, folder: str, fids: Iterable[int], problems: Problems) -> None:
        """Note what is missing of a clip: one record for all its frames, one for all masks of the objects ``fids``."""
        clip = self.clip(folder)
        if any(error.stage == "read" for error in clip.errors):
            return  # the error is reported already
        masks = {fid: clip.masks.get(fid, {}) for fid in sorted(set(fids))}
        annotated = {number for by_number in masks.values() for number in by_number}
        numbers = sorted({*range(self._length()), *clip.frames, *annotated})
        bare = [f"{number}.jpg" for number in numbers if number not in clip.frames]
        path, stage = self._folders.source / MEDIA / folder / "frames", "frames" if clip.frames else "read"
        problems.miss(path, bare, noun="frame", of=len(numbers), stage=stage)
        if clip.frames:
            unmasked = [
                f"fid_{fid}/{number:05d}.png"
                for fid, by_number in masks.items()
                for number in numbers
                if number not in by_number
            ]
            path, stage = self._folders.source / MASKS / folder, "truth" if all(masks.values()) else "read"
            problems.miss(path, unmasked, noun="mask", of=len(numbers) * len(masks), stage=stage)

    def _length(self) -> int:
        """How many frames most clips have; ten where no clip has frames."""
        if self._usual is None:
            counts = Counter(1 + max(clip.frames) for clip in self._clips.values() if clip.frames)
            self._usual = max(counts, key=lambda length: (counts[length], length), default=FRAMES)
        return self._usual

    def sound(self, folder: str, *, vid: str, absent: bool) -> Path | None:
        """The sound of an expression: for a null expression the exchanged one goes first, under either name."""
        crossed = [f"{CROSS}/{name}/audio.wav" for name in (folder, vid)] if absent else []
        return next(filter(None, map(self._sound, (*crossed, f"{MEDIA}/{folder}/audio.wav"))), None)

    def _find_sound(self, name: str) -> Path | None:
        try:
            path = self._folders.path(name)
        except InputError:
            return None
        return path if is_file(path) else None

    def _read(self, folder: str) -> ClipFiles:
        try:
            media, masks = self._folders.tree(f"{MEDIA}/{folder}"), self._folders.tree(f"{MASKS}/{folder}")
        except InputError as error:
            return ClipFiles(folder=folder, frames={}, masks={}, errors=(ErrorRecord.of(error, "read"),))
        pictures: dict[int, Path] = {}
        for name, path in media.files.items():
            match = _FRAME.match(name)
            if match and match[2].lower() in FRAME_SUFFIXES:
                pictures.setdefault(int(match[1]), path)
        refs: dict[int, dict[int, MaskRef]] = {}
        for name, path in masks.files.items():
            match = _MASK.match(name)
            if match and match[3].lower() in MASK_SUFFIXES:
                refs.setdefault(int(match[1]), {}).setdefault(int(match[2]), MaskRef(path=path, positive=True))
        return ClipFiles(
            folder=folder,
            frames=dict(sorted(pictures.items())),
            masks={fid: dict(sorted(refs[fid].items())) for fid in sorted(refs)},
            errors=tuple(remarks(media, masks)),
        )


MAX_TABLE_BYTES = 256 * 1024 * 1024
KEY_FRAME = "kfid"

_HEAD_BYTES = 256
_MAX_NUMBER = 99_999


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """The usable rows of a table in its order, ids unique, what cannot be used, and what was left out or renamed."""

    rows: tuple[MetadataRow, ...]
    errors: tuple[ErrorRecord, ...]
    notes: tuple[str, ...]


def has_heading(path: Path, *columns: str) -> bool:
    """Whether a file is a table with these columns first; cheap, and False for what cannot be read."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES).removeprefix(BOM)
    except (OSError, ValueError):
        return False
    cells = [cell.strip().strip(b'"').lower() for cell in head.split(b"\n")[0].split(b",")]
    return cells[: len(columns)] == [name.encode() for name in columns]


def read_table(path: Path, *, released: bool = True) -> TableRows:
    """Read a table of expressions.

    In one that was ``released`` a uid names a folder and an object, and an expression is never empty; any other only
    says what is known of ids, which may be any.
    """
    problems = Problems()
    rows: list[MetadataRow] = []
    with required_file(path):
        cells_of = table_rows(path, max_bytes=MAX_TABLE_BYTES, expected=f"a CSV table {','.join(COLUMNS)}")
        _, head = next(cells_of, (1, []))
        if tuple(cell.strip().lower() for cell in head[: len(COLUMNS)]) != COLUMNS:
            raise InputError(f"the heading is {shown(','.join(head))}", expected=",".join(COLUMNS), path=path, line=1)
        for line, cells in cells_of:
            with problems.skipping(path, line=line):
                rows.append(_row(cells, line, released=released))
    usable = [row for row in rows if row.split != TODO]
    counts: Counter[str] = Counter()
    with_ids = []
    for row in usable:
        counts[row.uid] += 1
        with_ids.append(replace(row, id=row.uid if counts[row.uid] == 1 else f"{row.uid}#{counts[row.uid]}"))
    notes = []
    if with_ids:
        splits = Counter(row.split or "no split" for row in with_ids)
        notes.append(f"{counted(len(with_ids), 'row')}: {', '.join(f'{name} {n}' for name, n in splits.items())}")
    if len(rows) > len(usable):
        notes.append(f"{counted(len(rows) - len(usable), 'row')} marked TODO left out")
    if repeats := len(usable) - len(counts):
        copies = len(usable) - len({replace(row, line=0) for row in usable})
        detail = f", {copies} of them word for word" if copies else ""
        notes.append(f"{counted(repeats, 'row')} with a uid that stands above{detail}: kept apart as <uid>#2, ...")
    return TableRows(rows=tuple(with_ids), errors=tuple(error for _, error in problems.found), notes=tuple(notes))


def _row(cells: Sequence[str], line: int, *, released: bool) -> MetadataRow:
    if len(cells) not in {len(COLUMNS), len(COLUMNS) + 1}:
        raise InputError(
            f"the row has {counted(len(cells), 'cell')}",
            expected=",".join(COLUMNS),
            hint="put an expression that holds commas into quotation marks",
        )
    vid, uid, split, fid, exp = cells[: len(COLUMNS)]
    if released and (uid.count("_") < 2 or not all(uid.rsplit("_", 2))):
        raise _wrong(f"the uid is {shown(uid)}", "<folder>_<object>_<n>")
    if released and ("/" in uid or "\\" in uid or uid.startswith(".")):
        raise _wrong(f"the uid {shown(uid)} is no name of a folder", "<folder>_<object>_<n>")
    if (released and not exp.strip()) or len(exp) > MAX_TEXT_CHARS or "\0" in exp:
        raise _wrong(f"the expression is {shown(exp)}", "a sentence")
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


def _number(text: str, name: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(_MAX_NUMBER)):
        raise _wrong(f"{name} is {shown(text)}", f"a whole number from 0 to {_MAX_NUMBER}")
    return int(digits)


def _wrong(message: str, expected: str) -> InputError:
    return InputError(message, expected=expected, hint="correct or drop the row")


# Our own coarse rule, not the release's: the first class one of whose words stands in the expression. What is said of
# time and strength of a sound is rarer than that something sounds, and place rarer than action, so they go first.
_CLASSES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for name, words in {
        "silence": r"silent|silence|mute|quiet\b|no sound|without (?:\w+ )?sound"
        r"|not? (?:\w+ )?(?:mak|sound|emit|produc)",
        "order": r"first\b|last\b|second\b|third\b|before\b|after\b"
        r"|latest\b|end\b|begin|start|initial|final|earli",
        "loudness": r"loud|soft|intense|volume|quieter|quietest|strong|weak",
        "duration": r"long(?:er|est)? (?:\w+ )?(?:sound|duration|time)|short(?:er|est)\b|duration|continu|constant"
        r"|keeps|always|throughout|entire|whole|all times|at times|intermittent|interval",
        "rhythm": r"rhythm|tempo|pitch|tone|frequen|faster|slower|higher|lower",
        "position": r"left|right\b|middle|cent(?:er|re)|front|behind|near|next|beside|between|top\b|bottom|above|below"
        r"|under|beneath|far\b|farthest|close|back\b|upper|opposite|against",
        "action": r"(?!making|sounding|emitting)\w+ing (?:a|an|the|on|in|at|with|to|his|her|its)\b|playing\b"
        r"|\w+ed by\b|(?:held|driven|ridden|hit) by\b|by (?!the\b)\w+ing\b",
        "sound": r"sound|audib|hear|nois|voice|emit|sing|speak|talk|bark",
    }.items()
}


def template_of(expression: str) -> str:
    """The coarse class of an expression: ``silence``, ``order``, ``loudness``, ``duration``, ``rhythm``, ``position``,
    ``action``, ``sound``, or ``attribute`` for what names none of these.

    The classes are auscult's own, by single words, so that benchmarks can be balanced over kinds of expressions where
    a data set does not say how its expressions were made.
    """  # noqa: D205 - the classes are the summary
    for name, words in _CLASSES.items():
        if words.search(expression):
            return name
    return "attribute"


FILE = "scenes.jsonl"
_MOST_BYTES = 1 << 30
MAX_LINE_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class Scenes:
    """Families by uid, categories by clip and object number, and how many lines could not be read."""

    families: dict[str, str] = field(default_factory=dict)
    categories: dict[tuple[str, int], str] = field(default_factory=dict)
    broken: int = 0

    def notes(self) -> tuple[str, ...]:
        """What could not be read, in a plain sentence."""
        note = f"{counted(self.broken, 'line')} of {FILE} left out: families and categories come from the table"
        return (note,) if self.broken else ()


def read_scenes(source: Path) -> Scenes:
    """Read the scenes of a folder; empty where there are none."""
    scenes = Scenes()
    file = source / FILE
    for line in _lines(file) if is_file(file) else ():
        try:
            row = None if line is None else parse(line, path=file)
        except InputError:
            row = None
        if isinstance(row, dict) and isinstance(row.get("id"), str):
            _add(scenes, row["id"], row)
        else:
            scenes.broken += 1
    return scenes


def _add(scenes: Scenes, clip: str, row: Mapping[str, Any]) -> None:
    facts = row.get("facts")
    for obj in json_objects(facts.get("things") if isinstance(facts, dict) else None):
        name, category = obj.get("id"), obj.get("category")
        if isinstance(name, str) and re.fullmatch("[0-9]{1,5}", name) and isinstance(category, str):
            scenes.categories[clip, int(name)] = category
    for expression in json_objects(row.get("expressions")):
        uid, family = expression.get("uid"), expression.get("family")
        if isinstance(uid, str) and isinstance(family, str):
            scenes.families[uid] = family


def _lines(file: Path) -> Iterator[bytes | None]:
    """The lines that are not blank; None for one that is too long, and, at the end, for what cannot be read."""
    try:
        with open_regular(file) as opened:
            if file.stat().st_size > _MOST_BYTES:
                yield None
                return
            yield from (content for _, content in lines_of(opened, max_bytes=MAX_LINE_BYTES))
    except OSError:
        yield None


class _RefAvs(ListedPart):
    """What the table and the folders say together, and what ``scenes.jsonl`` of scenes that auscult made."""

    def __init__(self, source: Path, base: Path, problems: Problems) -> None:
        self.problems = problems
        self.file = source / TABLE
        self.rows = read_table(self.file)
        self.scenes = read_scenes(source)
        self.notes = [*self.rows.notes, *self.scenes.notes()]
        self.clips = Clips(source, base)
        self.by_folder: dict[str, list[MetadataRow]] = {}
        # folder to object number to the object word of the first row that refers to it; not of null expressions
        self.words: dict[str, dict[int, str]] = {}
        for row in self.rows.rows:
            self.by_folder.setdefault(row.folder, []).append(row)
            words = self.words.setdefault(row.folder, {})
            if not row.absent:
                words.setdefault(row.fid, row.word)

    def name(self, folder: str, fid: int) -> str:
        """What an object is called; empty where it is not known."""
        return self.words.get(folder, {}).get(fid) or self.scenes.categories.get((folder, fid), "")

    def objects(self, folder: str) -> list[int]:
        """The objects of a clip that have masks; a number that only null expressions name is none."""
        words = self.words.get(folder, {})
        empty = {row.fid for row in self.by_folder.get(folder, ()) if row.absent} - words.keys()
        return [fid for fid in self.clips.clip(folder).masks if fid not in empty]

    def items(self) -> Iterator[Item]:
        """Every object of every frame."""
        for folder in self.by_folder:
            yield from _items(self, folder)
        self._report_problems()
        if null := sum(row.absent for row in self.rows.rows):
            left = "left out: nothing is referred to, so no mask is judged"
            self.notes.append(f"{counted(null, 'null expression')} {left}")

    def instances(self) -> Iterator[Instance]:
        """Every expression whose clip has a frame, in the order of the table."""
        left = 0
        for row in self.rows.rows:
            instance = _instance(self, row)
            if instance is None:
                left += 1
            else:
                yield instance
        self._report_problems()
        if left:
            self.notes.append(f"{counted(left, 'row')} without a single frame and mask left out")

    def _report_problems(self) -> None:
        """Note rows and clips that cannot be used, clips in the order of the table; once all clips were looked up."""
        self.problems.take(self.rows.errors)
        for folder in self.by_folder:
            self.problems.take(self.clips.clip(folder).errors)
            self.clips.report_missing(folder, self.words[folder], self.problems)


class RefAvsDataset(ReferringLayout):
    """Referring audio-visual segmentation as released."""

    name = "datasets.refavs.v1"
    meta = Metadata(
        summary="Ref-AVSBench: metadata.csv, media/ and gt_mask/; also what `auscult make scenes` writes",
        goal="lists expressions of what is seen and heard, with the masks of every object of the clip",
        modality="video",
        source="Wang et al. 2024 (Ref-AVS, ECCV), release GeWu-Lab/Ref-AVS",
        truth="gt_mask/<folder>/fid_<fid>/",
    )
    described_as = "a folder with metadata.csv"

    def matches(self, source: Path) -> bool:
        """Whether it is a folder with a table of that heading."""
        return has_heading(source / TABLE, *COLUMNS)

    def open(self, source: Path, options: ListOptions, problems: Problems) -> Sequence[_RefAvs]:
        """Read the table."""
        base = self.check(source, options, folders=(source / top for top in (MEDIA, CROSS, MASKS)))
        return [_RefAvs(source, base, problems)]


def _items(bench: _RefAvs, folder: str) -> Iterator[Item]:
    clip, words = bench.clips.clip(folder), bench.words[folder]
    first: dict[int, MetadataRow] = {}
    for entry in bench.by_folder[folder]:
        first.setdefault(entry.fid, entry)
    objects = bench.objects(folder)
    sound = bench.clips.sound(folder, vid=folder, absent=False)
    for number, frame in clip.frames.items():
        refs = {fid: ref for fid in objects if (ref := clip.ref(fid, number)) is not None}
        for fid, ref in refs.items():
            row = first[fid] if fid in words else None
            yield Item(
                id=f"{folder}/fid_{fid}/{number:05d}",
                frame=frame,
                mask=ref,
                query=Query(None if row is None else row.exp),
                clip=folder,
                time_s=float(number),
                audio=sound,
                others=tuple(other for other_fid, other in refs.items() if other_fid != fid),
                extra={"fid": fid}
                if row is None
                else {"uid": row.uid, "fid": fid, "split": row.split, "category": row.word},
                source=bench.file,
                line=None if row is None else row.line,
            )


def _instance(bench: _RefAvs, row: MetadataRow) -> Instance | None:
    clip = bench.clips.clip(row.folder)
    other_folder = row.folder
    others = [fid for fid in bench.objects(row.folder) if row.absent or fid != row.fid]
    if row.absent and not others and row.vid in bench.by_folder:
        other_folder, others = row.vid, bench.objects(row.vid)  # the same pictures with another or no sound
    other_clip = bench.clips.clip(other_folder)
    moments = tuple(
        Moment(
            frame=frame,
            target=clip.ref(row.fid, number),
            others=tuple(other_clip.ref(fid, number) for fid in others),
            time_s=float(number),
        )
        for number, frame in clip.frames.items()
    )
    if not moments or not (row.absent or any(moment.target is not None for moment in moments)):
        return None
    return Instance(
        id=row.id,
        clip=row.vid,
        query=Query(row.exp),
        moments=moments,
        split=row.split,
        category="" if row.absent else row.word,
        template=bench.scenes.families.get(row.uid) or template_of(row.exp),
        others=tuple(bench.name(other_folder, fid) for fid in others),
        sound=bench.clips.sound(row.folder, vid=row.vid, absent=row.absent),
        absent=row.absent,
        source=bench.file,
        line=row.line,
    )


DATASET = RefAvsDataset()
