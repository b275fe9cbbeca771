"""Every registered perturbation keeps the laws; a plug-in is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from auscult import registry
from auscult.registry import Entry
from auscult.stress.perturbation import Params, seed_from
from auscult.stress.recipe_parts import room_of
from auscult.stress.sentences.base import Edit
from auscult.stress.sentences.spelling import CHARACTER_MISSING
from auscult.stress.sound.amplitude import TimeMask
from auscult.stress.timing.kinds import Offset
from auscult.stress.vision.colour import Brightness
from auscult.stress.vision.elastic_transform import ElasticTransform
from auscult.stress.vision.sensor_noise import GaussianNoise
from auscult.testing import ContractBroken
from auscult.testing.perturbations import CHECKS, EXAMPLES

CODED = {"sound.mp3_compression.v1"}
CASES = [
    pytest.param(entry.name, example, marks=[pytest.mark.extra_video] if entry.name in CODED else [])
    for entry in registry.entries("stressor")
    if room_of(entry.name) in EXAMPLES
    for example in EXAMPLES[room_of(entry.name)]
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("name", "example"), CASES, ids=str)
def test_keeps_the_law(name: str, example: str, check: Callable[[str, Any], None]) -> None:
    check(name, EXAMPLES[room_of(name)][example])


# --- what breaks a law is found ---


class Unwarned(Brightness):
    declared = MappingProxyType({0: " "})


class Elsewhere(Brightness):
    declared = MappingProxyType({7: "there is no such column"})


class Forgetful(GaussianNoise):
    def choose(self, rng: Any, shot: Any, *, strength: float) -> Any:
        return replace(super().choose(rng, shot, strength=strength), seed=5)


class Idle(GaussianNoise):
    def render(self, frame: Any, params: Any, *, index: int = 0) -> Any:
        return super().render(frame, replace(params, seed=5), index=index)


class Blurred(ElasticTransform):
    def move(self, mask: Any, params: Any, *, index: int = 0) -> Any:
        return super().move(mask, params, index=index).astype(np.float32)


class Smaller(ElasticTransform):
    def move(self, mask: Any, params: Any, *, index: int = 0) -> Any:
        return super().move(mask, params, index=index)[:-1]


class Murmur(TimeMask):
    def render(self, sound: Any, params: Any, *, rate_hz: int) -> Any:
        return super().render(sound, params, rate_hz=rate_hz) + np.float32(1e-4)


class TooLong(TimeMask):
    def silent(self, params: Any, take: Any) -> Any:
        return tuple((start, end + 1.0) for start, end in super().silent(params, take))


class Hum(TimeMask):
    def silent(self, *_: Any) -> Any:
        return ()

    def render(self, sound: Any, params: Any, *, rate_hz: int) -> Any:
        return super().render(sound, params, rate_hz=rate_hz) + np.float32(1e-4)


class Stubborn:
    meta, levels, declared = CHARACTER_MISSING.meta, CHARACTER_MISSING.levels, CHARACTER_MISSING.declared

    def choose(self, rng: Any, *_: Any, **__: Any) -> Any:
        rng.random()
        return [Edit(0, 0, "X")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered(Params):
    seed: int


class Deaf(Offset):
    """Draws, and pays no heed."""

    params = Numbered  # type: ignore[assignment]

    def choose(self, rng: Any, *_: Any, strength: float) -> Any:
        return Numbered(strength=strength, seed=seed_from(rng))

    def heard(self, params: Any, times_s: Any) -> Any:
        return times_s - 0.1 * params.strength


@pytest.mark.parametrize(
    ("room", "stressor", "example", "law"),
    [
        ("vision", Unwarned, "picture", "declared says in one line"),
        ("vision", Elsewhere, "picture", "declared names column 7"),
        ("vision", Forgetful, "picture", "another key draws anew"),
        ("vision", Idle, "picture", "what is drawn makes a difference"),
        ("vision", Blurred, "picture", "a moved mask is bool"),
        ("vision", Smaller, "clip", "a moved mask is bool"),
        ("sound", Murmur, "mono", "it is silent"),
        ("sound", TooLong, "stereo", "lies in the sound"),
        ("sound", Hum, "mono", "silence stays silence"),
        ("sentences", Stubborn, "plain", "another key draws anew"),
        ("timing", Deaf, "film", "what is drawn makes a difference"),
    ],
)
def test_what_breaks_a_law_is_told(
    room: str, stressor: type[Any], example: str, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{room}.{stressor.__name__.lower()}.v1"
    instance = type("Broken", (stressor,), {"name": name})()
    entry = Entry("stressor", name, "a plug-in", SimpleNamespace(load=lambda: instance, dist=None))  # type: ignore[arg-type]
    monkeypatch.setattr(registry, "entries", lambda _: (entry,))
    messages = []
    for check in CHECKS:
        try:
            check(name, EXAMPLES[room][example])
        except ContractBroken as broken:
            messages.append(str(broken))
    assert any(law in message for message in messages), messages
