"""Glass blur: a pane of uneven glass before the lens.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C: a Gaussian, one to three rounds in which
each pixel shows another from nearby, and the Gaussian again. Two choices are ours: the pane stands
still in a clip, where theirs is drawn anew for each picture; and blurred values are rounded, not cut down.

The release's loop of a round runs over the picture from its last pixel to its first and gives each the value of one
within the reach. A pixel it has already been at shows what it was given, so that values travel. Here each pixel looks
up at once where its value comes from in the end, which gives the same bytes as the loop. (The loop is written as a swap
of two pixels, but of views on them, so that the second keeps its value.)
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress.noise import words
from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor
from auscult.stress.vision.gaussian_blur import gaussian
from auscult.types import Frame, Metadata

_ROWS = 32
"""Rows looked up at a time, so that what is made in between stays in the processor's cache."""


def offsets(reach_px: float) -> NDArray[np.int8]:
    """How far a pixel looks along one axis, for each of 256 equally likely bytes, int8 (256,); the reach is above 0.

    -reach..reach - 1, each as often, where the reach is a whole number; in between for reaches in between.
    """
    units = (np.arange(256) + 0.5) / 128.0 - 1.0
    inward = 1.0 - min(reach_px, 1.0)  # so that nothing moves as the reach goes to 0
    found = np.minimum(np.floor(units * reach_px + inward), _rim(reach_px) - 1.0)
    return np.asarray(found, dtype=np.int8)


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
    along = offsets(reach_px).astype(np.intp)
    steps = np.add.outer(along * width, along).ravel()  # of a word: its upper byte goes down, its lower one right
    drawn = words(rng, (height, width))[rim + 1 : height - rim + 1, rim + 1 : width - rim + 1]
    positions = np.arange((_ROWS + 2 * rim) * width, dtype=np.intp)
    spare = np.empty((3, positions.size), dtype=np.intp)
    for end in range(len(drawn), 0, -_ROWS):
        rows = slice(max(0, end - _ROWS), end)
        near = pixels[rows.start + 1 : rows.stop + 2 * rim]
        looks = spare[0, : near.size]
        looks[:] = positions[: near.size]
        within = looks.reshape(near.shape)[rim : near.shape[0] - rim + 1, rim + 1 : width - rim + 1]
        step = spare[1, : within.size].reshape(within.shape)
        within += np.take(steps, drawn[rows], out=step, mode="wrap")
        sources = _sources(looks, positions[: near.size], spare[1:, : near.size])
        near[...] = np.take(near, sources, mode="wrap").reshape(near.shape)


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
    """Blurs, scatters pixels by a few pixels, and blurs again, in pixels of the picture as it is."""

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


STRESSOR: VisionStressor[SeedParams] = GlassBlur()
