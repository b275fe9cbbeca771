"""Use verdicts as a gate: keep what may be kept, queue the rest for a person, and hand masks over as COCO.

Run: python examples/03_gate_by_action.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from auscult.jobs.act import filter_record
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions, FilterOptions

POLICY = """
name = "gate"
[perfect]
accept = { at_least = 0.90 }
minor_revision = { at_least = 0.0 }
[shape]
minor_revision = { at_least = 0.80 }
[merge]
[full_neg]
"""


def make_input(folder: Path) -> None:
    """Write one picture and four candidates of one object; here your own would go."""
    rng = np.random.default_rng(0)
    rows, columns = np.ogrid[:240, :320]
    target = ((rows - 125) / 70) ** 2 + ((columns - 110) / 60) ** 2 <= 1
    picture = np.full((240, 320, 3), (70, 110, 80), float)
    picture[target] = (190, 120, 60)
    picture += rng.normal(0, 6, picture.shape)
    candidates = {
        "good": target,
        "hole": target & ~((abs(rows - 120) < 25) & (abs(columns - 110) < 22)),
        "small": ((rows - 125) / 52) ** 2 + ((columns - 110) / 45) ** 2 <= 1,
        "nothing": np.zeros_like(target),
    }
    (folder / "frames").mkdir(parents=True)
    (folder / "masks/0").mkdir(parents=True)
    Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(folder / "frames/0.png")
    for name, mask in candidates.items():
        Image.fromarray(mask.astype(np.uint8) * 255).save(folder / f"masks/0/{name}.png")


with tempfile.TemporaryDirectory() as place:
    root = Path(place)
    make_input(root / "input")
    audit_folder(AuditOptions(source=root / "input", out=root / "out", workers=0))

    # Another policy decides again from the record; nothing is judged again and no input file is opened.
    (root / "gate.toml").write_text(POLICY, encoding="utf-8")
    for policy in ("default", "identity", str(root / "gate.toml")):
        options = FilterOptions(folder=root / "out", actions=("accept",), policy=policy, out=root / "accepted")
        kept = filter_record(options)
        print(f"{kept.policy:9} accepts {sorted(kept.ids)}, all: {kept.by_action}")

    queue = FilterOptions(folder=root / "out", actions=("minor_revision", "major_revision"), out=root / "queue")
    print("\nfor a person:")
    filter_record(queue)
    for annotation in json.loads((root / "queue/coco.json").read_text(encoding="utf-8"))["annotations"]:
        print(f"{annotation['item']}: {annotation['action']}. {annotation['rationale']}")
