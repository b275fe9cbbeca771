"""Blur: optics that do not resolve or are focused elsewhere, a camera that moves or zooms, uneven glass before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.stress.noise import words
from auscult.stress.perturbation import Constant, Fixed, NoDraws, Params, Perturbs, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor, as_bytes
from auscult.types import Frame, Mask, Metadata

_HALVED_FROM_PX = 2.5
"""From here on half the resolution will do; below, it would be 2 grey levels off in places."""


def gaussian(frame: Frame, sigma_px: float) -> Frame:
    """A frame blurred by a Gaussian out to 4 standard deviations; a new array.

    A wide one is made at half the resolution: halving and doubling blur by a variance of 1 px^2 each, which the
    Gaussian between them leaves out. That is as near to the formula as the direct way, 1.6 grey levels at most, and
    twice as fast.
    """
    if sigma_px < _HALVED_FROM_PX:
        return _direct(frame, sigma_px)
    height, width = frame.shape[:2]
    around = 2 * math.ceil(2.0 * sigma_px + 1.0)
    below, beyond = around + height % 2, around + width % 2  # so that both sides are even
    padded = cv2.copyMakeBorder(frame, around, below, around, beyond, cv2.BORDER_REPLICATE)
    halved = _direct(np.asarray(cv2.pyrDown(padded), dtype=np.uint8), math.sqrt(sigma_px**2 - 2.0) / 2.0)
    doubled = np.asarray(cv2.pyrUp(halved), dtype=np.uint8)
    return np.ascontiguousarray(doubled[around : around + height, around : around + width])


def _direct(frame: Frame, sigma_px: float) -> Frame:
    reach = int(4.0 * sigma_px + 0.5)
    if reach == 0:
        return frame.copy()
    size = 2 * reach + 1
    output = cv2.GaussianBlur(frame, (size, size), sigma_px, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(output, dtype=np.uint8)


class GaussianBlur(Fixed):
    """Gaussian blur: optics that do not resolve.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C. The kernel reaches 4 standard deviations
    and the picture's edge is repeated, as there; the result is rounded, not cut down, which is nearer to the blurred
    picture and the same on every processor.
    """

    name = "vision.gaussian_blur.v1"
    sigma_px = Constant("standard deviation", (0.0, 1.0, 2.0, 3.0, 4.0, 6.0), unit="px")
    meta = Metadata(
        summary="blurs by a Gaussian",
        goal="optics that do not resolve: fine detail and edges are gone",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame, blurred."""
        del index
        return gaussian(frame, self.sigma_px.at(params.strength))


GAUSSIAN_BLUR: VisionStressor[NoDraws] = GaussianBlur()


_DISC_ROWS = 32
"""Rows made at a time, so that what is made in between stays in the processor's cache."""

_FIT = 65_535 // 255
"""How many pixels may be summed in 16 bits."""

_DISC_DROP = -0.49
"""Turns rounding into dropping the fraction, and leaves whole numbers what they are."""


def half_widths(radius_px: int) -> tuple[int, ...]:
    """How far the disc x^2 + y^2 <= radius^2 reaches to either side, for y = 0, 1 ... radius."""
    return tuple(math.isqrt(radius_px**2 - row**2) for row in range(radius_px + 1))


def disc_mean(padded: Frame, radius_px: int, *, gain: float = 1.0) -> Frame:
    """``gain`` times the mean over a disc of 0 to 12 pixels, its fraction dropped.

    From uint8 (H + 2 radius, W + 2 radius, 3) to uint8 (H, W, 3).
    """
    height, width = (side - 2 * radius_px for side in padded.shape[:2])
    output = np.empty((height, width, 3), dtype=np.uint8)
    for top in range(0, height, _DISC_ROWS):
        rows = min(_DISC_ROWS, height - top)
        strip = padded[top : top + rows + 2 * radius_px].astype(np.uint16).reshape(rows + 2 * radius_px, -1)
        output[top : top + rows] = _strip_mean(strip, radius_px, gain)[:, : 3 * width].reshape(rows, width, 3)
    return output


