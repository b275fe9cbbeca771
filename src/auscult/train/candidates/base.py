"""What a candidate is, what it is made of, and how wrong it shall be.

Most errors are given by a map of *times*: pixel p flips (leaves the mask or joins it) at time t(p). The flipped set
grows with time and the IoU falls with it, so that one search over the times gives the mask of any wanted IoU.

The paper's cutout, dilate, erode, merge and perfect, and masks on no object, are made by our own stressors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes, regions
from auscult.outcome import Undefined
from auscult.stress.masks import bands, cutout, negatives
from auscult.stress.masks.base import WINDOWS, MaskStressor, Workpiece
from auscult.train.material import arbitrary
from auscult.types import Box, Difficulty, Frame, Mask

_IN_WINDOWS = 0.65


def typed(rng: np.random.Generator) -> float:
    """IoU of an error of one type: mostly in one of the paper's two windows, else anywhere in .5...97."""
    if rng.random() < _IN_WINDOWS:
        low, high = WINDOWS["hard" if rng.random() < 0.5 else "medium"]
        return float(rng.uniform(low + 0.003, high - 0.003))
    return float(rng.uniform(0.5, 0.97))


def realistic(rng: np.random.Generator) -> float:
    """IoU of a real model's error: .3...985, most of it above .7."""
    return float(0.985 - 0.685 * rng.random() ** 1.9)


_STEPS: Final = 16
_COARSE_GRAIN_PX: Final = 12.0
_NEVER: Final = np.float32(np.inf)


