"""A REFER folder of a few painted pictures: two things each, true sentences of each, and false ones."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from auscult.media.frames import write_frame

HEIGHT, WIDTH = 48, 64
COLOURS = {"red": (220, 40, 40), "green": (40, 200, 60), "blue": (50, 60, 220), "white": (240, 240, 240)}


def write_refer(folder: Path, *, pictures: int = 8) -> tuple[Path, Path]:
    """Write annotations and pictures: the folder of ``refs(unc).p``, and the one of the pictures."""
    rng = np.random.default_rng(0)
    refs: list[dict[str, Any]] = []
    coco: dict[str, list[dict[str, Any]]] = {"images": [], "annotations": [], "categories": []}
    coco["categories"] = [{"id": number, "name": f"{colour} box"} for number, colour in enumerate(COLOURS, start=1)]
    for picture_number in range(pictures):
        name = f"COCO_train2014_{picture_number:012d}.jpg"
        frame = rng.normal(90, 8, (HEIGHT, WIDTH, 3)).clip(0, 255).astype(np.uint8)
        names = rng.permutation(list(COLOURS)).tolist()
        for side, colour in enumerate(names[:2]):
            x, y = int(rng.integers(2, 12)) + 32 * side, int(rng.integers(2, 24))
            frame[y : y + 20, x : x + 16] = COLOURS[colour]
            box = [x, y, x + 16, y, x + 16, y + 20, x, y + 20]
            number, category = 2 * picture_number + side, [*COLOURS].index(colour) + 1
            coco["annotations"].append(
                {"id": number, "image_id": picture_number, "category_id": category, "iscrowd": 0, "segmentation": [box]}
            )
            sentences = [(f"the {colour} box", True), (f"{colour} thing", True), (f"the {names[2 + side]} box", False)]
            refs.append(
                {
                    "ref_id": number,
                    "ann_id": number,
                    "image_id": picture_number,
                    "category_id": category,
                    "split": "train",
                    "file_name": name,
                    "sent_ids": [3 * number, 3 * number + 1, 3 * number + 2],
                    "sentences": [
                        {"sent_id": 3 * number + k, "raw": text, "sent": text, "tokens": text.split(), "exist": exist}
                        for k, (text, exist) in enumerate(sentences)
                    ],
                }
            )
        coco["images"].append({"id": picture_number, "file_name": name, "height": HEIGHT, "width": WIDTH})
        write_frame(folder / "train2014" / name, frame)
    data = folder / "rrefcoco"
    data.mkdir(parents=True)
    (data / "refs(unc).p").write_bytes(pickle.dumps(refs, 2))
    (data / "instances.json").write_text(json.dumps(coco))
    return data, folder / "train2014"


SETTINGS = """
design: {side: 64, tokens: 6, vision: small, text: small, widths: [8, 16, 24, 32], depths: [1, 1, 1, 1],
  text_width: 16, head_width: 8, memory: 4, blank: 2, decoder_input: sum}
epochs: 2
batch: 8
rate: 3.0e-3
"""


def write_settings(path: Path, extra_text: str = "") -> Path:
    """Write settings of a tiny network."""
    path.write_text(SETTINGS + extra_text)
    return path
