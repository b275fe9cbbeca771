"""What is seen to move, appear or stand still in a clip: candidates for what sounds.

The camera is taken to stand still, so that the median of all frames is the scene without what passes through it. What
differs from it in a frame is there in that frame only, unless the outline is sharper in the median: then something that
mostly stands there is gone, and what is seen is the ground behind it. Things that never move are proposed by their look
(``classical.regions.v1``), once for the clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import area, box_of, joint, window
from auscult.models.base import Masks
from auscult.models.classical.regions import LEAST_SIDE_PX, Regions, resized
from auscult.types import Frame, Frames, Mask

NEAR: Final = 0.08
"""Share of the width: what is farther from where a sound comes from does not make it."""

MOST_HEIGHT: Final = 270
MOST_WIDTH: Final = 480
_DIFFERENT: Final = (14, 24, 40)  # of 255, in the channel that differs most: from just above grain and JPEG
_MOST_BLOBS: Final = 8
_MOST_SHARE: Final = 0.2  # of the picture: the box of two parts that may be one thing
_LEAST_SHARE: Final = 0.001
_FOR_SCENE: Final = 50  # frames at most that the median is taken of
_OPEN_PX: Final = 3
_CLOSE_PX: Final = 7
_PROPOSE: Final = Regions(nested=True, least_score=-9.0, most=48)

CandidateKind: TypeAlias = Literal["moving", "standing", "alone"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenPart:
    """Something in one frame, or in all of them."""

    mask: Mask  # bool (h, w), small
    kind: CandidateKind  # how it was found
    x: float  # middle of its columns, share of the width, 0 left to 1 right
    share: float  # share of the picture that it covers
    compact: float  # 1 for a disk, towards 0 for what is ragged
    edge: float  # mean edge strength along its outline, over the picture's own mean
    cut: float  # share of its outline that lies along the picture's border
    rank: int = 0  # how much like a thing it looks among the standing ones, 0 the most; 0 for what moves


class ClipSight:
    """What is seen of one clip, uint8 RGB (T, H, W, 3); each kind of candidate is looked for when first asked for."""

    def __init__(self, frames: Frames) -> None:
        height, width = small_size(frames.shape[1], frames.shape[2])
        self.frames = [
            np.asarray(cv2.resize(one, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8) for one in frames
        ]
        sampled = self.frames[:: max(1, -(-len(self.frames) // _FOR_SCENE))]
        self.scene: Frame = np.median(np.stack(sampled), axis=0).astype(np.uint8)
        self.shape = (len(self.frames), height, width)
        self._plain = edges_of(self.scene)
        self._standing: tuple[SeenPart, ...] | None = None
        self._change: dict[int, NDArray[np.uint8]] = {}

    def change(self, frame: int) -> NDArray[np.uint8]:
        """How far each pixel of a frame is from the scene, (h, w), 0..255."""
        if frame not in self._change:
            apart = cv2.absdiff(*(cv2.GaussianBlur(one, (3, 3), 0) for one in (self.frames[frame], self.scene)))
            self._change[frame] = np.asarray(apart.max(axis=2), dtype=np.uint8)
        return self._change[frame]

    def moving(self, frame: int, *, near: Sequence[float] | None = None) -> tuple[SeenPart, ...]:
        """What differs from the scene in a frame, near some shares of its width if given; shapes overlap."""
        sharp = edges_of(self.frames[frame])
        shapes = _moving(self.change(frame), sharp, self._plain)
        return tuple(part(shape, sharp, kind="moving") for shape in shapes if is_near(shape, near))

    def standing(self) -> tuple[SeenPart, ...]:
        """What stands in the scene, the most thing-like first; shapes overlap."""
        if self._standing is None:
            found = enumerate(_things(self.scene))
            self._standing = tuple(part(shape, self._plain, kind="standing", rank=rank) for rank, shape in found)
        return self._standing

    def alone(self, frame: int, *, near: Sequence[float]) -> tuple[SeenPart, ...]:
        """What looks like a thing in a frame by itself: slow things differ from the scene at their rims only."""
        edges = edges_of(self.frames[frame])
        found = enumerate(_things(self.frames[frame]))
        return tuple(part(mask, edges, kind="alone", rank=rank) for rank, mask in found if is_near(mask, near))


def is_near(shape: Mask, positions: Sequence[float] | None) -> bool:
    """Whether the middle of a shape's columns lies within ``NEAR`` of a place; True for no places given."""
    return positions is None or any(abs(_middle(shape) - position) < NEAR for position in positions)


def _middle(shape: Mask) -> float:
    columns = np.flatnonzero(shape.any(axis=0))
    return (int(columns[0]) + int(columns[-1]) + 1) / float(2 * shape.shape[1])


