"""Error maps: signed levels on a grid over part of a frame, as arrays, as JSON, and painted at the frame's size."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.types import Box, ErrorMap

LEVELS: Final = 7
"""Steps on each side of 0."""

_MOST_SIDE: Final = 512
_FARTHEST: Final = 1 << 24

Signed = NDArray[np.float32]


def error_map_of(values: Signed, box: Box) -> ErrorMap:
    """An error map of values (n, n) in [-1, 1], over a box of the frame, which may reach beyond it."""
    levels = np.clip(np.rint(values * LEVELS), -LEVELS, LEVELS).astype(np.int8)
    return ErrorMap(box=box, side=int(values.shape[0]), levels=levels.tobytes())


def values_of(error_map: ErrorMap) -> Signed:
    """The grid's values, float32 (n, n) in [-1, 1]."""
    levels = np.frombuffer(error_map.levels, dtype=np.int8).reshape(error_map.side, error_map.side)
    return (levels / np.float32(LEVELS)).astype(np.float32)


def painted(error_map: ErrorMap, size: tuple[int, int]) -> Signed:
    """The map at the size (height, width) of its frame, float32 in [-1, 1], 0 outside the grid."""
    import cv2  # reading a record needs no pictures

    height, width = size
    x0, y0, x1, y1 = error_map.box
    scale_x, scale_y = (x1 - x0) / error_map.side, (y1 - y0) / error_map.side
    matrix = np.array(
        [[scale_x, 0.0, x0 + scale_x / 2 - 0.5], [0.0, scale_y, y0 + scale_y / 2 - 0.5]], dtype=np.float64
    )
    return np.asarray(
        cv2.warpAffine(values_of(error_map), matrix, (width, height), flags=cv2.INTER_LINEAR), dtype=np.float32
    )


def to_json(error_map: ErrorMap) -> dict[str, Any]:
    """The map as JSON values, some hundred bytes."""
    packed = base64.b64encode(zlib.compress(error_map.levels, 6)).decode("ascii")
    return {"box": list(error_map.box), "side": error_map.side, "levels": packed}


def from_json(value: object) -> ErrorMap:
    """Read what ``to_json`` wrote; every field is checked, since the record may come from anyone."""
    if not isinstance(value, Mapping):
        raise _wrong("is no object but", value)
    box, side, packed = value.get("box"), value.get("side"), value.get("levels")
    if type(side) is not int or not 0 < side <= _MOST_SIDE:
        raise _wrong("has side", side)
    if not isinstance(box, list) or len(box) != 4 or not all(type(e) is int and abs(e) < _FARTHEST for e in box):
        raise _wrong("has box", box)
    if box[0] >= box[2] or box[1] >= box[3]:
        raise _wrong("has box", box)
    return ErrorMap(box=(box[0], box[1], box[2], box[3]), side=side, levels=_unpacked(packed, side * side))


def _unpacked(packed: object, count: int) -> bytes:
    if not isinstance(packed, str) or len(packed) > 2 * count + 64:
        raise _wrong("has levels", str(packed)[:40])
    reader = zlib.decompressobj()
    try:
        levels = reader.decompress(base64.b64decode(packed, validate=True), count + 1)
    except (zlib.error, binascii.Error, ValueError) as error:
        raise _wrong("has levels", packed[:40]) from error
    if len(levels) != count or np.abs(np.frombuffer(levels, dtype=np.int8).astype(np.int16)).max() > LEVELS:
        raise _wrong("has levels", packed[:40])
    return levels


def _wrong(problem: str, value: object) -> InputError:
    return InputError(
        f"an error map {problem} {str(value)[:80]!r}",
        expected='{"box": [x0, y0, x1, y1], "side": cells, "levels": packed signed bytes}',
    )
