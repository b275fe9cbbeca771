"""Statistics over many items: errors of estimates, F2 of labels, rank agreement, intervals."""

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
from auscult.score.stats.ranks import spearman

__all__ = [
    "Confusion",
    "F2Macro",
    "F2Tables",
    "Interval",
    "bootstrap_interval",
    "confusion",
    "coverage",
    "f2_confusion",
    "f2_tables",
    "f2_video",
    "f_beta",
    "rmse",
    "rmse_video",
    "spearman",
]
