"""From a recipe to a plan: the order of its steps, and every draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auscult.errors import UsageError
from auscult.rng import generator
from auscult.stress.params import Params, seed_from
from auscult.stress.recipe_layout import Drawn
from auscult.stress.recipe_parts import ORIGINS, ROOMS, Recipe, Step, crew_of
from auscult.stress.recipe_plan import Plan
from auscult.stress.sentences.base import Edit, Edits, Span, edited, followed
from auscult.stress.sentences.making import checked, sound_edits, spans_of
from auscult.stress.sound.base import Take
from auscult.stress.strength import strength_of
from auscult.stress.timing.base import Reel
from auscult.stress.vision.base import Shot

_NEEDS = {"vision": "shot", "sound": "take", "sentences": "sentence", "timing": "reel or shot"}


def planned(
    recipe: Recipe,
    *,
    seed: int,
    key: str,
    shot: Shot | None = None,
    take: Take | None = None,
    reel: Reel | None = None,
    sentence: str | None = None,
    keep: Sequence[str] = (),
    keep_head: bool = False,
) -> Plan:
    """Draw everything that a recipe leaves open, for one item.

    Steps are put in the order source, environment, sensor, transmission (R2-Bench, Eq. 1), at random within one
    origin. A step draws what ``perturb`` of its room draws for the same seed and key, whatever else the recipe holds
    and however strong it is. Under a schedule that draws severities, a sound and a sentence draw one; under one that
    draws types, they and timing take one of their steps for the whole item. (The release gives a sound the
    severity of the last frame.)

    Args:
        recipe: What is to be done; its steps may have short names where they are clear.
        seed: The run's seed.
        key: What it is made for, an item's id.
        shot: The picture or clip; needed by steps of pictures. ``frames`` must be right under a schedule that moves.
        take: The sound; needed by steps of sound, and for the silence that steps of timing leave.
        reel: The video's timing, for steps of timing; follows from ``shot`` where left out.
        sentence: The referring expression; needed by steps of sentences.
        keep: Words or phrases of it that must stay as they are.
        keep_head: Keep its head noun too, where ``head_noun`` finds one.

    Raises:
        UnknownName: A step's name is not registered.
        UsageError: A step needs what was not given, or cannot be loaded.
    """
    if reel is None and shot is not None:
        reel = Reel(frames=shot.frames, rate_fps=shot.rate_fps)
    crew = crew_of(step.name for step in recipe.steps)
    recipe = replace(recipe, steps=tuple(replace(step, name=crew[step.name].name) for step in recipe.steps))
    crew = {stressor.name: stressor for stressor in crew.values()}
    given = {"vision": shot, "sound": take, "sentences": sentence, "timing": reel}
    for step in recipe.steps:
        if given[step.room] is None:
            raise UsageError(f"recipe {recipe.name} holds {step.name}, and there is no {_NEEDS[step.room]}")
    rng = generator(seed, "recipe", recipe.schedule.name, key, *sorted(crew))
    cast = _Cast(seed=seed, key=key, shot=shot, take=take, reel=reel)
    text = None if sentence is None else checked(sentence)
    kept = () if text is None else spans_of(text, keep, head=keep_head)
    steps: list[tuple[str, Drawn]] = []
    seen: Counter[str] = Counter()
    for step in _taken(recipe, crew, rng=rng):
        stressor, times = crew[step.name], seen[step.name]
        seen[step.name] += 1
        whole = recipe.schedule.whole(strength_of(step.strength), rng) if step.room != "vision" else step.strength
        if text is not None and step.room == "sentences":
            edits = cast.edits(stressor, text, kept=kept, strength=whole, times=times)
            text, kept = edited(text, edits), followed(kept, edits)
            steps.append((step.name, Edits(strength=whole, edits=edits)))
        else:
            steps.append((step.name, cast.drawn(step, stressor, strength=whole, times=times)))
    rooms = {step.room for step in recipe.steps}
    return Plan(
        recipe=recipe.name,
        schedule=recipe.schedule,
        seed=seed_from(rng),
        shot=shot if "vision" in rooms else None,
        take=take if {"sound", "timing"} & rooms else None,
        reel=reel if "timing" in rooms else None,
        text=sentence if "sentences" in rooms else None,
        steps=tuple(steps),
        crew=crew,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cast:
    """What an item is, for those who draw."""

    seed: int
    key: str
    shot: Shot | None
    take: Take | None
    reel: Reel | None

    def _rng(self, name: str, times: int) -> np.random.Generator:
        """As ``perturb`` has it; the same perturbation a second time draws anew."""
        again = (times,) if times else ()
        return generator(self.seed, "stress", name, self.key, *again)

    def edits(self, stressor: Any, text: str, *, kept: Sequence[Span], strength: float, times: int) -> tuple[Edit, ...]:
        """Choose what to change in a sentence, as it is by now."""
        if not text or strength == 0.0:
            return ()
        rng = self._rng(stressor.name, times)
        return sound_edits(stressor, stressor.choose(rng, text, strength=strength, kept=kept), kept=kept)

    def drawn(self, step: Step, stressor: Any, *, strength: float, times: int) -> Params:
        """Choose for a picture, a sound or timing."""
        about = {"vision": self.shot, "sound": self.take, "timing": self.reel}[step.room]
        params: Params = stressor.choose(self._rng(step.name, times), about, strength=strength_of(strength))
        return params


def _taken(recipe: Recipe, crew: Mapping[str, Any], *, rng: np.random.Generator) -> list[Step]:
    """The steps that act, in order: all of them, or one of each room but of pictures where types are drawn."""
    steps = list(recipe.steps)
    if recipe.schedule.draws_types:
        steps = []
        for room in ROOMS:
            mine = [step for step in recipe.steps if step.room == room]
            steps += mine if room == "vision" or not mine else [mine[int(rng.integers(len(mine)))]]
    found: list[Step] = []
    for origin in ORIGINS:
        members = sorted((one for one in steps if crew[one.name].meta.origin == origin), key=lambda one: one.name)
        found += [members[at] for at in rng.permutation(len(members))]
    return found
