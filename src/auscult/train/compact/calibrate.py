"""Calibration of a trained network on the calibration split: temperatures, intervals, novelty.

Every photograph or sequence has the same weight, however many masks it brings. How far an interval reaches is the
quantile of the scores (``judge/masks/compact/interval``) whose coverage of photographs left out in turn is the level,
for each group of size and predicted defect that enough photographs have masks of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.judge.masks.compact.answer import (
    BINS,
    CENTRES,
    KINDS,
    NOTHING,
    bin_values,
    lowered,
    named,
    odds_of_nothing,
    probabilities,
    soft_labels,
)
from auscult.judge.masks.compact.calibration import Calibration
from auscult.judge.masks.compact.interval import ALL, LEVEL, groups_of, scores_of, spread_of, widths_of
from auscult.judge.masks.compact.novelty import FEATURES, Known, described, distances_from, scale_of
from auscult.outcome import Scored
from auscult.score.stats.conformal import clustered_quantile, conformal_quantile, left_out_coverage
from auscult.types import DEFECTS

Guard: TypeAlias = Literal["left_out", "conformal"]
Floats = NDArray[np.float64]

LEAST_CLUSTERS: Final = 12
"""Photographs that a group needs for a reach of its own."""
LEAST_MASKS: Final = 60
UNKNOWN: Final = -1
"""The kind of a real prediction, whose IoU is known and whose defect is not."""

_ARBITRARY: Final = KINDS.index("arbitrary")
_TEMPERATURES: Final = (0.2, 5.0)
_WIDENINGS: Final = tuple(step / 4 for step in range(2, 17))  # 0.5 at least: what is novel was hardly in calibration
_RIDGE: Final = 1e-4
_LEVELS: Final = tuple(LEVEL + step / 200 for step in range(20))
_FOLDS: Final = 20
_LEAST_IN_BAND: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """What the network gave for the masks of the calibration split, and what is true.

    Attributes:
        types: Logits of ``KINDS``, (n, 6).
        ious: Logits of the histogram, (n, 40).
        features: (n, 64).
        iou: True IoU, (n,), 0..1; 0 for ``arbitrary``.
        kind: True kind as an index of ``KINDS``, (n,), or ``UNKNOWN``.
        cluster: Photograph or sequence, (n,).
        area_px: Area of the mask in pixels of its frame, (n,).
    """

    types: NDArray[np.floating]
    ious: NDArray[np.floating]
    features: NDArray[np.floating]
    iou: Floats
    kind: NDArray[np.integer]
    cluster: NDArray[np.str_]
    area_px: Floats

    def __len__(self) -> int:
        return len(self.iou)


def calibrate(held: Held, *, weights: str, guard: Guard = "left_out") -> Calibration:
    """Fit everything that `calibration.json` holds.

    Args:
        held: Masks of photographs and sequences that no weight was trained on.
        weights: SHA-256 of the network's file, in hex (``OnnxNetwork.digest``).
        guard: How the reach makes up for few photographs. ``left_out``: it covers the level on photographs left out in
            turn. ``conformal``: it has the guarantee of ``conformal_quantile``, and wider intervals.

    Raises:
        InputError: An array has another length or shape, or numbers that are not finite, or fewer than two clusters.
    """
    _check(held)
    even = _even(held.cluster)
    on = _on_objects(held)
    labelled = on & (held.kind != UNKNOWN)
    five = held.types[labelled, :_ARBITRARY]
    temperature = _coldest(
        lambda value: _surprise(
            five, np.eye(_ARBITRARY)[held.kind[labelled]], temperature=value, weights=even[labelled]
        )
    )
    arbitrary = _odds(odds_of_nothing(held.types.astype(np.float64)), ~on, even)
    labels = soft_labels(held.iou[on])
    iou_temperature = _coldest(lambda value: _surprise(held.ious[on], labels, temperature=value, weights=even[on]))
    plain = probabilities(held.ious, 1.0)
    ends = _ends(plain[on], held.iou[on], even[on])
    kinds = named(held.types, temperature, arbitrary)
    plain = lowered(plain, kinds[:, _ARBITRARY])
    shares = lowered(probabilities(held.ious, iou_temperature), kinds[:, _ARBITRARY])
    known, novelty = _known(held, even)
    spread = spread_of(shares, ends, plain=plain)
    widening = _widening(lambda value: scores_of(spread, held.iou, widths_of(novelty, value)), novelty, held)
    scores = scores_of(spread, held.iou, widths_of(novelty, widening))
    reach, counts = _reaches(scores, held, said=kinds.argmax(axis=1), guard=guard)
    return Calibration(
        weights=weights,
        temperature=temperature,
        arbitrary=arbitrary,
        iou_temperature=iou_temperature,
        ends=ends,
        reach=reach,
        counts=counts,
        widening=widening,
        prior=_prior(held, even),
        known=known,
    )


def _check(held: Held) -> None:
    shapes = {"types": (len(KINDS),), "ious": (BINS,), "features": (FEATURES,), "iou": (), "area_px": ()}
    for name, shape in shapes.items():
        value = getattr(held, name)
        if value.shape != (len(held), *shape) or not np.isfinite(value).all():
            raise InputError(
                f"{name} has shape {value.shape}, or numbers that are not finite",
                expected=f"finite numbers of shape {(len(held), *shape)}",
            )
    if held.kind.shape != held.iou.shape or held.cluster.shape != held.iou.shape:
        raise InputError("kinds or clusters are not one per mask", expected=f"{len(held)} of each")
    if len(np.unique(held.cluster[_on_objects(held)])) < 2:
        raise InputError("the masks are of fewer than two photographs", expected="the calibration split")
    if ((held.iou < 0) | (held.iou > 1)).any() or ((held.kind < UNKNOWN) | (held.kind >= len(KINDS))).any():
        raise InputError("an IoU or a kind is out of its range", expected="0..1, and an index of KINDS or UNKNOWN")


def _on_objects(held: Held) -> NDArray[np.bool_]:
    return np.asarray(held.kind != _ARBITRARY)


def _even(cluster: NDArray[np.str_]) -> Floats:
    """A weight for each mask, (n,), so that clusters weigh the same; mean 1."""
    _, member, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    weights = 1.0 / sizes[member]
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def _surprise(logits: NDArray[np.floating], labels: Floats, *, temperature: float, weights: Floats) -> float:
    """Weighted mean cross entropy of labels under softened logits."""
    if not len(logits):
        return 0.0
    chances = np.maximum(probabilities(logits, temperature), 1e-12)
    return float(-(weights * (labels * np.log(chances)).sum(axis=1)).sum() / weights.sum())


def _odds(odds: Floats, nothing: NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Slope and offset of the log-odds of a mask on no object: logistic regression, with ``NOTHING`` of such masks."""
    if nothing.all() or not nothing.any():
        return 1.0, float(np.log(NOTHING))
    share = np.where(nothing, NOTHING / weights[nothing].sum(), (1 - NOTHING) / weights[~nothing].sum())
    used = weights * share
    centred = np.stack([np.clip(odds, -30.0, 30.0), np.ones_like(odds)], axis=1)
    found = np.array([0.5, np.log(NOTHING)])
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-np.clip(centred @ found, -30.0, 30.0)))
        slope = centred.T @ (used * (nothing - chance)) - _RIDGE * found * (1.0, 0.0)
        bend = (centred * (used * chance * (1 - chance))[:, None]).T @ centred + np.diag([_RIDGE, 1e-9])
        found = found + np.clip(np.linalg.solve(bend, slope), -1.0, 1.0)
    return max(float(found[0]), 0.0), float(found[1])


