"""Frames: photographs and video frames as uint8 RGB (H, W, 3).

A common JPEG is decoded by OpenCV (about twice as fast as Pillow, the same bytes), everything else by Pillow. EXIF
orientation is applied. 16 bits keep their upper 8; alpha is composited over black, as a viewer on black shows it;
CMYK is converted without a colour profile. Of a file with several pages the first is the frame.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from auscult.errors import InputError, OutputError
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.paths import check_file, open_regular, read_bytes, unreadable, write_bytes
from auscult.media.pictures import opened, orientation, pixels, png_file, upright, upright_size
from auscult.types import Frame

FRAME_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff"})
MASK_SUFFIXES = frozenset({".png", ".tif", ".tiff", ".webp", ".npy"})

_END_OF_JPEG = b"\xff\xd9"
_RGB = 2


def read_frame(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Frame:
    """Read a picture file, by its content: uint8 RGB (H, W, 3), C-contiguous, turned as its EXIF orientation says.

    What has no defined white (signed 32-bit integers, floating point) is refused.
    """
    return decode_frame(read_bytes(path, limits=limits), path=path, limits=limits)


def decode_frame(data: bytes, *, path: Path, limits: Limits = DEFAULT_LIMITS) -> Frame:
    """Decode what a picture file holds, as ``read_frame`` does; ``path`` is its name, for messages."""
    with opened(data, path=path, limits=limits) as picture:
        turn = orientation(picture)
        plain_jpeg = picture.format in {"JPEG", "MPO"} and picture.mode == "RGB"
        frame = _jpeg(data) if plain_jpeg else None
        if frame is None or frame.shape[:2] != (picture.height, picture.width):
            frame = rgb_of(picture, path)
    return np.ascontiguousarray(upright(frame, turn))


def _jpeg(data: bytes) -> NDArray[np.uint8] | None:
    """Decode with OpenCV, or None where Pillow has to look: OpenCV may take a truncated file for a whole one."""
    if _END_OF_JPEG not in data[-1024:]:
        return None
    try:
        frame = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error:
        return None
    if frame is None:
        return None
    return np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB, dst=frame), dtype=np.uint8)


def rgb_of(picture: Image.Image, path: Path | None) -> NDArray[np.uint8]:
    """The pixels of an opened picture, uint8 RGB (H, W, 3), as they lie in memory; its orientation is not applied."""
    mode = picture.mode
    if mode.startswith("I;16") or (mode == "I" and picture.format == "PNG"):
        return _grey_to_rgb((pixels(picture) >> 8).astype(np.uint8))
    if mode in {"I", "F"}:
        kind = "32-bit integers" if mode == "I" else "floating point numbers"
        raise InputError(
            f"the picture holds {kind}, which have no defined white",
            expected="8 or 16 bits a channel",
            hint="export it with 8 bits",
            path=path,
        )
    if mode == "1" or (mode == "L" and "transparency" not in picture.info):
        return _grey_to_rgb(np.asarray(picture.convert("L")))
    if mode == "RGBa":  # premultiplied, which is composited over black already
        return np.asarray(pixels(picture)[..., :3], dtype=np.uint8)
    if picture.has_transparency_data:
        return _over_black(np.asarray(picture.convert("RGBA")))
    return np.asarray(picture if mode == "RGB" else picture.convert("RGB"))


def _grey_to_rgb(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.repeat(grey[..., None], 3, axis=2)


def _over_black(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    product = rgba[..., :3] * rgba[..., 3:].astype(np.uint16) + np.uint16(127)
    return np.asarray(product // np.uint16(255), dtype=np.uint8)


def frame_size(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> tuple[int, int]:
    """(height, width) of the frame that ``read_frame`` gives, from the header alone."""
    check_file(path, limits=limits)
    try:
        with open_regular(path) as file, opened(file, path=path, limits=limits) as picture:
            return upright_size(picture)
    except OSError as error:
        raise unreadable(path, error) from error


def encode_jpeg(frame: Frame, *, quality: int = 85) -> bytes:
    """Encode a frame, uint8 RGB (H, W, 3), as JPEG, 4:2:0, of a quality from 1 to 100."""
    return _encode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, quality])


def encode_png(frame: Frame) -> bytes:
    """Encode a frame, uint8 RGB (H, W, 3), as PNG: without loss, packed quickly rather than tightly."""
    return _encode(".png", frame, [cv2.IMWRITE_PNG_COMPRESSION, 1])


def stored_png(frame: Frame) -> bytes:
    """A frame as a PNG that is not packed: a fifth of the time of a general encoder, and a sixth to read."""
    _check(frame)
    return png_file(frame.reshape(len(frame), -1), width=frame.shape[1], depth=8, colour=_RGB, packed=False)


def _check(frame: Frame) -> None:
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or frame.size == 0:
        raise ValueError(f"a frame is uint8 (H, W, 3), not {frame.dtype} {frame.shape}")


def _encode(suffix: str, frame: Frame, options: list[int]) -> bytes:
    _check(frame)
    refused = f"a frame of {frame.shape[0]} x {frame.shape[1]} cannot be written as {suffix}"
    try:
        done, data = cv2.imencode(suffix, cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), options)
    except cv2.error as error:
        raise OutputError(refused) from error
    if not done:
        raise OutputError(refused)
    return data.tobytes()


def write_frame(path: Path, frame: Frame, *, quality: int = 92) -> None:
    """Write a frame as JPEG (``quality`` from 1 to 100) or PNG, by the suffix, whole or not at all."""
    suffix = Path(path).suffix.lower()
    if suffix in {".jpg", ".jpeg"}:
        data = encode_jpeg(frame, quality=quality)
    elif suffix == ".png":
        data = _encode(".png", frame, [cv2.IMWRITE_PNG_COMPRESSION, 3])
    else:
        raise ValueError(f"frames are written as .jpg, .jpeg or .png, not {suffix!r}")
    write_bytes(path, data)


_FLAGS = {8: cv2.IMREAD_REDUCED_COLOR_8, 4: cv2.IMREAD_REDUCED_COLOR_4, 2: cv2.IMREAD_REDUCED_COLOR_2}
_UPRIGHT = 1


def read_reduced(path: Path, *, least: int, limits: Limits = DEFAULT_LIMITS) -> tuple[Frame, tuple[int, int]]:
    """Read a picture, a plain upright JPEG at 1/2 to 1/8 that keeps ``least`` pixels a side; and its whole size."""
    data = read_bytes(path, limits=limits)
    with opened(data, path=path, limits=limits) as picture:
        size = picture.height, picture.width
        plain = picture.format in {"JPEG", "MPO"} and picture.mode == "RGB" and orientation(picture) == _UPRIGHT
    part = next((part for part in _FLAGS if min(size) // part >= least), None)
    if plain and part is not None and _END_OF_JPEG in data[-1024:]:
        bgr = cv2.imdecode(np.frombuffer(data, np.uint8), _FLAGS[part] | cv2.IMREAD_IGNORE_ORIENTATION)
        if bgr is not None and bgr.shape[:2] == (-(-size[0] // part), -(-size[1] // part)):
            return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB, dst=bgr), dtype=np.uint8), size
    frame = read_frame(path, limits=limits)
    return frame, (frame.shape[0], frame.shape[1])


LIMITS = Limits(max_pixels=16_777_216)
"""16 megapixels, as 4096 x 4096: a cut-out is decoded whole for every scene that shows it, in every process."""


def read_cutout(path: Path, *, limits: Limits = LIMITS) -> NDArray[np.uint8]:
    """Read a PNG, WebP or TIFF picture, which must have alpha: uint8 RGBA (H, W, 4), upright, straight colours."""
    data = read_bytes(path, limits=limits)
    with opened(data, path=path, limits=limits) as picture:
        if not picture.has_transparency_data:
            raise InputError(
                "the picture has no alpha channel",
                expected="a cut-out: a PNG, WebP or TIFF picture with transparency around the thing",
                hint="cut the thing out and export it with alpha; photographs belong into backgrounds/",
                path=path,
            )
        turn = orientation(picture)
        rgba: NDArray[Any] = pixels(picture if picture.mode == "RGBA" else picture.convert("RGBA"))
    return np.ascontiguousarray(upright(rgba, turn), dtype=np.uint8)
