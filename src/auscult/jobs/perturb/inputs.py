"""What an INPUT holds that is perturbed: each frame, sound, video and expression once.

INPUT is items (whatever ``audit`` takes), one picture, video or sound, a folder of them, or a file of sentences.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

from auscult.cases.fields import MAX_TEXT_CHARS
from auscult.cases.ids import NaturalKey, counted, group_by_frame, natural_key, shown
from auscult.cases.listing import INPUTS, Listing, ListOptions, find_layout, list_items
from auscult.cases.walk import is_file, is_folder, stem, suffix, walk
from auscult.errors import AuscultError, ErrorRecord, InputError, NothingToDo, UsageError
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.stress import frame_name_of
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes, safe_name
from auscult.media.sound import SOUND_SUFFIXES
from auscult.media.video import VIDEO_SUFFIXES
from auscult.record.digest import digest_json
from auscult.types import Item

TEXT_SUFFIXES: Final = frozenset({".txt", ".csv"})
MOST_BYTES: Final = 64 * 1024 * 1024
_COLUMNS: Final = "columns id,text, in UTF-8 and separated by commas"


@dataclass(frozen=True, slots=True)
class SentenceRow:
    """A sentence of a file.

    Attributes:
        id: Of its row; the number of its line in a file without ids.
        text: The sentence.
        cells: The whole row of a table; empty of lines.
    """

    id: str
    text: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencesFile:
    """A file of sentences.

    Attributes:
        name: The file's own name.
        header: The columns of a table; empty for lines.
        rows: Those that can be read; blank lines among them, since they keep their place.
        errors: Those that cannot.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[SentenceRow, ...]
    errors: tuple[tuple[str | None, ErrorRecord], ...] = ()


def read_sentences(path: Path) -> SentencesFile:
    """Read a ``.txt`` with one sentence a line, or a ``.csv`` with a column ``text`` and, if it likes, ``id``.

    Raises:
        UsageError: It cannot be read as a whole: missing, empty, not UTF-8, or without the column.
    """
    try:
        content = read_bytes(path, limits=Limits(max_bytes=MOST_BYTES)).decode("utf-8-sig")
    except InputError as error:
        raise UsageError(error.message, expected="a file of sentences", hint=error.hint, path=path) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"byte {error.start + 1} is not UTF-8", expected="UTF-8", hint="save the file as UTF-8", path=path
        ) from error
    if path.suffix.lower() == ".csv":
        return _table(content, path)
    lines = content.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    found = [(number, SentenceRow(str(number), line)) for number, line in enumerate(lines, start=1)]
    return _checked(found, path=path, header=())


def _table(content: str, path: Path) -> SentencesFile:
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    found: list[tuple[int, SentenceRow]] = []
    short: list[tuple[str | None, ErrorRecord]] = []
    try:
        header = next((cells for cells in reader if cells), [])
        names = [name.strip().lower() for name in header]
        if "text" not in names:
            raise UsageError(f"the first row is {shown(','.join(header))}", expected=_COLUMNS, path=path, line=1)
        place, key = names.index("text"), names.index("id") if "id" in names else None
        for cells in reader:
            if len(cells) == len(header):
                name = str(len(found) + len(short) + 1) if key is None else cells[key]
                found.append((reader.line_num, SentenceRow(name, cells[place], tuple(cells))))
            elif cells:
                wrong = f"the row has {len(cells)} cells, the header {len(header)}"
                short.append((None, _bad(wrong, path, reader.line_num)))
    except csv.Error as error:
        raise UsageError(f"broken CSV: {error}", expected=_COLUMNS, path=path, line=reader.line_num) from error
    checked = _checked(found, path=path, header=tuple(header))
    return SentencesFile(name=checked.name, header=checked.header, rows=checked.rows, errors=(*short, *checked.errors))


def _checked(found: list[tuple[int, SentenceRow]], *, path: Path, header: tuple[str, ...]) -> SentencesFile:
    rows: dict[str, SentenceRow] = {}
    errors: list[tuple[str | None, ErrorRecord]] = []
    for line, row in found:
        problem = ""
        if not row.id or row.id in rows:
            problem = f"the id {shown(row.id)} is {'used twice' if row.id else 'empty'}"
        elif len(row.text) > MAX_TEXT_CHARS or "\0" in row.text:
            problem = f"the sentence has {len(row.text)} characters, or holds a NUL"
        if problem:
            errors.append((None, _bad(problem, path, line)))
        else:
            rows[row.id] = row
    name = safe_name(path.stem)
    return SentencesFile(name=name, header=header, rows=tuple(rows.values()), errors=tuple(errors))


