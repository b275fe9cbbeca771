"""Pieces that are missing, of other shapes than the stressors' rectangles and ellipses.

Called ``cutout`` where most of what is missing is one piece or a few; scattered losses have no type.
"""

from __future__ import annotations

from functools import wraps
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import regions
from auscult.train.candidates import amounts
from auscult.train.candidates.base import Draft, Maker
from auscult.train.candidates.working import Work
from auscult.types import Mask

_MOST_PIECES: Final = 4
_IN_PIECES: Final = 0.7  # of the missing pixels, in the largest pieces
_SLIVER_FROM: Final = 0.85  # a thinner slice at one end cannot be told from a local erosion
_NEVER: Final = np.float32(np.inf)


def _within(maker: Maker) -> Maker:
    """Let a maker that only takes away work in the window that fits the object."""

    @wraps(maker)
    def tight(work: Work, rng: np.random.Generator) -> Draft | None:
        draft = maker(work.inside, rng)
        return None if draft is None else Draft(work.inside.whole(draft.mask), draft.defect)

    return tight


@_within
def bite(work: Work, rng: np.random.Generator) -> Draft | None:
    """One to three pieces bitten out from the outline, about as deep as wide."""
    at = _drawn(work.depth == np.float32(0.5), rng, int(rng.choice([1, 1, 1, 2, 3])))
    return _cut(work, _nearest(work, rng, at), amounts.typed(rng))


@_within
def hole(work: Work, rng: np.random.Generator) -> Draft | None:
    """One to three holes: polygons and blobs, placed where the object is wide."""
    deep = np.where(work.own, work.depth, np.float32(0.0))
    deepest = float(deep.max()) if np.isfinite(deep).all() else 1.0
    at = _drawn(deep >= float(rng.uniform(0.3, 0.8)) * deepest, rng, int(rng.choice([1, 1, 2, 3])))
    return _cut(work, _nearest(work, rng, at), amounts.typed(rng))


@_within
def end(work: Work, rng: np.random.Generator) -> Draft | None:
    """One end is missing beyond a line, straight or wavy."""
    along, _ = _turned(work, rng)
    wave = np.float32(0.08 * float(rng.random()) * work.size_px) * work.noise(rng, 0.3 * work.size_px)
    times = along + wave
    times -= times.min()
    wanted = amounts.typed(rng)
    return _cut(work, times, wanted, named=wanted < _SLIVER_FROM)


@_within
def stripes(work: Work, rng: np.random.Generator) -> Draft | None:
    """Stripes across the object, as behind a fence or where a thin thing lies before it."""
    along, _ = _turned(work, rng)
    period = float(rng.uniform(0.35, 1.3)) * work.size_px
    phase = np.mod(along + float(rng.uniform(0, period)), period) - 0.5 * period
    return _cut(work, np.abs(phase).astype(np.float32), amounts.typed(rng))


@_within
def cells(work: Work, rng: np.random.Generator) -> Draft | None:
    """Patches of no regular shape."""
    grain = float(rng.uniform(0.15, 0.5)) * work.size_px
    noise = work.noise(rng, grain)
    return _cut(work, noise - noise.min(), amounts.typed(rng))


@_within
def colour(work: Work, rng: np.random.Generator) -> Draft | None:
    """The part that has the colour of one place, the nearer to it the sooner: another shirt, a window, a shadow."""
    ((row, column),) = _drawn(work.own, rng, 1)
    unlike = work.unlike(row, column) + np.float32(rng.uniform(5, 60)) * work.far(row, column)
    times = cv2.GaussianBlur(unlike, (0, 0), 1.5)
    return _cut(work, np.asarray(times, dtype=np.float32), amounts.typed(rng), within=0.03)


@_within
def limb(work: Work, rng: np.random.Generator) -> Draft | None:
    """A part that hangs on the rest by a thin neck: what an opening would take away, one piece or all."""
    deepest = float(np.where(work.own, work.depth, np.float32(0.0)).max())
    if not np.isfinite(deepest):
        return None
    radius = float(rng.uniform(0.15, 0.75)) * deepest
    core = np.asarray(work.own & (work.depth > radius))
    body = regions.reach(core) <= radius + 1.0
    labels, areas = regions.components(np.asarray(work.own & ~body), connectivity=4)
    parts = np.flatnonzero((areas > 0.03 * work.area_px) & (areas < 0.6 * work.area_px)) + 1
    if not parts.size:
        return None
    some = rng.permutation(parts)[: int(rng.integers(1, parts.size + 1))]
    mask = work.own & ~np.isin(labels, some)
    return _named(work, np.asarray(mask))


