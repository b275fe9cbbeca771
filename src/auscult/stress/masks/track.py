"""A defect through a clip, and the rule by which a track is dropped.

Source: MQ-RAVSBench, Sec. 4 (video-based evaluation: all frames of a video share one mask type) and Table 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from auscult.outcome import Outcome, Scored, Undefined
from auscult.types import Defect, Difficulty, StressedMask

LEAST_SHARE: Final = 0.5
"""A track with a smaller share of made frames, of those with a target, is dropped."""

_NEGATIVE: Final = frozenset({"merge", "full_neg"})
_NO_TARGET: Final = frozenset({"no_annotation", "target_empty"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Track:
    """One defect through a clip.

    Attributes:
        kind: The defect, the same in all frames.
        difficulty: What was asked for; of a merge, what its mean IoU makes it; None for perfect and full_neg.
        index: Number within the kind, from 0. Merges are in order of falling mean IoU, full_negs of falling mean box
            IoU with the target: 0 is the hardest.
        frames: One outcome a frame, in order of time.
        other: Which other object was taken, by its place in ``others``; None for other kinds.
        params: What was drawn for the whole track, as JSON values. Each frame's own parameters hold it too, so that a
            frame replays by itself.
        dropped: Too few frames could be made; none of ``frames`` has a mask then.
    """

    kind: Defect
    difficulty: Difficulty | None
    index: int
    frames: tuple[Outcome[StressedMask], ...]
    other: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    dropped: bool = False

    @property
    def name(self) -> str:
        """Unique within its instance: ``perfect``, ``cutout_hard``, ``merge_1``."""
        if self.kind in _NEGATIVE:
            return f"{self.kind}_{self.rank}"
        return self.kind if self.difficulty is None else f"{self.kind}_{self.difficulty}"

    @property
    def rank(self) -> int:
        """1 is the hardest of its kind."""
        return 2 if self.kind not in _NEGATIVE and self.difficulty == "medium" else self.index + 1

    @property
    def made(self) -> int:
        """Frames that have a mask."""
        return sum(isinstance(frame, Scored) for frame in self.frames)

    @property
    def reasons(self) -> Counter[str]:
        """How often each reason kept a frame from being made."""
        return Counter(frame.reason for frame in self.frames if isinstance(frame, Undefined))


def kept(frames: Sequence[Outcome[StressedMask]]) -> tuple[tuple[Outcome[StressedMask], ...], bool]:
    """Apply the rule: at least half of the frames with a target are made, or no frame is.

    Returns:
        The frames, and whether the track was dropped. The frames of a dropped track are all ``Undefined``: those that
        could have been made for the reason ``track_dropped``, with the counts in the detail.
    """
    made = sum(isinstance(frame, Scored) for frame in frames)
    wanted = sum(not (isinstance(frame, Undefined) and frame.reason in _NO_TARGET) for frame in frames)
    if made and made >= LEAST_SHARE * wanted:
        return tuple(frames), False
    dropped = Undefined("track_dropped", {"made": made, "with_target": wanted})
    return tuple(dropped if isinstance(frame, Scored) else frame for frame in frames), True
