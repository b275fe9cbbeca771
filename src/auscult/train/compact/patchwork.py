"""Pictures put together of real textures in real outlines: what a thing is cannot be known, where it ends can.

A piece of one photograph is the ground. On it lie one to three things: the outline of one object, bent, turned and
scaled, filled with a piece of another photograph. With few annotated objects a network learns their looks by heart and
takes all else for background; here no look comes twice, and the outline is all there is to learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.train.augment import Whole
from auscult.types import Frame, Mask

SIDE_PX: Final = (240, 400)
SIZE_PX: Final = (34.0, 150.0)
_MOST_THINGS: Final = 3
_LEAST_SEEN: Final = 0.35
_BEND_PX: Final = 10.0

Drawn = Callable[[np.random.Generator], tuple[Frame, Mask]]
"""Draws a photograph and one object's mask in it."""


def patchwork(draw: Drawn, rng: np.random.Generator) -> Whole | None:
    """Put a picture together; None where nothing of the first thing is left to see.

    Args:
        draw: Where photographs and outlines come from.
        rng: Everything random is drawn from it.
    """
    height, width = (int(rng.integers(*SIDE_PX)) for _ in range(2))
    frame = _piece(draw(rng)[0], (height, width), rng).astype(np.float32)
    masks: list[Mask] = []
    for _ in range(int(rng.integers(1, _MOST_THINGS + 1))):
        whole = _outline(draw(rng)[1], (height, width), rng)
        filling = _likened(_piece(draw(rng)[0], (height, width), rng), frame, rng)
        soft = cv2.GaussianBlur(whole.astype(np.float32), (0, 0), float(rng.uniform(0.4, 1.3)))[..., None]
        frame = frame * (1 - soft) + filling * soft
        masks = [np.asarray(mask & ~whole) for mask in masks] + [whole]
    order = rng.permutation(len(masks))
    target = masks[int(order[0])]
    if np.count_nonzero(target) < _LEAST_SEEN * SIZE_PX[0] ** 2:
        return None
    others = tuple(masks[int(at)] for at in order[1:] if masks[int(at)].any())
    return Whole(frame=np.clip(frame, 0, 255).astype(np.uint8), mask=target, others=others)


def _piece(frame: Frame, size: tuple[int, int], rng: np.random.Generator) -> Frame:
    """A random part of a photograph at a random scale, mirrored or not."""
    height, width = size
    scale = float(np.exp(rng.uniform(np.log(0.6), np.log(1.6))))
    scale = max(scale, height / frame.shape[0], width / frame.shape[1])
    rows, columns = min(round(height / scale), frame.shape[0]), min(round(width / scale), frame.shape[1])
    top, left = int(rng.integers(frame.shape[0] - rows + 1)), int(rng.integers(frame.shape[1] - columns + 1))
    part = frame[top : top + rows, left : left + columns]
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    found = cv2.resize(part, (width, height), interpolation=way)
    return np.ascontiguousarray(found[:, :: 1 if rng.random() < 0.5 else -1])


def _outline(mask: Mask, size: tuple[int, int], rng: np.random.Generator) -> Mask:
    """An object's mask turned, scaled, bent and put somewhere, at least its middle inside the picture."""
    height, width = size
    x, y, w, h = cv2.boundingRect(mask.view(np.uint8))
    area = float(np.count_nonzero(mask))
    scale = float(np.exp(rng.uniform(*np.log(SIZE_PX)))) / np.sqrt(area)
    scale = min(scale, 1.2 * min(size) / max(w, h))
    turn = np.deg2rad(rng.uniform(-180, 180)) if rng.random() < 0.5 else 0.0
    cosine, sine = scale * np.cos(turn), scale * np.sin(turn)
    to = rng.uniform(0.15, 0.85, 2) * (width, height)
    middle = np.array([x + w / 2, y + h / 2])
    # from the picture back to the mask, bent by a smooth random field
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    bend = _field(size, rng), _field(size, rng)
    dx, dy = columns - to[0] + bend[0], rows - to[1] + bend[1]
    square = scale * scale
    back_x = (cosine * dx + sine * dy) / square + middle[0]
    back_y = (-sine * dx + cosine * dy) / square + middle[1]
    grey = np.multiply(mask, np.uint8(255), dtype=np.uint8)
    found = cv2.remap(grey, back_x.astype(np.float32), back_y.astype(np.float32), cv2.INTER_LINEAR)
    return np.asarray(found >= 128)


def _field(size: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float32]:
    coarse = rng.standard_normal((int(rng.integers(3, 7)),) * 2).astype(np.float32) * float(rng.uniform(0, _BEND_PX))
    return np.asarray(cv2.resize(coarse, size[::-1], interpolation=cv2.INTER_CUBIC), dtype=np.float32)


def _likened(filling: Frame, frame: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """A filling with its colours drawn towards the picture's by a random part, so that contrast is at times low."""
    share = float(rng.uniform(0, 0.7))
    own, wanted = filling.mean((0, 1)), frame.mean((0, 1))
    spread = float(rng.uniform(0.6, 1.2))
    return np.asarray((filling - own) * spread + own * (1 - share) + wanted * share, dtype=np.float32)
