"""AVSBench-semantic, the second version of AVSBench, as released: of all that sounds also the class, ten frames a clip.

::

    metadata.csv                              vid, uid, s_min, s_sec, a_obj, split, label: found by their heading
    label2idx.json                            {"background": 0, "accordion": 1, ..., "woman": 70}
    <label>/<uid>/frames/0.jpg ..             label is v1s (of s4), v1m (of ms3), five frames, or v2, ten frames
    <label>/<uid>/labels_semantic/0.png ..    a class each pixel; of v1s in train the first only
    <label>/<uid>/labels_rgb/0.png ..         the same in colours, read where labels_semantic/ is not there
    <label>/<uid>/audio.wav

INPUT is this folder. Each row is an instance without an expression: the sound asks. Classes are 0 to 70, and 0, black
in colours, is the background: ``label2idx.json`` says so, although the release's loss and its numbers without
background took 70 for it (its issue 23). Colours are PASCAL VOC's of the class. As a mask, all that is no background
is read.

Frame ``k`` is taken to be at second ``k``: the release says that there is one frame a second, and no more.

Source: Zhou et al. 2023 (Audio-Visual Segmentation with Semantics), release OpenNLPLab/AVSBench, ``avss/`` and its
loader. The media were not at hand; tests write trees of exactly this structure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from auscult.cases import fields
from auscult.cases.datasets.base import Folders, ListedPart, check_name
from auscult.cases.fields import table_rows
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.problems import Problems, required_file
from auscult.cases.walk import is_file, is_folder
from auscult.errors import InputError
from auscult.media.paths import open_regular
from auscult.types import Instance, Item, MaskRef, Moment, Query

TABLE: Final = "metadata.csv"
LABELS: Final = "label2idx.json"
CLASSES: Final = 71
_COLUMNS: Final = ("uid", "label", "split")
_FRAMES: Final = {"v1s": 5, "v1m": 5, "v2": 10}
_MASKS: Final = ("labels_semantic", "labels_rgb")
_MOST_BYTES: Final = 64 * 1024 * 1024
_HEAD_BYTES: Final = 4096


def is_semantic(source: Path) -> bool:
    """Whether a folder holds the table of AVSBench-semantic; cheap, and False for what cannot be read."""
    try:
        with open_regular(source / TABLE) as file:
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
        return cls(folders=folders, rows=_read_rows(folders.source / TABLE, problems), problems=problems)

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
                self.problems.add(error, self.folders.source / TABLE, line=row.line)
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
                source=self.folders.source / TABLE,
                line=row.line,
            )
        if self.rows:
            splits = ", ".join(f"{name} {count}" for name, count in Counter(row.split for row in self.rows).items())
            self.notes.append(f"AVSBench-semantic: {counted(len(self.rows), 'clip')}: {splits}")
        if lost:
            self.notes.append(f"{counted(lost, 'clip')} without a single frame and mask left out")

    def _moments(self, row: _Row) -> tuple[Moment, ...]:
        home = f"{row.label}/{row.uid}"
        kind = next((name for name in _MASKS if is_folder(self.folders.path(f"{home}/{name}"))), _MASKS[0])
        every = range(_FRAMES[row.label])
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
                row = _row(dict(zip(head, cells, strict=False)), line=line)
                if rows.setdefault(row.id, row) is not row:
                    raise InputError(
                        f"the clip {shown(row.id)} is there twice; the first, in line {rows[row.id].line}, is kept",
                        expected="one row a clip",
                        hint="drop one of the two",
                    )
    return tuple(rows.values())


def _row(cells: Mapping[str, str], *, line: int) -> _Row:
    if not cells.keys() >= set(_COLUMNS):
        raise InputError(f"the row has {counted(len(cells), 'cell')}", expected="as many as the heading")
    uid, label, split = (check_name(cells[name].strip()) for name in _COLUMNS)
    if label not in _FRAMES:
        raise InputError(f"the label is {shown(label)}", expected=f"one of: {', '.join(_FRAMES)}")
    return _Row(
        id=check_id(f"{split}/{label}/{uid}"),
        uid=uid,
        label=label,
        split=split,
        classes=cells.get("a_obj", "").strip(),
        line=line,
    )
