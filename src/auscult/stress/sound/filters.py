"""Filters without delay: the spectrum of a sound, taken in blocks, is multiplied by a gain for each frequency.

A recursive filter delays what it lets through, a low-pass at 500 Hz by .45 ms, and each frequency by another time, so
that no shift would put the sound back in its place. Here the gain alone is kept, that of the digital filter, and the
phase stays as it was: the correlation of output and input is greatest at lag 0 whatever the sound. It is also faster.

Frequencies are drawn on the mel scale, as audiomentations draws them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Params, Perturbs, Range, Share
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.stress.sound.convolution import convolve
from auscult.types import Metadata, Samples

Gains: TypeAlias = NDArray[np.float64]

_TAIL: Final = 1e-6
"""How far the answer to a click has died away where it is cut off, as a share."""
_SMALLEST_BLOCK: Final = 4096
_SAMPLES_AT_ONCE: Final = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a filter does to each frequency."""

    gain: Callable[[Gains], Gains]  # from angular frequencies 0..pi, in radians per sample, to factors of 0 or more
    reach: int  # samples before and after a click within which its answer has died away


def low_pass(cutoff_hz: float, *, rate_hz: int) -> Response:
    """A Butterworth low-pass of second order: -3 dB at the cut-off, 12 dB for each octave above it.

    The cut-off is held below half the rate; there it changes nothing.
    """
    edge = _warped(held(cutoff_hz, rate_hz=rate_hz), rate_hz)
    return Response(gain=lambda w: 1.0 / np.sqrt(1.0 + (np.tan(w / 2) / edge) ** 4), reach=_butterworth_reach(edge))


def high_pass(cutoff_hz: float, *, rate_hz: int) -> Response:
    """A Butterworth high-pass of second order: -3 dB at the cut-off, 12 dB for each octave below it.

    The cut-off is held below half the rate; there it leaves next to nothing.
    """
    edge = _warped(held(cutoff_hz, rate_hz=rate_hz), rate_hz)

    def gain(w: Gains) -> Gains:
        squared = (np.tan(w / 2) / edge) ** 2
        return squared / np.sqrt(1.0 + squared**2)

    return Response(gain=gain, reach=_butterworth_reach(edge))


def peaking(centre_hz: float, *, gain_db: float, quality: float, rate_hz: int) -> Response:
    """The peaking filter of the Audio EQ Cookbook: some dB at its centre, below half the rate, and 0 dB far from it.

    The gain is of either sign; the quality is the centre over the bandwidth.
    """
    angle = 2.0 * math.pi * centre_hz / rate_hz
    root = 10.0 ** (gain_db / 40.0)
    alpha = math.sin(angle) / (2.0 * quality)
    above = np.array([1.0 + alpha * root, -2.0 * math.cos(angle), 1.0 - alpha * root])
    below = np.array([1.0 + alpha / root, -2.0 * math.cos(angle), 1.0 - alpha / root])

    def gain(w: Gains) -> Gains:
        turns = np.exp(1j * w)
        return np.abs(np.polyval(above, turns)) / np.abs(np.polyval(below, turns))

    radius = float(max(np.abs(np.roots(above)).max(), np.abs(np.roots(below)).max()))
    return Response(gain=gain, reach=_reach(radius))


def blended(response: Response, share: float) -> Response:
    """The filter taken in part only: 0 for the sound as it was, 1 for the whole filter."""
    return Response(gain=lambda w: 1.0 + share * (response.gain(w) - 1.0), reach=response.reach)


