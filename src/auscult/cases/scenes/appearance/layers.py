"""One thing in the light and through the camera of a scene, ready to be laid over what is behind it.

The work is cut into what a sprite is in this light (``Body``), what lens and shutter make of it (``Soft``) and what it
is at its place (``Layer``), so that a thing that only moves, or does nothing at all, is not worked out again for each
picture. Colours are multiplied by alpha and all steps are linear, so that colour and mask soften together; colour is
softer than luma, as cameras and JPEG code it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance import grain, matching, shading
from auscult.cases.scenes.appearance.sprite import Placed, Sprite
from auscult.cases.scenes.appearance.stage import Stage, Window
from auscult.cases.scenes.appearance.surroundings import (
    YCC,
    Tones,
    blur_between,
    fineness_of,
    luma_of,
    noise_of,
    tones_of,
)
from auscult.types import Mask

Field = NDArray[np.float32]

_BLEED_PX: Final = 0.6
_SHARPENING: Final = 0.4  # cameras sharpen luma: a slight overshoot along edges
_NOISE_MORE: Final = 1.4  # noise over that of the flattest places, which clipping and JPEG have smoothed
_HALF: Final = np.float32(0.5)
_BLUR_STEP_PX: Final = 0.05  # blurs are rounded, so that a thing on its way mostly keeps the one it has
_SPEED_STEP_PX: Final = 1 / 16


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A sprite in the light of a scene, wherever it is put.

    Attributes:
        sprite: What.
        room: (x, y) pixels on each side for blur and shadow.
        inside: Where it is at least half opaque, bool (h, w), room included.
        weighted: float32 (h, w, 4): shaded colours, bytes, times alpha; and alpha, 0..1.
        shade: How much it darkens what is behind it, float32 (h, w), factors 0..1.
        tones: Its own.
        noise: Standard deviation of the noise it brings along, bytes.
        fineness: How sharp it is with its outline.
    """

    sprite: Sprite
    room: tuple[int, int]
    inside: Mask
    weighted: Field
    shade: Field
    tones: Tones
    noise: float
    fineness: float


