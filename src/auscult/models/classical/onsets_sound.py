"""What is heard when, and from where: the sound of a clip as seen from its frames.

Short stretches around each frame are transformed; in stereo each of their frequencies lies somewhere between left and
right, by the amplitudes of the two channels alone (constant power panning, as in ``cases.scenes`` and on most mixers).
Where two things sound at one frequency at once the place lies between them and is no one's, so a frequency counts by
how well a single place explains it over a few neighbours in time and pitch (as single-source zones in Arberet et al.,
"A robust method to count and locate audio sources in a multichannel underdetermined mixture", IEEE TSP 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

PLACES: Final = 161
"""Steps from the left edge of the picture to the right one, both included."""

REACH_S: Final = 0.3
"""How far around a frame is listened to; what is heard neither before nor after it within this time is not heard."""

_WINDOW_S: Final = 0.064
_HOP_S: Final = 0.016
_LOWEST_HZ: Final = 60.0
_HIGHEST_HZ: Final = 12_000.0
_FLOOR: Final = 10 ** (-60 / 20)  # of full scale: quieter is silence, whatever else is in the clip
_BELOW_LOUDEST: Final = 10 ** (-46 / 20)
_ENOUGH_HZ: Final = 24_000
_AT_ONCE: Final = 32  # frames, so that a long clip takes no more memory than a short one
_MIXED: Final = 0.9  # share of power that one place explains, below which a frequency does not count
_LOUDNESS: Final = 0.35  # power to this is its weight, so that the loudest does not drown the others
_AROUND: Final = 8  # places to each side that are one sound's
_TOP: Final = 4
_LEAST_PEAK: Final = 0.004  # of what is heard in a frame
_SAME_SIDES: Final = 1e-3  # share of power in the difference of the channels below which there is no stereo

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """The sound at each frame.

    Attributes:
        level: RMS around each frame, (T,), full scale 1; 0 where it is silent.
        places: What is heard at each of ``PLACES``, (T, PLACES), 0 or more, each frame summing to at most 1; None
            where nothing tells left from right.
        drift: How far what is heard at a place is further right after the frame than before it, (T, PLACES), share of
            the width; None without ``places``.
    """

    level: Floats
    places: Floats | None
    drift: Floats | None = None

    @property
    def sounds(self) -> NDArray[np.bool_]:
        """Whether anything is heard, (T,)."""
        return self.level > 0


def listen(sound: Samples, rate_hz: int, *, frames: int) -> Heard:
    """Listen around each frame.

    Args:
        sound: float32 (samples,) or (channels, samples); of more than two channels the first two are left and right.
        rate_hz: Sample rate.
        frames: How many frames; frame ``k`` of ``T`` is at ``k / T`` of the sound.

    Returns:
        Levels and, for stereo, places.
    """
    sides, rate_hz = _thinned(np.nan_to_num(np.atleast_2d(sound).astype(np.float32))[:2], rate_hz)
    size = 1 << max(4, round(np.log2(max(16.0, _WINDOW_S * rate_hz))))
    hop, reach = max(1, round(_HOP_S * rate_hz)), round(REACH_S / _HOP_S)
    middles = np.round(np.arange(frames) * sides.shape[1] / max(frames, 1)).astype(np.int64)
    starts = middles[:, None] + np.arange(-reach, reach + 1) * hop - size // 2
    parts = [
        _spectra(sides, starts[first : first + _AT_ONCE], size=size, rate_hz=rate_hz)
        for first in range(0, frames, _AT_ONCE)
    ]
    power = np.concatenate([(np.abs(part) ** 2).sum(axis=(2, 3)) for part in parts])  # (T, steps)
    loud = np.sqrt(power)
    floor = max(_FLOOR, _BELOW_LOUDEST * float(loud.max(initial=0.0)))
    on = around(loud > floor)
    level = np.where(on, np.sqrt(np.mean(power, axis=1)), 0.0)
    if sides.shape[0] < 2 or not _differ(parts):
        return Heard(level=level, places=None)
    told = [_places(part, floor=floor) for part in parts]
    places, drift = np.concatenate([one for one, _ in told]), np.concatenate([one for _, one in told])
    return Heard(level=level, places=np.where(on[:, None], places, 0.0), drift=drift)


def _thinned(sides: NDArray[np.float32], rate_hz: int) -> tuple[NDArray[np.float32], int]:
    """Means of neighbouring samples, so that no rate takes more time than ``_ENOUGH_HZ``."""
    step = max(1, rate_hz // _ENOUGH_HZ)
    whole = sides.shape[1] // step * step
    if step == 1 or not whole:
        return sides, rate_hz
    return sides[:, :whole].reshape(len(sides), -1, step).mean(axis=2), rate_hz // step


def peaks(places: Floats) -> list[float]:
    """Where sounds come from, 0 left to 1 right: the tops of a histogram over places.

    Args:
        places: Of one frame, (PLACES,).
    """
    padded = np.pad(places, _TOP)
    near = np.stack([padded[step : step + PLACES] for step in range(2 * _TOP + 1)])
    tops = np.flatnonzero((places >= _LEAST_PEAK) & (places == near.max(axis=0)))
    steps = np.arange(-_TOP, _TOP + 1)
    return [(int(top) + float(steps @ near[:, top]) / float(near[:, top].sum())) / (PLACES - 1) for top in tops]


def around(active: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether something is on at the middle of each row: at it, or both before and after it.

    Args:
        active: (..., steps), an odd number of steps.
    """
    middle = active.shape[-1] // 2
    before, after = active[..., : middle + 1].any(axis=-1), active[..., middle:].any(axis=-1)
    return np.asarray(before & after)


