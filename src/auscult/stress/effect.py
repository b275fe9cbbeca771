"""What a perturbation did to the truth: law 4."""

from __future__ import annotations

from dataclasses import dataclass

from auscult.types import Box, Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChange:
    """One place of a sentence that was changed.

    Attributes:
        start: Where in the old sentence it begins, in characters.
        before: What stood there; empty where something was put in.
        after: What stands there now; empty where something was taken out.
    """

    start: int
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effect:
    """What became of the truth. A field that is None or empty says that nothing of its kind changed.

    Attributes:
        masks: The given masks where the pixels went, each bool and of the shape given.
        boxes: The given boxes where the pixels went; None for one that left the picture.
        frames: The number of the input frame that each output frame shows.
        silent_s: Spans in which the sound was taken away, (start, end) in seconds.
        offset_s: How much later than its picture the sound at each output frame is: the time of the picture shown less
            that of the sound heard, in seconds of the input.
        words: What changed in a sentence.
    """

    masks: tuple[Mask, ...] | None = None
    boxes: tuple[Box | None, ...] | None = None
    frames: tuple[int, ...] | None = None
    silent_s: tuple[tuple[float, float], ...] = ()
    offset_s: tuple[float, ...] = ()
    words: tuple[WordChange, ...] = ()
