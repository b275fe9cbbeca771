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
``<category>/``) are both read, since releases differ.

Source: Zhou et al. 2022 (Audio-Visual Segmentation, ECCV), release OpenNLPLab/AVSBench, its loaders and scripts. The
media were not at hand; tests write trees of exactly this structure.

The second version, AVSBench-semantic: of all that sounds also the class, ten frames a clip.

::

    metadata.csv                              vid, uid, s_min, s_sec, a_obj, split, label: found by their heading
    label2idx.json                            {"background": 0, "accordion": 1, ..., "woman": 70}
    <label>/<uid>/frames/0.jpg ..             label is v1s (of s4), v1m (of ms3), five frames, or v2, ten frames
    <label>/<uid>/labels_semantic/0.png ..    a class each pixel; of v1s in train the first only
    <label>/<uid>/labels_rgb/0.png ..         the same in colours, read where labels_semantic/ is not there
    <label>/<uid>/audio.wav

Each row is an instance without an expression: the sound asks. Classes are 0 to 70, and 0, black
in colours, is the background: ``label2idx.json`` says so, although the release's loss and its numbers without
background took 70 for it (its issue 23). Colours are PASCAL VOC's of the class. As a mask, all that is no background
is read.

Frame ``k`` is taken to be at second ``k``: the release says that there is one frame a second, and no more.

Source: Zhou et al. 2023 (Audio-Visual Segmentation with Semantics), release OpenNLPLab/AVSBench, ``avss/`` and its
loader.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.cases import fields
from auscult.cases.datasets.base import Folders, ListedPart, ReferringLayout, check_name, remarks
from auscult.cases.fields import table_rows
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import ListOptions
from auscult.cases.problems import Problems, required_file
from auscult.cases.walk import Tree, is_file, is_folder, suffix, walk
from auscult.errors import InputError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.paths import open_regular
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

SEMANTIC: Final = "metadata.csv"
LABELS: Final = "label2idx.json"
CLASSES: Final = 71
_COLUMNS: Final = ("uid", "label", "split")
_FRAMES_OF: Final = {"v1s": 5, "v1m": 5, "v2": 10}
_LABELS: Final = ("labels_semantic", "labels_rgb")
MAX_TABLE_BYTES: Final = 64 * 1024 * 1024
_HEAD_BYTES: Final = 4096


def is_semantic(source: Path) -> bool:
    """Whether a folder holds the table of AVSBench-semantic; cheap, and False for what cannot be read."""
    try:
        with open_regular(source / SEMANTIC) as file:
            head = file.read(_HEAD_BYTES).splitlines()[:1]
    except (OSError, ValueError):
        return False
    cells = {cell.strip().strip(b'"\xef\xbb\xbf').lower() for line in head for cell in line.split(b",")}
    return {name.encode() for name in _COLUMNS} <= cells


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRow:
    """A row of a table: a clip, its split (``train``, ``val`` or ``test``) and what sounds, where the table says it.

    ``group`` is the folder that the clip stands in: its category, of AVSBench-semantic ``v1s``, ``v1m`` or ``v2``.
    """

    id: str
    name: str
    split: str
    group: str
    category: str
    line: int


_RowReader: TypeAlias = Callable[[Sequence[str], int], ClipRow]


def read_rows(path: Path, problems: Problems, reader_of: Callable[[Sequence[str]], _RowReader]) -> tuple[ClipRow, ...]:
    """Read a table, ids unique, in the order of the file; rows that cannot be used go to ``problems``.

    ``reader_of`` gets the heading, in lower case, and gives what reads a row in a line.
    """
    rows: dict[str, ClipRow] = {}
    reader: _RowReader | None = None
    with required_file(path):
        for line, cells in table_rows(path, max_bytes=MAX_TABLE_BYTES, expected="a CSV table"):
            if not any(cell.strip() for cell in cells):
                continue
            if reader is None:
                reader = reader_of([cell.strip().casefold() for cell in cells])
                continue
            with problems.skipping(path, line=line):
                row = reader(cells, line)
                first = rows.setdefault(row.id, row)
                if first is not row:
                    raise InputError(
                        f"the clip {shown(row.id)} is there twice; the first, in line {first.line}, is kept",
                        expected="one row a clip",
                        hint="drop one of the two",
                    )
        if reader is None:
            reader_of([])  # which refuses an empty table
    return tuple(rows.values())


