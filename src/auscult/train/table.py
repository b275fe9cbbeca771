"""Candidate masks as a table, one cue vector and its truth per row, and the numbers of a card measured on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.act.policy import DEFAULT, action_of
from auscult.jobs.runner import Progress
from auscult.judge.cards import Result, result_of
from auscult.judge.masks.cues.features import measure
from auscult.judge.masks.cues.model import ARBITRARY, JUDGED, Coefficients, estimate, sight_of
from auscult.judge.masks.shared import BLIND
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.judges import (
    ClusterDraws,
    JudgeColumns,
    MaskColumns,
    Measured,
    Quantity,
    TruthColumns,
    joined_columns,
    measures,
    reals,
    texts,
    with_interval,
)
from auscult.train.material import CandidateSample, coco, coco_nonsense, davis, davis_nonsense, real
from auscult.types import DEFECTS, Doubles

_NONSENSE_ROUNDS = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Table(MaskColumns):
    """Cue vectors of candidate masks and what is known of them; all of one length."""

    cues: NDArray[np.float64]  # float64 (n, cues)
    source: NDArray[np.str_]  # ``coco``, ``davis``, ``real`` or ``drawn``
    cluster: NDArray[np.str_]  # photograph, sequence or drawn picture
    defect: NDArray[np.str_]  # what was made; ``arbitrary`` for a mask on no object; a model's name for a real mask
    difficulty: NDArray[np.str_]  # ``hard``, ``medium``, ``easy`` or an empty text
    iou: NDArray[np.float64]  # exact IoU

    def __len__(self) -> int:
        return len(self.iou)


def tabled(samples: Iterable[CandidateSample]) -> Table:
    """Measure the cues of every sample that has any."""
    measured = ((measure(sample.frame, sample.mask, others=sample.others), sample) for sample in samples)
    rows = [(found.vector(), sample) for found, sample in measured if found is not None]
    kept = [sample for _, sample in rows]
    return Table(
        cues=np.array([vector for vector, _ in rows], dtype=np.float64),
        source=np.array([sample.source for sample in kept], dtype=np.str_),
        cluster=np.array([sample.cluster for sample in kept], dtype=np.str_),
        defect=np.array([sample.defect for sample in kept], dtype=np.str_),
        difficulty=np.array([sample.difficulty or "" for sample in kept], dtype=np.str_),
        iou=np.array([sample.iou for sample in kept], dtype=np.float64),
    )


def fitting_table(data: Path, names: dict[str, Sequence[str]], *, seed: int, rounds: int, progress: Progress) -> Table:
    """What coefficients or intervals are made from: photographs, sequences and the sequences' real masks."""
    progress.stage("cues for fitting", rounds * len(names["coco"]) + len(names["davis"]))
    tables = []
    for number in range(rounds):
        for name in names["coco"]:
            made = coco(data, [name], seed=seed, alone=number % 2 == 0, key=f"#{number}")
            tables.append(tabled(made))
            if number < _NONSENSE_ROUNDS:
                tables.append(tabled(coco_nonsense(data, [name], seed=seed, key=f"#{number}")))
            progress.step()
    for name in names["davis"]:
        tables.append(tabled(davis(data, [name], seed=seed, every=2)))
        tables.append(tabled(davis_nonsense(data, [name], seed=seed, every=2)))
        tables.append(tabled(real(data, [name], every=1)))
        progress.step()
    return joined_columns([table for table in tables if len(table)])


REPLICATES: Final = 300
_RMSE: Final = partial(measures.rmse, unparsed="skip")  # a mask that is not judged is in no mean
_GRADED: Final = ("cutout", "dilate", "erode", "merge")


def judged_rows(
    table: Table, coefficients: Coefficients, *, judge: str, constants: Mapping[str, float]
) -> dict[str, JudgeColumns]:
    """Verdicts of the judge and the baselines on a table's masks, in its order."""
    found = [None if sight_of(vector) in BLIND else estimate(vector, coefficients) for vector in table.cues]
    rows = {
        judge: _row(
            reals(None if one is None else one.iou for one in found),
            low=reals(None if one is None else one.iou_low for one in found),
            high=reals(None if one is None else one.iou_high for one in found),
            defect=texts([None if one is None else one.defect for one in found]),
        ),
        "always-perfect": _row(np.ones(len(table)), defect=texts(["perfect"] * len(table))),
    }
    return rows | {row: _row(np.full(len(table), iou)) for row, iou in constants.items()}


