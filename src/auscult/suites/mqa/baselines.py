"""Baselines in every table, which never look at the mask: what a judge must beat.

- ``always perfect``: IoU 1, perfect, accept.
- ``constant IoU``: one IoU and one type for all. With a training part they are its mean true IoU and its most frequent
  type; without one .80 and ``cutout``: .80 is where the upper and the lower window of the shape defects meet, and of
  these cutout comes first. The action is the policy's for the two.
- ``random``: IoU, type and action drawn uniformly and independently, seeded by the item's id, so that the same item
  always has the same answer.

None of them gives an interval of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from auscult.act.policy import Policy, action_of
from auscult.record.codec import Count, Share
from auscult.rng import generator
from auscult.suites.mqa.rows import Candidate, JudgeAnswer
from auscult.types import ACTIONS, DEFECTS, Defect

ALWAYS_PERFECT = "always perfect"
CONSTANT = "constant IoU"
RANDOM = "random"
BASELINES = (ALWAYS_PERFECT, CONSTANT, RANDOM)

_NO_TRAINING: tuple[float, Defect] = (0.80, "cutout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """The answer of the constant row."""

    iou: Share
    defect: Defect
    trained: Count  # candidates of a training part that it comes from; 0 where there is none

    def __post_init__(self) -> None:
        """Refuse a type that is not in the taxonomy."""
        if self.defect not in DEFECTS:
            raise ValueError(f"{self.defect} is no type of the taxonomy")

    @property
    def words(self) -> str:
        """Its values and their source, for a note."""
        source = f"from {self.trained} training masks" if self.trained else "there is no training part"
        return f"constant row says IoU {self.iou:.3f}, {self.defect} ({source})"


def constant_of(training: Sequence[Candidate]) -> Constant:
    """The constant of a benchmark, from the training candidates with an IoU that are not empty."""
    known = [(one.iou, one.defect) for one in training if one.iou is not None and one.defect != "empty"]
    if not known:
        return Constant(iou=_NO_TRAINING[0], defect=_NO_TRAINING[1], trained=0)
    counts: Counter[Defect] = Counter(defect for _, defect in known)
    defect = max(DEFECTS, key=lambda name: counts[name])  # of equally frequent ones the first
    return Constant(iou=fmean(iou for iou, _ in known), defect=defect, trained=len(known))


def baseline_answers(
    candidates: Sequence[Candidate], constant: Constant, policy: Policy, *, seed: int = 0
) -> dict[str, dict[str, JudgeAnswer]]:
    """Answers of the three rows."""
    perfect = JudgeAnswer(iou=1.0, defect="perfect", action="accept")
    action, _ = action_of(policy, defect=constant.defect, iou=constant.iou, identity=True)
    fixed = JudgeAnswer(iou=constant.iou, defect=constant.defect, action=action)
    return {
        ALWAYS_PERFECT: {candidate.id: perfect for candidate in candidates},
        CONSTANT: {candidate.id: fixed for candidate in candidates},
        RANDOM: {candidate.id: _drawn(candidate.id, seed) for candidate in candidates},
    }


def _drawn(name: str, seed: int) -> JudgeAnswer:
    rng = generator(seed, "mqa", "random row", name)
    return JudgeAnswer(
        iou=float(rng.random()),
        defect=DEFECTS[int(rng.integers(len(DEFECTS)))],
        action=ACTIONS[int(rng.integers(len(ACTIONS)))],
    )
