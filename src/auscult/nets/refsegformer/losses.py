"""The losses of Sec. 4: Eq. 5 on masks, Eq. 7 on existence, Eq. 8 of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

LAMBDA: Final = 0.4
"""What the coarse masks M_2..M_4 count in Eq. 5."""
GAMMA: Final = 1.0
"""What existence counts in Eq. 8."""


def segmentation_loss(
    masks: Sequence[Tensor],
    truth: Tensor,
    *,
    coarse: float = LAMBDA,
    foreground: float = 1.0,
    exists: Tensor | None = None,
    negatives: float | None = None,
) -> Tensor:
    """Eq. 5: cross-entropy of M_1 over all pixels, plus ``coarse`` (lambda) times that of each of M_2..M_4.

    ``masks`` are logits (n, 2, h, w), finest first, each enlarged linearly to the size of ``truth``, bool or int64 (n,
    H, W), all 0 for a negative sentence. ``foreground`` is what a pixel of the target counts; one of the background
    counts 1, as both do in Eq. 5. More helps a network that begins from nothing over the time in which it calls every
    pixel background. Without ``negatives`` there is one mean over all samples. The release's variant
    (``robust_ref_seg``) is the mean over positive samples, by ``exists``, bool (n,), plus ``negatives`` times the mean
    over negative ones; .4 there.
    """
    total = truth.new_zeros((), dtype=torch.float32)
    for at, mask in enumerate(masks):
        logits = functional.interpolate(mask.float(), size=truth.shape[1:], mode="bilinear", align_corners=False)
        pixels = functional.cross_entropy(logits, truth.long(), reduction="none")
        each = (pixels * (1 + (foreground - 1) * truth.float())).mean(dim=(1, 2))
        total = total + (1.0 if at == 0 else coarse) * _joined(each, exists, negatives)
    return total


def existence_loss(logits: Tensor, exists: Tensor) -> Tensor:
    """Eq. 7 with the minus that it lacks in print: binary cross-entropy of logits (n,) with ``exists``, bool (n,)."""
    return functional.binary_cross_entropy_with_logits(logits.float(), exists.float())


def choosing_loss(masks: Sequence[Tensor], objects: Tensor, of: Tensor, *, chosen: Tensor, each: int) -> Tensor:
    """How much a sentence's object stands out among the objects of its picture: not in the paper.

    Of each mask, logits (n, 2, h, w), the mean logit of the target over an object is that object's; the loss is the
    cross-entropy of the right one, a mean over sentences and masks. A mask can be learned without reading, since most
    of it is the outline of some object; this cannot. ``objects``, bool (k, H, W), are all of all pictures, ``of``,
    int64 (k,), the picture of each, ``chosen``, int64 (n,), the object of each sentence or -1 for a negative one, which
    has no part; ``each`` picture has so many sentences.
    """
    there = chosen >= 0
    if not there.any():
        return masks[0].sum() * 0
    others = torch.arange(len(chosen), device=of.device)[:, None] // each != of[None]
    losses = []
    for mask in masks:
        logits = (mask[:, 1] - mask[:, 0]).float()
        cover = functional.adaptive_avg_pool2d(objects.float()[:, None], (mask.shape[2], mask.shape[3]))[:, 0]
        summed = torch.einsum("nhw,khw->nk", logits, cover)
        means = summed / cover.sum(dim=(1, 2)).clamp(min=torch.finfo(torch.float32).eps)
        losses.append(functional.cross_entropy(means.masked_fill(others, -1e4)[there], chosen[there]))
    return torch.stack(losses).mean()


def total_loss(segmentation: Tensor, existence: Tensor | None, *, gamma: float = GAMMA) -> Tensor:
    """Eq. 8."""
    return segmentation if existence is None else segmentation + gamma * existence


def _joined(each: Tensor, exists: Tensor | None, negatives: float | None) -> Tensor:
    if negatives is None or exists is None:
        return each.mean()
    there = exists.float()
    positive = (each * there).sum() / there.sum().clamp(min=1)
    return positive + negatives * (each * (1 - there)).sum() / (1 - there).sum().clamp(min=1)
