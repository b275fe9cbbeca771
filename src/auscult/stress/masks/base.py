"""What a mask stressor is, and what the paper says about the truth of each defect.

Choosing is apart from doing: ``choose`` draws everything that is random and returns it as frozen parameters that are
JSON values; ``render`` is pure. The same parameters on the same target give the same mask, byte for byte.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
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
        own = self.mask[boxes.window(self.inside)]
        return np.where(own, regions.depth(self.met_by_frame), np.float32(0.0))

    @cached_property
    def met_by_frame(self) -> Mask:
        """The mask over ``inside``, drawn on to the frame where it stops just short of it.

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
