"""Regions of the frames of a clip linked into one thing: the way through the clip that fits the sentence best.

Regions are proposed on some frames (``MOST_KEYS`` at most, evenly spread); the way through them is the one of highest
probability, where each region counts with how well it fits, and each step with how well the one region, carried along
by dense flow, lies on the next or looks like it (Viterbi, IEEE Trans. Information Theory 1967). Between those frames a
region is carried along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import motion
from auscult.models.base import Clip
from auscult.models.classical.lexicon_choice import Motions, chances
from auscult.models.classical.lexicon_reading import Wish
from auscult.models.classical.lexicon_things import Things, small, things_in
from auscult.types import Frame, Mask

MOST_KEYS: Final = 16
"""Frames of a clip at which regions are proposed."""

_LINK: Final = 2.0  # how much a step counts beside a region's own fit
_NO_LINK: Final = 0.05
_LOOKS: Final = 0.5  # what the looks of two regions count for at most, beside 1 for lying on one another

_LEAST_HIGH: Final = 0.4  # height over width: below it OpenCV's search reads beyond the picture and crashes

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Key:
    """One frame with its regions, one at least.

    Attributes:
        at: Its number in the clip.
        things: Its regions.
        masks: Soft, small, (n, h, w).
        chances: How probable each is, (n,).
    """

    at: int
    things: Things
    masks: NDArray[np.float32]
    chances: Values


def followed(frames: Clip, wish: Wish) -> list[Mask]:
    """The thing through the clip.

    Args:
        frames: uint8 RGB (T, H, W, 3), T of 2 or more.
        wish: What the sentence says.

    Returns:
        One mask a frame, at the size that regions are proposed at or at that of ``motion.small_frame``.
    """
    size = small(frames[0]).shape[:2]
    tiny = [motion.small_frame(frame) for frame in frames]
    flows = [_flow(*pair) for pair in pairwise(tiny)]
    found = (_key(frames, number, flows=flows, wish=wish) for number in _numbers(len(frames)))
    keys = [key for key in found if key is not None]
    if not keys:
        return [np.zeros(size, bool)] * len(frames)
    chosen = _best_way(keys, [_along(flows[one.at : two.at]) for one, two in pairwise(keys)])
    return [_shown(keys, chosen, at, flows=flows) for at in range(len(frames))]


def _flow(earlier: Frame, later: Frame) -> motion.Flow:
    """Flow from the later frame back; none where the picture is too flat for it."""
    if earlier.shape[0] < _LEAST_HIGH * earlier.shape[1]:
        return np.zeros((*earlier.shape[:2], 2), np.float32)
    return motion.step_between(earlier, later).flow


def _numbers(count: int) -> list[int]:
    """The frames at which regions are proposed."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, MOST_KEYS)).tolist()})


def _key(frames: Clip, number: int, *, flows: Sequence[motion.Flow], wish: Wish) -> _Key | None:
    things = things_in(small(frames[number]))
    if things is None:
        return None
    masks = np.stack([motion.small_mask(_as_large(mask, frames.shape[1:3])) for mask in things.masks])
    beside = [flows[at] * sign for at, sign in ((number - 1, -1), (number, -1)) if 0 <= at < len(flows)]
    motions = _motions(masks, np.mean(beside, axis=0).astype(np.float32))
    return _Key(at=number, things=things, masks=masks, chances=chances(things, wish, motions=motions))


def _as_large(mask: Mask, size: tuple[int, ...]) -> Mask:
    enlarged: Mask = (
        np.asarray(cv2.resize(mask.view(np.uint8), (size[1], size[0]), interpolation=cv2.INTER_NEAREST)) > 0
    )
    return enlarged


def _motions(masks: NDArray[np.float32], flow: motion.Flow) -> Motions:
    """Mean motion of each region from frame to frame, less that of the picture."""
    whole = np.median(flow.reshape(-1, 2), axis=0)
    own = (flow - whole).reshape(-1, 2) / max(flow.shape[:2])
    flat = masks.reshape(len(masks), -1)
    sums = np.maximum(flat.sum(axis=1), 1e-6)
    right, down = ((flat @ own[:, axis]) / sums for axis in (0, 1))
    speed = (flat @ np.hypot(own[:, 0], own[:, 1])) / sums
    return Motions(right=right.astype(np.float64), down=down.astype(np.float64), speed=speed.astype(np.float64))


def _along(flows: Sequence[motion.Flow]) -> motion.Flow:
    """Steps one after another as one: from the last frame back to the first."""
    total = flows[-1]
    for flow in reversed(flows[:-1]):
        brought = np.stack([motion.moved(np.ascontiguousarray(flow[..., axis]), total) for axis in (0, 1)], axis=-1)
        total = total + brought
    return total


def _best_way(keys: Sequence[_Key], between: Sequence[motion.Flow]) -> list[int]:
    """The region of each key frame."""
    total = np.log(keys[0].chances)
    back: list[NDArray[np.intp]] = []
    for (one, two), flow in zip(pairwise(keys), between, strict=True):
        steps = total[:, None] + _LINK * np.log(_links(one, two, flow))
        came = steps.argmax(axis=0)
        back.append(came)
        total = np.log(two.chances) + steps[came, np.arange(len(came))]
    chosen = [int(total.argmax())]
    for came in reversed(back):
        chosen.append(int(came[chosen[-1]]))
    return chosen[::-1]


def _links(one: _Key, two: _Key, flow: motion.Flow) -> Values:
    """How probably each region of a frame is the same thing as each of a later one, (n, m)."""
    carried = np.stack([motion.moved(mask, flow) for mask in one.masks])
    first, second = (masks.reshape(len(masks), -1) for masks in (carried, two.masks))
    shared = first @ second.T
    either = first.sum(axis=1)[:, None] + second.sum(axis=1)[None] - shared
    lying = shared / np.maximum(either, 1e-6)
    alike = np.minimum(one.things.look[:, None], two.things.look[None]).sum(axis=2)
    sizes = np.exp(-np.abs(np.log(one.things.area[:, None] / two.things.area[None])))
    return np.asarray(np.maximum(_NO_LINK, np.maximum(lying, _LOOKS * alike * sizes)), dtype=np.float64)


def _shown(keys: Sequence[_Key], chosen: Sequence[int], at: int, *, flows: Sequence[motion.Flow]) -> Mask:
    """The mask of a frame: of one without regions of its own, the last key's, carried on; the first key's before it."""
    place = max((place for place, key in enumerate(keys) if key.at <= at), default=0)
    key, index = keys[place], chosen[place]
    if key.at >= at:
        own: Mask = key.things.masks[index]
        return own
    carried: Mask = motion.moved(key.masks[index], _along(flows[key.at : at])) >= 0.5
    return carried
