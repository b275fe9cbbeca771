"""Masks that a real model draws on the photographs of `auscult demo`, as COCO RLE; writes src/auscult/jobs/demo_masks.json.

    python studies/demo_masks.py --weights FOLDER

FOLDER holds DeepLab v3 on MobileNetV2 in 8 bits, `deeplabv3_mnv2_pascal_quant.tflite` (google-coral/test_data at 104342d2d3,
Apache-2.0), which knows the 21 classes of PASCAL VOC. It sees the box of an object with a tenth or half of its longer
side around it, enlarged to 513 pixels; the mask is the commonest class inside the box, cut at the box. Needs
ai-edge-litert, Pillow and scikit-image.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import skimage
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

from auscult.media.rle import encode

JOBS = Path(__file__).parents[1] / "src" / "auscult" / "jobs"
SIDE = 513
PROMPTS = {"deeplab_close": 0.1, "deeplab_wide": 0.5}
LEAST_PX = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    network = Interpreter(str(parser.parse_args().weights / "deeplabv3_mnv2_pascal_quant.tflite"))
    network.allocate_tensors()
    photos = json.loads((JOBS / "demo_photos.json").read_text(encoding="utf-8"))["photos"]
    found = {}
    for photo in photos:
        picture = Image.open(Path(skimage.__file__).parent / "data" / photo["file"]).convert("RGB")
        for thing in photo["objects"]:
            masks = {name: segmented(network, picture, thing["box"], margin) for name, margin in PROMPTS.items()}
            kept = {name: encode(mask) for name, mask in masks.items() if mask.sum() >= LEAST_PX}
            found[f"{Path(photo['file']).stem}/{thing['name']}"] = kept
    text = json.dumps(found, indent=1, separators=(",", ": ")) + "\n"
    (JOBS / "demo_masks.json").write_text(text, encoding="utf-8")


def segmented(network: Interpreter, picture: Image.Image, box: list[int], margin: float) -> np.ndarray:
    """The commonest class inside a box (xyxy), bool (H, W)."""
    x0, y0, x1, y1 = box
    grow = round(margin * max(x1 - x0, y1 - y0))
    left, top = max(0, x0 - grow), max(0, y0 - grow)
    seen = picture.crop((left, top, min(picture.width, x1 + grow), min(picture.height, y1 + grow)))
    given, answer = network.get_input_details()[0]["index"], network.get_output_details()[0]["index"]
    network.set_tensor(given, np.asarray(seen.resize((SIDE, SIDE), Image.Resampling.BILINEAR), np.uint8)[None])
    network.invoke()
    classes = Image.fromarray(network.get_tensor(answer)[0].astype(np.uint8)).resize(
        seen.size, Image.Resampling.NEAREST
    )
    inside = np.asarray(classes)[y0 - top : y1 - top, x0 - left : x1 - left]
    counts = np.bincount(inside.ravel(), minlength=21)
    counts[0] = 0
    mask = np.zeros((picture.height, picture.width), bool)
    mask[y0:y1, x0:x1] = (inside == counts.argmax()) & (counts.max() > 0)
    return mask


if __name__ == "__main__":
    main()
