"""What all things of a picture share: background, camera, light, noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance import grain
from auscult.cases.scenes.appearance.light import Light
from auscult.cases.scenes.appearance.surroundings import Camera, Tones, camera_of, fineness_of, luma_of, tones_of
from auscult.types import Frame, Mask

Window = tuple[slice, slice]

_GRAIN_PX: Final = 0.5
_FOCUS: Final = (0.2, 1.6)  # least and most of local over overall sharpness
_FOCUS_WAY: Final = 0.6  # how far a thing goes along with it
_FOCUS_PX: Final = 80  # half the side of the region that local sharpness is measured on


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A background that is ready to have things put into it.

    Attributes:
        background: uint8 RGB (H, W, 3).
        camera: What was measured on it.
        light: The scene's.
        noise: A tile of noise of 1, float32.
        finish: The grain of the whole picture, int16 (H, W, 3); None without.
    """

    background: Frame
    camera: Camera
    light: Light
    noise: NDArray[np.float32]
    finish: NDArray[np.int16] | None

    @classmethod
    def of(cls, background: Frame, *, light: Light) -> Stage:
        """Measure a background."""
        noise = grain.tile(light.grain_seed, blur_px=_GRAIN_PX)
        finish = None
        if light.grain > 0:
            whole = np.rint(noise * np.float32(light.grain * 255)).astype(np.int16)
            height, width = background.shape[:2]
            times = (math.ceil(height / grain.SIDE_PX), math.ceil(width / grain.SIDE_PX), 1)
            finish = np.tile(whole, times)[:height, :width]
        return cls(background, camera_of(background), light, noise, finish)

    def fineness(self, there: Window) -> float:
        """How sharp a thing is here: as the photograph, softer where it is out of focus."""
        rows, columns = (_middle(side) for side in there)
        local, overall = fineness_of(luma_of(self.background[rows, columns])), self.camera.fineness
        return float(overall * np.clip(local / overall, *_FOCUS) ** _FOCUS_WAY)

    def around(self, there: Window, inside: Mask) -> Tones:
        """Tones of the background round a thing, on every third pixel each way."""
        near = self.background[there][::3, ::3]
        outside = near[~inside[::3, ::3]]
        return tones_of(outside if len(outside) >= 16 else near.reshape(-1, 3))

    def finished(self, frame: NDArray[np.uint8]) -> Frame:
        """What the camera adds to the whole picture: grain."""
        if self.finish is None:
            return frame
        return np.asarray(cv2.add(frame, self.finish, dtype=cv2.CV_8U), dtype=np.uint8)


def _middle(side: slice) -> slice:
    centre = (side.start + side.stop) // 2
    return slice(max(side.start, centre - _FOCUS_PX), min(side.stop, centre + _FOCUS_PX))
