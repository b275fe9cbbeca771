"""Artefacts: what is in no source. Musical noise, smearing, clipping, phase damage, a changed timbre, equalisation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from auscult.stress.perturbation import Constant, Fixed, Seeded, SeedParams
from auscult.stress.sound.convolution import convolve
from auscult.stress.sound.separation.base import Parts, PlaceParams, SeparationStressor, Stems, about, at_level, energy
from auscult.stress.sound.separation.lost import PAPER, Numbers, in_bands, solved
from auscult.stress.sound.separation.spectra import Spectra, changed, mean_power, window_of

_SPARSE: Final = 0.02
_SMEAR_S: Final = 0.12
_WARP: Final = 1.5
_MOST_DB: Final = 20.0
_LIFTER_S: Final = 0.0015


class MusicalNoise(Seeded, SeparationStressor[SeedParams]):
    """Adds short tones at random times and frequencies, shaped as the target's spectrum is."""

    name = "separation.musical_noise.v1"
    degree = "artefacts_db"
    level = Constant("level of the tones, relative to the target", (-60.0, -27.0, -21.0, -15.0, -10.0, -5.0), unit="dB")
    meta = about("short random tones, as spectral subtraction leaves them", "artefacts that no source explains")

    def render(self, stems: Stems, params: SeedParams) -> Parts:
        """The target and the tones."""
        shape = np.sqrt(mean_power(stems.target, size=window_of(stems.rate_hz))).astype(np.float32)
        shape += np.float32(0.05 * shape.mean())

        def tones(spectra: Spectra, first: int) -> Spectra:
            rng = params.stream("tones", first)
            drawn, phase = rng.random(spectra.shape, dtype=np.float32), rng.random(spectra.shape, dtype=np.float32)
            return np.asarray((drawn < _SPARSE) * shape * np.exp(2j * np.pi * phase), dtype=np.complex64)

        made = changed(stems.target, tones, rate_hz=stems.rate_hz)
        return Parts(kept=stems.target, artefacts=at_level(made, self.level.at(params.strength), of=stems.target))


class Smearing(Seeded, SeparationStressor[SeedParams]):
    """Adds the target convolved with noise that decays before and after each sound: pre-echo and a blurred tail."""

    name = "separation.smearing.v1"
    degree = "artefacts_db"
    level = Constant("level of the blur, relative to the target", (-60.0, -20.0, -14.0, -9.0, -4.0, 2.0), unit="dB")
    meta = about("attacks are smeared, before and after", "outputs without sharp onsets")

    def render(self, stems: Stems, params: SeedParams) -> Parts:
        """The target and its blur."""
        reach = max(1, round(_SMEAR_S * stems.rate_hz))
        decay = np.exp(-4.0 * np.abs(np.arange(-reach, reach + 1)) / reach)
        taps = (params.stream("taps").standard_normal(decay.size) * decay).astype(np.float32)
        blur = convolve(stems.target, taps, lead=reach)
        return Parts(kept=stems.target, artefacts=at_level(blur, self.level.at(params.strength), of=stems.target))


class Clipping(Fixed, SeparationStressor[Any]):
    """Cuts peaks off at the height at which what is cut off has the wanted energy."""

    name = "separation.clipping.v1"
    degree = "artefacts_db"
    level = Constant(
        "level of what is cut off, relative to the target", (-70.0, -28.0, -22.0, -16.0, -11.0, -7.0), unit="dB"
    )
    meta = about("peaks are cut off", "distortion that keeps every source")

    def render(self, stems: Stems, params: Any) -> Parts:
        """The target less what is above the height."""
        target = stems.target
        peak, whole = float(np.abs(target).max()), energy(target)

        def beyond(x: float) -> Any:
            height = np.float32(peak * (1.0 - x))
            return np.clip(target, -height, height) - target

        x = solved(lambda x: energy(beyond(x)) / whole, 10.0 ** (self.level.at(params.strength) / 10.0))
        return Parts(kept=target, artefacts=beyond(x))


