"""The kinds: the target lost, other sources left in, artefacts; each a function of stems and one constant.

``time_loss`` and ``band_loss`` take away a stated share of the target's own energy, whatever the sound;
``temporal_mask`` and ``frequency_mask`` a stated share of its length and of the mel scale, wherever its energy is.
What is added has a stated level relative to the target. Constants are ours: the paper names three enrichments and
gives none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.spectra import add_frames, short_time
from auscult.stress.perturbation import Constant, NoDraws, SeedParams
from auscult.stress.sound.convolution import convolve
from auscult.stress.sound.filters import Response, filtered
from auscult.stress.sound.separation import Parts, SourceParams, Stems, at_level, energy, makes
from auscult.types import Doubles, Samples

Spectra: TypeAlias = NDArray[np.complex64]

_TOGETHER: Final = 512
_OVERLAP: Final = 4
_FADE_S: Final = 0.01
_BANDS: Final = 24
_NARROWEST_HZ: Final = 30.0
_SPARSE: Final = 0.02
_SMEAR_S: Final = 0.12
_LIFTER_S: Final = 0.0015
_BATCH_2: Final = "SAM Audio Judge, Sec. III-A, batch 2"

_LOST: Final = Constant("share of the target's energy lost", (0.0, 0.1, 0.25, 0.45, 0.7, 0.9))
_CUTOFF: Final = Constant("cut-off", (24_000.0, 6_000.0, 4_000.0, 2_500.0, 1_500.0, 800.0), unit="Hz")
_GONE: Final = Constant("share of the target's amplitude lost", (0.0, 0.3, 0.6, 0.8, 0.92, 1.0))
_MASKED: Final = Constant("share of length or mel scale in each of two masks", (0.0, 0.04, 0.08, 0.14, 0.22, 0.35))
_LEFT_IN: Final = Constant("share of the other sources' amplitude", (0.0, 0.1, 0.25, 0.45, 0.7, 1.0))
_CHANGED: Final = Constant("share of the whole change", (0.0, 0.15, 0.3, 0.5, 0.75, 1.0))
_GAIN: Final = Constant("greatest gain of a band, up or down", (0.0, 4.0, 8.0, 12.0, 17.0, 24.0), unit="dB")


def _level(*values: float) -> Constant:
    return Constant("level of what is added, relative to the target", (-60.0, *values), unit="dB")


def _bisect(rising: Callable[[float], float], target: float) -> float:
    """Where a rising function of 0..1 reaches what is wanted."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return high


def _without(powers: Doubles, blocks: NDArray[np.intp], params: SeedParams, *, share: float) -> Doubles:
    """What is kept of each power, 0..1, where their blocks are taken away in a drawn order until a share is gone."""
    ranks = params.stream("order").permutation(int(blocks.max()) + 1)

    def kept(x: float) -> Doubles:
        return np.asarray(1.0 - np.clip(x * ranks.size - ranks[blocks], 0.0, 1.0))

    return kept(_bisect(lambda x: float(np.sum(powers * (1.0 - kept(x)) ** 2) / np.sum(powers)), share))


def _mel(hz: Any, rate_hz: int) -> Any:
    """The place of a frequency on the mel scale, from 0 (0 Hz) to 1 (half the rate)."""
    return np.log1p(np.asarray(hz) / 700.0) / np.log1p(rate_hz / 1400.0)


def _in_bands(stems: Stems, gain: Callable[[Any], Doubles]) -> Samples:
    """The target, filtered by a gain for each place on the mel scale."""
    rate_hz = stems.rate_hz
    response = Response(
        gain=lambda w: gain(_mel(w * rate_hz / (2 * np.pi), rate_hz)), reach=round(rate_hz / _NARROWEST_HZ) + 1
    )
    return filtered(stems.target, response)


# --- short-time spectra of long sounds, some frames at a time ---


