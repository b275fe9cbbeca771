"""Boundary errors that keep their side of an object through a clip, shared by dilate and erode.

As in ``bands``, a pixel belongs to the band when its distance to the outline, divided by a modulation in (0, 1], is at
most ``width_px``. Here the modulation is drawn once, in body coordinates; in each frame only the width is found, as an
order statistic, so that the exact IoU lies in the window.

Source: MQ-RAVSBench, Sec. 3.2, Eqs. 5 and 6, and the video protocol of Sec. 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from auscult import rng as randomness
from auscult.arrays import boxes, regions
from auscult.outcome import Undefined
from auscult.stress.masks import fields
from auscult.stress.masks.bands import Edge, Outline, Side
from auscult.stress.masks.base import undefined, widest_px
from auscult.stress.masks.body import Body, Posed
from auscult.types import Mask

_MOST_ANCHORS: Final = 4
_MOST_LOOSE: Final = 0.1  # share of the target that an erosion may leave cut off from the rest, as in ``bands``
_CONTRAST: Final = 1.7
_LEAST: Final = 1e-4
_EXTENT: Final = 2.5  # the noise goes on unchanged beyond this, in body units; few objects reach so far
_LEAST_GRAIN: Final = 0.02
_ENOUGH: Final = 3  # times the band's pixels that are looked at first, the nearest ones


@dataclass(frozen=True, slots=True)
class BodyAnchor:
    """A place on the outline where a local error is widest, in body coordinates; it fades over ``spread``."""

    u: float
    v: float
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What was drawn for one track: the same in all of its frames.

    Attributes:
        outline: Along the whole outline, or only near the anchors.
        edge: Width that changes slowly (``smooth``) or from grain to grain (``ragged``).
        swing: How much of the width the noise may take away, 0..1.
        grain: Size of the noise's grains in body units.
        noise_seed: Seed of the noise.
        anchors: Empty for ``all_round``.
    """

    outline: Outline
    edge: Edge
    swing: float
    grain: float
    noise_seed: int
    anchors: tuple[BodyAnchor, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "outline": self.outline,
            "edge": self.edge,
            "swing": self.swing,
            "grain": self.grain,
            "noise_seed": self.noise_seed,
            "anchors": [[anchor.u, anchor.v, anchor.spread] for anchor in self.anchors],
        }

    @classmethod
    def from_json(cls, value: object) -> Pattern:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        given = fields.exactly(value, ("outline", "edge", "swing", "grain", "noise_seed", "anchors"))
        return cls(
            outline=cast("Outline", fields.one_of(given["outline"], "outline", ("all_round", "local"))),
            edge=cast("Edge", fields.one_of(given["edge"], "edge", ("smooth", "ragged"))),
            swing=fields.real(given["swing"], "swing", low=0.0, high=1.0),
            grain=fields.real(given["grain"], "grain", low=_LEAST_GRAIN, high=2 * _EXTENT),
            noise_seed=fields.whole(given["noise_seed"], "noise_seed", low=0, high=2**63 - 1),
            anchors=tuple(_anchor(item) for item in fields.listed(given["anchors"], "anchors", most=_MOST_ANCHORS)),
        )


def _anchor(value: object) -> BodyAnchor:
    numbers = fields.listed(value, "anchors", most=3)
    numbers += [None] * (3 - len(numbers))
    u, v = (fields.real(number, "anchors", low=-1e3, high=1e3) for number in numbers[:2])
    return BodyAnchor(u, v, fields.real(numbers[2], "anchors", low=0.01, high=1e3))


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthParams:
    """The band of one frame: the track's pattern, the frame's body, and the band's greatest width."""

    pattern: Pattern
    body: Body
    width_px: float

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {"pattern": self.pattern.as_json(), "body": self.body.as_json(), "width_px": self.width_px}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> WidthParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        given = fields.exactly(value, ("pattern", "body", "width_px"))
        return cls(
            pattern=Pattern.from_json(given["pattern"]),
            body=Body.from_json(given["body"]),
            width_px=fields.real(given["width_px"], "width_px", low=0.0, high=1e9),
        )


