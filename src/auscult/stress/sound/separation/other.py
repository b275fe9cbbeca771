"""A second maker of wrong outputs, for tests only: other damages by other means than ``kinds``, nothing shared with it.

A judge that was trained on one maker's outputs is measured with the other's; an import contract keeps these out of
training. They work on a lapped transform (MDCT: Princen and Bradley, 1987), on an envelope and on packets.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from auscult.stress.perturbation import Constant, NoDraws, SeedParams
from auscult.stress.sound.separation import Parts, Stems, at_level, makes
from auscult.types import Samples

_FRAME: Final = 256
_TOGETHER: Final = 1024
_HOLD_S: Final = 0.04
_PACKET_S: Final = 0.02
_OURS: Final = "ours, for tests of judges"

_GATE: Final = Constant("threshold of the gate, relative to the loudest", (-90.0, -40, -28, -18, -10, -4), unit="dB")
_CODED: Final = Constant("level of the coding noise, relative to the target", (-60.0, -24, -18, -13, -8, -3), unit="dB")
_WRONG: Final = Constant("share of the other sources that the mask lets through", (0.0, 0.15, 0.3, 0.5, 0.75, 1.0))
_LOST: Final = Constant("share of packets lost", (0.0, 0.05, 0.12, 0.25, 0.45, 0.7))


_TIMES: Final = np.arange(2 * _FRAME)
_WINDOW: Final = np.sqrt(2.0 / _FRAME) * np.sin(np.pi * (_TIMES + 0.5) / (2 * _FRAME))
_TURN: Final = np.exp(0.5j * np.pi * _TIMES / _FRAME)
_SHIFT: Final = np.exp(1j * np.pi / _FRAME * (0.5 + _FRAME / 2) * (np.arange(_FRAME) + 0.5))


def _lapped(sound: Samples) -> Samples:
    """Lapped spectra (channels, frames, bins) of (channels, samples), by the transform that is its own inverse."""
    frames = -(-sound.shape[1] // _FRAME) + 1
    padded = np.pad(sound, ((0, 0), (_FRAME, frames * _FRAME - sound.shape[1])))
    rows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _FRAME, axis=1)[:, ::_FRAME]
    spectra = np.empty((sound.shape[0], frames, _FRAME), dtype=np.float32)
    for first in range(0, frames, _TOGETHER):
        chunk = slice(first, first + _TOGETHER)
        spectra[:, chunk] = (np.fft.fft(rows[:, chunk] * (_WINDOW / _TURN))[..., :_FRAME] / _SHIFT).real
    return spectra


def _sound(spectra: Samples, samples: int) -> Samples:
    """The sound (channels, samples) of lapped spectra."""
    frames = np.zeros((spectra.shape[0], spectra.shape[1] + 1, _FRAME), dtype=np.float32)
    for first in range(0, spectra.shape[1], _TOGETHER):
        turned = np.fft.ifft(spectra[:, first : first + _TOGETHER] * _SHIFT, 2 * _FRAME) * (2 * _FRAME * _TURN)
        rows = (turned.real * _WINDOW).astype(np.float32)
        frames[:, first : first + rows.shape[1]] += rows[..., :_FRAME]
        frames[:, first + 1 : first + 1 + rows.shape[1]] += rows[..., _FRAME:]
    return np.ascontiguousarray(frames.reshape(spectra.shape[0], -1)[:, _FRAME : _FRAME + samples])


def _smooth(values: Any, width: int) -> Any:
    """The mean of each value and its neighbours, 0 beyond both ends."""
    total = np.cumsum(np.pad(values.astype(np.float64), (width // 2 + 1, width - width // 2 - 1)))
    return np.maximum(total[width:] - total[:-width], 0.0) / width


@makes("lost_share", "a gate shuts where the target is soft", _GATE, source=_OURS)
def other_gate(stems: Stems, _: NoDraws, amount: float) -> Parts:
    """Shuts where the envelope, a mean over 40 ms, is below the threshold."""
    hold = min(stems.target.shape[1], max(1, round(_HOLD_S * stems.rate_hz)))
    powers = _smooth(np.mean(stems.target**2, axis=0, dtype=np.float64), hold)
    gate = _smooth(powers >= powers.max() * 10.0 ** (amount / 10.0), max(1, hold // 8))
    return Parts(kept=stems.target * gate.astype(np.float32))


@makes("interference_db", "a mask that is too open, and too coarse", _WRONG, source=_OURS)
def other_mask(stems: Stems, _: NoDraws, amount: float) -> Parts:
    """Multiplies the mixture by a mask, the fourth root of the target's share in patches of 8 bins and 3 frames."""
    target, others = _lapped(stems.target), _lapped(np.asarray(sum(stems.others.values()), dtype=np.float32))
    patch, powers = np.ones((3, 8)), [np.sum(spectra.astype(np.float64) ** 2, axis=0) for spectra in (target, others)]
    frames, bins = powers[0].shape
    coarse = [
        np.add.reduceat(np.add.reduceat(power, range(0, frames, 3)), range(0, bins, 8), axis=1) for power in powers
    ]
    share = np.kron((coarse[0] / (coarse[0] + coarse[1] + 1e-20)) ** 0.25, patch)[:frames, :bins]
    samples = stems.target.shape[1]
    kept = _sound(target * (1.0 - amount * (1.0 - share)).astype(np.float32), samples)
    interference = _sound(others * (amount * share).astype(np.float32), samples)
    return Parts(kept=kept, interference=interference, sources=tuple(stems.others))


@makes("artefacts_db", "coefficients are coded too coarsely", _CODED, source=_OURS)
def other_codec(stems: Stems, _: NoDraws, amount: float) -> Parts:
    """Rounds lapped spectra to half of each frame's loudest coefficient, and scales what is lost to the level."""
    spectra = _lapped(stems.target)
    step = np.abs(spectra).max(axis=2, keepdims=True) * np.float32(0.5) + np.float32(1e-20)
    noise = _sound(np.rint(spectra / step) * step, stems.target.shape[1]) - stems.target
    return Parts(kept=stems.target, artefacts=at_level(noise, amount, of=stems.target))


@makes("artefacts_db", "packets are lost, and the one before is heard again", _LOST, source=_OURS)
def other_packets(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Replaces packets of 20 ms, in a drawn order, by the one before; before the first is silence."""
    size, samples = max(1, round(_PACKET_S * stems.rate_hz)), stems.target.shape[1]
    count = -(-samples // size)
    lost = np.repeat(params.stream("packets").permutation(count) < amount * count, size)[:samples]
    before = np.pad(stems.target, ((0, 0), (size, 0)))[:, :samples]
    return Parts(kept=stems.target, artefacts=(before - stems.target) * lost)