def _row(
    iou: Doubles, *, low: Doubles | None = None, high: Doubles | None = None, defect: NDArray[Any] | None = None
) -> JudgeColumns:
    """A row with what the default policy accepts as it is; nothing where no defect is named."""
    accepted = None
    if defect is not None:
        actions = [action_of(DEFAULT, defect=one, iou=float(value))[0] for one, value in zip(defect, iou, strict=True)]
        accepted = np.array([action == "accept" for action in actions], dtype=np.bool_)
    return JudgeColumns(iou=iou, low=low, high=high, defect=defect, accepted=accepted)


def results_of(name: str, table: Table, rows: Mapping[str, JudgeColumns], *, seed: int) -> Iterator[Result]:
    """Every metric of every row, from ``judged_rows``, on the set of a name; ``seed`` draws the intervals."""
    true = TruthColumns(iou=table.iou, cluster=table.cluster, defect=texts(table.defect.tolist()))
    for metric, quantity, keep in _metrics(table):
        kept = true.where(keep)
        clusters = np.unique(kept.cluster)
        for row, columns in rows.items():
            measured = quantity(columns.where(keep), kept)
            outcome = measured.outcome if len(kept) else Undefined("no items")
            rng = partial(generator, seed, "card", name, row, metric)
            draws = ClusterDraws.of(clusters, rng=rng, replicates=REPLICATES)
            yield result_of(
                (name, row, metric),
                with_interval(outcome, draws.values(measured), clusters=len(clusters), within=measured.within),
                n=len(kept),
                clusters=len(clusters),
            )


def _metrics(table: Table) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    everything = np.ones(len(table), dtype=np.bool_)
    if (table.source == "real").all():
        return _real_metrics(table, everything)
    if (table.defect == ARBITRARY).all():
        return _nonsense_metrics(everything)
    if (table.defect == "perfect").all():
        return _perfect_metrics(everything)
    return _made_metrics(table, everything)


def _nonsense_metrics(everything: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    yield "called_perfect", partial(measures.called, defect="perfect"), everything
    yield "accepted", measures.accepted, everything
    yield "called_full_neg", partial(measures.called, defect="full_neg"), everything
    yield "f2_tables.full_neg", _f2_of_nonsense, everything
    yield "rmse", _RMSE, everything


def _perfect_metrics(perfect: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    yield "called_perfect.perfect", partial(measures.called, defect="perfect"), perfect
    yield "accepted.perfect", measures.accepted, perfect
    yield "called_full_neg.perfect", partial(measures.called, defect="full_neg"), perfect


def _made_metrics(table: Table, everything: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    judged = np.isin(table.defect, JUDGED)
    there = [defect for defect in DEFECTS if (table.defect == defect).any()]
    yield "rmse", _RMSE, judged
    yield "rmse_all_six", _RMSE, everything
    yield "f2_tables", measures.f2_tables, everything
    yield "f2_tables_five", measures.f2_tables, judged
    for defect in there:
        members = table.defect == defect
        yield f"f2_tables.{defect}", measures.f2_tables, members
        for grade in ("hard", "medium", "easy") if defect in _GRADED else ():
            graded = members & (table.difficulty == grade)
            if graded.any():
                yield f"f2_tables.{defect}.{grade}", measures.f2_tables, graded
    yield "f2_confusion", measures.f2_confusion, everything
    yield "f2_confusion_five", measures.f2_confusion, judged
    for defect in there:
        yield f"f2_confusion.{defect}", partial(measures.f2_of_defect, defect=defect), everything
    yield from _perfect_metrics(table.defect == "perfect")
    yield "coverage_90", measures.coverage, judged
    yield "coverage_90_all_six", measures.coverage, everything
    yield "width_90", measures.width, judged
    yield "spearman", measures.spearman, judged


def _real_metrics(table: Table, everything: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    for suffix, members in (("", everything), (".osvos", table.defect == "osvos"), (".rvos", table.defect == "rvos")):
        yield f"rmse{suffix}", _RMSE, members
        yield f"spearman{suffix}", measures.spearman, members
    yield "coverage_90", measures.coverage, everything
    yield "width_90", measures.width, everything


def _f2_of_nonsense(predicted: JudgeColumns, true: TruthColumns) -> Measured:
    """Masks on no object count as full_neg."""
    return measures.f2_tables(predicted, replace(true, defect=texts(["full_neg"] * len(true))))
