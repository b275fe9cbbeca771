"""Worst first: the one order in which a report shows verdicts."""

from __future__ import annotations

from collections.abc import Iterable

from auscult.types import Action, Verdict

UNDECIDED = "undecided"

RANK: dict[str, int] = {"reject": 0, "major_revision": 1, "minor_revision": 2, UNDECIDED: 3, "accept": 4}


def action_key(action: Action | None) -> str:
    """The action's name, or ``undecided`` where no policy has spoken yet."""
    return UNDECIDED if action is None else action


def worst_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Order for reading: reject, major, minor, undecided, accept; within an action the lowest IoU first.

    An undefined IoU comes before all others of its action, because somebody has to look at it. Ties are ordered
    by id, so that the same record always gives the same page.
    """
    return sorted(verdicts, key=_badness)


def _badness(verdict: Verdict) -> tuple[int, float, str]:
    iou = -1.0 if verdict.iou is None else verdict.iou
    return RANK[action_key(verdict.action)], iou, verdict.id