def draw(rng: np.random.Generator, frame: Posed, *, share: float, side: Side, plain: bool) -> Pattern:
    """Draw the pattern of a track.

    Args:
        rng: Draws it.
        frame: One of the track's frames; local errors lie on its outline.
        share: Pixels of the band over pixels of the object.
        side: Inside erodes, outside dilates.
        plain: Draw a smooth band all round, which fits most shapes.
    """
    edge_pixels = _edge(frame, side)
    local = bool(rng.random() < 0.5) and not plain and edge_pixels.size > 0
    ragged = bool(rng.random() < 0.5) and not plain
    mean_width = share * frame.piece.size_px / max(1, edge_pixels.size) * (2.0 if local else 1.0)
    if ragged:  # grains about as large as the band is wide: a band that jumps faster would shed crumbs
        swing, grain = rng.uniform(0.65, 0.95), rng.uniform(0.8, 1.6) * mean_width * (2.0 if local else 1.0)
    else:
        swing, grain = rng.uniform(0.05, 0.35), rng.uniform(0.25, 0.6)
    return Pattern(
        outline="local" if local else "all_round",
        edge="ragged" if ragged else "smooth",
        swing=float(swing),
        grain=float(np.clip(max(grain, 2.0 / frame.piece.size_px), _LEAST_GRAIN, _EXTENT)),
        noise_seed=int(rng.integers(2**63)),
        anchors=_anchors(rng, frame, edge_pixels=edge_pixels, side=side) if local else (),
    )


def _edge(frame: Posed, side: Side) -> NDArray[np.int64]:
    return np.flatnonzero((frame.piece.depth if side == "inside" else frame.piece.reach) == 1.0)


def _anchors(
    rng: np.random.Generator, frame: Posed, *, edge_pixels: NDArray[np.int64], side: Side
) -> tuple[BodyAnchor, ...]:
    box = frame.piece.inside if side == "inside" else frame.piece.around
    rows, columns = np.divmod(rng.choice(edge_pixels, size=int(rng.integers(1, 3))), box[2] - box[0])
    u, v = frame.body.place_of((columns + box[0]).astype(np.float64), (rows + box[1]).astype(np.float64))
    return tuple(
        BodyAnchor(float(u[index]), float(v[index]), float(rng.uniform(0.2, 0.5))) for index in range(rows.size)
    )


def solve(frame: Posed, pattern: Pattern, *, wanted: tuple[int, int, int], side: Side) -> WidthParams | Undefined:
    """Find the band's width for one frame.

    Args:
        frame: The target and its body.
        pattern: From ``draw``.
        wanted: The fewest, the wanted and the most pixels of the band.
        side: Inside erodes, outside dilates.

    Returns:
        The frame's parameters, or ``Undefined`` where the window cannot be reached or the object would fall apart.
    """
    fewest, middle, most = wanted
    limits = _limits(frame, most, side)
    if not limits:
        return undefined("no_boundary", area_px=frame.piece.area_px)
    if side == "outside" and frame.piece.mask.size - frame.piece.area_px < fewest:
        return undefined("no_room", area_px=frame.piece.area_px, fewest_px=fewest)
    for limit_px in limits:
        where, ratio = _ratios(frame, pattern, side=side, limit_px=limit_px)
        width = _width(ratio, fewest=fewest, middle=min(middle, ratio.size), most=most)
        if width is not None and width <= limit_px:  # else pixels beyond the limit may come first
            break
    if width is None:
        return undefined("window_not_reached", area_px=frame.piece.area_px, fewest_px=fewest, most_px=most)
    if side == "inside" and not _keeps_together(frame, where[ratio <= np.float32(width)]):
        return undefined("splits", area_px=frame.piece.area_px)
    return WidthParams(pattern=pattern, body=frame.body, width_px=width)


def _limits(frame: Posed, most: int, side: Side) -> tuple[float, ...]:
    """Distances up to which pixels are looked at: one that is mostly enough, and the widest a band may reach."""
    distance = frame.piece.depth if side == "inside" else frame.piece.reach
    widest = widest_px(frame.piece.size_px)
    near = distance[(distance > 0) & (distance <= widest)]
    enough = _ENOUGH * most
    if near.size <= enough:
        return (widest,) if near.size else ()
    return float(np.partition(near, enough)[enough]), widest


def _width(ratio: NDArray[np.float32], *, fewest: int, middle: int, most: int) -> float | None:
    if ratio.size < fewest:
        return None
    width = np.partition(ratio, middle - 1)[middle - 1]
    if np.count_nonzero(ratio <= width) > most:  # pixels at equal ratio only come together
        below = ratio[ratio < width]
        if below.size < fewest:
            return None
        width = below.max()
    return float(width)


