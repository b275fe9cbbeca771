"""Play a planned scene: its tracks, mixed."""

from __future__ import annotations

from auscult.cases.scenes.plan import ScenePlan
from auscult.cases.scenes.sound.mix import Mix, mix_down
from auscult.cases.scenes.sound.source import SoundSet


def hear(plan: ScenePlan, sounds: SoundSet) -> Mix:
    """Mix a scene's sound; pure.

    Args:
        plan: The scene.
        sounds: The set that its sources were drawn from.

    Returns:
        (2, round(seconds * rate_hz)) samples, and what they were turned down by.

    Raises:
        InputError: A source is not of this set.
    """
    return mix_down(plan.tracks, sounds, seconds=plan.seconds, rate_hz=plan.rate_hz)
