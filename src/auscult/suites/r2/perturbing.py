"""A case under a condition: the input of a model, and its truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.jobs.predict import MediaReader
from auscult.models.base import ClassMaps, Request
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.stress.masks import stress
from auscult.stress.presets import preset
from auscult.stress.recipe import STATIC, Plan, Recipe, planned
from auscult.stress.recipe_parts import SCHEDULES, recipe_of
from auscult.stress.sound.base import AudioInfo
from auscult.stress.vision.base import ClipInfo
from auscult.suites.core.conditions import CLEAN, Condition
from auscult.suites.r2.cases import R2Case, target
from auscult.suites.r2.conditions import DIFFICULTY, FIRST_MASKS, MIXES
from auscult.types import Frame, Frames, Mask, MaskTarget, Query, Samples

_FULL: Final = 5.0
_SHARES: Final = MappingProxyType({"mix": (0.2, 0.4), "picture": (0.0, 1.0), "guidance": (0.0, 0.0)})
"""For each mix the share of cases with both perturbed, and with only the picture (the release: 20, 40, 40 %)."""


@dataclass(frozen=True)
class PerturbedCase:
    """A case under a condition; goes to a worker process, which reads the files."""

    case: R2Case
    condition: Condition  # what is done to it
    seed: int
    guidance: str  # the room of the task's reference

    def ask(self, reader: MediaReader) -> Request:
        """The request to the model."""
        case = self.case
        sound = None if case.sound is None else reader.sound(case.sound)
        plan = self.plan(self._heard_by(reader))
        text = case.query.text
        return Request(
            id=case.id,
            condition=self.condition.name,
            names=case.names,
            size=case.size,
            query=case.query if plan is None or plan.text is None or text is None else Query(plan.sentence(text)),
            frames=lambda: self._frames(reader, plan),
            sound=None if sound is None else _heard(plan, sound.samples, sound.rate_hz),
            rate_hz=None if sound is None else sound.rate_hz,
            first_mask=self._first(plan) if case.first else None,
            classes=case.classes,
        )

    def frames(self, reader: MediaReader) -> Frames:
        """The frames for a model, uint8 RGB (T, H, W, 3)."""
        return self._frames(reader, self.plan(self._heard_by(reader)))

    def truths(self, masks: Sequence[Mask | ClassMaps | None]) -> list[Mask | ClassMaps | None]:
        """The true mask of every frame as shown: warped and reordered like the frames.

        A perturbation that moves pixels or frames is alone in its recipe, so that no draw depends on the sound.
        """
        plan = self.plan(None)
        if plan is None or not (plan.moves or plan.retimes):
            return list(masks)
        moved: list[Mask | ClassMaps | None] = []
        for index in range(len(masks)):
            mask = masks[plan.frame_number(index)]
            moved.append(_moved(plan, mask, index) if mask is not None and self._acts(index) else mask)
        return moved

    def plan(self, audio: AudioInfo | None) -> Plan | None:
        """The plan of all draws for this case; ``audio`` is None for the truth. None without perturbation."""
        recipe = self.recipe
        if recipe is None:
            return None
        if audio is None:
            recipe = replace(recipe, steps=tuple(step for step in recipe.steps if step.room != "sound"))
        if not recipe.steps:
            return None
        case = self.case
        return planned(
            recipe,
            seed=self.seed,
            key=case.id,
            shot=ClipInfo(height=case.size[0], width=case.size[1], frames=len(case.frames), rate_fps=case.rate_fps),
            take=audio,
            sentence=case.query.text,
        )

    @cached_property
    def recipe(self) -> Recipe | None:
        """The perturbations of frames, sound or sentence; None for clean cases and for defects of first masks."""
        group, strength = self.condition.group, self.condition.strength
        if group == CLEAN or group.startswith("masks.") or (group == "guidance" and self.guidance == "masks"):
            return None
        if group in MIXES:
            return _mixed(group, self._reference(), strength=strength, seed=self.seed, key=self.case.id)
        schedule = STATIC if strength is not None else SCHEDULES["r2bench"]
        return recipe_of([group], _FULL if strength is None else strength, schedule=schedule)

    def _reference(self) -> str:
        """The room of the perturbed reference; drawn if the reference is a sentence and the sound."""
        if self.guidance != "sentences" or self.case.sound is None:
            return self.guidance
        return ("sentences", "sound")[int(generator(self.seed, "r2", "reference", self.case.id).integers(2))]

    def _heard_by(self, reader: MediaReader) -> AudioInfo | None:
        if self.case.sound is None:
            return None
        sound = reader.sound(self.case.sound)
        return _audio_info(sound.samples, sound.rate_hz)

    def _acts(self, index: int) -> bool:
        part = self.condition.part
        return part == "all" or (part == "first") == (index == 0)

    def _frames(self, reader: MediaReader, plan: Plan | None) -> Frames:
        clip = reader.frames(self.case.frames, self.case.size)
        if plan is None or (plan.shot is None and not plan.retimes):
            return clip.copy()
        frames = np.empty_like(clip)
        for index in range(len(clip)):
            frame: Frame = clip[plan.frame_number(index)]
            frames[index] = plan.frame(frame, index) if plan.shot is not None and self._acts(index) else frame
        return frames

    def _first(self, plan: Plan | None) -> Mask:
        mask = target(self.case, 0)
        if mask is None:  # should not happen: a case starts at a frame that shows the object
            raise InputError("the first frame has no true mask", path=self.case.frames[0])
        if plan is not None and plan.moves and self._acts(0):
            mask = plan.mask(mask, 0)
        return self._spoiled(mask)[0]

    def first_kind(self) -> str:
        """The kind of defect of the first mask; empty for none."""
        mask = target(self.case, 0) if self.case.first else None
        return "" if mask is None else self._spoiled(mask)[1]

    def _first_kinds(self) -> tuple[str, ...]:
        """The kinds of defect to try on the first mask, in order."""
        group = self.condition.group
        if group.startswith("masks."):
            return (group,)
        if group != "guidance" or self.guidance != "masks":
            return ()
        order = generator(self.seed, "r2", "first_mask", self.case.id).permutation(len(FIRST_MASKS))
        return tuple(FIRST_MASKS[index] for index in order)

    def _spoiled(self, mask: Mask) -> tuple[Mask, str]:
        """The mask with the first defect that the object's shape allows, and its kind."""
        kinds = self._first_kinds()
        if not kinds:
            return mask, ""
        for kind in kinds:
            outcome = stress(
                kind,
                MaskTarget(mask=mask),
                difficulty="hard" if DIFFICULTY[self.condition.level] == "hard" else "medium",
                seed=self.seed,
                key=self.case.id,
            )
            if isinstance(outcome, Scored):
                return outcome.value.output, kind
        raise InputError(
            "the object in the first frame is too small to spoil its mask so",
            expected=f"an object that allows {' or '.join(kinds)} at {self.condition.level}",
            path=self.case.frames[0],
        )


