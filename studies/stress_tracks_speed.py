"""How many frames of defect tracks are made in a second, at 480x854: arrays to arrays, one core."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from time import perf_counter

import cv2
import numpy as np

from auscult.media.masks import read_labels
from auscult.stress.masks import tracks
from auscult.types import DEFECTS, Mask
from bench.stress_masks import blob
from bench.table import Table

FRAMES = 10
CLIPS = 6

Clip = tuple[list[Mask], list[list[Mask]]]


def run() -> Table:
    """Measure every kind of track on moving blobs with three others, and on DAVIS 2016 where it is at hand."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        rows = [_row("moving blobs", _moving(), kinds) for kinds in (*((kind,) for kind in DEFECTS), DEFECTS)]
        real = _davis()
        rows += [_row("DAVIS 2016", real, DEFECTS)] if real else []
    finally:
        cv2.setNumThreads(threads)
    return Table(
        "defect tracks",
        ["clips", "kinds", "tracks", "frames made", "undefined", "dropped tracks", "frames per second"],
        rows,
        f"480x854, {FRAMES} frames a clip, one process; each row pays for the bodies and distance maps of its clips.",
    )


def _moving() -> list[Clip]:
    clips: list[Clip] = []
    for index in range(CLIPS):
        still = [blob(index), *(blob(1000 + 4 * index + other) for other in range(3))]
        moved = [
            [np.roll(mask, (1 + number) * 6 * step, axis=1) for number, mask in enumerate(still)]
            for step in range(FRAMES)
        ]
        clips.append(([frame[0] for frame in moved], [frame[1:] for frame in moved]))
    return clips


def _davis() -> list[Clip]:
    root = os.environ.get("AUSCULT_DATA")
    if not root:
        return []
    folders = sorted(path for path in (Path(root) / "video" / "davis2016").glob("*/masks") if path.is_dir())
    clips: list[Clip] = []
    for folder in folders:
        targets = [read_labels(path).labels > 0 for path in sorted(folder.glob("*.png"))[:FRAMES]]
        clips.append((targets, [[] for _ in targets]))
    return clips


def _row(name: str, clips: list[Clip], kinds: tuple[str, ...]) -> list[str]:
    made = frames = count = dropped = 0
    reasons: Counter[str] = Counter()
    start = perf_counter()
    for number, (targets, others) in enumerate(clips):
        for track in tracks.variants(targets, others, seed=number, key="bench", kinds=kinds):
            made += track.made
            frames += len(track.frames)
            count += 1
            dropped += track.dropped
            reasons += track.reasons
    seconds = perf_counter() - start
    undefined = ", ".join(f"{reason} {number}" for reason, number in sorted(reasons.items())) or "0"
    shown = kinds[0] if len(kinds) == 1 else "all"
    return [name, shown, str(count), f"{made} of {frames}", undefined, str(dropped), f"{made / seconds:.0f}"]


if __name__ == "__main__":
    print(run())
