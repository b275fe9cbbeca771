"""Zoom blur: the camera came nearer, or its lens zoomed, while the shutter was open.

Source: R2-Bench's toolbox, 17th type; constants of ImageNet-C: the mean of the picture, and of its centre enlarged by
1, 1 + step, 1 + 2 step ... The release names an end that the steps may miss: 1.11 is reached, 1.16, 1.21, 1.26 and 1.31
are not. ``levels`` holds the last factor's excess over 1; between levels the last enlargement counts for a part.
Enlarging puts the middles of pixels on each other, where the release puts the middles of the corners: less than 0.12 px
apart.

What is seen of an object lies about its place in the mean enlargement, 1.05 at level 1 to 1.14 at level 5, where masks
and boxes go. The release leaves them where they were: off the centre, little of such a mask is on the object.
"""

from __future__ import annotations

import math

import cv2
import numpy as np

from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Mask, Metadata

_DROP = -0.498  # turns rounding into dropping the fraction, and leaves whole numbers what they are


class ZoomBlur(Fixed):
    """Mixes the picture with enlargements of its centre."""

    name = "vision.zoom_blur.v1"
    most = Constant("greatest enlargement", (0.0, 0.11, 0.15, 0.2, 0.24, 0.3), unit="over 1")
    step = Constant("step", (0.01, 0.01, 0.01, 0.02, 0.02, 0.03))
    meta = Metadata(
        summary="mixes the picture with enlargements of its centre",
        goal="a camera that comes nearer while the shutter is open: what is far from the centre is drawn out",
        modality="image",
        source="R2-Bench toolbox; constants of ImageNet-C",
        truth="masks and boxes follow the mean enlargement; what leaves the frame is in none",
        origin="sensor",
    )

    def move(self, mask: Mask, params: NoDraws, *, index: int = 0) -> Mask:
        """The mask where the object is in the mean of all enlargements."""
        del index
        most, step = self.most.at(params.strength), self.step.at(params.strength)
        steps = round(most / step, 6)
        whole, part = int(steps), steps % 1.0
        # the sum of the excesses over 1, of which the picture itself, twice there, has none
        excess = step * (whole * (whole + 1) / 2 + part * (whole + 1)) / (steps + 2.0)
        return np.asarray(enlarged(mask.view(np.uint8) * np.uint8(255), 1.0 + excess) >= 128)

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame, zoomed while exposed; its fraction dropped."""
        del index
        most, step = self.most.at(params.strength), self.step.at(params.strength)
        steps = round(most / step, 6)  # level 3 makes 10 of them, whatever 0.2 / 0.02 is
        whole, part = int(steps), steps % 1.0
        total = cv2.add(frame, frame, dtype=cv2.CV_16U)
        for at in range(1, whole + 1):
            cv2.add(total, enlarged(frame, 1.0 + at * step), dst=total, dtype=cv2.CV_16U)
        if part == 0.0:
            return np.floor_divide(total, np.uint16(whole + 2)).astype(np.uint8)
        last = enlarged(frame, 1.0 + (whole + 1) * step).astype(np.uint16)
        mixed = cv2.addWeighted(total, 1.0 / (steps + 2.0), last, part / (steps + 2.0), _DROP, dtype=cv2.CV_8U)
        return np.asarray(mixed, dtype=np.uint8)


def enlarged(frame: Frame, factor: float) -> Frame:
    """The centre of a frame, uint8 (H, W, 3) or (H, W), enlarged to the frame's size; the factor is above 1."""
    height, width = frame.shape[:2]
    tall, wide = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - tall) // 2, (width - wide) // 2
    size = round(wide * factor), round(tall * factor)
    output = cv2.resize(frame[top : top + tall, left : left + wide], size, interpolation=cv2.INTER_LINEAR)
    return np.asarray(output[:height, :width], dtype=np.uint8)


STRESSOR: VisionStressor[NoDraws] = ZoomBlur()
