"""Candidate masks as a table: one cue vector and its truth per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auscult.jobs.progress import Progress
from auscult.judge.masks.cues.measure import Findings, measure
from auscult.train.material import CandidateSample, coco, coco_nonsense, davis, davis_nonsense, real

_NONSENSE_ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Cue vectors of candidate masks and what is known of them; all of one length.

    Attributes:
        cues: float64 (n, cues).
        source: ``coco``, ``davis``, ``real`` or ``drawn``.
        cluster: Photograph, sequence or drawn picture.
        defect: What was made; ``arbitrary`` for a mask on no object; a model's name for a real mask.
        difficulty: ``hard``, ``medium``, ``easy`` or an empty text.
        iou: Exact IoU.
    """

    cues: NDArray[np.float64]
    source: NDArray[np.str_]
    cluster: NDArray[np.str_]
    defect: NDArray[np.str_]
    difficulty: NDArray[np.str_]
    iou: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.iou)

    def where(self, keep: NDArray[np.bool_]) -> Table:
        """The rows where ``keep`` is True."""
        return Table(
            cues=self.cues[keep],
            source=self.source[keep],
            cluster=self.cluster[keep],
            defect=self.defect[keep],
            difficulty=self.difficulty[keep],
            iou=self.iou[keep],
        )


def joined(tables: Sequence[Table]) -> Table:
    """All rows of several tables."""
    return Table(
        cues=np.concatenate([table.cues for table in tables]),
        source=np.concatenate([table.source for table in tables]),
        cluster=np.concatenate([table.cluster for table in tables]),
        defect=np.concatenate([table.defect for table in tables]),
        difficulty=np.concatenate([table.difficulty for table in tables]),
        iou=np.concatenate([table.iou for table in tables]),
    )


def tabled(samples: Iterable[CandidateSample]) -> Table:
    """Measure the cues of every sample."""
    rows = [(found.vector(), sample) for sample, found in _measured(samples)]
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
    return joined([table for table in tables if len(table)])


def _measured(samples: Iterable[CandidateSample]) -> Iterator[tuple[CandidateSample, Findings]]:
    for sample in samples:
        found = measure(sample.frame, sample.mask, others=sample.others)
        if found is not None:
            yield sample, found