def _moved(plan: Plan, mask: NDArray[Any], index: int) -> Mask | ClassMaps:
    """A true mask with its pixels moved; a class map class by class."""
    if mask.dtype == np.bool_:
        return plan.mask(mask, index)
    moved = np.zeros_like(mask)
    for number in np.unique(mask).tolist():
        if number:
            moved[plan.mask(mask == number, index)] = number
    return moved


def _mixed(group: str, guidance: str, *, strength: float | None, seed: int, key: str) -> Recipe:
    """The release's mix over the paper's kinds, or only its picture or guidance part."""
    both, alone = _SHARES[group]
    mix = replace(preset("paper"), both=both, picture_only=alone)
    if strength is not None:
        mix = replace(mix, schedule=STATIC)
    room = None if guidance == "masks" or group == "picture" else guidance
    return mix.recipe(seed=seed, key=key, guidance=room, severity=_FULL if strength is None else strength)


def _audio_info(samples: Samples, rate_hz: int) -> AudioInfo:
    channels, count = (1, samples.shape[0]) if samples.ndim == 1 else samples.shape
    return AudioInfo(samples=count, channels=channels, rate_hz=rate_hz)


def _heard(plan: Plan | None, samples: Samples, rate_hz: int) -> Samples:
    """The perturbed sound, clipped at full scale as in a file."""
    if plan is None or plan.take is None:
        return samples.copy()
    return np.clip(plan.sound(samples, rate_hz), -1.0, 1.0)
