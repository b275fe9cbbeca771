"""Boundary errors of stills and clips: a band along the outline whose width varies along the outline.

A pixel belongs to the band when its distance to the outline, divided by a modulation in (0, 1], is at most
``width_px``. The set grows with ``width_px`` alone, so the width for a wanted IoU is an order statistic of the ratios.

The modulation is drawn once, in body coordinates (``Body``), so that it keeps its side of an object through a clip; in
each frame only the width is found. A still is a clip of one frame whose body is that frame.

Source: MQ-RAVSBench, Sec. 3.2, Eqs. 5 and 6, and the video protocol of Sec. 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult import rng as randomness
from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.record.codec import Share
from auscult.stress.masks.base import (
    FRAME,
    Body,
    Coordinate,
    Doubles,
    Posed,
    Reason,
    Side,
    Wanted,
    Workpiece,
    check_body,
    last_taken,
    needed_px,
    undefined,
    wanted_px,
    widest_px,
    workpiece,
)
from auscult.stress.perturbation import JsonParams
from auscult.types import Box, Defect, Difficulty, Floats, Mask, MaskTarget, Metadata

ATTEMPTS: Final = 8
_LOCAL_ATTEMPTS: Final = 5  # after these only bands all round are tried: they fit most shapes
_RAGGED_ATTEMPTS: Final = 6
_CONTRAST: Final = 1.7
_LEAST: Final = 1e-4  # keeps the division finite far from every anchor
_EXTENT: Final = 2.5  # the noise goes on unchanged beyond this, in body units; few objects reach so far
_LEAST_GRAIN: Final = 0.02
_ENOUGH: Final = 3  # the nearest pixels, this many times the band's, are looked at first

Outline: TypeAlias = Literal["all_round", "local"]
Edge: TypeAlias = Literal["smooth", "ragged"]
Width: TypeAlias = Annotated[float, Meta(ge=0.0, le=1e9)]
Seed: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Anchor(NamedTuple):
    """A point on the outline where a local error is widest, in body coordinates; it fades over ``spread``."""

    u: Coordinate
    v: Coordinate
    spread: Annotated[float, Meta(ge=0.01, le=1e6)]


Anchors: TypeAlias = Annotated[tuple[Anchor, ...], Meta(max_length=8)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BandParams(JsonParams):
    """What was drawn for the band of a still."""

    outline: Outline  # along the whole outline, or only near the anchors
    edge: Edge  # width that changes slowly (`smooth`) or from grain to grain (`ragged`)
    width_px: Width  # greatest width of the band
    swing: Share  # how much of the width the noise may take away, 0..1
    grain_px: Annotated[int, Meta(ge=1, le=1_000_000)]  # size of the noise's grains
    noise_seed: Seed  # seed of the noise
    anchors: Anchors  # in pixels of the frame; empty for `all_round`


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(JsonParams):
    """What was drawn for a track: the same in all of its frames, as in ``BandParams``, but in body units."""

    outline: Outline
    edge: Edge
    swing: Share
    grain: Annotated[float, Meta(ge=_LEAST_GRAIN, le=2 * _EXTENT)]
    noise_seed: Seed
    anchors: Anchors


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthParams(JsonParams):
    """The band of one frame of a track: the track's pattern, the frame's body, and the band's greatest width."""

    pattern: Pattern
    body: Body
    width_px: Width

    def __post_init__(self) -> None:
        """Refuse a body whose axes span no area."""
        check_body(self.body)


def _draw_still(
    rng: np.random.Generator, frame: Posed, *, edge_pixels: NDArray[np.int64], wanted: int, side: Side, attempt: int
) -> BandParams:
    """Draw a band as for a track. Version 1 draws a still's anchors before its noise, and a track's after it."""
    size_px = frame.piece.size_px
    local = bool(rng.random() < 0.5) and attempt < _LOCAL_ATTEMPTS
    ragged = bool(rng.random() < 0.5) and attempt < _RAGGED_ATTEMPTS
    anchors = _draw_anchors(rng, frame, edge_pixels=edge_pixels, side=side, size=size_px) if local else ()
    mean_width_px = wanted / edge_pixels.size * (2.0 if local else 1.0)
    swing, grain_px = _draw_noise(rng, ragged=ragged, mean_width=mean_width_px, size=size_px)
    return BandParams(
        outline="local" if local else "all_round",
        edge="ragged" if ragged else "smooth",
        width_px=0.0,
        swing=swing,
        grain_px=max(2, round(grain_px)),
        noise_seed=int(rng.integers(2**63)),
        anchors=anchors,
    )


