"""A sound heard through a place or a device that answers for long."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, cos, exp, log, pi, sin, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.resampling import power_of_two
from auscult.stress.perturbation import STRONGEST, Constant, Perturbs, Range, SeedParams, Share
from auscult.stress.sound.added_noise import moving, quarter_turns
from auscult.stress.sound.base import SoundStressor
from auscult.stress.sound.convolution import convolve
from auscult.types import Metadata, Samples

_FRAME_S: Final = 0.008
_ECHOES: Final = 12
_ECHO_SHARE: Final = 0.3  # of the reverberation's energy
_FADE: Final = 0.1  # of the length, at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseParams(SeedParams):
    """Parameters of the impulse response."""

    damping: Share  # how fast high tones die, 0 (at 6 kHz twice as fast as low ones) to 1 (at 1.5 kHz)
    gap: Share  # how long after the direct sound the first echo comes, 0 (2 ms) to 1 (20 ms)


class ImpulseResponse(Perturbs[ResponseParams]):
    """Impulse response: the sound is heard through a place and a device that answer for long.

    The responses are made: direct sound, a dozen early echoes, then noise whose high tones die first. The five
    recordings of the release carry no licence; ours have their lengths (its fifth is shorter than its fourth), and
    reverberation grows from level to level. A response has energy 1, so that white noise keeps its loudness;
    audiomentations scales its output to a peak instead, which makes the filter depend on the sound.

    Source: R2-Bench, Table 1, sensor noise of sound; Moorer, "About this reverberation business", Computer Music
    Journal 3 (1979): decaying noise in place of a recorded tail.
    """

    name = "sound.impulse_response.v1"
    params = ResponseParams
    length = Constant(
        "length",
        (0.6, 0.6, 1.27, 2.61, 3.01, 2.6),
        unit="s",
        exception="lengths of the release's recordings: its fifth is short",
    )
    rt60 = Constant("time to decay by 60 dB", (0.4, 0.4, 0.8, 1.4, 1.9, 2.3), unit="s")
    wet = Constant("energy after the direct sound", (-90.0, -8.0, -5.0, -2.0, 1.0, 4.0), unit="dB of it")
    meta = Metadata(
        summary="filters the sound by a synthetic impulse response of a place and a device",
        goal="a model that knows a source by its onsets or by a dry recording",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged; the response outlasts the sound by up to three seconds",
        origin="sensor",
    )

    def render(self, sound: Samples, params: ResponseParams, *, rate_hz: int) -> Samples:
        """The sound through the response, cut where the sound ends; the same for all channels."""
        return convolve(sound, self.response(params, rate_hz=rate_hz))

    def response(self, params: ResponseParams, *, rate_hz: int) -> Samples:
        """The response, float32 (taps,): energy 1, the direct sound first."""
        length_s, rt60_s = self.length.at(params.strength), self.rt60.at(params.strength)
        taps = max(2, ceil(length_s * rate_hz))
        gap = max(1, round((0.002 + 0.018 * params.gap) * rate_hz))
        response = np.zeros(taps, dtype=np.float32)
        response[gap:] = _tail(taps - gap, rt60_s, params=params, rate_hz=rate_hz)
        _scale(response, 1.0 - _ECHO_SHARE)
        response += _echoes(taps, gap, params=params, rate_hz=rate_hz)
        _scale(response, 10.0 ** (self.wet.at(params.strength) / 10.0))
        response[0] = 1.0
        _scale(response, 1.0)
        return response


def _tail(taps: int, rt60_s: float, *, params: ResponseParams, rate_hz: int) -> Samples:
    """Noise that decays, in each band at its own pace, and fades out at its end."""
    hop = power_of_two(max(2, round(_FRAME_S * rate_hz)))
    frequencies = np.arange(hop + 1) * (rate_hz / (2 * hop))
    turning_hz = 6000.0 * 0.25**params.damping
    paces = 3.0 * log(10.0) / rt60_s * (1.0 + frequencies / turning_hz)
    frames = -(-taps // hop) + 1
    times = np.arange(frames, dtype=np.float32) * np.float32(hop / rate_hz)
    magnitudes = np.exp(-times[:, None] * paces.astype(np.float32))
    magnitudes[-1] = 0.0  # what fades into the beginning
    magnitudes[:, 0] = 0.0
    tail = moving(magnitudes, params.stream("response"))[:taps]
    fade = max(1, int(_FADE * taps))
    tail[-fade:] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
    return tail


def _echoes(taps: int, gap: int, *, params: ResponseParams, rate_hz: int) -> Samples:
    """Early echoes in the 60 ms from the gap on, quieter as they come later; of energy ``_ECHO_SHARE``."""
    rng = params.stream("echoes")
    delays_s, signs = rng.uniform(0.0, 0.06, _ECHOES), rng.integers(2, size=_ECHOES) * 2 - 1
    echoes = np.zeros(taps, dtype=np.float32)
    positions = gap + np.rint(delays_s * rate_hz).astype(np.int64)
    heights = (signs * np.exp(-delays_s / 0.03)).astype(np.float32)
    np.add.at(echoes, positions[positions < taps], heights[positions < taps])
    _scale(echoes, _ECHO_SHARE)
    return echoes


def _scale(response: Samples, energy: float) -> None:
    """Give a response an energy, in place."""
    has = float(np.dot(response, response))
    if has > 0.0:
        response *= np.float32(np.sqrt(energy / has))


IMPULSE_RESPONSE: SoundStressor[ResponseParams] = ImpulseResponse()


SPEED_OF_SOUND: Final = 343.0  # m/s, at 20 degrees Celsius
LEAD: Final = 8
"""Samples of a response in front of the direct sound, which the interpolation of later ones reaches into."""

_MOST_IMAGES: Final = 2500
_DECAY: Final = 6.0 * log(10.0)  # 60 dB of power
_AUDIBLE_DB: Final = 70.0
_LONGEST_S: Final = 3.0
_STEPS: Final = 64  # of a sample, at which echoes are placed
_HIGH_PASS_HZ: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A box with walls that are all alike, a source and a microphone in it."""

    size_m: tuple[float, float, float]  # length, width, height
    source_m: tuple[float, float, float]  # where the source is
    microphone_m: tuple[float, float, float]  # where the microphone is
    absorption: float  # what share of the energy a wall takes away, 0 to 1

    @property
    def volume(self) -> float:
        """In cubic metres."""
        length, width, height = self.size_m
        return length * width * height

    @property
    def surface(self) -> float:
        """In square metres."""
        length, width, height = self.size_m
        return 2.0 * (length * width + width * height + height * length)

    @property
    def rt60_s(self) -> float:
        """Eyring's time for a decay by 60 dB."""
        if self.absorption >= 1.0:
            return 0.0
        if self.absorption <= 0.0:
            return _LONGEST_S
        rate = -SPEED_OF_SOUND * self.surface / (4.0 * self.volume) * log(1.0 - self.absorption)
        return _DECAY / rate

    @property
    def direct_m(self) -> float:
        """From the source to the microphone."""
        return sqrt(sum((a - b) ** 2 for a, b in zip(self.source_m, self.microphone_m, strict=True)))


