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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

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
_MOST_BYTES: Final = 64 * 1024 * 1024
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
class _Row:
    id: str
    uid: str
    label: str  # v1s, v1m or v2
    split: str
    classes: str  # what sounds, as the table has it: names joined by _
    line: int


@dataclass(slots=True, kw_only=True)
class SemanticBench(ListedPart):
    """The data set on disk, and what was found out about it."""

    folders: Folders
    rows: tuple[_Row, ...]
    problems: Problems
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folders: Folders, problems: Problems) -> SemanticBench:
        """Read the table, and see that the classes are those of the release."""
        labels = folders.source / LABELS
        if is_file(labels):
            _check_labels(labels)
        return cls(folders=folders, rows=_read_rows(folders.source / SEMANTIC, problems), problems=problems)

    def items(self) -> Iterator[Item]:
        """Every frame that has a mask, all that sounds as the candidate."""
        for one in self.instances():
            for number, moment in enumerate(one.moments):
                if moment.target is not None:
                    yield Item(
                        id=f"{one.id}/{number}",
                        frame=moment.frame,
                        mask=moment.target,
                        clip=one.clip,
                        time_s=moment.time_s,
                        audio=one.sound,
                        extra={"split": one.split, "category": one.category},
                        source=one.source,
                        line=one.line,
                    )

    def instances(self) -> Iterator[Instance]:
        """Every clip that has a frame and a mask, in the order of the table."""
        lost = 0
        for row in self.rows:
            try:
                moments = self._moments(row)
            except InputError as error:
                self.problems.add(error, self.folders.source / SEMANTIC, line=row.line)
                moments = ()
            if not any(moment.target for moment in moments):
                lost += 1
                continue
            sound = self.folders.path(f"{row.label}/{row.uid}/audio.wav")
            yield Instance(
                id=row.id,
                clip=row.uid,
                query=Query(None),
                moments=moments,
                split=row.split,
                category=row.classes,
                sound=sound if is_file(sound) else None,
                source=self.folders.source / SEMANTIC,
                line=row.line,
            )
        if self.rows:
            splits = ", ".join(f"{name} {count}" for name, count in Counter(row.split for row in self.rows).items())
            self.notes.append(f"AVSBench-semantic: {counted(len(self.rows), 'clip')}: {splits}")
        if lost:
            self.notes.append(f"{counted(lost, 'clip')} without a single frame and mask left out")

    def _moments(self, row: _Row) -> tuple[Moment, ...]:
        home = f"{row.label}/{row.uid}"
        kind = next((name for name in _LABELS if is_folder(self.folders.path(f"{home}/{name}"))), _LABELS[0])
        every = range(_FRAMES_OF[row.label])
        drawn = every[:1] if row.label == "v1s" and row.split == "train" else every
        frames = {number: self.folders.path(f"{home}/frames/{number}.jpg") for number in every}
        masks = {number: self.folders.path(f"{home}/{kind}/{number}.png") for number in every}
        for paths, numbers, noun, stage in ((frames, every, "frame", "frames"), (masks, drawn, "mask", "truth")):
            bare = [paths[number].name for number in numbers if not is_file(paths[number])]
            lost = len(bare) == len(numbers)
            self.problems.miss(paths[0].parent, bare, noun=noun, stage="read" if lost else stage, of=len(numbers))
        return tuple(
            Moment(
                frame=frame,
                target=MaskRef(path=masks[number], classes=CLASSES) if is_file(masks[number]) else None,
                time_s=float(number),
            )
            for number, frame in frames.items()
            if is_file(frame)
        )


def _check_labels(path: Path) -> None:
    """Refuse other classes than the release's, since every number depends on which of them is the background."""
    labels: Any = fields.load(path, max_bytes=_MOST_BYTES)
    numbers = sorted(labels.values()) if isinstance(labels, Mapping) and _whole(labels.values()) else []
    if numbers != list(range(CLASSES)) or labels.get("background") != 0:
        raise InputError(
            f"it holds {len(numbers)} classes, and the background is not 0" if numbers else "it holds no classes",
            expected=f"{CLASSES} classes from 0 to {CLASSES - 1}, and 0 the background",
            path=path,
        )


def _whole(values: Any) -> bool:
    return all(type(value) is int for value in values)


def _read_rows(path: Path, problems: Problems) -> tuple[_Row, ...]:
    rows: dict[str, _Row] = {}
    head: Sequence[str] = ()
    with required_file(path):
        for line, cells in table_rows(path, max_bytes=_MOST_BYTES, expected="a CSV table"):
            if not any(cell.strip() for cell in cells):
                continue
            if not head:
                head = [cell.strip().casefold() for cell in cells]
                continue
            with problems.skipping(path, line=line):
                row = _semantic_row(dict(zip(head, cells, strict=False)), line=line)
                if rows.setdefault(row.id, row) is not row:
                    raise InputError(
                        f"the clip {shown(row.id)} is there twice; the first, in line {rows[row.id].line}, is kept",
                        expected="one row a clip",
                        hint="drop one of the two",
                    )
    return tuple(rows.values())