@_within
def component(work: Work, rng: np.random.Generator) -> Draft | None:
    """One of the parts that something in front divides the object into."""
    labels, areas = regions.components(work.own)
    parts = np.flatnonzero((areas > 0.03 * work.area_px) & (areas < 0.7 * work.area_px)) + 1
    if not parts.size:
        return None
    return _named(work, np.asarray(work.own & (labels != rng.choice(parts))))


@_within
def opened(work: Work, rng: np.random.Generator) -> Draft | None:
    """Without all that is thinner than a width, as a smoothing model gives it; no type unless it is one piece."""
    deepest = float(np.where(work.own, work.depth, np.float32(0.0)).max())
    if not np.isfinite(deepest):
        return None
    radius = float(rng.uniform(0.1, 0.7)) * deepest
    core = np.asarray(work.own & (work.depth > radius))
    mask = work.own & (regions.reach(core) <= radius + 0.5)
    return Draft(np.asarray(mask), None) if mask.any() and work.iou(mask) >= 0.3 else None


def _nearest(work: Work, rng: np.random.Generator, at: list[tuple[int, int]]) -> NDArray[np.float32] | None:
    """How far each pixel is from the nearest of some places, in units of random shapes about them."""
    times: NDArray[np.float32] | None = None
    for row, column in at:
        x = (np.arange(work.own.shape[1], dtype=np.float32) - column)[None, :]
        y = (np.arange(work.own.shape[0], dtype=np.float32) - row)[:, None]
        one = _norm(x, y, rng) * np.float32(rng.uniform(0.7, 1.4))
        times = one if times is None else np.minimum(times, one)
    return times


def _norm(x: NDArray[np.float32], y: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """A star-shaped norm: a convex polygon's or a blob's."""
    stretch = np.float32(np.exp(rng.uniform(-0.35, 0.35)))
    turn = float(rng.uniform(0, 2 * np.pi))
    along = (np.float32(np.cos(turn)) * x + np.float32(np.sin(turn)) * y) * stretch
    across = (np.float32(np.cos(turn)) * y - np.float32(np.sin(turn)) * x) / stretch
    if rng.random() < 0.4:
        corners = int(rng.integers(3, 7))
        angles = (np.arange(corners) + rng.uniform(-0.25, 0.25, corners)) * 2 * np.pi / corners
        sides = [np.float32(np.cos(angle)) * along + np.float32(np.sin(angle)) * across for angle in angles]
        return np.asarray(np.maximum.reduce(sides), dtype=np.float32)
    angle = np.asarray(cv2.phase(along, across))
    radius = np.ones(angle.shape, np.float32)
    for waves in range(2, int(rng.integers(2, 6))):
        swing, phase = np.float32(rng.uniform(0, 0.7 / waves)), np.float32(rng.uniform(0, 2 * np.pi))
        radius += swing * np.cos(np.float32(waves) * angle + phase)
    norm = np.sqrt(along * along + across * across) / np.maximum(radius, np.float32(0.25))
    return np.asarray(norm, dtype=np.float32)


def _turned(work: Work, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Coordinates along and across a random direction, px."""
    turn = float(rng.uniform(0, 2 * np.pi))
    x = np.arange(work.own.shape[1], dtype=np.float32)[None, :]
    y = np.arange(work.own.shape[0], dtype=np.float32)[:, None]
    cos, sin = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    return cos * x + sin * y, cos * y - sin * x


def _drawn(where: Mask, rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
    places = np.flatnonzero(where)
    if not places.size:
        return []
    chosen = rng.choice(places, size=count)
    return [(int(place) // where.shape[1], int(place) % where.shape[1]) for place in chosen]


def _cut(
    work: Work, times: NDArray[np.float32] | None, wanted: float, *, within: float = 0.02, named: bool = True
) -> Draft | None:
    if times is None:
        return None
    mask = work.flipped(np.where(work.own, np.maximum(times, np.float32(0.0)), _NEVER), wanted, within=within)
    if mask is None or not mask.any():
        return None
    return _named(work, mask) if named else Draft(mask, None)


def _named(work: Work, mask: Mask) -> Draft | None:
    """A cutout where the few largest pieces hold most of what is missing."""
    if not mask.any():
        return None
    _, areas = regions.components(work.own & ~mask)
    largest = np.sort(areas)[::-1][:_MOST_PIECES].sum()
    return Draft(mask, "cutout" if largest >= _IN_PIECES * areas.sum() else None)
