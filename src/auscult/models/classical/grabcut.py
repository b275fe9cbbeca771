"""GrabCut from a box (Rother, Kolmogorov and Blake, SIGGRAPH 2004), as OpenCV implements it.

Its errors are those of a real segmenter: leaks along weak edges, lost thin parts, holes in objects of several colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.types import Box, Frame, Mask, Metadata

MAX_ITERATIONS = 50


@dataclass(frozen=True, slots=True)
class GrabCut:
    """Segments what a box encloses by colour models of inside and outside and a graph cut, in 1 to 50 rounds."""

    name: str = "classical.grabcut.v1"
    meta: Metadata = Metadata(
        summary="GrabCut from a box, as OpenCV implements it",
        goal="a real segmenter without weights, for demonstrations and tests",
        modality="mask",
        source="Rother, Kolmogorov and Blake, SIGGRAPH 2004",
    )
    iterations: int = 5

    def __call__(self, frame: Frame, box: Box) -> Mask:
        """Segment the object in a box, xyxy in pixels, half-open, inside the frame and smaller than it.

        The frame is uint8 RGB (H, W, 3), the mask bool (H, W); nothing outside the box is ever set.
        """
        height, width = frame.shape[:2]
        x0, y0, x1, y1 = box
        if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height) or not 1 <= self.iterations <= MAX_ITERATIONS:
            raise InputError(
                f"box {box} does not fit a frame of {height} x {width}",
                expected="0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height, half-open",
            )
        if (x1 - x0) * (y1 - y0) == height * width:
            raise InputError("the box covers the whole frame", expected="some background around it")
        labels = np.zeros((height, width), np.uint8)
        return graph_cut(frame, labels, rounds=self.iterations, box=(x0, y0, x1 - x0, y1 - y0))


def graph_cut(frame: Frame, labels: NDArray[np.uint8], *, rounds: int, box: Sequence[int] = ()) -> Mask:
    """What belongs to the object: of a box (x, y, width, height), else of ``labels``, which are written to."""
    cv2.setRNGSeed(0)  # its colour models start from k-means, which draws from OpenCV's own generator
    models = np.zeros((1, 65)), np.zeros((1, 65))
    begin = cv2.GC_INIT_WITH_RECT if box else cv2.GC_INIT_WITH_MASK
    cv2.grabCut(np.ascontiguousarray(frame[..., ::-1]), labels, box or (0, 0, 1, 1), *models, rounds, begin)
    return np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))


MODEL = GrabCut()
