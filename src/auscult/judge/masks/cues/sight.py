"""What can be seen of a mask at all: below these limits the judge makes no claim about edges and accepts nothing."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.cues.catalogue import CUES

Sight: TypeAlias = Literal["clear", "small", "tiny", "full", "flat"]

BLIND: Final[tuple[Sight, ...]] = ("tiny", "full", "flat")
"""The outline cannot be checked by the picture."""
MEASURED_PX: Final = 32 * 32
"""The least area, in frame pixels, of the objects that the card measures."""

_LEAST_PX = 64
_LEAST_THICKNESS_PX = 1.25  # area over outline length: a line about two and a half pixels wide
_DISC_THINNESS = 2.6
_LONG_OUTLINE = 1.2
_FULL_SHARE = 0.95
_LEAST_CONTRAST = 1.5  # Lab units: a step this small between two patches is at the limit of what people see
_LEAST_EDGE = 0.35  # Lab units per step of the ribbon
_AT = {cue.name: at for at, cue in enumerate(CUES)}


def sight_of(vector: NDArray[np.float64]) -> Sight:
    """How much of a mask can be judged by its picture, from its cues, float64 (n,).

    Returns:
        ``clear``; ``small``, below the measured size; or, with no boundary to look at, ``full`` (the mask fills the
        frame), ``tiny`` (a speck or a hairline) or ``flat`` (no contrast along the outline).
    """
    area_px = float(np.exp(vector[_AT["log_area"]]))
    if float(vector[_AT["frame_share"]]) ** 2 > _FULL_SHARE or float(vector[_AT["frame_contact"]]) >= 1.0:
        return "full"
    if area_px < _LEAST_PX - 0.5 or _is_hairline(vector, area_px):
        return "tiny"
    contrast, edge = np.expm1(vector[_AT["contrast"]]), np.expm1(vector[_AT["edge_strength"]])
    if contrast < _LEAST_CONTRAST and edge < _LEAST_EDGE:
        return "flat"
    return "small" if area_px < MEASURED_PX - 0.5 else "clear"


def _is_hairline(vector: NDArray[np.float64], area_px: float) -> bool:
    """Whether the mask is so thin that smoothing takes it, or nearly."""
    thinness = float(vector[_AT["thinness"]])
    # with nothing left after smoothing the thinness is a disc's, which a long outline contradicts
    if thinness < _DISC_THINNESS and float(vector[_AT["compactness"]]) > _LONG_OUTLINE:
        return True
    return float(np.sqrt(area_px / np.exp(thinness))) < _LEAST_THICKNESS_PX
