"""What all scenes of a run have in common; imported by the command line, so that nothing heavy stands here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneOptions:
    """What all scenes of a run have in common.

    Attributes:
        size: Height x width of the frames, each 32 to 4096.
        seconds: Length of a clip, 3 to 120 s; key frames at 0, 1, 2, ... s.
        rate_hz: Sample rate of the sound, 8000 to 96000 Hz.
        objects: Fewest and most objects of a scene, from 2 to 12.
    """

    size: tuple[int, int] = (480, 854)
    seconds: float = 10.0
    rate_hz: int = 16_000
    objects: tuple[int, int] = (2, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOptions:
    """What may be drawn for a mixture.

    Attributes:
        seconds: Shortest and longest mixture, 2 to 20 s.
        sources: Fewest and most sources, from 2 to 6.
        rates_hz: Sample rate, 8000 to 96000 Hz; of several one is drawn.
        channels: Mono, stereo, or any.
        loudness_lufs: Loudness of every mixture after ITU-R BS.1770, -60 to -10 LUFS.
        rooms: Share of the mixtures that sound in a room, 0 to 1.
        settings: What is asked for: speech, speaker, music, instrument, general_sound, or all; repeats.
        split: train, calibration, test, or all.
    """

    seconds: tuple[int, int] = (2, 20)
    sources: tuple[int, int] = (2, 6)
    rates_hz: tuple[int, ...] = (16_000,)
    channels: str = "mono"
    loudness_lufs: float = -23.0
    rooms: float = 0.3
    settings: tuple[str, ...] = ("all",)
    split: str = "all"
