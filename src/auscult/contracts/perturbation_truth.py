"""Law 4 of perturbations: what is told of masks, silence, frames and words is what was done."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from auscult import registry
from auscult.contracts import require
from auscult.contracts.perturbation_examples import RATE_HZ, perturbed, room_of
from auscult.stress.sound.base import keeps_silence
from auscult.stress.vision.base import MovingStressor
from auscult.types import Mask


def tells_the_truth(name: str, example: Any) -> None:
    """Masks stay bool and of their shape, told silence is silent, told frames are shown, told words make the text."""
    checks = {"vision": _of_a_picture, "sound": _of_a_sound, "sentences": _of_a_sentence, "timing": _of_a_film}
    checks[room_of(name)](name, example)


def _of_a_picture(name: str, example: Any) -> None:
    shape = example.shape[:3] if example.ndim == 4 else example.shape[:2]
    stressor, masks = registry.load("stressor", name), _masks(shape)
    for severity in (1, 5):
        params = stressor.params.from_json(perturbed(name, example, severity=severity).params)
        for mask in masks if isinstance(stressor, MovingStressor) else ():
            frame = mask.reshape(-1, *shape[-2:])[0]
            before = frame.tobytes()
            moved: object = stressor.move(frame, params)
            fits = isinstance(moved, np.ndarray) and moved.dtype == np.bool_ and moved.shape == frame.shape
            require(fits, f"a moved mask is bool {frame.shape}")
            require(frame.tobytes() == before, "move leaves the mask that it is given alone")
        told = perturbed(name, example, severity=severity, masks=masks).truth.masks
        if not isinstance(stressor, MovingStressor):
            require(all(np.array_equal(*pair) for pair in zip(told, masks, strict=True)), "masks stay where they were")


def _of_a_sound(name: str, example: Any) -> None:
    stressor = registry.load("stressor", name)
    made = perturbed(name, example)
    _is_silent(made.output, made.truth.silent_s)
    if keeps_silence(stressor):
        nothing = np.zeros_like(example)
        require(not perturbed(name, nothing).output.any(), "silence stays silence, as keeps_silence says")


def _of_a_sentence(name: str, example: Any) -> None:
    made = perturbed(name, example)
    text, at = "", 0
    for word in made.truth.words:
        require(example[word.start :].startswith(word.before), f"{word.before!r} stands where it is told")
        text += example[at : word.start] + word.after
        at = word.start + len(word.before)
    require(text + example[at:] == made.output, "the changes that are told make the sentence")


def _of_a_film(name: str, example: Any) -> None:
    masks = _masks(example.clip.shape[:3])
    made = perturbed(name, example, masks=masks)
    shown = list(made.truth.frames)
    require(np.array_equal(made.output.clip, example.clip[shown]), "the frames that are told are shown")
    pairs = zip(made.truth.masks, masks, strict=True)
    require(all(np.array_equal(after, before[shown]) for after, before in pairs), "masks follow their frames")
    require(len(made.truth.offset_s) == len(shown) and np.isfinite(made.truth.offset_s).all(), "a lag for each frame")
    if example.sound is not None:
        _is_silent(made.output.sound, made.truth.silent_s)


def _masks(shape: tuple[int, ...]) -> list[Mask]:
    """An object, everything, and nothing."""
    found = [np.zeros(shape, dtype=np.bool_), np.ones(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)]
    height, width = shape[-2:]
    found[0][..., height // 4 : height // 2 + 1, width // 4 : width // 2 + 1] = True
    return found


def _is_silent(sound: Any, spans: Iterable[tuple[float, float]]) -> None:
    samples = sound.shape[-1]
    for start, end in spans:
        require(0.0 <= start <= end <= samples / RATE_HZ, f"silence from {start} to {end} s lies in the sound")
        within = sound[..., math.ceil(start * RATE_HZ) + 1 : math.floor(end * RATE_HZ)]
        require(not within.any(), f"it is silent from {start} to {end} s")
