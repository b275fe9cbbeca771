"""Several numbers joined into one probability by logistic regression, judged on items that it was not fitted on.

Conventions: one row of numbers and one label per item. Slopes are held towards 0 by a quadratic penalty, so that a fit
exists for labels that one number separates, and for few items.

- ``logistic_fit``: coefficients from all items.
- ``cross_fitted``: for each item the probability by coefficients that were fitted without its cluster, in parts of
  whole clusters, so that no item of a photograph tells about another of it.

References: D. Cox, "The Regression Analysis of Binary Sequences", JRSS B 20, 1958; S. le Cessie, J. van Houwelingen,
"Ridge Estimators in Logistic Regression", Applied Statistics 41, 1992; M. Stone, "Cross-Validatory Choice and
Assessment of Statistical Predictions", JRSS B 36, 1974.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.score.stats.inputs import same_length
from auscult.types import Doubles

FOLDS: Final = 5
_PENALTY: Final = 1.0
_OF_CONSTANT: Final = 1e-3  # keeps it finite where all labels of a part are alike
_STEPS: Final = 100
_SMALL: Final = 1e-10
_STEEPEST: Final = 30.0


def logistic_fit(rows: Doubles, good: Sequence[bool]) -> Doubles:
    """Coefficients of the probability that an item is good, (k + 1,), the constant first.

    ``rows``, (n, k), are of about the size of 1, ``good`` is (n,). No item, or unequal lengths, is an InputError.
    """
    same_length(rows=rows, good=good)
    if len(rows) == 0:
        raise InputError("there is no item to fit to", expected="one item or more")
    columns = np.column_stack([np.ones(len(rows)), rows])
    labels = np.asarray(good, dtype=np.float64)
    penalty = np.diag([_OF_CONSTANT, *[_PENALTY] * rows.shape[1]])
    found = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        chances = _chances(columns @ found)
        slope = columns.T @ (labels - chances) - penalty @ found
        curve = (columns * (chances * (1 - chances))[:, None]).T @ columns + penalty
        change = np.linalg.solve(curve, slope)
        found = found + change * min(1.0, 1.0 / float(np.abs(change).max() + _SMALL))  # far steps overshoot
        if np.abs(change).max() < _SMALL:
            break
    return found


def logistic(rows: Doubles, coefficients: Doubles) -> Doubles:
    """The probability that each item of rows (n, k) is good, (n,), 0..1, by coefficients of ``logistic_fit``."""
    return _chances(coefficients[0] + rows @ coefficients[1:])


def cross_fitted(
    rows: Doubles,
    good: Sequence[bool],
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    folds: int = FOLDS,
) -> Doubles | None:
    """The probability that each item is good, (n,), 0..1, by a fit that saw nothing of its cluster.

    ``rows`` and ``good`` as in ``logistic_fit``; ``clusters`` are the clip or photograph of each, dealt into ``folds``
    parts; with fewer clusters each is a part. None for fewer than two clusters.
    """
    same_length(rows=rows, good=good, clusters=clusters)
    parts = dealt_parts(clusters, rng=rng, folds=folds)
    if not parts.any():
        return None
    labels = np.asarray(good, dtype=bool)
    probabilities = np.zeros(len(rows))
    for part in range(int(parts.max()) + 1):
        held = parts == part
        probabilities[held] = logistic(rows[held], logistic_fit(rows[~held], labels[~held].tolist()))
    return probabilities


def dealt_parts(clusters: Sequence[Hashable], *, rng: np.random.Generator, folds: int = FOLDS) -> NDArray[np.int64]:
    """The part that each item falls into, (n,): whole clusters in one, as many as clusters where these are fewer."""
    names = sorted(set(clusters), key=str)
    dealt = rng.permutation(len(names)) % min(folds, len(names))
    part_of = dict(zip(names, dealt.tolist(), strict=True))
    return np.array([part_of[name] for name in clusters])


def _chances(logits: Doubles) -> Doubles:
    chances: Doubles = 1 / (1 + np.exp(-np.clip(logits, -_STEEPEST, _STEEPEST)))
    return chances
