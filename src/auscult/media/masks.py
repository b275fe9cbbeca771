"""Masks in files and values: PNG, TIFF, WebP, NPY, COCO RLE, polygons; and which values mean "object".

How a file is read:

- a palette picture holds one object per index: 0 is none, 255 is void and belongs to no mask; void alone is refused;
- another picture with at most two values is binary: above 0 is the mask; two values above 0 are refused;
- more values make it soft: value / largest value of its type >= 0.5, which one must reach, and low values must not fill
  areas; or indices, where ``labels`` or an index asks so;
- colour channels must be equal, or the picture is an annotation in colours, which is refused;
- an alpha channel that is not opaque everywhere is the mask (a cut-out), read like a grey picture;
- NPY: bool; whole numbers 0 and one other, or indices; floats in 0..1, soft;
- of several pages or animation frames none is the mask: refused.

Masks of another size than their frame are refused, never resized.

Our own encoder of PNG makes the bytes of a 480x854 mask about five times as fast as a general one, and no larger.

Polygons follow COCO's rule (``frPyObjects``): the corners are rounded to a grid five times as fine, every edge becomes
the grid points along its longer axis, and wherever the column changes between two points at the middle of a pixel
column, that column toggles between outside and inside from that row down. A pixel is inside when it was toggled an odd
number of times.

A crop, as LabelMe (a PNG) and CVAT (runs, row by row) write masks into text files, is ``{"box": [left, top, width,
height], "png": base64}`` or ``{"box": ..., "runs": [...]}``, whose runs alternate and start with 0. The box must lie on
the frame.
"""

from __future__ import annotations

import base64
import binascii
import io
import itertools
import math
import os
import struct
import tokenize
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from auscult.errors import InputError, TooLarge
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_pixels
from auscult.media.paths import check_file, open_regular, read_bytes, regular_descriptor, unreadable, write_bytes
from auscult.media.pictures import opened, orientation, pixels, png_file, upright, upright_size
from auscult.media.readings import (
    SOFT,
    VOID,
    LoadedMask,
    distinct,
    in_colour,
    looks_indexed,
    of_indices,
    of_values,
    one_channel,
)
from auscult.media.rle import decode, mask_of, rle_size
from auscult.types import Mask, MaskRef

_CROP = "a box [left, top, width, height] on the frame, with a PNG or runs that fill it"


def cropped(segmentation: Mapping[str, Any], *, size: tuple[int, int], limits: Limits) -> Mask:
    """Draw a crop on a frame of ``size`` (height, width): bool (height, width)."""
    check_pixels(size, limits=limits)
    left, top, width, height = _box(segmentation.get("box"), size)
    canvas = np.zeros(size, dtype=np.bool_)
    png = segmentation.get("png")
    crop = _of_png(png, limits) if isinstance(png, str) else _of_runs(segmentation.get("runs"), (height, width))
    if crop.shape != (height, width):
        raise InputError(
            f"the mask in the box is {crop.shape[0]} x {crop.shape[1]}, its box {height} x {width} (height x width)",
            expected=_CROP,
        )
    canvas[top : top + height, left : left + width] = crop
    return canvas


def _box(value: object, size: tuple[int, int]) -> tuple[int, int, int, int]:
    if not isinstance(value, list | tuple) or len(value) != 4 or not all(type(side) is int for side in value):
        raise InputError("the box is not four whole numbers", expected=_CROP)
    left, top, width, height = value
    if min(left, top) < 0 or min(width, height) < 1 or left + width > size[1] or top + height > size[0]:
        raise InputError(f"the box {str(list(value))[:60]} does not lie on the frame", expected=_CROP)
    return left, top, width, height


def _of_png(text: str, limits: Limits) -> Mask:
    path = Path("the PNG in the file")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError("the mask is no base64", expected=_CROP) from error
    with opened(data, path=path, limits=limits) as picture:
        array = pixels(picture)
    return np.ascontiguousarray((array if array.ndim == 2 else array.any(axis=2)) > 0)


