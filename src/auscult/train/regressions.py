"""The regressions behind `masks.cues.v1`, fitted with scikit-learn (extra ``train``).

Every pair of source and defect weighs the same, so that neither the many COCO objects nor the frequent defects decide
alone; ``full_neg`` weighs a twentieth, because cues that cannot see identity would else call good masks wrong.
Masks on no object have a class of their own, and the greatest weight that calls no more perfect calibration masks of
photographs wrong than a fit without them. Real masks
have a known IoU but no named defect: they enter each defect's IoU regression with the probability that the fitted
classifier gives that defect. Drawn pictures, at a quarter of the weight, enter the classifier only: they keep it from
taking any clean outline for a good mask, and their IoUs are no photograph's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.judge.masks.cues.model import (
    ARBITRARY,
    CLASSES,
    JUDGED,
    Coefficients,
    basis,
    distance,
    mixture,
    named,
    probabilities,
    standardised,
)
from auscult.train.table import Table
from auscult.types import DEFECTS

KNOTS: Final = (0.2, 0.5, 0.8)
INVERSE_PENALTY: Final = 0.01
RIDGE_PENALTY: Final = 100.0
REAL_WEIGHT: Final = 0.3
FULL_NEG_WEIGHT: Final = 0.05
ARBITRARY_WEIGHT: Final = 0.015
DRAWN_WEIGHT: Final = 0.25
LEVEL: Final = 0.9
_CLASS_WEIGHTS: Final = {"full_neg": FULL_NEG_WEIGHT, ARBITRARY: ARBITRARY_WEIGHT}
_LEAST_CALIBRATION: Final = 60
_SHRINK: Final = 0.1

Array = NDArray[np.float64]


def fitted(table: Table, *, calibration: Table) -> Coefficients:
    """Fit all coefficients.

    Args:
        table: Made and real masks of photographs and frames for fitting, and made masks of drawn pictures.
        calibration: Masks of other photographs and sequences, for the intervals and the scale of novelty.

    Raises:
        UsageError: The extra ``train`` is not installed.
    """
    told = table.where(table.source != "real")
    real = table.where(table.source == "real")
    made = told.where((told.source != "drawn") & (told.defect != ARBITRARY))
    start = _scales(made.cues)
    with_defects = replace(start, defects=_classifier(basis(told.cues, start), told.defect, _balanced(told)))
    with_iou = replace(with_defects, iou=_ious(with_defects, made, real=real))
    with_intervals = replace(with_iou, reach=_reach(with_iou, calibration), prior=_prior(calibration))
    return _with_novelty(with_intervals, made.cues, calibration.cues[calibration.defect != ARBITRARY])


def _sklearn() -> tuple[Any, Any]:
    try:
        from sklearn.linear_model import LogisticRegression, Ridge
    except ImportError as error:
        raise UsageError(
            "fitting needs scikit-learn, which is not installed",
            hint="install the extra `train`: pip install '.[train]' in a clone",
        ) from error
    return LogisticRegression, Ridge


def _scales(values: Array) -> Coefficients:
    mean, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-3)
    count = values.shape[1]
    return Coefficients(
        mean=mean,
        spread=spread,
        knots=np.quantile((values - mean) / spread, KNOTS, axis=0),
        defects=np.zeros((len(CLASSES), 1)),
        iou=np.zeros((len(JUDGED), 1)),
        reach={"any": (0.0, 0.0)},
        prior=(0.0, 0.0, 1.0),
        precision=np.eye(count),
        distances=(0.0, 1.0, 2.0),
    )


def _balanced(table: Table) -> Array:
    weights = np.zeros(len(table))
    for source in np.unique(table.source):
        share = DRAWN_WEIGHT if source == "drawn" else 1.0
        for defect in CLASSES:
            members = (table.source == source) & (table.defect == defect)
            if members.any():
                weights[members] = share * _CLASS_WEIGHTS.get(defect, 1.0) / members.sum()
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def _classifier(based: Array, labels: NDArray[np.str_], weights: Array) -> Array:
    logistic, _ = _sklearn()
    model = logistic(C=INVERSE_PENALTY, max_iter=1000, tol=1e-5)
    model.fit(based[:, 1:], labels, sample_weight=weights)
    rows = {name: at for at, name in enumerate(model.classes_)}
    found = np.zeros((len(CLASSES), based.shape[1]))
    for at, name in enumerate(CLASSES):
        if name in rows:
            found[at, 0] = model.intercept_[rows[name]]
            found[at, 1:] = model.coef_[rows[name]]
        else:
            found[at, 0] = -50.0  # never seen, so never said
    return found


def _ious(coefficients: Coefficients, made: Table, *, real: Table) -> Array:
    _, ridge = _sklearn()
    weights = _balanced(made)
    judged = np.isin(made.defect, JUDGED)
    based_made, based_real = basis(made.cues, coefficients), basis(real.cues, coefficients)
    probs_made = probabilities(based_made, coefficients)
    probs_real = probabilities(based_real, coefficients)
    scale = REAL_WEIGHT * judged.sum() / max(len(real), 1)
    based = np.vstack([based_made[judged], based_real])[:, 1:]
    truth = np.concatenate([made.iou[judged], real.iou])
    found = np.zeros((len(JUDGED), based.shape[1] + 1))
    for at, defect in enumerate(JUDGED):
        # half by truth, half by what the classifier says: at use its mistakes are mixed in too
        share = 0.5 * (made.defect[judged] == defect) + 0.5 * probs_made[judged, at]
        model = ridge(alpha=RIDGE_PENALTY)
        model.fit(based, truth, sample_weight=np.concatenate([weights[judged] * share, scale * probs_real[:, at]]))
        found[at, 0], found[at, 1:] = model.intercept_, model.coef_
    return found


def _reach(coefficients: Coefficients, calibration: Table) -> dict[str, tuple[float, float]]:
    """Conformal residual quantiles by predicted defect, in units of the mixture's spread."""
    known = _on_objects(calibration)
    based = basis(known.cues, coefficients)
    probs = probabilities(based, coefficients)
    mean, spread = mixture(based, probs, coefficients)
    residual = (known.iou - mean) / spread
    said = np.array(DEFECTS)[named(probs).argmax(axis=1)]
    found = {"any": _quantiles(residual)}
    for defect in JUDGED:
        members = said == defect
        if members.sum() >= _LEAST_CALIBRATION:
            found[defect] = _quantiles(residual[members])
    return found