def _strip_mean(strip: NDArray[np.uint16], radius_px: int, gain: float) -> NDArray[np.uint8]:
    """Means of a strip, uint8 (rows - 2 radius, 3 (W + 2 radius)); right of 3 W they are of no use.

    The sums of a row over -w..w grow from w to w + 1 by two values; wherever the disc is as wide as that, they are
    added to the rows above and below. The padding keeps what wraps from one row into the next out of the picture.
    """
    pitch = strip.shape[1]
    inner = strip.shape[0] - 2 * radius_px
    flat = strip.ravel()
    middle = slice(3 * radius_px, flat.size - 3 * radius_px)
    across = np.zeros_like(flat)  # sums over a row, at the leftmost pixel of the disc
    sums = across[: flat.size - 6 * radius_px]
    sums += flat[middle]
    reach = half_widths(radius_px)
    totals = [np.zeros(inner * pitch, dtype=np.uint16) for _ in range(2)]
    summed = [0, 0]  # how many pixels each total holds: it has room for so many that the second takes the rest
    for half in range(radius_px + 1):
        if half:
            sums += flat[3 * (radius_px - half) : flat.size - 3 * (radius_px + half)]
            sums += flat[3 * (radius_px + half) : flat.size - 3 * (radius_px - half)]
        for row in (row for row, half_width in enumerate(reach) if half_width == half):
            for shifted in {radius_px - row, radius_px + row}:
                index = 0 if summed[0] + 2 * half + 1 <= _FIT else 1
                totals[index] += across[shifted * pitch :][: inner * pitch]
                summed[index] += 2 * half + 1
    scale, total = gain / sum(summed), totals[0]
    if summed[1]:  # both by half, which fits
        scale, total = 2.0 * scale, (total >> 1) + (totals[1] >> 1)
    mean = cv2.convertScaleAbs(total, alpha=scale, beta=_DISC_DROP)
    return np.asarray(mean, dtype=np.uint8).reshape(inner, pitch)


_GRID_PX = 8  # the half side of the kernel; discs above it have their rim softened over 5 pixels, others over 3


