"""What a policy is made of: the least estimated IoU that an action needs, by group of defects, or a probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from auscult.types import Action

Group: TypeAlias = Literal["perfect", "shape", "merge", "full_neg"]

GROUPS: tuple[Group, ...] = ("perfect", "shape", "merge", "full_neg")
GROUP_OF: Mapping[str, Group] = MappingProxyType(
    {
        "perfect": "perfect",
        "cutout": "shape",
        "dilate": "shape",
        "erode": "shape",
        "merge": "merge",
        "full_neg": "full_neg",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The least estimated IoU that an action needs.

    Attributes:
        action: ``accept``, ``minor_revision`` or ``major_revision``.
        iou: 0..1.
        inclusive: Whether ``iou`` itself is enough.
    """

    action: Action
    iou: float
    inclusive: bool = True

    def reached(self, iou: float) -> bool:
        """Whether an estimated IoU is enough."""
        return iou >= self.iou if self.inclusive else iou > self.iou


@dataclass(frozen=True, slots=True, kw_only=True)
class Good:
    """The least probability of a good mask, IoU .8 or more, that accepts it whatever its defect.

    Attributes:
        prob_iou_80: 0..1.
        inclusive: Whether ``prob_iou_80`` itself is enough.
    """

    prob_iou_80: float
    inclusive: bool = True

    def reached(self, probability: float) -> bool:
        """Whether a probability is enough."""
        return probability >= self.prob_iou_80 if self.inclusive else probability > self.prob_iou_80


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What to do about which verdict.

    Attributes:
        name: Its name, for the record.
        perfect: Thresholds for masks without a defect, most lenient action first; what reaches none is rejected.
        shape: For cutout, dilate and erode, and errors of both sides.
        merge: For masks that hold something else besides the target.
        full_neg: For masks of something else.
        good: Accept by probability, before the groups are asked; None where the groups alone decide.
        require_identity: Turn an accept into ``minor_revision`` where the judge did not check identity.
        summary: One line: what it is for.
    """

    name: str
    perfect: tuple[Threshold, ...] = ()
    shape: tuple[Threshold, ...] = ()
    merge: tuple[Threshold, ...] = ()
    full_neg: tuple[Threshold, ...] = ()
    good: Good | None = None
    require_identity: bool = False
    summary: str = field(default="", compare=False)

    def thresholds(self, group: Group) -> tuple[Threshold, ...]:
        """The thresholds of one group."""
        table: dict[Group, tuple[Threshold, ...]] = {
            "perfect": self.perfect,
            "shape": self.shape,
            "merge": self.merge,
            "full_neg": self.full_neg,
        }
        return table[group]
