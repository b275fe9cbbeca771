"""Judge masks that are arrays in memory: no file, no record, one verdict each.

Run: python examples/01_audit_arrays.py
"""

from __future__ import annotations

import numpy as np

import auscult

# A picture with an orange blob on the left and a blue one on the right.
rng = np.random.default_rng(0)
rows, columns = np.ogrid[:240, :320]
dog = ((rows - 130) / 70) ** 2 + ((columns - 100) / 50) ** 2 <= 1
ball = ((rows - 110) / 40) ** 2 + ((columns - 240) / 45) ** 2 <= 1
picture = np.full((240, 320, 3), (70, 110, 80), float)
picture[dog], picture[ball] = (190, 120, 60), (60, 80, 200)
frame = (picture + rng.normal(0, 6, picture.shape)).clip(0, 255).astype(np.uint8)

candidates = {
    "as drawn": dog,
    "with a hole": dog & ~((abs(rows - 120) < 22) & (abs(columns - 105) < 18)),
    "too small": ((rows - 130) / 60) ** 2 + ((columns - 100) / 40) ** 2 <= 1,
    "two objects": dog | ball,
    "the wrong object": ball,
    "nothing": np.zeros_like(dog),
}

print(f"{'candidate':18}{'true IoU':>9}{'estimated':>11}  {'90 % interval':16}{'defect':10}action")
for name, mask in candidates.items():
    verdict = auscult.audit_mask(frame, mask, text="the dog on the left")
    true = auscult.score.masks.iou(mask, dog).value
    estimated = "-" if verdict.iou is None else f"{verdict.iou:.2f}"
    interval = "" if verdict.iou is None else f"[{verdict.iou_low:.2f}, {verdict.iou_high:.2f}]"
    print(f"{name:18}{true:>9.2f}{estimated:>11}  {interval:16}{verdict.defect:10}{verdict.action}")

# The wrong object has a good outline, and nothing looked at which object was meant.
print("\nIdentity was not checked: a clean mask of the wrong object gets a good verdict.")
