"""The kinds of generated sound: what each is called, what differs between its instances, and how it is drawn.

A kind with a rhythm of its own repeats at least four times a second, and no kind falls silent in between: one span of
sound is heard as one, so spans can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from auscult.cases.scenes.sound.waves import Canvas, Wave, dying, noise, pluck, repeated, swing, tone

Numbers: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of generated sound.

    Attributes:
        noun: What is heard.
        verb: What its maker does, third person.
        ranges: Lowest and highest value of each number that an instance has.
        draw: Numbers and canvas to samples, any level; loud from the first sample to the last.
    """

    noun: str
    verb: str
    ranges: Mapping[str, tuple[float, float]]
    draw: Callable[[Numbers, Canvas], Wave]


def _beep(own: Numbers, canvas: Canvas) -> Wave:
    smooth = np.clip(5.0 * swing(canvas, own["beats_hz"]) + 2.0, 0.0, 1.0)
    return np.asarray(tone(own["pitch_hz"], canvas, partials=(1.0, 0.0, 0.3, 0.0, 0.15)) * smooth)


def _bell(own: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.9 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    strike = np.zeros(short.count, dtype=np.float32)
    # Hum, prime, tierce, quint and nominal of a church bell, and two partials over them.
    for ratio, size in ((0.5, 0.5), (1.0, 1.0), (1.2, 0.7), (1.5, 0.5), (2.0, 0.9), (2.74, 0.5), (3.76, 0.3)):
        half_s = own["ring_s"] / (1.0 + 0.6 * ratio)
        strike += size * tone(own["pitch_hz"] * ratio, short) * dying(short.count, short.rate_hz, half_s=half_s)
    return repeated((strike,), canvas, each_s=1.0 / own["beats_hz"], jitter=0.06)


def _buzz(own: Numbers, canvas: Canvas) -> Wave:
    pitch = own["pitch_hz"] * (1.0 + 0.02 * swing(canvas, own["flutter_hz"]))
    saw = tone(pitch.astype(np.float32), canvas, partials=[1.0 / order**0.6 for order in range(1, 31)])
    return saw * (1.0 + 0.35 * swing(canvas, own["flutter_hz"] * 2.3))


def _chirp(own: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.72 / own["beats_hz"] * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    share = np.linspace(0.0, 1.0, short.count, dtype=np.float32)
    sweep = tone(own["pitch_hz"] * (1.0 + own["rise"] * share**2), short, partials=(1.0, 0.12))
    return repeated(
        (sweep * np.sqrt(np.maximum(np.sin(np.pi * share), 0.0)),), canvas, each_s=1.0 / own["beats_hz"], jitter=0.08
    )


def _click(own: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.03 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    ring = tone(own["pitch_hz"], short, partials=(1.0, 0.5)) + 0.5 * canvas.rng.standard_normal(short.count)
    return repeated(
        (ring.astype(np.float32) * dying(short.count, short.rate_hz, half_s=0.003),),
        canvas,
        each_s=1.0 / own["beats_hz"],
    )


def _growl(own: Numbers, canvas: Canvas) -> Wave:
    pitch = own["pitch_hz"] * (1.0 + 0.08 * swing(canvas, 0.7) + 0.04 * swing(canvas, 3.1))
    throat = tone(pitch.astype(np.float32), canvas, partials=_vowel(own["pitch_hz"], (450.0, 900.0), count=24))
    rough = 1.0 + 0.8 * swing(canvas, own["rough_hz"])
    return np.asarray((throat + 0.15 * noise(canvas, centre_hz=600.0, octaves=0.5)) * rough)


def _hiss(own: Numbers, canvas: Canvas) -> Wave:
    return noise(canvas, centre_hz=own["centre_hz"], octaves=0.35) * (1.0 + 0.2 * swing(canvas, own["flutter_hz"]))


def _honk(own: Numbers, canvas: Canvas) -> Wave:
    brass = (0.6, 1.0, 0.9, 0.8, 0.55, 0.4, 0.3, 0.2, 0.12)
    low = tone(own["pitch_hz"], canvas, partials=brass)
    return low + 0.8 * tone(own["pitch_hz"] * own["interval"], canvas, partials=brass)


def _howl(own: Numbers, canvas: Canvas) -> Wave:
    lift = 1.0 + own["lift"] * (0.5 - 0.5 * swing(canvas, own["glide_hz"], phase=0.25)) + 0.01 * swing(canvas, 5.5)
    return tone(
        (own["pitch_hz"] * lift).astype(np.float32), canvas, partials=_vowel(own["pitch_hz"], (420.0, 850.0), count=8)
    )


def _hum(own: Numbers, canvas: Canvas) -> Wave:
    body = tone(own["pitch_hz"], canvas, partials=(1.0, 0.45, 0.2, 0.08))
    return body * (1.0 + 0.15 * swing(canvas, own["flutter_hz"]))


def _knock(own: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.15 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    wood = (
        tone(own["pitch_hz"], short)
        + 0.5 * tone(own["pitch_hz"] * 1.59, short)
        + 0.3 * tone(own["pitch_hz"] * 2.4, short)
    )
    wood *= dying(short.count, short.rate_hz, half_s=own["ring_s"])
    slap = noise(short, centre_hz=900.0, octaves=0.8) * dying(short.count, short.rate_hz, half_s=0.004)
    return repeated((wood + 0.5 * slap,), canvas, each_s=1.0 / own["beats_hz"], jitter=0.12)


def _quack(own: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.8 / own["beats_hz"] * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    share = np.linspace(0.0, 1.0, short.count, dtype=np.float32)
    nose = _vowel(own["pitch_hz"], (own["nose_hz"], 2.1 * own["nose_hz"]), count=24)
    call = tone(own["pitch_hz"] * (1.15 - 0.3 * share), short, partials=nose)
    call *= np.minimum(1.0, 12.0 * share + 0.05) * (1.0 - share) ** 0.5
    return repeated((call,), canvas, each_s=1.0 / own["beats_hz"], jitter=0.08)


def _rattle(own: Numbers, canvas: Canvas) -> Wave:
    short = Canvas(round(0.06 * canvas.rate_hz), canvas.rate_hz, canvas.rng)
    beans = [
        noise(short, centre_hz=own["centre_hz"], octaves=0.5) * dying(short.count, short.rate_hz, half_s=0.009)
        for _ in range(5)
    ]
    return repeated(beans, canvas, each_s=1.0 / own["beats_hz"], jitter=0.35)


def _rumble(own: Numbers, canvas: Canvas) -> Wave:
    return noise(canvas, centre_hz=own["centre_hz"], octaves=0.6) * (1.0 + 0.3 * swing(canvas, own["flutter_hz"]))


def _siren(own: Numbers, canvas: Canvas) -> Wave:
    pitch = own["pitch_hz"] * np.exp2(own["octaves"] * swing(canvas, own["glide_hz"], phase=-0.25) / 2.0)
    return tone(pitch.astype(np.float32), canvas, partials=(1.0, 0.5, 0.35, 0.2, 0.1))


def _trill(own: Numbers, canvas: Canvas) -> Wave:
    high = swing(canvas, own["beats_hz"]) > 0.0
    pitch = np.where(high, own["pitch_hz"] * own["interval"], own["pitch_hz"]).astype(np.float32)
    return tone(pitch, canvas, partials=(1.0, 0.35, 0.12))


def _twang(own: Numbers, canvas: Canvas) -> Wave:
    notes = [pluck(canvas, pitch_hz=own["pitch_hz"] * step, seconds=0.7) for step in (1.0, own["interval"])]
    return repeated(notes, canvas, each_s=1.0 / own["beats_hz"])


def _whistle(own: Numbers, canvas: Canvas) -> Wave:
    pitch = own["pitch_hz"] * (1.0 + 0.012 * swing(canvas, own["vibrato_hz"]))
    breath = noise(canvas, centre_hz=own["pitch_hz"], octaves=0.25)
    return tone(pitch.astype(np.float32), canvas) + 0.06 * breath


def _vowel(pitch_hz: float, formants_hz: tuple[float, float], *, count: int) -> list[float]:
    """Amplitudes of the harmonics of a voice with two formants."""
    orders = np.arange(1, count + 1) * pitch_hz
    first, second = (np.exp(-0.5 * (np.log2(orders / formant) / 0.35) ** 2) for formant in formants_hz)
    return [float(size) for size in first + 0.6 * second + 0.03]


KINDS: Mapping[str, Kind] = {
    "beep": Kind(noun="beep", verb="beeps", draw=_beep, ranges={"pitch_hz": (850, 1100), "beats_hz": (4.5, 6)}),
    "bell": Kind(
        noun="bell", verb="rings", draw=_bell, ranges={"pitch_hz": (620, 900), "ring_s": (0.3, 0.5), "beats_hz": (4, 6)}
    ),
    "buzz": Kind(noun="buzz", verb="buzzes", draw=_buzz, ranges={"pitch_hz": (150, 230), "flutter_hz": (7, 12)}),
    "chirp": Kind(
        noun="chirp",
        verb="chirps",
        draw=_chirp,
        ranges={"pitch_hz": (2600, 3600), "rise": (0.4, 0.8), "beats_hz": (5, 8)},
    ),
    "click": Kind(noun="click", verb="clicks", draw=_click, ranges={"pitch_hz": (2000, 2800), "beats_hz": (7, 11)}),
    "growl": Kind(noun="growl", verb="growls", draw=_growl, ranges={"pitch_hz": (65, 95), "rough_hz": (22, 32)}),
    "hiss": Kind(noun="hiss", verb="hisses", draw=_hiss, ranges={"centre_hz": (4500, 6500), "flutter_hz": (1, 3)}),
    "honk": Kind(noun="honk", verb="honks", draw=_honk, ranges={"pitch_hz": (300, 420), "interval": (1.19, 1.34)}),
    "howl": Kind(
        noun="howl",
        verb="howls",
        draw=_howl,
        ranges={"pitch_hz": (300, 420), "lift": (0.7, 1.1), "glide_hz": (0.8, 1.2)},
    ),
    "hum": Kind(noun="hum", verb="hums", draw=_hum, ranges={"pitch_hz": (90, 150), "flutter_hz": (1, 3)}),
    "knock": Kind(
        noun="knock",
        verb="knocks",
        draw=_knock,
        ranges={"pitch_hz": (160, 300), "ring_s": (0.02, 0.03), "beats_hz": (5, 7)},
    ),
    "quack": Kind(
        noun="quack",
        verb="quacks",
        draw=_quack,
        ranges={"pitch_hz": (180, 250), "nose_hz": (1100, 1500), "beats_hz": (4, 5)},
    ),
    "rattle": Kind(
        noun="rattle", verb="rattles", draw=_rattle, ranges={"centre_hz": (3000, 4500), "beats_hz": (13, 18)}
    ),
    "rumble": Kind(noun="rumble", verb="rumbles", draw=_rumble, ranges={"centre_hz": (80, 140), "flutter_hz": (2, 5)}),
    "siren": Kind(
        noun="siren",
        verb="wails",
        draw=_siren,
        ranges={"pitch_hz": (700, 950), "octaves": (0.9, 1.2), "glide_hz": (0.7, 1.4)},
    ),
    "trill": Kind(
        noun="trill",
        verb="trills",
        draw=_trill,
        ranges={"pitch_hz": (1100, 1400), "interval": (1.26, 1.5), "beats_hz": (6, 10)},
    ),
    "twang": Kind(
        noun="twang",
        verb="twangs",
        draw=_twang,
        ranges={"pitch_hz": (180, 300), "interval": (1.25, 1.5), "beats_hz": (4, 5)},
    ),
    "whistle": Kind(
        noun="whistle", verb="whistles", draw=_whistle, ranges={"pitch_hz": (1900, 2600), "vibrato_hz": (4, 7)}
    ),
}
