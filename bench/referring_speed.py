"""How many sentences a second are scored from run-length encoding, 480x640: areas alone, no mask is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from auscult.arrays.overlap import counts
from auscult.media.rle import Runs, decode, encode
from auscult.score.masks import SentenceAreas, mrr, riou
from auscult.types import Mask
from bench.stress_masks import blob
from bench.table import Table

HEIGHT, WIDTH = 480, 640
OBJECTS, SENTENCES = 60, 12
WANTED = 800


def run() -> Table:
    """Score references of one positive and eleven negative sentences each, one process, one thread."""
    shapes = [ragged(index) for index in range(OBJECTS)]
    runs = [encode(shape) for shape in shapes]
    timed = {"runs, as RLE text": _from_runs, "decoded and counted": _decoded}
    rows = []
    for name, score in timed.items():
        start = time.process_time()
        score(runs)
        rows.append([name, str(OBJECTS * SENTENCES), f"{OBJECTS * SENTENCES / (time.process_time() - start):.0f}"])
    mean = np.mean([Runs.of(shape).lengths.size for shape in shapes])
    note = (
        f"{HEIGHT}x{WIDTH}, ragged blobs of {mean:.0f} runs; to areas, rIoU and mRR, per second of processor time; "
        f"wanted: {WANTED} on two cores"
    )
    return Table("referring scores from RLE", ["way", "masks", "per second"], rows, note)


def _from_runs(masks: list[dict[str, object]]) -> None:
    _score(masks, lambda prediction, truth: SentenceAreas.of(prediction, truth, reference=0, id=0, picture=0))


def _decoded(masks: list[dict[str, object]]) -> None:
    def areas(prediction: dict[str, object], truth: Runs | None) -> SentenceAreas:
        drawn = decode(prediction)
        true = np.zeros_like(drawn) if truth is None else truth.mask
        both, _ = counts(drawn, true)
        painted, there = int(drawn.sum()), int(true.sum())
        return SentenceAreas(
            reference=0, id=0, picture=0, both_px=both, predicted_px=painted, truth_px=there, picture_px=drawn.size
        )

    _score(masks, areas)


def _score(masks: list[dict[str, object]], areas: Callable[..., SentenceAreas]) -> None:
    found = []
    for at, mask in enumerate(masks):
        truth = Runs.read(mask)
        for number in range(SENTENCES):
            prediction = masks[(at + number) % OBJECTS]
            found.append(areas(prediction, None if number else truth))
    riou(found), mrr(found)


def small_blob(index: int) -> Mask:
    """An object with a wavy outline."""
    return blob(index)[:HEIGHT, :WIDTH].copy()


def ragged(index: int) -> Mask:
    """It with a ragged outline and specks, as a network draws them."""
    noise = np.random.default_rng(index).random((HEIGHT, WIDTH))
    return (small_blob(index) & (noise > 0.002)) | (noise > 0.9995)
