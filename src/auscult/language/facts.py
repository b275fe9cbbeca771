"""The facts that referring expressions use: things, where they are, how they move, when they sound.

Facts hold no pixel and no sample. They come with the scene or its annotation; the grammar only reads them. Places
are shares of the picture (x 0 left to 1 right, y 0 top to 1 bottom), times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Meta

Motion: TypeAlias = Literal["still", "left", "right", "up", "down", "nearer", "away", "to_and_fro"]

MOTIONS: Final[tuple[Motion, ...]] = get_args(Motion)

TimeSpan: TypeAlias = tuple[Annotated[float, Meta(ge=0.0)], Annotated[float, Meta(ge=0.0)]]
"""Start and end in seconds, start < end."""

_Extent: TypeAlias = tuple[Annotated[float, Meta(ge=-1.0, le=2.0)], Annotated[float, Meta(ge=-1.0, le=2.0)]]
_Word: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00]+$", max_length=100_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How a thing sounds."""

    noun: _Word  # what is heard, as a noun: `siren`, `bark`
    verb: _Word  # what the thing does, third person: `wails`, `barks`
    spans: tuple[TimeSpan, ...]  # when it sounds; ordered, apart from one another, not empty
    level_db: Annotated[float, Meta(ge=-300.0, le=0.0)]  # how loud it arrives, relative to full scale
    countable: bool = True  # each span is heard as one sound, so that "three times" can be said of three spans


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """One object of a scene."""

    id: _Word  # unique within the scene
    # a countable noun, singular: `bell`, `fire engine`; or what one thing is called in the plural: `scissors`
    category: _Word
    colour: str | None = None  # a basic colour word where one fits, else None
    texture: str | None = None  # `plain`, `striped`, `spotted`, `checked`, ... where one fits, else None
    x: _Extent  # lowest and highest x of its centre over the frames that show it
    y: _Extent  # lowest and highest y
    area: _Extent  # lowest and highest share of the picture that it covers
    motion: Motion | None = None  # how it moves through the clip; None where that cannot be said plainly
    depth: Annotated[int, Meta(ge=0, le=64)] | None = None  # from the viewer, 0 in front; None where not known
    covered_by: tuple[str, ...] = ()  # ids of the things that hide a visible part of it at some time
    hidden: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0  # the largest share that others hide at one time
    voice: Voice | None = None  # how it sounds; None for a silent thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A whole scene as the grammar sees it."""

    things: Annotated[tuple[SceneObject, ...], Meta(max_length=64)]  # the objects in the picture
    duration_s: Annotated[float, Meta(ge=0.0, le=86_400.0)]  # length of the clip; 0 for a photograph
    elsewhere: Annotated[tuple[Voice, ...], Meta(max_length=64)] = ()  # from outside the picture, of no thing
    silent: bool = False  # there is no sound track at all, so nothing may be said of sound or silence
    # the picture may show more than `things`, as where they were put into a photograph. What is unlisted makes no
    # sound, does not move, lies behind, and is of none of the categories that are listed
    unlisted: bool = False
