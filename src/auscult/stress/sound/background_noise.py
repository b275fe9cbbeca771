"""Background noise: something else sounds where the source does.

The caller may bring the noise, as the release does (another clip of the same dataset): it is cut or looped at a drawn
place, turned upside down, made mono and given to every channel. Without one, a noise is made from the seed.

The ratio of the sound's root mean square to that of the noise added is drawn in the level's range. A sound that is
silent has no such ratio and stays silent, as in audiomentations; so does a sound whose noise is silent stay as it is.

Source: R2-Bench, Table 1, environmental noise of sound; constants of its toolbox. Chosen otherwise than
audiomentations: the noise's loudness is that of what is heard of it, loops included, so that the ratio holds exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.errors import InputError
from auscult.stress.perturbation import Perturbs, Range, SeedParams, Share, seed_from
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.stress.sound.noise_makers import KINDS, make
from auscult.types import Metadata, Samples

_SILENT: Final = 1e-9  # root mean square, of full scale


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundParams(SeedParams):
    """Parameters of the background noise."""

    ratio: Share  # place in the level's range of signal-to-noise ratios, 0 to 1
    place: Share  # where in the noise it begins, 0 to 1
    kind: str  # which noise is made if the caller brings none: one of `noise_makers.KINDS`


class BackgroundNoise(Perturbs[BackgroundParams]):
    """Adds another sound at a stated ratio."""

    name = "sound.background_noise.v1"
    params = BackgroundParams
    ratio = Range(
        "signal-to-noise ratio",
        (90.0, 25.0, 20.0, 15.0, 10.0, 5.0),
        (90.0, 30.0, 25.0, 20.0, 15.0, 10.0),
        unit="dB",
    )
    meta = Metadata(
        summary="adds another sound, the caller's or one made from the seed, at a drawn signal-to-noise ratio",
        goal="a model that follows whatever sounds rather than what was asked for",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged; the noise has no source",
        origin="environment",
    )

    def choose(self, rng: np.random.Generator, take: AudioInfo, /, *, strength: float) -> BackgroundParams:
        """Draw the place in the range of ratios, and the noise."""
        del take
        ratio, where = rng.random(2).tolist()
        kind = KINDS[int(rng.integers(len(KINDS)))]
        return BackgroundParams(strength=strength, seed=seed_from(rng), ratio=ratio, place=where, kind=kind)

    def render(self, sound: Samples, params: BackgroundParams, *, rate_hz: int) -> Samples:
        """The sound and a noise made for it."""
        if params.kind not in KINDS:
            raise InputError(f"kind is {params.kind!r:.60}", expected=", ".join(KINDS))
        noise = make(params.kind, sound.shape[1], rate_hz=rate_hz, rng=params.stream("background", params.kind))
        return self.mix(sound, noise[None], params, rate_hz=rate_hz)

    def mix(self, sound: Samples, noise: Samples, params: BackgroundParams, *, rate_hz: int) -> Samples:
        """The sound and the noise that the caller brings; nothing here depends on the seed."""
        del rate_hz
        ratio_db = self.ratio.within(params.strength, params.ratio)
        heard = _cut(noise, sound.shape[1], params.place)
        loud, noisy = _rms(sound), _rms(heard)
        if loud < _SILENT or noisy < _SILENT:
            return sound.copy()
        wanted = loud / 10.0 ** (ratio_db / 20.0)
        # Subtracted: the release turns the noise upside down.
        return sound - heard * np.float32(wanted / noisy)


def _cut(noise: Samples, samples: int, share: float) -> Samples:
    """A piece (1, samples) of the noise, mono: from a drawn position in a long one, round and round of a short one."""
    length = noise.shape[1]
    if length >= samples:
        start = int(share * (length - samples))
        noise = noise[:, start : start + samples]
    mono = noise if noise.shape[0] == 1 else noise.mean(axis=0, dtype=np.float32, keepdims=True)
    if length >= samples:
        return mono
    start = min(int(share * length), length - 1)
    return np.resize(np.roll(mono[0], -start), (1, samples))


def _rms(sound: Samples) -> float:
    flat = np.ascontiguousarray(sound).reshape(-1)
    return float(np.sqrt(np.dot(flat, flat) / flat.size))


STRESSOR: SoundStressor[BackgroundParams] = BackgroundNoise()
