"""A tiny folder of photographs in the layout of ``images/more``, for tests of what learns from it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from auscult.media.rle import encode
from auscult.rng import generator
from auscult.train.prompted.material import Material, read_material
from auscult.types import Frame, Mask

SHAPE = (150, 200)
PHOTO, PET, VIDEO = "zzowenzz/COCO_Tiny@1:", "Naveen-Dodda/Sample_Pets_dataset@1:", "MathLee/EOR-VOS@1:"
FILES = (
    ("photos/coco_1.jpg", PHOTO),
    ("photos_nd/pet_2.jpg", PET),
    ("photos/davis_jump_00000.jpg", VIDEO),
    ("photos/davis_jump_00003.jpg", VIDEO),
)
MODELS = ("deeplabv3-mnv2-513-int8", "grabcut (OpenCV)", "yolov8n-seg-320-int8", "csnet-L-x2")


def objects(number: int) -> tuple[Mask, Mask]:
    """A large disc and a box beside it."""
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    disc = (rows - 75) ** 2 + (columns - 60 - 4 * number) ** 2 <= 48**2
    box = np.zeros(SHAPE, np.bool_)
    box[30 : 110 + 4 * number, 135:180] = True
    return disc, box & ~disc


def picture(number: int) -> Frame:
    frame = np.full((*SHAPE, 3), (90, 120, 80), np.uint8)
    for mask, colour in zip(objects(number), ((200, 90, 40), (50, 70, 190)), strict=True):
        frame[mask] = colour
    return np.asarray(frame + generator(number, "grain").integers(0, 30, (*SHAPE, 1), dtype=np.uint8))


def write(data: Path, files: Sequence[tuple[str, str]] = FILES) -> Path:
    """Write pictures of two objects; each model's mask of an object is the object less its lower part.

    Args:
        data: Where.
        files: Name and source of each picture; of ``FILES`` only the first is not held out.

    Returns:
        The folder ``images/more``.
    """
    folder = data / "images/more"
    listing: dict[str, Any] = {"categories": [{"id": 1, "name": "ball"}, {"id": 2, "name": "door"}]}
    listing["images"], listing["annotations"], predictions = [], [], []
    for number_, (name, source) in enumerate(files):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), picture(number_)[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 95])
        listing["images"].append({"id": number_ + 1, "file_name": name, "source": source + name, "all_objects": True})
        for target, mask in enumerate(objects(number_)):
            number = 10 * (number_ + 1) + target
            listing["annotations"].append(
                {"id": number, "image_id": number_ + 1, "category_id": target + 1, "rle": encode(mask)}
            )
            for place, model in enumerate(MODELS):
                less = mask.copy()
                less[90 - 5 * place :] = False
                predictions.append({"image_id": number_ + 1, "ann_id": number, "model": model, "rle": encode(less)})
    (folder / "instances.json").write_text(json.dumps(listing))
    with gzip.open(folder / "predictions.json.gz", "wt") as file:
        json.dump(predictions, file)
    kinds = ["dev" if number_ and files is FILES else "train" for number_ in range(len(files))]
    rows = [f"{number_ + 1},{name},{kinds[number_]},P" for number_, (name, _) in enumerate(files)]
    (folder / "split.csv").write_text("image_id,file_name,split,licence_group\n" + "\n".join(rows) + "\n")
    return folder


def material(data: Path) -> Material:
    """The material of a folder that is written first."""
    write(data)
    return read_material(data)
