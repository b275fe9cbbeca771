"""Batches: which objects, which candidates, the inputs of the network and its targets.

A batch follows from (seed, number) and the pictures alone, whoever makes it and in whatever order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError, InputError
from auscult.judge.masks.compact.view import coverage
from auscult.judge.masks.prompted.view import Lens, View, look
from auscult.media.rle import decode
from auscult.nets.prompted import PROMPTS, TYPES
from auscult.rng import generator
from auscult.train.augment import cut
from auscult.train.candidates import Candidate, CandidateScene, candidates
from auscult.train.prompted.material import LEAST_PX, Picture
from auscult.types import Frame, Mask

PER_OBJECT: Final = 3
_DRAWN: Final = 6
_KEPT_FRAMES: Final = 250
_REAL_SHARE: Final = 0.35
_VIDEO_SHARE: Final = 0.15
_WANTED: Final = (1.2, 2.0, 2.0, 1.6, 1.3, 1.0, 0.8, 0.7, 0.7, 1.0)  # by IoU: more where the mixture makes fewer
_LEVELS: Final = len(_WANTED)
_SEEN: Final = ("crop", "candidate", "strip", "shape")
_LEAST_CANDIDATE_PX: Final = 48
_LIKE_ANOTHER: Final = 0.3
_ANSWERED_FROM: Final = 0.15  # below this IoU the mask does not show which object is meant

Arrays = Mapping[str, NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """One candidate: inputs and ground truth."""

    view: View
    prompt: NDArray[np.uint8]
    truth: NDArray[np.uint8]
    type: int
    iou: float
    answered: float


class Feed:
    """Makes batches of pictures, whose real masks enter as they are; some object must be large enough."""

    def __init__(self, pictures: Sequence[Picture], *, seed: int, lens: Lens) -> None:
        self._pictures = pictures
        self._seed = seed
        self._lens = lens
        self._pools = _pools(pictures)
        if not self._pools:
            raise InputError("there is no object to learn from", expected=f"one of at least {LEAST_PX} px")
        self._decoded = lru_cache(maxsize=_KEPT_FRAMES)(self._decode)

    def batch(self, number: int, size: int) -> Arrays:
        """A batch by its number, of ``size`` samples, a multiple of ``PER_OBJECT``.

        ``crop`` (n, 3, side, side), ``candidate`` and ``truth`` (n, grid, grid), ``prompt`` (n, 4, grid, grid) and
        ``strip`` (n, 6, 24, 256) as bytes; ``shape`` (n, 10), ``iou`` and ``answered`` (n,) float32; ``type`` int64
        (n,), -1 where no single type names it.
        """
        rng = generator(self._seed, "prompted", "batch", number)
        samples: list[Sample] = []
        while len(samples) < size:
            try:
                samples += self._of_object(rng)
            except (AuscultError, ValueError, cv2.error):  # a broken object or file is skipped
                continue
        samples = samples[:size]
        return {
            **{name: np.stack([getattr(sample.view, name) for sample in samples]) for name in _SEEN},
            "prompt": np.stack([sample.prompt for sample in samples]),
            "truth": np.stack([sample.truth for sample in samples]),
            "type": np.array([sample.type for sample in samples], dtype=np.int64),
            "iou": np.array([sample.iou for sample in samples], dtype=np.float32),
            "answered": np.array([sample.answered for sample in samples], dtype=np.float32),
        }

    def _of_object(self, rng: np.random.Generator) -> list[Sample]:
        shares = np.array([share for share, _, _ in self._pools])
        _, objects, weights = self._pools[int(rng.choice(len(self._pools), p=shares / shares.sum()))]
        index, target = objects[int(rng.choice(len(objects), p=weights))]
        picture = self._pictures[index]
        frame, masks = self._decoded(index)
        real = [entry.rle for entry in picture.real if entry.target == target]
        uncut = CandidateScene(
            frame=frame,
            mask=masks[target],
            others=tuple(mask for other, mask in enumerate(masks) if other != target),
            before=self._before(index, target),
            complete=picture.complete,
        )
        cropped = cut(uncut, [decode(rle) for rle in real], rng)
        if cropped is None:
            return []
        scene, drawn = cropped
        return [self._sample(scene, candidate, rng) for candidate in chosen(scene, drawn, rng)]

    def _before(self, index: int, target: int) -> tuple[Frame, Mask] | None:
        picture, earlier = self._pictures[index], self._pictures[index - 1] if index else None
        if earlier is None or not picture.order or earlier.cluster != picture.cluster or len(earlier.objects) <= target:
            return None
        frame, masks = self._decoded(index - 1)
        return frame, masks[target]

    def _sample(self, scene: CandidateScene, candidate: Candidate, rng: np.random.Generator) -> Sample:
        view = look(scene.frame, candidate.mask, self._lens)
        prompt, from_truth = prompt_of(scene.mask, candidate.mask, view=view, rng=rng)
        return Sample(
            view=view,
            prompt=prompt,
            truth=coverage(scene.mask, view.box, self._lens.grid),
            type=TYPES.index(candidate.defect) if candidate.defect in TYPES else -1,
            iou=candidate.iou,
            answered=1.0 if from_truth or candidate.iou >= _ANSWERED_FROM else 0.0,
        )

    def _decode(self, index: int) -> tuple[Frame, tuple[Mask, ...]]:
        picture = self._pictures[index]
        return picture.frame(), picture.masks()


def chosen(scene: CandidateScene, drawn: Sequence[Mask], rng: np.random.Generator) -> list[Candidate]:
    """Candidates of one object: real ones where there are, made ones so that every IoU is about as frequent."""
    real = [mask for mask in drawn if np.count_nonzero(mask) >= _LEAST_CANDIDATE_PX]
    pool = [
        candidate
        for candidate in candidates(scene, rng, _DRAWN)
        if np.count_nonzero(candidate.mask) >= _LEAST_CANDIDATE_PX and not _of_another(candidate, scene)
    ]
    picked: list[Candidate] = []
    for _ in range(PER_OBJECT):
        if real and rng.random() < _REAL_SHARE:
            mask = real.pop(int(rng.integers(len(real))))
            picked.append(Candidate(mask=mask, kind="real", defect=None, iou=iou(mask, scene.mask)))
        elif pool:
            weights = np.array([_WANTED[min(int(candidate.iou * _LEVELS), _LEVELS - 1)] for candidate in pool])
            picked.append(pool.pop(int(rng.choice(len(pool), p=weights / weights.sum()))))
    return picked


def _of_another(candidate: Candidate, scene: CandidateScene) -> bool:
    """Whether it is a better mask of another object: then only a judge that knows the target can call it bad."""
    return any(iou(candidate.mask, other) > max(candidate.iou, _LIKE_ANOTHER) for other in scene.others)


def prompt_of(truth: Mask, mask: Mask, *, view: View, rng: np.random.Generator) -> tuple[NDArray[np.uint8], bool]:
    """The network's prompt: mostly the candidate, else a box or points.

    The prompt is bytes (4, grid, grid); with it comes whether it was read off the truth.
    """
    grid = len(view.candidate)
    prompt = np.zeros((PROMPTS, grid, grid), np.uint8)
    draw = rng.random()
    if draw < 0.7:
        prompt[0] = view.candidate
        return prompt, False
    from_truth = bool(draw > 0.85)
    inside = coverage(truth if from_truth else mask, view.box, grid) >= 128
    if not inside.any():
        prompt[0] = view.candidate
        return prompt, False
    prompt += boxes_or_points(inside, rng)
    return prompt, from_truth


def boxes_or_points(inside: Mask, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A jittered box of a region, bool (grid, grid) and not empty, or points in it and sometimes outside."""
    prompt = np.zeros((PROMPTS, *inside.shape), np.uint8)
    if rng.random() < 0.5:
        _draw_box(prompt[1], inside, rng)
        return prompt
    _draw_points(prompt[2], inside, rng, count=int(rng.integers(1, 4)))
    if rng.random() < 0.5 and not inside.all():
        _draw_points(prompt[3], ~inside, rng, count=int(rng.integers(1, 3)))
    return prompt


