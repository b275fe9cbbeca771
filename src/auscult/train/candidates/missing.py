"""Pieces missing or too much, of other shapes than the stressors': strokes, parts, leaks that follow the picture.

Called ``cutout`` where most of what is missing is one piece or a few; scattered losses have no type.

All of them are two-sided or local, so they have no type. Costly maps are made once for an object, at reduced size.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import regions, segments
from auscult.train.candidates import base
from auscult.train.candidates.base import Draft, Work
from auscult.types import Frame, Mask

_COARSE_PX: Final = 112  # the longer side of the reduced pictures
_CUT_PX: Final = 72
_OBJECT: Final = (cv2.GC_FGD, cv2.GC_PR_FGD)
_NEVER: Final = np.float32(np.inf)


def leak(work: Work, rng: np.random.Generator) -> Draft | None:
    """Grown over the outline from one point into what has a like colour, connected to the object."""
    edge = np.flatnonzero(work.reach == np.float32(0.5))
    if not edge.size:
        return None
    row, column = divmod(int(rng.choice(edge)), work.own.shape[1])
    unlike = work.unlike(row, column) + np.float32(rng.uniform(8, 60)) * work.far(row, column)
    times = np.where(work.own, _NEVER, unlike)
    mask = work.flipped(times, base.realistic(rng), within=0.05)
    return None if mask is None else _connected(work, mask)


def mistaken(work: Work, rng: np.random.Generator) -> Draft | None:
    """Pixels near the outline go to the side whose colour they have: a soft threshold on the picture."""
    likeness = _likeness(work)
    against = np.where(work.own, -likeness, likeness)
    against = against + np.float32(rng.uniform(0.0, 0.5)) * work.noise(rng, 0.3 * work.size_px)
    times = np.where(against > 0.05, work.away / np.maximum(against, np.float32(0.05)), _NEVER)
    smooth = float(rng.uniform(0.0, 2.0))
    mask = work.flipped(times, base.realistic(rng), within=0.08)
    if mask is None or smooth < 0.5:
        return None if mask is None else Draft(mask, None)
    soft = np.asarray(cv2.GaussianBlur(mask.astype(np.float32), (0, 0), smooth))
    return base.untyped(work, np.asarray(soft > 0.5))


def pieces_gained(work: Work, rng: np.random.Generator) -> Draft | None:
    """Pieces of the picture that touch the object taken in, pieces of the object lost, or both."""
    labels = _pieces(work, rng)
    count = int(labels.max()) + 1
    nearest = np.full(count, np.inf)
    np.minimum.at(nearest, labels.ravel()[::3], work.away.ravel()[::3])
    order = rng.uniform(0.0, 1.0, count) + 20.0 * nearest / work.size_px
    times = order[labels].astype(np.float32)
    which = rng.random()
    if which < 0.4:
        times = np.where(work.own, _NEVER, times)
    elif which < 0.7:
        times = np.where(work.own, times, _NEVER)
    mask = work.flipped(times, base.realistic(rng), within=0.15)
    return base.untyped(work, mask)


def pieces_fitted(work: Work, rng: np.random.Generator) -> Draft | None:
    """The pieces of the picture that lie mostly in the object."""
    labels = _pieces(work, rng)
    count = int(labels.max()) + 1
    sizes = np.bincount(labels.ravel(), minlength=count)
    shares = np.bincount(labels.ravel(), work.own.ravel(), count) / np.maximum(sizes, 1)
    return base.untyped(work, (shares > float(rng.uniform(0.35, 0.65)))[labels])


def flooded(work: Work, rng: np.random.Generator) -> Draft | None:
    """Watershed from a core of the object and what is far from it."""
    small, target, scale = _small(work, _COARSE_PX)
    depth, reach = regions.depth(target), regions.reach(target)
    markers = np.zeros(target.shape, np.int32)
    size = work.size_px * scale
    markers[target & (depth > float(rng.uniform(0.04, 0.2)) * size)] = 1
    markers[~target & (reach > float(rng.uniform(0.04, 0.25)) * size)] = 2
    if not (markers == 1).any() or not (markers == 2).any():
        return None
    cv2.watershed(small, markers)
    return base.untyped(work, _large(work, np.asarray(markers == 1)))


def grab_cut(work: Work, rng: np.random.Generator) -> Draft | None:
    """GrabCut from a box or a rough mask that is a little off."""
    drafts: list[Mask] = work.kept.setdefault("grab_cut", [])
    if len(drafts) >= 2:  # it costs as much as a dozen others: two of an object are enough
        return None
    small, target, scale = _small(work, _CUT_PX)
    size = work.size_px * scale
    labels = _boxed(target, size, rng) if rng.random() < 0.5 else _roughly(target, size, rng)
    inside = int(np.count_nonzero(np.isin(labels, _OBJECT)))
    if inside < 16 or labels.size - inside < 16:  # too few for two colour models of five parts each
        return None
    cv2.setRNGSeed(int(rng.integers(2**31 - 1)))  # its colour models start from k-means, which draws from OpenCV's own
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(small, labels, (0, 0, 1, 1), *models, int(rng.integers(1, 4)), cv2.GC_INIT_WITH_MASK)
    mask = _large(work, np.isin(labels, _OBJECT))
    drafts.append(mask)
    return base.untyped(work, mask)


def _boxed(target: Mask, size_px: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Perhaps the object in a box that is a little off; surely it at a core, else it may vanish altogether."""
    labels = np.full(target.shape, cv2.GC_BGD, np.uint8)
    rows, columns = np.flatnonzero(target.any(axis=1)), np.flatnonzero(target.any(axis=0))
    off = np.rint(rng.normal(0.0, 0.06, 4) * size_px).astype(int)
    top, left = (max(1, int(side[0]) + int(by)) for side, by in ((rows, off[0]), (columns, off[1])))
    bottom, right = int(rows[-1]) + 1 + int(off[2]), int(columns[-1]) + 1 + int(off[3])
    labels[top : max(top + 3, bottom), left : max(left + 3, right)] = cv2.GC_PR_FGD
    deep = regions.depth(target)
    labels[target & (deep >= 0.75 * deep.max())] = cv2.GC_FGD
    return labels


