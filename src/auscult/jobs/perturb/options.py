"""The options of ``auscult stress vision|sound|sentences|timing|recipe``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from auscult.jobs.options import Flag, InputOptions, names
from auscult.media.wav import Depth


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which perturbations to make: kinds and severities, or a preset.

    Attributes:
        room: ``vision``, ``sound``, ``sentences``, ``timing`` or ``recipe``.
        kinds: a,b is a sweep with a folder for each, a+b composes, all takes the paper's.
        severities: 0 to 5, or low, medium, high; a comma is a sweep.
        schedule: How strength goes through a clip: static, paper, r2bench, ramp, burst or walk.
        preset: Instead of --kind: a recipe drawn for each clip: release, as without both, r2bench or paper.
        place: With --preset: draw what can occur there, such as indoors.
    """

    room: Annotated[str, Flag(internal=True)]
    kinds: Annotated[str, Flag(name="kind", read=str.strip, shown="-")] = ""
    severities: Annotated[str, Flag(name="severity", read=str.strip, shown="3")] = ""
    schedule: Annotated[str, Flag(name="dynamic")] = "static"
    preset: Annotated[str, Flag(shown="-")] = ""
    place: Annotated[str, Flag(shown="-")] = ""

    def __post_init__(self) -> None:
        if self.room == "recipe" and not (self.kinds or self.preset):
            object.__setattr__(self, "preset", "release")


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbOptions(InputOptions):
    """What to perturb and how.

    Attributes:
        source: A picture, video or sound, a folder of them, sentences (.txt, or .csv with id,text), or what
            `auscult audit` takes.
        wanted: Kinds, severities and schedule, or a preset.
        seed: The same seed makes the same material.
        keep: Comma-separated words or phrases that sentences keep.
        keep_head: Sentences keep the noun that says what is looked for, where one is found.
        quality: Of videos: 0 is lossless, 1 to 51 x264's quantiser, more is smaller and worse.
        depth: Of sounds: int16 or float32.
        video_timeout_s: Seconds for a few pictures, a sound or a video.
    """

    wanted: Wanted
    seed: int = 0
    keep: Annotated[tuple[str, ...], Flag(read=names)] = ()
    keep_head: bool = False
    quality: int = 0
    depth: Annotated[Depth, Flag(read=str)] = "int16"
    timeout_s: Annotated[float, Flag(internal=True)] = 120.0
    video_timeout_s: Annotated[float | None, Flag(name="timeout", least=0.1, shown="120; no limit for a video")] = None
