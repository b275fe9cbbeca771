"""Saturation: the colours of a sensor, or of its processing, gone pale or garish.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C.

Levels 1 and 2 take colour away, levels 3 to 5 add it. Strengths between 2 and 3 pass from one to the other, and so
through a saturation times 1 that changes nothing, near strength 2.47; strengths below 1 fade colour out from full.

The release goes to HSV and back. Here the distance of red, green and blue from the greatest of them is multiplied by
new saturation / old saturation, which keeps value and hue exactly. A grey pixel has no hue; where colour is added to
it (from strength 3 on), it counts as red, as in the release.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.stress.vision.digital_planes import Plane, Planes, by_planes, greatest, least
from auscult.types import Frame, Metadata

_UP: Final = np.float32(2.0**-10)  # so that what should be a whole number does not fall just below it


class Saturate(Fixed):
    """Multiplies the saturation of every pixel in HSV and adds to it."""

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
            top = np.add(high, _UP, dtype=np.float32)

            def coloured(below: Plane) -> Plane:
                return np.subtract(top, np.multiply(below, factor, dtype=np.float32)).astype(np.uint8)

            red, green, blue = (np.subtract(high, plane) for plane in planes)
            return coloured(red), coloured(np.bitwise_or(green, grey)), coloured(np.bitwise_or(blue, grey))

        return by_planes(frame, recoloured)


def _factor(high: Plane, spread: Plane, *, scale: np.float32, added: np.float32) -> NDArray[np.float32]:
    """New saturation / old saturation; of grey, what is taken from green and blue.

    The saturation is spread / high, 0..1, and becomes scale * saturation + added, at most 1.
    """
    found = np.multiply(spread, scale, dtype=np.float32)
    if added:
        found += np.multiply(high, added, dtype=np.float32)
    np.minimum(found, high, out=found)
    np.divide(found, np.maximum(spread, 1), out=found)
    return found


STRESSOR: VisionStressor[NoDraws] = Saturate()