def _roughly(target: Mask, size_px: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Perhaps the object where a shaken outline has it, surely it deep inside, surely not far outside."""
    lattice = rng.uniform(-1, 1, (6, 6)).astype(np.float32)
    noise = np.asarray(cv2.resize(lattice, target.shape[::-1], interpolation=cv2.INTER_CUBIC))
    deep = regions.depth(target)
    signed = np.where(target, deep, -regions.reach(target)) + noise * 0.15 * size_px
    labels = np.full(target.shape, cv2.GC_BGD, np.uint8)
    labels[signed > -0.12 * size_px] = cv2.GC_PR_BGD
    labels[signed > 0] = cv2.GC_PR_FGD
    labels[signed > 0.6 * deep.max()] = cv2.GC_FGD
    return labels


def _connected(work: Work, mask: Mask) -> Draft | None:
    """Without the parts that do not touch the object."""
    labels, areas = regions.components(mask)
    touched = np.zeros(areas.size + 1, np.bool_)
    touched[labels[work.own]] = True
    touched[0] = False
    return base.untyped(work, touched[labels])


def _likeness(work: Work) -> NDArray[np.float32]:
    """Whether a pixel's colour is that of the object (1) or of the surroundings (-1) round it; over ``box``."""
    if "likeness" not in work.kept:
        small, target, scale = _small(work, _COARSE_PX)
        lab = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB)).astype(np.float32)
        width = int(0.35 * work.size_px * scale) | 1
        distances = []
        for side in (target, ~target):
            weight = side.astype(np.float32)
            total = cv2.boxFilter(weight, -1, (width, width), normalize=False) + np.float32(1e-3)
            mean = cv2.boxFilter(lab * weight[..., None], -1, (width, width), normalize=False) / total[..., None]
            distances.append(np.where(total > 1, np.abs(lab - mean).sum(axis=2), np.float32(100.0)))
        like = (distances[1] - distances[0]) / (distances[0] + distances[1] + np.float32(6.0))
        size = work.own.shape[::-1]
        work.kept["likeness"] = np.asarray(cv2.resize(like, size, interpolation=cv2.INTER_LINEAR), dtype=np.float32)
    likeness: NDArray[np.float32] = work.kept["likeness"]
    return likeness


def _pieces(work: Work, rng: np.random.Generator) -> NDArray[np.int32]:
    """Pieces of the picture over ``box``, one cut of two sizes for all candidates of an object."""
    if "pieces" not in work.kept:
        small, _, scale = _small(work, _COARSE_PX)
        step = max(5, round(float(rng.uniform(0.12, 0.4)) * work.size_px * scale))
        strength = segments.edge_strength(np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB), dtype=np.uint8))
        labels = segments.pieces(small, strength, step_px=step)
        size = work.own.shape[::-1]
        work.kept["pieces"] = cv2.resize(labels.astype(np.float32), size, interpolation=cv2.INTER_NEAREST)
    return np.asarray(work.kept["pieces"], dtype=np.int32)


