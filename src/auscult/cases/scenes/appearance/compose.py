"""One picture from a background and things, far to near, with exact masks.

Every thing passes through the light of the scene and the camera of the background: tones, shade, blur of lens and
shutter, noise. Colours and alpha are blurred together, so that the edge is that of a thing seen by the camera and the
mask follows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance import grain, matching, shading
from auscult.cases.scenes.appearance.light import Light
from auscult.cases.scenes.appearance.sprite import Placed
from auscult.cases.scenes.appearance.stage import Stage, Window
from auscult.cases.scenes.appearance.surroundings import (
    blur_between,
    fineness_of,
    luma_of,
    noise_of,
)
from auscult.types import Frame, Mask

Field = NDArray[np.float32]

_BLEED_PX: Final = 1.0
_HALF: Final = np.float32(0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A composed picture.

    Attributes:
        frame: uint8 RGB (H, W, 3).
        visible: What is seen of each thing, bool (H, W), in the order the things were given; disjoint.
        whole: What would be seen of each thing without the others.
    """

    frame: Frame
    visible: tuple[Mask, ...]
    whole: tuple[Mask, ...]


def compose(background: Frame, placed: Sequence[Placed], *, light: Light) -> Picture:
    """Put things into a background.

    Args:
        background: uint8 RGB (H, W, 3).
        placed: The things, far to near.
        light: Light and camera.

    Returns:
        The picture; a pixel belongs to the front-most thing that covers at least half of it.
    """
    return compose_on(Stage.of(background, light=light), placed)


def compose_on(stage: Stage, placed: Sequence[Placed]) -> Picture:
    """The same for many pictures of one background and light: what they share is measured once."""
    frame = stage.background.copy()
    whole = tuple(_lay(frame, thing, stage=stage) for thing in placed)
    return Picture(stage.finished(frame), visible_of(whole), whole)


def visible_of(whole: Sequence[Mask]) -> tuple[Mask, ...]:
    """Take from every mask what the nearer ones cover; masks are far to near."""
    visible: list[Mask] = []
    nearer: Mask | None = None
    for mask in reversed(whole):
        visible.append(mask.copy() if nearer is None else mask & ~nearer)
        nearer = mask if nearer is None else nearer | mask
    return tuple(reversed(visible))


def _lay(frame: NDArray[np.uint8], thing: Placed, *, stage: Stage) -> Mask:
    """Lay one thing over what is there; gives its whole mask."""
    mask: Mask = np.zeros(frame.shape[:2], np.bool_)
    rgb, alpha, corner = _with_room(thing)
    there, here = _windows(alpha.shape, corner, frame.shape)
    if there is None or here is None:
        return mask
    inside = alpha >= _HALF
    around = stage.around(there, inside[here])
    lit = matching.toned(rgb, inside, around=around, camera=stage.camera, light=stage.light)
    lit *= shading.relief(alpha, light=stage.light)[..., None]
    luma = luma_of(rgb)
    outlined = luma * alpha + np.float32(around.light) * (1 - alpha)
    sigma = blur_between(fineness_of(outlined), stage.fineness(there))
    weighted: NDArray[Any] = cv2.merge([*cv2.split(lit * alpha[..., None]), alpha])
    seen = matching.softened(weighted, sigma_px=sigma, speed_px=thing.speed_px)[here]
    cover = seen[..., 3]
    missing = math.sqrt(max(0.0, stage.camera.noise**2 - (noise_of(luma, inside) * math.exp(-2 * sigma)) ** 2))
    noise = grain.window(stage.noise, x=there[1].start, y=there[0].start, size=cover.shape)
    behind = frame[there] * (shading.shadow(alpha, light=stage.light)[here] * (1 - cover))[..., None]
    behind += seen[..., :3]
    behind = matching.bled(behind, 4 * cover * (1 - cover), blur_px=_BLEED_PX)
    behind += noise * (cover * np.float32(missing))[..., None]
    frame[there] = np.clip(behind + _HALF, 0, 255)
    mask[there] = cover >= _HALF
    return mask


def _with_room(thing: Placed) -> tuple[Field, Field, tuple[int, int]]:
    """A thing's colours and alpha with room for blur and shadow, and the (x, y) of its top left in the picture."""
    sprite = thing.sprite
    height, width = sprite.alpha.shape
    room = 4 + math.ceil(1.5 * shading.shadow_reach_px(sprite.alpha.shape))
    room_x, room_y = (room + math.ceil(abs(speed) / 2) for speed in thing.speed_px)
    sides = (room_y, room_y, room_x, room_x)
    rgb = cv2.copyMakeBorder(sprite.rgb, *sides, cv2.BORDER_REPLICATE).astype(np.float32)
    alpha = cv2.copyMakeBorder(sprite.alpha, *sides, cv2.BORDER_CONSTANT, value=0).astype(np.float32)
    corner = (round(thing.x_px - width / 2) - room_x, round(thing.y_px - height / 2) - room_y)
    return rgb, alpha / np.float32(255), corner


def _windows(
    size: tuple[int, ...], corner: tuple[int, int], frame: tuple[int, ...]
) -> tuple[Window, Window] | tuple[None, None]:
    """Where a window lies in the picture, and which part of it does; None where it lies outside."""
    low = [max(0, start) for start in corner[::-1]]
    high = [min(frame[axis], corner[1 - axis] + size[axis]) for axis in (0, 1)]
    if low[0] >= high[0] or low[1] >= high[1]:
        return None, None
    there = (slice(low[0], high[0]), slice(low[1], high[1]))
    y, x = corner[1], corner[0]
    return there, (slice(low[0] - y, high[0] - y), slice(low[1] - x, high[1] - x))
