"""Frames of a small training pack, drawn, so that training can be tried without any real material."""

from __future__ import annotations

import cv2
import numpy as np

from auscult.media.frames import encode_jpeg
from auscult.media.rle import encode
from auscult.rng import generator
from auscult.train.compact.pack import PackedFrame
from auscult.types import Frame, Mask


def drawn(number: int) -> tuple[Frame, Mask, Mask]:
    """A frame with two things on noise, and their masks."""
    rng = generator(3, "pack", number)
    frame = rng.integers(60, 120, (150, 200, 3), dtype=np.uint8)
    masks = []
    for place in ((60, 70), (145, 75)):
        mask = np.zeros((150, 200), np.uint8)
        axes = (int(rng.integers(22, 34)), int(rng.integers(22, 34)))
        cv2.ellipse(mask, place, axes, 0, 0, 360, 1, -1)
        colour = rng.integers(130, 250, 3)
        frame[mask > 0] = (frame[mask > 0] * 0.2 + colour * 0.8).astype(np.uint8)
        masks.append(mask > 0)
    return frame, masks[0], masks[1]


def packed(number: int, **changed: object) -> PackedFrame:
    """A frame of the pack."""
    frame, one, two = drawn(number)
    fields: dict[str, object] = {
        "source": ("coco", "davis", "scenes")[number % 3],
        "part": "train",
        "cluster": f"c{number}",
        "jpeg": encode_jpeg(frame, quality=92),
        "objects": (encode(one), encode(two)),
        "targets": (0, 1),
        "real": (("model", 0, encode(one | two)),) if number % 3 == 1 else (),
    }
    return PackedFrame(**{**fields, **changed})  # type: ignore[arg-type]
