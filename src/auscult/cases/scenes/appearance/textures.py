"""Surface patterns in a thing's own coordinates, so that they turn and grow with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult import rng as randomness

Field = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weave:
    """How a pattern lies on a thing.

    Attributes:
        repeats: How often it repeats over the thing's height.
        turn_deg: Its direction.
        share: How much of it is the second tone, 0..1.
        seed: For patterns with chance in them.
    """

    repeats: float
    turn_deg: float
    share: float
    seed: int


def _turned(u: Field, v: Field, weave: Weave) -> tuple[Field, Field]:
    angle = np.radians(weave.turn_deg)
    cos, sin = np.float32(np.cos(angle) * weave.repeats), np.float32(np.sin(angle) * weave.repeats)
    return u * cos + v * sin, v * cos - u * sin


def _striped(u: Field, v: Field, weave: Weave) -> Field:
    along, _ = _turned(u, v, weave)
    return (along % 1 < weave.share).astype(np.float32)


def _checked(u: Field, v: Field, weave: Weave) -> Field:
    along, across = _turned(u, v, weave)
    return ((np.floor(along) + np.floor(across)) % 2).astype(np.float32)


def _spotted(u: Field, v: Field, weave: Weave) -> Field:
    along, across = _turned(u, v, weave)
    row = np.floor(across)
    dx, dy = (along + 0.5 * (row % 2)) % 1 - 0.5, across % 1 - 0.5
    return (dx * dx + dy * dy < weave.share / np.pi).astype(np.float32)


def _speckled(u: Field, v: Field, weave: Weave) -> Field:
    along, across = _turned(u, v, weave)
    table = randomness.generator(weave.seed, "speckles").uniform(size=(3, 64, 64)).astype(np.float32)
    column, row = np.floor(along).astype(np.int32) & 63, np.floor(across).astype(np.int32) & 63
    dx = along % 1 - 0.3 - 0.4 * table[0][row, column]
    dy = across % 1 - 0.3 - 0.4 * table[1][row, column]
    radius = weave.share * (0.25 + 0.75 * table[2][row, column])
    return np.asarray(dx * dx + dy * dy < radius * radius, dtype=np.float32)


_PATTERNS: Final[dict[str, Callable[[Field, Field, Weave], Field]]] = {
    "striped": _striped,
    "spotted": _spotted,
    "checked": _checked,
    "speckled": _speckled,
}
TEXTURES: Final = ("plain", *_PATTERNS)
_REPEATS: Final = {"striped": (4.0, 7.0), "spotted": (4.0, 6.0), "checked": (5.0, 8.0), "speckled": (10.0, 14.0)}
_SHARES: Final = {"striped": (0.4, 0.55), "spotted": (0.3, 0.42), "checked": (0.5, 0.5), "speckled": (0.2, 0.3)}
_TURNS: Final = {"striped": (0.0, 45.0, 90.0, -45.0), "checked": (0.0, 45.0)}


def draw_weave(rng: np.random.Generator, texture: str) -> Weave:
    """Draw how a texture lies; of a plain one nothing is used."""
    turns = _TURNS.get(texture, (0.0,))
    return Weave(
        repeats=round(float(rng.uniform(*_REPEATS.get(texture, (1.0, 1.0)))), 3),
        turn_deg=round(float(rng.choice(turns) + rng.uniform(-6.0, 6.0)), 2),
        share=round(float(rng.uniform(*_SHARES.get(texture, (0.5, 0.5)))), 3),
        seed=int(rng.integers(2**31)),
    )


def pattern(texture: str, u: Field, v: Field, *, weave: Weave) -> Field | None:
    """Where a texture shows its second tone.

    Args:
        texture: One of ``TEXTURES``.
        u: Place across the thing, in heights.
        v: Place down the thing, in heights.
        weave: How it lies.

    Returns:
        float32 0..1 in the shape of ``u``; None for a plain one.
    """
    return None if texture == "plain" else _PATTERNS[texture](u, v, weave)
