"""What a type of question declares, and what is shown and heard for one question.

Flat shapes and shaded solids as polygons, and polygons as pictures.

Coordinates are pixels of the picture, x to the right and y down. A picture is drawn at three times its size and
averaged down, so that outlines are smooth.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.avibench import NOT_SURE, YES_NO
from auscult.rng import pick
from auscult.scenes.appearance.colours import Tone, as_tone, draw_tone
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
    """A type of question."""

    name: str  # the ``subtask`` of its questions
    folder: Folder  # folder of the released tree
    text: str  # what is asked; the same words whatever the answer
    options: tuple[str, ...] = ()  # what may be answered; empty where a number is
    numbers: int = 0  # how many numbers from 0 may be the answer, where one is asked for
    # questions by default; those of a folder come to half the paper's number, confirmations being the rest
    count: int
    draw: Draw  # draws a stimulus with a given true answer; *not sure* only for AVSQA (``kinds.stimulus``)

    @property
    def answers(self) -> tuple[str, ...]:
        """Everything that can be true; each is as often as the others."""
        return self.options or tuple(map(str, range(self.numbers)))

    @property
    def chance(self) -> float:
        """Share of questions that an answer without looking gets right, whatever it is."""
        return 1.0 / len(self.answers)


Points = NDArray[np.float64]

SHAPES: Final = ("circle", "square", "triangle", "star", "cross")
SOLIDS: Final = ("ball", "cube", "cylinder", "cone", "pyramid")
MIDDLE: Final = SIDE_PX / 2

_FINE: Final = 3
_SHIFT: Final = 4
_DARK: Final = ("red", "green", "blue", "purple")
_LIGHT: Final = np.array((-0.45, -0.7, 0.55)) / np.linalg.norm((-0.45, -0.7, 0.55))
_SHADE: Final = 0.3


class Filled(NamedTuple):
    """A filled polygon."""

    points: Points  # (n, 2)
    tone: Tone


def light_ground(rng: np.random.Generator) -> Tone:
    """An even light grey."""
    return as_tone((float(rng.uniform(0.74, 0.92)),) * 3)


def dark_tone(rng: np.random.Generator) -> Tone:
    """A colour that stands out from every light ground."""
    return draw_tone(rng, pick(rng, _DARK))


def picture(ground: Tone, parts: Sequence[Filled] = ()) -> Frame:
    """Polygons over an even ground, in their order: uint8 (256, 256, 3)."""
    side = SIDE_PX * _FINE
    canvas = np.full((side, side, 3), ground, np.uint8)
    for part in parts:
        corners = np.rint((part.points * _FINE - 0.5) * 2**_SHIFT).astype(np.int32)
        cv2.fillPoly(canvas, [corners], part.tone, cv2.LINE_8, _SHIFT)
    return np.asarray(cv2.resize(canvas, (SIDE_PX, SIDE_PX), interpolation=cv2.INTER_AREA), np.uint8)


def over(ground: Frame, parts: Sequence[Filled], fill: Frame | None = None) -> Frame:
    """Polygons over another picture; with ``fill``, its pixels in the place of their tones."""
    cover = picture((0, 0, 0), [Filled(part.points, (255, 255, 255)) for part in parts]).astype(np.float32) / 255
    front = picture((0, 0, 0), parts) / np.maximum(cover, 1 / 255) if fill is None else fill
    return np.asarray(np.rint(ground * (1 - cover) + front * cover).clip(0, 255), np.uint8)


def shape(name: str, centre: tuple[float, float], radius: float, *, turn_deg: float = 0.0) -> Points:
    """The outline of one of ``SHAPES``; no point is farther than ``radius`` from the centre."""
    if name == "cross":
        third = np.array([(-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1)]) / np.sqrt(10)
        unit = np.concatenate([third, -third])
    else:
        count = {"circle": 64, "square": 4, "triangle": 3, "star": 10}[name]
        begin = np.pi / 4 if name == "square" else -np.pi / 2
        angles = begin + np.arange(count) * 2 * np.pi / count
        reach = np.where(np.arange(count) % 2, 0.42, 1.0) if name == "star" else np.ones(count)
        unit = np.stack([np.cos(angles), np.sin(angles)], axis=1) * reach[:, None]
    angle = np.radians(turn_deg)
    turn = np.array([(np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle))])
    return np.asarray(unit @ turn * radius + centre)


def bar(centre: tuple[float, float], length: float, *, width: float, turn_deg: float) -> Points:
    """A line of some width; ``turn_deg`` is counted from the right towards the top."""
    angle = np.radians(turn_deg)
    along, across = np.array((np.cos(angle), -np.sin(angle))) / 2, np.array((np.sin(angle), np.cos(angle))) / 2
    ends = [(1, 1), (1, -1), (-1, -1), (-1, 1)]
    return np.array([along * length * u + across * width * v for u, v in ends]) + centre


def solid(name: str, *, yaw_deg: float, tilt_deg: float = 28.0, roll_deg: float = 0.0) -> list[tuple[Points, float]]:
    """The visible faces of one of ``SOLIDS``, of radius 1 about, round (0, 0): outlines, each with its light, 0..1.

    Yaw turns it about its upright axis, tilt shows more of its top, roll turns the picture of it.
    """
    turn = _about(2, roll_deg) @ _about(0, -tilt_deg) @ _about(1, yaw_deg)
    faces = []
    for face in _FACES[name]:
        corners = face @ turn.T
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[1])
        normal *= np.sign(normal @ corners.mean(axis=0)) / np.linalg.norm(normal)
        if normal[2] > 0:
            faces.append((corners[:, :2], _SHADE + (1 - _SHADE) * max(0.0, float(normal @ _LIGHT))))
    return faces


def solid_parts(
    faces: Sequence[tuple[Points, float]], tone: Tone, *, centre: tuple[float, float], radius: float
) -> list[Filled]:
    """Faces as polygons of a size and colour at a place."""
    return [Filled(points * radius + centre, as_tone(np.array(tone) / 255 * light)) for points, light in faces]


def _about(axis: int, degrees: float) -> Points:
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[[first, second], [first, second]] = cos
    matrix[first, second], matrix[second, first] = -sin, sin
    return matrix


def _ring(height: float, radius: float, count: int) -> Points:
    angles = np.pi / 4 + np.arange(count) * 2 * np.pi / count
    return np.stack([radius * np.cos(angles), np.full(count, height), radius * np.sin(angles)], axis=1)


def _between(low: Points, high: Points) -> list[Points]:
    """The quads between two rings."""
    count = len(low)
    return [np.array([low[i], low[(i + 1) % count], high[(i + 1) % count], high[i]]) for i in range(count)]


def _tip(base: Points, height: float) -> list[Points]:
    """A base and the triangles from it to a point."""
    top = np.array((0.0, height, 0.0))
    return [base, *(np.array([base[i - 1], base[i], top]) for i in range(len(base)))]


def _ball() -> list[Points]:
    latitudes = np.linspace(-np.pi / 2, np.pi / 2, 22)
    rings = [_ring(float(np.sin(latitude)), max(float(np.cos(latitude)), 1e-3), 44) for latitude in latitudes]
    return [quad for low, high in itertools.pairwise(rings) for quad in _between(low, high)]


def _prism(count: int, radius: float, half: float) -> list[Points]:
    low, high = _ring(half, radius, count), _ring(-half, radius, count)
    return [low, high, *_between(low, high)]


# y is down: the tip of a cone is at negative y
_FACES: Final = {
    "ball": _ball(),
    "cube": _prism(4, 0.98, 0.69),
    "cylinder": _prism(48, 0.66, 0.8),
    "cone": _tip(_ring(0.7, 0.75, 48), -0.95),
    "pyramid": _tip(_ring(0.6, 1.0, 4), -0.85),
}
