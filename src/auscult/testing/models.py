"""The laws of models under test: a prediction for every request, always the same, with the input left unchanged.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES)
    def test_contract(check, example):
        check("classical.flow.v1", EXAMPLES[example])

    @pytest.mark.parametrize("law", LAWS)
    def test_law(law):
        law("classical.flow.v1")
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult import registry
from auscult.errors import UsageError
from auscult.models.base import (
    CLASSES,
    GUIDANCE,
    MASK_TASKS,
    TASKS,
    Guidance,
    ModelTask,
    ReferringModel,
    WeightedModel,
    class_maps_of,
    masks_of,
)
from auscult.outcome import Failed
from auscult.record.digest import digest_bytes
from auscult.rng import generator
from auscult.testing import require
from auscult.types import Frames, Mask, Metadata, Query, Samples
from auscult.work import Task as Work
from auscult.work import run_tasks

SHAPE = (3, 36, 48)
RATE_HZ = 16_000
FRAME_S = 0.2
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelExample:
    """A request as a model gets it; references that a task does not use are left out of it.

    Attributes:
        frames: uint8 RGB (T, H, W, 3).
        text: The sentence.
        sound: As long as the clip.
        first_mask: The object in the first frame, bool (H, W).
        of: The references it is about: models that take another are not tested on it.
    """

    frames: Frames
    text: str
    sound: Samples
    first_mask: Mask
    of: tuple[Guidance, ...] = ("text", "mask", "sound")


def _disc(shape: tuple[int, int], centre: tuple[float, float], radius: float) -> Mask:
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    return (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 <= radius**2


def _example(shape: tuple[int, int, int], text: str = "the red ball that moves to the right") -> ModelExample:
    """A red disc that moves over a noisy ground beside a blue one that does not; a tone begins at half the time."""
    frames, height, width = shape
    rng = generator(0, "contract clip", *shape)
    clip = np.clip(rng.normal(110, 12, (*shape, 3)), 0, 255).astype(np.uint8)
    radius = min(height, width) / 6
    for number in range(frames):
        clip[number][_disc((height, width), (height * 0.7, width * 0.75), radius)] = (40, 60, 200)
        across = width * (0.2 + 0.3 * number / max(frames - 1, 1))
        clip[number][_disc((height, width), (height * 0.4, across), radius)] = (210, 40, 40)
    times = np.arange(round(frames * FRAME_S * RATE_HZ)) / RATE_HZ
    tone = 0.3 * np.sin(2 * np.pi * 440 * times) * (times >= times[-1] / 2)
    first = _disc((height, width), (height * 0.4, width * 0.2), radius)
    return ModelExample(frames=clip, text=text, sound=tone.astype(np.float32), first_mask=first)


def _examples() -> dict[str, ModelExample]:
    plain = _example(SHAPE)
    masked = replace(plain, of=("mask",))
    with_text = replace(plain, of=("text",))
    with_sound = replace(plain, of=("sound",))
    return {
        "clip": plain,
        "one frame": _example((1, *SHAPE[1:]), "the red ball on the left"),
        "two frames": _example((2, *SHAPE[1:])),
        "tiny frames": _example((3, 16, 16)),
        "odd size": _example((3, 37, 53)),
        "one pixel high": _example((2, 1, 40)),
        "black frames": replace(plain, frames=np.zeros_like(plain.frames)),
        "object fills the frame": replace(
            plain, frames=np.full_like(plain.frames, (210, 40, 40)), first_mask=np.ones(SHAPE[1:], bool)
        ),
        "empty first mask": replace(masked, first_mask=np.zeros(SHAPE[1:], bool)),
        "one pixel in the first mask": replace(masked, first_mask=_disc(SHAPE[1:], (20, 20), 0)),
        "nothing matches": replace(with_text, text="the third violet giraffe behind the piano"),
        "words of no language": replace(with_text, text="\u4e00 zzxq \u00df! 17 \u202e" + "very " * 100),
        "empty sentence": replace(with_text, text=""),
        "silence": replace(with_sound, sound=np.zeros_like(plain.sound)),
        "stereo": replace(with_sound, sound=np.stack([plain.sound, plain.sound[::-1]])),
        "hardly any sound": replace(with_sound, sound=plain.sound[:1]),
    }


EXAMPLES: Mapping[str, ModelExample] = _examples()
_REPEATED = ("clip", "one frame", "stereo")


def describes_itself(name: str) -> None:
    """It has its registry name, complete metadata and tasks there are; one that needs weights says what is missing."""
    model = registry.load("model", name)
    require(isinstance(model, ReferringModel | WeightedModel), "has name, meta, tasks and predict, or using")
    require(model.name == name, f"its name is {model.name!r}, the registry's {name!r}")
    require(isinstance(model.meta, Metadata), "meta is a Metadata")
    require(model.meta.summary and model.meta.goal and model.meta.source, "summary, goal and source are not empty")
    require(model.tasks and set(model.tasks) <= set(TASKS), f"tasks are some of {', '.join(TASKS)}")
    require(len(set(model.tasks)) == len(model.tasks), "no task twice")


def refuses_a_missing_folder(name: str) -> None:
    """A folder of weights that is not there, or that is empty, is a ``UsageError``."""
    model = registry.load("model", name)
    if not isinstance(model, WeightedModel):
        return
    with tempfile.TemporaryDirectory() as folder:
        for weights in (Path(folder) / "none", Path(folder)):
            refusal: UsageError | None = None
            try:
                model.using(weights)
            except UsageError as error:
                refusal = error
            require(refusal, "a folder without weights is a UsageError")
            require(refusal and (refusal.expected or refusal.hint), "it says what would have been right")


def answers_with_masks(name: str, example: ModelExample) -> None:
    """Every task gives masks of the clip's shape or probabilities; the input is unchanged."""
    arrays = (example.frames, example.sound, example.first_mask)
    before = [array.tobytes() for array in arrays]
    for task in _tasks(name, example):
        answer = _predicted(name, example, task)
        require(isinstance(answer, np.ndarray), f"{task}: an answer is an array, not {type(answer).__name__}")
        require([array.tobytes() for array in arrays] == before, f"{task}: what it was given is unchanged")
        require(not any(np.shares_memory(answer, array) for array in arrays), f"{task}: its answer is its own array")
        shape = _shape(example, task)
        if task in MASK_TASKS:
            masks_of(answer, shape=shape)
        else:
            class_maps_of(answer, shape=shape, classes=CLASSES)


