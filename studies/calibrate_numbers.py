"""RMSE after `act calibrate` over that of a constant that knows the same 60 labels, on masks of six real sources.

    AUSCULT_DATA=DATA PYTHONPATH=tests/jobs python studies/calibrate_numbers.py

Sources, labels and draws are those of tests/jobs/test_calibrate_real.py. Intervals draw whole photographs and sequences.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from test_calibrate_real import DRAWS, LABELS, judged

from auscult.jobs.calibrate import MEAN_IOU, Estimates, Labels, fit
from auscult.rng import generator
from auscult.score.stats.few_clusters import ends_of, widened
from auscult.score.stats.intervals import cluster_draws

Errors = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


def errors_of(columns: Estimates, true: NDArray[np.float64], clusters: list[str], *, known: bool) -> Errors:
    """Squared errors (n,) of the calibrated estimates and of the constant, a pair a draw of labels; NaN where labelled."""
    marks = np.where(true >= 0.8, MEAN_IOU["good"], MEAN_IOU["bad"])
    found = []
    for seed in range(DRAWS):
        index = np.random.default_rng(seed).permutation(len(true))[:LABELS]
        labels = Labels(index=index, iou=(true if known else marks)[index], known=known)
        pair = (fit(columns, labels, clusters=clusters).columns.iou - true) ** 2, (true[index].mean() - true) ** 2
        for one in pair:
            one[index] = np.nan
        found.append(pair)
    return found


def ratio(errors: Errors, weights: NDArray[np.float64]) -> float:
    """Mean RMSE of the one over mean RMSE of the other, items weighted, (n,)."""
    means = [[np.sqrt(np.nansum(weights * one) / weights[~np.isnan(one)].sum()) for one in pair] for pair in errors]
    calibrated, constant = np.mean(means, axis=0)
    return float(calibrated / constant)


def main() -> None:
    """Print one line a source and kind of labels."""
    for known in (True, False):
        for (family, where), (columns, true, clusters) in judged(Path(os.environ["AUSCULT_DATA"])).items():
            errors = errors_of(columns, true, clusters, known=known)
            _, members, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
            value = ratio(errors, np.ones(len(true)))
            drawn = cluster_draws(len(sizes), rng=generator(0, "calibrate numbers"), replicates=1000)
            with np.errstate(invalid="ignore"):
                draws = np.array([ratio(errors, weights[members]) for weights in drawn])
            ends = ends_of(widened(draws, value, sizes=sizes), value=value, clusters=len(sizes))
            assert ends is not None
            counts = f"{len(true)} masks, {len(sizes)} clusters"
            print(
                f"{family} on {where}, {'IoUs' if known else 'marks'}: {counts}, {value:.2f} [{ends.low:.2f}, {ends.high:.2f}]"
            )


if __name__ == "__main__":
    main()
