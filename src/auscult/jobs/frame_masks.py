"""The masks of one frame, opened when they are asked for and held small: a crowded frame may have hundreds."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, overload

import numpy as np

from auscult.arrays.boxes import box_of, window
from auscult.errors import AuscultError
from auscult.media.readings import LoadedMask
from auscult.types import Box, Item, Mask

_MOST_BYTES: Final = 1 << 27  # of masks that are held as they are, the last used ones


class FrameMasks:
    """Masks of a frame's items by their id, each read at most once, by ``read``, which raises AuscultError."""

    def __init__(self, items: Sequence[Item], read: Callable[[Item], LoadedMask]) -> None:
        self._items = {item.id: item for item in items}
        self._read = read
        self._packed: dict[str, _Packed | AuscultError] = {}
        self._whole: dict[str, LoadedMask] = {}  # the last used one at the end
        self._bytes = 0

    def get(self, name: str) -> LoadedMask | AuscultError:
        """The mask of an item, or why it cannot be read."""
        cached = self._whole.pop(name, None)
        if cached is not None:
            self._whole[name] = cached
            return cached
        packed = self._packed.get(name)
        if isinstance(packed, AuscultError):
            return packed
        try:
            loaded = self._read(self._items[name]) if packed is None else packed.loaded()
        except AuscultError as error:
            self._packed[name] = error
            return error
        self._keep(name, loaded)
        return loaded

    def others(self, name: str) -> Sequence[Mask]:
        """The masks of the other items that can be read; none is opened before it is asked for."""
        return _Others(self, name)

    @cached_property
    def readable(self) -> tuple[str, ...]:
        """Ids of the items whose masks can be read."""
        return tuple(name for name in self._items if not isinstance(self.get(name), AuscultError))

    def _keep(self, name: str, loaded: LoadedMask) -> None:
        self._whole[name] = loaded
        self._bytes += loaded.mask.nbytes
        while self._bytes > _MOST_BYTES and len(self._whole) > 1:
            oldest = next(iter(self._whole))
            dropped = self._whole.pop(oldest)
            self._bytes -= dropped.mask.nbytes
            if oldest not in self._packed:
                self._packed[oldest] = _Packed.of(dropped)


class _Others(Sequence[Mask]):
    """All masks of a frame but one; each access may draw it anew, so that few are in memory at a time."""

    def __init__(self, masks: FrameMasks, own: str) -> None:
        self._masks = masks
        self._own = own

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for name in self._masks.readable if name != self._own)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Mask]:
        return map(self._mask, self._names)

    @overload
    def __getitem__(self, index: int) -> Mask: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mask]: ...
    def __getitem__(self, index: int | slice) -> Mask | Sequence[Mask]:
        if isinstance(index, slice):
            return tuple(map(self._mask, self._names[index]))
        return self._mask(self._names[index])

    def _mask(self, name: str) -> Mask:
        loaded = self._masks.get(name)
        if isinstance(loaded, AuscultError):
            raise loaded
        return loaded.mask


@dataclass(frozen=True, slots=True)
class _Packed:
    """A mask as the bits of its box, compressed."""

    size: tuple[int, int]
    box: Box | None  # None for an empty mask
    bits: bytes
    reading: str

    @classmethod
    def of(cls, loaded: LoadedMask) -> _Packed:
        height, width = loaded.mask.shape
        box = box_of(loaded.mask)
        bits = b"" if box is None else zlib.compress(np.packbits(loaded.mask[window(box)]).tobytes(), 1)
        return cls((height, width), box, bits, loaded.reading)

    def loaded(self) -> LoadedMask:
        mask = np.zeros(self.size, dtype=np.bool_)
        if self.box is not None:
            inner = mask[window(self.box)]
            bits = np.frombuffer(zlib.decompress(self.bits), dtype=np.uint8)
            inner[...] = np.unpackbits(bits, count=inner.size).reshape(inner.shape)
        return LoadedMask(mask, self.reading)