@dataclass(frozen=True, slots=True, eq=False)
class Soft:
    """A body as lens and shutter see it.

    Attributes:
        body: What.
        blur_px: Of the lens.
        speed_px: (x, y) while the shutter is open.
        luma: ``Body.weighted`` for luma, and the cover, float32 (h, w, 4).
        colour: The same for colour, which is softer.
    """

    body: Body
    blur_px: float
    speed_px: tuple[float, float]
    luma: Field
    colour: Field


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A thing at its place in the picture.

    Attributes:
        soft: What.
        corner: (x, y) of its window's top left in the picture, before the window is cut to the picture.
        there: The part of the picture it changes.
        keep: How much is left of what is behind, of luma and two colours, float32 (h, w, 3).
        seen: What is added, as luma and two colours, float32 (h, w, 3).
        mask: Where it covers at least half, bool (h, w).
    """

    soft: Soft
    corner: tuple[int, int]
    there: Window
    keep: Field
    seen: Field
    mask: Mask


def lay(thing: Placed, stage: Stage, *, after: Layer | None = None) -> Layer | None:
    """Work out a thing's layer.

    Args:
        thing: What, and where.
        stage: The background and light.
        after: An earlier layer on the same stage, whose parts are used again where they would come out the same; the
            layer does not depend on it.

    Returns:
        The layer; None where the thing is outside the picture.
    """
    speed = tuple(round(side / _SPEED_STEP_PX) * _SPEED_STEP_PX for side in thing.speed_px)
    height, width = thing.sprite.alpha.shape
    room = tuple(_room(thing.sprite) + math.ceil(abs(side) / 2) for side in speed)
    corner = (round(thing.x_px - width / 2) - room[0], round(thing.y_px - height / 2) - room[1])
    there, here = _windows((height + 2 * room[1], width + 2 * room[0]), corner, stage.background.shape)
    if there is None or here is None:
        return None
    body = after.soft.body if after is not None and _same(after.soft.body, thing.sprite, room) else None
    body = body or _body(thing.sprite, (room[0], room[1]), stage=stage)
    blur_px = round(blur_between(body.fineness, stage.fineness(there)) / _BLUR_STEP_PX) * _BLUR_STEP_PX
    soft = after.soft if after is not None and after.soft.body is body else None
    if soft is None or (soft.blur_px, soft.speed_px) != (blur_px, speed):
        soft = _softened(body, blur_px=blur_px, speed_px=(speed[0], speed[1]))
    if after is not None and after.soft is soft and after.corner == corner:
        return after
    return _placed(soft, corner, stage=stage, there=there, here=here)


def _same(body: Body, sprite: Sprite, room: tuple[int, ...]) -> bool:
    return body.sprite is sprite and body.room == room


def _room(sprite: Sprite) -> int:
    return 4 + math.ceil(1.5 * shading.shadow_reach_px(sprite.alpha.shape))


def _body(sprite: Sprite, room: tuple[int, int], *, stage: Stage) -> Body:
    sides = (room[1], room[1], room[0], room[0])
    rgb: NDArray[Any] = cv2.copyMakeBorder(sprite.rgb, *sides, cv2.BORDER_REPLICATE).astype(np.float32)
    alpha: NDArray[Any] = cv2.copyMakeBorder(sprite.alpha, *sides, cv2.BORDER_CONSTANT, value=0)
    alpha = alpha.astype(np.float32) * np.float32(1 / 255)
    inside = alpha >= _HALF
    luma = luma_of(rgb)
    outlined = stage.light_behind + (luma - stage.light_behind) * alpha
    share = shading.relief(alpha, light=stage.light) * alpha
    weighted: NDArray[Any] = cv2.merge([cv2.multiply(rgb, cv2.merge([share, share, share])), alpha])
    step = 1 if inside.size < 4096 else 3
    return Body(
        sprite=sprite,
        room=room,
        inside=inside,
        weighted=weighted,
        shade=shading.shadow(alpha, light=stage.light),
        tones=tones_of(rgb[::step, ::step][inside[::step, ::step]]),
        noise=noise_of(luma, inside),
        fineness=fineness_of(outlined),
    )


def _softened(body: Body, *, blur_px: float, speed_px: tuple[float, float]) -> Soft:
    luma = matching.softened(body.weighted, sigma_px=blur_px, speed_px=speed_px)
    colour: NDArray[Any] = cv2.GaussianBlur(luma, (0, 0), _BLEED_PX, borderType=cv2.BORDER_CONSTANT)
    sharpened = cv2.addWeighted(luma, 1 + _SHARPENING, colour, -_SHARPENING, 0)
    return Soft(body, blur_px, speed_px, np.asarray(sharpened, np.float32), colour)


def _placed(soft: Soft, corner: tuple[int, int], *, stage: Stage, there: Window, here: Window) -> Layer:
    body = soft.body
    around = stage.around(there, body.inside[here])
    tone = np.zeros((3, 4), np.float32)  # of the four channels, alpha adds nothing
    tone[:, :3] = YCC @ matching.tone_map(body.tones, around=around, camera=stage.camera, light=stage.light)
    luma, colour = soft.luma[here], soft.colour[here]
    cover, colour_cover = (np.ascontiguousarray(part[..., 3]) for part in (luma, colour))
    seen: NDArray[Any] = cv2.merge([cv2.transform(luma, tone[:1]), cv2.transform(colour, tone[1:])])
    own = body.noise * math.exp(-2 * soft.blur_px)
    level = math.sqrt(max(0.0, (_NOISE_MORE * stage.camera.noise) ** 2 - own**2)) + stage.grain
    if level > 0:
        noise = grain.window(stage.noise, x=there[1].start, y=there[0].start, size=cover.shape)
        share = cover * np.float32(level)
        seen += cv2.multiply(noise, cv2.merge([share, share, share]))
    shade = body.shade[here]
    left, colour_left = shade * (1 - cover), shade * (1 - colour_cover)
    keep: NDArray[Any] = cv2.merge([left, colour_left, colour_left])
    return Layer(soft, corner, there, keep, seen, cover >= _HALF)


def _windows(
    size: tuple[int, int], corner: tuple[int, int], frame: tuple[int, ...]
) -> tuple[Window, Window] | tuple[None, None]:
    """Where a window lies in the picture, and which part of it does; None where it lies outside."""
    low = [max(0, start) for start in corner[::-1]]
    high = [min(frame[axis], corner[1 - axis] + size[axis]) for axis in (0, 1)]
    if low[0] >= high[0] or low[1] >= high[1]:
        return None, None
    there = (slice(low[0], high[0]), slice(low[1], high[1]))
    y, x = corner[1], corner[0]
    return there, (slice(low[0] - y, high[0] - y), slice(low[1] - x, high[1] - x))
