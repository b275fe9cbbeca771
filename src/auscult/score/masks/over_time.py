"""How a mask behaves over the frames of a clip, the motion of the picture taken out. No truth is needed.

Conventions: a step lies between two consecutive frames of a clip. Its overlap is the IoU of the later mask with the
earlier one moved along with the picture, over the pixels whose motion could be followed (``arrays.motion``), 0..1. A
step counts where at least ``FOLLOWED`` of the two masks was followed.

- ``flicker``: 1 minus the median overlap, 0..1, **lower is better**: how much the mask changes from frame to frame
  beyond what motion explains. It is the usual step that counts; a single bad frame does not move it.
- ``is_switch``: the mask is on something else than a step before: hardly any overlap, neither mask mostly within the
  other, and another place or other colours. A mask that shrinks to a piece of itself, or swallows what is around it,
  is none.

References: flow-warped overlap as a measure of temporal stability goes back to Perazzi et al. 2016 (T of DAVIS) and
Lai et al. 2018 (warping error).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from auscult.outcome import Scored, Signature, Undefined

FOLLOWED = 0.4
SURELY_FOLLOWED = 0.5
LEAST_STEPS = 3
LITTLE_OVERLAP = 0.25
MOSTLY_WITHIN = 0.5
ELSEWHERE = 0.1
JUMP = 0.5
OTHER_COLOURS = 0.35
SURELY_OTHER_COLOURS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskStep:
    """What happens to a mask between two consecutive frames."""

    iou: float | None  # overlap over the followed pixels; None where none was followed, or both masks are empty
    followed: float  # share of the two masks that was followed, 0..1
    everywhere: float | None  # overlap over all pixels; None for two empty masks
    within: float | None = None  # share of the smaller mask that lies in the other; None where either is empty
    # distance of the later mask's centre from where motion puts the earlier one's, in sides of a square of the earlier
    # mask's area; None where either is empty
    jump: float | None = None
    # Hellinger distance of the colours under the two masks, 0..1; None where either is empty. Where the mask comes back
    # after frames without it, of the colours under it now and when it was last there
    colours: float | None = None

    @property
    def overlap(self) -> float | None:
        """The overlap where the step counts, else None."""
        return self.iou if self.followed >= FOLLOWED else None


def flicker(steps: Sequence[MaskStep | None]) -> Scored[float] | Undefined:
    """1 minus the median overlap of a clip's steps, 0..1, lower is better; None is a step that could not be had.

    Undefined where fewer than half of the steps count, or fewer than ``LEAST_STEPS``.
    """
    overlaps = [step.overlap for step in steps if step is not None and step.overlap is not None]
    there = sum(step is not None and step.everywhere is not None for step in steps)
    if there < LEAST_STEPS:
        return Undefined(f"fewer than {LEAST_STEPS} steps between frames that both could be read")
    if len(overlaps) < LEAST_STEPS or 2 * len(overlaps) < there:
        return Undefined(f"the motion could be followed in {len(overlaps)} of {there} steps only")
    signature = Signature.of(metric="flicker", over="followed pixels", followed=FOLLOWED, steps=len(overlaps))
    return Scored(1 - median(overlaps), signature)


def is_switch(step: MaskStep | None) -> bool:
    """Whether the mask is on something else after this step.

    Where the step cannot be followed, a fast object looks like a jump: there only other colours count, and more so.
    The same holds where the mask comes back after frames without it.
    """
    if step is None or step.colours is None:
        return False
    if step.jump is None:
        return step.colours >= SURELY_OTHER_COLOURS
    if step.within is not None and step.within >= MOSTLY_WITHIN:
        return False
    if step.overlap is not None and step.followed >= SURELY_FOLLOWED:
        elsewhere = step.jump >= JUMP or (step.within is not None and step.within < ELSEWHERE)
        return step.overlap < LITTLE_OVERLAP and (elsewhere or step.colours >= OTHER_COLOURS)
    return (step.everywhere or 0.0) < LITTLE_OVERLAP and step.colours >= SURELY_OTHER_COLOURS
