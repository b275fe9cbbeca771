"""Real models' masks sequence by sequence: does the judge rank a clip's frames worst first?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from auscult.judge.cards.page import markdown
from auscult.outcome import Failed, Scored, Undefined
from auscult.score.stats import rmse, spearman
from auscult.train import material
from auscult.train.compact.card_judging import Floats, Names, said_by
from auscult.train.material import Sample
from auscult.types import Case, MaskJudge, Prediction

WORST: Final = 5

JudgeOf: TypeAlias = Callable[[str], tuple[MaskJudge, str]]
"""From a sequence to the judge that is to judge it, and in words which weights it has and what they have seen."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sequel:
    """What a judge said of one model's masks of one sequence, frame by frame, each (n,).

    Attributes:
        sequence: The sequence.
        model: Whose masks.
        weights: Which weights judged, and what they have seen.
        frame: Names of the frames.
        said: Estimated IoU.
        true: True IoU.
    """

    sequence: str
    model: str
    weights: str
    frame: Names
    said: Floats
    true: Floats

    def worst(self) -> list[int]:
        """The frames from the lowest estimate up; of equal ones the earlier first."""
        return [int(at) for at in np.argsort(self.said, kind="stable")]

    def found(self) -> int:
        """How many of the truly worst frames are among as many that are ranked worst."""
        count = min(WORST, len(self.said))
        return len({*self.worst()[:count]} & {int(at) for at in np.argsort(self.true, kind="stable")[:count]})


def sequels(data: Path, sequences: Sequence[str], *, judge_of: JudgeOf) -> Iterator[Sequel]:
    """Judge the real masks of sequences.

    Args:
        data: The folder of real material.
        sequences: Which, out of ``video/davis2016``.
        judge_of: Which judge for which sequence, so that none is judged by weights that saw it.

    Raises:
        InputError: The data is missing or broken.
    """
    for name in sequences:
        judge, weights = judge_of(name)
        by_model: dict[str, list[Sample]] = {}
        for sample in material.real(data, [name]):
            by_model.setdefault(sample.defect, []).append(sample)
        for model, samples in sorted(by_model.items()):
            yield _judged(samples, judge, weights=weights, model=model)


def _judged(samples: Sequence[Sample], judge: MaskJudge, *, weights: str, model: str) -> Sequel:
    said = said_by([judge(Case(id=str(at), frame=one.frame), Prediction(one.mask)) for at, one in enumerate(samples)])
    return Sequel(
        sequence=samples[0].cluster,
        model=model,
        weights=weights,
        frame=np.array([one.name.rsplit("/", 1)[-1] for one in samples]),
        said=said.iou,
        true=np.array([one.iou for one in samples], dtype=np.float64),
    )


def sequences_table(found: Iterable[Sequel]) -> str:
    """Spearman, RMSE and the frames ranked worst, as Markdown: a line a sequence and model."""
    lines = []
    for one in found:
        worst = ", ".join(f"{one.frame[at]} ({one.said[at]:.2f}/{one.true[at]:.2f})" for at in one.worst()[:WORST])
        lines.append(
            [
                one.sequence,
                one.model,
                one.weights,
                str(len(one.said)),
                _text(spearman(one.said, one.true)),
                _text(rmse(one.said, one.true)),
                f"{one.said.mean():.3f}",
                f"{one.true.mean():.3f}",
                f"{one.found()} of {min(WORST, len(one.said))}",
                worst,
            ]
        )
    header = ["sequence", "model", "weights", "frames", "Spearman", "RMSE", "mean estimate", "mean IoU"]
    return markdown([*header, "worst found", "ranked worst first: frame (estimate/true)"], lines)


def _text(outcome: Scored[float] | Undefined | Failed) -> str:
    if isinstance(outcome, Scored):
        return f"{outcome.value:.3f}"
    return f"undefined: {outcome.reason}" if isinstance(outcome, Undefined) else "failed"
