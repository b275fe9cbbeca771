"""AVSBench, s4 (one source) and ms3 (several), as released: masks of all that sounds, five frames a clip.

::

    Single-source/s4_meta_data.csv                                        name, ..., category, split
    Single-source/s4_data/visual_frames/<split>/<category>/<clip>/<clip>_1.png .. _5.png
    Single-source/s4_data/gt_masks/<split>/<category>/<clip>/<clip>_1.png ..     of train the first only
    Single-source/s4_data/audio_wav/<split>/<category>/<clip>.wav
    Multi-sources/ms3_meta_data.csv                                       name, split, ...
    Multi-sources/ms3_data/visual_frames/<clip>/<clip>.mp4_1.png .. _5.png
    Multi-sources/ms3_data/gt_masks/<split>/<clip>/<clip>_1.png ..
    Multi-sources/ms3_data/audio_wav/<split>/<clip>.wav

INPUT is one of the two folders, or the folder around them. Each row is an instance without an expression: the sound
asks. Any value above 0 is the mask; an empty mask says that nothing seen sounds. Frame ``k`` was taken 15/16 of a
second into second ``k``, by the release's own script. Folders with and without ``<split>/`` (and, of s4,
``<category>/``) are both read, since releases differ. The second version (AVSBench-semantic) is not read: its colours
are classes, and which of them is background was not to be had for certain.

Source: Zhou et al. 2022 (Audio-Visual Segmentation, ECCV), release OpenNLPLab/AVSBench, its loaders and scripts. The
media were not at hand; tests write trees of exactly this structure.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from auscult.cases.datasets.ytvos_videos import at, check_inside, check_name, lost
from auscult.cases.fields import BOM
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.instances import InstanceListing
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.walk import Tree, base_folder, boundary, is_file, is_folder, suffix, walk, within
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

MAX_TABLE_BYTES: Final = 64 * 1024 * 1024

_NAMES = ("name", "video_name", "video_id", "vid", "video", "uid")
_SPLIT, _CATEGORY = "split", "category"
_CATEGORY_AT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRow:
    """A clip.

    Attributes:
        id: ``<split>/<category>/<name>``, without the category where clips stand in none.
        name: The clip's name.
        split: ``train``, ``val`` or ``test``.
        category: What sounds; empty where the table does not say it.
        line: The line, from 1.
    """

    id: str
    name: str
    split: str
    category: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    name: int
    split: int
    category: int | None


def read_rows(path: Path, *, categories: bool) -> tuple[tuple[ClipRow, ...], tuple[ErrorRecord, ...]]:
    """Read a table.

    The first column is the name and, of s4, the third the category, unless the heading says otherwise; the split is
    found by its heading.

    Args:
        path: The file.
        categories: Whether clips stand in folders of categories, as in s4.

    Returns:
        The rows in the order of the file, ids unique, and what cannot be used.

    Raises:
        NothingToDo: It cannot be read, is over 64 MB, is not UTF-8, or has no column ``split``.
    """
    lines = _lines(path)
    head = [cell.strip().casefold() for cell in lines[0][1]] if lines else []
    columns = _columns(head, path, categories=categories)
    rows: dict[str, ClipRow] = {}
    errors: list[ErrorRecord] = []
    for line, cells in lines[1:]:
        try:
            row = _row(cells, columns, line=line, width=len(head))
            first = rows.setdefault(row.id, row)
            if first is not row:
                errors.append(at(_twice(row, first), path, line=line))
        except InputError as error:
            errors.append(at(error, path, line=line))
    return tuple(rows.values()), tuple(errors)


def _lines(path: Path) -> list[tuple[int, Sequence[str]]]:
    try:
        data = read_bytes(path, limits=Limits(max_bytes=MAX_TABLE_BYTES)).removeprefix(BOM)
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        return [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except InputError as error:
        raise NothingToDo(error.message, expected=error.expected, hint=error.hint, path=path) from error
    except UnicodeDecodeError as error:
        raise NothingToDo(f"byte {error.start + 1} is not UTF-8", expected="a table in UTF-8", path=path) from error
    except csv.Error as error:
        raise NothingToDo(f"broken table: {error}", expected="a CSV table", path=path) from error


def _columns(head: Sequence[str], path: Path, *, categories: bool) -> _Columns:
    if _SPLIT not in head:
        raise NothingToDo(
            f"the heading is {shown(','.join(head))}", expected="columns name, split and, of s4, category", path=path
        )
    name = next((head.index(word) for word in _NAMES if word in head), 0)
    category = head.index(_CATEGORY) if _CATEGORY in head else None
    if categories and category is None:
        if len(head) <= _CATEGORY_AT:
            raise NothingToDo("there is no column category", expected="name, ..., category, split", path=path)
        category = _CATEGORY_AT
    return _Columns(name=name, split=head.index(_SPLIT), category=category if categories else None)


def _row(cells: Sequence[str], columns: _Columns, *, line: int, width: int) -> ClipRow:
    if len(cells) != width:
        raise InputError(
            f"the row has {counted(len(cells), 'cell')}", expected=f"{width}, as the heading", hint="correct the row"
        )
    name, split = check_name(cells[columns.name].strip()), check_name(cells[columns.split].strip())
    category = "" if columns.category is None else check_name(cells[columns.category].strip())
    return ClipRow(
        id=check_id("/".join(filter(None, (split, category, name)))),
        name=name,
        split=split,
        category=category,
        line=line,
    )


def _twice(row: ClipRow, first: ClipRow) -> InputError:
    return InputError(
        f"the clip {shown(row.id)} is there twice; the first, in line {first.line}, is kept",
        expected="one row a clip",
        hint="drop one of the two",
    )


_COUNT = 5
_TAKEN_S = 15 / 16
_NUMBER = re.compile(r"_([1-9][0-9]{0,3})\.[A-Za-z]+$")
_FRAMES, _MASKS, _SOUNDS = "visual_frames", "gt_masks", "audio_wav"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Set:
    """One of the two subsets.

    Attributes:
        title: ``s4`` or ``ms3``.
        folder: What the release calls the folder around it.
        categories: Whether clips stand in folders of categories.
    """

    title: str
    folder: str
    categories: bool

    @property
    def table(self) -> str:
        """The file of its clips."""
        return f"{self.title}_meta_data.csv"

    @property
    def data(self) -> str:
        """The folder of its media."""
        return f"{self.title}_data"


_SETS = (
    _Set(title="s4", folder="Single-source", categories=True),
    _Set(title="ms3", folder="Multi-sources", categories=False),
)


@dataclass(slots=True, kw_only=True)
class _AvsBench:
    """A subset on disk, and what was found out about it."""

    kind: _Set
    home: Path
    base: Path
    rows: tuple[ClipRow, ...] = ()
    errors: list[ErrorRecord] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def table(self) -> Path:
        """The file of its clips."""
        return self.home / self.kind.table

    def notes(self) -> list[str]:
        """What it holds, and what was left out."""
        splits = Counter(row.split for row in self.rows)
        told = [
            f"{self.kind.title}: {counted(len(self.rows), 'clip')}: "
            + ", ".join(f"{name} {count}" for name, count in splits.items())
        ]
        for key, words in (("lost", "without a single frame and mask left out"), ("silent", "without a sound file")):
            if self.counts[key]:
                told.append(f"{self.kind.title}: {counted(self.counts[key], 'clip')} {words}")
        return told if self.rows else []


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClipFiles:
    """The files of a clip by frame number, from 1."""

    row: ClipRow
    frames: Mapping[int, Path]
    masks: Mapping[int, MaskRef]
    sound: Path | None


class AvsBenchDataset:
    """Clips whose sound says what is meant."""

    name = "datasets.avsbench.v1"
    meta = Metadata(
        summary="AVSBench s4 and ms3: s4_meta_data.csv with s4_data/, ms3_meta_data.csv with ms3_data/",
        goal="lists clips with the masks of everything that sounds",
        modality="video",
        source="Zhou et al. 2022 (AVSBench, ECCV), release OpenNLPLab/AVSBench",
        truth="gt_masks/: any value above 0",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it holds a table of one of the subsets; ``frames`` or ``masks`` name another layout."""
        return options.frames is None and options.masks is None and bool(_homes(source))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every frame that has a mask, its true mask as the candidate.

        Raises:
            NothingToDo: A table cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        benches = _opened(source, options)
        items = tuple(item for bench in benches for clip in _clips(bench) for item in _items(bench, clip))
        errors = tuple((None, error) for bench in benches for error in bench.errors)
        return Listing(items, errors, self.name, tuple(note for bench in benches for note in bench.notes()))

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every clip that has a frame and a mask, in the order of the tables.

        Raises:
            NothingToDo: A table cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        benches = _opened(source, options)
        found = tuple(_instance(bench, clip) for bench in benches for clip in _clips(bench))
        return InstanceListing(
            instances=found,
            errors=tuple((None, error) for bench in benches for error in bench.errors),
            layout=self.name,
            notes=tuple(note for bench in benches for note in bench.notes()),
        )


