"""Brush masks of Label Studio: values of an RGBA picture in thi.ng's rle-pack, a list of bytes.

Bit by bit: the number of values (32), the bits of a value less one (5), four lengths of counts less one (4 each); then
blocks of one bit (1 for a run of one value, 0 for values one by one), two bits that choose a length, that many bits for
the count less one, and the value or values. The mask is in the fourth channel.

Source: the package ``@thi.ng/rle-pack``, which Label Studio uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_pixels
from auscult.media.rle import runs_of
from auscult.types import Mask

_LENGTHS = (3, 4, 8, 16)
_CHANNELS = 4
_HALF = 128
_EXPECTED = "the list 'rle' of a brush mask, as Label Studio exports it"


def pack(mask: Mask) -> list[int]:
    """A mask, bool (H, W), as bytes 0..255; set pixels have 255 in all four channels."""
    bits = [f"{mask.size * _CHANNELS:032b}", f"{7:05b}", *(f"{length - 1:04b}" for length in _LENGTHS)]
    longest = 1 << _LENGTHS[-1]
    for number, run in enumerate((runs_of(np.ascontiguousarray(mask.T)) * _CHANNELS).tolist()):
        value = "11111111" if number % 2 else "00000000"
        for start in range(0, run, longest):
            count = min(run - start, longest)
            chosen = next(place for place, length in enumerate(_LENGTHS) if count <= 1 << length)
            bits.append(f"1{chosen:02b}{count - 1:0{_LENGTHS[chosen]}b}{value}")
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return list(int(text, 2).to_bytes(len(text) // 8, "big"))


def unpack(values: Sequence[Any], size: tuple[int, int], *, limits: Limits = DEFAULT_LIMITS) -> Mask:
    """The mask of a list of bytes, on a frame of ``size`` (height, width): bool (H, W), half opaque or more is set."""
    check_pixels(size, limits=limits)
    area = size[0] * size[1] * _CHANNELS
    if not {type(value) for value in values} <= {int} or not all(0 <= value <= 255 for value in values):
        raise InputError("the brush mask holds something that is no byte", expected=_EXPECTED)
    bits = _Bits(np.unpackbits(np.array(values, dtype=np.uint8)))
    if bits.number(32) != area:
        raise InputError(f"the brush mask is not of {size[0]} x {size[1]} pixels", expected=_EXPECTED)
    if bits.number(5) + 1 != 8:
        raise InputError("the values of the brush mask do not have 8 bits", expected=_EXPECTED)
    lengths = [bits.number(4) + 1 for _ in _LENGTHS]
    pixels = np.empty(area, dtype=np.uint8)
    place = 0
    while place < area:
        same = bits.number(1)
        end = place + 1 + bits.number(lengths[bits.number(2)])
        if end > area:
            raise InputError("the brush mask is longer than its picture", expected=_EXPECTED)
        pixels[place:end] = bits.bytes(1 if same else end - place)
        place = end
    return np.ascontiguousarray((pixels[_CHANNELS - 1 :: _CHANNELS] >= _HALF).reshape(size))


class _Bits:
    """Reads bits, uint8 (N,), from the first on."""

    def __init__(self, bits: NDArray[np.uint8]) -> None:
        self._bits = bits
        self._place = 0

    def number(self, count: int) -> int:
        """The next bits as a number."""
        return int.from_bytes(np.packbits(self._next(count)).tobytes(), "big") >> (-count % 8)

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """The next bytes: uint8 (count,)."""
        return np.packbits(self._next(8 * count))

    def _next(self, count: int) -> NDArray[np.uint8]:
        bits = self._bits[self._place : self._place + count]
        if bits.size < count:
            raise InputError("the brush mask ends too soon", expected=_EXPECTED)
        self._place += count
        return bits
