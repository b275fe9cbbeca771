"""A stronger segmenter in the networks' place: what it draws when it is prompted with the candidate.

The heads of `masks.prompted.v1` compare the candidate with an answer mask. That answer may come from another promptable
segmenter, such as SAM with weights of the user: the candidate's box and points inside it are the prompt, what comes
back is brought to each network's crop as logits, and the rest is as ever. Estimates from such answers were not
calibrated with that segmenter; `auscult train prompted-mask` with masks of one's own does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import cv2
import numpy as np

from auscult.errors import UsageError
from auscult.judge.masks.compact.view import coverage
from auscult.judge.masks.prompted.view import View
from auscult.types import Box, Case, Floats, Frame, Mask

SURE: Final = 4.0
"""Logit of a cell that another segmenter's mask fills."""
_POINTS: Final = 3


class Segmenter(Protocol):
    """Draws a mask when it is shown a frame, a box and points."""

    name: str

    def __call__(self, frame: Frame, box: Box, points: Sequence[tuple[int, int]]) -> Mask:
        """Segment.

        Args:
            frame: uint8 RGB (H, W, 3).
            box: Of the candidate, xyxy in pixels.
            points: Inside it, (x, y) in pixels.

        Returns:
            bool (H, W).
        """
        ...


class Evidence:
    """Another segmenter's answers to the candidates' prompts, on the crops of the networks.

    Args:
        segmenter: What draws.
    """

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter

    def answers(self, cases: Sequence[Case], masks: Sequence[Mask], views: Sequence[Sequence[View]]) -> list[Floats]:
        """Answers for each network, as logits (n, 1, grid, grid).

        Args:
            cases: The frames.
            masks: The candidates, none empty.
            views: For each network its views of the candidates.
        """
        drawn = [self._segmenter(case.frame, *prompt_of(mask)) for case, mask in zip(cases, masks, strict=True)]
        return [
            np.stack([logits_of(mask, view.box, len(view.candidate)) for mask, view in zip(drawn, seen, strict=True)])
            for seen in views
        ]


class SamSegmenter:
    """SAM, SAM 2 or SAM 3 with weights of the user: a candidate's box to the mask of what it holds.

    Args:
        folder: Its folder, as ``transformers`` reads it.

    Raises:
        UsageError: The extra ``hf`` is missing, or the folder cannot be used.
    """

    name = "hf.sam"

    def __init__(self, folder: Path) -> None:
        from auscult.nets.hf_sam import load_sam

        self._net = load_sam(folder)

    def __call__(self, frame: Frame, box: Box, points: Sequence[tuple[int, int]]) -> Mask:
        """Segment by the box alone; the points are not used."""
        del points
        x0, y0, x1, y1 = box
        found = self._net.masks(frame[None], [(float(x0), float(y0), float(x1), float(y1))])
        return np.asarray(found[0], dtype=np.bool_)


def load_evidence(name: str) -> Evidence:
    """The evidence that ``--evidence`` names.

    Args:
        name: ``hf:FOLDER``, a folder of SAM, SAM 2 or SAM 3 weights.

    Raises:
        UsageError: It is named otherwise, the extra ``hf`` is missing, or the folder cannot be used.
    """
    kind, _, folder = name.partition(":")
    if kind != "hf" or not folder:
        raise UsageError(
            f"there is no evidence {name[:80]!r}", expected="hf:FOLDER, a folder of SAM, SAM 2 or SAM 3 weights"
        )
    return Evidence(SamSegmenter(Path(folder)))


def prompt_of(mask: Mask) -> tuple[Box, list[tuple[int, int]]]:
    """A candidate's box, and up to three points deep inside it and far from one another."""
    x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
    depth = cv2.distanceTransform(np.pad(mask.view(np.uint8), 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    points: list[tuple[int, int]] = []
    left = np.array(depth)
    for _ in range(_POINTS):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        if left[row, column] <= 0:
            break
        points.append((int(column), int(row)))
        cv2.circle(left, (int(column), int(row)), max(int(2 * depth[row, column]), 2), (0.0,), -1)
    return (x, y, x + width, y + height), points


def logits_of(mask: Mask, box: Box, grid: int) -> Floats:
    """A mask over a crop as logits, (1, grid, grid): 4 where a cell is filled, -4 where it is empty."""
    share = coverage(mask, box, grid).astype(np.float32) / np.float32(255)
    return ((share * 2 - 1) * np.float32(SURE))[None]
