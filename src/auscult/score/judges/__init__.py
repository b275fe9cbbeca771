"""Judges against truth: the one evaluation of verdicts, for audits, the benchmark, comparisons and cards."""

from auscult.score.judges.measures import (
    ClusterDraws,
    JudgeColumns,
    MaskColumns,
    Measured,
    Quantity,
    TruthColumns,
    joined_columns,
    reals,
    texts,
    with_interval,
)

__all__ = [
    "ClusterDraws",
    "JudgeColumns",
    "MaskColumns",
    "Measured",
    "Quantity",
    "TruthColumns",
    "joined_columns",
    "reals",
    "texts",
    "with_interval",
]
