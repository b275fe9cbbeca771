"""Which of what is seen makes what is heard, frame by frame.

In stereo every place that something is heard from gets the candidate with the highest likeness: a guess of its IoU with
what sounds there, linear in a few plain measures. The weights were fitted by ridge regression on scenes of the seeds
902, 903 and 904, and rounded; numbers that are reported come from other seeds. In mono a place says nothing, and the
candidate is taken whose change over the clip goes along with the level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.models.base import Masks
from auscult.models.classical.onsets_outline import outlined
from auscult.models.classical.onsets_sight import NEAR, Part, Sight
from auscult.models.classical.onsets_sound import PLACES, Heard, peaks
from auscult.models.classical.onsets_weights import WEIGHTS
from auscult.types import Mask

_SURE: Final = 0.5  # likeness from which on a frame is not searched by itself
_LEAST: Final = 0.15  # below it nothing is taken
_ALONG: Final = 20  # frames to each side over which change and level are compared
_CHANGED: Final = 22  # of 255, as is seen to differ from the scene

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A place that something is heard from in one frame.

    Attributes:
        x: Share of the width, 0 left to 1 right.
        drift: How far it moves around the frame, share of the width, 0 or more.
    """

    x: float
    drift: float


def sounding(heard: Heard, sight: Sight) -> Masks:
    """What sounds, at the small size.

    Args:
        heard: The sound at each frame.
        sight: The candidates.

    Returns:
        bool (T, h, w), empty where it is silent and where nothing stands where the sound comes from.
    """
    masks = np.zeros(sight.shape, np.bool_)
    drawn: dict[int, Mask] = {}
    for frame in np.flatnonzero(heard.sounds).tolist():
        for one in _chosen(heard, sight, frame):
            # What stands still is drawn once: its outline is that of the scene.
            standing = one.kind == "standing"
            known = drawn.get(id(one.mask)) if standing else None
            fitted = outlined(sight.scene if standing else sight.frames[frame], one.mask) if known is None else known
            if standing:
                drawn[id(one.mask)] = fitted
            masks[frame] |= fitted
    return masks


def _chosen(heard: Heard, sight: Sight, frame: int) -> list[Part]:
    """What is most likely heard from each place."""
    if heard.places is None or heard.drift is None:
        return _along(heard, sight, frame)
    xs = peaks(heard.places[frame])
    drifts = [abs(float(heard.drift[frame, round(x * (PLACES - 1))])) for x in xs]
    headings = [Heading(x=x, drift=drift) for x, drift in zip(xs, drifts, strict=True)]
    change = sight.change(frame)
    parts = (*sight.moving(frame, near=xs), *sight.standing())
    found = [_best(parts, heading, change) for heading in headings]
    unsure = [number for number, (_, value) in enumerate(found) if value < _SURE]
    if unsure:
        others = sight.alone(frame, near=[xs[number] for number in unsure])
        for number in unsure:
            found[number] = max(found[number], _best(others, headings[number], change), key=lambda one: one[1])
    return [one for one, value in found if one is not None and value >= _LEAST]


def _best(parts: Sequence[Part], heading: Heading, change: NDArray[np.uint8]) -> tuple[Part | None, float]:
    best: Part | None = None
    most = -math.inf
    for one in parts:
        if abs(one.x - heading.x) < NEAR and (value := likeness(one, heading, change)) > most:
            best, most = one, value
    return best, most


def likeness(one: Part, heading: Heading, change: NDArray[np.uint8]) -> float:
    """How likely a candidate is what sounds: about its IoU with it.

    Args:
        one: The candidate.
        heading: Where the sound comes from.
        change: How far each pixel of the frame is from the scene, (h, w).
    """
    return float(np.sum(np.array(WEIGHTS[one.kind]) * measures(one, heading, change)))


def measures(one: Part, heading: Heading, change: NDArray[np.uint8]) -> Floats:
    """What likeness is linear in, (3, 9): measures of the candidate, and each times two bells of its distance in x."""
    size = float(np.log10(one.share))
    own = np.array(
        [
            1.0,
            one.compact,
            min(one.edge, 4.0) / 4.0,
            one.cut,
            size,
            size * size,
            one.rank / 60.0,
            float(np.mean(change[one.mask] > _CHANGED)),
            min(heading.drift, 0.02) / 0.02,
        ]
    )
    away = one.x - heading.x
    bells = [float(np.exp(-0.5 * (away / wide) ** 2)) for wide in (0.006, 0.02)]
    return np.stack([own, bells[0] * own, bells[1] * own])


def _along(heard: Heard, sight: Sight, frame: int) -> list[Part]:
    """Without stereo: what changes along with the level, else what looks most like a thing."""
    moving = sight.moving(frame)
    if not moving:
        return list(sight.standing()[:1])
    span = slice(max(0, frame - _ALONG), frame + _ALONG + 1)
    return [
        max(
            moving, key=lambda one: np.sqrt(one.share) * (1.2 + agreement(heard.level[span], _energy(sight, one, span)))
        )
    ]


def _energy(sight: Sight, one: Part, span: slice) -> Floats:
    """How much a part's place differs from the scene in each of some frames."""
    rows, columns = np.flatnonzero(one.mask.any(axis=1)), np.flatnonzero(one.mask.any(axis=0))
    here = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    mask = one.mask[here]
    frames = range(sight.shape[0])[span]
    return np.array([float(sight.change(number)[here][mask].mean(dtype=np.float64)) for number in frames])


def agreement(level: Floats, energy: Floats) -> float:
    """How a sound and a sight go along over the frames: the mean of the correlations of both and of their steps.

    Args:
        level: Of the sound, (T,).
        energy: Of what is seen, (T,).

    Returns:
        -1..1; 0 where either never changes.
    """
    return (_correlation(level, energy) + _correlation(np.diff(level), np.diff(energy))) / 2


def _correlation(one: Floats, other: Floats) -> float:
    if len(one) < 2:
        return 0.0
    apart = one - one.mean(), other - other.mean()
    size = float(np.sqrt(np.sum(apart[0] ** 2) * np.sum(apart[1] ** 2)))
    return float(np.sum(apart[0] * apart[1])) / size if size > 1e-9 else 0.0
