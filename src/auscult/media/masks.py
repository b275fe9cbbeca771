"""Masks: bool (H, W), from picture files, NPY files and COCO segmentations, and back to PNG.

How a file is read:

- a palette picture holds one object per index: 0 is none, 255 is void and belongs to no mask; void alone is refused;
- another picture with at most two values is binary: above 0 is the mask; two values above 0 are refused;
- more values make it soft: value / largest value of its type >= 0.5, which one must reach; or indices, where ``labels``
  or an index asks so;
- colour channels must be equal, or the picture is an annotation in colours, which is refused;
- an alpha channel that is not opaque everywhere is the mask (a cut-out), read like a grey picture;
- NPY: bool; whole numbers 0 and one other, or indices; floats in 0..1, soft;
- of several pages or animation frames none is the mask: refused.

Masks of another size than their frame are refused, never resized.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from auscult.errors import InputError
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.npy import npy_array
from auscult.media.paths import check_file, read_bytes, unreadable, write_bytes
from auscult.media.pictures import opened, orientation, pixels, upright, upright_size
from auscult.media.png import labels_png, mask_png
from auscult.media.polygons import rasterize
from auscult.media.readings import SOFT, VOID, LoadedMask, distinct, in_colour, of_indices, of_values, one_channel
from auscult.media.rle import decode, rle_size
from auscult.types import Mask, MaskRef

__all__ = ["VOID", "LoadedMask", "encode_mask", "object_indices", "read_mask", "write_labels", "write_mask"]

_IN_COLOUR = frozenset({"CMYK", "YCbCr", "LAB", "HSV", "RGBX", "PA"})


def read_mask(ref: MaskRef, *, size: tuple[int, int] | None = None, limits: Limits = DEFAULT_LIMITS) -> LoadedMask:
    """Open what a reference points to.

    Args:
        ref: A file, one object of a file, or an inline segmentation.
        size: (height, width) of the frame; None where it is not known.
        limits: The bounds on the file and the mask.

    Returns:
        The mask and how it was read.

    Raises:
        InputError: It cannot be read, is no mask, is not of the frame's size, or does not hold the object index asked
            for, unless ``ref.absent_ok``.
        TooLarge: It is over ``limits``.
    """
    if ref.segmentation is not None:
        return _inline(ref, size, limits)
    if ref.path is None:
        raise InputError("the mask is neither a file nor a segmentation", expected="one of both")
    if ref.index is not None and (type(ref.index) is not int or ref.index < 1):
        raise InputError(f"the object index is {ref.index!r}", expected="a whole number from 1 up", path=ref.path)
    if _is_npy(ref.path):
        array = npy_array(read_bytes(ref.path, limits=limits), path=ref.path, limits=limits)
        _check_size((array.shape[0], array.shape[1]), size, ref.path)
        return of_values(array, ref, ref.path)
    return _picture(ref, ref.path, size=size, limits=limits)


def _is_npy(path: Path) -> bool:
    return path.suffix.lower() == ".npy"


def _inline(ref: MaskRef, size: tuple[int, int] | None, limits: Limits) -> LoadedMask:
    if isinstance(ref.segmentation, Mapping):
        given = rle_size(ref.segmentation)
        _check_size(given, ref.size, None)
        _check_size(given, size, None)
        return LoadedMask(decode(ref.segmentation, limits=limits), "rle")
    if not isinstance(ref.segmentation, list | tuple):
        raise InputError(
            f"the segmentation is given as {type(ref.segmentation).__name__}",
            expected="a COCO RLE object or a list of polygons",
        )
    canvas = ref.size or size
    if canvas is None:
        raise InputError("polygons without the size of their frame", expected="height and width of the picture")
    _check_size(canvas, size, None)
    return LoadedMask(rasterize(ref.segmentation, size=canvas, limits=limits), "polygon")


def _check_size(given: tuple[int, int], frame: tuple[int, int] | None, path: Path | None) -> None:
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
        _check_size(upright_size(picture), size, path)
        array = pixels(picture) if ref.positive else _decoded(picture, path)
    array = upright(array, turn)
    if ref.positive:
        colours = array if array.ndim == 2 else array[..., : 3 if array.shape[2] >= 3 else 1].any(axis=2)
        return LoadedMask(np.ascontiguousarray(colours > 0), "value>0")
    if mode == "P":
        return LoadedMask(of_indices(array, ref, path), "index")
    if array.ndim == 2:
        return of_values(array, ref, path)
    grey, from_alpha = one_channel(array, path)
    loaded = of_values(grey, ref, path)
    names = {"binary": "alpha", SOFT: "alpha>=0.5"} if from_alpha else {}
    return LoadedMask(loaded.mask, names.get(loaded.reading, loaded.reading))


def _decoded(picture: Image.Image, path: Path) -> NDArray[Any]:
    if picture.mode in _IN_COLOUR:
        raise in_colour(path)
    _check_one_page(picture, path)
    return pixels(picture)


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


def object_indices(path: Path, *, labels: bool = False, limits: Limits = DEFAULT_LIMITS) -> tuple[int, ...] | None:
    """Which objects a mask file holds.

    Args:
        path: The file.
        labels: Read a non-palette file's values as object indices.
        limits: The bounds.

    Returns:
        The indices that occur, ascending, without 0 (none) and 255 (void, in 8-bit files); may be empty. None when
        the file holds one mask: it has no palette and ``labels`` is False, which the header alone shows.

    Raises:
        InputError: It cannot be read, or its values are no indices.
        TooLarge: Over ``limits``.
    """
    check_file(path, limits=limits)
    if _is_npy(path):
        if not labels:
            return None
        return distinct(npy_array(read_bytes(path, limits=limits), path=path, limits=limits), path)
    try:
        with path.open("rb") as file, opened(file, path=path, limits=limits) as picture:
            if picture.mode != "P" and not labels:
                return None
            array = _decoded(picture, path)
            if picture.mode in {"P", "L"}:
                present = picture.histogram()
                return tuple(index for index in range(1, VOID) if present[index])
    except OSError as error:
        raise unreadable(path, error) from error
    return distinct(array if array.ndim == 2 else one_channel(array, path)[0], path)


def encode_mask(mask: Mask) -> bytes:
    """A mask, bool (H, W), as the bytes of a 1-bit PNG: white is the object.

    Raises:
        ValueError: The array is not bool (H, W).
    """
    return mask_png(mask)


def write_mask(path: Path, mask: Mask) -> None:
    """Write a mask, bool (H, W), as a 1-bit PNG, whole or not at all.

    Raises:
        ValueError: The array is not bool (H, W).
        OutputError: It cannot be written.
    """
    write_bytes(path, mask_png(mask))


def write_labels(path: Path, indices: NDArray[np.uint8]) -> None:
    """Write object indices, uint8 (H, W), as a palette PNG in the colours of DAVIS: 0 none, 255 void.

    Raises:
        ValueError: The array is not uint8 (H, W).
        OutputError: It cannot be written.
    """
    write_bytes(path, labels_png(indices))
