"""One picture from a background and things, far to near, with exact masks.

Every thing passes through the light of the scene and the camera of the background: tones, shade, blur of lens and
shutter, noise. Colours and alpha are blurred together, so that the edge is that of a thing seen by the camera and the
mask follows it.

The work is cut into what a sprite is in this light (``Body``), what lens and shutter make of it (``SoftBody``) and what
it is at its place (``Layer``), so that a thing that only moves, or does nothing at all, is not worked out again for
each picture. Colours are multiplied by alpha and all steps are linear, so that colour and mask soften together; colour
is softer than luma, as cameras and JPEG code it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.scenes.appearance.colours import Light, relief, shadow, shadow_reach_px
from auscult.scenes.appearance.drawing import Placed, Sprite, with_a_pixel
from auscult.scenes.appearance.stage import (
    RGB,
    YCC,
    Backdrop,
    Camera,
    Tones,
    Window,
    blur_between,
    fineness_of,
    luma_of,
    noise_of,
    tones_of,
    window,
)
from auscult.types import Floats, Frame, Mask

_GAIN: Final = (0.5, 1.3)
_GAIN_WAY: Final = 0.9
_BRIGHT_GAIN: Final = 0.9  # least for a bright thing: darker, white would be called grey and orange brown
_SATURATION: Final = (0.72, 1.1)
_WARM: Final = np.array([0.05, 0.0, -0.06], np.float32)


def tone_map(own: Tones, *, around: Tones, camera: Camera, light: Light) -> Floats:
    """Move exposure, cast and saturation part of the way to a thing's surroundings, so that a colour keeps its word.

    Gives new RGB from RGB, float32 (3, 3).
    """
    least = float(np.interp(own.bright, (150, 215), (_GAIN[0], _BRIGHT_GAIN)))
    gain = float(np.clip((max(around.light, 8) / max(own.light, 8)) ** _GAIN_WAY * light.gain, least, _GAIN[1]))
    cast = np.clip((camera.mean / max(float(camera.mean.mean()), 8)) ** 0.3, 0.9, 1.1) * (1 + light.warmth * _WARM)
    saturation = float(np.clip((max(around.colour, 10) / max(own.colour, 10)) ** 0.35, *_SATURATION))
    paler = saturation * np.eye(3) + (1 - saturation) * YCC[0]
    return np.asarray((cast * gain)[:, None] * paler, dtype=np.float32)


def softened(weighted: NDArray[Any], *, sigma_px: float, speed_px: tuple[float, float]) -> Floats:
    """Blur a premultiplied RGBA window as lens and shutter do: colours and alpha alike."""
    blurred: NDArray[Any] = weighted
    if sigma_px > 0.05:
        blurred = cv2.GaussianBlur(blurred, (0, 0), sigma_px, borderType=cv2.BORDER_CONSTANT)
    kernel = shutter(speed_px)
    if kernel is not None:
        blurred = cv2.filter2D(blurred, -1, kernel, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(blurred, dtype=np.float32)


def shutter(speed_px: tuple[float, float]) -> Floats | None:
    """The path of a point while the shutter is open, as a kernel that sums to 1; None below half a pixel."""
    length = float(np.hypot(*speed_px))
    if length < 0.5:
        return None
    reach = int(np.ceil(max(abs(speed_px[0]), abs(speed_px[1])) / 2)) + 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.float32)
    for share in np.linspace(-0.5, 0.5, 4 * int(np.ceil(length)) + 1):
        x, y = reach + share * speed_px[0], reach + share * speed_px[1]
        left, top = int(np.floor(x)), int(np.floor(y))
        for dy in (0, 1):
            for dx in (0, 1):
                kernel[top + dy, left + dx] += (1 - abs(x - left - dx)) * (1 - abs(y - top - dy))
    return np.asarray(kernel / kernel.sum(), dtype=np.float32)


_BLEED_PX: Final = 0.6
_SHARPENING: Final = 0.4  # cameras sharpen luma: a slight overshoot along edges
_NOISE_MORE: Final = 1.4  # noise over that of the flattest places, which clipping and JPEG have smoothed
_HALF: Final = np.float32(0.5)
_BLUR_STEP_PX: Final = 0.05  # blurs are rounded, so that a thing on its way mostly keeps the one it has
_SPEED_STEP_PX: Final = 1 / 16


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A sprite in the light of a scene, wherever it is put."""

    sprite: Sprite
    room: tuple[int, int]  # (x, y) pixels on each side for blur and shadow
    inside: Mask  # where it is at least half opaque, bool (h, w), room included
    weighted: Floats  # float32 (h, w, 4): shaded colours, bytes, times alpha; and alpha, 0..1
    shade: Floats  # how much it darkens what is behind it, float32 (h, w), factors 0..1
    tones: Tones
    noise: float  # standard deviation of the noise it brings along, bytes
    fineness: float  # how sharp it is with its outline