def _bad(problem: str, path: Path, line: int) -> ErrorRecord:
    error: AuscultError = InputError(
        problem,
        expected=f"a row of its own id and a text of at most {MAX_TEXT_CHARS} characters, without NUL",
        hint="correct or drop the row",
        path=path,
        line=line,
    )
    return ErrorRecord.of(error, "read")


def written(sentences: SentencesFile, made: Mapping[str, str]) -> dict[str, str]:
    """The files of one recipe: name to content.

    A table keeps its other columns and loses the rows that failed. Lines keep their places; where one failed, a table
    of the others stands instead, since a line that is empty or missing would be a wrong answer.
    """
    whole = not sentences.errors and all(row.id in made for row in sentences.rows)
    if not sentences.header and whole:
        return {f"{sentences.name}.txt": "".join(f"{made[row.id]}\n" for row in sentences.rows)}
    header = sentences.header or ("id", "text")
    place = [name.strip().lower() for name in header].index("text")
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    table.writerow(header)
    for row in sentences.rows:
        if row.id in made:
            cells = list(row.cells or (row.id, row.text))
            cells[place] = made[row.id]
            table.writerow(cells)
    return {f"{sentences.name}.csv": file.getvalue()}


PartKind: TypeAlias = Literal["picture", "video", "sound", "sentence", "frame", "audio", "text"]

ROOMS_OF: Final[dict[PartKind, frozenset[str]]] = {
    "picture": frozenset({"vision"}),
    "video": frozenset({"vision", "sound", "timing"}),
    "sound": frozenset({"sound"}),
    "sentence": frozenset({"sentences"}),
    "frame": frozenset({"vision"}),
    "audio": frozenset({"sound"}),
    "text": frozenset({"sentences"}),
}
"""What can be done to each kind of part. Frames and sounds of items that nothing is done to are carried along."""

CARRIED: Final[frozenset[PartKind]] = frozenset({"frame", "audio"})

OF_ITEMS: Final[frozenset[PartKind]] = frozenset({"frame", "audio", "text"})
"""Parts of items: what one of them cannot take, another does."""

