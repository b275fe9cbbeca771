"""What is measured of a sound when two packages are compared: levels, bands, answers to a click, decay, lag."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

_FRAME = 1024


def level_db(sound: Samples) -> float:
    """Root mean square, in dB of full scale."""
    return 10.0 * float(np.log10(np.mean(np.square(sound, dtype=np.float64)) + 1e-20))


def snr_db(clean: Samples, output: Samples) -> float:
    """Level of a sound over that of what was added to it."""
    return level_db(clean) - level_db(output - clean)


def distance_db(clean: Samples, output: Samples) -> float:
    """Log-spectral distance: root mean square of the difference of two log spectra over time and frequency."""
    logs = []
    for signal in (clean, output):
        frames = np.lib.stride_tricks.sliding_window_view(signal, _FRAME)[:: _FRAME // 2] * np.hanning(_FRAME)
        logs.append(10.0 * np.log10(np.abs(np.fft.rfft(frames)) ** 2 + 1e-7))
    return float(np.sqrt(np.mean((logs[0] - logs[1]) ** 2)))


def bands_apart_db(first: Samples, second: Samples) -> float:
    """Greatest difference of the power of two sounds in 40 bands of equal width, without the lowest."""
    powers = []
    for signal in (first, second):
        power = np.abs(np.fft.rfft(signal.astype(np.float64))) ** 2
        powers.append(np.array([band.mean() for band in np.array_split(power, 40)[1:]]))
    return float(np.abs(10.0 * np.log10(powers[0] / powers[1])).max())


def answers_apart_db(first: Samples, second: Samples, *, rate_hz: int) -> float:
    """Greatest difference of two answers to a click, from 20 Hz to .45 of the rate, where more than 1/300 is left."""
    spectra = [np.abs(np.fft.rfft(signal.astype(np.float64))) for signal in (first, second)]
    hz = np.fft.rfftfreq(len(first), 1.0 / rate_hz)
    is_audible = (hz > 20.0) & (hz < 0.45 * rate_hz) & (spectra[1] > spectra[1].max() / 300.0)
    return float(np.abs(20.0 * np.log10(spectra[0][is_audible] / spectra[1][is_audible])).max())


def lag(clean: Samples, output: Samples) -> int:
    """By how many samples the second is later than the first."""
    size = 1 << (2 * len(clean) - 1).bit_length()
    fit = np.fft.irfft(np.fft.rfft(output.astype(np.float64), size) * np.conj(np.fft.rfft(clean, size)), size)
    return (int(fit.argmax()) + size // 2) % size - size // 2


def decay(answer: Samples, *, rate_hz: int) -> tuple[float, float]:
    """Time to fall by 60 dB in seconds, from the fall of 5 to 25; energy later than 2.5 ms, in dB of what is before."""
    energy: NDArray[np.float64] = np.square(answer, dtype=np.float64)
    start = int(np.abs(answer).argmax())
    split = start + int(0.0025 * rate_hz)
    decay_db = 10.0 * np.log10(np.cumsum(energy[split:][::-1])[::-1] / energy[split:].sum() + 1e-12)
    first, last = int(np.argmax(decay_db < -5.0)), int(np.argmax(decay_db < -25.0))
    echoes = 10.0 * np.log10(energy[split:].sum() / energy[:split].sum())
    return 3.0 * (last - first) / rate_hz, float(echoes)


def write(path: Path, samples: Samples, *, rate_hz: int) -> Path:
    """A WAV file of floats of one channel."""
    data = samples.astype("<f4").tobytes()
    format_chunk = struct.pack("<4sIHHIIHH", b"fmt ", 16, 3, 1, rate_hz, 4 * rate_hz, 4, 32)
    chunks = format_chunk + struct.pack("<4sI", b"data", len(data)) + data
    path.write_bytes(struct.pack("<4sI4s", b"RIFF", 4 + len(chunks), b"WAVE") + chunks)
    return path
