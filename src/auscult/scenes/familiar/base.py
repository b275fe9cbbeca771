"""What a type of question of a familiar task declares, and what one sample shows, plays and takes as right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from auscult.cases.avibench import AviAnswer, StageFolder
from auscult.scenes.familiar.worlds import World
from auscult.types import Frame, Samples

FPS: Final = 5.0
PICTURE_QUALITY: Final = 90
"""JPEG quality of the pictures that are made."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """One sample.

    Attributes:
        text: What is asked.
        truth: What is right.
        options: Classes, or what may be answered.
        images: Coded pictures in their order, each with its ending (``.jpg``).
        sounds: Sounds in their order, float32 (samples,) or (2, samples) at the world's rate.
        frames: The frames of a video, ``FPS`` a second, drawn when it is coded, its sound the first of ``sounds``;
            None where there is no video.
        proof: What an observer needs to check the truth: the plan that was drawn, and the sources that may be heard.
    """

    text: str
    truth: AviAnswer
    options: tuple[str, ...] = ()
    images: tuple[tuple[str, bytes], ...] = ()
    sounds: tuple[Samples, ...] = ()
    frames: Iterable[Frame] | None = None
    proof: Mapping[str, Any] = field(default_factory=dict)


Draw: TypeAlias = Callable[[np.random.Generator, World, str], Drawn]
Source: TypeAlias = Literal["scenes", "recordings", "pairs", "photographs", "sounding photographs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamiliarKind:
    """A type of question.

    Attributes:
        name: The ``subtask`` of its samples.
        folder: Task, and folder of the released tree.
        stage: The stage's folder.
        answers: Truths that are dealt evenly before anything is drawn; empty where the truth is drawn.
        source: What it is made of; of the user's material all but ``scenes``.
        draw: Draws a sample with a given true answer; of photographs with boxes with the number of one, which are
            dealt too; else with "".
    """

    name: str
    folder: str
    stage: StageFolder
    answers: tuple[str, ...] = ()
    source: Source = "scenes"
    draw: Draw