RATE_FPS: Final = 25.0
"""Frames a second of a clip that does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedPart:
    """The smallest thing that is perturbed and kept by itself.

    Attributes:
        id: Unique among the parts.
        kind: ``frame``, ``audio`` and ``text`` are parts of items, the others stand alone.
        key: What the draws are made for; frames of one clip share it.
        group: The clip or file it is of; a preset draws one recipe for all parts of a group.
        path: The file, or None for a sentence.
        name: Of the file that is made, below the recipe's folder; empty for a sentence.
        carried: Of its copy, where nothing is done to it.
        index: The frame's number in its clip.
        count: How many frames the clip has.
        rate_fps: Frames of the clip per second.
        text: The sentence.
        items: The items of a frame.
        twins: Those of the items' ids from which another item's differs in upper and lower case alone.
        costs: Ids of the items that are lost with a sound or an expression.
    """

    id: str
    kind: PartKind
    key: str
    group: str = ""
    path: Path | None = None
    name: str = ""
    carried: str = ""
    index: int = 0
    count: int = 1
    rate_fps: float = RATE_FPS
    text: str = ""
    items: tuple[Item, ...] = ()
    twins: frozenset[str] = frozenset()
    costs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedParts:
    """What an INPUT holds.

    Attributes:
        layout: How it was read.
        parts: In order.
        errors: (id or None, record) for what could not be listed.
        notes: What was left out on purpose.
        listing: The items, where INPUT is one of items.
        sentences: The table, where INPUT is one of sentences.
    """

    layout: str
    parts: tuple[PerturbedPart, ...]
    errors: tuple[tuple[str | None, ErrorRecord], ...] = ()
    notes: tuple[str, ...] = ()
    listing: Listing | None = None
    sentences: SentencesFile | None = None


def named_apart(parts: Iterable[PerturbedPart]) -> list[PerturbedPart]:
    """Give each part files of its own: names that several parts could be written to get a hash of the part's id.

    A part may be perturbed or carried along, so both of its names count. Parts that share neither keep theirs. Parts of
    one file, such as a sound of several clips, have names that differ already, and may share the name of its copy.
    """
    found = list(parts)
    owners: dict[str, set[Path | str]] = defaultdict(set)
    for part in found:
        for name in (part.name, part.carried):
            owners[name.casefold()].add(part.path or part.id)

    def own(name: str, part: PerturbedPart) -> str:
        return tagged(name, part.id) if name and len(owners[name.casefold()]) > 1 else name

    return [replace(part, name=own(part.name, part), carried=own(part.carried, part)) for part in found]


def tagged(name: str, of: str) -> str:
    """A name with a hash of what it is of, before its ending."""
    path = PurePosixPath(name)
    tag = blake2b(of.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return str(path.with_name(f"{path.stem}-{tag}{path.suffix}"))


def item_parts(source: Path, options: ListOptions, *, by_group: bool = False) -> PerturbedParts:
    """The frames, sounds and expressions of the items of an INPUT.

    Args:
        source: INPUT.
        options: How it is read.
        by_group: Whether each clip and each loose picture has a recipe of its own. A sound that several of them share
            is a part for each of them then; else it is one part.
    """
    listing = list_items(source, options)
    films = filmed(listing)
    frames = _frames(listing, source, films)
    groups = {item.id: frame.group for frame in frames for item in frame.items}
    sounds = _audios(listing.items, source, films, groups=groups, by_group=by_group)
    parts = [*named_apart([*frames, *sounds]), *_texts(listing.items, films, groups)]
    twice = [name for name, count in Counter(part.id for part in parts).items() if count > 1]
    if twice:
        raise UsageError(
            f"two files of the input would both be called {twice[0]}",
            expected="files that differ in more than the folders `frames` and `images`",
            hint="rename one of them",
            path=source,
        )
    return PerturbedParts(
        layout=listing.layout, parts=tuple(parts), errors=listing.errors, notes=listing.notes, listing=listing
    )


def _frames(listing: Listing, source: Path, films: frozenset[str]) -> list[PerturbedPart]:
    """One part a frame; those of one film share what is drawn, and a loose picture has its own."""
    clips: dict[str, list[list[Item]]] = {}
    for group in group_by_frame(listing.items):
        first = group[0]
        clips.setdefault(f"clip:{first.clip}" if first.id in films else f"frame:{frame_id(first, source)}", []).append(
            group
        )
    cased = Counter(item.id.casefold() for item in listing.items)
    known = Counter(Path(frame_id(group[0], source)).stem for groups in clips.values() for group in groups)
    parts = []
    for key, members in clips.items():
        groups = _in_order(members)
        parts += [
            PerturbedPart(
                id=frame_id(group[0], source),
                kind="frame",
                key=key.partition(":")[2],
                group=_group(group[0], source, films),
                path=group[0].frame,
                name=f"frames/{_ending(frame_id(group[0], source), '.png', known)}",
                carried=f"frames/{frame_id(group[0], source)}",
                index=index,
                count=len(groups),
                rate_fps=_rate(groups),
                items=tuple(group),
                twins=frozenset(item.id for item in group if cased[item.id.casefold()] > 1),
            )
            for index, group in enumerate(groups)
        ]
    return parts


def frame_id(item: Item, source: Path) -> str:
    """What the part of an item's frame is called: its file's name in the output."""
    return frame_name_of(item.frame, source)


def text_id(item: Item) -> str:
    """What the part of an item's expression is called."""
    return f"text:{item.id}"


def _texts(items: Iterable[Item], films: frozenset[str], groups: Mapping[str, str]) -> list[PerturbedPart]:
    """One part an expression. What a film's items share as a text is one sentence, and is perturbed alike."""
    return [
        PerturbedPart(
            id=text_id(item),
            kind="text",
            key=f"{item.clip}:{digest_json(item.query.text)}" if item.clip and item.id in films else item.id,
            group=groups[item.id],
            text=item.query.text,
            costs=(item.id,),
        )
        for item in items
        if item.query.text
    ]


def _group(item: Item, source: Path, films: frozenset[str]) -> str:
    """What a preset draws one recipe for: the clip of the first item of a frame, or the picture where it is of none.

    Sounds and expressions of all items of a frame go with it, also of those that call the clip otherwise.
    """
    return item.clip if item.clip and item.id in films else frame_id(item, source)


def audio_id(item: Item, source: Path, group: str = "") -> str:
    """What the part of an item's sound is called; with a group, what the part that is of it alone is."""
    assert item.audio is not None  # noqa: S101 - the callers looked
    return f"audio:{frame_name_of(item.audio, source)}{':' * bool(group)}{group}"


