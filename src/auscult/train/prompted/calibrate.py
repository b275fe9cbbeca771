"""Fits what the judge's few numbers mean, on calibration masks of several families.

Each family counts alike; flawless masks count a quarter of one, and made masks too for the estimate itself.

The networks stay as they are; a slope that is linear in their features is learned beside the five shared numbers, as
strongly held as whole clusters that are left out ask for. So 200 masks are enough and seconds do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from auscult.errors import UsageError
from auscult.judge.masks.compact.network import KnownFeatures, described, distances_from, scale_of
from auscult.judge.masks.prompted import calibration as numbers
from auscult.judge.masks.prompted.calibration import CENTRES, Bent, Calibration, Head
from auscult.judge.masks.prompted.network import BINS, TYPES
from auscult.judge.masks.prompted.verdict import Estimates, estimates_of, novelty_from
from auscult.judge.masks.shared import softmax
from auscult.rng import generator
from auscult.score.stats import adapted_to_set
from auscult.train.prompted.loop import soft_labels
from auscult.train.prompted.outputs import FLAWLESS, MADE, OWN, Outputs
from auscult.types import Doubles

LEAST_MASKS: Final = 20
"""A family with fewer masks gets no weight."""
COVERED: Final = 0.9
LEAST_COVERED: Final = 0.75
"""Coverage of the worst family that was left out."""
PRECISE: Final = 0.8
FLAWLESS_COUNTS: Final = 0.25
"""What flawless masks count beside a family of real ones; chosen on the part dev from 1 and .25."""
MADE_COUNTS: Final = 0.25
"""What made masks count for the estimate, chosen likewise; for the ends of its interval they count whole."""

_RIDGE: Final = 0.02
_UNDECIDED: Final = 0.9
"""The share of calibration masks whose histograms are too narrow to be flagged for it."""
_TILTS: Final = (-8, -4, 0, 4, 8, 14)
"""Sets of masks are drawn with weights exp(tilt IoU), from bad ones to good ones."""
_DRAWN: Final = 150
_ALPHAS: Final = tuple(np.round(np.arange(0.05, 0.0, -0.0025), 4))
_MIXINGS: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def fit(
    outputs: Outputs, weights: Sequence[str], classifier: str, *, log: Callable[[str], None] = lambda _: None
) -> Calibration:
    """Fit all numbers of a calibration; ``weights`` and ``classifier`` are the hashes of the networks' files."""
    counted = weights_of(outputs)
    shares = softmax(outputs.ious).mean(axis=1)
    bent = fit_bent(shares, outputs, counted)
    known = _known(outputs, counted)
    spread = _scale(numbers.spread_of(numbers.bend(shares, outputs.size, bent)), counted)
    temperature, classifier_temperature, offsets = fit_types(outputs)
    prior = soft(outputs.iou)
    calibration = Calibration(
        weights=tuple(weights),
        classifier=classifier,
        bent=bent,
        tails=(0.05, 0.05),
        temperature=temperature,
        classifier_temperature=classifier_temperature,
        offsets=offsets,
        prior=(prior * counted[:, None]).sum(axis=0),
        spread=spread,
        known=known,
        mixing=0.0,
        counts={name: _count(outputs, name) for name in families_of(outputs)},
        shift=0.0,
    )
    calibration = replace(calibration, mixing=_fit_mixing(calibration, outputs, counted))
    calibration = replace(calibration, tails=fit_tails(calibration, outputs, counted))
    calibration = replace(calibration, shift=_fit_shift(calibration, outputs))
    log(f"bent {bent}; mixing {calibration.mixing}; tails {calibration.tails}; shift {calibration.shift:.3f}")
    return calibration


def families_of(outputs: Outputs) -> list[str]:
    """Families with enough masks to count."""
    names, counts = np.unique(outputs.family, return_counts=True)
    return [str(name) for name, count in zip(names, counts, strict=True) if count >= LEAST_MASKS]


def weights_of(outputs: Outputs) -> Doubles:
    """Weights that sum to 1 and give each family the same share; families with too few masks have none.

    Flawless masks count a quarter of a family: few of the masks that are audited are flawless, and estimates of real
    models' masks are too high where they count as much as a model.
    """
    names = families_of(outputs)
    if len(names) < 2:
        raise UsageError(
            f"there are {len(names)} families of at least {LEAST_MASKS} calibration masks", expected="at least two"
        )
    weights = np.zeros(len(outputs))
    for name in names:
        part = FLAWLESS_COUNTS if name == FLAWLESS else 1.0
        weights[outputs.family == name] = part / np.count_nonzero(outputs.family == name)
    return np.asarray(weights / weights.sum())


