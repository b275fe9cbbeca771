"""Elastic transform: the picture is sheared and crumpled, as behind hot air or on a rolling shutter.

Source: R2-Bench's toolbox, 19th type; constants of ImageNet-C, whose formula moves three corners of a picture of
512 x 512 at random, then every pixel by a field of blurred uniform noise. Levels 1 and 2 shear the whole picture and
bend it in large waves; levels 3 to 5 leave it in place and crumple it more and more finely.

Chosen differently: the release scales every frame to 512 x 512, warps it twice and scales it back, and so also blurs
it. Here the maps are joined and the frame is sampled once, at its own size, so that the damage is the warp's alone and
masks follow the same map. Corners that would fold the picture are drawn anew. In a clip the field stands still.

Beyond its old edges the picture is mirrored, as in the release. Masks leave those mirror images out: the object that a
sentence refers to is there once.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import cv2
import numpy as np

from auscult.errors import UsageError
from auscult.stress.strength import Rows, between
from auscult.stress.vision.base import Seeded, SeedParams, VisionStressor
from auscult.stress.vision.digital_warp import Bend, maps
from auscult.types import Frame, Mask, Metadata

MOST_PIXELS: Final = 32_766
"""Greatest height and width that OpenCV's remapping takes."""

_DECLARED: Final[Mapping[int, str]] = MappingProxyType(
    {
        0: "the height goes with the blur: great at levels 1 and 2, which blur it away, and growing from 3 to 5",
        2: "corners move far at levels 1 and 2, and little at levels 3 to 5",
    }
)


class ElasticTransform(Seeded):
    """Shears a frame by its corners and bends it by a smooth random field."""

    name = "vision.elastic_transform.v1"
    # Height of the field, its blur, shift of the corners: shares of the picture's sides.
    levels: Rows = (
        (0.0, 0.7, 0.0),
        (2.0, 0.7, 0.1),
        (2.0, 0.08, 0.2),
        (0.05, 0.01, 0.02),
        (0.07, 0.01, 0.02),
        (0.12, 0.01, 0.02),
    )
    declared = _DECLARED
    meta = Metadata(
        summary="shears at levels 1 and 2, crumples at levels 3 to 5",
        goal="bent outlines: shape and place of an object are no longer what was learnt",
        modality="image",
        source="R2-Bench toolbox; constants of ImageNet-C",
        truth="masks and boxes follow the pixels; mirror images beyond the old edges belong to none",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame, bent; linear between pixels, mirrored beyond the edges.

        Raises:
            UsageError: The frame is too large.
        """
        del index
        return self._bent(frame, params, sampling=cv2.INTER_LINEAR, beyond=cv2.BORDER_REFLECT_101)

    def move(self, mask: Mask, params: SeedParams, *, index: int = 0) -> Mask:
        """The mask, bent as the frame is, each pixel from the nearest; a mirror image is not the object."""
        del index
        moved = self._bent(mask.view(np.uint8), params, sampling=cv2.INTER_NEAREST, beyond=cv2.BORDER_CONSTANT)
        return moved.view(np.bool_)

    def _bent(self, picture: Frame, params: SeedParams, *, sampling: int, beyond: int) -> Frame:
        if max(picture.shape) > MOST_PIXELS:
            raise UsageError(f"a frame of {picture.shape[0]} x {picture.shape[1]}", expected=f"up to {MOST_PIXELS}")
        height, blur, corners = between(self.levels, params.strength)
        bend = Bend(height=height, blur=blur, corners=corners)
        made = np.empty_like(picture)
        for rows, x, y in maps(params.seed, bend, picture.shape[:2], most=max(row[2] for row in self.levels)):
            made[rows] = cv2.remap(picture, x, y, sampling, borderMode=beyond).reshape(made[rows].shape)
        return made


STRESSOR: VisionStressor[SeedParams] = ElasticTransform()
