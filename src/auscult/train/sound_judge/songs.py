"""Songs for the sound judge to learn from: sung melodies over chords, bass and drums, every stem known.

Free songs with stems are too few to learn from, so they are synthesised. Vocals are recorded speech, of which the
spectral envelopes filter a pulse train that follows a melody; the accompaniment is synthesised, with recorded drum hits
where the part has some. Outputs are made by ratio masks with errors as of learned separators: a bias towards target or
rest, noise, blur, and whole stretches that are missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from auscult.arrays.spectra import add_frames, short_time
from auscult.errors import InputError
from auscult.models.separators.spectral import istft, stft
from auscult.outcome import Undefined
from auscult.rng import generator, pick
from auscult.scenes.mixtures.catalogue import Catalogue, Part
from auscult.stress.sound.separation import perturb
from auscult.train.sound_judge.samples import OutputTruth, SoundSample, at_random_level, open_material
from auscult.types import Floats, Samples, SoundCase, SoundQuery

RATE_HZ: Final = 16_000
PROMPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "vocals": ("singing voice", "singing", "vocals", "people singing"),
    "drums": ("drums", "drums playing"),
    "bass": ("bass guitar", "bass guitar playing"),
    "accompaniment": ("music", "musical instruments", "instruments playing"),
}
DAMAGES: Final = (
    "band_limit", "band_loss", "clipping", "equalisation", "leakage", "musical_noise", "phase_damage", "smearing",
    "target_loss", "temporal_mask", "timbre", "time_loss",
)  # fmt: skip
SONG: Final = "song"
"""Prefix of the ids of songs."""
OUTPUTS: Final = 5
"""Outputs of each song."""

_SECONDS: Final = (3.0, 8.0)
_SCALES: Final = ((0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10))
_PROGRESSIONS: Final = ((0, 4, 5, 3), (5, 3, 0, 4), (0, 3, 4, 0), (0, 5, 3, 4), (0, 0, 3, 4), (1, 4, 0, 0))
# in eighths of a bar: kick, snare
_BEATS: Final = (((0, 4), (2, 6)), ((0, 3, 4), (2, 6)), ((0, 5), (4,)), ((0, 2, 4, 6), (2, 6)), ((0,), (4,)))
_TARGETS: Final = ("vocals", "accompaniment", "drums", "bass")
_CHANCES: Final = (0.75, 0.1, 0.08, 0.07)
_HOP: Final = 80  # of speech frames, 5 ms
_VOICE_HZ: Final = {"woman": (200.0, 560.0), "man": (95.0, 330.0)}
_HIT_S: Final = 0.3
_TINY: Final = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bars:
    """Length, tempo, key and chords of a song."""

    count: int  # samples
    beat: int  # samples of an eighth
    tonic_hz: float
    scale: tuple[int, ...]
    chords: tuple[int, ...]  # degrees of the scale, one a bar of eight eighths

    def pitch_hz(self, degree: int) -> float:
        """The pitch of a degree of the scale, from 0, the tonic."""
        octave, place = divmod(degree, len(self.scale))
        return float(self.tonic_hz * 2 ** (octave + self.scale[place] / 12))

    @property
    def eighths(self) -> range:
        """The number of each eighth in the song."""
        return range(-(-self.count // self.beat))

    def chord(self, eighth: int) -> int:
        """The degree of the chord at an eighth."""
        return self.chords[eighth // 8 % len(self.chords)]


def _bars(rng: np.random.Generator) -> _Bars:
    return _Bars(
        count=int(rng.uniform(*_SECONDS) * RATE_HZ),
        beat=int(RATE_HZ * 30 / rng.uniform(70, 160)),
        tonic_hz=float(110 * 2 ** (rng.integers(-5, 7) / 12)),
        scale=_SCALES[int(rng.integers(2))],
        chords=pick(rng, _PROGRESSIONS),
    )


def compose(rng: np.random.Generator, catalogue: Catalogue, *, part: Part) -> tuple[dict[str, Samples], str]:
    """The stems of a song by name, float32 (samples,) at ``RATE_HZ``, and the name of the recorded voice."""
    bars = _bars(rng)
    clips = [clip for clip in catalogue.clips if clip.part == part]
    voices = sorted({clip.voice for clip in clips if "speaking" in clip.label})
    if not voices:
        raise InputError(
            f"{catalogue.name} has no recording of someone speaking in the part {part}",
            expected="voices, which sing the songs",
            hint="add recordings as sounds/man speaking/*.wav, or leave the songs out (`songs: 0` in the settings)",
        )
    voice = pick(rng, voices)
    spoken = [clip for clip in clips if clip.voice == voice and "speaking" in clip.label]
    ids = [spoken[int(index)].id for index in rng.permutation(len(spoken))[:6]]
    speech = catalogue.samples(ids, seconds=4.0, offset=float(rng.random()), rate_hz=RATE_HZ)
    gender = "woman" if spoken[0].label.startswith("woman") else "man"
    stems = {"vocals": _vocals(rng, bars, speech, range_hz=_VOICE_HZ[gender])}
    for number in range(1 + int(rng.random() < 0.6)):
        stems[f"chords-{number + 1}"] = _chords(rng, bars)
    if rng.random() < 0.85:
        stems["bass"] = _bass(rng, bars)
    if rng.random() < 0.8:
        hits = {
            clip.label: catalogue.samples([clip.id], seconds=_HIT_S, offset=0.0, rate_hz=RATE_HZ)
            for clip in clips
            if clip.label in {"kick drum", "snare drum", "cymbal"}
        }
        stems["drums"] = _drums(rng, bars, hits)
    if rng.random() < 0.25:
        stems["lead"] = _lead(rng, bars)
    levels = {"vocals": 0.0, "bass": -6.0, "drums": -5.0, "lead": -9.0}
    ratio = rng.uniform(-6, 5)
    for name, stem in stems.items():
        level = levels.get(name, -8.0) + rng.uniform(-4, 4) - (0.0 if name == "vocals" else ratio)
        rms = float(np.sqrt(np.mean(stem**2, dtype=np.float64)))
        stems[name] = np.asarray(stem * (0.1 * 10 ** (level / 20) / max(rms, _TINY)), np.float32)
    return stems, voice


def _vocals(rng: np.random.Generator, bars: _Bars, speech: Samples, *, range_hz: tuple[float, float]) -> Samples:
    """Vocals on a melody; at random in two voices, doubled, reverberant."""
    degrees, starts = _melody(rng, bars, range_hz=range_hz)
    line = _sing(rng, bars, speech, notes=list(zip(starts, degrees, strict=True)))
    if rng.random() < 0.3:
        second = [
            (start, None if degree is None else degree + 2) for start, degree in zip(starts, degrees, strict=True)
        ]
        line = line + np.float32(rng.uniform(0.2, 0.6)) * _sing(rng, bars, speech, notes=second)
    if rng.random() < 0.3:
        line = line + np.float32(0.5) * np.roll(line, int(rng.uniform(0.012, 0.03) * RATE_HZ))
    return _with_reverb(rng, _compressed(line, power=float(rng.uniform(0.5, 1.0))), wet=float(rng.uniform(0.0, 0.35)))


def _melody(
    rng: np.random.Generator, bars: _Bars, *, range_hz: tuple[float, float]
) -> tuple[list[int | None], list[int]]:
    """Degrees of the scale, None for a rest, and the sample at which each begins; the last is the end of the song."""
    fitting = [degree for degree in range(-14, 29) if range_hz[0] <= bars.pitch_hz(degree) <= range_hz[1]]
    place, position = int(rng.integers(len(fitting))), int(rng.integers(-4, 4)) * bars.beat
    degrees, starts = list[int | None](), list[int]()
    while position < bars.count:
        starts.append(position)
        place = int(np.clip(place + rng.integers(-2, 3), 0, len(fitting) - 1))
        degrees.append(None if rng.random() < 0.14 else fitting[place])
        position += int(rng.choice([1, 1, 2, 2, 3, 4])) * bars.beat
    return [*degrees, None], [*starts, bars.count]


def _sing(
    rng: np.random.Generator, bars: _Bars, speech: Samples, *, notes: Sequence[tuple[int, int | None]]
) -> Samples:
    envelopes, voiced = _envelopes(speech)
    frames = -(-bars.count // _HOP)
    places, gate, pitch = np.zeros(frames), np.zeros(frames), np.full(frames, 150.0)
    for (start, degree), (end, _) in pairwise(notes):
        first, last = max(0, start // _HOP), min(frames, end // _HOP)
        if degree is None or last - first < 4:
            continue
        long = int(rng.integers(24, 60))
        begin = int(rng.integers(0, max(1, len(envelopes) - long)))
        # slowest in the middle, as a held vowel is
        progress = np.linspace(0, 1, last - first)
        places[first:last] = begin + long * (0.5 + 4 * (progress - 0.5) ** 3) * 0.999
        gate[first:last] = np.minimum(1, np.minimum(np.arange(1, last - first + 1), np.arange(last - first, 0, -1)) / 6)
        pitch[first:] = bars.pitch_hz(degree)
    pitch = cv2.GaussianBlur(pitch[None], (0, 0), float(rng.uniform(2, 6)), borderType=cv2.BORDER_REPLICATE)[0]
    vibrato = rng.uniform(0.0, 0.5) * np.sin(2 * np.pi * rng.uniform(4.8, 6.5) * np.arange(frames) * _HOP / RATE_HZ)
    pitch = pitch * 2 ** ((vibrato + 0.08 * rng.standard_normal(frames)) / 12)
    rows = np.clip(np.rint(places).astype(int), 0, len(envelopes) - 1)
    return _filtered(rng, envelopes[rows] * gate[:, None], voiced[rows], pitch=pitch, count=bars.count)


def _envelopes(speech: Samples) -> tuple[Floats, Floats]:
    """The cepstral envelope (frames, 257) and voicing (frames,), 0..1, of each 5 ms of speech."""
    size = 512
    padded = np.pad(speech, size // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::_HOP] * np.hanning(size).astype(np.float32)
    spectra = np.abs(np.fft.rfft(frames))
    cepstra = np.fft.irfft(np.log(spectra + 1e-4))
    cepstra[:, 30:-29] = 0
    envelopes = np.exp(np.fft.rfft(cepstra).real).astype(np.float32)
    # speech recorded at 8 kHz has nothing above 4 kHz: the envelope is extended from below, falling
    edge = 115
    if np.median(envelopes[:, 140:].mean(1) / (envelopes[:, 60:edge].mean(1) + _TINY)) < 0.05:
        fall = 10 ** (-np.arange(257 - edge) / 90)
        envelopes[:, edge:] = envelopes[:, edge - 12 : edge].mean(1, keepdims=True) * fall
    power = np.fft.irfft(spectra**2)
    peaks = power[:, RATE_HZ // 400 : RATE_HZ // 70].max(1) / (power[:, 0] + _TINY)
    return envelopes, np.clip((peaks - 0.25) * 4, 0, 1).astype(np.float32)


def _filtered(rng: np.random.Generator, envelopes: Floats, voiced: Floats, *, pitch: Any, count: int) -> Samples:
    """A pulse train and noise, filtered by an envelope for each 5 ms."""
    times = np.arange(count) / _HOP
    hertz = np.interp(times, np.arange(len(pitch)), pitch)
    phase = np.cumsum(hertz / RATE_HZ)
    partials = np.floor(7_600 / hertz)
    halves = np.pi * phase
    pulses = np.sin((2 * partials + 1) * halves) / np.where(np.abs(np.sin(halves)) < 1e-4, 1e-4, np.sin(halves)) - 1
    pulses = np.clip(pulses, -2 * partials, 2 * partials) / np.sqrt(2 * partials)
    share = np.interp(times, np.arange(len(voiced)), voiced)
    breath = rng.uniform(0.02, 0.15)
    source = share * pulses + (1 - share + breath) * 0.5 * rng.standard_normal(count)
    size, hop = 512, 128
    window = np.hanning(size + 1)[:-1].astype(np.float32)
    padded = np.pad(source.astype(np.float32), size)
    spectra = short_time(padded, window, hop=hop)
    rows = np.clip((np.arange(len(spectra)) * hop - size // 2) // _HOP, 0, len(envelopes) - 1)
    result = np.zeros(padded.size, np.float32)
    add_frames(result, np.fft.irfft(spectra * envelopes[rows]).astype(np.float32) * window, hop=hop)
    return result[size : size + count]


def _note(rng: np.random.Generator, hertz: float, count: int, *, sound: str) -> Samples:
    """A synthesised note."""
    times = np.arange(count) / RATE_HZ
    phase = 2 * np.pi * hertz * times
    if sound == "string":  # plucked: Karplus and Strong, as decaying partials
        partials = np.arange(1, max(2, min(24, int(7_500 / hertz))))
        weights = rng.uniform(0.4, 1, len(partials)) / partials
        fall = np.exp(-times[None] * (1.2 + 0.5 * partials[:, None]) * rng.uniform(0.6, 1.6))
        return np.asarray((weights[:, None] * fall * np.sin(partials[:, None] * phase)).sum(0), np.float32)
    if sound == "bell":  # frequency modulation, as of an electric piano
        depth = rng.uniform(0.8, 3) * np.exp(-times * 3)
        return np.asarray(
            np.sin(phase + depth * np.sin(phase * rng.choice([1, 2, 7]))) * np.exp(-times * 1.5), np.float32
        )
    if sound == "organ":
        drawn = rng.random(5)
        values = sum(weight * np.sin(phase * step) for weight, step in zip(drawn, (0.5, 1, 2, 3, 4), strict=True))
        return np.asarray(values, np.float32)
    partials = np.arange(1, max(2, min(40, int(7_500 / hertz))))
    bright = rng.uniform(0.9, 1.6)
    values = (np.sin(partials[:, None] * phase) / partials[:, None] ** bright).sum(0)
    if sound == "distorted":
        values = np.tanh(rng.uniform(3, 12) * values)
    return np.asarray(values, np.float32)


def _add_note(onto: Samples, note: Samples, start: int, *, attack_s: float = 0.005) -> None:
    """Add a note that begins at a sample, faded in and out."""
    length = min(note.size, onto.size - start)
    if length > 0:
        rise, fall = max(1, int(attack_s * RATE_HZ)), int(0.02 * RATE_HZ)
        gate = np.minimum(1, np.arange(length) / rise) * np.minimum(1, (note.size - np.arange(length)) / fall)
        onto[start : start + length] += note[:length] * gate.astype(np.float32)


_SOUNDS: Final = ("string", "bell", "organ", "saw", "distorted")


def _chords(rng: np.random.Generator, bars: _Bars) -> Samples:
    """Chords: held, strummed or broken."""
    track, sound = np.zeros(bars.count, np.float32), str(rng.choice(_SOUNDS))
    manner, octave = str(rng.choice(["held", "strummed", "broken"])), int(rng.integers(0, 3)) * 7
    steps = (0, 4, 7) if sound == "distorted" else (0, 2, 4)
    for eighth in bars.eighths:
        root, start = bars.chord(eighth) + octave, eighth * bars.beat
        if manner == "broken":
            hertz = bars.pitch_hz(root + steps[eighth % 3])
            _add_note(track, _note(rng, hertz, 2 * bars.beat, sound=sound), start)
        elif eighth % (8 if manner == "held" else 2) == 0 and (manner == "held" or rng.random() < 0.85):
            long = (8 if manner == "held" else 2) * bars.beat
            for step in steps:
                _add_note(track, _note(rng, bars.pitch_hz(root + step), long, sound=sound), start, attack_s=0.02)
    return _with_reverb(rng, track, wet=float(rng.uniform(0, 0.3)))


def _bass(rng: np.random.Generator, bars: _Bars) -> Samples:
    track, sound = np.zeros(bars.count, np.float32), str(rng.choice(["string", "saw", "organ"]))
    every = int(rng.choice([1, 2, 4]))
    for eighth in bars.eighths:
        if eighth % every == 0 and rng.random() < 0.9:
            hertz = bars.pitch_hz(bars.chord(eighth) - 7) / (2 if bars.tonic_hz > 110 else 1)
            _add_note(track, _note(rng, hertz, every * bars.beat, sound=sound), eighth * bars.beat)
    kernel = np.hanning(int(rng.integers(8, 24)) + 2)
    return np.convolve(track, kernel / kernel.sum(), mode="same").astype(np.float32)


def _lead(rng: np.random.Generator, bars: _Bars) -> Samples:
    track, sound = np.zeros(bars.count, np.float32), str(rng.choice(_SOUNDS))
    degrees, starts = _melody(rng, bars, range_hz=(250.0, 1200.0))
    for degree, (start, end) in zip(degrees, pairwise(starts), strict=False):
        if degree is not None and start >= 0:
            _add_note(track, _note(rng, bars.pitch_hz(degree), end - start, sound=sound), start, attack_s=0.03)
    return _with_reverb(rng, track, wet=float(rng.uniform(0, 0.3)))


def _drums(rng: np.random.Generator, bars: _Bars, hits: Mapping[str, Samples]) -> Samples:
    """Kick, snare and hi-hat, each synthesised or, at random, a recorded hit."""
    track = np.zeros(bars.count, np.float32)
    kick, snare = pick(rng, _BEATS)
    times = np.arange(int(_HIT_S * RATE_HZ)) / RATE_HZ
    low = rng.uniform(45, 70)
    sounds = {
        "kick drum": np.sin(2 * np.pi * (low * times + 3 * (1 - np.exp(-times * 30)))) * np.exp(-times * 14),
        "snare drum": rng.standard_normal(times.size) * np.exp(-times * rng.uniform(14, 30)) * 0.6
        + np.sin(2 * np.pi * 190 * times) * np.exp(-times * 25),
        "cymbal": np.diff(rng.standard_normal(times.size + 1)) * np.exp(-times * rng.uniform(25, 80)) * 0.4,
    }
    sounds |= {label: hit for label, hit in hits.items() if rng.random() < 0.6}
    for eighth in bars.eighths:
        loud = {"kick drum": eighth % 8 in kick, "snare drum": eighth % 8 in snare, "cymbal": rng.random() < 0.8}
        for label, strikes in loud.items():
            if strikes:
                _add_note(track, np.float32(rng.uniform(0.6, 1)) * sounds[label].astype(np.float32), eighth * bars.beat)
    return _with_reverb(rng, track, wet=float(rng.uniform(0, 0.2)))


def _compressed(sound: Samples, *, power: float) -> Samples:
    """Compress the dynamics: the level over 30 ms is raised to a power."""
    level = np.sqrt(cv2.blur(sound[None] ** 2, (481, 1))[0] + 1e-8)
    return np.asarray(sound * level ** (power - 1), np.float32)


def _with_reverb(rng: np.random.Generator, sound: Samples, *, wet: float) -> Samples:
    """Add reverberation by exponentially decaying noise."""
    length = int(rng.uniform(0.3, 1.5) * RATE_HZ)
    echo = rng.standard_normal(length) * np.exp(-6.9 * np.arange(length) / length)
    size = sound.size + length
    tail = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(echo / np.linalg.norm(echo), size), size)[: sound.size]
    return np.asarray(sound + wet * tail, np.float32)


def masked(rng: np.random.Generator, target: Samples, rest: Samples) -> Samples:
    """The mixture through a ratio mask of target and rest with random errors; all (samples,) at ``RATE_HZ``."""
    window = int(rng.choice([512, 1024, 2048]))
    mixture, wanted, unwanted = (stft(sound, window=window) for sound in (target + rest, target, rest))
    ratio = 20 * np.log10((np.abs(wanted) + _TINY) / (np.abs(unwanted) + _TINY)).astype(np.float32)
    ratio = np.clip(ratio, -40, 40)
    if rng.random() < 0.7:  # blur
        ratio = np.asarray(cv2.blur(ratio, (int(rng.integers(1, 12)), int(rng.integers(1, 24)))), np.float32)
    noise = rng.standard_normal(ratio.shape).astype(np.float32)
    noise = np.asarray(cv2.GaussianBlur(noise, (0, 0), float(rng.uniform(0.5, 6))), np.float32)
    ratio = ratio + float(rng.uniform(0, 12)) * noise / max(float(noise.std()), _TINY)
    bias = float(rng.uniform(-14, 14))
    steps = np.interp(np.arange(ratio.shape[1]), np.arange(0, ratio.shape[1] + 24, 24), _stretches(rng, ratio.shape[1]))
    share = 1 / (1 + np.exp(-(ratio + bias + steps[None].astype(np.float32)) * float(rng.uniform(0.06, 0.35))))
    share = np.maximum(share, 10 ** (rng.uniform(-50, -15) / 20))
    if rng.random() < 0.2:
        share[int(rng.uniform(0.3, 0.8) * len(share)) :] *= 0.01
    return istft(np.asarray(mixture * share, np.complex64), count=target.size)


def _stretches(rng: np.random.Generator, frames: int) -> Floats:
    """A bias of the ratio every 24 frames, in dB: mostly 0, now and then up to 30 either way."""
    count = len(range(0, frames + 24, 24))
    return np.where(rng.random(count) < 0.12, rng.uniform(-30, 30, count), 0.0)


def song_samples(root: Path | None, *, part: Part, numbers: Sequence[int], seed: int) -> Iterator[SoundSample]:
    """The samples of songs by number, ``OUTPUTS`` of each; what is undefined by formula is left out."""
    catalogue = open_material(root)
    for number in numbers:
        rng = generator(seed, "songs", part, number)
        stems, voice = compose(rng, catalogue, part=part)
        wanted = str(rng.choice(_TARGETS, p=_CHANCES))
        names = [name for name in stems if name == wanted or (wanted == "accompaniment" and name != "vocals")]
        names = names or ["vocals"]
        label = wanted if wanted in {*names, "accompaniment"} else "vocals"
        target = _sum(stems[name] for name in names)
        others = [stem for name, stem in stems.items() if name not in names]
        mixture = _sum([target, *others])
        text = str(rng.choice(PROMPTS[label]))
        key = f"{SONG}{seed}-{number:05d}"
        case = SoundCase(id=key, mixture=mixture[None], rate_hz=RATE_HZ, text=text)
        about = {"label": label, "domain": "music", "setting": "instrument", "cluster": f"{key}-{voice}"}
        truth = OutputTruth([target, *others], RATE_HZ, SoundQuery(text=text), more=about)
        for index in range(OUTPUTS):
            output, facts = _output(rng, [target, *others], key=f"{key}-{index}")
            sample = truth.sample(output, case, id=f"{key}-{index}", **facts)
            if sample is not None:
                yield replace(sample, separated=at_random_level(rng, sample.separated, rate_hz=RATE_HZ))


def _sum(stems: Iterable[Samples]) -> Samples:
    return np.asarray(np.sum(list(stems), axis=0, dtype=np.float32))


def _output(rng: np.random.Generator, stems: Sequence[Samples], *, key: str) -> tuple[Samples, dict[str, Any]]:
    """An output of a song, with its kind and whether it is of the target, ``stems[0]``."""
    draw, target = rng.random(), stems[0]
    rest = _sum(stems[1:])
    if draw < 0.07:
        return target, {"kind": "stem", "aligned": True}
    if draw < 0.12:
        return target + rest, {"kind": "mixture", "aligned": True}
    if draw < 0.2:
        wrong = masked(rng, rest, target) if rng.random() < 0.5 else stems[int(rng.integers(1, len(stems)))]
        return wrong, {"kind": "other_source", "aligned": False}
    if draw < 0.85:
        output, kind = masked(rng, target, rest), "soft_mask"
    else:
        output, kind = target, "stem"
    if draw > 0.75:
        damage, severity = str(rng.choice(DAMAGES)), round(float(rng.uniform(0.3, 5.0)), 2)
        sources = [output, *stems[1:]]
        damaged = perturb(damage, sources, target=0, rate_hz=RATE_HZ, severity=severity, seed=0, key=key)
        if not isinstance(damaged, Undefined):
            output, kind = damaged.output, f"{kind}+{damage}"
    return output, {"kind": kind, "aligned": True}