def _keeps_together(frame: Posed, lost: NDArray[np.int64]) -> bool:
    """Whether what is left is as much one thing as the target was."""
    left = frame.piece.mask[boxes.window(frame.piece.inside)].copy()
    left.ravel()[lost] = False
    _, areas = regions.components(left)
    return areas.size > 0 and float(areas.max() / areas.sum()) >= frame.piece.main_share - _MOST_LOOSE


def _ratios(
    frame: Posed, pattern: Pattern, *, side: Side, limit_px: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Pixels no farther than ``limit_px`` from the outline, and their distance over modulation, which is no less.

    Returns:
        Indices into ``piece.inside`` or ``piece.around``, row by row, and float32 ratios. There may be pixels from
        farther away, with ratios above ``limit_px``.
    """
    limit_px = min(limit_px, widest_px(frame.piece.size_px))
    known = frame.kept.get((side, pattern))
    if known is None or known[0] < limit_px:
        frame.kept.clear()
        known = (limit_px, *_fresh_ratios(frame, pattern, side=side, limit_px=limit_px))
        frame.kept[side, pattern] = known
    where: NDArray[np.int64] = known[1]
    ratio: NDArray[np.float32] = known[2]
    return where, ratio


def _fresh_ratios(
    frame: Posed, pattern: Pattern, *, side: Side, limit_px: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    box, distance = (
        (frame.piece.inside, frame.piece.depth) if side == "inside" else (frame.piece.around, frame.piece.reach)
    )
    where = np.flatnonzero((distance > 0) & (distance <= limit_px))
    rows, columns = np.divmod(where, box[2] - box[0])
    u, v = frame.body.place_of((columns + box[0]).astype(np.float64), (rows + box[1]).astype(np.float64))
    return where, distance.ravel()[where] / _modulation(pattern, u, v)


def _modulation(pattern: Pattern, u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float32]:
    field = np.float32(1.0) - np.float32(pattern.swing) * _noise(pattern, u, v)
    if pattern.anchors:
        near = np.zeros(u.shape, np.float32)
        for anchor in pattern.anchors:
            away2 = ((u - anchor.u) ** 2 + (v - anchor.v) ** 2) / anchor.spread**2
            np.maximum(near, np.exp((-0.5 * away2).astype(np.float32)), out=near)
        field *= near
    bounded: NDArray[np.float32] = np.maximum(field, np.float32(_LEAST))
    return bounded


def _noise(pattern: Pattern, u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float32]:
    """Noise in [0, 1] that depends on body coordinates and the seed only."""
    cells = max(2, int(np.ceil(2 * _EXTENT / pattern.grain)))
    lattice = randomness.generator(pattern.noise_seed, "grain").random((cells + 1, cells + 1), dtype=np.float32)
    last = np.float32(cells) * np.float32(1 - 1e-6)
    x = np.clip(((u + _EXTENT) / pattern.grain).astype(np.float32), np.float32(0), last)
    y = np.clip(((v + _EXTENT) / pattern.grain).astype(np.float32), np.float32(0), last)
    left, top = x.astype(np.intp), y.astype(np.intp)
    x -= left
    y -= top
    if pattern.edge == "smooth":
        x, y = x * x * (3 - 2 * x), y * y * (3 - 2 * y)
    values, corner = lattice.ravel(), top * (cells + 1) + left
    upper, lower = values[corner], values[corner + cells + 1]
    upper += (values[corner + 1] - upper) * x
    lower += (values[corner + cells + 2] - lower) * x
    noise: NDArray[np.float32] = upper + (lower - upper) * y
    if pattern.edge == "ragged":  # interpolation draws values to the middle; ragged means far apart
        noise = (noise - np.float32(0.5)) * np.float32(_CONTRAST) + np.float32(0.5)
    return np.clip(noise, np.float32(0), np.float32(1))


def render(frame: Posed, params: WidthParams, *, side: Side) -> Mask:
    """The target with the band taken off or added, a new bool (H, W)."""
    posed = frame if frame.body == params.body else Posed(frame.piece, params.body)
    where, ratio = _ratios(posed, params.pattern, side=side, limit_px=params.width_px)
    box = frame.piece.inside if side == "inside" else frame.piece.around
    result = frame.piece.mask.copy()
    rows, columns = np.divmod(where[ratio <= np.float32(params.width_px)], box[2] - box[0])
    result[rows + box[1], columns + box[0]] = side == "outside"
    return result