def small_size(height: int, width: int) -> tuple[int, int]:
    """Height and width at which clips are looked at; never larger than they are."""
    scale = min(1.0, MOST_HEIGHT / height, MOST_WIDTH / width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def part(mask: Mask, edges: NDArray[np.float32], *, kind: CandidateKind, rank: int = 0) -> SeenPart:
    """A part from its mask, bool (h, w), not empty, and the edges of the picture it is seen in."""
    pixels, here = int(np.count_nonzero(mask)), rows_and_columns(mask)
    inner = np.pad(mask[here], 1)
    core = inner[1:-1, 1:-1] & inner[:-2, 1:-1] & inner[2:, 1:-1] & inner[1:-1, :-2] & inner[1:-1, 2:]
    rim = mask[here] & ~core
    length = int(np.count_nonzero(rim))
    cut = int(mask[0].sum() + mask[-1].sum() + mask[:, 0].sum() + mask[:, -1].sum())
    return SeenPart(
        mask=mask,
        kind=kind,
        x=_middle(mask),
        share=pixels / mask.size,
        compact=min(1.0, 4 * np.pi * pixels / (1.1 * length) ** 2),
        edge=float(edges[here][rim].mean()) / max(1e-3, float(edges.mean())),
        cut=cut / length,
        rank=rank,
    )


def rows_and_columns(mask: Mask) -> tuple[slice, slice]:
    """The rows and columns of a mask that is not empty."""
    return window(box_of(mask) or (0, 0, 0, 0))


def enlarged(masks: Masks, size: tuple[int, int]) -> Masks:
    """Small masks at the frames' size, bool (T, H, W)."""
    if masks.shape[1:] == size:
        return masks
    return np.stack([resized(one, size) for one in masks])


def _things(frame: Frame) -> Iterator[Mask]:
    """What looks like a thing; looked for at half the size, which is quicker and finds the same."""
    height, width = frame.shape[:2]
    half = max(1, height // 2), max(1, width // 2)
    if min(half) < LEAST_SIDE_PX:
        half = height, width
    reduced = np.asarray(cv2.resize(frame, half[::-1], interpolation=cv2.INTER_AREA), dtype=np.uint8)
    for mask in _PROPOSE(reduced):
        whole = enlarged(mask[None], (height, width))[0]
        if whole.any():
            yield whole


def _moving(change: NDArray[np.uint8], sharp: NDArray[np.float32], plain: NDArray[np.float32]) -> Iterator[Mask]:
    for least in _DIFFERENT:
        whole = [shape for shape in _blobs(change > least) if _is_there(shape, sharp, plain)]
        for shape in (*whole, *_pairs(whole)):
            yield shape
            yield _hull(shape)


def _blobs(found: Mask) -> list[Mask]:
    """The connected parts of what differs, without holes, the largest first."""
    kept = found.astype(np.uint8)
    for kind, side in ((cv2.MORPH_OPEN, _OPEN_PX), (cv2.MORPH_CLOSE, _CLOSE_PX)):
        kept = np.asarray(cv2.morphologyEx(kept, kind, np.ones((side, side), np.uint8)), dtype=np.uint8)
    outlines, _ = cv2.findContours(kept, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    blobs = []
    for outline in outlines:
        blob = np.zeros(kept.shape, np.uint8)
        cv2.drawContours(blob, [outline], -1, 1, cv2.FILLED)
        if np.count_nonzero(blob) >= _LEAST_SHARE * blob.size:
            blobs.append(blob > 0)
    return sorted(blobs, key=lambda blob: -int(np.count_nonzero(blob)))[:_MOST_BLOBS]


def _is_there(blob: Mask, sharp: NDArray[np.float32], plain: NDArray[np.float32]) -> bool:
    rim = cv2.morphologyEx(blob.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0
    return float(sharp[rim].sum()) >= float(plain[rim].sum())


def _pairs(blobs: list[Mask]) -> list[Mask]:
    """Two parts that are near one another, as one: the middle of a slow thing often looks like what was there."""
    boxes = [box for blob in blobs if (box := box_of(blob)) is not None]
    found = []
    for number, (blob, here) in enumerate(zip(blobs, boxes, strict=True)):
        for other, there in zip(blobs[:number], boxes[:number], strict=True):
            if area(joint(here, there)) <= _MOST_SHARE * blob.size:
                found.append(blob | other)
    return found


def _hull(blob: Mask) -> Mask:
    points = cv2.findNonZero(blob.astype(np.uint8))
    filled = np.zeros(blob.shape, np.uint8)
    cv2.fillConvexPoly(filled, cv2.convexHull(points), 1)
    return filled > 0


def edges_of(frame: Frame) -> NDArray[np.float32]:
    """Strength of the edges of a picture in grey, (h, w)."""
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    across, down = (cv2.Sobel(grey, cv2.CV_32F, *way) for way in ((1, 0), (0, 1)))
    return np.asarray(cv2.magnitude(across, down), dtype=np.float32)
