"""A judge by words for `--judge command:`: a referring segmenter's own mask of the sentence, compared with the candidate.

    auscult audit INPUT --judge 'command:python studies/segmenter_judge.py classical.lexicon.v1' --out OUT

Below an IoU of .1 with it a candidate is called a wrong object, else perfect. Without a sentence it answers an error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from auscult import registry
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.types import MaskRef, Query

ANOTHER = 0.1

model = registry.load("model", sys.argv[1])
for line in sys.stdin:
    question = json.loads(line)
    if not question["text"]:
        print(json.dumps({"id": question["id"], "error": "there is no sentence"}), flush=True)
        continue
    mask = read_mask(MaskRef(path=Path(question["mask"]), positive=True)).mask
    frame = read_frame(Path(question["frame"]))
    own = np.asarray(model.predict(frame[None], Query(text=question["text"])))[0] >= 0.5
    both, either = np.count_nonzero(mask & own), np.count_nonzero(mask | own)
    iou = both / either if either else 0.0
    answer = {"iou": round(iou, 4), "mask_type": "full_neg" if iou < ANOTHER else "perfect"}
    print(json.dumps({"id": question["id"], **answer, "rationale": "compared with its own mask"}), flush=True)
