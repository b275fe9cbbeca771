"""Polygons by examples; tests/parity compares them with pycocotools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from auscult.errors import InputError, TooLarge
from auscult.media.masks import rasterize


def test_a_rectangle_covers_its_pixels() -> None:
    mask = rasterize([[2, 1, 6, 1, 6, 4, 2, 4]], size=(6, 8))
    expected = np.zeros((6, 8), bool)
    expected[1:4, 2:6] = True
    assert np.array_equal(mask, expected)


def test_parts_are_united_and_cut_at_the_frame() -> None:
    left_polygon, right = [-5, -5, 2, -5, 2, 20, -5, 20], [6.0, -5.0, 20.0, -5.0, 20.0, 20.0, 6.0, 20.0]
    mask = rasterize([left_polygon, right, left_polygon], size=(4, 8))
    assert mask.tolist() == [[True, True, False, False, False, False, True, True]] * 4


def test_a_polygon_outside_or_without_area_is_empty() -> None:
    assert not rasterize([[50, 50, 60, 50, 60, 60]], size=(10, 10)).any()
    assert not rasterize([[3, 3, 3, 3, 3, 3]], size=(10, 10)).any()


BOX = [1, 1, 3, 1, 3, 3]


@pytest.mark.parametrize(
    ("polygons", "words"),
    [
        ([], "no polygon"),
        ("polygon", "no polygon"),
        ([BOX, []], "0 numbers"),
        ([[1, 2, 3, 4]], "4 numbers"),
        ([[*BOX, 5]], "7 numbers"),
        (BOX, "int"),
        ([[float("nan"), *BOX[1:]]], "not finite"),
        ([[float("inf"), *BOX[1:]]], "not finite"),
        ([[1e300, *BOX[1:]]], "million"),
        ([[-(10**400), *BOX[1:]]], "million"),
        ([["1", *BOX[1:]]], "no number"),
        ([[True, *BOX[1:]]], "no number"),
        ([[None, *BOX[1:]]], "no number"),
        ([[BOX]], "1 numbers"),
    ],
)
def test_hostile_polygons_are_refused(polygons: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        rasterize(polygons, size=(10, 10))


def test_outlines_and_frames_are_bounded() -> None:
    zigzag = [value for step in range(400) for value in (step, (-1) ** step * 900_000)]
    with pytest.raises(TooLarge, match="outlines"):
        rasterize([zigzag], size=(10, 10))
    with pytest.raises(TooLarge, match="pixels"):
        rasterize([BOX], size=(10**6, 10**6))
    with pytest.raises(InputError, match="0 x 5"):
        rasterize([BOX], size=(0, 5))
