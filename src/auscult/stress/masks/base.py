"""What a mask stressor is, and what the paper says about the truth of each defect.

Choosing is apart from doing: ``choose`` draws everything that is random and returns it as frozen parameters that are
JSON values; ``render`` is pure. The same parameters on the same target give the same mask, byte for byte.

Coordinates that go with an object through a clip, so that a defect stays where it is on the object.

Body coordinates have their origin at the centroid and are scaled so that the object's area is 1. They follow the
object's turn: a frame's shape is laid over that of the frame before, and the angle at which the two agree best is added
up. Only masks are looked at. Where the shape does not tell its turn (a disc), it is taken not to turn.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Final, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.arrays import boxes, regions
from auscult.errors import UsageError
from auscult.outcome import Undefined
from auscult.types import Action, Box, Defect, Difficulty, Mask, MaskTarget, Metadata, Truth

Reason: TypeAlias = Literal[
    "target_empty",
    "no_boundary",
    "no_interior",
    "no_other_object",
    "no_room",
    "splits",
    "too_thin",
    "window_not_reached",
]

Side: TypeAlias = Literal["inside", "outside"]
"""Of the outline: inside, pixels are taken away; outside, they are added."""

Doubles: TypeAlias = NDArray[np.float64]
Coordinate: TypeAlias = Annotated[float, Meta(ge=-1e6, le=1e6)]
Turn: TypeAlias = Annotated[float, Meta(ge=-360.0, le=360.0)]
"""Degrees, clockwise from the right."""

WINDOWS: Final[Mapping[Difficulty, tuple[float, float]]] = {"hard": (0.85, 0.90), "medium": (0.75, 0.80)}
"""Closed IoU windows of cutout, dilate and erode (Sec. 3.2 of the MQ-RAVSBench paper)."""

WINDOWED: Final[frozenset[Defect]] = frozenset({"cutout", "dilate", "erode"})
"""Defects whose strength is chosen so that the IoU lies in a window."""

_FRAME_GAP_PX: Final = 2

_ACTION_OF: Final[Mapping[Difficulty, Action]] = {
    "hard": "minor_revision",
    "medium": "major_revision",
    "easy": "reject",
}


class MaskParams(Protocol):
    """Everything that was drawn for one mask; a frozen dataclass."""

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        ...


P = TypeVar("P", bound=MaskParams)


@runtime_checkable
class MaskStressor(Protocol[P]):
    """Makes candidate masks with one defect.

    Attributes:
        name: The registry's full name, ``masks.erode.v1``.
        defect: What it makes.
        meta: What it says about itself.
        difficulties: What one may ask for; empty where the frame decides (the truth then says what it became).
        params: The class of its parameters.
    """

    name: str
    defect: Defect
    meta: Metadata
    difficulties: tuple[Difficulty, ...]
    params: type[P]

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> P | Undefined:
        """Draw everything that is random, or say why the target does not allow it."""
        ...

    def render(self, target: MaskTarget, params: P) -> Mask:
        """Make the mask: pure, a new array, the target untouched."""
        ...


class Workpiece(MaskTarget):
    """A target that remembers what is derived from it, so that several defects of one target share the work.

    All maps are cut to the windows they are named with; nothing here is written to.
    """

    @cached_property
    def box(self) -> Box:
        """Box of the mask, which must not be empty."""
        box = boxes.box_of(self.mask)
        if box is None:
            raise UsageError("the target's mask is empty", expected="a mask with at least one pixel")
        return box

    @cached_property
    def area_px(self) -> int:
        """Pixels of the mask."""
        rows, columns = boxes.window(self.box)
        return int(np.count_nonzero(self.mask[rows, columns]))

    @cached_property
    def size_px(self) -> float:
        """Side of the square with the mask's area."""
        return float(np.sqrt(self.area_px))

    @cached_property
    def inside(self) -> Box:
        """The box and one pixel round it."""
        return boxes.grown(self.box, 1, self.frame_size)

    @cached_property
    def around(self) -> Box:
        """The box and as much round it as a dilation may need."""
        return boxes.grown(self.box, int(np.ceil(widest_px(self.size_px))) + 1, self.frame_size)

    @cached_property
    def depth(self) -> NDArray[np.float32]:
        """Distance of mask pixels to the outside, over ``inside``; the frame's edge is no outline."""
        mask = self.mask[boxes.window(self.inside)]
        return np.where(mask, regions.depth(self.met_by_frame), np.float32(0.0))

    @cached_property
    def met_by_frame(self) -> Mask:
        """The mask over ``inside``, extended to the frame's edge where it stops just short of it.

        Annotators' outlines often end a pixel or two before the frame, where the object does not end.
        """
        filled = self.mask[boxes.window(self.inside)].copy()
        height, width = self.frame_size
        left, top, right, bottom = self.box
        if 0 < top <= _FRAME_GAP_PX:
            filled[0] |= filled[1]
        if 0 < height - bottom <= _FRAME_GAP_PX:
            filled[-1] |= filled[-2]
        if 0 < left <= _FRAME_GAP_PX:
            filled[:, 0] |= filled[:, 1]
        if 0 < width - right <= _FRAME_GAP_PX:
            filled[:, -1] |= filled[:, -2]
        return filled

    @cached_property
    def room(self) -> NDArray[np.float32]:
        """Distance of mask pixels to the outside over ``box``; the frame's edge counts as outside."""
        return regions.depth(self.mask[boxes.window(self.box)], frame_is_outline=True)

    @cached_property
    def reach(self) -> NDArray[np.float32]:
        """Distance of background pixels to the mask, over ``around``."""
        return regions.reach(self.mask[boxes.window(self.around)])

    def window(self, side: Side) -> Box:
        """Where an error on this side of the outline may lie."""
        return self.inside if side == "inside" else self.around

    def distance(self, side: Side) -> NDArray[np.float32]:
        """Pixels from the outline over ``window``, 0 on its other side."""
        return self.depth if side == "inside" else self.reach

    def holds_together(self, left: Mask, *, most_loose: float = 0.1) -> bool:
        """Whether what an erosion leaves, bool (h, w), is as much one thing as the mask was, but for a loose share."""
        _, areas = regions.components(left)
        return areas.size > 0 and float(areas.max() / areas.sum()) >= self.main_share - most_loose

    @cached_property
    def main_share(self) -> float:
        """Share of the mask's pixels in its largest connected part."""
        _, areas = regions.components(self.mask[boxes.window(self.box)])
        return float(areas.max()) / self.area_px

    @cached_property
    def cache(self) -> dict[Hashable, Any]:
        """One map that choosing and rendering both need; a writer clears the cache first."""
        return {}

    @property
    def frame_size(self) -> tuple[int, int]:
        """(height, width)."""
        return self.mask.shape[0], self.mask.shape[1]


