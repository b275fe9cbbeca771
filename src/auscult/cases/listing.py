"""INPUT to items: which layout it has, and what its layout lists.

Nothing is opened here but names, lines and, for files of several objects, their indices. What cannot be listed becomes
an error record with file and line; the rest goes on.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from auscult import registry
from auscult.cases.fields import MAX_TEXT_CHARS, columns_hint, named_rows, number_of, table_rows
from auscult.cases.foreign import foreign_json
from auscult.cases.ids import counted, shown
from auscult.cases.problems import ListError, Problems, few, required_file, unique
from auscult.cases.sounds import MIXTURES, read_sounds
from auscult.cases.walk import first_files, is_file, is_folder, suffix, unmarked
from auscult.errors import REMARKS, ErrorRecord, InputError, NothingToDo, UsageError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.sound import SOUND_SUFFIXES
from auscult.types import Item, Metadata, Query, SoundItem

_NAMED = 3
_KINDS_SHOWN = 6
_MOST_TRIED = 12
_JPEG: Final = frozenset({".jpg", ".jpeg"})
_LINES: Final = frozenset({".jsonl", ".ndjson", ".csv"})
_EXAMPLE = '{"id": "1", "frame": "a.jpg", "mask": "b.png"}'
_SOUND_EXAMPLE = '{"id": "1", "mixture": "a.wav", "separated": "b.wav"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Plain sentences: what was found, the nearest layout, and the next step, a command where there is one."""

    found: str
    layout: str
    command: str


@dataclass(slots=True)
class _InputFiles:
    """The files of an INPUT: by ending, and stems of pictures by folder and ending."""

    kinds: dict[str, list[str]] = field(default_factory=dict)
    folders: dict[Path, dict[str, set[str]]] = field(default_factory=dict)

    def words(self) -> str:
        """Three names of each kind, the most frequent kinds first."""
        kinds = sorted(self.kinds.items(), key=lambda entry: -len(entry[1]))
        if not kinds:
            return "it holds no file"
        examples = [
            f"{len(names)} {ending or 'without ending'} ({', '.join(map(shown, names[:_NAMED]))}"
            f"{', ...' if len(names) > _NAMED else ''})"
            for ending, names in kinds[:_KINDS_SHOWN]
        ]
        return f"it holds {', '.join(examples)}" + (", and other kinds" if len(kinds) > _KINDS_SHOWN else "")


def nearest(source: Path, layout_of: Callable[[Path], str]) -> Nearest:
    """Look at the first files of an INPUT; ``layout_of`` says which layout a path has by itself, or nothing."""
    if source.is_file():
        return _nearest_of_file(source)
    files = _survey(source)
    inner = _layout_inside(source, files, layout_of)
    if inner is not None:
        return Nearest(
            found=files.words(), layout=f"{layout_of(inner)}: {_name(inner, source)} is one", command=_audit(inner)
        )
    documents = sorted(_files(source, files, ".json"), key=_is_no_instances)
    other = next(filter(None, map(foreign_json, documents)), None)
    if other is not None:
        return Nearest(found=files.words(), layout=f"COCO json; this is of {other.tool}", command=other.step)
    json = next((path for path in documents if layout_of(path)), None)
    pictures = _pictures(files) if json is None or json.parent not in files.folders else json.parent
    if json is not None:
        where = "its pictures" if pictures is None else f"the pictures in {_name(pictures, source)}"
        command = _audit(json, images=pictures or Path("FOLDER"))
        return Nearest(found=files.words(), layout=f"the json {_name(json, source)} with {where}", command=command)
    pair = _pair(files)
    if pair is not None:
        frames, masks, same = pair
        layout = f"frames and masks in two folders, of which {counted(same, 'name')} agree"
        return Nearest(found=files.words(), layout=layout, command=_audit(source, frames=frames, masks=masks))
    return _without_match(source, files, pictures)