class DefocusBlur(Fixed):
    """Defocus blur: a lens focused elsewhere spreads each point over a disc.

    Source: R2-Bench, Table 1, sensor noise of vision; constants and kernel of ImageNet-C: a disc of whole radius, its
    rim softened by a small Gaussian, the picture mirrored at its edge. Discs of the radii below and above are mixed
    between. The release softens the disc on a grid that mirrors at its edge, so that discs of 7 pixels and more sum to
    up to 1.014 and brighten the picture by that; that is kept, as a factor.
    """

    name = "vision.defocus_blur.v1"
    radius = Constant("radius of the disc", (0.0, 3.0, 4.0, 6.0, 8.0, 10.0), unit="px")
    rim = Constant("deviation of its rim", (0.1, 0.1, 0.5, 0.5, 0.5, 0.5), unit="px")
    meta = Metadata(
        summary="blurs by a disc, as a lens out of focus does",
        goal="a camera focused elsewhere: outlines are lost, points become discs",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame, out of focus."""
        del index
        radius_px, rim_px = self.radius.at(params.strength), self.rim.at(params.strength)
        smaller = math.floor(radius_px)
        share = radius_px - smaller
        output = _defocused(frame, smaller, rim_px)
        if share == 0.0:
            return output
        larger = _defocused(frame, smaller + 1, rim_px)
        return np.asarray(cv2.addWeighted(output, 1.0 - share, larger, share, 0.0), dtype=np.uint8)


def _defocused(frame: Frame, radius_px: int, rim_px: float) -> Frame:
    """The mean over a disc of the softened frame, which is the frame by a softened disc."""
    soft_px = 2 if radius_px > _GRID_PX else 1
    around = radius_px + soft_px
    padded = cv2.copyMakeBorder(frame, around, around, around, around, cv2.BORDER_REFLECT_101)
    softened = cv2.GaussianBlur(padded, (2 * soft_px + 1, 2 * soft_px + 1), rim_px)
    inner = np.asarray(softened[soft_px:-soft_px, soft_px:-soft_px], dtype=np.uint8)
    return disc_mean(inner, radius_px, gain=_gain(radius_px, soft_px, rim_px))


def _gain(radius_px: int, soft_px: int, rim_px: float) -> float:
    """What the release's kernel sums to: its disc is softened on a grid that mirrors what lies next to its edge."""
    half = max(_GRID_PX, radius_px)
    squares = np.arange(-half, half + 1) ** 2
    disc = (np.add.outer(squares, squares) <= radius_px**2).astype(np.float64)
    size = 2 * soft_px + 1
    return float(cv2.GaussianBlur(disc, (size, size), rim_px).sum() / disc.sum())


DEFOCUS_BLUR: VisionStressor[NoDraws] = DefocusBlur()


_LEAST_PX = 1e-3  # of a standard deviation: all weight is on the first tap long before
BITS = 7  # of a fraction; 255 then almost fills 16 bits
_HALF_STEPS = 2  # what rounding may take from a sum that is a whole number
_TAP_ROWS = 64  # made at a time, so that what is made in between stays in the processor's cache
PIECE = 11  # taps; a kernel of at most 11 x 11 is summed tap by tap, a larger one goes through a Fourier transform


class Tap(NamedTuple):
    """One offset whose pixel enters the weighted mean."""

    down: int  # pixels
    right: int  # pixels
    weight: float  # of the mean


class Kernel(NamedTuple):
    """Some taps; ``down`` and ``right`` are the offset of the first weight."""

    down: int
    right: int
    weights: NDArray[np.float32]


def half_gaussian(radius_px: float, sigma_px: float) -> NDArray[np.float64]:
    """Weights of a line from its start: a Gaussian's falling half, 2 radius + 1 long, sum 1.

    A radius that is no whole number gives the last tap a part of its weight.
    """
    length = 2.0 * radius_px + 1.0
    positions = np.arange(math.ceil(length - 1e-9))
    weights = np.exp(-(positions**2) / (2.0 * max(sigma_px, _LEAST_PX) ** 2)) * np.minimum(length - positions, 1.0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def line(weights: NDArray[np.float64], angle_deg: float) -> tuple[Tap, ...]:
    """Offsets from a pixel on, one pixel apart, rounded to the nearest, halves down; 0 degrees go right, 90 down."""
    down, right = math.sin(math.radians(angle_deg)), math.cos(math.radians(angle_deg))
    return tuple(
        Tap(math.ceil(px * down - 0.5), math.ceil(px * right - 0.5), float(weight)) for px, weight in enumerate(weights)
    )


def weighted_mean(frame: Frame, taps: Sequence[Tap]) -> Frame:
    """Each pixel's weighted mean over its taps, uint8 (H, W, 3), fractions dropped; the edge is repeated outwards.

    Neighbours in the sequence of taps lie next to each other.
    """
    height, width = frame.shape[:2]
    around = max(max(abs(tap.down), abs(tap.right)) for tap in taps)
    padded = as_bytes(cv2.copyMakeBorder(frame, around, around, around, around, cv2.BORDER_REPLICATE))
    kernels = [kernel_of(taps[start : start + PIECE]) for start in range(0, len(taps), PIECE)]
    output = np.empty_like(frame)
    for top in range(0, height, _TAP_ROWS):
        rows = min(_TAP_ROWS, height - top)
        total: NDArray[np.int16] = np.full((rows, width, 3), _HALF_STEPS, dtype=np.int16)
        for kernel in kernels:
            total += summed(padded, kernel, at=(top + around, around), size=(rows, width))
        total >>= BITS
        output[top : top + rows] = total
    return output


def kernel_of(taps: Sequence[Tap]) -> Kernel:
    """A few taps as one kernel, in 128ths of their weights."""
    top, left = min(tap.down for tap in taps), min(tap.right for tap in taps)
    height, width = max(tap.down for tap in taps) - top + 1, max(tap.right for tap in taps) - left + 1
    weights = np.zeros((height, width), dtype=np.float32)
    for tap in taps:
        weights[tap.down - top, tap.right - left] += tap.weight * (1 << BITS)
    return Kernel(top, left, weights)


def summed(padded: Frame, kernel: Kernel, *, at: tuple[int, int], size: tuple[int, int]) -> NDArray[np.int16]:
    """Weighted sums, in 128ths of a grey level, for the pixels of a size (H, W) that begin ``at`` (y, x)."""
    height, width = kernel.weights.shape
    region = padded[at[0] + kernel.down :, at[1] + kernel.right :][: size[0] + height - 1, : size[1] + width - 1]
    output = cv2.filter2D(region, cv2.CV_16S, kernel.weights, anchor=(0, 0))
    return np.asarray(output, dtype=np.int16)[: size[0], : size[1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionBlurParams(Params):
    """Parameters of motion blur."""

    # of the motion, -45 (up to the right) to 45 (down to the right); one for a whole clip
    angle_deg: Annotated[float, Meta(ge=-45.0, le=45.0)]


class MotionBlur(Perturbs[MotionBlurParams]):
    """Motion blur: the camera moved while the shutter was open.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C, kernel of ImageMagick's motion blur: the
    falling half of a Gaussian along a line, so that edges get a tail on one side. A picture smaller than the line sees
    its own edge repeated; imagecorruptions leaves those places out and darkens it.
    """

    name = "vision.motion_blur.v1"
    params = MotionBlurParams
    radius = Constant("radius of the kernel", (0.0, 10.0, 15.0, 15.0, 15.0, 20.0), unit="px")
    sigma = Constant("standard deviation", (0.0, 3.0, 5.0, 8.0, 12.0, 15.0), unit="px")
    meta = Metadata(
        summary="blurs along one direction, as a moving camera does",
        goal="a camera that moved: edges across the motion are drawn out",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay, although what is blurred reaches up to some pixels past them on one side",
        origin="sensor",
    )

    def render(self, frame: Frame, params: MotionBlurParams, *, index: int = 0) -> Frame:
        """The frame, blurred along the direction."""
        del index
        weights = half_gaussian(self.radius.at(params.strength), self.sigma.at(params.strength))
        return weighted_mean(frame, line(weights, params.angle_deg))


MOTION_BLUR: VisionStressor[MotionBlurParams] = MotionBlur()


_ZOOM_DROP = -0.498  # turns rounding into dropping the fraction, and leaves whole numbers what they are


class ZoomBlur(Fixed):
    """Zoom blur: the camera came nearer, or its lens zoomed, while the shutter was open.

    Source: R2-Bench's toolbox, 17th type; constants of ImageNet-C: the mean of the picture, and of its centre enlarged
    by 1, 1 + step, 1 + 2 step ... The release names an end that the steps may miss: 1.11 is reached, 1.16, 1.21, 1.26
    and 1.31 are not. ``levels`` holds the last factor's excess over 1; between levels the last enlargement counts for a
    part. Enlarging puts the middles of pixels on each other, where the release puts the middles of the corners: less
    than 0.12 px apart.

    What is seen of an object lies about its place in the mean enlargement, 1.05 at level 1 to 1.14 at level 5, where
    masks and boxes go. The release leaves them where they were: off the centre, little of such a mask is on the object.
    """

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
        for number in range(1, whole + 1):
            cv2.add(total, enlarged(frame, 1.0 + number * step), dst=total, dtype=cv2.CV_16U)
        if part == 0.0:
            return np.floor_divide(total, np.uint16(whole + 2)).astype(np.uint8)
        last = enlarged(frame, 1.0 + (whole + 1) * step).astype(np.uint16)
        mixed = cv2.addWeighted(total, 1.0 / (steps + 2.0), last, part / (steps + 2.0), _ZOOM_DROP, dtype=cv2.CV_8U)
        return np.asarray(mixed, dtype=np.uint8)


def enlarged(frame: Frame, factor: float) -> Frame:
    """The centre of a frame, uint8 (H, W, 3) or (H, W), enlarged to the frame's size; the factor is above 1."""
    height, width = frame.shape[:2]
    rows, columns = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - rows) // 2, (width - columns) // 2
    size = round(columns * factor), round(rows * factor)
    output = cv2.resize(frame[top : top + rows, left : left + columns], size, interpolation=cv2.INTER_LINEAR)
    return np.asarray(output[:height, :width], dtype=np.uint8)


ZOOM_BLUR: VisionStressor[NoDraws] = ZoomBlur()


_GLASS_ROWS = 32
"""Rows looked up at a time, so that what is made in between stays in the processor's cache."""


def offsets(reach_px: float) -> NDArray[np.int8]:
    """How far a pixel looks along one axis, for each of 256 equally likely bytes, int8 (256,); the reach is above 0.

    -reach..reach - 1, each as often, where the reach is a whole number; in between for reaches in between.
    """
    units = (np.arange(256) + 0.5) / 128.0 - 1.0
    inward = 1.0 - min(reach_px, 1.0)  # so that nothing moves as the reach goes to 0
    steps = np.minimum(np.floor(units * reach_px + inward), _rim(reach_px) - 1.0)
    return np.asarray(steps, dtype=np.int8)


def _rim(reach_px: float) -> int:
    return max(1, math.ceil(reach_px))


def scatter(pixels: NDArray[np.uint32], rng: np.random.Generator, reach_px: float) -> None:
    """Let each of the pixels, uint32 (H, W), C-contiguous, show one from within the reach, in place; the rim stays.

    A word is drawn for each pixel, the rim's as well, so that others keep theirs as it grows.
    """
    height, width = pixels.shape
    rim = _rim(reach_px)
    if min(height, width) <= 2 * rim:
        return
    shifts = offsets(reach_px).astype(np.intp)
    steps = np.add.outer(shifts * width, shifts).ravel()  # of a word: its upper byte goes down, its lower one right
    draws = words(rng, (height, width))[rim + 1 : height - rim + 1, rim + 1 : width - rim + 1]
    positions = np.arange((_GLASS_ROWS + 2 * rim) * width, dtype=np.intp)
    spare = np.empty((3, positions.size), dtype=np.intp)
    for end in range(len(draws), 0, -_GLASS_ROWS):
        rows = slice(max(0, end - _GLASS_ROWS), end)
        strip = pixels[rows.start + 1 : rows.stop + 2 * rim]
        looks = spare[0, : strip.size]
        looks[:] = positions[: strip.size]
        within = looks.reshape(strip.shape)[rim : strip.shape[0] - rim + 1, rim + 1 : width - rim + 1]
        step = spare[1, : within.size].reshape(within.shape)
        within += np.take(steps, draws[rows], out=step, mode="wrap")
        sources = _sources(looks, positions[: strip.size], spare[1:, : strip.size])
        strip[...] = np.take(strip, sources, mode="wrap").reshape(strip.shape)


def _sources(looks: NDArray[np.intp], positions: NDArray[np.intp], spare: NDArray[np.intp]) -> NDArray[np.intp]:
    """The source of each pixel's value, when the last pixel looks first; (n,), in ``spare``, which is (2, n).

    A pixel that looks ahead sees one that has looked before, and so what that one saw; each step of the search doubles
    how many such looks are followed.
    """
    ahead: NDArray[np.intp] = spare[0]
    further: NDArray[np.intp] = spare[1]
    np.maximum(looks, positions, out=ahead)
    while not np.array_equal(np.take(ahead, ahead, out=further, mode="wrap"), ahead):
        ahead, further = further, ahead
    np.take(looks, ahead, out=further, mode="wrap")
    return further


class GlassBlur(Seeded):
    """Glass blur: a pane of uneven glass before the lens.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C: a Gaussian, one to three rounds in which
    each pixel shows another from nearby, and the Gaussian again. Two choices are ours: the pane stands
    still in a clip, where theirs is drawn anew for each picture; and blurred values are rounded, not cut down.

    The release's loop of a round runs over the picture from its last pixel to its first and gives each the value of one
    within the reach. A pixel it has already been at shows what it was given, so that values travel. Here each pixel
    looks up at once where its value comes from in the end, which gives the same bytes as the loop. (The loop is written
    as a swap of two pixels, but of views on them, so that the second keeps its value.)
    """

    name = "vision.glass_blur.v1"
    sigma = Constant("standard deviation of the blur", (0.0, 0.7, 0.9, 1.0, 1.1, 1.5), unit="px")
    reach = Constant("reach", (0.0, 1.0, 2.0, 2.0, 3.0, 4.0), unit="px")
    rounds = Constant(
        "rounds",
        (0.0, 2.0, 1.0, 3.0, 2.0, 2.0),
        exception="rounds of ImageNet-C, 2 1 3 2 2: where there are fewer, each reaches further or blurs more",
    )
    meta = Metadata(
        summary="scatters pixels over their neighbourhood and blurs, as uneven glass does",
        goal="a dirty or frosted pane before the lens: outlines fray",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay, although single pixels leave their places by up to 4 px in each of up to 3 rounds",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame behind the pane, which is the same in each frame."""
        del index
        sigma_px, reach_px = self.sigma.at(params.strength), self.reach.at(params.strength)
        rounds = self.rounds.at(params.strength)
        pixels = cv2.cvtColor(gaussian(frame, sigma_px), cv2.COLOR_RGB2RGBA).view(np.uint32)[..., 0]
        rng = params.of_frame(0)
        while rounds > 0.0:
            scatter(pixels, rng, reach_px * min(rounds, 1.0))
            rounds -= 1.0
        scattered = cv2.cvtColor(pixels[..., None].view(np.uint8), cv2.COLOR_RGBA2RGB)
        return gaussian(np.asarray(scattered, dtype=np.uint8), sigma_px)


GLASS_BLUR: VisionStressor[SeedParams] = GlassBlur()