def estimates(outputs: Outputs, calibration: Calibration) -> Estimates:
    """Estimates for the masks by a judge with this calibration."""
    return estimates_of(
        outputs.ious,
        outputs.types,
        outputs.classifier_log_probs,
        features=outputs.features,
        size=outputs.size,
        calibration=calibration,
    )


def fit_bent(shares: Doubles, outputs: Outputs, counted: Doubles) -> Bent:
    """Bending of the mean histogram, by maximum likelihood with a small ridge penalty.

    The slope by size is that of real models' masks alone, without our own network's: models draw small things worse,
    while made and flawless masks are as good at any size and would hide it. Made masks count a quarter for the rest.
    """
    by_models = np.where(np.isin(outputs.family, [FLAWLESS, MADE, OWN]), 0.0, counted)
    by_size = _bending(shares, outputs, by_models).by_size if by_models.any() else 0.0
    return _bending(shares, outputs, np.where(outputs.family == MADE, MADE_COUNTS, 1.0) * counted, by_size=by_size)


def _bending(shares: Doubles, outputs: Outputs, counted: Doubles, *, by_size: float | None = None) -> Bent:
    """The most likely bending of weighted masks, its slope by size given or fitted."""
    logs = torch.from_numpy(np.log(np.maximum(shares, 1e-6)))
    truth, weight = torch.from_numpy(soft(outputs.iou)), torch.from_numpy(counted / counted.sum())
    centres, size = torch.from_numpy(CENTRES), torch.from_numpy(outputs.size)
    values = torch.zeros(4, dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        slope = values[1] + (values[3] if by_size is None else by_size) * size
        scores = torch.log_softmax(torch.exp(values[0]) * logs + slope[:, None] * centres + values[2] * centres**2, 1)
        return -(weight * (truth * scores).sum(dim=1)).sum() + _RIDGE * 0.01 * (values**2).sum()

    minimise(loss, [values])
    sharp, slope, bend, fitted_by_size = values.detach().tolist()
    return Bent(
        sharp=float(np.exp(sharp)), slope=slope, bend=bend, by_size=fitted_by_size if by_size is None else by_size
    )


def fit_types(outputs: Outputs) -> tuple[float, float, tuple[float, ...]]:
    """Temperature, the defect classifier's and offsets; types count alike, the flawless three times."""
    typed = np.isin(outputs.defect, TYPES)
    labels = np.array([TYPES.index(str(name)) for name in outputs.defect[typed]], dtype=np.int64)
    counts = np.bincount(labels, minlength=len(TYPES))
    share = np.where(counts > 0, 1.0 / np.maximum(counts, 1), 0.0)
    share[0] *= 3.0
    scores = torch.from_numpy(numbers.log_shares(list(outputs.types[typed].transpose(1, 0, 2))))
    weight, truth = torch.from_numpy(share[labels] / share[labels].sum()), torch.from_numpy(labels)
    classifier_log_probs = torch.from_numpy(outputs.classifier_log_probs[typed])
    temperatures = torch.tensor([0.0, -1.0], dtype=torch.float64, requires_grad=True)  # logs of both
    offsets = torch.zeros(len(TYPES), dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        joint = torch.exp(temperatures[0]) * scores + torch.exp(temperatures[1]) * classifier_log_probs + offsets
        entropy = functional.cross_entropy(joint, truth, reduction="none")
        return (weight * entropy).sum() + 1e-3 * (offsets**2).sum()

    minimise(loss, [temperatures, offsets])
    temperature, classifier_temperature = torch.exp(temperatures).detach().tolist()
    return temperature, classifier_temperature, tuple(offsets.detach().tolist())


def fit_tails(calibration: Calibration, outputs: Outputs, counted: Doubles) -> tuple[float, float]:
    """Levels of the interval's ends: families left out are covered in 90 % on the mean, the worst in 75 %."""
    below, above = levels_of(calibration, outputs)
    names = [name for name in families_of(outputs) if name not in {FLAWLESS, MADE}]
    for alpha in _ALPHAS:
        coverages = [_left_out((below, above), outputs, counted, alpha=alpha, family=name) for name in names]
        if float(np.mean(coverages)) >= COVERED and min(coverages) >= LEAST_COVERED:
            break
    return tails_at(below, above, counted, alpha=float(alpha))


def left_out_coverage(calibration: Calibration, outputs: Outputs) -> dict[str, float]:
    """Coverage of each family by ends that were fitted on the others."""
    counted = weights_of(outputs)
    below, above = levels_of(calibration, outputs)
    alpha = min(_ALPHAS, key=lambda level: abs(tails_at(below, above, counted, alpha=level)[0] - calibration.tails[0]))
    return {
        name: _left_out((below, above), outputs, counted, alpha=alpha, family=name) for name in families_of(outputs)
    }


def accept_threshold(good: Doubles, outputs: Outputs, *, precise: float = PRECISE) -> float:
    """The least probability of IoU >= .8 at which accepted masks are as often good as wanted, in each kind of picture.

    ``good`` is that of each mask, (n,). Every family counts alike, but made masks and our own network's are left out.
    """
    real = ~np.isin(outputs.family, [MADE, OWN])
    names = [name for name in families_of(outputs) if name not in {MADE, OWN}]
    counted = np.zeros(len(outputs))
    for name in names:
        counted[outputs.family == name] = 1.0 / np.count_nonzero(outputs.family == name)
    video = outputs.source == "davis"
    true = outputs.iou >= numbers.GOOD
    for level in np.arange(0.3, 0.96, 0.01):
        accepted = real & (good >= level) & (counted > 0)
        if not accepted.any():
            break
        kinds = [accepted, accepted & video, accepted & ~video]
        shares = [_share(true[kind], counted[kind]) for kind in kinds]
        if shares[0] >= precise and min(shares[1:]) >= precise - 0.05:
            return round(float(level), 2)
    return 0.96


def _share(true: NDArray[np.bool_], weight: Doubles) -> float:
    return float((true * weight).sum() / weight.sum()) if weight.sum() else 1.0


def soft(ious: Doubles) -> Doubles:
    """Soft labels of IoUs, (n,) -> (n, 25), as in training."""
    return np.asarray(soft_labels(torch.from_numpy(np.asarray(ious, dtype=np.float64))), dtype=np.float64)


def _bent(calibration: Calibration, outputs: Outputs) -> Doubles:
    bent = numbers.histograms(outputs.ious, outputs.features, size=outputs.size, calibration=calibration)
    novelty = novelty_from(outputs.ious, outputs.features, bent=bent, calibration=calibration)
    return numbers.mixed(bent, novelty, calibration)


def levels_of(calibration: Calibration, outputs: Outputs) -> tuple[Doubles, Doubles]:
    """Where the truth lies in each histogram: the level that the lower end may have at most, and the upper at least."""
    bent = _bent(calibration, outputs)
    # an interval that reaches the last or the first bin takes all of it
    high = np.where(outputs.iou >= 1 - 1 / BINS, 1 - 1 / BINS, outputs.iou)
    low = np.where(outputs.iou <= 1 / BINS, 1 / BINS, outputs.iou)
    return _reached(bent, low), _reached(bent, high)


def _reached(shares: Doubles, values: Doubles) -> Doubles:
    """The share of each histogram that lies below a value."""
    part = np.clip(values[:, None] * BINS - np.arange(BINS), 0.0, 1.0)
    return np.asarray((shares * part).sum(axis=1), dtype=np.float64)


def tails_at(below: Doubles, above: Doubles, counted: Doubles, *, alpha: float) -> tuple[float, float]:
    """Levels of both ends that leave out a share ``alpha`` of the weight on either side."""
    low = _quantile(below, counted, alpha)
    high = _quantile(1.0 - above, counted, alpha)
    return float(np.clip(low, 1e-4, 0.45)), float(np.clip(high, 1e-4, 0.45))


def _left_out(
    levels: tuple[Doubles, Doubles], outputs: Outputs, counted: Doubles, *, alpha: float, family: str
) -> float:
    below, above = levels
    inside = outputs.family == family
    low, high = tails_at(below, above, np.where(inside, 0.0, counted), alpha=alpha)
    return float(np.mean((below[inside] >= low) & (1.0 - above[inside] >= high)))


def _quantile(values: Doubles, weight: Doubles, level: float) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(reached, level)), len(values) - 1)])