def _homes(source: Path) -> list[tuple[_Set, Path]]:
    """The subsets that a folder holds, each with the folder its table stands in."""
    places = ((kind, home) for kind in _SETS for home in (source, source / kind.folder))
    return [(kind, home) for kind, home in places if is_file(home / kind.table)]


def _opened(source: Path, options: ListOptions) -> list[_AvsBench]:
    refuse_options(options, "frames", "masks", "images", "instances", layout="AVSBench")
    base_folder(source, options.root)  # which refuses a root that does not contain it
    benches = []
    for kind, home in _homes(source):
        media = home / kind.data
        for top in (home, media, *(media / name for name in (_FRAMES, _MASKS, _SOUNDS))):
            if is_folder(top) and top != source:  # a link out is told once, not once a clip
                boundary(top, source=top.parent, root=options.root or source)
        check_inside(home / kind.table, options.root or source)
        rows, errors = read_rows(home / kind.table, categories=kind.categories)
        benches.append(_AvsBench(kind=kind, home=home, base=options.root or source, rows=rows, errors=list(errors)))
    return benches


def _clips(bench: _AvsBench) -> Iterator[_ClipFiles]:
    for row in bench.rows:
        try:
            clip = _ClipFiles(
                row=row,
                frames=_numbered(_tree(bench, _FRAMES, row), FRAME_SUFFIXES, bench),
                masks={
                    number: MaskRef(path=path, positive=True)
                    for number, path in _numbered(_tree(bench, _MASKS, row), MASK_SUFFIXES, bench).items()
                },
                sound=_found(bench, _SOUNDS, row, ending=".wav"),
            )
        except InputError as error:
            bench.errors.append(ErrorRecord.of(error, "read"))
            bench.counts["lost"] += 1
            continue
        bench.errors += _missing(bench, clip)
        if not (clip.frames.keys() & clip.masks.keys()):
            bench.counts["lost"] += 1
            continue
        bench.counts["silent"] += clip.sound is None
        yield clip


