"""The training pack: frames as JPEG and masks as RLE in one file of at most 50 MiB, with everything training reads.

A pack travels to another machine alone. It holds other people's photographs under their own licences, so it is made
where the data is and never passed on.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from auscult.errors import InputError, OutputError
from auscult.media.rle import decode
from auscult.types import Frame, Mask

MOST_BYTES: Final = 50 << 20
SCHEMA: Final = 1
_INDEX: Final = "index.json"
_MOST_INDEX_BYTES: Final = 40 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFrame:
    """One frame of a pack.

    Attributes:
        source: ``coco``, ``davis`` or ``scenes``.
        part: ``train``, ``calibration`` or ``test``.
        cluster: Photograph, sequence or scene: what one interval's cluster is.
        jpeg: The encoded frame.
        objects: RLE of every object; no crowds.
        targets: Which of them may be asked for.
        real: Real models' masks: (model, index of the object, RLE).
        regions: RLE of regions of one look with an edge all round. They are no whole things, but their outlines are as
            right as any, and there are many more of them than annotated objects.
        before: Number of the frame before it in the pack, in video; None otherwise.
    """

    source: str
    part: str
    cluster: str
    jpeg: bytes = field(repr=False)
    objects: tuple[Mapping[str, Any], ...]
    targets: tuple[int, ...]
    real: tuple[tuple[str, int, Mapping[str, Any]], ...] = ()
    regions: tuple[Mapping[str, Any], ...] = ()
    before: int | None = None

    def frame(self) -> Frame:
        """Decode the frame, uint8 RGB (H, W, 3)."""
        found = cv2.imdecode(np.frombuffer(self.jpeg, np.uint8), cv2.IMREAD_COLOR_RGB)
        if found is None:
            raise InputError(f"a frame of {self.cluster} in the pack is no JPEG", expected="an undamaged pack")
        return np.asarray(found, dtype=np.uint8)

    def masks(self) -> tuple[Mask, ...]:
        """Decode the objects, each bool (H, W)."""
        return tuple(decode(rle) for rle in self.objects)


def write_pack(path: Path, frames: Iterable[PackedFrame]) -> int:
    """Write a pack.

    Returns:
        Its size in bytes.

    Raises:
        OutputError: It cannot be written, or is over 50 MiB; nothing is left behind then.
    """
    rows: list[dict[str, Any]] = []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for number, packed in enumerate(frames):
                name = f"frames/{number:05d}.jpg"
                archive.writestr(name, packed.jpeg)
                row = asdict(packed)
                del row["jpeg"]
                rows.append({**row, "file": name})
            archive.writestr(_INDEX, json.dumps({"schema": SCHEMA, "frames": rows}), compress_type=zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    size = path.stat().st_size
    if size > MOST_BYTES:
        path.unlink()
        raise OutputError(
            f"the pack would be {size / 2**20:.0f} MiB",
            expected=f"at most {MOST_BYTES >> 20} MiB",
            hint="make fewer scenes: --scenes",
            path=path,
        )
    return size


def read_pack(path: Path) -> tuple[PackedFrame, ...]:
    """Read a pack.

    Raises:
        InputError: It is missing, damaged, too large, or another schema's.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError("the pack is over 50 MiB", path=path)
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_INDEX).file_size > _MOST_INDEX_BYTES:
                raise InputError("the pack's index is too large", path=path)
            index = json.loads(archive.read(_INDEX))
            if index["schema"] != SCHEMA:
                raise InputError("the pack is of another version", path=path, hint="make it again")
            return tuple(_frame(archive, row) for row in index["frames"])
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the pack cannot be read: {error}",
            expected="the file that `auscult train compact-mask --pack` writes",
            path=path,
        ) from error


def _frame(archive: zipfile.ZipFile, row: Mapping[str, Any]) -> PackedFrame:
    name = str(row["file"])
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise ValueError(f"{name} is larger than the pack")
    return PackedFrame(
        source=str(row["source"]),
        part=str(row["part"]),
        cluster=str(row["cluster"]),
        jpeg=archive.read(name),
        objects=tuple(row["objects"]),
        targets=tuple(int(at) for at in row["targets"]),
        real=tuple((str(model), int(at), rle) for model, at, rle in row["real"]),
        regions=tuple(row["regions"]),
        before=None if row["before"] is None else int(row["before"]),
    )
