"""From parts to a sprite: outlines are filled at several times the wanted size and averaged down.

Each part is filled with its paint, a pattern where it is the body, and a little form: darker towards its own outline.
The direction of the light is the composer's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.record.codec import Word
from auscult.scenes.appearance.colours import Tone
from auscult.scenes.appearance.scenery import Weave, pattern
from auscult.types import Floats, Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A thing's look: which thing of an asset set, and everything that was drawn for it."""

    category: Word  # countable noun, singular
    instance: Word  # name of this one thing within its set, such as a file; scenes of different splits share none
    aspect: Annotated[float, Meta(ge=1e-3, le=1e3)]  # width over height, upright
    colour: str | None = None  # a basic colour word where one fits, else None
    texture: str | None = None  # `plain`, `striped`, ... where one fits, else None
    # what else the asset set needs to draw it again; JSON values
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Sprite:
    """A thing drawn at one size."""

    # uint8 (h, w, 3), straight (not multiplied by alpha); colours go on a little beyond the outline
    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8]  # uint8 (h, w), 255 inside the thing; at least one pixel at 128 or more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """A sprite put into a picture."""

    sprite: Sprite  # what; already at the size and turn wanted
    x_px: float  # its centre in the picture
    y_px: float  # its centre in the picture
    speed_px: tuple[float, float] = (0.0, 0.0)  # (x, y) pixels it moves while the shutter is open; (0, 0) is sharp


class AssetSet(Protocol):
    """Where looks and backgrounds come from."""

    @property
    def name(self) -> str:
        """Of the set."""
        ...

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Category to the names of its instances, both in a fixed order."""
        ...

    def backgrounds(self) -> tuple[str, ...]:
        """Names of the backgrounds, in a fixed order; never empty."""
        ...

    def held(self, background: str) -> frozenset[str] | None:
        """Categories that a background is known to show; None where it shows no thing at all."""
        ...

    def look(self, rng: np.random.Generator, category: str, *, instance: str) -> Look:
        """Draw everything that is free about an instance: colour and texture for a generated one."""
        ...

    def sprite(self, look: Look, *, height_px: int, turn_deg: float = 0.0) -> Sprite:
        """Draw a look at a size; pure."""
        ...

    def background(self, name: str, *, size: tuple[int, int]) -> Frame:
        """A background as uint8 RGB (height, width, 3) of the wanted (height, width); pure."""
        ...


def with_a_pixel(alpha: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """An alpha, changed in place so that a thing of less than a pixel still has one."""
    if int(alpha.max()) < 128:
        alpha[np.unravel_index(int(alpha.argmax()), alpha.shape)] = 255
    return alpha


def check_height(height_px: int, *, tallest_px: int) -> None:
    """Refuse a sprite's height that is below 1 or above ``tallest_px``."""
    if not 1 <= height_px <= tallest_px:
        raise InputError(f"a thing's height is {height_px} pixels", expected=f"1 to {tallest_px}")


def spread(colour: Floats, weight: Floats, *, reach_px: int) -> Floats:
    """Straight colours of a premultiplied picture, float32 (H, W, 3), going on beyond its outline.

    ``weight``, float32 (H, W), 0..1, is what it was multiplied by. Beyond ``reach_px`` the mean colour follows.
    """
    side = 2 * reach_px + 1
    mean = colour.sum(axis=(0, 1)) / max(float(weight.sum()), 1e-6)
    far_colour = cv2.blur(colour, (side, side), borderType=cv2.BORDER_CONSTANT) + mean * np.float32(1e-3)
    far_weight = cv2.blur(weight, (side, side), borderType=cv2.BORDER_CONSTANT) + np.float32(1e-3)
    share = np.minimum(weight * 16, 1)[..., None]  # straight colours are exact where there is some weight
    straight = colour / np.maximum(weight, 1 / 255)[..., None]
    return np.asarray(straight * share + far_colour / far_weight[..., None] * (1 - share), dtype=np.float32)


Points = NDArray[np.float64]


