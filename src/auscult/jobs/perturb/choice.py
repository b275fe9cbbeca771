"""The recipe of each part of an INPUT: the same for all, or drawn by a preset for each clip."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.jobs.perturb.inputs import PerturbedPart, left_out
from auscult.jobs.perturb.options import Wanted
from auscult.media.video import probe
from auscult.record.schema import error_to_json
from auscult.stress.recipe import STATIC, Recipe, Schedule, preset, schedule_of, sweep
from auscult.stress.recipe_parts import LEVELS, RecipeStep, load_stressors
from auscult.stress.timing.base import Retiming

DEFAULT_SEVERITY: Final = "3"
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Output:
    """One part perturbed by one recipe; it is written to the folder with the recipe's name."""

    recipe: Recipe
    part: PerturbedPart

    @property
    def id(self) -> str:
        """Its id in the record."""
        return f"{self.recipe.name}/{self.part.id}"

    @property
    def steps(self) -> tuple[RecipeStep, ...]:
        """The steps of the recipe that apply to the part."""
        return tuple(step for step in self.recipe.steps if step.room in self.part.rooms)

    @property
    def made(self) -> bool:
        """Whether the part is perturbed or copied, so that there is an output."""
        return bool(self.part.carried or self.steps)

    @property
    def file(self) -> str:
        """The path of its file in the output folder; empty for a sentence."""
        name = self.part.name if self.steps else self.part.carried
        return f"{self.recipe.name}/{name}" if name else ""

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The rows of ``errors.jsonl`` of a part that failed: one for each of its items, else its own."""
        part = self.part
        if error.path is None and part.path is not None:
            error = replace(error, path=str(part.path))
        names = [item.id for item in part.items] or [part.id]
        return [error_to_json(f"{self.recipe.name}/{name}", error) for name in names]


def not_done(recipe: Recipe, rooms: Collection[str]) -> list[str]:
    """The steps of a recipe that do not apply to any of these rooms."""
    return [step.name for step in recipe.steps if step.room not in rooms]


@dataclass(frozen=True, slots=True)
class PerturbTask:
    """Outputs that are made together."""

    outputs: tuple[Output, ...]

    @property
    def key(self) -> str:
        """The id of the first output."""
        return self.outputs[0].id

    @property
    def size(self) -> int:
        """The number of outputs."""
        return len(self.outputs)

    def split(self) -> list[PerturbTask]:
        """One output at a time."""
        return [PerturbTask((output,)) for output in self.outputs] if len(self.outputs) > 1 else []

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The rows of ``errors.jsonl`` of a part that failed; more together are tried one by one."""
        return self.outputs[0].failed(error)


def tasks_of(outputs: Iterable[Output], *, chunk: int) -> list[PerturbTask]:
    """Up to ``chunk`` outputs of one recipe together."""
    by_recipe: dict[Recipe, list[Output]] = {}
    for output in outputs:
        by_recipe.setdefault(output.recipe, []).append(output)
    return [
        PerturbTask(tuple(members[start : start + chunk]))
        for members in by_recipe.values()
        for start in range(0, len(members), chunk)
    ]


