"""What training makes small: the losses of one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional as f

from auscult.nets.compact import BINS, KINDS, TYPES

UNNAMED: Final = -1
MIXED: Final = KINDS.index("mixed")
ARBITRARY: Final = TYPES.index("arbitrary")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each part counts."""

    types: float = 1.0
    arbitrary: float = 0.5
    ious: float = 0.5
    mean: float = 4.0
    truth: float = 3.0
    profile: float = 1.0


def losses(said: dict[str, Tensor], wanted: dict[str, Tensor], weights: Weights) -> dict[str, Tensor]:
    """The weighted parts of the loss; their sum is what is made small.

    Args:
        said: The network's outputs.
        wanted: ``type`` (n,), ``iou`` (n,), ``truth`` (n, 64, 64) ``profile`` (n, 24, 64)
            and ``inside``, the candidate on the grid of ``truth``, in 0..1.
        weights: How much each part counts.
    """
    nothing = wanted["type"] == ARBITRARY
    object_, iou = ~nothing, wanted["iou"][~nothing]
    kind = torch.where(wanted["type"] == UNNAMED, MIXED, wanted["type"])[object_]
    own = said["experts"].float()[object_][torch.arange(len(kind), device=kind.device), kind]
    mean = mean_of(said["ious"].float()[object_])
    found = {
        "types": weights.types * f.cross_entropy(said["kinds"].float()[object_], kind, label_smoothing=0.02),
        "ious": weights.ious * -(histogram(iou) * own).sum(1).mean(),
        "mean": weights.mean * f.smooth_l1_loss(mean, iou, beta=0.05),
        "arbitrary": weights.arbitrary
        * f.binary_cross_entropy_with_logits(said["arbitrary"].float().squeeze(1), nothing.float()),
    }
    if "truth" in said:
        found["truth"] = weights.truth * _dense(said["truth"].float().squeeze(1), wanted["truth"], wanted["inside"])
    if "profile" in said:
        found["profile"] = weights.profile * f.binary_cross_entropy_with_logits(
            said["profile"].float(), wanted["profile"]
        )
    return found


def _dense(said: Tensor, truth: Tensor, inside: Tensor) -> Tensor:
    """Cross entropy of the estimated mask; near the candidate's outline, where errors are, it counts more."""
    near = f.max_pool2d(inside[:, None], 7, 1, 3) + f.max_pool2d(-inside[:, None], 7, 1, 3)
    weight = 1.0 + 3.0 * near.squeeze(1)
    each = f.binary_cross_entropy_with_logits(said, truth, reduction="none")
    return (each * weight).sum() / weight.sum()


def histogram(iou: Tensor) -> Tensor:
    """IoU as shares of two neighbouring bins, (n,) -> (n, 40): bin k stands for (k + 0.5) / 40, the last up to 1."""
    place = (iou * BINS - 0.5).clamp(0.0, BINS - 1.0)
    low = place.floor().long().clamp(max=BINS - 2)
    share = (place - low).unsqueeze(1)
    found = torch.zeros(len(iou), BINS, dtype=torch.float32, device=iou.device)
    return found.scatter_add(1, low[:, None], 1 - share).scatter_add(1, low[:, None] + 1, share)


def mean_of(ious: Tensor) -> Tensor:
    """The mean of a histogram given as logits, (n, 40) -> (n,); its last bin counts as 1."""
    centres = (torch.arange(BINS, device=ious.device) + 0.5) / BINS
    centres[-1] = 1.0
    return ious.softmax(1) @ centres
