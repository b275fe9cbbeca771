"""The columns of the paper's tables, and the ways in which it averages them.

========  ===============================================================  ==============================
form      columns                                                          average
========  ===============================================================  ==============================
Table 2   Perfect, Cutout H and M, Dilate H and M, Erode H and M,           plain mean of the nine
          Merge, Full_neg
Table 3   the same; of Merge and Full_neg the masks of rank 1 only          plain mean of the nine
Table 4   the six types over seen and unseen; H and M are averaged first    plain mean of the twelve
========  ===============================================================  ==============================

A column without a mask is Undefined: it is left out of the mean, and the mean says so.

Source: MQA-RefAVS, Tables 2 to 6, 9 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from auscult.outcome import Scored, Signature, Undefined
from auscult.suites.mqa.rows import RANKS, Candidate, Protocol
from auscult.types import DEFECTS

GRADED = ("cutout", "dilate", "erode")
NO_ITEMS = "no masks of this column"

_SHORT = {"cutout": "Cut", "dilate": "Dil", "erode": "Ero"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: the masks of one true type, and of one difficulty or rank where it asks for one.

    Attributes:
        key: Its name in files.
        title: Its heading.
        defect: The true type.
        difficulty: ``hard`` or ``medium``; None for any.
        rank: The only rank that counts; None for any.
    """

    key: str
    title: str
    defect: str
    difficulty: str | None = None
    rank: int | None = None

    def holds(self, candidate: Candidate) -> bool:
        """Whether a candidate belongs into the column."""
        if candidate.defect != self.defect:
            return False
        if self.difficulty is not None:
            told = candidate.difficulty
            return told == self.difficulty if told is not None else candidate.rank == RANKS[self.difficulty]
        return self.rank is None or candidate.rank in {None, self.rank}


def _columns(rank: int | None) -> tuple[Column, ...]:
    graded = (
        Column(key=f"{name}_{grade}", title=f"{_SHORT[name]} {grade[0].upper()}", defect=name, difficulty=grade)
        for name in GRADED
        for grade in ("hard", "medium")
    )
    whole = (Column(key=name, title=name.capitalize(), defect=name, rank=rank) for name in ("merge", "full_neg"))
    return (Column(key="perfect", title="Perfect", defect="perfect"), *graded, *whole)


TABLE_2 = _columns(None)
TABLE_3 = _columns(1)
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = tuple(
    (defect, tuple(column.key for column in TABLE_2 if column.defect == defect)) for defect in DEFECTS
)
"""The six columns of the ablation form: a type, and the columns that are averaged into it."""


def columns_of(protocol: Protocol) -> tuple[Column, ...]:
    """The nine columns of a protocol: Table 2 for images, Table 3 for video."""
    return TABLE_2 if protocol == "image" else TABLE_3


def plain_mean(values: Sequence[Scored[float] | Undefined]) -> Scored[float] | Undefined:
    """Mean of the columns that are defined; its signature says over how many of how many.

    Args:
        values: One per column.
    """
    defined = [value.value for value in values if isinstance(value, Scored)]
    if not defined:
        return Undefined("no column has a mask")
    over = f"{len(defined)} of {len(values)} columns"
    return Scored(math.fsum(defined) / len(defined), Signature.of(average="plain mean", over=over))


def group_means(values: Sequence[Scored[float] | Undefined]) -> tuple[Scored[float] | Undefined, ...]:
    """The nine columns as six: the difficulties of a type are averaged first.

    Args:
        values: One per column of Table 2, in its order.
    """
    by_key = {column.key: value for column, value in zip(TABLE_2, values, strict=True)}
    means = (plain_mean([by_key[key] for key in keys]) for _, keys in GROUPS)
    return tuple(mean if isinstance(mean, Scored) else Undefined(NO_ITEMS) for mean in means)


def ablation_mean(
    seen: Sequence[Scored[float] | Undefined], unseen: Sequence[Scored[float] | Undefined] = ()
) -> Scored[float] | Undefined:
    """The average of the ablation tables: six columns of seen and six of unseen, plain mean of the twelve.

    Args:
        seen: One per column of Table 2; or all masks, where the source has no splits.
        unseen: Likewise; nothing where the source has no splits.
    """
    return plain_mean([*group_means(seen), *(group_means(unseen) if unseen else ())])
