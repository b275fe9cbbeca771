"""Do the perturbations of sound agree with audiomentations? The same numbers drawn, level by level.

    AUSCULT_DATA=DIR PYTHONPATH=. python tests/parity/sound_parity.py

Where audiomentations lets one fix what it draws (least = most), it is fixed to what ours draws at both ends of the
level's range. Filters are compared by what they do to the frequencies of a click or of noise, the rest on real sounds.
There is no such thing as our impulse noise in audiomentations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
import sound_shapes as shapes
from bench.peers import Peers
from bench.table import Table, text
from numpy.typing import NDArray

from auscult.media.sound import read_sound
from auscult.rng import generator
from auscult.stress import sound as stress
from auscult.stress.perturbation import loaded
from auscult.stress.sound.filters import mel_between
from auscult.types import Samples

RATE_HZ: Final = 44_100
LEVELS: Final = (1, 2, 3, 4, 5)
CLIPS: Final = 6
SAMPLES: Final = 2 * RATE_HZ
CLICK: Final = 1 << 16
DRAWS: Final = 6
ROOMS: Final = 12  # rays of theirs differ from draw to draw: a median of few says little

Found: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """Ours and theirs.

    Attributes:
        peers: The other process.
        clips: Real sounds of one channel at ``RATE_HZ``, each ``SAMPLES`` long.
    """

    peers: Peers
    clips: tuple[Samples, ...]

    def theirs(self, transform: str, sound: Samples, arguments: Mapping[str, Any], *, seed: int = 0) -> Samples:
        """What a transform of audiomentations makes of a sound."""
        path = self.peers.put("sound", sound)
        output = self.peers.made(
            "sound", transform, severity=0, given=path, rate_hz=RATE_HZ, transform=transform, arguments=dict(arguments),
            seed=seed,
        )  # fmt: skip
        return np.asarray(output, dtype=np.float32)[: len(sound)]


def ours(name: str, given: Samples, drawn: Mapping[str, float], *, level: int, seed: int = 0) -> Samples:
    """What ours makes with some draws fixed."""
    params = {**stress.perturb(name, given[:8], rate_hz=RATE_HZ, severity=level, seed=seed).params, **drawn}
    return stress.render(name, given, params, rate_hz=RATE_HZ)


def row(name: str, level: int) -> Sequence[float]:
    """The constants of a level."""
    levels: Sequence[float] = loaded("sound", name).levels[level]
    return levels


def gain(peer: Both, level: int) -> Found:
    """Greatest difference of two samples."""
    (bound,) = row("gain", level)
    distances = [
        np.abs(
            ours("gain", clip, {"share": share}, level=level)
            - peer.theirs("Gain", clip, {"min_gain_db": share * bound, "max_gain_db": share * bound})
        ).max()
        for clip in peer.clips[:2]
        for share in (-1.0, 0.5)
    ]
    return {"sample": float(max(distances))}


def gaussian_noise(peer: Both, level: int) -> Found:
    """Difference of the noise's level in dB, and of its spectrum."""
    gaps = []
    for clip, share in zip(peer.clips, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), strict=True):
        low_end, high_end = row("gaussian_noise", level)
        amplitude = low_end + share * (high_end - low_end)
        own_output = ours("gaussian_noise", clip, {"share": share}, level=level) - clip
        other = peer.theirs("AddGaussianNoise", clip, {"min_amplitude": amplitude, "max_amplitude": amplitude}) - clip
        gaps.append((shapes.level_db(own_output) - shapes.level_db(other), shapes.bands_apart_db(own_output, other)))
    return _worst(("noise_db", "bands_db"), gaps)


def background_noise(peer: Both, level: int) -> Found:
    """Greatest deviation of the ratio from the one that was asked for, in dB: ours and theirs."""
    gaps = []
    low_db, high_db = row("background_noise", level)
    for index, (clip, share) in enumerate(zip(peer.clips, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), strict=True)):
        noise = peer.clips[index - 1]
        ratio_db = low_db + share * (high_db - low_db)
        params = stress.perturb("background_noise", clip[:8], rate_hz=RATE_HZ, severity=level).params
        own_output = stress.render("background_noise", clip, {**params, "ratio": share}, rate_hz=RATE_HZ, noise=noise)
        path = shapes.write(peer.peers.folder / f"noise{index}.wav", noise, rate_hz=RATE_HZ)
        arguments = {"sounds_path": str(path), "min_snr_db": ratio_db, "max_snr_db": ratio_db}
        other = peer.theirs("AddBackgroundNoise", clip, arguments)
        gaps.append((shapes.snr_db(clip, own_output) - ratio_db, shapes.snr_db(clip, other) - ratio_db))
    return _worst(("ours_db", "theirs_db"), gaps)


