"""Hashes of decoded content: what two people compare who made the same benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from auscult.types import Frame, Samples


def frame_digest(frames: Iterator[Frame]) -> tuple[str, int]:
    """SHA-256 of the bytes of frames in their order, uint8 RGB row by row, and how many there were."""
    digest, count = hashlib.sha256(), 0
    for frame in frames:
        digest.update(np.ascontiguousarray(frame).data)
        count += 1
    return digest.hexdigest(), count


def sound_digest(samples: Samples) -> str:
    """SHA-256 of a sound's samples as they are read: float32, little-endian, channel after channel."""
    return hashlib.sha256(np.ascontiguousarray(samples, dtype="<f4").data).hexdigest()