class PhaseDamage(Seeded, SeparationStressor[SeedParams]):
    """Turns the phase of every bin of the spectrogram by a drawn angle; magnitudes stay."""

    name = "separation.phase_damage.v1"
    degree = "artefacts_db"
    angle = Constant("greatest angle", (0.0, 0.15, 0.3, 0.5, 0.75, 1.0), unit="half turns")
    meta = about(
        "phases are random, magnitudes right", "outputs that are hollow and rough though their spectrum is right"
    )

    def render(self, stems: Stems, params: SeedParams) -> Parts:
        """The target with turned phases."""
        most = np.pi * self.angle.at(params.strength)

        def turned(spectra: Spectra, first: int) -> Spectra:
            drawn = params.stream("phases", first).uniform(-most, most, spectra.shape)
            return np.asarray(spectra * np.exp(1j * drawn), dtype=np.complex64)

        return Parts(kept=stems.target, artefacts=changed(stems.target, turned, rate_hz=stems.rate_hz) - stems.target)


class Timbre(SeparationStressor[PlaceParams]):
    """Stretches or shrinks the envelope of each spectrum by half, so that another voice seems to sound."""

    name = "separation.timbre.v1"
    params = PlaceParams
    degree = "artefacts_db"
    share = Constant("share of the change", (0.0, 0.15, 0.3, 0.5, 0.75, 1.0))
    meta = about("the spectral envelope is moved up or down", "outputs that do not sound like their source")

    def render(self, stems: Stems, params: PlaceParams) -> Parts:
        """The target with another envelope."""
        size, warp = window_of(stems.rate_hz), _WARP if params.place < 0.5 else 1.0 / _WARP
        kept = max(2, round(_LIFTER_S * stems.rate_hz))
        at = np.minimum(np.arange(size // 2 + 1) * warp, size // 2).astype(np.intp)

        def moved(spectra: Spectra, first: int) -> Spectra:
            del first
            cepstra = np.fft.irfft(np.log(np.abs(spectra) + 1e-6), size, axis=1)
            cepstra[:, kept : size - kept + 1] = 0.0
            envelope = np.fft.rfft(cepstra, axis=1).real * (20.0 / np.log(10.0))
            gains_db = np.clip(envelope[:, at] - envelope, -_MOST_DB, _MOST_DB)
            return np.asarray(spectra * 10.0 ** (gains_db / 20.0), dtype=np.complex64)

        other = changed(stems.target, moved, rate_hz=stems.rate_hz)
        return Parts(kept=stems.target, artefacts=(other - stems.target) * np.float32(self.share.at(params.strength)))


class Equalisation(SeparationStressor[PlaceParams]):
    """Raises or lowers three bands, on a smooth curve over the mel scale; gains in dB grow with strength."""

    name = "separation.equalisation.v1"
    params = PlaceParams
    degree = "artefacts_db"
    most = Constant("greatest gain of a band, up or down", (0.0, 4.0, 8.0, 12.0, 17.0, 24.0), unit="dB")
    meta = about("bands are raised and lowered", "the enrichment by equalisation", source=PAPER)

    def render(self, stems: Stems, params: PlaceParams) -> Parts:
        """The target, equalised."""
        rng, most = params.stream("bands"), self.most.at(params.strength)
        centres = (params.place, *rng.random(2))
        heights = (rng.choice((-1.0, 1.0)) * np.array((1.0, -0.8, 0.6))).tolist()

        def gain(at: Numbers) -> Numbers:
            curve = sum(
                high * np.exp(-0.5 * ((at - one) / 0.1) ** 2) for one, high in zip(centres, heights, strict=True)
            )
            return np.asarray(10.0 ** (most * curve / 20.0))

        return Parts(kept=stems.target, artefacts=in_bands(stems.target, gain, rate_hz=stems.rate_hz) - stems.target)


MUSICAL_NOISE, SMEARING, CLIPPING = MusicalNoise(), Smearing(), Clipping()
PHASE_DAMAGE, TIMBRE, EQUALISATION = PhaseDamage(), Timbre(), Equalisation()
