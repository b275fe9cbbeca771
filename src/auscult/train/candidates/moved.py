"""Masks in the wrong place: from another frame, carried by optical flow, shifted, turned, scaled, mirrored, bent."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.train.candidates.base import Draft
from auscult.train.candidates.working import Work
from auscult.types import Frame, Mask

_LEAST: Final = 0.3
_FLOW_PX: Final = 144  # the longer side of the pictures that flow is found on


def delayed(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object's mask in a neighbouring frame, as it is or moved on by a part of the way."""
    if work.before is None:
        return None
    if rng.random() < 0.5:
        return _kept(work, work.before[1].copy())
    return _kept(work, _carried(work, work.before, share=float(rng.uniform(0.2, 0.8))))


def propagated(work: Work, rng: np.random.Generator) -> Draft | None:
    """The mask of a neighbouring frame carried by dense optical flow, with its errors made a little larger."""
    if work.before is None:
        return None
    return _kept(work, _carried(work, work.before, share=float(rng.normal(1.0, 0.12)), error=rng))


def shifted(work: Work, rng: np.random.Generator) -> Draft | None:
    """Shifted by up to a fifth of the object's size."""
    far = work.size_px * 0.22 * float(rng.random()) ** 1.5 + 0.7
    turn = float(rng.uniform(0, 2 * np.pi))
    matrix = np.eye(2, 3)
    matrix[:, 2] = far * np.cos(turn), far * np.sin(turn)
    return _mapped(work, matrix)


def posed(work: Work, rng: np.random.Generator) -> Draft | None:
    """Turned, scaled, stretched and shifted by a little at once."""
    amount = float(rng.random()) ** 0.8
    centre = _centre(work)
    turn = np.asarray(cv2.getRotationMatrix2D(centre, float(rng.normal(0, 9)) * amount, 1.0), dtype=np.float64)
    stretch = np.exp(rng.normal(0.0, 0.09, 2) * amount)
    matrix = stretch[:, None] * turn
    matrix[:, 2] += (1 - stretch) * centre + rng.normal(0, 0.04, 2) * amount * work.size_px
    return _mapped(work, matrix)


def mirrored(work: Work, rng: np.random.Generator) -> Draft | None:
    """Mirrored about its own centre."""
    x, y = _centre(work)
    flat = np.array([[-1.0, 0, 2 * x], [0, 1, 0]])
    upright = np.array([[1.0, 0, 0], [0, -1, 2 * y]])
    return _mapped(work, flat if rng.random() < 0.7 else upright)


def bent(work: Work, rng: np.random.Generator) -> Draft | None:
    """Bent by a smooth displacement, as a mask carried through a few frames."""
    far = np.float32(work.size_px * 0.2 * float(rng.random()) ** 1.3 + 1.0)
    grain = float(rng.uniform(0.3, 1.0)) * work.size_px
    return _kept(work, _pulled(work.own, work.noise(rng, grain) * far, work.noise(rng, grain) * far))


def _centre(work: Work) -> tuple[float, float]:
    """Centre of the object's box in the window, (x, y)."""
    left, top, right, bottom = work.piece.box
    return (left + right - 1) / 2 - work.box[0], (top + bottom - 1) / 2 - work.box[1]


def _mapped(work: Work, matrix: NDArray[np.float64]) -> Draft | None:
    size = work.own.shape[::-1]
    soft = cv2.warpAffine(work.own.astype(np.float32), matrix, size, flags=cv2.INTER_LINEAR)
    return _kept(work, np.asarray(np.asarray(soft) > 0.5))


def _pulled(mask: Mask, right: NDArray[np.float32], down: NDArray[np.float32]) -> Mask:
    """The mask with each pixel taken from as far right and down, px."""
    x = np.arange(mask.shape[1], dtype=np.float32)[None, :] + right
    y = np.arange(mask.shape[0], dtype=np.float32)[:, None] + down
    soft = cv2.remap(mask.astype(np.float32), x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    return np.asarray(np.asarray(soft) > 0.5)


def _kept(work: Work, mask: Mask) -> Draft | None:
    return Draft(mask, None) if mask.any() and work.iou(mask) >= _LEAST else None


def _carried(work: Work, before: tuple[Frame, Mask], *, share: float, error: np.random.Generator | None = None) -> Mask:
    """The mask of the neighbouring frame, over ``box``, moved by a share of the flow from there to here."""
    flow = _flow(work, before[0]) * np.float32(share)
    right, down = flow[..., 0], flow[..., 1]
    if error is not None:
        far = np.float32(error.uniform(0.0, 0.04) * work.size_px)
        grain = 0.4 * work.size_px
        right, down = right + far * work.noise(error, grain), down + far * work.noise(error, grain)
    return _pulled(np.ascontiguousarray(before[1][boxes.window(work.box)]), right, down)


def _flow(work: Work, earlier: Frame) -> NDArray[np.float32]:
    """Where each pixel of the window was in the neighbouring frame, px to the right and down, float32 (h, w, 2)."""
    if "flow" not in work.kept:
        scale = min(1.0, _FLOW_PX / max(work.own.shape))
        size = (max(24, round(work.own.shape[1] * scale)), max(24, round(work.own.shape[0] * scale)))
        now, then = (_grey(one, size) for one in (work.picture, earlier[boxes.window(work.box)]))
        method = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
        flow = method.calc(now, then, np.zeros((*now.shape, 2), np.float32))
        ratio = np.array([work.own.shape[1] / size[0], work.own.shape[0] / size[1]], np.float32)
        work.kept["flow"] = cv2.resize(flow, work.own.shape[::-1], interpolation=cv2.INTER_LINEAR) * ratio
    flow_map: NDArray[np.float32] = work.kept["flow"]
    return flow_map


def _grey(picture: Frame, size: tuple[int, int]) -> NDArray[np.uint8]:
    small = cv2.resize(np.ascontiguousarray(picture), size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