def low_pass(peer: Both, level: int) -> Found:
    """Greatest difference of the two answers to a click in dB, and theirs' delay on real sounds in samples."""
    return _passing(peer, level, name="low_pass", transform="LowPassFilter")


def high_pass(peer: Both, level: int) -> Found:
    """As ``low_pass``."""
    return _passing(peer, level, name="high_pass", transform="HighPassFilter")


def _passing(peer: Both, level: int, *, name: str, transform: str) -> Found:
    gaps = []
    for share in (0.0, 1.0):
        low_hz, high_hz, _ = row(name, level)
        cutoff = mel_between(low_hz, high_hz, share=share)
        arguments = {"min_cutoff_freq": cutoff, "max_cutoff_freq": cutoff, "min_rolloff": 12, "max_rolloff": 12}
        gaps.append(_answers(peer, name, transform, level=level, arguments=arguments, draws={"cutoff_share": share}))
    return _worst(("answer_db", "theirs_late"), gaps)


def peaking_filter(peer: Both, level: int) -> Found:
    """As ``low_pass``, for a louder and a quieter band."""
    gaps = []
    low_hz, high_hz, bound, low_end, high_end = row("peaking_filter", level)
    for share, sign in ((0.1, 1.0), (0.9, -1.0)):
        centre = mel_between(low_hz, high_hz, share=share)
        quality = low_end + share * (high_end - low_end)
        arguments = {
            "min_center_freq": centre, "max_center_freq": centre, "min_gain_db": sign * bound,
            "max_gain_db": sign * bound, "min_q": quality, "max_q": quality,
        }  # fmt: skip
        draws = {"centre_share": share, "gain_share": sign, "quality_share": share}
        gaps.append(_answers(peer, "peaking_filter", "PeakingFilter", level=level, arguments=arguments, draws=draws))
    return _worst(("answer_db", "theirs_late"), gaps)


def _answers(
    peer: Both, name: str, transform: str, *, level: int, arguments: Mapping[str, Any], draws: Mapping[str, float]
) -> tuple[float, float]:
    click = np.zeros(CLICK, dtype=np.float32)
    click[CLICK // 2] = 0.5
    own_output, other = ours(name, click, draws, level=level), peer.theirs(transform, click, arguments)
    lags = [shapes.lag(clip, peer.theirs(transform, clip, arguments)) for clip in peer.clips[:2]]
    return shapes.answers_apart_db(own_output, other, rate_hz=RATE_HZ), float(max(map(abs, lags)))


def air_absorption(peer: Both, level: int) -> Found:
    """Difference of the loss in bands of noise in dB, where humidity and temperature stand in their table."""
    gaps = []
    dry, wet, near_end, far_end = row("air_absorption", level)
    humidity = next(percent for percent in (40.0, 60.0, 80.0) if dry <= percent <= wet)
    noise = (0.1 * generator(0, "bench", "air").standard_normal(SAMPLES)).astype(np.float32)
    for share, celsius in ((0.0, 10.0), (1.0, 20.0)):
        distance = near_end + share * (far_end - near_end)
        draws = {"humidity": (humidity - dry) / (wet - dry), "distance": share, "temperature": (celsius - 10.0) / 10.0}
        arguments = {
            "min_temperature": celsius, "max_temperature": celsius, "min_humidity": humidity,
            "max_humidity": humidity, "min_distance": distance, "max_distance": distance,
        }  # fmt: skip
        own_output = ours("air_absorption", noise, draws, level=level)
        gaps.append((shapes.bands_apart_db(own_output, peer.theirs("AirAbsorption", noise, arguments)),))
    return _worst(("bands_db",), gaps)


def time_mask(peer: Both, level: int) -> Found:
    """Difference of the touched and of the silent share, in shares of the sound; a fade of ours is 5 ms longer."""
    gaps = []
    flat = np.ones(SAMPLES, dtype=np.float32)
    low_end, high_end = row("time_mask", level)
    for share in (0.0, 1.0):
        part = low_end + share * (high_end - low_end)
        own_output = ours("time_mask", flat, {"length_share": share}, level=level)
        other = peer.theirs("TimeMask", flat, {"min_band_part": part, "max_band_part": part})
        gaps.append(
            (np.mean(own_output < 1.0) - np.mean(other < 1.0), np.mean(own_output == 0.0) - np.mean(other == 0.0))
        )
    return _worst(("touched", "silent"), gaps)


def tanh_distortion(peer: Both, level: int) -> Found:
    """Greatest difference of two samples, and of the levels in dB."""
    gaps = []
    low_end, high_end, _ = row("tanh_distortion", level)
    for clip, share in zip(peer.clips, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), strict=True):
        amount = low_end + share * (high_end - low_end)
        own_output = ours("tanh_distortion", clip, {"amount_share": share}, level=level)
        other = peer.theirs("TanhDistortion", clip, {"min_distortion": amount, "max_distortion": amount})
        gaps.append((np.abs(own_output - other).max(), shapes.level_db(own_output) - shapes.level_db(other)))
    return _worst(("sample", "level_db"), gaps)


