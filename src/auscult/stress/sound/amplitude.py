"""What changes amplitudes alone: louder or quieter, overdriven, silenced for a while."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Params, Perturbs, Range, Share
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class GainParams(Params):
    """Parameters of the gain."""

    share: Annotated[float, Meta(ge=-1.0, le=1.0)]  # of the level's bound, -1 (quietest) to 1 (loudest)


class Gain(Perturbs[GainParams]):
    """Gain: the source is louder or quieter than it was recorded.

    Source: R2-Bench, Table 1, source noise of sound; constants of its toolbox.
    """

    name = "sound.gain.v1"
    params = GainParams
    bound = Constant(
        "bound of the gain",
        (0.0, 3.0, 6.0, 9.0, 12.0, 15.0),
        unit="dB",
        exception="drawn both ways: louder or quieter, up to the level's bound",
    )
    keeps_silence = True
    meta = Metadata(
        summary="makes the whole sound louder or quieter",
        goal="a model that listens to loudness rather than to what sounds",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="source",
    )

    def render(self, sound: Samples, params: GainParams, *, rate_hz: int) -> Samples:
        """The sound times 10^(dB / 20)."""
        del rate_hz
        return sound * np.float32(10.0 ** (params.share * self.bound.at(params.strength) / 20.0))

    def block(self, sound: Samples, params: GainParams, *, start: int, take: AudioInfo) -> Samples:
        """The same of a part."""
        del start
        return self.render(sound, params, rate_hz=take.rate_hz)


GAIN: SoundStressor[GainParams] = Gain()


_LOWER_BITS: Final = 19
"""Bits of a float that a bucket leaves open: its width is a sixteenth of what it holds."""
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TanhParams(Params):
    """Parameters of the distortion."""

    amount_share: Share  # where in the level's range the distorted share of the samples lies, 0 (least) to 1


class TanhDistortion(Perturbs[TanhParams]):
    """Tanh distortion: a microphone too close to a loud source; its peaks are rounded off.

    Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox, formula of audiomentations. Below level
    1 the distortion of level 1 is mixed with the sound as it was.
    """

    name = "sound.tanh_distortion.v1"
    params = TanhParams
    amount = Range("share of samples distorted", (0.01, 0.01, 0.1, 0.2, 0.4, 0.6), (0.1, 0.1, 0.2, 0.4, 0.6, 0.7))
    share = Constant("share of the distorted sound", (0.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    keeps_silence = True
    meta = Metadata(
        summary="rounds off the loudest samples with a hyperbolic tangent and keeps the loudness",
        goal="an overdriven microphone: harmonics that no source has",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="sensor",
    )

    def render(self, sound: Samples, params: TanhParams, *, rate_hz: int) -> Samples:
        """The tangent of the sound, as loud as it was; silence stays silence."""
        del rate_hz
        share = self.share.at(params.strength)
        threshold = quantile(sound, 1.0 - 0.99 * self.amount.within(params.strength, params.amount_share))
        output = sound * np.float32(0.5 / (threshold + 1e-6))
        np.tanh(output, out=output)
        before, after = _rms(sound), _rms(output)
        if before == 0.0 or after == 0.0:
            return sound.copy()
        output *= np.float32(share * before / after)
        if share < 1.0:
            output += np.float32(1.0 - share) * sound
        return output


def quantile(sound: Samples, share: float) -> float:
    """The magnitude that a share, 0..1, of all finite samples stays below, between two samples on a straight line.

    The same as ``np.quantile(abs(sound), share)``, in a quarter of the time: positive floats are in the order of their
    bits, so that counting the upper bits finds the few samples that need sorting.
    """
    flat = sound.reshape(-1)
    up_to = np.cumsum(_counts(flat))
    rank = share * (flat.size - 1)
    low = int(rank)
    high = min(low + 1, flat.size - 1)
    first, last = (int(bucket) for bucket in np.searchsorted(up_to, [low, high], side="right"))
    magnitudes = _in_buckets(flat, first, last)
    skipped = int(up_to[first - 1]) if first else 0
    below, above = float(magnitudes[low - skipped]), float(magnitudes[high - skipped])
    return below + (rank - low) * (above - below)


def _counts(flat: Samples) -> NDArray[np.intp]:
    """How many magnitudes fall in each bucket; in pieces, as fresh memory costs more than the counting."""
    counts = np.zeros(1 << (31 - _LOWER_BITS), dtype=np.intp)
    for start in range(0, flat.size, _PIECE):
        magnitudes = flat[start : start + _PIECE].view(np.uint32) & np.uint32(0x7FFFFFFF)
        magnitudes >>= np.uint32(_LOWER_BITS)
        counts += np.bincount(magnitudes.astype(np.intp), minlength=counts.size)
    return counts


def _in_buckets(flat: Samples, first: int, last: int) -> Samples:
    """The magnitudes that fall in some neighbouring buckets, from the least to the greatest."""
    bounds = np.array([first << _LOWER_BITS, ((last + 1) << _LOWER_BITS) - 1], dtype=np.uint32)
    least, most = bounds.view(np.float32)
    parts = []
    for start in range(0, flat.size, _PIECE):
        magnitudes = np.abs(flat[start : start + _PIECE])
        parts.append(magnitudes[(magnitudes >= least) & (magnitudes <= most)])
    return np.sort(np.concatenate(parts))


def _rms(sound: Samples) -> float:
    return float(cv2.norm(sound)) / math.sqrt(sound.size)


TANH_DISTORTION: SoundStressor[TanhParams] = TanhDistortion()


_FADE_S: Final = 0.01
_FADE_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMaskParams(Params):
    """Parameters of the mask."""

    length_share: Share  # where in the level's range its length lies, 0 (shortest) to 1
    place: Share  # where it lies, 0 (at the beginning) to 1 (at the end)


class TimeMask(Perturbs[TimeMaskParams]):
    """Time mask: the microphone drops out for a while.

    Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox (audiomentations with its fade).
    """

    name = "sound.time_mask.v1"
    params = TimeMaskParams
    length = Range("silenced share of the sound", (0.0, 0.05, 0.1, 0.2, 0.3, 0.4), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5))
    keeps_silence = True
    meta = Metadata(
        summary="silences one span of the sound, with a short fade at both ends",
        goal="a model that needs to hear without a pause",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="no source is heard in the silent span, which is reported",
        origin="sensor",
    )

    def render(self, sound: Samples, params: TimeMaskParams, *, rate_hz: int) -> Samples:
        """The sound with its pause."""
        take = AudioInfo(samples=sound.shape[1], channels=sound.shape[0], rate_hz=rate_hz)
        return self.block(sound, params, start=0, take=take)

    def block(self, sound: Samples, params: TimeMaskParams, *, start: int, take: AudioInfo) -> Samples:
        """A part with what it has of the pause."""
        begin, end, fade = self._span(params, samples=take.samples, rate_hz=take.rate_hz)
        output = sound.copy()
        output[:, max(0, begin - start) : max(0, end - start)] = 0.0
        slope = np.linspace(1.0, 0.0, fade, dtype=np.float32)
        for first, curve in ((begin - start, slope), (end - fade - start, slope[::-1])):
            low, high = max(0, first), min(sound.shape[1], first + fade)
            if low < high:
                np.multiply(sound[:, low:high], curve[low - first : high - first], out=output[:, low:high])
        return output

    def silent(self, params: TimeMaskParams, take: AudioInfo) -> tuple[tuple[float, float], ...]:
        """The span in which every sample is 0, without its fades; none where the sound is too short for one."""
        start, end, fade = self._span(params, samples=take.samples, rate_hz=take.rate_hz)
        if start == end:
            return ()
        return (((start + fade) / take.rate_hz, (end - fade) / take.rate_hz),)

    def _span(self, params: TimeMaskParams, *, samples: int, rate_hz: int) -> tuple[int, int, int]:
        """Its first sample, the one after its last, and the samples of each fade within it."""
        length = round(samples * self.length.within(params.strength, params.length_share))
        start = round(params.place * (samples - length))
        return start, start + length, min(int(rate_hz * _FADE_S), int(length * _FADE_SHARE))


TIME_MASK: SoundStressor[TimeMaskParams] = TimeMask()