class _Bench(ListedPart):
    """A table and its clips on disk, and what was found out about them."""

    title: str

    def __init__(self, table: Path, folders: Folders, *, rows: tuple[ClipRow, ...], problems: Problems) -> None:
        self.table, self.folders, self.rows, self.problems = table, folders, rows, problems
        self.notes = []

    @abstractmethod
    def moments(self, row: ClipRow) -> tuple[Moment, ...]:
        """The frames of a clip; what is missing of it is noted."""

    @abstractmethod
    def sound(self, row: ClipRow) -> Path | None:
        """The sound of a clip, where there is one."""

    def number(self, place: int, moment: Moment) -> int:
        """The number of a frame in ids; ``place`` counts the frames that are there, from 0."""
        del moment
        return place

    def items(self) -> Iterator[Item]:
        """Every frame that has a mask, all that sounds as the candidate."""
        for instance in self.instances():
            for place, moment in enumerate(instance.moments):
                if moment.target is not None:
                    yield Item(
                        id=f"{instance.id}/{self.number(place, moment)}",
                        frame=moment.frame,
                        mask=moment.target,
                        clip=instance.clip,
                        time_s=moment.time_s,
                        audio=instance.sound,
                        extra={"split": instance.split, "category": instance.category},
                        source=instance.source,
                        line=instance.line,
                    )

    def instances(self) -> Iterator[Instance]:
        """Every clip that has a frame and its mask, in the order of the table; then notes on what was left out."""
        unusable = silent = 0
        for row in self.rows:
            try:
                moments = self.moments(row)
            except InputError as error:
                self.problems.add(error, self.table, line=row.line)
                moments = ()
            if not any(moment.target for moment in moments):
                unusable += 1
                continue
            sound = self.sound(row)
            silent += sound is None
            yield Instance(
                id=row.id,
                clip=row.name,
                query=Query(None),
                moments=moments,
                split=row.split,
                category=row.category,
                sound=sound,
                source=self.table,
                line=row.line,
            )
        if self.rows:
            splits = ", ".join(f"{name} {count}" for name, count in Counter(row.split for row in self.rows).items())
            self.notes.append(f"{self.title}: {counted(len(self.rows), 'clip')}: {splits}")
        for count, words in ((unusable, "without a single frame and mask left out"), (silent, "without a sound file")):
            if count:
                self.notes.append(f"{self.title}: {counted(count, 'clip')} {words}")

    def report_missing(self, path: Path, names: Mapping[int, str], present: Iterable[int], *, noun: str) -> None:
        """Note what of the named files of a clip, by their numbers, is not present."""
        bare = [name for number, name in names.items() if number not in present]
        stage = {"frame": "frames", "mask": "truth"}[noun] if len(bare) < len(names) else "read"
        self.problems.miss(path, bare, noun=noun, stage=stage, of=len(names))


# --- AVSBench-semantic ---


class _SemanticBench(_Bench):
    title = "AVSBench-semantic"

    def moments(self, row: ClipRow) -> tuple[Moment, ...]:
        home = f"{row.group}/{row.name}"
        kind = next((name for name in _LABELS if is_folder(self.folders.path(f"{home}/{name}"))), _LABELS[0])
        seconds = range(_FRAMES_OF[row.group])
        masked = seconds[:1] if row.group == "v1s" and row.split == "train" else seconds
        frames = {number: self.folders.path(f"{home}/frames/{number}.jpg") for number in seconds}
        masks = {number: self.folders.path(f"{home}/{kind}/{number}.png") for number in seconds}
        for paths, numbers, noun in ((frames, seconds, "frame"), (masks, masked, "mask")):
            present = {number for number in numbers if is_file(paths[number])}
            self.report_missing(paths[0].parent, {number: paths[number].name for number in numbers}, present, noun=noun)
        return tuple(
            Moment(
                frame=frame,
                target=MaskRef(path=masks[number], classes=CLASSES) if is_file(masks[number]) else None,
                time_s=float(number),
            )
            for number, frame in frames.items()
            if is_file(frame)
        )

    def sound(self, row: ClipRow) -> Path | None:
        path = self.folders.path(f"{row.group}/{row.name}/audio.wav")
        return path if is_file(path) else None


