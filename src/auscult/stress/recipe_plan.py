"""A plan: a recipe with everything drawn for one item, ready to render (law 3).

A plan is JSON values. Read back, it renders the same bytes, in any order and by any worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, TooLarge, UsageError
from auscult.stress import recipe_json
from auscult.stress.effect import WordChange
from auscult.stress.params import Params
from auscult.stress.recipe_layout import Drawn, Layout, Part, strengths_of
from auscult.stress.recipe_parts import crew_of, room_of
from auscult.stress.recipe_text import changes_of, in_turn
from auscult.stress.schedule import Schedule
from auscult.stress.sentences.base import Edits
from auscult.stress.sound.base import MixingStressor, Take
from auscult.stress.sound.making import opened
from auscult.stress.sound.making import rendered as sound_rendered
from auscult.stress.timing.base import Reel, Times
from auscult.stress.timing.hearing import Spans, retimed
from auscult.stress.timing.making import heard_by
from auscult.stress.vision.base import MovingStressor, Shot
from auscult.stress.vision.making import at_strength, frame_of
from auscult.types import Frame, Mask, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A recipe with all draws, for one item.

    Frames have two numbers where timing is perturbed: output frame ``index`` shows input frame
    ``frame_number(index)``. So an item is rendered by ``plan.frame(frames[plan.frame_number(i)], i)`` for every i;
    frame numbers never fall, so that a video can be read as a stream.

    Attributes:
        recipe: The recipe's name.
        schedule: How strength goes through the clip.
        seed: What the schedule's draws follow from.
        shot: The picture or clip it was drawn for; None where no picture is perturbed.
        take: The sound; None where there is none.
        reel: The video's timing; None where it is not perturbed.
        text: The sentence; None where none is perturbed.
        steps: Full name and parameters of every step, in the order in which they are applied.
    """

    recipe: str
    schedule: Schedule
    seed: int
    shot: Shot | None
    take: Take | None
    reel: Reel | None
    text: str | None
    steps: tuple[tuple[str, Drawn], ...]
    crew: InitVar[Mapping[str, Any] | None] = None
    _layout: Layout = field(init=False, repr=False, compare=False)
    _types: NDArray[np.int64] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self, crew: Mapping[str, Any] | None) -> None:
        """Load what renders the steps, unless the caller has, and lay out the clip.

        Raises:
            InputError: Steps lack what they were drawn for, or edits do not fit their sentence.
            UsageError: A stressor cannot be loaded.
        """
        self._whole()
        crew = crew or crew_of(name for name, _ in self.steps)
        strengths = strengths_of(self.steps, self.schedule, seed=self.seed, shot=self.shot)
        layout = Layout.over(self.steps, crew, strengths=strengths, reel=self.reel)
        object.__setattr__(self, "_layout", layout)
        object.__setattr__(self, "_types", self._drawn_types(len(layout.of("vision"))))

    def __reduce__(self) -> tuple[Any, ...]:
        """Across a process boundary, only what was drawn."""
        return type(self).from_json, (self.as_json(),)

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "recipe": self.recipe,
            "schedule": self.schedule.name,
            "seed": self.seed,
            "shot": None if self.shot is None else asdict(self.shot),
            "take": None if self.take is None else asdict(self.take),
            "reel": None if self.reel is None else asdict(self.reel),
            "text": self.text,
            "steps": [{"name": name, "params": params.as_json()} for name, params in self.steps],
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: It is no plan, or one of other perturbations than are registered.
        """
        return cls(**recipe_json.read(value))

    @property
    def moves(self) -> bool:
        """Whether pixels leave their places within a frame, so that masks must go through ``mask``."""
        return any(isinstance(part.stressor, MovingStressor) and part.acts for part in self._layout.of("vision"))

    @property
    def retimes(self) -> bool:
        """Whether frames are shown at other times than their own."""
        shown = self._layout.shown
        return shown is not None and bool((shown != np.arange(shown.size)).any())

    @property
    def frames(self) -> tuple[int, ...] | None:
        """The number of the input frame that each output frame shows; None where timing is not perturbed."""
        return None if self._layout.shown is None else tuple(self._layout.shown.tolist())

    @property
    def offset_s(self) -> tuple[float, ...]:
        """As ``lag``, for frames at even times; empty without timing steps."""
        return () if self.reel is None else self.lag(np.arange(self.reel.frames) / self.reel.rate_fps)

    def lag(self, times_s: Sequence[float] | Times) -> tuple[float, ...]:
        """How much later than its picture the sound at each output frame is, in seconds.

        Args:
            times_s: When each frame of the input is shown, in seconds; frames of the output are shown at these times
                as well. Those of a video of variable rate are uneven.

        Returns:
            A lag for each frame; empty without timing steps.

        Raises:
            UsageError: There is not one time for each frame, or times fall.
        """
        return self._layout.lag(times_s)

    @property
    def silent_s(self) -> Spans:
        """Spans of the output's sound in which there is none, (start, end) in seconds.

        Only those that stay silent to the end: noise, an echo or a codec after a pause fills it. A filter's answer to
        what stood beside a span dies away within it.
        """
        return () if self.take is None else self._layout.silent(self.take)

    @property
    def words(self) -> tuple[WordChange, ...]:
        """What all steps together changed in the sentence."""
        return () if self.text is None else changes_of(self.text, self._rounds())

    def frame_number(self, index: int) -> int:
        """The number of the input frame that output frame ``index`` shows.

        Raises:
            UsageError: The clip that was planned for has no such frame.
        """
        shown = self._layout.shown
        return index if shown is None else int(shown[_within(index, shown.size)])

    def frame(self, frame: Frame, index: int) -> Frame:
        """Render one frame; pure.

        Args:
            frame: Input frame ``frame_number(index)``, uint8 RGB (H, W, 3); never written to.
            index: Number of the output frame, from 0.

        Returns:
            A new array of the same shape.

        Raises:
            UsageError: It is no such frame, of another size than was planned for, or the clip has none of that number.
        """
        made = given = _frame(frame)
        for part, params, at in self._at(index, given.shape[:2]):
            made = frame_of(part.stressor, made, params, index=at)
        return made if made is not given else given.copy()

    def mask(self, mask: Mask, index: int) -> Mask:
        """Where the pixels of a mask of input frame ``frame_number(index)`` went, bool (H, W).

        Raises:
            UsageError: It is no such mask, of another size than was planned for, or the clip has no such frame.
        """
        made = given = _mask(mask)
        for part, params, at in self._at(index, given.shape):
            if isinstance(part.stressor, MovingStressor) and params.strength > 0.0:
                made = part.stressor.move(made, params, index=at)
        return made if made is not given else given.copy()

    def sound(self, sound: Samples, rate_hz: int, *, noise: Samples | None = None) -> Samples:
        """Render the sound.

        Args:
            sound: (channels, samples) or (samples,), as ``stress.sound`` takes it.
            rate_hz: Samples per second.
            noise: Another sound at the same rate, for the step that mixes one in; it makes its own otherwise.

        Returns:
            A new float32 array of the same shape. It may leave [-1, 1].

        Raises:
            UsageError: The sound is of another length, rate or number of channels than was planned for.
        """
        made = opened(sound)
        found = Take(samples=made.shape[1], channels=made.shape[0], rate_hz=rate_hz)
        if self.take is not None and found != self.take:
            raise UsageError(f"the sound is {_told(found)}", expected=f"{_told(self.take)}, as was planned for")
        for part in self._layout.parts:
            if part.room == "sound":
                other = noise if isinstance(part.stressor, MixingStressor) else None
                made = sound_rendered(part.stressor, made, part.params, rate_hz=rate_hz, noise=other)
            elif part.room == "timing" and part.acts:
                made = retimed(made, partial(heard_by, part.stressor, part.params), rate_hz=rate_hz)
        return made.reshape(np.shape(sound))

    def sentence(self, text: str) -> str:
        """Render the sentence.

        Raises:
            UsageError: It is another one than was planned for.
        """
        if self.text is not None and text != self.text:
            raise UsageError(f"the sentence is {text!r:.60}", expected=f"{self.text!r:.60}, as was planned for")
        return in_turn(text, self._rounds())

    def _rounds(self) -> list[Any]:
        return [part.params.edits for part in self._layout.of("sentences")]

    def _at(self, index: int, size: tuple[int, ...]) -> Iterator[tuple[Part, Params, int]]:
        """The steps of the picture that act on a frame, each with its strength there and the frame's number for it."""
        parts = self._layout.of("vision")
        if self.shot is not None and tuple(size) != (self.shot.height, self.shot.width):
            told = f"{self.shot.height} x {self.shot.width}, as was planned for"
            raise UsageError(f"the frame is {' x '.join(map(str, size))}", expected=told)
        if self._types is not None:
            parts = [parts[self._types[_within(self.frame_number(index), self._types.size)]]]
        for part in parts:
            at = index if part.shown is None else int(part.shown[_within(index, part.shown.size)])
            if part.strengths is None:
                yield part, part.params, at
            else:
                yield part, at_strength(part.params, float(part.strengths[_within(at, part.strengths.size)])), at

    def _drawn_types(self, count: int) -> NDArray[np.int64] | None:
        """Which step of the picture each frame takes, where they are alternatives."""
        if self.shot is None or count < 2 or not self.schedule.draws_types:
            return None
        return self.schedule.types(count, seed=self.seed, frames=self.shot.frames)

    def _whole(self) -> None:
        needs = {"vision": self.shot, "sound": self.take, "sentences": self.text, "timing": self.reel}
        for name, params in self.steps:
            if needs[room_of(name)] is None:
                raise InputError(f"the plan holds {name}, and nothing that it was drawn for")
            if isinstance(params, Edits) != (room_of(name) == "sentences"):
                raise InputError(f"the parameters of {name} are those of another room")
        if self.text is not None:
            in_turn(self.text, [params.edits for _, params in self.steps if isinstance(params, Edits)])
        most = max(self.shot.frames if self.shot else 1, self.reel.frames if self.reel else 1)
        if most > recipe_json.MOST_FRAMES:
            raise TooLarge(f"the clip has {most} frames", expected=f"at most {recipe_json.MOST_FRAMES}")
        if self.shot is not None and self.reel is not None and self.shot.frames != self.reel.frames:
            raise InputError(f"the clip has {self.shot.frames} frames and {self.reel.frames}", expected="one number")


def _frame(frame: object) -> Frame:
    """A frame, C-contiguous, as stressors take it: what is of another type or turned would come out wrong unnoticed."""
    if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        told = f"{frame.dtype} {frame.shape}" if isinstance(frame, np.ndarray) else type(frame).__name__
        raise UsageError(f"the frame is {told}", expected="uint8 RGB (H, W, 3)")
    return np.ascontiguousarray(frame)


def _mask(mask: object) -> Mask:
    """A mask, C-contiguous."""
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.ndim != 2:
        told = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise UsageError(f"the mask is {told}", expected="bool (H, W)")
    return np.ascontiguousarray(mask)


def _within(index: int, frames: int) -> int:
    if not 0 <= index < frames:
        raise UsageError(f"frame {index} of a clip that was planned for {frames}", expected=f"0 to {frames - 1}")
    return index


def _told(take: Take) -> str:
    return f"{take.channels} x {take.samples} samples at {take.rate_hz} Hz"