def workpiece(target: MaskTarget) -> Workpiece:
    """The target as a ``Workpiece``; itself if it already is one."""
    if isinstance(target, Workpiece):
        return target
    return Workpiece(mask=target.mask, others=target.others)


def widest_px(size_px: float) -> float:
    """The widest band that still is a boundary error and not another object."""
    return 0.4 * size_px + 2.0


class Wanted(NamedTuple):
    """Pixels that a defect takes away or adds: the fewest, a drawn number, and the most."""

    fewest: int
    drawn: int
    most: int

    def holds(self, pixels: int) -> bool:
        """Whether so many put the IoU into the window."""
        return self.fewest <= pixels <= self.most


def needed_px(area_px: int, difficulty: Difficulty, *, side: Side) -> tuple[int, int]:
    """Fewest and most pixels, taken away inside or added outside, that put the exact IoU into the difficulty's window.

    The fewest are more than the most where no whole number of pixels fits.
    """
    low, high = WINDOWS[difficulty]
    least, greatest = (1 - high, 1 - low) if side == "inside" else (1 / high - 1, 1 / low - 1)
    near_least = range(max(1, int(area_px * least) - 1), int(area_px * least) + 3)
    near_greatest = range(max(1, int(area_px * greatest) - 1), int(area_px * greatest) + 3)
    fitting = [pixels for pixels in (*near_least, *near_greatest) if low <= iou_of(area_px, pixels, side=side) <= high]
    return (min(fitting), max(fitting)) if fitting else (1, 0)