def _audios(
    items: Iterable[Item], source: Path, films: frozenset[str], *, groups: Mapping[str, str], by_group: bool
) -> list[PerturbedPart]:
    """One part a file; with a recipe for each group, one for each group that the file is heard in."""
    heard: dict[Path, dict[str, list[Item]]] = {}
    for item in items:
        if item.audio is not None:
            heard.setdefault(item.audio, {}).setdefault(groups[item.id], []).append(item)
    names = {path: audio_id(next(iter(places.values()))[0], source) for path, places in heard.items()}
    known = Counter(Path(name.partition(":")[2]).stem for name in names.values())
    parts = []
    for path, places in heard.items():
        plain = names[path].partition(":")[2]
        (group, members), *others = places.items()
        one = PerturbedPart(
            id=names[path],
            kind="audio",
            key=group if members[0].id in films and not others else names[path],
            group=group,
            path=path,
            name=f"audio/{_ending(plain, '.wav', known)}",
            carried=f"audio/{plain}",
            costs=tuple(item.id for members in places.values() for item in members),
        )
        parts += [_of_group(one, *place, films=films) for place in places.items()] if by_group else [one]
    return parts


def _of_group(sound: PerturbedPart, group: str, items: Sequence[Item], *, films: frozenset[str]) -> PerturbedPart:
    """The part of a sound that is of one group alone: what is drawn for it does not depend on who else has the file."""
    own, costs = f"{sound.id}:{group}", tuple(item.id for item in items)
    found = replace(sound, group=group, key=group if items[0].id in films else own, costs=costs)
    return found if costs == sound.costs else replace(found, id=own, name=tagged(sound.name, own))


def _ending(name: str, ending: str, known: Mapping[str, int]) -> str:
    """A name with another ending, after its own where two files differ in that alone."""
    return f"{Path(name).stem}{ending}" if known.get(Path(name).stem, 0) <= 1 else f"{name}{ending}"


def _in_order(groups: Sequence[list[Item]]) -> list[list[Item]]:
    """The frames of a clip by their times, or by their names where not all have one, whatever the order of lines."""
    timed = all(group[0].time_s is not None for group in groups)

    def place(group: list[Item]) -> tuple[float, NaturalKey]:
        return (group[0].time_s or 0.0) if timed else 0.0, natural_key(group[0].frame.as_posix())

    return sorted(groups, key=place)


def _rate(groups: Sequence[Sequence[Item]]) -> float:
    first, last = groups[0][0].time_s, groups[-1][0].time_s
    if first is None or last is None or last <= first:
        return RATE_FPS
    return (len(groups) - 1) / (last - first)


MEDIA = (
    "a picture, a video, a sound, a folder of them, sentences (.txt with one a line, or .csv with columns id,text), "
    f"or items: {INPUTS}"
)
_ENDINGS: Final[tuple[tuple[PartKind, frozenset[str], str], ...]] = (
    ("picture", FRAME_SUFFIXES, ".png"),
    ("video", VIDEO_SUFFIXES, ".mkv"),
    ("sound", SOUND_SUFFIXES, ".wav"),
)
_MOST_DEPTH: Final = 5


def parts_of(
    source: Path, options: ListOptions, *, rooms: frozenset[str], out: Path, by_group: bool = False
) -> PerturbedParts:
    """List what there is to perturb.

    Args:
        source: INPUT.
        options: How items are read.
        rooms: The rooms of the perturbations that were asked for.
        out: The output folder; what lies in it is no input.
        by_group: Whether each clip and each loose picture has a recipe of its own, as under a preset.

    Raises:
        NothingToDo: It holds nothing that they could perturb.
        UsageError: It does not exist, an option does not fit it, or it lies in the output folder.
    """
    _refuse_around(source, out)
    found = _found(source, options, out, by_group=by_group)
    wanted = tuple(part for part in found.parts if part.kind in CARRIED or ROOMS_OF[part.kind] & rooms)
    if any(ROOMS_OF[part.kind] & rooms for part in wanted) or (found.errors and not found.parts):
        return replace(found, parts=wanted, notes=(*found.notes, *_left_out(found.parts, wanted)))
    what = ", ".join(counted(count, kind) for kind, count in Counter(part.kind for part in found.parts).items())
    raise NothingToDo(
        f"the input holds nothing that {' or '.join(sorted(rooms))} can perturb",
        path=source,
        expected=" or ".join(sorted(kind for kind, takes in ROOMS_OF.items() if takes & rooms and kind not in CARRIED)),
        hint=_hint(
            rooms,
            what,
            items=found.listing is not None,
            nothing="no file that is known" if found.sentences is None else "no sentence",
        ),
    )


def _refuse_around(source: Path, out: Path) -> None:
    """Insist that the output folder is not INPUT or around it: what lies in it is no input."""
    if is_folder(source) and source.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            "the output folder holds the input",
            path=source,
            expected="an output folder beside the input, or in it",
            hint="give another --out",
        )


