"""The pictures on the pages of docs/stress: a strip of a photograph, spectrograms, diagrams of timing.

The photograph is scikit-image's astronaut: NASA, public domain. Its strip is cut from the perturbed photograph pixel
for pixel: in a picture that was made smaller afterwards, noise and blocks would be gone. The others are panels side by
side with axes, in 64 colours.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from stress_pages_text import LEVELS, seed_of, side_of

from auscult.rng import generator
from auscult.stress import sound, vision
from auscult.stress.perturbation import loaded
from auscult.stress.timing.base import TimingInfo, heard_by, numbers_of

MOST_BYTES: Final = 60_000
SEED: Final = 5
RATE_HZ: Final = 32_000
SECONDS: Final = 3.0
REEL: Final = TimingInfo(frames=250, rate_fps=25.0)

_CHIRPS: Final = ((0.45, 3000.0, 6500.0), (0.7, 6500.0, 3500.0), (1.55, 2500.0, 9000.0), (2.3, 8000.0, 4000.0))
_SHOWN_PX: Final = 150
_GAP_PX: Final = 4
_LABEL_PX: Final = 18
_QUALITIES: Final = (82, 75, 68, 60, 50)
_STEPS: Final = (59, 40, 28, 20, 14)

PAPER, INK, RULE, MARKED = 60, 61, 62, 63
"""Colours of the palette beside the 60 of the scale of loudness."""

LOWEST_DB: Final = -96.0
HIGHEST_DB: Final = -6.0
LOWEST_HZ: Final = 62.5
HIGHEST_HZ: Final = 16_000.0

_SCALE: Final = 60
_WINDOW: Final = 2048
_LEFT, _TOP, _BOTTOM, _GAP = 40, 18, 20, 6

Pixels = NDArray[np.uint8]


def draw(name: str, path: Path) -> None:
    """Write the picture of one perturbation.

    Raises:
        SystemExit: It cannot be made small enough.
    """
    made = {"vision": strip, "sound": spectrograms, "timing": lags}[name.partition(".")[0]](name)
    path.write_bytes(made)


def strip(name: str) -> bytes:
    """A JPEG of the photograph as given and at five severities, side by side."""
    photograph = _photograph(side_of(name))
    made = [vision.apply(name, photograph, severity=level, seed=seed_of(name)) for level in LEVELS]
    left, top = (side_of(name) - _SHOWN_PX) * 27 // 100, (side_of(name) - _SHOWN_PX) * 14 // 100
    width = _SHOWN_PX + _GAP_PX
    sheet = np.full((_SHOWN_PX + _LABEL_PX, 6 * width - _GAP_PX, 3), 255, dtype=np.uint8)
    for at, picture in enumerate([photograph, *made]):
        sheet[:_SHOWN_PX, at * width : at * width + _SHOWN_PX] = picture[top : top + _SHOWN_PX, left : left + _SHOWN_PX]
        label = "given" if at == 0 else str(at)
        place = (at * width + 2, _SHOWN_PX + _LABEL_PX - 5)
        cv2.putText(sheet, label, place, cv2.FONT_HERSHEY_SIMPLEX, 0.42, (40, 40, 40), 1, cv2.LINE_AA)
    bgr = cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR)
    coded = (cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes() for quality in _QUALITIES)
    return _small_enough(coded, f"the strip of {name}")


def spectrograms(name: str) -> bytes:
    """A PNG of the sound's spectrogram as given and at five severities."""
    given = scene_sound()
    made = [given] + [sound.apply(name, given, rate_hz=RATE_HZ, severity=at, seed=seed_of(name)) for at in LEVELS]
    shown = [spectrum_db(one, rate_hz=RATE_HZ) for one in made]
    return _small_enough((_panels(shown, steps=steps) for steps in _STEPS), f"the sheet of {name}")


def _panels(shown: Sequence[NDArray[np.float64]], *, steps: int) -> bytes:
    """Spectrograms side by side, in so many colours."""
    sheet = Sheet(panels=6)
    for at, decibels in enumerate(shown):
        sheet.put(at, levels_of(decibels, steps=steps))
        sheet.label(at, "given" if at == 0 else str(at))
    sheet.ticks_x(SECONDS, (0, 1, 2, 3), unit="s")
    sheet.ticks_log((125, 250, 500, 1000, 2000, 4000, 8000), unit="kHz")
    return sheet.png()


def _small_enough(encodings: Iterable[bytes], what: str) -> bytes:
    """The first encoding that is small enough, the best one first."""
    for encoded in encodings:
        if len(encoded) < MOST_BYTES:
            return encoded
    raise SystemExit(f"{what} has {len(encoded)} bytes; the most is {MOST_BYTES}")


