"""Tracks put together into one stereo sound.

Levels are true to one another and, as a rule, absolute: a track arrives at ``REFERENCE_DB`` plus its gain, whatever
else sounds. Only where the sum would pass ``CEILING`` is the whole mix turned down by one gain, which is returned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.sound.source import SoundSet, Track
from auscult.types import Samples

CEILING = 0.98
"""No sample is larger in size."""

_CONTROL_S = 0.01
_SOFTEST_DB = -200.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mix:
    """A mixed sound.

    Attributes:
        samples: (2, samples) float32, left and right, at most ``CEILING`` in size.
        gain_db: What every track was turned down by to stay under the ceiling; 0 as a rule, else below.
    """

    samples: Samples
    gain_db: float


def mix(tracks: Sequence[Track], sounds: SoundSet, *, seconds: float, rate_hz: int) -> Samples:
    """The samples of ``mix_down``, (2, round(seconds * rate_hz)) float32."""
    return mix_down(tracks, sounds, seconds=seconds, rate_hz=rate_hz).samples


def mix_down(tracks: Sequence[Track], sounds: SoundSet, *, seconds: float, rate_hz: int) -> Mix:
    """Render every track in its spans, at its level and place, and sum. Pure.

    A span from ``a`` to ``b`` takes the samples ``round(a * rate_hz)`` up to ``round(b * rate_hz)``; each span is a
    sound of its own, from its beginning. Level is interpolated in decibels, pan by angle at constant power.

    Args:
        tracks: What sounds; none gives silence.
        sounds: Where the sources come from.
        seconds: Length of the clip.
        rate_hz: Sample rate.

    Raises:
        ValueError: A track's spans are out of order or outside the clip, or its times do not match its gains and pans.
    """
    count = round(seconds * rate_hz)
    total = np.zeros((2, count), dtype=np.float32)
    for track in tracks:
        _check(track, seconds)
        _add(track, sounds, total=total, rate_hz=rate_hz)
    peak = float(np.max(np.abs(total))) if total.size else 0.0
    if peak <= CEILING:
        return Mix(samples=total, gain_db=0.0)
    gain = CEILING / peak
    return Mix(samples=np.clip(total * np.float32(gain), -CEILING, CEILING), gain_db=20.0 * float(np.log10(gain)))


def _add(track: Track, sounds: SoundSet, *, total: NDArray[np.float32], rate_hz: int) -> None:
    rendered: dict[int, Samples] = {}
    for start_s, end_s in track.spans:
        start = round(start_s * rate_hz)
        length = min(round(end_s * rate_hz), total.shape[1]) - start
        if length <= 0:
            continue
        if length not in rendered:
            rendered[length] = sounds.samples(track.source, seconds=length / rate_hz, rate_hz=rate_hz)
        left, right = _gains(track, (start, length), rate_hz=rate_hz)
        sound = rendered[length][:length]
        total[0, start : start + length] += sound * left
        total[1, start : start + length] += sound * right


def _gains(
    track: Track, span: tuple[int, int], *, rate_hz: int
) -> tuple[NDArray[np.float32] | np.float32, NDArray[np.float32] | np.float32]:
    """Left and right factor of every sample of a span; a single factor where neither level nor place changes."""
    start, length = span
    step = max(1, round(_CONTROL_S * rate_hz))
    knots = np.arange(0, length + step, step)
    times = (start + knots) / rate_hz
    level = 10.0 ** (np.interp(times, track.times_s, track.gain_db) / 20.0)
    angle = (np.interp(times, track.times_s, track.pan) + 1.0) * (np.pi / 4.0)
    sides = level * np.cos(angle), level * np.sin(angle)
    if np.ptp(level) == 0.0 and np.ptp(angle) == 0.0:
        return np.float32(sides[0][0]), np.float32(sides[1][0])
    places = np.arange(length)
    left, right = (np.interp(places, knots, side).astype(np.float32) for side in sides)
    return left, right


def _check(track: Track, seconds: float) -> None:
    """Refuse what cannot be mixed; written so that a NaN fails every comparison."""
    edges = [edge for span in track.spans for edge in span]
    if not edges or not _rise(edges):
        raise ValueError(f"spans are in order, apart and not empty, not {track.spans}")
    if not (edges[0] >= 0.0 and edges[-1] <= seconds + 1e-9):
        raise ValueError(f"spans lie within 0 to {seconds} s, not {track.spans}")
    times = track.times_s
    if not times or len(times) != len(track.gain_db) or len(times) != len(track.pan):
        raise ValueError(f"{len(times)} times, {len(track.gain_db)} gains and {len(track.pan)} pans do not match")
    if not (_rise(times) and math.isfinite(times[0]) and math.isfinite(times[-1])):
        raise ValueError("the times of a track rise")
    if not all(_SOFTEST_DB <= gain <= 0.0 for gain in track.gain_db) or not all(
        -1.0 <= pan <= 1.0 for pan in track.pan
    ):
        raise ValueError(f"a gain is {_SOFTEST_DB:g} to 0 dB and a pan -1 to 1")


def _rise(numbers: Sequence[float]) -> bool:
    return not math.isnan(numbers[0]) and all(later > earlier for earlier, later in pairwise(numbers))
