"""`auscult score` and `auscult report` of long records: do time and memory grow with the lines, and no faster?"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from auscult.media.rle import encode
from auscult.record.folder import open_run
from bench.main_job import measure
from bench.table import Table

COUNTS = (3_000, 12_000, 200_000)
KINDS = ("perfect", "cutout", "dilate", "erode", "merge", "full_neg")
ACTIONS = ("accept", "minor_revision", "major_revision", "reject")
PART = 10_000
_ROWS, _COLUMNS = np.ogrid[:480, :854]
_SEGMENTATION = encode(((_ROWS - 240) / 90) ** 2 + ((_COLUMNS - 400) / 130) ** 2 <= 1)


def run() -> Table:
    """A record of so many masks, three a photograph, with truth and scores of a model."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for count in COUNTS:
            folder = Path(place) / str(count)
            make_record(folder, count)
            for verb in ("score", "report"):
                found = measure([verb, str(folder)], workers=False)
                report = f"{(folder / 'report.html').stat().st_size / 1e6:.1f}" if verb == "report" else ""
                rows.append([verb, f"{count:,}", f"{found.cpu_s:.1f}", f"{found.peak_mb:.0f}", report])
    return Table(
        title="score and report of long records",
        header=["verb", "masks", "CPU s", "MB", "report MB"],
        rows=rows,
        note="processor time and resident size at its highest of the command; MB are 10^6 bytes",
    )


def make_record(folder: Path, count: int) -> None:
    """Write the lines of an audit without judging."""
    arguments = {"given": {"source": "in"}, "defaulted": {}}
    manifest = {"schema": 1, "command": "audit", "arguments": arguments, "inputs": {}}
    with open_run(folder, manifest) as run:
        for start in range(0, count, PART):
            rows = list(_rows(range(start, min(start + PART, count))))
            for name in rows[0]:
                run.append_many(f"{name}.jsonl", (row[name] for row in rows))
        run.finish()


def _rows(numbers: range) -> Iterator[dict[str, dict[str, Any]]]:
    """The lines of each mask, by file."""
    rng = random.Random(numbers.start)
    signature = {"metric": "iou", "version": "1"}
    for number in numbers:
        name, frame, true = f"v{number // 3}/{number % 3}", f"v{number // 3}.png", round(rng.random(), 6)
        iou = round(min(1.0, max(0.0, true + rng.gauss(0, 0.1))), 6)
        verdict = {
            "id": name, "iou": iou, "iou_low": max(0.0, iou - 0.1), "iou_high": min(1.0, iou + 0.1),
            "defect": rng.choice(KINDS), "defect_probs": dict.fromkeys(KINDS, 1 / 6), "action": rng.choice(ACTIONS),
            "evidence": {"shape": True, "boundary": True, "identity": False, "sound": False},
            "novelty": round(rng.random(), 6), "target_exists": "unchecked", "target": None, "distractor": None,
            "rationale": "The outline leaves the object at the left and is rough there.", "region": [8, 8, 40, 40],
            "error_map": None, "judge": "masks.any.v1", "seconds": 0.01, "prob_iou_80": round(iou**2, 6),
            "prob_iou_50": iou, "prob_shift": 0.3, "prob_prior": [0.4, 0.8], "frame": frame, "text": "the dog",
            "model_score": round(rng.random(), 6), "input": f"{number:032x}",
        }  # fmt: skip
        true_row = {"id": name, "iou": true, "defect": rng.choice(KINDS), "action": rng.choice(ACTIONS)}
        yield {
            "masks": {"id": name, "segmentation": _SEGMENTATION},
            "thumbnails": {"id": name, "jpeg": "/9j/" + "A" * 4000},
            "verdicts": verdict,
            "truth": {**true_row, "difficulty": None, "cluster": f"frame {frame}"},
            "scores": {
                "id": name,
                "metric": "masks.iou.v1",
                "value": true,
                "outcome": "scored",
                "signature": signature,
            },
        }