def _small(work: Work, side_px: int) -> tuple[Frame, Mask, float]:
    """The window's picture and truth at a reduced size, and how much smaller that is."""
    key = ("small", side_px)
    if key not in work.kept:
        scale = min(1.0, side_px / max(work.own.shape))
        size = (max(8, round(work.own.shape[1] * scale)), max(8, round(work.own.shape[0] * scale)))
        picture = np.ascontiguousarray(cv2.resize(work.picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        soft = cv2.resize(work.own.astype(np.float32), size, interpolation=cv2.INTER_AREA)
        work.kept[key] = (picture, np.asarray(np.asarray(soft) >= 0.5), scale)
    small: tuple[Frame, Mask, float] = work.kept[key]
    return small


def _large(work: Work, mask: Mask) -> Mask:
    """A reduced mask at the window's size, its steps smoothed away."""
    soft = cv2.resize(mask.astype(np.float32), work.own.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.asarray(soft) > 0.5)


_MOST_PIECES: Final = 4
_IN_PIECES: Final = 0.7  # of the missing pixels, in the largest pieces
_SLIVER_FROM: Final = 0.85  # a thinner slice at one end cannot be told from a local erosion


@base.inside
def bite(work: Work, rng: np.random.Generator) -> Draft | None:
    """One to three pieces bitten out from the outline, about as deep as wide."""
    centres = _random_points(work.depth == np.float32(0.5), rng, int(rng.choice([1, 1, 1, 2, 3])))
    return _cut(work, _nearest(work, rng, centres), base.typed(rng))


@base.inside
def hole(work: Work, rng: np.random.Generator) -> Draft | None:
    """One to three holes: polygons and blobs, placed where the object is wide."""
    deep = np.where(work.own, work.depth, np.float32(0.0))
    deepest = float(deep.max()) if np.isfinite(deep).all() else 1.0
    centres = _random_points(deep >= float(rng.uniform(0.3, 0.8)) * deepest, rng, int(rng.choice([1, 1, 2, 3])))
    return _cut(work, _nearest(work, rng, centres), base.typed(rng))


@base.inside
def end(work: Work, rng: np.random.Generator) -> Draft | None:
    """One end is missing beyond a line, straight or wavy."""
    along, _ = _turned(work, rng)
    wave = np.float32(0.08 * float(rng.random()) * work.size_px) * work.noise(rng, 0.3 * work.size_px)
    times = along + wave
    times -= times.min()
    iou = base.typed(rng)
    return _cut(work, times, iou, named=iou < _SLIVER_FROM)


@base.inside
def stripes(work: Work, rng: np.random.Generator) -> Draft | None:
    """Stripes across the object, as behind a fence or where a thin thing lies before it."""
    along, _ = _turned(work, rng)
    period = float(rng.uniform(0.35, 1.3)) * work.size_px
    phase = np.mod(along + float(rng.uniform(0, period)), period) - 0.5 * period
    return _cut(work, np.abs(phase).astype(np.float32), base.typed(rng))


@base.inside
def cells(work: Work, rng: np.random.Generator) -> Draft | None:
    """Patches of no regular shape."""
    grain = float(rng.uniform(0.15, 0.5)) * work.size_px
    noise = work.noise(rng, grain)
    return _cut(work, noise - noise.min(), base.typed(rng))


@base.inside
def colour(work: Work, rng: np.random.Generator) -> Draft | None:
    """The part that has the colour of one point, the nearer to it the sooner: another shirt, a window, a shadow."""
    ((row, column),) = _random_points(work.own, rng, 1)
    unlike = work.unlike(row, column) + np.float32(rng.uniform(5, 60)) * work.far(row, column)
    times = cv2.GaussianBlur(unlike, (0, 0), 1.5)
    return _cut(work, np.asarray(times, dtype=np.float32), base.typed(rng), within=0.03)


@base.inside
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
    chosen = rng.permutation(parts)[: int(rng.integers(1, parts.size + 1))]
    mask = work.own & ~np.isin(labels, chosen)
    return _named(work, np.asarray(mask))


@base.inside
def component(work: Work, rng: np.random.Generator) -> Draft | None:
    """One of the parts that something in front divides the object into."""
    labels, areas = regions.components(work.own)
    parts = np.flatnonzero((areas > 0.03 * work.area_px) & (areas < 0.7 * work.area_px)) + 1
    if not parts.size:
        return None
    return _named(work, np.asarray(work.own & (labels != rng.choice(parts))))


@base.inside
def opened(work: Work, rng: np.random.Generator) -> Draft | None:
    """Without all that is thinner than a width, as a smoothing model gives it; no type unless it is one piece."""
    deepest = float(np.where(work.own, work.depth, np.float32(0.0)).max())
    if not np.isfinite(deepest):
        return None
    radius = float(rng.uniform(0.1, 0.7)) * deepest
    core = np.asarray(work.own & (work.depth > radius))
    mask = work.own & (regions.reach(core) <= radius + 0.5)
    return base.untyped(work, np.asarray(mask))


def _nearest(work: Work, rng: np.random.Generator, centres: list[tuple[int, int]]) -> NDArray[np.float32] | None:
    """How far each pixel is from the nearest of the given points, in units of random shapes about them."""
    times: NDArray[np.float32] | None = None
    for row, column in centres:
        x = (np.arange(work.own.shape[1], dtype=np.float32) - column)[None, :]
        y = (np.arange(work.own.shape[0], dtype=np.float32) - row)[:, None]
        norm = _norm(x, y, rng) * np.float32(rng.uniform(0.7, 1.4))
        times = norm if times is None else np.minimum(times, norm)
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


def _random_points(region: Mask, rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
    indices = np.flatnonzero(region)
    if not indices.size:
        return []
    chosen = rng.choice(indices, size=count)
    return [(int(index) // region.shape[1], int(index) % region.shape[1]) for index in chosen]


def _cut(
    work: Work, times: NDArray[np.float32] | None, iou: float, *, within: float = 0.02, named: bool = True
) -> Draft | None:
    if times is None:
        return None
    mask = work.flipped(np.where(work.own, np.maximum(times, np.float32(0.0)), _NEVER), iou, within=within)
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