def _found(bench: _AvsBench, top: str, row: ClipRow, *, ending: str = "") -> Path | None:
    """A clip's folder, or its file: under split and category, under the split, or at once."""
    folders = dict.fromkeys([f"{row.split}/{row.category}", row.split, row.category, ""])
    for above in folders:
        name = "/".join(filter(None, (bench.kind.data, top, above.strip("/"), row.name + ending)))
        path = within(bench.base, home=bench.home, name=name)
        if is_file(path) if ending else is_folder(path):
            return path
    return None


def _tree(bench: _AvsBench, top: str, row: ClipRow) -> Tree | None:
    path = _found(bench, top, row)
    return None if path is None else walk(path, root=bench.base)


def _numbered(tree: Tree | None, suffixes: frozenset[str], bench: _AvsBench) -> dict[int, Path]:
    """The files of a clip that end in a number, by that number."""
    found: dict[int, Path] = {}
    for name, path in {} if tree is None else tree.files.items():
        match = _NUMBER.search(name)
        if match and "/" not in name and suffix(name) in suffixes:
            found.setdefault(int(match[1]), path)
    if tree is not None:
        bench.errors += (replace(error, stage="frames") for error in tree.errors)
    return dict(sorted(found.items()))


def _missing(bench: _AvsBench, clip: _ClipFiles) -> Iterator[ErrorRecord]:
    """What is missing of a clip: one record for its frames, one for its masks."""
    row = clip.row
    first_only = bench.kind.categories and row.split == "train"
    wanted = {
        _FRAMES: (clip.frames.keys(), range(1, _COUNT + 1), "frame", "frames"),
        _MASKS: (clip.masks.keys(), (1,) if first_only else range(1, _COUNT + 1), "mask", "truth"),
    }
    for top, (there, numbers, noun, remark) in wanted.items():
        bare = [f"{row.name}_{number}.png" for number in numbers if number not in there]
        if bare:
            path = bench.home / bench.kind.data / top / row.split / row.category / row.name
            yield lost(path, bare, noun=noun, stage=remark if there else "read", of=len(numbers))


def _instance(bench: _AvsBench, clip: _ClipFiles) -> Instance:
    return Instance(
        id=clip.row.id,
        clip=clip.row.name,
        query=Query(None),
        moments=tuple(
            Moment(frame=frame, target=clip.masks.get(number), time_s=_time_s(number))
            for number, frame in clip.frames.items()
        ),
        split=clip.row.split,
        category=clip.row.category,
        sound=clip.sound,
        source=bench.table,
        line=clip.row.line,
    )


def _items(bench: _AvsBench, clip: _ClipFiles) -> Iterator[Item]:
    for number, frame in clip.frames.items():
        if number in clip.masks:
            yield Item(
                id=f"{clip.row.id}/{number}",
                frame=frame,
                mask=clip.masks[number],
                clip=clip.row.name,
                time_s=_time_s(number),
                audio=clip.sound,
                extra={"split": clip.row.split, "category": clip.row.category},
                source=bench.table,
                line=clip.row.line,
            )


def _time_s(number: int) -> float:
    return number - 1 + _TAKEN_S


DATASET = AvsBenchDataset()
