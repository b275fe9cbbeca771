"""WAV files: writing 16-bit PCM, reading PCM and floating point, with numpy alone."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, OutputError
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_sound
from auscult.types import Samples

FULL_SCALE = 32_767.0
"""What 1.0 is written as: -1 and 1 have the same size, as in libsndfile and most players."""

_MOST_BYTES = 2**32 - 1 - 36
_UNKNOWN_SIZES: Final = range(0x7FFFE000, 0x80000001)
"""What SoX and arecord write to a pipe, in whole samples; others write the largest size, or 0."""
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_MOST: Final = 1e18  # its square is a float32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sound:
    """A sound as it was read.

    Attributes:
        samples: (channels, samples) float32 in [-1, 1]; beyond that where a reader was told not to cut off.
        rate_hz: Sample rate.
    """

    samples: Samples
    rate_hz: int

    @property
    def shape(self) -> tuple[int, ...]:
        """(channels, samples)."""
        return self.samples.shape

    def __getitem__(self, key: Any) -> Samples:
        """A block: ``sound[..., a:b]``, as of a ``SoundReader``."""
        return np.asarray(self.samples[key])


def encode_wav(samples: Samples, rate_hz: int) -> bytes:
    """A WAV file of 16-bit PCM from float (samples,) or (channels, samples) in [-1, 1]; 1 becomes 32767."""
    sound = np.atleast_2d(np.asarray(samples))
    if sound.ndim != 2 or not 1 <= sound.shape[0] <= 65_535 or not np.issubdtype(sound.dtype, np.floating):
        raise ValueError(f"a sound is float (samples,) or (channels, samples), not {sound.dtype} {np.shape(samples)}")
    if sound.size and not float(np.max(np.abs(sound))) <= 1.0:
        raise ValueError("a sound is finite and within -1 to 1")
    if not 1 <= rate_hz < 2**31 // (2 * sound.shape[0]) or sound.size * 2 > _MOST_BYTES:
        raise ValueError(f"a WAV file cannot hold {sound.shape[0]} x {sound.shape[1]} samples at {rate_hz} Hz")
    integers = np.rint(sound.T * np.float32(FULL_SCALE)).astype("<i2")
    return b"".join((_head((sound.shape[0], sound.shape[1]), _PCM, bits=16, rate_hz=rate_hz), integers.tobytes()))


def _head(shape: tuple[int, int], code: int, *, bits: int, rate_hz: int) -> bytes:
    """What stands before the values in a WAV file of (channels, samples)."""
    channels, count = shape
    block = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, rate_hz, rate_hz * block, block, bits)
    fact = b"fact" + struct.pack("<II", 4, count) if code == _FLOAT else b""
    chunks = b"".join((b"fmt ", struct.pack("<I", len(form)), form, fact, b"data", struct.pack("<I", count * block)))
    return b"RIFF" + struct.pack("<I", 4 + len(chunks) + count * block) + b"WAVE" + chunks


def is_wav(head: bytes) -> bool:
    """Whether a file that begins so is a WAV file."""
    return head[:4] == b"RIFF" and head[8:12] == b"WAVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class WavLayout:
    """Where the samples of a WAV file are and how they are written."""

    code: int
    bits: int
    channels: int
    rate_hz: int
    count: int  # of each channel
    offset: int  # bytes before the first


def decode_wav(
    source: bytes | BinaryIO, *, path: Path, limits: Limits = DEFAULT_LIMITS, cut: bool = True
) -> Sound | None:
    """Decode a WAV file of PCM (8 to 32 bits) or floating point (32, 64 bits); None where it is of another coding.

    Of a file no more is held than its samples as float32 and one block of its bytes. ``cut``: what is over full scale
    is cut off.
    """
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    layout = wav_layout(file, path=path, limits=limits)
    if layout is None:
        return None
    blocks = SampleBlocks(layout.channels, layout.count, path=path, cut=cut)
    while blocks.count < layout.count:
        blocks.put(wav_block(file, layout, path=path, span=(blocks.count, min(layout.count, blocks.count + BLOCK))))
    return Sound(samples=blocks.samples(), rate_hz=layout.rate_hz)


def wav_layout(file: BinaryIO, *, path: Path, limits: Limits = DEFAULT_LIMITS) -> WavLayout | None:
    """Read the header of a WAV file; None where it is of a coding that is not read here."""
    form, available, declared = _chunks(file, path)
    code, channels, rate_hz, _, block, bits = struct.unpack_from("<HHIIHH", form)
    if code == _EXTENSIBLE and len(form) >= 26:
        code = struct.unpack_from("<H", form, 24)[0]
    if code not in {_PCM, _FLOAT} or bits not in ({8, 16, 24, 32} if code == _PCM else {32, 64}):
        return None
    if channels == 0 or rate_hz == 0 or block != channels * bits // 8:
        raise _broken(path, f"its header says {channels} channels, {rate_hz} Hz and {block} bytes a sample")
    count = declared // block
    check_sound((channels, count), rate_hz, limits=limits, path=path)
    if available < count * block:
        raise InputError(
            f"the sound is truncated: {available // block / rate_hz:.3f} of {count / rate_hz:.3f} s are there",
            expected="a whole WAV file",
            hint="copy or export it again",
            path=path,
        )
    return WavLayout(
        code=code, bits=bits, channels=channels, rate_hz=int(rate_hz), count=count, offset=file.tell()
    )  # fmt: skip


def wav_block(file: BinaryIO, layout: WavLayout, *, path: Path, span: tuple[int, int]) -> NDArray[np.float32]:
    """The samples from the first to before the last of a span, (channels, samples), not cut off at full scale."""
    block = layout.channels * layout.bits // 8
    file.seek(layout.offset + span[0] * block)
    body = file.read((span[1] - span[0]) * block)
    if len(body) != (span[1] - span[0]) * block:
        raise _broken(path, "it became shorter while it was read")
    samples = _values(body, code=layout.code, bits=layout.bits).reshape(-1, layout.channels).T
    _check_finite(samples, path)
    return samples


BLOCK: Final = 1 << 16
"""Samples of each channel that are decoded at a time."""


class SampleBlocks:
    """A sound of at most ``most`` samples a channel that comes in blocks and is held once; gaps are silence.

    With ``cut`` what is over full scale is cut off.
    """

    def __init__(self, channels: int, most: int, *, path: Path, cut: bool = True) -> None:
        self._whole = np.zeros((channels, most), dtype=np.float32)  # takes memory only where it is written to
        self._path, self._cut = path, cut
        self.count = 0

    def put(self, block: NDArray[np.float32], *, start: int | None = None) -> None:
        """Add a block, (channels, samples), at the end or from a sample on."""
        _check_finite(block, self._path)
        begin = self.count if start is None else start
        end = begin + block.shape[1]
        if self._cut:
            np.clip(block, -1.0, 1.0, out=self._whole[:, begin:end])
        else:
            self._whole[:, begin:end] = block
        self.count = max(self.count, end)

    def samples(self) -> Samples:
        """The whole, (channels, samples), float32, C-contiguous."""
        channels, capacity = self._whole.shape
        flat = self._whole.reshape(-1)
        for row in range(1, channels if self.count < capacity else 1):
            for begin in range(0, self.count, BLOCK):  # moved down in place, part by part
                part = self._whole[row, begin : min(begin + BLOCK, self.count)]
                flat[row * self.count + begin :][: part.size] = part
        return flat[: channels * self.count].reshape(channels, self.count)


def _check_finite(samples: NDArray[np.float32], path: Path) -> None:
    if not np.isfinite(samples).all():
        raise InputError("the sound holds values that are not finite", expected="samples from -1 to 1", path=path)


def _values(body: bytes, *, code: int, bits: int) -> NDArray[np.float32]:
    if code == _FLOAT:
        numbers = np.frombuffer(body, f"<f{bits // 8}")
        # Larger ones, which a float32 could not square, are no sound either way; infinite ones are refused.
        bounded = np.where(np.isinf(numbers), numbers, np.clip(numbers, -_MOST, _MOST))
        return np.asarray(bounded, dtype=np.float32)
    if bits == 8:
        return np.asarray((np.frombuffer(body, np.uint8) - 128.0) / 128.0, dtype=np.float32)
    if bits == 24:
        raw = np.frombuffer(body, np.uint8).reshape(-1, 3)
        padded = np.zeros((len(raw), 4), dtype=np.uint8)
        padded[:, 1:] = raw
        return np.asarray(padded.view("<i4")[:, 0] / 2.0**31, dtype=np.float32)
    scale = np.float32(2.0 ** (bits - 1))
    return np.asarray(np.frombuffer(body, f"<i{bits // 8}") / scale, dtype=np.float32)


_MOST_FORM_BYTES: Final = 1024


def _chunks(file: BinaryIO, path: Path) -> tuple[bytes, int, int]:
    """The format chunk, how many bytes the data chunk has, and how many it should have; leaves the file there."""
    length = file.seek(0, io.SEEK_END)
    offset, form = 12, b""
    while offset + 8 <= length:
        head = _read_at(file, offset, 8)
        name, size = head[:4], int.from_bytes(head[4:], "little")
        offset += 8
        if name == b"fmt ":
            form = _read_at(file, offset, min(size, _MOST_FORM_BYTES))
        elif name == b"data":
            if len(form) < 16:
                raise _broken(path, "no whole format chunk stands before its data")
            remaining = length - offset
            # A program that wrote to a pipe could not go back to fill in the size.
            unknown = (
                size == 0xFFFFFFFF
                or (size in _UNKNOWN_SIZES and size > remaining)
                or (size == 0 and not _chunk_at(_read_at(file, offset, 8), length - offset))
            )
            declared = remaining if unknown else size
            file.seek(offset)
            return form, min(declared, remaining), declared
        offset += size + size % 2
    raise _broken(path, "it has no data chunk")


def _read_at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def _chunk_at(head: bytes, remaining: int) -> bool:
    """Whether ``head`` begins a chunk: four printable characters, rare in samples, and a size within ``remaining``."""
    if len(head) < 8 or not all(0x20 <= byte < 0x7F for byte in head[:4]):
        return False
    return 8 + int.from_bytes(head[4:], "little") <= remaining


def _broken(path: Path, problem: str) -> InputError:
    return InputError(
        f"the WAV file is damaged: {problem}", expected="a whole WAV file", hint="copy or export it again", path=path
    )


Depth: TypeAlias = Literal["int16", "float32"]

DEPTHS: Final[tuple[Depth, ...]] = ("int16", "float32")

_MOST_WAV_BYTES: Final = 2**32 - 1 - 64


def as_stored(samples: Samples, depth: Depth) -> tuple[Samples, int]:
    """A sound as it comes back from a file, cut off at full scale and rounded to the depth; and how many were cut off.

    ``int16`` rounds to 1/32768, the step that reading divides by, so that 16 bits stay what they were.
    """
    clipped = int(np.count_nonzero(np.abs(samples) > 1.0))
    if depth == "float32":
        return np.clip(samples, -1.0, 1.0), clipped
    return whole_samples(samples).astype(np.float32) / np.float32(32768.0), clipped


def whole_samples(samples: Samples) -> NDArray[np.int16]:
    """Samples in steps of 1/32768, cut off at full scale."""
    return np.asarray(np.clip(np.rint(samples * np.float32(32768.0)), -32768.0, 32767.0), dtype="<i2")


def wav_bytes(sound: Sound, depth: Depth) -> bytes:
    """A WAV file of 16-bit PCM or 32-bit floating point."""
    channels, count = sound.samples.shape
    return b"".join(wav_parts([sound.samples], (channels, count), rate_hz=sound.rate_hz, depth=depth))


def wav_parts(blocks: Iterable[Samples], shape: tuple[int, int], *, rate_hz: int, depth: Depth) -> Iterator[bytes]:
    """The same in parts, of a sound of (channels, samples) that comes in blocks."""
    channels, count = shape
    size = 2 if depth == "int16" else 4
    if channels * count * size > _MOST_WAV_BYTES:
        raise OutputError(
            f"a WAV file cannot hold {channels} x {count} samples", hint="cut out the part that is needed"
        )
    yield _head(shape, _PCM if depth == "int16" else _FLOAT, bits=8 * size, rate_hz=rate_hz)
    for block in blocks:
        yield (whole_samples(block) if depth == "int16" else np.asarray(block, dtype="<f4")).T.tobytes()