def _check_labels(path: Path) -> None:
    """Refuse other classes than the release's, since every number depends on which of them is the background."""
    labels: Any = fields.load(path, max_bytes=MAX_TABLE_BYTES)
    numbers = sorted(labels.values()) if isinstance(labels, Mapping) and _all_integers(labels.values()) else []
    if numbers != list(range(CLASSES)) or labels.get("background") != 0:
        raise InputError(
            f"it holds {len(numbers)} classes, and the background is not 0" if numbers else "it holds no classes",
            expected=f"{CLASSES} classes from 0 to {CLASSES - 1}, and 0 the background",
            path=path,
        )


def _all_integers(values: Any) -> bool:
    return all(type(value) is int for value in values)


def _semantic_reader(head: Sequence[str]) -> _RowReader:
    def read(cells: Sequence[str], line: int) -> ClipRow:
        values = dict(zip(head, cells, strict=False))
        if not values.keys() >= set(_COLUMNS):
            raise InputError(f"the row has {counted(len(values), 'cell')}", expected="as many as the heading")
        uid, label, split = (check_name(values[name].strip()) for name in _COLUMNS)
        if label not in _FRAMES_OF:
            raise InputError(f"the label is {shown(label)}", expected=f"one of: {', '.join(_FRAMES_OF)}")
        name, sounding = check_id(f"{split}/{label}/{uid}"), values.get("a_obj", "").strip()
        return ClipRow(id=name, name=uid, split=split, group=label, category=sounding, line=line)

    return read


# --- s4 and ms3 ---

_NAMES = ("name", "video_name", "video_id", "vid", "video", "uid")
_SPLIT, _CATEGORY = "split", "category"
_CATEGORY_AT = 2
_COUNT = 5
_TAKEN_S = 15 / 16
_NUMBER = re.compile(r"_([1-9][0-9]{0,3})\.[A-Za-z]+$")
_FRAMES, _MASKS, _SOUNDS = "visual_frames", "gt_masks", "audio_wav"


def _reader(head: Sequence[str], *, categories: bool) -> _RowReader:
    """What reads the rows of s4, whose clips stand in folders of ``categories``, or of ms3.

    The first column is the name and, of s4, the third the category, unless the heading says otherwise; the split is
    found by its heading.
    """
    if _SPLIT not in head:
        raise InputError(f"the heading is {shown(','.join(head))}", expected="columns name, split and, of s4, category")
    if categories and _CATEGORY not in head and len(head) <= _CATEGORY_AT:
        raise InputError("there is no column category", expected="name, ..., category, split")
    index_of = {
        "name": next((head.index(word) for word in _NAMES if word in head), 0),
        "split": head.index(_SPLIT),
        "category": head.index(_CATEGORY) if _CATEGORY in head else _CATEGORY_AT,
    }

    def read(cells: Sequence[str], line: int) -> ClipRow:
        if len(cells) != len(head):
            count, expected = counted(len(cells), "cell"), f"{len(head)}, as the heading"
            raise InputError(f"the row has {count}", expected=expected, hint="correct the row")
        name, split = (check_name(cells[index_of[key]].strip()) for key in ("name", "split"))
        category = check_name(cells[index_of["category"]].strip()) if categories else ""
        clip_id = check_id("/".join(filter(None, (split, category, name))))
        return ClipRow(id=clip_id, name=name, split=split, group=category, category=category, line=line)

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subset:
    """``s4`` or ``ms3``: the folder around it as released, its table and media, and whether clips are in categories."""

    title: str
    folder: str
    table: str
    data: str
    categories: bool


_SUBSETS = (
    _Subset(title="s4", folder="Single-source", table="s4_meta_data.csv", data="s4_data", categories=True),
    _Subset(title="ms3", folder="Multi-sources", table="ms3_meta_data.csv", data="ms3_data", categories=False),
)


