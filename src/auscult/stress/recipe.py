"""Recipes: several perturbations at once, in the order in which they arise, at a strength that may go up and down.

``sweep`` turns what a person writes into recipes, a ``preset`` draws one for each item, ``planned`` draws all that a
recipe leaves open for one item, and the plan renders it. So recipe and seed are a benchmark that two people build
alike.

Example::

    for recipe in sweep("vision", "fog,snow+jpeg_compression", "low,high"):
        plan = planned(recipe, seed=7, key="v1/f3", shot=ClipInfo(height=480, width=854))
        picture = plan.frame(frame, 0)

A plan is a recipe with everything drawn for one item, as JSON values (law 3). Read back, it renders the same bytes, in
any order and by any worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.errors import InputError, TooLarge, UnknownName, UsageError
from auscult.language.tokens import MOST_CHARACTERS
from auscult.record import codec
from auscult.rng import generator, pick
from auscult.stress.perturbation import MOST_SEED, Params, WordChange, kind_of, seed_from, strength_of
from auscult.stress.presets import Preset, drawn, preset
from auscult.stress.recipe_parts import (
    ORIGINS,
    PAPER,
    ROOMS,
    SCHEDULES,
    STATIC,
    Recipe,
    RecipeStep,
    Schedule,
    Strengths,
    full_name,
    load_stressors,
    room_of,
    schedule_of,
    sweep,
)
from auscult.stress.sentences.base import Edit, Edits, checked, chosen_edits, edited, followed, spans_of
from auscult.stress.sound.base import AudioInfo, MixingStressor, keeps_silence, opened, renders_blocks, silences
from auscult.stress.sound.base import rendered as sound_rendered
from auscult.stress.timing.base import (
    Numbers,
    Spans,
    Times,
    TimingInfo,
    heard_by,
    joined,
    numbers_of,
    retimed,
    spans_heard,
    unheard,
)
from auscult.stress.vision.base import MOST_FRAMES, ClipInfo, MovingStressor, frame_of
from auscult.types import Frame, Mask, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFormat:
    """A step as JSON."""

    name: Annotated[str, Meta(max_length=200)]  # the full registry name
    params: dict[str, Any]  # what was drawn; the stressor of that name reads it


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFormat:
    """A plan as JSON; the fields are those of ``Plan``."""

    recipe: Annotated[str, Meta(max_length=4_000)]
    schedule: Annotated[str, Meta(max_length=100)]
    seed: Annotated[int, Meta(ge=0, le=MOST_SEED)]
    shot: ClipInfo | None
    take: AudioInfo | None
    reel: TimingInfo | None
    text: Annotated[str, Meta(max_length=MOST_CHARACTERS)] | None
    steps: Annotated[tuple[StepFormat, ...], Meta(max_length=32)]


def in_turn(sentence: str, rounds: Iterable[Sequence[Edit]]) -> str:
    """The sentence after one list of edits after another; an InputError where one reaches past its end."""
    for edits in rounds:
        sentence = edited(sentence, edits)
    return sentence


def changes_of(sentence: str, rounds: Iterable[Sequence[Edit]]) -> tuple[WordChange, ...]:
    """What all rounds together did to the input sentence, in positions of that sentence.

    Follows each character from its first position; text between two kept characters was inserted, removed or replaced.
    """
    text, origins = sentence, list(range(len(sentence)))
    for edits in rounds:
        origins = _followed(origins, edits)
        text = edited(text, edits)
    changes, start, text_start = [], 0, 0
    stayed = [(index, origin) for index, origin in enumerate(origins) if origin >= 0]
    for index, origin in [*stayed, (len(text), len(sentence))]:
        before, after = sentence[start:origin], text[text_start:index]
        if before != after:  # one step may restore what another removed
            changes.append(WordChange(start=start, before=before, after=after))
        start, text_start = origin + 1, index + 1
    return tuple(changes)


def _followed(previous: Sequence[int], edits: Sequence[Edit]) -> list[int]:
    """For every character after the edits, its position in the input; -1 for an inserted one."""
    origins: list[int] = []
    position = 0
    for edit in edits:
        origins += [*previous[position : edit.start], *([-1] * len(edit.text))]
        position = edit.end
    return [*origins, *previous[position:]]


Drawn: TypeAlias = Params | Edits


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step, ready to render."""

    room: str  # of the stressor
    stressor: Any  # what renders it
    params: Any  # what was drawn
    strengths: Strengths | None  # of every frame under a schedule that moves; None where it is the same for all
    # for every frame of the output, the number of the frame that this step renders; None for the same
    shown: Numbers | None

    @property
    def acts(self) -> bool:
        """Whether it changes anything."""
        return bool(self.params.strength > 0.0)


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
    shot: ClipInfo | None
    take: AudioInfo | None
    reel: TimingInfo | None
    text: str | None
    steps: tuple[tuple[str, Drawn], ...]
    _parts: tuple[PlannedStep, ...] = field(init=False, repr=False, compare=False)
    # the number of the input frame that each output frame shows; None where timing is not perturbed
    _shown: Numbers | None = field(init=False, repr=False, compare=False)
    _types: NDArray[np.int64] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Load what renders the steps, and lay out the clip; an InputError where a step's input is missing."""
        self._check()
        parts, shown = self._laid_out()
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_shown", shown)
        object.__setattr__(self, "_types", self._drawn_types(len(self._of("vision"))))

    def __reduce__(self) -> tuple[Any, ...]:
        """Across a process boundary, only what was drawn."""
        return type(self).from_json, (self.as_json(),)

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "recipe": self.recipe,
            "schedule": self.schedule.name,
            "seed": self.seed,
            "shot": codec.to_json(self.shot),
            "take": codec.to_json(self.take),
            "reel": codec.to_json(self.reel),
            "text": self.text,
            "steps": [{"name": name, "params": params.as_json()} for name, params in self.steps],
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what ``as_json`` wrote; an InputError for no plan, or one of unregistered perturbations."""
        stored = codec.from_json(PlanFormat, value, error=InputError, exact=True)
        try:
            stressors, schedule = load_stressors(step.name for step in stored.steps), schedule_of(stored.schedule)
        except UnknownName as error:
            raise InputError(error.message, expected=error.expected, hint=error.hint) from error
        for name, stressor in stressors.items():
            if stressor.name != name:
                raise InputError(f"{name!r} is no full name", expected=f"{stressor.name}")
        kinds = {name: Edits if room_of(name) == "sentences" else item.params for name, item in stressors.items()}
        steps = tuple((step.name, kinds[step.name].from_json(step.params)) for step in stored.steps)
        same = {name: getattr(stored, name) for name in ("recipe", "seed", "shot", "take", "reel", "text")}
        return cls(**same, schedule=schedule, steps=steps)

    @property
    def moves(self) -> bool:
        """Whether pixels leave their places within a frame, so that masks must go through ``mask``."""
        return any(isinstance(part.stressor, MovingStressor) and part.acts for part in self._of("vision"))

    @property
    def retimes(self) -> bool:
        """Whether frames are shown at other times than their own."""
        return self._shown is not None and bool((self._shown != np.arange(self._shown.size)).any())

    @property
    def frames(self) -> tuple[int, ...] | None:
        """The number of the input frame that each output frame shows; None where timing is not perturbed."""
        return None if self._shown is None else tuple(self._shown.tolist())

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
        if self._shown is None:
            return ()
        times = np.asarray(times_s, dtype=np.float64)
        if times.shape != self._shown.shape or not np.isfinite(times).all() or (np.diff(times) < 0).any():
            expected = f"{self._shown.size}, one for each frame, finite, never falling"
            raise UsageError(f"times of {times.size} frames", expected=expected)
        return tuple((times[self._shown] - self._heard(times)).tolist())

    @property
    def silent_s(self) -> Spans:
        """Spans of the output's sound in which there is none, (start, end) in seconds.

        Only those that stay silent to the end: noise, an echo or a codec after a pause fills it. A filter's answer to
        what stood beside a span dies away within it.
        """
        if self.take is None:
            return ()
        duration_s = self.take.samples / self.take.rate_hz
        spans: list[tuple[float, float]] = []
        for index, part in enumerate(self._parts):
            if not part.acts:
                continue
            if part.room == "sound" and not keeps_silence(part.stressor):
                spans = []
            later = partial(self._heard, after=index)
            if part.room == "sound" and silences(part.stressor):
                spans += spans_heard(part.stressor.silent(part.params, self.take), later, duration_s=duration_s)
            if part.room == "timing":
                gaps = unheard(partial(heard_by, part.stressor, part.params), duration_s=duration_s)
                spans += spans_heard(gaps, later, duration_s=duration_s)
        return joined(spans)

    @property
    def words(self) -> tuple[WordChange, ...]:
        """What all steps together changed in the sentence."""
        return () if self.text is None else changes_of(self.text, self._rounds())

    def frame_number(self, index: int) -> int:
        """The number of the input frame that output frame ``index`` shows; a UsageError where there is none."""
        return index if self._shown is None else int(self._shown[_within(index, self._shown.size)])

    def frame(self, frame: Frame, index: int) -> Frame:
        """Render one frame; pure.

        Args:
            frame: Input frame ``frame_number(index)``, uint8 RGB (H, W, 3); never written to.
            index: Number of the output frame, from 0.

        Returns:
            A new array of the same shape.

        Raises:
            UsageError: The frame is invalid or of another size than was planned for, or ``index`` is out of range.
        """
        output = source = _frame(frame)
        for part, params, number in self._steps_at(index, source.shape[:2]):
            output = frame_of(part.stressor, output, params, index=number)
        return output if output is not source else source.copy()

    def mask(self, mask: Mask, index: int) -> Mask:
        """Where the pixels of a mask of input frame ``frame_number(index)`` went, bool (H, W), as of ``frame``."""
        output = source = _mask(mask)
        for part, params, number in self._steps_at(index, source.shape):
            if isinstance(part.stressor, MovingStressor) and params.strength > 0.0:
                output = part.stressor.move(output, params, index=number)
        return output if output is not source else source.copy()

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
        shape, output = np.shape(sound), opened(sound)
        del sound  # a long one takes hundreds of megabytes, which later steps need
        info = AudioInfo(samples=output.shape[1], channels=output.shape[0], rate_hz=rate_hz)
        if self.take is not None and info != self.take:
            raise UsageError(
                f"the sound is {_sound_text(info)}", expected=f"{_sound_text(self.take)}, as was planned for"
            )
        for part in self._parts:
            if part.room == "sound":
                other = noise if isinstance(part.stressor, MixingStressor) else None
                output = sound_rendered(part.stressor, output, part.params, rate_hz=rate_hz, noise=other)
            elif part.room == "timing" and part.acts:
                output = retimed(output, partial(heard_by, part.stressor, part.params), rate_hz=rate_hz)
        return output.reshape(shape)

    @property
    def in_blocks(self) -> bool:
        """Whether the sound can be rendered block by block: each step needs no more of it than that block."""
        sounding = [part for part in self._parts if part.room == "sound" and part.params.strength > 0.0]
        silent = not any(part.room == "timing" and part.acts for part in self._parts)
        return self.take is not None and silent and all(renders_blocks(part.stressor) for part in sounding)

    def sound_block(self, block: Samples, *, start: int) -> Samples:
        """Where ``in_blocks``, what ``sound`` makes of the samples from ``start`` on, float32 (channels, samples)."""
        for part in self._parts:
            if self.take is not None and part.room == "sound" and part.params.strength > 0.0:
                block = part.stressor.block(block, part.params, start=start, take=self.take)
        return block

    def sentence(self, text: str) -> str:
        """Render the sentence; a UsageError where it is another one than was planned for."""
        if self.text is not None and text != self.text:
            raise UsageError(f"the sentence is {text!r:.60}", expected=f"{self.text!r:.60}, as was planned for")
        return in_turn(text, self._rounds())

    def _laid_out(self) -> tuple[tuple[PlannedStep, ...], Numbers | None]:
        """The steps, and the number of the input frame that each output frame shows."""
        stressors = load_stressors(name for name, _ in self.steps)
        parts: list[PlannedStep] = []
        shown: Numbers | None = None
        for index, (name, params) in reversed(list(enumerate(self.steps))):
            stressor, room = stressors[name], room_of(name)
            is_vision = room == "vision"
            strengths = self._strengths(index, params.strength) if is_vision and self.schedule.moves else None
            parts.append(PlannedStep(room, stressor, params, strengths, shown if is_vision else None))
            if room == "timing" and self.reel is not None and isinstance(params, Params):
                numbers = numbers_of(stressor, params, self.reel)
                shown = numbers if shown is None else numbers[shown]
        return tuple(reversed(parts)), shown

    def _strengths(self, index: int, full: float) -> Strengths:
        """The strength of a step in every frame, under a schedule that moves."""
        frames = 1 if self.shot is None else self.shot.frames
        return self.schedule.strengths(full, seed=seed_from(generator(self.seed, "step", index)), frames=frames)

    def _of(self, room: str) -> list[PlannedStep]:
        return [part for part in self._parts if part.room == room]

    def _heard(self, times_s: Times, *, after: int = -1) -> Times:
        """The time in step ``after``'s output, by default in the input, of what is heard at each final time."""
        for part in reversed(self._parts[after + 1 :]):
            if part.room == "timing":
                times_s = heard_by(part.stressor, part.params, times_s)
        return times_s

    def _rounds(self) -> list[Any]:
        return [part.params.edits for part in self._of("sentences")]

    def _steps_at(self, index: int, size: tuple[int, ...]) -> Iterator[tuple[PlannedStep, Params, int]]:
        """The steps of the picture that act on a frame, each with its strength there and the frame's number for it."""
        parts = self._of("vision")
        if self.shot is not None and tuple(size) != (self.shot.height, self.shot.width):
            expected = f"{self.shot.height} x {self.shot.width}, as was planned for"
            raise UsageError(f"the frame is {' x '.join(map(str, size))}", expected=expected)
        if self._types is not None:
            parts = [parts[self._types[_within(self.frame_number(index), self._types.size)]]]
        for part in parts:
            number = index if part.shown is None else int(part.shown[_within(index, part.shown.size)])
            if part.strengths is None:
                yield part, part.params, number
            else:
                strength = float(part.strengths[_within(number, part.strengths.size)])
                yield part, replace(part.params, strength=strength), number

    def _drawn_types(self, count: int) -> NDArray[np.int64] | None:
        """Which step of the picture each frame takes, where they are alternatives."""
        if self.shot is None or count < 2 or not self.schedule.draws_types:
            return None
        return self.schedule.types(count, seed=self.seed, frames=self.shot.frames)

    def _check(self) -> None:
        needs = {"vision": self.shot, "sound": self.take, "sentences": self.text, "timing": self.reel}
        for name, params in self.steps:
            if needs[room_of(name)] is None:
                raise InputError(f"the plan holds {name}, but not the input it was drawn for")
            if isinstance(params, Edits) != (room_of(name) == "sentences"):
                raise InputError(f"the parameters of {name} are those of another room")
        if self.text is not None:
            in_turn(self.text, [params.edits for _, params in self.steps if isinstance(params, Edits)])
        frames = max(self.shot.frames if self.shot else 1, self.reel.frames if self.reel else 1)
        if frames > MOST_FRAMES:
            raise TooLarge(f"the clip has {frames} frames", expected=f"at most {MOST_FRAMES}")
        if self.shot is not None and self.reel is not None and self.shot.frames != self.reel.frames:
            raise InputError(f"the clip has {self.shot.frames} frames and {self.reel.frames}", expected="one number")


