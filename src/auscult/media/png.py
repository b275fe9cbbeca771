"""A small PNG writer for masks: rows without prediction, packed by run length, which suits flat pictures.

It makes the bytes of a 480x854 mask about five times as fast as a general encoder does, and no larger.
"""

from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Mask

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY = 0
_INDEXED = 3


def mask_png(mask: Mask) -> bytes:
    """A mask, bool (H, W), as a 1-bit grey PNG: white is the object.

    Raises:
        ValueError: The array is not bool (H, W) with at least one pixel.
    """
    if mask.ndim != 2 or mask.dtype != np.bool_ or mask.size == 0:
        raise ValueError(f"a mask is bool (H, W), not {mask.dtype} {mask.shape}")
    return _file(np.packbits(mask, axis=1), width=mask.shape[1], depth=1, colour=_GREY)


def labels_png(indices: NDArray[np.uint8]) -> bytes:
    """Object indices, uint8 (H, W), as a palette PNG in the colours of DAVIS.

    Raises:
        ValueError: The array is not uint8 (H, W) with at least one pixel.
    """
    if indices.ndim != 2 or indices.dtype != np.uint8 or indices.size == 0:
        raise ValueError(f"labels are uint8 (H, W), not {indices.dtype} {indices.shape}")
    return _file(indices, width=indices.shape[1], depth=8, colour=_INDEXED)


def davis_palette() -> NDArray[np.uint8]:
    """The colours that PASCAL VOC and DAVIS give to indices: uint8 (256, 3).

    Bits 0, 3, 6 of the index make red, bits 1, 4, 7 green, bits 2, 5 blue, each from the top bit of the colour down.
    """
    index = np.arange(256, dtype=np.uint8)[:, None]
    channel = np.arange(3, dtype=np.uint8)
    colours = np.zeros((256, 3), dtype=np.uint8)
    for place in range(3):
        bit = (index >> channel >> np.uint8(3 * place)) & np.uint8(1)
        colours |= bit << np.uint8(7 - place)
    return colours


def _file(rows: NDArray[np.uint8], *, width: int, depth: int, colour: int) -> bytes:
    scanlines = cv2.copyMakeBorder(rows, 0, 0, 1, 0, cv2.BORDER_CONSTANT, value=0)  # filter type 0 before each row
    packer = zlib.compressobj(6, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    packed = packer.compress(np.ascontiguousarray(scanlines, dtype=np.uint8).data) + packer.flush()
    header = struct.pack(">IIBBBBB", width, rows.shape[0], depth, colour, 0, 0, 0)
    palette = _chunk(b"PLTE", davis_palette().tobytes()) if colour == _INDEXED else b""
    return _SIGNATURE + _chunk(b"IHDR", header) + palette + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))
