"""Memory of `auscult audit`: does the largest process grow with the number of masks?"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from bench.main_job import JUDGE, SHAPE, WORKERS, make_input, measure
from bench.table import Table

FRAMES = 25
COUNTS = (100, 1_000, 10_000)


def run() -> Table:
    """Audit 100 to 10,000 items that share 50 masks; the largest process of each run."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        make_input(root / "input", frames=FRAMES)
        for count in COUNTS:
            _list(root / "input", count)
            command = ["audit", str(root / "input" / "items.jsonl"), "--alone", "--judge", JUDGE]
            found = measure([*command, "--out", str(root / f"out-{count}")])
            rows.append([f"{count:,}", f"{found.peak_mb:.0f}", f"{found.cpu_s:.1f}", f"{found.wall_s:.1f}"])
    return Table(
        title=f"memory of the audit, {SHAPE[0]}x{SHAPE[1]}, {WORKERS} workers, {JUDGE}",
        header=["masks", "largest process MB", "CPU s", "wall s"],
        rows=rows,
        note="resident size at its highest, command and workers taken one by one; MB are 10^6 bytes",
    )


def _list(folder: Path, count: int) -> None:
    """Write an ``items.jsonl`` of that many items, each named apart."""
    with (folder / "items.jsonl").open("w", encoding="utf-8") as out:
        for number in range(count):
            frame, side = f"{number // 2 % FRAMES:03d}", number % 2
            row = {"id": f"{number:05d}", "frame": f"frames/{frame}.jpg", "mask": f"masks/{frame}/{side}.png"}
            out.write(json.dumps(row) + "\n")
