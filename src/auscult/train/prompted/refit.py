"""Fits the shipped judge to a user's own masks with truth: its bending, a last layer, and the ends of its intervals.

The networks stay as they are; a slope that is linear in their features is learned beside the five shared numbers, as
strongly held as whole clusters that are left out ask for. So 200 masks are enough and seconds do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from auscult.errors import UsageError
from auscult.judge.masks.prompted import calibration as numbers
from auscult.judge.masks.prompted.calibration import CENTRES, Bent, Calibration, Head
from auscult.rng import generator
from auscult.train.prompted.calibrate import COVERED, levels_of, minimise, soft, tails_at
from auscult.train.prompted.outputs import Outputs

LEAST_MASKS: Final = 60
LEAST_CLUSTERS: Final = 10
FOLDS: Final = 5
RIDGES: Final = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""How strongly the last layer is held at nothing; the strongest of them all but keeps it there."""
_HELD: Final = 0.01

Doubles = NDArray[np.float64]


def refit(outputs: Outputs, shipped: Calibration, *, seed: int = 0) -> Calibration:
    """Fit to masks of a user's own.

    Args:
        outputs: What the shipped networks say of them, with their truth.
        shipped: Where the fit starts, and what it is held at.
        seed: Seed of the folds.

    Raises:
        UsageError: There are fewer than 60 masks or 10 photographs or clips.
    """
    clusters = np.unique(outputs.cluster)
    if len(outputs) < LEAST_MASKS or len(clusters) < LEAST_CLUSTERS:
        raise UsageError(
            f"there are {len(outputs)} masks with truth on {len(clusters)} photographs or clips",
            expected=f"at least {LEAST_MASKS} masks on {LEAST_CLUSTERS}",
            hint="name the truth of more masks; 200 are a good number",
        )
    order = generator(seed, "prompted", "refit").permutation(len(clusters))
    fold = dict(zip(clusters[order].tolist(), (np.arange(len(clusters)) % FOLDS).tolist(), strict=True))
    folds = np.array([fold[str(name)] for name in outputs.cluster])
    ridge = min(RIDGES, key=lambda one: _left_out_loss(outputs, shipped, folds=folds, ridge=one))
    levels = [np.zeros(len(outputs)), np.zeros(len(outputs))]
    for at in range(FOLDS):
        inside = folds == at
        if inside.any():
            found = fitted(outputs.where(~inside), shipped, ridge=ridge)
            for kept, value in zip(levels, levels_of(found, outputs.where(inside)), strict=True):
                kept[inside] = value
    tails = tails_at(levels[0], levels[1], np.full(len(outputs), 1 / len(outputs)), alpha=(1 - COVERED) / 2)
    return replace(fitted(outputs, shipped, ridge=ridge), tails=tails)


def fitted(outputs: Outputs, shipped: Calibration, *, ridge: float) -> Calibration:
    """Bending and last layer by maximum likelihood, held at the shipped ones."""
    logs = torch.from_numpy(np.log(np.maximum(numbers.shares_of(outputs.ious).mean(axis=1), 1e-6)))
    flat = outputs.features.reshape(len(outputs), -1).astype(np.float64)
    centre = flat.mean(axis=0)
    spread = np.maximum(flat.std(axis=0), 1e-3)
    seen = torch.from_numpy((flat - centre) / spread)
    wanted, centres = torch.from_numpy(soft(outputs.iou)), torch.from_numpy(CENTRES)
    size = torch.from_numpy(outputs.size)
    start = shipped.bent
    values = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    weights = torch.zeros(flat.shape[1], dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        slope = start.slope + values[1] + (start.by_size + values[3]) * size + seen @ weights
        tilt = slope[:, None] * centres + (start.bend + values[2]) * centres**2
        scores = torch.log_softmax(start.sharp * torch.exp(values[0]) * logs + tilt, dim=1)
        likelihood = (wanted * scores).sum(dim=1).mean()
        return -likelihood + _HELD * (values**2).sum() / len(outputs) + ridge * (weights**2).sum()

    minimise(loss, [values, weights])
    sharp, slope, bend, by_size = values.detach().tolist()
    bent = Bent(
        sharp=start.sharp * float(np.exp(sharp)),
        slope=start.slope + slope,
        bend=start.bend + bend,
        by_size=start.by_size + by_size,
    )
    return replace(shipped, bent=bent, head=Head(centre=centre, weights=weights.detach().numpy() / spread), mixing=0.0)


def _left_out_loss(outputs: Outputs, shipped: Calibration, *, folds: NDArray[np.intp], ridge: float) -> float:
    wanted, total = soft(outputs.iou), 0.0
    for at in range(FOLDS):
        inside = folds == at
        if not inside.any() or inside.all():
            continue
        found = fitted(outputs.where(~inside), shipped, ridge=ridge)
        held = outputs.where(inside)
        shares = numbers.histograms(
            held.ious, held.features, size=held.size, novelty=np.zeros(len(held)), calibration=found
        )
        total -= float((wanted[inside] * np.log(np.maximum(shares, 1e-9))).sum())
    return total
