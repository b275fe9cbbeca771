"""One picture from a background and things, far to near, with exact masks.

Every thing passes through the light of the scene and the camera of the background: tones, shade, blur of lens and
shutter, noise. Colours and alpha are blurred together, so that the edge is that of a thing seen by the camera and the
mask follows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance.layers import Layer, lay
from auscult.cases.scenes.appearance.light import Light
from auscult.cases.scenes.appearance.sprite import Placed
from auscult.cases.scenes.appearance.stage import Stage
from auscult.cases.scenes.appearance.surroundings import RGB, YCC
from auscult.types import Frame, Mask


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
    return put_together(stage, [lay(thing, stage) for thing in placed])


def put_together(stage: Stage, layers: Sequence[Layer | None]) -> Picture:
    """The picture of these layers, far to near; None is a thing outside the picture."""
    frame = stage.canvas.copy()
    whole = tuple(_over(frame, layer) for layer in layers)
    return Picture(frame, visible_of(whole), whole)


def visible_of(whole: Sequence[Mask]) -> tuple[Mask, ...]:
    """Take from every mask what the nearer ones cover; masks are far to near."""
    visible: list[Mask] = []
    nearer: Mask | None = None
    for mask in reversed(whole):
        visible.append(mask.copy() if nearer is None else np.greater(mask, nearer))
        nearer = mask if nearer is None else nearer | mask
    return tuple(reversed(visible))


def _over(frame: NDArray[np.uint8], layer: Layer | None) -> Mask:
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
