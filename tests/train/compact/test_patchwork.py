"""Put-together pictures: exact masks, textures on both sides of every outline, the same for the same draw."""

from __future__ import annotations

import numpy as np

from auscult.rng import generator
from auscult.train.compact.patchwork import SIDE_PX, patchwork
from auscult.types import Frame, Mask
from small_packs import drawn


def draw(rng: np.random.Generator) -> tuple[Frame, Mask]:
    frame, mask, _ = drawn(int(rng.integers(5)))
    return frame, mask


def test_pictures_hold_things_that_do_not_share_pixels() -> None:
    made = [patchwork(draw, generator(1, "patchwork", number)) for number in range(30)]
    found = [whole for whole in made if whole is not None]
    assert len(found) > 20
    assert {len(whole.others) for whole in found} == {0, 1, 2}
    for whole in found:
        assert whole.frame.dtype == np.uint8
        assert whole.frame.shape == (*whole.mask.shape, 3)
        assert all(SIDE_PX[0] <= side < SIDE_PX[1] for side in whole.mask.shape)
        assert whole.mask.any()
        assert np.sum([whole.mask, *whole.others], axis=0).max() == 1


def test_a_picture_follows_from_its_draw() -> None:
    one, two = (patchwork(draw, generator(2, "patchwork")) for _ in range(2))
    assert one is not None
    assert two is not None
    assert (one.frame == two.frame).all()
    assert (one.mask == two.mask).all()


def test_the_outline_is_where_the_picture_changes() -> None:
    def plain(rng: np.random.Generator) -> tuple[Frame, Mask]:
        _, mask, _ = drawn(0)
        return np.full((*mask.shape, 3), int(rng.integers(0, 255)), np.uint8), mask

    found = 0
    for number in range(12):
        whole = patchwork(plain, generator(3, "patchwork", number))
        if whole is None or whole.others:
            continue
        inside, outside = whole.frame[whole.mask], whole.frame[~whole.mask]
        if abs(np.median(inside) - np.median(outside)) < 10:
            continue
        found += 1
        middle = (np.median(inside) + np.median(outside)) / 2
        bright = whole.frame[..., 0] > middle
        told = bright if np.median(inside) > np.median(outside) else ~bright
        assert (told & whole.mask).sum() / (told | whole.mask).sum() > 0.9
    assert found >= 2