def ellipse(x: float, y: float, rx: float, ry: float | None = None, *, turn: float = 0.0) -> Points:  # noqa: PLR0917 - places
    """An ellipse round (x, y); a circle without ``ry``. ``turn`` is clockwise, degrees."""
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    points = np.stack([rx * np.cos(angles), (rx if ry is None else ry) * np.sin(angles)], axis=1)
    return np.asarray(np.add(turned(points, turn), (x, y)))


def arc(x: float, y: float, radius: ArrayLike, *, start: float, stop: float) -> Points:
    """Points on a circle or ellipse (radius or (rx, ry)); degrees clockwise from the right. Not closed."""
    angles = np.radians(np.linspace(start, stop, 25))
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray(circle * np.asarray(radius) + np.array((x, y)))


def ring_arc(x: float, y: float, radius: float, width: float, *, start: float, stop: float) -> Points:  # noqa: PLR0917 - places
    """A bent band: part of a ring of this width."""
    outer = arc(x, y, radius + width / 2, start=start, stop=stop)
    inner = arc(x, y, radius - width / 2, start=start, stop=stop)
    return np.concatenate([outer, inner[::-1]])


def box(x0: float, y0: float, x1: float, y1: float, *, rounding: float = 0.0) -> Points:  # noqa: PLR0917 - places
    """An upright rectangle with rounded corners; ``rounding`` is a radius."""
    if rounding <= 0:
        return np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], dtype=np.float64)
    r = min(rounding, abs(x1 - x0) / 2, abs(y1 - y0) / 2)
    corners = (
        arc(x1 - r, y0 + r, r, start=-90, stop=0),
        arc(x1 - r, y1 - r, r, start=0, stop=90),
        arc(x0 + r, y1 - r, r, start=90, stop=180),
        arc(x0 + r, y0 + r, r, start=180, stop=270),
    )
    return np.concatenate(corners)


def polygon(*points: tuple[float, float]) -> Points:
    """A polygon of these corners."""
    return np.array(points, dtype=np.float64)


def bar(start: tuple[float, float], stop: tuple[float, float], width: float, *, taper: float = 1.0) -> Points:
    """A straight bar with round ends; at ``stop`` it is ``taper`` times as wide."""
    first, last = np.array(start, dtype=np.float64), np.array(stop, dtype=np.float64)
    angle = float(np.degrees(np.arctan2(*(last - first)[::-1])))
    first_end = arc(first[0], first[1], width / 2, start=angle + 90, stop=angle + 270)
    last_end = arc(last[0], last[1], width / 2 * taper, start=angle - 90, stop=angle + 90)
    return np.concatenate([first_end, last_end])


def star(x: float, y: float, radius: float, *, points: int = 5, depth: float = 0.45) -> Points:
    """A star with one point up; ``depth`` is the inner radius over the outer."""
    angles = np.linspace(0, 2 * np.pi, 2 * points, endpoint=False) - np.pi / 2
    radii = np.where(np.arange(2 * points) % 2 == 0, radius, radius * depth)
    return np.asarray(np.add(np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1), (x, y)))


def lathe(profile: Sequence[tuple[float, float]], *, soft: bool = True) -> Points:
    """A thing turned on a lathe: (half width, y) from top to bottom, mirrored."""
    right = np.array(profile, dtype=np.float64)
    if soft:
        right = smooth(right, closed=False)
    return np.concatenate([right, mirrored(right[::-1])])


def smooth(points: ArrayLike, *, closed: bool = True, rounds: int = 3) -> Points:
    """Round the corners by cutting them (Chaikin 1974)."""
    line = np.asarray(points, dtype=np.float64)
    for _ in range(rounds):
        after = np.roll(line, -1, axis=0) if closed else line[1:]
        before = line if closed else line[:-1]
        cut = np.stack([0.75 * before + 0.25 * after, 0.25 * before + 0.75 * after], axis=1).reshape(-1, 2)
        line = cut if closed else np.concatenate([line[:1], cut, line[-1:]])
    return line


def turned(points: Points, degrees: float) -> Points:
    """Turn points clockwise about (0, 0)."""
    angle = np.radians(degrees)
    matrix = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(points @ matrix)


