"""The strip: the picture along a mask's outlines, unrolled, with inside above and outside below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Box, Frame, Mask

DEPTH: Final = 24
LENGTH: Final = 256

_SIZE_PX: Final = 96.0  # the object's size on the patch that is read; a step across the outline is one pixel there
_MOST_PX: Final = 320
_MOST_ZOOM: Final = 4.0
_SMOOTH_PX: Final = 2.0
_LEAST_OUTLINE_PX: Final = 12
_MOST_OUTLINES: Final = 16
_GREY: Final = 128

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strip:
    """A strip and where it was read.

    Attributes:
        bytes: (5, 24, 256): red, green, blue, share inside the mask, 255 on outer outlines and 0 on those of holes.
        x: Columns of the frame that were read, float32 (24, 256), in pixels.
        y: Rows, likewise.
        step_px: Pixels of the frame between two steps across the outline.
    """

    bytes: Bytes
    x: Floats
    y: Floats
    step_px: float


def strip_of(frame: Frame, mask: Mask, box: Box) -> Strip:
    """Unroll the outlines of a mask.

    Args:
        frame: uint8 RGB (H, W, 3).
        mask: bool (H, W), not empty.
        box: The crop's box, in pixels of the frame; the whole mask lies inside.
    """
    height, width = mask.shape
    x0, y0, x1, y1 = max(box[0], 0), max(box[1], 0), min(box[2], width), min(box[3], height)
    inner = mask[y0:y1, x0:x1]
    size = float(np.sqrt(np.count_nonzero(inner)))
    scale = min(_SIZE_PX / size, _MOST_PX / max(inner.shape), _MOST_ZOOM)
    columns, rows = max(round((x1 - x0) * scale), 4), max(round((y1 - y0) * scale), 4)
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    picture = cv2.resize(frame[y0:y1, x0:x1], (columns, rows), interpolation=way)
    inside = cv2.resize(np.multiply(inner, np.uint8(255), dtype=np.uint8), (columns, rows), interpolation=way)
    patch = np.dstack([picture, inside])
    points, normals, outer = _outline(np.asarray(inside))
    across = np.arange(DEPTH, dtype=np.float32)[:, None] - np.float32((DEPTH - 1) / 2)
    x = points[None, :, 0] + across * normals[None, :, 0]
    y = points[None, :, 1] + across * normals[None, :, 1]
    read = cv2.remap(patch, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=(_GREY,) * 3 + (0,))
    flags = np.broadcast_to(outer, (DEPTH, LENGTH))
    made = np.concatenate([np.asarray(read, dtype=np.uint8).transpose(2, 0, 1), flags[None]])
    return Strip(
        bytes=made,
        x=((x + 0.5) * ((x1 - x0) / columns) - 0.5 + x0).astype(np.float32),
        y=((y + 0.5) * ((y1 - y0) / rows) - 0.5 + y0).astype(np.float32),
        step_px=(x1 - x0) / columns,
    )


def read_along(strip: Strip, mask: Mask) -> Bytes:
    """What another mask holds where a strip was read, (24, 256), 255 inside."""
    found = cv2.remap(
        np.multiply(mask, np.uint8(255), dtype=np.uint8),
        strip.x,
        strip.y,
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
    )
    return np.asarray(found, dtype=np.uint8)


def _outline(inside: Bytes) -> tuple[Floats, Floats, Bytes]:
    """Points along the outlines, their outward normals, each (256, 2), and which are on outer ones, (256,)."""
    padded = cv2.copyMakeBorder((inside >= _GREY).astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    smooth = cv2.GaussianBlur(padded.astype(np.float32), (0, 0), _SMOOTH_PX)
    found, order = cv2.findContours(padded, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    if not found:  # nothing reaches half a cell: one point in the middle, looked at from all sides
        return _round(inside.shape)
    lengths = np.array([len(line) for line in found])
    kept = [at for at in np.argsort(-lengths, kind="stable") if lengths[at] >= _LEAST_OUTLINE_PX][:_MOST_OUTLINES]
    kept = sorted(kept or [int(lengths.argmax())], key=lambda at: (order[0, at, 3] >= 0, -lengths[at]))
    line = np.concatenate([found[at][:, 0] for at in kept]).astype(np.float32)
    outer = np.concatenate([np.full(len(found[at]), 255 if order[0, at, 3] < 0 else 0, np.uint8) for at in kept])
    picked = ((np.arange(LENGTH) + 0.5) * (len(line) / LENGTH)).astype(np.intp)
    points = line[picked]
    column, row = points[:, 0].astype(np.intp), points[:, 1].astype(np.intp)
    slope_x = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=3)[row, column]
    slope_y = cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=3)[row, column]
    normals = -np.stack([slope_x, slope_y], axis=1)
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-6)
    # an outline's pixels lie inside an outer one and outside a hole's: the edge is half a pixel along the normal
    towards = np.where(outer[picked, None] > 0, np.float32(0.5), np.float32(-0.5))
    return (points - 1 + normals * towards).astype(np.float32), normals.astype(np.float32), outer[picked]


def _round(size: tuple[int, ...]) -> tuple[Floats, Floats, Bytes]:
    angle = np.linspace(0, 2 * np.pi, LENGTH, endpoint=False, dtype=np.float32)
    normals = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    middle = np.array([size[1] / 2 - 0.5, size[0] / 2 - 0.5], dtype=np.float32)
    return np.broadcast_to(middle, (LENGTH, 2)).copy(), normals, np.full(LENGTH, 255, np.uint8)
