"""Writing sound as WAV without loss: 16-bit whole numbers or 32-bit floating point."""

from __future__ import annotations

import struct
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import OutputError
from auscult.media.wav import Sound
from auscult.types import Samples

Depth: TypeAlias = Literal["int16", "float32"]

DEPTHS: Final[tuple[Depth, ...]] = ("int16", "float32")

_MOST_WAV_BYTES: Final = 2**32 - 1 - 64


def as_stored(samples: Samples, depth: Depth) -> tuple[Samples, int]:
    """A sound as it comes back from a file: cut off at full scale and rounded to the depth.

    Args:
        samples: float32 (channels, samples); may leave [-1, 1].
        depth: ``int16`` rounds to 1/32768, the step that reading divides by, so that 16 bits stay what they were.

    Returns:
        The samples, and how many were cut off because they left [-1, 1].
    """
    clipped = int(np.count_nonzero(np.abs(samples) > 1.0))
    if depth == "float32":
        return np.clip(samples, -1.0, 1.0), clipped
    return whole_samples(samples).astype(np.float32) / np.float32(32768.0), clipped


def whole_samples(samples: Samples) -> NDArray[np.int16]:
    """Samples in steps of 1/32768, cut off at full scale."""
    return np.asarray(np.clip(np.rint(samples * np.float32(32768.0)), -32768.0, 32767.0), dtype="<i2")


def wav_bytes(sound: Sound, depth: Depth) -> bytes:
    """A WAV file of 16-bit PCM or 32-bit floating point.

    Raises:
        OutputError: It is longer than a WAV file can be.
    """
    channels, count = sound.samples.shape
    width = 2 if depth == "int16" else 4
    size = channels * count * width
    if size > _MOST_WAV_BYTES:
        raise OutputError(
            f"a WAV file cannot hold {channels} x {count} samples", hint="cut out the part that is needed"
        )
    code = 1 if depth == "int16" else 3
    block = channels * width
    form = struct.pack("<HHIIHH", code, channels, sound.rate_hz, sound.rate_hz * block, block, 8 * width)
    values = whole_samples(sound.samples) if depth == "int16" else np.asarray(sound.samples, dtype="<f4")
    body = np.ascontiguousarray(values.T).tobytes()
    chunks = b"fmt " + struct.pack("<I", len(form)) + form
    if depth == "float32":
        chunks += b"fact" + struct.pack("<II", 4, count)
    chunks += b"data" + struct.pack("<I", size) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks
