"""What a perturbation of pictures is.

Choosing is apart from doing (law 3): ``choose`` draws everything that is random, once for a whole clip, and never asks
how strong; ``render`` makes one frame from that and is pure. So a clip's weather stays the same weather while its
strength rises and falls, and any frame can be made alone, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from auscult.rng import generator
from auscult.stress.params import Params, seed_from
from auscult.stress.perturbation import Perturbation
from auscult.types import Frame, Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipInfo:
    """What may be known of a picture or clip when a perturbation is chosen.

    Attributes:
        height: Pixels.
        width: Pixels.
        frames: How many; 1 for a picture.
        rate_fps: Frames per second.
    """

    height: int
    width: int
    frames: int = 1
    rate_fps: float = 25.0


P = TypeVar("P", bound=Params)
P_contra = TypeVar("P_contra", bound=Params, contravariant=True)


@runtime_checkable
class VisionStressor(Perturbation[P], Protocol[P]):
    """Perturbs pictures."""

    def choose(self, rng: np.random.Generator, shot: ClipInfo, *, strength: float) -> P:
        """Draw everything that is random, once for a clip; the draws themselves do not depend on ``strength``."""
        ...

    def render(self, frame: Frame, params: P, *, index: int = 0) -> Frame:
        """Perturb one frame.

        Args:
            frame: uint8 RGB (H, W, 3), C-contiguous; never written to.
            params: What was drawn; ``params.strength`` is above 0 here.
            index: The frame's number in its clip, from 0.

        Returns:
            A new array of the same shape and dtype.
        """
        ...


@runtime_checkable
class MovingStressor(Protocol[P_contra]):
    """A perturbation under which pixels leave their places, so that masks must follow."""

    def move(self, mask: Mask, params: P_contra, *, index: int = 0) -> Mask:
        """Where the pixels of a mask went, bool (H, W)."""
        ...


AnyVisionStressor: TypeAlias = VisionStressor[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedParams(Params):
    """Parameters of a perturbation that draws anew in each frame.

    Attributes:
        seed: What each frame's draws follow from, with its number.
    """

    seed: int

    def of_frame(self, index: int) -> np.random.Generator:
        """The generator of one frame."""
        return generator(self.seed, "frame", index)


class Seeded:
    """Chooses for a perturbation whose only draw is the seed of its frames."""

    params = SeedParams

    def choose(self, rng: np.random.Generator, shot: ClipInfo, *, strength: float) -> SeedParams:
        """Draw the seed."""
        del shot
        return SeedParams(strength=strength, seed=seed_from(rng))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoDraws(Params):
    """Parameters of a perturbation that draws nothing."""


class Fixed:
    """Chooses for a perturbation that is the same every time."""

    params = NoDraws

    def choose(self, rng: np.random.Generator, shot: ClipInfo, *, strength: float) -> NoDraws:
        """Draw nothing."""
        del rng, shot
        return NoDraws(strength=strength)
