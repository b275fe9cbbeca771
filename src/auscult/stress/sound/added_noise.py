"""Noise that is added to a sound: hiss, clicks, and something else that sounds, brought or made from a seed.

No recording is shipped. Each made noise is one period of sound that goes on without a seam when it is repeated, for it
is made as a spectrum, or of whole turns. Randomness comes in quarter turns of phase (+-1 +-j): exact on every machine,
and of a normal distribution once many are summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.resampling import power_of_two
from auscult.errors import InputError
from auscult.rng import pick
from auscult.stress import noise
from auscult.stress.perturbation import Constant, Perturbs, Range, Seeded, SeedParams, Share, seed_from
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.stress.sound.convolution import sounds_of, spectra_of
from auscult.types import Metadata, Samples

Spectrum: TypeAlias = NDArray[np.complex64]
Maker: TypeAlias = Callable[[int, int, np.random.Generator], Samples]

LONGEST_S: Final = 20.0
"""The longest period that is made; a longer sound hears it again."""
_SHORTEST_S: Final = 0.5
_LOWEST_HZ: Final = 20.0
_FRAME_S: Final = 0.02


def make(kind: str, samples: int, *, rate_hz: int, rng: np.random.Generator) -> Samples:
    """One period of a noise of one of ``KINDS``, float32 (samples,), of root mean square 1.

    It is at least as long as needed, or ``LONGEST_S``.
    """
    period = min(max(samples, round(_SHORTEST_S * rate_hz)), round(LONGEST_S * rate_hz))
    output = MAKERS[kind](power_of_two(max(period, 64)), rate_hz, rng)
    loud = float(np.sqrt(np.dot(output, output) / output.size))
    return output / np.float32(loud) if loud > 0.0 else output


def quarter_turns(rng: np.random.Generator, shape: tuple[int, ...]) -> Spectrum:
    """Spectra of random phase and of magnitude 1."""
    count = 2 * int(np.prod(shape))
    bits = np.unpackbits(np.frombuffer(rng.bytes((count + 7) // 8), dtype=np.uint8), count=count)
    parts = bits.astype(np.float32)
    parts *= np.float32(np.sqrt(2.0))
    parts -= np.float32(np.sqrt(0.5))
    return parts.view(np.complex64).reshape(shape)


def moving(magnitudes: NDArray[np.float32], rng: np.random.Generator) -> Samples:
    """Noise whose spectrum changes with time, float32 (frames * (bins - 1),), from magnitudes (frames, bins).

    Bins go from 0 to half the rate, a power of two and one of them. Frames of two hops are faded into one another so
    that powers add up; the last fades into the first.
    """
    frames, bins = magnitudes.shape
    hop = bins - 1
    spectra = quarter_turns(rng, (frames, bins))
    spectra *= magnitudes
    pieces = sounds_of(spectra)
    pieces *= np.sin(np.pi * (np.arange(2 * hop) + 0.5) / (2 * hop)).astype(np.float32)
    output = pieces[:, :hop]
    output[1:] += pieces[:-1, hop:]
    output[0] += pieces[-1, hop:]
    return np.ascontiguousarray(output).reshape(-1)


def _frequencies(period: int, rate_hz: int) -> NDArray[np.float32]:
    frequencies = np.arange(period // 2 + 1, dtype=np.float32)
    frequencies *= np.float32(rate_hz / period)
    return frequencies


def _sloped(period: int, rate_hz: int, power: float) -> NDArray[np.float32]:
    """Magnitudes f^power, none below what is heard."""
    magnitudes = _frequencies(period, rate_hz)
    silent = int(np.searchsorted(magnitudes, _LOWEST_HZ))
    magnitudes[silent:] **= np.float32(power)
    magnitudes[:silent] = 0.0
    return magnitudes


def _sounding(spectrum: Spectrum) -> Samples:
    sound: Samples = sounds_of(spectrum[None])[0]
    return sound


def _pink(period: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """As much power in every octave: many things at once."""
    return _sounding(quarter_turns(rng, (period // 2 + 1,)) * _sloped(period, rate_hz, -0.5))


def _brown(period: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """Power falling with the square of the frequency: wind, far traffic."""
    return _sounding(quarter_turns(rng, (period // 2 + 1,)) * _sloped(period, rate_hz, -1.0))


def _hum(period: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """The mains, 50 or 60 Hz with harmonics, above a little pink noise."""
    base_hz = (50.0, 60.0)[int(rng.integers(2))]
    floor = _sloped(period, rate_hz, -0.5)
    floor *= np.float32(0.05 / np.sqrt(np.dot(floor, floor)))
    spectrum = quarter_turns(rng, (period // 2 + 1,))
    spectrum *= floor
    for harmonic in range(1, 25):
        bin_index = round(harmonic * base_hz * period / rate_hz)
        strength, phase = rng.random(2)
        if 0 < bin_index < spectrum.size:
            spectrum[bin_index] += (0.3 + strength) / harmonic * np.exp(2j * np.pi * phase)
    return _sounding(spectrum)


def _rain(period: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """A hiss from many far drops, and near ones that can be told apart."""
    frequencies = _frequencies(period, rate_hz)
    hiss = frequencies / (frequencies + 800.0) / (1.0 + np.square(frequencies / 7000.0))
    impulses = np.zeros(period, dtype=np.float32)
    drops = max(1, round(rng.uniform(30.0, 120.0) * period / rate_hz))
    np.add.at(impulses, rng.integers(period, size=drops), rng.standard_normal(drops).astype(np.float32))
    ring_hz = min(rng.uniform(1500.0, 4000.0), rate_hz / 4.0)
    ratio = frequencies / np.float32(ring_hz)
    spectrum: Spectrum = spectra_of(impulses[None])[0] * (ratio / (1.0 - np.square(ratio) + 0.7j * ratio))
    power = float(np.vdot(spectrum, spectrum).real)
    spectrum *= np.float32(np.sqrt(0.3 / max(power, 1e-20)))
    hiss *= np.float32(np.sqrt(0.7 / max(float(np.dot(hiss, hiss)), 1e-20)))
    spectrum += quarter_turns(rng, spectrum.shape) * hiss
    return _sounding(spectrum)


def _babble(period: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """A crowd: bands of noise with the spectrum of speech, each swelling at the pace of syllables."""
    hop = power_of_two(max(4, round(_FRAME_S * rate_hz)))
    frames = max(2, period // hop)
    centres = np.asarray((200.0, 500.0, 900.0, 1500.0, 2500.0, 4000.0))
    loudness = np.asarray((0.8, 1.0, 0.6, 0.35, 0.22, 0.12))
    frequencies = np.maximum(np.arange(hop + 1) * (rate_hz / (2 * hop)), 1.0)
    octaves = np.log2(frequencies[None] / centres[:, None])
    bands = loudness[:, None] * np.exp(-0.5 * np.square(octaves / 0.4)) / np.sqrt(centres[:, None])
    magnitudes = _swelling(frames, centres.size, frame_s=hop / rate_hz, rng=rng) @ bands
    return moving(magnitudes.astype(np.float32), rng)


def _swelling(frames: int, bands: int, *, frame_s: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Loudness of each band in each frame, (frames, bands): slow, around 4 swellings a second, without a seam."""
    paces = np.arange(frames // 2 + 1) / (frames * frame_s)
    shape = paces / 4.0 * np.exp(0.5 - 0.5 * np.square(paces / 4.0))
    spectra = quarter_turns(rng, (bands, paces.size)) * shape
    curves = np.fft.irfft(spectra, frames, axis=1)
    curves /= np.maximum(curves.std(axis=1, keepdims=True), 1e-12)
    return np.exp(0.8 * curves).T


def _engine(period: int, rate_hz: int, rng: np.random.Generator) -> Samples:
    """An engine: harmonics of a firing rate that wanders, above the rumble of the road."""
    seconds = period / rate_hz
    turns = max(1, round(rng.uniform(25.0, 70.0) * seconds))
    table = 4096
    knots = np.arange(65) / 64
    wander = rng.uniform(-0.15, 0.15, (3, 1)) * np.sin(
        2 * np.pi * (np.arange(1, 4)[:, None] * knots + rng.random((3, 1)))
    )
    # Where in its turn the engine is at 65 knots, in steps of a table of one turn; evenly between.
    phase = table * (turns * knots + wander.sum(axis=0) - wander.sum(axis=0)[0])
    evenly = np.arange(period // 64) / (period // 64)
    steps = (phase[:-1, None] + np.diff(phase)[:, None] * evenly).astype(np.int64).reshape(-1) % table
    harmonics = np.zeros(table // 2 + 1, dtype=np.complex64)
    count = max(1, min(40, int(0.4 * rate_hz * seconds / turns)))
    numbers = np.arange(1, count + 1)
    harmonics[1 : count + 1] = rng.uniform(0.3, 1.0, count) / numbers**0.9 * np.exp(2j * np.pi * rng.random(count))
    cycle = np.fft.irfft(harmonics, table)
    cycle /= np.sqrt(np.mean(np.square(cycle)))
    tone: Samples = cycle.astype(np.float32)[steps]
    rumble = _brown(period, rate_hz, rng)
    tone += rumble * np.float32(0.4 / max(float(np.sqrt(np.dot(rumble, rumble) / period)), 1e-20))
    return tone


MAKERS: Final[Mapping[str, Maker]] = MappingProxyType(
    {"pink": _pink, "brown": _brown, "hum": _hum, "rain": _rain, "babble": _babble, "engine": _engine}
)
"""Kinds of noise by name; each makes a period of that many samples at that rate."""

KINDS: Final = tuple(MAKERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoiseParams(SeedParams):
    """Parameters of the noise."""

    share: Share  # where in the level's range its deviation lies, 0 (least) to 1


class GaussianNoise(Perturbs[GaussianNoiseParams]):
    """Gaussian noise: the hiss of a poor microphone or amplifier.

    Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox (audiomentations' amplitude is the
    standard deviation).
    """

    name = "sound.gaussian_noise.v1"
    params = GaussianNoiseParams
    deviation = Range(
        "standard deviation",
        (0.0, 0.0001, 0.0025, 0.005, 0.01, 0.015),
        (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02),
        unit="1 = full scale",
    )
    meta = Metadata(
        summary="adds independent normal noise to every sample",
        goal="a poor microphone: faint sounds drown in hiss",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="sensor",
    )

    def render(self, sound: Samples, params: GaussianNoiseParams, *, rate_hz: int) -> Samples:
        """The sound with the noise."""
        take = AudioInfo(samples=sound.shape[1], channels=sound.shape[0], rate_hz=rate_hz)
        return self.block(sound, params, start=0, take=take)

    def block(self, sound: Samples, params: GaussianNoiseParams, *, start: int, take: AudioInfo) -> Samples:
        """A part with its noise."""
        scale = self.deviation.within(params.strength, params.share)
        if sound.shape[1] == take.samples:
            output = noise.normal(params.stream("noise"), sound.shape, scale=scale)
        else:
            before = (channel * take.samples + start for channel in range(len(sound)))
            channels = [
                noise.normal(params.stream("noise"), sound.shape[1:], scale=scale, skipped=count) for count in before
            ]
            output = np.stack(channels)
        np.add(output, sound, out=output)
        return output


GAUSSIAN_NOISE: SoundStressor[GaussianNoiseParams] = GaussianNoise()


_DECAY_S: Final = (0.0001, 0.0005)
"""Time in which a click falls to 1/e."""
_PITCH_HZ: Final = (500.0, 8000.0)
_LENGTH: Final = 8.0
"""How long a click is made, in times of its decay."""


class ImpulseNoise(Seeded):
    """Impulse noise: clicks of switches, loose plugs and scratched records.

    Source: R2-Bench, Table 1, sensor noise of sound, whose release has an impulse response in its place. The constants
    are ours: from 2 clicks a second at a tenth of full scale to 32 at most of it. A click is a damped cosine: the same
    in all channels, as from one cable, at once there and gone within 4 ms. What a level adds, the next one keeps.
    """

    name = "sound.impulse_noise.v1"
    per_second = Constant("clicks per second", (0.0, 2.0, 4.0, 8.0, 16.0, 32.0))
    peak = Constant("greatest peak", (0.0, 0.1, 0.2, 0.35, 0.55, 0.8), unit="1 = full scale")
    meta = Metadata(
        summary="adds short clicks at random places",
        goal="a model that takes any sudden sound for an event",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1; constants are ours",
        truth="which source sounds when is unchanged; the clicks have no source",
        origin="sensor",
    )

    def render(self, sound: Samples, params: SeedParams, *, rate_hz: int) -> Samples:
        """The sound with the clicks; a short sound has one at least."""
        take = AudioInfo(samples=sound.shape[1], channels=sound.shape[0], rate_hz=rate_hz)
        return self.block(sound, params, start=0, take=take)

    def block(self, sound: Samples, params: SeedParams, *, start: int, take: AudioInfo) -> Samples:
        """A part with its clicks."""
        per_second, peak = self.per_second.at(params.strength), self.peak.at(params.strength)
        samples, rate_hz = take.samples, take.rate_hz
        count = max(1.0, per_second * samples / rate_hz)
        most = max(1, math.ceil(self.per_second.values[-1] * samples / rate_hz))
        draws = params.stream("clicks").uniform(size=(most, 5))  # of every click that the strongest level has
        track = np.zeros(sound.shape[1], dtype=np.float32)
        longest = math.ceil(_LENGTH * _DECAY_S[1] * rate_hz)
        for index in range(math.ceil(count)):
            position, size, sign, decay, pitch = draws[index]
            first = min(int(position * samples), samples - 1) - start
            if not -longest < first < track.size:
                continue
            click = _click(decay, pitch, rate_hz=rate_hz)[max(0, -first) : track.size - first]
            height = peak * (0.5 + 0.5 * size) * min(1.0, count - index) * (1.0 if sign < 0.5 else -1.0)
            track[max(0, first) :][: len(click)] += np.float32(height) * click
        return sound + track


def _click(decay: float, pitch: float, *, rate_hz: int) -> Samples:
    """A click of peak 1 at its first sample, (samples,)."""
    decay_s = _DECAY_S[0] + decay * (_DECAY_S[1] - _DECAY_S[0])
    pitch_hz = min(_PITCH_HZ[0] * (_PITCH_HZ[1] / _PITCH_HZ[0]) ** pitch, 0.45 * rate_hz)
    times_s = np.arange(math.ceil(_LENGTH * decay_s * rate_hz)) / rate_hz
    click: Samples = (np.exp(-times_s / decay_s) * np.cos(2.0 * math.pi * pitch_hz * times_s)).astype(np.float32)
    return click


IMPULSE_NOISE: SoundStressor[SeedParams] = ImpulseNoise()


_SILENT: Final = 1e-9  # root mean square, of full scale
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundParams(SeedParams):
    """Parameters of the background noise."""

    ratio: Share  # place in the level's range of signal-to-noise ratios, 0 to 1
    place: Share  # where in the noise it begins, 0 to 1
    kind: str  # which noise is made if the caller brings none: one of `KINDS`


class BackgroundNoise(Perturbs[BackgroundParams]):
    """Background noise: something else sounds where the source does.

    The caller may bring the noise, as the release does (another clip of the same dataset): it is cut or looped at a
    drawn place, turned upside down, made mono and given to every channel. Without one, a noise is made from the seed.

    The ratio of the sound's root mean square to that of the noise added is drawn in the level's range. A sound that is
    silent has no such ratio and stays silent, as in audiomentations; so does a sound whose noise is silent stay as it
    is.

    Source: R2-Bench, Table 1, environmental noise of sound; constants of its toolbox. Chosen otherwise than
    audiomentations: the noise's loudness is that of what is heard of it, loops included, so that the ratio holds
    exactly.
    """

    name = "sound.background_noise.v1"
    params = BackgroundParams
    ratio = Range(
        "signal-to-noise ratio",
        (90.0, 25.0, 20.0, 15.0, 10.0, 5.0),
        (90.0, 30.0, 25.0, 20.0, 15.0, 10.0),
        unit="dB",
    )
    meta = Metadata(
        summary="adds another sound, the caller's or one made from the seed, at a drawn signal-to-noise ratio",
        goal="a model that follows whatever sounds rather than what was asked for",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged; the noise has no source",
        origin="environment",
    )

    def choose(self, rng: np.random.Generator, take: AudioInfo, /, *, strength: float) -> BackgroundParams:
        """Draw the place in the range of ratios, and the noise."""
        del take
        ratio, place = rng.random(2).tolist()
        kind = pick(rng, KINDS)
        return BackgroundParams(strength=strength, seed=seed_from(rng), ratio=ratio, place=place, kind=kind)

    def render(self, sound: Samples, params: BackgroundParams, *, rate_hz: int) -> Samples:
        """The sound and a noise made for it."""
        if params.kind not in KINDS:
            raise InputError(f"kind is {params.kind!r:.60}", expected=", ".join(KINDS))
        noise = make(params.kind, sound.shape[1], rate_hz=rate_hz, rng=params.stream("background", params.kind))
        return self.mix(sound, noise[None], params, rate_hz=rate_hz)

    def mix(self, sound: Samples, noise: Samples, params: BackgroundParams, *, rate_hz: int) -> Samples:
        """The sound and the noise that the caller brings; nothing here depends on the seed."""
        del rate_hz
        ratio_db = self.ratio.within(params.strength, params.ratio)
        excerpt = _cut(noise, sound.shape[1], params.place)
        loud, noisy = _rms(sound), _rms(excerpt)
        if loud < _SILENT or noisy < _SILENT:
            return sound.copy()
        target_rms = loud / 10.0 ** (ratio_db / 20.0)
        output = np.empty_like(sound)
        for start in range(0, sound.shape[1], _PIECE):  # of a long sound no further array is held
            part = slice(start, start + _PIECE)
            # Subtracted: the release turns the noise upside down.
            np.subtract(sound[:, part], excerpt[:, part] * np.float32(target_rms / noisy), out=output[:, part])
        return output


def _cut(noise: Samples, samples: int, share: float) -> Samples:
    """A piece (1, samples) of the noise, mono: from a drawn position in a long one, round and round of a short one."""
    length = noise.shape[1]
    if length >= samples:
        start = int(share * (length - samples))
        noise = noise[:, start : start + samples]
    mono = noise if noise.shape[0] == 1 else noise.mean(axis=0, dtype=np.float32, keepdims=True)
    if length >= samples:
        return mono
    start = min(int(share * length), length - 1)
    return np.resize(np.roll(mono[0], -start), (1, samples))


def _rms(sound: Samples) -> float:
    flat = np.ascontiguousarray(sound).reshape(-1)
    return float(np.sqrt(np.dot(flat, flat) / flat.size))


BACKGROUND_NOISE: SoundStressor[BackgroundParams] = BackgroundNoise()
