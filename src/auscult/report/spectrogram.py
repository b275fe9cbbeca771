"""A separated sound on a page: spectrograms with what is missing and left over, loudness over time, and a short sound.

Missing is where the target is loud and the output has at least 9 dB less; left over where the output is as loud and has
at least 9 dB more than the target. Both are read off the two spectrograms, for the eye alone: no score looks at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.spectra import short_time
from auscult.errors import UsageError
from auscult.media.frames import encode_jpeg
from auscult.media.sound import flac_bytes
from auscult.media.wav import encode_wav
from auscult.report.drawing import Drawing, DrawnShape, Line, Polyline, Rect, Text, to_picture
from auscult.report.overlay import draw
from auscult.types import Doubles, Frame, Samples

WIDTH_PX: Final = 720
_LEFT, _PANEL_PX, _GAP_PX, _CURVES_PX, _KEY_PX = 92, 84, 6, 70, 20
_WINDOW: Final = 512
_RANGE_DB: Final = 70.0
_LOUD_DB: Final = 45.0  # what lies further below the loudest place is not marked
_APART_DB: Final = 9.0
_GRID: Final = (28, 100)  # cells of frequency and time in which output and target are compared
_COLOURS: Final = ("ink", "s2", "s4", "s1")
_FAULTS: Final = {"missing": ((120, 205, 255), "blue line"), "left over": ((255, 225, 60), "yellow dashes")}
_NOISE_DB: Final = 38.0
_BLOCK: Final = 4096  # of a FLAC frame
_RATES_HZ: Final = (16_000, 8_000)

Curves: TypeAlias = Mapping[str, Doubles]
"""Loudness over time by name, such as ``target``, ``recovered``, ``left over``, ``unexplained``; (frames,) each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeardSounds:
    """A separated sound and what is beside it, of one length."""

    output: Samples  # what was separated, float (samples,)
    mixture: Samples  # what it was separated from, (samples,)
    target: Samples | None  # the true source, (samples,); None where it is not known
    rate_hz: int  # samples per second
    curves: Curves = field(default_factory=dict)  # loudness over the same time; empty for none
    # what is likely ``missing`` and ``left over`` over the same time, 0..1; empty for none
    faults: Curves = field(default_factory=dict)
    start_s: float = 0.0  # where in the whole sound they begin


def spectrograms(heard: HeardSounds) -> Frame:
    """Mixture, target and output below one another, uint8 RGB (height, 720, 3); the output is marked, curves follow.

    Faults are drawn over mixture and output, from none at the foot of a spectrogram to 1 at its top.
    """
    panels = {"mixture": heard.mixture, "target": heard.target, "output": heard.output}
    power = {name: _power(samples) for name, samples in panels.items() if samples is not None}
    loudest = max(float(power[name].max()) for name in ("mixture", "output"))
    height = len(power) * (_PANEL_PX + _GAP_PX) + (_CURVES_PX + _GAP_PX) * bool(heard.curves) + _KEY_PX
    parts: list[DrawnShape] = []
    for number, name in enumerate(power):
        middle = number * (_PANEL_PX + _GAP_PX) + _PANEL_PX / 2
        parts.append(Text(at=(_LEFT - 6, middle + 4), words=name, anchor="end", size=11.5))
    top = len(power) * (_PANEL_PX + _GAP_PX)
    if heard.curves:
        parts += _drawn_curves(heard.curves, top)
    seconds, highest = len(heard.mixture) / heard.rate_hz, heard.rate_hz / 2000
    marks = "; blue: missing, yellow: left over" if "target" in power else ""
    marks += "; " + ", ".join(f"{_FAULTS[name][1]}: {name}" for name in heard.faults) if heard.faults else ""
    start = f"{heard.start_s:.1f} to " if heard.start_s else ""
    words = f"{start}{heard.start_s + seconds:.1f} s, 0 to {highest:g} kHz, {_RANGE_DB:g} dB{marks}"
    parts.append(Text(at=(_LEFT, height - 6), words=words, size=11.0, colour="quiet"))
    picture = np.array(to_picture(Drawing(size=(WIDTH_PX, height), parts=tuple(parts), title="spectrograms")))
    for number, (name, values) in enumerate(power.items()):
        panel = _coloured(values, loudest)
        if name == "output" and "target" in power:
            draw(panel, *_marks(values, power["target"], loudest), period_px=8)
        for fault, curve in heard.faults.items() if name != "target" else ():
            _draw_fault(panel, curve, fault)
        row = number * (_PANEL_PX + _GAP_PX)
        picture[row : row + _PANEL_PX, _LEFT : _LEFT + panel.shape[1]] = panel
    return picture


