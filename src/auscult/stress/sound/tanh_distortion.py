"""Tanh distortion: a microphone too close to a loud source; its peaks are rounded off.

Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox, formula of audiomentations. Below level 1
the distortion of level 1 is mixed with the sound as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Params, Perturbs, Range, Share
from auscult.stress.sound.base import SoundStressor
from auscult.types import Metadata, Samples

_LOWER_BITS: Final = 19
"""Bits of a float that a bucket leaves open: its width is a sixteenth of what it holds."""
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TanhParams(Params):
    """Parameters of the distortion."""

    amount_share: Share  # where in the level's range the distorted share of the samples lies, 0 (least) to 1


class TanhDistortion(Perturbs[TanhParams]):
    """Rounds off the loudest samples, and keeps the loudness of the whole."""

    name = "sound.tanh_distortion.v1"
    params = TanhParams
    amount = Range("share of samples distorted", (0.01, 0.01, 0.1, 0.2, 0.4, 0.6), (0.1, 0.1, 0.2, 0.4, 0.6, 0.7))
    share = Constant("share of the distorted sound", (0.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    keeps_silence = True
    meta = Metadata(
        summary="rounds off the loudest samples with a hyperbolic tangent and keeps the loudness",
        goal="an overdriven microphone: harmonics that no source has",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="sensor",
    )

    def render(self, sound: Samples, params: TanhParams, *, rate_hz: int) -> Samples:
        """The tangent of the sound, as loud as it was; silence stays silence."""
        del rate_hz
        share = self.share.at(params.strength)
        threshold = quantile(sound, 1.0 - 0.99 * self.amount.within(params.strength, params.amount_share))
        output = sound * np.float32(0.5 / (threshold + 1e-6))
        np.tanh(output, out=output)
        before, after = _rms(sound), _rms(output)
        if before == 0.0 or after == 0.0:
            return sound.copy()
        output *= np.float32(share * before / after)
        if share < 1.0:
            output += np.float32(1.0 - share) * sound
        return output


def quantile(sound: Samples, share: float) -> float:
    """The magnitude that a share, 0..1, of all finite samples stays below, between two samples on a straight line.

    The same as ``np.quantile(abs(sound), share)``, in a quarter of the time: positive floats are in the order of their
    bits, so that counting the upper bits finds the few samples that need sorting.
    """
    flat = sound.reshape(-1)
    up_to = np.cumsum(_counts(flat))
    rank = share * (flat.size - 1)
    low = int(rank)
    high = min(low + 1, flat.size - 1)
    first, last = (int(at) for at in np.searchsorted(up_to, [low, high], side="right"))
    near = _between(flat, first, last)
    skipped = int(up_to[first - 1]) if first else 0
    below, above = float(near[low - skipped]), float(near[high - skipped])
    return below + (rank - low) * (above - below)


def _counts(flat: Samples) -> NDArray[np.intp]:
    """How many magnitudes fall in each bucket; in pieces, as fresh memory costs more than the counting."""
    counts = np.zeros(1 << (31 - _LOWER_BITS), dtype=np.intp)
    for at in range(0, flat.size, _PIECE):
        magnitudes = flat[at : at + _PIECE].view(np.uint32) & np.uint32(0x7FFFFFFF)
        magnitudes >>= np.uint32(_LOWER_BITS)
        counts += np.bincount(magnitudes.astype(np.intp), minlength=counts.size)
    return counts


def _between(flat: Samples, first: int, last: int) -> Samples:
    """The magnitudes that fall in some neighbouring buckets, from the least to the greatest."""
    bounds = np.array([first << _LOWER_BITS, ((last + 1) << _LOWER_BITS) - 1], dtype=np.uint32)
    least, most = bounds.view(np.float32)
    found = []
    for at in range(0, flat.size, _PIECE):
        magnitudes = np.abs(flat[at : at + _PIECE])
        found.append(magnitudes[(magnitudes >= least) & (magnitudes <= most)])
    return np.sort(np.concatenate(found))


def _rms(sound: Samples) -> float:
    return float(cv2.norm(sound)) / math.sqrt(sound.size)


STRESSOR: SoundStressor[TanhParams] = TanhDistortion()