def _semantic_row(cells: Mapping[str, str], *, line: int) -> _Row:
    if not cells.keys() >= set(_COLUMNS):
        raise InputError(f"the row has {counted(len(cells), 'cell')}", expected="as many as the heading")
    uid, label, split = (check_name(cells[name].strip()) for name in _COLUMNS)
    if label not in _FRAMES_OF:
        raise InputError(f"the label is {shown(label)}", expected=f"one of: {', '.join(_FRAMES_OF)}")
    return _Row(
        id=check_id(f"{split}/{label}/{uid}"),
        uid=uid,
        label=label,
        split=split,
        classes=cells.get("a_obj", "").strip(),
        line=line,
    )


MAX_TABLE_BYTES: Final = 64 * 1024 * 1024

_NAMES = ("name", "video_name", "video_id", "vid", "video", "uid")
_SPLIT, _CATEGORY = "split", "category"
_CATEGORY_AT = 2
_COUNT = 5
_TAKEN_S = 15 / 16
_NUMBER = re.compile(r"_([1-9][0-9]{0,3})\.[A-Za-z]+$")
_FRAMES, _MASKS, _SOUNDS = "visual_frames", "gt_masks", "audio_wav"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRow:
    """A row of a table: a clip, its split (``train``, ``val`` or ``test``) and what sounds, where the table says it."""

    id: str
    name: str
    split: str
    category: str
    line: int


def read_rows(path: Path, problems: Problems, *, categories: bool) -> tuple[ClipRow, ...]:
    """Read a table, ids unique, in the order of the file; rows that cannot be used go to ``problems``.

    The first column is the name and, where clips stand in folders of ``categories`` as in s4, the third the category,
    unless the heading says otherwise; the split is found by its heading.
    """
    rows: dict[str, ClipRow] = {}
    columns: tuple[int, int, int | None] | None = None
    width = 0
    with required_file(path):
        for line, cells in table_rows(path, max_bytes=MAX_TABLE_BYTES, expected="a CSV table"):
            if not any(cell.strip() for cell in cells):
                continue
            if columns is None:
                width = len(cells)
                columns = _columns([cell.strip().casefold() for cell in cells], categories=categories)
                continue
            with problems.skipping(path, line=line):
                row = _row(cells, columns, line=line, width=width)
                first = rows.setdefault(row.id, row)
                if first is not row:
                    raise InputError(
                        f"the clip {shown(row.id)} is there twice; the first, in line {first.line}, is kept",
                        expected="one row a clip",
                        hint="drop one of the two",
                    )
        if columns is None:
            _columns([], categories=categories)  # which refuses an empty table
    return tuple(rows.values())


def _columns(head: Sequence[str], *, categories: bool) -> tuple[int, int, int | None]:
    """Where name, split and category stand."""
    if _SPLIT not in head:
        raise InputError(f"the heading is {shown(','.join(head))}", expected="columns name, split and, of s4, category")
    name = next((head.index(word) for word in _NAMES if word in head), 0)
    if not categories:
        return name, head.index(_SPLIT), None
    if _CATEGORY not in head and len(head) <= _CATEGORY_AT:
        raise InputError("there is no column category", expected="name, ..., category, split")
    return name, head.index(_SPLIT), head.index(_CATEGORY) if _CATEGORY in head else _CATEGORY_AT


