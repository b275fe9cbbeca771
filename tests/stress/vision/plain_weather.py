"""ImageNet-C's weather written out plainly from its formulas, in double precision, to compare with."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np

from auscult.stress.vision.weather import texture

FOG = ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))
FROST = ((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))
SNOW = (
    (0.1, 0.3, 3.0, 0.5, 10, 4, 0.8),
    (0.2, 0.3, 2.0, 0.5, 12, 4, 0.7),
    (0.55, 0.3, 4.0, 0.9, 12, 8, 0.7),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
)
SPATTER = (
    (0.65, 0.3, 4.0, 0.69, 0.6, 0),
    (0.65, 0.3, 3.0, 0.68, 0.6, 0),
    (0.65, 0.3, 2.0, 0.68, 0.5, 0),
    (0.65, 0.3, 1.0, 0.65, 1.5, 1),
    (0.67, 0.4, 1.0, 0.65, 1.5, 1),
)


def plasma(rng: np.random.Generator, size: int, *, decay: float) -> Any:
    """A diamond-square map on a torus, point by point, 0..1."""
    heights = np.zeros((size, size))
    step, amplitude = size, 1.0
    while step >= 2:
        half_step = step // 2
        for y in range(0, size, step):
            for x in range(0, size, step):
                corners = [heights[(y + dy) % size, (x + dx) % size] for dy in (0, step) for dx in (0, step)]
                heights[y + half_step, x + half_step] = np.mean(corners) + amplitude * rng.uniform(-1, 1)
        for y in range(0, size, half_step):
            for x in range((y // half_step + 1) % 2 * half_step, size, step):
                around = [
                    heights[(y + dy) % size, (x + dx) % size]
                    for dy, dx in ((-half_step, 0), (half_step, 0), (0, -half_step), (0, half_step))
                ]
                heights[y, x] = np.mean(around) + amplitude * rng.uniform(-1, 1)
        step, amplitude = half_step, amplitude / decay**2
    heights -= heights.min()
    return heights / heights.max()


def fog(rng: np.random.Generator, picture: Any, level: int) -> Any:
    """The fog of a level, with a map of its own."""
    density, decay = FOG[level - 1]
    height, width = picture.shape[:2]
    side = 2 ** math.ceil(math.log2(max(height, width)))
    return veiled(picture, plasma(rng, side, decay=decay)[:height, :width], density=density)


def veiled(picture: Any, fractal: Any, *, density: float) -> Any:
    """A picture in fog."""
    values = picture / 255.0
    brightest = values.max()
    veiled_values = (values + density * fractal[..., np.newaxis]) * brightest / (brightest + density)
    return (np.clip(veiled_values, 0, 1) * 255).astype(np.uint8)


def frost(rng: np.random.Generator, picture: Any, level: int) -> Any:
    """The frost of a level, a random piece of a texture."""
    kept_share, ice_share = FROST[level - 1]
    ice = texture(int(rng.integers(6)))
    top, left_px = (int(rng.integers(ice.shape[axis] - picture.shape[axis])) for axis in (0, 1))
    piece = ice[top : top + picture.shape[0], left_px : left_px + picture.shape[1]]
    return np.clip(kept_share * picture.astype(float) + ice_share * piece, 0, 255).astype(np.uint8)


def snow(rng: np.random.Generator, picture: Any, level: int) -> Any:
    """The snow of a level."""
    mean, deviation, zoom, threshold, radius, spread, kept_share = SNOW[level - 1]
    height, width = picture.shape[:2]
    cells = rng.normal(mean, deviation, (math.ceil(height / zoom), math.ceil(width / zoom)))
    layer = _zoomed(cells, *(round(count * zoom) for count in cells.shape))[:height, :width]
    layer = np.clip(np.where(layer < threshold, 0, layer), 0, 1)
    layer = drawn_out(layer, radius=int(radius), spread=spread, angle_deg=rng.uniform(-135, -45))
    return whitened(picture, np.round(layer * 255) / 255, kept_share=kept_share)


def whitened(picture: Any, layer: Any, *, kept_share: float) -> Any:
    """A picture in a snow layer of 0..1 and the same turned by half."""
    values = picture / 255.0
    grey = values @ [0.299, 0.587, 0.114]
    whitened_values = kept_share * values + (1 - kept_share) * np.maximum(values, grey[..., np.newaxis] * 1.5 + 0.5)
    flakes = layer + np.rot90(layer, 2)
    return (np.clip(whitened_values + flakes[..., np.newaxis], 0, 1) * 255).astype(np.uint8)


def drawn_out(layer: Any, *, radius: int, spread: float, angle_deg: float) -> Any:
    """The one-sided blur along a direction, tap by tap; what comes in over the edge repeats the edge."""
    weights = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * spread**2))
    angle = math.radians(angle_deg)
    layer_out = np.zeros_like(layer)
    rows, columns = np.mgrid[: layer.shape[0], : layer.shape[1]]
    for step, weight in enumerate(weights / weights.sum()):
        down, right = (-math.ceil(step * part - 0.5) for part in (math.sin(angle), math.cos(angle)))
        source = np.clip(rows - down, 0, None), np.clip(columns - right, 0, layer.shape[1] - 1)
        layer_out += weight * layer[source]
    return layer_out


def spatter(rng: np.random.Generator, picture: Any, level: int) -> Any:
    """The spatter of a level."""
    mean, deviation, smooth, threshold, gain, mud = SPATTER[level - 1]
    liquid = _smooth(rng.normal(mean, deviation, picture.shape[:2]), smooth)
    liquid[liquid < threshold] = 0
    values = picture / 255.0
    if mud:
        thick = _smooth((liquid > threshold).astype(float), gain)[..., np.newaxis]
        thick[thick < 0.8] = 0
        spattered = values * (1 - thick) + thick * np.array([63, 42, 20]) / 255
        return (np.clip(spattered, 0, 1) * 255).astype(np.uint8)
    drops = (liquid * 255).astype(np.uint8)
    distance = np.minimum(cv2.distanceTransform(255 - cv2.Canny(drops, 50, 150), cv2.DIST_L2, 5), 20)
    depth = cv2.equalizeHist(cv2.blur(distance, (3, 3)).astype(np.uint8))
    shaded = cv2.filter2D(depth, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], dtype=float))
    light = drops * cv2.blur(shaded, (3, 3)).astype(float)
    spattered = values + (gain * light / light.max())[..., np.newaxis] * np.array([175, 238, 238]) / 255
    return (np.clip(spattered, 0, 1) * 255).astype(np.uint8)


def _smooth(image: Any, spread: float) -> Any:
    side = 2 * int(4 * spread + 0.5) + 1
    return cv2.GaussianBlur(image, (side, side), spread, borderType=cv2.BORDER_REPLICATE)


def _zoomed(cells: Any, height: int, width: int) -> Any:
    """Straight lines between cells, the first and the last on the edges."""
    by_row = [np.interp(np.linspace(0, cells.shape[1] - 1, width), np.arange(cells.shape[1]), row) for row in cells]
    columns = np.array(by_row).T
    places = np.linspace(0, cells.shape[0] - 1, height)
    return np.array([np.interp(places, np.arange(cells.shape[0]), column) for column in columns]).T
