"""Falling flakes: bright specks of interpolated noise, drawn out by their fall.

Source: the snow layer of ImageNet-C (Hendrycks and Dietterich 2019): normal noise, its middle zoomed, all below a
threshold set to 0, and blurred along one direction by a one-sided Gaussian whose taps stand on whole pixels.

The noise lies on a torus of cells. Sampled at moved places it falls smoothly, without a seam, and new flakes come in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import noise
from auscult.stress.vision.weather_bytes import as_bytes

LEAST_ZOOM = 2.0
"""A torus holds as many cells as a picture shows at this zoom."""

_BOX = 11  # pixels to a side up to which OpenCV filters directly, not by Fourier transforms
_UNIT = 128.0  # blurred values are kept in 128ths, so that 255 fits an int16
_FAINT = 1e-4  # share of the light below which a tap is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Flakes:
    """The constants of a snow layer.

    Attributes:
        mean: Mean of the noise.
        deviation: Its standard deviation.
        zoom: Pixels to a cell (y, x).
        threshold: What is darker is not there.
        radius: Half the length of the blur, in pixels.
        spread: Standard deviation of the blur, in pixels.
        angle_deg: The direction of the blur, -90 straight down, -45 to the lower left.
    """

    mean: float
    deviation: float
    zoom: tuple[float, float]
    threshold: float
    radius: float
    spread: float
    angle_deg: float


def layer(flakes: Flakes, seed: int, size: tuple[int, int], *, fallen: float) -> NDArray[np.uint8]:
    """The light of the flakes over a picture.

    Args:
        flakes: The constants.
        seed: What the noise follows from.
        size: Height and width of the picture.
        fallen: How far the flakes came since the first frame, in cells.

    Returns:
        uint8 (H, W), 255 where a flake is brightest.
    """
    taps = _taps(flakes)
    above = max(down for down, _, _ in taps)
    left, right = max(0, *(step for _, step, _ in taps)), max(0, *(-step for _, step, _ in taps))
    sharp = _specks(flakes, seed, size, margins=(above, left, right), fallen=fallen)
    total = np.zeros(size, dtype=np.int16)
    for group in _groups(taps):
        cv2.add(total, _drawn_out(sharp, group, size, origin=(above, left)), dst=total)
    return as_bytes(cv2.convertScaleAbs(total, alpha=1.0 / _UNIT))


def heading(angle_deg: float) -> tuple[float, float]:
    """The unit vector (y, x) along which flakes fall."""
    angle = math.radians(angle_deg)
    return -math.sin(angle), -math.cos(angle)


def _specks(
    flakes: Flakes, seed: int, size: tuple[int, int], *, margins: tuple[int, int, int], fallen: float
) -> NDArray[np.uint8]:
    """The flakes before they are drawn out, over the picture and its margins above, to the left and to the right."""
    above, left, right = margins
    down, aside = heading(flakes.angle_deg)
    cells = tuple(math.ceil(length / LEAST_ZOOM) + 2 for length in size)
    first = (
        (cells[0] - 1) / 2 - ((size[0] - 1) / 2 + above) / flakes.zoom[0] - fallen * down,
        (cells[1] - 1) / 2 - ((size[1] - 1) / 2 + left) / flakes.zoom[1] - fallen * aside,
    )
    height, width = size[0] + above, size[1] + left + right
    corner = math.floor(first[0]), math.floor(first[1])
    rows = corner[0] + np.arange(math.ceil(height / flakes.zoom[0]) + 2)
    columns = corner[1] + np.arange(math.ceil(width / flakes.zoom[1]) + 2)
    words = noise.words(generator(seed, "flakes"), cells)
    shown = words.take(rows, axis=0, mode="wrap").take(columns, axis=1, mode="wrap")
    values = (noise.normal_table() * np.float32(flakes.deviation) + np.float32(flakes.mean))[shown]
    matrix = np.array(
        [[1 / flakes.zoom[1], 0, first[1] - corner[1]], [0, 1 / flakes.zoom[0], first[0] - corner[0]]], dtype=np.float64
    )
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    zoomed = cv2.warpAffine(values, matrix, (width, height), flags=flags, borderMode=cv2.BORDER_REPLICATE)
    cv2.threshold(zoomed, flakes.threshold, 0.0, cv2.THRESH_TOZERO, dst=zoomed)
    return as_bytes(cv2.convertScaleAbs(zoomed, alpha=255.0))


def _taps(flakes: Flakes) -> list[tuple[int, int, float]]:
    """Pixels down, pixels to the right, and share of the light, for each step of the blur."""
    steps = range(2 * round(flakes.radius) + 1)
    weights = [math.exp(-(step**2) / (2 * flakes.spread**2)) for step in steps]
    total = sum(weights)
    down, aside = heading(flakes.angle_deg)
    return [
        (math.floor(step * down + 0.5), math.floor(step * aside + 0.5), weight / total)
        for step, weight in zip(steps, weights, strict=True)
        if weight > _FAINT * total
    ]


def _groups(taps: list[tuple[int, int, float]]) -> Iterator[list[tuple[int, int, float]]]:
    """The taps in runs that fit a small kernel; they go down monotonically, and aside by no more than that."""
    group = taps[:1]
    for tap in taps[1:]:
        if tap[0] - group[0][0] >= _BOX or abs(tap[1] - group[0][1]) >= _BOX:
            yield group
            group = []
        group.append(tap)
    yield group


def _drawn_out(
    sharp: NDArray[np.uint8], taps: list[tuple[int, int, float]], size: tuple[int, int], *, origin: tuple[int, int]
) -> NDArray[np.int16]:
    """The part of the blur that some taps make, in 128ths of a grey level."""
    low, high = max(down for down, _, _ in taps), min(down for down, _, _ in taps)
    east, west = max(aside for _, aside, _ in taps), min(aside for _, aside, _ in taps)
    kernel = np.zeros((low - high + 1, east - west + 1), dtype=np.float32)
    for down, aside, weight in taps:
        kernel[low - down, east - aside] += _UNIT * weight
    seen = sharp[origin[0] - low : origin[0] - high + size[0], origin[1] - east : origin[1] - west + size[1]]
    made = cv2.filter2D(seen, cv2.CV_16S, kernel, anchor=(0, 0), borderType=cv2.BORDER_REPLICATE)
    return np.asarray(made, dtype=np.int16)[: size[0], : size[1]]
