"""The cues take short cuts; each gives the same numbers as the plain definition, to the last bit."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.judge.masks.cues.features import shape_of
from auscult.judge.masks.cues.view import CueView, parts_of, view_of
from auscult.rng import generator
from auscult.types import Mask

SHAPE = (150, 210)


def blobs(seed: int, sigma: float, level: float) -> Mask:
    noise = generator(seed, "blobs").normal(0, 1, SHAPE).astype(np.float32)
    noise = cv2.GaussianBlur(noise, (0, 0), sigma)
    mask = np.asarray(noise > level * noise.std())
    mask[SHAPE[0] // 2, SHAPE[1] // 2] = True
    return mask


def away_from(mask: Mask) -> NDArray[np.float32]:
    if not mask.any():
        return np.full(mask.shape, np.inf, np.float32)
    return np.asarray(cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 3), np.float32)


def plainly_rounded(view: CueView, radius: float) -> tuple[float, float]:
    """Area lost by opening and gained by closing, as roots of shares."""
    contours, _ = cv2.findContours(view.mask.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    canvas = np.zeros(view.mask.shape, np.uint8)
    cv2.drawContours(canvas, contours, -1, 1, cv2.FILLED)
    filled = canvas > 0
    pad = int(np.ceil(0.4 * view.thickness_px)) + 2
    wide, middle = np.pad(filled, pad, mode="edge"), (slice(pad, -pad), slice(pad, -pad))
    core, background = away_from(~wide) > radius, away_from(wide) > radius
    opened_mask = (away_from(core) <= radius)[middle]
    closed_mask = (away_from(background) > radius)[middle] if background.any() else filled
    area = np.count_nonzero(filled)
    lost_px, gained = np.count_nonzero(filled & ~opened_mask), np.count_nonzero(closed_mask & ~filled)
    return float(np.sqrt(lost_px / area)), float(np.sqrt(gained / area))


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("sigma", [0.5, 2.0, 9.0])
def test_parts_and_their_order_are_those_of_the_whole_picture(sigma: float, connectivity: int) -> None:
    for seed in range(4):
        mask = blobs(seed, sigma, 1.0)
        mask[: 10 + seed], mask[:, : 20 + seed] = False, False
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask.view(np.uint8), connectivity=connectivity)
        assert np.array_equal(parts_of(mask, connectivity=connectivity), stats[1:])
    assert parts_of(np.zeros(SHAPE, bool)).shape == (0, 5)


@pytest.mark.parametrize(("sigma", "level"), [(2.0, 1.0), (6.0, 0.0), (6.0, 1.5), (15.0, -0.5), (15.0, 1.0)])
def test_one_distance_gives_the_same_opening_and_closing_as_two(sigma: float, level: float) -> None:
    for seed in range(3):
        view = view_of(np.zeros((*SHAPE, 3), np.uint8), blobs(seed, sigma, level))
        assert view is not None
        cues = shape_of(view)[0]
        for name, share in (("fine", 0.1), ("mid", 0.2), ("coarse", 0.4)):
            rounded = cues[f"spikes_{name}"], cues[f"dents_{name}"]
            assert rounded == plainly_rounded(view, max(1.0, share * view.thickness_px))


def test_a_full_mask_is_neither_opened_nor_closed() -> None:
    view = view_of(np.zeros((*SHAPE, 3), np.uint8), np.ones(SHAPE, bool))
    assert view is not None
    cues = shape_of(view)[0]
    assert all(cues[f"{side}_{name}"] == 0 for side in ("spikes", "dents") for name in ("fine", "mid", "coarse"))


def test_lab_and_distance_follow_their_definitions() -> None:
    frame = generator(5, "frame").integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
    view = view_of(frame, blobs(3, 6.0, 0.5))
    assert view is not None
    scale, zero = np.array([100 / 255, 1, 1], np.float32), np.array([0, 128, 128], np.float32)
    assert np.array_equal(view.lab, view.lab8 * scale - zero)
    signed_distance = np.where(view.mask, 0.5 - away_from(~view.mask), away_from(view.mask) - 0.5)
    assert np.array_equal(view.distance, (signed_distance / view.thickness_px).astype(np.float32))
    assert view.area == np.count_nonzero(view.mask)
