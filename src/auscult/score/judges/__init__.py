"""Judges against truth: the one evaluation of verdicts, for audits, the benchmark, comparisons and cards."""

from auscult.score.judges.columns import JudgeColumns, TruthColumns, joined_columns, reals, texts
from auscult.score.judges.measures import ClusterDraws, Measured, Quantity, with_interval

__all__ = [
    "ClusterDraws",
    "JudgeColumns",
    "Measured",
    "Quantity",
    "TruthColumns",
    "joined_columns",
    "reals",
    "texts",
    "with_interval",
]