def wanted_px(rng: np.random.Generator, area_px: int, difficulty: Difficulty, *, side: Side) -> Wanted | None:
    """Draw how many pixels a defect changes; None where no whole number puts the IoU into the window."""
    fewest, most = needed_px(area_px, difficulty, side=side)
    return Wanted(fewest, int(rng.integers(fewest, most, endpoint=True)), most) if fewest <= most else None


def iou_of(area_px: int, pixels: int, *, side: Side) -> float:
    """Exact IoU after taking away or adding ``pixels``."""
    return (area_px - pixels) / area_px if side == "inside" else area_px / (area_px + pixels)


def last_taken(values: NDArray[np.floating[Any]], wanted: Wanted) -> np.floating[Any] | None:
    """The one of (n,) values up to which a defect takes the drawn number of pixels, as near as equal values allow.

    A pixel's value is the amount at which the defect reaches it, so the amount for a wanted IoU is an order statistic:
    one partition finds it exactly, and no search loop is needed. None where the window is missed.
    """
    if values.size < wanted.fewest:
        return None
    index = min(wanted.drawn, values.size) - 1
    last: np.floating[Any] = np.partition(values, index)[index]
    if np.count_nonzero(values <= last) > wanted.most:  # pixels of equal value only come together
        below = values[values < last]
        if below.size < wanted.fewest:
            return None
        last = below.max()
    return last


def undefined(reason: Reason, **detail: object) -> Undefined:
    """An ``Undefined`` with one of the reasons of ``Reason``, which tables count."""
    return Undefined(reason, detail)


def truth_of(defect: Defect, iou: float) -> Truth:
    """Difficulty and action that follow from the exact IoU with the target's mask (MQ-RAVSBench, Sec. 3.2, Eqs. 2-7).

    A merge is hard from .9, medium from .75, else easy; a windowed defect is hard from .85, else medium; perfect and
    full_neg have no difficulty.
    """
    if defect == "perfect":
        return Truth(iou=iou, defect=defect, action="accept")
    if defect in {"full_neg", "empty"}:
        return Truth(iou=iou, defect=defect, action="reject")
    difficulty: Difficulty
    if defect == "merge":
        difficulty = "hard" if iou >= 0.9 else "medium" if iou >= 0.75 else "easy"
    else:
        difficulty = "hard" if iou >= WINDOWS["hard"][0] else "medium"
    return Truth(iou=iou, defect=defect, difficulty=difficulty, action=_ACTION_OF[difficulty])


_ANGLES: Final = 180
_RADII: Final = (np.arange(24) + 0.5) / 24 * 1.5
_WIDEST_TURN: Final = 30  # cells of 2 degrees that a body may turn from one frame to the next
_PENALTY: Final = 0.10  # agreement that a turn by half a circle must bring over none
_LEAST_AREA_PX: Final = 1e-3


