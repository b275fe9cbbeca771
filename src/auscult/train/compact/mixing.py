"""How the histograms of the kinds of defects are mixed, fitted on masks that no weight was trained on.

A network trained on few objects is surer than it should be on others: of the kind, and of the IoU within a kind,
which for merges may be anything. So each kind's histogram is drawn towards that kind's usual one, and the logits of
``merge`` and ``mixed`` get offsets: each by the least squared error of the mean. Only the IoU is mixed so; the kind
that is named is not touched.

The kinds' logits get no temperature here: for less than .01 of RMSE that would bring every estimate below .95, where
policies begin to accept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from auscult.judge.masks.compact.answer import CENTRES, soft_labels
from auscult.judge.masks.compact.view import inputs, look
from auscult.nets.compact import KINDS, CompactNet, Mixing, Seen
from auscult.train.compact.objective import mean_of
from auscult.train.material import Sample

OFFSETS: Final = tuple(0.5 * step for step in range(2, -13, -1))
_BATCH: Final = 32
_LEAST_MASKS: Final = 20
_OFFSET: Final = (KINDS.index("merge"), KINDS.index("mixed"))
_ROUNDS: Final = 2

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Said:
    """What a network says of masks, and what is true.

    Attributes:
        kinds: Logits of ``KINDS``, (n, 6).
        means: Mean of each kind's histogram, (n, 6).
        truth: True IoU, (n,).
        kind: Index of the true kind, (n,).
        weights: Of each mask, (n,).
    """

    kinds: Floats
    means: Floats
    truth: Floats
    kind: NDArray[np.intp]
    weights: Floats


def fit_mixing(net: CompactNet, samples: Sequence[Sample]) -> Mixing:
    """Fit everything; every source has the same weight, and within it every photograph or sequence.

    Args:
        net: The trained network, as it shall judge.
        samples: Masks of the calibration part; those on no object are left out, since their IoU is not mixed.
    """
    used = [sample for sample in samples if sample.defect != "arbitrary" and sample.mask.any()]
    return fitted(said(net, used))


def fitted(found: Said) -> Mixing:
    """Fit everything to what a network said."""
    kept, usual = np.ones(len(KINDS)), np.full((len(KINDS), len(CENTRES)), 1 / len(CENTRES))
    means = found.means.copy()
    for kind in range(len(KINDS)):
        own = found.kind == kind
        if np.count_nonzero(own) < _LEAST_MASKS:
            continue
        usual[kind], kept[kind], middle = _blend(found, own, kind)
        means[:, kind] = kept[kind] * means[:, kind] + (1 - kept[kind]) * middle
    offsets = np.zeros(len(KINDS))
    for at in _OFFSET * _ROUNDS:
        scores = found.kinds + offsets
        offsets[at] += least(scores, means, at=at, truth=found.truth, weights=found.weights)
    return Mixing(
        offsets=tuple(float(value) for value in offsets),
        kept=tuple(float(value) for value in kept),
        usual=tuple(tuple(float(value) for value in row) for row in usual),
    )


def _blend(found: Said, own: NDArray[np.bool_], kind: int) -> tuple[Floats, float, float]:
    """The usual histogram of a kind, how much of its own it keeps, and the mean of the usual one."""
    weights = found.weights[own] / found.weights[own].sum()
    usual = weights @ soft_labels(found.truth[own])
    middle = float(mean_of(torch.from_numpy(np.log(usual + 1e-9)[None]).float()).item())
    off = found.means[own, kind] - middle
    spread = float((weights * off**2).sum())
    share = float((weights * off * (found.truth[own] - middle)).sum()) / spread if spread > 1e-9 else 1.0
    return np.asarray(usual / usual.sum()), float(np.clip(share, 0.0, 1.0)), middle


def least(kinds: Floats, means: Floats, *, at: int, truth: Floats, weights: Floats) -> float:
    """The offset of one kind of least weighted squared error.

    Args:
        kinds: Logits of ``KINDS``, (n, 6).
        means: Mean of each kind's histogram, (n, 6).
        at: Which kind's logit it is added to.
        truth: True IoU, (n,).
        weights: Of each mask, (n,).
    """

    def error(offset: float) -> float:
        scores = kinds.copy()
        scores[:, at] += offset
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        found = (shares * means).sum(axis=1) / shares.sum(axis=1)
        return float((weights * (found - truth) ** 2).sum() / weights.sum())

    return min(OFFSETS, key=error)


def said(net: CompactNet, samples: Sequence[Sample]) -> Said:
    """What a network says of masks."""
    kinds: list[Floats] = []
    means: list[Floats] = []
    for start in range(0, len(samples), _BATCH):
        part = samples[start : start + _BATCH]
        given = inputs([look(sample.frame, sample.mask) for sample in part])
        with torch.no_grad():
            found = net(Seen(**{name: torch.from_numpy(value) for name, value in given.items()}))
        kinds.append(found["kinds"].double().numpy())
        flat = found["experts"].reshape(-1, found["experts"].shape[-1])
        means.append(mean_of(flat).double().numpy().reshape(-1, len(KINDS)))
    named = [KINDS.index(sample.defect) if sample.defect in KINDS else len(KINDS) - 1 for sample in samples]
    return Said(
        kinds=np.concatenate(kinds),
        means=np.concatenate(means),
        truth=np.array([sample.iou for sample in samples]),
        kind=np.array(named),
        weights=_even(samples),
    )


def _even(samples: Sequence[Sample]) -> Floats:
    """A weight for each mask, so that sources weigh the same, and within a source its photographs or sequences."""
    _, member, sizes = np.unique(
        [f"{sample.source}/{sample.cluster}" for sample in samples], return_inverse=True, return_counts=True
    )
    sources = [sample.source for sample in samples]
    clusters = {source: len({one.cluster for one in samples if one.source == source}) for source in set(sources)}
    return np.asarray(1.0 / sizes[member] / np.array([clusters[source] for source in sources]), dtype=np.float64)