def _window(rate_hz: int) -> Samples:
    """The root of a Hann window of about 64 ms, a power of two of samples."""
    size = max(16, int(2 ** np.round(np.log2(0.064 * rate_hz))))
    return np.sqrt(np.hanning(size + 1)[:-1]).astype(np.float32)


def _spectra_of(channel: Samples, *, rate_hz: int) -> Iterator[tuple[int, Spectra]]:
    """Spectra (frames, bins) of a sound (samples,), some frames at a time, each with the number of its first."""
    window = _window(rate_hz)
    hop = window.size // _OVERLAP
    frames = -(-channel.size // hop) + _OVERLAP - 1
    padded = np.pad(channel, (window.size - hop, frames * hop - channel.size))
    for first in range(0, frames, _TOGETHER):
        part = padded[first * hop : (first + _TOGETHER - 1) * hop + window.size]
        yield first, short_time(part, window, hop=hop).astype(np.complex64)


def _changed(sound: Samples, change: Callable[[Spectra, int], Spectra], *, rate_hz: int) -> Samples:
    """A sound (channels, samples) from its changed spectra and the number of their first frame."""
    window, samples = _window(rate_hz), sound.shape[1]
    size, hop = window.size, window.size // _OVERLAP
    output = np.zeros((sound.shape[0], samples + 2 * size), dtype=np.float32)
    for channel, changed in zip(sound, output, strict=True):
        for first, spectra in _spectra_of(channel, rate_hz=rate_hz):
            back = np.fft.irfft(change(spectra, first), size, axis=1).astype(np.float32) * window
            add_frames(changed[first * hop :], back, hop=hop)
    return np.ascontiguousarray(output[:, size - hop : size - hop + samples]) * np.float32(2.0 / _OVERLAP)


def _summed_power(sound: Samples, *, rate_hz: int) -> Doubles:
    """The power spectrum, summed over frames and channels, (bins,)."""
    spectra = (some for channel in sound for _, some in _spectra_of(channel, rate_hz=rate_hz))
    return np.asarray(sum((np.sum(np.abs(some) ** 2, axis=0) for some in spectra), np.float64(0.0)))


# --- the target lost ---


@makes("lost_share", "the target drops out at times", _LOST)
def time_loss(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Takes away blocks of a quarter of a second, an eighth of a short sound, in a drawn order."""
    samples = stems.target.shape[1]
    starts = np.arange(0, samples, max(1, round(0.0025 * stems.rate_hz)))
    powers = np.add.reduceat(np.sum(stems.target**2, axis=0, dtype=np.float64), starts)
    blocks = starts * max(8, round(samples / stems.rate_hz * 4)) // samples
    gain = np.interp(np.arange(samples), starts, _without(powers, blocks, params, share=amount))
    return Parts(kept=stems.target * gain.astype(np.float32))


@makes("lost_share", "the target lacks bands of frequencies", _LOST)
def band_loss(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Takes away bands, 24 on the mel scale, in a drawn order."""
    powers = _summed_power(stems.target, rate_hz=stems.rate_hz)
    places = _mel(np.linspace(0.0, stems.rate_hz / 2.0, powers.size), stems.rate_hz)
    blocks = np.minimum(places * _BANDS, _BANDS - 1).astype(np.intp)
    gains = _without(powers, blocks, params, share=amount)
    return Parts(kept=_in_bands(stems, lambda place: np.asarray(np.interp(place, places, gains))))


@makes("lost_share", "the target lacks everything above a cut-off", _CUTOFF)
def band_limit(stems: Stems, _: NoDraws, amount: float) -> Parts:
    """Ends the target at the cut-off, 48 dB for each octave."""
    edge = 2 * np.pi * amount / stems.rate_hz
    response = Response(gain=lambda w: 1.0 / np.sqrt(1.0 + (w / edge) ** 16), reach=round(100 / edge) + 1)
    return Parts(kept=filtered(stems.target, response))


@makes("lost_share", "the target is lost wholly, a trace of another source stays", _GONE)
def target_loss(stems: Stems, params: SourceParams, amount: float) -> Parts:
    """Fades the target out, and leaves 20 dB below it the trace."""
    other, place = params.of(stems)
    trace = at_level(other, -20.0, of=stems.target) * np.float32(amount)
    return Parts(kept=stems.target * np.float32(1.0 - amount), interference=trace, sources=place)


@makes("lost_share", "another source is returned in the target's place", _GONE)
def wrong_source(stems: Stems, params: SourceParams, amount: float) -> Parts:
    """Fades from the target to the other source; at the strongest its stem is returned."""
    other, place = params.of(stems)
    share = np.float32(amount)
    return Parts(kept=stems.target * (1 - share), interference=other * share, sources=place)


@makes("lost_share", "the output fades to silence", _GONE)
def silence(stems: Stems, _: NoDraws, amount: float) -> Parts:
    """Fades the target out; at the strongest every sample is 0."""
    return Parts(kept=stems.target * np.float32(1.0 - amount))


def _spans(params: SeedParams, length: float) -> list[tuple[float, float]]:
    """Two spans in 0..1 of one length, that grow around places of their own."""
    return [(place * (1.0 - length), place * (1.0 - length) + length) for place in params.stream("places").random(2)]


def _outside(spans: list[tuple[float, float]], positions: Any, *, fade: float) -> Doubles:
    """1 outside of spans, 0 within them, on straight lines over a fade inside their ends."""
    inside = [np.clip(np.minimum(positions - start, end - positions) / fade, 0.0, 1.0) for start, end in spans]
    return np.asarray(1.0 - np.maximum(*inside))


@makes("lost_share", "two spans of the output are silenced", _MASKED, source=_BATCH_2)
def temporal_mask(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Silences two spans, with fades of 10 ms; stronger ones contain weaker ones."""
    samples = stems.target.shape[1]
    fade = _FADE_S * stems.rate_hz / samples
    gain = _outside(_spans(params, amount), np.arange(samples) / samples, fade=fade)
    return Parts(kept=stems.target * gain.astype(np.float32))


@makes("lost_share", "two bands of the output are taken out", _MASKED, source=_BATCH_2)
def frequency_mask(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Takes two bands out; stronger ones contain weaker ones."""
    bands = _spans(params, amount)
    return Parts(kept=_in_bands(stems, lambda place: _outside(bands, place, fade=0.01)))


# --- other sources left in ---


@makes("interference_db", "one other source is left in", _level(-24.0, -18.0, -12.0, -6.0, 0.0))
def leakage(stems: Stems, params: SourceParams, amount: float) -> Parts:
    """Adds the other source at the level."""
    other, place = params.of(stems)
    return Parts(kept=stems.target, interference=at_level(other, amount, of=stems.target), sources=place)


@makes("interference_db", "the mixture is returned, in part or unchanged", _LEFT_IN)
def mixture(stems: Stems, _: NoDraws, amount: float) -> Parts:
    """Adds all other sources in part; at the strongest the mixture is returned."""
    interference = np.asarray(np.sum(list(stems.others.values()), axis=0), dtype=np.float32) * np.float32(amount)
    return Parts(kept=stems.target, interference=interference, sources=tuple(stems.others))


# --- artefacts ---


@makes(
    "artefacts_db", "short random tones, as spectral subtraction leaves them", _level(-27.0, -21.0, -15.0, -10.0, -5.0)
)
def musical_noise(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Adds tones at random times and frequencies, shaped as the target's spectrum is."""
    shape = np.sqrt(_summed_power(stems.target, rate_hz=stems.rate_hz))
    shape += 0.05 * shape.mean()

    def tones(spectra: Spectra, first: int) -> Spectra:
        rng = params.stream("tones", first)
        chance, phase = rng.random(spectra.shape, dtype=np.float32), rng.random(spectra.shape, dtype=np.float32)
        return np.asarray((chance < _SPARSE) * shape * np.exp(2j * np.pi * phase), dtype=np.complex64)

    noise = _changed(stems.target, tones, rate_hz=stems.rate_hz)
    return Parts(kept=stems.target, artefacts=at_level(noise, amount, of=stems.target))


@makes("artefacts_db", "attacks are smeared, before and after", _level(-20.0, -14.0, -9.0, -4.0, 2.0))
def smearing(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Adds the target convolved with noise that decays before and after: pre-echo and a blurred tail."""
    reach = max(1, round(_SMEAR_S * stems.rate_hz))
    decay = np.exp(-4.0 * np.abs(np.arange(-reach, reach + 1)) / reach)
    taps = (params.stream("taps").standard_normal(decay.size) * decay).astype(np.float32)
    blur = convolve(stems.target, taps, lead=reach)
    return Parts(kept=stems.target, artefacts=at_level(blur, amount, of=stems.target))


@makes("artefacts_db", "peaks are cut off", _level(-28.0, -22.0, -16.0, -11.0, -7.0))
def clipping(stems: Stems, _: NoDraws, amount: float) -> Parts:
    """Cuts peaks off at the height at which what is cut off has the level."""
    target, total = stems.target, energy(stems.target)
    peak = float(np.abs(target).max())

    def beyond(x: float) -> Samples:
        height = np.float32(peak * (1.0 - x))
        return np.clip(target, -height, height) - target

    x = _bisect(lambda x: energy(beyond(x)) / total, 10.0 ** (amount / 10.0))
    return Parts(kept=target, artefacts=beyond(x))


@makes("artefacts_db", "phases are random, magnitudes right", _CHANGED)
def phase_damage(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Turns the phase of every bin of the spectrogram by a drawn angle."""

    def turned(spectra: Spectra, first: int) -> Spectra:
        angles = params.stream("phases", first).uniform(-np.pi * amount, np.pi * amount, spectra.shape)
        return np.asarray(spectra * np.exp(1j * angles), dtype=np.complex64)

    return Parts(kept=stems.target, artefacts=_changed(stems.target, turned, rate_hz=stems.rate_hz) - stems.target)


@makes("artefacts_db", "the spectral envelope is moved up or down", _CHANGED)
def timbre(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Stretches or shrinks the envelope of each spectrum by half."""
    size, coefficients = _window(stems.rate_hz).size, max(2, round(_LIFTER_S * stems.rate_hz))
    warp = 1.5 if params.stream("way").random() < 0.5 else 1.0 / 1.5
    bins = np.minimum(np.arange(size // 2 + 1) * warp, size // 2).astype(np.intp)

    def moved(spectra: Spectra, _: int) -> Spectra:
        cepstra = np.fft.irfft(np.log(np.abs(spectra) + 1e-6), size, axis=1)
        cepstra[:, coefficients : size - coefficients + 1] = 0.0
        envelope = np.fft.rfft(cepstra, axis=1).real * (20.0 / np.log(10.0))
        gains_db = np.clip(envelope[:, bins] - envelope, -20.0, 20.0)
        return np.asarray(spectra * 10.0 ** (gains_db / 20.0), dtype=np.complex64)

    other = _changed(stems.target, moved, rate_hz=stems.rate_hz)
    return Parts(kept=stems.target, artefacts=(other - stems.target) * np.float32(amount))


@makes("artefacts_db", "bands are raised and lowered", _GAIN, source=_BATCH_2)
def equalisation(stems: Stems, params: SeedParams, amount: float) -> Parts:
    """Raises or lowers three bands, on a smooth curve over the mel scale; gains in dB grow with strength."""
    rng = params.stream("bands")
    centres, heights = rng.random(3), rng.choice((-1.0, 1.0)) * np.array((1.0, -0.8, 0.6))

    def gain(places: Any) -> Doubles:
        curve = np.exp(-0.5 * ((np.asarray(places)[..., None] - centres) / 0.1) ** 2) @ heights
        return np.asarray(10.0 ** (amount * curve / 20.0))

    return Parts(kept=stems.target, artefacts=_in_bands(stems, gain) - stems.target)
