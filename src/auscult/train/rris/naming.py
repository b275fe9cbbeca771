"""Before a small network reads sentences, its vision encoder learns to name things.

A Swin comes from ImageNet. From nothing, a mask for each sentence teaches an encoder little: most of it is background,
and it can be told from a sentence alone. What a thing is called is told by every object of every picture at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from auscult.errors import AuscultError, InputError
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.nets.refsegformer.network import RefSegformer, VisionStages
from auscult.nets.refsegformer.settings import LAST, Design, squeezed
from auscult.rng import generator
from auscult.train.rris.references import TRIES, Reference, truth
from auscult.train.rris.trainable import Plan, Trainable
from auscult.train.rris.trainer import Trainer
from auscult.types import MaskRef

_LEAST_KEPT: Final = 0.6
"""A crop keeps an object when it keeps this share of its pixels."""
_LEAST_SIDE: Final = 0.65
_LIGHT: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedBatch:
    """Pictures with their objects."""

    pictures: NDArray[np.uint8]  # (n, side, side, 3), RGB
    of: NDArray[np.int64]  # (k,), of each object the picture
    masks: NDArray[np.bool_]  # (k, side, side)
    names: NDArray[np.int64]  # (k,), of each object the category


class NamingFeed:
    """Makes batches of pictures, flipped, cropped and lit by chance, with all objects that a sentence is about.

    Attributes:
        categories: What is told apart, in alphabetical order; each names two objects at least.
        steps: Those of the plan's ``naming_epochs``.
    """

    def __init__(self, references: Sequence[Reference], plan: Plan, *, seed: int) -> None:
        self.plan, self.seed = plan, seed
        counts = Counter(one.category for one in references if one.category and one.true)
        self.categories = tuple(sorted(name for name, count in counts.items() if count > 1))
        numbers = {name: number for number, name in enumerate(self.categories)}
        found: dict[Path, list[tuple[MaskRef, int]]] = {}
        for one in references:
            for moment in one.moments if one.true and one.category in numbers else ():
                if moment.target is not None:
                    found.setdefault(moment.frame, []).append((moment.target, numbers[one.category]))
        self._pictures = tuple(found.items())
        self._each = max(1, len(found) // plan.batch)
        self.steps = self._each * plan.naming_epochs if len(self.categories) > 1 else 0

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> NamedBatch:
        """A batch by its number, see ``Feed.batch``."""
        epoch, at = divmod(number, self._each)
        order = generator(self.seed, "rris", "naming order", epoch).permutation(len(self._pictures))
        size = self.plan.batch
        chosen = np.take(order, np.arange(at * size, (at + 1) * size), mode="wrap")[process::processes]
        rng = generator(self.seed, "rris", "naming", number, process)
        shown = [self._shown(int(which), rng) for which in chosen]
        return NamedBatch(
            pictures=np.stack([picture for picture, _, _ in shown]),
            of=np.repeat(np.arange(len(shown)), [len(names) for _, _, names in shown]),
            masks=np.concatenate([masks for _, masks, _ in shown]),
            names=np.concatenate([names for _, _, names in shown]),
        )

    def _shown(
        self, which: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int64]]:
        """A picture with its objects; where it cannot be read, another one."""
        for _ in range(TRIES):
            path, objects = self._pictures[which]
            try:
                frame = read_frame(path)
                size = (frame.shape[0], frame.shape[1])
                masks = [(read_mask(target, size=size).mask, name) for target, name in objects]
                return _varied(frame, [one for one in masks if one[0].any()], self.plan.design.side, rng=rng)
            except (AuscultError, cv2.error):
                which = int(rng.integers(len(self._pictures)))
        raise InputError(f"{TRIES} pictures in a row cannot be read", hint="are the pictures where the data says?")


def _varied(
    frame: NDArray[np.uint8], objects: Sequence[tuple[NDArray[np.bool_], int]], side: int, *, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int64]]:
    high, wide = (round(length * rng.uniform(_LEAST_SIDE, 1)) for length in frame.shape[:2])
    top, left = int(rng.integers(frame.shape[0] - high + 1)), int(rng.integers(frame.shape[1] - wide + 1))
    turn = slice(None, None, -1 if rng.random() < 1 / 2 else 1)
    kept = [one for one in objects if one[0][top : top + high, left : left + wide].mean() * high * wide
            >= _LEAST_KEPT * one[0].sum()]  # fmt: skip
    if not kept:
        top, left, (high, wide), kept = 0, 0, frame.shape[:2], list(objects)
    if not kept:
        raise InputError("no object is seen")
    part = (slice(top, top + high), slice(left, left + wide))
    light = rng.uniform(1 - _LIGHT, 1 + _LIGHT)
    picture = np.clip(squeezed(np.ascontiguousarray(frame[part][:, turn]), side) * light, 0, 255).astype(np.uint8)
    masks = np.stack([truth(np.ascontiguousarray(mask[part][:, turn]), side) for mask, _ in kept])
    return picture, masks, np.array([name for _, name in kept], np.int64)


class Naming(nn.Module):
    """A vision encoder, and behind its stages 2 to 4 what names an object by the mean feature under its mask."""

    def __init__(self, vision: VisionStages, design: Design, *, categories: int) -> None:
        super().__init__()
        self.vision = vision
        self.heads = nn.ModuleList(nn.Linear(width, categories) for width in design.widths[1:])

    def forward(self, pictures: Tensor, of: Tensor, masks: Tensor) -> list[Tensor]:
        """Name objects ``masks`` (k, side, side) of pictures (n, 3, side, side): logits (k, categories) a stage."""
        found, seen = [], self.vision(pictures, 1)
        for stage, head in zip(range(2, LAST + 1), self.heads, strict=True):
            seen = self.vision(seen, stage)
            cover = functional.adaptive_avg_pool2d(masks.float()[:, None], (seen.shape[2], seen.shape[3]))
            summed = (seen[of] * cover).sum(dim=(2, 3))
            found.append(head(summed / cover.sum(dim=(2, 3)).clamp(min=torch.finfo(torch.float32).eps)))
        return found


class NamingTrainer(Trainer):
    """Teaches the vision encoder of a segmenter; the rest of it rests."""

    def __init__(self, trainable: Trainable, feed: NamingFeed, *, seed: int, device: str = "cpu") -> None:
        if not isinstance(trainable.net, RefSegformer):
            raise TypeError("only a RefSegformer has a vision encoder to teach")
        net = Naming(trainable.net.vision, trainable.plan.design, categories=len(feed.categories))
        plan = replace(trainable.plan, rate=trainable.plan.naming_rate)
        super().__init__(replace(trainable, net=net, plan=plan), feed, seed=seed, steps=feed.steps, device=device)

    def losses(self, batch: NamedBatch) -> dict[str, Tensor]:
        """Cross-entropy of the names, a mean over objects, summed over stages."""
        device = self.accelerator.device
        of, masks, names = (torch.from_numpy(value).to(device) for value in (batch.of, batch.masks, batch.names))
        pictures = torch.from_numpy(batch.pictures).to(device).permute(0, 3, 1, 2).float() / 255
        each = [functional.cross_entropy(logits.float(), names) for logits in self.net(pictures, of, masks)]
        return {"loss": torch.stack(each).sum(), "naming": each[-1]}
