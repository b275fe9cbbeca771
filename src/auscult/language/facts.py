"""What a referring expression may speak of: things, where they are, how they move, when they sound.

Facts hold no pixel and no sample. Whoever made or annotated a scene states them; the grammar only reads them. Places
are shares of the picture (x 0 left to 1 right, y 0 top to 1 bottom), times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

Motion: TypeAlias = Literal["still", "left", "right", "up", "down", "nearer", "away", "to_and_fro"]

MOTIONS: Final[tuple[Motion, ...]] = get_args(Motion)

Span: TypeAlias = tuple[float, float]
"""Start and end in seconds, start < end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How a thing sounds."""

    noun: str  # what is heard, as a noun: `siren`, `bark`
    verb: str  # what the thing does, third person: `wails`, `barks`
    spans: tuple[Span, ...]  # when it sounds; ordered, apart from one another, not empty
    level_db: float  # how loud it arrives, relative to full scale (0 or less); louder is higher
    countable: bool = True  # each span is heard as one sound, so that "three times" can be said of three spans


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """One object of a scene."""

    id: str  # unique within the scene
    # a countable noun, singular: `bell`, `fire engine`; or what one thing is called in the plural: `scissors`
    category: str
    colour: str | None = None  # a basic colour word where one fits, else None
    texture: str | None = None  # `plain`, `striped`, `spotted`, `checked`, ... where one fits, else None
    x: tuple[float, float]  # lowest and highest x of its centre over the frames that show it
    y: tuple[float, float]  # lowest and highest y
    area: tuple[float, float]  # lowest and highest share of the picture that it covers
    motion: Motion | None = None  # how it moves through the clip; None where that cannot be said plainly
    depth: int | None = None  # rank from the viewer: 0 is in front of all others. None where not known
    covered_by: tuple[str, ...] = ()  # ids of the things that hide a visible part of it at some time
    hidden: float = 0.0  # the largest share of it that other things hide at any one time, 0..1
    voice: Voice | None = None  # how it sounds; None for a silent thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A whole scene as the grammar sees it."""

    things: tuple[SceneObject, ...]  # the objects in the picture
    duration_s: float  # length of the clip; 0 for a photograph
    elsewhere: tuple[Voice, ...] = ()  # sounds from outside the picture; they belong to no thing
    silent: bool = False  # there is no sound track at all, so nothing may be said of sound or silence
    # the picture may show more than `things`, as where they were put into a photograph. What is unlisted makes no
    # sound, does not move, lies behind, and is of none of the categories that are listed
    unlisted: bool = False