def _draw_box(channel: NDArray[np.uint8], inside: Mask, rng: np.random.Generator) -> None:
    x, y, width, height = cv2.boundingRect(inside.view(np.uint8))
    off = rng.uniform(-0.08, 0.08, 4) * (width, height, width, height)
    x0, y0, x1, y1 = np.rint(np.array([x, y, x + width, y + height]) + off).astype(int).clip(0, len(channel)).tolist()
    channel[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)] = 255


def _draw_points(channel: NDArray[np.uint8], inside: Mask, rng: np.random.Generator, *, count: int) -> None:
    rows, columns = np.nonzero(inside)
    radius = max(2, len(channel) // 40)
    for index in rng.integers(rows.size, size=count).tolist():
        cv2.circle(channel, (int(columns[index]), int(rows[index])), radius, (255,), -1)


def _pools(pictures: Sequence[Picture]) -> list[tuple[float, list[tuple[int, int]], NDArray[np.float64]]]:
    """Photographs and video: the share of each, its objects and how often each of them is drawn."""
    photographs: list[tuple[int, int]] = []
    video: list[tuple[int, int]] = []
    for index, picture in enumerate(pictures):
        for target, rle in enumerate(picture.objects):
            if np.count_nonzero(decode(rle)) >= LEAST_PX:
                (video if picture.source == "davis" else photographs).append((index, target))
    pools = ((1 - _VIDEO_SHARE, photographs), (_VIDEO_SHARE, video))
    return [(share, objects, _rarer_more(pictures, objects)) for share, objects in pools if objects]


def _rarer_more(pictures: Sequence[Picture], objects: list[tuple[int, int]]) -> NDArray[np.float64]:
    """One over the root of how many objects of its category, or frames of its sequence, there are."""
    names = [
        pictures[index].cluster if pictures[index].source == "davis" else (*pictures[index].categories, "")[target]
        for index, target in objects
    ]
    counts = Counter(names)
    weights = np.array([counts[name] ** -0.5 for name in names])
    return np.asarray(weights / weights.sum(), dtype=np.float64)