def absorption_for(rt60_s: float, size_m: tuple[float, float, float]) -> float:
    """The absorption of the walls with which a box decays by 60 dB in that time, after Eyring."""
    box = Room(size_m=size_m, source_m=(0, 0, 0), microphone_m=(0, 0, 0), absorption=0.0)
    return 1.0 - exp(-_DECAY * 4.0 * box.volume / (SPEED_OF_SOUND * box.surface * rt60_s))


def response(room: Room, *, samples: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """What the microphone hears of a click at the source: float32 (taps,), the direct sound of height 1 at ``LEAD``.

    The source is nearer to the microphone than any image; ``samples`` of it are needed after the direct sound.
    """
    heard_s = min(room.rt60_s * _AUDIBLE_DB / 60.0, _LONGEST_S)
    taps = LEAD + min(ceil(heard_s * rate_hz), samples) + 2 * LEAD
    reach_m = (3.0 * _MOST_IMAGES * room.volume / (4.0 * pi)) ** (1.0 / 3.0)
    distances, heights = _images(room, min(reach_m, room.direct_m + (taps - 2 * LEAD) / rate_hz * SPEED_OF_SOUND))
    heights *= np.cos(0.5 * pi * _into_noise(distances, reach_m))
    response = _placed((distances - room.direct_m) * (rate_hz / SPEED_OF_SOUND), heights, taps)
    response += _late(room, reach_m, taps=taps, rate_hz=rate_hz, rng=rng)
    response = _high_passed(response, rate_hz)
    response[LEAD] += 1.0
    return response.astype(np.float32)


def _images(room: Room, reach_m: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distances of all images up to a reach, the source itself apart, and amplitudes beside the direct sound's."""
    gaps, bounces = [], []
    for length, source, microphone in zip(room.size_m, room.source_m, room.microphone_m, strict=True):
        turns = np.arange(-ceil(reach_m / (2.0 * length)) - 1, ceil(reach_m / (2.0 * length)) + 2)
        mirrored = np.concatenate([2 * turns * length + source, 2 * turns * length - source]) - microphone
        walls = np.concatenate([np.abs(2 * turns), np.abs(2 * turns - 1)])
        in_reach = np.abs(mirrored) <= reach_m
        gaps.append(np.square(mirrored[in_reach]))
        bounces.append(walls[in_reach])
    squares = gaps[0][:, None, None] + gaps[1][:, None] + gaps[2]
    walls = bounces[0][:, None, None] + bounces[1][:, None] + bounces[2]
    in_reach = (squares <= reach_m**2) & (walls > 0)
    distances = np.sqrt(squares[in_reach])
    heights = sqrt(1.0 - room.absorption) ** walls[in_reach] * (room.direct_m / distances)
    return distances, heights


def _into_noise(distances: NDArray[np.float64], reach_m: float) -> NDArray[np.float64]:
    """0 where images are heard, 1 where noise is, between over the last quarter of the reach."""
    return np.clip(4.0 * distances / reach_m - 3.0, 0.0, 1.0)


def _placed(delays: NDArray[np.float64], heights: NDArray[np.float64], taps: int) -> NDArray[np.float64]:
    """Echoes at fractions of samples: short sinc pulses under a bell, from a table."""
    steps = np.rint(delays * _STEPS).astype(np.int64)
    whole, part = np.divmod(steps, _STEPS)
    offsets = np.arange(1 - LEAD, LEAD + 1)
    distance = offsets - np.arange(_STEPS)[:, None] / _STEPS
    pulses = np.sinc(distance) * np.square(np.cos(0.5 * pi * np.clip(distance / LEAD, -1.0, 1.0)))
    positions = LEAD + whole[:, None] + offsets
    inside = (positions >= 0) & (positions < taps)
    values = heights[:, None] * pulses[part]
    return np.zeros(taps) + np.bincount(positions[inside], weights=values[inside], minlength=taps)


def _late(room: Room, reach_m: float, *, taps: int, rate_hz: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise with the power that images would have: 4 pi c d^2 / V a second, decaying with the room's time."""
    # Drawn for the whole decay, so that a longer sound hears the same room.
    draws = quarter_turns(rng, (ceil(_LONGEST_S * rate_hz / 2) + 2 * LEAD,)).view(np.float32)
    seconds = (np.arange(taps) - LEAD) / rate_hz
    rising = np.sin(0.5 * pi * _into_noise(room.direct_m + seconds * SPEED_OF_SOUND, reach_m))
    if room.rt60_s == 0.0:
        return np.zeros(taps)
    power = 4.0 * pi * SPEED_OF_SOUND * room.direct_m**2 / room.volume / rate_hz
    travelled = np.maximum(0.0, seconds + room.direct_m / SPEED_OF_SOUND)
    # The parts of a quarter turn are +-sqrt(1/2).
    fading = np.sqrt(2.0 * power * np.exp(-_DECAY / room.rt60_s * travelled))
    return np.asarray(rising * fading * draws[:taps], dtype=np.float64)


def _high_passed(response: NDArray[np.float64], rate_hz: int) -> NDArray[np.float64]:
    """Echoes without the pressure that a closed box with rigid walls keeps: all images push the same way."""
    decay = exp(-2.0 * pi * _HIGH_PASS_HZ / rate_hz)
    size = 2 ** ceil(np.log2(response.size + 8.0 / (1.0 - decay)))
    turn = np.exp(-2j * pi * np.arange(size // 2 + 1) / size)
    passed: NDArray[np.float64] = np.fft.irfft(np.fft.rfft(response, size) * (1.0 - turn) / (1.0 - decay * turn), size)
    return passed[: response.size]


_MARGIN_M: Final = 0.1
_SOURCE_M: Final = ((0.1, 3.5), (0.1, 2.7), (1.0, 2.1))
_MICROPHONE_M: Final = (0.15, 0.35)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomParams(SeedParams):
    """Parameters of the room; each but the angles is a place in a range, 0 to 1."""

    length: Share  # of the room, in the level's range
    width: Share  # of the room, in the level's range
    height: Share  # of the room, in the level's range
    liveness: Share  # 1 for the least absorption, or the longest reverberation, of the level's range
    source_x: Share  # where the source is along the length
    source_y: Share  # where the source is along the width
    source_z: Share  # where the source is along the height
    away: Share  # how far the microphone is from the source
    azimuth: Share  # direction of the microphone from there, in turns
    elevation: Share  # direction of the microphone from there, in turns


class RoomReverberation(Perturbs[RoomParams]):
    """Room reverberation: the source sounds in a room, and its echoes are heard too.

    A shoebox room, its walls alike, with a source and a microphone 15 to 35 cm from it, as audiomentations places them,
    by image sources. The direct sound is heard without delay and at its loudness; echoes come on top.

    Up to level 4 the walls follow from the level's absorption, at level 5 from its reverberation time, as in the
    release; between the two, on a straight line. Chosen otherwise than audiomentations: the late part is noise of the
    power and decay that images would have (instead of rays of its own random numbers), and the air takes nothing.

    Source: R2-Bench, Table 1, environmental noise of sound; constants of its toolbox.

    Source: Allen and Berkley, "Image method for efficiently simulating small-room acoustics", JASA 65 (1979), Eq. 8-10;
    Kuttruff, "Room Acoustics", Sec. 4.1 (density of images) and 5.1 (Eyring's reverberation time).
    """

    name = "sound.room_reverberation.v1"
    params = RoomParams
    length = Range("length", (3.6, 3.6, 4.0, 4.5, 5.0, 5.5), (4.0, 4.0, 4.5, 5.0, 5.5, 5.6), unit="m")
    width = Range("width", (3.6, 3.6, 3.7, 3.8, 3.9, 4.0), (3.7, 3.7, 3.8, 3.9, 4.0, 4.1), unit="m")
    height = Range("height", (2.4, 2.4, 2.5, 2.6, 2.7, 2.8), (2.5, 2.5, 2.6, 2.7, 2.8, 3.0), unit="m")
    absorption = Range("absorption of the walls", (1.0, 0.4, 0.3, 0.2, 0.1, 0.075), (1.0, 0.6, 0.5, 0.4, 0.3, 0.2))
    rt60 = Range("reverberation time", (0.0, 0.15, 0.3, 0.4, 0.5, 0.6), (0.0, 0.3, 0.4, 0.5, 0.6, 0.8), unit="s")
    meta = Metadata(
        summary="puts the sound into a room whose echoes are heard too",
        goal="a model that knows a source by its onsets or by a dry recording",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged; echoes outlast the sound by up to a second",
        origin="environment",
        occurs=("indoors",),
    )

    def render(self, sound: Samples, params: RoomParams, *, rate_hz: int) -> Samples:
        """The sound and its echoes, cut where the sound ends; the same room for all channels."""
        room = self.room(params)
        echoes = response(room, samples=sound.shape[1], rate_hz=rate_hz, rng=params.stream("room"))
        return convolve(sound, echoes, lead=LEAD)

    def room(self, params: RoomParams) -> Room:
        """The room that was drawn."""
        size_m = (
            self.length.within(params.strength, params.length),
            self.width.within(params.strength, params.width),
            self.height.within(params.strength, params.height),
        )
        low, top = self.absorption.at(params.strength)
        absorption = top - params.liveness * (top - low)
        by_time = max(0.0, params.strength - (STRONGEST - 1.0))
        if by_time > 0.0:
            target = absorption_for(self.rt60.within(params.strength, params.liveness), size_m)
            absorption += by_time * (target - absorption)
        source, microphone = _positions(params, size_m)
        return Room(size_m=size_m, source_m=source, microphone_m=microphone, absorption=absorption)


def _positions(
    params: RoomParams, size_m: tuple[float, float, float]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Source and microphone; a microphone beyond a wall is moved to the other side of the source."""
    near, far = _MICROPHONE_M
    distance = near + params.away * (far - near)
    azimuth, elevation = 2.0 * pi * params.azimuth, 2.0 * pi * params.elevation
    offsets = (-cos(elevation) * sin(azimuth), cos(elevation) * cos(azimuth), sin(elevation))
    source, microphone = [], []
    for unit, (low, top), size, offset in zip(
        (params.source_x, params.source_y, params.source_z), _SOURCE_M, size_m, offsets, strict=True
    ):
        position = low + unit * (min(top, size - _MARGIN_M) - low)
        other = position + distance * offset
        source.append(position)
        microphone.append(other if _MARGIN_M <= other <= size - _MARGIN_M else position - distance * offset)
    return (source[0], source[1], source[2]), (microphone[0], microphone[1], microphone[2])


ROOM_REVERBERATION: SoundStressor[RoomParams] = RoomReverberation()
