"""A judge of two tiny networks with random weights and made numbers; torch is needed to make the networks only."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np

from auscult.judge.masks.compact.network import KnownFeatures
from auscult.judge.masks.prompted import PromptedJudge
from auscult.judge.masks.prompted.calibration import BINS, Bent, Calibration, load_calibration
from auscult.judge.masks.prompted.network import FEATURES, Member, load_member
from auscult.judge.masks.prompted.view import Lens
from auscult.rng import generator
from auscult.types import Case, Frame, Mask, Prediction, Verdict

SIZE = (120, 160)
LENSES = (Lens(side=64, margin=1.5), Lens(side=64, margin=2.5))


def calibration(**changes: object) -> Calibration:
    """Numbers that change nothing of what the networks say."""
    fields: dict[str, object] = {
        "weights": ("0" * 64,),
        "bent": Bent(),
        "tails": (0.05, 0.05),
        "temperature": 1.0,
        "classifier": load_calibration().classifier,
        "classifier_temperature": 0.0,
        "offsets": (0.0,) * 6,
        "prior": np.full(BINS, 1 / BINS),
        "spread": (0.5, 0.8, 1.0),
        "known": KnownFeatures(
            centre=np.zeros(FEATURES), precision=np.eye(FEATURES) / 1e4, distances=(8.0, 12.0, 16.0)
        ),
        "mixing": 0.0,
        "counts": {"deeplab": (40, 20), "flawless": (20, 20)},
        "shift": 0.4,
    }
    return Calibration(**{**fields, **changes})  # type: ignore[arg-type]


def members(folder: Path) -> list[Member]:
    """Export one lively network and describe it with two lenses."""
    import torch

    from auscult.nets.prompted import Design, PromptedNet
    from auscult.train.prompted.export import describe, export

    torch.set_num_threads(1)
    torch.manual_seed(5)
    net = PromptedNet(Design(side=LENSES[0].side, margin=LENSES[0].margin)).eval()
    for value in net.parameters():
        if value.ndim > 1:
            torch.nn.init.kaiming_normal_(value)  # PyTorch's own first weights fade over fifty layers
    net.decoder.answer.weight.data.mul_(0.02)
    paths = [folder / "member0.onnx", folder / "member1.onnx"]
    export(net, paths[0])
    shutil.copyfile(paths[0], paths[1])
    describe(paths[1], LENSES[1])
    return [load_member(path) for path in paths]


def disc(radius: float, *, x: float = 80, y: float = 60) -> Mask:
    rows, columns = np.ogrid[: SIZE[0], : SIZE[1]]
    return np.asarray((rows - y) ** 2 + (columns - x) ** 2 <= radius**2)


TRUE = disc(32)


def picture() -> Frame:
    """A disc on a ground, both textured."""
    ground = cv2.GaussianBlur(generator(3, "picture").normal(0, 60, (*SIZE, 3)).astype(np.float32), (0, 0), 4.0)
    frame = np.array([80, 120, 90], np.float32) + 3 * ground
    frame[TRUE] = np.array([200, 120, 60]) + ground[TRUE]
    return np.clip(frame, 0, 255).astype(np.uint8)


FRAME = picture()


def verdicts_of(judge: PromptedJudge, *masks: Mask, frame: Frame = FRAME) -> list[Verdict]:
    """Verdicts on masks of one frame, all in one batch."""
    cases = [Case(id=str(index), frame=frame) for index in range(len(masks))]
    return judge.batch(cases, [Prediction(mask) for mask in masks])
