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
from auscult.cases.scenes.appearance.surroundings import YCC, Camera, Sharpness, Tones, camera_of, tones_of
from auscult.types import Frame, Mask

Window = tuple[slice, slice]

_GRAIN_PX: Final = 0.5
_FOCUS: Final = (0.2, 1.6)  # least and most of local over overall sharpness
_FOCUS_WAY: Final = 0.6  # how far a thing goes along with it
_SOFTER: Final = 0.6  # a thing with its outline against a photograph, which is full of fine texture
_FOCUS_PX: Final = 80  # half the side of the region that local sharpness is measured on


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A background that is ready to have things put into it.

    Attributes:
        background: uint8 RGB (H, W, 3).
        canvas: The same with the grain of the scene's camera.
        camera: What was measured on the background.
        light: The scene's.
        light_behind: Mean luma of the background, bytes.
        noise: Noise of 1 as luma and two colours, float32; a tile that repeats downwards, as wide as the background.
        grain: Standard deviation of the grain of the whole picture, bytes.
        sharpness: Of each place of the background.
    """

    background: Frame
    canvas: Frame
    camera: Camera
    light: Light
    light_behind: np.float32
    noise: NDArray[np.float32]
    grain: float
    sharpness: Sharpness

    @classmethod
    def of(cls, background: Frame, *, light: Light) -> Stage:
        """Measure a background."""
        noise = grain.tile(light.grain_seed, blur_px=_GRAIN_PX)
        camera = camera_of(background)
        level = light.grain * 255
        return cls(
            background=background,
            canvas=_grained(background, noise, level=level),
            camera=camera,
            light=light,
            light_behind=np.float32(camera.mean @ YCC[0]),
            noise=grain.widened(np.asarray(cv2.transform(noise, YCC), np.float32), width=background.shape[1]),
            grain=level,
            sharpness=Sharpness.of(background),
        )

    def fineness(self, there: Window) -> float:
        """How sharp a thing is here: as the photograph, softer where it is out of focus."""
        rows, columns = (_middle(side) for side in there)
        local, overall = self.sharpness.around((rows, columns)), self.camera.fineness
        if local is None:
            return _SOFTER * overall
        return float(_SOFTER * overall * np.clip(local / overall, *_FOCUS) ** _FOCUS_WAY)

    def around(self, there: Window, inside: Mask) -> Tones:
        """Tones of the background round a thing, on every third pixel each way."""
        near = self.background[there][::3, ::3]
        outside = near[~inside[::3, ::3]]
        return tones_of(outside if len(outside) >= 16 else near.reshape(-1, 3))


def _grained(background: Frame, noise: NDArray[np.float32], *, level: float) -> Frame:
    """What the camera adds to the whole picture."""
    if level <= 0:
        return background
    height, width = background.shape[:2]
    whole = np.rint(noise * np.float32(level)).astype(np.int16)
    times = (math.ceil(height / grain.SIDE_PX), math.ceil(width / grain.SIDE_PX), 1)
    return np.asarray(cv2.add(background, np.tile(whole, times)[:height, :width], dtype=cv2.CV_8U), dtype=np.uint8)


def _middle(side: slice) -> slice:
    centre = (side.start + side.stop) // 2
    return slice(max(side.start, centre - _FOCUS_PX), min(side.stop, centre + _FOCUS_PX))
