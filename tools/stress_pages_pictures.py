"""The pictures on the pages of docs/stress: a strip of a photograph, spectrograms, diagrams of timing.

The photograph is scikit-image's astronaut: NASA, public domain. Its strip is cut from the perturbed photograph pixel
for pixel: in a picture that was made smaller afterwards, noise and blocks would be gone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray
from stress_pages_panels import INK, MARKED, PAPER, RULE, Sheet, levels_of, spectrum_db
from stress_pages_text import LEVELS, seed_of, side_of

from auscult.rng import generator
from auscult.stress import sound, vision
from auscult.stress.timing.base import TimingInfo
from auscult.stress.timing.making import heard_by, numbers_of
from auscult.stress.timing.making import load as load_timing

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
    for quality in _QUALITIES:
        _, encoded = cv2.imencode(".jpg", cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
        if encoded.nbytes < MOST_BYTES:
            return encoded.tobytes()
    raise SystemExit(f"the strip of {name} has {encoded.nbytes} bytes; the most is {MOST_BYTES}")


def spectrograms(name: str) -> bytes:
    """A PNG of the sound's spectrogram as given and at five severities."""
    given = scene_sound()
    made = [given] + [sound.apply(name, given, rate_hz=RATE_HZ, severity=at, seed=seed_of(name)) for at in LEVELS]
    shown = [spectrum_db(one, rate_hz=RATE_HZ) for one in made]
    for steps in _STEPS:
        sheet = Sheet(panels=6)
        for at, decibels in enumerate(shown):
            sheet.put(at, levels_of(decibels, steps=steps))
            sheet.label(at, "given" if at == 0 else str(at))
        sheet.ticks_x(SECONDS, (0, 1, 2, 3), unit="s")
        sheet.ticks_log((125, 250, 500, 1000, 2000, 4000, 8000), unit="kHz")
        encoded = sheet.png()
        if len(encoded) < MOST_BYTES:
            return encoded
    raise SystemExit(f"the spectrograms of {name} have {len(encoded)} bytes; the most is {MOST_BYTES}")


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
    stressor, times = load_timing(name), np.arange(REEL.frames) / REEL.rate_fps
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