def _nearest_of_file(source: Path) -> Nearest:
    other = foreign_json(source)
    if other is not None:
        return Nearest(found=f"it is of {other.tool}", layout="COCO json, or items.jsonl", command=other.step)
    return Nearest(
        found=f"it is a file that ends in {suffix(source.name) or 'nothing'}",
        layout="lines of JSON that end in .jsonl, a COCO or panoptic .json, a CVAT .xml, or a folder",
        command=f"name the folder: {_audit(source.parent)}; or write items.jsonl, a line {_EXAMPLE} for each mask",
    )


def _without_match(source: Path, files: _InputFiles, pictures: Path | None) -> Nearest:
    lines = next((path for ending in sorted(_LINES) for path in _files(source, files, ending)), None)
    if pictures is None and not SOUND_SUFFIXES.isdisjoint(files.kinds):
        layout = "mixtures/x.wav and separated/x.wav, or separated/x/*.wav of several outputs; no picture was found"
        step = f"name the folders so, or write items.jsonl, a line {_SOUND_EXAMPLE} for each output"
    elif pictures is None:
        layout, step = "a folder with frames/ and masks/; no picture was found", "give the folder of frames and masks"
    elif sum(len(endings) for endings in files.folders.values()) == 1:
        layout = "a folder with frames/ and masks/; all pictures are of one kind, and none looks like a mask of another"
        step = f"name the masks' folder: {_audit(source, frames=pictures, masks=Path('MASKS'))}"
    else:
        layout = "a folder with frames/ and masks/; no mask is named like a picture"
        step = (
            f"name masks like their pictures (x.jpg, x.png or x_mask.png), or write items.jsonl, a line {_EXAMPLE} each"
        )
    if lines is not None and suffix(lines.name) != ".csv":
        step = f"{step}; or is it {_audit(lines)}?"
    return Nearest(found=files.words(), layout=layout, command=step)


def _survey(source: Path) -> _InputFiles:
    files = _InputFiles()
    for path in first_files(source):
        if path.name.startswith("."):
            continue
        ending = suffix(path.name)
        files.kinds.setdefault(ending, []).append(path.relative_to(source).as_posix())
        if ending in FRAME_SUFFIXES | MASK_SUFFIXES:
            files.folders.setdefault(path.parent, {}).setdefault(ending, set()).add(path.stem)
    return files


def _files(source: Path, files: _InputFiles, ending: str) -> list[Path]:
    return [source / name for name in files.kinds.get(ending, ())[:_MOST_TRIED]]


def _is_no_instances(path: Path) -> bool:
    """Whether a COCO json is not named as the one with masks: captions and keypoints stand beside it, and before it."""
    return "instances" not in path.name.lower()


def _layout_inside(source: Path, files: _InputFiles, layout_of: Callable[[Path], str]) -> Path | None:
    """The highest folder below INPUT, or a file of lines or xml in it, that has a layout by itself."""
    folders: dict[Path, None] = {}
    for names in files.kinds.values():
        for name in names[: _MOST_TRIED * 5]:
            folders |= dict.fromkeys(source / parent for parent in Path(name).parents if parent != Path())
    candidates = sorted(folders, key=lambda path: (len(path.parts), path.as_posix()))[:_MOST_TRIED]
    return next((path for path in (*candidates, *_files(source, files, ".xml")) if layout_of(path)), None)


def _pictures(files: _InputFiles) -> Path | None:
    """The folder with the most pictures, JPEGs first."""
    ranked = {
        folder: (sum(len(endings.get(ending, ())) for ending in _JPEG), sum(map(len, endings.values())))
        for folder, endings in files.folders.items()
    }
    return max(ranked, key=lambda folder: ranked[folder], default=None)