def _row(cells: Sequence[str], columns: tuple[int, int, int | None], *, line: int, width: int) -> ClipRow:
    if len(cells) != width:
        raise InputError(
            f"the row has {counted(len(cells), 'cell')}", expected=f"{width}, as the heading", hint="correct the row"
        )
    name, split, category = ("" if at is None else check_name(cells[at].strip()) for at in columns)
    return ClipRow(
        id=check_id("/".join(filter(None, (split, category, name)))),
        name=name,
        split=split,
        category=category,
        line=line,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subset:
    """``s4`` or ``ms3``: what the release calls the folder around it, and whether clips stand in categories."""

    title: str
    folder: str
    categories: bool

    @property
    def table(self) -> str:
        return f"{self.title}_meta_data.csv"

    @property
    def data(self) -> str:
        return f"{self.title}_data"


_SUBSETS = (
    _Subset(title="s4", folder="Single-source", categories=True),
    _Subset(title="ms3", folder="Multi-sources", categories=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClipFiles:
    """The files of a clip by frame number, from 1."""

    row: ClipRow
    frames: Mapping[int, Path]
    masks: Mapping[int, MaskRef]
    sound: Path | None


@dataclass(slots=True, kw_only=True)
class _AvsBench(ListedPart):
    """A subset on disk, and what was found out about it."""

    kind: _Subset
    folders: Folders
    rows: tuple[ClipRow, ...]
    problems: Problems
    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def items(self) -> Iterator[Item]:
        """Every frame that has a mask, its true mask as the candidate."""
        for clip in self.clips():
            for number in sorted(clip.frames.keys() & clip.masks.keys()):
                yield Item(
                    id=f"{clip.row.id}/{number}",
                    frame=clip.frames[number],
                    mask=clip.masks[number],
                    clip=clip.row.name,
                    time_s=_time_s(number),
                    audio=clip.sound,
                    extra={"split": clip.row.split, "category": clip.row.category},
                    source=self.table,
                    line=clip.row.line,
                )

    def instances(self) -> Iterator[Instance]:
        """Every clip that has a frame and a mask, in the order of the table."""
        for clip in self.clips():
            yield Instance(
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
                source=self.table,
                line=clip.row.line,
            )

    @property
    def table(self) -> Path:
        return self.folders.source / self.kind.table

    def clips(self) -> Iterator[_ClipFiles]:
        """The clips that have a frame and its mask; then it is noted what there is, and what was left out."""
        for row in self.rows:
            try:
                clip = self._clip(row)
            except InputError as error:
                self.problems.add(error)
                self.counts["lost"] += 1
                continue
            self._report_missing(clip)
            if clip.frames.keys() & clip.masks.keys():
                self.counts["silent"] += clip.sound is None
                yield clip
            else:
                self.counts["lost"] += 1
        if self.rows:
            splits = Counter(row.split for row in self.rows)
            per_split = ", ".join(f"{name} {count}" for name, count in splits.items())
            self.notes.append(f"{self.kind.title}: {counted(len(self.rows), 'clip')}: {per_split}")
        for key, words in (("lost", "without a single frame and mask left out"), ("silent", "without a sound file")):
            if self.counts[key]:
                self.notes.append(f"{self.kind.title}: {counted(self.counts[key], 'clip')} {words}")

    def _clip(self, row: ClipRow) -> _ClipFiles:
        frames, masks = self._tree(_FRAMES, row), self._tree(_MASKS, row)
        self.problems.take(remarks(frames, masks))
        return _ClipFiles(
            row=row,
            frames=_numbered(frames, FRAME_SUFFIXES),
            masks={
                number: MaskRef(path=path, positive=True) for number, path in _numbered(masks, MASK_SUFFIXES).items()
            },
            sound=self._found(_SOUNDS, row, ending=".wav"),
        )

    def _tree(self, top: str, row: ClipRow) -> Tree:
        path = self._found(top, row)
        return Tree(self.folders.source, {}) if path is None else walk(path, root=self.folders.base)

    def _found(self, top: str, row: ClipRow, *, ending: str = "") -> Path | None:
        """A clip's folder, or its file: under split and category, under the split, or at once."""
        for above in dict.fromkeys([f"{row.split}/{row.category}", row.split, row.category, ""]):
            path = self.folders.path("/".join(filter(None, (self.kind.data, top, above.strip("/"), row.name + ending))))
            if is_file(path) if ending else is_folder(path):
                return path
        return None

    def _report_missing(self, clip: _ClipFiles) -> None:
        """One record for its frames, one for its masks, of which s4 has the first only in training."""
        row, every = clip.row, range(1, _COUNT + 1)
        drawn = (1,) if self.kind.categories and row.split == "train" else every
        for top, there, numbers, noun, stage in (
            (_FRAMES, clip.frames.keys(), every, "frame", "frames"),
            (_MASKS, clip.masks.keys(), drawn, "mask", "truth"),
        ):
            bare = [f"{row.name}_{number}.png" for number in numbers if number not in there]
            path = self.folders.source / self.kind.data / top / row.split / row.category / row.name
            self.problems.miss(path, bare, noun=noun, stage=stage if there else "read", of=len(numbers))


def _numbered(tree: Tree, suffixes: frozenset[str]) -> dict[int, Path]:
    """The files of a clip that end in a number, by that number."""
    found: dict[int, Path] = {}
    for name, path in tree.files.items():
        match = _NUMBER.search(name)
        if match and "/" not in name and suffix(name) in suffixes:
            found.setdefault(int(match[1]), path)
    return dict(sorted(found.items()))


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

    def open(self, source: Path, options: ListOptions, problems: Problems) -> Sequence[_AvsBench | SemanticBench]:
        """Read the tables of the subsets that are there."""
        if is_semantic(source):
            files = [path for path in (source / SEMANTIC, source / LABELS) if is_file(path)]
            base = self.check(source, options, files=files, folders=[source])
            return [SemanticBench.of(Folders(source, base), problems)]
        benches = []
        for kind, home in _homes(source):
            media = home / kind.data
            folders = (home, media, *(media / name for name in (_FRAMES, _MASKS, _SOUNDS)))
            base = self.check(source, options, files=[home / kind.table], folders=folders)
            rows = read_rows(home / kind.table, problems, categories=kind.categories)
            benches.append(_AvsBench(kind=kind, folders=Folders(home, base), rows=rows, problems=problems))
        return benches


def _homes(source: Path) -> list[tuple[_Subset, Path]]:
    """The subsets that a folder holds, each with the folder its table stands in."""
    candidates = ((kind, home) for kind in _SUBSETS for home in (source, source / kind.folder))
    return [(kind, home) for kind, home in candidates if is_file(home / kind.table)]


def _time_s(number: int) -> float:
    return number - 1 + _TAKEN_S


DATASET = AvsBenchDataset()