def says_the_same_twice(name: str) -> None:
    """The same request gives the same prediction, whatever was requested in between."""
    questions = [(EXAMPLES[key], task) for key in _REPEATED for task in _tasks(name, EXAMPLES[key])]
    first = [_predicted(name, *question).copy() for question in questions]
    for question, answer in reversed([*zip(questions, first, strict=True)]):
        second = _predicted(name, *question)
        require(second.tobytes() == answer.tobytes(), f"{question[1]}: the same question, the same answer")


def says_the_same_elsewhere(name: str) -> None:
    """Another process gives the same answers."""
    tasks = [Work(key, key) for key in _REPEATED if _tasks(name, EXAMPLES[key])]
    for result in run_tasks(partial(_asker, name), tasks, workers=1, timeout_s=_LIMIT_S, stage="predict"):
        require(not isinstance(result.outcome, Failed), f"{result.key}: answers in another process: {result.outcome}")
        require(result.outcome == _digest(name, result.key), f"{result.key}: the same answer in another process")


CHECKS: tuple[Callable[[str, ModelExample], None], ...] = (answers_with_masks,)
LAWS: tuple[Callable[[str], None], ...] = (
    describes_itself,
    refuses_a_missing_folder,
    says_the_same_twice,
    says_the_same_elsewhere,
)


def _asker(name: str) -> Callable[[str], str]:
    return partial(_digest, name)


def _digest(name: str, key: str) -> str:
    example = EXAMPLES[key]
    return digest_bytes(b"".join(_predicted(name, example, task).tobytes() for task in _tasks(name, example)))


def _tasks(name: str, example: ModelExample) -> tuple[ModelTask, ...]:
    """The tasks of a registered model that an example fits; none where its weights are not installed."""
    model = registry.load("model", name)
    tasks = tuple(model.tasks) if isinstance(model, ReferringModel) else ()
    return tuple(task for task in tasks if not set(GUIDANCE[task]).isdisjoint(example.of))


def _predicted(name: str, example: ModelExample, task: ModelTask) -> NDArray[Any]:
    """Predict as a suite does: with the guidance of the task, and one frame for a photograph."""
    model: ReferringModel = registry.load("model", name)
    guidance = GUIDANCE[task]
    has_sound = "sound" in guidance
    return model.predict(
        _frames(example, task),
        Query(example.text if "text" in guidance else None),
        sound=example.sound if has_sound else None,
        rate_hz=RATE_HZ if has_sound else None,
        first_mask=example.first_mask if "mask" in guidance else None,
    )


def _frames(example: ModelExample, task: ModelTask) -> Frames:
    return example.frames[:1] if task == "ris" else example.frames


def _shape(example: ModelExample, task: ModelTask) -> tuple[int, int, int]:
    count, height, width, _ = _frames(example, task).shape
    return count, height, width