def recipes_of(wanted: Wanted) -> tuple[Recipe, ...]:
    """The recipes, empty with a preset; refuses unknown names, bad values and conflicting options."""
    if bool(wanted.kinds) == bool(wanted.preset):
        raise UsageError(
            "both --kind and --preset were given" if wanted.kinds else "nothing was asked for: --kind is missing",
            expected="one of them" if wanted.kinds else "--kind a,b+c",
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


def _refuse_severity(wanted: Wanted, option: str, schedule: Schedule) -> None:
    """Refuse severities that a schedule draws itself."""
    if wanted.severities and schedule.draws_levels:
        raise UsageError(
            f"--severity {wanted.severities} does not go with {option}, which draws its severities itself",
            expected=f"no --severity: {' or '.join(f'{level:g}' for level in LEVELS)} is drawn",
            hint="leave out --severity; static, ramp, burst and walk take one",
        )


def usual_severities(wanted: Wanted) -> str:
    """The default severities; empty if they are drawn."""
    return "" if wanted.preset or schedule_of(wanted.schedule).draws_levels else DEFAULT_SEVERITY


def rooms_of(wanted: Wanted, recipes: Sequence[Recipe]) -> frozenset[str]:
    """The rooms that the recipes use, or that a preset draws from."""
    if wanted.preset:
        return frozenset({"vision", "sound", "sentences"})
    return frozenset(room for recipe in recipes for room in recipe.rooms)


def moves_frames(recipes: Sequence[Recipe]) -> bool:
    """Whether a recipe changes the times of frames, not only of the sound."""
    names = {step.name for recipe in recipes for step in recipe.steps if step.room == "timing"}
    return any(type(stressor).frames is not Retiming.frames for stressor in load_stressors(names).values())


def outputs_of(wanted: Wanted, parts: Sequence[PerturbedPart], *, recipes: Sequence[Recipe], seed: int) -> list[Output]:
    """Every part with every recipe that it gets, also those without effect (see ``Output.made``)."""
    if not wanted.preset:
        _check_clips(recipes, parts)
        return [Output(recipe, part) for recipe in recipes for part in parts]
    if not any("vision" in part.rooms for part in parts):
        raise UsageError(
            f"preset {wanted.preset} perturbs pictures and what guides through them, and there are no pictures",
            expected="items, pictures or videos",
            hint="name what to do instead: --kind a,b+c; `auscult list stressor` names the kinds",
        )
    chosen, guided = preset(wanted.preset), _guided(parts)
    by_group: dict[str, Recipe] = {}
    for group in dict.fromkeys(part.group for part in parts):
        recipe = chosen.recipe(
            seed=seed,
            key=group,
            guidance=guided.get(group),
            severity=wanted.severities or None,
            place=wanted.place or None,
        )
        by_group[group] = replace(recipe, name=chosen.name)
    return [Output(by_group[part.group], part) for part in parts]


def _check_clips(recipes: Sequence[Recipe], parts: Sequence[PerturbedPart]) -> None:
    """Refuse a schedule over time without clips of several frames, unless it draws severities."""
    going = [recipe.schedule.name for recipe in recipes if recipe.schedule.moves and not recipe.schedule.draws_levels]
    if going and not any(part.medium == "video" or part.count > 1 for part in parts):
        raise UsageError(
            f"--dynamic {going[0]} goes from frame to frame, and every picture of the input stands alone",
            expected="a video, or items of a clip of several frames",
            hint="leave out --dynamic, or take r2bench, which draws a severity for each picture",
        )


def _guided(parts: Sequence[PerturbedPart]) -> dict[str, str]:
    """The groups with a sound or a sentence; with both, the sentence counts."""
    media = {part.group: "sound" for part in parts if part.kind == "audio" or _heard(part)}
    return media | {part.group: "sentences" for part in parts if part.medium == "sentence"}


def _heard(part: PerturbedPart) -> bool:
    if part.medium != "video" or part.path is None:
        return False
    try:
        return probe(part.path).sound_channels > 0
    except InputError:  # the worker that opens it reports the error
        return False


def idle_notes(outputs: Sequence[Output], folders: Iterable[str]) -> list[str]:
    """Notes on parts without output, and on recipes that apply to nothing."""
    made = {output.part.id for output in outputs if output.made}
    unmade = {output.part.id: output.part for output in outputs if output.part.id not in made}
    busy = {output.recipe.name for output in outputs if output.steps}
    idle = [name for name in folders if name not in busy]
    more = f" and {len(idle) - _MOST_NAMED} more" if len(idle) > _MOST_NAMED else ""
    notes = left_out(unmade.values(), "no recipe does anything to it")
    return notes + ([f"perturbs nothing in this input: {', '.join(idle[:_MOST_NAMED])}{more}"] if idle else [])
