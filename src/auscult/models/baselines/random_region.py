"""Some region that looks like one, anywhere: what chance scores where answers follow the edges of the picture.

The first frame is flooded from ``REGIONS`` points drawn at random, so that it falls into as many connected regions, a
tenth of the frame each on average, whose outlines lie on edges of the picture where there are any. The one that holds
another random point is the answer, in every frame at the same place.

What is drawn depends on the pixels and the shape of the clip's first frame alone: the same in any process, another
region for any other picture, and for the same picture with noise on it. So its score under a perturbation is another
draw, not the clean one made worse.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng
from auscult.models.baselines.still import Still
from auscult.record.digest import digest_bytes
from auscult.types import Frame, Mask, Metadata

REGIONS: Final = 10
_SIDE_PX: Final = 240  # the picture's longer side as it is flooded
_SEED: Final = 0  # a model has no seed of the run: the same frames, the same answer


def some_region(frame: Frame) -> Mask:
    """One region of a random partition.

    Args:
        frame: uint8 RGB (H, W, 3), at least one pixel.

    Returns:
        bool (H, W), connected where the frame is not enlarged from fewer pixels, never empty.
    """
    height, width = frame.shape[:2]
    scale = min(1.0, _SIDE_PX / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    generator = rng.generator(_SEED, "RandomRegion", height, width, digest_bytes(frame.tobytes()))
    labels = _partition(small, generator)
    chosen = labels == generator.choice(labels[labels > 0])
    whole = cv2.resize(chosen.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    mask: Mask = np.asarray(whole) > 0
    return mask


def _partition(small: Frame, generator: np.random.Generator) -> NDArray[np.int32]:
    """Labels 1..n of the regions, at most ``REGIONS``; -1 on the lines between them."""
    height, width = small.shape[:2]
    points = generator.permutation(height * width)[:REGIONS]
    markers = np.zeros(height * width, np.int32)
    markers[points] = np.arange(1, points.size + 1)
    # OpenCV makes the picture's outermost pixels dividing lines, markers or not: these lie beyond the picture.
    flooded = np.pad(markers.reshape(height, width), 1)
    cv2.watershed(np.pad(small, ((1, 1), (1, 1), (0, 0)), mode="edge"), flooded)
    return flooded[1:-1, 1:-1]


MODEL = Still(
    name="baseline.random_region.v1",
    meta=Metadata(
        summary="baseline: one region of a random partition of the first frame, moved nowhere",
        goal="the score of chance, for answers that follow the picture's edges",
        modality="video",
        source="flooding from random points, after Meyer, ICIP 1992",
    ),
    mask_of=some_region,
)
