"""Statistics over many items: errors of estimates, F2 of labels, rank agreement, intervals, and paired comparison."""

from auscult.score.stats.errors import rmse, rmse_video
from auscult.score.stats.intervals import Interval, bootstrap_interval, coverage
from auscult.score.stats.labels import (
    Confusion,
    F2Macro,
    F2Tables,
    confusion,
    f2_confusion,
    f2_tables,
    f2_video,
    f_beta,
)
from auscult.score.stats.paired import McNemar, holm, mcnemar, rmse_difference
from auscult.score.stats.ranks import spearman
from auscult.score.stats.resample import cluster_draws, percentile_interval, sums_by_cluster

__all__ = [
    "Confusion",
    "F2Macro",
    "F2Tables",
    "Interval",
    "McNemar",
    "bootstrap_interval",
    "cluster_draws",
    "confusion",
    "coverage",
    "f2_confusion",
    "f2_tables",
    "f2_video",
    "f_beta",
    "holm",
    "mcnemar",
    "percentile_interval",
    "rmse",
    "rmse_difference",
    "rmse_video",
    "spearman",
    "sums_by_cluster",
]
