"""What is handed over: masks of a record with the rows of their verdicts, and what every exporter does with them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from auscult.arrays.outlines import joined, outlines
from auscult.arrays.overlap import iou
from auscult.media.masks import rasterize
from auscult.media.paths import safe_name
from auscult.media.rle import Runs
from auscult.types import Doubles, Mask

JsonRow: TypeAlias = Mapping[str, Any]

OBJECT = "object"
"""The class of a mask of which none is known."""

ESTIMATES = ("iou", "iou_low", "iou_high", "prob_iou_80", "defect", "action", "rationale", "judge")
"""What a verdict says of a mask, by the keys of its line."""


@dataclass(frozen=True, slots=True, eq=False)
class ExportedMask:
    """One mask to hand over."""

    row: JsonRow  # a line of ``verdicts.jsonl``
    drawn: Mask | Runs  # bool (H, W), or its runs
    frame: str  # the picture's file name, as the record has it, with / between its parts

    @property
    def mask(self) -> Mask:
        """The mask, bool (H, W); drawn anew each time where it is given as runs."""
        return self.drawn.mask if isinstance(self.drawn, Runs) else self.drawn

    @property
    def runs(self) -> Runs:
        """The runs of the mask."""
        return self.drawn if isinstance(self.drawn, Runs) else Runs.of(self.drawn)

    @property
    def extra(self) -> JsonRow:
        """Keys of INPUT that stayed with the item."""
        value = self.row.get("extra")
        return value if isinstance(value, Mapping) else {}

    @property
    def score(self) -> float | None:
        """The model's own score of its mask; None where INPUT has none."""
        values = (self.row.get("model_score"), self.extra.get("score"))
        numbers = (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
        return next(map(float, numbers), None)

    @property
    def label(self) -> str:
        """The name of its class."""
        return label_of(self.row)


def label_of(row: JsonRow) -> str:
    """The class of a row's mask, on one line, without control characters; ``OBJECT`` where none is known."""
    extra = row.get("extra")
    category = extra.get("category") if isinstance(extra, Mapping) else None
    return (one_line(category) if isinstance(category, str) else "") or OBJECT


def one_line(text: str) -> str:
    """A text on one line, without control, format and surrogate characters, at most 200 characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text[:200]).strip()


def estimate(row: JsonRow) -> dict[str, Any]:
    """What auscult says of a mask, as one object: id, estimate, interval, defect, action, reason, judge."""
    return {"item": row.get("id"), **{key: row[key] for key in ESTIMATES if row.get(key) is not None}}


@dataclass(frozen=True, slots=True, eq=False)
class ExportedFrame:
    """A picture and its masks, which are decoded one by one as they are asked for, once."""

    picture: str  # the file name that the picture has, or is to have, with / between its parts; safe
    size: tuple[int, int]  # (height, width)
    masks: Iterable[ExportedMask]

    @property
    def stem(self) -> str:
        """The file name without its ending."""
        return str(PurePosixPath(self.picture).with_suffix(""))


@dataclass(slots=True)
class Tally:
    """Classes for an exporter, and its counts of what became of the masks."""

    classes: Sequence[str]
    pictures: bool = False  # whether the pictures lie beside what is written
    ious: list[float] = field(default_factory=list)  # of what was written with each mask, where not exact
    left_out: Counter[str] = field(default_factory=Counter)  # reason to how many masks


Piece: TypeAlias = tuple[str, bytes]
"""A file name in the output folder and content, which goes behind what earlier pieces of that name hold."""

Exporter: TypeAlias = Callable[[Iterable[ExportedFrame], Tally], Iterator[Piece]]


def polygon_of(mask: Mask, tally: Tally) -> Doubles | None:
    """One polygon of a mask, (K, 2) of x, y in pixels, its parts and holes joined by slits; None for an empty mask."""
    polygons = outlines(mask)
    if not polygons:
        tally.left_out["nothing is segmented"] += 1
        return None
    polygon = joined(polygons)
    tally.ious.append(iou(rasterize([polygon.ravel().tolist()], size=mask.shape), mask))
    return polygon


def safe_path(frame: str, stems: Collection[str]) -> str:
    """A frame's name as a path that stays in its folder, with a stem that is none of ``stems``.

    Parts that a file system takes stay as they are, so that labels match the pictures of the same name.
    """
    parts = [part if _is_plain(part) else safe_name(part) for part in frame.split("/")[-_MOST_PARTS:]]
    path = PurePosixPath(*parts)
    if str(path.with_suffix("")) in stems:  # a.jpg and a.png would share one label file
        tag = hashlib.blake2b(frame.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        path = path.with_name(f"{path.stem}-{tag}{path.suffix}")
    return str(path)


_MOST_PARTS = 8
_MOST_BYTES = 200
_FOREIGN = frozenset('\\:*?"<>|')


def _is_plain(part: str) -> bool:
    safe = part.isprintable() and not part.startswith((".", "-", " ")) and not part.endswith((".", " "))
    return bool(part) and safe and not _FOREIGN & set(part) and len(part.encode()) <= _MOST_BYTES
