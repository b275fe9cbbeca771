"""Opening a picture file with Pillow: which format it is, how large, which way up, and what is wrong with it.

Pillow's exceptions and warnings end here. Only the four formats of ``FORMATS`` are opened, found by content, not by
name. PNG files are written here too, many times as fast as a general encoder does where little is packed.
"""

from __future__ import annotations

import io
import math
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from auscult.errors import InputError, TooLarge
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_pixels
from auscult.media.paths import read_bytes

FORMATS = ("JPEG", "PNG", "WEBP", "TIFF")
_EXPECTED = "a whole JPEG, PNG, WebP or TIFF picture"
_ORIENTATION = 0x0112
_EXIF, _TIME, _APERTURE, _SPEED, _FLASH = 0x8769, 0x829A, 0x829D, 0x8827, 0x9209

# What Pillow's decoders are seen to raise on damaged files.
_DECODER_ERRORS = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    struct.error,
    zlib.error,
)

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"%PDF", "PDF"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x93NUMPY", "NPY"),
    (b"8BPS", "Photoshop"),
)
_BOX_BRANDS = {b"avif": "AVIF", b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIF"}


@contextmanager
def opened(source: bytes | BinaryIO, *, path: Path, limits: Limits) -> Iterator[Image.Image]:
    """Open a picture's header and check its size; whatever Pillow raises inside the block becomes an ``InputError``."""
    file: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else source
    with warnings.catch_warnings():
        # Pillow warns of odd metadata and of sizes that check_pixels judges; neither is for the user to see.
        warnings.simplefilter("ignore")
        try:
            with Image.open(file, formats=FORMATS) as picture:
                check_pixels((picture.height, picture.width), limits=limits, path=path)
                yield picture
        except InputError:
            raise
        except UnidentifiedImageError as error:
            raise _unknown(path, file) from error
        except Image.DecompressionBombError as error:
            raise TooLarge(
                "the picture is a decompression bomb: it has far more pixels than any camera gives",
                expected=f"at most {limits.max_pixels:,} pixels",
                hint="scale or crop the picture; nothing was decoded",
                path=path,
            ) from error
        except _DECODER_ERRORS as error:
            raise damaged(path, error) from error


def damaged(path: Path, error: BaseException | str) -> InputError:
    """The error of a picture that is truncated or damaged."""
    return InputError(
        f"the picture is truncated or damaged ({_one_line(error)})",
        expected=_EXPECTED,
        hint="copy or export it again",
        path=path,
    )


def _one_line(error: BaseException | str) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 else text[:117] + "..."


def _unknown(path: Path, file: BinaryIO) -> InputError:
    file.seek(0)
    kind = sniffed(file.read(64))
    if kind in FORMATS:
        return damaged(path, f"the {kind} header cannot be read")
    return InputError(
        f"the file is no picture that can be opened; it looks like {kind}",
        expected=_EXPECTED,
        hint="convert it, or name the right file",
        path=path,
    )


def sniffed(head: bytes) -> str:
    """What the first bytes of a file look like: a format's name, ``text`` or ``unknown data``."""
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        return _BOX_BRANDS.get(head[8:12], "a video")
    printable = sum(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head)
    return "text" if head and printable == len(head) else "unknown data"


def orientation(picture: Image.Image) -> int:
    """The EXIF orientation, 1 to 8, still to be applied: Pillow turns TIFF, and of a PNG only its header counts."""
    if picture.format == "TIFF" or (picture.format == "PNG" and "exif" not in picture.info):
        return 1
    try:
        value: Any = picture.getexif().get(_ORIENTATION, 1)
    except _DECODER_ERRORS:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def exposure_value(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> float | None:
    """How much light there was, by EXIF: log2(N^2 / t) - log2(ISO / 100), about 15 in the sun and 5 in a lit room.

    None where aperture N, time t or speed is not stated or no positive number, and where a flash was fired.
    """
    with opened(read_bytes(path, limits=limits), path=path, limits=limits) as picture:
        try:
            stated = picture.getexif().get_ifd(_EXIF)
            aperture, time_s, speed = (float(stated.get(tag, 0)) for tag in (_APERTURE, _TIME, _SPEED))
            flash = int(stated.get(_FLASH, 0)) & 1
        except _DECODER_ERRORS:
            return None
    if flash or not all(0 < value < math.inf for value in (aperture, time_s, speed)):
        return None
    return math.log2(aperture**2 / time_s * 100 / speed)


def upright_size(picture: Image.Image) -> tuple[int, int]:
    """(height, width) after the EXIF orientation is applied."""
    if orientation(picture) >= 5:
        return picture.width, picture.height
    return picture.height, picture.width


def upright(array: NDArray[Any], turn: int) -> NDArray[Any]:
    """Apply an EXIF orientation, 1 to 8, to (H, W) or (H, W, channels): a view or the array itself."""
    if turn >= 5:
        array = array.swapaxes(0, 1)
    if turn in {3, 4, 7, 8}:
        array = array[::-1]
    if turn in {2, 3, 6, 7}:
        array = array[:, ::-1]
    return array


def pixels(picture: Image.Image) -> NDArray[Any]:
    """Decode into an array: (H, W) or (H, W, channels), in the file's own depth, not turned."""
    array = np.asarray(picture)
    if array.dtype == np.bool_:
        return np.not_equal(array.view(np.uint8), 0)  # Pillow's True is 255, which arithmetic on bytes would trip over
    return array


def png_file(
    rows: NDArray[np.uint8], *, width: int, depth: int, colour: int, palette: bytes = b"", packed: bool = True
) -> bytes:
    """A PNG of rows of bytes, (H, bytes), of a width in pixels, a depth in bits and a colour type, packed or not."""
    lines = cv2.copyMakeBorder(rows, 0, 0, 1, 0, cv2.BORDER_CONSTANT, value=0)  # filter type 0 before each row
    content = np.ascontiguousarray(lines, dtype=np.uint8).data
    packer = zlib.compressobj(6, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    data = packer.compress(content) + packer.flush() if packed else zlib.compress(content, 0)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, rows.shape[0], depth, colour, 0, 0, 0))]
    chunks += [(b"PLTE", palette)] if palette else []
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, body in (*chunks, (b"IDAT", data), (b"IEND", b"")):
        parts += [struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))]
    return b"".join(parts)