def _edge_pixels(piece: Workpiece, side: Side) -> NDArray[np.int64]:
    return np.flatnonzero(piece.distance(side) == 1.0)


def _draw_noise(rng: np.random.Generator, *, ragged: bool, mean_width: float, size: float) -> tuple[float, float]:
    """Swing, and grain in the units of the band's mean width and the object's size."""
    if ragged:  # grains about as large as the band is wide: a band that jumps faster would shed crumbs
        return float(rng.uniform(0.65, 0.95)), float(rng.uniform(0.8, 1.6) * mean_width)
    return float(rng.uniform(0.05, 0.35)), float(rng.uniform(0.25, 0.6) * size)


def _draw_anchors(
    rng: np.random.Generator, frame: Posed, *, edge_pixels: NDArray[np.int64], side: Side, size: float
) -> tuple[Anchor, ...]:
    box = frame.piece.window(side)
    rows, columns = np.divmod(rng.choice(edge_pixels, size=int(rng.integers(1, 3))), box[2] - box[0])
    u, v = frame.body.uv_of((columns + box[0]).astype(np.float64), (rows + box[1]).astype(np.float64))
    return tuple(Anchor(float(u[i]), float(v[i]), float(rng.uniform(0.2, 0.5) * size)) for i in range(u.size))


def find_width(frame: Posed, band: BandParams | Pattern, *, wanted: Wanted, side: Side) -> float | Undefined:
    """The band's width in pixels for one frame; undefined where the window is missed or the object would fall apart."""
    piece = frame.piece
    limits = (widest_px(piece.size_px),) if isinstance(band, BandParams) else _limits(piece, wanted.most, side)
    if not limits:
        return undefined("no_boundary", area_px=piece.area_px)
    if side == "outside" and piece.mask.size - piece.area_px < wanted.fewest:
        return undefined("no_room", area_px=piece.area_px, fewest_px=wanted.fewest)
    for limit_px in limits:
        rim, ratio = _ratios(frame, band, side=side, limit_px=limit_px)
        # version 1 lets a track's band thin out beyond the widest, but not a still's
        width = last_taken(ratio[ratio <= widest_px(piece.size_px)] if isinstance(band, BandParams) else ratio, wanted)
        if width is not None and width <= limit_px:  # else pixels beyond the limit may come first
            break
    if width is None:
        return undefined("window_not_reached", area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)
    if side == "inside":
        remaining = piece.mask[boxes.window(piece.inside)].copy()
        remaining[rim] = ratio > width
        if not piece.holds_together(remaining):
            return undefined("splits", area_px=piece.area_px)
    return float(width)


def _limits(piece: Workpiece, most: int, side: Side) -> tuple[float, ...]:
    """Distances up to which pixels are looked at: one that is mostly enough, and the widest a band may reach."""
    distance = piece.distance(side)
    widest = widest_px(piece.size_px)
    in_range = distance[(distance > 0) & (distance <= widest)]
    enough = _ENOUGH * most
    if in_range.size <= enough:
        return (widest,) if in_range.size else ()
    return float(np.partition(in_range, enough)[enough]), widest


def _ratios(frame: Posed, band: BandParams | Pattern, *, side: Side, limit_px: float) -> tuple[Mask, Floats]:
    """Pixels no farther than ``limit_px`` from the outline, and their distance over modulation, which is no less.

    Gives bool (h, w) over the side's window, and a float32 ratio for each pixel that is true, row by row. There may be
    pixels from farther away, with ratios above ``limit_px``.
    """
    cache = frame.piece.cache
    key = (side, frame.body, replace(band, width_px=0.0) if isinstance(band, BandParams) else band)
    if key not in cache or cache[key][0] < limit_px:
        distance = frame.piece.distance(side)
        rim = (distance > 0) & (distance <= limit_px)
        cache.clear()
        cache[key] = (limit_px, rim, distance[rim] / _modulation(frame, band, rim=rim, side=side))
    cached: tuple[float, Mask, Floats] = cache[key]
    return cached[1:]


