"""Snow: bright flakes drawn out by their fall, and a whitened picture.

Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec. 3.1):
``mix * picture + (1 - mix) * max(picture, 1.5 * grey + 0.5)``, plus the flakes, plus the same flakes turned by half.

Chosen otherwise: beyond the picture's upper edge the flakes go on, where the release repeats the edge. In a clip they
fall along the direction in which they are drawn out, the turned ones too. Between two levels the flakes of one fade out
while those of the other fade in: constants between theirs would change the size of the cells, and with it the place of
every flake, as soon as the strength changes.

Source: the snow layer of ImageNet-C (Hendrycks and Dietterich 2019): normal noise, its middle zoomed, all below a
threshold set to 0, and blurred along one direction by a one-sided Gaussian whose taps stand on whole pixels.

The noise lies on a torus of cells. Sampled at moved places it falls smoothly, without a seam, and new flakes come in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import noise
from auscult.stress.perturbation import Constant, Params, Perturbs, Seed, seed_from
from auscult.stress.vision.base import ClipInfo, VisionStressor, as_bytes
from auscult.stress.vision.blur import BITS, PIECE, Tap, kernel_of, summed
from auscult.types import Frame, Metadata

LEAST_ZOOM = 2.0
"""A torus holds as many cells as a picture shows at this zoom."""

_FAINT = 1e-4  # share of the light below which a tap is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Flakes:
    """The constants of a snow layer."""

    mean: float  # mean of the noise
    deviation: float  # its standard deviation
    zoom: tuple[float, float]  # pixels to a cell (y, x)
    threshold: float  # what is darker is not there
    radius: float  # half the length of the blur, in pixels
    spread: float  # standard deviation of the blur, in pixels
    angle_deg: float  # the direction of the blur, -90 straight down, -45 to the lower left


def layer(flakes: Flakes, seed: int, size: tuple[int, int], *, fallen: float) -> NDArray[np.uint8]:
    """The light of the flakes over a picture, uint8 (H, W), 255 where a flake is brightest.

    The noise follows from the seed; ``fallen`` is how far the flakes came since the first frame, in cells.
    """
    taps = _taps(flakes)
    above = max(-tap.down for tap in taps)
    left, right = max(0, *(-tap.right for tap in taps)), max(0, *(tap.right for tap in taps))
    sharp = _specks(flakes, seed, size, margins=(above, left, right), fallen=fallen)
    total = np.zeros(size, dtype=np.int16)
    for group in _groups(taps):
        cv2.add(total, summed(sharp, kernel_of(group), at=(above, left), size=size), dst=total)
    return as_bytes(cv2.convertScaleAbs(total, alpha=1.0 / (1 << BITS)))


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
    visible = words.take(rows, axis=0, mode="wrap").take(columns, axis=1, mode="wrap")
    values = noise.normal_table().take(visible)
    values *= np.float32(flakes.deviation)
    values += np.float32(flakes.mean)
    matrix = np.array(
        [[1 / flakes.zoom[1], 0, first[1] - corner[1]], [0, 1 / flakes.zoom[0], first[0] - corner[0]]], dtype=np.float64
    )
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    zoomed = cv2.warpAffine(values, matrix, (width, height), flags=flags, borderMode=cv2.BORDER_REPLICATE)
    cv2.threshold(zoomed, flakes.threshold, 0.0, cv2.THRESH_TOZERO, dst=zoomed)
    return as_bytes(cv2.convertScaleAbs(zoomed, alpha=255.0))


def _taps(flakes: Flakes) -> list[Tap]:
    """Where light comes from for each step of the blur, up against the fall, and the share of it."""
    steps = range(2 * round(flakes.radius) + 1)
    weights = [math.exp(-(step**2) / (2 * flakes.spread**2)) for step in steps]
    total = sum(weights)
    down, aside = heading(flakes.angle_deg)
    return [
        Tap(-math.floor(step * down + 0.5), -math.floor(step * aside + 0.5), weight / total)
        for step, weight in zip(steps, weights, strict=True)
        if weight > _FAINT * total
    ]


def _groups(taps: list[Tap]) -> Iterator[list[Tap]]:
    """The taps in runs that fit a small kernel; they go up monotonically, and aside by no more than that."""
    group = taps[:1]
    for tap in taps[1:]:
        if group[0].down - tap.down >= PIECE or abs(tap.right - group[0].right) >= PIECE:
            yield group
            group = []
        group.append(tap)
    yield group


_SLOW, _FAST = 10.0, 20.0  # cells in a second


@dataclass(frozen=True, slots=True, kw_only=True)
class SnowParams(Params):
    """Which snow, and how it falls."""

    seed: Seed  # what the flakes follow from
    angle_deg: Annotated[float, Meta(ge=-135.0, le=-45.0)]  # the direction of their fall, -90 straight down
    # how far they fall from one frame to the next, in cells, each as large as the flakes' zoom
    speed: Annotated[float, Meta(ge=0.0, le=1000.0)]


class Snow(Perturbs[SnowParams]):
    """Whitens the picture and adds flakes."""

    name = "vision.snow.v1"
    params = SnowParams
    mean = Constant("mean of the noise", (-0.8, 0.1, 0.2, 0.55, 0.55, 0.55))
    deviation = Constant("its deviation", (0.3, 0.3, 0.3, 0.3, 0.3, 0.3))
    enlargement = Constant(
        "enlargement",
        (3.0, 3.0, 2.0, 4.0, 4.5, 2.5),
        exception="the flakes' size is a look: small and many at levels 2 and 5, large and few at levels 3 and 4",
    )
    threshold = Constant(
        "threshold",
        (0.5, 0.5, 0.5, 0.9, 0.85, 0.85),
        exception="the threshold goes with the mean of the noise, which rises faster",
    )
    radius = Constant("radius of the streaks", (10.0, 10.0, 12.0, 12.0, 12.0, 12.0), unit="px")
    spread = Constant("their deviation", (4.0, 4.0, 4.0, 8.0, 8.0, 12.0), unit="px")
    kept = Constant("share of the picture kept", (1.0, 0.8, 0.7, 0.7, 0.65, 0.55))
    meta = Metadata(
        summary="whitens the picture and lets bright, drawn-out flakes fall over it",
        goal="snowfall: objects fade and are cut up by flakes",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C snow",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def choose(self, rng: np.random.Generator, shot: ClipInfo, /, *, strength: float) -> SnowParams:
        """Draw the flakes and their fall."""
        seed, angle, pace = seed_from(rng), rng.uniform(-135.0, -45.0), rng.uniform(_SLOW, _FAST)
        return SnowParams(strength=strength, seed=seed, angle_deg=angle, speed=pace / max(shot.rate_fps, 1.0))

    def render(self, frame: Frame, params: SnowParams, *, index: int = 0) -> Frame:
        """The frame in snow."""
        flakes = self.flakes(frame.shape[:2], params, index=index)
        return whitened(frame, flakes, kept=self.kept.at(params.strength))

    def flakes(self, size: tuple[int, int], params: SnowParams, *, index: int) -> NDArray[np.uint8]:
        """The light of the flakes over a frame, uint8 (H, W); between two levels, some of the light of each."""
        below = int(params.strength)
        share = params.strength - below
        if share == 0.0:
            return self._fallen(size, params, level=below, index=index)
        above = self._fallen(size, params, level=below + 1, index=index)
        if below == 0:
            return as_bytes(cv2.convertScaleAbs(above, alpha=share))
        under = self._fallen(size, params, level=below, index=index)
        return as_bytes(cv2.addWeighted(under, 1.0 - share, above, share, 0.0))

    def _fallen(self, size: tuple[int, int], params: SnowParams, *, level: int, index: int) -> NDArray[np.uint8]:
        """The light of the flakes of one level."""
        flakes = Flakes(
            mean=self.mean.values[level],
            deviation=self.deviation.values[level],
            zoom=self.zoom(self.enlargement.values[level], size),
            threshold=self.threshold.values[level],
            radius=self.radius.values[level],
            spread=self.spread.values[level],
            angle_deg=params.angle_deg,
        )
        fallen = index * params.speed
        output = layer(flakes, params.seed, size, fallen=fallen)
        # what is turned by half falls when its original rises
        other = layer(flakes, params.seed, size, fallen=-fallen) if index else output
        return as_bytes(cv2.add(output, cv2.rotate(other, cv2.ROTATE_180)))

    def zoom(self, zoom: float, size: tuple[int, int]) -> tuple[float, float]:
        """Pixels to a cell, (y, x), where whole cells are enlarged from the middle of the first to that of the last."""
        cells = [math.ceil(length / zoom) for length in size]
        height, width = ((count * zoom - 1.0) / max(count - 1, 1) for count in cells)
        return height, width


def whitened(frame: Frame, flakes: NDArray[np.uint8], *, kept: float) -> Frame:
    """Mix a picture with its whiter self, of which it keeps its own share, 0..1, and add flakes, uint8 (H, W).

    The whiter self exceeds white and is not cut off before the mix, so both sides of the ``max`` are mixed first: every
    step then only adds, and saturates where the sum would be cut off.
    """
    white = 1.0 - kept
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    # half a grey level less: rounding then drops the fraction, as the release does
    lift = cv2.convertScaleAbs(grey, alpha=1.5 * white, beta=max(0.0, 127.5 * white - 0.5))
    cv2.add(lift, flakes, dst=lift)
    light = cv2.cvtColor(lift, cv2.COLOR_GRAY2RGB)
    output = cv2.convertScaleAbs(frame, alpha=kept)
    cv2.add(output, light, dst=output)
    cv2.cvtColor(flakes, cv2.COLOR_GRAY2RGB, dst=light)
    cv2.add(frame, light, dst=light)
    cv2.max(output, light, dst=output)
    return as_bytes(output)


STRESSOR: VisionStressor[SnowParams] = Snow()


class SnowR2Bench(Snow):
    """Snow in the geometry of R2-Bench's toolbox: the zoomed noise is resized to the frame.

    Its first and last cells lie on the frame's edges, where ``vision.snow.v1`` cuts the frame out of zoomed noise.
    """

    name = "vision.snow_r2bench.v1"
    meta = replace(
        Snow.meta,
        summary="whitens the picture and lets bright, drawn-out flakes fall over it, in the geometry of R2-Bench",
        source="R2-Bench toolbox: snow layer resized to the frame",
    )

    def zoom(self, zoom: float, size: tuple[int, int]) -> tuple[float, float]:
        """Pixels to a cell, (y, x), with a cell on each edge of the frame."""
        height, width = (max(length - 1.0, 1.0) / max(length / zoom - 1.0, 1.0) for length in size)
        return max(height, 1.0), max(width, 1.0)


R2BENCH: VisionStressor[SnowParams] = SnowR2Bench()
