"""The steps of a plan, laid out over its clip: how strong each is in a frame, which frame it renders, what is heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from auscult.errors import UsageError
from auscult.rng import generator
from auscult.stress.params import Params, seed_from
from auscult.stress.recipe_parts import room_of
from auscult.stress.schedule import Schedule, Strengths
from auscult.stress.sentences.base import Edits
from auscult.stress.sound.base import Take, keeps_silence, silences
from auscult.stress.timing.base import Numbers, Reel, Times
from auscult.stress.timing.hearing import Spans, joined, spans_heard, unheard
from auscult.stress.timing.making import heard_by, numbers_of
from auscult.stress.vision.base import Shot

Drawn: TypeAlias = Params | Edits


@dataclass(frozen=True, slots=True)
class Part:
    """One step, ready to render.

    Attributes:
        room: Of the stressor.
        stressor: What renders it.
        params: What was drawn.
        strengths: Of every frame under a schedule that moves; None where it is the same for all.
        shown: For every frame of the output, the number of the frame that this step renders; None for the same.
    """

    room: str
    stressor: Any
    params: Any
    strengths: Strengths | None
    shown: Numbers | None

    @property
    def acts(self) -> bool:
        """Whether it changes anything."""
        return bool(self.params.strength > 0.0)


@dataclass(frozen=True, slots=True)
class Layout:
    """All steps, in the order in which they are applied.

    Attributes:
        parts: The steps.
        shown: The number of the input frame that each output frame shows; None where timing is not perturbed.
    """

    parts: tuple[Part, ...]
    shown: Numbers | None

    @classmethod
    def over(
        cls,
        steps: Sequence[tuple[str, Drawn]],
        crew: Mapping[str, Any],
        *,
        strengths: Mapping[int, Strengths],
        reel: Reel | None,
    ) -> Layout:
        """Lay out steps.

        Args:
            steps: Full name and parameters of each.
            crew: What carries them out, by full name.
            strengths: Of every frame, for those steps of which they change.
            reel: The video's timing, for steps of timing.
        """
        parts: list[Part] = []
        shown: Numbers | None = None
        for at, (name, params) in reversed(list(enumerate(steps))):
            stressor, room = crew[name], room_of(name)
            parts.append(Part(room, stressor, params, strengths.get(at), shown if room == "vision" else None))
            if room == "timing" and reel is not None and isinstance(params, Params):
                numbers = numbers_of(stressor, params, reel)
                shown = numbers if shown is None else numbers[shown]
        return cls(tuple(reversed(parts)), shown)

    def of(self, room: str) -> list[Part]:
        """The steps of one room."""
        return [part for part in self.parts if part.room == room]

    def heard(self, times_s: Times, *, after: int = -1) -> Times:
        """The time of what leaves step ``after`` that is heard at each time of the output; of the input by default."""
        for part in reversed(self.parts[after + 1 :]):
            if part.room == "timing":
                times_s = heard_by(part.stressor, part.params, times_s)
        return times_s

    def lag(self, times_s: Sequence[float] | Times) -> tuple[float, ...]:
        """How much later than its picture the sound at each output frame is; empty where timing is not perturbed.

        Raises:
            UsageError: There is not one rising, finite time for each frame.
        """
        if self.shown is None:
            return ()
        times = np.asarray(times_s, dtype=np.float64)
        if times.shape != self.shown.shape or not np.isfinite(times).all() or (np.diff(times) < 0).any():
            wanted = f"{self.shown.size}, one for each frame, finite, never falling"
            raise UsageError(f"times of {times.size} frames", expected=wanted)
        return tuple((times[self.shown] - self.heard(times)).tolist())

    def silent(self, take: Take) -> Spans:
        """Spans of the output's sound in which there is none, (start, end) in seconds.

        A span that a later step fills, with noise, an echo or the traces of a codec, is silent no more and left out.
        """
        duration_s = take.samples / take.rate_hz
        found: list[tuple[float, float]] = []
        for at, part in enumerate(self.parts):
            if not part.acts:
                continue
            if part.room == "sound" and not keeps_silence(part.stressor):
                found = []
            later = partial(self.heard, after=at)
            if part.room == "sound" and silences(part.stressor):
                found += spans_heard(part.stressor.silent(part.params, take), later, duration_s=duration_s)
            if part.room == "timing":
                own = unheard(partial(heard_by, part.stressor, part.params), duration_s=duration_s)
                found += spans_heard(own, later, duration_s=duration_s)
        return joined(found)


def strengths_of(
    steps: Sequence[tuple[str, Drawn]], schedule: Schedule, *, seed: int, shot: Shot | None
) -> dict[int, Strengths]:
    """The strength of every frame, for each step of the picture under a schedule that moves, by the step's place."""
    frames = 1 if shot is None else shot.frames
    return {
        at: schedule.strengths(params.strength, seed=seed_from(generator(seed, "step", at)), frames=frames)
        for at, (name, params) in enumerate(steps)
        if schedule.moves and room_of(name) == "vision"
    }