def filtered(sound: Samples, response: Response) -> Samples:
    """Filter every channel of a float32 (channels, samples) without delay; a new array of the same shape.

    Before its beginning and after its end the sound is taken to hold its last value.
    """
    length = sound.shape[1]
    block = _block(length, response.reach)
    step = block - 2 * response.reach
    factors = _packed(response.gain(np.linspace(0.0, math.pi, block // 2 + 1)))
    output = np.empty_like(sound, order="C")
    together = step * max(1, _SAMPLES_AT_ONCE // block)
    for channel, target in zip(sound, output, strict=True):
        for start in range(0, length, together):
            part = target[start : start + together]
            part[:] = _filtered_blocks(
                channel, factors, start=start, count=-(-part.size // step), reach=response.reach
            )[: part.size]
    return output


def mel_between(low_hz: float, high_hz: float, *, share: float) -> float:
    """The frequency at a share of the way from one to another on the mel scale, in Hz."""
    low, high = (math.log1p(hz / 700.0) for hz in (low_hz, high_hz))
    return 700.0 * math.expm1(low + share * (high - low))


def held(hz: float, *, rate_hz: int) -> float:
    """A frequency, or where it is too high just below half the rate, as audiomentations holds it."""
    return min(hz, 0.9999 * rate_hz / 2.0)


def _warped(hz: float, rate_hz: int) -> float:
    """Where the bilinear transform puts a frequency on the analogue axis."""
    return math.tan(math.pi * hz / rate_hz)


def _butterworth_reach(edge: float) -> int:
    pole = edge * complex(-math.sqrt(0.5), math.sqrt(0.5))
    return _reach(abs((1.0 + pole) / (1.0 - pole)))


def _reach(radius: float) -> int:
    """Samples until powers of the outermost pole or zero have died away."""
    return max(1, math.ceil(math.log(_TAIL) / math.log(max(radius, _TAIL))))


def _block(length: int, reach: int) -> int:
    """Samples of a block: a power of two, of which the answer's tails waste at most half."""
    enough = 1 << (length + 2 * reach - 1).bit_length()
    return min(enough, max(_SMALLEST_BLOCK, 1 << (4 * reach - 1).bit_length()))


def _packed(gains: Gains) -> NDArray[np.float32]:
    """Gains in the order in which OpenCV packs a spectrum: that of 0, each other twice, that of half the rate."""
    return np.concatenate([gains[:1], np.repeat(gains[1:-1], 2), gains[-1:]]).astype(np.float32)


def _filtered_blocks(channel: Samples, factors: NDArray[np.float32], *, start: int, count: int, reach: int) -> Samples:
    """Filter ``count`` overlapping blocks from ``start`` on, and keep of each what its neighbours do not reach."""
    block, step = factors.size, factors.size - 2 * reach
    first, last = start - reach, start + (count - 1) * step - reach + block
    around = (max(0, -first), max(0, last - channel.size))
    padded = np.pad(channel[max(0, first) : last], around, mode="edge")
    rows = np.lib.stride_tricks.sliding_window_view(padded, block)[::step]
    spectrum = cv2.dft(np.ascontiguousarray(rows), flags=cv2.DFT_ROWS)
    np.multiply(spectrum, factors, out=spectrum)
    back = cv2.idft(spectrum, flags=cv2.DFT_ROWS | cv2.DFT_SCALE)
    return np.asarray(back[:, reach : reach + step], dtype=np.float32).reshape(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffParams(Params):
    """Parameters of a low-pass or a high-pass."""

    cutoff_share: Share  # where in the level's range the cut-off lies, 0 (lowest) to 1, on the mel scale


class CutoffFilter(Perturbs[CutoffParams], ABC):
    """What a low-pass and a high-pass have in common."""

    params = CutoffParams
    cutoff: Range
    share = Constant("share of the filter", (0.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    keeps_silence = True

    @abstractmethod
    def response(self, cutoff_hz: float, *, rate_hz: int) -> Response:
        """The whole filter."""

    def render(self, sound: Samples, params: CutoffParams, *, rate_hz: int) -> Samples:
        """The sound without what lies beyond the cut-off."""
        cutoff_hz = mel_between(*self.cutoff.at(params.strength), share=params.cutoff_share)
        response = self.response(cutoff_hz, rate_hz=rate_hz)
        return filtered(sound, blended(response, self.share.at(params.strength)))


class LowPass(CutoffFilter):
    """Low-pass: a narrow channel loses the treble, as a telephone does.

    Source: R2-Bench, Table 1, transmission noise of sound; constants of its toolbox. The filter is audiomentations' of
    12 dB for each octave (the toolbox leaves the slope open), but without its delay: see ``filters``. Below level 1 the
    filter of level 1 is taken in part.
    """

    name = "sound.low_pass.v1"
    cutoff = Range(
        "cut-off",
        (8000.0, 8000.0, 4000.0, 2000.0, 1000.0, 500.0),
        (16000.0, 16000.0, 8000.0, 4000.0, 2000.0, 1000.0),
        unit="Hz",
    )
    meta = Metadata(
        summary="takes away the treble above a cut-off, at 12 dB for each octave",
        goal="a model that tells sounds apart by their treble",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="transmission",
    )

    def response(self, cutoff_hz: float, *, rate_hz: int) -> Response:
        """As of ``filters.low_pass``."""
        return low_pass(cutoff_hz, rate_hz=rate_hz)


LOW_PASS: SoundStressor[CutoffParams] = LowPass()


class HighPass(CutoffFilter):
    """High-pass: a narrow channel loses the bass, as a small loudspeaker does.

    Source: R2-Bench, Table 1, transmission noise of sound; constants of its toolbox. The filter is audiomentations' of
    12 dB for each octave (the toolbox leaves the slope open), but without its delay: see ``filters``. Below level 1 the
    filter of level 1 is taken in part.
    """

    name = "sound.high_pass.v1"
    cutoff = Range(
        "cut-off",
        (100.0, 100.0, 200.0, 400.0, 800.0, 1600.0),
        (200.0, 200.0, 400.0, 800.0, 1600.0, 3200.0),
        unit="Hz",
    )
    meta = Metadata(
        summary="takes away the bass below a cut-off, at 12 dB for each octave",
        goal="a model that tells sounds apart by their bass",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="transmission",
    )

    def response(self, cutoff_hz: float, *, rate_hz: int) -> Response:
        """As of ``filters.high_pass``."""
        return high_pass(cutoff_hz, rate_hz=rate_hz)


HIGH_PASS: SoundStressor[CutoffParams] = HighPass()


_HIGHEST: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakingParams(Params):
    """Parameters of the peaking filter."""

    centre_share: Share  # where in the level's range the centre lies, 0 (lowest) to 1, on the mel scale
    gain_share: Annotated[float, Meta(ge=-1.0, le=1.0)]  # of the level's bound, -1 (quietest) to 1 (loudest)
    quality_share: Share  # where in the level's range the quality lies, 0 (widest band) to 1


class PeakingFilter(Perturbs[PeakingParams]):
    """Peaking filter: a microphone that hears one band too loud, or hardly at all.

    Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox. The filter is audiomentations' (the
    Audio EQ Cookbook's), but without its delay: see ``filters``. The centre is drawn below 0.9 of half the rate, so
    that the band can be heard; audiomentations draws it above half the rate too, where the formula means another
    filter.
    """

    name = "sound.peaking_filter.v1"
    params = PeakingParams
    centre = Range(
        "centre",
        (200.0, 200.0, 500.0, 1000.0, 1500.0, 2000.0),
        (1500.0, 1500.0, 2500.0, 3500.0, 5500.0, 7500.0),
        unit="Hz",
    )
    bound = Constant(
        "bound of the gain",
        (0.0, 12.0, 18.0, 24.0, 30.0, 36.0),
        unit="dB",
        exception="drawn both ways: the band is louder or quieter, up to the level's bound",
    )
    quality = Range("quality", (1.0, 1.0, 1.5, 2.0, 2.5, 3.0), (2.0, 2.0, 2.5, 3.0, 3.5, 4.0))
    keeps_silence = True
    meta = Metadata(
        summary="makes one band of frequencies much louder or quieter",
        goal="a model that trusts the balance of frequencies of good microphones",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="sensor",
    )

    def choose(self, rng: np.random.Generator, take: AudioInfo, /, *, strength: float) -> PeakingParams:
        """Draw where the band lies, how wide it is, and what becomes of it."""
        del take
        centre, quality = (float(rng.uniform()) for _ in range(2))
        return PeakingParams(
            strength=strength, centre_share=centre, quality_share=quality, gain_share=float(rng.uniform(-1.0, 1.0))
        )

    def render(self, sound: Samples, params: PeakingParams, *, rate_hz: int) -> Samples:
        """The sound with its band changed."""
        low_hz, high_hz = self.centre.at(params.strength)
        highest_hz = _HIGHEST * rate_hz / 2.0
        centre_hz = mel_between(min(low_hz, highest_hz), min(high_hz, highest_hz), share=params.centre_share)
        gain_db = params.gain_share * self.bound.at(params.strength)
        quality = self.quality.within(params.strength, params.quality_share)
        response = peaking(centre_hz, gain_db=gain_db, quality=quality, rate_hz=rate_hz)
        return filtered(sound, response)


PEAKING_FILTER: SoundStressor[PeakingParams] = PeakingFilter()


_BANDS_HZ: Final = (125.0, 250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16000.0, 32000.0)
# 1e-3 per metre at 40, 60 and 80 % of humidity: the middles of the table's columns.
_HUMIDITIES: Final = (40.0, 60.0, 80.0)
_AT_10_C: Final = (
    (0.1, 0.2, 0.5, 1.1, 2.7, 9.4, 29.0, 91.5, 289.0),
    (0.1, 0.2, 0.5, 0.8, 1.8, 5.9, 21.1, 76.6, 280.2),
    (0.1, 0.2, 0.5, 0.7, 1.4, 4.4, 15.8, 58.0, 214.9),
)
_AT_20_C: Final = (
    (0.1, 0.3, 0.6, 1.0, 1.9, 5.8, 20.3, 72.3, 259.9),
    (0.1, 0.3, 0.6, 1.0, 1.7, 4.1, 13.5, 44.4, 148.7),
    (0.1, 0.3, 0.6, 1.1, 1.7, 3.5, 10.6, 31.2, 93.8),
)
_RESOLUTION_HZ: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AirParams(Params):
    """Parameters of the air absorption."""

    humidity: Share  # place in the level's range, 0 to 1
    distance: Share  # place in the level's range, 0 to 1
    temperature: Share  # place between 10 and 20 degrees Celsius, 0 to 1


class AirAbsorption(Perturbs[AirParams]):
    """Air absorption: the source is far away, and air takes the high tones first.

    The loss is exp(-a d) at a distance of d metres, with coefficients a(frequency, temperature, humidity) after the
    table that pyroomacoustics and audiomentations carry (their 16 and 32 kHz are extrapolated). Neither the delay nor
    the loss by distance alone is applied, as there.

    Chosen otherwise than audiomentations: temperature and humidity are interpolated between the table's columns, where
    it takes 10 or 20 degrees and the column that the humidity falls in; and the filter is one of zero phase with a
    resolution of 60 Hz instead of a mask on short windows. Above 32 kHz the coefficient grows with the square of the
    frequency, as classical absorption does (ISO 9613-1, Eq. 5), instead of staying.

    Source: R2-Bench, Table 1, environmental noise of sound; constants of its toolbox.
    """

    name = "sound.air_absorption.v1"
    params = AirParams
    humidity = Range("humidity", (30.0, 30.0, 50.0, 60.0, 70.0, 80.0), (50.0, 50.0, 60.0, 70.0, 80.0, 90.0), unit="%")
    distance = Range("distance", (0.0, 10.0, 30.0, 50.0, 70.0, 90.0), (0.0, 30.0, 50.0, 70.0, 90.0, 100.0), unit="m")
    keeps_silence = True
    meta = Metadata(
        summary="takes away high tones as the air between a far source and the microphone does",
        goal="a model that knows a source by its high tones only",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="environment",
        occurs=("outdoors",),
    )

    def render(self, sound: Samples, params: AirParams, *, rate_hz: int) -> Samples:
        """The sound through the filter, without delay."""
        distance_m = self.distance.within(params.strength, params.distance)
        humidity = self.humidity.within(params.strength, params.humidity)
        size = 2 * max(8, round(rate_hz / _RESOLUTION_HZ / 2))
        frequencies = np.arange(size // 2 + 1, dtype=np.float64) * (rate_hz / size)
        coefficients = absorption(frequencies, celsius=10.0 + 10.0 * params.temperature, humidity=humidity)
        half = size // 2
        response = np.roll(np.fft.irfft(np.exp(-distance_m * coefficients), size), half)
        # Half a cosine bell over the outer half of the response, so that it ends in silence.
        response[0] = 0.0
        return convolve(sound, (response * _bell(size)).astype(np.float32), lead=half)


def absorption(frequencies: NDArray[np.float64], *, celsius: float, humidity: float) -> NDArray[np.float64]:
    """The coefficient a of exp(-a d), per metre of d, at frequencies in Hz, 10 to 20 degrees, 30 to 90 % humidity."""
    at_humidity = [
        [float(np.interp(humidity, _HUMIDITIES, column)) for column in zip(*table, strict=True)]
        for table in (_AT_10_C, _AT_20_C)
    ]
    warm = (celsius - 10.0) / 10.0
    table = (1.0 - warm) * np.asarray(at_humidity[0]) + warm * np.asarray(at_humidity[1])
    beyond = np.square(np.maximum(frequencies, _BANDS_HZ[-1]) / _BANDS_HZ[-1])
    return 1e-3 * beyond * np.interp(frequencies, _BANDS_HZ, table)


def _bell(size: int) -> NDArray[np.float64]:
    """1 in the middle half, down to 0 at both ends."""
    distance = np.abs(np.arange(size) - size // 2) / (size / 2)
    return 0.5 + 0.5 * np.cos(np.pi * np.clip(2.0 * distance - 1.0, 0.0, 1.0))


AIR_ABSORPTION: SoundStressor[AirParams] = AirAbsorption()