def _fit_mixing(calibration: Calibration, outputs: Outputs, counted: Doubles) -> float:
    truth = soft(outputs.iou)

    def loss(mixing: float) -> float:
        bent = _bent(replace(calibration, mixing=mixing), outputs)
        return float(-(counted * (truth * np.log(np.maximum(bent, 1e-9))).sum(axis=1)).sum())

    return min(_MIXINGS, key=loss)


def _fit_shift(calibration: Calibration, outputs: Outputs) -> float:
    """Standard deviation of the offset, in logits, that makes the mean probability of a set of real masks right.

    A set is drawn from one family, better or worse than that is as a whole, and its probabilities are adapted to it.
    """
    bent = _bent(calibration, outputs)
    good, fair = numbers.share_from(bent, numbers.GOOD), numbers.share_from(bent, numbers.BAD)
    offsets = []
    for name in sorted(set(families_of(outputs)) - {FLAWLESS, MADE}):
        family = np.flatnonzero(outputs.family == name)
        for tilt in _TILTS:
            weights = np.exp(tilt * outputs.iou[family])
            drawn = generator(0, "shift", name, tilt).choice(family, _DRAWN, p=weights / weights.sum())
            chances, _ = adapted_to_set(good[drawn], fair[drawn], prior=numbers.prior_shares(calibration))
            offsets.append(_offset(chances, outputs.iou[drawn] >= numbers.GOOD))
    return float(np.sqrt(np.mean(np.square(offsets)))) if offsets else 0.5


