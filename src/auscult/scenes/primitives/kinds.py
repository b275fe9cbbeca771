"""The table of question types: text, options in the form of the task's answers, how many, and what draws them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from auscult.scenes.primitives import sounds
from auscult.scenes.primitives.base import NOT_SURE, YES_NO, StimulusKind

_COMPARED: Final = ("first", "second", "the same", NOT_SURE)

_ASQA: Final = (
    StimulusKind(
        name="clarity", folder="ASQA", count=52, options=_COMPARED, draw=sounds.clarity,
        text="You hear two sounds, one after the other. In which of them is the tone clearer, with less noise over it?",
    ),
    StimulusKind(
        name="volume", folder="ASQA", count=52, options=_COMPARED, draw=sounds.volume,
        text="You hear two sounds, one after the other. Which of them is louder?",
    ),
    StimulusKind(
        name="order", folder="ASQA", count=51, options=("tone", "noise", NOT_SURE), draw=sounds.order,
        text="A tone and a noise are played. Which of the two comes first?",
    ),
    StimulusKind(
        name="presence", folder="ASQA", count=48, options=YES_NO, draw=sounds.presence,
        text="A noise is played. Does a tone sound within it?",
    ),
    StimulusKind(
        name="beats", folder="ASQA", count=48, numbers=8, draw=sounds.beats,
        text="How many short beats are played?",
    ),
)  # fmt: skip

KINDS: Final[Mapping[str, StimulusKind]] = MappingProxyType({kind.name: kind for kind in (*_ASQA,)})
"""The types by name, in the order of the paper's tasks."""
