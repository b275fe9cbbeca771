"""What a type of question declares, and what is shown and heard for one question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.cases.avibench import NOT_SURE, YES_NO
from auscult.types import Frame, Samples

Folder: TypeAlias = Literal["ASQA", "VSQA_I", "VSQA_V", "AVSQA"]

__all__ = ["FPS", "NOT_SURE", "RATE_HZ", "SIDE_PX", "YES_NO", "Draw", "Folder", "Stimulus", "StimulusKind"]

RATE_HZ: Final = 16_000
FPS: Final = 8.0
SIDE_PX: Final = 256
"""Height and width of pictures and videos."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stimulus:
    """What is shown and heard; frames are uint8 (256, 256, 3), the sound is float32 (samples,) of 16,000 Hz."""

    picture: Frame | None = None
    video: NDArray[np.uint8] | None = None  # (T, 256, 256, 3), 8 frames a second
    sound: Samples | None = None
    empty: bool = False  # nothing is heard, or nothing but one even colour is seen; with a video, nothing is heard


Draw: TypeAlias = Callable[[np.random.Generator, str], Stimulus]


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusKind:
    """A type of question.

    Attributes:
        name: The ``subtask`` of its questions.
        folder: Folder of the released tree.
        text: What is asked; the same words whatever the answer.
        options: What may be answered; empty where a number is.
        numbers: How many numbers from 0 may be the answer, where one is asked for.
        count: Questions by default; those of a folder come to half the paper's number, confirmations being the rest.
        draw: Draws a stimulus with a given true answer.
    """

    name: str
    folder: Folder
    text: str
    options: tuple[str, ...] = ()
    numbers: int = 0
    count: int
    draw: Draw

    @property
    def answers(self) -> tuple[str, ...]:
        """Everything that can be true; each is as often as the others."""
        return self.options or tuple(map(str, range(self.numbers)))

    @property
    def chance(self) -> float:
        """Share of questions that an answer without looking gets right, whatever it is."""
        return 1.0 / len(self.answers)
