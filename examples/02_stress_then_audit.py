"""Measure a judge on your own kind of picture: make defects of known IoU, audit them, compare.

Run: python examples/02_stress_then_audit.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions, StressOptions
from auscult.jobs.stress import stress_masks


def make_input(folder: Path) -> None:
    """Write four pictures with two objects each, and good masks of both; here your own would go."""
    rng = np.random.default_rng(0)
    rows, columns = np.ogrid[:240, :320]
    for number in range(4):
        left = ((rows - 125) / (60 + 5 * number)) ** 2 + ((columns - 90) / 50) ** 2 <= 1
        right = ((rows - 120) / 45) ** 2 + ((columns - 235) / (40 + 5 * number)) ** 2 <= 1
        picture = np.full((240, 320, 3), (70, 110, 80), float)
        picture[left], picture[right] = (190, 120, 60), (60, 80, 200)
        picture += rng.normal(0, 6, picture.shape)
        (folder / "frames").mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(folder / f"frames/{number}.png")
        for name, mask in (("left", left), ("right", right)):
            (folder / f"masks/{number}").mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask.astype(np.uint8) * 255).save(folder / f"masks/{number}/{name}.png")


with tempfile.TemporaryDirectory() as place:
    root = Path(place)
    make_input(root / "good")

    made, _ = stress_masks(StressOptions(source=root / "good", out=root / "stressed", seed=0, workers=0))
    print(f"{made.ok} masks made, {made.undefined} undefined: {made.by_defect}")

    # No judge reads the truth; it is opened after the last verdict is written.
    audited = audit_folder(AuditOptions(source=root / "stressed", out=root / "out", workers=0))
    print(f"{audited.ok} judged, {audited.failed} failed: {audited.by_action}")

    for name in ("rmse", "spearman", "f2_tables_defect", "f2_confusion_defect"):
        metric = audited.metrics[name]
        print(f"{name:20} {metric['value']:.3f} [{metric['low']:.3f}, {metric['high']:.3f}] of {metric['n']}")

    table = json.loads((root / "out/tables/truth_4_confusion.json").read_text(encoding="utf-8"))
    print("\n" + "".join(f"{cell:>13}" for cell in table["header"]))
    for row in table["rows"]:
        print("".join(f"{cell:>13}" for cell in row))