def _frame(frame: object) -> Frame:
    """A frame, C-contiguous, as stressors take it: another dtype or layout would give wrong pixels silently."""
    if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        raise UsageError(f"the frame is {kind_of(frame)}", expected="uint8 RGB (H, W, 3)")
    return np.ascontiguousarray(frame)


def _mask(mask: object) -> Mask:
    """A mask, C-contiguous."""
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.ndim != 2:
        raise UsageError(f"the mask is {kind_of(mask)}", expected="bool (H, W)")
    return np.ascontiguousarray(mask)


def _within(index: int, frames: int) -> int:
    if not 0 <= index < frames:
        raise UsageError(f"frame {index} of a clip that was planned for {frames}", expected=f"0 to {frames - 1}")
    return index


def _sound_text(take: AudioInfo) -> str:
    return f"{take.channels} x {take.samples} samples at {take.rate_hz} Hz"


_NEEDS = {"vision": "shot", "sound": "take", "sentences": "sentence", "timing": "reel or shot"}


def planned(
    recipe: Recipe,
    *,
    seed: int,
    key: str,
    shot: ClipInfo | None = None,
    take: AudioInfo | None = None,
    reel: TimingInfo | None = None,
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
        reel = TimingInfo(frames=shot.frames, rate_fps=shot.rate_fps)
    by_name = load_stressors(step.name for step in recipe.steps)
    recipe = replace(recipe, steps=tuple(replace(step, name=by_name[step.name].name) for step in recipe.steps))
    stressors = {stressor.name: stressor for stressor in by_name.values()}
    inputs = {"vision": shot, "sound": take, "sentences": sentence, "timing": reel}
    for step in recipe.steps:
        if inputs[step.room] is None:
            raise UsageError(f"recipe {recipe.name} holds {step.name}, and there is no {_NEEDS[step.room]}")
    rng = generator(seed, "recipe", recipe.schedule.name, key, *sorted(stressors))
    text = None if sentence is None else checked(sentence)
    kept = () if text is None else spans_of(text, keep, head=keep_head)
    steps: list[tuple[str, Drawn]] = []
    repeats: Counter[str] = Counter()
    for step in _ordered_steps(recipe, stressors, rng=rng):
        stressor, strength = stressors[step.name], strength_of(step.strength)
        repeat = (repeats[step.name],) if repeats[step.name] else ()  # the same perturbation a second time draws anew
        draws = generator(seed, "stress", step.name, key, *repeat)
        repeats[step.name] += 1
        if step.room != "vision":
            strength = recipe.schedule.whole(strength, rng)
        if text is not None and step.room == "sentences":
            edits = chosen_edits(stressor, draws, text, strength=strength, kept=kept)
            text, kept = edited(text, edits), followed(kept, edits)
            steps.append((step.name, Edits(strength=strength, edits=edits)))
        else:
            steps.append((step.name, stressor.choose(draws, inputs[step.room], strength=strength)))
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
    )


def _ordered_steps(recipe: Recipe, stressors: Mapping[str, Any], *, rng: np.random.Generator) -> list[RecipeStep]:
    """The steps to take, in order; where types are drawn, all of pictures and one of each other room."""
    steps = list(recipe.steps)
    if recipe.schedule.draws_types:
        steps = []
        for room in ROOMS:
            of_room = [step for step in recipe.steps if step.room == room]
            steps += of_room if room == "vision" or not of_room else [pick(rng, of_room)]
    ordered: list[RecipeStep] = []
    for origin in ORIGINS:
        members = [step for step in steps if stressors[step.name].meta.origin == origin]
        members.sort(key=lambda step: step.name)
        ordered += [members[index] for index in rng.permutation(len(members))]
    return ordered


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
