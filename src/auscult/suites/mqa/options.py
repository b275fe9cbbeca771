"""What the building of the benchmark asks for: targets, protocols, key frames and negatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from auscult.errors import UsageError
from auscult.jobs.manifests import InputOptions
from auscult.models.proposals import MaskProposer
from auscult.suites.mqa.rows import PROTOCOLS
from auscult.types import Frame

OWN: Final = "own"
ANNOTATED: Final = "annotated"
WITHOUT_SPLITS: Final = "test"
"""The split of instances whose source has none."""

LEFT_OUT: Final = frozenset({"val", "test_n"})
"""Splits that are taken only when they are asked for: held back for choosing models, and null expressions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """How much of a split is wanted; a source that has less gives what it has.

    Attributes:
        clips: Videos or photographs.
        instances: Referring expressions.
        doubled: Whether a clip may give a second expression where one per clip does not reach ``instances``.
        videos: Clips of the video protocol, one expression each.
    """

    clips: int
    instances: int
    doubled: bool = True
    videos: int = 0

    def at_most(self, count: int | None) -> Target:
        """The same, with no number above ``count``."""
        if count is None:
            return self
        return replace(
            self,
            clips=min(self.clips, count),
            instances=min(self.instances, count),
            videos=min(self.videos, count),
        )


TARGETS: Final[Mapping[str, Target]] = {
    "train": Target(clips=1306, instances=1306, doubled=False),
    "test_s": Target(clips=269, instances=437, videos=60),
    "test_u": Target(clips=265, instances=303, videos=40),
}
"""MQ-RAVSBench, Table 1."""

OTHER_TARGET: Final = Target(clips=534, instances=740, videos=100)
"""Any other split: the two test splits together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions(InputOptions):
    """What to build the benchmark from, and how.

    Attributes:
        seed: The same seed draws the same instances and the same masks.
        protocols: ``image`` (one key frame), ``video`` (whole clips), or both.
        splits: Splits to take; empty for all that the source has but ``val`` and ``test_n``.
        count: Most instances of a split; None for the targets of MQ-RAVSBench.
        negatives: ``own`` for the data set's own other objects, or a proposer of regions: a registered one's name, or
            the proposer itself.
        key_frame: ``annotated`` to count the annotated objects, the name of a registered proposer to count regions, or
            a function that counts the objects of a frame. What is passed itself goes to worker processes: it must be
            picklable.
    """

    seed: int = 0
    protocols: tuple[str, ...] = PROTOCOLS
    splits: tuple[str, ...] = ()
    count: int | None = None
    negatives: str | MaskProposer = OWN
    key_frame: str | Callable[[Frame], int] = ANNOTATED

    def target(self, split: str) -> Target:
        """How much of a split is wanted."""
        return TARGETS.get(split, OTHER_TARGET).at_most(self.count)

    def check(self) -> None:
        """Refuse what cannot be built.

        Raises:
            UsageError: A protocol is unknown, none was chosen, or the count is not positive.
        """
        for name in self.protocols:
            if name not in PROTOCOLS:
                raise UsageError(f"there is no protocol {name!r}", expected="image, video, or both")
        if not self.protocols:
            raise UsageError("no protocol was chosen", expected="image, video, or both")
        if self.count is not None and self.count < 1:
            raise UsageError(f"{self.count} instances are nothing", expected="a count of 1 or more")
