"""What a candidate is compared with: other masks first, then regions of even colour, never the candidate itself."""

from __future__ import annotations

import numpy as np
import pytest

from auscult.arrays.overlap import iou
from auscult.judge.identity.clip import coloured_regions, rivals
from auscult.rng import generator
from auscult.types import Frame, Mask

SIZE = (120, 200)


def _scene() -> tuple[Frame, Mask, Mask]:
    """A red disc on the left and a blue box on the right of a green field with noise."""
    rows, columns = np.ogrid[: SIZE[0], : SIZE[1]]
    disc: Mask = (rows - 60) ** 2 + (columns - 50) ** 2 <= 30**2
    box = np.zeros(SIZE, bool)
    box[30:95, 130:180] = True
    frame = np.empty((*SIZE, 3), np.float64)
    frame[:] = (60, 140, 70)
    frame[disc], frame[box] = (200, 40, 40), (50, 70, 200)
    frame += generator(0, "regions").normal(0, 3, frame.shape)
    return np.clip(frame, 0, 255).astype(np.uint8), disc, box


def test_the_other_thing_of_a_plain_scene_is_among_the_regions() -> None:
    frame, disc, box = _scene()
    regions = rivals(frame, disc, (), most=8)
    assert max(iou(region, box) for region in regions) > 0.85
    assert max(iou(region, disc) for region in regions) < 0.5


def test_regions_do_not_overlap_and_keep_their_size() -> None:
    regions = coloured_regions(_scene()[0])
    assert regions
    assert np.sum([region.astype(int) for region in regions], axis=0).max() == 1
    assert all(0.005 <= region.mean() <= 0.62 for region in regions)


def test_given_masks_come_first_and_no_thing_comes_twice() -> None:
    frame, disc, box = _scene()
    nearly = box.copy()
    nearly[30:34] = False
    regions = rivals(frame, disc, (nearly, box, disc.copy(), np.zeros(SIZE, bool)), most=8)
    assert np.array_equal(regions[0], box)
    assert not any(iou(region, box) > 0.5 for region in regions[1:])
    assert not any(iou(region, disc) >= 0.5 for region in regions)


def test_no_more_than_were_asked_for() -> None:
    frame, disc, box = _scene()
    assert len(rivals(frame, disc, (box,), most=1)) == 1
    assert len(rivals(frame, disc, (), most=2)) <= 2


def test_the_same_frame_gives_the_same_regions() -> None:
    frame = _scene()[0]
    first, second = coloured_regions(frame), coloured_regions(frame.copy())
    assert [region.tobytes() for region in first] == [region.tobytes() for region in second]


@pytest.mark.parametrize("shape", [(1, 1), (2, 300), (15, 15), (16, 16), (700, 30)])
def test_frames_of_any_shape(shape: tuple[int, int]) -> None:
    frame = generator(1, "noise").integers(0, 256, (*shape, 3), dtype=np.uint8)
    mask = np.zeros(shape, bool)
    mask[0, 0] = True
    for region in rivals(frame, mask, (), most=4):
        assert region.shape == shape
        assert region.any()
