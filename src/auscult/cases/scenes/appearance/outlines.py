"""Outlines of parts, as points: x to the right, y down, in any unit; a thing's parts are scaled together afterwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    one = arc(first[0], first[1], width / 2, start=angle + 90, stop=angle + 270)
    two = arc(last[0], last[1], width / 2 * taper, start=angle - 90, stop=angle + 90)
    return np.concatenate([one, two])


def star(x: float, y: float, radius: float, *, points: int = 5, depth: float = 0.45, turn: float = 0.0) -> Points:
    """A star with one point up; ``depth`` is the inner radius over the outer."""
    angles = np.linspace(0, 2 * np.pi, 2 * points, endpoint=False) - np.pi / 2
    radii = np.where(np.arange(2 * points) % 2 == 0, radius, radius * depth)
    return np.add(turned(np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1), turn), (x, y))


def lathe(profile: Sequence[tuple[float, float]], *, soft: bool = True, x: float = 0.0) -> Points:
    """A thing turned on a lathe: (half width, y) from top to bottom, mirrored.

    Args:
        profile: At least two pairs.
        soft: Round the profile's corners.
        x: The axis.
    """
    right = np.array(profile, dtype=np.float64)
    if soft:
        right = smooth(right, closed=False)
    left = right[::-1] * (-1.0, 1.0)
    return np.asarray(np.add(np.concatenate([right, left]), (x, 0.0)))


def smooth(points: ArrayLike, *, closed: bool = True, rounds: int = 3) -> Points:
    """Round the corners by cutting them (Chaikin 1974)."""
    line = np.asarray(points, dtype=np.float64)
    for _ in range(rounds):
        after = np.roll(line, -1, axis=0) if closed else line[1:]
        before = line if closed else line[:-1]
        cut = np.stack([0.75 * before + 0.25 * after, 0.25 * before + 0.75 * after], axis=1).reshape(-1, 2)
        line = cut if closed else np.concatenate([line[:1], cut, line[-1:]])
    return line


def turned(points: Points, degrees: float, *, about: tuple[float, float] = (0.0, 0.0)) -> Points:
    """Turn points clockwise."""
    angle = np.radians(degrees)
    matrix = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray((points - about) @ matrix + about)


def mirrored(points: Points, *, x: float = 0.0) -> Points:
    """The same on the other side of an upright axis."""
    return np.asarray(points * (-1.0, 1.0) + (2 * x, 0.0))
