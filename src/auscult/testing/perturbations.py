"""The laws of perturbations: purity, replay from JSON, nothing at strength 0, and the truth of what was done.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES["vision"])
    def test_contract(check, example):
        check("vision.fog.v1", EXAMPLES["vision"][example])
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from auscult import registry
from auscult.rng import generator
from auscult.stress import sentences, sound, timing, vision
from auscult.stress.perturbation import STRONGEST, monotone
from auscult.stress.recipe_parts import ORIGINS, room_of
from auscult.stress.sound.base import keeps_silence
from auscult.stress.timing.base import Footage
from auscult.stress.vision.base import MovingStressor
from auscult.testing import require, require_described
from auscult.types import Mask, Stressed

RATE_HZ: Final = 16_000
RATE_FPS: Final = 25.0


def _picture(height: int, width: int) -> Any:
    rows, columns = np.mgrid[:height, :width]
    picture = np.stack([rows * 255 // height, columns * 255 // width, (rows + columns) % 256], axis=-1).astype(np.uint8)
    picture[height // 4 : height // 2, width // 4 : width // 2] = (200, 40, 60)
    picture.setflags(write=False)
    return picture


def _tone(channels: int, samples: int) -> Any:
    times = np.arange(samples) / RATE_HZ
    tone = 0.4 * np.sin(2 * np.pi * 440 * times) + 0.1 * generator(0, "contract", "tone").standard_normal(samples)
    tones = np.stack([tone * (1 - 0.2 * channel) for channel in range(channels)]).astype(np.float32)
    tones.setflags(write=False)
    return tones


def _film(frames: int, *, channels: int) -> Footage:
    """Frames that differ, with as much sound as they last; none where there are no channels."""
    clip = np.stack([np.roll(_picture(24, 32), 3 * index, axis=1) for index in range(frames)])
    clip.setflags(write=False)
    return Footage(clip=clip, sound=_tone(channels, round(frames * RATE_HZ / RATE_FPS)) if channels else None)


EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "vision": {
        "picture": _picture(96, 128),
        "odd size": _picture(37, 53),
        "clip": np.stack([_picture(48, 64)] * 3),
        "one pixel": _picture(1, 1),
    },
    "sound": {"mono": _tone(1, 12_000)[0], "stereo": _tone(2, 9_001), "one sample": _tone(1, 1)[0]},
    "sentences": {
        "plain": "the small dog that barks after the horn",
        "marked": "Which of the two men, on the left, is singing?",
        "other script": "собака, которая лает 🐕",
        "one letter": "a",
    },
    "timing": {
        "film": _film(30, channels=2),
        "silent film": _film(30, channels=0),
        "one frame": _film(1, channels=1),
    },
}


def perturbed(name: str, example: Any, **options: Any) -> Stressed[Any, Any]:
    """Perturb an example by a stressor of whichever room, with the options of that room's ``perturb``."""
    room = room_of(name)
    if room == "vision":
        return vision.perturb(name, example, **options)
    if room == "sound":
        return sound.perturb(name, example, rate_hz=RATE_HZ, **options)
    if room == "timing":
        return timing.perturb(name, example.clip, example.sound, rate_fps=RATE_FPS, rate_hz=RATE_HZ, **options)
    return sentences.perturb(name, example, **options)


def replayed(name: str, example: Any, params: Mapping[str, Any]) -> Any:
    """Render an example from parameters, by a stressor of whichever room."""
    room = room_of(name)
    if room == "vision":
        return vision.render(name, example, params)
    if room == "sound":
        return sound.render(name, example, params, rate_hz=RATE_HZ)
    if room == "timing":
        clip, samples = example.clip, example.sound
        return timing.render(name, clip, samples, params_json=params, rate_fps=RATE_FPS, rate_hz=RATE_HZ)
    return sentences.render(name, example, params)


def arrays_of(value: Any) -> tuple[Any, ...]:
    """The arrays that a picture, a sound or a film is; none for a sentence."""
    if isinstance(value, Footage):
        return (value.clip,) if value.sound is None else (value.clip, value.sound)
    return () if isinstance(value, str) else (value,)


