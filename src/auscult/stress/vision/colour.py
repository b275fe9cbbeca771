"""Light and colour: brightness, contrast and saturation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata

Plane: TypeAlias = NDArray[np.uint8]
Planes: TypeAlias = tuple[Plane, Plane, Plane]

_AT_ONCE: Final = 30_000


def by_planes(frame: Frame, change: Callable[[Planes], Planes]) -> Frame:
    """Change every pixel of a uint8 RGB (H, W, 3), C-contiguous, by itself; a new frame.

    ``change`` gets red, green and blue of some pixels, each uint8 (1, n), which it may overwrite, and gives new ones.
    """
    output = np.empty_like(frame)
    pixels, changed = frame.reshape(1, -1, 3), output.reshape(1, -1, 3)
    room = [np.empty((1, min(_AT_ONCE, pixels.shape[1])), dtype=np.uint8) for _ in range(3)]
    for start in range(0, pixels.shape[1], _AT_ONCE):
        chunk = pixels[:, start : start + _AT_ONCE]
        red, green, blue = (plane[:, : chunk.shape[1]] for plane in room)
        cv2.split(chunk, [red, green, blue])
        cv2.merge(change((red, green, blue)), changed[:, start : start + _AT_ONCE])
    return output


def greatest(planes: Planes) -> Plane:
    """The greatest of red, green and blue, which is HSV's value."""
    red, green, blue = planes
    return np.maximum(np.maximum(red, green), blue)


def least(planes: Planes) -> Plane:
    """The least of red, green and blue."""
    red, green, blue = planes
    return np.minimum(np.minimum(red, green), blue)


_UP: Final = 1 + 2.0**-21  # so that a product that should be a whole number does not fall just below it


class Brightness(Fixed):
    """Brightness: too much light, or too long an exposure.

    Source: R2-Bench, Table 1, environment noise of vision; constants of ImageNet-C.

    The release goes to HSV, adds to the value and comes back. Hue and saturation are kept exactly when red, green and
    blue are multiplied by new value / old value, so that is what happens here; black has no hue and becomes grey.
    """

    name = "vision.brightness.v1"
    added = Constant("added to the value", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), unit="1 = white")
    meta = Metadata(
        summary="adds to the value of every pixel in HSV, up to white",
        goal="glare and long exposure: bright surfaces lose their relief and their differences",
        modality="image",
        source="R2-Bench, Table 1 (environment); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="environment",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame with more light; the fraction dropped as the release does."""
        del index
        added = self.added.at(params.strength)
        old = np.arange(256.0)
        old[0] = 1.0  # black is lifted to 1 below
        new = np.minimum(np.arange(256.0) + 255.0 * added, 255.0)
        factors = (new / old * _UP).astype(np.float32)

        def lighter(planes: Planes) -> Planes:
            value = greatest(planes)
            black = (value == 0).view(np.uint8)
            factor = cv2.LUT(value, factors)

            def times(plane: Plane) -> Plane:
                np.bitwise_or(plane, black, out=plane)
                return np.multiply(plane, factor, dtype=np.float32).astype(np.uint8)

            red, green, blue = planes
            return times(red), times(green), times(blue)

        return by_planes(frame, lighter)


BRIGHTNESS: VisionStressor[NoDraws] = Brightness()


_DOWN: Final = -0.5 + 2.0**-10  # rounding then drops the fraction, and keeps what should be a whole number


class Contrast(Fixed):
    """Contrast: a flat picture, as through haze, a dirty lens or a sensor at its limit.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C.
    """

    name = "vision.contrast.v1"
    kept = Constant("contrast kept", (1.0, 0.4, 0.3, 0.2, 0.1, 0.05))
    meta = Metadata(
        summary="pulls red, green and blue towards their means over the frame",
        goal="a flat picture: edges become too faint to follow",
        modality="image",
        source="R2-Bench, Table 1 (sensor); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame with less contrast; the fraction dropped as the release does."""
        del index
        kept = self.kept.at(params.strength)
        means = np.array(cv2.mean(frame)[:3])
        matrix = np.column_stack([kept * np.eye(3), (1.0 - kept) * means + _DOWN])
        return np.asarray(cv2.transform(frame, matrix), dtype=np.uint8)


CONTRAST: VisionStressor[NoDraws] = Contrast()


_UP_BY: Final = np.float32(2.0**-10)  # so that what should be a whole number does not fall just below it


class Saturate(Fixed):
    """Saturation: the colours of a sensor, or of its processing, gone pale or garish.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C.

    Levels 1 and 2 take colour away, levels 3 to 5 add it. Strengths between 2 and 3 pass from one to the other, and so
    through a saturation times 1 that changes nothing, near strength 2.47; strengths below 1 fade colour out from full.

    The release goes to HSV and back. Here the distance of red, green and blue from the greatest of them is multiplied
    by new saturation / old saturation, which keeps value and hue exactly. A grey pixel has no hue; where colour is
    added to it (from strength 3 on), it counts as red, as in the release.
    """

    name = "vision.saturate.v1"
    scale = Constant(
        "saturation times",
        (1.0, 0.3, 0.1, 2.0, 5.0, 20.0),
        exception="levels 1 and 2 take colour away (below 1), levels 3 to 5 add it (above 1)",
    )
    added = Constant("and plus", (0.0, 0.0, 0.0, 0.0, 0.1, 0.2))
    meta = Metadata(
        summary="fades colours at levels 1 and 2, exaggerates them at levels 3 to 5",
        goal="wrong colours: what is referred to by its colour is confused with something else",
        modality="image",
        source="R2-Bench, Table 1 (sensor); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame with other saturation; the fraction dropped as the release does."""
        del index
        scale, added = np.float32(self.scale.at(params.strength)), np.float32(self.added.at(params.strength))

        def recoloured(planes: Planes) -> Planes:
            high = greatest(planes)
            spread = np.subtract(high, least(planes))
            grey = (spread == 0).view(np.uint8)
            factor = _factor(high, spread, scale=scale, added=added)
            top = np.add(high, _UP_BY, dtype=np.float32)

            def coloured(below: Plane) -> Plane:
                return np.subtract(top, np.multiply(below, factor, dtype=np.float32)).astype(np.uint8)

            red, green, blue = (np.subtract(high, plane) for plane in planes)
            return coloured(red), coloured(np.bitwise_or(green, grey)), coloured(np.bitwise_or(blue, grey))

        return by_planes(frame, recoloured)


def _factor(high: Plane, spread: Plane, *, scale: np.float32, added: np.float32) -> NDArray[np.float32]:
    """New saturation / old saturation; of grey, what is taken from green and blue.

    The saturation is spread / high, 0..1, and becomes scale * saturation + added, at most 1.
    """
    factor = np.multiply(spread, scale, dtype=np.float32)
    if added:
        factor += np.multiply(high, added, dtype=np.float32)
    np.minimum(factor, high, out=factor)
    np.divide(factor, np.maximum(spread, 1), out=factor)
    return factor


SATURATE: VisionStressor[NoDraws] = Saturate()