def scene_sound() -> NDArray[np.float32]:
    """A sound to perturb: a hum with its overtones, a beat, and chirps as of a bird; float32 (samples,)."""
    times = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    made = sum(0.05 / order * np.sin(2 * np.pi * 120.0 * order * times) for order in (1, 2, 3, 4, 6, 8, 12))
    made = np.asarray(made, dtype=np.float64)
    rng = generator(SEED, "stress pages", "beat")
    for start in np.arange(0.25, SECONDS, 0.5):  # the beat: a thud and a hiss
        after = np.clip(times - start, 0.0, None)
        begun = (times >= start) * np.minimum(after * 500.0, 1.0)
        made += begun * 0.35 * np.exp(-after * 14.0) * np.sin(2 * np.pi * (70.0 * after + 4.0 * np.exp(-after * 30.0)))
        made += begun * 0.06 * np.exp(-after * 40.0) * rng.standard_normal(times.size)
    for start, low, high in _CHIRPS:
        share = np.clip((times - start) / 0.16, 0.0, 1.0)
        phase = 2 * np.pi * np.cumsum(low + (high - low) * share) / RATE_HZ
        made += 0.12 * np.sin(np.pi * share) ** 2 * (np.sin(phase) + 0.2 * np.sin(2 * phase))
    return made.astype(np.float32)


def lags(name: str) -> bytes:
    """A PNG of how late picture and sound are, at five severities."""
    stressor, times = loaded("timing", name), np.arange(REEL.frames) / REEL.rate_fps
    drawn: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for level in LEVELS:
        params = _timing_params(stressor, level)
        numbers = numbers_of(stressor, params, REEL)
        drawn.append((times - numbers / REEL.rate_fps, times - heard_by(stressor, params, times)))
    most = max(float(np.abs(one).max()) for pair in drawn for one in pair)
    bottom, top = _bounds(drawn, most)
    sheet = Sheet(panels=5)
    for at, (picture, heard) in enumerate(drawn):
        panel = np.full((sheet.height, sheet.width), PAPER, dtype=np.uint8)
        for values, colour in ((np.zeros_like(times), RULE), (heard, MARKED), (picture, INK)):
            _line(panel, values, bounds=(bottom, top), colour=colour)
        sheet.put(at, panel)
        sheet.label(at, str(at + 1))
    sheet.ticks_x(REEL.duration_s, (0, 5, 10), unit="s")
    sheet.ticks_y((bottom, top), unit="s late")
    return sheet.png()


def _timing_params(stressor: Any, level: int) -> Any:
    return stressor.choose(generator(seed_of(stressor.name), "stress", stressor.name, ""), REEL, strength=float(level))


def _bounds(drawn: list[tuple[NDArray[np.float64], NDArray[np.float64]]], most: float) -> tuple[float, float]:
    """Least and greatest second of the axis, with a margin; 0 lies on it."""
    least = min(float(one.min()) for pair in drawn for one in pair)
    greatest = max(float(one.max()) for pair in drawn for one in pair)
    return min(least, 0.0) - 0.08 * most, max(greatest, 0.0) + 0.08 * most


def _line(panel: Pixels, values: NDArray[np.float64], *, bounds: tuple[float, float], colour: int) -> None:
    height, width = panel.shape
    bottom, top = bounds
    x = np.rint(np.linspace(1, width - 2, values.size)).astype(np.int32)
    y = np.rint((height - 1) * (top - values) / (top - bottom)).astype(np.int32)
    cv2.polylines(panel, [np.stack([x, y], axis=1)], isClosed=False, color=colour, thickness=1 + (colour != RULE))


def _photograph(side_px: int) -> Pixels:
    """The photograph, a square of a size.

    Raises:
        SystemExit: scikit-image is not installed.
    """
    try:
        from skimage import data
    except ImportError as error:
        raise SystemExit("the photograph is scikit-image's; pip install 'auscult[demo]'") from error
    load: Any = data.astronaut
    given = np.ascontiguousarray(load())
    return np.asarray(cv2.resize(given, (side_px, side_px), interpolation=cv2.INTER_AREA), dtype=np.uint8)