def _pair(files: _InputFiles) -> tuple[Path, Path, int] | None:
    """The folder of pictures and the other folder with the most names of its own that agree; None without any."""
    frames = _pictures(files)
    if frames is None:
        return None
    names = _stems(files.folders[frames])  # and a mask may be called x_mask
    shared = {
        folder: len(
            names
            & _stems({end: set(map(unmarked, endings[end])) | endings[end] for end in endings if end in MASK_SUFFIXES})
        )
        for folder, endings in files.folders.items()
        if folder != frames
    }
    best = max(shared, key=lambda folder: shared[folder], default=None)
    return None if best is None or not shared[best] else (frames, best, shared[best])


def _stems(endings: Mapping[str, set[str]]) -> set[str]:
    return set().union(*endings.values())


def _name(path: Path, source: Path) -> str:
    return shown(path.relative_to(source).as_posix()) if path != source and is_folder(source) else shown(path.name)


def _audit(source: Path, **options: Path) -> str:
    words = [str(source), *(word for name, path in options.items() for word in (f"--{name}", str(path)))]
    return f"auscult audit {' '.join(map(shlex.quote, words))} --out out"


MAX_TABLE_BYTES: Final = 64 << 20
MAX_BYTES: Final = 256 << 20

_FIX = "correct or drop the row"
_FEW = 3
_MOST_COMPARED, _MOST_NAMES, _MOST_CHARS = 20, 2_000, 100
_TEXT_COLUMNS = "columns id,text or frame,text, in UTF-8"
_SCORE_COLUMNS = "columns id,score as CSV, or JSON lines {id, score}, in UTF-8; a score is a finite number"
_LARGEST = 1e300


def with_texts(
    items: Sequence[Item | SoundItem], *, text: str | None, texts: Path | None
) -> tuple[tuple[Item | SoundItem, ...], tuple[ListError, ...]]:
    """Give items their expressions: the table's first, then what the INPUT says, then ``text``.

    In the table ``texts``, CSV, ``id`` is an item's id; ``frame`` is a picture's file name or path, with or without its
    ending, and stands for every item of that frame. Each row that names no item, or names one again, is an error; a
    table that cannot be read as a whole ends the listing.
    """
    problems = Problems()
    by_id = {} if texts is None else _texts_by_id(texts, items, problems)
    updated = list[Item | SoundItem]()
    for item in items:
        own_text = by_id.get(item.id, item.query.text)
        chosen = text if own_text is None else own_text
        if chosen == item.query.text:
            updated.append(item)
        elif isinstance(item, Item):
            updated.append(replace(item, query=Query(chosen)))
        else:
            updated.append(replace(item, query=replace(item.query, text=chosen)))
    return tuple(updated), tuple(problems.found)


def _texts_by_id(path: Path, items: Sequence[Item | SoundItem], problems: Problems) -> Mapping[str, str]:
    """Texts of a table by item id; a row for no item, or a second one for an item, is a problem."""
    by_id: dict[str, str] = {}
    used: dict[str, int] = {}
    with required_file(path, option="--texts"):
        rows = table_rows(path, max_bytes=MAX_TABLE_BYTES, expected=_TEXT_COLUMNS)
        _, head = next(rows, (1, []))
        column, positions = _text_columns(head, path)
        ids_of = _names(items, column)
        suggestions = _Suggestions(items, ids_of, column)
        unmatched = Problems()
        for line, cells in rows:
            name = cells[positions[0]] if len(cells) > max(positions) else ""
            if not name:
                problems.add(
                    _bad_text(f"the row has {len(cells)} cells or no {column}"), path, line=line, stage="texts"
                )
            elif len(cells[positions[1]]) > MAX_TEXT_CHARS or "\x00" in cells[positions[1]]:
                problems.add(_bad_text("the text is too long or holds a NUL"), path, line=line, stage="texts")
            elif name in ids_of and name not in used:
                used[name] = line
                by_id.update(dict.fromkeys(ids_of[name], cells[positions[1]]))
            else:
                problem, hint = f"{column} {shown(name)} is none of the input's", _FIX
                if name in used:
                    problem = f"{column} {shown(name)} has a text already, in line {used[name]}, which is kept"
                else:
                    hint = suggestions.hint(name)
                error = InputError(problem, expected=f"each {column} of the input once", hint=hint)
                unmatched.add(error, path, line=line, stage="texts")
        problems.found += unmatched.found
    return by_id


