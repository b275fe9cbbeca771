"""Statistics over many items: errors of estimates, F2 of labels, agreement, intervals, comparison, and change."""

from auscult.score.stats.association import associations, associations_by
from auscult.score.stats.breaking import Breaking, breaking_point, crossing
from auscult.score.stats.change import (
    Change,
    ChangeInterval,
    Scores,
    apc,
    change_difference,
    change_interval,
    change_intervals,
    mean_change,
    sample_changes,
)
from auscult.score.stats.correlation import Correlation, correlation, joined
from auscult.score.stats.errors import rmse, rmse_video
from auscult.score.stats.expected import looks_for, share_below
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
from auscult.score.stats.logistic import cross_fitted, logistic, logistic_fit
from auscult.score.stats.paired import (
    RightDifference,
    holm,
    mcnemar,
    right_difference,
    rmse_difference,
    sign_flips,
)
from auscult.score.stats.ranking import Ranked, Ranking, rank_by_change, rank_by_score
from auscult.score.stats.ranks import (
    auc,
    auc_interval,
    auc_of_draws,
    mean_ranks,
    spearman,
    spearman_interval,
    spearman_of_draws,
)
from auscult.score.stats.resample import cluster_draws, percentile_interval, sums_by_cluster
from auscult.score.stats.samples import Common, Counts, common

__all__ = [
    "Breaking",
    "Change",
    "ChangeInterval",
    "Common",
    "Confusion",
    "Correlation",
    "Counts",
    "F2Macro",
    "F2Tables",
    "Interval",
    "Ranked",
    "Ranking",
    "RightDifference",
    "Scores",
    "apc",
    "associations",
    "associations_by",
    "auc",
    "auc_interval",
    "auc_of_draws",
    "bootstrap_interval",
    "breaking_point",
    "change_difference",
    "change_interval",
    "change_intervals",
    "cluster_draws",
    "common",
    "confusion",
    "correlation",
    "coverage",
    "cross_fitted",
    "crossing",
    "f2_confusion",
    "f2_tables",
    "f2_video",
    "f_beta",
    "holm",
    "joined",
    "logistic",
    "logistic_fit",
    "looks_for",
    "mcnemar",
    "mean_change",
    "mean_ranks",
    "percentile_interval",
    "rank_by_change",
    "rank_by_score",
    "right_difference",
    "rmse",
    "rmse_difference",
    "rmse_video",
    "sample_changes",
    "share_below",
    "sign_flips",
    "spearman",
    "spearman_interval",
    "spearman_of_draws",
    "sums_by_cluster",
]
