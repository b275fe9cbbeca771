"""The error map: where the network's estimate of the true mask and the candidate differ, on the crop's grid.

A cell's value is the probability that it belongs to the object minus the share of it that the candidate covers: in a
cell outside the candidate the probability that it is missing, in one inside, negated, that it is too much. Values that
are no more than doubt about the outline are left out, and so is what lies outside the frame.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.error_map import error_map_of
from auscult.judge.masks.compact.sight import in_frame
from auscult.judge.masks.compact.view import View
from auscult.types import Box, ErrorMap

SIDE: Final = 64
OF_NOTE: Final = 0.3
"""Smaller values are doubt, not error."""

Floats = NDArray[np.float32]


def differences(truth: NDArray[np.float32], view: View, size: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Compare the estimated true mask with the candidate.

    Args:
        truth: Logits of the true mask over the crop, (64, 64).
        view: The crop.
        size: (height, width) of the frame.

    Returns:
        Signed errors, float32 (64, 64) in [-1, 1], positive where something is missing, 0 outside the frame; and the
        share of each cell that the candidate covers, float32 (64, 64), 0..1.
    """
    odds = np.clip(truth.astype(np.float32), -30.0, 30.0)
    likely = 1.0 / (1.0 + np.exp(-odds))
    inside = _pooled(view.crop[3])
    signed = np.where(in_frame(view.box, size, SIDE), likely - inside, np.float32(0))
    return signed.astype(np.float32), inside


def _pooled(covered: NDArray[np.uint8]) -> Floats:
    """The crop's mask channel, (128, 128) of 0..255, on the error map's grid as shares of 0..1."""
    step = len(covered) // SIDE
    cells = covered.reshape(SIDE, step, SIDE, step).mean(axis=(1, 3), dtype=np.float32)
    return np.asarray(cells / np.float32(255), dtype=np.float32)


def noted(signed: Floats) -> Floats:
    """The errors without what is doubt only, float32 (64, 64)."""
    return np.where(np.abs(signed) >= OF_NOTE, signed, np.float32(0)).astype(np.float32)


def map_of(signed: Floats, box: Box) -> ErrorMap:
    """The errors of note as a verdict's map."""
    return error_map_of(noted(signed), box)
