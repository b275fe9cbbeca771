"""A network that knows the answer, so that tests see what is made of it; and pictures to judge."""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np

from auscult.judge.masks.compact import CompactJudge
from auscult.judge.masks.compact.network import BINS, Calibration, KnownFeatures
from auscult.judge.masks.compact.view import box_round, coverage
from auscult.rng import generator
from auscult.types import DEFECTS, Case, Frame, Mask, Prediction, Verdict

SHAPE = (300, 400)
KINDS = (*DEFECTS[:5], "arbitrary")
EVEN = dict.fromkeys(KINDS, 0.0)


def soft_labels(iou: float) -> np.ndarray:
    """What a trained network answers for an IoU, (1, 40): it is shared between the two nearest centres."""
    place = np.clip(iou * BINS - 0.5, 0.0, BINS - 1.0)
    return np.maximum(1 - np.abs(np.arange(BINS) - place), 0.0)[None]


def disc(radius: float, *, x: float = 200, y: float = 150) -> Mask:
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    return np.asarray((rows - y) ** 2 + (columns - x) ** 2 <= radius**2)


def picture() -> Frame:
    ground = cv2.GaussianBlur(generator(3, "picture").normal(0, 60, (*SHAPE, 3)).astype(np.float32), (0, 0), 6.0)
    frame = np.array([80, 120, 90], np.float32) + 3 * ground
    frame[TRUE] = np.array([200, 120, 60]) + ground[TRUE]
    return np.clip(frame, 0, 255).astype(np.uint8)


TRUE = disc(75)
FRAME = picture()


def calibration(**changes: object) -> Calibration:
    fields: dict[str, object] = {
        "weights": "0" * 64,
        "temperature": 1.0,
        "arbitrary": (1.0, 0.0),
        "iou_temperature": 1.0,
        "ends": (0.0, 1.0),
        "reach": {"all": 1.5},
        "widening": 1.0,
        "prior": (0.8, 0.4, 1.0),
        "known": KnownFeatures(centre=np.zeros(64), precision=np.eye(64), distances=(8.0, 12.0, 16.0)),
    }
    return Calibration(**{**fields, **changes})  # type: ignore[arg-type]


class Oracle:
    """A network that is told the true mask; its outline is as blurred as a trained one's."""

    def __init__(self, truth: Mask, mask: Mask, odds: Mapping[str, float], *, features: float = 0.0) -> None:
        share = coverage(truth, box_round(mask), 64).astype(np.float32) / 255
        likely = np.clip(cv2.GaussianBlur(share, (0, 0), 1.0), 0.02, 0.98)
        iou = np.count_nonzero(truth & mask) / np.count_nonzero(truth | mask)
        self.found = {
            "types": np.array([[odds.get(name, 0.0) for name in KINDS]], np.float32),
            "ious": np.log(soft_labels(iou) + 1e-3).astype(np.float32),
            "truth": np.log(likely / (1 - likely))[None, None].astype(np.float32),
            "features": np.full((1, 64), features, np.float32),
        }

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        assert {name: value.shape for name, value in inputs.items()} == {
            "crop": (1, 6, 128, 128), "context": (1, 5, 64, 64), "strip": (1, 6, 24, 256), "cues": (1, 169),
        }  # fmt: skip
        return self.found


def verdict_of(
    kind: str,
    mask: Mask,
    *,
    truth: Mask = TRUE,
    frame: Frame = FRAME,
    odds: Mapping[str, float] = EVEN,
    features: float = 0.0,
    **changes: object,
) -> Verdict:
    """The verdict on a mask whose kind the network is sure of, but for further ``odds``."""
    network = Oracle(
        truth, mask, {kind: 5.0, **{name: value for name, value in odds.items() if value}}, features=features
    )
    judge = CompactJudge(network=network, calibration=calibration(**changes))
    return judge(Case(id="a", frame=frame), Prediction(mask))
