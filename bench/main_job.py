"""Speed of the main job, disk to disk: `auscult audit` and `auscult stress masks` as whole commands on two workers."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.rng import generator
from bench.table import Table

FRAMES = 40
SHAPE = (480, 854)
REPEATS = 5


def run() -> Table:
    """Measure both commands on generated frames with two objects each, five times, medians."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        _make_input(root / "input")
        stress_s, defects = _timed(root, ["stress", "masks", str(root / "input"), "--seed", "0"], "items.jsonl")
        made = root / "stress-masks-0"
        audit_s, verdicts = _timed(root, ["audit", str(made)], "verdicts.jsonl")
    return Table(
        title=f"whole commands, disk to disk, {SHAPE[0]}x{SHAPE[1]}, 2 workers",
        header=["command", "masks", "seconds", "masks per second"],
        rows=[
            ["stress masks", str(defects), f"{stress_s:.2f}", f"{defects / stress_s:.0f}"],
            ["audit", str(verdicts), f"{audit_s:.2f}", f"{verdicts / audit_s:.0f}"],
        ],
        note=f"medians of {REPEATS}; start-up, decoding, writing and the report included; generated frames",
    )


def _timed(root: Path, arguments: list[str], result: str) -> tuple[float, int]:
    seconds = []
    name = "-".join(word for word in arguments[:2] if not word.startswith("/"))
    for number in range(REPEATS):
        out = root / f"{name}-{number}"
        begun = time.perf_counter()
        command = [sys.executable, "-m", "auscult.cli", *arguments, "--out", str(out), "--workers", "2", "--quiet"]
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - begun)
    count = len((out / result).read_text(encoding="utf-8").splitlines())
    return statistics.median(seconds), count


def _make_input(folder: Path) -> None:
    rng = generator(0, "bench")
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    for number in range(FRAMES):
        frame = rng.integers(0, 256, (60, 107, 3), np.uint8).repeat(8, 0).repeat(8, 1)[: SHAPE[0], : SHAPE[1]].copy()
        for side, centre in enumerate((230, 620)):
            half = rng.integers(60, 170, 2)
            mask = ((rows - 240) / half[0]) ** 2 + ((columns - centre) / half[1]) ** 2 <= 1
            frame[mask] = frame[mask] // 2 + rng.integers(0, 128, 3, np.uint8)
            (folder / "masks" / f"{number:03d}").mkdir(parents=True, exist_ok=True)
            write_mask(folder / "masks" / f"{number:03d}" / f"{side}.png", mask)
        (folder / "frames").mkdir(parents=True, exist_ok=True)
        write_frame(folder / "frames" / f"{number:03d}.jpg", frame, quality=90)
