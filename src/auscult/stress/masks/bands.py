"""Boundary errors, shared by dilate and erode: a band along the outline whose width varies from place to place.

A pixel belongs to the band when its distance to the outline, divided by a modulation in (0, 1], is at most
``width_px``. The set grows with ``width_px`` alone, so the width for a wanted IoU is an order statistic of the ratios:
one partition finds it exactly, and no search loop is needed.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 5.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng as randomness
from auscult.arrays import boxes, regions
from auscult.outcome import Undefined
from auscult.stress.masks import fields
from auscult.stress.masks.base import WINDOWS, Reason, Workpiece, undefined, widest_px, workpiece
from auscult.types import Box, Defect, Difficulty, Mask, MaskTarget, Metadata

ATTEMPTS: Final = 8
_LOCAL_ATTEMPTS: Final = 5  # after these only bands all round are tried: they fit most shapes
_MOST_ANCHORS: Final = 8
_MOST_LOOSE: Final = 0.1  # share of the target that an erosion may leave cut off from the rest
_CONTRAST: Final = 1.7
_LEAST: Final = 1e-4  # keeps the division finite far from every anchor
_FAR: Final = 1e6

Side = Literal["inside", "outside"]
Outline = Literal["all_round", "local"]
Edge = Literal["smooth", "ragged"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place on the outline where a local error is widest; it fades over ``spread_px``."""

    x_px: float
    y_px: float
    spread_px: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BandParams:
    """What was drawn for one band.

    Attributes:
        outline: Along the whole outline, or only near the anchors.
        edge: Width that changes slowly (``smooth``) or from grain to grain (``ragged``).
        width_px: Greatest width of the band.
        swing: How much of the width the noise may take away, 0..1.
        grain_px: Size of the noise's grains.
        noise_seed: Seed of the noise.
        anchors: Empty for ``all_round``.
    """

    outline: Outline
    edge: Edge
    width_px: float
    swing: float
    grain_px: int
    noise_seed: int
    anchors: tuple[Anchor, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "outline": self.outline,
            "edge": self.edge,
            "width_px": self.width_px,
            "swing": self.swing,
            "grain_px": self.grain_px,
            "noise_seed": self.noise_seed,
            "anchors": [[anchor.x_px, anchor.y_px, anchor.spread_px] for anchor in self.anchors],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> BandParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        names = ("outline", "edge", "width_px", "swing", "grain_px", "noise_seed", "anchors")
        given = fields.exactly(value, names)
        return cls(
            outline=cast("Outline", fields.one_of(given["outline"], "outline", ("all_round", "local"))),
            edge=cast("Edge", fields.one_of(given["edge"], "edge", ("smooth", "ragged"))),
            width_px=fields.real(given["width_px"], "width_px", low=0.0, high=_FAR),
            swing=fields.real(given["swing"], "swing", low=0.0, high=1.0),
            grain_px=fields.whole(given["grain_px"], "grain_px", low=1, high=int(_FAR)),
            noise_seed=fields.whole(given["noise_seed"], "noise_seed", low=0, high=2**63 - 1),
            anchors=tuple(_anchor(item) for item in fields.listed(given["anchors"], "anchors", most=_MOST_ANCHORS)),
        )


def _anchor(value: object) -> Anchor:
    numbers = fields.listed(value, "anchors", most=3)
    numbers += [None] * (3 - len(numbers))
    x_px, y_px = (fields.real(number, "anchors", low=-_FAR, high=_FAR) for number in numbers[:2])
    return Anchor(x_px, y_px, fields.real(numbers[2], "anchors", low=0.5, high=_FAR))


def needed_px(area_px: int, difficulty: Difficulty, *, side: Side) -> tuple[int, int]:
    """Fewest and most pixels that put the exact IoU into the difficulty's window.

    Args:
        area_px: Pixels of the target.
        difficulty: ``hard`` or ``medium``.
        side: Taken from the inside, or added on the outside.

    Returns:
        (fewest, most); fewest > most where no whole number of pixels fits.
    """
    low, high = WINDOWS[difficulty]
    least, greatest = (1 - high, 1 - low) if side == "inside" else (1 / high - 1, 1 / low - 1)
    near_least = range(max(1, int(area_px * least) - 1), int(area_px * least) + 3)
    near_greatest = range(max(1, int(area_px * greatest) - 1), int(area_px * greatest) + 3)
    fitting = [pixels for pixels in (*near_least, *near_greatest) if low <= iou_of(area_px, pixels, side=side) <= high]
    return (min(fitting), max(fitting)) if fitting else (1, 0)


def iou_of(area_px: int, pixels: int, *, side: Side) -> float:
    """Exact IoU after taking away or adding ``pixels``."""
    return (area_px - pixels) / area_px if side == "inside" else area_px / (area_px + pixels)


def ratios(piece: Workpiece, params: BandParams, *, side: Side) -> NDArray[np.float32]:
    """Distance to the outline over modulation; the band is where this is > 0 and at most ``width_px``.

    Returns:
        float32 over ``piece.inside`` or ``piece.around``; 0 on the other side of the outline.
    """
    key = (side, replace(params, width_px=0.0))
    if key not in piece.kept:
        box, distance = (piece.inside, piece.depth) if side == "inside" else (piece.around, piece.reach)
        piece.kept.clear()
        piece.kept[key] = distance / _modulation(box, params)
    return piece.kept[key]


def choose(rng: np.random.Generator, piece: Workpiece, *, difficulty: Difficulty, side: Side) -> BandParams | Undefined:
    """Draw a band and find the width that puts the IoU into the window.

    Args:
        rng: Draws the shape of the band and the place in the window.
        piece: The target.
        difficulty: ``hard`` or ``medium``.
        side: Inside erodes, outside dilates.

    Returns:
        Parameters, or ``Undefined`` when no attempt hits the window.
    """
    fewest, most = needed_px(piece.area_px, difficulty, side=side)
    if fewest > most:
        return undefined("window_not_reached", area_px=piece.area_px)
    edge_pixels = np.flatnonzero((piece.depth if side == "inside" else piece.reach) == 1.0)
    if edge_pixels.size == 0:
        return undefined("no_boundary", area_px=piece.area_px)
    wanted = int(rng.integers(fewest, most, endpoint=True))
    reason: Reason = "window_not_reached"
    for attempt in range(ATTEMPTS):
        drawn = _draw(rng, piece, edge_pixels=edge_pixels, wanted=wanted, side=side, attempt=attempt)
        found = _with_width(ratios(piece, drawn, side=side), drawn, piece=piece, wanted=(fewest, wanted, most))
        if found is None:
            continue
        if side == "inside" and not _keeps_together(piece, found):
            reason = "splits"
            continue
        return found
    return undefined(reason, area_px=piece.area_px, fewest_px=fewest, most_px=most)


def _draw(
    rng: np.random.Generator,
    piece: Workpiece,
    *,
    edge_pixels: NDArray[np.int64],
    wanted: int,
    side: Side,
    attempt: int,
) -> BandParams:
    local = bool(rng.random() < 0.5) and attempt < _LOCAL_ATTEMPTS
    ragged = bool(rng.random() < 0.5) and attempt < ATTEMPTS - 2
    anchors = _draw_anchors(rng, piece, edge_pixels=edge_pixels, side=side) if local else ()
    mean_width_px = wanted / edge_pixels.size * (2.0 if local else 1.0)
    if ragged:  # grains about as large as the band is wide: a band that jumps faster would shed crumbs
        swing, grain_px = rng.uniform(0.65, 0.95), rng.uniform(0.8, 1.6) * mean_width_px
    else:
        swing, grain_px = rng.uniform(0.05, 0.35), rng.uniform(0.25, 0.6) * piece.size_px
    return BandParams(
        outline="local" if local else "all_round",
        edge="ragged" if ragged else "smooth",
        width_px=0.0,
        swing=float(swing),
        grain_px=max(2, round(float(grain_px))),
        noise_seed=int(rng.integers(2**63)),
        anchors=anchors,
    )


def _draw_anchors(
    rng: np.random.Generator, piece: Workpiece, *, edge_pixels: NDArray[np.int64], side: Side
) -> tuple[Anchor, ...]:
    box = piece.inside if side == "inside" else piece.around
    rows, columns = np.divmod(rng.choice(edge_pixels, size=int(rng.integers(1, 3))), box[2] - box[0])
    return tuple(
        Anchor(float(column + box[0]), float(row + box[1]), float(rng.uniform(0.2, 0.5) * piece.size_px))
        for row, column in zip(rows, columns, strict=True)
    )


def _with_width(
    ratio: NDArray[np.float32], drawn: BandParams, *, piece: Workpiece, wanted: tuple[int, int, int]
) -> BandParams | None:
    fewest, middle, most = wanted
    reachable = ratio[(ratio > 0) & (ratio <= widest_px(piece.size_px))]
    if reachable.size < fewest:
        return None
    middle = min(middle, reachable.size)
    width = np.partition(reachable, middle - 1)[middle - 1]
    if np.count_nonzero(reachable <= width) > most:  # pixels at equal ratio only come together
        below = reachable[reachable < width]
        if below.size < fewest:
            return None
        width = below.max()
    return replace(drawn, width_px=float(width))


def _keeps_together(piece: Workpiece, params: BandParams) -> bool:
    """Whether what is left is as much one thing as the target was: an erosion must not cut it in two."""
    ratio = ratios(piece, params, side="inside")
    _, areas = regions.components(ratio > np.float32(params.width_px))
    return areas.size > 0 and float(areas.max() / areas.sum()) >= piece.main_share - _MOST_LOOSE


def _modulation(box: Box, params: BandParams) -> NDArray[np.float32]:
    noise = _noise(box, params)
    field = np.float32(1.0) - np.float32(params.swing) * noise
    if params.anchors:
        field *= _nearness(box, params.anchors)
    bounded: NDArray[np.float32] = np.maximum(field, np.float32(_LEAST))
    return bounded


def _noise(box: Box, params: BandParams) -> NDArray[np.float32]:
    """Noise in [0, 1] with grains of ``grain_px``, which depends on the box and the seed only."""
    width, height = box[2] - box[0], box[3] - box[1]
    grain = min(params.grain_px, 2 * max(width, height))
    columns, rows = -(-width // grain) + 1, -(-height // grain) + 1
    lattice = randomness.generator(params.noise_seed, "grain").random((rows, columns), dtype=np.float32)
    how = cv2.INTER_LINEAR if params.edge == "ragged" else cv2.INTER_CUBIC
    fine = cv2.resize(lattice, (columns * grain, rows * grain), interpolation=how)
    fine = fine[:height, :width]
    if params.edge == "ragged":  # interpolation draws values to the middle; ragged means far apart
        fine = (fine - np.float32(0.5)) * np.float32(_CONTRAST) + np.float32(0.5)
    noise: NDArray[np.float32] = np.clip(fine, 0.0, 1.0, dtype=np.float32)
    return noise


def _nearness(box: Box, anchors: tuple[Anchor, ...]) -> NDArray[np.float32]:
    columns = np.arange(box[0], box[2], dtype=np.float64)
    rows = np.arange(box[1], box[3], dtype=np.float64)
    best = np.zeros((rows.size, columns.size), np.float32)
    for anchor in anchors:
        across = np.exp(-0.5 * ((columns - anchor.x_px) / anchor.spread_px) ** 2).astype(np.float32)
        down = np.exp(-0.5 * ((rows - anchor.y_px) / anchor.spread_px) ** 2).astype(np.float32)
        np.maximum(best, down[:, None] * across[None, :], out=best)
    return best


class Dilate:
    """Adds a band outside the outline, over background and other objects alike; the result is a superset."""

    name = "masks.dilate.v1"
    defect: Defect = "dilate"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = BandParams
    meta = Metadata(
        summary="adds a band round the object along its outline, all round or locally, smooth or ragged",
        goal="outward over-segmentation: neighbouring pixels are taken in",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 5",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> BandParams | Undefined:
        """Draw the band; undefined where the frame leaves no room for it."""
        piece = workpiece(target)
        fewest, _ = needed_px(piece.area_px, difficulty, side="outside")
        room = target.mask.size - piece.area_px
        if room < fewest:
            return undefined("no_room", area_px=piece.area_px, fewest_px=fewest, room_px=room)
        return choose(rng, piece, difficulty=difficulty, side="outside")

    def render(self, target: MaskTarget, params: BandParams) -> Mask:
        """The target with the band."""
        piece = workpiece(target)
        result = target.mask.copy()
        result[boxes.window(piece.around)] = ratios(piece, params, side="outside") <= np.float32(params.width_px)
        return result


DILATE = Dilate()


class Erode:
    """Takes a band off the inside of the outline; the result is a subset of the target."""

    name = "masks.erode.v1"
    defect: Defect = "erode"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = BandParams
    meta = Metadata(
        summary="takes a band off the object along its outline, all round or locally, smooth or ragged",
        goal="inward under-segmentation: pixels near the boundary are missed",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 6",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> BandParams | Undefined:
        """Draw the band; undefined where the object is too thin or small, or would fall apart."""
        piece = workpiece(target)
        if float(piece.depth.max()) < 2.0:
            return undefined("too_thin", area_px=piece.area_px)
        return choose(rng, piece, difficulty=difficulty, side="inside")

    def render(self, target: MaskTarget, params: BandParams) -> Mask:
        """The target without the band."""
        piece = workpiece(target)
        result = target.mask.copy()
        result[boxes.window(piece.inside)] = ratios(piece, params, side="inside") > np.float32(params.width_px)
        return result


ERODE = Erode()
