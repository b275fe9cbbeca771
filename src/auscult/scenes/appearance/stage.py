"""What all things of a picture share: background, camera, light, noise, and the tones where a thing is put."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng as randomness
from auscult.scenes.appearance.colours import Light
from auscult.types import Floats, Frame, Mask

Pixels = NDArray[np.uint8]

_TILE_PX: Final = 96
_CELL_PX: Final = 16
_BRIGHTER: Final = 0.7
_FINENESS: Final = (0.005, 1.0)
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)
YCC: Final = np.array([_LUMA, [0.5, -0.418688, -0.081312], [-0.168736, -0.331264, 0.5]], np.float32)
"""RGB to luma and two colours, red and blue, that are 0 for grey (JPEG File Interchange Format 1.02)."""
RGB: Final = np.linalg.inv(YCC.astype(np.float64)).astype(np.float32)
"""The way back."""
# What a blur costs of the fineness, as a negative logarithm: measured on cut-outs at 110 pixels.
_BLURS: Final = (0.0, 0.4, 0.6, 0.8, 1.0, 1.3, 1.7)
_LOSSES: Final = (0.0, 0.21, 1.0, 1.68, 2.18, 2.81, 3.5)
_DETAIL: Final = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32) / 6


@dataclass(frozen=True, slots=True)
class Camera:
    """What the camera did to a photograph."""

    fineness: float  # of its detail, as `fineness_of`
    noise: float  # standard deviation of its noise in flat places, bytes
    mean: Floats  # mean colour, bytes (3,)


@dataclass(frozen=True, slots=True)
class Tones:
    """Tones of a region, bytes."""

    mean: Floats  # mean colour, (3,)
    light: float  # mean luma
    colour: float  # mean of largest minus smallest channel
    bright: float  # largest channel of its brighter places


def tones_of(pixels: NDArray[Any]) -> Tones:
    """Measure (n, 3) pixels; n may be 0, which is read as mid grey."""
    if len(pixels) == 0:
        return Tones(np.full(3, 128, np.float32), 128.0, 20.0, 128.0)
    red, green, blue = np.asarray(pixels.T, np.float32, order="C")
    luma = red * _LUMA[0] + green * _LUMA[1] + blue * _LUMA[2]
    value = np.maximum(np.maximum(red, green), blue)
    colour = float((value - np.minimum(np.minimum(red, green), blue)).mean())
    mean = np.array([red.mean(), green.mean(), blue.mean()], np.float32)
    brighter = int(_BRIGHTER * (len(value) - 1))
    return Tones(mean, float(luma.mean()), colour, float(np.partition(value, brighter)[brighter]))


def luma_of(pixels: NDArray[Any]) -> Floats:
    """Luma, float32 (H, W), of RGB pixels (H, W, 3)."""
    return np.asarray(cv2.transform(np.asarray(pixels, np.float32), _LUMA[None, :]), dtype=np.float32)


def camera_of(photograph: Pixels) -> Camera:
    """Measure a photograph on six tiles."""
    tiles = [luma_of(tile) for tile in _tiles(photograph)]
    cells = np.concatenate([fine_detail(tile) for tile in tiles])
    noise = float(np.percentile(cells, 20)) if cells.size else 1.0
    small = photograph[::8, ::8].reshape(-1, 3).astype(np.float32)
    return Camera(fineness_of(*tiles), noise, small.mean(axis=0))


def _tiles(photograph: Pixels) -> list[Pixels]:
    height, width = photograph.shape[:2]
    tiles = []
    for row in (0.25, 0.75):
        for column in (0.17, 0.5, 0.83):
            y, x = (max(0, int(share * side) - _TILE_PX // 2) for share, side in ((row, height), (column, width)))
            tiles.append(photograph[y : y + _TILE_PX, x : x + _TILE_PX])
    return tiles


@dataclass(frozen=True, slots=True, eq=False)
class Sharpness:
    """How sharp a photograph is from place to place."""

    fine: Floats  # mean size of its finest detail in each cell of 16 pixels, float32 (rows, columns)
    coarse: Floats  # mean gradient in each cell

    @classmethod
    def of(cls, photograph: Pixels) -> Sharpness:
        """Measure a photograph, uint8 RGB (H, W, 3); cells that are cut off at the right and bottom are left out."""
        luma = luma_of(photograph)
        rows, columns = luma.shape[0] // _CELL_PX, luma.shape[1] // _CELL_PX
        if rows == 0 or columns == 0:
            return cls(np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32))
        crop = (slice(0, rows * _CELL_PX), slice(0, columns * _CELL_PX))
        fine, coarse = (
            cv2.resize(field[crop], (columns, rows), interpolation=cv2.INTER_AREA)
            for field in (np.abs(cv2.filter2D(luma, -1, _DETAIL)), _gradient(luma))
        )
        return cls(np.asarray(fine, np.float32), np.asarray(coarse, np.float32))

    def around(self, region: tuple[slice, slice]) -> float | None:
        """Fineness of a region as ``fineness_of`` measures it, by whole cells; None in pictures without a cell."""
        if self.fine.size == 0:
            return None
        rows, columns = (
            slice(min(side.start // _CELL_PX, cells - 1), min(-(-side.stop // _CELL_PX), cells))
            for side, cells in zip(region, self.fine.shape, strict=True)
        )
        fine, coarse = float(self.fine[rows, columns].sum()), float(self.coarse[rows, columns].sum())
        return float(np.clip(fine / coarse, *_FINENESS)) if coarse > 0 else _FINENESS[0]


def fineness_of(*regions: Floats) -> float:
    """How much finest detail there is against coarser detail in lumas (H, W): a picture's sharpness, whatever it shows.

    Photographs of 640 pixels that were enlarged by a third have about 0.1, cut-outs that were made smaller 0.25.
    """
    fine = coarse = 0.0
    for region in regions:
        fine += float(cv2.norm(cv2.filter2D(region, -1, _DETAIL), cv2.NORM_L1))
        coarse += float(cv2.norm(_gradient(region), cv2.NORM_L1))
    return float(np.clip(fine / coarse, *_FINENESS)) if coarse > 0 else _FINENESS[0]


def blur_between(fineness: float, target: float) -> float:
    """The Gaussian blur that takes a region from one fineness to another, pixels; 0 where it is soft enough."""
    return float(np.interp(-math.log(min(target / fineness, 1.0)), _LOSSES, _BLURS))


def _gradient(luma: Floats) -> Floats:
    dx = cv2.Sobel(luma, cv2.CV_32F, 1, 0, scale=0.125)
    dy = cv2.Sobel(luma, cv2.CV_32F, 0, 1, scale=0.125)
    return np.asarray(np.sqrt(dx * dx + dy * dy), dtype=np.float32)  # cv2.magnitude varies with memory alignment


def fine_detail(luma: Floats) -> Floats:
    """Standard deviation of noise in each whole cell of 8 pixels, were all its fine detail noise (Immerkaer 1996)."""
    detail = np.abs(cv2.filter2D(luma, -1, _DETAIL))
    rows, columns = luma.shape[0] // 8, luma.shape[1] // 8
    if rows == 0 or columns == 0:
        return np.zeros(0, np.float32)
    cells = cv2.resize(detail[: rows * 8, : columns * 8], (columns, rows), interpolation=cv2.INTER_AREA)
    return np.asarray(cells.ravel() * np.float32(np.sqrt(np.pi / 2)), dtype=np.float32)


def noise_of(luma: Floats, inside: NDArray[np.bool_]) -> float:
    """Standard deviation of the noise in the flatter places of a thing, bytes; 0 where it is too small to tell."""
    cells = fine_detail(luma)
    if cells.size == 0:
        return 0.0
    rows, columns = luma.shape[0] // 8, luma.shape[1] // 8
    share = inside[: rows * 8, : columns * 8].astype(np.uint8)
    filled = cv2.resize(share * 255, (columns, rows), interpolation=cv2.INTER_AREA).ravel() == 255
    return float(np.percentile(cells[filled], 20)) if filled.any() else 0.0


SIDE_PX: Final = 128
_COLOUR: Final = np.float32(0.35)  # of the colour noise, against 1 of the luma noise


def tile(seed: int, *, blur_px: float) -> Floats:
    """A tile of noise that repeats without a seam, float32 (128, 128, 3); its fine detail is that of noise of 1."""
    rng = randomness.generator(seed, "grain")
    white: NDArray[Any] = rng.standard_normal((SIDE_PX, SIDE_PX, 4), dtype=np.float32)
    if blur_px > 0.2:
        border = 8
        wrapped = cv2.copyMakeBorder(white, border, border, border, border, cv2.BORDER_WRAP)
        white = cv2.GaussianBlur(wrapped, (0, 0), blur_px)[border:-border, border:-border]
    noise = white[..., 3:] + _COLOUR * white[..., :3]
    return np.asarray(noise / max(float(fine_detail(luma_of(noise)).mean()), 1e-6), dtype=np.float32)


def window(noise: Floats, *, x: int, y: int, size: tuple[int, ...]) -> Floats:
    """The part of tiles side by side, endlessly repeated downwards, that lies at a place, float32 (h, w, 3)."""
    return np.asarray(noise[:, x : x + size[1]][np.arange(y, y + size[0]) % SIDE_PX], dtype=np.float32)


Window = tuple[slice, slice]

_GRAIN_PX: Final = 0.5
_FOCUS: Final = (0.2, 1.6)  # least and most of local over overall sharpness
_FOCUS_WAY: Final = 0.6  # how far a thing goes along with it
_SOFTER: Final = 0.6  # a thing with its outline against a photograph, which is full of fine texture
_FOCUS_PX: Final = 80  # half the side of the region that local sharpness is measured on


@dataclass(frozen=True, slots=True, eq=False)
class Backdrop:
    """A background that is ready to have things put into it."""

    background: Frame  # uint8 RGB (H, W, 3)
    canvas: Frame  # the same with the grain of the scene's camera
    camera: Camera  # what was measured on the background
    light: Light  # the scene's
    light_behind: np.float32  # mean luma of the background, bytes
    # noise of 1 as luma and two colours, float32; a tile that repeats downwards, as wide as the background
    noise: NDArray[np.float32]
    grain: float  # standard deviation of the grain of the whole picture, bytes
    sharpness: Sharpness  # of each place of the background

    @classmethod
    def of(cls, background: Frame, *, light: Light) -> Backdrop:
        """Measure a background."""
        noise = tile(light.grain_seed, blur_px=_GRAIN_PX)
        camera = camera_of(background)
        level = light.grain * 255
        tiles = math.ceil(background.shape[1] / SIDE_PX)
        return cls(
            background=background,
            canvas=_grained(background, noise, level=level),
            camera=camera,
            light=light,
            light_behind=np.float32(camera.mean @ YCC[0]),
            noise=np.tile(np.asarray(cv2.transform(noise, YCC), np.float32), (1, tiles, 1)),
            grain=level,
            sharpness=Sharpness.of(background),
        )

    def fineness(self, region: Window) -> float:
        """How sharp a thing is here: as the photograph, softer where it is out of focus."""
        rows, columns = (_middle(side) for side in region)
        local, overall = self.sharpness.around((rows, columns)), self.camera.fineness
        if local is None:
            return _SOFTER * overall
        return float(_SOFTER * overall * np.clip(local / overall, *_FOCUS) ** _FOCUS_WAY)

    def around(self, region: Window, inside: Mask) -> Tones:
        """Tones of the background round a thing, on every third pixel each way."""
        pixels = self.background[region][::3, ::3]
        outside = pixels[~inside[::3, ::3]]
        return tones_of(outside if len(outside) >= 16 else pixels.reshape(-1, 3))


def _grained(background: Frame, noise: NDArray[np.float32], *, level: float) -> Frame:
    """What the camera adds to the whole picture."""
    if level <= 0:
        return background
    height, width = background.shape[:2]
    grain = np.rint(noise * np.float32(level)).astype(np.int16)
    times = (math.ceil(height / SIDE_PX), math.ceil(width / SIDE_PX), 1)
    return np.asarray(cv2.add(background, np.tile(grain, times)[:height, :width], dtype=cv2.CV_8U), dtype=np.uint8)


def _middle(side: slice) -> slice:
    centre = (side.start + side.stop) // 2
    return slice(max(side.start, centre - _FOCUS_PX), min(side.stop, centre + _FOCUS_PX))
