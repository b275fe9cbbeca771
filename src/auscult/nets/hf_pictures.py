"""Frames as a network wants them: resized, scaled to 0..1, and normalised by each channel's mean and deviation.

The library's own processors need torchvision for most of these models; this is the same arithmetic with torch alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.nets.hf_folder import read_table
from auscult.types import Frames

PREPARED: Final = "preprocessor_config.json"
_PROCESSOR: Final = "processor_config.json"
_IMAGENET: Final = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_LEAST_SIDE: Final = 8
_MOST_SIDE: Final = 2048
_BILINEAR: Final = 2
_BICUBIC: Final = 3
_SCALE: Final = 1 / 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """How frames are prepared."""

    size: tuple[int, int] | None = None  # (height, width) that every frame is squeezed to; or None, see ``edges``
    edges: tuple[int, int] = (800, 1333)  # where the shape is kept: shorter side, and the longer at most, pixels
    mean: tuple[float, ...] = _IMAGENET[0]  # of each channel, 0..1
    std: tuple[float, ...] = _IMAGENET[1]  # their deviation
    cubic: bool = False  # resized with cubic instead of linear weights

    def __call__(self, frames: Frames) -> Any:
        """Prepare frames, uint8 RGB (n, H, W, 3): a torch tensor float32 (n, 3, height, width) on the CPU."""
        import torch
        from torch.nn.functional import interpolate

        found = torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2)))
        size = self.sized(frames.shape[1], frames.shape[2])
        if size != tuple(frames.shape[1:3]):
            found = interpolate(found, size=size, mode="bicubic" if self.cubic else "bilinear", antialias=True)
        mean, std = (torch.tensor(values, dtype=torch.float32)[:, None, None] for values in (self.mean, self.std))
        return (found.to(torch.float32) * _SCALE - mean) / std

    def sized(self, height: int, width: int) -> tuple[int, int]:
        """The size that a frame of ``height`` and ``width`` is given."""
        if self.size is not None:
            return self.size
        short, most = self.edges
        least, greatest = min(height, width), max(height, width)
        exact = float(short)
        if greatest / least * short > most:
            exact = most * least / greatest
            short = round(exact)
        if least == short:
            return height, width
        long = int(exact * greatest / least)
        return (short, long) if height < width else (long, short) if width < height else (short, short)


def read_preparation(folder: Path, *, side: int | None, usual: Preparation) -> Preparation:
    """How a release prepares frames, by ``preprocessor_config.json`` or ``processor_config.json``, else as usual.

    ``side`` is the only one that the model takes, whatever the file says; None where the file decides.
    """
    path = folder / PREPARED
    try:
        if path.is_file():
            table = read_table(path)
        else:
            path = folder / _PROCESSOR
            table = _table_in(read_table(path)) if path.is_file() else {}
        mean, std = channels(table, usual=(usual.mean, usual.std))
        cubic = _cubic(table, usual)
        size, edges = ((side, side), usual.edges) if side else _size(table, usual)
    except InputError as error:
        raise UsageError(error.message, path=error.path or path, expected="settings of the release") from error
    return Preparation(size=size, edges=edges, mean=mean, std=std, cubic=cubic)


def square(side: Any) -> int:
    """The side of the model's pictures, given as one number or as two."""
    return int(side[0]) if isinstance(side, list | tuple) else int(side)


def batches(frames: Frames, most: int) -> Iterator[Frames]:
    """Cut a clip into runs of at most ``most`` frames, so that memory does not grow with its length."""
    for start in range(0, len(frames), most):
        yield frames[start : start + most]


def _table_in(table: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = table.get("image_processor", {})
    if not isinstance(inner, dict):
        raise InputError("'image_processor' is no object")
    return inner


def channels(
    table: Mapping[str, Any], *, usual: tuple[tuple[float, ...], tuple[float, ...]]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel, 0..1, as a table of settings has them."""
    return _three(table, "image_mean", usual[0]), _three(table, "image_std", usual[1])


def _three(table: Mapping[str, Any], key: str, usual: tuple[float, ...]) -> tuple[float, ...]:
    value = table.get(key)
    if value is None:
        return usual
    valid = isinstance(value, list) and len(value) == 3 and all(type(number) in {int, float} for number in value)
    if not valid or not all(0 <= number <= 1 for number in value) or (key == "image_std" and min(value) < 1e-3):
        raise InputError(f"{key!r} is {str(value)[:60]}, not three numbers from 0 to 1")
    return tuple(float(number) for number in value)


def _cubic(table: Mapping[str, Any], usual: Preparation) -> bool:
    for key in ("do_resize", "do_rescale", "do_normalize"):
        if table.get(key) not in (None, True):
            raise InputError(f"{key!r} is {str(table[key])[:20]}: frames are always resized, scaled and normalised")
    scale = table.get("rescale_factor")
    if scale is not None and (type(scale) is not float or abs(scale - _SCALE) > 1e-9):
        raise InputError(f"'rescale_factor' is {str(scale)[:20]}, not 1/255")
    resample = table.get("resample", _BICUBIC if usual.cubic else _BILINEAR)
    if resample not in (_BILINEAR, _BICUBIC):
        raise InputError(f"'resample' is {str(resample)[:20]}, not {_BILINEAR} (linear) or {_BICUBIC} (cubic)")
    return bool(resample == _BICUBIC)


def _size(table: Mapping[str, Any], usual: Preparation) -> tuple[tuple[int, int] | None, tuple[int, int]]:
    value = table.get("size")
    if value is None:
        return usual.size, usual.edges
    if type(value) is int:
        value = {"height": value, "width": value} if usual.size else {"shortest_edge": value}
    if isinstance(value, dict) and {"height", "width"} <= value.keys():
        return (_side(value["height"]), _side(value["width"])), usual.edges
    if isinstance(value, dict) and "shortest_edge" in value and usual.size is None:
        longest = value.get("longest_edge", table.get("max_size", usual.edges[1]))
        return None, (_side(value["shortest_edge"]), _side(longest))
    raise InputError(f"'size' is {str(value)[:60]}, which this model is not prepared by")


def _side(value: Any) -> int:
    if type(value) is not int or not _LEAST_SIDE <= value <= _MOST_SIDE:
        raise InputError(f"a side in 'size' is {str(value)[:20]}, not {_LEAST_SIDE} to {_MOST_SIDE} pixels")
    return value