def _power(samples: Samples) -> Doubles:
    """Power of (frequencies, times), the highest frequency first."""
    padded = np.pad(np.asarray(samples, dtype=np.float64), (0, max(0, 2 * _WINDOW - len(samples))))
    hop = max(1, (len(padded) - _WINDOW) // (2 * WIDTH_PX))
    spectra = short_time(padded, np.hanning(_WINDOW), hop=max(hop, _WINDOW // 8))
    return np.asarray(np.abs(spectra).T[::-1] ** 2, dtype=np.float64)


def _resized(values: Doubles, shape: tuple[int, int]) -> Doubles:
    return np.asarray(cv2.resize(values, (shape[1], shape[0]), interpolation=cv2.INTER_AREA), dtype=np.float64)


def _decibels(power: Doubles, loudest: float) -> Doubles:
    return np.asarray(10 * np.log10(power / max(loudest, 1e-12) + 1e-12))


def _coloured(power: Doubles, loudest: float) -> Frame:
    levels = _decibels(_resized(power, (_PANEL_PX, WIDTH_PX - _LEFT)), loudest)
    pixels = np.rint(255 * np.clip(1 + levels / _RANGE_DB, 0, 1)).astype(np.uint8)
    return np.ascontiguousarray(cv2.applyColorMap(pixels, cv2.COLORMAP_INFERNO)[..., ::-1])


def _draw_fault(panel: Frame, curve: Doubles, name: str) -> None:
    """A line, on a dark one that sets it off from any colour; dashed where it is not ``missing``."""
    height, width = panel.shape[:2]
    columns = np.arange(width, dtype=np.int32)
    values = np.clip(curve, 0, 1)[columns * len(curve) // width]
    line = np.column_stack([columns, np.rint((height - 4) * (1 - values) + 1).astype(np.int32)])
    visible, dash = (width, width) if name == "missing" else (7, 12)
    pieces = [line[start : start + visible] for start in range(0, width, dash)]
    for colour, thickness in (((0, 0, 0), 4), (_FAULTS[name][0], 2)):
        cv2.polylines(panel, pieces, isClosed=False, color=colour, thickness=thickness, lineType=cv2.LINE_AA)


def _marks(output: Doubles, target: Doubles, loudest: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where the target is missing from the output and where something is left over, bool, as large as a panel."""
    estimated, true = (_decibels(_resized(power, _GRID), loudest) for power in (output, target))
    size = (WIDTH_PX - _LEFT, _PANEL_PX)
    missing, extra = (
        cv2.resize(cells.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
        for cells in (
            (true > true.max() - _LOUD_DB) & (estimated < true - _APART_DB),
            (estimated > -_LOUD_DB) & (estimated > true + _APART_DB),
        )
    )
    return missing, extra


def _drawn_curves(curves: Curves, top: float) -> list[DrawnShape]:
    highest = max((float(np.max(values, initial=0.0)) for values in curves.values()), default=0.0) or 1.0
    width = WIDTH_PX - _LEFT
    parts: list[DrawnShape] = [Rect(x=_LEFT, y=top, width_px=width, height_px=_CURVES_PX, fill="faint")]
    for number, (name, values) in enumerate(curves.items()):
        colour, low = _COLOURS[number % len(_COLOURS)], top + _CURVES_PX
        across = [(_LEFT + width * (index + 0.5) / len(values)) for index in range(len(values))]
        line = [(x, low - _CURVES_PX * float(value) / highest) for x, value in zip(across, values, strict=True)]
        y = top + 13 + 16 * number
        parts += [Polyline(points=tuple(line), colour=colour, width=1.6)] if len(line) > 1 else []
        parts.append(Line(start=(_LEFT - 12, y - 4), end=(_LEFT - 4, y - 4), colour=colour, width=2.5))
        parts.append(Text(at=(_LEFT - 16, y), words=name, anchor="end", size=10.5))
    return parts


def loudest_part(samples: Samples, *, rate_hz: int, seconds: float) -> slice:
    """The part of at most so many seconds of (samples,) that has the most energy."""
    length, step = round(seconds * rate_hz), max(1, rate_hz // 10)
    if len(samples) <= length:
        return slice(0, len(samples))
    energy = np.concatenate([[0.0], np.cumsum(np.square(samples, dtype=np.float64))])
    starts = np.arange(0, len(samples) - length + 1, step)
    start = int(starts[np.argmax(energy[starts + length] - energy[starts])])
    return slice(start, start + length)


def bytes_a_sound(sounds: int) -> int:
    """How large each of so many sounds may be, so that a page of 100 outputs has less than 12 MB."""
    return min(150_000, 5_000_000 // max(1, sounds))


def page_media(heard: HeardSounds, *, most_bytes: int) -> tuple[bytes, dict[str, bytes]]:
    """A JPEG of the spectrograms, and by name the sounds to play, each of at most ``most_bytes``."""
    played = {"mixture": heard.mixture, "target": heard.target, "output": heard.output}
    sounds = {
        name: page_sound(samples, rate_hz=heard.rate_hz, most_bytes=most_bytes)
        for name, samples in played.items()
        if samples is not None
    }
    return encode_jpeg(spectrograms(heard), quality=60), sounds


def sound_file(name: str, data: bytes) -> str:
    """The name of a sound's file, by what ``page_sound`` made."""
    return f"{name}.{'flac' if data.startswith(b'fLaC') else 'wav'}"


def page_sound(samples: Samples, *, rate_hz: int, most_bytes: int) -> bytes:
    """A sound, float (samples,) in [-1, 1], as a file of at most ``most_bytes`` for a page.

    It has at most 16 kHz and is rounded 38 dB below the level of each quarter of a second: FLAC where soundfile is
    there, else WAV. What is still too large has 8 kHz, and then loses its end.
    """
    for highest in _RATES_HZ:
        factor = max(1, rate_hz // highest)
        resampled = samples[: len(samples) // factor * factor].reshape(-1, factor).mean(axis=1)
        data = _encoded(resampled, rate_hz // factor)
        if len(data) <= most_bytes:
            return data
    while len(data) > most_bytes and len(resampled) > _BLOCK:
        resampled = resampled[: max(_BLOCK, int(0.95 * len(resampled) * most_bytes / len(data)))]
        data = _encoded(resampled, rate_hz // factor)
    return data


def _encoded(samples: Samples, rate_hz: int) -> bytes:
    try:
        return flac_bytes(_rounded(samples), rate_hz)
    except UsageError:
        return encode_wav(np.asarray(samples, np.float32), rate_hz)


def _rounded(samples: Samples) -> NDArray[np.int16]:
    """16-bit samples, each block in steps of a power of two: FLAC leaves out the bits that are 0 throughout it."""
    blocks = np.pad(samples.astype(np.float64) * 32767, (0, -len(samples) % _BLOCK)).reshape(-1, _BLOCK)
    level = np.sqrt(np.mean(blocks**2, axis=1, keepdims=True))
    step = 2.0 ** np.floor(np.log2(np.maximum(1.0, level * np.sqrt(12) * 10 ** (-_NOISE_DB / 20))))
    rounded: NDArray[np.int16] = np.clip(np.rint(blocks / step) * step, -32768, 32767).astype(np.int16)
    return rounded.reshape(-1)[: len(samples)]
