"""Batches: which objects, which candidates, what the network sees of them, and what it should answer.

A batch follows from (seed, number) and the pack alone, whoever makes it and in whatever order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.judge.masks.compact.strip import read_along
from auscult.judge.masks.compact.view import View, coverage, look
from auscult.media.rle import decode
from auscult.rng import generator
from auscult.train.augment import Whole, cut
from auscult.train.candidates import Candidate, candidates
from auscult.train.compact.pack import PackedFrame
from auscult.train.compact.patchwork import patchwork
from auscult.types import Frame, Mask

TYPES: Final = ("perfect", "cutout", "dilate", "erode", "merge", "arbitrary")
GRID: Final = 64
PROFILE: Final = 64
PER_OBJECT: Final = 4
_KEPT_FRAMES: Final = 900
_PATCHWORK: Final = (-1, -1)
_REAL_SHARE: Final = 0.3  # of the objects of video frames, that show real models' masks besides made ones

Arrays = Mapping[str, NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How often a batch draws from each source."""

    coco: float = 0.38
    davis: float = 0.15
    scenes: float = 0.20
    regions: float = 0.09
    patchwork: float = 0.18


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answered:
    """One sample: what is seen and what is true."""

    view: View
    truth: NDArray[np.uint8]
    profile: NDArray[np.uint8]
    type: int
    iou: float


class Feed:
    """Makes batches of a pack's training part.

    Args:
        frames: The pack.
        seed: Seed of everything drawn.
        shares: How often each source is drawn.
    """

    def __init__(self, frames: Sequence[PackedFrame], *, seed: int, shares: Shares | None = None) -> None:
        self._frames = frames
        self._seed = seed
        used = shares or Shares()
        by_source: dict[str, list[tuple[int, int]]] = {"coco": [], "davis": [], "scenes": [], "regions": []}
        for number, packed in enumerate(frames):
            if packed.part == "train":
                by_source[packed.source] += [(number, at) for at in packed.targets]
                by_source["regions"] += [(number, ~at) for at in range(len(packed.regions))]
        self._outlines = by_source["coco"] + by_source["scenes"]
        by_source["patchwork"] = [_PATCHWORK] if self._outlines else []
        self._pools = [(getattr(used, source), pool) for source, pool in by_source.items() if pool]
        self._decoded = lru_cache(maxsize=_KEPT_FRAMES)(self._decode)

    def batch(self, number: int, size: int) -> Arrays:
        """Make a batch.

        Args:
            number: Which one.
            size: How many samples, a multiple of ``PER_OBJECT``.

        Returns:
            ``crop``, ``context``, ``strip`` as bytes; ``cues`` float32 (n, 169); ``truth`` (n, 64, 64) and ``profile``
            (n, 24, 64) as bytes;
            ``type`` int64 (n,), -1 where no single type names it; ``iou`` float32 (n,).
        """
        rng = generator(self._seed, "compact", "batch", number)
        made: list[Answered] = []
        while len(made) < size:
            made += self._object(rng)
        return stacked(made[:size])

    def _object(self, rng: np.random.Generator) -> list[Answered]:
        weights = np.array([share for share, _ in self._pools])
        pool = self._pools[int(rng.choice(len(weights), p=weights / weights.sum()))][1]
        number, at = pool[int(rng.integers(len(pool)))]
        whole = patchwork(self._drawn, rng) if (number, at) == _PATCHWORK else self._whole(number, at, rng)
        found = None if whole is None else cut(whole, rng)
        if found is None:
            return []
        scene, real = found
        shown = [Candidate(mask=mask, kind="real", defect=None, iou=iou(mask, scene.mask), difficulty=None)
                 for mask in real if mask.any()]  # fmt: skip
        shown += candidates(scene, rng, PER_OBJECT - len(shown))
        return [answered(scene.frame, scene.mask, one) for one in shown]

    def _drawn(self, rng: np.random.Generator) -> tuple[Frame, Mask]:
        number, at = self._outlines[int(rng.integers(len(self._outlines)))]
        frame, masks = self._decoded(number)
        return frame, masks[at]

    def _whole(self, number: int, at: int, rng: np.random.Generator) -> Whole:
        packed = self._frames[number]
        frame, masks = self._decoded(number)
        if at < 0:
            return Whole(frame=frame, mask=decode(packed.regions[~at]), coarse=True)
        before = None
        if packed.before is not None and rng.random() < 0.5:
            earlier, earlier_masks = self._decoded(packed.before)
            before = earlier, earlier_masks[at]
        further: tuple[Mask, ...] = ()
        own = [rle for _, target, rle in packed.real if target == at]
        if own and rng.random() < _REAL_SHARE:
            picked = rng.choice(len(own), size=min(2, len(own)), replace=False)
            further = tuple(decode(own[int(index)]) for index in picked)
        others = tuple(mask for index, mask in enumerate(masks) if index != at)
        return Whole(frame=frame, mask=masks[at], others=others, further=further, before=before)

    def _decode(self, number: int) -> tuple[Frame, tuple[Mask, ...]]:
        packed = self._frames[number]
        return packed.frame(), packed.masks()


def answered(frame: Frame, truth: Mask, candidate: Candidate) -> Answered:
    """What the network sees of a candidate, and what it should say."""
    view = look(frame, candidate.mask)
    assert view.points is not None  # noqa: S101 - narrows the type: `look` always reads a strip
    along = read_along(view.points, truth).astype(np.float32)
    profile = along.reshape(along.shape[0], PROFILE, -1).mean(2).astype(np.uint8)
    return Answered(
        view=view,
        truth=coverage(truth, view.box, GRID),
        profile=profile,
        type=-1 if candidate.defect is None else TYPES.index(candidate.defect),
        iou=candidate.iou,
    )


def stacked(made: Sequence[Answered]) -> Arrays:
    """Samples as arrays, batch first."""
    return {
        "crop": np.stack([one.view.crop for one in made]),
        "context": np.stack([one.view.context for one in made]),
        "strip": np.stack([one.view.strip for one in made]),
        "cues": np.stack([one.view.cues for one in made]),
        "truth": np.stack([one.truth for one in made]),
        "profile": np.stack([one.profile for one in made]),
        "type": np.array([one.type for one in made], dtype=np.int64),
        "iou": np.array([one.iou for one in made], dtype=np.float32),
    }
