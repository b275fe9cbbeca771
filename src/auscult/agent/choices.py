"""What can be chosen for a study, and what was chosen: the three sets of R2-Bench, Eq. 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from auscult.outcome import Failed

ChoiceSet: TypeAlias = Literal["samples", "perturbations", "metrics"]
CHOICE_SETS: Final[tuple[ChoiceSet, ...]] = ("samples", "perturbations", "metrics")
MIDDLE: Final[Mapping[str, Literal["negatives", "tasks"]]] = {"rris": "negatives", "avi": "tasks"}
"""What the second set holds for suites other than r2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """Something that can be chosen; of suite rris a kind of negative sentence is a perturbation, of avi a task."""

    name: str  # unique in its set: an id, the full name of a stressor, a metric
    summary: str  # what it is; of a sample its caption
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """All that can be chosen with a suite, a task and data."""

    suite: str  # ``r2``, ``rris`` or ``avi``
    task: str  # of r2; empty for the others
    samples: tuple[Offered, ...]
    perturbations: tuple[Offered, ...]
    metrics: tuple[Offered, ...]
    remarks: tuple[str, ...] = ()  # what of the data cannot be offered or described, and why

    def of(self, choice_set: ChoiceSet) -> tuple[Offered, ...]:
        """What is offered in one of the three sets."""
        found: tuple[Offered, ...] = getattr(self, choice_set)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whether something offered is taken, and why (R2-Bench, Fig. 5: type, reason, selected)."""

    type: str  # the name of what is offered
    reason: str
    selected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A choice for everything offered, in the order of the offer."""

    samples: tuple[Choice, ...]
    perturbations: tuple[Choice, ...]
    metrics: tuple[Choice, ...]

    def of(self, choice_set: ChoiceSet) -> tuple[Choice, ...]:
        """The choices in one of the three sets."""
        found: tuple[Choice, ...] = getattr(self, choice_set)
        return found

    def selected(self, choice_set: ChoiceSet) -> tuple[str, ...]:
        """The names of what is taken."""
        return tuple(choice.type for choice in self.of(choice_set) if choice.selected)


class Debater(Protocol):
    """Operator or guardian: each has a memory of its own (R2-Bench, Eqs. 3 and 4)."""

    name: str

    def propose(self, instruction: str, offer: Offer) -> Proposal | Failed:
        """A first proposal."""
        ...

    def verify(self, instruction: str, offer: Offer, *, proposal: Proposal) -> Proposal | Failed:
        """The other's last proposal as this one would have it, with reasons where it differs."""
        ...
