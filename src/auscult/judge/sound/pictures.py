"""What a picture prompt shows, in AudioSet's 527 classes of sounds.

``pictures.onnx`` is a MobileNetV2 (Sandler et al. 2018) that started from public ImageNet weights; ``auscult train
sound-pictures`` trained its last layer on things that sound. ``pictures.csv`` has a row for each that it knows, named
in words that ``vocabulary.read_prompt`` reads.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.judge.sound.vocabulary import read_prompt
from auscult.nets.onnx_session import HINT, check_outputs, open_session, read_network
from auscult.types import Floats, Frame, Frames

SIDE: Final = 224
NETWORK: Final = Path(__file__).with_name("pictures.onnx")
LEAST_PROBABILITY: Final = 0.847
"""Least probability at which a thing counts as shown: 9 of 10 are then right on the recipe's calibration part."""
_MOST_FRAMES: Final = 4
_BLACK: Final = 16  # grey levels; JPEG does not leave blanked pixels at 0
_BLANKED: Final = 0.25  # share of such pixels from which on a picture counts as blanked but for the thing that is meant
_GREY: Final = 127


def things() -> tuple[str, ...]:
    """The things that the network knows, in its order."""
    return tuple(row["name"] for row in table())


def picture_classes(frames: Frames) -> Floats | None:
    """The classes of what frames or a photograph show, uint8 RGB (T, H, W, 3).

    Returns:
        float32 (527,), 0..1, as a prompt that names the thing gives; None where the network is not sure of one.
    """
    found = probabilities(frames).mean(axis=0)
    best = int(found[1:].argmax())
    return read_prompt(things()[best]).classes if found[1 + best] >= LEAST_PROBABILITY else None


def probabilities(frames: Frames) -> Floats:
    """Of each thing in at most 4 frames, evenly drawn, float32 (n, 1 + things); the first is of anything else."""
    drawn = np.unique(np.linspace(0, len(frames) - 1, min(_MOST_FRAMES, len(frames))).round().astype(int))
    pictures = np.stack([as_seen(frames[at]) for at in drawn]).transpose(0, 3, 1, 2)
    found = np.asarray(_session().run(["things"], {"pictures": scaled(pictures)})[0])
    check_outputs({"things": found}, {"things": (1 + len(things()),)}, count=len(drawn), hint=HINT, path=NETWORK)
    return found


def as_seen(frame: Frame) -> NDArray[np.uint8]:
    """What the network sees of a frame: what is not blanked, padded to a square of ``SIDE`` pixels."""
    shown = frame.max(axis=2) > _BLACK
    if shown.any() and shown.mean() < 1 - _BLANKED:
        rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
        frame = frame[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = frame.shape[:2]
    scale = SIDE / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    square = np.full((SIDE, SIDE, 3), _GREY, np.uint8)
    top, left = (SIDE - size[1]) // 2, (SIDE - size[0]) // 2
    square[top : top + size[1], left : left + size[0]] = small
    return square


def scaled(pictures: NDArray[np.uint8]) -> Floats:
    """Pictures as the network takes them, float32 in -1..1."""
    return pictures.astype(np.float32) / np.float32(127.5) - np.float32(1)


@cache
def _session() -> Any:
    return open_session(read_network(NETWORK), NETWORK)


@cache
def table() -> tuple[dict[str, str], ...]:
    """The rows of ``pictures.csv``: name, labels of ImageNet that mean it, words of other collections that do."""
    lines = NETWORK.with_suffix(".csv").read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(lines))


def imagenet_labels(row: dict[str, str]) -> Iterator[int]:
    """The labels of ImageNet's 1000 that a row lists."""
    for part in filter(None, row["imagenet"].split(";")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
