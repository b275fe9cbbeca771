"""The laws of perturbations: purity, replay from JSON, nothing at strength 0, and the truth of what was done.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES["vision"])
    def test_contract(check, example):
        check("vision.fog.v1", EXAMPLES["vision"][example])
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from auscult import registry
from auscult.contracts import require
from auscult.contracts.perturbation_examples import EXAMPLES, arrays_of, bytes_of, perturbed, replayed, room_of
from auscult.contracts.perturbation_truth import tells_the_truth
from auscult.rng import generator
from auscult.stress.strength import STRONGEST, monotone
from auscult.types import Metadata

__all__ = ["CHECKS", "EXAMPLES", "ORIGINS", "room_of"]

ORIGINS: Final = ("source", "environment", "sensor", "transmission")
_MODALITY: Final = {"vision": "image", "sound": "sound", "sentences": "text", "timing": "video"}
_KEYS: Final = tuple(f"item {number}" for number in range(16))
_LARGE: Final = 5000  # values of an example that shows what was drawn
_LONG: Final = 5  # words of a sentence that does


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
    for column, reason in stressor.declared.items():
        require(column in range(len(stressor.levels[0])), f"declared names column {column}, which levels have")
        require(reason.strip() and "\n" not in reason, f"declared says in one line why column {column} is so")


def changes_nothing_at_strength_0(name: str, example: Any) -> None:
    """At strength 0 the output is the input, in a new array."""
    made = perturbed(name, example, severity=0)
    require(bytes_of(made.output) == bytes_of(example), "nothing changed")
    pairs = zip(arrays_of(made.output), arrays_of(example), strict=True)
    require(not any(np.shares_memory(*pair) for pair in pairs), "the output is a new array")


def leaves_its_input_alone(name: str, example: Any) -> None:
    """The input is unchanged; the output has its shape and type, and may be written to."""
    before = bytes_of(example)
    made = perturbed(name, example)
    require(type(made.output) is type(example), f"what was given, {type(example).__name__}")
    require(bytes_of(example) == before, "the input is unchanged")
    for after, given in zip(arrays_of(made.output), arrays_of(example), strict=True):
        require(after.shape == given.shape and after.dtype == given.dtype, "the input's shape and type")
        require(after.flags.writeable, "the output may be written to")


def is_decided_by_seed_and_key(name: str, example: Any) -> None:
    """The same seed and key make the same output, whatever was drawn in between."""
    first = perturbed(name, example, seed=5, key="a")
    perturbed(name, example, seed=99)
    again = perturbed(name, example, seed=5, key="a")
    alike = bytes_of(first.output) == bytes_of(again.output) and first.params == again.params
    require(alike, "same seed and key, same output")


def draws_anew_for_another_key(name: str, example: Any) -> None:
    """What draws at all draws something else for some of 16 keys, and shows it where there is enough to show it on."""
    if room_of(name) == "sentences":
        _rewords(name, example)
        return
    params = {key: perturbed(name, example, severity=0, key=key).params for key in _KEYS}
    if set(params[_KEYS[0]]) == {"strength"}:
        return
    kinds = {json.dumps(drawn): key for key, drawn in params.items()}
    require(len(kinds) > 1, "another key draws anew")
    heard = room_of(name) != "timing" or example.sound is not None
    if heard and sum(one.size for one in arrays_of(example)) > _LARGE:
        shown = {bytes_of(perturbed(name, example, severity=5, key=key).output) for key in list(kinds.values())[:4]}
        require(len(shown) > 1, "what is drawn makes a difference")


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
        made = perturbed(name, example, severity=severity)
        text = json.dumps(made.params, allow_nan=False)
        again = replayed(name, example, json.loads(text))
        require(bytes_of(again) == bytes_of(made.output), f"strength {severity} replays")


def draws_do_not_depend_on_strength(name: str, example: Any) -> None:
    """The same seed draws the same at every strength, so that strength may vary within a clip."""
    if room_of(name) == "sentences":
        return
    drawn = [{**perturbed(name, example, severity=severity).params, "strength": 0} for severity in (1, 3, 5)]
    require(drawn[0] == drawn[1] == drawn[2], "the same draws at strengths 1, 3 and 5")


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