class _SubsetBench(_Bench):
    def __init__(self, kind: _Subset, folders: Folders, *, rows: tuple[ClipRow, ...], problems: Problems) -> None:
        super().__init__(folders.source / kind.table, folders, rows=rows, problems=problems)
        self.kind, self.title = kind, kind.title

    def number(self, place: int, moment: Moment) -> int:
        """The number in the file's name, from 1."""
        return place if moment.time_s is None else 1 + int(moment.time_s)

    def moments(self, row: ClipRow) -> tuple[Moment, ...]:
        trees = self._tree(_FRAMES, row), self._tree(_MASKS, row)
        self.problems.take(remarks(*trees))
        frames, masks = (
            _numbered(tree, kind) for tree, kind in zip(trees, (FRAME_SUFFIXES, MASK_SUFFIXES), strict=True)
        )
        seconds = range(1, _COUNT + 1)  # of s4 in training the first has a mask only
        masked = seconds[:1] if self.kind.categories and row.split == "train" else seconds
        for top, numbers, files, noun in ((_FRAMES, seconds, frames, "frame"), (_MASKS, masked, masks, "mask")):
            path = self.folders.source / self.kind.data / top / row.split / row.category / row.name
            self.report_missing(path, {number: f"{row.name}_{number}.png" for number in numbers}, files, noun=noun)
        return tuple(
            Moment(
                frame=frame,
                target=MaskRef(path=masks[number], positive=True) if number in masks else None,
                time_s=number - 1 + _TAKEN_S,
            )
            for number, frame in frames.items()
        )

    def sound(self, row: ClipRow) -> Path | None:
        return self._path(_SOUNDS, row, ending=".wav")

    def _tree(self, top: str, row: ClipRow) -> Tree:
        path = self._path(top, row)
        return Tree(self.folders.source, {}) if path is None else walk(path, root=self.folders.base)

    def _path(self, top: str, row: ClipRow, *, ending: str = "") -> Path | None:
        """A clip's folder, or its file: under split and category, under the split, or at once."""
        for above in dict.fromkeys([f"{row.split}/{row.category}", row.split, row.category, ""]):
            path = self.folders.path("/".join(filter(None, (self.kind.data, top, above.strip("/"), row.name + ending))))
            if is_file(path) if ending else is_folder(path):
                return path
        return None


def _numbered(tree: Tree, suffixes: frozenset[str]) -> dict[int, Path]:
    """The files of a clip that end in a number, by that number."""
    by_number: dict[int, Path] = {}
    for name, path in tree.files.items():
        match = _NUMBER.search(name)
        if match and "/" not in name and suffix(name) in suffixes:
            by_number.setdefault(int(match[1]), path)
    return dict(sorted(by_number.items()))


class AvsBenchDataset(ReferringLayout):
    """Clips whose sound says what is meant."""

    name = "datasets.avsbench.v1"
    marked_by = (SEMANTIC, *(f"{home}{kind.table}" for kind in _SUBSETS for home in ("", f"{kind.folder}/")))
    meta = Metadata(
        summary="AVSBench s4 and ms3: s4_meta_data.csv with s4_data/, ms3_meta_data.csv with ms3_data/; and -semantic",
        goal="lists clips with the masks of everything that sounds",
        modality="video",
        source="Zhou et al. 2022 (AVSBench, ECCV), release OpenNLPLab/AVSBench",
        truth="gt_masks/: any value above 0; of -semantic labels_semantic/ or labels_rgb/: 70 classes",
    )
    described_as = "AVSBench"

    def matches(self, source: Path) -> bool:
        """Whether it holds a table of one of the subsets."""
        return bool(_homes(source)) or is_semantic(source)

    def open(self, source: Path, options: ListOptions, problems: Problems) -> Sequence[_Bench]:
        """Read the tables of the subsets that are there."""
        if is_semantic(source):
            table, labels = source / SEMANTIC, source / LABELS
            files = [path for path in (table, labels) if is_file(path)]
            folders = Folders(source, self.check(source, options, files=files, folders=[source]))
            if labels in files:
                _check_labels(labels)
            rows = read_rows(table, problems, _semantic_reader)
            return [_SemanticBench(table, folders, rows=rows, problems=problems)]
        benches = []
        for kind, home in _homes(source):
            media = home / kind.data
            tops = (home, media, *(media / name for name in (_FRAMES, _MASKS, _SOUNDS)))
            base = self.check(source, options, files=[home / kind.table], folders=tops)
            rows = read_rows(home / kind.table, problems, partial(_reader, categories=kind.categories))
            benches.append(_SubsetBench(kind, Folders(home, base), rows=rows, problems=problems))
        return benches


def _homes(source: Path) -> list[tuple[_Subset, Path]]:
    """The subsets that a folder holds, each with the folder its table stands in."""
    candidates = ((kind, home) for kind in _SUBSETS for home in (source, source / kind.folder))
    return [(kind, home) for kind, home in candidates if is_file(home / kind.table)]


DATASET = AvsBenchDataset()