class Work:
    """What several candidates of one object share; nothing here is written to.

    The truth is not empty; ``before`` is a neighbouring frame and the object's mask there. The window holds what is
    ``around`` the object, or else fits the object tightly.
    """

    def __init__(
        self,
        frame: Frame,
        mask: Mask,
        others: tuple[Mask, ...] = (),
        *,
        before: tuple[Frame, Mask] | None = None,
        around: bool = True,
    ) -> None:
        self.frame = frame
        self.truth = mask
        self.others = others
        self.before = before
        self.around = around
        self.kept: dict[Hashable, Any] = {}
        """Room for what is costly and the same for all candidates of one kind."""

    @cached_property
    def inside(self) -> Work:
        """The same object in a window that fits it: a third of the pixels, for errors that only take away."""
        tight = Work(self.frame, self.truth, self.others, around=False)
        tight.piece = self.piece
        return tight

    @cached_property
    def piece(self) -> Workpiece:
        """The target as the stressors know it."""
        return Workpiece(mask=self.truth, others=self.others)

    @cached_property
    def area_px(self) -> int:
        """Pixels of the truth."""
        return self.piece.area_px

    @cached_property
    def size_px(self) -> float:
        """Side of the square with the truth's area."""
        return self.piece.size_px

    @cached_property
    def box(self) -> Box:
        """The window that most candidates differ from the truth in: the object and as much round it as may leak."""
        return self.piece.around if self.around else self.piece.inside

    @cached_property
    def own(self) -> Mask:
        """The truth over ``box``, contiguous."""
        return np.ascontiguousarray(self.truth[boxes.window(self.box)])

    @cached_property
    def picture(self) -> Frame:
        """The frame over ``box``, contiguous."""
        return np.ascontiguousarray(self.frame[boxes.window(self.box)])

    @cached_property
    def lab(self) -> NDArray[np.float32]:
        """The picture, a little smoothed, as OpenCV scales CIE Lab: float32 (h, w, 3) over ``box``."""
        smooth = cv2.GaussianBlur(self.picture, (0, 0), 1.5)
        return np.asarray(cv2.cvtColor(smooth, cv2.COLOR_RGB2LAB)).astype(np.float32)

    @cached_property
    def depth(self) -> NDArray[np.float32]:
        """Distance to the outline of pixels of the object, px, >= .5 there and infinite elsewhere."""
        depth = np.full(self.own.shape, _NEVER, np.float32)
        left, top, right, bottom = self.piece.inside
        part = depth[top - self.box[1] : bottom - self.box[1], left - self.box[0] : right - self.box[0]]
        distance = self.piece.depth
        np.subtract(distance, np.float32(0.5), out=part, where=distance > 0)
        return depth

    @cached_property
    def reach(self) -> NDArray[np.float32]:
        """Distance to the outline of pixels round the object, px, >= .5 there and infinite on it."""
        distance = self.piece.reach if self.around else regions.reach(self.own)
        return np.where(distance > 0, distance - np.float32(0.5), _NEVER)

    @cached_property
    def away(self) -> NDArray[np.float32]:
        """Distance to the outline on both sides, px, >= .5."""
        return np.minimum(self.depth, self.reach)

    @cached_property
    def edge_px(self) -> int:
        """Pixels of the object that touch the outline; its length, nearly."""
        return max(1, int(np.count_nonzero(self.depth == np.float32(0.5))))

    def iou(self, mask: Mask) -> float:
        """Exact IoU with the truth of a mask over ``box`` or over the whole picture."""
        truth = self.own if mask.shape == self.own.shape else self.truth
        both = int(np.count_nonzero(mask & truth))
        return both / (self.area_px + int(np.count_nonzero(mask)) - both)

    def whole(self, mask: Mask) -> Mask:
        """A mask over ``box`` as one over the whole picture; one that already is goes through."""
        if mask.shape == self.truth.shape:
            return mask
        full = np.zeros(self.truth.shape, np.bool_)
        full[boxes.window(self.box)] = mask
        return full

    def noise(self, rng: np.random.Generator, grain_px: float, *, smooth: bool = True) -> NDArray[np.float32]:
        """Noise of mean 0 within about -1..1 over ``box``; cubic, else linear, between points ``grain_px`` apart."""
        height, width = self.own.shape
        grain = max(1.0, min(grain_px, 2.0 * max(height, width)))
        step = 1 if grain < _COARSE_GRAIN_PX else 3  # coarse noise is drawn on every third pixel
        high, wide = -(-height // step), -(-width // step)
        rows, columns = int(np.ceil(high * step / grain)) + 2, int(np.ceil(wide * step / grain)) + 2
        lattice = rng.uniform(-1.0, 1.0, (rows, columns)).astype(np.float32)
        scale = step / grain
        matrix = np.array([[scale, 0.0, rng.uniform(0, 1)], [0.0, scale, rng.uniform(0, 1)]])
        flags = (cv2.INTER_CUBIC if smooth else cv2.INTER_LINEAR) | cv2.WARP_INVERSE_MAP
        noise = cv2.warpAffine(lattice, matrix, (wide, high), flags=flags, borderMode=cv2.BORDER_REPLICATE)
        if step > 1:
            noise = cv2.resize(noise, (wide * step, high * step), interpolation=cv2.INTER_LINEAR)[:height, :width]
        return np.asarray(noise, dtype=np.float32)

    def unlike(self, row: int, column: int) -> NDArray[np.float32]:
        """How unlike that of one pixel each pixel's colour is: the sum over Lab, float32 over ``box``."""
        off = cv2.absdiff(self.lab, np.array([*self.lab[row, column], 0.0], np.float64))
        return np.asarray(cv2.transform(off, np.ones((1, 3), np.float32)), dtype=np.float32)

    def far(self, row: int, column: int) -> NDArray[np.float32]:
        """How far each pixel is from one pixel, in units of the object's size, float32 over ``box``."""
        size = np.float32(self.size_px)
        down = (np.arange(self.own.shape[0], dtype=np.float32) - np.float32(row)) / size
        right = (np.arange(self.own.shape[1], dtype=np.float32) - np.float32(column)) / size
        distance: NDArray[np.float32] = np.sqrt((down * down)[:, None] + (right * right)[None, :])
        return distance

    def flipped(self, times: NDArray[np.float32], iou: float, *, within: float = 0.02) -> Mask | None:
        """Flip the pixels of the truth whose times come first, until the IoU is ``iou``.

        ``times`` over ``box`` are >= 0, infinite for never; equal times flip together. The mask is bool over ``box``,
        or None where its exact IoU is further off than ``within``, since pixels only flip together or too few flip at
        all.
        """
        time = _time_of(times, self.own, target=iou)
        if time is None:
            return None
        mask = self.own ^ (times <= time)
        return mask if abs(self.iou(mask) - iou) <= within else None


def _time_of(times: NDArray[np.float32], mask: Mask, *, target: float) -> np.float32 | None:
    """The time at which the IoU is nearest to ``target``; None where no pixel flips.

    Bisection over the times, each step on the values still in question only.
    """
    area = int(np.count_nonzero(mask))
    finite = np.isfinite(times)
    leaving, joining = times[finite & mask], times[finite & ~mask]
    if leaving.size + joining.size == 0:
        return None
    gone = come = 0
    low, high = 0.0, max(float(part.max()) for part in (leaving, joining) if part.size)
    best, best_off = np.float32(-1.0), 1.0 - target  # nothing flipped
    for _ in range(_STEPS):
        if not leaving.size + joining.size:
            break
        middle = np.float32((low + high) / 2)
        out, into = leaving <= middle, joining <= middle
        now_gone, now_come = gone + int(np.count_nonzero(out)), come + int(np.count_nonzero(into))
        iou = (area - now_gone) / (area + now_come)
        if abs(iou - target) < best_off:
            best, best_off = middle, abs(iou - target)
        if iou > target:
            low, gone, come = float(middle), now_gone, now_come
            leaving, joining = leaving[~out], joining[~into]
        else:
            high = float(middle)
            leaving, joining = leaving[out], joining[into]
    return best


TypedDefect: TypeAlias = Literal["perfect", "cutout", "dilate", "erode", "merge", "arbitrary"]
"""What a network learns to name. ``arbitrary`` is a mask on no object; the paper's other five are its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidateScene:
    """One object of one picture, mostly a crop of a frame."""

    frame: Frame  # uint8 RGB (H, W, 3)
    mask: Mask  # the true mask, bool (H, W), not empty
    others: tuple[Mask, ...] = ()  # the picture's other objects, bool (H, W) each
    # a neighbouring video frame and the object's true mask there, same shapes; None for photographs
    before: tuple[Frame, Mask] | None = None
    # whether ``others`` are all other objects of the picture; else no mask is called one on no object
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A mask that may be wrong, and what is known about it."""

    mask: Mask  # bool (H, W), never empty; identical to the truth only where the defect is ``perfect``
    kind: str  # name of what made it, see ``mixture``
    # its type; None where no single type describes it, as with errors on both sides of the outline
    defect: TypedDefect | None
    iou: float  # exact IoU with the true mask, 0..1


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A mask over ``Work.box`` or over the whole picture, and the type it is meant to have."""

    mask: Mask
    defect: TypedDefect | None


Maker: TypeAlias = Callable[[Work, np.random.Generator], Draft | None]
"""Makes a draft, or None where the object does not allow it this time."""


def untyped(work: Work, mask: Mask | None, *, least: float = 0.3) -> Draft | None:
    """A mask as a draft without a type; None for one that is empty or whose IoU is below ``least``."""
    return Draft(mask, None) if mask is not None and mask.any() and work.iou(mask) >= least else None


def inside(maker: Maker) -> Maker:
    """Let a maker that only takes away work in the window that fits the object."""

    @wraps(maker)
    def tight(work: Work, rng: np.random.Generator) -> Draft | None:
        draft = maker(work.inside, rng)
        return None if draft is None else Draft(work.inside.whole(draft.mask), draft.defect)

    return tight


def perfect(work: Work, rng: np.random.Generator) -> Draft:
    """The truth itself."""
    del rng
    return Draft(work.truth.copy(), "perfect")


def paper_arbitrary(work: Work, rng: np.random.Generator) -> Draft | None:
    """One of the boxes, ellipses, blobs, moved truths and complements that the cues were fitted with."""
    if "arbitrary" not in work.kept:  # five for the price of one draw of places
        work.kept["arbitrary"] = list(arbitrary(work.truth, work.others, rng=rng))
    left = work.kept["arbitrary"]
    return Draft(left.pop(int(rng.integers(len(left)))), "arbitrary") if left else None


def _stressed(stressor: MaskStressor[Any], defect: TypedDefect) -> Maker:
    """What a stressor makes, IoU in a window."""

    def maker(work: Work, rng: np.random.Generator) -> Draft | None:
        if defect == "merge" and not work.others:
            return None
        difficulty: Difficulty = "hard" if rng.random() < 0.5 else "medium"
        params = stressor.choose(rng, work.piece, difficulty=difficulty)
        return None if isinstance(params, Undefined) else Draft(stressor.render(work.piece, params), defect)

    return maker


paper_cutout = _stressed(cutout.STRESSOR, "cutout")
paper_dilate = _stressed(bands.DILATE, "dilate")
paper_erode = _stressed(bands.ERODE, "erode")
paper_merge = _stressed(negatives.MERGE, "merge")