def mirrored(points: Points) -> Points:
    """The same on the other side of the upright axis through 0."""
    return np.asarray(points * (-1.0, 1.0))


_MARGIN_PX: Final = 3  # around the thing, so that its edge can be softened
_BLEED_PX: Final = 4  # how far colours go on beyond the outline
_SHIFT: Final = 4  # binary digits after the point in OpenCV's polygons


@dataclass(frozen=True, slots=True, eq=False)
class PaintedOutline:
    """One painted outline; later parts lie over earlier ones."""

    contours: tuple[Points, ...]  # filled by the even-odd rule, so a second one inside the first is a hole
    paint: str  # `body` takes the thing's colour and texture, every other name a tone of `Skin.tones`
    dome: float  # how round it looks, 0 (flat) to 1


def paint(name: str, dome: float, *contours: Points) -> PaintedOutline:
    """A painted outline, the way figures list their parts."""
    return PaintedOutline(contours, name, dome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skin:
    """The paints of one look."""

    tones: Mapping[str, Tone]  # paint to tone; `body` is among them
    mark: Tone  # the texture's second tone
    texture: str  # one of `TEXTURES`
    weave: Weave  # how the texture lies
    grain_seed: int  # of the fine mottling


def upright(parts: Sequence[PaintedOutline]) -> tuple[tuple[PaintedOutline, ...], float]:
    """Scale parts together to a height of 1 with the top left at (0, 0); with their aspect, width over height."""
    points = np.concatenate([contour for part in parts for contour in part.contours])
    low, high = points.min(axis=0), points.max(axis=0)
    height = float(high[1] - low[1])
    scaled = tuple(
        PaintedOutline(tuple((contour - low) / height for contour in part.contours), part.paint, part.dome)
        for part in parts
    )
    return scaled, float(high[0] - low[0]) / height


def draw(parts: Sequence[PaintedOutline], aspect: float, *, skin: Skin, height_px: int, turn_deg: float) -> Sprite:
    """Draw upright parts."""
    sheet = _Sheet.around(parts, aspect, height_px=height_px, turn_deg=turn_deg)
    colour: NDArray[Any] = np.zeros((*sheet.size, 3), np.float32)
    weight = np.zeros(sheet.size, np.float32)
    cover = np.zeros((sheet.size[0] * sheet.finer, sheet.size[1] * sheet.finer), np.uint8)
    for part in parts:
        sheet.paint(part, skin, colour=colour, weight=weight, cover=cover)
    alpha: NDArray[Any] = cv2.resize(cover, sheet.size[::-1], interpolation=cv2.INTER_AREA)
    straight = spread(colour, weight, reach_px=_BLEED_PX)
    straight *= _mottling(sheet, skin)[..., None]
    return Sprite(np.clip(np.rint(straight), 0, 255).astype(np.uint8), with_a_pixel(alpha))


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Where a thing lies on its sprite: pixels = turned(unit - middle) * height + size / 2."""

    size: tuple[int, int]
    middle: tuple[float, float]
    height_px: int
    turn_deg: float
    finer: int

    @classmethod
    def around(cls, parts: Sequence[PaintedOutline], aspect: float, *, height_px: int, turn_deg: float) -> _Sheet:
        middle = (aspect / 2, 0.5)
        points = np.concatenate([contour for part in parts for contour in part.contours])
        reach = np.abs(turned(points - middle, turn_deg)).max(axis=0) * height_px
        width, height = (2 * (math.ceil(side) + _MARGIN_PX) for side in reach)
        return cls(
            (height, width), middle, height_px, turn_deg, 4 if height_px <= 160 else 3 if height_px <= 320 else 2
        )

    def paint(
        self, part: PaintedOutline, skin: Skin, *, colour: Floats, weight: Floats, cover: NDArray[np.uint8]
    ) -> None:
        """Lay one part over what is there."""
        half = np.array(self.size[::-1]) / 2
        outlines = [turned(contour - self.middle, self.turn_deg) * self.height_px + half for contour in part.contours]
        points = np.concatenate(outlines)
        low = np.clip(np.floor(points.min(axis=0)).astype(int), 0, (self.size[1] - 1, self.size[0] - 1))
        high = np.clip(np.ceil(points.max(axis=0)).astype(int) + 1, low + 1, (self.size[1], self.size[0]))
        window = (slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0])))
        fine = np.zeros(((high - low) * self.finer)[::-1], np.uint8)
        scale = self.finer * 2**_SHIFT
        polygons = [np.rint((outline - low) * scale - 2 ** (_SHIFT - 1)).astype(np.int32) for outline in outlines]
        cv2.fillPoly(fine, polygons, 255, shift=_SHIFT)
        bounds = tuple(slice(side.start * self.finer, side.stop * self.finer) for side in window)
        np.maximum(cover[bounds], fine, out=cover[bounds])
        covered: NDArray[Any] = cv2.resize(fine, tuple(int(side) for side in high - low), interpolation=cv2.INTER_AREA)
        share = covered.astype(np.float32) / np.float32(510 if part.paint == "shine" else 255)
        paint = self._paint(part, skin, window, covered=covered)
        colour[window] += (paint - colour[window]) * share[..., None]
        weight[window] += (1 - weight[window]) * share

    def _paint(
        self, part: PaintedOutline, skin: Skin, window: tuple[slice, slice], *, covered: NDArray[np.uint8]
    ) -> NDArray[np.float32]:
        tone = np.array(skin.tones[part.paint], np.float32)
        paint = np.broadcast_to(tone, (*covered.shape, 3)).copy()
        if part.paint == "body" and skin.texture != "plain":
            u, v = self.coordinates(window, finer=2)
            marked = pattern(skin.texture, u, v, weave=skin.weave)
            if marked is not None:
                shares = cv2.resize(marked, covered.shape[::-1], interpolation=cv2.INTER_AREA)
                paint += (np.array(skin.mark, np.float32) - tone) * shares[..., None]
        if part.dome > 0:
            paint *= _form(covered, part.dome)[..., None]
        return paint

    def coordinates(self, window: tuple[slice, slice], *, finer: int) -> tuple[Floats, Floats]:
        """Where the pixels of a window lie on the thing, in heights: (u, v), each float32."""
        rows, columns = (
            ((np.arange(side.start * finer, side.stop * finer) + 0.5) / finer - size / 2) / self.height_px
            for side, size in zip(window, self.size, strict=True)
        )
        angle = math.radians(self.turn_deg)
        cos, sin = math.cos(angle), math.sin(angle)
        u = (columns * cos)[None, :] + (rows * sin)[:, None] + self.middle[0]
        v = (rows * cos)[:, None] - (columns * sin)[None, :] + self.middle[1]
        return u.astype(np.float32), v.astype(np.float32)


def _form(covered: NDArray[np.uint8], dome: float) -> Floats:
    """Brightness that falls off towards a part's outline."""
    inside = cv2.copyMakeBorder((covered >= 128).astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    depth = cv2.distanceTransform(inside, cv2.DIST_L2, 3)[1:-1, 1:-1]
    deepest = float(depth.max())
    if deepest < 2:
        return np.ones(covered.shape, np.float32)
    rise = 1 - np.minimum(depth / np.float32(0.8 * deepest), 1)
    return np.asarray(1.06 - 0.36 * dome * rise * rise, dtype=np.float32)


def _mottling(sheet: _Sheet, skin: Skin) -> Floats:
    """Slight unevenness of the surface, tied to the thing."""
    table = np.random.Generator(np.random.PCG64(skin.grain_seed)).normal(size=(32, 32)).astype(np.float32)
    u, v = sheet.coordinates((slice(0, sheet.size[0]), slice(0, sheet.size[1])), finer=1)
    field: Floats = np.ones(sheet.size, np.float32)
    for repeats, depth in ((6.0, 0.03), (23.0, 0.025)):
        field += np.float32(depth) * cv2.remap(
            table, u * np.float32(repeats) % 31, v * np.float32(repeats) % 31, cv2.INTER_LINEAR
        )
    return field