def _bad_text(message: str) -> InputError:
    return InputError(message, expected=_TEXT_COLUMNS, hint=_FIX)


def _text_columns(head: Sequence[str], path: Path) -> tuple[str, tuple[int, int]]:
    """Whether ids or frames are named, and where name and text stand."""
    names = [cell.strip().lower() for cell in head]
    column = "id" if "id" in names else "frame"
    if column in names and "text" in names:
        return column, (names.index(column), names.index("text"))
    row = ",".join(head)
    problem = f"the first row is {shown(row)}" if head else "the table is empty"
    raise InputError(problem, expected=_TEXT_COLUMNS, hint=columns_hint(row), path=path, line=1)


class _Suggestions:
    """Suggests known names for a misspelt one."""

    def __init__(self, items: Sequence[Item | SoundItem], names: Mapping[str, object], column: str) -> None:
        self._known_names = names
        self._column = column
        self._items = items
        self._frames: Mapping[str, Sequence[str]] | None = None
        self._left = _MOST_COMPARED

    def hint(self, name: str) -> str:
        """The next step. Only the first names are compared with all others, which takes time."""
        if self._column == "id":
            if self._frames is None:
                self._frames = _names(self._items, "frame")
            ids = self._frames.get(name)
            if ids:
                return f"the ids of this frame are {few(ids)}; or name the column frame, which stands for all of them"
        if self._left <= 0:
            return _FIX
        self._left -= 1
        matches = get_close_matches(name[:_MOST_CHARS], islice(self._known_names, _MOST_NAMES), n=_FEW)
        return f"is it {' or '.join(shown(match) for match in matches)}? {_FIX}" if matches else _FIX


def _names(items: Sequence[Item | SoundItem], column: str) -> dict[str, list[str]]:
    """Names that a row may use for an item, each with the ids it stands for."""
    if column == "id":
        return {item.id: [item.id] for item in items}
    ids_of: dict[str, list[str]] = {}
    for item in (entry for entry in items if isinstance(entry, Item)):
        name, key = item.frame.name, item.id.partition("#")[0]
        stem = item.frame.stem
        clip = f"{item.clip}/{stem}" if item.clip else stem
        for form in dict.fromkeys((name, stem, clip, f"{clip}{item.frame.suffix}", key)):
            ids_of.setdefault(form, []).append(item.id)
    return ids_of


