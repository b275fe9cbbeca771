"""What was drawn for an error along the outline, and the ways an outline goes wrong.

========  ==============================================================================================
swell     an offset that is wide along some lobes of the outline, seen from its middle, and none elsewhere
matte     a soft edge cut at the wrong level: thin parts and corners go first, bays fill up first
blocks    the mask at low resolution, every cell that is touched all in or all out
coarse    the mask at low resolution, enlarged smoothly and cut at the wrong level
lag       the mask of a moment before: a crescent on one side
corners   an outline clicked with few corners, all of them on the wrong side
========  ==============================================================================================

Each errs to one side only: what is taken in is kept, or what is left out stays out. The first four are maps with a
level (``edge_maps``), the last two are shapes (``shapes``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from auscult.stress.masks import fields

Mode: TypeAlias = Literal["swell", "matte", "blocks", "coarse", "lag", "corners"]
Lobe: TypeAlias = tuple[float, float, float]
"""(waves round the outline, amount, phase in radians)."""

Ring: TypeAlias = tuple[tuple[int, int], ...]
"""Corners (x, y) in sixteenths of a pixel of the frame."""

MODES: Final[tuple[Mode, ...]] = ("swell", "matte", "blocks", "coarse", "lag", "corners")
MAPS: Final = frozenset({"swell", "matte", "blocks", "coarse"})
MOST_RINGS: Final = 12
MOST_CORNERS: Final = 48
MOST_LOBES: Final = 6
SUBPIXELS: Final = 16
_FAR: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeParams:
    """What was drawn for one error along the outline.

    Attributes:
        mode: Which way it goes wrong.
        level: How far: a value of the mode's map; pixels of ``lag``; without meaning for ``corners``.
        grain_px: Blur of ``matte`` and cell of ``blocks`` and ``coarse``; else 0.
        turn_deg: Direction of ``lag``, clockwise from the right; else 0.
        lobes: Where ``swell`` is wide; else empty.
        rings: Polygons of ``corners``; else empty.
    """

    mode: Mode
    level: float = 0.0
    grain_px: int = 0
    turn_deg: float = 0.0
    lobes: tuple[Lobe, ...] = ()
    rings: tuple[Ring, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "mode": self.mode,
            "level": self.level,
            "grain_px": self.grain_px,
            "turn_deg": self.turn_deg,
            "lobes": [list(lobe) for lobe in self.lobes],
            "rings": [[list(corner) for corner in ring] for ring in self.rings],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> EdgeParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        given = fields.exactly(value, ("mode", "level", "grain_px", "turn_deg", "lobes", "rings"))
        mode = cast("Mode", fields.one_of(given["mode"], "mode", MODES))
        needs_grain = mode in {"matte", "blocks", "coarse"}
        return cls(
            mode=mode,
            level=fields.real(given["level"], "level", low=-_FAR, high=_FAR),
            grain_px=fields.whole(given["grain_px"], "grain_px", low=int(needs_grain), high=4096),
            turn_deg=fields.real(given["turn_deg"], "turn_deg", low=-360.0, high=360.0),
            lobes=tuple(_lobe(one) for one in fields.listed(given["lobes"], "lobes", most=MOST_LOBES)),
            rings=tuple(_ring(one) for one in fields.listed(given["rings"], "rings", most=MOST_RINGS)),
        )


def _lobe(value: object) -> Lobe:
    given = [*fields.listed(value, "lobes", most=3), None, None, None]
    waves, amount, phase = (fields.real(number, "lobes", low=-100.0, high=100.0) for number in given[:3])
    return waves, amount, phase


def _ring(value: object) -> Ring:
    return tuple(_corner(one) for one in fields.listed(value, "rings", most=MOST_CORNERS))


def _corner(value: object) -> tuple[int, int]:
    far = int(_FAR) * SUBPIXELS
    given = [*fields.listed(value, "rings", most=2), None, None]
    x, y = (fields.whole(number, "rings", low=-far, high=far) for number in given[:2])
    return x, y
