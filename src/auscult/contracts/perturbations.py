"""The laws of perturbations of pictures, sounds and sentences: purity, replay from JSON, nothing at strength 0.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES["vision"])
    def test_contract(check, example):
        check("vision.fog.v1", EXAMPLES["vision"][example])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from auscult import registry
from auscult.contracts import require
from auscult.rng import generator
from auscult.stress import sentences, sound, vision
from auscult.stress.strength import STRONGEST, monotone
from auscult.types import Metadata, Stressed

ORIGINS: Final = ("source", "environment", "sensor", "transmission")
RATE_HZ: Final = 16_000
_MODALITY: Final = {"vision": "image", "sound": "sound", "sentences": "text"}


def _picture(height: int, width: int) -> Any:
    rows, columns = np.mgrid[:height, :width]
    picture = np.stack([rows * 255 // height, columns * 255 // width, (rows + columns) % 256], axis=-1).astype(np.uint8)
    picture[height // 4 : height // 2, width // 4 : width // 2] = (200, 40, 60)
    picture.setflags(write=False)
    return picture


def _tone(channels: int, samples: int) -> Any:
    times = np.arange(samples) / RATE_HZ
    tone = 0.4 * np.sin(2 * np.pi * 440 * times) + 0.1 * generator(0, "contract", "tone").standard_normal(samples)
    found = np.stack([tone * (1 - 0.2 * at) for at in range(channels)]).astype(np.float32)
    found.setflags(write=False)
    return found


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
}


def room_of(name: str) -> str:
    """The room of a registered perturbation: ``vision``, ``sound`` or ``sentences``."""
    return name.split(".", 1)[0]


def describes_itself(name: str, example: Any) -> None:
    """It has its registry name, complete metadata of one line each, an origin, and constants for every level."""
    del example
    stressor = registry.load("stressor", name)
    require(stressor.name == name, f"its name is {stressor.name!r}, the registry's {name!r}")
    require(isinstance(stressor.meta, Metadata), "meta is a Metadata")
    for key in ("summary", "goal", "source", "truth"):
        text = getattr(stressor.meta, key)
        require(text and "\n" not in text, f"meta.{key} is one line of text")
    require(stressor.meta.modality == _MODALITY[room_of(name)], f"it works on {_MODALITY[room_of(name)]}")
    require(stressor.meta.origin in ORIGINS, f"its origin is one of {ORIGINS}")
    require(len(stressor.levels) == STRONGEST + 1, "constants for strength 0 and five levels")
    require(len({len(row) for row in stressor.levels}) == 1, "as many constants for each level")
    for column in range(len(stressor.levels[0])):
        told = column in stressor.declared
        require(told or monotone(stressor.levels, column), f"column {column} goes one way, or declared says why not")


def changes_nothing_at_strength_0(name: str, example: Any) -> None:
    """At strength 0 the output is the input, in a new array."""
    made = perturbed(name, example, severity=0)
    require(_same(made.output, example), "nothing changed")
    require(isinstance(example, str) or not np.shares_memory(made.output, example), "the output is a new array")


def leaves_its_input_alone(name: str, example: Any) -> None:
    """The input is unchanged; the output has its shape and type, and may be written to."""
    before = example if isinstance(example, str) else example.tobytes()
    made = perturbed(name, example)
    if isinstance(example, str):
        require(isinstance(made.output, str), "a sentence")
        return
    require(example.tobytes() == before, "the input is unchanged")
    require(made.output.shape == example.shape and made.output.dtype == example.dtype, "the input's shape and type")
    require(made.output.flags.writeable, "the output may be written to")


def is_decided_by_seed_and_key(name: str, example: Any) -> None:
    """The same seed and key make the same output, whatever was drawn in between."""
    first = perturbed(name, example, seed=5, key="a")
    perturbed(name, example, seed=99)
    again = perturbed(name, example, seed=5, key="a")
    require(_same(first.output, again.output) and first.params == again.params, "same seed and key, same output")


def replays_from_json(name: str, example: Any) -> None:
    """Parameters are JSON, and render the same output again at every level and between levels."""
    for severity in (0.4, 1, 2, 2.5, 3, 4, 5):
        made = perturbed(name, example, severity=severity)
        text = json.dumps(made.params, allow_nan=False)
        require(_same(replayed(name, example, json.loads(text)), made.output), f"strength {severity} replays")


def draws_do_not_depend_on_strength(name: str, example: Any) -> None:
    """The same seed draws the same at every strength, so that strength may vary within a clip."""
    if room_of(name) == "sentences":
        return
    drawn = [{**perturbed(name, example, severity=severity).params, "strength": 0} for severity in (1, 3, 5)]
    require(drawn[0] == drawn[1] == drawn[2], "the same draws at strengths 1, 3 and 5")


def perturbed(name: str, example: Any, *, severity: float = 3, seed: int = 0, key: str = "") -> Stressed[Any, Any]:
    """Perturb an example by a stressor of whichever room."""
    room = room_of(name)
    if room == "vision":
        return vision.perturb(name, example, severity=severity, seed=seed, key=key)
    if room == "sound":
        return sound.perturb(name, example, rate_hz=RATE_HZ, severity=severity, seed=seed, key=key)
    return sentences.perturb(name, example, severity=severity, seed=seed, key=key)


def replayed(name: str, example: Any, params: Mapping[str, Any]) -> Any:
    """Render an example from parameters, by a stressor of whichever room."""
    room = room_of(name)
    if room == "vision":
        return vision.render(name, example, params)
    if room == "sound":
        return sound.render(name, example, params, rate_hz=RATE_HZ)
    return sentences.render(name, example, params)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, str):
        return bool(first == second)
    return bool(first.tobytes() == second.tobytes())


CHECKS: Final[tuple[Callable[[str, Any], None], ...]] = (
    describes_itself,
    changes_nothing_at_strength_0,
    leaves_its_input_alone,
    is_decided_by_seed_and_key,
    replays_from_json,
    draws_do_not_depend_on_strength,
)
