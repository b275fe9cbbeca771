"""Which recipe each part of an INPUT gets: the same for all, or one that a preset draws for each clip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from auscult.cases.ids import counted
from auscult.errors import InputError, UsageError
from auscult.jobs.options import Wanted
from auscult.jobs.perturb.inputs import ROOMS_OF, PerturbedPart, PerturbedParts
from auscult.jobs.perturb.work import PerturbTask, only
from auscult.media.video import probe
from auscult.stress.recipe import STATIC, Recipe, Schedule, preset, schedule_of, sweep
from auscult.stress.schedule import LEVELS

DEFAULT_SEVERITY: Final = "3"
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One folder of the output.

    Attributes:
        name: The folder.
        recipe: What is done to every part; None where a preset drew.
        drawn: What a preset drew for each group of parts.
    """

    name: str
    recipe: Recipe | None = None
    drawn: Mapping[str, Recipe] = field(default_factory=dict)

    def of(self, part: PerturbedPart) -> Recipe:
        """The recipe of a part."""
        return self.drawn[part.group] if self.recipe is None else self.recipe

    def takes(self, part: PerturbedPart) -> bool:
        """Whether something becomes of a part: it is perturbed, or carried along."""
        return bool(part.carried) or bool(only(self.of(part), part).steps)


def recipes_of(wanted: Wanted) -> tuple[Recipe, ...]:
    """The recipes, where no preset draws them.

    Raises:
        UsageError: Nothing was asked for, or both, or something is unknown or out of range.
    """
    if bool(wanted.kinds) == bool(wanted.preset):
        raise UsageError(
            "both --kind and --preset were given" if wanted.kinds else "nothing was asked for: --kind is missing",
            expected="--kind a,b+c" + (", or --preset NAME" if wanted.room == "recipe" else ""),
            hint="`auscult list stressor` names the kinds",
        )
    if wanted.preset:
        if wanted.schedule != STATIC.name:
            raise UsageError(f"--dynamic {wanted.schedule} does not go with --preset", hint="a preset has its own")
        _refuse_severity(wanted, f"--preset {wanted.preset}", preset(wanted.preset).schedule)
        return ()
    if wanted.place:
        raise UsageError("--place does not go with --kind", hint="it tells a preset what can occur")
    _refuse_severity(wanted, f"--dynamic {wanted.schedule}", schedule_of(wanted.schedule))
    return sweep(wanted.room, wanted.kinds, wanted.severities or DEFAULT_SEVERITY, schedule=wanted.schedule)


def _refuse_severity(wanted: Wanted, what: str, schedule: Schedule) -> None:
    """Refuse severities where they are drawn."""
    if wanted.severities and schedule.draws_levels:
        raise UsageError(
            f"--severity {wanted.severities} does not go with {what}, which draws its severities itself",
            expected=f"no --severity: {' or '.join(f'{level:g}' for level in LEVELS)} is drawn",
            hint="leave out --severity; static, ramp, burst and walk take one",
        )


def usual_severities(wanted: Wanted) -> str:
    """The severities where none were given; empty where they are drawn."""
    return "" if wanted.preset or schedule_of(wanted.schedule).draws_levels else DEFAULT_SEVERITY


def rooms_of(wanted: Wanted, recipes: Sequence[Recipe]) -> frozenset[str]:
    """The rooms that the recipes touch, or that a preset draws from."""
    if wanted.preset:
        return frozenset({"vision", "sound", "sentences"})
    return frozenset(room for recipe in recipes for room in recipe.rooms)


def choices_of(wanted: Wanted, parts: PerturbedParts, *, recipes: Sequence[Recipe], seed: int) -> tuple[Choice, ...]:
    """The folders to make."""
    if not wanted.preset:
        _check_clips(recipes, parts.parts)
        return tuple(Choice(name=recipe.name, recipe=recipe) for recipe in recipes)
    if not any("vision" in ROOMS_OF[part.kind] for part in parts.parts):
        raise UsageError(
            f"preset {wanted.preset} perturbs pictures and what guides through them, and there are no pictures",
            expected="items, pictures or videos",
        )
    found, guided = preset(wanted.preset), _guided(parts.parts)
    drawn = {
        group: found.recipe(
            seed=seed,
            key=group,
            guidance=guided.get(group),
            severity=wanted.severities or None,
            place=wanted.place or None,
        )
        for group in dict.fromkeys(part.group for part in parts.parts)
    }
    named = {group: replace(recipe, name=found.name) for group, recipe in drawn.items()}
    return (Choice(name=found.name, drawn=named),)


def _check_clips(recipes: Sequence[Recipe], parts: Sequence[PerturbedPart]) -> None:
    """Refuse a schedule that moves from frame to frame where every picture stands alone, unless it draws severities."""
    going = [one.schedule.name for one in recipes if one.schedule.moves and not one.schedule.draws_levels]
    if going and not any(part.kind == "video" or part.count > 1 for part in parts):
        raise UsageError(
            f"--dynamic {going[0]} goes from frame to frame, and every picture of the input stands alone",
            expected="a video, or items of a clip of several frames",
            hint="leave out --dynamic, or take r2bench, which draws a severity for each picture",
        )


def untouched(parts: Sequence[PerturbedPart], choices: Sequence[Choice]) -> list[str]:
    """Notes of parts that nothing becomes of, and of recipes that have nothing to do."""
    left = Counter(part.kind for part in parts if not any(choice.takes(part) for choice in choices))
    del left["text"]  # an item keeps its expression as it is
    notes = [f"left out, since no recipe does anything to it: {counted(n, kind)}" for kind, n in left.items()]
    idle = [choice.name for choice in choices if not any(only(choice.of(part), part).steps for part in parts)]
    more = f" and {len(idle) - _MOST_NAMED} more" if len(idle) > _MOST_NAMED else ""
    return notes + ([f"perturbs nothing in this input: {', '.join(idle[:_MOST_NAMED])}{more}"] if idle else [])


def _guided(parts: Sequence[PerturbedPart]) -> dict[str, str]:
    """Which groups have a sound or a sentence; a sentence counts where there are both."""
    found = {part.group: "sound" for part in parts if part.kind == "audio" or _heard(part)}
    return found | {part.group: "sentences" for part in parts if part.kind == "text"}


def _heard(part: PerturbedPart) -> bool:
    return part.kind == "video" and part.path is not None and _has_sound(part.path)


def _has_sound(path: Path) -> bool:
    try:
        return probe(path).sound_channels > 0
    except InputError:  # the worker that opens it says what is wrong
        return False


def tasks_of(choice: Choice, parts: Sequence[PerturbedPart], *, chunk: int) -> list[PerturbTask]:
    """Parts with their recipes, up to ``chunk`` of one recipe together."""
    groups: dict[Recipe, list[PerturbedPart]] = {}
    for part in parts:
        groups.setdefault(choice.of(part), []).append(part)
    return [
        PerturbTask(recipe, tuple(members[start : start + chunk]))
        for recipe, members in groups.items()
        for start in range(0, len(members), chunk)
    ]