def _modulation(frame: Posed, band: BandParams | Pattern, *, rim: Mask, side: Side) -> Floats:
    """Share of its width that the band has at each pixel, above 0; version 1 has other noise in stills."""
    box = frame.piece.window(side)
    fading: Floats | None = None
    if isinstance(band, BandParams):
        noise = _frame_noise(box, band, rim)
        if band.anchors:
            fading = _frame_nearness(box, band.anchors)[rim]
    else:
        rows, columns = np.nonzero(rim)
        u, v = frame.body.uv_of((columns + box[0]).astype(np.float64), (rows + box[1]).astype(np.float64))
        noise = _body_noise(band, u, v)
        if band.anchors:
            fading = _body_nearness(band.anchors, u, v)
    field = np.float32(1.0) - np.float32(band.swing) * noise
    if fading is not None:
        field *= fading
    bounded: Floats = np.maximum(field, np.float32(_LEAST))
    return bounded


def _frame_noise(box: Box, band: BandParams, rim: Mask) -> Floats:
    """Noise in [0, 1] with grains of ``grain_px``, which depends on the box and the seed only."""
    width, height = box[2] - box[0], box[3] - box[1]
    grain = min(band.grain_px, 2 * max(width, height))
    columns, rows = -(-width // grain) + 1, -(-height // grain) + 1
    lattice = randomness.generator(band.noise_seed, "grain").random((rows, columns), dtype=np.float32)
    interpolation = cv2.INTER_LINEAR if band.edge == "ragged" else cv2.INTER_CUBIC
    fine = cv2.resize(lattice, (columns * grain, rows * grain), interpolation=interpolation)
    return _contrasted(np.asarray(fine, dtype=np.float32)[:height, :width][rim], band.edge)


def _body_noise(band: Pattern, u: Doubles, v: Doubles) -> Floats:
    """Noise in [0, 1] that depends on body coordinates and the seed only."""
    cells = max(2, int(np.ceil(2 * _EXTENT / band.grain)))
    lattice = randomness.generator(band.noise_seed, "grain").random((cells + 1, cells + 1), dtype=np.float32)
    last = np.float32(cells) * np.float32(1 - 1e-6)
    x = np.clip(((u + _EXTENT) / band.grain).astype(np.float32), np.float32(0), last)
    y = np.clip(((v + _EXTENT) / band.grain).astype(np.float32), np.float32(0), last)
    left, top = x.astype(np.intp), y.astype(np.intp)
    x -= left
    y -= top
    if band.edge == "smooth":
        x, y = x * x * (3 - 2 * x), y * y * (3 - 2 * y)
    values, corner = lattice.ravel(), top * (cells + 1) + left
    upper, lower = values[corner], values[corner + cells + 1]
    upper += (values[corner + 1] - upper) * x
    lower += (values[corner + cells + 2] - lower) * x
    return _contrasted(upper + (lower - upper) * y, band.edge)


def _contrasted(noise: Floats, edge: Edge) -> Floats:
    """Noise in [0, 1] that has as much contrast as its edge."""
    if edge == "ragged":  # interpolation draws values to the middle; ragged means far apart
        noise = (noise - np.float32(0.5)) * np.float32(_CONTRAST) + np.float32(0.5)
    return np.clip(noise, np.float32(0), np.float32(1), out=noise)


def _frame_nearness(box: Box, anchors: tuple[Anchor, ...]) -> Floats:
    columns = np.arange(box[0], box[2], dtype=np.float64)
    rows = np.arange(box[1], box[3], dtype=np.float64)
    best = np.zeros((rows.size, columns.size), np.float32)
    for anchor in anchors:
        across = np.exp(-0.5 * ((columns - anchor.u) / anchor.spread) ** 2).astype(np.float32)
        down = np.exp(-0.5 * ((rows - anchor.v) / anchor.spread) ** 2).astype(np.float32)
        np.maximum(best, down[:, None] * across[None, :], out=best)
    return best


def _body_nearness(anchors: tuple[Anchor, ...], u: Doubles, v: Doubles) -> Floats:
    best = np.zeros(u.shape, np.float32)
    for anchor in anchors:
        away2 = ((u - anchor.u) ** 2 + (v - anchor.v) ** 2) / anchor.spread**2
        np.maximum(best, np.exp((-0.5 * away2).astype(np.float32)), out=best)
    return best


class _Band:
    """Adds a band or takes one away; ``side`` says which."""

    side: Side
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = BandParams
    frame_params = WidthParams

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> BandParams | Undefined:
        """Draw the band and find its width; undefined where the object or the frame allows none."""
        piece = workpiece(target)
        if self.side == "outside":
            fewest, _ = needed_px(piece.area_px, difficulty, side="outside")
            room = target.mask.size - piece.area_px
            if room < fewest:
                return undefined("no_room", area_px=piece.area_px, fewest_px=fewest, room_px=room)
        elif float(piece.depth.max()) < 2.0:
            return undefined("too_thin", area_px=piece.area_px)
        wanted = wanted_px(rng, piece.area_px, difficulty, side=self.side)
        if wanted is None:
            return undefined("window_not_reached", area_px=piece.area_px)
        edge_pixels = _edge_pixels(piece, self.side)
        if edge_pixels.size == 0:
            return undefined("no_boundary", area_px=piece.area_px)
        frame = Posed(piece, FRAME)
        reason: Reason = "window_not_reached"
        for attempt in range(ATTEMPTS):
            band = _draw_still(
                rng, frame, edge_pixels=edge_pixels, wanted=wanted.drawn, side=self.side, attempt=attempt
            )
            width = find_width(frame, band, wanted=wanted, side=self.side)
            if not isinstance(width, Undefined):
                return replace(band, width_px=width)
            reason = "splits" if width.reason == "splits" else reason
        return undefined(reason, area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)

    def draw_track(self, rng: np.random.Generator, frames: Sequence[Posed], *, share: float, plain: bool) -> Pattern:
        """Draw the pattern of a track whose band has a ``share`` of the object's pixels, from its middle frame.

        Local errors lie on the frame's outline. A ``plain`` band is smooth and all round, which fits most shapes.
        """
        frame = frames[len(frames) // 2]
        edge_pixels = _edge_pixels(frame.piece, self.side)
        local = bool(rng.random() < 0.5) and not plain and edge_pixels.size > 0
        ragged = bool(rng.random() < 0.5) and not plain
        mean_width = share * frame.piece.size_px / max(1, edge_pixels.size) * (4.0 if local else 1.0)
        swing, grain = _draw_noise(rng, ragged=ragged, mean_width=mean_width, size=1.0)
        return Pattern(
            outline="local" if local else "all_round",
            edge="ragged" if ragged else "smooth",
            swing=swing,
            grain=float(np.clip(max(grain, 2.0 / frame.piece.size_px), _LEAST_GRAIN, _EXTENT)),
            noise_seed=int(rng.integers(2**63)),
            anchors=_draw_anchors(rng, frame, edge_pixels=edge_pixels, side=self.side, size=1.0) if local else (),
        )

    def fit(self, frame: Posed, drawn: Pattern, *, wanted: Wanted) -> WidthParams | Undefined:
        """Find the width of a track's band in one frame."""
        width = find_width(frame, drawn, wanted=wanted, side=self.side)
        return width if isinstance(width, Undefined) else WidthParams(pattern=drawn, body=frame.body, width_px=width)

    def render(self, target: MaskTarget, params: BandParams | WidthParams) -> Mask:
        """The target with or without the band; the parameters are a still's, or those of one frame of a track."""
        piece = workpiece(target)
        if isinstance(params, BandParams):
            rim, ratio = _ratios(Posed(piece, FRAME), params, side=self.side, limit_px=params.width_px)
        else:
            limit_px = min(params.width_px, widest_px(piece.size_px))
            rim, ratio = _ratios(Posed(piece, params.body), params.pattern, side=self.side, limit_px=limit_px)
        result = target.mask.copy()
        in_band = ratio <= np.float32(params.width_px)
        result[boxes.window(piece.window(self.side))][rim] = in_band if self.side == "outside" else ~in_band
        return result


class Dilate(_Band):
    """Adds a band outside the outline, over background and other objects alike; the result is a superset."""

    name = "masks.dilate.v1"
    defect: Defect = "dilate"
    side: Side = "outside"
    meta = Metadata(
        summary="adds a band round the object along its outline, all round or locally, smooth or ragged",
        goal="outward over-segmentation: neighbouring pixels are taken in",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 5",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )


DILATE = Dilate()


class Erode(_Band):
    """Takes a band off the inside of the outline; the result is a subset of the target."""

    name = "masks.erode.v1"
    defect: Defect = "erode"
    side: Side = "inside"
    meta = Metadata(
        summary="takes a band off the object along its outline, all round or locally, smooth or ragged",
        goal="inward under-segmentation: pixels near the boundary are missed",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 6",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )


ERODE = Erode()