def _coldest(surprise: Callable[[float], float]) -> float:
    """The temperature of least surprise, by golden section on its logarithm."""
    low, high = (float(np.log(end)) for end in _TEMPERATURES)
    ratio = (np.sqrt(5.0) - 1) / 2
    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if surprise(float(np.exp(left))) <= surprise(float(np.exp(right))):
            high = right
        else:
            low = left
    return float(np.exp((low + high) / 2))


def _ends(shares: Floats, ious: Floats, weights: Floats) -> tuple[float, float]:
    """What the outermost bins stand for: least squares of the mean, within the halves of the bins they were given."""
    first, last = float(CENTRES[0]), float(CENTRES[-1])
    low, high = (0.0, first), (last, 1.0)
    inner = shares[:, 1:-1] @ bin_values((first, last))[1:-1]
    for _ in range(20):
        first = _solved(shares[:, 0], ious - inner - shares[:, -1] * last, weights=weights, limits=low)
        last = _solved(shares[:, -1], ious - inner - shares[:, 0] * first, weights=weights, limits=high)
    return first, last


def _solved(share: Floats, rest: Floats, *, weights: Floats, limits: tuple[float, float]) -> float:
    squared = float((weights * share**2).sum())
    if squared < 1e-9:
        return sum(limits) / 2
    return float(np.clip((weights * share * rest).sum() / squared, *limits))


