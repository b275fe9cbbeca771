"""Joint items of a scene: an expression, a mask and a separated sound, either of them another thing's on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.language.forms import Expression
from auscult.scenes.draw import RenderedScene
from auscult.scenes.facts import TARGET_SHARE
from auscult.scenes.plan import ScenePlan
from auscult.scenes.sound.mix import Mix, SoundSet, mix_down
from auscult.types import JOINT_FAULTS, JointFault, Mask, Samples

LEAK_DB: Final = (-30.0, -12.0)
"""How loud the rest of the mixture is left in a separated sound."""

_SAME_AGAIN: Final = 0.5  # where both are wrong: chance that mask and sound are one other thing's, if it sounds


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSample:
    """What was chosen for one joint item."""

    expression: Expression  # its target is seen and sounds
    shot: int  # number of the key frame
    mask: int  # number of the object whose mask it is, from 0
    track: int  # number of the track of ``ScenePlan.tracks`` that was separated
    leak_db: float  # level of the rest of the mixture in it
    wrong: JointFault


def choose_joint(
    rng: np.random.Generator,
    plan: ScenePlan,
    shots: Sequence[RenderedScene],
    *,
    expressions: Sequence[Expression],
) -> Iterator[JointSample]:
    """Four items of each expression whose target sounds, one a fault; none where scene or frame have no other thing."""
    sounding = [number for number, planned in enumerate(plan.objects) if planned.track is not None]
    for expression in expressions:
        named = None if expression.target is None else int(expression.target) - 1
        if named not in sounding or len(plan.tracks) < 2:
            continue
        seen = [[number for number, mask in enumerate(shot.visible) if _shows(mask)] for shot in shots]
        fit = [at for at, numbers in enumerate(seen) if named in numbers and len(numbers) > 1]
        for wrong in JOINT_FAULTS if fit else ():
            shot = fit[int(rng.integers(len(fit)))]
            others = [number for number in seen[shot] if number != named]
            mask = others[int(rng.integers(len(others)))] if wrong in {"mask", "both"} else named
            track = sounding.index(named)
            if wrong in {"stem", "both"}:
                again = sounding.index(mask) if mask in sounding and mask != named else None
                rest = [at for at in range(len(plan.tracks)) if at != track]
                drawn = rest[int(rng.integers(len(rest)))]
                track = again if again is not None and rng.random() < _SAME_AGAIN else drawn
            leak_db = round(float(rng.uniform(*LEAK_DB)), 2)
            yield JointSample(expression=expression, shot=shot, mask=mask, track=track, leak_db=leak_db, wrong=wrong)


def separated(sample: JointSample, plan: ScenePlan, sounds: SoundSet, *, mixed: Mix) -> Samples:
    """The track of an item as a separator might give it, with some of the rest; (2, samples) float32 in [-1, 1]."""
    alone = mix_down([plan.tracks[sample.track]], sounds, seconds=plan.seconds, rate_hz=plan.rate_hz)
    stem = alone.samples * np.float32(10.0 ** ((mixed.gain_db - alone.gain_db) / 20.0))
    leak = np.float32(10.0 ** (sample.leak_db / 20.0))
    return np.clip(stem + leak * (mixed.samples - stem), -1.0, 1.0)


def _shows(mask: Mask) -> bool:
    return bool(np.count_nonzero(mask) >= TARGET_SHARE * mask.size)