def _hint(rooms: frozenset[str], what: str, *, items: bool, nothing: str) -> str:
    if rooms == {"timing"} and items:
        return "the frames of items stand alone: perturb the timing of the video and take its frames from that"
    return f"it holds {what or nothing}"


def _left_out(found: Sequence[PerturbedPart], wanted: Sequence[PerturbedPart]) -> list[str]:
    counts = Counter(part.kind for part in found)
    counts.subtract(part.kind for part in wanted)
    del counts["text"]  # an item keeps its expression as it is
    return [f"left out, since nothing is done to it: {counted(n, kind)}" for kind, n in counts.items() if n]


def _found(source: Path, options: ListOptions, out: Path, *, by_group: bool) -> PerturbedParts:
    if not (is_folder(source) or is_file(source)):
        raise UsageError("there is no such file or folder", path=source, expected=MEDIA)
    if options == ListOptions() and (alone := _alone(source)) is not None:
        return alone
    try:
        find_layout(source, options)
    except NothingToDo:
        _refuse_reading(source, options)
        if not source.is_dir() or options != ListOptions():
            raise
        return _folder(source, out)
    return item_parts(source, options, by_group=by_group)


def _refuse_reading(source: Path, options: ListOptions) -> None:
    """Insist that a picture, video, sound or file of sentences comes without options that say how items are read."""
    told = [field.name for field in fields(options) if getattr(options, field.name) != field.default]
    if told and _alone(source) is not None:
        words = " and ".join(f"--{name}" for name in told)
        raise UsageError(
            f"{words} had no effect: the input is one file, and no list of items",
            path=source,
            expected=INPUTS,
            hint=f"leave out {words}",
        )


def _alone(source: Path) -> PerturbedParts | None:
    """A file that is one picture, video or sound, or holds sentences."""
    if not source.is_file():
        return None
    if suffix(source.name) in TEXT_SUFFIXES:
        sentences = read_sentences(source)
        rows = [
            PerturbedPart(id=row.id, kind="sentence", key=row.id, group=row.id, text=row.text) for row in sentences.rows
        ]
        return PerturbedParts(layout="sentences", parts=tuple(rows), errors=sentences.errors, sentences=sentences)
    parts = tuple(_media({source.name: source}.items()))
    return PerturbedParts(layout="file", parts=parts) if parts else None


def _folder(source: Path, out: Path) -> PerturbedParts:
    tree = walk(source, root=source)
    home = out.resolve()
    files = {name: path for name, path in tree.files.items() if not path.resolve().is_relative_to(home)}
    parts = tuple(_media(files.items()))
    if not parts and not tree.errors:
        raise NothingToDo("the folder holds no picture, video or sound", path=source, expected=MEDIA)
    others, hidden = len(files) - len(parts), _hidden(source, home)
    notes = [f"left out, neither picture, video nor sound: {counted(others, 'file')}"] if others else []
    notes += [f"left out, hidden by a dot: {counted(hidden, 'name')}"] if hidden else []
    return PerturbedParts(
        layout="folder", parts=parts, errors=tuple((None, error) for error in tree.errors), notes=tuple(notes)
    )


def _hidden(source: Path, out: Path) -> int:
    """How many files and folders were passed over since their names begin with a dot; those of the output aside."""
    count = 0
    for folder, folders, files in os.walk(source):
        count += sum(name.startswith(".") for name in (*folders, *files))
        folders[:] = [name for name in folders if not name.startswith(".") and Path(folder, name).resolve() != out]
    return count


def _media(files: Iterable[tuple[str, Path]]) -> list[PerturbedPart]:
    found = []
    for name, path in files:
        for kind, endings, ending in _ENDINGS:
            if suffix(name) in endings:
                found.append((PerturbedPart(id=name, kind=kind, key=name, group=name, path=path), ending))
                break
    plain = Counter((_plain(stem(part.id)) + ending).casefold() for part, ending in found)
    return named_apart(
        # two files that differ in their endings alone keep them
        replace(part, name=_plain(stem(part.id)) + ending)
        if plain[(_plain(stem(part.id)) + ending).casefold()] == 1
        else replace(part, name=_plain(part.id) + ending)
        for part, ending in found
    )


def _plain(name: str) -> str:
    """A relative name that a record takes: few parts, none of them hidden or odd."""
    pieces = name.split("/")
    return "/".join(map(safe_name, pieces)) if len(pieces) <= _MOST_DEPTH else safe_name(name)
