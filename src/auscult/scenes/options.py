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