def mp3_compression(peer: Both, level: int) -> Found:
    """Log-spectral distance to the clean sound: ours less theirs, mean over sounds, in dB; theirs' delay in samples."""
    gaps, lags = [], []
    for share in (0.0, 1.0):
        low, high = row("mp3_compression", level)
        bitrate = int(low + share * (high - low))
        for clip in peer.clips:
            own_output = ours("mp3_compression", clip, {"bitrate": share}, level=level)
            other = peer.theirs("Mp3Compression", clip, {"min_bitrate": bitrate, "max_bitrate": bitrate})
            gaps.append(shapes.distance_db(clip, own_output) - shapes.distance_db(clip, other))
            lags.append(abs(shapes.lag(clip, other)))
    return {"distance_db": float(np.mean(gaps)), "theirs_late": float(max(lags))}


def impulse_response(peer: Both, level: int) -> Found:
    """What is left of theirs when ours, as loud as fits best, is taken away, in dB of it; and how much louder ours."""
    from auscult.stress.sound.reverberation import ImpulseResponse, ResponseParams

    gaps = []
    for index, clip in enumerate(peer.clips[:3]):
        params = stress.perturb("impulse_response", clip, rate_hz=RATE_HZ, severity=level, seed=index).params
        own_output = stress.render("impulse_response", clip, params, rate_hz=RATE_HZ)
        response = ImpulseResponse().response(ResponseParams.from_json(params), rate_hz=RATE_HZ)
        path = shapes.write(peer.peers.folder / f"response{index}.wav", response, rate_hz=RATE_HZ)
        other = peer.theirs("ApplyImpulseResponse", clip, {"ir_path": str(path), "leave_length_unchanged": True})
        scale = float(np.dot(own_output, other) / np.dot(own_output, own_output))
        residue_db = shapes.level_db(other - np.float32(scale) * own_output) - shapes.level_db(other)
        gaps.append((residue_db, shapes.level_db(own_output) - shapes.level_db(other)))
    return _worst(("left_db", "louder_db"), gaps, signed=True)