def bytes_of(value: Any) -> tuple[bytes, ...]:
    """What makes two examples the same."""
    return (value.encode("utf-8", "surrogatepass"),) if isinstance(value, str) else tuple(
        array.tobytes() for array in arrays_of(value)
    )  # fmt: skip


def tells_the_truth(name: str, example: Any) -> None:
    """Masks stay bool and of their shape; the reported silence, frames and word changes are those of the output."""
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
        after = perturbed(name, example, severity=severity, masks=masks).truth.masks
        if not isinstance(stressor, MovingStressor):
            require(all(np.array_equal(*pair) for pair in zip(after, masks, strict=True)), "masks stay where they were")


def _of_a_sound(name: str, example: Any) -> None:
    stressor = registry.load("stressor", name)
    result = perturbed(name, example)
    _is_silent(result.output, result.truth.silent_s)
    if keeps_silence(stressor):
        nothing = np.zeros_like(example)
        require(not perturbed(name, nothing).output.any(), "silence stays silence, as keeps_silence says")


def _of_a_sentence(name: str, example: Any) -> None:
    result = perturbed(name, example)
    text, position = "", 0
    for word in result.truth.words:
        require(example[word.start :].startswith(word.before), f"{word.before!r} stands where the reported change says")
        text += example[position : word.start] + word.after
        position = word.start + len(word.before)
    require(text + example[position:] == result.output, "the reported changes make the sentence")


def _of_a_film(name: str, example: Any) -> None:
    masks = _masks(example.clip.shape[:3])
    result = perturbed(name, example, masks=masks)
    indices = list(result.truth.frames)
    require(np.array_equal(result.output.clip, example.clip[indices]), "the reported frames are shown")
    pairs = zip(result.truth.masks, masks, strict=True)
    require(all(np.array_equal(after, before[indices]) for after, before in pairs), "masks follow their frames")
    lags_s = result.truth.offset_s
    require(len(lags_s) == len(indices) and np.isfinite(lags_s).all(), "a lag for each frame")
    if example.sound is not None:
        _is_silent(result.output.sound, result.truth.silent_s)


