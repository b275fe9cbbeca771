"""Segments what sounds, without weights: where the sound comes from against where things are and move.

Stereo tells how far left or right each sound is; in each frame the thing that stands there is taken, one that moves
before one that stands. Where nothing tells left from right, the thing whose change goes along with the sound's level is
taken. Frame ``k`` of ``T`` is at ``k / T`` of the sound, as in scenes and at one frame a second; in a silent frame, and
without sound, nothing sounds and the mask is empty.

Short stretches around each frame are transformed; in stereo each of their frequencies lies somewhere between left and
right, by the amplitudes of the two channels alone (constant power panning, as in ``scenes`` and on most mixers).
Where two things sound at one frequency at once the place lies between them and is no one's, so a frequency counts by
how well a single place explains it over a few neighbours in time and pitch (as single-source zones in Arberet et al.,
"A robust method to count and locate audio sources in a multichannel underdetermined mixture", IEEE TSP 2010).

In stereo every place that something is heard from gets the candidate with the highest likeness: a guess of its IoU with
what sounds there, linear in a few plain measures. The weights were fitted by ridge regression on scenes of the seeds
902, 903 and 904, and rounded; numbers that are reported come from other seeds. In mono a place says nothing, and the
candidate is taken whose change over the clip goes along with the level.

What is seen to move, appear or stand still in a clip: candidates for what sounds.

The camera is taken to stand still, so that the median of all frames is the scene without what passes through it. What
differs from it in a frame is there in that frame only, unless the outline is sharper in the median: then something that
mostly stands there is gone, and what is seen is the ground behind it. Things that never move are proposed by their look
(``classical.regions.v1``), once for the clip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import area, box_of, joint, window
from auscult.models.base import Masks, ModelTask
from auscult.models.classical.grabcut import graph_cut
from auscult.models.classical.regions import LEAST_SIDE_PX, Regions, resized
from auscult.types import Doubles, Frame, Frames, Mask, Metadata, Query, Samples

NEAR: Final = 0.08
"""Share of the width: what is farther from where a sound comes from does not make it."""

MOST_HEIGHT: Final = 270
MOST_WIDTH: Final = 480
_DIFFERENT: Final = (14, 24, 40)  # of 255, in the channel that differs most: from just above grain and JPEG
_MOST_BLOBS: Final = 8
_MOST_SHARE: Final = 0.2  # of the picture: the box of two parts that may be one thing
_LEAST_SHARE: Final = 0.001
_FOR_SCENE: Final = 50  # frames at most that the median is taken of
_OPEN_PX: Final = 3
_CLOSE_PX: Final = 7
_PROPOSE: Final = Regions(nested=True, least_score=-9.0, most=48)

CandidateKind: TypeAlias = Literal["moving", "standing", "alone"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenPart:
    """Something in one frame, or in all of them."""

    mask: Mask  # bool (h, w), small
    kind: CandidateKind  # how it was found
    x: float  # middle of its columns, share of the width, 0 left to 1 right
    share: float  # share of the picture that it covers
    compact: float  # 1 for a disk, towards 0 for what is ragged
    edge: float  # mean edge strength along its outline, over the picture's own mean
    cut: float  # share of its outline that lies along the picture's border
    rank: int = 0  # how much like a thing it looks among the standing ones, 0 the most; 0 for what moves


class ClipSight:
    """What is seen of one clip, uint8 RGB (T, H, W, 3); each kind of candidate is looked for when first asked for."""

    def __init__(self, frames: Frames) -> None:
        height, width = small_size(frames.shape[1], frames.shape[2])
        self.frames = [
            np.asarray(cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
            for frame in frames
        ]
        sampled = self.frames[:: max(1, -(-len(self.frames) // _FOR_SCENE))]
        self.scene: Frame = np.median(np.stack(sampled), axis=0).astype(np.uint8)
        self.shape = (len(self.frames), height, width)
        self._plain = edges_of(self.scene)
        self._standing: tuple[SeenPart, ...] | None = None
        self._change: dict[int, NDArray[np.uint8]] = {}

    def change(self, frame: int) -> NDArray[np.uint8]:
        """How far each pixel of a frame is from the scene, (h, w), 0..255."""
        if frame not in self._change:
            change = cv2.absdiff(*(cv2.GaussianBlur(image, (3, 3), 0) for image in (self.frames[frame], self.scene)))
            self._change[frame] = np.asarray(change.max(axis=2), dtype=np.uint8)
        return self._change[frame]

    def moving(self, frame: int, *, near: Sequence[float] | None = None) -> tuple[SeenPart, ...]:
        """What differs from the scene in a frame, near some shares of its width if given; shapes overlap."""
        sharp = edges_of(self.frames[frame])
        shapes = _moving(self.change(frame), sharp, self._plain)
        return tuple(part(shape, sharp, kind="moving") for shape in shapes if is_near(shape, near))

    def standing(self) -> tuple[SeenPart, ...]:
        """What stands in the scene, the most thing-like first; shapes overlap."""
        if self._standing is None:
            shapes = enumerate(_thing_masks(self.scene))
            self._standing = tuple(part(shape, self._plain, kind="standing", rank=rank) for rank, shape in shapes)
        return self._standing

    def alone(self, frame: int, *, near: Sequence[float]) -> tuple[SeenPart, ...]:
        """What looks like a thing in a frame by itself: slow things differ from the scene at their rims only."""
        edges = edges_of(self.frames[frame])
        masks = enumerate(_thing_masks(self.frames[frame]))
        return tuple(part(mask, edges, kind="alone", rank=rank) for rank, mask in masks if is_near(mask, near))


def is_near(shape: Mask, positions: Sequence[float] | None) -> bool:
    """Whether the middle of a shape's columns lies within ``NEAR`` of a place; True for no places given."""
    return positions is None or any(abs(_middle_of_part(shape) - position) < NEAR for position in positions)


