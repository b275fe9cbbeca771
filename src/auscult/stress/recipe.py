"""Recipes: several perturbations at once, in the order in which they arise, at a strength that may go up and down.

``sweep`` turns what a person writes into recipes, a ``preset`` draws one for each item, ``planned`` draws all that a
recipe leaves open for one item, and the plan renders it. So recipe and seed are a benchmark that two people build
alike.

Example::

    for recipe in sweep("vision", "fog,snow+jpeg_compression", "low,high"):
        plan = planned(recipe, seed=7, key="v1/f3", shot=ClipInfo(height=480, width=854))
        picture = plan.frame(frame, 0)
"""

from auscult.stress.presets import Preset, drawn, preset
from auscult.stress.recipe_parts import ORIGINS, PAPER, ROOMS, Recipe, RecipeStep, full_name, sweep
from auscult.stress.recipe_plan import Plan, planned
from auscult.stress.schedule import SCHEDULES, STATIC, Schedule, schedule_of

__all__ = [
    "ORIGINS",
    "PAPER",
    "ROOMS",
    "SCHEDULES",
    "STATIC",
    "Plan",
    "Preset",
    "Recipe",
    "RecipeStep",
    "Schedule",
    "drawn",
    "full_name",
    "planned",
    "preset",
    "schedule_of",
    "sweep",
]
