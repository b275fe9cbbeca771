"""``auscult act export``: masks of a record in the formats of other tools, from the record alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from auscult.act.export.formats import FORMATS
from auscult.act.export.masks import ExportedFrame, ExportedMask, Piece, Tally, label_of, safe_path
from auscult.act.filter import select
from auscult.cases.ids import counted, natural_key, shown
from auscult.cases.walk import is_folder
from auscult.errors import AuscultError, OutputError, RecordError, UsageError
from auscult.jobs.act import ANOTHER_OUT, judged_rows, out_folder, require_ours
from auscult.jobs.finish import exported
from auscult.jobs.options import ExportOptions
from auscult.jobs.runner import Progress, Silent
from auscult.media.paths import inside, read_bytes, write_bytes
from auscult.record.codec import dump
from auscult.record.manifest import section
from auscult.record.reader import DAMAGED, Run

SUMMARY: Final = "auscult-export.json"
"""The summary, beside what was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written."""

    format: str
    masks: int  # how many were to be written
    frames: int
    classes: tuple[str, ...]
    mean_iou: float | None  # of what was written with the masks, 0..1; None where the format holds every pixel
    least_iou: float | None
    left_out: Mapping[str, int]  # reason to how many masks
    renamed: int  # frames whose names no file system or label file can have
    pictures: int | None  # how many were copied; None where none was asked for
    missing: int  # how many of them are not in their folder
    frames_root: str  # the folder that the record names frames from; empty where it does not say
    out: Path

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {"command": "act export", **asdict(self), "out": str(self.out)}

    @property
    def sentences(self) -> list[str]:
        """The same in words, the loss among them."""
        lost = sum(self.left_out.values())
        lines = [f"{self.masks - lost} of {counted(self.masks, 'mask')} on {counted(self.frames, 'frame')} written"]
        if not self.masks:
            lines.append("no mask has such an action: name others with --action")
        elif self.mean_iou is None:
            lines.append("every pixel is kept")
        else:
            lines.append(
                f"the format keeps a mean IoU of {self.mean_iou:.4f} with the masks, {self.least_iou:.4f} at least"
            )
        lines += [f"{count} left out: {reason}" for reason, count in self.left_out.items()]
        if self.renamed:
            lines.append(f"{counted(self.renamed, 'frame')} renamed, so that names are safe and no two are one")
        if self.pictures is not None:
            lines.append(f"{counted(self.pictures, 'picture')} copied, {self.missing} not found")
        if self.missing and self.frames_root:
            root = self.frames_root if self.frames_root.isprintable() else shown(self.frames_root)
            lines.append(f"the record names its pictures from {root}: give such a folder as --images")
        return lines


def export_record(options: ExportOptions, progress: Progress | None = None) -> Exported:
    """Write masks of a record for another tool; nothing is judged, and pictures are opened only to be copied."""
    if options.format not in FORMATS:
        hint = "`auscult act filter` writes COCO" if options.format == "coco" else ""
        raise UsageError(f"there is no format {options.format!r}", expected=", ".join(FORMATS), hint=hint)
    if options.images is not None and not is_folder(options.images):
        raise UsageError("--images names no folder", path=options.images, expected="the folder of the frames")
    out = out_folder(options.out, options.folder, ending=f"{options.format}-{'-'.join(options.actions)}")
    run, rows = judged_rows(options.folder)
    chosen = select(rows, actions=options.actions)
    require_ours(out, names=(), made_by="export")  # what an earlier export left would be taken for this one's
    tally = Tally(_classes(rows, run), pictures=options.images is not None)
    pictures: dict[str, str] = {}
    listener = progress or Silent()
    listener.stage("writing frames", len({str(row.get("frame")) for row in chosen}))
    frames = _stepping(frames_of(run, chosen, pictures=pictures), listener)
    _write(out, FORMATS[options.format].write(frames, tally))
    copied = Counter[bool]()
    if options.images is not None:
        for frame, picture in pictures.items():
            copied[_copied(options.images, frame, out / FORMATS[options.format].pictures / picture)] += 1
    done = Exported(
        format=options.format,
        masks=len(chosen),
        frames=len(pictures),
        classes=tuple(tally.classes),
        mean_iou=fmean(tally.ious) if tally.ious else None,
        least_iou=min(tally.ious, default=None),
        left_out=dict(tally.left_out),
        renamed=sum(picture != frame for frame, picture in pictures.items()),
        pictures=copied[True] if options.images is not None else None,
        missing=copied[False],
        frames_root=str(section(run.manifest, "inputs").get("frames_root") or ""),
        out=out,
    )
    write_bytes(out / SUMMARY, dump(done.as_json(), indent=2) + b"\n")
    return done


def _stepping(frames: Iterator[ExportedFrame], progress: Progress) -> Iterator[ExportedFrame]:
    for frame in frames:
        yield frame
        progress.step()


def record_frames(folder: Path, *, actions: Sequence[str] = ("accept",)) -> Iterator[ExportedFrame]:
    """The frames of a record with their masks of some actions, one after the other, for Python.

    Args:
        folder: A record of `auscult audit`.
        actions: Of these a mask has to have one.

    Yields:
        Frames in natural order; ``masks`` of each can be gone through once, before the next frame is asked for.
    """
    run, rows = judged_rows(folder)
    yield from frames_of(run, select(rows, actions=actions))


def frames_of(
    run: Run, rows: Sequence[Mapping[str, Any]], *, pictures: dict[str, str] | None = None
) -> Iterator[ExportedFrame]:
    """Rows of a record by frame, with their masks; ``pictures`` is filled with frames and their safe names."""
    by_frame: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_frame.setdefault(str(row.get("frame")), []).append(row)
    stems: set[str] = set()
    masks = exported([row for group in by_frame.values() for row in group], run)
    for frame, group in groupby(masks, key=lambda mask: mask.frame):
        exported_frame = _frame(safe_path(frame, stems), group)
        stems.add(exported_frame.stem)
        if pictures is not None:
            pictures[frame] = exported_frame.picture
        yield exported_frame


def _frame(picture: str, masks: Iterator[ExportedMask]) -> ExportedFrame:
    first = next(masks)
    size = (first.mask.shape[0], first.mask.shape[1])
    return ExportedFrame(picture, size, _of_one_size(chain([first], masks), size))


def _of_one_size(masks: Iterable[ExportedMask], size: tuple[int, int]) -> Iterator[ExportedMask]:
    for candidate in masks:
        if candidate.mask.shape != size:
            raise RecordError(
                f"the mask of {candidate.row['id']!r} is {candidate.mask.shape[0]} x {candidate.mask.shape[1]}, "
                f"another of its frame {size[0]} x {size[1]} (height x width)",
                expected="masks of one size on one frame",
                hint=DAMAGED,
            )
        yield candidate


def _classes(rows: Sequence[Mapping[str, Any]], run: Run) -> tuple[str, ...]:
    """The classes of all masks: in the order of the COCO file that was judged, others behind in natural order.

    All of the record, so that accepted masks and those to fix have the same numbers.
    """
    labels = {label_of(row) for row in rows}
    listed = run.header().get("categories")
    names = [row.get("name") for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    listed_labels = [name for name in names if isinstance(name, str) and name in labels]
    return tuple(dict.fromkeys((*listed_labels, *sorted(labels, key=natural_key))))


def _write(out: Path, pieces: Iterable[Piece]) -> None:
    """Write pieces below a folder, those of one name into one file in their order; no earlier file is touched."""
    started: set[Path] = set()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, group in groupby(pieces, key=itemgetter(0)):
            path = inside(out, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab" if path in started else "xb") as file:
                for _, data in group:
                    file.write(data)
            started.add(path)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=out, hint=ANOTHER_OUT) from error


def _copied(folder: Path, frame: str, target: Path) -> bool:
    """Copy a picture; False where it is not in the folder or cannot be read."""
    try:
        data = read_bytes(inside(folder, frame))
    except AuscultError:
        return False
    write_bytes(target, data)
    return True
