"""What a type of question of a familiar task declares, and what one sample shows, plays and takes as right.

What samples are made of: things with a voice each, and what a user's folder adds.

In the made world each of fourteen things has one kind of sound, its own. A question that hangs on it says which is
which in its text (``World.legend``), so that no answer hangs on having met the things elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from auscult.cases.avibench import AviAnswer
from auscult.rng import pick
from auscult.scenes.appearance.drawing import AssetSet, Look
from auscult.scenes.appearance.generated import GENERATED as LOOKS
from auscult.scenes.familiar.material import Material
from auscult.scenes.sound.generated import GENERATED as SOUNDS
from auscult.scenes.sound.generated import KINDS
from auscult.scenes.sound.mix import SoundSet, SoundSource
from auscult.scenes.splits import Assets
from auscult.types import Frame, Samples

RATE_HZ: Final = 16_000

VOICES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bell": "bell",
        "bird": "chirp",
        "boat": "hum",
        "car": "honk",
        "cat": "growl",
        "clock": "click",
        "drum": "knock",
        "guitar": "twang",
        "lantern": "buzz",
        "maraca": "rattle",
        "plane": "rumble",
        "robot": "beep",
        "teapot": "whistle",
        "trumpet": "trill",
    }
)
"""Things to the kind of their sound."""


_NAMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {thing: SOUNDS.instances()[kind] for thing, kind in VOICES.items()}
)


@dataclass(frozen=True, slots=True)
class Voices:
    """The generated sounds by the things that make them."""

    name: str = "generated, by thing"

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Thing to the names of its sounds."""
        return _NAMES

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> SoundSource:
        """A sound of a thing."""
        return replace(SOUNDS.source(rng, VOICES[label], instance=instance), label=label)

    def samples(self, source: SoundSource, *, seconds: float, rate_hz: int) -> Samples:
        """The sound alone."""
        return SOUNDS.samples(replace(source, label=VOICES[source.label]), seconds=seconds, rate_hz=rate_hz)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Looks and sounds of the made world, and the user's material."""

    looks: AssetSet = LOOKS
    sounds: SoundSet = SOUNDS  # by their own names
    voices: SoundSet = field(default_factory=Voices)  # by the things that make them
    material: Material = field(default_factory=Material)

    @property
    def things(self) -> tuple[str, ...]:
        """Categories that can be seen and heard."""
        return tuple(self.voices.instances())

    @property
    def backgrounds(self) -> tuple[str, ...]:
        """Backgrounds that show nothing that could be taken for a thing."""
        return tuple(name for name in self.looks.backgrounds() if self.looks.held(name) is None)

    @property
    def assets(self) -> Assets:
        """Looks and voices, each thing with a sound of its own."""
        return Assets(looks=self.looks, sounds=self.voices, own_voices=True)

    @property
    def legend(self) -> str:
        """Which thing makes which sound, as a sentence."""
        parts = [f"the {thing} {KINDS[kind].verb}" for thing, kind in VOICES.items()]
        return f"In this made world {', '.join(parts[:-1])} and {parts[-1]}."

    def look(self, rng: np.random.Generator, category: str) -> Look:
        """A thing of a category."""
        return self.looks.look(rng, category, instance=pick(rng, self.looks.instances()[category]))

    def voice(self, rng: np.random.Generator, category: str) -> SoundSource:
        """A sound of a category."""
        return sound_of(rng, self.voices, category)


def sound_of(rng: np.random.Generator, sounds: SoundSet, label: str) -> SoundSource:
    """One of a set's sounds of a label."""
    return sounds.source(rng, label, instance=pick(rng, sounds.instances()[label]))


def some_of(
    rng: np.random.Generator, names: tuple[str, ...], count: int, *, but: frozenset[str] = frozenset()
) -> list[str]:
    """So many different ones of some names, fewer where there are no more."""
    free = [name for name in names if name not in but]
    return [free[int(index)] for index in rng.permutation(len(free))[:count]]


FPS: Final = 5.0
PICTURE_QUALITY: Final = 90
"""JPEG quality of the pictures that are made."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """One sample."""

    text: str  # what is asked
    truth: AviAnswer  # what is right
    options: tuple[str, ...] = ()  # classes, or what may be answered
    images: tuple[tuple[str, bytes], ...] = ()  # coded pictures in their order, each with its ending (``.jpg``)
    sounds: tuple[Samples, ...] = ()  # sounds in their order, float32 (samples,) or (2, samples) at the world's rate
    # the frames of a video, ``FPS`` a second, drawn when it is coded, its sound the first of ``sounds``; None where
    # there is no video
    frames: Iterable[Frame] | None = None
    # what an observer needs to check the truth: the plan that was drawn, and the sources that may be heard
    proof: Mapping[str, Any] = field(default_factory=dict)


Draw: TypeAlias = Callable[[np.random.Generator, World, str], Drawn]
Source: TypeAlias = Literal["scenes", "recordings", "pairs", "photographs", "sounding photographs", "clips"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamiliarKind:
    """A type of question."""

    name: str  # the ``subtask`` of its samples
    folder: str  # task, and folder of the released tree
    # truths that are dealt evenly before anything is drawn; empty where the truth is drawn
    answers: tuple[str, ...] = ()
    source: Source = "scenes"  # what it is made of; of the user's material all but ``scenes``
    # draws a sample with a given true answer; of photographs with boxes with the number of one, which are dealt too;
    # else with ""
    draw: Draw
