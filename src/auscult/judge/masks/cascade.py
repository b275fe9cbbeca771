"""A cascade of judges: a cheap one judges every mask, a dearer one what the cheaper leaves open.

A verdict leaves open what to do where the policy could take two actions within its 90 % interval, and where an object
was named and nobody checked that the mask is on it: then it may also have to be rejected. What would be rejected either
way is not asked about again. A mask that could not be judged, or was judged without an interval, is always asked about.

The last verdict stands as its judge gave it, with the cascade's name and, in ``judged_by``, that judge's. Nothing is
averaged: interval and probabilities stay those that were calibrated. A dearer judge that fails costs its item, as it
would alone. Where money or time is spent, the verdict so far stands and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from threading import Lock
from typing import Final, TypeAlias

from auscult.types import DECISIONS, Case, MaskJudge, Metadata, Prediction, Verdict
from auscult.work.chat.spending import BudgetSpent

Possible: TypeAlias = Callable[[Verdict, Case], Collection[str]]
"""The actions that may be right by a verdict: more than one leave it open."""

SPENT: Final = "No dearer judge was asked: the budget is spent."


class CascadeJudge:
    """Two or more judges, cheapest first, each asked where the one before leaves open what to do.

    Safe to ask from threads. ``possible`` gives the actions that may be right by a verdict. ``seconds`` is the wall
    time that all but the first may take in all, None for no limit; a call that has begun is waited for. Budgets of
    money are the judges' own, which raise ``BudgetSpent``.
    """

    meta = Metadata(
        summary="several judges: a dear one is asked where a cheap one leaves open what to do",
        goal="the quality of a dear judge for less money and time",
        modality="mask",
        source="ours; the two costs are those of MQA-RefAVS, Table 11",
        truth="none is read",
    )

    def __init__(
        self, judges: Sequence[MaskJudge], *, name: str, possible: Possible, seconds: float | None = None
    ) -> None:
        self.name = name
        self.first, *self._dearer = judges
        self._possible, self._seconds = possible, seconds
        self._lock = Lock()
        self.needs_clip = any(getattr(judge, "needs_clip", False) for judge in judges)

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Judge one candidate."""
        return self.settled(self.first(case, prediction), case, prediction)

    def settled(self, verdict: Verdict, case: Case, prediction: Prediction) -> Verdict:
        """The verdict of the first judge, or that of a dearer one where it leaves open what to do."""
        by, notes = self.first.name, list[str]()
        for judge in self._dearer:
            possible = self._possible(verdict, case)
            if len(possible) < 2:
                break
            next_verdict = self._asked(judge, case, prediction)
            if next_verdict is None:
                notes.append(SPENT)
                break
            iou = "no IoU" if verdict.iou is None else f"IoU {verdict.iou:.2f}"
            left = ", ".join(decision.replace("_", " ") for decision in DECISIONS if decision in possible)
            notes.append(f"{by} said {verdict.defect}, {iou}, and left open: {left}.")
            verdict, by = next_verdict, judge.name
        return replace(verdict, judge=self.name, judged_by=by, rationale=" ".join([verdict.rationale, *notes]))

    def close(self) -> None:
        """Release what the judges hold."""
        for judge in (self.first, *self._dearer):
            if callable(close := getattr(judge, "close", None)):
                close()

    def _asked(self, judge: MaskJudge, case: Case, prediction: Prediction) -> Verdict | None:
        """A dearer judge's verdict; None where there is no budget for it."""
        if self._seconds is not None and self._seconds <= 0:
            return None
        started = time.perf_counter()
        try:
            return judge(case, prediction)
        except BudgetSpent:
            return None
        finally:
            with self._lock:
                if self._seconds is not None:
                    self._seconds -= time.perf_counter() - started