def _offset(chances: Doubles, true: NDArray[np.bool_]) -> float:
    """What has to be added to the logits of some probabilities for their mean to be the share of true ones."""
    share = float(np.clip(true.mean(), 0.5 / len(true), 1 - 0.5 / len(true)))
    inside = np.clip(chances, 1e-3, 1 - 1e-3)
    logits = np.log(inside / (1 - inside))
    steps = np.linspace(-6, 6, 241)
    means = np.array([np.mean(1 / (1 + np.exp(-logits - step))) for step in steps])
    return float(steps[np.abs(means - share).argmin()])


def _known(outputs: Outputs, counted: Doubles) -> KnownFeatures:
    """The features of calibration masks; distances are measured from photographs that the covariance has not seen."""
    features = outputs.features[:, 0].astype(np.float64)
    names = np.unique(outputs.cluster)
    half = np.isin(outputs.cluster, names[::2])
    distances = np.zeros(len(features))
    for inside in (half, ~half):
        centre, precision = described(features[~inside], counted[~inside] + 1e-12)
        distances[inside] = distances_from(features[inside], centre, precision)
    centre, precision = described(features, counted + 1e-12)
    return KnownFeatures(centre=centre, precision=precision, distances=scale_of(distances, counted + 1e-12))


def _scale(values: Doubles, counted: Doubles) -> tuple[float, float, float]:
    median, high = _quantile(values, counted, 0.5), _quantile(values, counted, _UNDECIDED)
    high = max(high, median + 1e-3)
    return median, high, 2 * high - median


def _count(outputs: Outputs, family: str) -> tuple[int, int]:
    inside = outputs.family == family
    return int(np.count_nonzero(inside)), len(np.unique(outputs.cluster[inside]))


