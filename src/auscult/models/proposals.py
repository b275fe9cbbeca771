"""What proposes other objects of a frame, where no data set says which there are.

A benchmark takes its negatives (wrong objects, merged neighbours) from the data set's own objects by default. For
photographs without annotation it takes a ``MaskProposer``; detectors and segmenters fit the same interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from auscult.types import Frame, Mask, Metadata


@runtime_checkable
class MaskProposer(Protocol):
    """Proposes masks of things in a frame."""

    @property
    def name(self) -> str:
        """The registry's full name, ``classical.regions.v1``."""
        ...

    @property
    def meta(self) -> Metadata:
        """What it says about itself."""
        ...

    def __call__(self, frame: Frame, *, target: Mask | None = None) -> tuple[Mask, ...]:
        """Propose things other than the target.

        Args:
            frame: uint8 RGB (H, W, 3).
            target: Pixels that no proposal may hold, bool (H, W); None for no such object.

        Returns:
            Masks bool (H, W), none empty, the most object-like first; may be none.

        Raises:
            InputError: The frame or the target is not of the stated shape and type.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedObject:
    """Another object of a frame."""

    phrase: str
    mask: Mask  # bool (H, W), not empty


@runtime_checkable
class NamedProposer(Protocol):
    """Proposes masks of things in a frame, and says what each is."""

    def named(self, frame: Frame, *, target: Mask, meant: str) -> tuple[NamedObject, ...]:
        """Propose things that could be taken for the target, the most confusing first; may be none.

        Args:
            frame: uint8 RGB (H, W, 3).
            target: What is meant, bool (H, W).
            meant: What it is called, or the sentence that refers to it.

        Raises:
            InputError: What was asked gave no answer that can be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class ObjectCounter:
    """Counts things in a frame as the number of proposals: for choosing the frame that shows most."""

    proposer: MaskProposer

    def __call__(self, frame: Frame) -> int:
        """The number of proposals, 0 or more; a frame's rank among those of its clip, not a true count."""
        return len(self.proposer(frame))