class Sheet:
    """Panels of one size in a row, with room for axes; every pixel is the number of a colour."""

    def __init__(self, *, panels: int, width: int = 150, height: int = 150) -> None:
        self.panels, self.width, self.height = panels, width, height
        size = (_TOP + height + _BOTTOM, _LEFT + panels * (width + _GAP))
        self._pixels: Pixels = np.full(size, PAPER, dtype=np.uint8)

    def put(self, at: int, panel: Pixels) -> None:
        """Put a panel, (height, width), in its place, with a frame."""
        left = self._left(at)
        self._pixels[_TOP : _TOP + self.height, left : left + self.width] = panel
        cv2.rectangle(self._pixels, (left - 1, _TOP - 1), (left + self.width, _TOP + self.height), RULE)

    def label(self, at: int, text: str) -> None:
        """Write above a panel."""
        self._write(text, (self._left(at) + 1, _TOP - 6))

    def ticks_x(self, whole: float, values: Sequence[float], *, unit: str) -> None:
        """Mark values on the axis of each panel, that reaches from 0 to ``whole``; the unit stands at the last."""
        for at in range(self.panels):
            for value in values:
                x = self._left(at) + round((self.width - 1) * value / whole)
                cv2.line(self._pixels, (x, _TOP + self.height), (x, _TOP + self.height + 3), INK)
                text = f"{value:g}" if value != values[-1] else f"{value:g} {unit}"
                shift = 0 if value == 0 else -7 * len(text) if value == values[-1] else -4
                self._write(text, (x + shift, _TOP + self.height + 15))

    def ticks_log(self, values_hz: Sequence[float], *, unit: str) -> None:
        """Mark frequencies left of the first panel, whose rows are those of ``spectrum_db``."""
        for value in values_hz:
            share = np.log(value / LOWEST_HZ) / np.log(HIGHEST_HZ / LOWEST_HZ)
            self._mark_y(
                _TOP + round(float((1.0 - share) * (self.height - 1))), f"{value / 1000:.3g}".removeprefix("0")
            )
        self._write(unit, (1, _TOP - 6))

    def ticks_y(self, bounds: tuple[float, float], *, unit: str) -> None:
        """Mark round values left of the first panel, that reaches from the first to the second of ``bounds``."""
        bottom, top = bounds
        step = next(one for one in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0) if (top - bottom) / one <= 6)
        for at in range(int(np.ceil(bottom / step)), int(np.floor(top / step)) + 1):
            y = _TOP + round((self.height - 1) * (top - at * step) / (top - bottom))
            self._mark_y(y, f"{at * step:g}")
        self._write(unit, (1, _TOP - 6))

    def png(self) -> bytes:
        """The sheet as a PNG of 64 colours."""
        picture = Image.fromarray(self._pixels, mode="P")
        picture.putpalette(palette().ravel().tolist())
        held = io.BytesIO()
        picture.save(held, format="PNG", optimize=True, bits=6)
        return held.getvalue()

    def _left(self, at: int) -> int:
        return _LEFT + at * (self.width + _GAP)

    def _mark_y(self, y: int, text: str) -> None:
        cv2.line(self._pixels, (_LEFT - 5, y), (_LEFT - 2, y), INK)
        self._write(text, (max(0, _LEFT - 7 - 7 * len(text)), y + 4))

    def _write(self, text: str, place: tuple[int, int]) -> None:
        cv2.putText(self._pixels, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.38, INK, 1, cv2.LINE_8)


def palette() -> Pixels:
    """The 64 colours, uint8 (64, 3): 60 from quiet to loud, paper, ink, rules, what is marked."""
    ramp = np.linspace(0, 255, _SCALE).astype(np.uint8)[:, None]
    scale = cv2.cvtColor(cv2.applyColorMap(ramp, cv2.COLORMAP_INFERNO), cv2.COLOR_BGR2RGB)[:, 0]
    rest = np.array([(255, 255, 255), (40, 40, 40), (170, 170, 170), (200, 80, 20)], dtype=np.uint8)
    return np.concatenate([np.asarray(scale, dtype=np.uint8), rest])


def spectrum_db(
    sound: NDArray[np.float32], *, rate_hz: int, columns: int = 150, rows: int = 150
) -> NDArray[np.float64]:
    """How loud a sound is at each time and frequency.

    Args:
        sound: (samples,).
        rate_hz: Samples per second.
        columns: How many times, from begin to end.
        rows: How many frequencies, from ``HIGHEST_HZ`` down to ``LOWEST_HZ``; octaves are equally high.

    Returns:
        float64 (rows, columns), dB of a sine of full scale.
    """
    window = np.hanning(_WINDOW)
    padded = np.pad(np.asarray(sound, dtype=np.float64), _WINDOW // 2)
    starts = np.linspace(0, sound.size - 1, 3 * columns).astype(np.int64)
    frames = np.stack([padded[start : start + _WINDOW] for start in starts]) * window
    power = (np.abs(np.fft.rfft(frames, axis=1)) / (window.sum() / 2.0)) ** 2
    power = power.reshape(columns, 3, -1).mean(axis=1)
    wanted = LOWEST_HZ * (HIGHEST_HZ / LOWEST_HZ) ** np.linspace(1.0, 0.0, rows)
    bins = np.arange(power.shape[1]) * (rate_hz / _WINDOW)
    found = np.stack([np.interp(wanted, bins, column) for column in power], axis=1)
    decibels: NDArray[np.float64] = 10.0 * np.log10(found + 1e-12)
    return decibels


def levels_of(decibels: NDArray[np.float64], *, steps: int) -> Pixels:
    """Numbers of colours for loudness, in so many steps."""
    share = np.clip((decibels - LOWEST_DB) / (HIGHEST_DB - LOWEST_DB), 0.0, 1.0)
    coarse = np.rint(share * (steps - 1)) / (steps - 1)
    return np.rint(coarse * (_SCALE - 1)).astype(np.uint8)
