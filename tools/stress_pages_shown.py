"""What the pages of docs/stress show a perturbation on: seeds, sizes, levels. Pages and pictures share it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LEVELS: Final = (1, 2, 3, 4, 5)

_SEED: Final = 7
# Drawn both ways: the seed is one whose draw is far from the middle, where hardly anything happens.
_SEEDS: Final[Mapping[str, int]] = MappingProxyType({"sound.gain.v1": 1, "sound.peaking_filter.v1": 1})
_SIDE_PX: Final = 224  # the size that the constants of ImageNet-C were chosen for
# A picture that is no larger than its square of 307 pixels would stay as it is.
_SIDES_PX: Final[Mapping[str, int]] = MappingProxyType({"vision.pixelate_r2bench.v1": 512})
_SUFFIXES: Final[Mapping[str, str]] = MappingProxyType({"vision": ".jpg", "sound": ".png", "timing": ".png"})


def seed_of(name: str) -> int:
    """The seed that a perturbation is shown with."""
    return _SEEDS.get(name, _SEED)


def side_of(name: str) -> int:
    """The size of the square photograph that a perturbation is shown on, in pixels."""
    return _SIDES_PX.get(name, _SIDE_PX)


def suffix_of(name: str) -> str:
    """Of the picture of a perturbation; empty for one of sentences, which has none."""
    return _SUFFIXES.get(name.partition(".")[0], "")
