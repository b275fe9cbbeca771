"""How a thing's place in the picture is heard: level by distance, pan by place, and the level that arrives."""

from __future__ import annotations

import numpy as np

from auscult.cases.scenes.sound.loudness import REFERENCE_DB
from auscult.cases.scenes.sound.source import Track

SOFTEST_DB = -18.0
NEAR_HEIGHT = 0.5


def gain_by_height(height: float, *, near: float = NEAR_HEIGHT) -> float:
    """Level of a thing by its height in the picture.

    A thing twice as far is half as high, and its sound pressure half as large (1 / distance): the level falls by 6 dB.

    Args:
        height: Its height as a share of the picture's, above 0.
        near: Height at which it is heard at reference loudness; higher things are no louder.

    Returns:
        Decibels, ``SOFTEST_DB`` to 0.
    """
    if height <= 0.0:
        return SOFTEST_DB
    return float(np.clip(20.0 * np.log10(height / near), SOFTEST_DB, 0.0))


def pan_by_x(x: float) -> float:
    """Pan of a place: x 0 (left edge) to 1 (right edge) gives -1 to 1; beyond an edge it stays there."""
    return float(np.clip(2.0 * x - 1.0, -1.0, 1.0))


def arrival_db(track: Track) -> float:
    """How loud a track arrives, relative to full scale: its mean power over its spans, as LUFS over both channels.

    Panning keeps the power, so the place does not matter. A common gain of the mix (``Mix.gain_db``) comes on top.
    """
    power, total = 0.0, 0.0
    for start, end in track.spans:
        times = np.linspace(start, end, 65)
        gains = np.interp(times, track.times_s, track.gain_db)
        power += float(np.mean(10.0 ** (gains / 10.0))) * (end - start)
        total += end - start
    return REFERENCE_DB + 10.0 * float(np.log10(power / total))