def minimise(loss: Callable[[], Tensor], values: Sequence[Tensor]) -> None:
    """Minimise a smooth loss over some tensors, in place."""
    optimiser = torch.optim.LBFGS(list(values), max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimiser.zero_grad()
        result = loss()
        result.backward()
        return float(result.detach())

    optimiser.step(closure)


def summary(calibration: Calibration, outputs: Outputs) -> Mapping[str, float]:
    """Numbers of a calibration on the masks that it was fitted on, for the log."""
    predicted = estimates(outputs, calibration)
    covered = (predicted.low <= outputs.iou) & (outputs.iou <= predicted.high)
    return {
        "coverage": float(np.average(covered, weights=weights_of(outputs))),
        "width": float(np.average(predicted.high - predicted.low, weights=weights_of(outputs))),
        "rmse": float(np.sqrt(np.average((predicted.iou - outputs.iou) ** 2, weights=weights_of(outputs)))),
    }


LEAST_OWN_MASKS: Final = 60
LEAST_CLUSTERS: Final = 10
FOLDS: Final = 5
RIDGES: Final = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ridge penalties that pull the last layer towards zero; the strongest keeps it almost there."""
_HELD: Final = 0.01


def refit(
    outputs: Outputs, shipped: Calibration, *, seed: int = 0, log: Callable[[str], None] = lambda _: None
) -> Calibration:
    """Fit to masks of a user's own; ``log`` gets the RMSE on photographs that are left out, before and after."""
    clusters = np.unique(outputs.cluster)
    if len(outputs) < LEAST_OWN_MASKS or len(clusters) < LEAST_CLUSTERS:
        raise UsageError(
            f"there are {len(outputs)} masks with truth on {len(clusters)} photographs or clips",
            expected=f"at least {LEAST_OWN_MASKS} masks on {LEAST_CLUSTERS}",
            hint="name the truth of more masks; 200 are a good number",
        )
    order = generator(seed, "prompted", "refit").permutation(len(clusters))
    fold = dict(zip(clusters[order].tolist(), (np.arange(len(clusters)) % FOLDS).tolist(), strict=True))
    folds = np.array([fold[str(name)] for name in outputs.cluster])
    ridge = min(RIDGES, key=lambda value: _left_out_loss(outputs, shipped, folds=folds, ridge=value))
    levels = [np.zeros(len(outputs)), np.zeros(len(outputs))]
    estimated = np.zeros(len(outputs))
    for number in range(FOLDS):
        inside = folds == number
        if inside.any():
            calibration = fitted(outputs.where(~inside), shipped, ridge=ridge)
            estimated[inside] = estimates(outputs.where(inside), calibration).iou
            for level, value in zip(levels, levels_of(calibration, outputs.where(inside)), strict=True):
                level[inside] = value
    before, after = (
        float(np.sqrt(np.mean((ious - outputs.iou) ** 2))) for ious in (estimates(outputs, shipped).iou, estimated)
    )
    log(
        f"RMSE of the IoU on photographs or clips left out, {len(clusters)} in all: {before:.3f} as shipped, "
        f"{after:.3f} fitted"
    )
    if after >= before:
        log("The fit is no better on them: keep the judge as it ships, or name the truth of more masks.")
    tails = tails_at(levels[0], levels[1], np.full(len(outputs), 1 / len(outputs)), alpha=(1 - COVERED) / 2)
    return replace(fitted(outputs, shipped, ridge=ridge), tails=tails)


def fitted(outputs: Outputs, shipped: Calibration, *, ridge: float) -> Calibration:
    """Bending and last layer by maximum likelihood, held at the shipped ones."""
    logs = torch.from_numpy(np.log(np.maximum(softmax(outputs.ious).mean(axis=1), 1e-6)))
    flat = outputs.features.reshape(len(outputs), -1).astype(np.float64)
    centre = flat.mean(axis=0)
    spread = np.maximum(flat.std(axis=0), 1e-3)
    scaled = torch.from_numpy((flat - centre) / spread)
    truth, centres = torch.from_numpy(soft(outputs.iou)), torch.from_numpy(CENTRES)
    size = torch.from_numpy(outputs.size)
    start = shipped.bent
    values = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    weights = torch.zeros(flat.shape[1], dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        slope = start.slope + values[1] + (start.by_size + values[3]) * size + scaled @ weights
        tilt = slope[:, None] * centres + (start.bend + values[2]) * centres**2
        scores = torch.log_softmax(start.sharp * torch.exp(values[0]) * logs + tilt, dim=1)
        likelihood = (truth * scores).sum(dim=1).mean()
        return -likelihood + _HELD * (values**2).sum() / len(outputs) + ridge * (weights**2).sum()

    minimise(loss, [values, weights])
    sharp, slope, bend, by_size = values.detach().tolist()
    bent = Bent(
        sharp=start.sharp * float(np.exp(sharp)),
        slope=start.slope + slope,
        bend=start.bend + bend,
        by_size=start.by_size + by_size,
    )
    # as if one mask were the calibration's: where all are good there would be no share of bad ones to adapt
    prior = (soft(outputs.iou).sum(axis=0) + shipped.prior) / (len(outputs) + 1)
    head = Head(centre=centre, weights=weights.detach().numpy() / spread)
    return replace(shipped, bent=bent, head=head, prior=prior, mixing=0.0)


def _left_out_loss(outputs: Outputs, shipped: Calibration, *, folds: NDArray[np.intp], ridge: float) -> float:
    truth, total = soft(outputs.iou), 0.0
    for number in range(FOLDS):
        inside = folds == number
        if not inside.any() or inside.all():
            continue
        calibration = fitted(outputs.where(~inside), shipped, ridge=ridge)
        held_out = outputs.where(inside)
        shares = numbers.histograms(held_out.ious, held_out.features, size=held_out.size, calibration=calibration)
        total -= float((truth[inside] * np.log(np.maximum(shares, 1e-9))).sum())
    return total
