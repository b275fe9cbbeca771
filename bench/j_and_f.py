"""J&F from arrays to numbers, beside vos-benchmark: one process, one core, turn by turn on the same masks."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from auscult.score.masks import j_and_f
from bench.referring_speed import ragged, small_blob
from bench.table import Table

ROUNDS = 7
FRAMES_PER_CLIP = 4

Clip = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def run() -> Table:
    """Measure both on realistic masks of 480x854 and give the ratio."""
    from vos_benchmark.evaluator import Evaluator  # a peer, installed for `make bench` only

    def ours(clip: Clip) -> float:
        result = j_and_f(*clip, protocol="davis2016")
        return result.value  # type: ignore[union-attr]  # four frames are always defined

    def theirs(clip: Clip) -> float:
        evaluator = Evaluator()
        for prediction, truth in zip(*clip, strict=True):
            evaluator.feed_frame(prediction, truth)
        j, f = evaluator.conclude()
        return float(j[1] + f[1]) / 200

    rows = [_compare(name, clips, (ours, theirs)) for name, clips in _material().items()]
    return Table(
        title="J&F, array to number, 480x854",
        header=["masks", "frames", "auscult ms/frame", "vos-benchmark ms/frame", "times as fast", "largest difference"],
        rows=rows,
        note=f"median of {ROUNDS} interleaved rounds, one process, one OpenCV thread, {platform.machine()}, "
        f"NumPy {np.__version__}, OpenCV {cv2.__version__}; both get uint8 masks of one object (0, 1)",
    )


def _compare(name: str, clips: list[Clip], functions: tuple[Callable[[Clip], float], ...]) -> list[str]:
    frames = sum(len(clip[0]) for clip in clips)
    times: tuple[list[float], ...] = ([], [])
    values: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for which, function in enumerate(functions):
            start = perf_counter()
            values[which] = [function(clip) for clip in clips]
            times[which].append((perf_counter() - start) / frames * 1000)
    ours, theirs = median(times[0]), median(times[1])
    apart = max(abs(one - other) for one, other in zip(*values, strict=True))
    return [name, str(frames), f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", f"{apart:.0e}"]


def _material() -> dict[str, list[Clip]]:
    folder = os.environ.get("AUSCULT_DATA")
    davis = Path(folder) / "video" / "davis2016" if folder else None
    if davis is None or not davis.is_dir():
        return {"generated blobs": [_blobs(number) for number in range(6)]}
    kinds = {"pred_osvos": "DAVIS, OSVOS (one object)", "pred_rvos": "DAVIS, RVOS (union, most of the frame)"}
    folders = [path for path in sorted(davis.iterdir()) if path.is_dir()]
    return {name: [_real(path, kind) for path in folders] for kind, name in kinds.items()}


def _real(path: Path, prediction: str) -> Clip:
    names = [file.name for file in sorted((path / "masks").glob("*.png"))]
    chosen = names[:: max(1, len(names) // FRAMES_PER_CLIP)][:FRAMES_PER_CLIP]
    first, second = (
        np.stack([(np.array(Image.open(path / kind / name)) > 0).astype(np.uint8) for name in chosen])
        for kind in (prediction, "masks")
    )
    return first, second


def _blobs(number: int) -> Clip:
    """Objects, and segmentations of them that are ragged."""
    frames = range(number * FRAMES_PER_CLIP, (number + 1) * FRAMES_PER_CLIP)
    ragged_ones, true = (np.stack([draw(frame).view(np.uint8) for frame in frames]) for draw in (ragged, small_blob))
    return ragged_ones, true