def _spectra(
    sides: NDArray[np.float32], starts: NDArray[np.int64], *, size: int, rate_hz: int
) -> NDArray[np.complex64]:
    """Spectra of stretches, (T, steps, channels, frequencies), scaled so that their squares sum to mean power."""
    padded = np.pad(sides, ((0, 0), (size, size)))
    inside = np.clip(starts + size, 0, padded.shape[1] - size)
    window = np.hanning(size + 2)[1:-1].astype(np.float32)
    window /= np.sqrt(np.sum(window**2) * size / 2, dtype=np.float32)
    pieces = padded[:, inside[..., None] + np.arange(size)] * window
    frequencies = np.fft.rfftfreq(size, 1.0 / rate_hz)
    kept = (frequencies >= _LOWEST_HZ) & (frequencies <= _HIGHEST_HZ)
    spectra = np.fft.rfft(pieces, axis=-1)[..., kept]
    return np.moveaxis(spectra, 0, 2).astype(np.complex64)


def _differ(parts: Sequence[NDArray[np.complex64]]) -> bool:
    both = sum(float(np.sum(np.abs(part) ** 2)) for part in parts)
    apart = sum(float(np.sum(np.abs(part[:, :, 0] - part[:, :, 1]) ** 2)) for part in parts)
    return apart > _SAME_SIDES * both


def _places(spectra: NDArray[np.complex64], *, floor: float) -> tuple[Floats, Floats]:
    """Places and drift as in ``Heard``, from what is heard on both sides of each frame in time."""
    left, right = spectra[:, :, 0], spectra[:, :, 1]
    powers = [_near(np.abs(one) ** 2) for one in (left, right)]
    cross = _near((left * right.conj()).real)
    total = powers[0] + powers[1]
    spread = np.sqrt((powers[0] - powers[1]) ** 2 + 4 * cross**2)
    single = np.clip((spread / np.maximum(total, 1e-20) - _MIXED) / (1 - _MIXED), 0, 1)
    angle = 0.5 * np.arctan2(2 * cross, powers[0] - powers[1])  # 0 left, pi / 2 right
    place = np.clip(np.rint(np.clip(angle, 0, np.pi / 2) * (2 / np.pi) * (PLACES - 1)), 0, PLACES - 1).astype(np.int64)
    weight = np.where(cross >= 0, total**_LOUDNESS * single**2, 0.0)
    weight[total < (floor**2) / 64] = 0.0
    steps = weight.shape[1]
    counts = np.zeros((len(weight), steps, PLACES))
    frame, step = np.arange(len(weight))[:, None, None], np.arange(steps)[None, :, None]
    np.add.at(counts, (np.broadcast_to(frame, place.shape), np.broadcast_to(step, place.shape), place), weight)
    middle = steps // 2
    before, after = counts[:, : middle + 1].sum(axis=1), counts[:, middle:].sum(axis=1)
    both = np.minimum(_smooth(before), _smooth(after))
    drift = _middle(counts[:, middle:].sum(axis=1)) - _middle(before)
    whole = (before + after).sum(axis=1, keepdims=True) / 2
    return np.asarray(both / np.maximum(whole, 1e-20)), drift


def _near(values: NDArray[np.float32]) -> Floats:
    """Sums over three steps and three frequencies."""
    told = np.pad(np.asarray(values, dtype=np.float64), ((0, 0), (1, 1), (1, 1)))
    told = told[:, :-2] + told[:, 1:-1] + told[:, 2:]
    return np.asarray(told[:, :, :-2] + told[:, :, 1:-1] + told[:, :, 2:])


def _middle(counts: Floats) -> Floats:
    """Mean place of what is counted within ``_AROUND`` of each place, share of the width."""
    steps = np.arange(-_AROUND, _AROUND + 1) / (PLACES - 1)
    padded = np.pad(counts, ((0, 0), (_AROUND, _AROUND)))
    near = np.stack([padded[:, place : place + counts.shape[1]] for place in range(2 * _AROUND + 1)], axis=-1)
    return np.asarray((near @ steps) / np.maximum(near.sum(axis=-1), 1e-20))


def _smooth(counts: Floats) -> Floats:
    """Counts spread over neighbouring places, since what is heard from one place is never counted at one alone."""
    kernel = np.exp(-0.5 * (np.arange(-6, 7) / 2.4) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(counts, ((0, 0), (6, 6)))
    spread = np.zeros_like(counts)
    for place, share in enumerate(kernel.tolist()):
        spread += share * padded[:, place : place + counts.shape[1]]
    return spread
