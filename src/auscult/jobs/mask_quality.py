"""A metric object for evaluation loops: the estimated quality of masks that have no truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from auscult.act.policy import Policy
from auscult.errors import UsageError
from auscult.jobs.python import Auditing
from auscult.judge import DEFAULT_JUDGE
from auscult.media.given import given_frame
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.stats.expected import SHIFT, share_below
from auscult.types import ACTIONS, Case, MaskJudge


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What is kept of one frame: numbers, no pixels."""

    clip: str | None
    actions: tuple[str | None, ...]
    ious: tuple[float, ...]  # of the masks that have an estimate
    good: tuple[float, ...]  # their probabilities of an IoU of .8 or more, where the judge gives them
    shift: float  # what these probabilities may be off by together, in logits


@dataclass(kw_only=True, eq=False)
class MaskQuality:
    """Estimated quality of the masks that a model draws, with the habits of a torchmetrics metric and without torch.

    It holds a few numbers a mask, no picture. It can be pickled at any time, and what several processes saw is merged
    by ``merge_state``, in any order.

    Args:
        judge: A judge or its name; it is loaded at the first mask, in each process.
        policy: A policy, its name, or a policy file.
        threshold: Where floating point masks are cut; see ``auscult.audit_mask``.

    Example:
        >>> import numpy as np
        >>> frame = np.full((80, 120, 3), 60, np.uint8)
        >>> frame[20:60, 30:90] = 200
        >>> metric = MaskQuality()
        >>> metric.update(frame, frame[None, ..., 0] > 100)
        >>> found = metric.compute()
        >>> found["n"], found["frames"], 0 <= found["iou"] <= 1
        (1, 1, True)
    """

    judge: MaskJudge | str = DEFAULT_JUDGE
    policy: Policy | str = "default"
    threshold: float | None = None
    _seen: list[_Seen] = field(default_factory=list, init=False, repr=False)
    _auditing: Auditing | None = field(default=None, init=False, repr=False)

    def update(self, frame: object, masks: object, *, clip: str | None = None) -> None:
        """Judge the masks of one frame, both as ``auscult.audit_masks`` takes them, and keep what is said.

        ``clip`` names the video of the frame, whose frames are no independent evidence; without it each frame is.
        """
        self._seen.append(self._judged(frame, masks, clip=clip))

    def __call__(self, frame: object, masks: object, *, clip: str | None = None) -> dict[str, float | None]:
        """Update, and give the values of this frame alone."""
        seen = self._judged(frame, masks, clip=clip)
        self._seen.append(seen)
        return _values([seen])

    def compute(self) -> dict[str, float | None]:
        """The values of all that was seen since the last ``reset``.

        Returns:
            ``n`` masks on so many ``frames``, ``unjudged`` of which had no basis for a verdict and are in nothing
            else; ``iou``, the mean estimated IoU; ``good``, the expected share of masks of IoU .8 or more, with the
            90 % interval ``good_low`` to ``good_high``, which draws whole clips or frames; and the share of masks of
            each action. These are 0..1; of ``iou`` and ``good`` higher is better. None stands where there is no number:
            without a mask, and for ``good`` where the judge gives no probability. Empty masks have an action only.
        """
        return _values(self._seen)

    def reset(self) -> None:
        """Forget what was seen."""
        self._seen = []

    def merge_state(self, other: MaskQuality) -> None:
        """Take over what another metric of the same settings has seen, as of another process."""
        if not isinstance(other, MaskQuality):
            raise UsageError(
                f"what is to be merged is of type {type(other).__name__}", expected="an auscult.MaskQuality"
            )
        if self._settings() != other._settings():
            raise UsageError(
                f"two metrics of different settings: {self._settings()} and {other._settings()}",
                expected="the same judge, policy and threshold",
            )
        self._seen = [*self._seen, *other._seen]

    def __getstate__(self) -> dict[str, Any]:
        """What pickle keeps: the settings and what was seen, but no judge that was loaded by its name."""
        return {**self.__dict__, "_auditing": None}

    def _settings(self) -> tuple[object, object, float | None]:
        return getattr(self.judge, "name", self.judge), getattr(self.policy, "name", self.policy), self.threshold

    def _judged(self, frame: object, masks: object, *, clip: str | None) -> _Seen:
        if self._auditing is None:
            self._auditing = replace(Auditing.of(self.judge, self.policy), pictures=False)
        case = Case(id="mask", frame=given_frame(frame))
        verdicts = self._auditing.of_frame(case, masks, threshold=self.threshold)
        measured = [verdict for verdict in verdicts if verdict.iou is not None and verdict.defect != "empty"]
        return _Seen(
            clip=clip,
            actions=tuple(verdict.action for verdict in verdicts),
            ious=tuple(float(verdict.iou) for verdict in measured if verdict.iou is not None),
            good=tuple(float(verdict.prob_iou_80) for verdict in measured if verdict.prob_iou_80 is not None),
            shift=_shift(self._auditing.judge),
        )


def _values(seen: Sequence[_Seen]) -> dict[str, float | None]:
    # the draws of the interval go by order, and merged in any order the values are the same
    seen = sorted(seen, key=lambda one: (one.clip or "", one.good, one.ious))
    decided = [action for one in seen for action in one.actions]
    actions = [action for action in decided if action != "unjudged"]
    ious = [iou for one in seen for iou in one.ious]
    good = [(share, one.clip or number) for number, one in enumerate(seen) for share in one.good]
    bad = share_below(
        [share for share, _ in good],
        clusters=[cluster for _, cluster in good],
        rng=generator(0, "mask quality"),
        shift=max((one.shift for one in seen), default=SHIFT),
    )
    known = None if isinstance(bad, Undefined) else (1 - bad.value, 1 - bad.high, 1 - bad.low)
    return {
        "n": len(decided),
        "unjudged": len(decided) - len(actions),
        "frames": len(seen),
        "iou": math.fsum(ious) / len(ious) if ious else None,
        **dict(zip(("good", "good_low", "good_high"), known or (None, None, None), strict=True)),
        **{action: actions.count(action) / len(actions) if actions else None for action in ACTIONS},
    }


def _shift(judge: MaskJudge) -> float:
    """The common error that a judge's probabilities may have, in logits."""
    shift = getattr(judge, "prob_shift", None)
    return float(shift) if isinstance(shift, int | float) else SHIFT
