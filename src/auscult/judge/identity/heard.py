"""What a separated sound is: which of the sounds it knows, when it is heard, and from which side.

A sound is described by its spectrum in bands, how that changes, and how fast; linear discriminants of these
(Fisher 1936) put it near one of the known kinds, or far from all, and then it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from auscult.arrays.resampling import resampled
from auscult.types import Doubles, Floats, Mask, Samples

RATE_HZ: Final = 16_000
MOST_S: Final = 60.0
"""What is listened to of a longer sound, around the frame's time."""

BANDS: Final = 32
LAGS: Final = (1, 2, 4, 8, 16, 32)
"""In steps of ``STEP_S``: over these times it is measured how much loudness and pitch change."""

STEP_S: Final = 0.01
DESCRIBED: Final = 2 * BANDS + 2 * len(LAGS)

_SIZE: Final = 640
_RANGE_HZ: Final = (45.0, 7_800.0)
_HEARD_DB: Final = 15.0  # below its loudest, so soft is leakage
_SILENT: Final = 1e-8  # mean square, -80 dB
_GAP_S: Final = 0.3
_SHORTEST_S: Final = 0.1
_DESCRIBED_S: Final = 4.0  # of sound that the description is made of
_NEAR_S: Final = 1.0  # of sound that the side is measured on, nearest to the frame's time
_LEAST: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeardSound:
    """What was measured of a sound."""

    spans: tuple[tuple[float, float], ...]  # when it is heard, in seconds of what was listened to
    level_db: float  # over these spans, full scale is 0
    x: float | None  # where it comes from, 0 left to 1 right, near the frame's time; None of one channel
    described: Floats  # float32 (DESCRIBED,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundKinds:
    """The kinds of sound that are told apart."""

    nouns: tuple[str, ...]  # what is heard, one a kind
    verbs: tuple[str, ...]  # what its maker does
    countable: tuple[bool, ...]  # whether each span is heard as one sound
    mean: tuple[float, ...]  # of descriptions, (DESCRIBED,)
    axes: tuple[tuple[float, ...], ...]  # the discriminants, (axes, DESCRIBED)
    centres: tuple[tuple[float, ...], ...]  # of the kinds on them, (kinds, axes); spread within a kind is 1
    sharpness: float  # what half the squared distance is multiplied by
    farthest: float  # squared distance from the nearest centre beyond which a sound is none of these

    def chances(self, described: Floats) -> Doubles | None:
        """The probability of each kind, (kinds,), summing to 1; None for a sound unlike all."""
        at = np.asarray(self.axes) @ (described.astype(np.float64) - np.asarray(self.mean))
        far = ((np.asarray(self.centres) - at) ** 2).sum(axis=1)
        if far.min() > self.farthest:
            return None
        powers = np.exp(-0.5 * self.sharpness * (far - far.min()))
        return np.asarray(powers / powers.sum())


def listened(samples: Samples, rate_hz: int, *, time_s: float | None) -> tuple[Samples, float, bool]:
    """At most ``MOST_S`` of a sound at ``RATE_HZ``, as (channels, samples); when it begins, and whether that is all."""
    sound = np.atleast_2d(samples)
    most, count = round(MOST_S * rate_hz), sound.shape[1]
    begin = 0 if time_s is None else min(max(0, round((time_s - MOST_S / 2) * rate_hz)), max(0, count - most))
    part = sound[:, begin : begin + most]
    if rate_hz != RATE_HZ:
        part = resampled(part, rate_hz=rate_hz, wanted_hz=RATE_HZ)
    return part, begin / rate_hz, count <= most


def hear(sound: Samples, *, time_s: float | None = None) -> HeardSound | None:
    """Measure a sound, float32 (channels, samples) at ``RATE_HZ``; None for silence or less than .1 s."""
    if sound.shape[1] < _SIZE:
        return None
    whole = np.cumsum(sound.astype(np.float64) ** 2, axis=1)
    powers = ((whole[:, _SIZE - 1 :] - whole[:, : 1 - _SIZE]) / _SIZE)[:, :: round(RATE_HZ * STEP_S)]
    loud = powers.sum(axis=0)
    active = loud > max(_SILENT, float(loud.max()) * 10 ** (-_HEARD_DB / 10))
    spans = _spans(active)
    if not spans:
        return None
    windows = _windows(_mono(sound))[np.flatnonzero(active)[: round(_DESCRIBED_S / STEP_S)]]
    return HeardSound(
        spans=spans,
        level_db=min(0.0, 10 * float(np.log10(loud[active].mean()))),
        x=_side(powers, active, time_s=time_s) if len(sound) == 2 else None,
        described=_described(np.abs(np.fft.rfft(windows * np.hanning(_SIZE).astype(np.float32), axis=1)) ** 2),
    )


def _windows(channel: Samples) -> Floats:
    """Overlapping parts of a channel, float32 (steps, _SIZE)."""
    return np.lib.stride_tricks.sliding_window_view(channel, _SIZE)[:: round(RATE_HZ * STEP_S)]


def _mono(sound: Samples) -> Samples:
    """The sum of the channels; the loudest one where they cancel one another out."""
    mono, powers = sound.sum(axis=0), (sound**2).sum(axis=1)
    cancelled = float((mono**2).sum()) < 0.5 * float(powers.sum())
    return np.asarray(sound[int(powers.argmax())] if cancelled else mono, dtype=np.float32)


def _spans(active: Mask) -> tuple[tuple[float, float], ...]:
    """When it is heard; shorter pauses than ``_GAP_S`` count as sound."""
    steps = np.flatnonzero(active)
    if not len(steps):
        return ()
    pieces = np.split(steps, np.flatnonzero(np.diff(steps) > _GAP_S / STEP_S) + 1)
    found = ((float(piece[0]) * STEP_S, (float(piece[-1]) + 1) * STEP_S) for piece in pieces)
    return tuple((round(start, 2), round(end, 2)) for start, end in found if end - start >= _SHORTEST_S)


def _side(power: Doubles, active: Mask, *, time_s: float | None) -> float:
    """Where it comes from by the law of constant power, from the powers (2, steps) of left and right."""
    steps = np.flatnonzero(active)
    if time_s is not None:
        near = np.argsort(np.abs(steps * STEP_S - time_s), kind="stable")[: round(_NEAR_S / STEP_S)]
        steps = steps[near]
    left, right = power[:, steps].sum(axis=1)
    return float(np.arctan2(np.sqrt(right), np.sqrt(left)) / (np.pi / 2))


def _described(power: Floats) -> Floats:
    """Of spectra (steps, bins): bands relative to the whole, mean and spread; change of loudness and pitch by lag."""
    bands = np.log(power @ _filters().T + _LEAST)
    whole = np.log(power.sum(axis=1) + _LEAST)
    relative = bands - whole[:, None]
    pitch = (np.exp(relative) @ np.arange(BANDS, dtype=np.float32)) / np.exp(relative).sum(axis=1)
    change = [
        float(np.abs(row[lag:] - row[:-lag]).mean()) if len(row) > lag else 0.0
        for row in (whole, pitch)
        for lag in LAGS
    ]
    return np.concatenate([relative.mean(axis=0), relative.std(axis=0), change]).astype(np.float32)


@cache
def _filters() -> Floats:
    """Triangles of even width in the logarithm of frequency, float32 (BANDS, bins)."""
    frequencies = np.fft.rfftfreq(_SIZE, 1 / RATE_HZ)
    edges = np.geomspace(*_RANGE_HZ, BANDS + 2)
    rise = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    return np.maximum(0.0, np.minimum(rise, fall)).astype(np.float32)