@dataclass(frozen=True, slots=True, eq=False)
class SoftBody:
    """A body as lens and shutter see it."""

    body: Body
    blur_px: float  # of the lens
    speed_px: tuple[float, float]  # (x, y) while the shutter is open
    luma: Floats  # `Body.weighted` for luma, and the cover, float32 (h, w, 4)
    colour: Floats  # the same for colour, which is softer


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A thing at its place in the picture."""

    soft: SoftBody
    corner: tuple[int, int]  # (x, y) of its window's top left in the picture, before the window is cut to the picture
    there: Window  # the part of the picture it changes
    keep: Floats  # how much is left of what is behind, of luma and two colours, float32 (h, w, 3)
    seen: Floats  # what is added, as luma and two colours, float32 (h, w, 3)
    mask: Mask  # where it covers at least half, bool (h, w)


def lay(placed: Placed, stage: Backdrop, *, after: Layer | None = None) -> Layer | None:
    """Work out a thing's layer; None where the thing is outside the picture."""
    speed = tuple(round(side / _SPEED_STEP_PX) * _SPEED_STEP_PX for side in placed.speed_px)
    height, width = placed.sprite.alpha.shape
    reach = 4 + math.ceil(1.5 * shadow_reach_px(placed.sprite.alpha.shape))
    room = tuple(reach + math.ceil(abs(side) / 2) for side in speed)
    corner = (round(placed.x_px - width / 2) - room[0], round(placed.y_px - height / 2) - room[1])
    region, crop = _windows((height + 2 * room[1], width + 2 * room[0]), corner, stage.background.shape)
    if region is None or crop is None:
        return None
    body = None if after is None else after.soft.body
    if body is None or body.sprite is not placed.sprite or body.room != room:
        body = _body(placed.sprite, (room[0], room[1]), stage=stage)
    blur_px = round(blur_between(body.fineness, stage.fineness(region)) / _BLUR_STEP_PX) * _BLUR_STEP_PX
    soft = after.soft if after is not None and after.soft.body is body else None
    if soft is None or (soft.blur_px, soft.speed_px) != (blur_px, speed):
        soft = _softened(body, blur_px=blur_px, speed_px=(speed[0], speed[1]))
    if after is not None and after.soft is soft and after.corner == corner:
        return after
    return _layer(soft, corner, stage=stage, region=region, crop=crop)


def _body(sprite: Sprite, room: tuple[int, int], *, stage: Backdrop) -> Body:
    sides = (room[1], room[1], room[0], room[0])
    rgb: NDArray[Any] = cv2.copyMakeBorder(sprite.rgb, *sides, cv2.BORDER_REPLICATE).astype(np.float32)
    alpha: NDArray[Any] = cv2.copyMakeBorder(sprite.alpha, *sides, cv2.BORDER_CONSTANT, value=0)
    alpha = alpha.astype(np.float32) * np.float32(1 / 255)
    inside = alpha >= _HALF
    luma = luma_of(rgb)
    outlined = stage.light_behind + (luma - stage.light_behind) * alpha
    share = relief(alpha, light=stage.light) * alpha
    weighted: NDArray[Any] = cv2.merge([cv2.multiply(rgb, cv2.merge([share, share, share])), alpha])
    step = 1 if inside.size < 4096 else 3
    return Body(
        sprite=sprite,
        room=room,
        inside=inside,
        weighted=weighted,
        shade=shadow(alpha, light=stage.light),
        tones=tones_of(rgb[::step, ::step][inside[::step, ::step]]),
        noise=noise_of(luma, inside),
        fineness=fineness_of(outlined),
    )


def _softened(body: Body, *, blur_px: float, speed_px: tuple[float, float]) -> SoftBody:
    luma = softened(body.weighted, sigma_px=blur_px, speed_px=speed_px)
    colour: NDArray[Any] = cv2.GaussianBlur(luma, (0, 0), _BLEED_PX, borderType=cv2.BORDER_CONSTANT)
    sharpened = cv2.addWeighted(luma, 1 + _SHARPENING, colour, -_SHARPENING, 0)
    return SoftBody(body, blur_px, speed_px, np.asarray(sharpened, np.float32), colour)