def room_reverberation(peer: Both, level: int) -> Found:
    """Ours against theirs with rays, medians over rooms: times of decay as a ratio, energy of the echoes in dB."""
    low_x, high_x, low_y, high_y, low_z, high_z, low_a, high_a, low_t, high_t = row("room_reverberation", level)
    click = np.zeros(int(1.2 * RATE_HZ), dtype=np.float32)
    click[0] = 1.0
    decays: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    for draw in range(ROOMS):
        unit = (draw + 0.5) / ROOMS
        draws = {"length": unit, "width": unit, "height": unit, "liveness": 1.0 - unit}
        arguments: dict[str, Any] = {"leave_length_unchanged": True, "use_ray_tracing": True}
        for axis, low, high in (("x", low_x, high_x), ("y", low_y, high_y), ("z", low_z, high_z)):
            arguments |= dict.fromkeys((f"min_size_{axis}", f"max_size_{axis}"), low + unit * (high - low))
        absorption, seconds = low_a + unit * (high_a - low_a), low_t + (1.0 - unit) * (high_t - low_t)
        arguments |= dict.fromkeys(("min_absorption_value", "max_absorption_value"), absorption)
        arguments |= dict.fromkeys(("min_target_rt60", "max_target_rt60"), seconds)
        arguments["calculation_mode"] = "rt60" if level == LEVELS[-1] else "absorption"
        own_output = ours("room_reverberation", click, draws, level=level, seed=draw)
        decays["ours"].append(shapes.decay(own_output, rate_hz=RATE_HZ))
        other = peer.theirs("RoomSimulator", click, arguments, seed=draw)
        decays["theirs"].append(shapes.decay(other, rate_hz=RATE_HZ))
    ours_s, ours_db = np.median(decays["ours"], axis=0)
    theirs_s, theirs_db = np.median(decays["theirs"], axis=0)
    return {"decay_ratio": float(ours_s / theirs_s), "echoes_db": float(ours_db - theirs_db)}


TYPES: Final[Mapping[str, Callable[[Both, int], Found]]] = MappingProxyType({
    "gain": gain, "gaussian_noise": gaussian_noise, "background_noise": background_noise, "low_pass": low_pass,
    "high_pass": high_pass, "peaking_filter": peaking_filter, "air_absorption": air_absorption,
    "time_mask": time_mask, "tanh_distortion": tanh_distortion, "mp3_compression": mp3_compression,
    "impulse_response": impulse_response, "room_reverberation": room_reverberation,
})  # fmt: skip
NOTED: Final = (
    "low_pass and high_pass of theirs are held at 12 dB an octave, which they draw between 12 and 24; all three "
    "filters of theirs delay (late: samples), ours do not; time_mask: our fade takes 10 ms, theirs 5; "
    "impulse_response: theirs is scaled to a peak of .5, ours has an energy of 1; room_reverberation: ours is heard "
    "without delay and without the air's loss, and its late part is noise instead of rays"
)
TITLE: Final = "perturbations of sound and audiomentations, with the same numbers drawn"


def run() -> Table:
    """Compare every type at every level."""
    data = os.environ.get("AUSCULT_DATA")
    if not data:
        return Table(
            "perturbations of sound and audiomentations, with the same numbers drawn", [], [], "AUSCULT_DATA is not set"
        )
    rows = []
    with Peers() as peers:
        pair = Both(peers=peers, clips=clips(Path(data)))
        for name, comparison in TYPES.items():
            results = [comparison(pair, level) for level in LEVELS]
            rows += [[name, key, *(f"{result[key]:.3g}" for result in results)] for key in results[0]]
    return Table(
        title=TITLE,
        header=["type", "how far apart", *(f"level {level}" for level in LEVELS)],
        rows=rows,
        note=f"{CLIPS} real sounds of {SAMPLES / RATE_HZ:g} s; greatest absolute differences, over both ends of the "
        f"level's range and over sounds, unless a mean or median is named. {NOTED}",
    )


def clips(data: Path) -> tuple[Samples, ...]:
    """Real sounds that are heard throughout, evenly chosen by name."""
    sounds: list[Samples] = []
    for path in sorted((data / "audio" / "esc10").glob("*/*.ogg"))[::9]:
        sound = read_sound(path)
        mono: NDArray[np.float32] = np.ascontiguousarray(sound.samples[0, :SAMPLES])
        if sound.rate_hz == RATE_HZ and len(mono) == SAMPLES and np.abs(mono).max() > 0.05:
            sounds.append(mono)
        if len(sounds) == CLIPS:
            break
    return tuple(sounds)


def _worst(names: tuple[str, ...], gaps: list[Any], *, signed: bool = False) -> Found:
    """The greatest of each, by absolute value unless their signs matter."""
    columns = list(zip(*gaps, strict=True))
    pick = max if signed else (lambda column: max(map(abs, column)))
    return {name: float(pick(column)) for name, column in zip(names, columns, strict=True)}


if __name__ == "__main__":
    print(text(run()))
