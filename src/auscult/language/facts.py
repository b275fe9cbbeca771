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
    """How a thing sounds.

    Attributes:
        noun: What is heard, as a noun: ``siren``, ``bark``.
        verb: What the thing does, third person: ``wails``, ``barks``.
        spans: When it sounds; ordered, apart from one another, not empty.
        level_db: How loud it arrives, relative to full scale (0 or less); louder is higher.
        countable: Each span is heard as one sound, so that "three times" can be said of three spans.
    """

    noun: str
    verb: str
    spans: tuple[Span, ...]
    level_db: float
    countable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """One object of a scene.

    Attributes:
        id: Unique within the scene.
        category: A countable noun, singular: ``bell``, ``fire engine``; or what one thing is called in the plural:
            ``scissors``.
        colour: A basic colour word where one fits, else None.
        texture: ``plain``, ``striped``, ``spotted``, ``checked``, ... where one fits, else None.
        x: Lowest and highest x of its centre over the frames that show it.
        y: Lowest and highest y.
        area: Lowest and highest share of the picture that it covers.
        motion: How it moves through the clip; None where that cannot be said plainly.
        depth: Rank from the viewer: 0 is in front of all others. None where not known.
        covered_by: Ids of the things that hide a visible part of it at some time.
        hidden: The largest share of it that other things hide at any one time, 0..1.
        voice: How it sounds; None for a silent thing.
    """

    id: str
    category: str
    colour: str | None = None
    texture: str | None = None
    x: tuple[float, float]
    y: tuple[float, float]
    area: tuple[float, float]
    motion: Motion | None = None
    depth: int | None = None
    covered_by: tuple[str, ...] = ()
    hidden: float = 0.0
    voice: Voice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A whole scene as the grammar sees it.

    Attributes:
        things: The objects in the picture.
        duration_s: Length of the clip; 0 for a photograph.
        elsewhere: Sounds from outside the picture; they belong to no thing.
        silent: There is no sound track at all, so nothing may be said of sound or silence.
        unlisted: The picture may show more than ``things``, as where they were put into a photograph. What is unlisted
            makes no sound, does not move, lies behind, and is of none of the categories that are listed.
    """

    things: tuple[SceneObject, ...]
    duration_s: float
    elsewhere: tuple[Voice, ...] = ()
    silent: bool = False
    unlisted: bool = False