def _on_objects(table: Table) -> Table:
    return table.where(~np.isin(table.defect, ("full_neg", ARBITRARY)))


def _prior(calibration: Table) -> tuple[float, float, float]:
    iou = _on_objects(calibration).iou
    tail = (1 - LEVEL) / 2
    return float(iou.mean()), float(np.quantile(iou, tail)), float(np.quantile(iou, 1 - tail))


def _quantiles(residual: Array) -> tuple[float, float]:
    tail = (1 - LEVEL) / 2
    upper = min(1.0, (1 - tail) * (len(residual) + 1) / len(residual))
    below, above = np.quantile(-residual, upper), np.quantile(residual, upper)
    return max(0.0, float(below)), max(0.0, float(above))


def _with_novelty(coefficients: Coefficients, values: Array, calibration: Array) -> Coefficients:
    scaled = standardised(values, coefficients)
    covariance = np.cov(scaled, rowvar=False)
    covariance = (1 - _SHRINK) * covariance + _SHRINK * np.eye(len(covariance))
    found = replace(coefficients, precision=np.asarray(np.linalg.inv(covariance), dtype=np.float64))
    near, middle = np.quantile(distance(calibration, found), (0.5, 0.95))
    return replace(found, distances=(float(near), float(middle), float(2 * middle - near)))