class Body(NamedTuple):
    """Where an object is in one frame: pixel = (x, y) + u * (ux, uy) + v * (vx, vy) for body coordinates (u, v)."""

    x_px: Coordinate
    y_px: Coordinate
    ux_px: Coordinate
    uy_px: Coordinate
    vx_px: Coordinate
    vy_px: Coordinate

    @property
    def area_px(self) -> float:
        """Pixels of one unit of area."""
        return self.ux_px * self.vy_px - self.uy_px * self.vx_px

    def pixel_of(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[Any, Any]:
        """Columns and rows (x, y) of body coordinates."""
        return self.x_px + u * self.ux_px + v * self.vx_px, self.y_px + u * self.uy_px + v * self.vy_px

    def uv_of(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Any, Any]:
        """Body coordinates (u, v) of columns and rows."""
        across, down = x - self.x_px, y - self.y_px
        u = (across * self.vy_px - down * self.vx_px) / self.area_px
        v = (down * self.ux_px - across * self.uy_px) / self.area_px
        return u, v


FRAME: Final = Body(0.0, 0.0, 1.0, 0.0, 0.0, 1.0)
"""A still is a clip of one frame, and its body coordinates are the pixels of that frame."""


def check_body(body: Body) -> None:
    """Refuse recorded axes that span nothing, with the ValueError that ``codec`` expects of a rule between fields."""
    if not body.area_px >= _LEAST_AREA_PX:
        raise ValueError(f"the body's axes span {body.area_px:g} pixels, at least {_LEAST_AREA_PX} are needed")


class Posed(NamedTuple):
    """A frame's target with its body."""

    piece: Workpiece
    body: Body


def bodies(pieces: Sequence[Workpiece | None]) -> tuple[Body | None, ...]:
    """The body of each frame's target, in order of time; None where there is no target."""
    result: list[Body | None] = []
    turn = 0.0
    before: NDArray[np.float64] | None = None
    for piece in pieces:
        if piece is None:
            result.append(None)
            continue
        upright = _upright(piece)
        print_now = _print(piece.mask, upright)
        if before is not None:
            turn += _turn(before, print_now)
        before = print_now
        result.append(_turned(upright, turn))
    return tuple(result)


def _upright(piece: Workpiece) -> Body:
    """Centroid and scale; a similarity, so that no direction is favoured."""
    rows, columns = np.nonzero(piece.mask[boxes.window(piece.box)])
    size = piece.size_px
    return Body(float(columns.mean()) + piece.box[0], float(rows.mean()) + piece.box[1], size, 0.0, 0.0, size)


def _turned(body: Body, turn: float) -> Body:
    cos, sin = float(np.cos(turn)), float(np.sin(turn))
    return Body(
        body.x_px,
        body.y_px,
        cos * body.ux_px + sin * body.vx_px,
        cos * body.uy_px + sin * body.vy_px,
        cos * body.vx_px - sin * body.ux_px,
        cos * body.vy_px - sin * body.uy_px,
    )


def _print(mask: Mask, body: Body) -> NDArray[np.float64]:
    """The mask in polar body coordinates, weighted by area: (radii, angles)."""
    angles = np.arange(_ANGLES) * (2 * np.pi / _ANGLES)
    x, y = body.pixel_of(_RADII[:, None] * np.cos(angles), _RADII[:, None] * np.sin(angles))
    columns, rows = np.rint(x).astype(np.int64), np.rint(y).astype(np.int64)
    in_frame = (columns >= 0) & (columns < mask.shape[1]) & (rows >= 0) & (rows < mask.shape[0])
    inside = np.zeros(in_frame.shape)
    inside[in_frame] = mask[rows[in_frame], columns[in_frame]]
    inside *= np.sqrt(_RADII)[:, None]
    return inside


def _turn(before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """The turn in radians at which two prints agree best; small turns are preferred."""
    spectrum = np.fft.rfft(now, axis=1) * np.conj(np.fft.rfft(before, axis=1))
    shared = np.fft.irfft(spectrum.sum(axis=0), n=_ANGLES)
    norm = float(np.sqrt((before**2).sum() * (now**2).sum()))
    steps = np.arange(-_WIDEST_TURN, _WIDEST_TURN + 1)
    score = np.round(shared[steps] / max(norm, 1e-9), 9) - _PENALTY * np.abs(steps) / (_ANGLES / 2)
    best = int(np.lexsort((np.abs(steps), -score))[0])
    cell = 2 * np.pi / _ANGLES
    if not 0 < best < steps.size - 1 or steps[best] == 0:
        return float(steps[best]) * cell
    left, middle, right = (float(score[best + step]) for step in (-1, 0, 1))
    bend = left - 2 * middle + right
    return (float(steps[best]) + (0.5 * (left - right) / bend if bend < 0 else 0.0)) * cell