def _masks(shape: tuple[int, ...]) -> list[Mask]:
    """An object, everything, and nothing."""
    masks = [np.zeros(shape, dtype=np.bool_), np.ones(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)]
    height, width = shape[-2:]
    masks[0][..., height // 4 : height // 2 + 1, width // 4 : width // 2 + 1] = True
    return masks


def _is_silent(sound: Any, spans: Iterable[tuple[float, float]]) -> None:
    samples = sound.shape[-1]
    for start, end in spans:
        require(0.0 <= start <= end <= samples / RATE_HZ, f"silence from {start} to {end} s lies in the sound")
        within = sound[..., math.ceil(start * RATE_HZ) + 1 : math.floor(end * RATE_HZ)]
        require(not within.any(), f"it is silent from {start} to {end} s")


_MODALITY: Final = {"vision": "image", "sound": "sound", "sentences": "text", "timing": "video"}
_KEYS: Final = tuple(f"item {number}" for number in range(16))
_LARGE: Final = 5000  # values of an example that shows what was drawn
_LONG: Final = 5  # words of a sentence that does


def describes_itself(name: str, example: Any) -> None:
    """It has its registry name, complete metadata of one line each, an origin, and constants for every level."""
    del example
    stressor = registry.load("stressor", name)
    require_described(name, stressor)
    require(stressor.meta.modality == _MODALITY[room_of(name)], f"it works on {_MODALITY[room_of(name)]}")
    require(stressor.meta.origin in ORIGINS, f"its origin is one of {ORIGINS}")
    require(len(stressor.levels) == STRONGEST + 1, "constants for strength 0 and five levels")
    require(len({len(row) for row in stressor.levels}) == 1, "as many constants for each level")
    for column in range(len(stressor.levels[0])):
        exempt = column in stressor.declared
        require(exempt or monotone(stressor.levels, column), f"column {column} goes one way, or declared says why not")
    for column, reason in stressor.declared.items():
        require(column in range(len(stressor.levels[0])), f"declared names column {column}, which levels have")
        require(reason.strip() and "\n" not in reason, f"declared says in one line why column {column} is so")


def changes_nothing_at_strength_0(name: str, example: Any) -> None:
    """At strength 0 the output is the input, in a new array."""
    result = perturbed(name, example, severity=0)
    require(bytes_of(result.output) == bytes_of(example), "nothing changed")
    pairs = zip(arrays_of(result.output), arrays_of(example), strict=True)
    require(not any(np.shares_memory(*pair) for pair in pairs), "the output is a new array")


def leaves_its_input_alone(name: str, example: Any) -> None:
    """The input is unchanged; the output has its shape and type, and may be written to."""
    before = bytes_of(example)
    result = perturbed(name, example)
    require(type(result.output) is type(example), f"what was given, {type(example).__name__}")
    require(bytes_of(example) == before, "the input is unchanged")
    for after, original in zip(arrays_of(result.output), arrays_of(example), strict=True):
        require(after.shape == original.shape and after.dtype == original.dtype, "the input's shape and type")
        require(after.flags.writeable, "the output may be written to")


def is_decided_by_seed_and_key(name: str, example: Any) -> None:
    """The same seed and key make the same output, whatever was drawn in between."""
    first = perturbed(name, example, seed=5, key="a")
    perturbed(name, example, seed=99)
    second = perturbed(name, example, seed=5, key="a")
    same = bytes_of(first.output) == bytes_of(second.output) and first.params == second.params
    require(same, "same seed and key, same output")


def draws_anew_for_another_key(name: str, example: Any) -> None:
    """Parameters that are drawn differ for some of 16 keys; so does the output, where the input is large enough."""
    if room_of(name) == "sentences":
        _rewords(name, example)
        return
    params = {key: perturbed(name, example, severity=0, key=key).params for key in _KEYS}
    if set(params[_KEYS[0]]) == {"strength"}:
        return
    kinds = {json.dumps(draws): key for key, draws in params.items()}
    require(len(kinds) > 1, "another key draws anew")
    comparable = room_of(name) != "timing" or example.sound is not None
    if comparable and sum(array.size for array in arrays_of(example)) > _LARGE:
        outputs = {bytes_of(perturbed(name, example, severity=5, key=key).output) for key in list(kinds.values())[:4]}
        require(len(outputs) > 1, "what is drawn makes a difference")


def _rewords(name: str, example: str) -> None:
    """A sentence is another one for another key, unless the perturbation draws nothing."""
    rng = generator(0, "contract")
    before = rng.bit_generator.state
    chosen = registry.load("stressor", name).choose(rng, example, strength=3.0)
    if not chosen or rng.bit_generator.state == before or len(example.split()) < _LONG:
        return
    require(len({perturbed(name, example, key=key).output for key in _KEYS}) > 1, "another key draws anew")


def replays_from_json(name: str, example: Any) -> None:
    """Parameters are JSON, and render the same output again at every level and between levels."""
    for severity in (0.4, 1, 2, 2.5, 3, 4, 5):
        result = perturbed(name, example, severity=severity)
        text = json.dumps(result.params, allow_nan=False)
        output = replayed(name, example, json.loads(text))
        require(bytes_of(output) == bytes_of(result.output), f"strength {severity} replays")


def draws_do_not_depend_on_strength(name: str, example: Any) -> None:
    """The same seed draws the same at every strength, so that strength may vary within a clip."""
    if room_of(name) == "sentences":
        return
    draws = [{**perturbed(name, example, severity=severity).params, "strength": 0} for severity in (1, 3, 5)]
    require(draws[0] == draws[1] == draws[2], "the same draws at strengths 1, 3 and 5")


CHECKS: Final[tuple[Callable[[str, Any], None], ...]] = (
    describes_itself,
    changes_nothing_at_strength_0,
    leaves_its_input_alone,
    is_decided_by_seed_and_key,
    draws_anew_for_another_key,
    replays_from_json,
    draws_do_not_depend_on_strength,
    tells_the_truth,
)