def _of_runs(value: object, size: tuple[int, int]) -> Mask:
    area = size[0] * size[1]
    runs = value if isinstance(value, list | tuple) else ()
    good = 0 < len(runs) <= area + 1 and all(type(run) is int and 0 <= run <= area for run in runs)
    if not good or sum(runs) != area:
        raise InputError("the runs do not fill the box", expected=_CROP)
    bits = (np.arange(len(runs)) & 1).astype(np.bool_)
    return np.repeat(bits, np.array(runs, dtype=np.int64)).reshape(size)


_MAX_HEADER_CHARACTERS = 2_000
_EXPECTED_ARRAY = "an array (height, width) or (1, height, width) of bool, whole numbers or floats in 0..1"
_HEADER_ERRORS = (
    ValueError,
    TypeError,
    SyntaxError,
    LookupError,
    EOFError,
    OverflowError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)


def npy_array(data: bytes, *, path: Path, limits: Limits) -> NDArray[Any]:
    """Read the array of an NPY file's bytes, which holds a mask: (H, W) of bool, integer or finite float."""
    shape, fortran, dtype, start = _header(data, path)
    if dtype.hasobject:
        raise InputError(
            "the NPY file holds pickled objects, which are never loaded",
            expected=_EXPECTED_ARRAY,
            hint="save the mask as an array of numbers: numpy.save(path, mask.astype(bool))",
            path=path,
        )
    if dtype.kind not in "biuf":
        raise InputError(f"the NPY array is of type {dtype}", expected=_EXPECTED_ARRAY, path=path)
    size = shape[1:] if len(shape) == 3 and shape[0] == 1 else shape
    if len(size) != 2 or min(size) < 1:
        hint = "a stack of masks? give each its own file" if len(shape) == 3 else ""
        raise InputError(f"the NPY array has shape {_shown(shape)}", expected=_EXPECTED_ARRAY, hint=hint, path=path)
    check_pixels((size[0], size[1]), limits=limits, path=path)
    needed = math.prod(size) * dtype.itemsize
    if len(data) - start < needed:
        raise InputError(
            f"the NPY file is truncated: it holds {len(data) - start:,} of {needed:,} bytes",
            expected="a whole file",
            hint="copy it again",
            path=path,
        )
    array = np.frombuffer(data, dtype=np.uint8 if dtype.kind == "b" else dtype, count=math.prod(size), offset=start)
    array = array.reshape(size, order="F" if fortran else "C")
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(
            "the NPY array holds NaN or infinity",
            expected=_EXPECTED_ARRAY,
            hint="look at what the model gave; numpy.nan_to_num would only hide it",
            path=path,
        )
    return array != 0 if dtype.kind == "b" else array


