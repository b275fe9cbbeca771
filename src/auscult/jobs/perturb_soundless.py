"""Videos without sound under recipes that need one: an error that says what to do, never a step left out unsaid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from auscult.errors import InputError
from auscult.jobs.perturb_parts import Part
from auscult.stress.recipe import Plan, Recipe
from auscult.stress.recipe_parts import base_of, crew_of, room_of

_TIMES_S: Final = np.array([1.0, 2.0])


def refuse_sound_steps(part: Part, recipe: Recipe) -> None:
    """Insist that a recipe for a video without sound perturbs none.

    Raises:
        InputError: It does.
    """
    _refuse(part, recipe, [step.name for step in recipe.steps if step.room == "sound"])


def refuse_sound_moved(part: Part, recipe: Recipe, plan: Plan) -> None:
    """Insist that no step of timing moves the sound alone, as an offset does, where there is none to move.

    Raises:
        InputError: One does.
    """
    timing = [(name, params) for name, params in plan.steps if room_of(name) == "timing" and params.strength > 0.0]
    crew = crew_of(name for name, _ in timing)
    moving = [name for name, params in timing if not np.array_equal(crew[name].heard(params, _TIMES_S), _TIMES_S)]
    _refuse(part, recipe, moving)


def _refuse(part: Part, recipe: Recipe, names: Iterable[str]) -> None:
    needing = dict.fromkeys(names)
    if not needing:
        return
    what = " and ".join(map(base_of, needing))
    rest = [step.name.rpartition(".")[0] for step in recipe.steps if step.name not in needing]
    more = f", as --kind {'+'.join(rest)}" if rest and not recipe.schedule.draws_types else ""
    raise InputError(
        f"the video has no sound, and {what} needs one: nothing was made of this file by {recipe.name}",
        expected="a video with sound",
        hint=f"leave the file out, or perturb it without {what}{more}",
        path=part.path,
    )