def _middle_of_part(shape: Mask) -> float:
    columns = np.flatnonzero(shape.any(axis=0))
    return (int(columns[0]) + int(columns[-1]) + 1) / float(2 * shape.shape[1])


def small_size(height: int, width: int) -> tuple[int, int]:
    """Height and width at which clips are looked at; never larger than they are."""
    scale = min(1.0, MOST_HEIGHT / height, MOST_WIDTH / width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def part(mask: Mask, edges: NDArray[np.float32], *, kind: CandidateKind, rank: int = 0) -> SeenPart:
    """A part from its mask, bool (h, w), not empty, and the edges of the picture it is seen in."""
    pixels, crop = int(np.count_nonzero(mask)), rows_and_columns(mask)
    inner = np.pad(mask[crop], 1)
    core = inner[1:-1, 1:-1] & inner[:-2, 1:-1] & inner[2:, 1:-1] & inner[1:-1, :-2] & inner[1:-1, 2:]
    rim = mask[crop] & ~core
    length = int(np.count_nonzero(rim))
    cut = int(mask[0].sum() + mask[-1].sum() + mask[:, 0].sum() + mask[:, -1].sum())
    return SeenPart(
        mask=mask,
        kind=kind,
        x=_middle_of_part(mask),
        share=pixels / mask.size,
        compact=min(1.0, 4 * np.pi * pixels / (1.1 * length) ** 2),
        edge=float(edges[crop][rim].mean()) / max(1e-3, float(edges.mean())),
        cut=cut / length,
        rank=rank,
    )


def rows_and_columns(mask: Mask) -> tuple[slice, slice]:
    """The rows and columns of a mask that is not empty."""
    return window(box_of(mask) or (0, 0, 0, 0))


def enlarged(masks: Masks, size: tuple[int, int]) -> Masks:
    """Small masks at the frames' size, bool (T, H, W)."""
    if masks.shape[1:] == size:
        return masks
    return np.stack([resized(mask, size) for mask in masks])


def _thing_masks(frame: Frame) -> Iterator[Mask]:
    """What looks like a thing; looked for at half the size, which is quicker and finds the same."""
    height, width = frame.shape[:2]
    half = max(1, height // 2), max(1, width // 2)
    if min(half) < LEAST_SIDE_PX:
        half = height, width
    reduced = np.asarray(cv2.resize(frame, half[::-1], interpolation=cv2.INTER_AREA), dtype=np.uint8)
    for mask in _PROPOSE(reduced):
        full = enlarged(mask[None], (height, width))[0]
        if full.any():
            yield full


def _moving(change: NDArray[np.uint8], sharp: NDArray[np.float32], plain: NDArray[np.float32]) -> Iterator[Mask]:
    for least in _DIFFERENT:
        shapes = [shape for shape in _blobs(change > least) if _is_there(shape, sharp, plain)]
        for shape in (*shapes, *_pairs(shapes)):
            yield shape
            yield _hull(shape)


def _blobs(changed: Mask) -> list[Mask]:
    """The connected parts of what differs, without holes, the largest first."""
    cleaned = changed.astype(np.uint8)
    for kind, side in ((cv2.MORPH_OPEN, _OPEN_PX), (cv2.MORPH_CLOSE, _CLOSE_PX)):
        cleaned = np.asarray(cv2.morphologyEx(cleaned, kind, np.ones((side, side), np.uint8)), dtype=np.uint8)
    outlines, _ = cv2.findContours(cleaned, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    blobs = []
    for outline in outlines:
        blob = np.zeros(cleaned.shape, np.uint8)
        cv2.drawContours(blob, [outline], -1, 1, cv2.FILLED)
        if np.count_nonzero(blob) >= _LEAST_SHARE * blob.size:
            blobs.append(blob > 0)
    return sorted(blobs, key=lambda blob: -int(np.count_nonzero(blob)))[:_MOST_BLOBS]


def _is_there(blob: Mask, sharp: NDArray[np.float32], plain: NDArray[np.float32]) -> bool:
    rim = cv2.morphologyEx(blob.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0
    return float(sharp[rim].sum()) >= float(plain[rim].sum())


def _pairs(blobs: list[Mask]) -> list[Mask]:
    """Two parts that are near one another, as one: the middle of a slow thing often looks like what was there."""
    boxes = [box for blob in blobs if (box := box_of(blob)) is not None]
    pairs = []
    for number, (blob, blob_box) in enumerate(zip(blobs, boxes, strict=True)):
        for other, other_box in zip(blobs[:number], boxes[:number], strict=True):
            if area(joint(blob_box, other_box)) <= _MOST_SHARE * blob.size:
                pairs.append(blob | other)
    return pairs


def _hull(blob: Mask) -> Mask:
    points = cv2.findNonZero(blob.astype(np.uint8))
    filled = np.zeros(blob.shape, np.uint8)
    cv2.fillConvexPoly(filled, cv2.convexHull(points), 1)
    return filled > 0


def edges_of(frame: Frame) -> NDArray[np.float32]:
    """Strength of the edges of a picture in grey, (h, w)."""
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    across, down = (cv2.Sobel(grey, cv2.CV_32F, *order) for order in ((1, 0), (0, 1)))
    return np.asarray(cv2.magnitude(across, down), dtype=np.float32)


_MARGIN_PX: Final = 12
_OUT_PX: Final = 9  # sides of squares: how far the new outline may lie outside and inside the old one
_IN_PX: Final = 7
_ROUNDS: Final = 2
_LEAST_PX: Final = 30
_KEPT: Final = 0.5  # of the old shape; what agrees less is another thing, and the old one stays


def outlined(frame: Frame, mask: Mask) -> Mask:
    """Fit a mask, bool (h, w), to the colours inside and outside it (Rother et al., "GrabCut", SIGGRAPH 2004).

    It is left as it is where it is tiny, fills the picture, or the fit goes astray.
    """
    box = box_of(mask)
    if box is None or np.count_nonzero(mask) < _LEAST_PX or mask.all():
        return mask
    x0, y0, x1, y1 = box
    crop = (slice(max(0, y0 - _MARGIN_PX), y1 + _MARGIN_PX), slice(max(0, x0 - _MARGIN_PX), x1 + _MARGIN_PX))
    labels = _labels(mask[crop])
    if not np.isin(labels, (cv2.GC_BGD, cv2.GC_PR_BGD)).any():
        return mask
    outline = np.zeros(mask.shape, np.bool_)
    outline[crop] = graph_cut(frame[crop], labels, rounds=_ROUNDS)
    both, either = int(np.count_nonzero(outline & mask)), int(np.count_nonzero(outline | mask))
    return outline if both >= _KEPT * either else mask


def _labels(mask: Mask) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """What is surely and what is likely inside and outside."""
    inside = mask.astype(np.uint8)
    outer = cv2.dilate(inside, np.ones((_OUT_PX, _OUT_PX), np.uint8)) > 0
    core = cv2.erode(inside, np.ones((_IN_PX, _IN_PX), np.uint8)) > 0
    labels = np.full(mask.shape, cv2.GC_BGD, np.uint8)
    labels[outer] = cv2.GC_PR_BGD
    labels[mask] = cv2.GC_PR_FGD
    labels[core] = cv2.GC_FGD
    return labels


POSITIONS: Final = 161
"""Steps from the left edge of the picture to the right one, both included."""

REACH_S: Final = 0.3
"""How far around a frame is listened to; what is heard neither before nor after it within this time is not heard."""

_WINDOW_S: Final = 0.064
_HOP_S: Final = 0.016
_LOWEST_HZ: Final = 60.0
_HIGHEST_HZ: Final = 12_000.0
_FLOOR: Final = 10 ** (-60 / 20)  # of full scale: quieter is silence, whatever else is in the clip
_BELOW_LOUDEST: Final = 10 ** (-46 / 20)
_ENOUGH_HZ: Final = 24_000
_AT_ONCE: Final = 32  # frames, so that a long clip takes no more memory than a short one
_MIXED: Final = 0.9  # share of power that one place explains, below which a frequency does not count
_LOUDNESS: Final = 0.35  # power to this is its weight, so that the loudest does not drown the others
_AROUND: Final = 8  # places to each side that are one sound's
_TOP: Final = 4
_LEAST_PEAK: Final = 0.004  # of what is heard in a frame
_SAME_SIDES: Final = 1e-3  # share of power in the difference of the channels below which there is no stereo


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """The sound at each frame."""

    level: Doubles  # RMS around each frame, (T,), full scale 1; 0 where it is silent
    # energy at each of ``POSITIONS``, (T, POSITIONS), 0 or more, each frame summing to at most 1; None where nothing
    # tells left from right
    positions: Doubles | None
    # how far what is heard at a place is further right after the frame than before it, (T, POSITIONS), share of the
    # width; None without ``positions``
    drift: Doubles | None = None

    @property
    def sounds(self) -> NDArray[np.bool_]:
        """Whether anything is heard, (T,)."""
        return self.level > 0


def listen(sound: Samples, rate_hz: int, *, frames: int) -> Heard:
    """Listen around each frame ``k``, at ``k / frames`` of the sound, float32; of many channels to the first two."""
    sides, rate_hz = _thinned(np.nan_to_num(np.atleast_2d(sound).astype(np.float32))[:2], rate_hz)
    size = 1 << max(4, round(np.log2(max(16.0, _WINDOW_S * rate_hz))))
    hop, reach = max(1, round(_HOP_S * rate_hz)), round(REACH_S / _HOP_S)
    middles = np.round(np.arange(frames) * sides.shape[1] / max(frames, 1)).astype(np.int64)
    starts = middles[:, None] + np.arange(-reach, reach + 1) * hop - size // 2
    parts = [
        _spectra(sides, starts[first : first + _AT_ONCE], size=size, rate_hz=rate_hz)
        for first in range(0, frames, _AT_ONCE)
    ]
    power = np.concatenate([(np.abs(part) ** 2).sum(axis=(2, 3)) for part in parts])  # (T, steps)
    loud = np.sqrt(power)
    floor = max(_FLOOR, _BELOW_LOUDEST * float(loud.max(initial=0.0)))
    on = around(loud > floor)
    level = np.where(on, np.sqrt(np.mean(power, axis=1)), 0.0)
    if sides.shape[0] < 2 or not _differ(parts):
        return Heard(level=level, positions=None)
    located = [_positions(part, floor=floor) for part in parts]
    positions, drift = np.concatenate([part for part, _ in located]), np.concatenate([part for _, part in located])
    return Heard(level=level, positions=np.where(on[:, None], positions, 0.0), drift=drift)


def _thinned(sides: NDArray[np.float32], rate_hz: int) -> tuple[NDArray[np.float32], int]:
    """Means of neighbouring samples, so that no rate takes more time than ``_ENOUGH_HZ``."""
    step = max(1, rate_hz // _ENOUGH_HZ)
    count = sides.shape[1] // step * step
    if step == 1 or not count:
        return sides, rate_hz
    return sides[:, :count].reshape(len(sides), -1, step).mean(axis=2), rate_hz // step


def peaks(positions: Doubles) -> list[float]:
    """Where sounds come from, 0 left to 1 right: the peaks of a histogram over ``POSITIONS``."""
    padded = np.pad(positions, _TOP)
    around = np.stack([padded[step : step + POSITIONS] for step in range(2 * _TOP + 1)])
    tops = np.flatnonzero((positions >= _LEAST_PEAK) & (positions == around.max(axis=0)))
    steps = np.arange(-_TOP, _TOP + 1)
    return [(int(top) + float(steps @ around[:, top]) / float(around[:, top].sum())) / (POSITIONS - 1) for top in tops]


def around(active: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether something is on at the middle of each row of odd length: at it, or both before and after it."""
    middle = active.shape[-1] // 2
    before, after = active[..., : middle + 1].any(axis=-1), active[..., middle:].any(axis=-1)
    return np.asarray(before & after)


def _spectra(
    sides: NDArray[np.float32], starts: NDArray[np.int64], *, size: int, rate_hz: int
) -> NDArray[np.complex64]:
    """Spectra of stretches, (T, steps, channels, frequencies), scaled so that their squares sum to mean power."""
    padded = np.pad(sides, ((0, 0), (size, size)))
    inside = np.clip(starts + size, 0, padded.shape[1] - size)
    window = np.hanning(size + 2)[1:-1].astype(np.float32)
    window /= np.sqrt(np.sum(window**2) * size / 2, dtype=np.float32)
    pieces = padded[:, inside[..., None] + np.arange(size)] * window
    frequencies = np.fft.rfftfreq(size, 1.0 / rate_hz)
    audible = (frequencies >= _LOWEST_HZ) & (frequencies <= _HIGHEST_HZ)
    spectra = np.fft.rfft(pieces, axis=-1)[..., audible]
    return np.moveaxis(spectra, 0, 2).astype(np.complex64)


def _differ(parts: Sequence[NDArray[np.complex64]]) -> bool:
    both = sum(float(np.sum(np.abs(part) ** 2)) for part in parts)
    difference = sum(float(np.sum(np.abs(part[:, :, 0] - part[:, :, 1]) ** 2)) for part in parts)
    return difference > _SAME_SIDES * both


def _positions(spectra: NDArray[np.complex64], *, floor: float) -> tuple[Doubles, Doubles]:
    """Places and drift as in ``Heard``, from what is heard on both sides of each frame in time."""
    left, right = spectra[:, :, 0], spectra[:, :, 1]
    powers = [_local_sums(np.abs(side) ** 2) for side in (left, right)]
    cross = _local_sums((left * right.conj()).real)
    total = powers[0] + powers[1]
    spread = np.sqrt((powers[0] - powers[1]) ** 2 + 4 * cross**2)
    single = np.clip((spread / np.maximum(total, 1e-20) - _MIXED) / (1 - _MIXED), 0, 1)
    angle = 0.5 * np.arctan2(2 * cross, powers[0] - powers[1])  # 0 left, pi / 2 right
    exact = np.clip(angle, 0, np.pi / 2) * (2 / np.pi) * (POSITIONS - 1)
    position = np.clip(np.rint(exact), 0, POSITIONS - 1).astype(np.int64)
    weight = np.where(cross >= 0, total**_LOUDNESS * single**2, 0.0)
    weight[total < (floor**2) / 64] = 0.0
    steps = weight.shape[1]
    counts = np.zeros((len(weight), steps, POSITIONS))
    frame, step = np.arange(len(weight))[:, None, None], np.arange(steps)[None, :, None]
    np.add.at(counts, (np.broadcast_to(frame, position.shape), np.broadcast_to(step, position.shape), position), weight)
    middle = steps // 2
    before, after = counts[:, : middle + 1].sum(axis=1), counts[:, middle:].sum(axis=1)
    both = np.minimum(_smooth(before), _smooth(after))
    drift = _middle(counts[:, middle:].sum(axis=1)) - _middle(before)
    summed = (before + after).sum(axis=1, keepdims=True) / 2
    return np.asarray(both / np.maximum(summed, 1e-20)), drift


def _local_sums(values: NDArray[np.float32]) -> Doubles:
    """Sums over three steps and three frequencies."""
    summed = np.pad(np.asarray(values, dtype=np.float64), ((0, 0), (1, 1), (1, 1)))
    summed = summed[:, :-2] + summed[:, 1:-1] + summed[:, 2:]
    return np.asarray(summed[:, :, :-2] + summed[:, :, 1:-1] + summed[:, :, 2:])


def _middle(counts: Doubles) -> Doubles:
    """Mean place of what is counted within ``_AROUND`` of each place, share of the width."""
    steps = np.arange(-_AROUND, _AROUND + 1) / (POSITIONS - 1)
    padded = np.pad(counts, ((0, 0), (_AROUND, _AROUND)))
    local = np.stack([padded[:, position : position + counts.shape[1]] for position in range(2 * _AROUND + 1)], axis=-1)
    return np.asarray((local @ steps) / np.maximum(local.sum(axis=-1), 1e-20))


def _smooth(counts: Doubles) -> Doubles:
    """Counts spread over neighbouring places, since what is heard from one place is never counted at one alone."""
    kernel = np.exp(-0.5 * (np.arange(-6, 7) / 2.4) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(counts, ((0, 0), (6, 6)))
    spread = np.zeros_like(counts)
    for position, share in enumerate(kernel.tolist()):
        spread += share * padded[:, position : position + counts.shape[1]]
    return spread


WEIGHTS: Final[dict[CandidateKind, tuple[tuple[float, ...], ...]]] = {
    "moving": (
        (0.015, -0.010, 0.061, 0.115, -0.072, -0.057, 0.000, 0.127, 0.060),
        (-0.084, 0.079, 0.075, 0.033, -0.184, -0.074, 0.000, 0.123, -0.081),
        (-0.120, 0.145, 0.091, 0.074, -0.184, -0.063, 0.000, 0.170, 0.134),
    ),
    "standing": (
        (0.036, 0.049, 0.065, -0.099, -0.056, -0.039, -0.063, 0.109, -0.015),
        (0.101, 0.139, -0.031, 0.017, -0.036, -0.037, -0.033, -0.097, -0.033),
        (0.176, 0.152, -0.047, -0.005, -0.101, -0.038, -0.159, -0.041, -0.159),
    ),
    "alone": (
        (0.059, 0.080, 0.020, -0.084, -0.094, -0.063, -0.084, 0.101, -0.028),
        (0.057, 0.085, -0.062, -0.009, -0.118, -0.049, -0.006, -0.088, -0.019),
        (0.121, 0.150, -0.019, -0.047, -0.181, -0.071, -0.198, 0.131, 0.031),
    ),
}


_SURE: Final = 0.5  # likeness from which on a frame is not searched by itself
_LEAST: Final = 0.15  # below it nothing is taken
_ALONG: Final = 20  # frames to each side over which change and level are compared
_CHANGED: Final = 22  # of 255, as is seen to differ from the scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A place that something is heard from in one frame."""

    x: float  # share of the width, 0 left to 1 right
    drift: float  # how far it moves around the frame, share of the width, 0 or more


def sounding(heard: Heard, sight: ClipSight) -> Masks:
    """What sounds, bool (T, h, w) at the small size; empty where it is silent or nothing stands where it comes from."""
    masks = np.zeros(sight.shape, np.bool_)
    outlines: dict[int, Mask] = {}
    for frame in np.flatnonzero(heard.sounds).tolist():
        for part in _chosen(heard, sight, frame):
            # What stands still is drawn once: its outline is that of the scene.
            standing = part.kind == "standing"
            drawn = outlines.get(id(part.mask)) if standing else None
            fitted = outlined(sight.scene if standing else sight.frames[frame], part.mask) if drawn is None else drawn
            if standing:
                outlines[id(part.mask)] = fitted
            masks[frame] |= fitted
    return masks


def _chosen(heard: Heard, sight: ClipSight, frame: int) -> list[SeenPart]:
    """What is most likely heard from each place."""
    if heard.positions is None or heard.drift is None:
        return _by_level(heard, sight, frame)
    xs = peaks(heard.positions[frame])
    drifts = [abs(float(heard.drift[frame, round(x * (POSITIONS - 1))])) for x in xs]
    headings = [Heading(x=x, drift=drift) for x, drift in zip(xs, drifts, strict=True)]
    change = sight.change(frame)
    parts = (*sight.moving(frame, near=xs), *sight.standing())
    matches = [_best(parts, heading, change) for heading in headings]
    unsure = [number for number, (_, value) in enumerate(matches) if value < _SURE]
    if unsure:
        others = sight.alone(frame, near=[xs[number] for number in unsure])
        for number in unsure:
            matches[number] = max(matches[number], _best(others, headings[number], change), key=lambda match: match[1])
    return [part for part, value in matches if part is not None and value >= _LEAST]


def _best(parts: Sequence[SeenPart], heading: Heading, change: NDArray[np.uint8]) -> tuple[SeenPart | None, float]:
    best: SeenPart | None = None
    highest = -math.inf
    for part in parts:
        if abs(part.x - heading.x) < NEAR and (value := likeness(part, heading, change)) > highest:
            best, highest = part, value
    return best, highest


def likeness(part: SeenPart, heading: Heading, change: NDArray[np.uint8]) -> float:
    """How likely a candidate is what sounds, about its IoU; ``change`` is how far pixels are from the scene."""
    return float(np.sum(np.array(WEIGHTS[part.kind]) * measures(part, heading, change)))


def measures(part: SeenPart, heading: Heading, change: NDArray[np.uint8]) -> Doubles:
    """What likeness is linear in, (3, 9): measures of the candidate, and each times two bells of its distance in x."""
    size = float(np.log10(part.share))
    values = np.array(
        [
            1.0,
            part.compact,
            min(part.edge, 4.0) / 4.0,
            part.cut,
            size,
            size * size,
            part.rank / 60.0,
            float(np.mean(change[part.mask] > _CHANGED)),
            min(heading.drift, 0.02) / 0.02,
        ]
    )
    distance = part.x - heading.x
    bells = [float(np.exp(-0.5 * (distance / width) ** 2)) for width in (0.006, 0.02)]
    return np.stack([values, bells[0] * values, bells[1] * values])


def _by_level(heard: Heard, sight: ClipSight, frame: int) -> list[SeenPart]:
    """Without stereo: what changes along with the level, else what looks most like a thing."""
    moving = sight.moving(frame)
    if not moving:
        return list(sight.standing()[:1])
    span = slice(max(0, frame - _ALONG), frame + _ALONG + 1)
    return [
        max(
            moving,
            key=lambda part: np.sqrt(part.share) * (1.2 + agreement(heard.level[span], _energy(sight, part, span))),
        )
    ]


def _energy(sight: ClipSight, part: SeenPart, span: slice) -> Doubles:
    """How much a part's place differs from the scene in each of some frames."""
    crop = rows_and_columns(part.mask)
    mask = part.mask[crop]
    frames = range(sight.shape[0])[span]
    return np.array([float(sight.change(number)[crop][mask].mean(dtype=np.float64)) for number in frames])


def agreement(level: Doubles, energy: Doubles) -> float:
    """The mean correlation of a sound's level and a sight's energy and of their steps, -1..1; 0 for a constant."""
    return (_correlation(level, energy) + _correlation(np.diff(level), np.diff(energy))) / 2


def _correlation(first: Doubles, second: Doubles) -> float:
    if len(first) < 2:
        return 0.0
    deviations = first - first.mean(), second - second.mean()
    size = float(np.sqrt(np.sum(deviations[0] ** 2) * np.sum(deviations[1] ** 2)))
    return float(np.sum(deviations[0] * deviations[1])) / size if size > 1e-9 else 0.0


_TASKS: Final[tuple[ModelTask, ...]] = ("avs", "refavs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Onsets:
    """The sound model."""

    name: str = "classical.onsets.v1"
    meta: Metadata = Metadata(
        summary="what stands or moves where the sound comes from, or changes along with it; no weights",
        goal="a model for audio-visual segmentation that needs no download",
        modality="video",
        source="auscult; places by amplitude after Arberet et al., IEEE TSP 2010",
    )
    tasks: tuple[ModelTask, ...] = _TASKS

    def predict(
        self,
        frames: Frames,
        query: Query,
        *,
        sound: Samples | None = None,
        rate_hz: int | None = None,
        **_: object,
    ) -> Masks:
        """Segment what sounds, bool (T, H, W), where there is sound; query and first mask are not looked at."""
        del query
        size = (frames.shape[1], frames.shape[2])
        if sound is None or not rate_hz or not np.size(sound) or not len(frames):
            return np.zeros((len(frames), *size), np.bool_)
        return enlarged(heard_and_seen(ClipSight(frames), sound, rate_hz)[0], size)


def heard_and_seen(sight: ClipSight, sound: Samples, rate_hz: int) -> tuple[Masks, Doubles]:
    """What sounds, bool (T, h, w) at the small size, and how loud each frame is, as ``Heard.level``."""
    heard = listen(sound, rate_hz, frames=sight.shape[0])
    return sounding(heard, sight), heard.level


MODEL = Onsets()
