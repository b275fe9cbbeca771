"""Panels side by side with axes, in 64 colours, and what spectrograms are made of."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

PAPER, INK, RULE, MARKED = 60, 61, 62, 63
"""Colours of the palette beside the 60 of the scale of loudness."""

LOWEST_DB: Final = -96.0
HIGHEST_DB: Final = -6.0
LOWEST_HZ: Final = 62.5
HIGHEST_HZ: Final = 16_000.0

_SCALE: Final = 60
_WINDOW: Final = 2048
_LEFT, _TOP, _BOTTOM, _GAP = 40, 18, 20, 6

Indices = NDArray[np.uint8]


class Sheet:
    """Panels of one size in a row, with room for axes; every pixel is the number of a colour."""

    def __init__(self, *, panels: int, width: int = 150, height: int = 150) -> None:
        self.panels, self.width, self.height = panels, width, height
        size = (_TOP + height + _BOTTOM, _LEFT + panels * (width + _GAP))
        self._pixels: Indices = np.full(size, PAPER, dtype=np.uint8)

    def put(self, at: int, panel: Indices) -> None:
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


def palette() -> Indices:
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


def levels_of(decibels: NDArray[np.float64], *, steps: int) -> Indices:
    """Numbers of colours for loudness, in so many steps."""
    share = np.clip((decibels - LOWEST_DB) / (HIGHEST_DB - LOWEST_DB), 0.0, 1.0)
    coarse = np.rint(share * (steps - 1)) / (steps - 1)
    return np.rint(coarse * (_SCALE - 1)).astype(np.uint8)
