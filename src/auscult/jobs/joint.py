"""The joint audit of a mask and a separated sound: in a worker process, and as tables of a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Final

from auscult.jobs.runner import LastCached
from auscult.report.tables import Table
from auscult.types import JOINT_ANSWERS, Case, Item, Joint, Prediction, Verdict

JOINT: Final = "joint.scenes.v1"


class JointAuditor:
    """Adds the joint finding to verdicts of items with a separated sound; caches the last mixture."""

    def __init__(self) -> None:
        # imported late, since few inputs have separated sounds
        from auscult.judge.identity.joint import LIMITS, JointCheck
        from auscult.media.sound import read_sound

        self._check = JointCheck()
        self._read = partial(read_sound, limits=LIMITS)
        self._mixture = LastCached(self._read)

    def joined(self, verdict: Verdict, item: Item, *, case: Case, prediction: Prediction) -> Verdict:
        """The verdict with the joint finding on mask and sound; an AuscultError if a sound cannot be used."""
        if item.mixture is None or item.separated is None:
            return verdict
        mixture, separated = self._mixture(item.mixture), self._read(item.separated)
        joint = self._check(case, prediction, mixture=mixture, separated=separated)
        return replace(verdict, joint=joint, rationale=f"{verdict.rationale} Mask and sound: {joint.note}.".lstrip())


def joint_table(found: Sequence[Joint]) -> Table:
    """How often each joint finding was given, with the mean probability of one object."""
    counts = Counter(joint.wrong for joint in found)
    rows = []
    for answer in JOINT_ANSWERS:
        same = [joint.same for joint in found if joint.wrong == answer and joint.same is not None]
        rows.append((answer, str(counts[answer]), f"{fmean(same):.2f}" if same else ""))
    note = (
        "wrong: which of mask and separated sound is not the object's asked for; same: mean probability of one object"
    )
    return Table(title="mask and sound", header=("wrong", "items", "same"), rows=tuple(rows), note=note)
