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
``<category>/``) are both read, since releases differ. The second version is in ``avsbench_semantic``.

Source: Zhou et al. 2022 (Audio-Visual Segmentation, ECCV), release OpenNLPLab/AVSBench, its loaders and scripts. The
media were not at hand; tests write trees of exactly this structure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from auscult.cases.datasets.avsbench_semantic import LABELS, SemanticBench, is_semantic
from auscult.cases.datasets.avsbench_semantic import TABLE as SEMANTIC
from auscult.cases.datasets.base import Folders, ListedPart, ReferringLayout, check_name, remarks
from auscult.cases.fields import table_rows
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import ListOptions
from auscult.cases.problems import Problems, required_file
from auscult.cases.walk import Tree, is_file, is_folder, suffix, walk
from auscult.errors import InputError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

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
