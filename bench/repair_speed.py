"""Speed and memory of `auscult act repair` as a whole command on two workers, judging included, without a model."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from auscult.judge import DEFAULT_JUDGE
from bench.main_job import SHAPE, WORKERS, as_pictures, make_input, measure
from bench.table import Table

FRAMES = (4, 16)


def run() -> Table:
    """Repair stressed masks of generated frames, few and four times as many."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for frames in FRAMES:
            root = Path(place) / str(frames)
            make_input(root / "input", frames=frames)
            measure(["stress", "masks", str(root / "input"), "--seed", "0", "--out", str(root / "made")])
            as_pictures(root / "made", root / "plain")
            record, out = root / "record", root / "repaired"
            measure(["audit", str(root / "plain"), "--alone", "--out", str(record)])
            found = measure(["act", "repair", str(record), "--out", str(out)])
            with (out / "repairs.jsonl").open(encoding="utf-8") as lines:
                attempts = [len(json.loads(line)["attempts"]) for line in lines]
            count = len(attempts)
            figures = (sum(attempts) / count, found.wall_s, count / found.wall_s, WORKERS * count / found.cpu_s)
            rows.append([f"{count:,}", *(f"{one:.1f}" for one in figures), f"{found.peak_mb:.0f}"])
    return Table(
        title=f"act repair, {SHAPE[0]}x{SHAPE[1]}, {WORKERS} workers, {DEFAULT_JUDGE}",
        header=[
            "masks tried",
            "attempts each",
            "wall s",
            "masks/s",
            f"masks per {WORKERS} CPU s",
            "largest process MB",
        ],
        rows=rows,
        note=f"start-up, report and the INPUT that is written included; load {os.getloadavg()[0]:.1f} at the end",
    )