def _header(data: bytes, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    file = io.BytesIO(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of headers that Python 2 wrote
        try:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, _MAX_HEADER_CHARACTERS)
            elif version == (2, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_2_0(file, _MAX_HEADER_CHARACTERS)
            else:
                raise ValueError(f"format version {version}")
        except _HEADER_ERRORS as error:
            raise InputError(
                f"the file is no NPY array, or its header is damaged ({type(error).__name__})",
                expected=_EXPECTED_ARRAY,
                hint="save it with numpy.save(path, array)",
                path=path,
            ) from error
    return shape, fortran, dtype, file.tell()


def _shown(shape: tuple[int, ...]) -> str:
    text = str(shape)
    return text if len(text) <= 60 else text[:57] + "..."


_GREY = 0
_INDEXED = 3


def encode_mask(mask: Mask) -> bytes:
    """A mask, bool (H, W), as a 1-bit grey PNG: white is the object."""
    if mask.ndim != 2 or mask.dtype != np.bool_ or mask.size == 0:
        raise ValueError(f"a mask is bool (H, W), not {mask.dtype} {mask.shape}")
    return png_file(np.packbits(mask, axis=1), width=mask.shape[1], depth=1, colour=_GREY)


def davis_palette() -> NDArray[np.uint8]:
    """The colours that PASCAL VOC and DAVIS give to indices: uint8 (256, 3).

    Bits 0, 3, 6 of the index make red, bits 1, 4, 7 green, bits 2, 5 blue, each from the top bit of the colour down.
    """
    index = np.arange(256, dtype=np.uint8)[:, None]
    channel = np.arange(3, dtype=np.uint8)
    colours = np.zeros((256, 3), dtype=np.uint8)
    for bit_index in range(3):
        bit = (index >> channel >> np.uint8(3 * bit_index)) & np.uint8(1)
        colours |= bit << np.uint8(7 - bit_index)
    return colours


_SCALE = 5
_MAX_COORDINATE = 1_000_000.0
_MAX_SAMPLES = 8_000_000
_EXPECTED_POLYGONS = "polygons [[x0, y0, x1, y1, ...], ...] in pixels, at least 6 numbers each"


def rasterize(polygons: Sequence[Any], *, size: tuple[int, int], limits: Limits = DEFAULT_LIMITS) -> Mask:
    """Draw the union of polygons [x0, y0, x1, y1, ...] in pixels, each even-odd, as COCO does: bool (height, width)."""
    height, width = size
    if min(size) < 1:
        raise InputError(f"polygons on a frame of {height} x {width}", expected="a height and width from 1 up")
    check_pixels(size, limits=limits)
    if not isinstance(polygons, list | tuple) or not polygons:
        raise InputError("the segmentation holds no polygon", expected=_EXPECTED_POLYGONS)
    corners = [_corners(polygon) for polygon in polygons]
    samples = sum(int((np.abs(np.diff(points, axis=0)).max(axis=1) + 1).sum()) for points in corners)
    if samples > _MAX_SAMPLES:
        raise TooLarge(
            f"the polygons' outlines are {samples / _SCALE:,.0f} pixels long",
            expected=f"at most {_MAX_SAMPLES / _SCALE:,.0f}",
        )
    mask = _filled(corners[0], size)
    for points in itertools.islice(corners, 1, None):
        mask |= _filled(points, size)
    return mask


def _corners(polygon: object) -> NDArray[np.int64]:
    """Check one polygon; its corners on the fine grid, closed: int64 (K + 1, 2) of x, y."""
    if not isinstance(polygon, list | tuple):
        raise InputError(f"a polygon is given as {type(polygon).__name__}", expected=_EXPECTED_POLYGONS)
    if len(polygon) < 6 or len(polygon) % 2:
        hint = "4 numbers look like a box; a box is no mask" if len(polygon) == 4 else ""
        raise InputError(f"a polygon has {len(polygon)} numbers", expected=_EXPECTED_POLYGONS, hint=hint)
    if not {type(number) for number in polygon} <= {int, float}:
        raise InputError("a polygon holds something that is no number", expected=_EXPECTED_POLYGONS)
    if not all(math.isfinite(number) if isinstance(number, float) else True for number in polygon):
        raise InputError("a polygon holds a number that is not finite (NaN or infinity)", expected=_EXPECTED_POLYGONS)
    if max(polygon) > _MAX_COORDINATE or min(polygon) < -_MAX_COORDINATE:
        raise InputError("a polygon has a corner over a million pixels away", expected=_EXPECTED_POLYGONS)
    points = (_SCALE * np.array(polygon, dtype=np.float64) + 0.5).astype(np.int64).reshape(-1, 2)
    return np.concatenate((points, points[:1]))


def _outline(points: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The fine grid points along all edges, in order: x and y, int64 (M,)."""
    start, end = points[:-1], points[1:]
    span = np.abs(end - start)
    wide = span[:, 0] >= span[:, 1]
    # An edge is walked along its longer axis from its lower end, whichever way it runs, so that both ways round agree.
    flip = np.where(wide, start[:, 0] > end[:, 0], start[:, 1] > end[:, 1])
    low = np.where(flip[:, None], end, start)
    high = np.where(flip[:, None], start, end)
    length = span.max(axis=1)
    short = np.where(wide, high[:, 1] - low[:, 1], high[:, 0] - low[:, 0])
    slope = short / np.maximum(length, 1)
    edge = np.repeat(np.arange(length.size), length + 1)
    step = np.arange(edge.size) - np.repeat(np.cumsum(length + 1) - (length + 1), length + 1)
    step = np.where(flip[edge], length[edge] - step, step)
    along = step + np.where(wide, low[:, 0], low[:, 1])[edge]
    across = (np.where(wide, low[:, 1], low[:, 0])[edge] + slope[edge] * step + 0.5).astype(np.int64)
    return np.where(wide[edge], along, across), np.where(wide[edge], across, along)


def _filled(points: NDArray[np.int64], size: tuple[int, int]) -> Mask:
    height, width = size
    x, y = _outline(points)
    turn = np.flatnonzero(x[1:] != x[:-1]) + 1
    left = np.where(x[turn] < x[turn - 1], x[turn], x[turn] - 1)
    column = (left + 0.5) / _SCALE - 0.5
    keep = (np.floor(column) == column) & (column >= 0) & (column <= width - 1)
    top = np.minimum(y[turn], y[turn - 1])[keep]
    row = np.ceil(np.clip((top + 0.5) / _SCALE - 0.5, 0, height)).astype(np.int64)
    toggles, times = np.unique(column[keep].astype(np.int64) * height + row, return_counts=True)
    toggles = toggles[(times % 2 == 1) & (toggles < height * width)]
    return mask_of(np.diff(np.concatenate(([0], toggles, [height * width]))), size)


_GREY_MODES = frozenset({"L", "I;16", "I;16B"})
_IN_COLOUR = frozenset({"CMYK", "YCbCr", "LAB", "HSV", "RGBX", "PA"})


def read_mask(ref: MaskRef, *, size: tuple[int, int] | None = None, limits: Limits = DEFAULT_LIMITS) -> LoadedMask:
    """Open a mask of a frame of ``size`` (height, width); an index that does not occur needs ``ref.absent_ok``."""
    if ref.segmentation is not None:
        return _inline(ref, size, limits)
    if ref.path is None:
        raise InputError("the mask is neither a file nor a segmentation", expected="one of both")
    if ref.index is not None and (type(ref.index) is not int or ref.index < 1):
        raise InputError(f"the object index is {ref.index!r}", expected="a whole number from 1 up", path=ref.path)
    if ref.classes:
        values = read_class_map(ref.path, classes=ref.classes, size=size, limits=limits)
        return LoadedMask(values > 0 if ref.index is None else values == ref.index, "class")
    if _is_npy(ref.path):
        array = npy_array(read_bytes(ref.path, limits=limits), path=ref.path, limits=limits)
        check_size((array.shape[0], array.shape[1]), size, ref.path)
        return of_values(array, ref, ref.path)
    return _picture(ref, ref.path, size=size, limits=limits)


def read_class_map(
    path: Path, *, classes: int, size: tuple[int, int] | None = None, limits: Limits = DEFAULT_LIMITS
) -> NDArray[np.uint8]:
    """Which of ``classes`` each pixel belongs to, uint8 (H, W), 0 the background.

    A file of one channel, or an NPY array, holds the classes themselves; a picture in colours those that
    ``davis_palette`` gives them, as AVSBench-semantic has it. A class or colour beyond these is refused.
    """
    data = read_bytes(path, limits=limits)
    if _is_npy(path):
        values = npy_array(data, path=path, limits=limits)
    else:
        with opened(data, path=path, limits=limits) as picture:
            values = upright(pixels(picture), orientation(picture))
    check_size((values.shape[0], values.shape[1]), size, path)
    if values.ndim == 3 and values.shape[2] >= 3:
        return _classes_of_colours(values, classes, path)
    values = values if values.ndim == 2 else values[..., 0]
    if values.dtype.kind == "f" or (values.size and not 0 <= int(values.min()) <= int(values.max()) < classes):
        raise InputError(
            f"the class map holds {values.dtype} from {values.min()} to {values.max()}",
            expected=f"whole numbers from 0, the background, to {classes - 1}",
            path=path,
        )
    return values.astype(np.uint8)


def _classes_of_colours(colours: NDArray[Any], classes: int, path: Path) -> NDArray[np.uint8]:
    numbers = _colour_numbers(colours, path)
    class_numbers = _colour_numbers(davis_palette()[None, :classes], path)[0]
    order = np.argsort(class_numbers)
    indices = order[np.searchsorted(class_numbers, numbers, sorter=order).clip(max=classes - 1)]
    wrong = class_numbers[indices] != numbers
    if wrong.any():
        first = tuple(int(value) for value in colours[wrong][0][:3])
        raise InputError(
            f"{int(wrong.sum()):,} pixels have a colour of no class, first {first}",
            expected=f"the colours of PASCAL VOC for the classes 0 to {classes - 1}",
            hint="was the picture resized with smoothing, or saved as JPEG?",
            path=path,
        )
    return np.asarray(indices, dtype=np.uint8)


def _is_npy(path: Path) -> bool:
    return path.suffix.lower() == ".npy"


def _inline(ref: MaskRef, size: tuple[int, int] | None, limits: Limits) -> LoadedMask:
    if isinstance(ref.segmentation, Mapping) and "box" in ref.segmentation:
        canvas = _canvas(ref, size)
        return LoadedMask(cropped(ref.segmentation, size=canvas, limits=limits), "crop")
    if isinstance(ref.segmentation, Mapping):
        own_size = rle_size(ref.segmentation)
        check_size(own_size, ref.size)
        check_size(own_size, size)
        return LoadedMask(decode(ref.segmentation, limits=limits), "rle")
    if not isinstance(ref.segmentation, list | tuple):
        raise InputError(
            f"the segmentation is given as {type(ref.segmentation).__name__}",
            expected="a COCO RLE object or a list of polygons",
        )
    return LoadedMask(rasterize(ref.segmentation, size=_canvas(ref, size), limits=limits), "polygon")


def _canvas(ref: MaskRef, size: tuple[int, int] | None) -> tuple[int, int]:
    """The size of the frame that polygons or a crop are drawn on."""
    canvas = ref.size or size
    if canvas is None:
        raise InputError("polygons without the size of their frame", expected="height and width of the picture")
    check_size(canvas, size)
    return canvas


def check_size(given: tuple[int, int], frame: tuple[int, int] | None, path: Path | None = None) -> None:
    """Refuse a mask whose (height, width) is not its frame's, where that is known."""
    if frame is None or given == frame:
        return
    hint = "a mask is never resized here; export it at the size of its frame"
    if given == frame[::-1]:
        hint = "height and width are exchanged: is one of the two turned, as by an EXIF orientation?"
    raise InputError(
        f"the mask is {given[0]} x {given[1]}, its frame {frame[0]} x {frame[1]} (height x width)",
        expected=f"a mask of {frame[0]} x {frame[1]}",
        hint=hint,
        path=path,
    )


def _picture(ref: MaskRef, path: Path, *, size: tuple[int, int] | None, limits: Limits) -> LoadedMask:
    with opened(read_bytes(path, limits=limits), path=path, limits=limits) as picture:
        turn, mode = orientation(picture), picture.mode
        check_size(upright_size(picture), size, path)
        array = pixels(picture) if ref.positive else _decoded(picture, path, as_indices=ref.labels or ref.rgb)
    array = upright(array, turn)
    if ref.positive:
        colours = array if array.ndim == 2 else array[..., : 3 if array.shape[2] >= 3 else 1].any(axis=2)
        return LoadedMask(np.ascontiguousarray(colours > 0), "value>0")
    if ref.rgb:
        return LoadedMask(of_indices(_colour_numbers(array, path), ref, path), "index")
    if mode == "P":
        return LoadedMask(of_indices(array, ref, path), "index")
    if array.ndim == 2:
        return of_values(array, ref, path)
    grey, from_alpha = one_channel(array, path)
    loaded = of_values(grey, ref, path, from_alpha=from_alpha)
    names = {"binary": "alpha", SOFT: "alpha>=0.5"} if from_alpha else {}
    return LoadedMask(loaded.mask, names.get(loaded.reading, loaded.reading))


def _colour_numbers(array: NDArray[Any], path: Path) -> NDArray[np.int32]:
    if array.ndim != 3 or array.dtype != np.uint8:
        raise InputError("the picture has no colours", expected="a colour PNG of 8 bits, as COCO panoptic", path=path)
    return np.asarray(array[..., :3].astype(np.int32) @ np.array([1, 256, 65536], dtype=np.int32), dtype=np.int32)


def _decoded(picture: Image.Image, path: Path, *, as_indices: bool) -> NDArray[Any]:
    if picture.mode in _IN_COLOUR:
        raise in_colour(path)
    _check_one_page(picture, path)
    array = pixels(picture)
    if picture.mode == "P" and not as_indices:
        _check_palette(picture, path)
    return array


def _check_palette(picture: Image.Image, path: Path) -> None:
    """Refuse black and white in two colours of a palette, as tools that shrink files write it, in which 0 is white."""
    colours = picture.getpalette() or []
    if min(colours[:3], default=0) >= _LEAST_WHITE and max(colours[3:6], default=255) <= _MOST_BLACK:
        raise InputError(
            "the palette's index 0, which is the background, is white, and 1 is black",
            expected="a palette whose index 0 is the background, or a grey picture",
            hint="is white the mask? save it in grey, without a palette; --labels takes index 1 for an object",
            path=path,
        )


def _check_one_page(picture: Image.Image, path: Path) -> None:
    if picture.format == "TIFF":
        # Counting the pages of a TIFF walks through the whole file; whether there is a second one is enough.
        try:
            picture.seek(1)
        except EOFError:
            several = False
        else:
            several = True
        picture.seek(0)
    else:
        several = getattr(picture, "n_frames", 1) > 1 and picture.format != "MPO"
    if several:
        raise InputError(
            "the file holds several pages or animation frames",
            expected="one mask",
            hint="write every mask to a file of its own",
            path=path,
        )


def object_indices(
    path: Path, *, labels: bool | None = False, limits: Limits = DEFAULT_LIMITS
) -> tuple[int, ...] | None:
    """The object indices of a mask file, ascending, without 0 (none) and 255 (void, in 8-bit files); may be empty.

    None for a file of one mask: it has no palette and ``labels``, which reads values as indices, is False; or is None,
    which reads a grey picture so where its values could be no soft mask's.
    """
    return _indexed(path, labels=labels, limits=limits)[0]


_Indices: TypeAlias = tuple[int, ...] | None


def _indexed(path: Path, *, labels: bool | None, limits: Limits) -> tuple[_Indices, NDArray[np.uint8] | None]:
    """What ``object_indices`` gives, and the pixels of a picture of 8 bits in which they are, upright."""
    if labels is False and _is_plain_png(path, limits):
        return None, None
    check_file(path, limits=limits)
    if _is_npy(path):
        if not labels:
            return None, None
        return distinct(npy_array(read_bytes(path, limits=limits), path=path, limits=limits), path), None
    try:
        with open_regular(path) as file, opened(file, path=path, limits=limits) as picture:
            mode = picture.mode
            if mode != "P" and (labels is False or (labels is None and mode not in _GREY_MODES)):
                return None, None
            array = _decoded(picture, path, as_indices=labels is True)
            present = picture.histogram() if mode in {"P", "L"} else []
            turned = upright(array, orientation(picture)) if present else None
    except OSError as error:
        raise unreadable(path, error) from error
    return _present(array, present, mode=mode, path=path, labels=labels), turned


def _present(array: NDArray[Any], present: Sequence[int], *, mode: str, path: Path, labels: bool | None) -> _Indices:
    """The indices in a decoded picture, of 8 bits with its histogram; None where ``labels`` leaves it a soft mask."""
    if present:
        indices = tuple(index for index in range(1, VOID) if present[index])
    else:
        indices = distinct(array if array.ndim == 2 else one_channel(array, path)[0], path)
    if labels is None and mode != "P":
        largest = VOID if mode == "L" else 2**16 - 1
        none_is_half = len(indices) > 1 and max(indices) <= largest // 2
        return indices if indices and (none_is_half or looks_indexed(array)) else None
    return indices


def _is_plain_png(path: Path, limits: Limits) -> bool:
    """Whether a file begins as a PNG without palette, of a usual size; in a fifth of the time that Pillow takes."""
    try:
        descriptor = regular_descriptor(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            head, size = os.read(descriptor, 26), os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return False
    if len(head) < 26 or size > limits.max_bytes or not head.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"):
        return False
    width, height, _, colour = struct.unpack(">IIBB", head[16:])
    return bool(0 < width * height <= limits.max_pixels and colour in _WITHOUT_PALETTE)


_LEAST_WHITE, _MOST_BLACK = 240, 15
_WITHOUT_PALETTE = (0, 2, 4, 6)  # grey and colour, without and with alpha


def write_mask(path: Path, mask: Mask) -> None:
    """Write a mask, bool (H, W), as a 1-bit PNG, whole or not at all."""
    write_bytes(path, encode_mask(mask))


def write_labels(path: Path, indices: NDArray[np.uint8]) -> None:
    """Write object indices, uint8 (H, W), as ``encode_labels`` makes them, whole or not at all."""
    write_bytes(path, encode_labels(indices))


def encode_labels(indices: NDArray[np.uint8]) -> bytes:
    """Object indices, uint8 (H, W), as a palette PNG in the colours of DAVIS: 0 none, 255 void."""
    if indices.ndim != 2 or indices.dtype != np.uint8 or indices.size == 0:
        raise ValueError(f"labels are uint8 (H, W), not {indices.dtype} {indices.shape}")
    palette = davis_palette().tobytes()
    return png_file(indices, width=indices.shape[1], depth=8, colour=_INDEXED, palette=palette)


@dataclass(frozen=True, slots=True, eq=False)
class LabelMap:
    """Which object each pixel belongs to, and how its file was read.

    Attributes:
        labels: uint8 (H, W): 0 none, 1..254 objects, 255 void. A file of one mask gives 0 and 1.
        reading: ``index``, or as in ``LoadedMask``; part of a score's signature.
    """

    labels: NDArray[np.uint8]
    reading: str


def read_labels(path: Path, *, labels: bool = False, limits: Limits = DEFAULT_LIMITS) -> LabelMap:
    """Which object each pixel belongs to: of a palette, of grey values where ``labels`` says so, or of one mask."""
    indices, array = _indexed(path, labels=labels, limits=limits)
    if indices is None:
        loaded = read_mask(MaskRef(path=path), limits=limits)
        return LabelMap(loaded.mask.astype(np.uint8), loaded.reading)
    if array is None:
        return LabelMap(_of_wide_values(path, indices, limits=limits), "index")
    return LabelMap(np.ascontiguousarray(array), "index")


def _of_wide_values(path: Path, indices: tuple[int, ...], *, limits: Limits) -> NDArray[np.uint8]:
    """The map of a file whose values have more than 8 bits."""
    if indices and max(indices) >= VOID:
        raise InputError(
            f"the file holds object index {max(indices)}",
            expected=f"indices below {VOID}",
            hint="renumber the objects",
            path=path,
        )
    result = read_mask(MaskRef(path=path, labels=True), limits=limits).mask.astype(np.uint8)
    for index in indices:
        result[read_mask(MaskRef(path=path, index=index, labels=True), limits=limits).mask] = index
    return result
