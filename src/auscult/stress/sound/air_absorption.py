"""Air absorption: the source is far away, and air takes the high tones first.

The loss is exp(-a d) at a distance of d metres, with coefficients a(frequency, temperature, humidity) after the table
that pyroomacoustics and audiomentations carry (their 16 and 32 kHz are extrapolated). Neither the delay nor the loss by
distance alone is applied, as there.

Chosen otherwise than audiomentations: temperature and humidity are interpolated between the table's columns, where it
takes 10 or 20 degrees and the column that the humidity falls in; and the filter is one of zero phase with a resolution
of 60 Hz instead of a mask on short windows. Above 32 kHz the coefficient grows with the square of the frequency, as
classical absorption does (ISO 9613-1, Eq. 5), instead of staying.

Source: R2-Bench, Table 1, environmental noise of sound; constants of its toolbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.stress.perturbation import Params, Perturbs, Range, Share
from auscult.stress.sound.base import SoundStressor
from auscult.stress.sound.convolution import convolve
from auscult.types import Metadata, Samples

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
    """Takes away high tones as the air of a long way does."""

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
    away = np.abs(np.arange(size) - size // 2) / (size / 2)
    return 0.5 + 0.5 * np.cos(np.pi * np.clip(2.0 * away - 1.0, 0.0, 1.0))


STRESSOR: SoundStressor[AirParams] = AirAbsorption()