def with_scores(items: Sequence[Item], path: Path | None) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Give items the scores of a table; they come before what the INPUT itself says.

    Only their order counts, so that any finite number will do: a confidence, a logit, a predicted IoU. The table is
    JSON lines where its name ends in ``.jsonl`` or ``.ndjson``, else CSV. Notes tell of scores whose id is no item's,
    and of items without a score; a row that cannot be used ends the listing.
    """
    if path is None:
        return tuple(items), ()
    with required_file(path, option="--scores"):
        scores = _read_scores(path)
    ids = {item.id for item in items}
    unknown = [name for name in scores if name not in ids]
    if items and len(unknown) == len(scores):
        raise UsageError(
            f"--scores: {'no row has a score' if not scores else 'none of its ids is one of the input'}",
            expected=f"ids as in the input, such as {shown(items[0].id)}",
            hint=f"the file has {shown(unknown[0])}" if unknown else "",
            path=path,
        )
    scored = tuple(replace(item, model_score=scores[item.id]) if item.id in scores else item for item in items)
    notes = []
    if unknown:
        clause = "is of an id that is none" if len(unknown) == 1 else "are of ids that are none"
        notes.append(f"{counted(len(unknown), 'score')} {clause} of the input's: {few(unknown)}")
    without = sum(item.model_score is None for item in scored)
    if without:
        notes.append(f"{counted(without, 'mask')} without a score of the model's own")
    return scored, tuple(notes)


def _read_scores(path: Path) -> dict[str, float]:
    scores: dict[str, float] = {}
    lines: dict[str, int] = {}
    needed = ("id", "score")
    for line, row in named_rows(path, needed=needed, max_bytes=MAX_BYTES, expected=_SCORE_COLUMNS, hint=_FIX):
        name, score = (row.get(key) for key in needed)
        if not isinstance(name, str) or not name:
            raise _wrong(f"'id' is {shown(str(name))}", path, line=line)
        if name in scores:
            raise _wrong(f"the id {shown(name)} has a score already, in line {lines[name]}", path, line=line)
        number = number_of(score)
        if number is None or not abs(number) <= _LARGEST:
            raise _wrong(f"'score' is {shown(str(score))}", path, line=line)
        scores[name], lines[name] = number, line
    return scores


def _wrong(message: str, path: Path, *, line: int) -> InputError:
    return InputError(message, expected=_SCORE_COLUMNS, hint=_FIX, path=path, line=line)


INPUTS = (
    "a folder with frames/ and masks/ (or --frames DIR --masks DIR), or images/ and labels/ or annotations/; masks "
    "beside their pictures (x.jpg with x.png, x_mask.png, x_seg.png or x_gt.png); "
    "an items.jsonl, or a folder that holds one; "
    "a COCO json with --images FOLDER (results also need --instances FILE); "
    "a DAVIS folder with JPEGImages/ and Annotations/; Ref-AVSBench (metadata.csv, media/, gt_mask/); "
    "MQ-RAVSBench (train_test_meta_files/); RefCOCO (refs(...).p with instances.json) with --images FOLDER; "
    "YouTube-VOS (meta.json or meta_expressions.json with JPEGImages/); Ref-DAVIS (davis_text_annotations/) or an "
    "expressions.json beside videos; AVSBench (s4_meta_data.csv, ms3_meta_data.csv); "
    "YOLO-seg (labels/x.txt), LabelMe (x.json), PASCAL VOC (JPEGImages/ and SegmentationObject/), CVAT "
    "(annotations.xml), COCO panoptic (a json and its folder of PNG), Cityscapes (*_instanceIds.png)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """How INPUT is read; the command line shows the following as help.

    Folders and paths are looked for in INPUT first. What --text gives is for the items that have no expression.

    Attributes:
        text: The referring expression of all items.
        texts: CSV with columns id,text or frame,text.
        scores: The model's own scores of its masks: CSV with columns id,score, or JSON lines.
        frames: Folder of the frames, when not INPUT/frames.
        masks: Folder of the masks, when not INPUT/masks.
        images: Folder of the pictures of a COCO json.
        instances: COCO instances that name the pictures of a results json.
        root: Folder that paths in INPUT may reach; INPUT's own by default.
        labels: Read grey mask values as object indices.
        objects: The indices of one mask file: each a mask, one mask (union), or proposals of which to judge the best.
        clip: Take the frames side by side in a folder as the frames of one video.
    """

    text: str | None = None
    texts: Path | None = None
    scores: Path | None = None
    frames: Path | None = None
    masks: Path | None = None
    images: Path | None = None
    instances: Path | None = None
    root: Path | None = None
    labels: bool = False
    objects: str = "each"
    clip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmasked:
    """A frame of a clip whose mask is not known: the frame is shown all the same, or a clip would jump in time."""

    clip: str | None
    frame: Path
    mask: Path  # the file that cannot be opened, or where one should stand
    error: ErrorRecord | None = None  # why it cannot be opened; None where there is no file


@dataclass(frozen=True, slots=True)
class Listing:
    """What an INPUT holds."""

    items: tuple[Item, ...]  # the items of masks, ids unique, frames of a clip in natural order
    errors: tuple[ListError, ...]  # (id or None, record) for what could not be listed
    layout: str  # registry name of the layout
    notes: tuple[str, ...] = ()  # plain sentences about what was left out on purpose
    ignored: tuple[str, ...] = ()  # names of files among the masks that are of no mask format
    unmasked: tuple[Unmasked, ...] = ()  # frames whose mask cannot be opened, or is missing where each has one
    bare: tuple[Unmasked, ...] = ()  # frames without a mask where the layout need not have one for each
    lost: tuple[Item, ...] = ()  # of ``errors`` what names a frame: a video in which one failed must not look whole
    header: Mapping[str, Any] = field(default_factory=dict)  # what a COCO file says beside its annotations
    sounds: tuple[SoundItem, ...] = ()  # items of sound


@runtime_checkable
class Dataset(Protocol):
    """A layout of an INPUT.

    It may also have ``takes_objects``, whether ``--objects`` fits it; ``marked_by``, endings of INPUT's name, or names
    in it, of which one must be there; and ``unmarked_by``, names of which none may be. It is not asked in vain then.
    """

    name: str
    meta: Metadata

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether ``source`` has this layout; cheap, and never raises for what is not."""
        ...

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the items; ids need not be unique yet.

        Raises:
            NothingToDo: A file without which nothing can be listed cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is missing or for another layout.
        """
        ...


OBJECTS: Final = ("each", "union", "best")

_PLAIN = ListOptions()


def list_items(source: Path, options: ListOptions = _PLAIN, *, sounds: bool = False) -> Listing:
    """List an INPUT, in whichever layout it is; ``NothingToDo`` where it holds neither an item nor a broken one.

    Items of sound are listed where ``sounds`` asks for them; else each is an error.
    """
    _check_paths(options)
    if sounds and is_folder(source / MIXTURES) and next(layouts(source, options), None) is None:
        listed = read_sounds(source, root=options.root)
        return completed(Listing((), listed.problems, MIXTURES, sounds=listed.items), source, options, sounds=True)
    dataset = find_layout(source, options)
    if options.objects != "each" and not getattr(dataset, "takes_objects", False):
        raise UsageError(
            f"--objects {options.objects} does not fit the input (read as {dataset.name})",
            expected="mask files of several objects, one file a frame",
            hint="leave --objects out",
            path=source,
        )
    listing = dataset.list(source, options)
    return completed(as_clips(listing, source) if options.clip else listing, source, options, sounds=sounds)


def completed(listing: Listing, source: Path, options: ListOptions, *, sounds: bool = False) -> Listing:
    """What a layout listed, with texts and scores of the options; ids are unique then. ``NothingToDo`` as above."""
    items, repeated = unique(listing.items)
    sound_items, repeated_sounds = unique(listing.sounds if sounds else (), items)
    both, unknown = with_texts((*items, *sound_items), text=options.text, texts=options.texts)
    items = tuple(item for item in both if isinstance(item, Item))
    sound_items = tuple(item for item in both if isinstance(item, SoundItem))
    errors = (*listing.errors, *map(_no_mask, () if sounds else listing.sounds), *repeated, *repeated_sounds, *unknown)
    if not items and not sound_items and all(error.stage in REMARKS for _, error in errors):
        message = "; ".join((f"the input holds no mask (read as {listing.layout})", *listing.notes))
        expected, hint = INPUTS, "add masks to it, or give another INPUT"
        if listing.ignored:
            expected, hint = f"masks as {', '.join(sorted(MASK_SUFFIXES))}", "write masks as PNG"
        raise NothingToDo(message, path=source, expected=expected, hint=hint)
    items, notes = with_scores(items, options.scores)
    return replace(listing, items=items, sounds=sound_items, errors=errors, notes=(*listing.notes, *notes))


def _no_mask(item: SoundItem) -> ListError:
    error = InputError(
        "the line names a sound and no frame",
        expected="'frame' and 'mask'",
        hint="`auscult audit INPUT` judges separated sounds; `auscult run separation --data INPUT` runs separators",
        path=item.source,
        line=item.line,
    )
    return item.id, ErrorRecord.of(error, "read")


def as_clips(listing: Listing, source: Path) -> Listing:
    """Take the frames side by side in each folder as the frames of one video, which is named like the folder."""
    folders = {item.frame.parent for item in listing.items}
    folders |= {gap.frame.parent for gap in (*listing.bare, *listing.unmasked)}
    top = Path(os.path.commonpath(folders)) if folders else source
    names = {path: path.relative_to(top).as_posix() if path != top else source.resolve().name for path in folders}
    return replace(
        listing,
        items=tuple(replace(item, clip=item.clip or names[item.frame.parent], in_video=True) for item in listing.items),
        lost=tuple(
            replace(item, clip=item.clip or names.get(item.frame.parent), in_video=True) for item in listing.lost
        ),
        bare=tuple(replace(gap, clip=gap.clip or names[gap.frame.parent]) for gap in listing.bare),
        unmasked=tuple(replace(gap, clip=gap.clip or names[gap.frame.parent]) for gap in listing.unmasked),
    )


def refuse_options(options: ListOptions, *names: str, layout: str) -> None:
    """Refuse options that say nothing about a layout, by their names in ``options``, rather than ignore them."""
    for name in names:
        value = getattr(options, name)
        if value is not None:
            raise UsageError(
                f"--{name} does not fit the input, which is {layout}",
                expected=INPUTS,
                hint=f"leave --{name} out, or give another INPUT",
                path=value,
            )


def refuse_best(options: ListOptions) -> None:
    """Refuse ``--objects best`` for a verb that judges nothing."""
    if options.objects == "best":
        raise UsageError("--objects best needs a judge, which this command has not", expected="each or union")


def _check_paths(options: ListOptions) -> None:
    if options.objects not in OBJECTS:
        raise UsageError(f"--objects {shown(options.objects)}", expected=f"one of: {', '.join(OBJECTS)}")
    for name, path, exists, noun in (
        ("images", options.images, is_folder, "folder"),
        ("instances", options.instances, is_file, "file"),
        ("root", options.root, is_folder, "folder"),
    ):
        if path is not None and not exists(path):
            raise UsageError(
                f"--{name} names no {noun}", path=path, expected=f"an existing {noun}", hint="check the path"
            )


def find_layout(source: Path, options: ListOptions = _PLAIN) -> Dataset:
    """The layout that recognises an INPUT, ``NothingToDo`` where none does; a plug-in's comes before a built-in one."""
    if not (is_folder(source) or is_file(source)):
        raise UsageError("there is no such file or folder", path=source, expected=INPUTS)
    layout = next(layouts(source, options), None)
    if layout is not None:
        return layout
    guess = nearest(source, lambda path: next((layout.meta.summary for layout in layouts(path, _PLAIN)), ""))
    raise NothingToDo(
        f"the input has no layout that is known; {guess.found}", path=source, expected=guess.layout, hint=guess.command
    )


def layouts(source: Path, options: ListOptions) -> Iterator[Dataset]:
    """The layouts that recognise an INPUT; a plug-in's come before built-in ones."""
    entries = sorted(registry.entries("dataset"), key=lambda entry: (entry.package == registry.BUILT_IN, entry.name))
    for entry in entries:
        dataset: Dataset = entry.load()
        if _may_be(dataset, source) and dataset.recognises(source, options):
            yield dataset


def _may_be(dataset: Dataset, source: Path) -> bool:
    """Whether the names of files and folders say nothing against a layout."""
    marks: tuple[str, ...] = getattr(dataset, "marked_by", ())
    others: tuple[str, ...] = getattr(dataset, "unmarked_by", ())
    marked = not marks or any(suffix(source.name) == mark or _is_there(source / mark) for mark in marks)
    return marked and not any(_is_there(source / name) for name in others)


def _is_there(path: Path) -> bool:
    return is_file(path) or is_folder(path)
