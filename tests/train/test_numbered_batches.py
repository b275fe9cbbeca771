"""Batches that other processes make ahead."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.extra_train


def _largest(number: int) -> float:
    import cv2

    return float(cv2.resize(np.full((999, 999, 3), number, np.float32), (1500, 1500)).max())


def test_a_process_that_used_opencv_shares_its_batches_out() -> None:
    import cv2

    from auscult.train.trainer import numbered_batches

    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    try:
        _largest(0)  # OpenCV's threads run from here on
        assert [round(value) for value in numbered_batches(_largest, range(1, 4), workers=1)] == [1, 2, 3]
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(before)
