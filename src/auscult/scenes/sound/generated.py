"""The generated sounds: eighteen kinds, sixty instances of each, from numpy alone.

A kind with a rhythm of its own repeats at least four times a second, and no kind falls silent in between: one span of
sound is heard as one, so spans can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.rng import generator
from auscult.scenes.sound.mix import SoundSet, SoundSource, finished
from auscult.types import Samples

Wave: TypeAlias = NDArray[np.float32]

_TABLE = 16_384
_HIGHEST = 0.45
_NOISE_S = 2.0


@dataclass(frozen=True, slots=True)
class Canvas:
    """What a sound is drawn on."""

    count: int  # samples wanted
    rate_hz: int  # sample rate
    rng: np.random.Generator  # for everything about the grain of the sound; made from the source's seed

    @property
    def time_s(self) -> Wave:
        """Time of every sample, from 0."""
        return np.arange(self.count, dtype=np.float32) / np.float32(self.rate_hz)


def swing(canvas: Canvas, cycles_hz: float, *, phase: float = 0.0) -> Wave:
    """A slow sine, -1 to 1, for vibrato and the like; ``phase`` in turns."""
    return np.asarray(np.sin(canvas.time_s * np.float32(2.0 * np.pi * cycles_hz) + np.float32(2.0 * np.pi * phase)))


def tone(pitch_hz: Wave | float, canvas: Canvas, *, partials: Sequence[float] = (1.0,)) -> Wave:
    """A harmonic tone by wavetable, float32 (samples,), of any level.

    The pitch is one for all samples or one a sample; ``partials`` are amplitudes of the harmonics from the first, of
    which those over the range of the rate are left out.
    """
    top = _HIGHEST * canvas.rate_hz
    pitch = np.minimum(np.broadcast_to(np.asarray(pitch_hz, dtype=np.float32), canvas.count), top)
    highest = float(pitch.max()) if canvas.count else 1.0
    within = max(1, min(len(partials), int(top / max(highest, 1.0))))
    spectrum = np.zeros(_TABLE // 2 + 1, dtype=np.complex64)
    spectrum[1 : within + 1] = np.asarray(partials[:within]) * (-0.5j * _TABLE)
    table = np.fft.irfft(spectrum, _TABLE).astype(np.float32)
    phase = np.cumsum(pitch, dtype=np.float64) * (_TABLE / canvas.rate_hz)
    return np.asarray(table[phase.astype(np.int64) & (_TABLE - 1)])


def noise(canvas: Canvas, *, centre_hz: float, octaves: float) -> Wave:
    """Noise around a frequency, a bell curve over the octaves; repeats without a seam every two seconds or so."""
    size = 1 << (round(min(_NOISE_S, canvas.count / canvas.rate_hz + 0.01) * canvas.rate_hz) - 1).bit_length()
    frequencies = np.fft.rfftfreq(size, 1.0 / canvas.rate_hz)
    frequencies[0] = 1e-3
    distance = np.log2(frequencies / min(centre_hz, _HIGHEST * canvas.rate_hz)) / octaves
    weights = np.exp(-0.5 * distance**2) / np.sqrt(frequencies)
    turns = canvas.rng.random(len(weights), dtype=np.float32)
    grain = np.fft.irfft(weights * np.exp(2j * np.pi * turns), size)
    grain /= max(float(np.sqrt(np.mean(grain**2))), 1e-12)
    return np.resize(grain.astype(np.float32), canvas.count)


def pluck(canvas: Canvas, *, pitch_hz: float, seconds: float) -> Wave:
    """One plucked string that dies away within ``seconds``: Karplus and Strong 1983, Eq. 1, a period at a time."""
    period = max(2, round(canvas.rate_hz / pitch_hz - 0.5))
    count = max(1, round(seconds * canvas.rate_hz))
    string = canvas.rng.choice(np.asarray((-1.0, 1.0), dtype=np.float32), period)
    rows = np.empty((-(-count // period), period), dtype=np.float32)
    for row in rows:
        row[:] = string
        string = 0.5 * (string + np.roll(string, 1))
    return rows.ravel()[:count] * dying(count, canvas.rate_hz, half_s=seconds / 4.0)


def dying(count: int, rate_hz: int, *, half_s: float) -> Wave:
    """An envelope that starts at 1 and halves every ``half_s`` seconds."""
    steps = np.arange(count, dtype=np.float32)
    return np.asarray(np.exp2(-steps / np.float32(half_s * rate_hz)))


def repeated(events: Sequence[Wave], canvas: Canvas, *, each_s: float, jitter: float = 0.0) -> Wave:
    """One event after another, in turn, every ``each_s`` to the end; tails run on under later events.

    ``jitter`` is the random share of ``each_s`` by which a start is late, and of the level by which an event is softer.
    """
    step = max(1.0, each_s * canvas.rate_hz)
    count = int(np.ceil(canvas.count / step))
    late = canvas.rng.random(count, dtype=np.float32) * jitter
    soft = 1.0 - canvas.rng.random(count, dtype=np.float32) * jitter
    sound = np.zeros(canvas.count, dtype=np.float32)
    for index in range(count):
        start = int(step * (index + (late[index] if index else 0.0)))
        event = events[index % len(events)][: max(0, canvas.count - start)]
        sound[start : start + len(event)] += event * soft[index]
    return sound


Numbers: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundKind:
    """A kind of generated sound."""

    noun: str  # what is heard
    verb: str  # what its maker does, third person
    ranges: Mapping[str, tuple[float, float]]  # lowest and highest value of each number that an instance has
    # numbers and canvas to samples, any level; loud from the first sample to the last
    draw: Callable[[Numbers, Canvas], Wave]


KINDS: Final[dict[str, SoundKind]] = {}
"""Every kind by its noun, in a fixed order."""

_Draw: TypeAlias = Callable[[Numbers, Canvas], Wave]


def _kind(verb: str, **ranges: tuple[float, float]) -> Callable[[_Draw], _Draw]:
    """Enter the kind of sound that a function draws; its name is the noun."""

    def enter(draw: _Draw) -> _Draw:
        noun = draw.__name__.removeprefix("_")
        KINDS[noun] = SoundKind(noun=noun, verb=verb, ranges=ranges, draw=draw)
        return draw

    return enter


@_kind("beeps", pitch_hz=(850, 1100), beats_hz=(4.5, 6))
def _beep(numbers: Numbers, canvas: Canvas) -> Wave:
    smooth = np.clip(5.0 * swing(canvas, numbers["beats_hz"]) + 2.0, 0.0, 1.0)
    return np.asarray(tone(numbers["pitch_hz"], canvas, partials=(1.0, 0.0, 0.3, 0.0, 0.15)) * smooth)


@_kind("rings", pitch_hz=(620, 900), ring_s=(0.3, 0.5), beats_hz=(4, 6))
def _bell(numbers: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.9 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    strike = np.zeros(short.count, dtype=np.float32)
    # Hum, prime, tierce, quint and nominal of a church bell, and two partials over them.
    for ratio, size in ((0.5, 0.5), (1.0, 1.0), (1.2, 0.7), (1.5, 0.5), (2.0, 0.9), (2.74, 0.5), (3.76, 0.3)):
        half_s = numbers["ring_s"] / (1.0 + 0.6 * ratio)
        strike += size * tone(numbers["pitch_hz"] * ratio, short) * dying(short.count, short.rate_hz, half_s=half_s)
    return repeated((strike,), canvas, each_s=1.0 / numbers["beats_hz"], jitter=0.06)


@_kind("buzzes", pitch_hz=(150, 230), flutter_hz=(7, 12))
def _buzz(numbers: Numbers, canvas: Canvas) -> Wave:
    pitch = numbers["pitch_hz"] * (1.0 + 0.02 * swing(canvas, numbers["flutter_hz"]))
    saw = tone(pitch.astype(np.float32), canvas, partials=[1.0 / order**0.6 for order in range(1, 31)])
    return saw * (1.0 + 0.35 * swing(canvas, numbers["flutter_hz"] * 2.3))


@_kind("chirps", pitch_hz=(2600, 3600), rise=(0.4, 0.8), beats_hz=(5, 8))
def _chirp(numbers: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.72 / numbers["beats_hz"] * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    share = np.linspace(0.0, 1.0, short.count, dtype=np.float32)
    sweep = tone(numbers["pitch_hz"] * (1.0 + numbers["rise"] * share**2), short, partials=(1.0, 0.12))
    chirp = sweep * np.sqrt(np.maximum(np.sin(np.pi * share), 0.0))
    return repeated((chirp,), canvas, each_s=1.0 / numbers["beats_hz"], jitter=0.08)


@_kind("clicks", pitch_hz=(2000, 2800), beats_hz=(7, 11))
def _click(numbers: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.03 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    ring = tone(numbers["pitch_hz"], short, partials=(1.0, 0.5)) + 0.5 * canvas.rng.standard_normal(short.count)
    return repeated(
        (ring.astype(np.float32) * dying(short.count, short.rate_hz, half_s=0.003),),
        canvas,
        each_s=1.0 / numbers["beats_hz"],
    )


@_kind("growls", pitch_hz=(65, 95), rough_hz=(22, 32))
def _growl(numbers: Numbers, canvas: Canvas) -> Wave:
    pitch = numbers["pitch_hz"] * (1.0 + 0.08 * swing(canvas, 0.7) + 0.04 * swing(canvas, 3.1))
    throat = tone(pitch.astype(np.float32), canvas, partials=_vowel(numbers["pitch_hz"], (450.0, 900.0), count=24))
    rough = 1.0 + 0.8 * swing(canvas, numbers["rough_hz"])
    return np.asarray((throat + 0.15 * noise(canvas, centre_hz=600.0, octaves=0.5)) * rough)


@_kind("hisses", centre_hz=(4500, 6500), flutter_hz=(1, 3))
def _hiss(numbers: Numbers, canvas: Canvas) -> Wave:
    hiss = noise(canvas, centre_hz=numbers["centre_hz"], octaves=0.35)
    return hiss * (1.0 + 0.2 * swing(canvas, numbers["flutter_hz"]))


@_kind("honks", pitch_hz=(300, 420), interval=(1.19, 1.34))
def _honk(numbers: Numbers, canvas: Canvas) -> Wave:
    brass = (0.6, 1.0, 0.9, 0.8, 0.55, 0.4, 0.3, 0.2, 0.12)
    low = tone(numbers["pitch_hz"], canvas, partials=brass)
    return low + 0.8 * tone(numbers["pitch_hz"] * numbers["interval"], canvas, partials=brass)


@_kind("howls", pitch_hz=(300, 420), lift=(0.7, 1.1), glide_hz=(0.8, 1.2))
def _howl(numbers: Numbers, canvas: Canvas) -> Wave:
    glide = 0.5 - 0.5 * swing(canvas, numbers["glide_hz"], phase=0.25)
    lift = 1.0 + numbers["lift"] * glide + 0.01 * swing(canvas, 5.5)
    voice = _vowel(numbers["pitch_hz"], (420.0, 850.0), count=8)
    return tone((numbers["pitch_hz"] * lift).astype(np.float32), canvas, partials=voice)


@_kind("hums", pitch_hz=(90, 150), flutter_hz=(1, 3))
def _hum(numbers: Numbers, canvas: Canvas) -> Wave:
    body = tone(numbers["pitch_hz"], canvas, partials=(1.0, 0.45, 0.2, 0.08))
    return body * (1.0 + 0.15 * swing(canvas, numbers["flutter_hz"]))


@_kind("knocks", pitch_hz=(160, 300), ring_s=(0.02, 0.03), beats_hz=(5, 7))
def _knock(numbers: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.15 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    wood = (
        tone(numbers["pitch_hz"], short)
        + 0.5 * tone(numbers["pitch_hz"] * 1.59, short)
        + 0.3 * tone(numbers["pitch_hz"] * 2.4, short)
    )
    wood *= dying(short.count, short.rate_hz, half_s=numbers["ring_s"])
    slap = noise(short, centre_hz=900.0, octaves=0.8) * dying(short.count, short.rate_hz, half_s=0.004)
    return repeated((wood + 0.5 * slap,), canvas, each_s=1.0 / numbers["beats_hz"], jitter=0.12)


@_kind("quacks", pitch_hz=(180, 250), nose_hz=(1100, 1500), beats_hz=(4, 5))
def _quack(numbers: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.8 / numbers["beats_hz"] * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    share = np.linspace(0.0, 1.0, short.count, dtype=np.float32)
    nose = _vowel(numbers["pitch_hz"], (numbers["nose_hz"], 2.1 * numbers["nose_hz"]), count=24)
    call = tone(numbers["pitch_hz"] * (1.15 - 0.3 * share), short, partials=nose)
    call *= np.minimum(1.0, 12.0 * share + 0.05) * (1.0 - share) ** 0.5
    return repeated((call,), canvas, each_s=1.0 / numbers["beats_hz"], jitter=0.08)


@_kind("rattles", centre_hz=(3000, 4500), beats_hz=(13, 18))
def _rattle(numbers: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.06 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    beans = [
        noise(short, centre_hz=numbers["centre_hz"], octaves=0.5) * dying(short.count, short.rate_hz, half_s=0.009)
        for _ in range(5)
    ]
    return repeated(beans, canvas, each_s=1.0 / numbers["beats_hz"], jitter=0.35)


@_kind("rumbles", centre_hz=(80, 140), flutter_hz=(2, 5))
def _rumble(numbers: Numbers, canvas: Canvas) -> Wave:
    rumble = noise(canvas, centre_hz=numbers["centre_hz"], octaves=0.6)
    return rumble * (1.0 + 0.3 * swing(canvas, numbers["flutter_hz"]))


@_kind("wails", pitch_hz=(700, 950), octaves=(0.9, 1.2), glide_hz=(0.7, 1.4))
def _siren(numbers: Numbers, canvas: Canvas) -> Wave:
    pitch = numbers["pitch_hz"] * np.exp2(numbers["octaves"] * swing(canvas, numbers["glide_hz"], phase=-0.25) / 2.0)
    return tone(pitch.astype(np.float32), canvas, partials=(1.0, 0.5, 0.35, 0.2, 0.1))


@_kind("trills", pitch_hz=(1100, 1400), interval=(1.26, 1.5), beats_hz=(6, 10))
def _trill(numbers: Numbers, canvas: Canvas) -> Wave:
    high = swing(canvas, numbers["beats_hz"]) > 0.0
    pitch = np.where(high, numbers["pitch_hz"] * numbers["interval"], numbers["pitch_hz"]).astype(np.float32)
    return tone(pitch, canvas, partials=(1.0, 0.35, 0.12))


@_kind("twangs", pitch_hz=(180, 300), interval=(1.25, 1.5), beats_hz=(4, 5))
def _twang(numbers: Numbers, canvas: Canvas) -> Wave:
    notes = [pluck(canvas, pitch_hz=numbers["pitch_hz"] * step, seconds=0.7) for step in (1.0, numbers["interval"])]
    return repeated(notes, canvas, each_s=1.0 / numbers["beats_hz"])


@_kind("whistles", pitch_hz=(1900, 2600), vibrato_hz=(4, 7))
def _whistle(numbers: Numbers, canvas: Canvas) -> Wave:
    pitch = numbers["pitch_hz"] * (1.0 + 0.012 * swing(canvas, numbers["vibrato_hz"]))
    breath = noise(canvas, centre_hz=numbers["pitch_hz"], octaves=0.25)
    return tone(pitch.astype(np.float32), canvas) + 0.06 * breath


def _vowel(pitch_hz: float, formants_hz: tuple[float, float], *, count: int) -> list[float]:
    """Amplitudes of the harmonics of a voice with two formants."""
    orders = np.arange(1, count + 1) * pitch_hz
    first, second = (np.exp(-0.5 * (np.log2(orders / formant) / 0.35) ** 2) for formant in formants_hz)
    return [float(size) for size in first + 0.6 * second + 0.03]


INSTANCES = 60

_MAX_SEED = 2**31
_STROKES = frozenset({"beats_hz", "glide_hz"})  # numbers of a kind whose strokes can be counted within one span


_NAMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {label: tuple(f"{label}-{index:02d}" for index in range(INSTANCES)) for label in KINDS}
)


class GeneratedSounds:
    """Sounds made by arithmetic; nothing is read.

    The numbers of an instance (pitch, rhythm) follow from its name alone; the grain of its noise is drawn anew for each
    source.
    """

    name = "generated"

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Label to the names of its instances, both in a fixed order."""
        return _NAMES

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> SoundSource:
        """Draw a source: the instance's own numbers, and a seed for its grain."""
        if instance not in self.instances().get(label, ()):
            raise ValueError(f"there is no generated sound {label!r} {instance!r}")
        kind = KINDS[label]
        instance_rng = generator(0, "sound", self.name, instance)
        numbers = {name: _between(instance_rng, low, high) for name, (low, high) in kind.ranges.items()}
        return SoundSource(
            label=label,
            instance=instance,
            noun=kind.noun,
            verb=kind.verb,
            countable=_STROKES.isdisjoint(kind.ranges),
            params={**numbers, "seed": int(rng.integers(_MAX_SEED))},
        )

    def samples(self, source: SoundSource, *, seconds: float, rate_hz: int) -> Samples:
        """The source alone, for one span: loud from first to last sample."""
        kind, seed = _checked(source)
        canvas = Canvas(round(seconds * rate_hz), rate_hz, generator(seed, "grain", source.label))
        return finished(kind.draw(source.params, canvas), rate_hz=rate_hz)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two, even in its logarithm, as pitch and tempo are heard; few digits, so that JSON is short."""
    value = float(f"{low * (high / low) ** float(rng.random()):.5g}")
    return min(max(value, low), high)


def _checked(source: SoundSource) -> tuple[SoundKind, int]:
    kind = KINDS.get(source.label)
    if kind is None:
        raise InputError(f"there is no generated sound {source.label[:80]!r}", expected=f"one of: {', '.join(KINDS)}")
    for name, (low, high) in kind.ranges.items():
        value = source.params.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise InputError(
                f"{name!r} of the sound {source.instance[:80]!r} is {str(value)[:40]}",
                expected=f"a number from {low:g} to {high:g}",
            )
    seed = source.params.get("seed")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MAX_SEED:
        raise InputError(
            f"'seed' of the sound {source.instance[:80]!r} is {str(seed)[:40]}",
            expected=f"an integer from 0 to {_MAX_SEED - 1}",
        )
    return kind, seed


GENERATED: SoundSet = GeneratedSounds()
