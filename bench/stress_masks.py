"""How long one mask defect takes, from arrays to arrays and from PNG to PNG, at 480x854."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from auscult import rng as randomness
from auscult.media.masks import read_mask, write_mask
from auscult.outcome import Scored
from auscult.stress import masks
from auscult.types import Mask, MaskRef, MaskTarget
from bench.table import Table

HEIGHT, WIDTH = 480, 854
TARGETS = 40


def run() -> Table:
    """Measure every defect of the paper's set on objects of 1 to 30 % of the frame, one thread."""
    rows = [*_arrays(), _disk()]
    return Table(
        "mask defects",
        ["defect", "n", "undefined", "mean ms", "max ms", "per second"],
        rows,
        f"{HEIGHT}x{WIDTH}, {TARGETS} blobs, one process; the first of a kind pays for the distance map of its target. "
        "PNG to PNG is without the record that `auscult stress masks` writes beside the masks. Wanted: 150 per second.",
    )


def _arrays() -> list[list[str]]:
    took: dict[str, list[float]] = defaultdict(list)
    missing: dict[str, int] = defaultdict(int)
    for index in range(TARGETS):
        target = MaskTarget(mask=blob(index), others=tuple(blob(1000 + 4 * index + other) for other in range(4)))
        for kind, milliseconds, made in _timed(target, index):
            took[kind].append(milliseconds)
            missing[kind] += not made
    every = [milliseconds for times in took.values() for milliseconds in times]
    rows = [_row(kind, times, str(missing[kind])) for kind, times in took.items()]
    return [*rows, _row("all", every, str(sum(missing.values())))]


def _row(name: str, times: list[float], undefined: str) -> list[str]:
    mean = statistics.mean(times)
    return [name, str(len(times)), undefined, f"{mean:.2f}", f"{max(times):.2f}", f"{1e3 / mean:.0f}"]


def _timed(target: MaskTarget, index: int) -> Iterator[tuple[str, float, bool]]:
    found = masks.variants(target, seed=index, key="bench")
    while True:
        start = time.perf_counter()
        item = next(found, None)
        elapsed = (time.perf_counter() - start) * 1e3
        if item is None:
            return
        yield item[0], elapsed, isinstance(item[3], Scored)


def _disk() -> list[str]:
    times: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for index in range(TARGETS):
            write_mask(folder / f"{index}.png", blob(index))
        for index in range(TARGETS):
            start = time.perf_counter()
            mask = read_mask(MaskRef(path=folder / f"{index}.png")).mask
            made = 0
            for kind, difficulty, number, outcome in masks.variants(MaskTarget(mask=mask), seed=index):
                if isinstance(outcome, Scored):
                    write_mask(folder / f"{index}_{kind}_{difficulty}_{number}.png", outcome.value.output)
                    made += 1
            times += [(time.perf_counter() - start) * 1e3 / made] * made
    return _row("all but negatives, PNG to PNG", times, "0")


def blob(index: int) -> Mask:
    """An object with a wavy outline, 1 to 30 % of the frame."""
    rng = randomness.generator(2, "bench", "blob", index)
    radius = np.sqrt(rng.uniform(0.01, 0.3) * HEIGHT * WIDTH / np.pi)
    angles = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    wobble = np.zeros(angles.size)
    for waves in range(2, 9):
        wobble += rng.uniform(0, 0.12) * np.sin(waves * angles + rng.uniform(0, 6.3))
    points = radius * (1 + wobble)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    centre = rng.uniform(0.25, 0.75, size=2) * (WIDTH, HEIGHT)
    canvas = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.fillPoly(canvas, [np.rint(points + centre).astype(np.int32)], (1,))
    return canvas.view(np.bool_)
