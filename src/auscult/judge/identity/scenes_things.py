"""What the networks found in a frame: each thing's place, size and what it may be called, as probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.judge.identity.scenes_words import Vocabulary
from auscult.types import Mask

Floats = NDArray[np.float32]

PEAK: Final = 0.3
"""Height from which a place of the heat map is the centre of a thing."""

PART: Final = 0.1
"""Share of a mask from which a part of it counts as a thing by itself."""

_MOST: Final = 12
_OWN: Final = 0.35  # of a mask's width: so near to its centre there is no other centre than its own
_PART_PEAK: Final = 0.4
_TWICE: Final = 0.6  # of a thing's radius: so near to its centre lies no other's
_MORE: Final = 1.5  # things that are larger together than this much of the mask are one thing, found twice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Peak:
    """A centre on the looker's maps.

    Attributes:
        x: As a share of the picture.
        y: The same.
        share: Of the picture that the thing covers.
        height: Of the heat map, 0..1.
        words: Logits of all words, float32 (words,).
    """

    x: float
    y: float
    share: float
    height: float
    words: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """A thing of the frame.

    Attributes:
        x: Its centre, as a share of the picture.
        y: The same.
        share: Of the picture.
        sure: How likely there is a thing at all.
        categories: Probability of each category, float32 (categories,).
        colours: The same of colours.
        textures: The same of textures.
    """

    x: float
    y: float
    share: float
    sure: float
    categories: Floats
    colours: Floats
    textures: Floats


def peaks(centres: Floats, seen: Floats) -> list[Peak]:
    """Centres of things, highest first.

    Args:
        centres: (2, h, w): logit of a centre, and natural logarithm of the share.
        seen: (words, h, w): logits.
    """
    heat = 1 / (1 + np.exp(-centres[0]))
    highest = cv2.dilate(heat, np.ones((3, 3), np.uint8))
    rows, columns = np.nonzero((heat >= PEAK) & (heat >= highest))
    order = np.argsort(-heat[rows, columns], kind="stable")[:_MOST]
    height, width = heat.shape
    found = (
        Peak(
            x=(float(columns[at]) + 0.5) / width,
            y=(float(rows[at]) + 0.5) / height,
            share=float(np.exp(np.clip(centres[1, rows[at], columns[at]], -9.0, 0.0))),
            height=float(heat[rows[at], columns[at]]),
            words=seen[:, rows[at], columns[at]],
        )
        for at in order
    )
    kept: list[Peak] = []
    for peak in found:
        if all(_apart(peak, other, width / height) > _TWICE * _radius(other) for other in kept):
            kept.append(peak)
    return kept


def parts(mask: Mask, centres: Sequence[Peak]) -> list[Mask]:
    """The mask, or what it falls into where it holds the centres of several things."""
    inside = [peak for peak in centres if peak.height >= _PART_PEAK and _holds(mask, peak)]
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    together = sum(peak.share for peak in inside) * mask.size
    if len(inside) < 2 or together > _MORE * len(rows):
        return [mask]
    reach = [
        np.hypot((columns / width - one.x) * width / height, rows / height - one.y) / _radius(one) for one in inside
    ]
    owner = np.argmin(np.stack(reach), axis=0)
    found = []
    for number in range(len(inside)):
        mine = owner == number
        if mine.mean() >= PART:
            part = np.zeros_like(mask)
            part[rows[mine], columns[mine]] = True
            found.append(part)
    return found if len(found) > 1 else [mask]


def others(masks: Sequence[Mask], centres: Sequence[Peak]) -> list[Peak]:
    """Centres that belong to none of some masks."""
    return [peak for peak in centres if not any(_is_of(mask, peak) for mask in masks)]


def nearest_peak(mask: Mask, centres: Sequence[Peak]) -> Peak | None:
    """The centre that is a mask's own, if there is one."""
    x, y, _ = place(mask)
    own = [peak for peak in centres if _is_of(mask, peak)]
    return min(own, key=lambda peak: np.hypot(peak.x - x, peak.y - y), default=None)


def place(mask: Mask) -> tuple[float, float, float]:
    """Centre and share of a mask, each of the whole picture."""
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    return (float(columns.mean()) + 0.5) / width, (float(rows.mean()) + 0.5) / height, len(rows) / mask.size


def probabilities(words: Floats, known: Vocabulary) -> tuple[Floats, Floats, Floats]:
    """Logits of all words to probabilities of categories, colours and textures."""
    first, second = known.parts
    return (
        _softmax(words[:first] * known.sharpness),
        _softmax(words[first:second]),
        _softmax(words[second:]),
    )


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float32)


def _apart(one: Peak, two: Peak, aspect: float) -> float:
    return float(np.hypot((one.x - two.x) * aspect, one.y - two.y))


def _radius(peak: Peak) -> float:
    """Of a disc of its size on a picture of 16:9, in picture heights."""
    return max(0.01, float(np.sqrt(peak.share * 16 / 9 / np.pi)))


def _holds(mask: Mask, peak: Peak) -> bool:
    height, width = mask.shape
    return bool(mask[min(height - 1, int(peak.y * height)), min(width - 1, int(peak.x * width))])


def _is_of(mask: Mask, peak: Peak) -> bool:
    """In the mask, or near its centre: a hollow or cut mask does not hold its own centre."""
    if _holds(mask, peak):
        return True
    x, y, share = place(mask)
    height, width = mask.shape
    return float(np.hypot((peak.x - x) * width / height, peak.y - y)) < _OWN * float(np.sqrt(share * width / height))