def _known(held: Held, even: Floats) -> tuple[Known, Floats]:
    """What the features are like, and the novelty of each mask as if its photograph were new, (n,).

    Masks on no object are left out of the former: to be one of them is a finding, not novelty.
    """
    used = _on_objects(held)
    features = held.features.astype(np.float64)
    names, member = np.unique(held.cluster, return_inverse=True)
    fold = member % min(_FOLDS, len(names))
    distances = np.zeros(len(held))
    for number in range(int(fold.max()) + 1):
        rest = used & (fold != number)
        source = rest if rest.any() else used
        centre, precision = described(features[source], even[source])
        distances[fold == number] = distances_from(features[fold == number], centre, precision)
    centre, precision = described(features[used], even[used])
    known = Known(centre=centre, precision=precision, distances=scale_of(distances[used], even[used]))
    return known, np.interp(distances, known.distances, (0.0, 0.5, 1.0))


def _widening(scored: Callable[[float], Floats], novelty: Floats, held: Held) -> float:
    """The widening under which masks of all degrees of novelty are covered most alike."""
    used = _on_objects(held)
    bands = [used & (novelty <= 0), used & (novelty > 0) & (novelty <= 0.5), used & (novelty > 0.5)]
    bands = [band for band in bands if len(np.unique(held.cluster[band])) >= _LEAST_IN_BAND]
    even = _even(held.cluster)

    def unevenness(widening: float) -> float:
        scores = scored(widening)
        reach = _value(clustered_quantile(scores[used], held.cluster[used].tolist(), level=LEVEL))
        covered = [float(np.average(scores[band] <= reach, weights=even[band])) for band in bands]
        return max((abs(share - LEVEL) for share in covered), default=0.0)

    return min(_WIDENINGS, key=lambda value: (round(unevenness(value), 3), value))


def _reaches(
    scores: Floats, held: Held, *, said: NDArray[np.intp], guard: Guard
) -> tuple[dict[str, float], dict[str, tuple[int, int]]]:
    """The reach and its photographs and masks for each group that has enough of them; ``all`` always has.

    Masks on no object belong to the groups predicted ``full_neg`` only: elsewhere they are mistakes of the kind, which
    the probabilities tell, and their IoU of 0 would stretch the interval of every good mask.
    """
    on_objects = _on_objects(held)
    members: dict[str, list[int]] = {}
    for at in range(len(held)):
        defect = DEFECTS[int(said[at])]
        for group in groups_of(float(held.area_px[at]), defect):
            if on_objects[at] or (defect == "full_neg" and group != ALL):
                members.setdefault(group, []).append(at)
    reach: dict[str, float] = {}
    counts: dict[str, tuple[int, int]] = {}
    for group in sorted(members, key=lambda name: (name != ALL, " " in name, name)):
        rows = members[group]
        clusters = held.cluster[rows].tolist()
        size = len(set(clusters)), len(rows)
        if group == ALL or (size[0] >= LEAST_CLUSTERS and size[1] >= LEAST_MASKS):
            reach[group], counts[group] = _reach(scores[rows], clusters, guard), size
    return reach, counts


def _reach(scores: Floats, clusters: list[str], guard: Guard) -> float:
    if guard == "conformal":
        found = conformal_quantile(scores, clusters, level=LEVEL)
        return float(scores.max()) if not isinstance(found, Scored) else found.value
    level = next(
        (level for level in _LEVELS if _value(left_out_coverage(scores, clusters, level=level)) >= LEVEL), _LEVELS[-1]
    )
    return _value(clustered_quantile(scores, clusters, level=level))


def _value(found: object) -> float:
    if not isinstance(found, Scored):
        raise InputError(f"the calibration split is too small: {found}", expected="two photographs or more")
    return float(found.value)


def _prior(held: Held, even: Floats) -> tuple[float, float, float]:
    used = _on_objects(held)
    iou, weights = held.iou[used], even[used]
    order = np.argsort(iou, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    tail = (1 - LEVEL) / 2
    low, high = (float(iou[order][min(int(np.searchsorted(reached, at)), len(iou) - 1)]) for at in (tail, 1 - tail))
    mean = float(np.average(iou, weights=weights))
    return mean, min(low, mean), max(high, mean)
