"""COCO RLE by hand-made examples, and everything that is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from auscult.arrays.boxes import box_of
from auscult.errors import InputError, TooLarge
from auscult.media.limits import Limits
from auscult.media.rle import Runs, decode, encode


def test_the_order_is_column_after_column() -> None:
    mask = np.array([[0, 1, 0], [0, 1, 1]], dtype=bool)
    assert np.array_equal(decode({"size": [2, 3], "counts": [2, 2, 1, 1]}), mask)
    assert encode(mask)["counts"] == "221O"
    assert np.array_equal(decode(encode(mask)), mask)


def test_empty_and_full_masks() -> None:
    assert encode(np.zeros((2, 3), bool)) == {"size": [2, 3], "counts": "6"}
    assert encode(np.ones((2, 3), bool)) == {"size": [2, 3], "counts": "06"}
    assert not decode({"size": [2, 3], "counts": "6"}).any()
    assert decode({"size": [2, 3], "counts": "06"}).all()
    assert decode({"size": [2, 3], "counts": [0, 6]}).all()


def test_text_bytes_and_runs_of_zero_are_read() -> None:
    mask = decode({"size": [1, 6], "counts": [1, 2, 0, 1, 2]})
    assert mask.tolist() == [[False, True, True, True, False, False]]
    text = encode(mask)["counts"]
    assert np.array_equal(decode({"size": (1, 6), "counts": text.encode()}), mask)


def _padded(counts: str) -> str:
    """The same runs, the last of them with a group that says nothing."""
    last = ord(counts[-1]) - 48
    return counts[:-1] + chr(last + 32 + 48) + chr((31 if last & 16 else 0) + 48)


def _spelled(mask: np.ndarray) -> list[dict[str, Any]]:
    """The same mask as other programs may write it."""
    rle = encode(mask)
    runs = Runs.of(mask).lengths.tolist()
    parted = [*runs[:-1], 1, 0, runs[-1] - 1] if runs[-1] > 1 else [*runs, 0]
    return [rle, {**rle, "counts": _padded(rle["counts"])}, {**rle, "counts": parted}]


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_runs_know_what_the_drawn_mask_has(share: float) -> None:
    rng = np.random.default_rng(7)
    for size in [(1, 1), (1, 9), (7, 1), (6, 11), (40, 30)]:
        mask = rng.random(size) < share
        for segmentation in _spelled(mask):
            runs = Runs.read(segmentation)
            assert np.array_equal(runs.mask, mask)
            assert (runs.area, runs.box, runs.encoded) == (int(mask.sum()), box_of(mask), encode(mask))


def test_the_byte_of_true_does_not_matter() -> None:
    odd = np.array([[0, 255], [7, 1]], dtype=np.uint8).view(np.bool_)
    assert encode(odd) == encode(np.array([[False, True], [True, True]]))


@pytest.mark.parametrize("mask", [np.zeros((2, 2), np.uint8), np.zeros((1, 2, 2), bool), np.zeros(4, bool)])
def test_only_masks_are_encoded(mask: np.ndarray) -> None:
    with pytest.raises(ValueError, match="bool"):
        encode(mask)


REFUSED: list[tuple[Any, str]] = [
    ([], "object"),
    (None, "object"),
    ({}, "size"),
    ({"size": [2], "counts": "4"}, "size"),
    ({"size": [2, 2, 1], "counts": "4"}, "size"),
    ({"size": [2.0, 2], "counts": "4"}, "size"),
    ({"size": [True, 4], "counts": "4"}, "size"),
    ({"size": [0, 4], "counts": "0"}, "size"),
    ({"size": [-2, -2], "counts": "4"}, "size"),
    ({"size": ["2", "2"], "counts": "4"}, "size"),
    ({"size": "22", "counts": "4"}, "size"),
    ({"size": [2, 2]}, "counts"),
    ({"size": [2, 2], "counts": 4}, "counts"),
    ({"size": [2, 2], "counts": {"a": 1}}, "counts"),
    ({"size": [2, 2], "counts": ""}, "empty"),
    ({"size": [2, 2], "counts": []}, "empty"),
    ({"size": [2, 2], "counts": "4é"}, "ASCII"),
    ({"size": [2, 2], "counts": "4 "}, "no encoder"),
    ({"size": [2, 2], "counts": b"\xff"}, "no encoder"),
    ({"size": [2, 2], "counts": "4\0"}, "no encoder"),
    ({"size": [2, 2], "counts": "T"}, "ends inside"),
    ({"size": [2, 2], "counts": "ooooooooo0"}, "34 bits"),
    ({"size": [2, 2], "counts": "0O5"}, "negative"),
    ({"size": [2, 2], "counts": [5, -1]}, "negative"),
    ({"size": [2, 2], "counts": [2, 1]}, "cover 3"),
    ({"size": [2, 2], "counts": [2, 3]}, "cover 5"),
    ({"size": [2, 2], "counts": "5"}, "more than"),
    ({"size": [2, 2], "counts": [4.0]}, "float"),
    ({"size": [2, 2], "counts": [True, 3]}, "bool"),
    ({"size": [2, 2], "counts": [4, None]}, "NoneType"),
    ({"size": [2, 2], "counts": [[4]]}, "list"),
    ({"size": [2, 2], "counts": [2**62, 2**62, 2**62, 2**62, 4]}, "more than"),
    ({"size": [2, 2], "counts": [2**70]}, "63 bits"),
    ({"size": [2, 2], "counts": [0] * 20 + [4]}, "21 runs"),
]


@pytest.mark.parametrize(("segmentation", "words"), REFUSED)
def test_damaged_encodings_are_refused(segmentation: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        decode(segmentation)


def test_the_size_is_bounded_before_anything_is_made() -> None:
    for size in ([10**6, 10**6], [2**40, 2**40]):
        with pytest.raises(TooLarge, match="pixels"):
            decode({"size": size, "counts": "0"})
    with pytest.raises(TooLarge):
        decode({"size": [3, 3], "counts": "9"}, limits=Limits(max_pixels=8))