def _layer(soft: SoftBody, corner: tuple[int, int], *, stage: Backdrop, region: Window, crop: Window) -> Layer:
    body = soft.body
    around = stage.around(region, body.inside[crop])
    tone = np.zeros((3, 4), np.float32)  # of the four channels, alpha adds nothing
    tone[:, :3] = YCC @ tone_map(body.tones, around=around, camera=stage.camera, light=stage.light)
    luma, colour = soft.luma[crop], soft.colour[crop]
    cover, colour_cover = (np.ascontiguousarray(part[..., 3]) for part in (luma, colour))
    seen: NDArray[Any] = cv2.merge([cv2.transform(luma, tone[:1]), cv2.transform(colour, tone[1:])])
    body_noise = body.noise * math.exp(-2 * soft.blur_px)
    level = math.sqrt(max(0.0, (_NOISE_MORE * stage.camera.noise) ** 2 - body_noise**2)) + stage.grain
    if level > 0:
        noise = window(stage.noise, x=region[1].start, y=region[0].start, size=cover.shape)
        share = cover * np.float32(level)
        seen += cv2.multiply(noise, cv2.merge([share, share, share]))
    shade = body.shade[crop]
    left, colour_left = shade * (1 - cover), shade * (1 - colour_cover)
    keep: NDArray[Any] = cv2.merge([left, colour_left, colour_left])
    return Layer(soft, corner, region, keep, seen, cover >= _HALF)


def _windows(
    size: tuple[int, int], corner: tuple[int, int], frame: tuple[int, ...]
) -> tuple[Window, Window] | tuple[None, None]:
    """Where a window lies in the picture, and which part of it does; None where it lies outside."""
    low = [max(0, start) for start in corner[::-1]]
    high = [min(frame[axis], corner[1 - axis] + size[axis]) for axis in (0, 1)]
    if low[0] >= high[0] or low[1] >= high[1]:
        return None, None
    region = (slice(low[0], high[0]), slice(low[1], high[1]))
    y, x = corner[1], corner[0]
    return region, (slice(low[0] - y, high[0] - y), slice(low[1] - x, high[1] - x))


@dataclass(frozen=True, slots=True, eq=False)
class ComposedPicture:
    """A composed picture."""

    frame: Frame  # uint8 RGB (H, W, 3)
    visible: tuple[Mask, ...]  # what is seen of each thing, bool (H, W), in the order the things were given; disjoint
    whole: tuple[Mask, ...]  # what would be seen of each thing without the others


def put_together(stage: Backdrop, layers: Sequence[Layer | None]) -> ComposedPicture:
    """The picture of these layers, far to near; None is a thing outside the picture.

    A pixel belongs to the front-most thing that covers at least half of it.
    """
    frame = stage.canvas.copy()
    whole = tuple(_paint(frame, layer) for layer in layers)
    return ComposedPicture(frame, visible_of(whole), whole)


def visible_of(whole: Sequence[Mask]) -> tuple[Mask, ...]:
    """Take from every mask what the nearer ones cover; masks are far to near."""
    visible: list[Mask] = []
    nearer: Mask | None = None
    for mask in reversed(whole):
        visible.append(mask.copy() if nearer is None else np.greater(mask, nearer))
        nearer = mask if nearer is None else nearer | mask
    return tuple(reversed(visible))


def _paint(frame: NDArray[np.uint8], layer: Layer | None) -> Mask:
    """Lay one thing over what is there; gives its whole mask."""
    mask: Mask = np.zeros(frame.shape[:2], np.bool_)
    if layer is None:
        return mask
    behind: NDArray[Any] = cv2.transform(frame[layer.there].astype(np.float32), YCC)
    behind *= layer.keep
    behind += layer.seen
    rgb: NDArray[Any] = cv2.transform(behind, RGB)
    rgb += np.float32(0.5)
    np.maximum(rgb, 0, out=rgb)
    frame[layer.there] = np.minimum(rgb, 255, out=rgb)
    mask[layer.there] = layer.mask
    return mask


_MARGIN_PX: Final = 3


def derived(master: Sprite, *, scale: float, turn_deg: float) -> Sprite:
    """Bring a sprite to another size and turn about its middle."""
    both: NDArray[Any] = cv2.merge([master.rgb, master.alpha])
    if scale < 1:
        sides = [max(1, round(side * scale)) for side in both.shape[1::-1]]
        both = cv2.resize(both, sides, interpolation=cv2.INTER_AREA)
    if turn_deg:
        both = _turned(both, turn_deg)
    alpha = np.ascontiguousarray(both[..., 3])
    return Sprite(np.ascontiguousarray(both[..., :3]), with_a_pixel(alpha))


def _turned(both: NDArray[Any], turn_deg: float) -> NDArray[Any]:
    angle = math.radians(turn_deg)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    half = np.array(both.shape[1::-1]) / 2
    reach = np.abs(np.array([half, half * (1, -1)]) @ turn.T).max(axis=0)
    width, height = (2 * (math.ceil(side - _MARGIN_PX) + _MARGIN_PX) for side in reach)
    # OpenCV's pixel centres lie on whole numbers, ours on halves.
    shift = np.array((width, height)) / 2 - 0.5 - turn @ (half - 0.5)
    matrix = np.column_stack([turn, shift])
    alpha = cv2.warpAffine(both[..., 3], matrix, (width, height))
    rgb = cv2.warpAffine(both[..., :3], matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(cv2.merge([rgb, alpha]))
